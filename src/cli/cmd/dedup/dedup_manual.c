/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts of help and manual of dedup, except those of its options. */
#include "cli/cmd/dedup/dedup_config.h"

#include "cli/core/cli_rows.h"

const char *const dedup_description[] = {
    "Print each record the first time it is seen, in input order, in a few bytes of memory a record.",
    "Records are the lines of the FILEs, read in order, or of standard input where no FILE or - is given. A "
    "record is its bytes without the terminator (a carriage return before the newline is part of it), of any "
    "length up to --max-record. A last line without a newline is a record too, and is written as it is "
    "unless another follows it.",
    "With --key not the whole record is its key, but a field, a column of CSV, a member of JSON or what else "
    "of it is asked for. FILEs may be compressed.",
    "Nothing but fingerprints of the records is kept, so a new record may be taken for one seen before and "
    "dropped, with the chance that --fpr states: by default one in 1e9. A record whose key was seen is "
    "never printed again, unless --on-full pass is given and the filter is full. With --exact the chance "
    "is "
    "n/2^128.",
    "A record leaves as soon as it arrived: when input pauses, what was read is written, so tamis serves in "
    "the middle of a pipe. SIGINT, SIGTERM and SIGHUP end a run in order: the records in hand are written to "
    "standard output and the summary is printed; a file given to --output stays as it was (but with --state, "
    "which commits first), and so does that "
    "of --filter unless all that was answered is printed, and its reader has taken it.",
    "With --state DIR nothing of that is lost by a crash, and nothing comes twice: DIR has a log of what was "
    "seen and of how "
    "far the run is, committed as --commit-every says, and the same command goes on from the last commit. "
    "See NOTES.",
    "Sizes: K, M, G, T, P and E, alone or as KiB, are powers of 1024; KB and so on are powers of 1000. "
    "Counts: k, M, G and T are powers of 1000. Both may be written as 1e9 or 1.5G. Times: ms, s, m, h and d. "
    "So "
    "1M is 1,048,576 bytes or 1,000,000 records, and 1m is one minute and nothing else.",
    NULL};

const char *const dedup_exits[] = {
    "0",
    "All records were read, and those that have a key were answered.",
    "2",
    "Error: a bad option, a file that cannot be read or written, a malformed record, records of which none "
    "has a key, unless --missing is given, a full filter, a "
    "summary that cannot be written. The file of --filter stays as it was; with --state the same command "
    "goes on from the last "
    "commit.",
    "130",
    "Ended in order on SIGINT (143 on SIGTERM, 129 on SIGHUP). A remark says whether the file of --filter "
    "was saved. The same signal once more ends the run at once, without a word: nothing is saved then.",
    "141",
    "The reader of an output has gone (a closed pipe): ended by SIGPIPE, without a word and without a "
    "summary.",
    NULL};

const cli_example dedup_examples[] = {
    {"tamis dedup clicks.log > unique.log", "Each line of clicks.log once."},
    {"cat a.log b.log | tamis dedup -o once.log --duplicates again.log --stats",
     "First occurrences in one file, the others in another, and a summary on standard error."},
    {"tamis dedup --expect 1e7 --fpr 1e-12 clicks.log > unique.log",
     "Room for ten million distinct lines from the start, and one wrong drop in 1e12."},
    {"tamis dedup --filter seen.tamis a.log > new.log",
     "Run again with other files, it prints what none of them had before: seen.tamis is made, and kept."},
    {"tamis dedup --state seen clicks.log -o unique.log && tamis dedup --state seen a.log -o unique.log",
     "Killed at any instant and given again it goes on where it was; another day's file is appended."},
    {"seq -w 1000 | tamis dedup --type int64 --filter ids.tamis > new.log",
     "Numbers that no run before has printed, however they are written: 0007 is 7."},
    {"find . -print0 | tamis dedup -z --count",
     "How many distinct records, each ended by a zero byte, there are."},
    {"tamis dedup --key field:2 visits.tsv > users.tsv", "The first line of each user, whom field 2 names."},
    {"tamis dedup --key csv:email --ignore-case users.csv > once.csv",
     "A record for each address: the header once, newlines within quotes and all."},
    {"tamis dedup --key json:/event_id clicks.jsonl.zst -o once.jsonl.gz",
     "Each event once, from one compressed file into another."},
    {"tamis dedup --key json:/user_id --key json:/url --mark=first clicks.jsonl > marked.jsonl",
     "Every event, with a member that says whether its user had not been at its page before."},
    {"tamis dedup --key 'regex:user=(\\d+)' --missing drop app.log > users.log",
     "The first line of each user; lines of nobody are left out."},
    {"tamis dedup --key bytes:1-10 app.log > days.log",
     "The first line of each day, where lines begin with a date."},
    {"ls ?.log | tamis dedup --files-from - --stats > once.log",
     "The files that another program names, each counted."},
    {"head -c 32 /dev/urandom > secret; tamis dedup --secret-file secret clicks.log > unique.log",
     "With a keyed hash, for records that someone hostile may have written."},
    {NULL, NULL}};

/* Members of the object, in the order in which they are printed. */
const cli_entry dedup_json[] = {
    {"records", "Records read and answered."},
    {"unique", "Of these, the ones seen for the first time."},
    {"duplicates", "Of these, the ones taken for a repetition."},
    {"unknown", "Of these, the ones passed on without a lookup, the filter being full; 0 = none."},
    CLI_JSON_UNASKED,
    {"bytes_in", "Bytes of the answered records, terminators included."},
    {"bytes_out", "Bytes written to --output and --duplicates; 0 = none, as with --count."},
    {"seconds", "Duration of the run, in seconds."},
    {"records_per_second", "Records divided by seconds."},
    {"bytes_per_second", "Bytes read divided by seconds."},
    {"threads",
     "Threads that were at work: --threads, or fewer for little input or where the system refused some."},
    {"memory", "Bytes that the filter holds at the end."},
    {"memory_peak", "Bytes, the most that it held at any moment, growth included."},
    {"bits_per_key", "Bits of memory_peak for each record kept; 0 = none was kept."},
    {"kind", "Kind of filter in use: classic, blocked, fingerprint or exact."},
    {"scheme", "Hash in use, as --scheme names it."},
    {"capacity", "Records that the filter was made for; 0 = no limit, it grows."},
    {"fpr", "Chance, 0 to 1, that was promised for a new record to be taken for a duplicate."},
    {"fpr_live", "The same chance with what is in the filter at the end; 0 = it is empty."},
    {"false_drops", "New records estimated to have been taken for duplicates: an expected value, with a "
                    "fraction."},
    {"saturated", "true: a new record found no room in the filter, or it had more than it was made for."},
    CLI_JSON_FILES("unique", "duplicates, unknown"),
    {"run", "With --state (files are of this process alone): new; resumed, where an earlier process ended "
            "within it; grown, where its last "
            "FILE has grown since "
            "it had ended; or finished, where nothing was to be done. Counts are of all of the run, rates of "
            "this process."},
    {"inexact", "With --state: the first FILE or output that is no regular file, so that records may come "
                "twice after a crash; "
                "null = none."},
    {"partial",
     "With --defer-unterminated: FILEs whose last record had no end, and was left for a later run."},
    {"profile", "With --profile, in nanoseconds: read, split, extract, hash, ask, route and write, which are "
                "the stages; "
                "wait_input, wait_caller and wait_others; and wall, the time on the clock. In bytes, where "
                "the system tells: resident, what the process holds of memory at the end, and huge_pages, "
                "what of it is in huge pages."},
    {"interrupted", "true: a signal ended the run; all numbers are of what was answered until then."},
    {"failed", "true: an error ended the run, likewise; its line follows."},
    {NULL, NULL}};

const cli_entry dedup_files[] = {
    {".NAME.tamis-PID-RANDOM",
     "What becomes the regular file NAME of --output, --duplicates or --filter: written in the same folder "
     "and renamed at the end. It is removed when the run fails or is interrupted, but SIGKILL and SIGQUIT, "
     "a second signal and a crash of the machine can leave it behind. That of --filter is "
     "removed by the next run that "
     "writes NAME. Those of --output and --duplicates are not removed by tamis: do so when no process PID is "
     "there."},
    {".NAME.tamis-lock",
     "Lies beside the file NAME of --filter, or of an output with --state, while a process changes it."},
    {"NAME.tail-AT", "Bytes that stood behind the last commit of the output NAME with --state, from byte AT "
                     "on, until the run has "
                     "written the same there again."},
    {"NAME.kept-AT", "Such bytes that differ from what the run writes there. This file stays. If NAME is "
                     "compressed nothing can be compared: each start after a kill keeps all such bytes. "
                     "Remove the file unless something else than the run appended to NAME."},
    {"DIR",
     "The folder of --state: manifest, log-N, snapshot-N.tamis and lock. Another process that would use it "
     "meanwhile is "
     "told which one does. Do not change anything in it. It belongs to its outputs: both may be moved or "
     "copied "
     "together."},
    {NULL, NULL}};

const char *const dedup_notes[] = {
    "A file that is replaced passes its owner and permissions on where the system allows it. Its hard links "
    "are not kept: the other names stay with the old content. A symbolic link is followed.",
    "A filter that grows (no --expect) has slots of 32 bits at the least, so an --fpr larger than about 5e-8 "
    "does not make it smaller.",
    "With --type or --hex a record is seen when its key was, whatever its text: 7, +7 and 007 are one int64, "
    "and the first of them is printed, as it came. A record that is no key (a blank before the digits, a "
    "carriage return behind them) ends the run, after those before it are written to standard output.",
    "--state: a run is its FILEs and outputs. The same command goes on from the last commit; if the run has "
    "finished and no FILE has grown, it does nothing. Other FILEs are a new run against the same keys, with "
    "a new "
    "--output or appended to an old one. FILEs of the list that an earlier run has processed are skipped, "
    "and a "
    "remark says so; if the outputs are the same, a FILE that has grown is read from where it was left. A "
    "command "
    "in which no FILE is new is refused if its outputs differ.",
    "--state: a run that was killed or failed is unfinished. A command that would write to its outputs "
    "without "
    "reading its rest is refused; the message has the command that finishes the run, and so has tamis state "
    "show. "
    "--abandon gives that run up. What is given up, kept in another file or was not read is printed with "
    "--quiet and --json too.",
    "--state: a FILE is known by its content (its first 4 KiB and the 4 KiB in front of where it was read "
    "to), so "
    "it may be renamed or copied. One that became shorter or changed in these places is refused. So are "
    "a FILE "
    "that another run has read (--reread reads it again), an output that changed since its last commit, and "
    "an "
    "output that exists and that the state does not know. Outputs are known by their paths, by their inodes "
    "if they were "
    "renamed, and by their content if they were copied.",
    "--state: all runs make their keys with the same options. If the first run had a wrong --key and found "
    "no "
    "key, give the right one: the state takes it, and says so.",
    "--state: FILEs may be compressed, but must not grow then. A compressed output has one frame or member a "
    "commit: after a crash it is equal to that of an undisturbed run when it is decompressed. A last record "
    "without "
    "a terminator counts as complete, and must not get longer later: use --defer-unterminated for FILEs that "
    "are "
    "still being written. A run keeps its --zero-terminated, --mark, --header and --compress; --missing and "
    "--on-error may change.",
    "--state with a pipe or a terminal: what it was given cannot be taken back, nor what it gave be read "
    "again. So after a "
    "crash records may come twice there, and the last one before it in part; none is lost. Standard output "
    "that is redirected to a file is "
    "refused, since the shell "
    "empties that before a restart: give --output.",
    CLI_NOTES_EXTRACT,
    CLI_NOTE_COMPRESSED,
    CLI_NOTE_DCSO,
    "Without a secret the hash is known to everybody: a hostile sender can aim records at the filter, to "
    "make "
    "it drop records of others or to make it grow or fill up early. --secret-file is the answer to that.",
    NULL};

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The options of tamis dedup, in the order of the help. dedup_config.c checks them and makes a configuration
 * of them. Rows that other commands have too come from cli_rows.h, so that their words are the same
 * everywhere. Pairs of options that contradict each other are in dedup_conflicts, with the reason that the
 * message gives. What depends on values, not on the mere presence of options, is in dedup_config.c. The last
 * table has what a run reports, for its text and its JSON.
 */
#include "cli/cmd/dedup/dedup_config.h"
#include "cli/core/cli_choice.h"
#include "cli/core/cli_rows.h"

const cli_option dedup_options[] = {
    {.id = CLI_OPT_OUTPUT,
     .name = "output",
     .letter = 'o',
     .type = CLI_FILE,
     .value = "FILE",
     .fallback = "-",
     .help = "Write first occurrences to FILE; - is standard output.",
     .more = "A regular file is written to a temporary file in the same directory, which is renamed when "
             "the run succeeds, with the permissions of the file it replaces. On an error or a signal, "
             "the old file stays as it was. A FIFO or device is written directly."},
    {.id = DEDUP_DUPLICATES,
     .name = "duplicates",
     .type = CLI_FILE,
     .value = "FILE",
     .help = "Write repetitions to FILE, in the same way.",
     .more = "With -, they go to standard output, and first occurrences need --output FILE."},
    {.id = DEDUP_COUNT,
     .name = "count",
     .type = CLI_FLAG,
     .help = "Print the number of records that would be written, instead of the records.",
     .more = "This number includes unique records and records passed on by --on-full, "
             "--missing or --on-error: the lines that the same run prints without --count. "
             "The filter of --filter is saved as usual."},
    {.id = DEDUP_MARK,
     .name = "mark",
     .type = CLI_TEXT,
     .value = "NAME",
     .help = "Write every record, in order, after 1 (new), 0 (seen before) or - (not looked up) and a tab.",
     .more = "Records without a key, malformed ones and late ones are not looked up, and those that the full "
             "filter refused (--on-full pass) have a - too. A header gets the column NAME, by "
             "default fresh. If a --key is json, the record gets a last member instead: \"NAME\":true, "
             "false or null. A JSON record that has a key but is not an object counts as malformed.",
     .optional = true},
    CLI_ROW_COMPRESS,
    {.id = DEDUP_FILTER,
     .name = "filter",
     .type = CLI_FILE,
     .value = "FILTER",
     .help = "Print the records that the filter in file FILTER has not seen, and save it at the end.",
     .more = "If the file does not exist, it is created as --expect, --fpr, --memory, --kind, --exact, "
             "--scheme and --seed say. An existing filter keeps its kind and its compression: --expect "
             "and --memory have no effect, and the other options are refused if they contradict it. The "
             "filter is saved when all records are written. After a signal it is saved too, if standard "
             "output or its reader has accepted all answered records and no output is a regular file. "
             "Otherwise, and on an error, it stays as it was. During the run, no other tamis process can "
             "change it. If another program replaces the file without the lock, that file stays, and "
             "nothing is saved. A filter is full if it holds the number of records that it was made for, "
             "or more, whatever program made it: see --on-full."},
    {.id = DEDUP_STATE,
     .name = "state",
     .type = CLI_FILE,
     .value = "DIR",
     .help = "Keep the keys seen and the position of the run in the directory DIR, so that a crash loses "
             "nothing.",
     .more = "If the run is killed at any instant, by SIGKILL or a power loss, start the same command "
             "again: it continues from the last commit. Its output is then the same, byte for byte, as "
             "that of an undisturbed run. For that, this run and later ones append to the files of --output "
             "and --duplicates. Other FILEs are another run with the same keys. If DIR does not exist, "
             "it is created as --expect, --fpr, --memory, --kind, --exact, --scheme and --seed say; an "
             "existing one keeps its kind. See FILES and NOTES."},
    {.id = DEDUP_REREAD,
     .name = "reread",
     .type = CLI_FLAG,
     .help = "With --state: read FILEs again that an earlier run has read.",
     .more = "Their records are duplicates then, except those that have changed. Without this option, "
             "such a FILE is refused, and so is a FILE that changed where it was read already. If that "
             "run finished and has the same outputs, there is nothing to do, even with this option."},
    {.id = DEDUP_ABANDON,
     .name = "abandon",
     .type = CLI_FLAG,
     .help = "With --state: give up an unfinished run that blocks this one.",
     .more = "A run that was killed or failed has FILEs that it did not read to the end. A "
             "command that would write to the same outputs without reading the rest is "
             "refused, and the message contains the command that finishes the run. With this "
             "option the rest is not read, and a remark says how many records are given up."},
    {.id = DEDUP_EXACTLY_ONCE,
     .name = "exactly-once",
     .type = CLI_FLAG,
     .help = "With --state: refuse inputs and outputs that are not regular files.",
     .more = "Pipes and terminals cannot be read again or cut back: after a crash a "
             "record may be repeated, and an input pipe must be fed again. /dev/null is accepted."},
    {.id = DEDUP_DEFER_UNTERMINATED,
     .name = "defer-unterminated",
     .type = CLI_FLAG,
     .help = "With --state: leave a last record without a terminator for the next run.",
     .more = "For a FILE that is still being written, whose last record may be incomplete. Without this "
             "option, the record is answered as it is, and the FILE is refused if the record gets longer "
             "later. The last record of a pipe or a compressed FILE is always complete."},
    {.id = DEDUP_COMMIT_EVERY,
     .name = "commit-every",
     .type = CLI_TEXT,
     .value = "EVERY",
     .fallback = "64MiB,1s",
     .help = "With --state: commit after so many bytes of records, or so much time, whichever comes first.",
     .more = "1m is one minute, and 1M is 1,048,576 bytes. Each commit waits for the disk. After a "
             "crash, the records since the last commit are read again."},
    {.id = DEDUP_SOURCE,
     .name = "source",
     .type = CLI_TEXT,
     .value = "PART",
     .once = true,
     .help = "With --state: the part of a record that says where it came from, in the forms of --key.",
     .more = "For a pipe from a consumer that delivers records again after a crash, such as one of a broker. "
             "The source is a partition, for example, and --position its offset. A record that was processed "
             "is dropped when it comes again. See NOTES."},
    {.id = DEDUP_POSITION,
     .name = "position",
     .type = CLI_TEXT,
     .value = "PART",
     .once = true,
     .help = "With --source: the part that has the number of a record in its source.",
     .more = "Numbers of a source increase. They may have gaps."},
    {.id = DEDUP_COMMITS,
     .name = "commits",
     .type = CLI_TEXT,
     .value = "FD|FILE",
     .help = "With --source: print the positions that are safe, so that the consumer can acknowledge them.",
     .more = "A line \"SOURCE POSITION\" for each source that has advanced after each commit, and for all "
             "sources at each start, to an open file descriptor, or to the end of FILE; - is standard "
             "output."},
    {.id = DEDUP_FOLLOW_INPUT,
     .name = "follow-input",
     .type = CLI_FLAG,
     .help = "Keep reading as FILEs grow, as tail -F does, until a signal arrives.",
     .more =
         "If another file takes the name of a FILE, as in log rotation, the old one is read to its end "
         "first. Then come files that had the name in between: those in its directory whose names continue "
         "that of FILE (app.log.1, app.log-20261126) and that were written to later, without compressed "
         "ones. The new file is read from its start when it has content and the writers of the old one have "
         "closed it, or have not written to it for half a second. A record is answered when its terminator "
         "has arrived. A FILE that "
         "becomes shorter is reported, may lose records, and is read again from its start. Pipes are read "
         "to their end, and so are compressed files beside others; alone they are refused."},
    {.id = DEDUP_FILES,
     .name = "files",
     .type = CLI_TEXT,
     .value = "PATTERN",
     .once = true,
     .help = "With --follow-input: follow the files that match, also those that come later.",
     .more =
         "Quote PATTERN, so that the shell leaves it alone: 'log/*.log'. Wildcards * ? [ ] are allowed in "
         "the file name, not in the directory. A file that comes later is read from its start. Left out "
         "are compressed files, hidden ones, symbolic links to a file that matches, and names that log "
         "rotation makes of one that matches."},
    {.id = DEDUP_METRICS,
     .name = "metrics",
     .type = CLI_TEXT,
     .value = "FILE|ADDRESS",
     .help = "Write current statistics for Prometheus to FILE every second, or serve them at ADDRESS.",
     .more =
         "FILE is replaced at once, for the textfile collector of node_exporter. ADDRESS is [HOST:]PORT, and "
         "the statistics are at http://ADDRESS/metrics; without HOST only this machine can read them. An "
         "IPv6 address "
         "is in brackets: [::1]:9134. What has a colon and no slash is an ADDRESS. See METRICS."},
    CLI_ROW_FILES_FROM,
    CLI_ROWS_RECORDS("key", "Keys"),
    {.id = CLI_OPT_EXPECT,
     .name = "expect",
     .type = CLI_COUNT,
     .value = "N",
     .min = 1,
     .max = TAMIS_EXPECT_MAX,
     .help = "Number of distinct records to plan for; without it the filter grows.",
     .more = "Growth costs a few more bits per record. If more records come, the filter grows; kinds classic "
             "and blocked are full then, see --on-full. If the number is far too large, kinds fingerprint "
             "and exact take little memory: they are made for what the FILEs can hold, or start small if "
             "their size is unknown. Kinds classic and blocked take the memory for N records at once."},
    CLI_ROW_DUPLICATE_RATE("record"),
    CLI_ROW_MEMORY,
    {.id = DEDUP_WINDOW,
     .name = "window",
     .type = CLI_TIME,
     .value = "TIME",
     .once = true,
     .min = 1,
     .max = CLI_TIME_MAX,
     .help =
         "Forget keys after TIME, as in 30m, 24h or 7d: a record is a duplicate if its key came within TIME "
         "before it.",
     .more =
         "The window begins with the record that was printed, or with --refresh with the last one of its "
         "key. Times are compared in whole steps (--step): a key counts for TIME, and for at most one step "
         "more. The memory is that of the records of one window. --expect is their number. A window takes "
         "none of --kind, --exact, --type and --hex. See NOTES."},
    {.id = DEDUP_STEP,
     .name = "step",
     .type = CLI_TIME,
     .value = "TIME",
     .min = 1,
     .max = CLI_TIME_MAX,
     .help = "With --window: the precision of times; by default a 24th of the window.",
     .more = "Window and lateness together may have 2046 steps."},
    {.id = DEDUP_TIME,
     .name = "time",
     .type = CLI_TEXT,
     .value = "PART",
     .once = true,
     .help =
         "With --window: where the time of a record is, in the forms of --key; without it, the clock's time "
         "counts.",
     .more =
         "A time is unix seconds or milliseconds, or RFC 3339, as in 2025-11-25T22:40:00+01:00. Seconds may "
         "have a fraction; numbers from 10^11 on are milliseconds. A record without such a time is "
         "malformed, see --on-error."},
    {.id = DEDUP_LATENESS,
     .name = "lateness",
     .type = CLI_TIME,
     .value = "TIME",
     .min = 1,
     .max = CLI_TIME_MAX,
     .help = "With --time: how much older than the newest record another may be: at most 4 steps, by default "
             "one; 1ms means none.",
     .more = "Such records are answered by their own time, in whatever order they come."},
    {.id = DEDUP_LATE,
     .name = "late",
     .type = CLI_CHOICE,
     .value = "ACTION",
     .fallback = "pass",
     .choices = cli_late,
     .help =
         "With --time: for a record that is older than --lateness allows: pass it on without a lookup, or "
         "drop it.",
     .more = "The summary and a remark count such records."},
    {.id = DEDUP_AHEAD,
     .name = "ahead",
     .type = CLI_TIME,
     .value = "TIME",
     .min = 1,
     .max = CLI_TIME_MAX,
     .help = "With --time: how far beyond the newest record the next one may be; by default one step.",
     .more =
         "A record further ahead is malformed, see --on-error: one wrong clock must not empty the window. "
         "Give more if the stream pauses for longer."},
    {.id = DEDUP_REFRESH,
     .name = "refresh",
     .type = CLI_FLAG,
     .help = "With --window: let the window of a key begin again each time the key comes.",
     .more =
         "A key that keeps coming is then printed once, however long that lasts. Without this option, it is "
         "printed again when the window after its last print is over."},
    CLI_ROW_KIND,
    CLI_ROW_EXACT,
    CLI_ROW_SCHEME,
    CLI_ROW_SEED,
    CLI_ROW_SECRET,
    CLI_ROW_LOCK_WAIT,
    {.id = DEDUP_ON_FULL,
     .name = "on-full",
     .type = CLI_CHOICE,
     .value = "ACTION",
     .fallback = "fail",
     .choices = cli_on_full,
     .help = "If the filter is full: fail, or pass a new record on without adding it.",
     .more = "Either way the filter keeps the rate of --fpr. With pass, a record may be "
             "printed twice, but is never lost."},
    CLI_ROW_THREADS,
    {.id = DEDUP_PROFILE,
     .name = "profile",
     .type = CLI_FLAG,
     .help = "Print at the end, on standard error, how long each stage took, in nanoseconds per record.",
     .more = "Times of all threads are added up and include waits for a processor. Below them are the waits "
             "for each other and for input, the elapsed time, and the share of memory in huge pages, which "
             "make lookups faster. Profiling reads the clock a few times per batch of records."},
    CLI_ROW_STATS,
    CLI_ROW_JSON,
    CLI_ROW_PROGRESS,
    CLI_ROW_NO_PROGRESS,
    CLI_ROW_QUIET,
    {.name = NULL},
};

const cli_conflict dedup_conflicts[] = {
    {DEDUP_COUNT, CLI_OPT_OUTPUT, "no records are written"},
    {DEDUP_FOLLOW_INPUT, DEDUP_COUNT, "a run that follows its input has no end"},
    {DEDUP_MARK, DEDUP_DUPLICATES, "all records are written to one output"},
    {DEDUP_STATE, DEDUP_FILTER, "a state has a filter of its own"},
    {DEDUP_WINDOW, CLI_OPT_KIND, "a window is a kind of its own"},
    {DEDUP_WINDOW, CLI_OPT_EXACT, "a window keeps fingerprints"},
    {DEDUP_WINDOW, CLI_OPT_TYPE, "a window takes keys as they are"},
    {DEDUP_WINDOW, CLI_OPT_HEX, "a window takes keys as they are"},
    {DEDUP_MARK, DEDUP_COUNT, "no records are written"},
    {CLI_OPT_EXACT, CLI_OPT_FPR, "exact accepts no rate"},
    {CLI_OPT_PROGRESS, CLI_OPT_NO_PROGRESS, "one shows what the other hides"},
    {CLI_OPT_PROGRESS, CLI_OPT_QUIET, "one shows what the other hides"},
    {.why = NULL},
};

const cli_summary_fields dedup_fields = {
    .records = {"records", "records", CLI_INTEGER, "Records read and answered."},
    .absent = {"unique", "unique", CLI_INTEGER, "Records seen for the first time."},
    .present = {"duplicates", "duplicates", CLI_INTEGER, "Records taken for a repetition."},
    .unknown = {"unknown", "passed on unchecked", CLI_INTEGER,
                "Records passed on without a lookup because the filter was full; 0 = none."},
    .late = {"late", "late", CLI_INTEGER,
             "Records that were older than the window allows, passed on or dropped; see --late."},
    .redelivered = {"redelivered", "redelivered", CLI_INTEGER,
                    "With --state: records that were delivered again and dropped; see --source. 0 = none."},
    .bytes_in = {"bytes_in", "bytes", CLI_INTEGER, "Bytes of the answered records, terminators included."},
    .bytes_out = {"bytes_out", NULL, CLI_INTEGER,
                  "Bytes written to --output and --duplicates; 0 = none, as with --count."},
    .seconds = {"seconds", "seconds", CLI_NUMBER, "Duration of the run, in seconds."},
    .fpr = {"fpr", NULL, CLI_NUMBER,
            "Promised probability, 0 to 1, that a new record is taken for a duplicate."},
    .fpr_live = {"fpr_live", NULL, CLI_NUMBER,
                 "The same probability with the keys in the filter at the end; 0 = the filter is empty."},
    .false_drops =
        {"false_drops", "estimated false drops", CLI_NUMBER,
         "Estimated number of new records taken for duplicates: an expected value, with a fraction."},
    .saturated = {"saturated", NULL, CLI_BOOLEAN,
                  "true: the filter was full when a record came, or holds more keys than it was made for."},
    .files = {"files", NULL, CLI_ARRAY_OF_OBJECTS,
              "One for each input that was opened, with file, records, unique, duplicates, unknown, late, "
              "missing, malformed and bytes_in."},
    .run = {"run", "run", CLI_STRING,
            "With --state: new; resumed, if it continues a run that another process began; grown, if a FILE "
            "has grown since the run finished; or finished, if there was nothing to do. Counts are for the "
            "whole run, also those of files; rates are for this process."},
    .inexact = {"inexact", NULL, CLI_STRING | CLI_NULL,
                "With --state: the first FILE or output that is not a regular file, so that records may be "
                "repeated after a crash; null = none."},
    .partial = {"partial", NULL, CLI_INTEGER,
                "With --defer-unterminated: number of FILEs whose last record had no terminator and was left "
                "for a later run."},
    .times.profile = {"profile", NULL, CLI_OBJECT,
                      "With --profile: the times of the stages read to write, of waits, and wall, in "
                      "nanoseconds; resident and huge_pages, if the system reports them."},
    .times.read = {"read", "reading", CLI_INTEGER, "Reading."},
    .times.split = {"split", "splitting", CLI_INTEGER, "Splitting the input into records."},
    .times.extract = {"extract", "finding keys", CLI_INTEGER, "Finding keys in records."},
    .times.hash = {"hash", "hashing", CLI_INTEGER, "Hashing keys."},
    .times.query = {"query", "querying the filter", CLI_INTEGER, "Querying the filter."},
    .times.route = {"route", "copying out", CLI_INTEGER, "Copying records to the outputs."},
    .times.write = {"write", "writing", CLI_INTEGER, "Writing."},
    .times.wait_input = {"wait_input", "waiting for input", CLI_INTEGER, "Waiting for input."},
    .times.wait_caller = {"wait_caller", "waiting, first thread", CLI_INTEGER,
                          "Waiting of the first thread."},
    .times.wait_others = {"wait_others", "waiting, others", CLI_INTEGER, "Waiting of the other threads."},
    .times.wall = {"wall", "on the clock", CLI_INTEGER, "Elapsed time."},
    .times.resident = {"resident", NULL, CLI_INTEGER, "Bytes of memory of the process at the end."},
    .times.huge_pages = {"huge_pages", "in huge pages", CLI_INTEGER, "Part of resident in huge pages."},
    CLI_SUMMARY_ROWS("answered"),
    CLI_SUMMARY_ROWS_FILTER,
};

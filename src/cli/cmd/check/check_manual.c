/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts of help and manual of check, except those of its options. */
#include "cli/cmd/check/check_config.h"

#include "cli/core/cli_rows.h"

const char *const check_description[] = {
    "Print the records that are in FILTER, a file that build, add or another program made.",
    "Records are the lines of the FILEs, read in order, or of standard input where no FILE or - is given, as "
    "in tamis-dedup(1). Every record that was put into the filter is printed, and one that was not by the "
    "rate of the filter only: tamis info shows it. With --filter no operand is a filter, and all are FILEs.",
    "A record leaves as soon as it arrived: when input pauses, what was read is answered and written.",
    "The file of a filter is mapped, so that opening takes no time whatever its size, and each part of it is "
    "verified before it is first used: damage is an error, never an answer. One that is compressed "
    "(gzip, as bloom --gzip of DCSO and tamis copy --gzip make them, zstd, lz4, xz or bzip2) is verified and "
    "unpacked into memory instead.",
    NULL};

const char *const check_exits[] = {
    "0",
    "A record was printed, or would have been without --count or --quiet.",
    "1",
    "None was.",
    "2",
    "Error: a bad option, a malformed record, records of which none has a key, unless --missing is given, a "
    "file that cannot be read, that is no filter or that is "
    "damaged, a secret that is missing or another one, an output that cannot be written.",
    "130",
    "Ended in order on SIGINT (143 on SIGTERM, 129 on SIGHUP).",
    "141",
    "The reader of the output has gone (a closed pipe): ended by SIGPIPE, without a word.",
    NULL};

const cli_example check_examples[] = {
    {"tamis build -o a.tamis a.log; cat b.log a.log | tamis check a.tamis > known.log",
     "Of all lines those that are in a.log."},
    {"tamis build -o a.tamis a.log; tamis check -v a.tamis b.log > new.log",
     "Those that are not: none of them is in a.log."},
    {"tamis build -o a.tamis a.log; tamis build -o b.tamis b.log; cat a.log b.log | tamis check -f a.tamis "
     "-f b.tamis > marked.log",
     "Each line behind a.tamis, b.tamis or both."},
    {"tamis build -o a.tamis a.log; if tamis check -q a.tamis -k \"$(head -n 1 a.log)\"; then echo yes; fi",
     "For scripts: is the key in the filter?"},
    {"tamis build -o listed.tamis list; tamis check listed.tamis --key json:/user_id clicks.jsonl > "
     "theirs.jsonl",
     "A list of plain lines, queried for a member of JSON records."},
    {"seq 1000 > ids; tamis build -o ids.bloom --format guava --type int64 ids; tamis check ids.bloom --type "
     "int64 -k 42",
     "A filter of numbers as Guava's longFunnel() has them, queried for one."},
    {NULL, NULL}};

/* Members of the object, in the order in which they are printed. */
const cli_entry check_json[] = {
    {"records", "Records read and answered."},
    {"absent", "Of these, the ones that are in no filter."},
    {"present", "Of these, the ones that are in one, or taken for that."},
    CLI_JSON_UNASKED,
    {"bytes_in", "Bytes of the answered records, terminators included."},
    {"bytes_out", "Bytes written to standard output."},
    {"seconds", "Duration of the run, in seconds."},
    {"records_per_second", "Records divided by seconds."},
    {"bytes_per_second", "Bytes read divided by seconds."},
    {"threads",
     "Threads that were at work: --threads, or fewer for little input or where the system refused some."},
    CLI_JSON_FILES("absent", "present"),
    {"interrupted", "true: a signal ended the run; all numbers are of what was answered until then."},
    {"failed", "true: an error ended the run, likewise; its line follows."},
    {NULL, NULL}};

const char *const check_notes[] = {
    "A filter that is replaced while it is in use, as build, add and dedup do it, stays in use; with "
    "--follow records that come later are looked up in the new one. Where that cannot be opened a remark "
    "says "
    "so, and the old one stays in use; a compressed one is not looked at again. One whose file is cut short "
    "or overwritten in place ends the run with an error.",
    "With --type or --hex the keys of the records, or of --lookup, are looked up, and the records printed as "
    "they came. One that is no key ends the run, after those before it are answered; leave such out with "
    "grep, as by grep -E '^[+-]?[0-9]+$' for numbers.",
    CLI_NOTES_EXTRACT,
    CLI_NOTE_COMPRESSED,
    CLI_NOTE_DCSO,
    CLI_NOTE_FAMILY,
    "The names before a record are those of the command line, with ? for a comma, a tab, a newline or "
    "another control byte in one. Before a header stands the word filters.",
    NULL};

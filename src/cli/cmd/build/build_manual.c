/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts of help and manual of build, except those of its options. */
#include "cli/cmd/build/build_config.h"

#include "cli/core/cli_rows.h"

const char *const build_description[] = {
    "Make a filter of the records read, and keep it in a file that check, add, dedup and other programs "
    "open.",
    "Records are the lines of the FILEs, read in order, or of standard input where no FILE or - is given, as "
    "in tamis-dedup(1). Nothing is kept but a few bits of each, so a record that is not in the filter may be "
    "taken for one that is, with the chance that --fpr states; one that is in it is always found.",
    "Sizes: K, M, G, T, P and E, alone or as KiB, are powers of 1024; KB and so on are powers of 1000. "
    "Counts: k, M, G and T are powers of 1000. Both may be written as 1e9 or 1.5G. Times: ms, s, m, h and d. "
    "So "
    "1M is 1,048,576 bytes or 1,000,000 records, and 1m is one minute and nothing else.",
    NULL};

const char *const build_exits[] = {
    "0",
    "The filter is made and saved.",
    "2",
    "Error: a bad option, a file that cannot be read or written, a malformed record, records of which none "
    "has a key, unless --missing is given, a filter that another process holds, a full one, a summary that "
    "cannot be written. No filter was saved, unless only the summary failed.",
    "130",
    "Ended in order on SIGINT (143 on SIGTERM, 129 on SIGHUP): nothing was saved.",
    "141",
    "The reader of standard output has gone (only --help writes there): ended by SIGPIPE, without a word.",
    NULL};

const cli_example build_examples[] = {
    {"tamis build -o clicks.tamis clicks.log", "A filter of the lines of clicks.log, of the size they need."},
    {"cut -d ' ' -f 1 a.log | tamis build -o first.tamis --expect 1e6 --fpr 1e-9 --stats",
     "Room for a million of them, one wrong answer in a billion, and a summary."},
    {"tamis build -o users.tamis --key csv:email users.csv", "Of a column of CSV."},
    {"tamis build -o list.tamis --data-version 7 --label source=a.log a.log",
     "With what a list that is shipped should say of itself."},
    {"tamis build -o list.bloom --format guava a.log",
     "For a program that reads it by Guava's BloomFilter.readFrom()."},
    {"seq 1000 > ids; tamis build -o ids.bloom --format guava --type int64 ids",
     "The same for one that asks for numbers of type long, by its longFunnel()."},
    {NULL, NULL}};

/* Members of the object, in the order in which they are printed. */
const cli_entry build_json[] = {
    {"records", "Records read."},
    {"unique", "Of these, the ones that were added."},
    {"duplicates", "Of these, the ones that were in the filter already, or taken for that."},
    CLI_JSON_UNASKED,
    {"bytes_in", "Bytes of the records, terminators included."},
    {"bytes_out", "Always 0: no records are written."},
    {"seconds", "Duration of the run, counting included, in seconds."},
    {"records_per_second", "Records divided by seconds."},
    {"bytes_per_second", "Bytes read divided by seconds."},
    {"threads",
     "Threads that were at work: --threads, or fewer for little input or where the system refused some."},
    {"memory", "Bytes that the filter holds at the end."},
    {"memory_peak", "Bytes, the most that it held at any moment, growth included."},
    {"bits_per_key", "Bits of memory_peak for each record kept; 0 = none was kept."},
    {"kind", "Kind of filter: classic, blocked, fingerprint or exact."},
    {"scheme", "Hash in use, as --scheme names it."},
    {"capacity", "Records that the filter has room for; 0 = no limit, it grows."},
    {"fpr", "Chance, 0 to 1, that was promised for a wrong answer."},
    {"fpr_live", "The same chance with what is in the filter; 0 = it is empty."},
    {"saturated", "true: a record found no room in the filter."},
    CLI_JSON_FILES("unique", "duplicates"),
    {"interrupted", "true: a signal ended the run; all numbers are of what was read until then."},
    {"failed", "true: an error ended the run, likewise; its line follows."},
    {NULL, NULL}};

const char *const build_notes[] = {
    "Without --expect, regular files are read twice: first the distinct records are counted, to within half "
    "a per cent, in 64 KiB of memory, then a filter with two per cent to spare is filled. It is of kind "
    "fingerprint, which grows when records are added, unless --kind or --frozen say otherwise, or --memory "
    "is "
    "too little for it (a message says so then). A file that is replaced, cut short or edited between the "
    "readings is an error; one that only grows is not. A pipe or a "
    "device "
    "cannot be read twice: up to some 65,000 distinct records from there are kept as hashes, and the filter "
    "is made for just so many; with more of them it grows as it is filled, which takes more room than one of "
    "the right size, and the kinds that cannot grow need --expect.",
    "With --type or --hex the keys are what the records stand for, and a record that is none ends the run: "
    "nothing is saved. Records with equal keys are one, as 7 and 007 of int64 are.",
    CLI_NOTES_EXTRACT,
    CLI_NOTE_COMPRESSED,
    CLI_NOTE_DCSO,
    "Without a secret the hash is known to everybody: a hostile sender can find records that the filter "
    "takes for its own. --secret-file is the answer to that; check needs the same secret then.",
    NULL};

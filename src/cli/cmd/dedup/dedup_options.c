/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cmd/dedup/dedup_config.h"
#include "cli/core/cli_choice.h"
#include "cli/core/cli_rows.h"

const cli_option dedup_options[DEDUP_OPTIONS] = {
    [DEDUP_OUTPUT] =
        {.name = "output",
         .letter = 'o',
         .type = CLI_FILE,
         .value = "FILE",
         .fallback = "-",
         .help = "Write first occurrences to FILE; - is standard output.",
         .more = "A regular file is written beside its name and renamed when all went well, with the "
                 "permissions of the file it replaces; on an error or a signal the old file stays as it "
                 "was. A FIFO or device is written directly."},
    [DEDUP_DUPLICATES] = {.name = "duplicates",
                          .type = CLI_FILE,
                          .value = "FILE",
                          .help = "Write the other occurrences to FILE, in the same way.",
                          .more =
                              "With - they go to standard output, and the first ones need --output FILE."},
    [DEDUP_COUNT] =
        {.name = "count",
         .type = CLI_FLAG,
         .help = "Write no records, only how many would have been written, on standard output.",
         .more = "That is the unique ones and those that were passed on, by --on-full, --missing or "
                 "--on-error: the lines that the same run without --count prints. The filter of --filter is "
                 "saved all the same."},
    [DEDUP_MARK] =
        {.name = "mark",
         .type = CLI_TEXT,
         .value = "NAME",
         .help = "Write every record, in order, and before it 1 (fresh) or 0 (seen before) and a tab.",
         .more =
             "What was not looked up has a - there: a record without key, a malformed one, and one that "
             "found no "
             "room (--on-full pass). A header gets the column NAME, by default fresh. Where a --key is of "
             "JSON the record gets a last member instead, \"NAME\":true, false or null; one that has a key "
             "and is no object counts as malformed.",
         .optional = true},
    [DEDUP_COMPRESS] = CLI_ROW_COMPRESS,
    [DEDUP_FILTER] =
        {.name = "filter",
         .type = CLI_FILE,
         .value = "FILTER",
         .help = "Print what the filter in this file has not seen, and save it at the end.",
         .more = "A file that is not there is made as --expect, --fpr, --memory, --kind, --exact, --scheme "
                 "and --seed say. One that is there stays of its kind, and compressed if it is: --expect "
                 "and --memory do nothing then; of the others those that contradict it are refused. It is "
                 "saved when all records are written. On a signal too, if standard output, or whoever reads "
                 "it, has taken all that were answered and nothing was to become a file; else, and on an "
                 "error, it stays as it was. Meanwhile no other process can change it; what another program "
                 "puts there without asking stays, and nothing is saved then. One that holds what it was "
                 "made for, or more, is full, whatever program made it: see --on-full."},
    [DEDUP_STATE] =
        {.name = "state",
         .type = CLI_FILE,
         .value = "DIR",
         .help = "Keep what was seen and how far the run is in this folder, so that no crash harms it.",
         .more =
             "Killed at any instant, by SIGKILL or a power loss, and started again with the same command, "
             "the run "
             "goes on from its last commit and ends with the output of one that was not disturbed, byte for "
             "byte. "
             "--output and --duplicates are written in place for that, and appended to by later runs. Other "
             "FILEs "
             "are another run against the same keys. A folder that is not there is made, as --expect, --fpr, "
             "--memory, --kind, --exact, --scheme and --seed say; one that is there keeps its kind. See "
             "FILES and "
             "NOTES."},
    [DEDUP_REREAD] =
        {.name = "reread",
         .type = CLI_FLAG,
         .help = "With --state: read FILEs although an earlier run has read them.",
         .more =
             "Their records are duplicates then, but for what has changed. Without it such a FILE is "
             "refused, and so is one that changed where it was read already. A run that had ended, to the "
             "same outputs, has nothing to do with it either."},
    [DEDUP_ABANDON] =
        {.name = "abandon",
         .type = CLI_FLAG,
         .help = "With --state: give up an unfinished run that is in the way.",
         .more =
             "A run that was killed or failed has an unread rest. A command that would write to the same "
             "outputs without reading that rest is refused, and the message has the command that finishes "
             "the run. With this option the rest is not read, and a remark says how many records go."},
    [DEDUP_EXACTLY_ONCE] =
        {.name = "exactly-once",
         .type = CLI_FLAG,
         .help = "With --state: refuse inputs and outputs that are no regular files.",
         .more = "Pipes and terminals cannot be read again or cut back: after a crash a record "
                 "may come twice, and none is lost. /dev/null is no matter."},
    [DEDUP_DEFER_UNTERMINATED] =
        {.name = "defer-unterminated",
         .type = CLI_FLAG,
         .help = "With --state: leave a last record that has no end yet for the next run.",
         .more = "For a FILE that is still being written, where it may be half of one. Without it the record "
                 "is answered as it is, and the FILE refused once it has got longer. A pipe or a compressed "
                 "FILE ends with its last record in any case."},
    [DEDUP_COMMIT_EVERY] =
        {.name = "commit-every",
         .type = CLI_TEXT,
         .value = "EVERY",
         .fallback = "64MiB,1s",
         .help =
             "With --state: commit after so many bytes of records, or so much time, whichever comes first.",
         .more =
             "1m is one minute, and 1M 1,048,576 bytes. "
             "Each commit waits for the disk; what was read since the last one is read again after a crash."},
    [DEDUP_FILES_FROM] = CLI_ROW_FILES_FROM,
    [DEDUP_RECORDS] = CLI_ROWS_RECORDS("key", "Keys"),
    [DEDUP_EXPECT] =
        {.name = "expect",
         .type = CLI_COUNT,
         .value = "N",
         .min = 1,
         .max = TAMIS_EXPECT_MAX,
         .help = "Number of distinct records to make room for; without it the filter grows.",
         .more =
             "Growth costs a few bits a record more. If more records come, the filter grows; kinds classic "
             "and blocked are full then, see --on-full. A number that is far too large costs little: the "
             "filter is made for what the FILEs can hold, or begins small if nobody knows that."},
    [DEDUP_FPR] = {.name = "fpr",
                   .type = CLI_RATE,
                   .value = "RATE",
                   .fallback = "1e-9",
                   .rate_min = TAMIS_FPR_MIN,
                   .rate_max = TAMIS_FPR_MAX,
                   .help = "Chance that a new record is taken for a duplicate, as 1e-6 or 0.1%."},
    [DEDUP_MEMORY] = CLI_ROW_MEMORY,
    [DEDUP_KIND] = CLI_ROW_KIND,
    [DEDUP_EXACT] = CLI_ROW_EXACT,
    [DEDUP_SCHEME] = CLI_ROW_SCHEME,
    [DEDUP_SEED] = CLI_ROW_SEED,
    [DEDUP_SECRET] = CLI_ROW_SECRET,
    [DEDUP_LOCK_WAIT] = CLI_ROW_LOCK_WAIT,
    [DEDUP_ON_FULL] =
        {.name = "on-full",
         .type = CLI_CHOICE,
         .value = "ACTION",
         .fallback = "fail",
         .choices = cli_on_full,
         .help = "When a new record finds no room: fail, or pass it on without remembering it.",
         .more = "Either way the rate that --fpr promises is kept: with pass a record may be printed "
                 "twice, never lost."},
    [DEDUP_THREADS] = CLI_ROW_THREADS,
    [DEDUP_PROFILE] =
        {.name = "profile",
         .type = CLI_FLAG,
         .help = "Print on standard error at the end where the time went: nanoseconds a record, by stage.",
         .more =
             "The times of all threads are added up, with what they waited for a processor; what they "
             "waited for each other or for input, and the time on the clock, stand below, and so does how "
             "much of the memory is in huge pages, which take less time to find anything in. It takes a "
             "few looks at the clock for each batch of records."},
    [DEDUP_STATS] = CLI_ROW_STATS,
    [DEDUP_JSON] = CLI_ROW_JSON,
    [DEDUP_PROGRESS] = CLI_ROW_PROGRESS,
    [DEDUP_NO_PROGRESS] = CLI_ROW_NO_PROGRESS,
    [DEDUP_QUIET] = CLI_ROW_QUIET,
};

const cli_conflict dedup_conflicts[DEDUP_CONFLICTS] = {
    {DEDUP_COUNT, DEDUP_OUTPUT, "no records are written"},
    {DEDUP_MARK, DEDUP_DUPLICATES, "all records are written to one output"},
    {DEDUP_STATE, DEDUP_FILTER, "a state has a filter of its own"},
    {DEDUP_REREAD, DEDUP_ABANDON, "one reads again what the other gives up"},
    {DEDUP_MARK, DEDUP_COUNT, "no records are written"},
    {DEDUP_EXACT, DEDUP_FPR, "exact accepts no rate"},
    {DEDUP_PROGRESS, DEDUP_NO_PROGRESS, "one shows what the other hides"},
    {DEDUP_PROGRESS, DEDUP_QUIET, "one shows what the other hides"},
};

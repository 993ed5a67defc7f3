/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli_choice.h"
#include "cli/dedup_config.h"

#define EXBIBYTE (UINT64_C(1) << 60)

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
    [DEDUP_COUNT] = {.name = "count",
                     .type = CLI_FLAG,
                     .help = "Write no records, only how many would have been written, on standard output.",
                     .more = "That is the unique ones and, with --when-full pass, those that were passed on: "
                             "the lines that the same run without --count prints."},
    [DEDUP_ZERO] = {.name = "zero-terminated",
                    .letter = 'z',
                    .type = CLI_FLAG,
                    .help = "Records end with a zero byte, not a newline."},
    [DEDUP_MAX_RECORD] = {.name = "max-record",
                          .type = CLI_SIZE,
                          .value = "SIZE",
                          .fallback = "1GiB",
                          .min = 1,
                          .max = EXBIBYTE,
                          .help = "Refuse a longer record; memory grows to the longest one met."},
    [DEDUP_EXPECT] =
        {.name = "expect",
         .type = CLI_COUNT,
         .value = "N",
         .min = 1,
         .max = TAMIS_EXPECT_MAX,
         .help = "Number of distinct records to make room for; without it the filter grows.",
         .more = "Growth costs a few bits a record more; a number that was too small shows as a full "
                 "filter, see --when-full."},
    [DEDUP_FPR] = {.name = "fpr",
                   .type = CLI_RATE,
                   .value = "RATE",
                   .fallback = "1e-9",
                   .rate_min = TAMIS_FPR_MIN,
                   .rate_max = TAMIS_FPR_MAX,
                   .help = "Chance that a new record is taken for a duplicate, as 1e-6 or 0.1%."},
    [DEDUP_MEMORY] = {.name = "memory",
                      .type = CLI_SIZE,
                      .value = "SIZE",
                      .min = 1,
                      .max = EXBIBYTE,
                      .help = "Most memory of the filter, growth included, as 512MiB or 2G.",
                      .more = "What cannot fit is refused at the start."},
    [DEDUP_WHEN_FULL] =
        {.name = "when-full",
         .type = CLI_CHOICE,
         .value = "ACTION",
         .fallback = "fail",
         .choices = cli_when_full,
         .help = "When a new record finds no room: fail, or pass it on without remembering it.",
         .more = "Either way the rate that --fpr promises is kept: with pass a record may be printed "
                 "twice, never lost."},
    [DEDUP_KIND] = {.name = "kind",
                    .type = CLI_CHOICE,
                    .value = "KIND",
                    .fallback = "auto",
                    .choices = cli_kinds,
                    .help = "Kind of filter: auto, classic, blocked, fingerprint or exact; see tamis plan."},
    [DEDUP_EXACT] = {.name = "exact",
                     .type = CLI_FLAG,
                     .help = "The same as --kind exact: keep 128 bits of each record.",
                     .more =
                         "With n records kept, a new one is taken for a duplicate with a chance of n/2^128."},
    [DEDUP_SCHEME] =
        {.name = "scheme",
         .type = CLI_CHOICE,
         .value = "SCHEME",
         .fallback = "auto",
         .choices = cli_schemes,
         .help = "Hash: xxh3, sip (keyed), or another program's, see tamis-hash(1); auto takes xxh3, "
                 "or sip where a secret is given.",
         .more = "bkdr31, bkdr63 and fnv-dcso are refused: their hashes are too short or too poor to tell "
                 "records apart."},
    [DEDUP_SEED] = {.name = "seed",
                    .type = CLI_SEED,
                    .value = "SEED",
                    .fallback = "0",
                    .help = "Seed of scheme xxh3, decimal or 0x...; says which records are confused."},
    [DEDUP_SECRET] =
        {.name = "secret-file",
         .type = CLI_FILE,
         .value = "FILE",
         .help = "Key the hash with the bytes of FILE (16 to 4096), so that nobody can aim records at it.",
         .more = "Every byte of the file counts, a newline at its end too. Standard input is "
                 "/dev/stdin here, not -. The file may not be an output."},
    [DEDUP_STATS] = {.name = "stats",
                     .type = CLI_FLAG,
                     .help = "Print a summary on standard error at the end.",
                     .more = "It is printed too when a run fails after records were answered, and says so; "
                             "the error follows it. A summary that cannot be written is an error."},
    [DEDUP_JSON] = {.name = "json",
                    .type = CLI_FLAG,
                    .help = "Print the summary as one JSON object; implies --stats.",
                    .more = "Its fields are listed below."},
    [DEDUP_PROGRESS] = {.name = "progress",
                        .type = CLI_FLAG,
                        .help = "Show progress even where standard error is no terminal: a line a second.",
                        .more =
                            "By itself progress is shown when standard error is a terminal and no records go "
                            "to one."},
    [DEDUP_NO_PROGRESS] = {.name = "no-progress", .type = CLI_FLAG, .help = "Show no progress."},
    [DEDUP_QUIET] = {.name = "quiet",
                     .letter = 'q',
                     .type = CLI_FLAG,
                     .help = "No progress and no remarks; errors, and a summary asked for, are printed."},
};

const cli_conflict dedup_conflicts[DEDUP_CONFLICTS] = {
    {DEDUP_COUNT, DEDUP_OUTPUT, "no records are written"},
    {DEDUP_EXACT, DEDUP_FPR, "exact accepts no rate"},
    {DEDUP_PROGRESS, DEDUP_NO_PROGRESS, "one shows what the other hides"},
    {DEDUP_PROGRESS, DEDUP_QUIET, "one shows what the other hides"},
};

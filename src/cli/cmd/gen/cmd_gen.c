/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/cmd/gen/gen_record.h"
#include "cli/core/cli_number.h"

enum { OPT_SEED, OPT_DUPLICATES, OPT_COUNT };

enum { BUFFER_SIZE = 1 << 20 };

static const cli_option options[OPT_COUNT] = {
    [OPT_SEED] =
        {.name = "seed",
         .type = CLI_SEED,
         .value = "SEED",
         .fallback = "0",
         .help = "Number that the records are made from: the same seed, the same bytes, on every machine."},
    [OPT_DUPLICATES] =
        {.name = "duplicates",
         .type = CLI_RATE,
         .value = "SHARE",
         .fallback = "0",
         .rate_min = 0,
         .rate_max = 1,
         .help = "Expected share of records that repeat an earlier one, as 0.2 or 20%.",
         .more = "The earlier one is any of those before, each as likely as the others. A repeated "
                 "click has the event_id, user and page of the earlier one, and another time and "
                 "node."},
};

static const cli_option count_operand = {.name = "N", .type = CLI_COUNT, .min = 0, .max = 1000000000000};

typedef struct gen_config {
    gen_maker *make_record;
    uint64_t count;
    uint64_t seed;
    double share;
} gen_config;

static const char *const shapes[] = {"words", "urls", "clicks", NULL};

static tamis_status configure(gen_config *config, const cli_args *args, tamis_error *err) {
    static gen_maker *const makers[] = {gen_word, gen_url, gen_click};
    cli_value count = {0};
    size_t shape = 0;

    if (args->operand_count != 2)
        return cli_fail(err, "gen: takes what to make and how many; give words, urls or clicks and a number, "
                             "such as tamis gen words 1e6");
    while (shapes[shape] != NULL && strcmp(shapes[shape], args->operands[0]) != 0)
        shape++;
    if (shapes[shape] == NULL)
        return cli_fail(err, "gen '%.60s': not known; give words, urls or clicks", args->operands[0]);
    if (cli_number_read(&count_operand, "gen", args->operands[1], &count, err) != TAMIS_OK)
        return err->status;
    config->make_record = makers[shape];
    config->count = count.number;
    config->seed = args->values[OPT_SEED].number;
    config->share = args->values[OPT_DUPLICATES].rate;
    return TAMIS_OK;
}

static tamis_status generate(const gen_config *config, const gen_source *source, char *buffer,
                             tamis_error *err) {
    char *pos = buffer, *const full = buffer + BUFFER_SIZE - GEN_RECORD_MAX;

    for (uint64_t i = 0; i < config->count; i++) {
        pos = config->make_record(source, i, pos);
        if (pos <= full)
            continue;
        tamis_status status = cli_output_write(buffer, (size_t)(pos - buffer), err);
        if (status != TAMIS_OK)
            return status;
        pos = buffer;
    }
    return cli_output_write(buffer, (size_t)(pos - buffer), err);
}

static tamis_status run_gen(const cli_args *args, bool *negative, tamis_error *err) {
    gen_config config = {NULL, 0, 0, 0};
    gen_source *source;
    char *buffer;
    tamis_status status;

    (void)negative;
    if (configure(&config, args, err) != TAMIS_OK)
        return err->status;
    source = malloc(sizeof *source);
    buffer = malloc(BUFFER_SIZE);
    if (source == NULL || buffer == NULL) {
        status = cli_fail_nomem("gen", err);
    } else {
        gen_source_init(source, config.seed, config.share);
        status = generate(&config, source, buffer, err);
    }
    free(source);
    free(buffer);
    return status;
}

static const char *const description[] = {
    "Print N made-up records, for measuring and testing: words, urls or clicks.",
    "A word has 4 to 12 letters; all lengths and letters are as likely, so short words repeat by themselves: "
    "10 million words hold about 9.2532 million distinct ones. A url has 60 to 100 bytes, and no two are "
    "equal "
    "unless --duplicates asks for it. A click is a JSON object of about 200 bytes on a line, with event_id, "
    "user_id, ts, url and more; no two lines are equal, and event_id repeats only where --duplicates asks "
    "for it.",
    "Each record follows from seed, share and its place alone, in integer arithmetic: the same bytes on "
    "every "
    "machine, and a longer output begins with the shorter one. N is a whole number up to 1e12, as 10000000, "
    "1e7 or "
    "10M (k, M, G and T are powers of 1000).",
    NULL};

static const char *const exits[] = {
    "0",   "Done.",
    "2",   "Error: nothing, or not all, was written.",
    "141", "The reader of standard output has gone: ended by SIGPIPE, without a word.",
    NULL};

static const cli_example examples[] = {
    {"tamis gen words 1e6 --seed 7 | tamis dedup --count", "How many of a million words are distinct."},
    {"tamis gen urls 100000 --duplicates 20% > urls.txt", "Addresses, a fifth of them repeated."},
    {"tamis gen clicks 3", "Three events, as a log of clicks has them."},
    {NULL, NULL}};

const cli_command cmd_gen = {
    .name = "gen",
    .summary = "make records for measuring and testing",
    .operands = "words|urls|clicks N",
    .operand_words = shapes,
    .description = description,
    .options = options,
    .option_count = OPT_COUNT,
    .exits = exits,
    .examples = examples,
    .run = run_gen,
};

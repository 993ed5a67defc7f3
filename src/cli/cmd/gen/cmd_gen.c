/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/cmd/gen/gen_record.h"
#include "cli/core/cli_number.h"

enum { OPT_DUPLICATES = CLI_OPT_OWN };

enum { BUFFER_SIZE = 1 << 20 };

static const cli_option options[] = {
    {.id = CLI_OPT_SEED,
     .name = "seed",
     .type = CLI_SEED,
     .value = "SEED",
     .fallback = "0",
     .help = "Seed of the records: the same seed gives the same bytes on every machine."},
    {.id = OPT_DUPLICATES,
     .name = "duplicates",
     .type = CLI_RATE,
     .value = "SHARE",
     .fallback = "0",
     .rate_min = 0,
     .rate_max = 1,
     .help = "Expected share of records that repeat an earlier one, as 0.2 or 20%.",
     .more = "Each earlier record is equally likely to be repeated. A repeated click has "
             "the event_id, user and page of the earlier one, but another time and node."},
    {.name = NULL},
};

static const cli_option count_operand = {.name = "N", .type = CLI_COUNT, .min = 0, .max = 1000000000000};

typedef struct gen_config {
    gen_maker *make_record;
    uint64_t count;
    uint64_t seed;
    double share;
} gen_config;

enum { WORDS, URLS, CLICKS, SHAPES };

static const char *const shapes[] = {
    [WORDS] = "words", [URLS] = "urls", [CLICKS] = "clicks", [SHAPES] = NULL};

static tamis_status configure(gen_config *config, const cli_args *args, tamis_error *err) {
    static gen_maker *const makers[SHAPES] = {[WORDS] = gen_word, [URLS] = gen_url, [CLICKS] = gen_click};
    cli_value count = {0};
    size_t shape = 0;

    if (args->operand_count != 2)
        return cli_fail(err, "gen: takes what to make and how many; give words, urls or clicks and a number, "
                             "such as tamis gen words 1e6");
    while (shapes[shape] && strcmp(shapes[shape], args->operands[0]) != 0)
        shape++;
    if (!shapes[shape])
        return cli_fail(err, "gen '%.60s': not known; give words, urls or clicks", args->operands[0]);
    if (cli_number_read(&count_operand, "gen", args->operands[1], &count, err) != TAMIS_OK)
        return err->status;
    config->make_record = makers[shape];
    config->count = count.number;
    config->seed = args->values[CLI_OPT_SEED].number;
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
        const tamis_status status = cli_output_write(buffer, (size_t)(pos - buffer), err);
        if (status != TAMIS_OK)
            return status;
        pos = buffer;
    }
    return cli_output_write(buffer, (size_t)(pos - buffer), err);
}

static tamis_status run_gen(const cli_args *args, bool *negative, tamis_error *err) {
    gen_config config = {0};
    tamis_status status;

    (void)negative;
    if (configure(&config, args, err) != TAMIS_OK)
        return err->status;
    gen_source *source = malloc(sizeof *source);
    char *buffer = malloc(BUFFER_SIZE);
    if (!source || !buffer) {
        status = cli_fail_nomem("gen", err);
    } else {
        gen_source_init(source, config.seed, config.share);
        status = generate(&config, source, buffer, err);
    }
    free(source);
    free(buffer);
    return status;
}

const cli_command cmd_gen = {
    .name = "gen",
    .summary = "make up records for measuring and testing",
    .operands = "words|urls|clicks N",
    .operand_words = shapes,
    .manual = &cli_manual_gen,
    .options = options,
    .run = run_gen,
};

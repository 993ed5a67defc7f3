/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * tamis bitmap: actions on a plain bitmap in a Redis, without a filter.
 *
 *     action   operands            prints            by
 *     ------   -----------------   ---------------   --------------------------------
 *     set      OFFSET[=0|1]...     the old bits      bitmap_bits.c, in pipelines
 *     get      OFFSET...           the bits          bitmap_bits.c, in pipelines
 *     count    range in options    number of ones    one command, or several for bits
 *     pos      0 or 1, range       first such bit    the same; none is a negative answer
 *     op       and, SOURCE...      bytes of result   one command, on the server
 *
 * An action is a row of `actions` and a function of `runs`, with the same index. cli_action_find checks
 * operands and options by the row, so a function sees only what its action allows.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/experimental/redis_bitmap.h>

#include "cli/cli.h"
#include "cli/cmd/bitmap/bitmap.h"
#include "cli/core/cli_action.h"

enum { OPT_BYTES = CLI_OPT_OWN, OPT_BITS };

static const cli_option options[] = {
    {.id = OPT_BYTES,
     .name = "bytes",
     .type = CLI_TEXT,
     .value = "FROM:TO",
     .help = "count and pos: only these bytes, both included; negative numbers count from the end.",
     .more = "Byte 0 has bits 0 to 7; -1 is the last byte. The range may go past the ends of "
             "the bitmap; FROM: alone goes up to its end."},
    {.id = OPT_BITS,
     .name = "bits",
     .type = CLI_TEXT,
     .value = "FROM:TO",
     .help = "count and pos: only these bits, both included; negative numbers count from the end.",
     .more = "If the range does not consist of whole bytes and has more than 4096 of them, it "
             "is read in several steps, so other clients may change it in between."},
    {.id = CLI_OPT_QUIET,
     .name = "quiet",
     .letter = 'q',
     .type = CLI_FLAG,
     .help = "set and op: print no old bits and no length."},
    {.name = NULL},
};

static const cli_conflict conflicts[] = {
    {OPT_BYTES, OPT_BITS, "a range is of one or the other"},
    {.why = NULL},
};

typedef struct bitmap_run {
    const cli_args *args;
    char **operands; /* operands after the URI */
    size_t operand_count;
    tamis_redis_bitmap *bitmap;
    tamis_redis_bitmap_range range;
    bool negative; /* pos: there is no such bit */
} bitmap_run;

/* ---- ranges ---- */

static bool read_position(const char *text, const char *end, int64_t *position) {
    uint64_t number = 0;
    const bool is_below = *text == '-';

    text += is_below;
    if (text == end || end - text > 18)
        return false;
    for (; text < end; text++) {
        if (*text < '0' || *text > '9')
            return false;
        number = number * 10 + (uint64_t)(*text - '0');
    }
    *position = is_below ? -(int64_t)number : (int64_t)number;
    return true;
}

static tamis_status read_range(bitmap_run *run, tamis_error *err) {
    const cli_value *bits = &run->args->values[OPT_BITS], *bytes = &run->args->values[OPT_BYTES];
    const char *text = bits->given ? bits->text : bytes->text, *colon;

    run->range = (tamis_redis_bitmap_range)TAMIS_REDIS_BITMAP_RANGE_INIT;
    if (!text)
        return TAMIS_OK;
    run->range.unit = bits->given ? TAMIS_REDIS_BITMAP_BITS : TAMIS_REDIS_BITMAP_BYTES;
    colon = strchr(text, ':');
    if (colon && read_position(text, colon, &run->range.from)) {
        run->range.is_open = colon[1] == '\0';
        if (run->range.is_open || read_position(colon + 1, colon + strlen(colon), &run->range.to))
            return TAMIS_OK;
    }
    return cli_fail(err, "--%s '%.60s': is not a range; give FROM:TO, as 0:99, 100: or -10:-1",
                    bits->given ? "bits" : "bytes", text);
}

/* ---- actions ---- */

static tamis_status set(bitmap_run *run, tamis_error *err) {
    const bitmap_action action = run->args->values[CLI_OPT_QUIET].given ? BITMAP_SET_QUIETLY : BITMAP_SET;

    return bitmap_bits(run->bitmap, action, run->operands, run->operand_count, err);
}

static tamis_status get(bitmap_run *run, tamis_error *err) {
    return bitmap_bits(run->bitmap, BITMAP_GET, run->operands, run->operand_count, err);
}

static tamis_status count(bitmap_run *run, tamis_error *err) {
    uint64_t ones;

    if (tamis_redis_bitmap_count(run->bitmap, &run->range, &ones, err) != TAMIS_OK)
        return err->status;
    printf("%" PRIu64 "\n", ones);
    return TAMIS_OK;
}

static tamis_status pos(bitmap_run *run, tamis_error *err) {
    const char *bit = run->operands[0];
    int64_t offset;

    if (strcmp(bit, "0") != 0 && strcmp(bit, "1") != 0)
        return cli_fail(err, "bitmap pos: '%.60s' is not a bit; give 0 or 1", bit);
    if (tamis_redis_bitmap_pos(run->bitmap, *bit == '1', &run->range, &offset, err) != TAMIS_OK)
        return err->status;
    if (offset < 0)
        run->negative = true;
    else
        printf("%" PRId64 "\n", offset);
    return TAMIS_OK;
}

static tamis_status op(bitmap_run *run, tamis_error *err) {
    static const char *const names[] = {[TAMIS_REDIS_BITMAP_AND] = "and",
                                        [TAMIS_REDIS_BITMAP_OR] = "or",
                                        [TAMIS_REDIS_BITMAP_XOR] = "xor",
                                        [TAMIS_REDIS_BITMAP_NOT] = "not"};
    const size_t sources = run->operand_count - 1;
    uint64_t size;
    size_t i = 0;

    while (i < sizeof names / sizeof *names && strcmp(names[i], run->operands[0]) != 0)
        i++;
    if (i == sizeof names / sizeof *names)
        return cli_fail(err, "bitmap op: '%.60s' is not known; give and, or, xor or not", run->operands[0]);
    if (i == TAMIS_REDIS_BITMAP_NOT && sources > 1)
        return cli_fail(err, "bitmap op not: takes one source, not %zu; combine them first (or)", sources);
    if (tamis_redis_bitmap_op(run->bitmap, (tamis_redis_bitmap_operation)i,
                              (const char *const *)run->operands + 1, sources, &size, err) != TAMIS_OK)
        return err->status;
    if (!run->args->values[CLI_OPT_QUIET].given)
        printf("%" PRIu64 "\n", size);
    return TAMIS_OK;
}

enum { SET, GET, COUNT, POS, OP, ACTIONS };

#define QUIET (UINT64_C(1) << CLI_OPT_QUIET)
#define RANGE (UINT64_C(1) << OPT_BYTES | UINT64_C(1) << OPT_BITS)

static const cli_action actions[ACTIONS] = {
    [SET] = {.name = "set",
             .max_operands = SIZE_MAX,
             .operands_text = "URI [OFFSET[=0|1]...]",
             .options = QUIET},
    [GET] = {.name = "get", .max_operands = SIZE_MAX, .operands_text = "URI [OFFSET...]"},
    [COUNT] = {.name = "count", .operands_text = "URI", .options = RANGE},
    [POS] =
        {.name = "pos", .min_operands = 1, .max_operands = 1, .operands_text = "URI 0|1", .options = RANGE},
    [OP] = {.name = "op",
            .min_operands = 2,
            .max_operands = SIZE_MAX,
            .operands_text = "URI and|or|xor|not SOURCE...",
            .options = QUIET}};

static tamis_status (*const runs[ACTIONS])(bitmap_run *run, tamis_error *err) = {
    [SET] = set, [GET] = get, [COUNT] = count, [POS] = pos, [OP] = op};

static const char *const action_names[] = {
    [SET] = "set", [GET] = "get", [COUNT] = "count", [POS] = "pos", [OP] = "op", [ACTIONS] = NULL};

static tamis_status run_bitmap(const cli_args *args, bool *negative, tamis_error *err) {
    const cli_actions known = {
        .command = "bitmap", .uri = "redis://host:port/KEY", .list = actions, .count = ACTIONS};
    bitmap_run run = {.args = args};
    size_t action;

    if (cli_action_find(&action, &known, args, options, err) != TAMIS_OK)
        return err->status;
    run.operands = args->operands + 2;
    run.operand_count = args->operand_count - 2;
    if (read_range(&run, err) != TAMIS_OK ||
        tamis_redis_bitmap_open(&run.bitmap, NULL, args->operands[1], NULL, err) != TAMIS_OK)
        return err->status;
    const tamis_status status = runs[action](&run, err);
    tamis_redis_bitmap_close(run.bitmap);
    *negative = run.negative;
    return status;
}

const cli_command cmd_bitmap = {
    .name = "bitmap",
    .summary = "set, read, count and combine bits of plain Redis bitmaps",
    .operands = "ACTION URI [OPERAND...]",
    .operand_words = action_names,
    .manual = &cli_manual_bitmap,
    .options = options,
    .conflicts = conflicts,
    .run = run_bitmap,
};

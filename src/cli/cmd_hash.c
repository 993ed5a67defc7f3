/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/cli_secret.h"
#include "cli/hash_config.h"
#include "cli/hash_lines.h"

enum {
    BATCH = 256,                                 /* keys hashed at a time */
    NUMBER_MAX = 21,                             /* a tab and the digits of UINT64_MAX */
    ROW_MAX = 2 * TAMIS_PROBES_MAX * NUMBER_MAX, /* hashes and positions, which is more than a digest has */
    ROWS_SIZE = 1 << 16
};

typedef struct hash_run {
    hash_config config;
    tamis_hasher *hasher;
    cli_key_maker *maker;
    hash_lines lines;
    tamis_key keys[BATCH]; /* that were extracted */
    tamis_hash hashes[BATCH];
    uint64_t *numbers;            /* the block of the two that follow; NULL without --probes */
    uint64_t *series, *positions; /* BATCH * probes of each */
    char rows[ROWS_SIZE], *end;   /* printed, not yet written */
} hash_run;

/* ---- rows ---- */

static int write_rows(hash_run *run, tamis_error *err) {
    size_t size = (size_t)(run->end - run->rows);

    run->end = run->rows;
    return cli_output_write(run->rows, size, err);
}

/* The words' bytes in little-endian order, as the digest has them. */
static char *print_digest(char *at, const tamis_hash *hash, uint32_t bits) {
    static const char digits[] = "0123456789abcdef";

    for (uint32_t bit = 0; bit < bits; bit += 8) {
        unsigned byte = (unsigned)(hash->word[bit / 64] >> bit % 64) & 0xff;
        *at++ = digits[byte >> 4];
        *at++ = digits[byte & 15];
    }
    return at;
}

static char *print_number(char *at, uint64_t number) {
    char digits[NUMBER_MAX], *first = digits + sizeof digits;
    size_t size;

    do
        *--first = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    size = (size_t)(digits + sizeof digits - first);
    memcpy(at, first, size);
    return at + size;
}

static char *print_numbers(char *at, const uint64_t *numbers, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0)
            *at++ = '\t';
        at = print_number(at, numbers[i]);
    }
    return at;
}

static tamis_status hash_keys(hash_run *run, const tamis_key *keys, size_t count, tamis_error *err) {
    const hash_config *config = &run->config;
    tamis_status status;

    if (tamis_scheme_digest_bits(config->scheme) > 0)
        status = tamis_hash_many(run->hasher, keys, count, run->hashes, err);
    else
        status = tamis_hash_series(run->hasher, keys, count, config->probes, run->series, err);
    if (status != TAMIS_OK || config->bits == 0)
        return status;
    return tamis_hash_positions(run->hasher, keys, count, config->bits, config->probes, run->positions, err);
}

static int print_keys(hash_run *run, const tamis_key *keys, size_t count, tamis_error *err) {
    const hash_config *config = &run->config;
    uint32_t bits = tamis_scheme_digest_bits(config->scheme), probes = config->probes;

    if (hash_keys(run, keys, count, err) != TAMIS_OK)
        return CLI_FAILED;
    for (size_t i = 0; i < count; i++) {
        char *at = run->end;
        at = bits > 0 ? print_digest(at, &run->hashes[i], bits)
                      : print_numbers(at, run->series + i * probes, probes);
        if (config->bits > 0) {
            *at++ = '\t';
            at = print_numbers(at, run->positions + i * probes, probes);
        }
        *at++ = '\n';
        run->end = at;
        if (at + ROW_MAX > run->rows + ROWS_SIZE) {
            int code = write_rows(run, err);
            if (code != CLI_DONE)
                return code;
        }
    }
    return CLI_DONE;
}

/* ---- keys ---- */

static int fail_extraction(const tamis_extraction *found, const tamis_key *given, cli_key_place place,
                           tamis_error *err) {
    char why[160];

    if (found->outcome == TAMIS_KEY_MISSING)
        return cli_key_fail(place, given, "has no key; check --key, or leave it out", err);
    snprintf(why, sizeof why, "at byte %zu: %.100s; mend it, or check --key", found->at, found->why);
    return cli_key_fail(place, given, why, err);
}

/* What --key says of them, in run->keys, up to one that has no key: of that *err tells. */
static int extract(hash_run *run, const tamis_key *given, size_t count, cli_key_place place, size_t *good,
                   tamis_error *err) {
    tamis_extraction found[BATCH];

    *good = 0;
    if (tamis_extractor_take(run->config.extract.extractor, given, count, found, err) != TAMIS_OK)
        return CLI_FAILED;
    for (; *good < count; ++*good) {
        if (found[*good].outcome != TAMIS_KEY_FOUND)
            return fail_extraction(&found[*good], &given[*good], cli_key_place_one(place, *good), err);
        run->keys[*good] = found[*good].key;
    }
    return CLI_DONE;
}

/* Answers at most BATCH keys as they were given, `place` that of the first. Those before a bad one are answered. */
static int answer(hash_run *run, const tamis_key *given, size_t count, cli_key_place place,
                  tamis_error *err) {
    tamis_error unmade = TAMIS_ERROR_INIT, unprinted = TAMIS_ERROR_INIT;
    const tamis_key *keys;
    size_t made;
    int extracted = CLI_DONE, code, printed;

    if (run->config.extract.extractor != NULL) {
        extracted = extract(run, given, count, place, &count, err);
        given = run->keys;
    }
    code = cli_key_make(run->maker, given, count, place, &keys, &made, &unmade);
    printed = made > 0 ? print_keys(run, keys, made, &unprinted) : CLI_DONE;
    if (printed != CLI_DONE || code != CLI_DONE)
        *err = printed == CLI_FAILED ? unprinted : unmade;
    return printed != CLI_DONE ? printed : code != CLI_DONE ? code : extracted;
}

static int answer_lines(hash_run *run, tamis_error *err) {
    cli_key_place place = {NULL, "line", 1, NULL};
    tamis_key keys[BATCH];
    size_t count;
    int code;

    do {
        int written;
        code = hash_lines_next(&run->lines, keys, BATCH, &count, err);
        if (code == CLI_DONE)
            code = answer(run, keys, count, place, err);
        written = write_rows(run, err); /* what was answered, whatever came after */
        if (written != CLI_DONE)
            return written;
        place.number += count;
    } while (code == CLI_DONE && count > 0);
    return code;
}

static int answer_operands(hash_run *run, const cli_args *args, tamis_error *err) {
    int code = CLI_DONE, written;

    for (size_t i = 0; i < args->operand_count && code == CLI_DONE; i++) {
        char *operand = args->operands[i];
        if (strcmp(operand, "-") == 0)
            code = answer_lines(run, err);
        else
            code = answer(run, &(tamis_key){operand, strlen(operand)}, 1,
                          (cli_key_place){NULL, "key", i + 1, NULL}, err);
    }
    written = write_rows(run, err);
    return written == CLI_DONE ? code : written;
}

/* ---- the run ---- */

static int create_hasher(hash_run *run, tamis_error *err) {
    tamis_hasher_options options = TAMIS_HASHER_OPTIONS_INIT;
    const char *secret_file = run->config.secret_file;
    cli_secret secret;
    int code = CLI_DONE;

    options.scheme = run->config.scheme;
    options.seed = run->config.seed;
    if (secret_file != NULL) {
        code = cli_secret_read(&secret, secret_file, -1, err);
        if (code != CLI_DONE)
            return code;
        options.secret = secret.bytes;
        options.secret_size = secret.size;
        if (cli_secret_is_in(&secret, "-"))
            code = cli_fail(err, "--secret-file '%.300s': is standard output too; write to another file",
                            secret_file);
    }
    if (code == CLI_DONE && tamis_hasher_create(&run->hasher, &options, err) != TAMIS_OK)
        code = CLI_FAILED;
    if (secret_file != NULL)
        cli_secret_forget(&secret);
    return code;
}

static int prepare(hash_run *run, tamis_error *err) {
    size_t numbers = (size_t)BATCH * run->config.probes;

    run->end = run->rows;
    if (numbers > 0) {
        run->numbers = calloc(2 * numbers, sizeof *run->numbers);
        if (run->numbers == NULL)
            return cli_fail_nomem("hash", err);
        run->series = run->numbers;
        run->positions = run->numbers + numbers;
    }
    if (cli_key_maker_create(&run->maker, run->config.form, err) != CLI_DONE)
        return CLI_FAILED;
    return create_hasher(run, err);
}

static void release(hash_run *run) {
    cli_extract_release(&run->config.extract);
    hash_lines_release(&run->lines);
    cli_key_maker_free(run->maker);
    tamis_hasher_free(run->hasher);
    free(run->numbers);
    free(run);
}

static int run_hash(const cli_args *args, tamis_error *err) {
    hash_config config;
    hash_run *run;
    int code;

    code = hash_configure(&config, args, err);
    if (code == CLI_DONE)
        code = cli_output_check(err);
    run = code == CLI_DONE ? calloc(1, sizeof *run) : NULL;
    if (run == NULL) {
        cli_extract_release(&config.extract);
        return code == CLI_DONE ? cli_fail_nomem("hash", err) : code;
    }
    run->config = config;
    code = prepare(run, err);
    if (code == CLI_DONE)
        code = args->operand_count > 0 ? answer_operands(run, args, err) : answer_lines(run, err);
    release(run);
    return code;
}

/* Keys are not file names, so nothing is completed. */
static const char *const no_words[] = {NULL};

const cli_command cmd_hash = {
    .name = "hash",
    .summary = "digests and positions of keys, as this or another system has them",
    .operands = "[KEY...]",
    .operand_words = no_words,
    .description = hash_description,
    .options = hash_options,
    .option_count = HASH_OPTIONS,
    .schemes = hash_schemes,
    .exits = hash_exits,
    .notes = hash_notes,
    .examples = hash_examples,
    .run = run_hash,
};

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * tamis hash: the digest and the positions of keys, as each scheme computes them.
 *
 *     keys of the command line, or records --> typed keys --> tamis_hash_many --> digest TAB positions
 *
 * Rows are buffered and written together, since a list of keys may be long.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/cmd/hash/hash.h"
#include "cli/input/cli_summary.h"
#include "cli/input/cli_typed.h"
#include "cli/process/cli_secret.h"

enum {
    BATCH = 256,                                 /* keys hashed at a time */
    NUMBER_MAX = 21,                             /* a tab and the digits of UINT64_MAX */
    ROW_MAX = 2 * TAMIS_PROBES_MAX * NUMBER_MAX, /* hashes and positions; a digest is shorter */
    ROWS_SIZE = 1 << 16
};

typedef struct hash_run {
    hash_config config;
    tamis_hasher *hasher;
    cli_summary summary; /* statistics of skipped records */
    tamis_hash hashes[BATCH];
    uint64_t *numbers;            /* memory of `series` and `positions`; NULL without --probes */
    uint64_t *series, *positions; /* BATCH * probes numbers each */
    char rows[ROWS_SIZE], *end;   /* output buffer and its end */
} hash_run;

/* ---- rows ---- */

static tamis_status write_rows(hash_run *run, tamis_error *err) {
    const size_t size = (size_t)(run->end - run->rows);

    run->end = run->rows;
    return cli_output_write(run->rows, size, err);
}

/* Writes the digest in hexadecimal digits: the bytes of its words in little-endian order. */
static char *print_digest(char *pos, const tamis_hash *hash, uint32_t bits) {
    static const char digits[] = "0123456789abcdef";

    for (uint32_t bit = 0; bit < bits; bit += 8) {
        const unsigned byte = (unsigned)(hash->word[bit / 64] >> bit % 64) & 0xff;
        *pos++ = digits[byte >> 4];
        *pos++ = digits[byte & 15];
    }
    return pos;
}

static char *print_number(char *pos, uint64_t number) {
    char digits[NUMBER_MAX], *first = digits + sizeof digits;

    do
        *--first = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    const size_t size = (size_t)(digits + sizeof digits - first);
    memcpy(pos, first, size);
    return pos + size;
}

static char *print_numbers(char *pos, const uint64_t *numbers, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0)
            *pos++ = '\t';
        pos = print_number(pos, numbers[i]);
    }
    return pos;
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
    return tamis_hash_positions(run->hasher, keys, count,
                                &(tamis_bloom_shape){.bits = config->bits, .probes = config->probes},
                                run->positions, err);
}

static tamis_status print_keys(hash_run *run, const tamis_key *keys, size_t count, tamis_error *err) {
    const hash_config *config = &run->config;
    uint32_t bits = tamis_scheme_digest_bits(config->scheme), probes = config->probes;

    if (hash_keys(run, keys, count, err) != TAMIS_OK)
        return err->status;
    for (size_t i = 0; i < count; i++) {
        char *pos = run->end;
        pos = bits > 0 ? print_digest(pos, &run->hashes[i], bits)
                       : print_numbers(pos, run->series + i * probes, probes);
        if (config->bits > 0) {
            *pos++ = '\t';
            pos = print_numbers(pos, run->positions + i * probes, probes);
        }
        *pos++ = '\n';
        run->end = pos;
        if (pos + ROW_MAX > run->rows + ROWS_SIZE) {
            const tamis_status status = write_rows(run, err);
            if (status != TAMIS_OK)
                return status;
        }
    }
    return TAMIS_OK;
}

/* The query function of a tamis_stream_service. Writes the rows of all answered keys before it returns, also
 * after an error. */
static tamis_status hash_texts(void *context, const tamis_stream_batch *texts, size_t *done,
                               tamis_error *err) {
    hash_run *run = context;
    tamis_status status = TAMIS_OK;

    for (*done = 0; *done < texts->count && status == TAMIS_OK;) {
        const size_t batch_size = texts->count - *done < BATCH ? texts->count - *done : BATCH;
        status = print_keys(run, texts->keys + *done, batch_size, err);
        memset(texts->answers + *done, TAMIS_ABSENT, batch_size);
        *done += status == TAMIS_OK ? batch_size : 0;
    }
    const tamis_status written = write_rows(run, err);
    return written == TAMIS_OK ? status : written;
}

/* ---- keys ---- */

static tamis_status answer_records(hash_run *run, const tamis_stream_service *service, tamis_error *err) {
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    tamis_stream_stats stats = TAMIS_STREAM_STATS_INIT;
    tamis_stream_stats *total = &run->summary.stats;

    options.first_malformed = total->malformed == 0 ? &run->summary.first_malformed : NULL;
    const tamis_status status = cli_stream_run(&run->config.stream, service, &options, &stats, err);
    total->records += stats.records;
    total->missing += stats.missing;
    total->malformed += stats.malformed;
    cli_stream_advise(status, err);
    if (status == TAMIS_E_NO_KEY) /* hash has no --missing pass */
        cli_remedy(err, "correct it, or give --missing drop");
    if (status == TAMIS_E_RECORD)
        cli_remedy(err, "correct it, or give --on-error skip");
    return status;
}

/* Skips or refuses a malformed KEY of the command line, as --on-error says. */
static tamis_status apply_on_error(hash_run *run, const tamis_key *key, const tamis_extraction *found,
                                   cli_key_position position, tamis_error *err) {
    const bool fails = run->config.stream.malformed == TAMIS_STREAM_FAIL;
    tamis_error *first = &run->summary.first_malformed;
    char why[200];

    snprintf(why, sizeof why, "at byte %zu: %.100s%s", found->pos, found->why,
             fails ? "; correct it, check --key, or give --on-error skip" : "");
    if (fails)
        return cli_key_fail(position, key, why, err);
    if (run->summary.stats.malformed++ == 0)
        cli_key_fail(position, key, why, first);
    return TAMIS_OK;
}

static tamis_status apply_missing(hash_run *run, const tamis_key *key, cli_key_position position,
                                  tamis_error *err) {
    if (run->config.stream.missing == TAMIS_STREAM_FAIL)
        return cli_key_fail(position, key, "has no key; check --key, or give --missing drop", err);
    run->summary.stats.missing++;
    return TAMIS_OK;
}

static tamis_status answer_operand(hash_run *run, cli_typed *typed, const char *operand, size_t number,
                                   tamis_error *err) {
    tamis_key key = {operand, strlen(operand)};
    tamis_extractor *extractor = run->config.stream.extract.extractor;
    tamis_extraction found;
    tamis_answer answer;
    tamis_stream_batch batch = TAMIS_STREAM_BATCH_INIT;
    size_t done;

    typed->next = (cli_key_position){.input = NULL, .word = "key", .number = number, .record_index = NULL};
    run->summary.stats.records++;
    if (extractor) {
        if (tamis_extractor_extract(extractor, &key, 1, &found, err) != TAMIS_OK)
            return err->status;
        if (found.outcome == TAMIS_KEY_MISSING)
            return apply_missing(run, &key, typed->next, err);
        if (found.outcome == TAMIS_KEY_MALFORMED)
            return apply_on_error(run, &key, &found, typed->next, err);
        key = found.key;
    }
    batch.count = 1;
    batch.keys = &key;
    batch.answers = &answer;
    return typed->service.query(typed->service.context, &batch, &done, err);
}

static tamis_status answer_all(hash_run *run, const cli_args *args, tamis_error *err) {
    tamis_stream_service service = TAMIS_STREAM_SERVICE_INIT;
    cli_typed typed;

    service.context = run;
    service.query = hash_texts;
    if (args->operand_count == 0)
        return answer_records(run, &service, err);
    tamis_status status = cli_typed_begin(&typed, run->config.stream.form, &service, err);
    for (size_t i = 0; i < args->operand_count && status == TAMIS_OK; i++)
        status = strcmp(args->operands[i], "-") == 0
                     ? answer_records(run, &service, err)
                     : answer_operand(run, &typed, args->operands[i], i + 1, err);
    cli_typed_end(&typed);
    return status;
}

/* ---- the run ---- */

static tamis_status create_hasher(hash_run *run, tamis_error *err) {
    tamis_hasher_options options = TAMIS_HASHER_OPTIONS_INIT;
    const char *secret_file = run->config.secret_file;
    cli_secret secret;
    tamis_status status = TAMIS_OK;

    options.scheme = run->config.scheme;
    options.seed = run->config.seed;
    if (secret_file) {
        status = cli_secret_read(&secret, secret_file, -1, err);
        if (status != TAMIS_OK)
            return status;
        options.secret = secret.bytes;
        options.secret_size = secret.size;
        if (cli_secret_is_in(&secret, "-"))
            status = cli_fail(err, "--secret-file '%.300s': is standard output too; write to another file",
                              secret_file);
    }
    if (status == TAMIS_OK)
        status = tamis_hasher_create(&run->hasher, &options, err);
    if (secret_file)
        cli_secret_forget(&secret);
    return status;
}

static tamis_status prepare(hash_run *run, tamis_error *err) {
    const size_t numbers = (size_t)BATCH * run->config.probes;

    run->end = run->rows;
    run->summary = (cli_summary)CLI_SUMMARY_INIT;
    if (numbers > 0) {
        run->numbers = calloc(2 * numbers, sizeof *run->numbers);
        if (!run->numbers)
            return cli_fail_nomem("hash", err);
        run->series = run->numbers;
        run->positions = run->numbers + numbers;
    }
    return create_hasher(run, err);
}

static void release(hash_run *run) {
    cli_stream_release(&run->config.stream);
    tamis_hasher_free(run->hasher);
    free(run->numbers);
    free(run);
}

static tamis_status run_hash(const cli_args *args, bool *negative, tamis_error *err) {
    hash_config config;

    (void)negative;
    tamis_status status = hash_configure(&config, args, err);
    if (status == TAMIS_OK)
        status = cli_output_check(err);
    hash_run *run = status == TAMIS_OK ? calloc(1, sizeof *run) : NULL;
    if (!run) {
        cli_stream_release(&config.stream);
        return status == TAMIS_OK ? cli_fail_nomem("hash", err) : status;
    }
    run->config = config;
    status = prepare(run, err);
    if (status == TAMIS_OK) {
        status = answer_all(run, args, err);
        run->summary.failed = status != TAMIS_OK;
        if (status != TAMIS_E_PIPE)
            cli_summary_report_skipped(&run->summary, &config.stream);
    }
    release(run);
    return status;
}

/* Keys are not file names, so nothing is completed. */
static const char *const no_words[] = {NULL};

const cli_command cmd_hash = {
    .name = "hash",
    .summary = "digests and positions of keys, in tamis and other systems",
    .operands = "[KEY...]",
    .operand_words = no_words,
    .manual = &cli_manual_hash,
    .options = hash_options,
    .run = run_hash,
};

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The options of tamis hash. What is printed depends on the scheme and two options:
 *
 *     scheme has        --bits   --probes   a line has
 *     ---------------   ------   --------   ------------------------------------
 *     a digest          no       no         the digest
 *     a digest          yes      yes        the digest, and K positions below M
 *     a hash a probe    no       yes        K hashes
 *     a hash a probe    yes      yes        K hashes, and their positions
 *
 * All other combinations are refused. A KEY of the command line has no header. So a --key that names a column
 * needs records on standard input.
 */
#include "cli/cmd/hash/hash.h"

#include <string.h>

#include "cli/core/cli_choice.h"
#include "cli/core/cli_rows.h"

/* Choices of --missing and --on-error. There is no pass: a record without a hash has no line of output. */
enum { MISSING_FAIL, MISSING_DROP };
static const char *const missing[] = {[MISSING_FAIL] = "fail", [MISSING_DROP] = "drop", NULL};
static const char *const on_error[] = {[CLI_ON_ERROR_FAIL] = "fail", [CLI_ON_ERROR_SKIP] = "skip", NULL};

const cli_option hash_options[] = {
    {.id = CLI_OPT_SCHEME,
     .name = "scheme",
     .type = CLI_CHOICE,
     .value = "SCHEME",
     .fallback = "auto",
     .choices = cli_schemes,
     .help = "Hash and positions: xxh3, sip, guava64, guava32, bkdr31, bkdr63, redisbloom, "
             "fnv-dcso or redisson; auto is xxh3, or sip with a secret."},
    CLI_ROWS_EXTRACT,
    {.id = CLI_OPT_HEADER,
     .name = "header",
     .type = CLI_FLAG,
     .help = "The first record of standard input is a header, not a key.",
     .more = "csv:NAME implies it."},
    {.id = CLI_OPT_MISSING,
     .name = "missing",
     .type = CLI_CHOICE,
     .value = "ACTION",
     .fallback = "fail",
     .choices = missing,
     .help = "For a record without a key: fail, or drop it, so that it has no line of output.",
     .more = "Needs --key."},
    {.id = CLI_OPT_ON_ERROR,
     .name = "on-error",
     .type = CLI_CHOICE,
     .value = "ACTION",
     .fallback = "fail",
     .choices = on_error,
     .help = "For a malformed record: fail, or skip it.",
     .more = "The error names line and byte. If records were skipped, remarks at the end give their number "
             "and the position of the first. Needs --key. A text that does not match --type or --hex always "
             "ends the run. So skip is refused with these options, except for records of CSV and JSON."},
    CLI_ROW_TYPE("KEY"),
    {.id = CLI_OPT_HEX,
     .name = "hex",
     .type = CLI_FLAG,
     .help = "KEYs are hexadecimal digits, two for each byte of the key or "
             "of its text."},
    CLI_ROW_ZERO,
    CLI_ROW_MAX_RECORD,
    {.id = HASH_BITS,
     .name = "bits",
     .type = CLI_COUNT,
     .value = "M",
     .min = 1,
     .max = TAMIS_BITS_MAX,
     .help = "Print positions in a filter of M bits; needs --probes.",
     .more = "M is used as it is; a filter of Guava or RedisBloom has a multiple of 64 bits."},
    {.id = HASH_PROBES,
     .name = "probes",
     .type = CLI_COUNT,
     .value = "K",
     .min = 1,
     .max = TAMIS_PROBES_MAX,
     .help = "Number of positions of a key; for bkdr31 and bkdr63 also of hashes."},
    {.id = CLI_OPT_SEED,
     .name = "seed",
     .type = CLI_SEED,
     .value = "SEED",
     .fallback = "0",
     .help = "Seed of scheme xxh3, decimal or 0x...; for other schemes it cannot be chosen."},
    {.id = CLI_OPT_SECRET_FILE,
     .name = "secret-file",
     .type = CLI_FILE,
     .value = "FILE",
     .help = "Key scheme sip with the bytes of FILE (16 to 4096).",
     .more = "Every byte of the file counts, including a newline at its end. Standard input "
             "is /dev/stdin here, not -."},
    {.name = NULL},
};

static tamis_status check_scheme(const hash_config *config, const cli_args *args, tamis_error *err) {
    const bool secret = config->secret_file;

    if (secret && strcmp(config->secret_file, "-") == 0)
        return cli_fail(err, "--secret-file '-': is not taken for standard input here; give /dev/stdin, or "
                             "./- for a file of that name");
    if (config->scheme == TAMIS_SCHEME_SIP && !secret)
        return cli_fail(err, "--scheme 'sip': needs a secret; give --secret-file FILE of %d to %d bytes",
                        TAMIS_SECRET_MIN, TAMIS_SECRET_MAX);
    if (config->scheme != TAMIS_SCHEME_SIP && secret)
        return cli_fail(
            err, "--secret-file: contradicts --scheme %s, which takes no secret; leave one of them out",
            args->values[CLI_OPT_SCHEME].text);
    if (config->scheme != TAMIS_SCHEME_XXH3 && args->values[CLI_OPT_SEED].given)
        return cli_fail(err, "--seed '%.60s': contradicts scheme %s, which takes no seed; leave --seed out",
                        args->values[CLI_OPT_SEED].text, tamis_scheme_name(config->scheme));
    return TAMIS_OK;
}

static tamis_status check_positions(const hash_config *config, const cli_args *args, tamis_error *err) {
    const char *name = tamis_scheme_name(config->scheme);

    if (config->bits > 0 && config->probes == 0)
        return cli_fail(err, "--bits '%.60s': needs the number of positions too; give --probes K",
                        args->values[HASH_BITS].text);
    if (tamis_scheme_digest_bits(config->scheme) == 0) {
        if (config->probes == 0)
            return cli_fail(err, "--scheme '%s': has no digest, but a hash for each probe; give --probes K",
                            name);
    } else if (config->probes > 0 && config->bits == 0) {
        return cli_fail(err, "--probes '%.60s': needs the size of the filter too; give --bits M",
                        args->values[HASH_PROBES].text);
    }
    return TAMIS_OK;
}

static tamis_status configure_stream(hash_config *config, const cli_args *args, tamis_error *err) {
    const cli_value *given = args->values;
    cli_value values[CLI_OPTIONS_MAX];
    cli_stream *stream = &config->stream;

    memcpy(values, given, sizeof values);
    values[CLI_OPT_HEX].given = false; /* hash accepts --hex with text types: checked below */
    if (cli_stream_configure(stream, &(cli_stream_given){.values = values}, err) != TAMIS_OK)
        return err->status;
    stream->missing = given[CLI_OPT_MISSING].number == MISSING_FAIL ? TAMIS_STREAM_FAIL : TAMIS_STREAM_DROP;
    stream->form.hex = given[CLI_OPT_HEX].given;
    if (stream->form.hex && (stream->form.type == CLI_KEY_INT32 || stream->form.type == CLI_KEY_INT64))
        return cli_fail(err,
                        "--hex: contradicts --type %s: a number is given in decimal; leave one of them out",
                        given[CLI_OPT_TYPE].text);
    if (cli_stream_check_form(stream, err) != TAMIS_OK)
        return err->status;
    const bool named = stream->extract.extractor && tamis_extractor_wants_header(stream->extract.extractor);
    for (size_t i = 0; named && i < args->operand_count; i++)
        if (strcmp(args->operands[i], "-") != 0)
            return cli_fail(err,
                            "--key: names a column, and a KEY has no header; give its number, as csv:1, or "
                            "records and their header on standard input");
    return TAMIS_OK;
}

tamis_status hash_configure(hash_config *config, const cli_args *args, tamis_error *err) {
    const cli_value *values = args->values;

    memset(config, 0, sizeof *config);
    config->secret_file = values[CLI_OPT_SECRET_FILE].text;
    config->scheme = (tamis_scheme)values[CLI_OPT_SCHEME].number;
    if (config->scheme == TAMIS_SCHEME_AUTO)
        config->scheme = config->secret_file ? TAMIS_SCHEME_SIP : TAMIS_SCHEME_XXH3;
    config->bits = values[HASH_BITS].number;
    config->probes = (uint32_t)values[HASH_PROBES].number;
    config->seed = values[CLI_OPT_SEED].number;
    if (configure_stream(config, args, err) != TAMIS_OK || check_scheme(config, args, err) != TAMIS_OK)
        return err->status;
    return check_positions(config, args, err);
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Options for the keys of records (--key, --delimiter, --trim, --ignore-case) become an extractor of the
 * library. Without any of them there is none: the whole record is the key, and nothing is copied.
 *
 * Normalisation may come from a filter as well: its keys were made with --trim, say. Then the extractor is
 * made again with it (cli_extract_apply_normalization), before the first record is read. Keys of the command
 * line are not records, so they get an extractor that only normalises (cli_extract_normalizer).
 */
#include "cli/input/cli_extract.h"

#include <stdio.h>
#include <string.h>

#include <tamis/file.h>

#include "cli/core/cli_rows.h"

/* Returns the byte that `text` names, or -1. */
static int read_byte(const char *text) {
    static const struct {
        const char *name;
        char byte;
    } names[] = {{"tab", '\t'}, {"\\t", '\t'},  {"comma", ','}, {"semicolon", ';'},
                 {"pipe", '|'}, {"space", ' '}, {"nul", '\0'},  {"\\0", '\0'}};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(text, names[i].name) == 0)
            return names[i].byte;
    return strlen(text) == 1 ? (unsigned char)*text : -1;
}

static bool begins_with(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

static bool has_fields(const char *part) {
    return begins_with(part, "csv:") || begins_with(part, "field:");
}

static tamis_status read_delimiter(cli_extract *extract, const cli_value *given, int terminator, bool fields,
                                   tamis_error *err) {
    const char *const others[] = {extract->options.time, extract->options.source, extract->options.position};

    extract->delimiter = -1;
    if (!given->given)
        return TAMIS_OK;
    for (size_t i = 0; i < extract->options.part_count; i++)
        fields = fields || has_fields(extract->options.parts[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        fields = fields || (others[i] && has_fields(others[i]));
    if (!fields)
        return cli_fail(err,
                        "--delimiter: nothing takes fields of a record; leave it out, or give --key field:N");
    extract->delimiter = read_byte(given->text);
    if (extract->delimiter < 0 || extract->delimiter == terminator)
        return cli_fail(
            err,
            "--delimiter '%.20s': give one byte, tab, comma, semicolon, pipe, space or nul, and none that "
            "ends a record",
            given->text);
    return TAMIS_OK;
}

tamis_status cli_extract_configure(cli_extract *extract, const cli_value *values,
                                   const cli_extract_others *others, int terminator, tamis_error *err) {
    tamis_extractor_options *options = &extract->options;

    memset(extract, 0, sizeof *extract);
    *options = (tamis_extractor_options)TAMIS_EXTRACTOR_OPTIONS_INIT;
    options->parts = (const char *const *)values[CLI_OPT_KEY].list;
    options->part_count = values[CLI_OPT_KEY].count;
    options->trim = values[CLI_OPT_TRIM].given;
    options->ignore_case = values[CLI_OPT_IGNORE_CASE].given;
    options->time = others->time;
    options->source = others->source;
    options->position = others->position;
    extract->has_parts = options->part_count > 0;
    if (read_delimiter(extract, &values[CLI_OPT_DELIMITER], terminator, others->fields, err) != TAMIS_OK)
        return err->status;
    options->delimiter = extract->delimiter;
    if (!extract->has_parts && !options->trim && !options->ignore_case && !options->time && !options->source)
        return TAMIS_OK;
    if (tamis_extractor_create(&extract->extractor, options, err) == TAMIS_OK)
        return TAMIS_OK;
    if (err->status == TAMIS_E_INVALID) { /* of a key or the delimiter: the option has that name */
        const tamis_error original = *err;
        snprintf(err->text, sizeof err->text, "--%.*s", (int)sizeof err->text - 3, original.text);
    }
    return err->status;
}

void cli_extract_release(cli_extract *extract) {
    tamis_extractor_free(extract->extractor);
    extract->extractor = NULL;
}

uint32_t cli_extract_normalization(const cli_extract *extract) {
    return (extract->options.ignore_case ? TAMIS_KEYS_FOLDED : 0U) |
           (extract->options.trim ? TAMIS_KEYS_TRIMMED : 0U);
}

tamis_status cli_extract_apply_normalization(cli_extract *extract, uint32_t normalization, tamis_error *err) {
    if (normalization == cli_extract_normalization(extract))
        return TAMIS_OK;
    extract->options.ignore_case = (normalization & TAMIS_KEYS_FOLDED) != 0;
    extract->options.trim = (normalization & TAMIS_KEYS_TRIMMED) != 0;
    cli_extract_release(extract);
    return tamis_extractor_create(&extract->extractor, &extract->options, err);
}

tamis_status cli_extract_normalizer(tamis_extractor **extractor, const cli_extract *extract,
                                    tamis_error *err) {
    tamis_extractor_options options = extract->options;

    *extractor = NULL;
    options.parts = NULL;
    options.part_count = 0;
    options.time = options.source = options.position = NULL;
    options.delimiter = -1;
    if (!options.trim && !options.ignore_case)
        return TAMIS_OK;
    return tamis_extractor_create(extractor, &options, err);
}

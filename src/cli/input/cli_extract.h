/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_INPUT_CLI_EXTRACT_H
#define TAMIS_CLI_INPUT_CLI_EXTRACT_H

#include <tamis/experimental/extract.h>

#include "cli/cli.h"

/* How the key of a record is found: --key, --delimiter, --trim and --ignore-case. */
typedef struct cli_extract {
    tamis_extractor *extractor; /* extractor of keys; NULL: the key is the whole record */
    bool has_parts;             /* true: --key was given, so the end of a line is not the end of a key */
    int delimiter;              /* delimiter byte; -1: not given */
    tamis_extractor_options options;
} cli_extract;

/* Parts of a record that do not belong to its key. */
typedef struct cli_extract_others {
    const char *time, *source, *position; /* NULL: none */
    bool fields; /* true: the caller uses fields by itself, so --delimiter is allowed without --key field:N */
} cli_extract_others;

/*
 * Parses the options. The caller releases *extract, also after an error.
 *
 * - `terminator` ends a record, so it is refused as a delimiter; -1: every byte is allowed.
 * - Strings belong to argv.
 */
tamis_status cli_extract_configure(cli_extract *extract, const cli_value *values,
                                   const cli_extract_others *others, int terminator, tamis_error *err);
void cli_extract_release(cli_extract *extract);

/* Returns how the options normalise keys: bits of TAMIS_KEYS_NORMALIZED. */
uint32_t cli_extract_normalization(const cli_extract *extract);

/* Creates the extractor again if a filter normalises keys in another way than the options. `normalization`
 * is that of cli_key_form, after cli_key_apply_filter. */
tamis_status cli_extract_apply_normalization(cli_extract *extract, uint32_t normalization, tamis_error *err);

/* Creates an extractor for keys that are not part of a record: it applies --trim and --ignore-case and
 * ignores --key. The caller owns *extractor. It is NULL if neither option is set. */
tamis_status cli_extract_normalizer(tamis_extractor **extractor, const cli_extract *extract,
                                    tamis_error *err);

#endif

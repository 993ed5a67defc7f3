/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_INPUT_CLI_EXTRACT_H
#define TAMIS_CLI_INPUT_CLI_EXTRACT_H

#include <tamis/extract.h>

#include "cli/cli.h"

/* What of a record is its key, from the block CLI_EXTRACT of cli_rows.h. */
typedef struct cli_extract {
    tamis_extractor *extractor; /* NULL: the key is the record */
    bool has_parts;             /* --key was given: what ends a line is no longer the end of a key */
    int delimiter;              /* -1: not given */
    tamis_extractor_options options;
} cli_extract;

/* `terminator` ends a record and so is no delimiter, -1: any byte may be one; `fields`: somebody else takes fields of
 * records. Strings belong to argv. Release either way. CLI_DONE or CLI_FAILED. */
int cli_extract_configure(cli_extract *extract, const cli_value *values, int terminator, bool fields,
                          tamis_error *err);
void cli_extract_release(cli_extract *extract);

/* What the options do to each key: bits of TAMIS_KEYS_MADE. */
uint32_t cli_extract_made(const cli_extract *extract);

/* Makes it anew where more is done to keys than the options say: `made` of cli_key_form, once a filter has told it. */
int cli_extract_apply_made(cli_extract *extract, uint32_t made, tamis_error *err);

/* The same of keys that stand alone: without parts, with blanks and letters as they are to be. *extractor is the caller's;
 * NULL: there is nothing to do. */
int cli_extract_whole(tamis_extractor **extractor, const cli_extract *extract, tamis_error *err);

#endif

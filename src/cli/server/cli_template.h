/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_SERVER_CLI_TEMPLATE_H
#define TAMIS_CLI_SERVER_CLI_TEMPLATE_H

#include <tamis/experimental/redis_family.h>

#include "cli/cli.h"
#include "cli/input/cli_extract.h"
#include "cli/input/cli_key.h"

/*
 * The template of a family's names: {N} is field N of a record. The key is what is left of the record.
 *
 *     template    topic_read:{1}:{2}       parts: "topic_read:", field 1, ":", field 2
 *     record      8839540 <tab> 20190609 <tab> 76930242
 *     name        topic_read:8839540:20190609
 *     text        76930242                 the fields that no part uses, with the delimiters between them
 */
typedef struct cli_template cli_template;

/* Parses the name in the URI. `plain` has strlen(uri) + 1 bytes and becomes the URI with a * for each
 * field. With --key the run extracts the keys, so texts are empty. If that option reads CSV, {N} is column
 * N. The caller owns *template until cli_template_free, which accepts NULL. */
tamis_status cli_template_create(cli_template **template, const char *uri, const cli_extract *extract,
                                 char *plain, tamis_error *err);
void cli_template_free(cli_template *template);

/* Records, and the position of the first for errors. */
typedef struct cli_record_batch {
    const tamis_key *records;
    size_t count;
    cli_key_position first;
} cli_record_batch;

/*
 * Splits the records of a batch into pairs of a name and a text, which is empty with --key. Their bytes
 * belong to the template until the next call. Stops at a record that lacks a field or has no valid name: *err
 * then has the reason and the position of that record. Returns the number of records before it.
 */
size_t cli_template_split(cli_template *template, const cli_record_batch *batch, tamis_redis_pair *pairs,
                          tamis_error *err);

#endif

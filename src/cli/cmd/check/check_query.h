/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_CHECK_CHECK_QUERY_H
#define TAMIS_CLI_CMD_CHECK_CHECK_QUERY_H

#include <tamis/experimental/stream.h>

#include "cli/cmd/check/check_config.h"
#include "cli/process/cli_secret.h"

/* Lookups of the same keys in all filters of a check. */
typedef struct check_query check_query;

/* Opens the filters of `config`, which must outlive *query. secrets[i] is the content of
 * config->secret_files[i] and is not needed after the call. The caller owns *query and frees it with
 * check_query_free (NULL is allowed there). */
tamis_status check_query_open(check_query **query, const check_config *config, const cli_secret *secrets,
                              tamis_error *err);
/* Adds to *form, the key form of the configuration, what the filters store about their keys. Call it before
 * the first lookup. Error: filters contradict each other, or an option. */
tamis_status check_query_apply_key_form(check_query *query, cli_key_form *form, tamis_error *err);
void check_query_free(check_query *query);

/* Functions of a tamis_stream_service whose context is the check_query. A key is TAMIS_PRESENT if any filter
 * has it. The mark of a record is the names of these filters, separated by commas, and a tab. */
tamis_status check_query_batch(void *query, const tamis_stream_batch *batch, size_t *done, tamis_error *err);
/* The hasher of the service, or NULL if it needs keys. check_query.c lists the conditions. */
const tamis_hasher *check_query_hasher(const check_query *query);
uint32_t check_query_parts(void *query, size_t count, uint32_t max);
tamis_status check_query_part(void *query, const tamis_stream_batch *batch, uint32_t part, size_t *done,
                              tamis_error *err);
void check_query_finish_parts(void *query, const tamis_stream_batch *batch, size_t done, tamis_status status,
                              tamis_error *err);
void check_query_set_source(void *query, const tamis_stream_source *source);
tamis_key check_query_mark(void *query, size_t i);
/* True if a record to be printed was found. */
bool check_query_found(void *query);

#endif

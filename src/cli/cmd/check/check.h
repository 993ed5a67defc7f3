/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_CHECK_CHECK_H
#define TAMIS_CLI_CMD_CHECK_CHECK_H

#include <tamis/experimental/stream.h>

#include "cli/core/cli_rows.h"
#include "cli/input/cli_stream.h"
#include "cli/process/cli_secret.h"

/* What the files of check share. cmd_check.c has the run. */

/* ---- options: check_config.c ---- */

/* The options of check, in the order of the help. */
enum { CHECK_FILTER = CLI_OPT_OWN, CHECK_LOOKUP, CHECK_INVERT, CHECK_COUNT, CHECK_FOLLOW };

extern const cli_option check_options[];
extern const cli_conflict check_conflicts[];

/* Validated options of a run. Strings belong to argv, lists to the parsed arguments. */
typedef struct check_config {
    cli_stream stream;
    const char *const *filters;
    size_t filter_count;
    const char *const *keys;
    size_t key_count; /* number of keys on the command line (--lookup); 0: read records */
    const char *const *secret_files;
    size_t secret_count;
    bool invert;
    bool count;
    bool follow;
    bool trace;
    bool is_family;    /* the only filter is the URI of a family (cli_family.h) */
    bool prints_names; /* print records with the names of the filters that have them */
} check_config;

/* Validates the parsed arguments and fills *config. The caller releases config->stream, also after an
 * error. */
tamis_status check_configure(check_config *config, const cli_args *args, tamis_error *err);

/* ---- lookups in all filters: check_query.c ---- */

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

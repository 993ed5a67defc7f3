/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_CHECK_CHECK_QUERY_H
#define TAMIS_CLI_CMD_CHECK_CHECK_QUERY_H

#include <tamis/stream.h>

#include "cli/cmd/check/check_config.h"
#include "cli/process/cli_secret.h"

/* The filters of a check, asked together. */
typedef struct check_query check_query;

/* Opens the filters of the configuration, which must outlive it; `secrets` are those of its files, in their order, and are
 * not needed afterwards. *ask is the caller's until freed (NULL is fine). */
int check_query_open(check_query **query, const check_config *config, const cli_secret *secrets,
                     tamis_error *err);
/* Puts into *form, that of the configuration, what the filters say of their keys. CLI_FAILED where these, or an option, say
 * otherwise. Before the first question. */
int check_query_apply_key_form(check_query *query, cli_key_form *form, tamis_error *err);
void check_query_free(check_query *query);

/* As the functions of a tamis_stream_service, with the check_query as context. A record is answered TAMIS_PRESENT if any
 * filter has it; its mark is the names of those that do, and a tab. */
tamis_status check_query_keys(void *query, const tamis_key *keys, size_t count, tamis_answer *answers,
                              size_t *done, tamis_error *err);
/* The hasher of what check_query_hashes takes, where there is one filter that takes them; else NULL. */
const tamis_hasher *check_query_hasher(const check_query *query);
tamis_status check_query_hashes(void *query, const tamis_key *keys, const tamis_hash *hashes, size_t count,
                                tamis_answer *answers, size_t *done, tamis_error *err);
uint32_t check_query_parts(void *query, size_t count, uint32_t max);
tamis_status check_query_part(void *query, const tamis_hash *hashes, size_t count, uint32_t part,
                              uint32_t parts, tamis_answer *answers, size_t *done, tamis_error *err);
void check_query_finish_parts(void *query, const tamis_answer *answers, size_t done, tamis_status status,
                              tamis_error *err);
void check_query_set_source(void *query, const tamis_stream_source *source);
tamis_key check_query_mark(void *query, size_t i);
/* Whether a record was met that is to be printed. */
bool check_query_found(void *query);

#endif

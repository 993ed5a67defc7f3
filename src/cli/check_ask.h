/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CHECK_ASK_H
#define TAMIS_CLI_CHECK_ASK_H

#include <tamis/stream.h>

#include "cli/check_config.h"
#include "cli/cli_secret.h"

/* The filters of a check, asked together. */
typedef struct check_ask check_ask;

/* Opens the filters of the configuration, which must outlive it; `secrets` are those of its files, in their order, and are
 * not needed afterwards. *ask is the caller's until freed (NULL is fine). */
int check_ask_open(check_ask **ask, const check_config *config, const cli_secret *secrets, tamis_error *err);
/* Puts into *form, that of the configuration, what the filters say of their keys. CLI_FAILED where these, or an option, say
 * otherwise. Before the first question. */
int check_ask_settle(check_ask *ask, cli_key_form *form, tamis_error *err);
void check_ask_free(check_ask *ask);

/* As the functions of a tamis_stream_service, with the check_ask as context. A record is answered TAMIS_SEEN if any
 * filter has it; its mark is the names of those that do, and a tab. */
tamis_status check_ask_keys(void *ask, const tamis_key *keys, size_t count, tamis_answer *answers,
                            size_t *done, tamis_error *err);
/* The hasher of what check_ask_hashes takes, where there is one filter that takes them; else NULL. */
const tamis_hasher *check_ask_hasher(const check_ask *ask);
tamis_status check_ask_hashes(void *ask, const tamis_key *keys, const tamis_hash *hashes, size_t count,
                              tamis_answer *answers, size_t *done, tamis_error *err);
uint32_t check_ask_parts(void *ask, size_t count, uint32_t most);
tamis_status check_ask_part(void *ask, const tamis_hash *hashes, size_t count, uint32_t part, uint32_t parts,
                            tamis_answer *answers, size_t *done, tamis_error *err);
void check_ask_joined(void *ask, const tamis_answer *answers, size_t done, tamis_status status,
                      tamis_error *err);
void check_ask_place(void *ask, const tamis_stream_origin *origin);
tamis_key check_ask_mark(void *ask, size_t i);
/* Whether a record was met that is to be printed. */
bool check_ask_found(void *ask);

#endif

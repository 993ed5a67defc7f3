/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_BUILD_BUILD_SKETCH_H
#define TAMIS_CLI_CMD_BUILD_BUILD_SKETCH_H

#include <tamis/hash.h>

#include "cli/process/cli_secret.h"

/* Estimates the number of distinct keys, in 64 KiB of memory. */
typedef struct build_sketch build_sketch;

/* `secret` (may be NULL) keys the hash, so that nobody can choose keys that spoil the estimate. The caller
 * owns *sketch and frees it. */
tamis_status build_sketch_create(build_sketch **sketch, const cli_secret *secret, tamis_error *err);
void build_sketch_free(build_sketch *sketch);

/* The query function of a tamis_stream_service; `sketch` is its context. Counts the keys and answers
 * TAMIS_ABSENT for all of them. */
tamis_status build_sketch_add(void *sketch, const tamis_key *keys, size_t count, tamis_answer *answers,
                              size_t *done, tamis_error *err);

/* Upper bound of the number of distinct keys, at least 1. It is too small with a chance of about one in a
 * million. */
uint64_t build_sketch_bound(const build_sketch *sketch);

#endif

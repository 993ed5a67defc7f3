/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_BUILD_BUILD_SKETCH_H
#define TAMIS_CLI_CMD_BUILD_BUILD_SKETCH_H

#include <tamis/hash.h>

#include "cli/process/cli_secret.h"

/* How many distinct keys there are, about, in 64 KiB. */
typedef struct build_sketch build_sketch;

/* Keyed where there is a secret, so that nobody can aim keys at it either. *sketch is the caller's until freed. */
int build_sketch_create(build_sketch **sketch, const cli_secret *secret, tamis_error *err);
void build_sketch_free(build_sketch *sketch);

/* As ask of a tamis_stream_service, with the sketch as context: counts the keys, answers all of them TAMIS_ABSENT. */
tamis_status build_sketch_add(void *sketch, const tamis_key *keys, size_t count, tamis_answer *answers,
                              size_t *done, tamis_error *err);

/* A number that the distinct keys do not pass, but for a chance of about one in a million; at least 1. */
uint64_t build_sketch_bound(const build_sketch *sketch);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_BUILD_GATHER_H
#define TAMIS_CLI_BUILD_GATHER_H

#include "cli/cli_filter.h"

enum { BUILD_GATHER_MOST = 1 << 16 }; /* distinct keys of which hashes are kept */

/* Distinct keys, as the hashes that the filter wanted takes, until it is known how many there are. */
typedef struct build_gather build_gather;

/* `want` and `secret` (may be NULL) are those of the filter; the scheme must have a digest. *gather is the caller's until
 * freed. CLI_DONE or CLI_FAILED. */
int build_gather_create(build_gather **gather, const cli_filter_want *want, const cli_secret *secret,
                        tamis_error *err);
void build_gather_free(build_gather *gather);

/* Whether `count` keys more have room. */
bool build_gather_has_room(const build_gather *gather, size_t count);

/* As tamis_filter_add_many; for keys that have room. */
tamis_status build_gather_add(build_gather *gather, const tamis_key *keys, size_t count,
                              tamis_answer *answers, size_t *done, tamis_error *err);

/* Distinct keys added. */
uint64_t build_gather_count(const build_gather *gather);

/* Adds them all to a filter of that scheme, seed and secret. */
tamis_status build_gather_pour(const build_gather *gather, tamis_filter *filter, tamis_error *err);

#endif

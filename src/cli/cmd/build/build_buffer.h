/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_BUILD_BUILD_BUFFER_H
#define TAMIS_CLI_CMD_BUILD_BUILD_BUFFER_H

#include "cli/filter/cli_filter.h"

/*
 * Distinct keys of an input that can be read once, as the hashes that the filter wanted takes, until it is known how many
 * there are:
 *
 *     up to some 65,000    their count and hashes are there at the end: build_buffer_count, build_buffer_flush
 *     more                 all of them are in a filter that grows: build_buffer_take_filter
 */
typedef struct build_buffer build_buffer;

/* `spec` (no number of keys) and `secret` (may be NULL) are those of the filter, and are borrowed. What cannot be had for
 * one key is refused now. *gather is the caller's until freed. CLI_DONE or CLI_FAILED. */
int build_buffer_create(build_buffer **buffer, const cli_filter_spec *spec, const cli_secret *secret,
                        tamis_error *err);
void build_buffer_free(build_buffer *buffer);

/* As ask of a tamis_stream_service, with the gather as context. TAMIS_E_INVALID: too many keys for a filter that cannot
 * grow. */
tamis_status build_buffer_add(void *buffer, const tamis_key *keys, size_t count, tamis_answer *answers,
                              size_t *done, tamis_error *err);

/* The filter that grows, the caller's from now on; NULL where the hashes are kept. Nothing is asked after it. */
tamis_filter *build_buffer_take_filter(build_buffer *buffer);

/* Distinct keys whose hashes are kept. */
uint64_t build_buffer_count(const build_buffer *buffer);

/* Adds them all to a filter of that scheme, seed and secret. */
tamis_status build_buffer_flush(const build_buffer *buffer, tamis_filter *filter, tamis_error *err);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_BUILD_BUILD_BUFFER_H
#define TAMIS_CLI_CMD_BUILD_BUILD_BUFFER_H

#include "cli/filter/cli_filter.h"

/*
 * Buffers the distinct keys of an input that can be read only once. A filter needs the number of its keys
 * before it is made, so their hashes wait here until the number is known.
 *
 *     keys -> known yet? -yes-> dropped (kinds counting and cuckoo: kept)
 *                |no
 *                v
 *             buffer of 2^16 hashes -> end of the input: build_buffer_count, build_buffer_flush
 *                |full
 *                v
 *             growing filter        -> end of the input: build_buffer_detach_filter
 */
typedef struct build_buffer build_buffer;

/* `spec` (without a number of keys) and `secret` (may be NULL) describe the filter to be built and are
 * borrowed. Fails now if the filter is impossible even for one key, or if its scheme has no digest. The
 * caller owns *buffer and frees it. */
tamis_status build_buffer_create(build_buffer **buffer, const cli_filter_spec *spec, const cli_secret *secret,
                                 tamis_error *err);
void build_buffer_free(build_buffer *buffer);

/* The query function of a tamis_stream_service; `buffer` is its context. TAMIS_E_INVALID: more keys to keep
 * than the buffer holds, and the filter cannot grow. */
tamis_status build_buffer_add(void *buffer, const tamis_key *keys, size_t count, tamis_answer *answers,
                              size_t *done, tamis_error *err);

/* Returns the growing filter, which the caller then owns, or NULL if the hashes are still buffered. Add no
 * keys afterwards. */
tamis_filter *build_buffer_detach_filter(build_buffer *buffer);

/* Number of distinct keys. Kinds counting and cuckoo may have more hashes. */
uint64_t build_buffer_count(const build_buffer *buffer);

/* Adds all buffered hashes to a filter with the scheme, seed and secret of `spec`. */
tamis_status build_buffer_flush(const build_buffer *buffer, tamis_filter *filter, tamis_error *err);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_RUN_RUNNER_H
#define TAMIS_STREAM_RUN_RUNNER_H

#include <stddef.h>

#include <tamis/experimental/stream.h>

#include "base/failure.h"

/* Sizes used by a run. They affect only its speed. Tests set a buffer of one byte to reach every boundary. */
typedef struct tamis__stream_buffer_sizes {
    size_t read_size;  /* initial bytes of a read buffer */
    size_t write_size; /* bytes of a write buffer */
    size_t batch_size; /* records of a batch */
} tamis__stream_buffer_sizes;

#define TAMIS__STREAM_BUFFER_SIZES_INIT                                                                      \
    { .read_size = (size_t)512 << 10, .write_size = (size_t)256 << 10, .batch_size = 8192 }

/* tamis_stream_run with other sizes, each at least 1. */
TAMIS_PRIVATE_API tamis_status tamis__stream_run_tuned(const tamis_stream_service *service,
                                                       const tamis_stream_options *options,
                                                       const tamis__stream_buffer_sizes *sizes,
                                                       tamis_stream_stats *stats, tamis_stream_result *result,
                                                       tamis_error *err);
/* tamis_stream_dedup with other sizes. */
TAMIS_PRIVATE_API tamis_status tamis__stream_dedup_tuned(tamis_dedup *session,
                                                         const tamis_stream_options *options,
                                                         const tamis__stream_buffer_sizes *sizes,
                                                         tamis_stream_stats *stats,
                                                         tamis_stream_result *result, tamis_error *err);

#endif

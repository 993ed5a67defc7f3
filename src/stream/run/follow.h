/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_RUN_FOLLOW_H
#define TAMIS_STREAM_RUN_FOLLOW_H

#include "stream/durable/followed.h"
#include "stream/run/runner.h"

/* Runs with options.follow and options.commits: follow.c. */

/* Follows the name of the input, by one run for each file that has it, until an error or a stop. `options`
 * were checked. */
tamis_status tamis__run_follow(const tamis_stream_service *service, const tamis_stream_options *options,
                               const tamis__stream_buffer_sizes *sizes, tamis_stream_stats *stats,
                               tamis_stream_result *result, tamis_error *err);

/* One run. `followed` (NULL: nothing is followed, or without commits) says which files are its inputs. */
tamis_status tamis__run_once(const tamis_stream_service *service, const tamis_stream_options *options,
                             const tamis__stream_buffer_sizes *sizes, tamis__followed_names *followed,
                             tamis_stream_stats *stats, tamis_stream_result *result, tamis_error *err);

#endif

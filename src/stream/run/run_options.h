/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_RUN_RUN_OPTIONS_H
#define TAMIS_STREAM_RUN_RUN_OPTIONS_H

#include <tamis/experimental/stream.h>

#include "base/failure.h"

/* Validation of a run's arguments. Each function fills *checked from the caller's struct, with defaults
 * for the rest. */

tamis_status tamis__stream_check_service(tamis_stream_service *checked, const tamis_stream_service *given,
                                         tamis_error *err);
tamis_status tamis__stream_check_options(tamis_stream_options *checked, const tamis_stream_options *given,
                                         const tamis_stream_stats *stats, const tamis_stream_result *result,
                                         tamis_error *err);

#endif

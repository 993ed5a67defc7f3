/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_TAKEN_H
#define TAMIS_STREAM_TAKEN_H

#include <tamis/stream.h>

#include "base/failure.h"

/* Validation of a run's arguments. Each function fills *taken from the caller's struct, with defaults for the
 * rest. */

tamis_status tamis__stream_take_service(tamis_stream_service *taken, const tamis_stream_service *given,
                                        tamis_error *err);
tamis_status tamis__stream_take_options(tamis_stream_options *taken, const tamis_stream_options *given,
                                        const tamis_stream_stats *stats, tamis_error *err);

#endif

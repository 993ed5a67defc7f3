/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_RUN_ROUTE_H
#define TAMIS_STREAM_RUN_ROUTE_H

#include <stdbool.h>

#include <tamis/experimental/stream.h>

#include "stream/io/writer.h"
#include "stream/run/keys.h"

/* Writes each record to the output that its outcome demands, with a mark of the outcome if requested. */

enum { TAMIS__OUTPUT, TAMIS__DUPLICATES, TAMIS__OUTPUTS }; /* the two outputs, and their number */

typedef struct tamis__router {
    tamis__writer *writers; /* TAMIS__OUTPUTS of them, borrowed */
    const tamis_stream_service *service;
    tamis_stream_policy missing, malformed, late;
    tamis_stream_marking marking;
    const char *name; /* name of the mark */
    tamis_allocator memory;
    char *member; /* for MEMBER: the name as JSON, "name": */
    size_t member_size;
} tamis__router;

/* Prepares the router; all fields but `member` are set. Release is allowed after an error. */
tamis_status tamis__router_init(tamis__router *router, tamis_error *err);
void tamis__router_release(tamis__router *router);

/* Writes the first `count` records of the batch. */
tamis_status tamis__route(tamis__router *router, const tamis__record_batch *batch, const uint8_t *outcomes,
                          size_t count, tamis_error *err);
/* Writes a byte order mark to every output. */
tamis_status tamis__route_bom(tamis__router *router, tamis_error *err);
/* Writes a header to every output. `data` includes its terminator unless it is `unterminated`. */
tamis_status tamis__route_header(tamis__router *router, const unsigned char *data, size_t size,
                                 bool unterminated, tamis_error *err);

#endif

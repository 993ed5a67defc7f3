/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_ROUTE_H
#define TAMIS_STREAM_ROUTE_H

#include <stdbool.h>

#include <tamis/stream.h>

#include "stream/keys.h"
#include "stream/writer.h"

/* Records to where their fates say, with what is said of them. */

enum { TAMIS__FIRSTS, TAMIS__REPEATS, TAMIS__OUTPUTS }; /* first occurrences, duplicates */

typedef struct tamis__router {
    tamis__writer *writers; /* TAMIS__OUTPUTS of them, borrowed */
    const tamis_stream_service *service;
    tamis_stream_policy missing, malformed;
    tamis_stream_marking marking;
    const char *name; /* of the mark */
    tamis_allocator memory;
    char *member; /* of MEMBER: "name": as JSON has it */
    size_t member_size;
} tamis__router;

/* All but `member` is set. Release is fine after a failure too. */
tamis_status tamis__router_init(tamis__router *router, tamis_error *err);
void tamis__router_release(tamis__router *router);

/* The first `count` records of the batch. */
tamis_status tamis__route(tamis__router *router, const tamis__batch *batch, const uint8_t *fates,
                          size_t count, tamis_error *err);
/* A byte order mark to every output, in front of all. */
tamis_status tamis__route_mark(tamis__router *router, tamis_error *err);
/* A header, its terminator too unless it is `unterminated`, to every output. */
tamis_status tamis__route_header(tamis__router *router, const unsigned char *data, size_t size,
                                 bool unterminated, tamis_error *err);

#endif

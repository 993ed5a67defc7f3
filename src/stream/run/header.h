/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_RUN_HEADER_H
#define TAMIS_STREAM_RUN_HEADER_H

#include <stdbool.h>

#include <tamis/experimental/extract.h>

#include "stream/run/route.h"

/* The header: the first record of each input, if it names the columns. */
typedef struct tamis__header {
    bool wanted; /* inputs have a header */
    unsigned char terminator;
    tamis_extractor *extractor; /* borrowed; NULL: nobody needs the names */
    tamis_allocator memory;
    unsigned char *bytes; /* copy of the first header; NULL: none yet */
    size_t size;
    const char *input; /* the input it came from */
} tamis__header;

/*
 * Removes the header from the front of an input's first batch, which may be empty afterwards.
 * - TAMIS_E_INVALID if it differs from the header of earlier inputs, or lacks a column that the extractor
 *   needs.
 * - A followed file that was truncated may continue without a header.
 * - The header is written through `router`. NULL: an earlier run has already written it.
 */
tamis_status tamis__header_read(tamis__header *header, tamis__record_batch *batch, tamis__router *router,
                                tamis_error *err);
void tamis__header_release(tamis__header *header);

#endif

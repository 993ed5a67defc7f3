/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_HEADER_H
#define TAMIS_STREAM_HEADER_H

#include <stdbool.h>

#include <tamis/extract.h>

#include "stream/route.h"

/* The first record of each input, where that names its columns. */
typedef struct tamis__header {
    bool wanted;
    unsigned char terminator;
    tamis_extractor *extractor; /* borrowed; NULL: nobody wants the names */
    tamis_allocator memory;
    unsigned char *bytes; /* of the first that came; NULL: none yet */
    size_t size;
    const char *input; /* where that stood */
} tamis__header;

/* Takes it off the front of an input's first batch, which may be empty then. TAMIS_E_INVALID where it is another than
 * that of the inputs before, or has not what the extractor asks for. A file that was made shorter may go on without.
 * router NULL: it is written nowhere, for it was in an earlier run. */
tamis_status tamis__header_take(tamis__header *header, tamis__batch *batch, tamis__router *router,
                                tamis_error *err);
void tamis__header_release(tamis__header *header);

#endif

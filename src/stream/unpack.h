/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_UNPACK_H
#define TAMIS_STREAM_UNPACK_H

#include <stddef.h>
#include <stdint.h>

#include <tamis/packed.h>

#include "base/failure.h"

/* The bytes that are in a packed file, in order. */

enum { TAMIS__UNPACK_HEAD = 2 }; /* bytes by which a packing is recognised */

/* What bytes that begin so are wrapped in. */
tamis_packing tamis__packing_of(const uint8_t *head, size_t size);

typedef struct tamis__unpack tamis__unpack;

typedef enum tamis__unpack_event {
    TAMIS__UNPACK_BYTES,   /* at least one */
    TAMIS__UNPACK_NOT_NOW, /* none came of what could be read: call again, when there is more to read */
    TAMIS__UNPACK_END      /* of the file, which was whole */
} tamis__unpack_event;

/* For what `fd` gives from where it stands, which begins as a gzip file does. fd and name (for sentences) are borrowed
 * while it lives. */
tamis_status tamis__unpack_create(tamis__unpack **unpack, int fd, const char *name,
                                  const tamis_allocator *memory, tamis_error *err);
void tamis__unpack_free(tamis__unpack *unpack); /* NULL is fine; fd stays open */

/*
 * Up to `room` of the next bytes; *size and *event are set on success alone. Reads at most once, and only when nothing
 * is left to unpack of what was read before: so it can be put behind a poll. TAMIS_E_DAMAGED (what came before it has
 * been given out, but no checksum stood behind it yet), TAMIS_E_IO, TAMIS_E_NOMEM; after a failure free is all there is.
 */
tamis_status tamis__unpack_next(tamis__unpack *unpack, void *into, size_t room, size_t *size,
                                tamis__unpack_event *event, tamis_error *err);

#endif

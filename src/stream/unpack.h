/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_UNPACK_H
#define TAMIS_STREAM_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/packing.h>

#include "base/failure.h"
#include "base/memory.h"

/* The bytes that are in a packed file, in order. */

enum {
    TAMIS__UNPACK_HEAD = 10,       /* bytes by which every packing is recognised; most take less */
    TAMIS__UNPACK_READ = 64 << 10, /* bytes read at once, at most */
};

/* What bytes that begin so are wrapped in. *undecided: in nothing so far, but it takes more of them to tell. None of
 * these beginnings has a line feed in it, nor a zero before its end. */
tamis_packing tamis__packing_of(const uint8_t *head, size_t size, bool *undecided);

typedef struct tamis__unpack tamis__unpack;

typedef struct tamis__unpack_setup {
    int fd;                  /* borrowed while it lives, as all of these */
    const char *name;        /* for sentences */
    const uint64_t *records; /* NULL, or how many of them came of it: sentences tell that */
    const void *begun;       /* what was read of it already: at most UNPACK_READ bytes, copied */
    size_t begun_size;
    const tamis_allocator *memory; /* of libzstd and liblz4 the windows do not come from it */
} tamis__unpack_setup;

typedef enum tamis__unpack_event {
    TAMIS__UNPACK_BYTES,   /* at least one */
    TAMIS__UNPACK_NOT_NOW, /* none came of what could be read: call again, when there is more to read */
    TAMIS__UNPACK_END      /* of the file, which was whole */
} tamis__unpack_event;

/* For what begins as a packed file does: with `begun`, and what fd gives from where it stands. */
tamis_status tamis__unpack_create(tamis__unpack **unpack, const tamis__unpack_setup *setup, tamis_error *err);
void tamis__unpack_free(tamis__unpack *unpack); /* NULL is fine; fd stays open */

/*
 * Up to `room` of the next bytes; *size and *event are set on success alone. Reads at most once, only with may_read,
 * and only when nothing is left to unpack of what was read before: so it can be put behind a poll. TAMIS_E_DAMAGED
 * (what came before it has been given out, but no checksum stood behind it yet), TAMIS_E_IO, TAMIS_E_NOMEM;
 * TAMIS_E_UNSUPPORTED of what this library was built without, or what takes too much memory. After a failure free is
 * all there is.
 */
tamis_status tamis__unpack_next(tamis__unpack *unpack, bool may_read, void *into, size_t room, size_t *size,
                                tamis__unpack_event *event, tamis_error *err);

/* Bytes of the file that were read, with those begun. */
uint64_t tamis__unpack_taken(const tamis__unpack *unpack);

#endif

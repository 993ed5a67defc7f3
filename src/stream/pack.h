/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_PACK_H
#define TAMIS_STREAM_PACK_H

#include <stdbool.h>
#include <stddef.h>

#include <tamis/packing.h>

#include "base/memory.h"

/* Bytes in, in order; one packed file out. The same bytes give the same file (of one version of the library that
 * packs), as long as they are flushed at the same places: no time and no name is in it. */

typedef struct tamis__pack_want {
    tamis_packing packing; /* but NONE */
    int level;             /* as tamis_stream_options.packing_level */
    bool bits;             /* what comes is a filter, whose bits repeat by chance alone */
} tamis__pack_want;

/* Where packed bytes go. */
typedef struct tamis__pack_out {
    tamis_status (*emit)(void *context, const void *bytes, size_t size, tamis_error *err);
    void *context;
} tamis__pack_out;

typedef struct tamis__pack tamis__pack;

/* TAMIS_E_INVALID for a number that is no packing, TAMIS_E_UNSUPPORTED for one that was left out of the build,
 * TAMIS_E_RANGE for a level that it does not know. */
tamis_status tamis__pack_check(const tamis__pack_want *want, tamis_error *err);

/* Takes all the memory there is to take, but for some of the end of xz and of what follows a flush in bzip2; that of
 * zstd and lz4 comes from the C library. Writes nothing yet. `out` is copied, what it leads to is borrowed. The errors
 * of check, and TAMIS_E_NOMEM. */
tamis_status tamis__pack_create(tamis__pack **pack, const tamis__pack_want *want,
                                const tamis_allocator *memory, const tamis__pack_out *out, tamis_error *err);
void tamis__pack_free(tamis__pack *pack); /* NULL is fine; writes nothing */

/* These give packed bytes to `out`, whose errors they return, and TAMIS_E_NOMEM; after a failure free is all there
 * is. */

/* Packs `size` bytes more; what comes of them may stay here for a while. */
tamis_status tamis__pack_put(tamis__pack *pack, const void *bytes, size_t size, tamis_error *err);

/* From what has been given to `out` all that was put can be unpacked. It costs bytes: nothing that stood before is
 * packed together with what comes. Nothing where nothing was put since the last one. */
tamis_status tamis__pack_flush(tamis__pack *pack, tamis_error *err);

/* Ends the file, which is whole then, also where nothing was put. Once, and the last of all. */
tamis_status tamis__pack_finish(tamis__pack *pack, tamis_error *err);

#endif

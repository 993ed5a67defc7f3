/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_PACK_CODEC_H
#define TAMIS_STREAM_PACK_CODEC_H

#include "stream/flow.h"
#include "stream/lent_memory.h"
#include "stream/pack.h"

/* What pack.c asks of each library that packs. They fail for want of memory alone: all else is seen to before. */

tamis_status tamis__pack_fail(const tamis__lent *memory, tamis_error *err); /* TAMIS_E_NOMEM */

typedef enum tamis__pack_step { TAMIS__PACK_PUT, TAMIS__PACK_FLUSH, TAMIS__PACK_FINISH } tamis__pack_step;

typedef struct tamis__pack_codec {
    int least, usual, most; /* levels */
    size_t state_size;      /* of what the functions below are given, zeroed before begin */
    size_t need;            /* the room that a step has to find */
    /* NULL: this library was built without it. After a failure there is nothing to end. memory and want are borrowed,
     * want by begin alone. */
    tamis_status (*begin)(void *state, const tamis__pack_want *want, tamis__lent *memory, tamis_error *err);
    /* PUT: there is input, and it is done when all of it is taken. FLUSH, FINISH: there is none; done when all has been
     * written that is to be. One that is not done is called again, with room. */
    tamis_status (*step)(void *state, tamis__pack_step step, tamis__flow *flow, bool *done, tamis_error *err);
    void (*end)(void *state); /* gives the memory back; at any time after begin */
} tamis__pack_codec;

extern const tamis__pack_codec tamis__pack_gzip, tamis__pack_zstd, tamis__pack_lz4, tamis__pack_xz,
    tamis__pack_bzip2;

/* NULL for NONE. */
const tamis__pack_codec *tamis__pack_codec_of(tamis_packing packing);

#endif

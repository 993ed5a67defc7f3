/* SPDX-License-Identifier: BSD-2-Clause */

/* zstd by libzstd. Its memory comes from the C library: only its unstable interface accepts an allocator. */
#include "stream/pack_codec.h"

#ifdef TAMIS_HAVE_ZSTD

#include <zstd.h>

enum { USUAL = 3, MOST = 22 };

typedef struct zstd {
    ZSTD_CCtx *context;
    tamis__lent *memory;
} zstd;

/* Calls the library. There is always output space, so its only error is lack of memory. */
static tamis_status call(zstd *z, tamis__flow *flow, ZSTD_EndDirective what, size_t *left, tamis_error *err) {
    ZSTD_inBuffer in = {flow->in, flow->in_size, 0};
    ZSTD_outBuffer out = {flow->out, flow->out_size, 0};
    *left = ZSTD_compressStream2(z->context, &out, &in, what);
    if (ZSTD_isError(*left))
        return tamis__pack_fail(z->memory, err);
    tamis__flow_take(flow, in.pos, out.pos);
    return TAMIS_OK;
}

static void end(void *state) {
    ZSTD_freeCCtx(((zstd *)state)->context);
}

static tamis_status begin(void *state, const tamis__pack_want *want, tamis__lent *memory, tamis_error *err) {
    zstd *z = state;
    unsigned char none[1];
    tamis__flow flow = {none, 0, none, 0};
    size_t left;
    z->memory = memory;
    z->context = ZSTD_createCCtx();
    if (!z->context)
        return tamis__pack_fail(memory, err);
    ZSTD_CCtx_setParameter(z->context, ZSTD_c_compressionLevel, want->level);
    ZSTD_CCtx_setParameter(z->context, ZSTD_c_checksumFlag, 1);
    tamis_status status = call(z, &flow, ZSTD_e_continue, &left, err); /* allocates the memory */
    if (status != TAMIS_OK)
        end(z);
    return status;
}

static tamis_status step(void *state, tamis__pack_step what, tamis__flow *flow, bool *done,
                         tamis_error *err) {
    static const ZSTD_EndDirective directives[] = {ZSTD_e_continue, ZSTD_e_flush, ZSTD_e_end};
    size_t left;
    tamis_status status = call(state, flow, directives[what], &left, err);
    if (status == TAMIS_OK)
        *done = what == TAMIS__PACK_PUT ? flow->in_size == 0 : left == 0;
    return status;
}

const tamis__pack_codec tamis__pack_zstd = {1, USUAL, MOST, sizeof(zstd), 1, begin, step, end};

#else

const tamis__pack_codec tamis__pack_zstd = {.begin = NULL};

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_FLOW_H
#define TAMIS_STREAM_FLOW_H

#include <limits.h>
#include <stddef.h>

/* Codec buffers: the input that is left, and the output space that is left. A step consumes the front of
 * both. */
typedef struct tamis__flow {
    const unsigned char *in;
    size_t in_size;
    unsigned char *out;
    size_t out_size;
} tamis__flow;

static inline void tamis__flow_take(tamis__flow *flow, size_t taken, size_t made) {
    *flow = (tamis__flow){flow->in + taken, flow->in_size - taken, flow->out + made, flow->out_size - made};
}

/* Limits a size to what zlib and libbz2 accept in one call. */
static inline unsigned tamis__flow_some(size_t size) {
    return size < UINT_MAX ? (unsigned)size : UINT_MAX;
}

#endif

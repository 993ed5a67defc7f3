/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/zlib_memory.h"

static voidpf take(voidpf opaque, uInt items, uInt size) {
    return tamis__lend(opaque, items, size);
}

static void give(voidpf opaque, voidpf address) {
    tamis__lend_back(opaque, address);
}

void tamis__zlib_memory_set(z_stream *stream, tamis__zlib_memory *memory) {
    stream->zalloc = take;
    stream->zfree = give;
    stream->opaque = memory;
}

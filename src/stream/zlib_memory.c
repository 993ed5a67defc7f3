/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/zlib_memory.h"

#include <string.h>

static voidpf take(voidpf opaque, uInt items, uInt size) {
    tamis__zlib_memory *memory = opaque;
    size_t whole = TAMIS__LINE + (size_t)items * size;
    unsigned char *block = tamis__alloc(&memory->from, whole, TAMIS__LINE);
    if (!block) {
        memory->refused = whole;
        return Z_NULL;
    }
    memcpy(block, &whole, sizeof whole);
    return block + TAMIS__LINE;
}

static void give(voidpf opaque, voidpf address) {
    tamis__zlib_memory *memory = opaque;
    unsigned char *block = (unsigned char *)address - TAMIS__LINE;
    size_t whole;
    memcpy(&whole, block, sizeof whole);
    tamis__free(&memory->from, block, whole);
}

void tamis__zlib_memory_set(z_stream *stream, tamis__zlib_memory *memory) {
    stream->zalloc = take;
    stream->zfree = give;
    stream->opaque = memory;
}

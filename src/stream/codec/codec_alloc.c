/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/codec/codec_alloc.h"

#include <stdint.h>
#include <string.h>

void *tamis__codec_alloc(void *memory, size_t items, size_t size) {
    tamis__codec_memory *codec = memory;
    size_t whole = SIZE_MAX;
    unsigned char *block = NULL;
    if (size == 0 || items <= (SIZE_MAX - TAMIS__LINE) / size) {
        whole = TAMIS__LINE + items * size;
        block = tamis__alloc(&codec->from, whole, TAMIS__LINE);
    }
    if (!block) {
        codec->refused = whole;
        return NULL;
    }
    memcpy(block, &whole, sizeof whole);
    return block + TAMIS__LINE;
}

void tamis__codec_free(void *memory, void *block) {
    const tamis__codec_memory *codec = memory;
    if (!block)
        return;
    unsigned char *begin = (unsigned char *)block - TAMIS__LINE;
    size_t whole;
    memcpy(&whole, begin, sizeof whole);
    tamis__free(&codec->from, begin, whole);
}

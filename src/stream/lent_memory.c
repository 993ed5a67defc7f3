/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/lent_memory.h"

#include <stdint.h>
#include <string.h>

void *tamis__lend(void *memory, size_t items, size_t size) {
    tamis__lent *lent = memory;
    size_t whole = SIZE_MAX;
    unsigned char *block = NULL;
    if (size == 0 || items <= (SIZE_MAX - TAMIS__LINE) / size) {
        whole = TAMIS__LINE + items * size;
        block = tamis__alloc(&lent->from, whole, TAMIS__LINE);
    }
    if (!block) {
        lent->refused = whole;
        return NULL;
    }
    memcpy(block, &whole, sizeof whole);
    return block + TAMIS__LINE;
}

void tamis__lend_back(void *memory, void *block) {
    const tamis__lent *lent = memory;
    if (!block)
        return;
    unsigned char *begin = (unsigned char *)block - TAMIS__LINE;
    size_t whole;
    memcpy(&whole, begin, sizeof whole);
    tamis__free(&lent->from, begin, whole);
}

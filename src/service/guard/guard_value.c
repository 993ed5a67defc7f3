/* SPDX-License-Identifier: BSD-2-Clause */
#include "service/guard/guard_value.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"

struct guard_blob {
    tamis_allocator allocator;
    atomic_size_t references;
    size_t size;
    bool is_null;
    unsigned char data[];
};

guard_blob *tamis__guard_blob_create(const tamis_allocator *allocator, const void *data, size_t size) {
    const tamis_allocator memory = tamis__allocator_resolve(allocator);
    guard_blob *blob = tamis__alloc(&memory, sizeof *blob + size, _Alignof(guard_blob));

    if (!blob)
        return NULL;
    blob->allocator = memory;
    atomic_init(&blob->references, 1);
    blob->is_null = !data;
    blob->size = size;
    if (size)
        memcpy(blob->data, data, size);
    return blob;
}

guard_blob *tamis__guard_blob_share(guard_blob *blob) {
    atomic_fetch_add_explicit(&blob->references, 1, memory_order_relaxed);
    return blob;
}

void tamis__guard_blob_release(guard_blob *blob) {
    if (!blob || atomic_fetch_sub_explicit(&blob->references, 1, memory_order_acq_rel) != 1)
        return;
    const tamis_allocator memory = blob->allocator;
    tamis__free(&memory, blob, sizeof *blob + blob->size);
}

bool tamis__guard_blob_is_null(const guard_blob *blob) {
    return blob->is_null;
}

tamis_key tamis__guard_blob_bytes(const guard_blob *blob) {
    return (tamis_key){blob->data, blob->size};
}

size_t tamis__guard_blob_memory(const guard_blob *blob) {
    return sizeof *blob + blob->size;
}

void tamis__guard_blob_move(guard_blob *blob, tamis_guard_value *value) {
    *value = (tamis_guard_value){.outcome = TAMIS_GUARD_MISSING};
    if (blob->is_null) {
        tamis__guard_blob_release(blob);
        return;
    }
    *value = (tamis_guard_value){TAMIS_GUARD_FOUND, blob->data, blob->size, blob};
}

void tamis_guard_value_release(tamis_guard_value *value) {
    tamis__guard_blob_release(value->owner);
    *value = (tamis_guard_value)TAMIS_GUARD_VALUE_INIT;
}

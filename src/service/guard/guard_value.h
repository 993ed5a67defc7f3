/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_GUARD_GUARD_VALUE_H
#define TAMIS_SERVICE_GUARD_GUARD_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include <tamis/alloc.h>
#include <tamis/experimental/guard.h>
#include <tamis/key.h>

/* An answer in memory: the bytes of a row, or a null. It never changes after it was shared. Cache, requests
 * and callers share it by counting references; the last one frees it. */
typedef struct guard_blob guard_blob;

/* Makes an answer with one reference, which the caller owns. data NULL and size 0: a null. A value without
 * bytes has some other pointer. Returns NULL if memory is short. */
guard_blob *tamis__guard_blob_create(const tamis_allocator *allocator, const void *data, size_t size);
/* Both may be called by any thread. `blob` may be NULL in the second one. */
guard_blob *tamis__guard_blob_share(guard_blob *blob);
void tamis__guard_blob_release(guard_blob *blob);

bool tamis__guard_blob_is_null(const guard_blob *blob);
/* Returns the bytes, which are valid as long as the caller's reference. */
tamis_key tamis__guard_blob_bytes(const guard_blob *blob);
/* Returns the memory of the answer, for whoever counts it. */
size_t tamis__guard_blob_memory(const guard_blob *blob);
/* Fills *value, which takes over the caller's reference. */
void tamis__guard_blob_move(guard_blob *blob, tamis_guard_value *value);

#endif

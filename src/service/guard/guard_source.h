/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_GUARD_GUARD_SOURCE_H
#define TAMIS_SERVICE_GUARD_GUARD_SOURCE_H

#include <stddef.h>

#include <tamis/alloc.h>
#include <tamis/experimental/guard.h>
#include <tamis/key.h>

#include "service/guard/guard_value.h"

/* What a source fills in `load`. The guard initialises it with `blob` NULL, and owns the blob afterwards. */
struct tamis_guard_row {
    guard_blob *blob; /* value of the row; NULL: no row so far */
    const tamis_allocator *allocator;
};

/* Where the keys of a scan go. */
struct tamis_guard_scan {
    tamis_status (*add)(void *context, const tamis_key *keys, size_t count, tamis_error *err);
    void *context; /* first argument of `add` */
};

#endif

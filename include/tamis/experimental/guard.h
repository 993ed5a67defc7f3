/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_GUARD_H
#define TAMIS_GUARD_H

/* A cache in front of a database, which lets no lookup of a missing row through: library libtamis-guard. Not
 * part of tamis/tamis.h, so that a program that embeds a filter needs no further library. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/key.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TAMIS_GUARD_KEY_MAX   ((size_t)64 << 10)  /* bytes of a key */
#define TAMIS_GUARD_VALUE_MAX ((size_t)512 << 20) /* bytes of a value */

typedef enum tamis_guard_outcome {
    TAMIS_GUARD_PENDING = 0, /* not answered */
    TAMIS_GUARD_FOUND = 1,   /* the row exists: `data` and `size` are its value */
    TAMIS_GUARD_MISSING = 2  /* there is no row */
} tamis_guard_outcome;

/* An answer. The caller owns it until tamis_guard_value_release. It does not change, and any thread may read
 * it. */
typedef struct tamis_guard_value {
    tamis_guard_outcome outcome;
    const void *data; /* valid until the value is released */
    size_t size;
    void *owner; /* of the library */
} tamis_guard_value;

#define TAMIS_GUARD_VALUE_INIT                                                                               \
    { 0 }

/* Releases an answer and makes it TAMIS_GUARD_PENDING. Does nothing for an answer without a value. */
TAMIS_API void tamis_guard_value_release(tamis_guard_value *value);

#ifdef __cplusplus
}
#endif
#endif

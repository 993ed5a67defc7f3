/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_MODULE_VALUE_H
#define TAMIS_MODULE_VALUE_H

#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/compat/redisbloom.h>
#include <tamis/filter.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Values of the Redis module's own types, as an RDB file and a DUMP have them. The module and the readers of
 * such bytes share these checks (tamis_filter_open, tamis_redis_filter_open).
 *
 *     number 0, bytes                    a filter: its .tamis file, the image (docs/FORMAT.md)
 *     number 1, number n, bytes          the beginning of an image of n bytes: its other chunks are missing
 *
 * docs/guide/redis-module-reference.md has the commands that make and load such values.
 */
typedef enum tamis_module_type {
    TAMIS_MODULE_FILTER = 1, /* TAMISflt1: kinds classic, blocked, fingerprint and exact */
    TAMIS_MODULE_WINDOW = 2  /* TAMISwin1: kind window, without refresh */
} tamis_module_type;

/* Returns the name of a type on the server, or NULL for any other number. The string is static. */
TAMIS_API const char *tamis_module_type_name(tamis_module_type type);

enum { TAMIS_MODULE_RDB_VERSION = 1 }; /* encoding version of the fields */

typedef struct tamis_module_value {
    uint32_t struct_size;
    uint64_t image_size; /* bytes of the whole image */
    size_t loaded;       /* bytes of it that the value has, > 0; below image_size: chunks are missing */
    void *image;         /* these bytes */
} tamis_module_value;

#define TAMIS_MODULE_VALUE_INIT TAMIS__INIT(tamis_module_value, )

/*
 * Reads the fields of a value, and not yet what the image says. `source` reads bytes into a block of the
 * allocator, which value->image then is: the caller frees it. On failure it is freed already.
 *
 * - allocator: NULL for the default.
 * - TAMIS_E_UNSUPPORTED: another encoding version.
 * - TAMIS_E_DAMAGED: a field is missing, or a size is impossible.
 */
TAMIS_API tamis_status tamis_module_value_read(tamis_module_value *value, uint32_t version,
                                               const tamis_redisbloom_source *source,
                                               const tamis_allocator *allocator, tamis_error *err);

/*
 * Makes a filter from a whole image, as tamis_filter_decode does, and checks that the type may have it. The
 * caller owns *filter and can add keys.
 *
 * - allocator: NULL for the default.
 * - TAMIS_E_UNSUPPORTED: the type does not have this kind, or a window is one with refresh.
 * - TAMIS_E_SECRET: a filter of scheme sip, whose secret no server has.
 * - Other errors are those of tamis_filter_decode.
 */
TAMIS_API tamis_status tamis_module_value_decode(tamis_filter **filter, tamis_module_type type,
                                                 const void *image, uint64_t size,
                                                 const tamis_allocator *allocator, tamis_error *err);

#ifdef __cplusplus
}
#endif
#endif

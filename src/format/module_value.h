/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FORMAT_MODULE_VALUE_H
#define TAMIS_FORMAT_MODULE_VALUE_H

/* Types of Redis keys that contain filters: those of RedisBloom, and the Redis module's own. module_value.c
 * has the values of the module's own types. */
#include <tamis/experimental/module_value.h>

#include "format/format.h"

typedef enum tamis__value_type {
    TAMIS__VALUE_OTHER,         /* no filter */
    TAMIS__VALUE_CHAIN,         /* a chain of Bloom filters of RedisBloom */
    TAMIS__VALUE_CUCKOO,        /* cuckoo tables of RedisBloom */
    TAMIS__VALUE_CHAIN_CHUNKS,  /* a chain with missing chunks */
    TAMIS__VALUE_CUCKOO_CHUNKS, /* cuckoo tables with missing chunks */
    TAMIS__VALUE_FILTER,        /* the module's own types */
    TAMIS__VALUE_WINDOW,
    TAMIS__VALUE_NEWER /* a type of a later version of the module */
} tamis__value_type;

/* Returns the type with a name of `size` bytes, as TYPE replies it. */
TAMIS_PRIVATE_API tamis__value_type tamis__value_type_named(const char *name, size_t size);
/* The number of a type in an RDB file or a DUMP, without its encoding version. `type` has one name. */
uint64_t tamis__value_type_number(tamis__value_type type);
/* Returns the type with that number, without its encoding version. */
tamis__value_type tamis__value_type_of(uint64_t number);
enum { TAMIS__VALUE_VERSION_BITS = 10 }; /* of a number: the encoding version */

/* Returns TAMIS_E_UNSUPPORTED for a type with missing chunks or of a later version, else TAMIS_OK. `name` is
 * the key or the file, for messages. */
TAMIS_PRIVATE_API tamis_status tamis__value_type_check(tamis__value_type type, const char *name,
                                                       tamis_error *err);

/* As tamis_module_value_decode, with all options. The error begins with the name of the source, whose block
 * the filter may take over (tamis__encoded_bytes). */
tamis_status tamis__module_value_decode(tamis_filter **filter, tamis_module_type type,
                                        const tamis__encoded_bytes *source, const tamis_open_options *options,
                                        tamis_error *err);

#endif

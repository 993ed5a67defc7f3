/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FORMAT_FORMAT_H
#define TAMIS_FORMAT_FORMAT_H

#include <tamis/file.h>

#include "base/failure.h"

/*
 * File formats: bytes to filters and back. Pure memory: bytes come from the caller's buffer or a mapped file,
 * and go to an emitter, a callback that takes them in order.
 *
 *     bytes --> recognise --> decode --> filter --> encoded_size --> encode --> bytes
 *               (first 64)    checks everything,    refuses what     in order, through
 *                             then makes a filter   it cannot say    the emitter
 *
 *     format   files                          describes                                   checksums
 *     ------   ----------------------------   -----------------------------------------   ---------
 *     native   native_read.c, native_write.c  every filter                                all bytes
 *     guava    guava_file.c                   classic, scheme guava64 or guava32          none
 *     dcso     dcso_file.c                    classic, scheme fnv-dcso                    none
 *     redis-   redisbloom_file.c, rdb.c       filters of RedisBloom, in DUMPs and RDB     all bytes
 *     bloom                                   files; as they are (tamis__external_ops)
 *              module_value.c                 those of the Redis module, there too        all bytes
 *
 * Why the formats of other programs have the same interface: a command that opens a filter need not know
 * which program wrote it. What such a file does not have (seed, labels, checksums) is at its default.
 *
 * Invariants of every format:
 * 1. decode reads only within the given bytes, whatever they are, and checks before it allocates for them.
 * 2. decode accepts only bytes that it can prove to be a filter, as far as the format has checks. An error
 *    names the file, the field and the remedy.
 * 3. On failure *filter is untouched and nothing stays allocated.
 * 4. encode writes exactly encoded_size bytes, or a filter that the format cannot describe is refused.
 */

/* The bytes to decode. */
typedef struct tamis__encoded_bytes {
    const uint8_t *bytes;
    uint64_t size;
    const char *name; /* name for messages: the file's, or "filter" */
    bool stay;        /* the bytes outlive the filter: a read-only filter may use them in place */
    /* NULL, or the size of a block of the options' allocator holding the bytes. A filter may take the block
     * over, to change it in place, and then sets the size to 0. */
    size_t *block_size;
    const char *key; /* key of a filter in an RDB file; NULL: none is named */
} tamis__encoded_bytes;

/* A callback that gets the encoded bytes in order. */
typedef struct tamis__emitter {
    tamis_status (*emit)(void *context, const void *bytes, size_t size, tamis_error *err);
    void *context;
} tamis__emitter;

typedef struct tamis__format {
    /* True if the bytes begin as this format does. decode makes all other checks. */
    bool (*recognise)(const tamis__encoded_bytes *source);
    /* Makes a filter. All options are set; options->format is ignored. On failure *filter is untouched. */
    tamis_status (*decode)(tamis_filter **filter, const tamis__encoded_bytes *source,
                           const tamis_open_options *options, tamis_error *err);
    /* Number of bytes that encode will emit. TAMIS_E_UNSUPPORTED: the format cannot describe this filter. */
    tamis_status (*encoded_size)(const tamis_filter *filter, uint64_t *size, tamis_error *err);
    /* Emits the bytes of a filter. Called only after encoded_size succeeded. */
    tamis_status (*encode)(const tamis_filter *filter, const tamis__emitter *out, tamis_error *err);
    bool is_foreign; /* keeps filters of another program (tamis__filter_is_foreign) */
} tamis__format;

extern const tamis__format tamis__format_native;
extern const tamis__format tamis__format_guava;
extern const tamis__format tamis__format_dcso;
extern const tamis__format tamis__format_redisbloom;

/* TAMIS_E_UNSUPPORTED if the filter is external, unless the format keeps such filters. `what` is as
 * for tamis__filter_check_local. */
tamis_status tamis__format_check_local(const tamis__format *format, const tamis_filter *filter,
                                       const char *what, tamis_error *err);

/* The operations of a format; those of the native one for TAMIS_FORMAT_AUTO. NULL: no such format. */
const tamis__format *tamis__format_of(tamis_format format);

/* Determines the format: that of the options, or else the one that the bytes begin as. Looks at the size
 * and at the first 64 bytes only. TAMIS_E_FORMAT: no format begins so. */
TAMIS_PRIVATE_API tamis_status tamis__format_recognise(const tamis__encoded_bytes *source,
                                                       const tamis_open_options *options,
                                                       tamis_format *number, tamis_error *err);

/* Decodes bytes, after tamis__format_recognise. TAMIS_E_FORMAT: no format begins so. */
TAMIS_PRIVATE_API tamis_status tamis__format_decode(tamis_filter **filter, const tamis__encoded_bytes *source,
                                                    const tamis_open_options *options, tamis_error *err);

#endif

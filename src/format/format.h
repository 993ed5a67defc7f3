/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FORMAT_FORMAT_H
#define TAMIS_FORMAT_FORMAT_H

#include <tamis/file.h>

#include "base/failure.h"

/*
 * What a format has to do: say whether bytes are of it, make a filter of them, and the other way round. Pure memory:
 * bytes come from a caller's buffer or from a mapped file, and go to an emitter.
 */

/* The bytes to read. */
typedef struct tamis__source {
    const uint8_t *bytes;
    uint64_t size;
    const char *name; /* for sentences: the file's, or "filter" */
    bool stay;        /* they outlive the filter, and may be used in place by one that is not writable */
    size_t *
        room; /* NULL, or they are a block of the options' allocator, of that size, which a filter may take over to
                         be changed in place: then it is set to 0 */
} tamis__source;

/* Takes bytes in order. */
typedef struct tamis__emitter {
    tamis_status (*emit)(void *context, const void *bytes, size_t size, tamis_error *err);
    void *context;
} tamis__emitter;

typedef struct tamis__format {
    /* Whether the bytes begin as this format does; all of the checks are decode's. */
    bool (*recognise)(const tamis__source *source);
    /* Options are whole; their format is of no matter here. Nothing is kept and *filter untouched on failure. */
    tamis_status (*decode)(tamis_filter **filter, const tamis__source *source,
                           const tamis_open_options *options, tamis_error *err);
    /* TAMIS_E_UNSUPPORTED where the format cannot say what the filter is. */
    tamis_status (*encoded_size)(const tamis_filter *filter, uint64_t *size, tamis_error *err);
    /* As many bytes as encoded_size says; called only where that succeeded. */
    tamis_status (*encode)(const tamis_filter *filter, const tamis__emitter *out, tamis_error *err);
} tamis__format;

extern const tamis__format tamis__format_native;
extern const tamis__format tamis__format_guava;
extern const tamis__format tamis__format_dcso;

/* The row of a format; AUTO is the native one. NULL for a number that is no format. */
const tamis__format *tamis__format_of(tamis_format format);

/* The format that the options name, or that the bytes begin as: TAMIS_E_FORMAT where there is none. Of the bytes only
 * the first 64 are looked at, and how many there are. */
TAMIS_PRIVATE_API tamis_status tamis__format_recognise(const tamis__source *source,
                                                       const tamis_open_options *options,
                                                       tamis_format *number, tamis_error *err);

/* Recognises where the options leave it open, and decodes. TAMIS_E_FORMAT where no format knows the bytes. */
TAMIS_PRIVATE_API tamis_status tamis__format_decode(tamis_filter **filter, const tamis__source *source,
                                                    const tamis_open_options *options, tamis_error *err);

#endif

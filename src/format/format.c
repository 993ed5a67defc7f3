/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of formats, and decoding and encoding in the caller's memory (tamis_filter_decode,
 * tamis_filter_encode). Files go the same way (store/file/file_open.c): a mapped file is a source like any
 * buffer.
 *
 *     tamis_filter_decode(bytes)          a file (store/file)
 *              |                                |
 *              |  not aligned: copied           |  mapped: the bytes stay
 *              v                                v
 *            source ----> recognise ----> row of the table ----> decode ----> filter
 *                                              |
 *     filter ----------------------------------`----> encoded_size ----> encode ----> emitter
 *
 * What is common to all formats is here: options for concurrency and capacity, alignment, the format in
 * the metadata, and locks around encoding. So a format only translates bytes.
 *
 * Recognition tries the formats in the order of their numbers and looks at the first bytes only:
 *
 *     format  first bytes                                     taken for it by mistake
 *     ------  ----------------------------------------------  --------------------------------------------
 *     tamis   89 54 41 4d 49 53 0d 0a                         nothing
 *     guava   0 or 1; 1 to 255; a number from 1 to 2^31 - 1   files that begin so; decode checks the size
 *     dcso    01 00 00 00 00 00 00 00, or 1f 8b (gzip)        files that begin so; decode checks n, p, k, m
 *     redis-  "REDIS" and four digits; or 07 and the          nothing
 *     bloom   number of a type (module_value.c)
 *
 * A DCSO file is not a Guava file, although both begin with 1: its second byte, Guava's k, is 0. A caller who
 * knows the format should name it in the options.
 *
 * A new format needs a row in the table, a number in tamis/file.h, and the four functions of
 * tamis__format. Tests of the properties in format.h are in tests/support/formats.h and
 * tests/fuzz/fuzz_format.h.
 *
 * Alignment. Filters are read by words and lines, so a body must be aligned. The caller's bytes may be
 * anywhere: if they are not aligned, they are copied first (decode_unaligned), and the filter is made from
 * the copy.
 *
 * The copy costs the size of the input once more, until the filter exists. So the bytes are recognised first:
 * a gigabyte that is not a filter is refused without a copy. Whoever cares about memory gives aligned bytes.
 *
 * Who owns the bytes. `stay` is false for memory of the caller, who may free or change it after the call: a
 * format then copies what it keeps. A mapped file has `stay`, and the filter uses its pages in place. Only
 * store/file sets `block_size`, which hands a block over to the filter.
 *
 * Options that formats do not see, in the order in which tamis__format_decode applies them:
 *
 *     format               selects the row; recognition is then skipped
 *     allow_over_capacity  refused for kinds that keep their rate; kept in the handle, not in the body
 *     concurrent           only with `writable`: lookups in what is only read need no locks
 *
 * Encoding to memory. tamis_filter_encode computes the size again and refuses a smaller buffer, so that
 * the emitter need not check. The filter is locked meanwhile: batches of other threads wait.
 *
 * Why the size must be exact, not only large enough: the caller then knows where the filter ends. The size of
 * another filter or format is noticed. A concurrent filter may grow between the calls of
 * tamis_filter_encoded_size and tamis_filter_encode. The second call then fails with TAMIS_E_RANGE, and the
 * caller repeats both.
 *
 * Both calls lock the filter by themselves, and neither calls the other: pauses of batches do not nest.
 *
 * A filter on a server has no bits here. tamis__format_check_local refuses it before a format gets it, and
 * foreign filters too, but for their own format. So the others may use `ops` without a test.
 *
 * A key of the Redis module has a .tamis file within a DUMP or an RDB file. The filter has format tamis then,
 * in which it can be saved, and is `read_only`.
 *
 * Invariants:
 * 1. options.allow_over_capacity is refused for kinds that keep their rate, whatever the file says.
 * 2. A filter that fails a check after it was decoded is freed here.
 */
#include "format/format.h"

#include <string.h>

#include "base/versioned.h"
#include "filter/concurrent.h"
#include "filter/filter_int.h"
#include "format/rdb.h"

/* Indexed by the number of the format. */
static const struct format_row {
    const char *name;
    const tamis__format *format;
} rows[] = {
    [TAMIS_FORMAT_AUTO] = {"auto", &tamis__format_native},
    [TAMIS_FORMAT_TAMIS] = {"tamis", &tamis__format_native},
    [TAMIS_FORMAT_GUAVA] = {"guava", &tamis__format_guava},
    [TAMIS_FORMAT_DCSO] = {"dcso", &tamis__format_dcso},
    [TAMIS_FORMAT_REDISBLOOM] = {"redisbloom", &tamis__format_redisbloom},
};
enum { ROWS = sizeof rows / sizeof *rows };

const char *tamis_format_name(tamis_format format) {
    return (unsigned)format < ROWS ? rows[format].name : NULL;
}

tamis_status tamis_format_parse(tamis_format *format, const char *name, tamis_error *err) {
    TAMIS__NEED(name, err);
    TAMIS__NEED(format, err);
    for (int i = 0; i < ROWS; i++) {
        if (strcmp(name, rows[i].name) == 0) {
            *format = (tamis_format)i;
            return TAMIS_OK;
        }
    }
    return tamis__fail(err, TAMIS_E_INVALID, 0,
                       "%.100s: no such format; use auto, tamis, guava, dcso or redisbloom", name);
}

const tamis__format *tamis__format_of(tamis_format format) {
    return (unsigned)format < ROWS ? rows[format].format : NULL;
}

tamis_status tamis__format_check_local(const tamis__format *format, const tamis_filter *filter,
                                       const char *what, tamis_error *err) {
    if (format->is_foreign && tamis__filter_is_foreign(filter))
        return TAMIS_OK;
    return tamis__filter_check_local(filter, what, err);
}

static tamis_status find_format(tamis_format format, const tamis__format **found, tamis_error *err) {
    *found = tamis__format_of(format);
    return *found ? TAMIS_OK
                  : tamis__fail(err, TAMIS_E_INVALID, 0, "format %d: no such format; see tamis/file.h",
                                (int)format);
}

tamis_status tamis__format_recognise(const tamis__encoded_bytes *source, const tamis_open_options *options,
                                     tamis_format *number, tamis_error *err) {
    *number = options->format;
    for (int i = TAMIS_FORMAT_TAMIS; i < ROWS && *number == TAMIS_FORMAT_AUTO; i++)
        if (rows[i].format->recognise(source))
            *number = (tamis_format)i;
    if (*number != TAMIS_FORMAT_AUTO)
        return TAMIS_OK;
    return tamis__fail(
        err, TAMIS_E_FORMAT, 0,
        "%s: is not a filter of a known format; give one made by tamis, Guava's writeTo, DCSO's bloom or "
        "RedisBloom's DUMP",
        source->name);
}

tamis_status tamis__format_decode(tamis_filter **filter, const tamis__encoded_bytes *source,
                                  const tamis_open_options *options, tamis_error *err) {
    const tamis__format *format = NULL;
    tamis_filter *created = NULL;
    tamis_format number;
    tamis_status status = tamis__format_recognise(source, options, &number, err);
    if (status == TAMIS_OK)
        status = find_format(number, &format, err);
    if (status == TAMIS_OK && source->key && !tamis__rdb_is_file(source->bytes, source->size))
        status = tamis__fail(err, TAMIS_E_FORMAT, 0,
                             "%s: is a filter and not an RDB file with keys; leave out # and what follows",
                             source->name);
    if (status == TAMIS_OK)
        status = format->decode(&created, source, options, err);
    if (status == TAMIS_OK && options->allow_over_capacity && !tamis_kind_is_bloom(created->plan.kind)) {
        status = tamis__fail(
            err, TAMIS_E_UNSUPPORTED, 0,
            "%s: kind %s keeps its rate and cannot exceed its capacity; open it without allow_over_capacity",
            source->name, tamis_kind_name(created->plan.kind));
        tamis_filter_free(created);
    }
    if (status == TAMIS_OK && options->writable && options->concurrent && !created->read_only) {
        status = tamis__concurrent_enable(created, err);
        if (status != TAMIS_OK)
            tamis_filter_free(created);
    }
    if (status != TAMIS_OK)
        return status;
    created->metadata.fields.format = created->read_only ? TAMIS_FORMAT_TAMIS : number;
    created->handle_over_capacity = options->allow_over_capacity;
    *filter = created;
    return TAMIS_OK;
}

/* Decodes bytes at an address that is not aligned to words, from an aligned copy: filters are read by
 * words. */
static tamis_status decode_unaligned(tamis_filter **filter, const void *bytes, uint64_t size,
                                     const tamis_open_options *options, tamis_error *err) {
    const tamis_allocator memory = tamis__allocator_resolve(options->allocator);
    tamis_format format;
    tamis__encoded_bytes source = {
        .bytes = bytes, .size = size, .name = "filter", .stay = false, .block_size = NULL};
    tamis_status status = tamis__format_recognise(&source, options, &format, err);
    if (status != TAMIS_OK)
        return status;
    void *copy = tamis__alloc(&memory, (size_t)size, TAMIS__LINE);
    if (!copy)
        return tamis__fail_nomem(err, "filter", size);
    memcpy(copy, bytes, (size_t)size);
    source.bytes = copy;
    status = tamis__format_decode(filter, &source, options, err);
    tamis__free(&memory, copy, (size_t)size);
    return status;
}

tamis_status tamis_filter_decode(tamis_filter **filter, const void *bytes, uint64_t size,
                                 const tamis_open_options *given, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED_IF(size, bytes, err);
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    tamis_status status =
        tamis__read_options(&options, sizeof options, given, "TAMIS_OPEN_OPTIONS_INIT", err);
    if (status != TAMIS_OK)
        return status;
    options.writable = true;
    if (size > 0 && (uintptr_t)bytes % sizeof(uint64_t))
        return decode_unaligned(filter, bytes, size, &options, err);
    return tamis__format_decode(
        filter,
        &(tamis__encoded_bytes){
            .bytes = bytes, .size = size, .name = "filter", .stay = false, .block_size = NULL},
        &options, err);
}

tamis_status tamis_filter_encoded_size(const tamis_filter *filter, tamis_format number, uint64_t *size,
                                       tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED(size, err);
    const tamis__format *format;
    tamis_status status = find_format(number, &format, err);
    if (status != TAMIS_OK)
        return status;
    tamis__filter_lock_content(filter);
    status = tamis__format_check_local(format, filter, "encode", err);
    if (status == TAMIS_OK)
        status = format->encoded_size(filter, size, err);
    tamis__filter_unlock_content(filter);
    return status;
}

/* An emitter that writes to the caller's buffer. */
typedef struct buffer {
    uint8_t *next, *end;
} buffer;

static tamis_status emit_to_buffer(void *context, const void *bytes, size_t size, tamis_error *err) {
    buffer *to = context;
    (void)err; /* encode() has checked the size of the buffer */
    memcpy(to->next, bytes, size);
    to->next += size;
    return TAMIS_OK;
}

static tamis_status encode(const tamis_filter *filter, const tamis__format *format, void *bytes,
                           uint64_t size, tamis_error *err) {
    uint64_t needed = 0;
    tamis_status status = tamis__format_check_local(format, filter, "encode", err);
    if (status == TAMIS_OK)
        status = format->encoded_size(filter, &needed, err);
    if (status != TAMIS_OK)
        return status;
    if (size != needed)
        return tamis__fail(
            err, TAMIS_E_RANGE, 0,
            "encode: a buffer of %llu bytes, and %llu are needed; call tamis_filter_encoded_size()",
            (unsigned long long)size, (unsigned long long)needed);
    buffer to = {bytes, (uint8_t *)bytes + size};
    return format->encode(filter, &(tamis__emitter){emit_to_buffer, &to}, err);
}

tamis_status tamis_filter_encode(const tamis_filter *filter, tamis_format number, void *bytes, uint64_t size,
                                 tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED_IF(size, bytes, err);
    const tamis__format *format;
    tamis_status status = find_format(number, &format, err);
    if (status != TAMIS_OK)
        return status;
    tamis__filter_lock_content(filter);
    status = encode(filter, format, bytes, size, err);
    tamis__filter_unlock_content(filter);
    return status;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sinks: keys made of values.
 *
 * Idea: the bytes of all keys lie one after the other in one buffer. For each finished key only its size is
 * stored. The buffer moves when it grows, so pointers into it would become invalid. tamis_sink_keys()
 * computes the pointers when the caller requests the keys.
 *
 *     bytes   | key 0 | key 1 | ... | unfinished key | free        |
 *                                   ^ key_start      ^ size        ^ capacity
 *
 * Invariants:
 *
 * 1. The sizes of the `count` finished keys add up to `key_start`, and key_start <= size <= capacity.
 * 2. After the first error the sink ignores all calls until it is cleared. The error is reported by
 *    tamis_sink_keys().
 * 3. The buffer doubles when it grows, so appending costs O(1) per byte on average.
 *
 * Text: iconv(3) decodes UTF-8 to UCS-4LE, and this file encodes UTF-16LE from it. iconv could give UTF-16LE
 * directly. But glibc loads that converter at run time from a directory that a static program or a small
 * container may lack. The converter to UCS-4LE is built in. It accepts code points above U+10FFFF, so this
 * file rejects them.
 *
 * Keys are made byte for byte like those of Guava's PrimitiveSink and Funnels, so that Java and C share a
 * filter. docs/guide/other-systems.md describes that.
 *
 *     tamis_sink_put_   Guava's PrimitiveSink        bytes, lowest first
 *     ---------------   --------------------------   ----------------------------------------------------
 *     byte, bytes       putByte, putBytes            as they are
 *     bool              putBoolean                   01 or 00
 *     int16             putShort                     2
 *     int32, int64      putInt, putLong              4, 8
 *     float, double     putFloat, putDouble          4, 8: the bits, so 0.0 and -0.0 are different keys
 *     utf16             putUnencodedChars            2 for each unit, valid pairs or not, as in Java
 *     text              putUnencodedChars            the same, from UTF-8: 4 for a character above U+FFFF
 *     utf8              putString(s, UTF_8)          as they are, after the check
 *
 * What makes two programs disagree although both are right:
 *
 * - A sink stores no lengths: "ab" then "c" is the same key as "a" then "bc". Guava does the same. A funnel
 *   with several texts should put a separator, or a length, in both programs.
 * - The same letter may be one code point or two (U+00E9, or e and U+0301). Nothing is normalised here.
 * - A Java int is 4 bytes and a long 8: 42 as one is another key than 42 as the other.
 */
#include <tamis/compat/funnel.h>

#include <errno.h>
#include <iconv.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"

enum {
    CAPACITY_MIN = 4096, /* initial size of a buffer in bytes */
    CHUNK = 256          /* characters decoded in one step */
};

struct tamis_sink {
    tamis_allocator allocator;
    uint8_t *bytes;
    size_t size, capacity;      /* bytes used, bytes allocated */
    size_t key_start;           /* offset of the unfinished key */
    tamis_key *keys;            /* sizes of finished keys; tamis_sink_keys sets the pointers */
    size_t count, key_capacity; /* keys finished, array elements allocated */
    iconv_t decoder;            /* UTF-8 to UCS-4LE */
    bool decodes;               /* true if `decoder` is open; the first text opens it */
    tamis_error error;          /* first error since the sink was cleared */
};

tamis_status tamis_sink_create(tamis_sink **sink, const tamis_allocator *allocator, tamis_error *err) {
    TAMIS__NEED(sink, err);
    tamis_allocator memory = tamis__allocator_resolve(allocator);
    tamis_sink *created = tamis__alloc(&memory, sizeof *created, _Alignof(tamis_sink));
    if (!created)
        return tamis__fail_nomem(err, "sink", sizeof *created);
    created->allocator = memory;
    created->error = (tamis_error)TAMIS_ERROR_INIT;
    *sink = created;
    return TAMIS_OK;
}

void tamis_sink_free(tamis_sink *sink) {
    if (!sink)
        return;
    tamis_allocator memory = sink->allocator;
    if (sink->decodes)
        iconv_close(sink->decoder);
    tamis__free(&memory, sink->bytes, sink->capacity);
    tamis__free(&memory, sink->keys, sink->key_capacity * sizeof *sink->keys);
    tamis__free(&memory, sink, sizeof *sink);
}

static bool has_failed(const tamis_sink *sink) {
    return sink->error.status != TAMIS_OK;
}

static void fail_nomem(tamis_sink *sink, size_t bytes) {
    tamis__fail(&sink->error, TAMIS_E_NOMEM, ENOMEM,
                "key %zu: out of memory, %zu bytes were refused; free memory, or make fewer keys at a time",
                sink->count, bytes);
}

/* Reallocates `block`, which has *capacity bytes of which `used` are in use, so that `more` bytes fit, and
 * returns it. Returns NULL if there is no memory: the block is unchanged and the error is stored in the
 * sink. */
static void *grow(tamis_sink *sink, void *block, size_t used, size_t *capacity, size_t more) {
    size_t wanted = *capacity ? *capacity : CAPACITY_MIN;
    if (more > SIZE_MAX / 2 - used) {
        fail_nomem(sink, more);
        return NULL;
    }
    while (wanted < used + more)
        wanted *= 2;
    void *grown = tamis__alloc(&sink->allocator, wanted, _Alignof(max_align_t));
    if (!grown) {
        fail_nomem(sink, wanted);
        return NULL;
    }
    if (used)
        memcpy(grown, block, used);
    tamis__free(&sink->allocator, block, *capacity);
    *capacity = wanted;
    return grown;
}

void tamis_sink_put_bytes(tamis_sink *sink, const void *bytes, size_t size) {
    if (has_failed(sink) || !size)
        return;
    if (size > sink->capacity - sink->size) {
        uint8_t *grown = grow(sink, sink->bytes, sink->size, &sink->capacity, size);
        if (!grown)
            return;
        sink->bytes = grown;
    }
    memcpy(sink->bytes + sink->size, bytes, size);
    sink->size += size;
}

void tamis_sink_put_byte(tamis_sink *sink, uint8_t value) {
    tamis_sink_put_bytes(sink, &value, 1);
}

void tamis_sink_put_bool(tamis_sink *sink, bool value) {
    tamis_sink_put_byte(sink, value ? 1 : 0);
}

static uint8_t *store16le(uint8_t *to, uint32_t value) {
    to[0] = (uint8_t)value;
    to[1] = (uint8_t)(value >> 8);
    return to + 2;
}

static void put_32(tamis_sink *sink, uint32_t value) {
    uint8_t bytes[4];
    tamis__store32le(bytes, value);
    tamis_sink_put_bytes(sink, bytes, sizeof bytes);
}

static void put_64(tamis_sink *sink, uint64_t value) {
    uint8_t bytes[8];
    tamis__store64le(bytes, value);
    tamis_sink_put_bytes(sink, bytes, sizeof bytes);
}

void tamis_sink_put_int16(tamis_sink *sink, int16_t value) {
    uint8_t bytes[2];
    store16le(bytes, (uint16_t)value);
    tamis_sink_put_bytes(sink, bytes, sizeof bytes);
}

void tamis_sink_put_int32(tamis_sink *sink, int32_t value) {
    put_32(sink, (uint32_t)value);
}

void tamis_sink_put_int64(tamis_sink *sink, int64_t value) {
    put_64(sink, (uint64_t)value);
}

/* Stores the bits unchanged, even of a NaN, as Guava does with floatToRawIntBits. */
void tamis_sink_put_float(tamis_sink *sink, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_32(sink, bits);
}

void tamis_sink_put_double(tamis_sink *sink, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_64(sink, bits);
}

void tamis_sink_put_utf16(tamis_sink *sink, const uint16_t *units, size_t count) {
    uint8_t bytes[2 * CHUNK];
    while (count > 0 && !has_failed(sink)) {
        const size_t chunk = count < CHUNK ? count : CHUNK;
        uint8_t *end = bytes;
        for (size_t i = 0; i < chunk; i++)
            end = store16le(end, units[i]);
        tamis_sink_put_bytes(sink, bytes, (size_t)(end - bytes));
        units += chunk;
        count -= chunk;
    }
}

/* ---- text ---- */

static bool open_decoder(tamis_sink *sink) {
    if (sink->decodes)
        return true;
    sink->decoder = iconv_open("UCS-4LE", "UTF-8");
    sink->decodes = sink->decoder != (iconv_t)-1;
    if (!sink->decodes)
        tamis__fail(&sink->error, errno == ENOMEM ? TAMIS_E_NOMEM : TAMIS_E_SYSTEM, errno,
                    "key %zu: the C library cannot decode UTF-8 now: %s; free memory, or pass bytes",
                    sink->count, strerror(errno));
    return sink->decodes;
}

static void refuse_text(tamis_sink *sink, const char *text, const char *pos, bool breaks_off) {
    tamis__fail(&sink->error, TAMIS_E_INVALID, 0,
                "key %zu: %s at offset %zu (byte 0x%02X); pass UTF-8, or bytes", sink->count,
                breaks_off ? "UTF-8 that breaks off in the character" : "not UTF-8", (size_t)(pos - text),
                (unsigned)(unsigned char)*pos);
}

/* Returns the start of character `n`, counted from 0, in well-formed UTF-8. */
static const char *find_character(const char *text, size_t n) {
    while (n-- > 0)
        do
            text++;
        while (((unsigned char)*text & 0xc0) == 0x80);
    return text;
}

/* Returns the index of the first value above U+10FFFF, or `count` if there is none. */
static size_t find_too_large(const uint8_t *points, size_t count) {
    size_t i = 0;
    while (i < count && tamis__load32le(points + 4 * i) <= 0x10ffff)
        i++;
    return i;
}

/* Appends code points as UTF-16LE. A code point from 0x10000 on becomes a surrogate pair. */
static void put_points(tamis_sink *sink, const uint8_t *points, size_t count) {
    uint8_t bytes[4 * CHUNK], *end = bytes;
    for (size_t i = 0; i < count; i++) {
        uint32_t point = tamis__load32le(points + 4 * i);
        if (point >= 0x10000) {
            end = store16le(end, 0xd800 + ((point - 0x10000) >> 10));
            point = 0xdc00 + ((point - 0x10000) & 0x3ff);
        }
        end = store16le(end, point);
    }
    tamis_sink_put_bytes(sink, bytes, (size_t)(end - bytes));
}

/* Checks that the text is UTF-8 and, if `put` is true, appends it as UTF-16LE. Returns false after an
 * error. */
static bool decode(tamis_sink *sink, const char *text, size_t size, bool put) {
    uint8_t points[4 * CHUNK];
    char *from = (char *)text; /* iconv() takes a non-const pointer but does not write there */

    if (has_failed(sink) || !size || !open_decoder(sink))
        return !has_failed(sink);
    while (size > 0) {
        const char *start = from;
        char *to = (char *)points;
        size_t capacity = sizeof points;
        int why = iconv(sink->decoder, &from, &size, &to, &capacity) == (size_t)-1 ? errno : 0;
        size_t count = (sizeof points - capacity) / 4, good = find_too_large(points, count);
        if (good < count)
            refuse_text(sink, text, find_character(start, good), false);
        else if (why != 0 && why != E2BIG)
            refuse_text(sink, text, from, why == EINVAL);
        if (has_failed(sink)) {
            iconv(sink->decoder, NULL, NULL, NULL, NULL); /* resets the decoder */
            return false;
        }
        if (put)
            put_points(sink, points, count);
    }
    return true;
}

void tamis_sink_put_utf8(tamis_sink *sink, const char *text, size_t size) {
    if (decode(sink, text, size, false))
        tamis_sink_put_bytes(sink, text, size);
}

void tamis_sink_put_text(tamis_sink *sink, const char *text, size_t size) {
    decode(sink, text, size, true);
}

/* ---- keys ---- */

void tamis_sink_end_key(tamis_sink *sink) {
    if (has_failed(sink))
        return;
    if (sink->count == sink->key_capacity) {
        size_t used = sink->count * sizeof *sink->keys, capacity = used;
        tamis_key *grown = grow(sink, sink->keys, used, &capacity, sizeof *grown);
        if (!grown)
            return;
        sink->keys = grown;
        sink->key_capacity = capacity / sizeof *grown;
    }
    sink->keys[sink->count++].size = sink->size - sink->key_start;
    sink->key_start = sink->size;
}

tamis_status tamis_sink_keys(tamis_sink *sink, const tamis_key **keys, size_t *count, tamis_error *err) {
    TAMIS__NEED(sink, err);
    TAMIS__NEED(keys, err);
    TAMIS__NEED(count, err);
    if (has_failed(sink))
        return tamis__fail(err, sink->error.status, sink->error.sys_errno, "%s", sink->error.text);
    const uint8_t *pos = sink->bytes;
    for (size_t i = 0; i < sink->count; i++) {
        sink->keys[i].data = pos;
        if (sink->keys[i].size) /* if all keys are empty, `pos` is NULL */
            pos += sink->keys[i].size;
    }
    *keys = sink->keys;
    *count = sink->count;
    return TAMIS_OK;
}

tamis_status tamis_sink_recover(tamis_sink *sink, tamis_error *err) {
    TAMIS__NEED(sink, err);
    if (!has_failed(sink))
        return TAMIS_OK;
    tamis__fail(err, sink->error.status, sink->error.sys_errno, "%s", sink->error.text);
    const tamis_status status = sink->error.status;
    sink->error.status = TAMIS_OK;
    sink->size = sink->key_start;
    return status;
}

void tamis_sink_clear(tamis_sink *sink) {
    sink->size = sink->key_start = sink->count = 0;
    sink->error.status = TAMIS_OK;
}

/* ---- funnels ---- */

void tamis_funnel_many(tamis_sink *sink, tamis_funnel funnel, void *context, const void *objects,
                       size_t stride, size_t count) {
    const char *object = objects;
    for (size_t i = 0; i < count && !has_failed(sink); i++, object += stride) {
        funnel(sink, object, context);
        tamis_sink_end_key(sink);
    }
}

void tamis_funnel_int32(tamis_sink *sink, const void *object, void *context) {
    (void)context;
    int32_t value;
    memcpy(&value, object, sizeof value);
    tamis_sink_put_int32(sink, value);
}

void tamis_funnel_int64(tamis_sink *sink, const void *object, void *context) {
    (void)context;
    int64_t value;
    memcpy(&value, object, sizeof value);
    tamis_sink_put_int64(sink, value);
}

void tamis_funnel_bytes(tamis_sink *sink, const void *object, void *context) {
    (void)context;
    const tamis_key *key = object;
    tamis_sink_put_bytes(sink, key->data, key->size);
}

void tamis_funnel_utf8(tamis_sink *sink, const void *object, void *context) {
    (void)context;
    const tamis_key *key = object;
    tamis_sink_put_utf8(sink, key->data, key->size);
}

void tamis_funnel_utf16(tamis_sink *sink, const void *object, void *context) {
    (void)context;
    const tamis_key *key = object;
    tamis_sink_put_text(sink, key->data, key->size);
}

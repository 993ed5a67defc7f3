/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FUNNEL_H
#define TAMIS_FUNNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/key.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Keys made of values. A funnel decides which bytes represent an object. A sink collects them, many keys one
 * after the other, and returns them as a batch for a filter:
 *
 *     tamis_funnel_many(sink, tamis_funnel_int64, NULL, ids, sizeof *ids, count);
 *     tamis_sink_keys(sink, &keys, &count, &err);
 *     tamis_filter_add_many(filter, keys, count, answers, NULL, &err);
 *     tamis_sink_clear(sink);
 *
 * The bytes are those of Guava's PrimitiveSink and Funnels, so that a filter can be shared with Java. Numbers
 * are little-endian in two's complement. float and double are their IEEE 754 bits. A bool is one byte, 1 or
 * 0. Chars are UTF-16LE (com.google.common.hash, AbstractByteHasher and Funnels).
 */
typedef struct tamis_sink tamis_sink;

/* Creates an empty sink. The caller owns *sink until tamis_sink_free. One thread at a time. allocator:
 * NULL for the default. TAMIS_E_NOMEM. */
TAMIS_API tamis_status tamis_sink_create(tamis_sink **sink, const tamis_allocator *allocator,
                                         tamis_error *err);
TAMIS_API void tamis_sink_free(tamis_sink *sink);

/*
 * Append a value to the unfinished key. These functions report no error. The first error (no memory, text
 * that is not UTF-8) is stored in the sink and returned by tamis_sink_keys. Until the sink is cleared,
 * further values are ignored.
 */
TAMIS_API void tamis_sink_put_bytes(tamis_sink *sink, const void *bytes, size_t size);
TAMIS_API void tamis_sink_put_byte(tamis_sink *sink, uint8_t value);
TAMIS_API void tamis_sink_put_bool(tamis_sink *sink, bool value);
TAMIS_API void tamis_sink_put_int16(tamis_sink *sink, int16_t value);
TAMIS_API void tamis_sink_put_int32(tamis_sink *sink, int32_t value);
TAMIS_API void tamis_sink_put_int64(tamis_sink *sink, int64_t value);
TAMIS_API void tamis_sink_put_float(tamis_sink *sink, float value);
TAMIS_API void tamis_sink_put_double(tamis_sink *sink, double value);
/* Appends UTF-16 code units in the byte order of this machine. Lone surrogates are allowed (Guava's
 * putUnencodedChars). */
TAMIS_API void tamis_sink_put_utf16(tamis_sink *sink, const uint16_t *units, size_t count);
/* Appends UTF-8 text after a check (putString(…, UTF_8)). Overlong forms, surrogates and code points above
 * U+10FFFF are errors. */
TAMIS_API void tamis_sink_put_utf8(tamis_sink *sink, const char *text, size_t size);
/* Appends UTF-8 text as UTF-16LE after the same check, as a Java String stores it (putUnencodedChars, or
 * putString(…, UTF_16LE)). */
TAMIS_API void tamis_sink_put_text(tamis_sink *sink, const char *text, size_t size);

/* Finishes the key, which may be empty. The next value begins another key. */
TAMIS_API void tamis_sink_end_key(tamis_sink *sink);

/*
 * Returns the finished keys in order. The sink owns *keys, which is valid until the next call that changes
 * the sink. *keys and *count are unchanged on failure.
 *
 * Errors since the last clear:
 *
 * - TAMIS_E_INVALID: text is not UTF-8; the message gives the number of the key, from 0, and the byte in its
 *   text.
 * - TAMIS_E_SYSTEM: the C library cannot decode UTF-8.
 * - TAMIS_E_NOMEM.
 */
TAMIS_API tamis_status tamis_sink_keys(tamis_sink *sink, const tamis_key **keys, size_t *count,
                                       tamis_error *err);

/* Removes the error and the unfinished key, and returns that error. TAMIS_OK: there was none, and nothing has
 * changed. The finished keys stay, so those before a text that is not UTF-8 can be used. */
TAMIS_API tamis_status tamis_sink_recover(tamis_sink *sink, tamis_error *err);

/* Removes all keys, bytes and errors. Keeps the memory. */
TAMIS_API void tamis_sink_clear(tamis_sink *sink);

/* A funnel: appends the bytes of *object and never finishes the key. `context` belongs to the caller.
 * Equal objects must give equal bytes; otherwise lookups give false negatives. */
typedef void (*tamis_funnel)(tamis_sink *sink, const void *object, void *context);

/* Makes one key of each of `count` objects, which are `stride` bytes apart. */
TAMIS_API void tamis_funnel_many(tamis_sink *sink, tamis_funnel funnel, void *context, const void *objects,
                                 size_t stride, size_t count);

/* The funnels of Guava. The object is an int32_t, an int64_t, a tamis_key of any bytes, or (the last two)
 * a tamis_key of UTF-8 text. */
TAMIS_API void tamis_funnel_int32(tamis_sink *sink, const void *object, void *context); /* integerFunnel */
TAMIS_API void tamis_funnel_int64(tamis_sink *sink, const void *object, void *context); /* longFunnel */
TAMIS_API void tamis_funnel_bytes(tamis_sink *sink, const void *object, void *context); /* byteArrayFunnel */
/* stringFunnel(UTF_8) */
TAMIS_API void tamis_funnel_utf8(tamis_sink *sink, const void *object, void *context);
/* unencodedCharsFunnel, stringFunnel(UTF_16LE) */
TAMIS_API void tamis_funnel_utf16(tamis_sink *sink, const void *object, void *context);

#ifdef __cplusplus
}
#endif
#endif

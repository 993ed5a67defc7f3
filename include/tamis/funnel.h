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
 * Values as key bytes. A funnel says which bytes stand for an object; a sink takes them, many keys one after the
 * other, and hands them out as the batch that a filter is asked:
 *
 *     tamis_funnel_many(sink, tamis_funnel_int64, NULL, ids, sizeof *ids, count);
 *     tamis_sink_keys(sink, &keys, &count, &err);
 *     tamis_filter_add_many(filter, keys, count, answers, NULL, &err);
 *     tamis_sink_clear(sink);
 *
 * The bytes are those of Guava's PrimitiveSink and Funnels, so that a filter is shared with Java: numbers
 * little-endian in two's complement, float and double as their IEEE 754 bits, bool as one byte 1 or 0, chars as
 * UTF-16LE (com.google.common.hash, AbstractByteHasher and Funnels).
 */
typedef struct tamis_sink tamis_sink;

/* An empty sink. allocator NULL: the default. *sink is owned by the caller until tamis_sink_free (NULL is fine
 * there). One thread at a time. TAMIS_E_NOMEM. */
TAMIS_API tamis_status tamis_sink_create(tamis_sink **sink, const tamis_allocator *allocator,
                                         tamis_error *err);
TAMIS_API void tamis_sink_free(tamis_sink *sink);

/*
 * Each appends to the key being made. They cannot fail here: what goes wrong (no memory, text that is no UTF-8) is
 * kept, the first of it, and told by tamis_sink_keys; until the sink is cleared nothing more is taken.
 */
TAMIS_API void tamis_sink_put_bytes(tamis_sink *sink, const void *bytes, size_t size);
TAMIS_API void tamis_sink_put_byte(tamis_sink *sink, uint8_t value);
TAMIS_API void tamis_sink_put_bool(tamis_sink *sink, bool value);
TAMIS_API void tamis_sink_put_int16(tamis_sink *sink, int16_t value);
TAMIS_API void tamis_sink_put_int32(tamis_sink *sink, int32_t value);
TAMIS_API void tamis_sink_put_int64(tamis_sink *sink, int64_t value);
TAMIS_API void tamis_sink_put_float(tamis_sink *sink, float value);
TAMIS_API void tamis_sink_put_double(tamis_sink *sink, double value);
/* UTF-16 code units of this machine's byte order, lone surrogates too (Guava's putUnencodedChars). */
TAMIS_API void tamis_sink_put_utf16(tamis_sink *sink, const uint16_t *units, size_t count);
/* UTF-8 text, checked (putString(…, UTF_8)): overlong forms, surrogates and code points past U+10FFFF are refused. */
TAMIS_API void tamis_sink_put_utf8(tamis_sink *sink, const char *text, size_t size);
/* UTF-8 text, checked, as UTF-16LE: what Java's String holds (putUnencodedChars, or putString(…, UTF_16LE)). */
TAMIS_API void tamis_sink_put_text(tamis_sink *sink, const char *text, size_t size);

/* Ends the key being made, which may be empty; what is put next belongs to the next one. */
TAMIS_API void tamis_sink_end_key(tamis_sink *sink);

/*
 * The keys that were ended, in order. *keys is the sink's and good until the next call that takes it as other than
 * const. What went wrong since the last clear comes out here: TAMIS_E_NOMEM, or TAMIS_E_INVALID naming the key by its
 * number (from 0) and the byte in its text; TAMIS_E_SYSTEM where the C library cannot decode text. *keys and *count are
 * untouched then.
 */
TAMIS_API tamis_status tamis_sink_keys(tamis_sink *sink, const tamis_key **keys, size_t *count,
                                       tamis_error *err);

/* Forgets keys, bytes and trouble; keeps the memory. */
TAMIS_API void tamis_sink_clear(tamis_sink *sink);

/* Puts the bytes that stand for *object; never ends the key. `context` is the caller's own. Two objects that are equal
 * must put the same bytes: a key that is forgotten by its own funnel is a false negative. */
typedef void (*tamis_funnel)(tamis_sink *sink, const void *object, void *context);

/* One key for each of `count` objects, `stride` bytes apart. */
TAMIS_API void tamis_funnel_many(tamis_sink *sink, tamis_funnel funnel, void *context, const void *objects,
                                 size_t stride, size_t count);

/* Those of Guava. The object: an int32_t; an int64_t; a tamis_key of any bytes; one of UTF-8 text; the same. */
TAMIS_API void tamis_funnel_int32(tamis_sink *sink, const void *object, void *context); /* integerFunnel */
TAMIS_API void tamis_funnel_int64(tamis_sink *sink, const void *object, void *context); /* longFunnel */
TAMIS_API void tamis_funnel_bytes(tamis_sink *sink, const void *object, void *context); /* byteArrayFunnel */
TAMIS_API void tamis_funnel_utf8(tamis_sink *sink, const void *object,
                                 void *context); /* stringFunnel(UTF_8) */
TAMIS_API void tamis_funnel_utf16(tamis_sink *sink, const void *object,
                                  void *context); /* unencodedCharsFunnel, stringFunnel(UTF_16LE) */

#ifdef __cplusplus
}
#endif
#endif

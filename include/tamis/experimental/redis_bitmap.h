/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_REDIS_BITMAP_H
#define TAMIS_REDIS_BITMAP_H

/* Plain bitmaps in a Redis server: library libtamis-redis. They need no feature of servers after Redis
 * 6.2. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/experimental/redis.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A bitmap is the string under a Redis key. Bit `offset` is 0x80 >> offset % 8 of byte offset / 8, as for
 * SETBIT and GETBIT. A Redis key that does not exist is an empty bitmap. Bits after the end are 0.
 *
 * Any number of threads may use a bitmap at once. TAMIS_E_MISMATCH: the Redis key is not a string. Other
 * errors as for all calls with a server (tamis/experimental/redis.h).
 */
typedef struct tamis_redis_bitmap tamis_redis_bitmap;

/* Limit of offsets: the largest number of bits that Redis stores under one key. */
#define TAMIS_REDIS_BITMAP_BITS_MAX (UINT64_C(1) << 32)

/*
 * Opens the bitmap under KEY, percent-encoded as in a URI. If `redis` is NULL, it is
 * redis://host:port/db/KEY?..., see tamis/experimental/redis.h, with a connection of its own. Sends
 * nothing to the server yet. The caller owns *bitmap until tamis_redis_bitmap_close, which must come
 * before tamis_redis_close. allocator: NULL for that of the server, or the default.
 */
TAMIS_API tamis_status tamis_redis_bitmap_open(tamis_redis_bitmap **bitmap, tamis_redis *redis,
                                               const char *key, const tamis_allocator *allocator,
                                               tamis_error *err);
TAMIS_API void tamis_redis_bitmap_close(tamis_redis_bitmap *bitmap);

/* An old bit whose value is unknown; else bits are 0 or 1. */
#define TAMIS_REDIS_BIT_UNKNOWN 2

/* Bits to set. Plain data; the arrays are borrowed for the call. */
typedef struct tamis_redis_bits {
    const uint64_t *offsets;
    const uint8_t *values; /* 0 or 1 each; NULL: all 1 */
    size_t count;
} tamis_redis_bits;

/*
 * Sets bits to their values, in order. The bitmap grows by zero bytes as needed, also for a 0. old[i] is bit
 * i before (`old` may be NULL). The commands are pipelined: pass many bits at once.
 *
 * A command whose reply was lost is sent again and may be executed twice. An old bit that equals its new
 * value then may be the work of this call: TAMIS_REDIS_BIT_UNKNOWN. If the call sets some bits and clears
 * others, all old bits are then unknown. If an offset occurs several times in such a call, any of them may
 * have the old bit. A server may execute commands of a lost connection late. So clear bits that you have set,
 * or the reverse, only after a call without unknown answers.
 *
 * - TAMIS_E_RANGE: an offset is 2^32 or more; nothing is set.
 * - TAMIS_E_INVALID: a value is not a bit; nothing is set.
 * - After other errors the first *done (may be NULL) bits are set and their old bits stored. Any later bit
 *   may be set.
 */
TAMIS_API tamis_status tamis_redis_bitmap_set(tamis_redis_bitmap *bitmap, const tamis_redis_bits *bits,
                                              uint8_t *old, size_t *done, tamis_error *err);

/* Reads bits: bits[i] is the bit at offsets[i], 0 or 1. TAMIS_E_RANGE as above. After other errors the
 * first *done bits are stored. */
TAMIS_API tamis_status tamis_redis_bitmap_get(const tamis_redis_bitmap *bitmap, const uint64_t *offsets,
                                              size_t count, uint8_t *bits, size_t *done, tamis_error *err);

typedef enum tamis_redis_bitmap_unit {
    TAMIS_REDIS_BITMAP_BYTES,
    TAMIS_REDIS_BITMAP_BITS
} tamis_redis_bitmap_unit;

/* A range of bytes or bits, both ends included. Negative numbers count from the end; -1 is the last. Parts
 * outside the bitmap are ignored. */
typedef struct tamis_redis_bitmap_range {
    uint32_t struct_size;
    tamis_redis_bitmap_unit unit;
    int64_t from, to;
    bool is_open; /* true: up to the last byte or bit; `to` is ignored */
} tamis_redis_bitmap_range;

/* The whole bitmap. */
#define TAMIS_REDIS_BITMAP_RANGE_INIT                                                                        \
    TAMIS__INIT(tamis_redis_bitmap_range, TAMIS__FIELD(to, -1) TAMIS__FIELD(is_open, true))

/*
 * Counts the bits of the range (NULL: of all) that are 1.
 *
 * The count is of one instant. One exception: a range of bits that does not consist of whole bytes and spans
 * more than 4096 bytes. Each bit is then counted at some instant of the call, not all at the same. A negative
 * end of a range of bits counts from the end that the bitmap had when the call began.
 */
TAMIS_API tamis_status tamis_redis_bitmap_count(const tamis_redis_bitmap *bitmap,
                                                const tamis_redis_bitmap_range *range, uint64_t *count,
                                                tamis_error *err);

/*
 * Finds the first bit of the range (NULL: of all) that equals `bit`; *offset is -1 if there is none. It
 * follows BITPOS. If the range is open and begins within the bitmap, the bitmap continues with zeros. So the
 * first 0 of a bitmap of ones is the bit after them. A range with an end has no such zeros. In a bitmap that
 * does not exist, the first 0 is bit 0 for any range. The instants are those of tamis_redis_bitmap_count.
 */
TAMIS_API tamis_status tamis_redis_bitmap_pos(const tamis_redis_bitmap *bitmap, unsigned bit,
                                              const tamis_redis_bitmap_range *range, int64_t *offset,
                                              tamis_error *err);

typedef enum tamis_redis_bitmap_operation {
    TAMIS_REDIS_BITMAP_AND,
    TAMIS_REDIS_BITMAP_OR,
    TAMIS_REDIS_BITMAP_XOR,
    TAMIS_REDIS_BITMAP_NOT /* takes one source */
} tamis_redis_bitmap_operation;

/*
 * Stores the result of an operation on `count` sources in the target, which is replaced and has no expiry.
 * Sources are Redis keys of the target's server, as for tamis_redis_bitmap_open, or URIs of bitmaps anywhere.
 * The target may be a source. The result is as long as the longest source; shorter ones count as continued
 * with zeros. *size (may be NULL) is its number of bytes. An empty result removes the target.
 *
 * If all bitmaps are in one slot of one server, the operation is atomic (BITOP). Otherwise the sources are
 * fetched, combined here, and the result is stored as a whole. The same happens if the server refuses BITOP,
 * as Codis does. It also happens if the target is a source of XOR or NOT, because executing these twice would
 * undo them. Then:
 *
 * - Changes of the sources meanwhile may be missing. Changes of the target meanwhile are lost. Readers see
 *   the old or the new target.
 * - It takes twice the length in memory. For a slow network set read_timeout= accordingly.
 */
TAMIS_API tamis_status tamis_redis_bitmap_op(tamis_redis_bitmap *target, tamis_redis_bitmap_operation op,
                                             const char *const *sources, size_t count, uint64_t *size,
                                             tamis_error *err);

#ifdef __cplusplus
}
#endif
#endif

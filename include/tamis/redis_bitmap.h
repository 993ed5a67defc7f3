/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_REDIS_BITMAP_H
#define TAMIS_REDIS_BITMAP_H

/* Plain bitmaps in a Redis: of library libtamis-redis. Nothing is asked of servers that came after Redis 6.2. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/redis.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A bitmap is the string under a Redis key: bit `offset` is 0x80 >> offset % 8 of byte offset / 8, as SETBIT and GETBIT
 * have it. A key that is not there is a bitmap of no bytes; bits past the end of one are 0.
 *
 * Any number of threads may use one at once. TAMIS_E_MISMATCH: under the key is something else than a string; the rest as
 * of all calls with a server (tamis/redis.h).
 */
typedef struct tamis_redis_bitmap tamis_redis_bitmap;

/* Offsets are below this: more bits no Redis keeps under one key. */
#define TAMIS_REDIS_BITMAP_BITS_MAX (UINT64_C(1) << 32)

/* The bitmap under KEY, percent-encoded as in a URI, of a server; or with `redis` NULL of redis://host:port/db/KEY?..., see
 * tamis/redis.h, the connection being its own. Nothing is asked of the server yet. *bitmap is owned by the caller until
 * tamis_redis_bitmap_close (NULL is fine there), which comes before the server's. allocator NULL: the server's, or the
 * default. */
TAMIS_API tamis_status tamis_redis_bitmap_open(tamis_redis_bitmap **bitmap, tamis_redis *redis,
                                               const char *key, const tamis_allocator *allocator,
                                               tamis_error *err);
TAMIS_API void tamis_redis_bitmap_close(tamis_redis_bitmap *bitmap);

/* A bit: 0, 1, or of an old one */
#define TAMIS_REDIS_BIT_UNKNOWN 2

/*
 * Sets `count` bits to their values (0 or 1; NULL: all 1), in order. The bitmap grows by zero bytes as far as it must,
 * also for a 0. old[i] (old may be NULL) is what the bit was before. Pipelined: give many at once.
 *
 * A command whose reply was lost is asked again, and may be carried out twice. An old bit that is then found to be what
 * it was to become may be of the call's own making: TAMIS_REDIS_BIT_UNKNOWN, as are all of them where the call sets some
 * bits and clears others. Of an offset that comes more than once in a call that was disturbed any may have the old bit. A
 * server may carry out late what it was sent on a connection that was lost, so who clears what he set, or sets what he
 * cleared, does so when no answer of the call before was unknown.
 *
 * TAMIS_E_RANGE: an offset from 2^32 on, TAMIS_E_INVALID: a value that is no bit; nothing is set then. After another failure
 * the first *done (NULL is fine) are set and their old bits filled; of those past them any may be set.
 */
TAMIS_API tamis_status tamis_redis_bitmap_set(tamis_redis_bitmap *bitmap, const uint64_t *offsets,
                                              const uint8_t *values, size_t count, uint8_t *old, size_t *done,
                                              tamis_error *err);

/* bits[i] is the bit at offsets[i], 0 or 1. TAMIS_E_RANGE as above; after another failure the first *done are filled. */
TAMIS_API tamis_status tamis_redis_bitmap_get(const tamis_redis_bitmap *bitmap, const uint64_t *offsets,
                                              size_t count, uint8_t *bits, size_t *done, tamis_error *err);

typedef enum tamis_redis_bitmap_unit {
    TAMIS_REDIS_BITMAP_BYTES,
    TAMIS_REDIS_BITMAP_BITS
} tamis_redis_bitmap_unit;

/* From one byte or bit to another, both included. Those below 0 count from the end, -1 being the last; what lies outside of
 * the bitmap is left out. */
typedef struct tamis_redis_bitmap_range {
    uint32_t struct_size;
    tamis_redis_bitmap_unit unit;
    int64_t from, to;
    bool is_open; /* it has no end, and `to` says nothing: up to the last */
} tamis_redis_bitmap_range;

/* The whole bitmap. */
/* clang-format off */
#define TAMIS_REDIS_BITMAP_RANGE_INIT {sizeof(tamis_redis_bitmap_range), TAMIS_REDIS_BITMAP_BYTES, 0, -1, true}
/* clang-format on */

/*
 * How many bits of the range (NULL: of all) are 1.
 *
 * The bitmap is looked at in one instant, but for a range of bits that are not whole bytes and stand in more than 4096 of
 * them: then every bit is counted as it was at some instant of the call, not all at the same. Where an end of a range of bits
 * is below 0, it counts from where the bitmap ended when the call began.
 */
TAMIS_API tamis_status tamis_redis_bitmap_count(const tamis_redis_bitmap *bitmap,
                                                const tamis_redis_bitmap_range *range, uint64_t *count,
                                                tamis_error *err);

/*
 * The first bit of the range (NULL: of all) that is `bit`; *offset is -1 where none is. As BITPOS has it: the bitmap is
 * taken to go on with zeros where the range is open and begins within it, so that the first 0 of nothing but ones is the bit
 * behind them; not where it has an end. Of a key that is not there the first 0 is bit 0, whatever the range. The same
 * instants as of tamis_redis_bitmap_count.
 */
TAMIS_API tamis_status tamis_redis_bitmap_pos(const tamis_redis_bitmap *bitmap, unsigned bit,
                                              const tamis_redis_bitmap_range *range, int64_t *offset,
                                              tamis_error *err);

typedef enum tamis_redis_bitmap_operation {
    TAMIS_REDIS_BITMAP_AND,
    TAMIS_REDIS_BITMAP_OR,
    TAMIS_REDIS_BITMAP_XOR,
    TAMIS_REDIS_BITMAP_NOT /* of one source */
} tamis_redis_bitmap_operation;

/*
 * Makes the target what comes of `count` sources, whatever it was, and without expiry. Sources are keys of the target's
 * server, as for tamis_redis_bitmap_open, or URIs of bitmaps anywhere; the target may be among them. It becomes as long as
 * the longest of them, what shorter ones lack being zeros, and *size (NULL is fine) is its bytes; where that is 0 it is
 * removed.
 *
 * Where all of them are in one slot of one server this is one instant (BITOP). Else, and where the server refuses BITOP, as
 * Codis does, or where target is among the sources of XOR or NOT, which undo themselves if they are carried out twice, they
 * are fetched, combined here and put there whole: what is added to sources meanwhile may be missing, what is changed in the
 * target is lost, and who asks it sees the old or the new. It takes twice their length in memory; where that goes through a
 * slow network, give read_timeout= the time.
 */
TAMIS_API tamis_status tamis_redis_bitmap_op(tamis_redis_bitmap *target, tamis_redis_bitmap_operation op,
                                             const char *const *sources, size_t count, uint64_t *size,
                                             tamis_error *err);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_REDISBLOOM_H
#define TAMIS_REDISBLOOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/filter.h>
#include <tamis/key.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The scaling Bloom filter of RedisBloom's BF.* commands: equal sizes, bits, answers and stored bytes. It
 * is a chain of sub-filters. When the newest one is full, a larger one with half of its rate is added.
 *
 * One thread at a time. Calls with a const handle may run at the same time.
 */
typedef struct tamis_redisbloom tamis_redisbloom;

typedef struct tamis_redisbloom_options {
    uint32_t struct_size;
    /* > 0 and < 1. A filter that scales gives its first sub-filter half of it, so that all together keep
     * it */
    double rate;
    uint64_t capacity; /* keys of the first sub-filter, > 0 */
    /* Capacity of a sub-filter, divided by that of the one before it. 0: the filter is nonscaling */
    uint32_t expansion;
    bool nonscaling;                  /* one sub-filter, which refuses further keys when it is full */
    const tamis_allocator *allocator; /* NULL: the default. It is asked for an alignment of at most 16. */
} tamis_redisbloom_options;

#define TAMIS_REDISBLOOM_OPTIONS_INIT                                                                        \
    TAMIS__INIT(tamis_redisbloom_options,                                                                    \
                TAMIS__FIELD(rate, 0.01) TAMIS__FIELD(capacity, 100) TAMIS__FIELD(expansion, 2))

/*
 * Creates an empty filter. The caller owns *filter until tamis_redisbloom_free.
 *
 * - options: NULL for RedisBloom's defaults: rate 0.01, 100 keys, expansion 2.
 * - TAMIS_E_RANGE: rate or capacity is out of range, or the filter would have more than TAMIS_BITS_MAX bits.
 * - TAMIS_E_NOMEM.
 */
TAMIS_API tamis_status tamis_redisbloom_create(tamis_redisbloom **filter,
                                               const tamis_redisbloom_options *options, tamis_error *err);
TAMIS_API void tamis_redisbloom_free(tamis_redisbloom *filter);
/* Makes an independent copy, which may be incomplete like its source. TAMIS_E_NOMEM. O(memory). */
TAMIS_API tamis_status tamis_redisbloom_copy(tamis_redisbloom **copy, const tamis_redisbloom *filter,
                                             tamis_error *err);

/* Moves a block of memory: returns the new address of its bytes, or NULL if the block stays. */
typedef void *(*tamis_redisbloom_mover)(void *context, void *block);

/*
 * Calls `move` once for each block of a filter, which may be incomplete, and uses the addresses that it
 * returns. So an allocator that defragments its memory can move a filter. *filter changes if the handle moves.
 * No other thread may use the filter meanwhile. O(sub-filters), without the time of `move`.
 */
TAMIS_API void tamis_redisbloom_relocate(tamis_redisbloom **filter, tamis_redisbloom_mover move,
                                         void *context);

/*
 * Adds `count` keys in order. answers[i] is TAMIS_ABSENT if key i was certainly absent, else TAMIS_PRESENT.
 * `answers` and `done` may be NULL. On failure the first *done keys are added and answered, the others are
 * not.
 *
 * - TAMIS_E_FULL: key *done is absent, and the filter is nonscaling and full, or cannot grow any further.
 * - TAMIS_E_NOMEM: the memory of the next sub-filter was refused.
 * - TAMIS_E_DAMAGED: the filter is incomplete (tamis_redisbloom_load_chunk).
 */
TAMIS_API tamis_status tamis_redisbloom_add_many(tamis_redisbloom *filter, const tamis_key *keys,
                                                 size_t count, tamis_answer *answers, size_t *done,
                                                 tamis_error *err);
/* Looks up `count` keys. answers[i] is TAMIS_ABSENT (certainly absent) or TAMIS_PRESENT (present or a false
 * positive). TAMIS_E_DAMAGED: the filter is incomplete; `answers` is unchanged. */
TAMIS_API tamis_status tamis_redisbloom_contains_many(const tamis_redisbloom *filter, const tamis_key *keys,
                                                      size_t count, tamis_answer *answers, tamis_error *err);

/*
 * Adds all keys of `from` to `into`, if the rate of `into` then still holds. Both must have one sub-filter of
 * equal bits and hashes, and its capacity must suffice for the keys of both. A key of both counts twice.
 *
 * - TAMIS_E_MISMATCH: the sizes differ, or a filter has grown: its sub-filters are full.
 * - TAMIS_E_FULL: the capacity does not suffice.
 * - TAMIS_E_DAMAGED: a filter is incomplete.
 *
 * On failure `into` is unchanged. O(bytes).
 */
TAMIS_API tamis_status tamis_redisbloom_union(tamis_redisbloom *into, const tamis_redisbloom *from,
                                              tamis_error *err);

typedef struct tamis_redisbloom_info {
    uint32_t struct_size;
    uint32_t expansion; /* 0 if nonscaling */
    bool nonscaling;
    bool complete;       /* all bits are loaded: true for every filter that did not come from chunks */
    uint64_t keys;       /* adds that were answered TAMIS_ABSENT (BF.CARD) */
    uint64_t capacity;   /* sum over all sub-filters */
    uint64_t subfilters; /* number of sub-filters */
    uint64_t bytes;      /* bytes of all bit arrays */
    uint64_t loaded;     /* bytes of them that are loaded */
    uint64_t size;       /* size as BF.INFO and MEMORY USAGE of RedisBloom report it */
    uint64_t memory;     /* bytes allocated */
} tamis_redisbloom_info;

#define TAMIS_REDISBLOOM_INFO_INIT TAMIS__INIT(tamis_redisbloom_info, )

/* Reports the state of a filter. Start *info from TAMIS_REDISBLOOM_INFO_INIT. O(sub-filters). */
TAMIS_API tamis_status tamis_redisbloom_info_get(const tamis_redisbloom *filter, tamis_redisbloom_info *info,
                                                 tamis_error *err);

typedef struct tamis_redisbloom_subfilter {
    uint32_t struct_size;
    uint32_t hashes;     /* probes for each key */
    uint64_t bytes;      /* bytes of the bit array */
    uint64_t bits;       /* positions are below it */
    uint64_t keys;       /* keys in this sub-filter */
    uint64_t capacity;   /* keys at which it is full */
    double rate;         /* false-positive rate when it is full */
    double bits_per_key; /* bits for each key, before rounding */
    uint32_t bits_log2;  /* old releases: log2 of the modulus of positions; 0: the modulus is `bits` */
} tamis_redisbloom_subfilter;

#define TAMIS_REDISBLOOM_SUBFILTER_INIT TAMIS__INIT(tamis_redisbloom_subfilter, )

/* Reports sub-filter `index`, from 0 for the oldest. TAMIS_E_RANGE: there are not so many. */
TAMIS_API tamis_status tamis_redisbloom_subfilter_get(const tamis_redisbloom *filter, uint64_t index,
                                                      tamis_redisbloom_subfilter *subfilter,
                                                      tamis_error *err);

/*
 * The bytes of BF.SCANDUMP and BF.LOADCHUNK: a header, then chunks of bits. A chunk has an iterator, which is
 * 1 plus the number of bytes in all chunks up to its end. The header has the iterator 1.
 */

/* Returns the size of the header. */
TAMIS_API size_t tamis_redisbloom_header_size(const tamis_redisbloom *filter);
/* Writes the header, of tamis_redisbloom_header_size bytes. */
TAMIS_API void tamis_redisbloom_header_write(const tamis_redisbloom *filter, void *bytes);
/* Finds the chunk after iterator `iterator`: at most 16 MiB, all of one sub-filter, loaded bits only. Sets
 * *bytes to it, which the filter owns until it changes, and returns the iterator of the chunk. Returns 0 if
 * there is no further chunk. *size is then 0. */
TAMIS_API uint64_t tamis_redisbloom_chunk(const tamis_redisbloom *filter, uint64_t iterator,
                                          const void **bytes, size_t *size);

/*
 * Makes a filter from a header. It is incomplete until all its chunks are loaded: it can be freed, copied,
 * reported and dumped, and refuses keys and lookups. No memory for bits is allocated before bits come.
 *
 * - allocator: NULL for the default.
 * - TAMIS_E_DAMAGED: the bytes are not the header of a filter; the message names the field.
 * - TAMIS_E_UNSUPPORTED: a filter with 32-bit hashes, of very old releases, or with unknown options.
 * - TAMIS_E_NOMEM.
 */
TAMIS_API tamis_status tamis_redisbloom_load_header(tamis_redisbloom **filter, const void *bytes, size_t size,
                                                    const tamis_allocator *allocator, tamis_error *err);
/*
 * Loads a chunk, which begins where the loaded bits end. A chunk that is loaded already is accepted if its
 * bytes are equal, so that a call can be repeated. On failure the filter is unchanged.
 *
 * - TAMIS_E_RANGE: no sub-filter is there.
 * - TAMIS_E_TOO_LONG: the chunk does not end within its sub-filter.
 * - TAMIS_E_DAMAGED: bits before the chunk are missing, or the filter has other bits.
 * - TAMIS_E_NOMEM.
 */
TAMIS_API tamis_status tamis_redisbloom_load_chunk(tamis_redisbloom *filter, uint64_t iterator,
                                                   const void *bytes, size_t size, tamis_error *err);

/*
 * The fields of a filter in an RDB file or a DUMP (module type `MBbloom--`). A source reads them in order, a
 * sink writes them. `context` is passed to each function.
 */
enum { TAMIS_REDISBLOOM_RDB_VERSION = 4 }; /* encoding version that is written */

typedef struct tamis_redisbloom_source {
    uint32_t struct_size;
    void *context;
    /* Read the next field. False: no field follows, or it has another type. */
    bool (*number)(void *context, uint64_t *value);
    bool (*real)(void *context, double *value);
    /* Reads bytes into a block of the filter's allocator, which becomes the filter's. NULL: there is none. */
    void *(*bytes)(void *context, size_t *size);
} tamis_redisbloom_source;

#define TAMIS_REDISBLOOM_SOURCE_INIT TAMIS__INIT(tamis_redisbloom_source, )

typedef struct tamis_redisbloom_sink {
    uint32_t struct_size;
    void *context;
    void (*number)(void *context, uint64_t value);
    void (*real)(void *context, double value);
    void (*bytes)(void *context, const void *bytes, size_t size);
} tamis_redisbloom_sink;

#define TAMIS_REDISBLOOM_SINK_INIT TAMIS__INIT(tamis_redisbloom_sink, )

/*
 * Reads a filter of encoding version 2 to 4.
 *
 * - TAMIS_E_DAMAGED: a field is missing, or the fields are not those of a filter; the message names it.
 * - TAMIS_E_UNSUPPORTED: another version, or see tamis_redisbloom_load_header.
 * - TAMIS_E_NOMEM.
 */
TAMIS_API tamis_status tamis_redisbloom_rdb_read(tamis_redisbloom **filter, uint32_t version,
                                                 const tamis_redisbloom_source *source,
                                                 const tamis_allocator *allocator, tamis_error *err);
/* Writes a complete filter as encoding version TAMIS_REDISBLOOM_RDB_VERSION. TAMIS_E_DAMAGED: the filter is
 * incomplete; nothing was written. */
TAMIS_API tamis_status tamis_redisbloom_rdb_write(const tamis_redisbloom *filter,
                                                  const tamis_redisbloom_sink *sink, tamis_error *err);

/* Returns the chain behind a handle of TAMIS_FORMAT_REDISBLOOM (tamis_filter_open, tamis_filter_decode),
 * which owns it. NULL: the handle has another filter. */
TAMIS_API const tamis_redisbloom *tamis_redisbloom_of(const tamis_filter *filter);

#ifdef __cplusplus
}
#endif
#endif

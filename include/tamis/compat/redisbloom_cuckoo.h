/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_REDISBLOOM_CUCKOO_H
#define TAMIS_REDISBLOOM_CUCKOO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/compat/redisbloom.h>
#include <tamis/key.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The cuckoo filter of RedisBloom's CF.* commands: equal slots, answers and stored bytes. Keys can be
 * removed. It is a list of tables of fingerprints. When no table has a free slot for a key, a further table
 * is appended.
 *
 * One thread at a time. Calls with a const handle may run at the same time.
 */
typedef struct tamis_redisbloom_cuckoo tamis_redisbloom_cuckoo;

typedef struct tamis_redisbloom_cuckoo_options {
    uint32_t struct_size;
    uint32_t bucket_size;    /* slots of a bucket, 1 to 255 */
    uint32_t max_iterations; /* fingerprints that are moved for a key before the filter grows, 1 to 65535 */
    /* Buckets of a table, divided by those of the one before it. At most 32768, rounded up to a power of two.
     * 0: the filter does not grow */
    uint32_t expansion;
    uint64_t capacity; /* slots of the first table, whose buckets are rounded up to a power of two */
    const tamis_allocator *allocator; /* NULL: the default. It is asked for an alignment of at most 16. */
} tamis_redisbloom_cuckoo_options;

#define TAMIS_REDISBLOOM_CUCKOO_OPTIONS_INIT                                                                 \
    TAMIS__INIT(tamis_redisbloom_cuckoo_options,                                                             \
                TAMIS__FIELD(bucket_size, 2) TAMIS__FIELD(max_iterations, 20) TAMIS__FIELD(expansion, 1)     \
                    TAMIS__FIELD(capacity, 1024))

/*
 * Creates an empty filter. The caller owns *filter until tamis_redisbloom_cuckoo_free.
 *
 * - options: NULL for RedisBloom's defaults: 1,024 slots, 2 a bucket, 20 iterations, expansion 1.
 * - TAMIS_E_RANGE: an option is out of range, or the table would have 2^32 slots or more.
 * - TAMIS_E_NOMEM.
 */
TAMIS_API tamis_status tamis_redisbloom_cuckoo_create(tamis_redisbloom_cuckoo **filter,
                                                      const tamis_redisbloom_cuckoo_options *options,
                                                      tamis_error *err);
TAMIS_API void tamis_redisbloom_cuckoo_free(tamis_redisbloom_cuckoo *filter);
/* Makes an independent copy, which may be incomplete like its source. TAMIS_E_NOMEM. O(memory). */
TAMIS_API tamis_status tamis_redisbloom_cuckoo_copy(tamis_redisbloom_cuckoo **copy,
                                                    const tamis_redisbloom_cuckoo *filter, tamis_error *err);
/* Moves the blocks of a filter, as tamis_redisbloom_relocate. O(tables), without the time of `move`. */
TAMIS_API void tamis_redisbloom_cuckoo_relocate(tamis_redisbloom_cuckoo **filter, tamis_redisbloom_mover move,
                                                void *context);

/*
 * Adds a key, also one that is there already: each add stores a fingerprint. On failure the filter is
 * unchanged.
 *
 * - TAMIS_E_FULL: there is no slot, and the filter does not grow, or not any further.
 * - TAMIS_E_NOMEM: the memory of the next table was refused.
 * - TAMIS_E_DAMAGED: the filter is incomplete (tamis_redisbloom_cuckoo_load_chunk).
 */
TAMIS_API tamis_status tamis_redisbloom_cuckoo_add(tamis_redisbloom_cuckoo *filter, const void *key,
                                                   size_t size, tamis_error *err);
/* Adds a key if it is absent. *answer says whether it was; it may be NULL. Errors are those of
 * tamis_redisbloom_cuckoo_add. */
TAMIS_API tamis_status tamis_redisbloom_cuckoo_add_absent(tamis_redisbloom_cuckoo *filter, const void *key,
                                                          size_t size, tamis_answer *answer,
                                                          tamis_error *err);
/* Adds `count` keys in order, as tamis_redisbloom_cuckoo_add does one by one. Cache misses overlap, so it
 * is faster. On failure the first *done keys are added, the others are not. `done` may be NULL. */
TAMIS_API tamis_status tamis_redisbloom_cuckoo_add_many(tamis_redisbloom_cuckoo *filter,
                                                        const tamis_key *keys, size_t count, size_t *done,
                                                        tamis_error *err);
/* Adds those of `count` keys that are absent, in order, as tamis_redisbloom_cuckoo_add_absent does.
 * answers[i] says whether key i was absent. On failure the first *done keys are answered, and the others are
 * not added. `done` may be NULL. */
TAMIS_API tamis_status tamis_redisbloom_cuckoo_add_absent_many(tamis_redisbloom_cuckoo *filter,
                                                               const tamis_key *keys, size_t count,
                                                               tamis_answer *answers, size_t *done,
                                                               tamis_error *err);
/* Looks up `count` keys. answers[i] is TAMIS_ABSENT (certainly absent) or TAMIS_PRESENT (present or a false
 * positive). TAMIS_E_DAMAGED: the filter is incomplete; `answers` is unchanged. */
TAMIS_API tamis_status tamis_redisbloom_cuckoo_contains_many(const tamis_redisbloom_cuckoo *filter,
                                                             const tamis_key *keys, size_t count,
                                                             tamis_answer *answers, tamis_error *err);
/* Counts the fingerprints of a key: at least as often as it was added and not removed. TAMIS_E_DAMAGED: the
 * filter is incomplete. */
TAMIS_API tamis_status tamis_redisbloom_cuckoo_count(const tamis_redisbloom_cuckoo *filter, const void *key,
                                                     size_t size, uint64_t *count, tamis_error *err);
/*
 * Removes one fingerprint of a key. *answer is TAMIS_PRESENT if there was one; it may be NULL. If the removed
 * keys are more than a tenth of those left, the tables are compacted.
 *
 * Remove only keys that were added: a key that was never added may have the fingerprint of another key, which
 * is then a false negative. TAMIS_E_DAMAGED: the filter is incomplete.
 */
TAMIS_API tamis_status tamis_redisbloom_cuckoo_remove(tamis_redisbloom_cuckoo *filter, const void *key,
                                                      size_t size, tamis_answer *answer, tamis_error *err);
/* Moves fingerprints from newer into older tables and frees newest tables that become empty. TAMIS_E_DAMAGED:
 * the filter is incomplete. */
TAMIS_API tamis_status tamis_redisbloom_cuckoo_compact(tamis_redisbloom_cuckoo *filter, tamis_error *err);

typedef struct tamis_redisbloom_cuckoo_info {
    uint32_t struct_size;
    uint32_t bucket_size;
    uint32_t max_iterations;
    uint32_t expansion; /* a power of two, or 0 */
    bool complete;      /* all slots are loaded: true for every filter that did not come from chunks */
    uint64_t keys;      /* adds less removals */
    uint64_t removed;   /* removals since the tables were last compacted */
    uint64_t buckets;   /* buckets of the first table */
    uint64_t tables;    /* number of tables */
    uint64_t bytes;     /* bytes of all tables, one a slot */
    uint64_t loaded;    /* bytes of them that are loaded */
    uint64_t size;      /* size as CF.INFO and MEMORY USAGE of RedisBloom report it */
    uint64_t memory;    /* bytes allocated */
} tamis_redisbloom_cuckoo_info;

#define TAMIS_REDISBLOOM_CUCKOO_INFO_INIT TAMIS__INIT(tamis_redisbloom_cuckoo_info, )

/* Reports the state of a filter. Start *info from TAMIS_REDISBLOOM_CUCKOO_INFO_INIT. O(tables). */
TAMIS_API tamis_status tamis_redisbloom_cuckoo_info_get(const tamis_redisbloom_cuckoo *filter,
                                                        tamis_redisbloom_cuckoo_info *info, tamis_error *err);

/*
 * The bytes of CF.SCANDUMP and CF.LOADCHUNK: a header, then chunks of slots. A chunk has a position, which is
 * 1 plus the number of bytes in all chunks up to its end. The header has position 1.
 */
enum { TAMIS_REDISBLOOM_CUCKOO_HEADER = 38 }; /* bytes of the header */

/* Writes the header, of TAMIS_REDISBLOOM_CUCKOO_HEADER bytes. */
TAMIS_API void tamis_redisbloom_cuckoo_header_write(const tamis_redisbloom_cuckoo *filter, void *bytes);
/* Finds the chunk after `position`: at most 16 MiB, all of one table, loaded slots only. Sets *bytes to it,
 * which the filter owns until it changes, and returns the position of the chunk. Returns 0 if there is no
 * further chunk. *size is then 0. */
TAMIS_API uint64_t tamis_redisbloom_cuckoo_chunk(const tamis_redisbloom_cuckoo *filter, uint64_t position,
                                                 const void **bytes, size_t *size);
/*
 * Makes a filter from a header. It is incomplete until all its chunks are loaded: it can be freed, copied,
 * reported and dumped, and refuses keys and lookups. No memory for slots is allocated before slots come.
 *
 * - allocator: NULL for the default.
 * - TAMIS_E_DAMAGED: the bytes are not the header of a filter; the message names the field.
 * - TAMIS_E_UNSUPPORTED: a table has 2^32 slots or more: RedisBloom itself confuses slots there.
 * - TAMIS_E_NOMEM.
 */
TAMIS_API tamis_status tamis_redisbloom_cuckoo_load_header(tamis_redisbloom_cuckoo **filter,
                                                           const void *bytes, size_t size,
                                                           const tamis_allocator *allocator,
                                                           tamis_error *err);
/*
 * Loads a chunk, which begins where the loaded slots end. A chunk that is loaded already is accepted if its
 * bytes are equal, so that a call can be repeated. On failure the filter is unchanged.
 *
 * - TAMIS_E_RANGE: no table is there.
 * - TAMIS_E_TOO_LONG: the chunk does not end within its table.
 * - TAMIS_E_DAMAGED: slots before the chunk are missing, or the filter has other slots.
 * - TAMIS_E_NOMEM.
 */
TAMIS_API tamis_status tamis_redisbloom_cuckoo_load_chunk(tamis_redisbloom_cuckoo *filter, uint64_t position,
                                                          const void *bytes, size_t size, tamis_error *err);

/* The fields of a filter in an RDB file or a DUMP (module type MBbloomCF), as in redisbloom.h. */
enum { TAMIS_REDISBLOOM_CUCKOO_RDB_VERSION = 4 }; /* encoding version that is read and written */

/*
 * Reads a filter.
 *
 * - TAMIS_E_DAMAGED: a field is missing, or the fields are not those of a filter; the message names it.
 * - TAMIS_E_UNSUPPORTED: another version, or see tamis_redisbloom_cuckoo_load_header.
 * - TAMIS_E_NOMEM.
 */
TAMIS_API tamis_status tamis_redisbloom_cuckoo_rdb_read(tamis_redisbloom_cuckoo **filter, uint32_t version,
                                                        const tamis_redisbloom_source *source,
                                                        const tamis_allocator *allocator, tamis_error *err);
/* Writes a complete filter. TAMIS_E_DAMAGED: the filter is incomplete; nothing was written. */
TAMIS_API tamis_status tamis_redisbloom_cuckoo_rdb_write(const tamis_redisbloom_cuckoo *filter,
                                                         const tamis_redisbloom_sink *sink, tamis_error *err);

/* Returns the filter behind a handle, as tamis_redisbloom_of. */
TAMIS_API const tamis_redisbloom_cuckoo *tamis_redisbloom_cuckoo_of(const tamis_filter *filter);

#ifdef __cplusplus
}
#endif
#endif

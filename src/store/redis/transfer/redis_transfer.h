/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_TRANSFER_REDIS_TRANSFER_H
#define TAMIS_STORE_REDIS_TRANSFER_REDIS_TRANSFER_H

#include "store/redis/layout/layout_tamis.h"

/* Whole filters: functions that push, pull, union, resize and replace share. */

/* ---- chunks: see redis_chunks.c ---- */

/*
 * Moving the bits of a filter between memory and its Redis keys, in chunks of 1 MiB. Redis numbers the
 * bits of a byte from the highest, memory from the lowest. The bytes have the same order in both.
 */
enum { TAMIS__CHUNKS_PER_ROUND = 16 };

/* A chunk: `size` bytes of Redis key `key` from byte `from` on, which is byte `filter_offset` of the
 * filter. */
typedef struct tamis__chunk {
    uint32_t key;
    uint64_t from, size, filter_offset;
} tamis__chunk;

uint64_t tamis__chunk_count(const tamis_filter *there);
tamis__chunk tamis__chunk_of(const tamis_filter *there, uint64_t i);

/* Converts `size` bytes as Redis has them to words in memory. They begin at byte `filter_offset` of the
 * filter, a multiple of 8. Sets the bytes of the last word that are not given to 0. */
void tamis__chunk_to_words(uint64_t *words, uint64_t filter_offset, const uint8_t *bytes, uint64_t size);

/* An upload of bits from memory into Redis keys of zeros that no client knows yet. After SETRANGE of
 * all chunks, each chunk is checked: a failover may have lost the last ones. */
typedef struct tamis__upload {
    const tamis_filter *there; /* filter on the server, whose Redis keys have the sizes of the new ones */
    const uint64_t *words;     /* its bits in memory */
    /* Layout tamis: the partitions, or staging strings beside them. Each chunk also sets its bit behind
     * the footer: see tamis_parts.c. Other layouts: NULL. */
    const tamis__partitions *partitions;
    tamis_key staging_key; /* other layouts: the one new Redis key, in the slot of the filter's */
    void (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
} tamis__upload;

/* Uploads and checks all chunks. TAMIS_E_IO: the server does not have what was sent. */
tamis_status tamis__upload_run(const tamis__upload *upload, tamis_error *err);

/* TAMIS_E_MISMATCH: `from`, in memory, differs from `there` in kind, size, probes or scheme, so its bits
 * have other meanings. For the message, `verb` is what would be done with `from`, and `advice` is the
 * remedy. */
tamis_status tamis__check_compatible(const tamis_filter *there, const tamis_filter *from, const char *verb,
                                     const char *advice, tamis_error *err);

/* ---- union and replacement ---- */

/* Adds all bits of `from`, a filter in memory, to partitions of `there`. */
tamis_status tamis__upload_union(const tamis_filter *there, const tamis__partitions *partitions,
                                 const tamis_filter *from, tamis_error *err);
/* Pushes a filter of a layout that keeps its bits in one Redis key. `made` is a handle from
 * tamis__redis_name. */
tamis_status tamis__redis_replace(tamis_filter *made, const tamis_filter *filter,
                                  const tamis_redis_push_options *options, tamis_error *err);

/* ---- a push to layout tamis: see redis_push.c ---- */

typedef struct tamis__push {
    const tamis_filter *filter;    /* filter in memory to upload; NULL: make an empty one */
    tamis_filter *there;           /* handle of the filter on the server, with the plan of the new one */
    const tamis__redis_filter *rf; /* body of `there` */
    /* The new generation; while they are filled, their `mark_numbers` are those below. */
    tamis__partitions partitions;
    uint64_t ttl_ms;              /* time to live of the new filter; 0: none */
    tamis__config config;         /* hash before the push */
    char copy[TAMIS__REDIS_PLAN]; /* the plan's copy if the hash was deleted; else empty */
    char plan[TAMIS__REDIS_PLAN]; /* plan of the new filter */
    char hash[TAMIS__REDIS_KEY];  /* Redis key of the hash */
    size_t hash_size;
    const tamis_redis_push_options *options;
    uint32_t *mark_numbers;       /* numbers in the marks of `partitions` */
    bool is_resize;               /* the switch requires p->plan in field next */
    char sending[TAMIS__SENDING]; /* number of the command that set field next; empty: no resize has begun */
    tamis__outcome switched;      /* outcome of the switch */
    bool is_sealed;               /* the partitions no longer expire by themselves */
} tamis__push;

/* Before the lock: */

/* TAMIS_E_UNSUPPORTED: layout tamis has no filters of this kind or scheme. */
tamis_status tamis__push_check(const tamis_filter *filter, tamis_error *err);
/* Plans p->there from p->filter, the URI and the filter that it replaces. Writes nothing to the server. */
tamis_status tamis__push_plan(tamis__push *p, tamis_error *err);

/* With the lock: */

/* Takes the lock, and reads the hash and, if that has no plan, the copy. After a failure the lock is
 * released. */
tamis_status tamis__push_begin(tamis__push *p, tamis_error *err);
/* Releases the lock when no command on its way needs it. Returns `status`. */
tamis_status tamis__push_withdraw(const tamis__push *p, tamis_status status);
/* Announces p->plan, and removes leftovers of other writers. */
tamis_status tamis__push_announce(tamis__push *p, tamis_error *err);
/* Makes the partitions. A family has none: its members are created by their first adds. */
tamis_status tamis__push_make(tamis__push *p, tamis_error *err);
/* Sets p->ttl_ms to the time that the old filter has left, unless the URI gives one. */
tamis_status tamis__push_keep_expiry(tamis__push *p, tamis_error *err);
/* Seals the partitions, and reads their footers. */
tamis_status tamis__push_seal(tamis__push *p, tamis_error *err);
/* Switches to p->plan, and reads the plan back. */
tamis_status tamis__push_switch(tamis__push *p, tamis_error *err);
/* Retires the partitions of the old plan: they get a short expiry. */
tamis_status tamis__push_retire(const tamis__push *p, tamis_error *err);
/* Releases the lock. After a failure, finds out whether the switch took place, and removes the unused
 * partitions. */
tamis_status tamis__push_conclude(tamis__push *p, tamis_status status, tamis_error *err);
/* Removes the partitions of p->plan and their announcement. No step of this push may still be under way. */
tamis_status tamis__push_remove(const tamis__push *p, tamis_error *err);
/* Releases p->mark_numbers. */
void tamis__push_release(tamis__push *p);

/* For further steps: */

tamis_key tamis__push_hash(const tamis__push *p);
/* Begins a step with two conditions: the lock is held, and the plan is the one read when the lock was taken.
 * The names are buffers. */
void tamis__push_step(const tamis__push *p, tamis__step *step, char lock[TAMIS__REDIS_KEY],
                      char hash[TAMIS__REDIS_KEY]);

#endif

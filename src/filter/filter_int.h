/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_FILTER_INT_H
#define TAMIS_FILTER_FILTER_INT_H

/*
 * Inside a filter. The handle tamis_filter has what all kinds share: plan, hasher, counts, metadata. The kind
 * has the rest, as filter->body behind a table of operations (tamis__filter_ops).
 *
 *     tamis_filter --> ops      --> init, add, contains, estimate, ...  (one table for each kind)
 *                      kernels  --> inner loops for the CPU's instruction set
 *                      body     --> the kind's own structure and its bits
 *                      hasher, plan, counts, metadata
 *
 * A filter's bits are in one of three places:
 * - In memory of its own: it can be changed.
 * - In a file image (`verifier` is set): read-only, and each block is verified when it is first used.
 * - Elsewhere (`external` is set): on a server, or in memory in the form of another program (compat/). ops is
 *   NULL, and `external` gets whole batches.
 *
 * Threads. A plain filter is for one thread at a time. A concurrent filter (`concurrent`) has locks of its
 * own. A filter that follows its file (`opened`) may be swapped for a newer one between batches.
 *
 * Invariants:
 * 1. Exactly one of ops and external is set.
 * 2. Hashes passed to ops come from this filter's hasher; filter_batch.c checks that.
 * 3. Nothing is added to a filter in an image, nor to one that is `read_only`.
 */
#include <pthread.h>
#include <sys/types.h>
#include <time.h>

#include <tamis/file.h>
#include <tamis/filter.h>

#include "base/memory.h"
#include "filter/kernels/filter_kernels.h"
#include "hash/hasher.h"

/* Memory statistics, counted alike for every kind. */
typedef struct tamis__tally {
    uint64_t memory;      /* bytes in use now */
    uint64_t memory_peak; /* largest value of `memory` so far */
} tamis__tally;

/* A contiguous range of a filter's body. Bloom filters have one extent. A table has one for
 * each partition, a window or a cuckoo filter one for each of its tables. */
typedef struct tamis__body_extent {
    const uint8_t *bytes;
    uint64_t size;
    uint64_t entries; /* number of entries in it; 0 in Bloom filters */
    double covered;   /* share of the partition's hashes that the table's entries cover */
    bool split;       /* true for one of the 16 partitions that replaced one */
    uint64_t buckets; /* cuckoo filters that grow: buckets of the table; else 0 */
} tamis__body_extent;

/* A filter in the form of its file. The body stays where it is and is only read. */
typedef struct tamis__image {
    const char *name; /* file name, for messages */
    tamis_plan plan;
    const uint8_t *body;
    uint64_t body_size;
    bool mapped;              /* see tamis__verified_body */
    const uint8_t *checksums; /* checksums of the body's blocks */
    uint64_t body_at;         /* offset of the body in the file */
    uint64_t zeros_at;        /* file offset of the zeros that precede the body in memory */
    uint64_t added;
    double false_present;
    double covered; /* share of all hashes that a table's entries cover */
    uint64_t union_added;
    double union_false_present;
    bool saturated, allow_over_capacity, frozen;
    const tamis__body_extent *extents; /* partitions of a table, without `bytes` */
    size_t extent_count;
    /* Steps of a window (filter/window/window.h); NULL: another kind. */
    const struct tamis__window_image *window;
} tamis__image;

/* The mapped file of a filter in an image, if the filter owns the mapping. */
typedef struct tamis__backing {
    /* Called after ops->release. NULL: the filter does not own the bytes. */
    void (*release)(const struct tamis__backing *backing);
    /* False if the file changed since it was mapped: somebody wrote to it in place. Set if release is. */
    bool (*is_same)(const struct tamis__backing *backing);
    void *bytes;
    size_t size;
    int fd;                   /* descriptor of the mapped file */
    struct timespec modified; /* modification time when it was mapped */
} tamis__backing;

/*
 * Locks of a filter that can be replaced by a newer version of its file (tamis__filter_swap). This structure
 * stays when everything else is swapped. A swap takes both locks exclusively, `slow_lock` first.
 *
 * - batch_lock: shared by each batch of lookups, so that one version answers the whole batch. Writers have
 *   priority, or a swap could wait for ever.
 * - slow_lock: shared by slow operations (verify, copy, encode), so that lookups never wait for them. Readers
 *   have priority, and a thread may share it twice.
 *
 * Filters in memory have none of this and pay nothing.
 */
typedef struct tamis__opened {
    pthread_rwlock_t batch_lock;
    pthread_rwlock_t slow_lock;
    void (*release)(struct tamis__opened *opened); /* called by tamis_filter_free, last */
} tamis__opened;

/* The source file of a filter and its state when it was read (store/file/source_file.h). One block of the
 * filter's allocator. */
typedef struct tamis__source_file {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified;
    size_t block_size;
    char path[]; /* path that the caller opened */
} tamis__source_file;

/* The metadata of a filter (tamis_metadata): labels, version, time. */
typedef struct tamis__metadata {
    tamis_metadata fields; /* the metadata; its pointers are NULL or point into the block */
    void *block;           /* one block for labels, strings and data */
    size_t block_size;
} tamis__metadata;

/* A batch of keys, or of hashes made by this filter's hasher, and where the answers go. If `hashes` is NULL,
 * the keys are used. */
typedef struct tamis__key_batch {
    const tamis_key *keys;
    const tamis_hash *hashes;
    size_t count;
    tamis_answer *answers; /* one for each key; NULL: the caller of an add wants none */
} tamis__key_batch;

/* Returns `count` keys of the batch from key `from` on. */
static inline tamis__key_batch tamis__key_batch_slice(const tamis__key_batch *batch, size_t from,
                                                      size_t count) {
    return (tamis__key_batch){.keys = batch->keys ? batch->keys + from : NULL,
                              .hashes = batch->hashes ? batch->hashes + from : NULL,
                              .count = count,
                              .answers = batch->answers ? batch->answers + from : NULL};
}

/* Operations of a kind whose body can be divided into parts, each for one thread (filter/parts.h). A part
 * has the hashes with word[1] from its `from` up to, but not including, that of the next part. */
typedef struct tamis__parts_ops {
    /* Number of parts to use: a power of two, at most `max_parts`, which is a power of two itself. */
    uint32_t (*max_parts)(const tamis_filter *filter, uint32_t max_parts);
    /* True if any `count` keys stay within the limits that all parts share. */
    bool (*fit)(const tamis_filter *filter, size_t count);
    uint64_t (*from)(const tamis_filter *filter, uint32_t part, uint32_t parts);
    /* Adds hashes of one part, for which fit() was true. As add() of the filter, but leaves filter->added
     * alone. */
    tamis_status (*add)(tamis_filter *filter, const tamis__key_batch *batch, size_t *done, tamis_error *err);
    /* Adds `absent` new keys to the filter's counts. Called when all parts have returned. */
    void (*added)(tamis_filter *filter, uint64_t absent);
} tamis__parts_ops;

/* How far a part of a body is copied. */
typedef struct tamis__copied_part {
    uint32_t part, parts; /* part number `part` of `parts` */
    uint64_t pos;         /* begins at 0; TAMIS__COPIED: the part is copied */
} tamis__copied_part;

/* Copies the body of a concurrent filter to one just created from its plan, while other threads add. The
 * copy has every key whose add had returned before the copy began. It may have any of the keys added
 * meanwhile. */
typedef struct tamis__piece_ops {
    /* Gets the memory of the new body from the system. Nothing is locked: later, the first write to a page
     * of 2 MiB would make threads that add wait for 4 ms. NULL: no preparation needed. */
    void (*populate)(tamis_filter *to);
    /* Called with the whole filter locked. NULL: no preparation needed. `end` is called after a failure
     * too, but not if the filter's body was replaced (`remade` changed) after `begin`. */
    void (*begin)(tamis_filter *to, const tamis_filter *from);
    void (*end)(tamis_filter *to, const tamis_filter *from);
    /* Copies about TAMIS__PIECE bytes of a locked part, from copied->pos on. */
    tamis_status (*copy)(tamis_filter *to, const tamis_filter *from, tamis__copied_part *copied,
                         tamis_error *err);
} tamis__piece_ops;

#define TAMIS__PIECE  (UINT64_C(1) << 17)
#define TAMIS__COPIED UINT64_MAX

/* The operations of a kind. A batch has hashes made by this filter's hasher; filter_batch.c has checked that.
 * If the scheme has no digest, it has keys: only kind classic accepts such a scheme. */
struct tamis__filter_ops {
    /* Makes filter->body from filter->plan. After a failure release() releases what exists of the body.
     * Fingerprint tables leave nothing. */
    tamis_status (*init)(tamis_filter *filter, tamis_error *err);
    /* Releases filter->body. Also called after a init() that failed or never ran. */
    void (*release)(tamis_filter *filter);
    /* Adds in order. batch->answers is never NULL. On failure the first *done keys are added and
     * answered. */
    tamis_status (*add)(tamis_filter *filter, const tamis__key_batch *batch, size_t *done, tamis_error *err);
    void (*contains)(const tamis_filter *filter, const tamis__key_batch *batch);
    /* Removes in order. answers is never NULL. Call it only if tamis__filter_can_remove. NULL: the kind
     * cannot remove keys. */
    void (*remove)(tamis_filter *filter, const tamis_hash *hashes, size_t count, tamis_answer *answers);
    /* Number of copies of a key. NULL: the kind stores a key once; others count every add. */
    uint32_t (*copies)(const tamis_filter *filter, const tamis_hash *hash);
    /* Sets cardinality, fpr_live, false_present, ones, counters_saturated and subfilters. filter.c sets the
     * rest. */
    void (*estimate)(const tamis_filter *filter, tamis_filter_info *info);
    void (*clear)(tamis_filter *filter);
    /* Copies the body to a filter just created from the same plan. The caller frees it on failure. */
    tamis_status (*copy)(tamis_filter *to, const tamis_filter *from, tamis_error *err);
    /* The i-th extent of the body; false if there are fewer. */
    bool (*body_extent)(const tamis_filter *filter, size_t i, tamis__body_extent *extent);
    /* Makes filter->body from an image, whose plan is filter->plan. Checks the kind's parameters against
     * each other and against body_size: TAMIS_E_DAMAGED. The caller calls release() on failure. */
    tamis_status (*restore)(tamis_filter *filter, const tamis__image *image, tamis_error *err);
    /* Verifies the blocks that a lookup of this batch reads. */
    tamis_status (*touch)(const tamis_filter *filter, const tamis__key_batch *batch, tamis_error *err);
    /* Merges `from` into `into`. compare.c has checked that the hashers are equal and, for classic,
     * blocked and counting, the plans. These kinds never fail. NULL: the kind has no unions. */
    tamis_status (*union_into)(tamis_filter *into, const tamis_filter *from, tamis_error *err);
    const tamis__parts_ops *parts;  /* NULL: the body cannot be divided */
    const tamis__piece_ops *pieces; /* copies of concurrent filters */
    /* How many threads use the filter at once (filter/concurrent.h). NULL: by the parts above; if these are
     * NULL too, the kind cannot be concurrent. */
    const struct tamis__concurrent_ops *concurrent;
};

/* Operations of an external filter: its bits are on a server, or in memory in the form of another program.
 * Each call gets a whole batch and may fail. Such a filter can do nothing else. */
typedef struct tamis__external_ops {
    /* On failure the first *done keys are added and answered. */
    tamis_status (*add)(tamis_filter *filter, const tamis__key_batch *batch, size_t *done, tamis_error *err);
    tamis_status (*contains)(const tamis_filter *filter, const tamis__key_batch *batch, size_t *done,
                             tamis_error *err);
    /* Sets cardinality, fpr_live, ones and memory. */
    tamis_status (*estimate)(const tamis_filter *filter, tamis_filter_info *info, tamis_error *err);
    tamis_status (*clear)(tamis_filter *filter, tamis_error *err);
    /* Removes keys in order; answers may be NULL. NULL: the filter cannot be changed here, or only by adds. */
    tamis_status (*remove)(tamis_filter *filter, const tamis__key_batch *batch, size_t *done,
                           tamis_error *err);
    /* Counts the copies of a key. Set if `remove` is. */
    tamis_status (*copies)(const tamis_filter *filter, const tamis_key *key, uint64_t *copies,
                           tamis_error *err);
    /* Releases filter->body, if it is set. */
    void (*release)(tamis_filter *filter);
    /* Words for messages, "a filter of RedisBloom"; NULL: the filter is on a server. */
    const char *foreign;
} tamis__external_ops;

struct tamis_filter {
    const struct tamis__filter_ops *ops; /* NULL if external is set */
    const tamis__external_ops *external; /* NULL if ops is set */
    const struct tamis__filter_kernels *kernels;
    tamis_allocator allocator;
    tamis_plan plan;
    tamis_hasher *hasher;
    uint64_t remade; /* number of times that the body was replaced by one of another plan */
    uint64_t added;  /* keys answered absent when they were added, less removed ones; copies in kind cuckoo */
    uint64_t absent_in_parts; /* keys answered absent by parts of a batch that has not ended */
    uint64_t size_hint;       /* expected total of keys; 0: none */
    bool ignore_memory_limit; /* replay: keys added now were accepted before */
    bool saturated;
    tamis_full full;           /* why the last new key was refused */
    bool allow_over_capacity;  /* from tamis_filter_options; kept in the file */
    bool handle_over_capacity; /* the same from tamis_open_options, for this handle and its copies */
    bool frozen;               /* from tamis_filter_options; kept in the file */
    bool add_only;  /* the filter belongs to a state, whose log has added keys only; copies do not */
    bool read_only; /* the filter is a copy of a key of the Redis module; its own copies are not */
    tamis__tally tally;
    struct tamis__block_verifier *verifier; /* verifier of an image; NULL: the filter's own memory */
    tamis__metadata metadata;
    void *body;  /* the kind's structure */
    void *block; /* image that the filter owns and may change; see tamis__filter_own */
    size_t block_size;
    tamis__backing backing;
    tamis__source_file *source_file;      /* source file; NULL: not read from a file */
    struct tamis__concurrent *concurrent; /* NULL: not concurrent */
    tamis__opened *opened;                /* locks for swapping all members above; NULL: never swapped */
    uint32_t inside; /* threads using the filter, in builds with assertions; see tamis__filter_claim */
};

/* Makes a filter over an image, which must outlive the filter. The hasher becomes the filter's, also on
 * failure. TAMIS_E_DAMAGED, TAMIS_E_UNSUPPORTED, TAMIS_E_NOMEM. */
tamis_status tamis__filter_restore(tamis_filter **filter, const tamis__image *image, tamis_hasher *hasher,
                                   const tamis_allocator *allocator, tamis_error *err);

/* Verifies the whole image and makes it the filter's own memory, so that the filter can be changed there.
 * The image is in `block`, allocated by the filter's allocator and freed with the filter. Bloom filters
 * only. On failure nothing has changed. */
tamis_status tamis__filter_own(tamis_filter *filter, void *block, size_t size, tamis_error *err);

/* Makes an external filter without body, plan and hasher. The caller sets these; tamis_filter_free releases
 * whatever is set. */
TAMIS_PRIVATE_API tamis_status tamis__filter_create_external(tamis_filter **filter,
                                                             const tamis__external_ops *external,
                                                             const tamis_allocator *allocator,
                                                             tamis_error *err);

/* Hashes the keys of a batch into `created`, if it has keys and the scheme has a digest. batch->hashes is
 * `created` then. */
tamis_status tamis__key_batch_hash(const tamis_filter *filter, tamis__key_batch *batch, tamis_hash *created,
                                   tamis_error *err);

/* TAMIS_E_UNSUPPORTED if the filter is external (tamis__external_ops). `what` names the operation in the
 * message. */
TAMIS_PRIVATE_API tamis_status tamis__filter_check_local(const tamis_filter *filter, const char *what,
                                                         tamis_error *err);

/* True for a filter of another program, see tamis__external_ops. */
static inline bool tamis__filter_is_foreign(const tamis_filter *filter) {
    return filter->external && filter->external->foreign;
}

/* True for such a filter that was made here, and can be changed. */
static inline bool tamis__filter_is_foreign_made(const tamis_filter *filter) {
    return tamis__filter_is_foreign(filter) && filter->external->remove;
}

/* True if the filter is only read: it is in an image, or a copy of a key. */
static inline bool tamis__filter_is_read_only(const tamis_filter *filter) {
    return filter->verifier || filter->opened || filter->read_only;
}

/* TAMIS_E_UNSUPPORTED if the filter is only read. `what` names the operation in the message. */
tamis_status tamis__filter_check_writable(const tamis_filter *filter, const char *what, tamis_error *err);

/* TAMIS_E_UNSUPPORTED if the filter belongs to a state: its log can express added keys and no other change.
 * `what` names the operation in the message. */
tamis_status tamis__filter_check_not_add_only(const tamis_filter *filter, const char *what, tamis_error *err);

/* Claims the filter for the duration of a call, in builds with assertions, to detect misuse by threads.
 * `alone`: the call needs the filter exclusively. TAMIS_E_INVALID: another thread uses the filter; do not
 * unclaim it then. Claims do not nest. Builds without assertions do not check, and two threads may then
 * lose keys. */
#ifdef NDEBUG
static inline tamis_status tamis__filter_claim(const tamis_filter *filter, bool alone, tamis_error *err) {
    (void)filter;
    (void)alone;
    (void)err;
    return TAMIS_OK;
}

static inline void tamis__filter_unclaim(const tamis_filter *filter, bool alone) {
    (void)filter;
    (void)alone;
}
#else
tamis_status tamis__filter_claim(const tamis_filter *filter, bool alone, tamis_error *err);
void tamis__filter_unclaim(const tamis_filter *filter, bool alone);
#endif

/* Begins and ends a batch of lookups: shares and releases batch_lock. They do not nest. If both locks are
 * needed, call tamis__filter_lock_content first. */
static inline void tamis__filter_enter(const tamis_filter *filter) {
    if (filter->opened)
        pthread_rwlock_rdlock(&filter->opened->batch_lock);
}

static inline void tamis__filter_leave(const tamis_filter *filter) {
    if (filter->opened)
        pthread_rwlock_unlock(&filter->opened->batch_lock);
}

/* Makes an ordinary copy of a concurrent filter. Other threads wait about a millisecond at a time. Call it
 * between tamis__concurrent_lock_whole and tamis__concurrent_unlock_whole. */
tamis_status tamis__filter_copy_snapshot(tamis_filter **copied, const tamis_filter *filter, tamis_error *err);

/* Locks a concurrent filter against copies, clear and unions by other threads. Batches of keys continue. */
void tamis__concurrent_lock_whole(const tamis_filter *filter);
void tamis__concurrent_unlock_whole(const tamis_filter *filter);

/* Pauses the batches of a concurrent filter: waits until the running ones end, and lets new ones wait until
 * tamis__concurrent_resume_batches. They do not nest. */
TAMIS_PRIVATE_API void tamis__concurrent_pause_batches(const tamis_filter *filter);
TAMIS_PRIVATE_API void tamis__concurrent_resume_batches(const tamis_filter *filter);

/* Locks the content of a filter for a use other than a batch. It shares slow_lock, so that no newer
 * version of the file is swapped in, and pauses the batches of a concurrent filter. */
static inline void tamis__filter_lock_content(const tamis_filter *filter) {
    if (filter->opened)
        pthread_rwlock_rdlock(&filter->opened->slow_lock);
    if (filter->concurrent)
        tamis__concurrent_pause_batches(filter);
}

static inline void tamis__filter_unlock_content(const tamis_filter *filter) {
    if (filter->concurrent)
        tamis__concurrent_resume_batches(filter);
    if (filter->opened)
        pthread_rwlock_unlock(&filter->opened->slow_lock);
}

/* Swaps all members before `opened`, while no other thread uses `filter`. */
void tamis__filter_swap(tamis_filter *filter, tamis_filter *with);

extern const struct tamis__filter_ops tamis__classic_ops;
extern const struct tamis__filter_ops tamis__blocked_ops;
extern const struct tamis__filter_ops tamis__counting_ops;
extern const struct tamis__filter_ops tamis__fingerprint_ops; /* exact too */
extern const struct tamis__filter_ops tamis__window_ops;
extern const struct tamis__filter_ops tamis__cuckoo_ops;

/* The bits of a Bloom filter: bit i is bit i & 63 of word i >> 6. */
TAMIS_PRIVATE_API const uint64_t *tamis__bloom_words(const tamis_filter *filter, size_t *count);
/* The same words, writable, of a filter just made: for callers that have its bits from elsewhere. Bits
 * past the last stay zero. Then call tamis__bloom_filled with the number of keys answered absent.
 * TAMIS__ADDED_BY_BITS estimates that number from the bits. */
TAMIS_PRIVATE_API uint64_t *tamis__bloom_words_mut(tamis_filter *filter, size_t *count);
#define TAMIS__ADDED_BY_BITS UINT64_MAX
TAMIS_PRIVATE_API void tamis__bloom_filled(tamis_filter *filter, uint64_t added);
/* As tamis__bloom_filled, with an estimate from the bits. The filter is saturated only if the bits leave
 * no doubt. */
TAMIS_PRIVATE_API void tamis__bloom_filled_estimate(tamis_filter *filter);

/*
 * Floating-point sums of a table, which depend on the order of addition. A file has their total only. To
 * continue exactly as if the filter had never been saved, copy the sums too.
 *
 * tamis__filter_false_present_get returns their number, and stores them in `values` unless that is NULL.
 * tamis__filter_false_present_set returns false, and changes nothing, if the number differs or a value is
 * negative or NaN.
 */
size_t tamis__filter_false_present_get(const tamis_filter *filter, double *values);
bool tamis__filter_false_present_set(tamis_filter *filter, const double *values, size_t count);

/* True if keys can be removed. Kinds fingerprint and exact share their operations, but an entry of kind
 * fingerprint may stand for several keys. */
static inline bool tamis__filter_can_remove(const tamis_filter *filter) {
    return (filter->ops && filter->ops->remove && filter->plan.kind != TAMIS_KIND_FINGERPRINT) ||
           tamis__filter_is_foreign_made(filter);
}

/* True if each add of a key counts. */
static inline bool tamis__filter_can_count(const tamis_filter *filter) {
    return (filter->ops && filter->ops->copies) || tamis__filter_is_foreign_made(filter);
}

/* Numbers of copies of a key that are kept for ever. */
enum { TAMIS__COUNTING_MAX = 15, TAMIS__CUCKOO_COPIES_MAX = 4 };

/* Removes a key from a filter of kind exact. False if the filter does not have it. The rest of the filter is
 * that of a filter which never had it, but for the order of its entries. Usually O(1); a chain of spilled
 * entries takes a search of up to 64 KiB for each. */
TAMIS_PRIVATE_API bool tamis__fingerprint_remove(tamis_filter *filter, const tamis_hash *hash);

/* True if the lines of a block are consistent with the table `context`: see tamis__verified_body. */
bool tamis__fingerprint_valid(const void *context, const uint8_t *bytes, uint64_t size);
/* The same for Bloom filters: bits past m are zero. */
bool tamis__bloom_valid(const void *context, const uint8_t *bytes, uint64_t size);

/* The same for cuckoo filters: what follows the slots is zero. */
bool tamis__cuckoo_valid(const void *context, const uint8_t *bytes, uint64_t size);

/* Expected number of new keys that a Bloom filter answered present. O(1): no bits are read. */
double tamis__bloom_false_present(const tamis_filter *filter);

/* Sets *added to filter->added after the last union of a Bloom filter. Returns the value of
 * tamis__bloom_false_present then. */
double tamis__bloom_union_counts(const tamis_filter *filter, uint64_t *added);

/* Allocates zeroed memory that counts as the filter's, aligned to 64 bytes. The plan counts all such
 * memory: everything but handles of at most 3 KiB. NULL: out of memory. Callable from any part. */
void *tamis__filter_alloc(tamis_filter *filter, size_t size);
void tamis__filter_release(tamis_filter *filter, void *block, size_t size);
/* Count memory that was allocated or released in another way. Callable from any part. */
void tamis__filter_count_alloc(tamis_filter *filter, size_t size);
void tamis__filter_count_release(tamis_filter *filter, size_t size);

/* Marks the filter saturated and full. Returns TAMIS_E_FULL with a message that says what to do. Callable
 * from any part. */
tamis_status tamis__filter_full(tamis_filter *filter, tamis_full why, tamis_error *err);
/* Makes the same message again, for the present number of keys. */
tamis_status tamis__filter_fail_full(const tamis_filter *filter, tamis_error *err);

/* ---- metadata.c ---- */

/* Copies the metadata of a filter. */
tamis_status tamis__metadata_copy(tamis_filter *to, const tamis_filter *from, tamis_error *err);
/* Removes and frees the metadata. */
void tamis__metadata_clear(tamis_filter *filter);

/* True if two key types of tamis_metadata are compatible: one rule then makes the keys of both filters.
 * *joined is that rule. */
bool tamis__key_types_join(uint32_t a, uint32_t b, uint32_t *joined);

#endif

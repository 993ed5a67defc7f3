/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_FILTER_INT_H
#define TAMIS_FILTER_FILTER_INT_H

#include <pthread.h>
#include <sys/types.h>
#include <time.h>

#include <tamis/file.h>
#include <tamis/filter.h>

#include "base/memory.h"
#include "filter/kernels/filter_kernels.h"
#include "hash/hasher.h"

/* What the layers of a kind count for it, so that every kind tells the same figures. */
typedef struct tamis__tally {
    uint64_t memory;      /* bytes held now */
    uint64_t memory_peak; /* the most held at any moment */
} tamis__tally;

/* A stretch of a filter's body, in order: all of the bits of classic and blocked, a partition of a table. */
typedef struct tamis__part {
    const uint8_t *bytes;
    uint64_t size;
    uint64_t entries; /* tables alone, as the next */
    double covered;
    bool split; /* one of the next sixteen, that one partition was split in */
} tamis__part;

/* A filter as its file has it. The body stays where it is and is only read. */
typedef struct tamis__image {
    const char *name; /* for sentences */
    tamis_plan plan;
    const uint8_t *body;
    uint64_t body_size;
    bool mapped;         /* see guard.h, as the sums */
    const uint8_t *sums; /* of its blocks */
    uint64_t body_at;    /* where the body is in its file */
    uint64_t zeros_at;   /* offset of the zeros before the body; they are in memory in front of `body` */
    uint64_t added;
    double false_fresh;
    double covered; /* tables: share of all hashes that entries cover */
    uint64_t united_added;
    double united_false;
    bool saturated, overfill, frozen;
    const tamis__part *parts; /* tables: `bytes` is not used */
    size_t part_count;
} tamis__image;

/* The bytes that a filter's image stands in, where they are to go with the filter. */
typedef struct tamis__backing {
    void (*release)(
        const struct tamis__backing *backing); /* after ops->destroy; NULL: they are not the filter's */
    /* Whether they are what they were: a file may be written in place under its mapping. Where release is set. */
    bool (*is_same)(const struct tamis__backing *backing);
    void *bytes;
    size_t size;
    int fd;                   /* of the file mapped, */
    struct timespec modified; /* and when it was written */
} tamis__backing;

/*
 * What a filter that may be taken anew from its file has beside. It stays when all the rest is swapped, for which both
 * locks are held alone, `kept` first. A batch of questions shares `turn`, so that one file answers it; a swap that waits
 * for the turn comes before questions that do, or it might wait for ever. What takes long (verify, copy, encode) shares
 * `kept` instead, so that questions never wait for it; there readers come first, and may share it twice.
 * Filters in memory have none of it and pay nothing.
 */
typedef struct tamis__opened {
    pthread_rwlock_t turn;
    pthread_rwlock_t kept;
    void (*release)(struct tamis__opened *opened); /* by tamis_filter_free, last */
} tamis__opened;

/* The file that a filter was read from, as it was then (store/origin.h). One block, of the filter's allocator. */
typedef struct tamis__origin {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified;
    size_t block_size;
    char path[]; /* that it was opened by */
} tamis__origin;

/* What a filter says of itself, beside the plan and its counts (tamis_about). */
typedef struct tamis__about {
    tamis_about told; /* pointers into the block, or NULL */
    void *block;      /* labels, strings and data in one */
    size_t block_size;
} tamis__about;

/* Of a kind that can be added to in parts: filter/parts.h. A part's hashes are those whose word[1] is not below its `from`,
 * and below that of the next part. */
typedef struct tamis__parts_ops {
    /* How many there may be, a power of two up to `most`, which is one. */
    uint32_t (*most)(const tamis_filter *filter, uint32_t most);
    /* Whether any `count` keys find room, as far as what all parts have in common can tell. */
    bool (*fit)(const tamis_filter *filter, size_t count);
    uint64_t (*from)(const tamis_filter *filter, uint32_t part, uint32_t parts);
    /* As add() of the filter, of hashes of one part that fit(); filter->added is left alone. */
    tamis_status (*add)(tamis_filter *filter, const tamis_hash *hashes, size_t count, tamis_answer *answers,
                        size_t *done, tamis_error *err);
    /* When all parts have returned: takes note of the keys that were fresh. */
    void (*added)(tamis_filter *filter, uint64_t fresh);
} tamis__parts_ops;

/*
 * Copies the body of a concurrent filter to one just created from its plan, while other threads add. The copy has each key
 * whose add returned before, and may have any of the keys added meanwhile.
 */
typedef struct tamis__piece_ops {
    /* Gets the memory of the new body from the system. Nothing is locked: later, the first write to a page of 2 MiB would make
     * threads that add wait for 4 ms. NULL: no preparation needed. */
    void (*populate)(tamis_filter *to);
    /* The whole filter is locked during both. `end` is called after a failure too, but not if the filter's body was replaced
     * (remade) after `begin`. NULL: no preparation needed. */
    void (*begin)(tamis_filter *to, const tamis_filter *from);
    void (*end)(tamis_filter *to, const tamis_filter *from);
    /* Copies about TAMIS__PIECE bytes of a locked part, from *at on. *at starts at 0 and is TAMIS__COPIED at the end. */
    tamis_status (*copy)(tamis_filter *to, const tamis_filter *from, uint32_t part, uint32_t parts,
                         uint64_t *at, tamis_error *err);
} tamis__piece_ops;

#define TAMIS__PIECE  (UINT64_C(1) << 17)
#define TAMIS__COPIED UINT64_MAX

/* The operations of a kind. `hashes` are of this filter's hasher: filter_ask.c has checked. */
struct tamis__filter_ops {
    /* Makes filter->body from filter->plan; nothing is left behind on failure. */
    tamis_status (*create)(tamis_filter *filter, tamis_error *err);
    /* Gives back what create took; also after a create that failed or never ran. */
    void (*destroy)(tamis_filter *filter);
    /* answers is never NULL. On failure *done keys are in. */
    tamis_status (*add)(tamis_filter *filter, const tamis_hash *hashes, size_t count, tamis_answer *answers,
                        size_t *done, tamis_error *err);
    void (*contains)(const tamis_filter *filter, const tamis_hash *hashes, size_t count,
                     tamis_answer *answers);
    /* Adding and asking from the keys themselves, for schemes without a digest; NULL where the kind needs one. */
    tamis_status (*add_keys)(tamis_filter *filter, const tamis_key *keys, size_t count, tamis_answer *answers,
                             size_t *done, tamis_error *err);
    void (*contains_keys)(const tamis_filter *filter, const tamis_key *keys, size_t count,
                          tamis_answer *answers);
    /* Fills cardinality, fpr_live, false_fresh and ones; filter.c fills the rest. */
    void (*estimate)(const tamis_filter *filter, tamis_filter_info *info);
    void (*clear)(tamis_filter *filter);
    /* Into one just created from the same plan: it is destroyed on failure. */
    tamis_status (*copy)(tamis_filter *to, const tamis_filter *from, tamis_error *err);
    /* The i-th stretch of the body; false past the last. */
    bool (*part)(const tamis_filter *filter, size_t i, tamis__part *part);
    /* Makes filter->body from an image whose plan filter->plan is, checking what the kind's parameters have to do with
     * each other and with body_size: TAMIS_E_DAMAGED. destroy() is called on failure too. */
    tamis_status (*restore)(tamis_filter *filter, const tamis__image *image, tamis_error *err);
    /* Verifies the blocks that asking these hashes reads. */
    tamis_status (*touch)(const tamis_filter *filter, const tamis_hash *hashes, size_t count,
                          tamis_error *err);
    tamis_status (*touch_keys)(const tamis_filter *filter, const tamis_key *keys, size_t count,
                               tamis_error *err);
    /* compare.c has checked that both are of one hasher; classic and blocked: and of one plan, and never fail. */
    tamis_status (*unite)(tamis_filter *into, const tamis_filter *from, tamis_error *err);
    const tamis__parts_ops *parts;  /* NULL: one part */
    const tamis__piece_ops *pieces; /* for concurrent filters */
    const struct tamis__concurrent_ops
        *concurrent; /* NULL: from many threads by parts, filter/concurrent.h */
};

/* A batch, of keys or of hashes of this filter's hasher: one of the two. */
typedef struct tamis__asked {
    const tamis_key *keys;
    const tamis_hash *hashes;
    size_t count;
} tamis__asked;

/* A filter whose bits are elsewhere: it is asked a whole batch at a time, and any question may fail. What is not here it
 * cannot do. */
typedef struct tamis__remote {
    /* On failure *done keys, the first, are in and answered; answers may be NULL. */
    tamis_status (*add)(tamis_filter *filter, const tamis__asked *asked, tamis_answer *answers, size_t *done,
                        tamis_error *err);
    tamis_status (*contains)(const tamis_filter *filter, const tamis__asked *asked, tamis_answer *answers,
                             size_t *done, tamis_error *err);
    /* Fills cardinality, fpr_live, ones and memory. */
    tamis_status (*estimate)(const tamis_filter *filter, tamis_filter_info *info, tamis_error *err);
    tamis_status (*clear)(tamis_filter *filter, tamis_error *err);
    /* Gives back filter->body, if it was set. */
    void (*destroy)(tamis_filter *filter);
} tamis__remote;

struct tamis_filter {
    const struct tamis__filter_ops *ops; /* NULL for a remote one */
    const tamis__remote *remote;         /* NULL: its bits are in memory */
    const struct tamis__filter_kernels *kernels;
    tamis_allocator allocator;
    tamis_plan plan;
    tamis_hasher *hasher;
    uint64_t remade;         /* number of times that the body was replaced, with another plan */
    uint64_t added;          /* keys answered fresh */
    uint64_t fresh_in_parts; /* more of them, of a batch that is being added in parts */
    uint64_t foreseen;       /* that there will be; 0: nobody said */
    bool taken_before;       /* the keys that are added now: no limit of memory refuses them */
    bool saturated;
    tamis_full full;    /* why the last fresh key was refused */
    bool overfill;      /* as in tamis_filter_options: its file says so too, */
    bool overfill_here; /* and as in tamis_open_options: of this handle and its copies */
    bool frozen;        /* as in tamis_filter_options; kept in the file */
    tamis__tally tally;
    struct tamis__guard
        *guard; /* NULL: its memory is its own; else it stands in an image, and is only read */
    tamis__about about;
    void *body;  /* the kind's own */
    void *block; /* the image that it stands in, where that is the filter's and may be changed, */
    size_t block_size;
    tamis__backing backing;
    tamis__origin *origin;                /* NULL: was not read from a file */
    struct tamis__concurrent *concurrent; /* NULL: one thread at a time adds */
    tamis__opened *opened;                /* NULL: never taken anew. What stands before it is swapped */
    uint32_t inside;                      /* checked builds: threads in it, see tamis__filter_claim */
};

/* A filter that stands in an image, which has to outlive it. The hasher becomes the filter's, also on failure.
 * TAMIS_E_DAMAGED, TAMIS_E_UNSUPPORTED, TAMIS_E_NOMEM. */
tamis_status tamis__filter_restore(tamis_filter **filter, const tamis__image *image, tamis_hasher *hasher,
                                   const tamis_allocator *allocator, tamis_error *err);

/* Verifies all of an image and makes it the filter's own, to be changed where it stands: it lies in `block`, of the
 * filter's allocator, which goes with the filter. classic and blocked; nothing has changed on failure. */
tamis_status tamis__filter_own(tamis_filter *filter, void *block, size_t size, tamis_error *err);

/* A remote filter without body, plan and hasher, which the caller sets: tamis_filter_free gives back what is set. */
TAMIS_PRIVATE_API tamis_status tamis__filter_create_remote(tamis_filter **filter, const tamis__remote *remote,
                                                           const tamis_allocator *allocator,
                                                           tamis_error *err);

/* TAMIS_E_UNSUPPORTED for what a filter that is elsewhere cannot do. */
TAMIS_PRIVATE_API tamis_status tamis__filter_check_local(const tamis_filter *filter, const char *what,
                                                         tamis_error *err);

/* TAMIS_E_UNSUPPORTED where the filter stands in an image and is only read; `what` is asked of it. */
tamis_status tamis__filter_check_writable(const tamis_filter *filter, const char *what, tamis_error *err);

/*
 * Claims the filter during calls that add, change or read, in builds with assertions. `alone`: the call needs the filter to
 * itself. TAMIS_E_INVALID: another thread uses the filter; then do not release it. Other builds do not check: two threads may
 * then lose keys. Claims do not nest.
 */
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

/* Around a batch. Not to be nested, and keep is taken before it. */
static inline void tamis__filter_enter(const tamis_filter *filter) {
    if (filter->opened)
        pthread_rwlock_rdlock(&filter->opened->turn);
}

static inline void tamis__filter_leave(const tamis_filter *filter) {
    if (filter->opened)
        pthread_rwlock_unlock(&filter->opened->turn);
}

/* Makes an ordinary copy of a concurrent filter; other threads wait about a millisecond at a time. Call it between
 * tamis__concurrent_hold and _release. */
tamis_status tamis__filter_copy_aside(tamis_filter **copied, const tamis_filter *filter, tamis_error *err);

/* Keeps other threads from copying or clearing a concurrent filter. Batches of keys go on. */
void tamis__concurrent_hold(const tamis_filter *filter);
void tamis__concurrent_release(const tamis_filter *filter);

/* Of a concurrent filter: waits for the batches under way, and keeps those that come waiting. Not to be nested. */
TAMIS_PRIVATE_API void tamis__concurrent_stop(const tamis_filter *filter);
TAMIS_PRIVATE_API void tamis__concurrent_go_on(const tamis_filter *filter);

/* Around all else that looks at what is swapped, or, of a concurrent filter, at what batches change. */
static inline void tamis__filter_keep(const tamis_filter *filter) {
    if (filter->opened)
        pthread_rwlock_rdlock(&filter->opened->kept);
    if (filter->concurrent)
        tamis__concurrent_stop(filter);
}

static inline void tamis__filter_let_go(const tamis_filter *filter) {
    if (filter->concurrent)
        tamis__concurrent_go_on(filter);
    if (filter->opened)
        pthread_rwlock_unlock(&filter->opened->kept);
}

/* Swaps all but `opened`, while nobody asks `filter`. */
void tamis__filter_swap(tamis_filter *filter, tamis_filter *with);

extern const struct tamis__filter_ops tamis__classic_ops;
extern const struct tamis__filter_ops tamis__blocked_ops;
extern const struct tamis__filter_ops tamis__fingerprint_ops; /* exact too */

/* The bits of a classic or blocked filter, bit i being bit i & 63 of word i >> 6. */
TAMIS_PRIVATE_API const uint64_t *tamis__bloom_words(const tamis_filter *filter, size_t *count);
/* The same of a filter just made, for who has its bits from elsewhere; bits past the last stay zero. Then call
 * tamis__bloom_filled with the keys that were answered fresh, or TAMIS__ADDED_BY_BITS to have them estimated. */
TAMIS_PRIVATE_API uint64_t *tamis__bloom_words_mut(tamis_filter *filter, size_t *count);
#define TAMIS__ADDED_BY_BITS UINT64_MAX
TAMIS_PRIVATE_API void tamis__bloom_filled(tamis_filter *filter, uint64_t added);
/* The same of one that was made for just so many keys: it is saturated where the bits leave no doubt. */
TAMIS_PRIVATE_API void tamis__bloom_filled_about(tamis_filter *filter);

/*
 * Sums of many small numbers, which depend on the order of their addition: a file has what they come to, and a filter that is
 * to go on just as if it had never been in a file gets them as well. Returns how many there are, and puts them to `sums`
 * where that is not NULL; set: false, and nothing is changed, where the filter has not so many or one is no sum.
 */
size_t tamis__filter_sums(const tamis_filter *filter, double *sums);
bool tamis__filter_sums_set(tamis_filter *filter, const double *sums, size_t count);

/* Whether the lines of a block make sense to the table `context`: see tamis__guarded. */
bool tamis__fingerprint_valid(const void *context, const uint8_t *bytes, uint64_t size);
/* The same of classic and blocked: past m there are zeros. */
bool tamis__bloom_valid(const void *context, const uint8_t *bytes, uint64_t size);

/* Of classic or blocked: adds to expect that were answered "seen" though fresh. O(1), where an estimate reads every bit. */
double tamis__bloom_false_fresh(const tamis_filter *filter);

/* Of classic or blocked: filter->added after the last union, and the false "seen" of both until then. */
double tamis__bloom_united(const tamis_filter *filter, uint64_t *added);

/* Memory of the filter's allocator for what the plan counts, which is all but handles of at most 2 KiB; lines are
 * aligned to 64 bytes. NULL when there is none. From any part. */
void *tamis__filter_alloc(tamis_filter *filter, size_t size);
void tamis__filter_release(tamis_filter *filter, void *block, size_t size);
/* Counts memory that was got, or given back, in another way. From any part. */
void tamis__filter_took(tamis_filter *filter, size_t size);
void tamis__filter_gave(tamis_filter *filter, size_t size);

/* Marks the filter saturated and full, and says what to do. From any part. */
tamis_status tamis__filter_full(tamis_filter *filter, tamis_full why, tamis_error *err);
/* Says it again, of the keys that there are now. */
tamis_status tamis__filter_tell_full(const tamis_filter *filter, tamis_error *err);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Concurrent filters: adds and lookups from many threads at once.
 *
 * Idea. Keys are divided into up to 64 parts by hash, and each part has a lock. Equal keys are in one part,
 * so of two threads that add the same key at most one gets the answer absent. Threads that work on
 * different parts do not wait for each other. Where the kind can divide its body (parts.h: tables, blocked
 * filters), a part is a piece of the body. Otherwise (classic) the kind divides the keys and sets bits
 * atomically.
 *
 *     thread 1:  batch -> sorted by part -> | part 0 | part 1 | ... | part 63 | -> answers in batch order
 *     thread 2:  batch -> sorted by part ->     lock     lock           lock
 *
 * A thread works through the parts of its batch. It skips a part that another thread holds and returns to it
 * later. It waits only if all of its remaining parts are held, and it then holds no lock itself.
 *
 * Three variables are shared by all parts:
 * - batch_lock: a read-write lock. Batches share it. Operations on the whole filter are statistics, clear,
 *   union, growth as a whole, and the beginning and end of a copy. They hold it exclusively, and so see no
 *   batch half done.
 * - remaining: reserved capacity. The number of new keys that certainly pass no limit of the whole filter:
 *   capacity, rate, memory. A batch reserves as many as it has keys, and returns what it did not need.
 * - added: new keys counted by batches. They are moved to the filter's own counts when batch_lock is held
 *   exclusively.
 *
 * A batch from beginning to end:
 *
 *     enter           share batch_lock; reserve as many new keys as the batch has
 *     sort            the keys by part, at most BATCH_MAX at a time; equal parts keep the order of the batch
 *     each_part       lock a part that is free, and some free parts after it; add their keys; unlock
 *     restore_order   answers go back to the order of the batch
 *     leave           return unused reservations; count new keys; unlock batch_lock
 *
 * Lock order: batch_lock, then parts. A thread that holds a part tries the next one (trylock) and never waits
 * for it. A thread that waits for a part only shares batch_lock. A thread that wants batch_lock exclusively
 * holds no part. Copies, clear and unions lock whole_lock before batch_lock, so that two of them do not
 * interleave; batches do not need it.
 *
 * Lookups. If the kind reads words atomically (classic), a lookup needs no part: it shares batch_lock only.
 * In tables and blocked filters an add moves or rewrites whole lines, so a lookup locks the parts of its
 * keys too.
 *
 * Near a limit. A batch that cannot reserve enough holds batch_lock exclusively and adds as to an ordinary
 * filter. Keys that find no slot in their part are added again in that way (add_unplaced). So the answers
 * of a full filter are exact: which key was the last, and why the next was refused.
 *
 * Invariants:
 * 1. At most one of the threads that add a key gets the answer absent (exactly one, false positives aside).
 * 2. While a batch shares batch_lock, the limits of the whole filter cannot be exceeded: the batch has
 *    reserved its keys.
 * 3. A thread that waits for a part's lock holds no other part's lock. So threads cannot wait for each other
 *    in a circle.
 * 4. A thread that holds batch_lock exclusively sees complete counts: tamis__concurrent_pause_batches has
 *    run.
 *
 * Memory order. Counters (remaining, added) are relaxed: they only bound work. What one thread wrote to a
 * part becomes visible to the next by the part's lock, and the statistics by batch_lock. Words of a classic
 * filter are read and set with relaxed atomics. If a thread learns from another one that its add has
 * returned, that communication orders its lookups after the add.
 *
 * Listeners (tamis__concurrent_listen) get every new key in an order in which one thread could have added
 * them. A dedup session uses that for the log of a state. Keys of a part are reported while its lock is
 * held. A classic filter has no parts with an order, so each of its batches then holds batch_lock
 * exclusively (needs_order).
 *
 * Why sort: a part's lock is taken once for a batch and not once for a key. Why several parts at once
 * (extend_held): a kernel begins by waiting for its first cache lines, so it should get at least VISITED
 * keys.
 *
 * Copies (tamis_filter_copy, saving) lock one part at a time and copy about 1 MiB, so that other threads wait
 * only briefly. The pieces are from different moments, but every key added before the copy is in it
 * (tamis__piece_ops).
 *
 * Measured: ./dev bench memory has the time a key with 1 and 2 threads, ./dev bench pauses that of a call
 * during a copy (docs/PERFORMANCE.md).
 */
#include "filter/concurrent.h"

#include <stdatomic.h>
#include <string.h>

#include "base/thread.h"

/* BATCH_MAX: keys sorted together (27 KiB of stack with their hashes). VISITED: if free parts suffice, a
 * kernel gets at least so many keys, since it waits for the first lines. HELD: max. parts that one thread
 * locks together. */
enum { BATCH_MAX = 512, VISITED = 64, HELD = 16, PARTS = TAMIS__PARTS_MAX };
_Static_assert(PARTS <= 64, "a bit each in a word");

typedef struct part_lock {
    _Alignas(TAMIS__LINE) pthread_mutex_t mutex;
} part_lock;

struct tamis__concurrent {
    pthread_rwlock_t batch_lock;
    pthread_mutex_t whole_lock; /* held during copies, see tamis__concurrent_lock_whole */
    const struct tamis__concurrent_ops *ops;
    uint32_t count;                                  /* number of parts */
    uint64_t from[PARTS];                            /* by_parts: the least word[1] of each part */
    _Alignas(TAMIS__LINE) _Atomic int64_t remaining; /* may be below 0 for a moment */
    _Atomic uint64_t added;                          /* new keys since batch_lock was last held exclusively */
    tamis__listener listener; /* changed only while batch_lock is held exclusively; `added` is NULL: none */
    part_lock parts[PARTS];
};

/* ---- kinds with parts of their own (parts.h) ---- */

static uint32_t count_parts(const tamis_filter *filter) {
    return filter->ops->parts->max_parts(filter, PARTS);
}

/* Parts have about equal shares of the hashes. So compute the part as if they were equal, then correct it
 * by a neighbour. */
static void part_of_by_parts(const tamis_filter *filter, const tamis_hash *hashes, size_t count,
                             uint8_t *parts) {
    const struct tamis__concurrent *c = filter->concurrent;
    const uint32_t last = c->count - 1;
    for (size_t i = 0; i < count; i++) {
        uint64_t word = hashes[i].word[1], part = tamis__mulhi(word, c->count);
        while (word < c->from[part])
            part--;
        while (part < last && word >= c->from[part + 1])
            part++;
        parts[i] = (uint8_t)part;
    }
}

/* The largest power of two of keys that fit. */
static uint64_t remaining_by_parts(const tamis_filter *filter) {
    uint64_t keys = UINT64_C(1) << 48;
    while (keys && !filter->ops->parts->fit(filter, keys))
        keys /= 2;
    return keys;
}

static bool add_by_parts(tamis_filter *filter, const tamis_hash *hashes, size_t count, tamis_answer *answers,
                         uint64_t *added) {
    const tamis__key_batch batch = {.hashes = hashes, .count = count, .answers = answers};
    size_t done = 0;
    bool all_added = filter->ops->parts->add(filter, &batch, &done, NULL) == TAMIS_OK;
    for (size_t i = 0; i < done; i++)
        *added += answers[i] == TAMIS_ABSENT;
    return all_added;
}

static void count_by_parts(tamis_filter *filter, uint64_t added) {
    filter->ops->parts->added(filter, added);
}

static const struct tamis__concurrent_ops by_parts = {
    .parts = count_parts,
    .part_of = part_of_by_parts,
    .remaining = remaining_by_parts,
    .add = add_by_parts,
    .count_added = count_by_parts,
};

/* ---- the batch lock ---- */

static void update_remaining(const tamis_filter *filter) {
    const uint64_t remaining = filter->concurrent->ops->remaining(filter);
    const int64_t max = INT64_MAX / 2; /* reservations of any number of threads cannot overflow */
    atomic_store_explicit(&filter->concurrent->remaining,
                          remaining < (uint64_t)max ? (int64_t)remaining : max, memory_order_relaxed);
}

void tamis__concurrent_pause_batches(const tamis_filter *filter) {
    struct tamis__concurrent *c = filter->concurrent;
    /* Only the place where counts are kept changes, not their sum. */
    tamis_filter *own = (tamis_filter *)(uintptr_t)filter;
    pthread_rwlock_wrlock(&c->batch_lock);
    c->ops->count_added(own, c->added);
    c->added = 0;
}

void tamis__concurrent_resume_batches(const tamis_filter *filter) {
    update_remaining(filter);
    pthread_rwlock_unlock(&filter->concurrent->batch_lock);
}

void tamis__concurrent_listen(tamis_filter *filter, const tamis__listener *listener) {
    tamis__concurrent_pause_batches(filter);
    filter->concurrent->listener = listener ? *listener : (tamis__listener){NULL, NULL};
    tamis__concurrent_resume_batches(filter);
}

static void notify_listener(const struct tamis__concurrent *c, const tamis_hash *hashes,
                            const tamis_answer *answers, size_t count) {
    if (c->listener.added && count > 0)
        c->listener.added(c->listener.context, hashes, answers, count);
}

/* True if each batch needs the whole filter. A listener needs an order of the keys, and keys of a classic
 * filter share words, so they have none. */
static bool needs_order(const struct tamis__concurrent *c) {
    return c->listener.added && c->ops != &by_parts;
}

/* Begins a batch. True: batch_lock is shared, and capacity for `count` keys is reserved. False: batch_lock
 * is held exclusively. */
static bool enter(const tamis_filter *filter, size_t count) {
    struct tamis__concurrent *c = filter->concurrent;
    const int64_t keys = (int64_t)count;
    pthread_rwlock_rdlock(&c->batch_lock);
    if (!needs_order(c)) {
        if (atomic_fetch_sub_explicit(&c->remaining, keys, memory_order_relaxed) >= keys)
            return true;
        atomic_fetch_add_explicit(&c->remaining, keys, memory_order_relaxed);
    }
    pthread_rwlock_unlock(&c->batch_lock);
    tamis__concurrent_pause_batches(filter);
    return false;
}

static void leave(const tamis_filter *filter, size_t count, uint64_t added) {
    struct tamis__concurrent *c = filter->concurrent;
    atomic_fetch_add_explicit(&c->remaining, (int64_t)(count - added), memory_order_relaxed);
    if (added)
        atomic_fetch_add_explicit(&c->added, added, memory_order_relaxed);
    pthread_rwlock_unlock(&c->batch_lock);
}

/* ---- making ---- */

tamis_status tamis__concurrent_enable(tamis_filter *filter, tamis_error *err) {
    const tamis_status status = tamis__filter_check_local(filter, "concurrent", err);
    if (status != TAMIS_OK)
        return status;
    if (tamis_scheme_digest_bits(filter->hasher->scheme) == 0)
        return tamis__fail(
            err, TAMIS_E_UNSUPPORTED, 0,
            "concurrent: scheme %s makes no digest of a key to tell which thread may add it; use "
            "another scheme, or one thread",
            tamis_scheme_name(filter->hasher->scheme));
    if (!filter->ops->concurrent && !filter->ops->parts)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "concurrent: kind %s is for one thread; leave it out, or use another kind",
                           tamis_kind_name(filter->plan.kind));
    struct tamis__concurrent *c = tamis__filter_alloc(filter, sizeof *c);
    if (!c)
        return tamis__fail_nomem(err, "filter", sizeof *c);
    if (tamis__rwlock_init(&c->batch_lock) != 0) {
        tamis__filter_release(filter, c, sizeof *c);
        return tamis__fail(err, TAMIS_E_SYSTEM, 0, "filter: the system has no lock left; free memory");
    }
    pthread_mutex_init(&c->whole_lock, NULL);
    for (uint32_t i = 0; i < PARTS; i++)
        pthread_mutex_init(&c->parts[i].mutex, NULL);
    c->ops = filter->ops->concurrent ? filter->ops->concurrent : &by_parts;
    c->count = c->ops->parts(filter);
    for (uint32_t i = 1; c->ops == &by_parts && i < c->count; i++)
        c->from[i] = filter->ops->parts->from(filter, i, c->count);
    filter->concurrent = c;
    update_remaining(filter);
    return TAMIS_OK;
}

void tamis__concurrent_free(tamis_filter *filter) {
    struct tamis__concurrent *c = filter->concurrent;
    if (!c)
        return;
    pthread_rwlock_destroy(&c->batch_lock);
    pthread_mutex_destroy(&c->whole_lock);
    for (uint32_t i = 0; i < PARTS; i++)
        pthread_mutex_destroy(&c->parts[i].mutex);
    tamis__filter_release(filter, c, sizeof *c);
    filter->concurrent = NULL;
}

/* ---- parts ---- */

/* The keys of a batch, sorted by part. Keys of one part keep their order. */
typedef struct sorted {
    tamis_hash hashes[BATCH_MAX];
    tamis_answer answers[BATCH_MAX];
    uint16_t index[BATCH_MAX]; /* index of each key in the batch */
    uint16_t first[PARTS + 1]; /* index of the first key of each part */
    uint64_t parts;            /* a bit for each part that has keys */
} sorted;

/* Sorts a batch of one key. */
static void sort_single(const tamis_hash *hash, uint32_t part, sorted *s) {
    s->hashes[0] = *hash;
    s->index[0] = 0;
    s->first[part] = 0;
    s->first[part + 1] = 1;
    s->parts = UINT64_C(1) << part;
}

static void sort(const tamis_filter *filter, const tamis_hash *hashes, size_t count, sorted *s) {
    uint8_t parts[BATCH_MAX];
    uint16_t next[PARTS + 1] = {0};
    filter->concurrent->ops->part_of(filter, hashes, count, parts);
    if (count == 1) {
        sort_single(hashes, parts[0], s);
        return;
    }
    for (size_t i = 0; i < count; i++)
        next[parts[i] + 1]++;
    s->parts = 0;
    for (uint32_t part = 0; part < PARTS; part++) {
        s->parts |= (uint64_t)(next[part + 1] > 0) << part;
        s->first[part] = next[part];
        next[part + 1] = (uint16_t)(next[part + 1] + next[part]);
    }
    s->first[PARTS] = (uint16_t)count;
    for (size_t i = 0; i < count; i++) {
        const uint16_t to = next[parts[i]]++;
        s->hashes[to] = hashes[i];
        s->index[to] = (uint16_t)i;
    }
}

/* Copies the answers to the batch, in its order. */
static void restore_order(const sorted *s, size_t count, tamis_answer *answers) {
    for (size_t i = 0; i < count; i++)
        answers[s->index[i]] = s->answers[i];
}

/* Parts that this thread has locked: `count` parts from `first` on. */
typedef struct held {
    uint32_t first, count;
} held;

static void unlock_parts(struct tamis__concurrent *c, const held *range) {
    for (uint32_t n = 0; n < range->count; n++)
        pthread_mutex_unlock(&c->parts[range->first + n].mutex);
}

/* Locks the next part after those held. False if there is none or another thread holds it. */
static bool lock_next(struct tamis__concurrent *c, held *range) {
    const uint32_t next = range->first + range->count;
    if (range->count == HELD || next == c->count || pthread_mutex_trylock(&c->parts[next].mutex) != 0)
        return false;
    range->count++;
    return true;
}

/* What to do with the keys of locked parts: add them, or look them up. */
typedef struct visit {
    tamis_filter *filter;
    bool adds;
    uint64_t added;
} visit;

static bool visit_keys(visit *v, const tamis_hash *hashes, size_t count, tamis_answer *answers) {
    tamis_filter *filter = v->filter;
    if (v->adds) {
        const bool all_added = filter->concurrent->ops->add(filter, hashes, count, answers, &v->added);
        notify_listener(filter->concurrent, hashes, answers, count);
        return all_added;
    }
    const tamis__key_batch batch = {.hashes = hashes, .count = count, .answers = answers};
    filter->ops->contains(filter, &batch);
    return true;
}

/* Locks more parts after a held one, while they are free and until VISITED keys are reached. Stops at a
 * part whose keys were visited already. Returns the last part held. */
static uint32_t extend_held(struct tamis__concurrent *c, held *range, const sorted *s, uint32_t part,
                            uint64_t left) {
    const uint32_t first = part;
    const uint64_t may = left | ~s->parts;
    while (part + 1 < c->count && s->first[part + 1] - s->first[first] < VISITED && (left >> part) > 1 &&
           may >> (part + 1) & 1 && lock_next(c, range))
        part++;
    return part;
}

/* Visits all parts that have keys. Parts held by other threads come later; waits only if all remaining
 * parts are held. True if all visits succeeded. */
static bool each_part(visit *v, sorted *s) {
    struct tamis__concurrent *c = v->filter->concurrent;
    bool all_done = true, wait = false;
    for (uint64_t left = s->parts; left;) {
        const uint64_t before = left;
        for (uint64_t rest = left; rest;) {
            uint32_t part = (uint32_t)__builtin_ctzll(rest), last = part;
            held range = {part, wait};
            if (wait)
                pthread_mutex_lock(&c->parts[part].mutex); /* this thread holds no other part */
            if (wait || lock_next(c, &range)) {
                last = extend_held(c, &range, s, part, left);
                size_t from = s->first[part], count = s->first[last + 1] - from;
                all_done = visit_keys(v, s->hashes + from, count, s->answers + from) && all_done;
                unlock_parts(c, &range);
                left &= ~(UINT64_MAX >> (63 - last + part) << part);
                wait = false;
            }
            rest &= ~(UINT64_MAX >> (63 - last));
        }
        wait = left == before;
    }
    return all_done;
}

/* ---- copying ---- */

void tamis__concurrent_lock_whole(const tamis_filter *filter) {
    pthread_mutex_lock(&filter->concurrent->whole_lock);
}

void tamis__concurrent_unlock_whole(const tamis_filter *filter) {
    pthread_mutex_unlock(&filter->concurrent->whole_lock);
}

static tamis_status copy_piece(tamis_filter *to, const tamis_filter *from, tamis__copied_part *copied,
                               tamis_error *err) {
    struct tamis__concurrent *c = from->concurrent;
    pthread_rwlock_rdlock(&c->batch_lock);
    if (to->remade != from->remade) {
        copied->pos = TAMIS__COPIED;
        pthread_rwlock_unlock(&c->batch_lock);
        return TAMIS_OK;
    }
    pthread_mutex_lock(&c->parts[copied->part].mutex);
    tamis_status status = from->ops->pieces->copy(to, from, copied, err);
    pthread_mutex_unlock(&c->parts[copied->part].mutex);
    pthread_rwlock_unlock(&c->batch_lock);
    return status;
}

/* Copies a piece of one part after the other. So a thread waiting for a part gets it before the next piece
 * of that part. Stops early if the body of `from` is replaced meanwhile; the caller then starts again. */
tamis_status tamis__concurrent_copy_body(tamis_filter *to, const tamis_filter *from, tamis_error *err) {
    const uint32_t count = from->concurrent->count;
    tamis__copied_part copied[PARTS];
    tamis_status status = TAMIS_OK;
    for (uint32_t part = 0; part < count; part++)
        copied[part] = (tamis__copied_part){.part = part, .parts = count};
    for (uint32_t left = count; left > 0 && status == TAMIS_OK;)
        for (uint32_t part = 0; part < count && status == TAMIS_OK; part++)
            if (copied[part].pos != TAMIS__COPIED) {
                status = copy_piece(to, from, &copied[part], err);
                left -= copied[part].pos == TAMIS__COPIED;
            }
    return status;
}

/* ---- adding ---- */

/* Adds the keys of a batch that found no slot in their part, in order, with batch_lock held exclusively.
 * The whole filter decides what becomes of them: growth, or an error. */
static tamis_status add_unplaced(tamis_filter *filter, const tamis__key_batch *batch, size_t *done,
                                 tamis_error *err) {
    tamis_status status = TAMIS_OK;
    tamis__concurrent_pause_batches(filter);
    for (*done = 0; *done < batch->count; ++*done) {
        const tamis__key_batch key = tamis__key_batch_slice(batch, *done, 1);
        size_t added = 0;
        if (*key.answers == TAMIS_UNKNOWN) {
            status = filter->ops->add(filter, &key, &added, err);
            notify_listener(filter->concurrent, key.hashes, key.answers, added);
        }
        if (status != TAMIS_OK)
            break;
    }
    tamis__concurrent_resume_batches(filter);
    return status;
}

/* Adds at most BATCH_MAX hashes, whose answers are TAMIS_UNKNOWN before. */
static tamis_status add_batch(tamis_filter *filter, const tamis__key_batch *batch, size_t *done,
                              tamis_error *err) {
    const size_t count = batch->count;
    visit v = {.filter = filter, .adds = true};
    if (!enter(filter, count)) {
        tamis_status status = filter->ops->add(filter, batch, done, err);
        notify_listener(filter->concurrent, batch->hashes, batch->answers, *done);
        tamis__concurrent_resume_batches(filter);
        return status;
    }
    sorted s;
    sort(filter, batch->hashes, count, &s);
    memset(s.answers, TAMIS_UNKNOWN, count * sizeof *s.answers);
    bool all_added = each_part(&v, &s);
    restore_order(&s, count, batch->answers);
    leave(filter, count, v.added);
    *done = count;
    return all_added ? TAMIS_OK : add_unplaced(filter, batch, done, err);
}

tamis_status tamis__concurrent_add(tamis_filter *filter, const tamis__key_batch *batch, size_t *done,
                                   tamis_error *err) {
    tamis_hash created[BATCH_MAX];
    tamis_answer unwanted[BATCH_MAX];
    tamis_status status = TAMIS_OK;
    if (batch->answers)
        memset(batch->answers, TAMIS_UNKNOWN, batch->count * sizeof *batch->answers);
    for (*done = 0; *done < batch->count && status == TAMIS_OK;) {
        const size_t left = batch->count - *done;
        tamis__key_batch piece = tamis__key_batch_slice(batch, *done, left < BATCH_MAX ? left : BATCH_MAX);
        size_t added = 0;
        if (!piece.answers)
            piece.answers = memset(unwanted, TAMIS_UNKNOWN, sizeof unwanted);
        status = tamis__key_batch_hash(filter, &piece, created, err);
        if (status == TAMIS_OK)
            status = add_batch(filter, &piece, &added, err);
        *done += added;
    }
    return status;
}

/* ---- looking up ---- */

/* Looks up at most BATCH_MAX hashes. */
static void query_batch(const tamis_filter *filter, const tamis__key_batch *batch) {
    pthread_rwlock_t *batch_lock = &filter->concurrent->batch_lock;
    pthread_rwlock_rdlock(batch_lock);
    if (filter->concurrent->ops->contains_is_lock_free) {
        filter->ops->contains(filter, batch);
    } else {
        visit v = {.filter = (tamis_filter *)(uintptr_t)filter}; /* not changed by lookups */
        sorted s;
        sort(filter, batch->hashes, batch->count, &s);
        each_part(&v, &s);
        restore_order(&s, batch->count, batch->answers);
    }
    pthread_rwlock_unlock(batch_lock);
}

tamis_status tamis__concurrent_contains(const tamis_filter *filter, const tamis__key_batch *batch,
                                        size_t *done, tamis_error *err) {
    tamis_hash created[BATCH_MAX];
    for (*done = 0; *done < batch->count;) {
        const size_t left = batch->count - *done;
        tamis__key_batch piece = tamis__key_batch_slice(batch, *done, left < BATCH_MAX ? left : BATCH_MAX);
        const tamis_status status = tamis__key_batch_hash(filter, &piece, created, err);
        if (status != TAMIS_OK)
            return status;
        query_batch(filter, &piece);
        *done += piece.count;
    }
    return TAMIS_OK;
}

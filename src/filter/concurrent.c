/* SPDX-License-Identifier: BSD-2-Clause */
#include "filter/concurrent.h"

#include <stdatomic.h>
#include <string.h>

#include "base/thread.h"

/* Keys that are sorted together, of 64 parts some 8 each: 27 KiB of stack, with their hashes. */
enum { AT_ONCE = 512, PARTS = TAMIS__PARTS_MOST };
_Static_assert(PARTS <= 64, "a bit each in a word");

typedef struct part_lock {
    _Alignas(TAMIS__LINE) pthread_mutex_t mutex;
    tamis__sums sums;
} part_lock;

struct tamis__concurrent {
    pthread_rwlock_t turn;
    const struct tamis__concurrent_ops *ops;
    tamis__cut cut;
    uint64_t from[PARTS];                       /* by_parts: the least word[1] of each */
    _Alignas(TAMIS__LINE) _Atomic int64_t room; /* below 0 for moments */
    part_lock parts[PARTS];
};

/* ---- the parts of parts.h ---- */

static tamis__cut cut_by_parts(const tamis_filter *filter) {
    return (tamis__cut){filter->ops->parts->most(filter, PARTS), false};
}

/* Parts are about equal: the one that a hash would be in if they were, or a neighbour. */
static void part_of_by_parts(const tamis_filter *filter, const tamis_hash *hashes, size_t count,
                             uint8_t *parts) {
    const struct tamis__concurrent *c = filter->concurrent;
    const uint32_t last = c->cut.parts - 1;
    for (size_t i = 0; i < count; i++) {
        uint64_t word = hashes[i].word[1], part = tamis__mulhi(word, c->cut.parts);
        while (word < c->from[part])
            part--;
        while (part < last && word >= c->from[part + 1])
            part++;
        parts[i] = (uint8_t)part;
    }
}

/* The most of the powers of two that fit. */
static uint64_t room_by_parts(const tamis_filter *filter) {
    uint64_t keys = UINT64_C(1) << 48;
    while (keys && !filter->ops->parts->fit(filter, keys))
        keys /= 2;
    return keys;
}

static bool add_by_parts(tamis_filter *filter, tamis__sums *sums, const tamis_hash *hashes, size_t count,
                         tamis_answer *answers) {
    size_t done = 0;
    bool all = filter->ops->parts->add(filter, hashes, count, answers, &done, NULL) == TAMIS_OK;
    for (size_t i = 0; i < done; i++)
        sums->added += answers[i] == TAMIS_FRESH;
    return all;
}

static void settle_by_parts(tamis_filter *filter, const tamis__sums *sums) {
    filter->ops->parts->added(filter, sums->added);
}

static const struct tamis__concurrent_ops by_parts = {
    .cut = cut_by_parts,
    .part_of = part_of_by_parts,
    .room = room_by_parts,
    .add = add_by_parts,
    .settle = settle_by_parts,
};

/* Both, where a kind has both: growing tables go by the parts of parts.h, of which others have one. */
static const struct tamis__concurrent_ops *ops_of(const tamis_filter *filter) {
    const struct tamis__filter_ops *ops = filter->ops;
    return ops->concurrent && (!ops->parts || ops->parts->most(filter, PARTS) == 1) ? ops->concurrent
                                                                                    : &by_parts;
}

/* ---- the turn ---- */

static void measure_room(const tamis_filter *filter) {
    uint64_t room = filter->concurrent->ops->room(filter);
    int64_t most = INT64_MAX / 2; /* no number of threads takes or gives back so many at once */
    atomic_store_explicit(&filter->concurrent->room, room < (uint64_t)most ? (int64_t)room : most,
                          memory_order_relaxed);
}

void tamis__concurrent_stop(const tamis_filter *filter) {
    struct tamis__concurrent *c = filter->concurrent;
    tamis_filter *own =
        (tamis_filter *)(uintptr_t)filter; /* its figures change, and what they say does not */
    pthread_rwlock_wrlock(&c->turn);
    for (uint32_t i = 0; i < c->cut.parts; i++) {
        c->ops->settle(own, &c->parts[i].sums);
        c->parts[i].sums = (tamis__sums){0};
    }
}

void tamis__concurrent_go_on(const tamis_filter *filter) {
    measure_room(filter);
    pthread_rwlock_unlock(&filter->concurrent->turn);
}

/* Shares the turn, with room for so many keys, or holds it alone: false. */
static bool enter(const tamis_filter *filter, size_t count) {
    struct tamis__concurrent *c = filter->concurrent;
    int64_t keys = (int64_t)count;
    pthread_rwlock_rdlock(&c->turn);
    if (atomic_fetch_sub_explicit(&c->room, keys, memory_order_relaxed) >= keys)
        return true;
    atomic_fetch_add_explicit(&c->room, keys, memory_order_relaxed);
    pthread_rwlock_unlock(&c->turn);
    tamis__concurrent_stop(filter);
    return false;
}

static void leave(const tamis_filter *filter, size_t not_added) {
    struct tamis__concurrent *c = filter->concurrent;
    atomic_fetch_add_explicit(&c->room, (int64_t)not_added, memory_order_relaxed);
    pthread_rwlock_unlock(&c->turn);
}

/* ---- making ---- */

tamis_status tamis__concurrent_make(tamis_filter *filter, tamis_error *err) {
    if (tamis_scheme_digest_bits(filter->hasher->scheme) == 0)
        return tamis__fail(
            err, TAMIS_E_UNSUPPORTED, 0,
            "concurrent: scheme %s makes no digest of a key to tell which thread may add it; use "
            "another scheme, or one thread",
            tamis_scheme_name(filter->hasher->scheme));
    struct tamis__concurrent *c = tamis__filter_alloc(filter, sizeof *c);
    if (!c)
        return tamis__fail_nomem(err, "filter", sizeof *c);
    if (tamis__rwlock_init(&c->turn) != 0) {
        tamis__filter_release(filter, c, sizeof *c);
        return tamis__fail(err, TAMIS_E_SYSTEM, 0, "filter: the system has no lock left; free memory");
    }
    for (uint32_t i = 0; i < PARTS; i++)
        pthread_mutex_init(&c->parts[i].mutex, NULL);
    c->ops = ops_of(filter);
    c->cut = c->ops->cut(filter);
    for (uint32_t i = 1; c->ops == &by_parts && i < c->cut.parts; i++)
        c->from[i] = filter->ops->parts->from(filter, i, c->cut.parts);
    filter->concurrent = c;
    measure_room(filter);
    return TAMIS_OK;
}

void tamis__concurrent_free(tamis_filter *filter) {
    struct tamis__concurrent *c = filter->concurrent;
    if (!c)
        return;
    pthread_rwlock_destroy(&c->turn);
    for (uint32_t i = 0; i < PARTS; i++)
        pthread_mutex_destroy(&c->parts[i].mutex);
    tamis__filter_release(filter, c, sizeof *c);
    filter->concurrent = NULL;
}

/* ---- parts ---- */

/* The keys of a batch by their parts; those of a part in the order of the batch. */
typedef struct sorted {
    tamis_hash hashes[AT_ONCE];
    tamis_answer answers[AT_ONCE];
    uint16_t at[AT_ONCE];      /* where each is in the batch */
    uint16_t first[PARTS + 1]; /* of the keys of each part */
    uint64_t parts;            /* those with keys, a bit each */
} sorted;

static void sort(const tamis_filter *filter, const tamis_hash *hashes, size_t count, sorted *s) {
    uint8_t parts[AT_ONCE];
    uint16_t next[PARTS + 1] = {0};
    filter->concurrent->ops->part_of(filter, hashes, count, parts);
    if (filter->ops->fetch)
        filter->ops->fetch(filter, hashes, count);
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
        uint16_t to = next[parts[i]]++;
        s->hashes[to] = hashes[i];
        s->at[to] = (uint16_t)i;
    }
}

/* Gives the batch its answers; how many are TAMIS_FRESH. */
static size_t give_back(const sorted *s, size_t count, tamis_answer *answers) {
    size_t fresh = 0;
    for (size_t i = 0; i < count; i++) {
        answers[s->at[i]] = s->answers[i];
        fresh += s->answers[i] == TAMIS_FRESH;
    }
    return fresh;
}

/* Parts that are held together: `count` from `first` on, going round. */
typedef struct held {
    uint32_t first, count;
} held;

static held around(const tamis__cut *cut, uint32_t part, bool adds) {
    if (!cut->touching)
        return (held){part, 1};
    return adds ? (held){(part + cut->parts - 1) % cut->parts, 3} : (held){part, 2};
}

/* The nth of them from below, which is how everybody takes them. */
static pthread_mutex_t *nth(struct tamis__concurrent *c, const held *which, uint32_t n) {
    uint32_t end = which->first + which->count, round = end > c->cut.parts ? end - c->cut.parts : 0;
    return &c->parts[n < round ? n : which->first + n - round].mutex;
}

static void let_go(struct tamis__concurrent *c, const held *which, uint32_t count) {
    while (count-- > 0)
        pthread_mutex_unlock(nth(c, which, count));
}

/* False: another thread has one of them, and it was not to be waited for. */
static bool hold(struct tamis__concurrent *c, const held *which, bool wait) {
    for (uint32_t n = 0; n < which->count; n++) {
        pthread_mutex_t *mutex = nth(c, which, n);
        if (wait)
            pthread_mutex_lock(mutex);
        else if (pthread_mutex_trylock(mutex) != 0) {
            let_go(c, which, n);
            return false;
        }
    }
    return true;
}

/* With a part held. */
typedef bool visit(const tamis_filter *filter, uint32_t part, const tamis_hash *hashes, size_t count,
                   tamis_answer *answers);

static bool visit_add(const tamis_filter *filter, uint32_t part, const tamis_hash *hashes, size_t count,
                      tamis_answer *answers) {
    tamis_filter *own = (tamis_filter *)(uintptr_t)filter; /* add_batch has it so */
    struct tamis__concurrent *c = filter->concurrent;
    return c->ops->add(own, &c->parts[part].sums, hashes, count, answers);
}

static bool visit_ask(const tamis_filter *filter, uint32_t part, const tamis_hash *hashes, size_t count,
                      tamis_answer *answers) {
    (void)part;
    filter->ops->contains(filter, hashes, count, answers);
    return true;
}

/* Visits the parts that have keys. Those that another thread holds come later; waits where that is all there is. Whether
 * all visits were well. */
static bool each_part(const tamis_filter *filter, sorted *s, visit *call) {
    struct tamis__concurrent *c = filter->concurrent;
    bool well = true, wait = false;
    for (uint64_t left = s->parts; left;) {
        uint64_t before = left;
        for (uint64_t rest = left; rest; rest &= rest - 1) {
            uint32_t part = (uint32_t)__builtin_ctzll(rest);
            held which = around(&c->cut, part, call == visit_add);
            if (!hold(c, &which, wait))
                continue;
            size_t from = s->first[part], count = s->first[part + 1] - from;
            well = call(filter, part, s->hashes + from, count, s->answers + from) && well;
            let_go(c, &which, which.count);
            left &= ~(UINT64_C(1) << part);
            wait = false;
        }
        wait = left == before;
    }
    return well;
}

/* ---- adding ---- */

/* The keys of a batch that found no place in their part, in order: what becomes of them is for the whole filter to say. */
static tamis_status add_left(tamis_filter *filter, const tamis_hash *hashes, size_t count,
                             tamis_answer *answers, size_t *done, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    tamis__concurrent_stop(filter);
    for (*done = 0; *done < count; ++*done) {
        size_t in;
        if (answers[*done] == TAMIS_UNKNOWN)
            status = filter->ops->add(filter, hashes + *done, 1, answers + *done, &in, err);
        if (status != TAMIS_OK)
            break;
    }
    tamis__concurrent_go_on(filter);
    return status;
}

/* At most AT_ONCE, whose answers are TAMIS_UNKNOWN. */
static tamis_status add_batch(tamis_filter *filter, const tamis_hash *hashes, size_t count,
                              tamis_answer *answers, size_t *done, tamis_error *err) {
    if (!enter(filter, count)) {
        tamis_status status = filter->ops->add(filter, hashes, count, answers, done, err);
        tamis__concurrent_go_on(filter);
        return status;
    }
    sorted s;
    sort(filter, hashes, count, &s);
    memset(s.answers, TAMIS_UNKNOWN, count * sizeof *s.answers);
    bool all = each_part(filter, &s, visit_add);
    leave(filter, count - give_back(&s, count, answers));
    *done = count;
    return all ? TAMIS_OK : add_left(filter, hashes, count, answers, done, err);
}

tamis_status tamis__concurrent_add(tamis_filter *filter, const tamis__asked *asked, tamis_answer *answers,
                                   size_t *done, tamis_error *err) {
    tamis_hash made[AT_ONCE];
    tamis_answer unwanted[AT_ONCE];
    tamis_status status = TAMIS_OK;
    size_t from = 0;
    if (answers)
        memset(answers, TAMIS_UNKNOWN, asked->count * sizeof *answers);
    while (from < asked->count && status == TAMIS_OK) {
        size_t some = asked->count - from < AT_ONCE ? asked->count - from : AT_ONCE, in = 0;
        const tamis_hash *hashes = asked->hashes ? asked->hashes + from : made;
        tamis_answer *to = answers ? answers + from : memset(unwanted, TAMIS_UNKNOWN, sizeof unwanted);
        if (!asked->hashes)
            status = tamis_hash_many(filter->hasher, asked->keys + from, some, made, err);
        if (status == TAMIS_OK)
            status = add_batch(filter, hashes, some, to, &in, err);
        from += in;
    }
    *done = from;
    return status;
}

/* ---- asking ---- */

/* At most AT_ONCE. */
static void ask_batch(const tamis_filter *filter, const tamis_hash *hashes, size_t count,
                      tamis_answer *answers) {
    pthread_rwlock_t *turn = &filter->concurrent->turn;
    pthread_rwlock_rdlock(turn);
    if (filter->concurrent->ops->asks_freely) {
        filter->ops->contains(filter, hashes, count, answers);
    } else {
        sorted s;
        sort(filter, hashes, count, &s);
        each_part(filter, &s, visit_ask);
        give_back(&s, count, answers);
    }
    pthread_rwlock_unlock(turn);
}

tamis_status tamis__concurrent_contains(const tamis_filter *filter, const tamis__asked *asked,
                                        tamis_answer *answers, size_t *done, tamis_error *err) {
    tamis_hash made[AT_ONCE];
    tamis_status status = TAMIS_OK;
    size_t from = 0;
    while (from < asked->count && status == TAMIS_OK) {
        size_t some = asked->count - from < AT_ONCE ? asked->count - from : AT_ONCE;
        const tamis_hash *hashes = asked->hashes ? asked->hashes + from : made;
        if (!asked->hashes)
            status = tamis_hash_many(filter->hasher, asked->keys + from, some, made, err);
        if (status != TAMIS_OK)
            break;
        ask_batch(filter, hashes, some, answers + from);
        from += some;
    }
    *done = from;
    return status;
}

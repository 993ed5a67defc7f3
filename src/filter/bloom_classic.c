/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Kind classic: adding and asking. A key's probes are lines anywhere in memory, so it all is to have as many of them on
 * their way as the machine takes, at any time.
 *
 * Adding: keys stand in a row, and while one is added the lines of the AHEAD behind it come in. With all lines of a batch
 * fetched before its first key is added it takes a third longer.
 *
 * Asking: of a full filter half of the bits are set, so that the first two probes settle three in four of the absent
 * keys, and the next four nearly all: most of their lines are never fetched. A batch is sieved, by two probes, by four,
 * by the rest; of keys that are left the positions are made again. A row as above, each key as many stages behind,
 * does as well for keys that are in, and takes half as long again for those that are not, each of which is a branch.
 *
 * Of a concurrent filter words change while others read them, so reading one is atomic everywhere, which costs nothing, and
 * setting bits in one is where it has to be. A key that has not all its bits set was never added; and since its part is held
 * nobody else adds it at the same time, so that it is fresh for one alone.
 */
#include "filter/bloom_int.h"
#include "filter/concurrent.h"
#include "filter/guard.h"

enum {
    AHEAD = 8,       /* keys; 4 cost a tenth more, 16 and 24 do as well */
    BATCH = 128,     /* keys that are sieved together; 32 cost a fifth more, 256 do as well */
    POSITIONS = 2048 /* 16 KiB of stack, which are fewer keys than that where they have many probes */
};
_Static_assert(POSITIONS / TAMIS_PROBES_MAX > 1, "two keys at the least stand in a row");

/* Keys as they are asked: hashed, or, where the scheme has no digest, themselves. */
typedef struct asked {
    const tamis_hash *hashes; /* NULL: keys */
    const tamis_key *keys;
} asked;

/* How many keys of `most` have room for their positions. */
static size_t keys_at_once(const bloom *b, size_t most) {
    size_t room = POSITIONS / b->probes;
    return room < most ? room : most;
}

/* The first `until` positions of key i; the lines of those from number `seen` on are fetched. */
static void locate(const tamis_filter *filter, asked what, size_t i, uint32_t seen, uint32_t until,
                   uint64_t *positions) {
    const bloom *b = filter->body;
    if (what.hashes)
        tamis__positions_in(filter->hasher->scheme, what.hashes[i].word, b->span, until, positions);
    else
        tamis__hasher_positions(filter->hasher, &what.keys[i], b->bits, until, positions);
    for (uint32_t k = seen; k < until; k++)
        tamis__prefetch(&b->words[positions[k] >> 6]);
}

/* Whether those bits are all set; without a branch for each, which would be guessed wrongly as often as not. */
static bool are_set(const uint64_t *words, const uint64_t *positions, uint32_t count) {
    uint64_t all = 1;
    for (uint32_t k = 0; k < count; k++)
        all &= __atomic_load_n(&words[positions[k] >> 6], __ATOMIC_RELAXED) >> (positions[k] & 63);
    return all & 1;
}

/* The same, and sets them. */
static bool set_all(uint64_t *words, const uint64_t *positions, uint32_t count) {
    uint64_t all = 1;
    for (uint32_t k = 0; k < count; k++) {
        uint64_t *word = &words[positions[k] >> 6], old = *word;
        all &= old >> (positions[k] & 63);
        *word = old | UINT64_C(1) << (positions[k] & 63);
    }
    return all & 1;
}

/* The same where other threads add other keys. A key that is there changes nothing, and its lines stay shared. */
static bool set_all_shared(uint64_t *words, const uint64_t *positions, uint32_t count) {
    bool seen = are_set(words, positions, count);
    for (uint32_t k = 0; k < count && !seen; k++)
        __atomic_fetch_or(&words[positions[k] >> 6], UINT64_C(1) << (positions[k] & 63), __ATOMIC_RELAXED);
    return seen;
}

/* ---- adding ---- */

/* Stops before a fresh key when *room is 0, and lowers it by one for each. Returns how many keys it answered. */
static inline size_t add_each(tamis_filter *filter, asked what, size_t count, bool shared,
                              tamis_answer *answers, uint64_t *room) {
    const bloom *b = filter->body;
    const size_t rows = keys_at_once(b, AHEAD + 1), ahead = rows - 1;
    uint64_t positions[POSITIONS];
    size_t i = 0, row = 0;
    for (size_t j = 0; j < ahead && j < count; j++)
        locate(filter, what, j, 0, b->probes, positions + j * b->probes);
    for (; i < count; i++, row = row < ahead ? row + 1 : 0) {
        if (i + ahead < count) /* its row is the one before */
            locate(filter, what, i + ahead, 0, b->probes, positions + (row ? row - 1 : ahead) * b->probes);
        const uint64_t *mine = positions + row * b->probes;
        if (*room == 0 && !are_set(b->words, mine, b->probes))
            break;
        bool seen = shared ? set_all_shared(b->words, mine, b->probes) : set_all(b->words, mine, b->probes);
        answers[i] = seen ? TAMIS_SEEN : TAMIS_FRESH;
        *room -= !seen;
    }
    return i;
}

static tamis_status add_asked(tamis_filter *filter, asked what, size_t count, tamis_answer *answers,
                              size_t *done, tamis_error *err) {
    uint64_t room = tamis__bloom_room(filter), left = room;
    *done = add_each(filter, what, count, false, answers, &left);
    tamis__bloom_count_fresh(filter, room - left);
    return *done < count ? tamis__filter_full(filter, TAMIS_FULL_CAPACITY, err) : TAMIS_OK;
}

tamis_status tamis__classic_add(tamis_filter *filter, const tamis_hash *hashes, size_t count,
                                tamis_answer *answers, size_t *done, tamis_error *err) {
    return add_asked(filter, (asked){hashes, NULL}, count, answers, done, err);
}

tamis_status tamis__classic_add_keys(tamis_filter *filter, const tamis_key *keys, size_t count,
                                     tamis_answer *answers, size_t *done, tamis_error *err) {
    return add_asked(filter, (asked){NULL, keys}, count, answers, done, err);
}

/* ---- asking ---- */

/* Keys of `left` whose positions from number `seen` on, up to `until`, are all set: they are moved to its front and
 * counted. The others are answered. */
static size_t sieve(const tamis_filter *filter, asked what, size_t *left, size_t count, uint32_t seen,
                    uint32_t until, tamis_answer *answers) {
    const bloom *b = filter->body;
    uint64_t positions[POSITIONS];
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        locate(filter, what, left[i], seen, until, positions + i * until);
    for (size_t i = 0; i < count; i++) {
        size_t key = left[i];
        bool is_left = are_set(b->words, positions + i * until + seen, until - seen);
        answers[key] = is_left ? TAMIS_SEEN : TAMIS_FRESH;
        left[found] = key;
        found += is_left;
    }
    return found;
}

static void contains_asked(const tamis_filter *filter, asked what, size_t count, tamis_answer *answers) {
    const bloom *b = filter->body;
    const uint32_t stages[] = {2, b->probes <= 8 ? b->probes : 6, b->probes};
    size_t batch = keys_at_once(b, BATCH), left[BATCH];
    for (size_t from = 0; from < count; from += batch) {
        size_t found = count - from < batch ? count - from : batch;
        for (size_t i = 0; i < found; i++)
            left[i] = from + i;
        for (uint32_t stage = 0, seen = 0, until; seen < b->probes && found > 0; stage++, seen = until) {
            until = b->probes < stages[stage] ? b->probes : stages[stage];
            found = sieve(filter, what, left, found, seen, until, answers);
        }
    }
}

void tamis__classic_contains(const tamis_filter *filter, const tamis_hash *hashes, size_t count,
                             tamis_answer *answers) {
    contains_asked(filter, (asked){hashes, NULL}, count, answers);
}

void tamis__classic_contains_keys(const tamis_filter *filter, const tamis_key *keys, size_t count,
                                  tamis_answer *answers) {
    contains_asked(filter, (asked){NULL, keys}, count, answers);
}

/* ---- from many threads ---- */

/* Any key may change any word: what is cut are the keys. */
static uint32_t parts(const tamis_filter *filter) {
    (void)filter;
    return TAMIS__PARTS_MOST;
}

static void part_of(const tamis_filter *filter, const tamis_hash *hashes, size_t count, uint8_t *part) {
    (void)filter;
    _Static_assert(TAMIS__PARTS_MOST == 1 << 6, "the first 6 bits");
    for (size_t i = 0; i < count; i++) /* some digests are of one word, or of few bits of it */
        part[i] = (uint8_t)((hashes[i].word[0] ^ hashes[i].word[1]) * TAMIS__GOLDEN >> (64 - 6));
}

static bool add_part(tamis_filter *filter, const tamis_hash *hashes, size_t count, tamis_answer *answers,
                     uint64_t *added) {
    uint64_t left = UINT64_MAX;
    size_t done = add_each(filter, (asked){hashes, NULL}, count, true, answers, &left);
    *added += UINT64_MAX - left;
    return done == count;
}

const struct tamis__concurrent_ops tamis__classic_concurrent = {
    .parts = parts,
    .part_of = part_of,
    .room = tamis__bloom_room,
    .add = add_part,
    .settle = tamis__bloom_count_fresh,
    .asks_freely = true,
};

/* ---- filters in an image ---- */

static tamis_status touch_asked(const tamis_filter *filter, asked what, size_t count, tamis_error *err) {
    const bloom *b = filter->body;
    uint64_t positions[TAMIS_PROBES_MAX];
    for (size_t i = 0; i < count; i++) {
        locate(filter, what, i, 0, b->probes, positions);
        for (uint32_t k = 0; k < b->probes; k++) {
            tamis_status status = tamis__guard_touch(filter->guard, &b->words[positions[k] >> 6], err);
            if (status != TAMIS_OK)
                return status;
        }
    }
    return TAMIS_OK;
}

tamis_status tamis__classic_touch(const tamis_filter *filter, const tamis_hash *hashes, size_t count,
                                  tamis_error *err) {
    return touch_asked(filter, (asked){hashes, NULL}, count, err);
}

tamis_status tamis__classic_touch_keys(const tamis_filter *filter, const tamis_key *keys, size_t count,
                                       tamis_error *err) {
    return touch_asked(filter, (asked){NULL, keys}, count, err);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys that the filter of a file may lack: a hash table with chains. */
#include "service/guard/guard_added_keys.h"

#include <string.h>

typedef struct added_key {
    struct added_key *next;
    guard_hash hash;
    int64_t added_at; /* milliseconds since 1970 UTC */
    bool is_in_file;  /* of the file that tamis__guard_added_keys_into was called for */
    bool is_absent;   /* the same file's filter does not have it */
    size_t size;
    unsigned char bytes[];
} added_key;

enum { BUCKETS_MIN = 64 };

static struct added_key **bucket_of(struct added_key **buckets, size_t count, guard_hash hash) {
    return &buckets[hash.low & (count - 1)];
}

static added_key *find_key(const guard_added_keys *added, guard_hash hash) {
    added_key *key = added->buckets ? *bucket_of(added->buckets, added->bucket_count, hash) : NULL;
    while (key && (key->hash.low != hash.low || key->hash.high != hash.high))
        key = key->next;
    return key;
}

bool tamis__guard_added_keys_contain(const guard_added_keys *added, guard_hash hash) {
    return find_key(added, hash);
}

void tamis__guard_added_keys_each(const guard_added_keys *added, void (*visit)(void *context, tamis_key key),
                                  void *context) {
    for (size_t i = 0; i < added->bucket_count; i++)
        for (const added_key *key = added->buckets[i]; key; key = key->next)
            visit(context, (tamis_key){key->bytes, key->size});
}

/* ---- adding and removing ---- */

static bool grow(guard_added_keys *added) {
    const size_t count = added->bucket_count ? 2 * added->bucket_count : BUCKETS_MIN;
    added_key **grown = tamis__alloc(added->memory, count * sizeof(added_key *), _Alignof(added_key *));
    if (!grown)
        return false;
    for (size_t i = 0; i < added->bucket_count; i++)
        for (added_key *key = added->buckets[i], *next; key; key = next) {
            added_key **bucket = bucket_of(grown, count, key->hash);
            next = key->next;
            key->next = *bucket;
            *bucket = key;
        }
    tamis__free(added->memory, added->buckets, added->bucket_count * sizeof(added_key *));
    added->buckets = grown;
    added->bucket_count = count;
    return true;
}

tamis_status tamis__guard_added_keys_add(guard_added_keys *added, tamis_key key, guard_hash hash, int64_t now,
                                         tamis_error *err) {
    added_key *known = find_key(added, hash);
    if (known) {
        known->added_at = now;
        return TAMIS_OK;
    }
    if (added->count >= added->bucket_count && !grow(added))
        return tamis__fail_nomem(err, "keys of puts", 2 * added->bucket_count * sizeof(added_key *));
    added_key *made = tamis__alloc(added->memory, sizeof *made + key.size, _Alignof(added_key));
    if (!made)
        return tamis__fail_nomem(err, "key of a put", sizeof *made + key.size);
    added_key **bucket = bucket_of(added->buckets, added->bucket_count, hash);
    made->next = *bucket;
    made->hash = hash;
    made->added_at = now;
    made->size = key.size;
    memcpy(made->bytes, key.data, key.size);
    *bucket = made;
    added->count++;
    return TAMIS_OK;
}

static void remove_keys(guard_added_keys *added, bool removes_all) {
    for (size_t i = 0; i < added->bucket_count; i++) {
        added_key **previous = &added->buckets[i];
        while (*previous) {
            added_key *key = *previous;
            if (!removes_all && !key->is_in_file) {
                previous = &key->next;
                continue;
            }
            *previous = key->next;
            tamis__free(added->memory, key, sizeof *key + key->size);
            added->count--;
        }
    }
}

void tamis__guard_added_keys_finish(guard_added_keys *added) {
    remove_keys(added, false);
}

void tamis__guard_added_keys_release(guard_added_keys *added) {
    remove_keys(added, true);
    tamis__free(added->memory, added->buckets, added->bucket_count * sizeof(added_key *));
    added->buckets = NULL;
    added->bucket_count = 0;
}

/* ---- filters ---- */

/* A key of a window expires, so it is not added there. */
static bool can_add(const tamis_filter *filter) {
    return tamis_filter_can(filter, TAMIS_CAN_ADD) && tamis_filter_plan(filter)->kind != TAMIS_KIND_WINDOW;
}

bool tamis__guard_added_keys_fit(tamis_filter *filter, tamis_key key) {
    tamis_answer answer;
    if (tamis_filter_contains_many(filter, &key, 1, &answer, NULL, NULL) == TAMIS_OK &&
        answer == TAMIS_PRESENT)
        return true;
    return can_add(filter) && tamis_filter_add_many(filter, &key, 1, &answer, NULL, NULL) == TAMIS_OK;
}

tamis_status tamis__guard_added_keys_into(guard_added_keys *added, tamis_filter *filter, int64_t created,
                                          bool *fits, tamis_error *err) {
    bool all_fit = true;
    /* All lookups come first: a key that is added may make another one a false positive. */
    for (size_t i = 0; i < added->bucket_count; i++)
        for (added_key *key = added->buckets[i]; key; key = key->next) {
            const tamis_key bytes = {key->bytes, key->size};
            tamis_answer answer;
            const tamis_status status = tamis_filter_contains_many(filter, &bytes, 1, &answer, NULL, err);
            if (status != TAMIS_OK)
                return status;
            key->is_absent = answer == TAMIS_ABSENT;
            key->is_in_file = !key->is_absent && created >= key->added_at + added->commit_ms;
        }
    for (size_t i = 0; i < added->bucket_count; i++)
        for (added_key *key = added->buckets[i]; key; key = key->next)
            if (key->is_absent)
                all_fit &= tamis__guard_added_keys_fit(filter, (tamis_key){key->bytes, key->size});
    *fits = all_fit;
    return TAMIS_OK;
}

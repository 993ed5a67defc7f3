/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Local marks: puts in progress in this process, in a table by hash. A local mark exists from before P1 until
 * after P4. If P4 never comes, the mark expires: by then the row is committed, or never will be (K2).
 */
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "service/guard/guard_int.h"
#include "service/guard/guard_lookups.h"

static guard_mark **mark_chain(guard_lookups *lookups, guard_hash hash) {
    return &lookups->mark_buckets[hash.low & (lookups->bucket_count - 1)];
}

static void remove_mark(guard_lookups *lookups, guard_mark **slot) {
    guard_mark *mark = *slot;
    *slot = mark->in_chain;
    tamis__free(&lookups->guard->memory, mark, sizeof *mark + mark->key_size);
}

bool tamis__guard_lookups_has_mark(guard_lookups *lookups, guard_hash hash, uint64_t now) {
    bool found = false;
    for (guard_mark **slot = mark_chain(lookups, hash); *slot;) {
        if ((*slot)->deadline <= now) {
            remove_mark(lookups, slot);
            continue;
        }
        found |= (*slot)->hash.low == hash.low && (*slot)->hash.high == hash.high;
        slot = &(*slot)->in_chain;
    }
    return found;
}

void tamis__guard_lookups_expire(guard_lookups *lookups, uint64_t now) {
    for (size_t i = 0; i < lookups->bucket_count; i++)
        if (lookups->mark_buckets[i])
            (void)tamis__guard_lookups_has_mark(lookups, (guard_hash){i, 0}, now);
}

guard_mark *tamis__guard_lookups_mark(guard_lookups *lookups, guard_hash hash, tamis_key key) {
    guard_mark *mark = tamis__alloc(&lookups->guard->memory, sizeof *mark + key.size, _Alignof(guard_mark));
    if (!mark)
        return NULL;
    memcpy(mark->key, key.data, key.size);
    mark->key_size = key.size;
    mark->hash = hash;
    mark->deadline = UINT64_MAX;
    pthread_mutex_lock(&lookups->mutex);
    guard_mark **chain = mark_chain(lookups, hash);
    mark->in_chain = *chain;
    *chain = mark;
    tamis__guard_lookups_forget(lookups, hash);
    pthread_mutex_unlock(&lookups->mutex);
    return mark;
}

/* The time of the caller begins a little later than that of the mark: a tenth more. */
static uint64_t mark_deadline(const guard_lookups *lookups) {
    const uint64_t life_ms = lookups->guard->options.mark_ms * (uint64_t)11 / 10;
    return tamis__now_ns() + (life_ms + (lookups->guard->news ? GUARD_PUT_WAIT_MS : 0)) * GUARD_NS_OF_MS;
}

/* Returns the pointer to a mark in its chain, by the token. If there is no such mark, the pointer is to NULL. */
static guard_mark **find_mark(guard_lookups *lookups, guard_hash hash,
                              const uint8_t token[TAMIS_GUARD_TOKEN]) {
    guard_mark **slot = mark_chain(lookups, hash);
    while (*slot && ((*slot)->deadline == UINT64_MAX || memcmp((*slot)->token, token, TAMIS_GUARD_TOKEN)))
        slot = &(*slot)->in_chain;
    return slot;
}

void tamis__guard_lookups_set_token(guard_lookups *lookups, guard_mark *mark,
                                    const uint8_t token[TAMIS_GUARD_TOKEN]) {
    pthread_mutex_lock(&lookups->mutex);
    if (token) {
        memcpy(mark->token, token, TAMIS_GUARD_TOKEN);
        mark->deadline = mark_deadline(lookups);
    } else {
        guard_mark **slot = mark_chain(lookups, mark->hash);
        while (*slot != mark)
            slot = &(*slot)->in_chain;
        remove_mark(lookups, slot);
    }
    pthread_mutex_unlock(&lookups->mutex);
}

bool tamis__guard_lookups_renew(guard_lookups *lookups, guard_hash hash,
                                const uint8_t token[TAMIS_GUARD_TOKEN]) {
    pthread_mutex_lock(&lookups->mutex);
    guard_mark *mark = *find_mark(lookups, hash, token);
    const bool is_there = mark && mark->deadline > tamis__now_ns();
    if (is_there)
        mark->deadline = mark_deadline(lookups);
    pthread_mutex_unlock(&lookups->mutex);
    return is_there;
}

void tamis__guard_lookups_unmark(guard_lookups *lookups, guard_hash hash,
                                 const uint8_t token[TAMIS_GUARD_TOKEN]) {
    pthread_mutex_lock(&lookups->mutex);
    guard_mark **slot = token ? find_mark(lookups, hash, token) : NULL;
    if (slot && *slot)
        remove_mark(lookups, slot);
    tamis__guard_lookups_forget(lookups, hash);
    pthread_mutex_unlock(&lookups->mutex);
}

void tamis__guard_lookups_each_mark(guard_lookups *lookups,
                                    void (*visit)(void *context, const guard_mark *mark), void *context) {
    pthread_mutex_lock(&lookups->mutex);
    for (size_t i = 0; i < lookups->bucket_count; i++)
        for (const guard_mark *mark = lookups->mark_buckets[i]; mark; mark = mark->in_chain)
            visit(context, mark);
    pthread_mutex_unlock(&lookups->mutex);
}

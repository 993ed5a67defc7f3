/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The batch of counters in memory.
 *
 *     table    | 0 | 2 | 0 | 1 | ...      index + 1, by the hash of the name; linear probing, at most half full
 *     entries  | hash, slot, count, name | ...
 *     names    clicks:2026-11-28clicks:2026-11-29...
 *
 * Adding up a million records of a hundred pages sends a hundred increments. Memory is kept from batch to
 * batch.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/memory.h"
#include "store/redis/counts/counts_batch.h"

/* Returns where the name is in the table, or where it belongs. */
static size_t find(const counts_batch *batch, uint64_t hash, tamis_key name) {
    size_t pos = hash & (batch->table_size - 1);

    for (; batch->table[pos] > 0; pos = (pos + 1) & (batch->table_size - 1)) {
        const counts_entry *entry = &batch->entries[batch->table[pos] - 1];
        if (entry->hash == hash && entry->size == name.size &&
            memcmp(batch->names + entry->name, name.data, name.size) == 0)
            break;
    }
    return pos;
}

/* Makes the table large enough for one more entry. */
static bool reserve_table(counts_batch *batch, const tamis_allocator *allocator) {
    const size_t size = batch->table_size > 0 ? 2 * batch->table_size : 1024;

    if (2 * (batch->count + 1) <= batch->table_size)
        return true;
    uint32_t *table = tamis__alloc(allocator, size * sizeof *table, _Alignof(uint32_t));
    if (!table)
        return false;
    tamis__free(allocator, batch->table, batch->table_size * sizeof *table);
    batch->table = table;
    batch->table_size = size;
    for (size_t i = 0; i < batch->count; i++) {
        size_t pos = batch->entries[i].hash & (size - 1);
        while (table[pos] > 0)
            pos = (pos + 1) & (size - 1);
        table[pos] = (uint32_t)i + 1;
    }
    return true;
}

/* Makes all arrays large enough for one more entry. */
static bool reserve(counts_batch *batch, const tamis_allocator *allocator, size_t name_size) {
    counts_entry *entries =
        tamis__array_reserve(allocator, batch->entries, sizeof *entries, batch->count + 1, &batch->capacity);

    if (!entries)
        return false;
    batch->entries = entries;
    char *names = tamis__array_reserve(allocator, batch->names, 1, batch->name_bytes + name_size,
                                       &batch->name_capacity);
    if (!names)
        return false;
    batch->names = names;
    return reserve_table(batch, allocator);
}

tamis_status tamis__counts_batch_add(counts_batch *batch, const tamis_allocator *allocator, tamis_key name,
                                     uint32_t slot, uint64_t count, tamis_error *err) {
    const uint64_t hash = XXH3_64bits(name.data, name.size);

    if (!reserve(batch, allocator, name.size))
        return tamis__fail_nomem(err, "counters", name.size + sizeof(counts_entry));
    const size_t pos = find(batch, hash, name);
    if (batch->table[pos] > 0) {
        batch->entries[batch->table[pos] - 1].count += count;
        return TAMIS_OK;
    }
    memcpy(batch->names + batch->name_bytes, name.data, name.size);
    batch->entries[batch->count] = (counts_entry){
        .hash = hash, .count = count, .name = batch->name_bytes, .size = (uint32_t)name.size, .slot = slot};
    batch->name_bytes += name.size;
    batch->table[pos] = (uint32_t)++batch->count;
    return TAMIS_OK;
}

static int compare_slots(const void *a, const void *b) {
    const counts_entry *first = a, *second = b;

    return (first->slot > second->slot) - (first->slot < second->slot);
}

void tamis__counts_batch_sort(counts_batch *batch) {
    if (batch->count > 1)
        qsort(batch->entries, batch->count, sizeof *batch->entries, compare_slots);
}

void tamis__counts_batch_clear(counts_batch *batch) {
    batch->count = batch->name_bytes = 0;
    if (batch->table)
        memset(batch->table, 0, batch->table_size * sizeof *batch->table);
}

void tamis__counts_batch_release(counts_batch *batch, const tamis_allocator *allocator) {
    tamis__free(allocator, batch->entries, batch->capacity * sizeof *batch->entries);
    tamis__free(allocator, batch->names, batch->name_capacity);
    tamis__free(allocator, batch->table, batch->table_size * sizeof *batch->table);
    *batch = (counts_batch){0};
}

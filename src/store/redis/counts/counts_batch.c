/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The batch of counters in memory.
 *
 *     table    | 0 | 2 | 0 | 1 | ...      index + 1, by the hash; linear probing, at most half full
 *     entries  | hash, slot, count, name | hash, slot, name and element | ...
 *     bytes    clicks:2026-11-28users:2026-11-28ada...
 *
 * Adding up a million records of a hundred pages sends a hundred increments. An element of a HyperLogLog is
 * sent once, however often it came. Memory is kept from batch to batch.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/memory.h"
#include "store/redis/counts/counts_int.h"

/* Returns where the contribution is in the table, or where it belongs. */
static size_t find_entry(const counts_batch *batch, uint64_t hash, const tamis__contribution *added) {
    size_t pos = hash & (batch->table_size - 1);

    for (; batch->table[pos] > 0; pos = (pos + 1) & (batch->table_size - 1)) {
        const counts_entry *entry = &batch->entries[batch->table[pos] - 1];
        const char *bytes = batch->bytes + entry->name;
        if (entry->hash == hash && entry->is_element == (added->element.data != NULL) &&
            entry->size == added->counter.size && entry->element_size == added->element.size &&
            memcmp(bytes, added->counter.data, entry->size) == 0 &&
            (entry->element_size == 0 ||
             memcmp(bytes + entry->size, added->element.data, entry->element_size) == 0))
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
static bool reserve_entry(counts_batch *batch, const tamis_allocator *allocator, size_t size) {
    counts_entry *entries =
        tamis__array_reserve(allocator, batch->entries, sizeof *entries, batch->count + 1, &batch->capacity);

    if (!entries)
        return false;
    batch->entries = entries;
    char *bytes =
        tamis__array_reserve(allocator, batch->bytes, 1, batch->byte_count + size, &batch->byte_capacity);
    if (!bytes)
        return false;
    batch->bytes = bytes;
    return reserve_table(batch, allocator);
}

/* Adds `count` to that of an entry. */
static tamis_status add_count(counts_entry *entry, const tamis__contribution *added, tamis_error *err) {
    if (!__builtin_add_overflow(entry->count, added->count, &entry->count))
        return TAMIS_OK;
    return tamis__fail(
        err, TAMIS_E_MISMATCH, 0,
        "%.*s: the sum of a batch would exceed 64 bits; send batches more often, or correct the "
        "sender",
        (int)(added->counter.size < 150 ? added->counter.size : 150), (const char *)added->counter.data);
}

tamis_status tamis__counts_batch_add(counts_batch *batch, const tamis_allocator *allocator,
                                     const tamis__contribution *added, uint32_t slot, tamis_error *err) {
    const tamis_key name = added->counter, element = added->element;
    const uint64_t name_hash = XXH3_64bits(name.data, name.size);
    const uint64_t hash =
        element.data ? XXH3_64bits_withSeed(element.data, element.size, name_hash) : name_hash;

    if (!reserve_entry(batch, allocator, name.size + element.size))
        return tamis__fail_nomem(err, "counters", name.size + element.size + sizeof(counts_entry));
    const size_t pos = find_entry(batch, hash, added);
    if (batch->table[pos] > 0)
        return add_count(&batch->entries[batch->table[pos] - 1], added, err);
    memcpy(batch->bytes + batch->byte_count, name.data, name.size);
    if (element.size > 0)
        memcpy(batch->bytes + batch->byte_count + name.size, element.data, element.size);
    batch->entries[batch->count] = (counts_entry){.hash = hash,
                                                  .name_hash = name_hash,
                                                  .count = added->count,
                                                  .expires = added->expires,
                                                  .name = batch->byte_count,
                                                  .size = (uint32_t)name.size,
                                                  .element_size = (uint32_t)element.size,
                                                  .slot = slot,
                                                  .is_element = element.data != NULL};
    batch->byte_count += name.size + element.size;
    batch->table[pos] = (uint32_t)++batch->count;
    return TAMIS_OK;
}

/* Names are compared by their hash. Two names with the same hash could alternate: their counters are then
 * sent in several parts. */
static int compare_entries(const void *a, const void *b) {
    const counts_entry *first = a, *second = b;

    if (first->slot != second->slot)
        return first->slot < second->slot ? -1 : 1;
    if (first->is_element != second->is_element)
        return first->is_element ? 1 : -1;
    return (first->name_hash > second->name_hash) - (first->name_hash < second->name_hash);
}

void tamis__counts_batch_sort(counts_batch *batch) {
    if (batch->count > 1)
        qsort(batch->entries, batch->count, sizeof *batch->entries, compare_entries);
}

void tamis__counts_batch_clear(counts_batch *batch) {
    batch->count = batch->byte_count = 0;
    if (batch->table)
        memset(batch->table, 0, batch->table_size * sizeof *batch->table);
}

void tamis__counts_batch_release(counts_batch *batch, const tamis_allocator *allocator) {
    tamis__free(allocator, batch->entries, batch->capacity * sizeof *batch->entries);
    tamis__free(allocator, batch->bytes, batch->byte_capacity);
    tamis__free(allocator, batch->table, batch->table_size * sizeof *batch->table);
    *batch = (counts_batch){0};
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables of RedisBloom's cuckoo filter: memory, growth, limits and checks. redisbloom_cuckoo.c puts keys
 * into them.
 *
 *     tables    | 0: buckets | 1: buckets * e | 2: buckets * e^2 |       e: expansion
 *     bytes     <------------------ filter->bytes --------------->       all slots, one byte each
 *     loaded    <---- filter->loaded ---->                               less only while chunks are loaded
 *
 * A created filter and one that grows get whole tables at once. A filter from outside gets its sizes first
 * (tamis__rbc_append_checked), and its slots later, table by table. So no table has slots unless the sizes of
 * all tables are valid, and copying and freeing accept tables without slots.
 *
 * A failure leaves the tables as they were: append_empty removes the table whose slots could not be
 * allocated.
 */
#include <inttypes.h>
#include <string.h>

#include "base/versioned.h"
#include "filter/compat/redisbloom_tables.h"

enum {
    FILTER_BYTES = 56, /* size of a filter as RedisBloom reports it */
    TABLE_BYTES = 16   /* size of a table likewise, besides its slots */
};

/* ---- memory ---- */

tamis_status tamis__rbc_create_empty(tamis_redisbloom_cuckoo **filter, const tamis_allocator *allocator,
                                     tamis_error *err) {
    const tamis_allocator resolved = tamis__allocator_resolve(allocator);
    tamis_redisbloom_cuckoo *created =
        tamis__alloc(&resolved, sizeof *created, _Alignof(tamis_redisbloom_cuckoo));
    if (!created)
        return tamis__fail_nomem(err, "redisbloom cuckoo", sizeof *created);
    created->allocator = resolved;
    *filter = created;
    return TAMIS_OK;
}

/* Appends a table without slots. */
static tamis_status append(tamis_redisbloom_cuckoo *filter, uint64_t buckets, tamis_error *err) {
    tamis__rbc_table *grown = tamis__array_reserve(&filter->allocator, filter->tables, sizeof *grown,
                                                   filter->count + 1, &filter->allocated);
    if (!grown)
        return tamis__fail_nomem(err, "redisbloom cuckoo", (filter->count + 1) * sizeof *grown);
    filter->tables = grown;
    grown[filter->count++] = (tamis__rbc_table){buckets, NULL};
    filter->bytes += buckets * filter->bucket_size;
    return TAMIS_OK;
}

tamis_status tamis__rbc_allocate_slots(tamis_redisbloom_cuckoo *filter, size_t index, tamis_error *err) {
    const uint64_t bytes = tamis__rbc_table_bytes(filter, index);
    filter->tables[index].slots = tamis__alloc(&filter->allocator, bytes, 1);
    return filter->tables[index].slots ? TAMIS_OK : tamis__fail_nomem(err, "redisbloom cuckoo", bytes);
}

void tamis__rbc_drop_newest(tamis_redisbloom_cuckoo *filter) {
    const uint64_t bytes = tamis__rbc_table_bytes(filter, filter->count - 1);
    tamis__free(&filter->allocator, filter->tables[filter->count - 1].slots, bytes);
    filter->count--;
    filter->bytes -= bytes;
}

/* True if a table of `buckets` is below 2^32 slots. */
static bool is_small_enough(const tamis_redisbloom_cuckoo *filter, uint64_t buckets) {
    return buckets <= UINT32_MAX / filter->bucket_size;
}

/* Appends an empty table with this number of buckets. On failure the filter is unchanged. */
static tamis_status append_empty(tamis_redisbloom_cuckoo *filter, uint64_t buckets, tamis_error *err) {
    tamis_status status = append(filter, buckets, err);
    if (status != TAMIS_OK)
        return status;
    status = tamis__rbc_allocate_slots(filter, filter->count - 1, err);
    if (status != TAMIS_OK)
        tamis__rbc_drop_newest(filter);
    else
        filter->loaded = filter->bytes;
    return status;
}

tamis_status tamis__rbc_grow(tamis_redisbloom_cuckoo *filter, tamis_error *err) {
    if (filter->expansion == 0)
        return tamis__fail(err, TAMIS_E_FULL, 0,
                           "redisbloom cuckoo: full with %" PRIu64 " keys; make a larger filter",
                           filter->keys);
    const uint64_t buckets = filter->tables[filter->count - 1].buckets * filter->expansion;
    if (filter->count == TAMIS__RBC_TABLES_MAX || !is_small_enough(filter, buckets))
        return tamis__fail(
            err, TAMIS_E_FULL, 0,
            "redisbloom cuckoo: %zu tables, and no further one is possible; make a larger filter",
            filter->count);
    return append_empty(filter, buckets, err);
}

/* Returns the least power of two that is not less, 0 for 0. */
static uint64_t power_of_two_from(uint64_t number) {
    uint64_t power = number > 0;
    while (power < number)
        power *= 2;
    return power;
}

static bool is_power_of_two(uint64_t number) {
    return number != 0 && (number & (number - 1)) == 0;
}

tamis_status tamis_redisbloom_cuckoo_create(tamis_redisbloom_cuckoo **filter,
                                            const tamis_redisbloom_cuckoo_options *options,
                                            tamis_error *err) {
    TAMIS__NEED(filter, err);
    tamis_redisbloom_cuckoo_options given = TAMIS_REDISBLOOM_CUCKOO_OPTIONS_INIT;
    tamis_status status =
        tamis__read_options(&given, sizeof given, options, "TAMIS_REDISBLOOM_CUCKOO_OPTIONS_INIT", err);
    if (status != TAMIS_OK)
        return status;
    if (given.bucket_size < 1 || given.bucket_size > TAMIS__RBC_BUCKET_MAX || given.max_iterations < 1 ||
        given.max_iterations > TAMIS__RBC_ITERATIONS_MAX || given.expansion > TAMIS__RBC_EXPANSION_MAX)
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "redisbloom cuckoo: an option is out of range; give 1 to 255 slots a bucket, 1 to "
                           "65535 iterations, an expansion up to 32768");
    const uint64_t buckets =
        given.capacity > UINT32_MAX ? UINT64_MAX : power_of_two_from(given.capacity / given.bucket_size);
    tamis_redisbloom_cuckoo *created;
    if (buckets > UINT32_MAX / given.bucket_size)
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "redisbloom cuckoo: a capacity of %" PRIu64 " needs 2^32 slots or more; give less",
                           given.capacity);
    status = tamis__rbc_create_empty(&created, given.allocator, err);
    if (status != TAMIS_OK)
        return status;
    created->buckets = buckets ? buckets : 1;
    created->bucket_size = given.bucket_size;
    created->max_iterations = given.max_iterations;
    created->expansion = (uint32_t)power_of_two_from(given.expansion);
    status = append_empty(created, created->buckets, err);
    if (status != TAMIS_OK) {
        tamis_redisbloom_cuckoo_free(created);
        return status;
    }
    *filter = created;
    return TAMIS_OK;
}

void tamis_redisbloom_cuckoo_free(tamis_redisbloom_cuckoo *filter) {
    if (!filter)
        return;
    while (filter->count > 0)
        tamis__rbc_drop_newest(filter);
    tamis__free(&filter->allocator, filter->tables, filter->allocated * sizeof *filter->tables);
    const tamis_allocator allocator = filter->allocator;
    tamis__free(&allocator, filter, sizeof *filter);
}

/* Copies the tables of `from` to the filter `to`, which has none. */
static tamis_status copy_tables(tamis_redisbloom_cuckoo *to, const tamis_redisbloom_cuckoo *from,
                                tamis_error *err) {
    for (size_t i = 0; i < from->count; i++) {
        tamis_status status = append(to, from->tables[i].buckets, err);
        if (status == TAMIS_OK && from->tables[i].slots)
            status = tamis__rbc_allocate_slots(to, i, err);
        if (status != TAMIS_OK)
            return status;
        if (from->tables[i].slots)
            memcpy(to->tables[i].slots, from->tables[i].slots, tamis__rbc_table_bytes(from, i));
    }
    return TAMIS_OK;
}

tamis_status tamis_redisbloom_cuckoo_copy(tamis_redisbloom_cuckoo **copy,
                                          const tamis_redisbloom_cuckoo *filter, tamis_error *err) {
    TAMIS__NEED(copy, err);
    TAMIS__NEED(filter, err);
    tamis_redisbloom_cuckoo *created;
    tamis_status status = tamis__rbc_create_empty(&created, &filter->allocator, err);
    if (status != TAMIS_OK)
        return status;
    created->keys = filter->keys;
    created->removed = filter->removed;
    created->buckets = filter->buckets;
    created->bucket_size = filter->bucket_size;
    created->max_iterations = filter->max_iterations;
    created->expansion = filter->expansion;
    created->loaded = filter->loaded;
    status = copy_tables(created, filter, err);
    if (status != TAMIS_OK) {
        tamis_redisbloom_cuckoo_free(created);
        return status;
    }
    *copy = created;
    return TAMIS_OK;
}

void tamis_redisbloom_cuckoo_relocate(tamis_redisbloom_cuckoo **filter, tamis_redisbloom_mover move,
                                      void *context) {
    tamis_redisbloom_cuckoo *cuckoo = *filter = tamis__moved(*filter, move, context);
    cuckoo->tables = tamis__moved(cuckoo->tables, move, context);
    for (size_t i = 0; i < cuckoo->count; i++)
        cuckoo->tables[i].slots = tamis__moved(cuckoo->tables[i].slots, move, context);
}

/* ---- checks of filters from outside ---- */

static tamis_status damaged(tamis_error *err, const char *field) {
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "redisbloom cuckoo: %s is not that of a filter; dump the filter again", field);
}

tamis_status tamis__rbc_append_checked(tamis_redisbloom_cuckoo *filter, uint64_t count, tamis_error *err) {
    if (!is_power_of_two(filter->buckets))
        return damaged(err, "the number of buckets");
    if (filter->bucket_size < 1 || filter->bucket_size > TAMIS__RBC_BUCKET_MAX)
        return damaged(err, "the size of a bucket");
    if (filter->max_iterations < 1 || filter->max_iterations > TAMIS__RBC_ITERATIONS_MAX)
        return damaged(err, "the number of iterations");
    if (filter->expansion > TAMIS__RBC_EXPANSION_MAX ||
        (filter->expansion && !is_power_of_two(filter->expansion)))
        return damaged(err, "the expansion");
    if (count < 1 || count > TAMIS__RBC_TABLES_MAX || (count > 1 && filter->expansion == 0))
        return damaged(err, "the number of filters");
    uint64_t buckets = filter->buckets;
    for (uint64_t i = 0; i < count; i++, buckets *= filter->expansion) {
        if (!is_small_enough(filter, buckets))
            return tamis__fail(
                err, TAMIS_E_UNSUPPORTED, 0,
                "redisbloom cuckoo: a table has 2^32 slots or more; add the items to filters of "
                "fewer items");
        const tamis_status status = append(filter, buckets, err);
        if (status != TAMIS_OK)
            return status;
    }
    if (filter->keys > filter->bytes)
        return damaged(err, "the number of items");
    return filter->removed <= INT64_MAX ? TAMIS_OK : damaged(err, "the number of deleted items");
}

tamis_status tamis__rbc_check_complete(const tamis_redisbloom_cuckoo *filter, tamis_error *err) {
    if (filter->loaded == filter->bytes)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "redisbloom cuckoo: only %" PRIu64 " of %" PRIu64
                       " bytes are loaded; load the other chunks",
                       filter->loaded, filter->bytes);
}

/* ---- reports ---- */

tamis_status tamis_redisbloom_cuckoo_info_get(const tamis_redisbloom_cuckoo *filter,
                                              tamis_redisbloom_cuckoo_info *info, tamis_error *err) {
    TAMIS__NEED(filter, err);
    tamis_redisbloom_cuckoo_info created = TAMIS_REDISBLOOM_CUCKOO_INFO_INIT;
    const tamis_status status = tamis__check_struct(info, "TAMIS_REDISBLOOM_CUCKOO_INFO_INIT", err);
    if (status != TAMIS_OK)
        return status;
    created.bucket_size = filter->bucket_size;
    created.max_iterations = filter->max_iterations;
    created.expansion = filter->expansion;
    created.complete = filter->loaded == filter->bytes;
    created.keys = filter->keys;
    created.removed = filter->removed;
    created.buckets = filter->buckets;
    created.tables = filter->count;
    created.bytes = filter->bytes;
    created.loaded = filter->loaded;
    created.size = FILTER_BYTES + TABLE_BYTES * created.tables + filter->bytes;
    created.memory = sizeof *filter + filter->allocated * sizeof *filter->tables;
    for (size_t i = 0; i < filter->count; i++)
        created.memory += filter->tables[i].slots ? tamis__rbc_table_bytes(filter, i) : 0;
    tamis__write_struct(info, &created, sizeof created);
    return TAMIS_OK;
}

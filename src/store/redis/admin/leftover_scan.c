/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The Redis keys that redis_leftover.c looks at: partitions and hashes whose NAME matches a pattern. They are
 * found by two SCANs, sorted, and each is there once.
 *
 *     text          tamis:{seen:beef:0}:bits | tamis:{seen} | tamis:{seen:beef:1}:bits | ...
 *     partitions    ^ key, key_size                           ^ key, key_size
 *     hashes                                   ^ key, key_size
 *
 * Sorting puts the partitions of a generation side by side, and the generations of a name.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/redis/admin/redis_manage.h"

static bool read_key(tamis__leftover_key *to, const char *key, size_t size) {
    size_t name_end;
    if (!tamis__partition_name_read(key, size, &name_end, &to->generation))
        return false;
    to->name_size = name_end - TAMIS__LEFTOVER_PREFIX;
    return true;
}

/* True if the name may be a filter's, and matches the caller's pattern. The server's pattern for NAME also
 * finds NAME:MORE. */
static bool is_wanted(const tamis__leftover_keys *found, const char *name, size_t size) {
    char pattern[TAMIS__REDIS_NAME + 1], text[TAMIS__REDIS_NAME + 1];
    if (size > TAMIS__REDIS_NAME)
        return false;
    if (found->rf->uri->name_size == 0)
        return true;
    snprintf(pattern, sizeof pattern, "%.*s", (int)found->rf->uri->name_size, found->rf->uri->name);
    snprintf(text, sizeof text, "%.*s", (int)size, name);
    return fnmatch(pattern, text, 0) == 0;
}

/* Appends an entry with the Redis key `key`. */
static tamis_status add_key(tamis__leftover_keys *found, tamis__leftover_list *list, const char *key,
                            tamis__leftover_key added, tamis_error *err) {
    const tamis_allocator *allocator = &found->rf->redis->allocator;
    added.key = found->text_used;
    char *text =
        tamis__array_reserve(allocator, found->text, 1, added.key + added.key_size, &found->text_size);
    if (!text)
        return tamis__fail_nomem(err, "redis", added.key + added.key_size);
    found->text = text;
    tamis__leftover_key *keys =
        tamis__array_reserve(allocator, list->keys, sizeof *keys, list->count + 1, &list->capacity);
    if (!keys)
        return tamis__fail_nomem(err, "redis", (list->count + 1) * sizeof *keys);
    list->keys = keys;
    memcpy(found->text + found->text_used, key, added.key_size);
    found->text_used += added.key_size;
    list->keys[list->count++] = added;
    return TAMIS_OK;
}

static tamis_status add_partition(void *context, const char *key, size_t size, tamis_error *err) {
    tamis__leftover_keys *found = context;
    tamis__leftover_key added = {.key_size = size};
    if (!read_key(&added, key, size) || !is_wanted(found, key + TAMIS__LEFTOVER_PREFIX, added.name_size))
        return TAMIS_OK;
    return add_key(found, &found->partitions, key, added, err);
}

static tamis_status add_hash(void *context, const char *key, size_t size, tamis_error *err) {
    tamis__leftover_keys *found = context;
    if (size <= TAMIS__LEFTOVER_PREFIX + 1 || key[size - 1] != '}' ||
        !is_wanted(found, key + TAMIS__LEFTOVER_PREFIX, size - TAMIS__LEFTOVER_PREFIX - 1))
        return TAMIS_OK;
    const tamis__leftover_key added = {.key_size = size, .name_size = size - TAMIS__LEFTOVER_PREFIX - 1};
    return add_key(found, &found->hashes, key, added, err);
}

static int compare(const void *left, const void *right, void *context) {
    const tamis__leftover_key *a = left, *b = right;
    const char *text = context;
    const size_t size = a->key_size < b->key_size ? a->key_size : b->key_size;
    const int order = memcmp(text + a->key, text + b->key, size);
    return order != 0 ? order : a->key_size < b->key_size ? -1 : a->key_size > b->key_size;
}

/* Sorts a list and removes equal keys, since SCAN may return a key twice. */
static void sort_keys(tamis__leftover_list *list, char *text) {
    tamis__leftover_key *keys = list->keys;
    size_t kept = list->count > 0;
    if (list->count > 1)
        qsort_r(keys, list->count, sizeof *keys, compare, text);
    for (size_t i = 1; i < list->count; i++)
        if (compare(&keys[kept - 1], &keys[i], text) != 0)
            keys[kept++] = keys[i];
    list->count = kept;
}

tamis_status tamis__leftover_scan(tamis__leftover_keys *found, const tamis__redis_filter *rf,
                                  tamis_error *err) {
    char strings[TAMIS__REDIS_KEY + 16], hashes[TAMIS__REDIS_KEY + 16];
    const tamis__redis_uri *uri = rf->uri;
    const char *name = uri->name_size > 0 ? uri->name : "*";
    const int size = uri->name_size > 0 ? (int)uri->name_size : 1;
    const int string_size = snprintf(strings, sizeof strings, "tamis:{%.*s:*}:bits", size, name);
    const int hash_size = snprintf(hashes, sizeof hashes, "tamis:{%.*s}", size, name);
    const tamis__scan scans[] = {{.pattern = strings, (size_t)string_size, "string", add_partition, found},
                                 {.pattern = hashes, (size_t)hash_size, "hash", add_hash, found}};
    found->rf = rf;
    tamis_status status = tamis__redis_scan(rf->redis, &scans[0], err);
    if (status == TAMIS_OK)
        status = tamis__redis_scan(rf->redis, &scans[1], err);
    if (status != TAMIS_OK)
        return status;
    sort_keys(&found->partitions, found->text);
    sort_keys(&found->hashes, found->text);
    return TAMIS_OK;
}

void tamis__leftover_scan_free(tamis__leftover_keys *found, const tamis_allocator *allocator) {
    tamis__free(allocator, found->hashes.keys, found->hashes.capacity * sizeof *found->hashes.keys);
    tamis__free(allocator, found->partitions.keys,
                found->partitions.capacity * sizeof *found->partitions.keys);
    tamis__free(allocator, found->text, found->text_size);
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The filter in the Redis of a guard.
 *
 *     Redis thread --> lookups: keys of a batch, before it gets their entries
 *     writers      --> adds: P1 of a put
 *
 * A handle of a filter is for one thread, so there are two. After an error of the filter itself, a handle is
 * closed. The next call opens it again: somebody may have made the filter again.
 *
 * A lost filter must not answer: it would say of each row that it does not exist. Layout tamis notices lost
 * parts in each batch. The bits of other layouts look like those of an empty filter when they are lost.
 */
#include "service/guard/guard_redis_filter.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <tamis/file.h>

#include "base/memory.h"
#include "base/system.h"
#include "base/thread.h"
#include "service/guard/guard_filter_file.h"
#include "service/guard/guard_int.h"
#include "store/file/file_error.h"
#include "store/redis/filter/redis_filter.h"

struct guard_redis_filter {
    const tamis_allocator *memory;
    tamis_redis *redis;
    tamis_filter *lookups, *adds; /* NULL: to be opened */
    pthread_mutex_t adding;       /* of `adds` */
    /* result of the last lookup */
    atomic_bool works;
    pthread_mutex_t mutex; /* of the fields down to opened_at; `works` is read without it */
    pthread_cond_t cond;
    bool is_tried;
    tamis_error why; /* TAMIS_OK: it works, or was never tried */
    uint64_t opened, failed;
    int64_t opened_at; /* milliseconds since 1970 UTC */
    /* fixed */
    size_t secret_size, name_size, size; /* name_size: with its NUL; size: of the whole block */
    char name[];                         /* the secret follows */
};

static tamis_status check_layout(const char *name, const tamis_filter *filter, tamis_error *err) {
    const char *layout = tamis_redis_filter_layout(filter);
    if (!layout)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "%s: is a filter of RedisBloom or of the Redis module, which can only be copied; "
                           "copy it with tamis copy, and set filter_file to that file",
                           tamis__show(name).text);
    if (strcmp(layout, "tamis") != 0)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "%s: layout %s does not notice that its bits are lost; use layout tamis, or copy "
                           "it with tamis copy, and set filter_file to that file",
                           tamis__show(name).text, layout);
    return TAMIS_OK;
}

static tamis_status check_name(tamis_redis *redis, const char *name, const tamis_allocator *memory,
                               tamis_error *err) {
    tamis_filter *named;
    tamis_status status = tamis__redis_name(&named, redis, name, memory, err);
    if (status != TAMIS_OK)
        return status;
    status = check_layout(name, named, err);
    tamis_filter_free(named);
    return status;
}

tamis_status tamis__guard_redis_filter_create(guard_redis_filter **filter, tamis_redis *redis,
                                              const tamis_guard_options *options,
                                              const tamis_allocator *memory, tamis_error *err) {
    const size_t name_size = strlen(options->redis_filter) + 1, secret_size = options->filter_secret_size;
    const size_t size = sizeof(guard_redis_filter) + name_size + secret_size;
    guard_redis_filter *made = tamis__alloc(memory, size, _Alignof(guard_redis_filter));
    if (!made)
        return tamis__fail_nomem(err, options->redis_filter, size);
    const tamis_status status = check_name(redis, options->redis_filter, memory, err);
    if (status != TAMIS_OK) {
        tamis__free(memory, made, size);
        return status;
    }
    made->memory = memory;
    made->redis = redis;
    made->secret_size = secret_size;
    made->name_size = name_size;
    made->size = size;
    made->why = (tamis_error)TAMIS_ERROR_INIT;
    memcpy(made->name, options->redis_filter, name_size);
    if (secret_size)
        memcpy(made->name + name_size, options->filter_secret, secret_size);
    (void)pthread_mutex_init(&made->adding, NULL);
    (void)pthread_mutex_init(&made->mutex, NULL);
    tamis__cond_init(&made->cond);
    *filter = made;
    return TAMIS_OK;
}

void tamis__guard_redis_filter_free(guard_redis_filter *filter) {
    if (!filter)
        return;
    const tamis_allocator *memory = filter->memory;
    const size_t size = filter->size;
    tamis_filter_free(filter->lookups);
    tamis_filter_free(filter->adds);
    pthread_cond_destroy(&filter->cond);
    pthread_mutex_destroy(&filter->mutex);
    pthread_mutex_destroy(&filter->adding);
    explicit_bzero(filter, size);
    tamis__free(memory, filter, size);
}

/* ---- handles ---- */

static tamis_status check_secret(const guard_redis_filter *filter, const tamis_filter *opened,
                                 tamis_error *err) {
    if (filter->secret_size == 0 || opened->plan.scheme == TAMIS_SCHEME_SIP)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_INVALID, 0, "%s: was made without a secret; leave the secret out",
                       tamis__show(filter->name).text);
}

/* Opens a handle that is not open. */
static tamis_status open_handle(guard_redis_filter *filter, tamis_filter **handle, tamis_error *err) {
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    tamis_filter *opened;
    bool is_replaced; /* during the check: the next batch follows the new filter */
    if (*handle)
        return TAMIS_OK;
    options.secret = filter->secret_size ? filter->name + filter->name_size : NULL;
    options.secret_size = filter->secret_size;
    options.allocator = filter->memory;
    tamis_status status = tamis_redis_filter_open(&opened, filter->redis, filter->name, &options, err);
    if (status != TAMIS_OK)
        return status;
    status = check_layout(filter->name, opened, err);
    if (status == TAMIS_OK)
        status = check_secret(filter, opened, err);
    if (status == TAMIS_OK) /* of all parts: a lookup checks those of its keys alone */
        status = tamis__redis_check(opened, false, &is_replaced, err);
    if (status == TAMIS_OK)
        status = tamis_filter_metadata_get(opened, &metadata, err);
    if (status == TAMIS_OK)
        status = tamis__guard_filter_check_keys(filter->name, opened, metadata.key_type, err);
    if (status == TAMIS_OK)
        *handle = opened;
    else
        tamis_filter_free(opened);
    return status;
}

static bool is_unreachable(tamis_status status) {
    return status == TAMIS_E_IO || status == TAMIS_E_TIMEOUT;
}

/* After a failure, closes the handle unless the server is the reason, or a full filter. */
static void close_failed(tamis_filter **handle, tamis_status status) {
    if (status == TAMIS_OK || status == TAMIS_E_NOMEM || status == TAMIS_E_FULL || is_unreachable(status))
        return;
    tamis_filter_free(*handle);
    *handle = NULL;
}

/* Stores the result of a lookup, or of an add that failed. */
static void note_result(guard_redis_filter *filter, tamis_status status, const tamis_error *why) {
    const bool works = status == TAMIS_OK;
    pthread_mutex_lock(&filter->mutex);
    if (works && !atomic_load(&filter->works)) {
        filter->opened++;
        filter->opened_at = tamis__sys.now_unix_ms();
    }
    filter->failed += !works;
    filter->why = works ? (tamis_error)TAMIS_ERROR_INIT : *why;
    filter->is_tried = true;
    atomic_store(&filter->works, works);
    pthread_cond_broadcast(&filter->cond);
    pthread_mutex_unlock(&filter->mutex);
}

tamis_status tamis__guard_redis_filter_find(guard_redis_filter *filter, const tamis_key *keys, size_t count,
                                            tamis_answer *answers, tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = open_handle(filter, &filter->lookups, &why);
    if (status == TAMIS_OK)
        status = tamis_filter_contains_many(filter->lookups, keys, count, answers, NULL, &why);
    close_failed(&filter->lookups, status);
    if (status != TAMIS_OK || !atomic_load_explicit(&filter->works, memory_order_relaxed))
        note_result(filter, status, &why);
    return status == TAMIS_OK ? TAMIS_OK : tamis__fail(err, status, why.sys_errno, "%s", why.text);
}

/* A full filter refuses keys, else its rate would rise unseen. */
static tamis_status open_for_adds(guard_redis_filter *filter, tamis_error *err) {
    if (filter->adds)
        return TAMIS_OK;
    tamis_filter *opened = NULL;
    tamis_status status = open_handle(filter, &opened, err);
    if (status == TAMIS_OK)
        status = tamis_redis_filter_enforce_capacity(opened, err);
    if (status == TAMIS_OK)
        filter->adds = opened;
    else
        tamis_filter_free(opened);
    return status;
}

tamis_status tamis__guard_redis_filter_add(guard_redis_filter *filter, tamis_key key, tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_answer answer;
    pthread_mutex_lock(&filter->adding);
    /* While lookups fail, writers must not wait one after another. */
    tamis_status status = tamis__guard_redis_filter_error(filter, &why);
    if (status == TAMIS_OK)
        status = open_for_adds(filter, &why);
    if (status == TAMIS_OK)
        status = tamis_filter_add_many(filter->adds, &key, 1, &answer, NULL, &why);
    close_failed(&filter->adds, status);
    if (is_unreachable(status) && tamis__guard_redis_filter_works(filter))
        note_result(filter, status, &why);
    pthread_mutex_unlock(&filter->adding);
    return status == TAMIS_OK ? TAMIS_OK : tamis__fail(err, status, why.sys_errno, "%s", why.text);
}

/* ---- state ---- */

bool tamis__guard_redis_filter_works(guard_redis_filter *filter) {
    return atomic_load_explicit(&filter->works, memory_order_relaxed);
}

tamis_status tamis__guard_redis_filter_error(guard_redis_filter *filter, tamis_error *err) {
    pthread_mutex_lock(&filter->mutex);
    const tamis_error why = filter->why;
    pthread_mutex_unlock(&filter->mutex);
    return guard_report_error(&why, err);
}

tamis_status tamis__guard_redis_filter_wait(guard_redis_filter *filter, uint32_t timeout_ms,
                                            tamis_error *err) {
    const uint64_t deadline = tamis__now_ns() + (uint64_t)timeout_ms * 1000000;
    bool in_time = true;
    pthread_mutex_lock(&filter->mutex);
    while (in_time && !filter->is_tried)
        in_time = tamis__cond_wait(&filter->cond, &filter->mutex, deadline);
    const bool is_tried = filter->is_tried;
    pthread_mutex_unlock(&filter->mutex);
    if (is_tried)
        return tamis__guard_redis_filter_error(filter, err);
    return tamis__fail(err, TAMIS_E_TIMEOUT, 0, "%s: Redis has not answered after %u ms; wait longer",
                       tamis__show(filter->name).text, (unsigned)timeout_ms);
}

void tamis__guard_redis_filter_stats(guard_redis_filter *filter, tamis_guard_stats *stats) {
    pthread_mutex_lock(&filter->mutex);
    stats->has_filter = atomic_load(&filter->works);
    stats->scans = filter->opened;
    stats->failed_scans = filter->failed;
    stats->scanned_at = stats->updated_at = filter->opened_at;
    pthread_mutex_unlock(&filter->mutex);
}

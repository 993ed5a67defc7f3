/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * From a key to its guard. A set (server_guards) has the guards of one configuration. A reload replaces the
 * set. Both sets share a guard whose keyspace did not change, so it keeps its filter and its cache.
 *
 *     server->guards --> server_guards --> server_guard --> tamis_guard
 *                                              ^
 *          requests that are not answered -----'      the last reference closes the guard, in a job
 *
 * A reload. Programs write rows that they have announced to the former set. Its puts in progress are handed over
 * in the server's thread, just before the new set replaces it. Scans of the new guards begin after that: they
 * find the rows of puts that have ended. A GUARD.ADD that is between the two sets meanwhile is handed over by
 * itself, before its reply (server_writes.c).
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "server/server_int.h"
#include "service/guard/guard_put.h"

/* ---- references ---- */

static void release_config(server_shared_config *shared) {
    if (atomic_fetch_sub(&shared->references, 1) != 1)
        return;
    const tamis_allocator memory = shared->config->memory;
    tamis__server_config_free(shared->config);
    tamis__free(&memory, shared, sizeof *shared);
}

/* Waits for queries in progress. */
static void close_guard(server_guard *guard) {
    server_shared_config *shared = guard->shared;
    const tamis_allocator memory = shared->config->memory;

    tamis_guard_close(guard->guard);
    tamis_guard_source_free(&guard->source);
    tamis__free(&memory, guard, sizeof *guard);
    release_config(shared);
}

typedef struct close_job {
    server_job job;
    server_guard *guard;
} close_job;

static void run_close(tamis_server *server, server_job *job) {
    (void)server;
    close_guard(((close_job *)job)->guard);
}

static void apply_close(tamis_server *server, server_event *event) {
    tamis__free(&server->memory, event, sizeof(close_job));
}

void tamis__keyspace_release(tamis_server *server, server_guard *guard) {
    if (atomic_fetch_sub(&guard->references, 1) != 1)
        return;
    close_job *closing = server ? tamis__alloc(&server->memory, sizeof *closing, 16) : NULL;
    if (!closing) {
        close_guard(guard);
        return;
    }
    closing->job.work = run_close;
    closing->job.event.apply = apply_close;
    closing->guard = guard;
    tamis__server_work(server, &closing->job);
}

void tamis__keyspaces_release(tamis_server *server, server_guards *guards) {
    if (!guards)
        return;
    const tamis_allocator memory = guards->memory;
    const size_t size = sizeof *guards + guards->shared->config->keyspace_count * sizeof *guards->items;
    for (size_t i = 0; i < guards->count; i++)
        tamis__keyspace_release(server, guards->items[i]);
    release_config(guards->shared);
    tamis__free(&memory, guards, size);
}

/* ---- opening ---- */

static bool is_in_memory(const server_database *database) {
    return database->sqlite && strcmp(database->sqlite, ":memory:") == 0;
}

static tamis_status open_source(tamis_guard_source *source, const server_keyspace *keyspace, const char *init,
                                tamis_error *err) {
    const server_database *database = &keyspace->database;
    static atomic_uint opened;
    tamis_guard_sql sql = TAMIS_GUARD_SQL_INIT;
    char name[64];

    sql.database = database->sqlite ? database->sqlite : database->postgres;
    if (is_in_memory(database)) {
        /* The sessions of this source share a database, and no other source has it. */
        snprintf(name, sizeof name, "file:tamis-serve-%u?mode=memory&cache=shared",
                 atomic_fetch_add(&opened, 1));
        sql.database = name;
    }
    sql.row = keyspace->row;
    sql.keys = keyspace->all_keys;
    sql.new_keys = keyspace->new_keys;
    sql.overlap = keyspace->overlap;
    sql.channel = keyspace->notify;
    sql.as_json = keyspace->value == 1;
    sql.init = init;
    return database->sqlite ? tamis_guard_sqlite_create(source, &sql, err)
                            : tamis_guard_postgres_create(source, &sql, err);
}

static tamis_status open_guard(server_guard *made, const server_config *config, bool is_held,
                               tamis_error *err) {
    const server_keyspace *keyspace = made->keyspace;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;

    options.source = &made->source;
    options.name = keyspace->pattern;
    options.redis = config->redis;
    options.prefix = keyspace->redis_prefix;
    options.sessions = keyspace->sessions;
    options.keys_max = keyspace->keys_max;
    options.timeout_ms = keyspace->timeout_ms;
    options.life_ms = keyspace->life_ms;
    options.null_life_ms = keyspace->null_life_ms;
    options.lease_ms = keyspace->lease_ms;
    options.mark_ms = keyspace->mark_ms;
    options.cache_bytes = keyspace->cache_bytes;
    options.cache_life_ms = keyspace->cache_life_ms;
    options.without_filter = (tamis_guard_mode)keyspace->without_filter;
    options.without_puts = keyspace->puts == 1;
    options.fpr = keyspace->fpr;
    options.filter_file = keyspace->filter_file;
    options.keys_file = keyspace->keys_file;
    options.redis_filter = keyspace->redis_filter;
    options.filter_secret = keyspace->secret;
    options.filter_secret_size = keyspace->secret_size;
    options.news_ms = keyspace->news_ms;
    options.scan_ms = keyspace->scan_ms;
    options.scan_at = keyspace->scan_at;
    options.scan_new_ms = keyspace->scan_new_ms;
    options.allocator = &config->memory;
    return is_held ? tamis__guard_open_held(&made->guard, &options, err)
                   : tamis_guard_open(&made->guard, &options, err);
}

/* Says in which keyspace the source or the guard failed. A database gives no remedy for its errors. */
static tamis_status fail_keyspace(const server_config *config, const server_keyspace *keyspace,
                                  const tamis_error *why, tamis_error *err) {
    const bool is_unreachable = why->status == TAMIS_E_IO || why->status == TAMIS_E_TIMEOUT;
    return tamis__fail(err, why->status, why->sys_errno, "%s: line %zu: keyspace '%.80s': %s%s", config->file,
                       keyspace->line, keyspace->pattern, why->text,
                       strstr(why->text, "; ") ? ""
                       : is_unreachable        ? "; start it, or try again"
                                               : "; correct the SQL, or the tables");
}

/* Opens source and guard. At a reload, no scan begins yet, and a database or Redis that cannot be reached is an
 * error. */
static tamis_status open_levels(server_guard *made, const server_config *config, bool is_reload,
                                tamis_error *err) {
    tamis_status status = open_source(&made->source, made->keyspace, made->keyspace->database.init, err);

    if (status == TAMIS_OK)
        status = open_guard(made, config, is_reload, err);
    if (status == TAMIS_OK && is_reload)
        status = tamis_guard_health(made->guard, TAMIS_GUARD_SOURCE, err);
    if (status == TAMIS_OK && is_reload)
        status = tamis_guard_health(made->guard, TAMIS_GUARD_REDIS, err);
    if (status != TAMIS_OK) {
        tamis_guard_close(made->guard);
        tamis_guard_source_free(&made->source);
    }
    return status;
}

/* Makes the guard of a keyspace. It has one reference. */
static tamis_status make_guard(server_guard **guard, server_shared_config *shared,
                               const server_keyspace *keyspace, bool is_reload, tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT;
    const tamis_allocator *memory = &shared->config->memory;
    server_guard *made = tamis__alloc(memory, sizeof *made, _Alignof(server_guard));

    if (!made)
        return tamis__fail_nomem(err, shared->config->file, sizeof *made);
    made->keyspace = keyspace;
    made->shared = shared;
    made->source = (tamis_guard_source)TAMIS_GUARD_SOURCE_INIT;
    atomic_init(&made->references, 1);
    if (open_levels(made, shared->config, is_reload, &why) != TAMIS_OK) {
        tamis__free(memory, made, sizeof *made);
        return fail_keyspace(shared->config, keyspace, &why, err);
    }
    atomic_fetch_add(&shared->references, 1);
    *guard = made;
    return TAMIS_OK;
}

/* Returns the guard of the former set that fits, with a reference for the caller, or NULL. */
static server_guard *share_guard(const server_guards *old, const server_config *config,
                                 const server_keyspace *keyspace) {
    const char *before = old ? old->shared->config->redis : NULL;

    if (!old || (before && config->redis ? strcmp(before, config->redis) != 0 : before != config->redis))
        return NULL;
    for (size_t i = 0; i < old->count; i++) {
        server_guard *guard = old->items[i];
        if (!tamis__server_keyspaces_equal(guard->keyspace, keyspace))
            continue;
        atomic_fetch_add(&guard->references, 1);
        return guard;
    }
    return NULL;
}

/* Longest prefix first; a single key before a pattern of the same length. */
static int compare_guards(const void *a, const void *b) {
    const server_keyspace *first = (*(server_guard *const *)a)->keyspace,
                          *second = (*(server_guard *const *)b)->keyspace;

    if (first->prefix_size != second->prefix_size)
        return first->prefix_size > second->prefix_size ? -1 : 1;
    return (int)second->is_exact - (int)first->is_exact;
}

tamis_status tamis__keyspaces_open(server_guards **guards, server_config *config, const server_guards *old,
                                   tamis_error *err) {
    const tamis_allocator memory = config->memory;
    server_shared_config *shared = tamis__alloc(&memory, sizeof *shared, _Alignof(server_shared_config));
    server_guards *made =
        tamis__alloc(&memory, sizeof *made + config->keyspace_count * sizeof *made->items, 16);
    tamis_status status = TAMIS_OK;

    if (!shared || !made) {
        status = tamis__fail_nomem(err, config->file, sizeof *made);
        tamis__free(&memory, shared, sizeof *shared);
        tamis__free(&memory, made, sizeof *made + config->keyspace_count * sizeof *made->items);
        tamis__server_config_free(config);
        return status;
    }
    shared->config = config;
    atomic_init(&shared->references, 1);
    made->memory = memory;
    made->shared = shared;
    for (size_t i = 0; status == TAMIS_OK && i < config->keyspace_count; i++) {
        const server_keyspace *keyspace = &config->keyspaces[i];
        made->items[i] = share_guard(old, config, keyspace);
        if (!made->items[i])
            status = make_guard(&made->items[i], shared, keyspace, old != NULL, err);
        made->count += status == TAMIS_OK;
    }
    if (status != TAMIS_OK) {
        tamis__keyspaces_release(NULL, made);
        return status;
    }
    qsort(made->items, made->count, sizeof *made->items, compare_guards);
    *guards = made;
    return TAMIS_OK;
}

/* ---- reload ---- */

/* The puts of one guard, on their way to the set that replaces its own. */
typedef struct hand_over {
    const server_guard *from;
    const server_guards *to;
    char *key; /* buffer for a key with its prefix */
    tamis_status status;
    tamis_error *err;
} hand_over;

static void hand_over_put(void *context, tamis_key row, const uint8_t token[TAMIS_GUARD_TOKEN]) {
    hand_over *call = context;
    const server_keyspace *keyspace = call->from->keyspace;
    const size_t prefix_size = keyspace->is_exact ? 0 : keyspace->prefix_size;

    memcpy(call->key, keyspace->prefix, prefix_size);
    memcpy(call->key + prefix_size, row.data, row.size);
    const tamis_key key = {call->key, prefix_size + row.size};
    tamis_key new_row;
    const server_guard *to = tamis__keyspaces_find(call->to, key, &new_row, NULL);
    if (to && to != call->from && call->status == TAMIS_OK)
        call->status = tamis__guard_put_adopt(to->guard, new_row, token, call->err);
}

tamis_status tamis__keyspaces_hand_over(const server_guards *from, const server_guards *to,
                                        tamis_error *err) {
    tamis_status status = TAMIS_OK;

    for (size_t i = 0; i < from->count && status == TAMIS_OK; i++) {
        const size_t size = from->items[i]->keyspace->prefix_size + TAMIS_GUARD_KEY_MAX;
        hand_over call = {.from = from->items[i], .to = to, .key = malloc(size), .err = err};
        if (!call.key)
            return tamis__fail_nomem(err, to->shared->config->file, size);
        tamis__guard_each_put(from->items[i]->guard, hand_over_put, &call);
        free(call.key);
        status = call.status;
    }
    return status;
}

void tamis__keyspaces_begin_scans(const server_guards *guards) {
    for (size_t i = 0; i < guards->count; i++)
        tamis__guard_begin_scans(guards->items[i]->guard);
}

/* ---- checks ---- */

/* Makes the `init` of a check, which changes nothing. NULL: none, or memory is short. A file of SQLite is left
 * as it is. For PostgreSQL, the first statement is for the transactions behind the second one. */
static char *make_check_init(const server_database *database) {
    static const char before[] = "SET default_transaction_read_only = on; SET transaction_read_only = on;\n";
    const char *begin = database->postgres ? before : "";

    if (!database->init || (database->sqlite && !is_in_memory(database)))
        return NULL;
    const size_t size = strlen(begin) + strlen(database->init) + 1;
    char *made = malloc(size);
    if (made)
        snprintf(made, size, "%s%s", begin, database->init);
    return made;
}

/* True if an error may be due to `init`, which a check has not run. */
static bool lacks_init(const server_database *database, const tamis_error *why) {
    if (!database->init || is_in_memory(database) || why->status != TAMIS_E_REFUSED)
        return false;
    return database->sqlite || strstr(why->text, "SQLSTATE 25006");
}

/* Opens the guard of a keyspace: statements are prepared, and a filter in a file or in Redis is tried. No keys
 * are read from the database. The first error is that of the database. Returns true if the error is the
 * filter's. */
static bool try_keyspace(const server_config *config, const server_keyspace *keyspace, tamis_error *why) {
    enum { FILTER_MS = 600000 };
    bool is_filter = false;
    server_guard guard = {.keyspace = keyspace, .source = TAMIS_GUARD_SOURCE_INIT};
    char *init = make_check_init(&keyspace->database);
    tamis_status status = open_source(&guard.source, keyspace, init, why);

    free(init);
    if (status != TAMIS_OK)
        return false;
    guard.source.scan = guard.source.scan_new = NULL;
    guard.source.listen = NULL;
    status = open_guard(&guard, config, false, why);
    if (status == TAMIS_OK)
        status = tamis_guard_health(guard.guard, TAMIS_GUARD_SOURCE, why);
    if (status == TAMIS_OK)
        status = tamis_guard_health(guard.guard, TAMIS_GUARD_REDIS, why);
    if (status == TAMIS_OK)
        is_filter = tamis_guard_wait_for_filter(guard.guard, FILTER_MS, why) != TAMIS_OK;
    tamis_guard_close(guard.guard);
    tamis_guard_source_free(&guard.source);
    return is_filter;
}

tamis_status tamis__keyspaces_check(const server_config *config,
                                    void (*remark)(void *context, const char *line), void *context,
                                    size_t *unchecked, tamis_error *err) {
    for (size_t i = 0; i < config->keyspace_count; i++) {
        const server_keyspace *keyspace = &config->keyspaces[i];
        tamis_error why = TAMIS_ERROR_INIT, line = TAMIS_ERROR_INIT;
        const bool is_filter = try_keyspace(config, keyspace, &why);
        const bool is_init = !is_filter && lacks_init(&keyspace->database, &why);
        if (why.status == TAMIS_OK)
            continue;
        if (why.status != TAMIS_E_IO && why.status != TAMIS_E_TIMEOUT && !is_init && !is_filter)
            return fail_keyspace(config, keyspace, &why, err);
        ++*unchecked;
        (void)tamis__fail(&line, why.status, 0, "%s: line %zu: keyspace '%.80s': %s: %s", config->file,
                          keyspace->line, keyspace->pattern,
                          is_filter ? "the filter cannot be used"
                          : is_init ? "not checked without init"
                                    : "not checked",
                          why.text);
        if (remark)
            remark(context, line.text);
    }
    return TAMIS_OK;
}

/* ---- keys ---- */

static server_guard *find_guard(const server_guards *guards, tamis_key key, tamis_key *row) {
    for (size_t i = 0; i < guards->count; i++) {
        const server_keyspace *keyspace = guards->items[i]->keyspace;
        const size_t size = keyspace->prefix_size;
        if (key.size < size || (keyspace->is_exact && key.size != size) ||
            (size > 0 && memcmp(key.data, keyspace->prefix, size) != 0))
            continue;
        *row = keyspace->is_exact ? key : (tamis_key){(const char *)key.data + size, key.size - size};
        return guards->items[i];
    }
    return NULL;
}

server_guard *tamis__keyspaces_find(const server_guards *guards, tamis_key key, tamis_key *row,
                                    tamis_error *err) {
    server_guard *guard = find_guard(guards, key, row);
    const int shown = key.size < 64 ? (int)key.size : 64;

    if (!guard)
        tamis__fail(err, TAMIS_E_NOT_FOUND, 0,
                    "no keyspace has key '%.*s'; add one to the configuration, or correct the key", shown,
                    (const char *)key.data);
    else if (row->size == 0)
        tamis__fail(err, TAMIS_E_INVALID, 0, "key '%.*s' has nothing behind its prefix; correct the key",
                    shown, (const char *)key.data);
    else if (row->size > TAMIS_GUARD_KEY_MAX)
        tamis__fail(err, TAMIS_E_TOO_LONG, 0, "the key is longer than 64 KiB; use shorter keys");
    else
        return guard;
    return NULL;
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Invariant V2 of docs/GUARD-PROTOCOL.md on a real server: an entry equals its row. The database is an array
 * of versions, each key's own; every fourth version is a missing row.
 *
 * - One thread carries out the steps of many readers and writers in a random order. Some crash, and their
 *   scripts come again later.
 * - Threads do the steps at once, through a proxy that cuts their connections.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "service/guard/guard_entries.h"
#include "support/proxy.h"
#include "support/redis_server.h"

enum { KEYS = 3, READERS = 4, WRITERS = 3, LATE = 8, DEAD = 2, MISSING_EACH = 4 };

static redis_server server;
static const char *const names[KEYS] = {"a", "b}", "c%"};
static const char *const entry_names[KEYS] = {"v:{a}:entry", "v:{b%7D}:entry", "v:{c%25}:entry"};
static const char *const lease_names[KEYS] = {"v:{a}:lease", "v:{b%7D}:lease", "v:{c%25}:lease"};
static const char *const mark_names[KEYS] = {"v:{a}:marks", "v:{b%7D}:marks", "v:{c%25}:marks"};

static int set_up(void **state) {
    (void)state;
    if (redis_server_installed())
        redis_server_start(&server, NULL);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    redis_server_stop(&server);
    return 0;
}

static guard_entries *open_entries(const char *uri) {
    const guard_entries_options options = {.redis = uri,
                                           .prefix = "v:",
                                           .life_ms = 600000,
                                           .null_life_ms = 600000,
                                           .lease_ms = 600000,
                                           .mark_ms = 600000,
                                           .timeout_ms = 5000};
    guard_entries *entries = NULL;

    assert_int_equal(tamis__guard_entries_open(&entries, &options, NULL), TAMIS_OK);
    return entries;
}

static tamis_key key_of(size_t key) {
    return (tamis_key){names[key], strlen(names[key])};
}

static guard_blob *blob_of(uint64_t version) {
    char text[24];
    const int size = snprintf(text, sizeof text, "%llu", (unsigned long long)version);

    return version % MISSING_EACH == 0 ? tamis__guard_blob_create(NULL, NULL, 0)
                                       : tamis__guard_blob_create(NULL, text, (size_t)size);
}

/* ---- one thread, steps in a random order ---- */

typedef struct reader {
    size_t key;
    enum { READER_IDLE, READER_LEASED, READER_LOADED } at_step;
    guard_entry entry;
} reader;

typedef struct writer {
    size_t key;
    enum { WRITER_IDLE, WRITER_MARKED, WRITER_WRITTEN } at_step;
    uint8_t token[TAMIS_GUARD_TOKEN];
} writer;

/* A G4 or P4 that comes again. */
typedef struct late_script {
    bool is_store, is_used;
    size_t key;
    guard_entry entry; /* G4 */
    uint8_t token[TAMIS_GUARD_TOKEN];
} late_script;

typedef struct world {
    guard_entries *entries;
    uint64_t seed, rows[KEYS];
    reader readers[READERS];
    writer writers[WRITERS];
    late_script late[LATE];
    writer dead[DEAD]; /* marks of crashed writers, and marks that came late */
    size_t dead_count;
    uint64_t found, stored, marked;
} world;

static void keep_late(world *w, late_script script) {
    late_script *kept = &w->late[test_below(&w->seed, LATE)];

    if (test_below(&w->seed, 3) > 0)
        return;
    if (kept->is_used && kept->is_store)
        tamis__guard_blob_release(kept->entry.blob);
    *kept = script;
    kept->is_used = true;
    if (kept->is_store)
        tamis__guard_blob_share(kept->entry.blob);
}

static void step_reader(world *w, reader *r) {
    if (r->at_step == READER_IDLE) {
        r->key = test_below(&w->seed, KEYS);
        r->entry = (guard_entry){.key = key_of(r->key)};
        assert_int_equal(tamis__guard_entries_get(w->entries, &r->entry, 1, NULL), TAMIS_OK);
        w->found += r->entry.state == GUARD_ENTRY_FOUND;
        w->marked += r->entry.state == GUARD_ENTRY_MARKED;
        tamis__guard_blob_release(r->entry.blob);
        r->entry.blob = NULL;
        if (r->entry.state == GUARD_ENTRY_GRANTED)
            r->at_step = READER_LEASED;
        return;
    }
    if (r->at_step == READER_LEASED) {
        r->entry.blob = blob_of(w->rows[r->key]);
        r->at_step = READER_LOADED;
        return;
    }
    if (test_below(&w->seed, 20) > 0) /* else it crashes */
        assert_int_equal(tamis__guard_entries_store(w->entries, &r->entry, 1, NULL), TAMIS_OK);
    keep_late(w, (late_script){.is_store = true, .key = r->key, .entry = r->entry});
    tamis__guard_blob_release(r->entry.blob);
    w->stored++;
    r->at_step = READER_IDLE;
}

static void bury(world *w, const writer *dead) {
    if (w->dead_count < DEAD)
        w->dead[w->dead_count++] = *dead;
    else
        redis_server_command(&server, "ZREM %s %b", mark_names[dead->key], dead->token, sizeof dead->token);
}

/* A writer, which crashes sometimes. Then it writes no row later: K2. */
static void step_writer(world *w, writer *self) {
    if (self->at_step == WRITER_IDLE) {
        self->key = test_below(&w->seed, KEYS);
        assert_int_equal(tamis__guard_entries_mark(w->entries, key_of(self->key), self->token, NULL),
                         TAMIS_OK);
        self->at_step = WRITER_MARKED;
        return;
    }
    if (test_below(&w->seed, 10) == 0) {
        bury(w, self);
        self->at_step = WRITER_IDLE;
        return;
    }
    if (self->at_step == WRITER_MARKED) {
        w->rows[self->key]++;
        self->at_step = WRITER_WRITTEN;
        return;
    }
    assert_int_equal(tamis__guard_entries_unmark(w->entries, key_of(self->key), self->token, NULL), TAMIS_OK);
    late_script late = {.key = self->key};
    memcpy(late.token, self->token, sizeof late.token);
    keep_late(w, late);
    self->at_step = WRITER_IDLE;
}

static void run_late(world *w) {
    late_script *late = &w->late[test_below(&w->seed, LATE)];

    if (!late->is_used)
        return;
    if (late->is_store)
        assert_int_equal(tamis__guard_entries_store(w->entries, &late->entry, 1, NULL), TAMIS_OK);
    else
        assert_int_equal(tamis__guard_entries_unmark(w->entries, key_of(late->key), late->token, NULL),
                         TAMIS_OK);
}

/* Leases, entries and marks of crashed writers expire, and a mark comes late. */
static void step_time(world *w) {
    const size_t key = test_below(&w->seed, KEYS);
    const uint64_t event = test_below(&w->seed, 4);

    if (event == 0) {
        redis_server_command(&server, "DEL %s", lease_names[key]);
    } else if (event == 1) {
        redis_server_command(&server, "DEL %s", entry_names[key]);
    } else if (event == 2 && w->dead_count > 0) {
        const writer *dead = &w->dead[--w->dead_count];
        redis_server_command(&server, "ZREM %s %b", mark_names[dead->key], dead->token, sizeof dead->token);
    } else if (event == 3 && test_below(&w->seed, 4) == 0) {
        writer late = {.key = key};
        assert_int_equal(tamis__guard_entries_mark(w->entries, key_of(key), late.token, NULL), TAMIS_OK);
        bury(w, &late);
    }
}

static void check_entries(const world *w, uint64_t step) {
    for (size_t key = 0; key < KEYS; key++) {
        char expected[32];
        const char *text = redis_server_command(&server, "GET %s", entry_names[key]);
        if (w->rows[key] % MISSING_EACH == 0)
            snprintf(expected, sizeof expected, "N");
        else
            snprintf(expected, sizeof expected, "V%llu", (unsigned long long)w->rows[key]);
        if (strcmp(text, "(nil)") != 0 && strcmp(text, expected) != 0)
            fail_msg("step %llu: %s is %s, and the row %s", (unsigned long long)step, entry_names[key], text,
                     expected);
    }
}

static void test_steps_in_random_order(void **state) {
    (void)state;
    static world w;
    const uint64_t steps = test_scale(20000, 4000, 4000);

    if (!server.pid)
        skip();
    redis_server_command(&server, "FLUSHALL");
    w = (world){.seed = test_seed(20263), .entries = open_entries(server.uri)};
    for (uint64_t step = 0; step < steps; step++) {
        const uint64_t actor = test_below(&w.seed, 24);
        if (actor < 16)
            step_reader(&w, &w.readers[actor % READERS]);
        else if (actor < 20)
            step_writer(&w, &w.writers[actor % WRITERS]);
        else if (actor < 22)
            run_late(&w);
        else
            step_time(&w);
        check_entries(&w, step);
    }
    print_message("%llu found, %llu stored, %llu marked\n", (unsigned long long)w.found,
                  (unsigned long long)w.stored, (unsigned long long)w.marked);
    assert_true(w.found > steps / 100 && w.stored > steps / 100 && w.marked > steps / 100);
    for (size_t i = 0; i < READERS; i++)
        tamis__guard_blob_release(w.readers[i].at_step == READER_LOADED ? w.readers[i].entry.blob : NULL);
    for (size_t i = 0; i < LATE; i++)
        tamis__guard_blob_release(w.late[i].is_used && w.late[i].is_store ? w.late[i].entry.blob : NULL);
    tamis__guard_entries_close(w.entries);
}

/* ---- threads, and connections that are cut ---- */

typedef struct shared {
    guard_entries *entries;
    atomic_ullong rows[KEYS];
    atomic_bool is_over;
    atomic_ullong found, stored, failed, written;
    atomic_int wrong;
    uint64_t rounds;
} shared;

typedef struct thread_work {
    shared *common;
    uint64_t seed;
} thread_work;

/* A value is right if the row had it at some time during the call. */
static bool is_right(const guard_blob *blob, uint64_t before, uint64_t after) {
    if (tamis__guard_blob_is_null(blob)) {
        const uint64_t missing = (before + MISSING_EACH - 1) / MISSING_EACH * MISSING_EACH;
        return missing <= after;
    }
    char text[24] = "";
    const tamis_key bytes = tamis__guard_blob_bytes(blob);
    memcpy(text, bytes.data, bytes.size < sizeof text ? bytes.size : sizeof text - 1);
    const uint64_t version = strtoull(text, NULL, 10);
    return version >= before && version <= after && version % MISSING_EACH != 0;
}

static void *run_reader(void *context) {
    thread_work *self = context;
    shared *common = self->common;

    while (!atomic_load(&common->is_over)) {
        const size_t key = test_below(&self->seed, KEYS);
        guard_entry entry = {.key = key_of(key)};
        const uint64_t before = atomic_load(&common->rows[key]);
        if (tamis__guard_entries_get(common->entries, &entry, 1, NULL) != TAMIS_OK) {
            atomic_fetch_add(&common->failed, 1);
            continue;
        }
        if (entry.state == GUARD_ENTRY_FOUND) {
            atomic_fetch_add(&common->found, 1);
            if (!is_right(entry.blob, before, atomic_load(&common->rows[key])))
                atomic_fetch_add(&common->wrong, 1);
        } else if (entry.state == GUARD_ENTRY_GRANTED) {
            entry.blob = blob_of(atomic_load(&common->rows[key]));
            atomic_fetch_add(&common->stored, 1);
            if (tamis__guard_entries_store(common->entries, &entry, 1, NULL) != TAMIS_OK)
                atomic_fetch_add(&common->failed, 1);
        }
        tamis__guard_blob_release(entry.blob);
    }
    return NULL;
}

static void *run_writer(void *context) {
    thread_work *self = context;
    shared *common = self->common;

    for (uint64_t i = 0; i < common->rounds; i++) {
        const size_t key = test_below(&self->seed, KEYS);
        uint8_t token[TAMIS_GUARD_TOKEN];
        if (tamis__guard_entries_mark(common->entries, key_of(key), token, NULL) == TAMIS_OK) {
            atomic_fetch_add(&common->rows[key], 1);
            atomic_fetch_add(&common->written, 1);
            if (tamis__guard_entries_unmark(common->entries, key_of(key), token, NULL) != TAMIS_OK)
                atomic_fetch_add(&common->failed, 1);
        }
        pause_ms(2); /* entries live for a while */
    }
    return NULL;
}

static void test_threads_with_lost_connections(void **state) {
    (void)state;
    pthread_t readers[READERS], writers[WRITERS];
    thread_work work[READERS + WRITERS];
    char uri[64];

    if (!server.pid)
        skip();
    redis_server_command(&server, "FLUSHALL");
    proxy *between = proxy_start(server.socket);
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d", proxy_port(between));
    shared together = {.entries = open_entries(uri), .rounds = test_scale(1000, 200, 200)};
    const uint64_t seed = test_seed(20264);
    proxy_arm_random(between, 20000, seed);
    for (size_t i = 0; i < READERS + WRITERS; i++) {
        work[i] = (thread_work){&together, seed + i};
        pthread_t *thread = i < READERS ? &readers[i] : &writers[i - READERS];
        assert_int_equal(pthread_create(thread, NULL, i < READERS ? run_reader : run_writer, &work[i]), 0);
    }
    for (size_t i = 0; i < WRITERS; i++)
        pthread_join(writers[i], NULL);
    atomic_store(&together.is_over, true);
    for (size_t i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    print_message("%llu found, %llu stored, %llu written, %llu calls failed, %llu connections cut\n",
                  (unsigned long long)together.found, (unsigned long long)together.stored,
                  (unsigned long long)together.written, (unsigned long long)together.failed,
                  (unsigned long long)proxy_harmed(between));
    assert_int_equal(atomic_load(&together.wrong), 0);
    assert_true(proxy_harmed(between) > 0 && together.found > 100 && together.stored > 100 &&
                together.written > 100);
    tamis__guard_entries_close(together.entries);
    proxy_stop(between);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_in_random_order),
        cmocka_unit_test(test_threads_with_lost_connections),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}

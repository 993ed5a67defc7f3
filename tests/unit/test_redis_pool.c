/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: long */

/* The pool of connections: their number, threads that wait for one, and connections that died while idle.
 * ctest: timeout=120 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <tamis/tamis.h>

#include "base/system.h"
#include "store/redis/topology/redis_topology.h"
#include "support/proxy.h"
#include "support/redis_filters.h"

enum { SHARDS = 3, THREADS = 6, BATCH = 50 };

static redis_server shards[SHARDS];

static int set_up(void **state) {
    if (redis_filters_set_up(state) != 0)
        return -1;
    for (int i = 0; server.pid && i < SHARDS; i++)
        redis_server_start(&shards[i], NULL);
    return 0;
}

static int tear_down(void **state) {
    for (int i = 0; i < SHARDS; i++)
        redis_server_stop(&shards[i]);
    return redis_filters_tear_down(state);
}

/* Returns how many connections the server has ever accepted, including the one of this command. */
static long long connections(const redis_server *queried) {
    return strtoll(strstr(redis_server_command(queried, "INFO stats"), "total_connections_received:") + 27,
                   NULL, 10);
}

static tamis_redis *open_server(int port, const char *parameters) {
    char uri[200];
    tamis_redis *opened;
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d?timeout=20s&%s", port, parameters);
    OK(tamis_redis_open(&opened, uri, NULL, &err));
    return opened;
}

static tamis_filter *open_there(tamis_redis *there) {
    tamis_filter *filter;
    OK(tamis_redis_filter_open(&filter, there, "p?layout=java&expect=100000&fpr=0.0001", NULL, &err));
    return filter;
}

/* ---- limits ---- */

typedef struct worker {
    pthread_t thread;
    tamis_filter *filter;
    size_t from;
    tamis_error failure;
    pthread_barrier_t *together;
} worker;

static void *work(void *context) {
    worker *self = context;
    tamis_answer answers[BATCH];
    const size_t batches = test_scale(200, 100, 40);
    pthread_barrier_wait(self->together);
    for (size_t i = 0; i < batches && !*self->failure.text; i++) {
        /* Each worker has another order, so that they reach the servers in different orders. */
        tamis_key *batch = keys + (self->from + i * 7919) % (NUMBERS - BATCH);
        tamis_filter_add_many(self->filter, batch, BATCH, NULL, NULL, &self->failure);
        tamis_filter_contains_many(self->filter, batch, BATCH, answers, NULL, &self->failure);
        for (size_t j = 0; j < BATCH && !*self->failure.text; j++)
            if (answers[j] != TAMIS_PRESENT)
                snprintf(self->failure.text, sizeof self->failure.text, "a key that was added is absent");
    }
    return NULL;
}

static void work_together(tamis_redis *there, const char *name) {
    worker workers[THREADS];
    pthread_barrier_t together;
    pthread_barrier_init(&together, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++) {
        workers[i] = (worker){.from = i * 31337, .failure = TAMIS_ERROR_INIT, .together = &together};
        OK(tamis_redis_filter_open(&workers[i].filter, there, name, NULL, &err));
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_string_equal(workers[i].failure.text, "");
        tamis_filter_free(workers[i].filter);
    }
    pthread_barrier_destroy(&together);
}

static void there_are_no_more_than_allowed(void **state) {
    static const char name[] = "p?layout=java&expect=100000&fpr=0.0001";
    (void)state;
    begin_test();
    const long long before = connections(&server);
    tamis_redis *there = open_server(server.port, "connections=2&patience=60s&read_timeout=60s");
    work_together(there, name);
    assert_in_range(connections(&server) - before - 1, 1, 2); /* none was closed meanwhile */
    tamis_redis_close(there);
}

/* With one connection to each server, a thread that held one while it waits for the next could wait
 * forever. */
static void nobody_holds_one_and_waits_for_another(void **state) {
    char uri[200];
    tamis_redis *there;
    (void)state;
    begin_test();
    snprintf(
        uri, sizeof uri,
        "redis+shard://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d?connections=1&patience=60s&read_timeout=60s",
        shards[0].port, shards[1].port, shards[2].port);
    OK(tamis_redis_open(&there, uri, NULL, &err));
    work_together(there, "p?layout=php2&bits=1000000&probes=7");
    tamis_redis_close(there);
}

static tamis__node *only_node(tamis_redis *there) {
    return there->nodes;
}

static void a_wait_that_is_too_long_is_an_error(void **state) {
    (void)state;
    begin_test();
    tamis_redis *there = open_server(server.port, "connections=1&patience=1s");
    tamis_filter *filter = open_there(there);
    assert_true(tamis__redis_acquire_permit(there, only_node(there), 0));
    assert_false(tamis__redis_acquire_permit(there, only_node(there), 0));
    FAILS(tamis_filter_add_many(filter, keys, 10, NULL, NULL, &err), TAMIS_E_TIMEOUT, "(connections=)");
    tamis__redis_release_permit(there, only_node(there));
    OK(tamis_filter_add_many(filter, keys, 10, NULL, NULL, &err));
    tamis_filter_free(filter);
    tamis_redis_close(there);
}

typedef struct queuer {
    pthread_t thread;
    tamis_redis *there;
    int number;
    uint64_t deadline;
    bool permits_used;
} queuer;

static atomic_int next_number;

static void *queue(void *context) {
    queuer *self = context;
    self->permits_used = tamis__redis_acquire_permit(self->there, only_node(self->there), self->deadline);
    if (!self->permits_used)
        return NULL;
    self->number = atomic_fetch_add(&next_number, 1);
    tamis__redis_release_permit(self->there, only_node(self->there));
    return NULL;
}

static size_t count_waiting(tamis_redis *there) {
    size_t count = 0;
    pthread_mutex_lock(&there->mutex);
    for (const tamis__waiter *waiter = only_node(there)->waiters; waiter; waiter = waiter->next)
        count++;
    pthread_mutex_unlock(&there->mutex);
    return count;
}

/* Threads are served in turn. One that gives up does not break the queue. */
static void waiting_threads_are_served_in_order(void **state) {
    queuer queuers[4];
    (void)state;
    begin_test();
    tamis_redis *there = open_server(server.port, "connections=1");
    assert_true(tamis__redis_acquire_permit(there, only_node(there), 0));
    next_number = 0;
    for (size_t i = 0; i < 4; i++) {
        const uint64_t wait = i == 1 ? 50000000 : UINT64_C(60000000000);
        queuers[i] = (queuer){.there = there, .number = -1, .deadline = tamis__now_ns() + wait};
        pthread_create(&queuers[i].thread, NULL, queue, &queuers[i]);
        while (i != 1 && count_waiting(there) < (i < 2 ? i + 1 : i))
            pause_ms(1);
        if (i == 1)
            pthread_join(queuers[i].thread, NULL);
    }
    assert_false(tamis__redis_acquire_permit(there, only_node(there), 0)); /* no thread overtakes */
    tamis__redis_release_permit(there, only_node(there));
    for (size_t i = 0; i < 4; i++)
        if (i != 1)
            pthread_join(queuers[i].thread, NULL);
    assert_false(queuers[1].permits_used);
    assert_int_equal(queuers[0].number, 0);
    assert_int_equal(queuers[2].number, 1);
    assert_int_equal(queuers[3].number, 2);
    assert_true(tamis__redis_acquire_permit(there, only_node(there), 0));
    tamis__redis_release_permit(there, only_node(there));
    tamis_redis_close(there);
}

/* ---- wake-ups ---- */

typedef struct sleeper {
    queuer queue;
    struct rusage before, after;
} sleeper;

static void *sleep_in_line(void *context) {
    sleeper *self = context;
    getrusage(RUSAGE_THREAD, &self->before);
    queue(&self->queue);
    getrusage(RUSAGE_THREAD, &self->after);
    return NULL;
}

/* Commands on one server do not wake threads that wait for another one. Otherwise each would cost a
 * context switch. */
static void reg_22_only_the_next_in_line_is_woken(void **state) {
    enum { COMMANDS = 2000 };
    char uri[200];
    tamis_redis *there;
    (void)state;
    begin_test();
    snprintf(uri, sizeof uri, "redis+shard://127.0.0.1:%d,127.0.0.1:%d?connections=1&timeout=20s",
             shards[0].port, shards[1].port);
    OK(tamis_redis_open(&there, uri, NULL, &err));
    tamis__node *busy = only_node(there), *other = busy->next;
    assert_true(tamis__redis_acquire_permit(there, busy, 0));
    sleeper first = {.queue = {.there = there, .deadline = tamis__now_ns() + UINT64_C(60000000000)}};
    pthread_create(&first.queue.thread, NULL, sleep_in_line, &first);
    while (count_waiting(there) < 1)
        pause_ms(1);
    for (int i = 0; i < COMMANDS; i++) {
        assert_true(tamis__redis_acquire_permit(there, other, 0));
        tamis__redis_release_permit(there, other);
        sched_yield();
    }
    tamis__redis_release_permit(there, busy);
    pthread_join(first.queue.thread, NULL);
    assert_true(first.queue.permits_used);
    assert_in_range(first.after.ru_nvcsw - first.before.ru_nvcsw, 0, COMMANDS / 100);
    tamis_redis_close(there);
}

typedef struct hopper {
    pthread_t thread;
    tamis_redis *there;
    uint64_t patience; /* in ns, for one try */
    size_t permits_used, turns;
} hopper;

static atomic_int inside;

static void *hop(void *context) {
    hopper *self = context;
    for (size_t i = 0; i < self->turns; i++) {
        if (!tamis__redis_acquire_permit(self->there, only_node(self->there),
                                         tamis__now_ns() + self->patience))
            continue;
        if (atomic_fetch_add(&inside, 1) < 2)
            self->permits_used++;
        atomic_fetch_sub(&inside, 1);
        tamis__redis_release_permit(self->there, only_node(self->there));
    }
    return NULL;
}

/* A thread may give up just when it is woken. Then it must wake the next one in the queue, which would
 * sleep on otherwise. */
static void reg_22_no_waiting_thread_is_forgotten(void **state) {
    hopper hoppers[8];
    const size_t turns = test_scale(4000, 1000, 500);
    (void)state;
    begin_test();
    tamis_redis *there = open_server(server.port, "connections=2");
    for (size_t i = 0; i < 8; i++) {
        const bool gives_up = i % 2;
        hoppers[i] =
            (hopper){.there = there, .patience = gives_up ? 20000 : UINT64_C(60000000000), .turns = turns};
        pthread_create(&hoppers[i].thread, NULL, hop, &hoppers[i]);
    }
    for (size_t i = 0; i < 8; i++)
        pthread_join(hoppers[i].thread, NULL);
    for (size_t i = 0; i < 8; i += 2)
        assert_int_equal(hoppers[i].permits_used, turns);
    assert_int_equal(only_node(there)->permits_used, 0);
    assert_null(only_node(there)->waiters);
    tamis_redis_close(there);
}

static void limits_are_checked(void **state) {
    tamis_redis *there;
    (void)state;
    begin_test();
    FAILS(tamis_redis_open(&there, "redis://127.0.0.1?connections=0", NULL, &err), TAMIS_E_INVALID,
          "from 1 to 10000");
    FAILS(tamis_redis_open(&there, "redis://127.0.0.1?connections=10001", NULL, &err), TAMIS_E_INVALID,
          "from 1 to 10000");
}

/* ---- connections that died while idle ---- */

/* Adds keys. An add over a dead connection may have been executed and would be TAMIS_UNKNOWN. So no such
 * answer means that none was sent over one. */
static void add_surely(tamis_filter *filter, size_t from) {
    tamis_answer answers[10];
    OK(tamis_filter_add_many(filter, keys + from, 10, answers, NULL, &err));
    for (int i = 0; i < 10; i++)
        assert_int_equal(answers[i], TAMIS_ABSENT);
}

static void a_connection_that_the_server_closed_is_noticed(void **state) {
    (void)state;
    begin_test();
    tamis_redis *there = open_server(server.port, "read_timeout=60s");
    tamis_filter *filter = open_there(there);
    add_surely(filter, 0);
    redis_server_command(&server, "CONFIG SET timeout 1");
    while (strstr(redis_server_command(&server, "CLIENT LIST"), "cmd=bitfield"))
        pause_ms(20);
    const long long before = connections(&server);
    add_surely(filter, 10);
    assert_int_equal(connections(&server), before + 2);
    redis_server_command(&server, "CONFIG SET timeout 0");
    tamis_filter_free(filter);
    tamis_redis_close(there);
}

/* Like a firewall that forgets connections: nothing is forwarded, and no reply comes back. */
static void a_silent_connection_is_noticed(void **state) {
    (void)state;
    begin_test();
    proxy *between = proxy_start(server.socket);
    tamis_redis *there = open_server(proxy_port(between), "read_timeout=400ms&retry_interval=1ms");
    tamis_filter *filter = open_there(there);
    add_surely(filter, 0);
    pause_ms(450);
    proxy_arm(between, PROXY_REPLIES, PROXY_HOLD, 0);
    add_surely(filter, 10);
    assert_int_equal(proxy_harmed(between), 1);
    proxy_disarm(between);
    pause_ms(450);
    const long long before = connections(&server);
    add_surely(filter, 20); /* a healthy connection is reused */
    assert_int_equal(connections(&server), before + 1);
    tamis_filter_free(filter);
    tamis_redis_close(there);
    proxy_stop(between);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_are_no_more_than_allowed),
        cmocka_unit_test(nobody_holds_one_and_waits_for_another),
        cmocka_unit_test(a_wait_that_is_too_long_is_an_error),
        cmocka_unit_test(waiting_threads_are_served_in_order),
        cmocka_unit_test(reg_22_only_the_next_in_line_is_woken),
        cmocka_unit_test(reg_22_no_waiting_thread_is_forgotten),
        cmocka_unit_test(limits_are_checked),
        cmocka_unit_test(a_connection_that_the_server_closed_is_noticed),
        cmocka_unit_test(a_silent_connection_is_noticed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: torture */

/*
 * Commands that arrive late, twice, or from a process that was stopped for longer than its lock lasts. Tried
 * at every command of each operation that changes the filter of a name. A proxy holds the requests of a
 * connection from command n on:
 *
 *     late      the client closes the connection, and completes its work over another one
 *     stopped   the client waits, as if it was stopped; meanwhile its lock expires
 *
 * Then another program builds the filter again and adds keys, all of which are acknowledged. Then the held
 * requests arrive. The filter must be that of the other program, with all its keys. If the stopped client did
 * its work after that and reports success, the filter must be the stopped client's. No Redis key may be left
 * that has neither an expiry nor a record.
 *
 * ctest: long
 * ctest: timeout=600
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/proxy.h"
#include "support/redis_filters.h"

enum {
    OLD = 0,      /* keys of the first filter */
    OWN = 2000,   /* keys of the filter whose commands are late */
    OTHER = 4000, /* keys of the other program's filter */
    ADDED = 6000, /* keys added to that */
    SOME = 1000
};

typedef enum outcome { IS_OTHERS, IS_OWN, IS_GONE, IS_OLD } outcome;

/* An operation over the slow connection. */
typedef struct work {
    const char *what;
    bool is_made; /* true if the filter does not exist before */
    outcome succeeds;
    tamis_status (*run)(tamis_redis *slow, tamis_error *why);
    void (*prepare)(tamis_redis *slow);
} work;

static proxy *between;
static tamis_filter *old, *own, *other;
static tamis_redis_resize *resize;

/* ---- operations ---- */

static tamis_status push_own(tamis_redis *slow, tamis_error *why) {
    return tamis_redis_push(own, slow, "f", NULL, why);
}

static tamis_status drop_it(tamis_redis *slow, tamis_error *why) {
    return tamis_redis_drop(slow, "f", why);
}

static tamis_status make_it(tamis_redis *slow, tamis_error *why) {
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis_filter *filter = NULL;
    options.create = true;
    tamis_status status = tamis_redis_filter_open(&filter, slow, "f?expect=3000&fpr=0.001", &options, why);
    if (status == TAMIS_OK)
        status = tamis_filter_add_many(filter, keys + OWN, SOME, NULL, NULL, why);
    tamis_filter_free(filter);
    return status;
}

static void begin_resize(tamis_redis *slow) {
    tamis_filter *there = open_filter("f");
    OK(tamis_redis_resize_begin(&resize, own, slow, "f", &err));
    OK(tamis_filter_add_many(there, keys + OLD, SOME, NULL, NULL, &err));
    tamis_filter_free(there);
}

static tamis_status end_resize(tamis_redis *slow, tamis_error *why) {
    (void)slow;
    return tamis_redis_resize_end(resize, own, why);
}

static tamis_status resize_in_vain(tamis_redis *slow, tamis_error *why) {
    tamis_redis_resize *begun = NULL;
    tamis_status status = tamis_redis_resize_begin(&begun, own, slow, "f", why);
    return status == TAMIS_OK ? tamis_redis_resize_end(begun, NULL, why) : status;
}

static tamis_status expire_it(tamis_redis *slow, tamis_error *why) {
    return tamis_redis_expire(slow, "f", 3600000, why);
}

static const work works[] = {
    {"push", false, IS_OWN, push_own, NULL},
    {"drop", false, IS_GONE, drop_it, NULL},
    {"make", true, IS_OWN, make_it, NULL},
    {"resize", false, IS_OWN, end_resize, begin_resize},
    {"no resize", false, IS_OLD, resize_in_vain, NULL},
    {"expire", false, IS_OLD, expire_it, NULL},
};

enum { WORKS = sizeof works / sizeof *works };

/* ---- the other program ---- */

/* Builds the filter again; `plan` is its plan then. */
static void build_other(char plan[500]) {
    tamis_status status = tamis_redis_push(other, redis, "f", NULL, &err);
    OK(status);
    tamis_filter *filter = open_filter("f");
    OK(tamis_filter_add_many(filter, keys + ADDED, SOME, NULL, NULL, &err));
    tamis_filter_free(filter);
    OK(tamis_redis_expire(redis, "f", 0, &err)); /* without an expiry */
    snprintf(plan, 500, "%s", redis_server_command(&server, "HGET tamis:{f} plan"));
}

/* ---- checks ---- */

static bool has_all(size_t from) {
    tamis_filter *filter = NULL;
    const tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    OK(tamis_redis_filter_open(&filter, redis, "f", &options, &err));
    const size_t present = count_present(filter, from, SOME);
    tamis_filter_free(filter);
    return present == SOME;
}

/* Checks that each Redis key has an expiry, is the key of the plan, or is recorded in the hash. */
static void nothing_is_left_behind(const char *what, uint64_t n) {
    char names[20000], hash[4000], *rest = NULL;
    snprintf(names, sizeof names, "%s", redis_server_command(&server, "KEYS *"));
    snprintf(hash, sizeof hash, "%s", redis_server_command(&server, "HVALS tamis:{f}"));
    for (char *name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
        char generation[17] = "";
        if (redis_server_number(&server, "PTTL %s", name) >= 0)
            continue;
        if (sscanf(name, "tamis:{f:%16[0-9a-f]:", generation) == 1 && !strstr(hash, generation))
            fail_msg("%s, command %d: %s is left", what, (int)n, name);
    }
}

static void check(const work *work_item, uint64_t n, tamis_status status, const tamis_error *why,
                  const char *plan) {
    char now[500];
    snprintf(now, sizeof now, "%s", redis_server_command(&server, "HGET tamis:{f} plan"));
    const bool is_others = strcmp(now, plan) == 0, is_gone = strcmp(now, "(nil)") == 0;
    if (!is_others && status != TAMIS_OK)
        fail_msg("%s, command %d: failed (%s), and changed the plan to %s", work_item->what, (int)n,
                 why->text, now);
    if (!is_others && is_gone != (work_item->succeeds == IS_GONE))
        fail_msg("%s, command %d: left the plan %s", work_item->what, (int)n, now);
    if (is_others && !(has_all(OTHER) && has_all(ADDED)))
        fail_msg("%s, command %d: acknowledged keys are absent", work_item->what, (int)n);
    if (!is_others && work_item->succeeds == IS_OWN && !has_all(OWN))
        fail_msg("%s, command %d: its own keys are absent", work_item->what, (int)n);
    nothing_is_left_behind(work_item->what, n);
}

/* ---- late and stopped clients ---- */

static tamis_redis *open_slow(const char *parameters) {
    tamis_redis *slow = NULL;
    char uri[200];
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d?%s", proxy_port(between), parameters);
    OK(tamis_redis_open(&slow, uri, NULL, &err));
    return slow;
}

static tamis_redis *prepare(const work *work_item, const char *parameters) {
    redis_server_command(&server, "FLUSHALL");
    if (!work_item->is_made)
        OK(tamis_redis_push(old, redis, "f", NULL, &err));
    proxy_disarm(between);
    tamis_redis *slow = open_slow(parameters);
    if (work_item->prepare)
        work_item->prepare(slow);
    proxy_disarm(between); /* counting starts here */
    return slow;
}

/* Returns the number of commands of the operation. */
static uint64_t count_commands(const work *work_item) {
    tamis_redis *slow = prepare(work_item, "patience=20s");
    OK(work_item->run(slow, &err));
    tamis_redis_close(slow);
    return proxy_commands(between);
}

static void be_late(const work *work_item, uint64_t n) {
    tamis_error why = TAMIS_ERROR_INIT;
    char plan[500];
    tamis_redis *slow = prepare(work_item, "read_timeout=80ms&patience=20s");
    proxy_arm_command(between, PROXY_DELAY, n);
    const tamis_status status = work_item->run(slow, &why);
    tamis_redis_close(slow);
    if (status != TAMIS_OK)
        redis_server_command(&server, "DEL tamis:{f}:push"); /* which would expire */
    build_other(plan);
    proxy_deliver(between, true);
    check(work_item, n, TAMIS_E_BUSY, &why, plan);
    assert_int_equal(redis_server_number(&server, "PTTL tamis:{f}"), -1);
}

typedef struct stopped {
    const work *work_item;
    tamis_redis *slow;
    tamis_status status;
    tamis_error why;
    atomic_bool is_over;
} stopped;

static void *run_stopped(void *context) {
    stopped *self = context;
    self->status = self->work_item->run(self->slow, &self->why);
    atomic_store(&self->is_over, true);
    return NULL;
}

static void start_stopped(stopped *self, pthread_t *thread, uint64_t n) {
    proxy_arm_command(between, PROXY_DELAY, n);
    assert_int_equal(pthread_create(thread, NULL, run_stopped, self), 0);
    while (proxy_harmed(between) == 0 && !atomic_load(&self->is_over))
        usleep(500);
}

static void be_stopped(const work *work_item, uint64_t n) {
    stopped self = {.work_item = work_item, .why = TAMIS_ERROR_INIT};
    pthread_t thread;
    char plan[500];
    self.slow = prepare(work_item, "read_timeout=60s&patience=60s");
    start_stopped(&self, &thread, n);
    redis_server_command(&server, "DEL tamis:{f}:push");
    build_other(plan);
    proxy_deliver(between, false);
    pthread_join(thread, NULL);
    check(work_item, n, self.status, &self.why, plan);
    tamis_redis_close(self.slow);
}

static void try_all(void (*be)(const work *work_item, uint64_t n), uint64_t step) {
    for (size_t i = 0; i < WORKS; i++) {
        const uint64_t commands = count_commands(&works[i]);
        assert_true(commands > 5);
        for (uint64_t n = i % step; n < commands; n += step)
            be(&works[i], n);
    }
}

static void reg_22_late_commands_change_nothing(void **state) {
    (void)state;
    begin_test();
    try_all(be_late, test_scale_torture(1, 3, 11, 7));
}

static void reg_22_a_stopped_client_changes_nothing(void **state) {
    (void)state;
    begin_test();
    try_all(be_stopped, test_scale_torture(1, 3, 11, 7));
}

/* Late transactions change nothing, like late scripts. */
static void reg_22_late_transactions_change_nothing(void **state) {
    (void)state;
    begin_test();
    redis_server_command(&server, "ACL SETUSER default -eval");
    try_all(be_late, test_scale_torture(5, 11, 17, 23));
    try_all(be_stopped, test_scale_torture(5, 11, 17, 23));
    assert_non_null(strstr(redis_server_command(&server, "INFO commandstats"), "cmdstat_exec:"));
    redis_server_command(&server, "ACL SETUSER default +eval");
}

/* ---- a hash that was deleted ---- */

static void reg_22_a_deleted_hash_is_no_new_filter(void **state) {
    (void)state;
    begin_test();
    tamis_filter *filter = NULL;
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    options.create = true;
    OK(tamis_redis_push(old, redis, "f?partition=1024", NULL, &err));
    redis_server_command(&server, "DEL tamis:{f}");
    FAILS(tamis_redis_filter_open(&filter, redis, "f?expect=3000&fpr=0.001", &options, &err), TAMIS_E_DAMAGED,
          "was deleted or evicted; drop f");
    OK(tamis_redis_drop(redis, "f", &err));
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 0);
}

/* ---- a failover ---- */

/* Reads the token of the writer that released the lock last. */
static void read_released_token(char token[100]) {
    snprintf(token, 100, "%s",
             redis_server_command(&server, "EVAL %s 0",
                                  "for _, entry in ipairs(redis.call('SLOWLOG', 'GET', -1)) do "
                                  "local words = entry[4] "
                                  "if words[#words - 1] == 'DEL' and words[#words] == 'tamis:{f}:push' then "
                                  "return words[#words - 3] end end"));
}

/* A failover loses the last writes of the beginning of a resize. Then a command arrives that was sent
 * twice. */
static void begin_resize_and_fail_over(uint64_t n) {
    char token[100];
    redis_server_command(&server, "FLUSHALL");
    redis_server_command(&server, "SLOWLOG RESET");
    OK(tamis_redis_push(old, redis, "f", NULL, &err));
    tamis_filter *there = open_filter("f");
    proxy_disarm(between);
    tamis_redis *slow = open_slow("read_timeout=80ms&patience=20s");
    proxy_disarm(between);
    proxy_arm_command(between, PROXY_DELAY, n);
    OK(tamis_redis_resize_begin(&resize, own, slow, "f", &err));
    read_released_token(token);
    redis_server_command(&server, "HDEL tamis:{f} next sending");
    redis_server_command(&server, "SET tamis:{f}:push %s PX 60000", token);
    OK(tamis_filter_add_many(there, keys + ADDED, SOME, NULL, NULL, &err));
    proxy_deliver(between, true);
    redis_server_command(&server, "DEL tamis:{f}:push"); /* which would expire */
    FAILS(tamis_redis_resize_end(resize, own, &err), TAMIS_E_MISMATCH, "nothing of this command took effect");
    assert_true(has_all(ADDED));
    tamis_filter_free(there);
    tamis_redis_close(slow);
}

static void reg_22_a_late_next_after_a_failover(void **state) {
    (void)state;
    begin_test();
    redis_server_command(&server, "CONFIG SET slowlog-log-slower-than 0");
    const work beginning = {"begin", false, IS_OLD, resize_in_vain, NULL};
    const uint64_t commands = count_commands(&beginning);
    for (uint64_t n = 0; n < commands; n++)
        begin_resize_and_fail_over(n);
    redis_server_command(&server, "CONFIG SET slowlog-log-slower-than -1");
}

/* ---- the record of what was replaced ---- */

/* Stops a build of the filter at command n. If the filter is replaced by then, it expires together with
 * the record of the old partitions, and the build cannot release its lock. Returns whether it was
 * replaced. */
static bool expire_while_stopped(const work *work_item, uint64_t n) {
    stopped self = {.work_item = work_item, .why = TAMIS_ERROR_INIT};
    pthread_t thread;
    char replaced[100], now[100];
    self.slow = prepare(work_item, "read_timeout=60s&patience=60s");
    snprintf(replaced, sizeof replaced, "%s", partition_of("f", 0));
    start_stopped(&self, &thread, n);
    snprintf(now, sizeof now, "%s", redis_server_command(&server, "HGET tamis:{f} before"));
    const bool is_switched = strcmp(now, "(nil)") != 0;
    if (is_switched) {
        redis_server_command(&server, "DEL tamis:{f} tamis:{f}:plan");
        redis_server_command(&server, "ACL SETUSER default resetkeys ~tamis:{f} ~tamis:{f}:plan ~tamis:{f:*");
    }
    proxy_deliver(between, false);
    pthread_join(thread, NULL);
    redis_server_command(&server, "ACL SETUSER default allkeys");
    tamis_redis_close(self.slow);
    if (is_switched && redis_server_number(&server, "PTTL %s", replaced) == -1)
        fail_msg("%s, command %d: %s is left (%s)", work_item->what, (int)n, replaced, self.why.text);
    if (is_switched && self.status != TAMIS_OK)
        assert_non_null(strstr(self.why.text, "this command took effect, and the filter has expired"));
    return is_switched;
}

static void reg_22_a_replaced_filter_expires_without_its_record(void **state) {
    (void)state;
    begin_test();
    int switched = 0;
    const uint64_t commands = count_commands(&works[0]);
    for (uint64_t n = commands - 6; n < commands; n++)
        switched += expire_while_stopped(&works[0], n);
    assert_in_range(switched, 2, 6);
}

/* ---- an alias ---- */

static tamis_status push_to_alias(tamis_redis *slow, tamis_error *why) {
    return tamis_redis_push(own, slow, "alias", NULL, why);
}

static tamis_status expire_alias(tamis_redis *slow, tamis_error *why) {
    return tamis_redis_expire(slow, "alias", 3600000, why);
}

static void move_alias_while_stopped(const work *work_item, uint64_t n) {
    stopped self = {.work_item = work_item, .why = TAMIS_ERROR_INIT};
    pthread_t thread;
    char there[100], plan[500];
    snprintf(there, sizeof there, "%s", partition_of("f", 0));
    snprintf(plan, sizeof plan, "%s", redis_server_command(&server, "HGET tamis:{f} plan"));
    OK(tamis_redis_alias(redis, "alias", "f", &err));
    proxy_disarm(between);
    self.slow = open_slow("read_timeout=60s&patience=60s");
    proxy_disarm(between);
    start_stopped(&self, &thread, n);
    redis_server_command(&server, "DEL tamis:{f}:push"); /* which would expire */
    OK(tamis_redis_alias(redis, "alias", "other", &err));
    proxy_deliver(between, false);
    pthread_join(thread, NULL);
    tamis_redis_close(self.slow);
    const bool stays = strcmp(redis_server_command(&server, "HGET tamis:{f} plan"), plan) == 0;
    const long long left = redis_server_number(&server, "PTTL %s", there);
    if (stays && left != -1 && left <= 60000)
        fail_msg("%s, command %d: retired the filter that it left as it is", work_item->what, (int)n);
}

/* An alias that points to another filter by then must not retire the filter that it pointed to. */
static void reg_22_an_alias_that_moves_retires_nothing(void **state) {
    const work by_alias[] = {{"push", false, IS_OWN, push_to_alias, NULL},
                             {"expire", false, IS_OLD, expire_alias, NULL}};
    (void)state;
    begin_test();
    for (size_t i = 0; i < 2; i++)
        for (uint64_t n = 2; n < 14; n++) {
            redis_server_command(&server, "FLUSHALL");
            OK(tamis_redis_push(old, redis, "f", NULL, &err));
            OK(tamis_redis_push(other, redis, "other", NULL, &err));
            move_alias_while_stopped(&by_alias[i], n);
        }
}

/* ---- adders with a time to live ---- */

/* Command n of an adder arrives after the resize has ended, when the filter has no expiry any more. */
static bool renew_late(uint64_t n) {
    redis_server_command(&server, "FLUSHALL");
    OK(tamis_redis_push(old, redis, "f", NULL, &err));
    proxy_disarm(between);
    tamis_redis *slow = open_slow("read_timeout=80ms&patience=20s");
    tamis_filter *there = NULL;
    OK(tamis_redis_filter_open(&there, slow, "f?ttl=1h", NULL, &err));
    OK(tamis_redis_resize_begin(&resize, own, redis, "f", &err));
    proxy_arm_command(between, PROXY_DELAY, n);
    OK(tamis_filter_add_many(there, keys + ADDED, 10, NULL, NULL, &err));
    const bool is_late = proxy_harmed(between) > 0;
    OK(tamis_redis_resize_end(resize, own, &err));
    OK(tamis_redis_expire(redis, "f", 0, &err));
    char generation[20];
    snprintf(generation, sizeof generation, "%.16s",
             strstr(redis_server_command(&server, "HGET tamis:{f} plan"), "generation=") +
                 strlen("generation="));
    proxy_deliver(between, is_late);
    assert_int_equal(redis_server_number(&server, "PTTL tamis:{f:%s:0}:bits", generation), -1);
    assert_int_equal(redis_server_number(&server, "PTTL tamis:{f}"), -1);
    tamis_filter_free(there);
    tamis_redis_close(slow);
    return is_late;
}

static void reg_22_a_late_renewal_of_next_changes_nothing(void **state) {
    (void)state;
    begin_test();
    uint64_t n = 0;
    while (renew_late(n))
        n++;
    assert_true(n > 5);
}

/* ---- groups ---- */

static int set_up(void **state) {
    const int failed = redis_filters_set_up(state);
    if (failed || !server.pid)
        return failed;
    between = proxy_start(server.socket);
    old = make_filter(3000, OLD, SOME);
    own = make_filter(6000, OWN, SOME);
    other = make_filter(9000, OTHER, SOME);
    return 0;
}

static int tear_down(void **state) {
    proxy_stop(between);
    tamis_filter_free(old);
    tamis_filter_free(own);
    tamis_filter_free(other);
    return redis_filters_tear_down(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reg_22_late_commands_change_nothing),
        cmocka_unit_test(reg_22_a_stopped_client_changes_nothing),
        cmocka_unit_test(reg_22_a_deleted_hash_is_no_new_filter),
        cmocka_unit_test(reg_22_late_transactions_change_nothing),
        cmocka_unit_test(reg_22_a_late_next_after_a_failover),
        cmocka_unit_test(reg_22_a_late_renewal_of_next_changes_nothing),
        cmocka_unit_test(reg_22_a_replaced_filter_expires_without_its_record),
        cmocka_unit_test(reg_22_an_alias_that_moves_retires_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

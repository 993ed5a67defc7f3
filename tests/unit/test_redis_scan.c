/* SPDX-License-Identifier: BSD-2-Clause */

/* Lists of filters while connections are few and are lost; and plans and lists that need no command.
 * ctest: timeout=120 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <tamis/tamis.h>

#include "support/proxy.h"
#include "support/redis_filters.h"

enum { FILTERS = 5000 /* some pages of SCAN */ };

/* ---- lists ---- */

typedef struct names {
    size_t count;
    bool had[FILTERS];
} names;

static tamis_status append_name(void *context, const tamis_redis_entry *entry, tamis_error *why) {
    names *collected = context;
    (void)why;
    unsigned long number = strtoul(entry->name, NULL, 10); /* always followed by a separator */
    assert_in_range(number, 0, FILTERS - 1);
    assert_false(collected->had[number]);
    collected->had[number] = true;
    collected->count++;
    return TAMIS_OK;
}

static void make_many(void) {
    redis_server_command(&server, "EVAL %s 0 %d",
                         "for i = 1, ARGV[1] do redis.call('SETBIT', 'bf:' .. (i - 1) .. '.', 8, 1) end",
                         FILTERS);
}

static tamis_redis *open_through(int port, const char *parameters) {
    char uri[200];
    tamis_redis *opened;
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d?timeout=20s&retry_interval=1ms&%s", port, parameters);
    OK(tamis_redis_open(&opened, uri, NULL, &err));
    return opened;
}

static void list_all(tamis_redis *there) {
    names *collected = calloc(1, sizeof *collected);
    assert_non_null(collected);
    OK(tamis_redis_list(there, NULL, append_name, collected, &err));
    assert_int_equal(collected->count, FILTERS);
    free(collected);
}

static void lost_pages_are_requested_again(void **state) {
    (void)state;
    begin_test();
    make_many();
    proxy *between = proxy_start(server.socket);
    tamis_redis *there = open_through(proxy_port(between), "patience=60s");
    const uint64_t steps = test_scale(100, 20, 20);
    proxy_disarm(between);
    list_all(there);
    const uint64_t sent = proxy_passed(between, PROXY_REQUESTS), had = proxy_passed(between, PROXY_REPLIES);
    for (uint64_t i = 0; i < steps; i++) {
        const bool is_reset = i % 2 == 0;
        proxy_arm(between, PROXY_REPLIES, is_reset ? PROXY_RESET : PROXY_CUT, had * i / steps);
        list_all(there);
        assert_int_equal(proxy_harmed(between), 1);
        proxy_arm(between, PROXY_REQUESTS, is_reset ? PROXY_CUT : PROXY_RESET, sent * i / steps);
        list_all(there);
        assert_int_equal(proxy_harmed(between), 1);
    }
    tamis_redis_close(there);
    proxy_stop(between);
}

static void a_server_that_stays_away_is_reported(void **state) {
    (void)state;
    begin_test();
    proxy *between = proxy_start(server.socket);
    tamis_redis *there = open_through(proxy_port(between), "patience=1s");
    proxy_stop(between);
    assert_int_not_equal(tamis_redis_list(there, NULL, append_name, NULL, &err), TAMIS_OK);
    if (!strstr(err.text, "127.0.0.1"))
        fail_msg("%s", err.text);
    tamis_redis_close(there);
}

/* ---- connections ---- */

static long long connections(void) {
    return strtoll(strstr(redis_server_command(&server, "INFO stats"), "total_connections_received:") + 27,
                   NULL, 10);
}

static void *list_often(void *there) {
    for (int i = 0; i < 10; i++)
        list_all(there);
    return NULL;
}

static void lists_take_a_place(void **state) {
    (void)state;
    pthread_t thread;
    begin_test();
    make_many();
    const long long before = connections();
    tamis_redis *there = open_through(server.port, "patience=60s&connections=1");
    assert_int_equal(pthread_create(&thread, NULL, list_often, there), 0);
    list_often(there);
    pthread_join(thread, NULL);
    assert_int_equal(connections() - before - 1, 1); /* besides the one of connections() */
    tamis_redis_close(there);
}

/* ---- without a command ---- */

static void missing_partitions_are_reported(void **state) {
    (void)state;
    struct {
        uint32_t struct_size;
        unsigned char rest[sizeof(tamis_plan)];
    } guarded;
    const uint32_t upto_probes = offsetof(tamis_plan, probes);
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT, unset = {0};
    tamis_plan plan = TAMIS_PLAN_INIT, none = {0};
    plan_options.kind = TAMIS_KIND_BLOCKED;
    plan_options.expect = 1000000;
    plan_options.fpr = 1e-6;
    err = (tamis_error)TAMIS_ERROR_INIT;
    FAILS(tamis_redis_list(NULL, NULL, append_name, NULL, &err), TAMIS_E_INVALID, "give one of them");
    FAILS(tamis_redis_plan_make(&plan, NULL, &err), TAMIS_E_INVALID, "TAMIS_PLAN_OPTIONS_INIT");
    FAILS(tamis_redis_plan_make(&plan, &unset, &err), TAMIS_E_INVALID, "TAMIS_PLAN_OPTIONS_INIT");
    FAILS(tamis_redis_plan_make(&none, &plan_options, &err), TAMIS_E_INVALID, "TAMIS_PLAN_INIT");
    FAILS(tamis_redis_plan_make(NULL, &plan_options, &err), TAMIS_E_INVALID, "TAMIS_PLAN_INIT");
    FAILS(tamis_redis_plan_for(&none, &plan_options, NULL, "redis://127.0.0.1:1/f", &err), TAMIS_E_INVALID,
          "TAMIS_PLAN_INIT");

    /* The struct of an older program: nothing beyond its end is written. */
    memset(&guarded, 0x5a, sizeof guarded);
    guarded.struct_size = upto_probes;
    OK(tamis_redis_plan_make((tamis_plan *)(void *)&guarded, &plan_options, &err));
    assert_int_equal(guarded.struct_size, upto_probes);
    OK(tamis_redis_plan_make(&plan, &plan_options, &err));
    assert_memory_equal((const char *)&guarded + sizeof guarded.struct_size,
                        (const char *)&plan + sizeof guarded.struct_size,
                        upto_probes - sizeof guarded.struct_size);
    for (size_t i = upto_probes; i < sizeof guarded; i++)
        assert_int_equal(((const unsigned char *)&guarded)[i], 0x5a);

    /* Options of an older program, without `probes`. */
    plan_options.probes = 3;
    plan_options.struct_size = offsetof(tamis_plan_options, probes);
    tamis_plan other = TAMIS_PLAN_INIT;
    OK(tamis_redis_plan_make(&other, &plan_options, &err));
    assert_int_equal(other.probes, plan.probes);
    assert_int_not_equal(other.probes, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_pages_are_requested_again),
        cmocka_unit_test(a_server_that_stays_away_is_reported),
        cmocka_unit_test(lists_take_a_place),
        cmocka_unit_test(missing_partitions_are_reported),
    };
    return cmocka_run_group_tests(tests, redis_filters_set_up, redis_filters_tear_down);
}

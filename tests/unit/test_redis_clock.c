/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The time of day jumps by hours at each call. No time in the client may depend on it: patience, time-outs,
 * pauses, the age of a plan, the end of a name look-up. Expiry is a matter of the server and its clock
 * (test_redis_tamis.c).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <tamis/experimental/redis.h>

#include "base/system.h"
#include "support/proxy.h"
#include "support/redis_filters.h"

static atomic_int clock_reads;
static atomic_bool stepping;

/* Replaces the function of the C library. */
int clock_gettime(clockid_t clock, struct timespec *now) {
    const int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && clock == CLOCK_REALTIME && atomic_load(&stepping))
        now->tv_sec += atomic_fetch_add(&clock_reads, 1) % 2 ? 36000 : -36000;
    return result;
}

time_t time(time_t *to) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (to)
        *to = now.tv_sec;
    return now.tv_sec;
}

static proxy *between;

static int set_up(void **state) {
    const int status = redis_filters_set_up(state);
    if (redis)
        between = proxy_start(server.socket);
    return status;
}

static int tear_down(void **state) {
    proxy_stop(between);
    return redis_filters_tear_down(state);
}

/* Checks that the replaced function is used: otherwise nothing would be tested here. */
static void the_clock_steps(void **state) {
    (void)state;
    atomic_store(&stepping, true);
    const int64_t first = tamis__now_unix(), second = tamis__now_unix();
    atomic_store(&stepping, false);
    assert_true(first - second > 3600 || second - first > 3600);
}

static void nothing_follows_the_time_of_day(void **state) {
    (void)state;
    static const char *const rests[] = {"c?expect=100000&fpr=0.001&ttl=1h",
                                        "c?layout=java&expect=100000&fpr=0.01&ttl=1h",
                                        "c2?layout=redisson&expect=100000&fpr=0.01&ttl=1h"};
    begin_test();
    for (size_t i = 0; i < sizeof rests / sizeof *rests; i++) {
        tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
        tamis_answer answers[100];
        tamis_filter *filter = NULL;
        char uri[300];
        size_t done = 77;
        options.create = true;
        atomic_store(&stepping, true);
        snprintf(uri, sizeof uri,
                 "redis://localhost:%d/%s&read_timeout=20ms&retry_interval=5ms&patience=60s&connect_wait=60s",
                 proxy_port(between), rests[i]);
        OK(tamis_redis_filter_open(&filter, NULL, uri, &options, &err));
        /* It waits for a silent connection as long as the patience says, then for a late one, and gives
         * up. */
        for (uint64_t round = 0; round < 20; round++) {
            proxy_arm(between, PROXY_REPLIES, round % 2 ? PROXY_CUT : PROXY_HOLD, round * 7);
            OK(tamis_filter_add_many(filter, keys + round * 100, 100, answers, NULL, &err));
            for (size_t j = 0; j < 100; j++)
                assert_int_not_equal(answers[j], TAMIS_PRESENT);
        }
        proxy_disarm(between);
        assert_int_equal(count_present(filter, 0, 2000), 2000);
        tamis_filter_free(filter);
        snprintf(uri, sizeof uri, "redis://localhost:%d/%s&patience=1s", proxy_port(between), rests[i]);
        OK(tamis_redis_filter_open(&filter, NULL, uri, &options, &err));
        proxy_arm(between, PROXY_REPLIES, PROXY_HOLD, 0);
        FAILS(tamis_filter_contains_many(filter, keys, 100, answers, &done, &err), TAMIS_E_TIMEOUT,
              "patience=");
        assert_int_equal(done, 0);
        proxy_disarm(between);
        tamis_filter_free(filter);
        atomic_store(&stepping, false);
    }
    assert_in_range(redis_server_number(&server, "PTTL bf:c"), 3500000, 3600000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clock_steps),
        cmocka_unit_test(nothing_follows_the_time_of_day),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * What a writer reports that was held up until another writer had made the filter again. Tried at every
 * command of a drop, of a push and of the end of a resize: a proxy holds the command, the lock is deleted
 * as if it had expired, and another program builds the filter, or drops it first; then the command arrives.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "support/proxy.h"
#include "support/redis_filters.h"

enum { OLD = 0, OWN = 1000, OTHER = 2000, SOME = 500 };

static proxy *between;
static tamis_filter *old, *own, *other;
static tamis_redis_resize *resize;

typedef struct held_writer {
    tamis_status (*run)(struct held_writer *self);
    tamis_redis *slow;
    tamis_status status;
    tamis_error why;
    atomic_bool is_over;
} held_writer;

static tamis_status drop_filter(held_writer *self) {
    return tamis_redis_drop(self->slow, "f", &self->why);
}

static tamis_status push_filter(held_writer *self) {
    return tamis_redis_push(own, self->slow, "f", NULL, &self->why);
}

/* Pushes where there is no filter yet. */
static tamis_status push_first(held_writer *self) {
    return push_filter(self);
}

static tamis_status end_resize(held_writer *self) {
    return tamis_redis_resize_end(resize, own, &self->why);
}

static void *run_writer(void *context) {
    held_writer *self = context;
    self->status = self->run(self);
    atomic_store(&self->is_over, true);
    return NULL;
}

static tamis_status clean(held_writer *self);

static void prepare(held_writer *self, tamis_status (*run)(held_writer *self)) {
    char uri[100];
    *self = (held_writer){.run = run, .why = TAMIS_ERROR_INIT};
    redis_server_command(&server, "FLUSHALL");
    if (run != push_first)
        OK(tamis_redis_push(old, redis, "f?partition=1024", NULL, &err));
    if (run == clean)
        redis_server_command(&server, "SET tamis:{g:00000000000000bb:0}:bits left");
    proxy_disarm(between);
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d?read_timeout=60s&patience=60s", proxy_port(between));
    OK(tamis_redis_open(&self->slow, uri, NULL, &err));
    if (run == end_resize)
        OK(tamis_redis_resize_begin(&resize, own, self->slow, "f", &err));
    proxy_disarm(between); /* counting starts here */
}

static uint64_t count_commands(tamis_status (*run)(held_writer *self)) {
    held_writer self;
    prepare(&self, run);
    OK(run(&self));
    tamis_redis_close(self.slow);
    return proxy_commands(between);
}

typedef struct held_moment {
    bool is_locked, has_plan, is_switched; /* what the hash and its lock were when the command was held */
} held_moment;

/* Runs the writer; before its command n the other program builds the filter, and before that drops it. */
static held_moment run_held(held_writer *self, tamis_status (*run)(held_writer *self), uint64_t n,
                            bool drops) {
    pthread_t thread;
    char plan[500];
    prepare(self, run);
    snprintf(plan, sizeof plan, "%s", redis_server_command(&server, "HGET tamis:{f} plan"));
    proxy_arm_command(between, PROXY_DELAY, n);
    assert_int_equal(pthread_create(&thread, NULL, run_writer, self), 0);
    while (proxy_harmed(between) == 0 && !atomic_load(&self->is_over))
        usleep(500);
    const held_moment moment = {.has_plan = redis_server_number(&server, "HEXISTS tamis:{f} plan") == 1,
                                .is_switched =
                                    strcmp(redis_server_command(&server, "HGET tamis:{f} plan"), plan) != 0,
                                /* it would expire */
                                .is_locked = redis_server_number(&server, "DEL tamis:{f}:push") == 1};
    if (drops && moment.has_plan)
        OK(tamis_redis_drop(redis, "f", &err));
    if (run != push_first)
        OK(tamis_redis_push(other, redis, "f", NULL, &err));
    proxy_deliver(between, false);
    pthread_join(thread, NULL);
    tamis_redis_close(self->slow);
    return moment;
}

/* Returns the number of partitions that never expire, and are not those of the plan. */
static int count_left_partitions(void) {
    char names[8000], plan[500], *rest = NULL;
    int left = 0;
    snprintf(names, sizeof names, "%s", redis_server_command(&server, "KEYS tamis:{f:*"));
    snprintf(plan, sizeof plan, "%s", redis_server_command(&server, "HGET tamis:{f} plan"));
    for (char *name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
        char generation[17] = "";
        assert_int_equal(sscanf(name, "tamis:{f:%16[0-9a-f]:", generation), 1);
        left += !strstr(plan, generation) && redis_server_number(&server, "PTTL %s", name) == -1;
    }
    return left;
}

static bool has_keys_of_other(void) {
    tamis_filter *filter = open_filter("f");
    const size_t present = count_present(filter, OTHER, SOME);
    tamis_filter_free(filter);
    return present == SOME;
}

/* The message is whole, says what became of the command, and does not advise to repeat it blindly. */
static void check_message(const held_writer *self, uint64_t n, const char *effect) {
    const char *text = self->why.text;
    if (!strstr(text, effect) || !strstr(text, "tamis info") || strstr(text, "do it again") ||
        strlen(text) >= sizeof self->why.text - 1)
        fail_msg("command %d: %s", (int)n, text);
}

/* ---- a drop ---- */

/* Once the filter is gone, the drop has done its work: an error with the advice to repeat it would make the
 * user drop the filter of the other program. */
static void reg_22_a_drop_that_took_effect_is_no_failure(void **state) {
    (void)state;
    begin_test();
    uint64_t in_effect = 0, again = 0;
    const uint64_t commands = count_commands(drop_filter);
    for (uint64_t n = 0; n < commands; n++) {
        held_writer self;
        const held_moment moment = run_held(&self, drop_filter, n, false);
        if (!moment.has_plan && self.status != TAMIS_OK)
            fail_msg("command %d: %s", (int)n, self.why.text);
        if (moment.has_plan &&
            !moment.is_locked) /* drops the filter of the other program, which was there first */
            continue;
        if (moment.has_plan &&
            self.status == TAMIS_OK) { /* the same: it took the lock again before it read the hash */
            again++;
            continue;
        }
        if (moment.has_plan) {
            assert_int_equal(self.status, TAMIS_E_BUSY);
            if (self.why.sys_errno == ESTALE) /* it had the lock */
                check_message(&self, n, "nothing of this command took effect");
        }
        if (!has_keys_of_other() || count_left_partitions() != 0)
            fail_msg("command %d: removed too much, or too little", (int)n);
        in_effect += !moment.has_plan;
    }
    assert_in_range(in_effect, 5, commands);
    assert_int_equal(again, 1);
}

/* The server refuses to remove the partitions: the message says that the filter was dropped and what removes
 * the rest, and does not advise to drop again. */
static void reg_22_a_drop_says_what_it_left(void **state) {
    (void)state;
    begin_test();
    OK(tamis_redis_push(old, redis, "f", NULL, &err));
    redis_server_command(&server, "ACL SETUSER default -unlink");
    const tamis_status status = tamis_redis_drop(redis, "f", &err);
    redis_server_command(&server, "ACL SETUSER default +unlink");
    assert_int_equal(status, TAMIS_E_REFUSED);
    assert_non_null(strstr(err.text, "the filter was dropped"));
    assert_non_null(strstr(err.text, "tamis redis clean"));
    assert_null(strstr(err.text, "drop it again"));
    assert_string_equal(redis_server_command(&server, "HGET tamis:{f} plan"), "(nil)");
}

/* Runs the writer, and calls `interfere` while the writer's command n is held. */
static void run_beside(held_writer *self, tamis_status (*run)(held_writer *self), uint64_t n,
                       void (*interfere)(void)) {
    pthread_t thread;
    prepare(self, run);
    proxy_arm_command(between, PROXY_DELAY, n);
    assert_int_equal(pthread_create(&thread, NULL, run_writer, self), 0);
    while (proxy_harmed(between) == 0 && !atomic_load(&self->is_over))
        usleep(500);
    interfere();
    proxy_deliver(between, false);
    pthread_join(thread, NULL);
    redis_server_command(&server, "ACL SETUSER default allkeys");
    tamis_redis_close(self->slow);
}

static void forbid_lock(void) {
    redis_server_command(&server, "ACL SETUSER default resetkeys ~tamis:{f}");
}

static void set_lock(void) {
    redis_server_command(&server, "SET tamis:{f}:push another");
}

static void set_lock_of_g(void) {
    redis_server_command(&server, "SET tamis:{g}:push another");
}

/* The drop took effect: that its lock stays is a warning, not a failure. */
static void reg_22_a_drop_that_cannot_release_its_lock(void **state) {
    (void)state;
    begin_test();
    held_writer self;
    const uint64_t commands = count_commands(drop_filter);
    run_beside(&self, drop_filter, commands - 1, forbid_lock);
    assert_int_equal(redis_server_number(&server, "EXISTS tamis:{f}:push"), 1);
    assert_int_equal(redis_server_number(&server, "EXISTS tamis:{f}"), 0);
    assert_int_equal(self.status, TAMIS_OK);
    assert_int_equal(self.why.status, TAMIS_OK);
    assert_non_null(strstr(self.why.text, "its lock stays for up to 60 s"));
}

/* ---- removing leftovers ---- */

static tamis_status count_leftover(void *context, const tamis_redis_leftover *leftover, tamis_error *error) {
    (void)leftover;
    (void)error;
    ++*(size_t *)context;
    return TAMIS_OK;
}

static tamis_status clean(held_writer *self) {
    size_t count = 0;
    return tamis_redis_leftovers(self->slow, "*", true, count_leftover, &count, &self->why);
}

static void reg_22_an_overtaken_clean_names_the_other_writer(void **state) {
    (void)state;
    begin_test();
    uint64_t overtaken = 0;
    const uint64_t commands = count_commands(clean);
    for (uint64_t n = 0; n < commands; n++) {
        held_writer self;
        run_beside(&self, clean, n, set_lock_of_g);
        if (self.status == TAMIS_OK || self.why.sys_errno != ESTALE)
            continue;
        assert_int_equal(self.status, TAMIS_E_BUSY);
        check_message(&self, n, "not all leftovers of g were removed");
        assert_int_equal(redis_server_number(&server, "EXISTS tamis:{g:00000000000000bb:0}:bits"), 1);
        overtaken++;
    }
    assert_in_range(overtaken, 1, commands);
}

/* ---- an expire ---- */

static tamis_status expire_filter(held_writer *self) {
    return tamis_redis_expire(self->slow, "f", 3600000, &self->why);
}

static void reg_22_an_overtaken_expire_says_what_it_did(void **state) {
    (void)state;
    begin_test();
    uint64_t overtaken = 0;
    const uint64_t commands = count_commands(expire_filter);
    for (uint64_t n = 0; n < commands; n++) {
        held_writer self;
        run_beside(&self, expire_filter, n, set_lock);
        if (self.status == TAMIS_OK || self.why.sys_errno != ESTALE)
            continue;
        assert_int_equal(self.status, TAMIS_E_BUSY);
        check_message(&self, n, "some of its Redis keys may have the new expiry");
        overtaken++;
    }
    assert_in_range(overtaken, 1, commands);
}

/* ---- a push ---- */

/* The partitions were removed by the other writer, not by the server: its memory is not to blame. */
static void check_reasons(tamis_status (*run)(held_writer *self), bool drops) {
    uint64_t overtaken = 0;
    const uint64_t commands = count_commands(run);
    for (uint64_t n = 0; n < commands; n++) {
        held_writer self;
        const held_moment moment = run_held(&self, run, n, drops);
        if (self.status == TAMIS_OK)
            continue;
        if (self.status == TAMIS_E_BUSY && self.why.sys_errno == 0) /* did not get the lock */
            continue;
        if (self.status != TAMIS_E_MISMATCH) { /* a resize that was ended */
            assert_int_equal(self.status, TAMIS_E_BUSY);
            assert_int_equal(self.why.sys_errno, ESTALE);
        }
        if (moment.is_switched) /* it did its work, as a drop does */
            fail_msg("command %d: %s", (int)n, self.why.text);
        check_message(&self, n, "nothing of this command took effect");
        if (!has_keys_of_other() || count_left_partitions() != 0)
            fail_msg("command %d: removed too much, or too little", (int)n);
        overtaken++;
    }
    assert_in_range(overtaken, 6, commands);
}

static void reg_22_an_overtaken_push_names_the_other_writer(void **state) {
    (void)state;
    begin_test();
    check_reasons(push_filter, false);
    check_reasons(push_filter, true);
}

static void reg_22_an_overtaken_resize_names_the_other_writer(void **state) {
    (void)state;
    begin_test();
    check_reasons(end_resize, false);
    check_reasons(end_resize, true);
}

/* Then the hash is as it was before the push. */
static void reg_22_a_first_push_that_was_dropped(void **state) {
    (void)state;
    begin_test();
    uint64_t in_effect = 0;
    const uint64_t commands = count_commands(push_first);
    for (uint64_t n = 0; n < commands; n++) {
        held_writer self;
        const held_moment moment = run_held(&self, push_first, n, true);
        if (!moment.is_switched || !moment.is_locked || self.status == TAMIS_OK)
            continue;
        check_message(&self, n, "took effect, and the filter has expired, or was dropped or deleted");
        assert_int_equal(count_left_partitions(), 0);
        in_effect++;
    }
    assert_in_range(in_effect, 1, commands);
}

static int set_up(void **state) {
    const int failed = redis_filters_set_up(state);
    if (failed || !server.pid)
        return failed;
    between = proxy_start(server.socket);
    old = make_filter(2000, OLD, SOME);
    own = make_filter(2000, OWN, SOME);
    other = make_filter(2000, OTHER, SOME);
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
        cmocka_unit_test(reg_22_a_drop_that_took_effect_is_no_failure),
        cmocka_unit_test(reg_22_a_drop_says_what_it_left),
        cmocka_unit_test(reg_22_a_drop_that_cannot_release_its_lock),
        cmocka_unit_test(reg_22_an_overtaken_clean_names_the_other_writer),
        cmocka_unit_test(reg_22_an_overtaken_expire_says_what_it_did),
        cmocka_unit_test(reg_22_an_overtaken_push_names_the_other_writer),
        cmocka_unit_test(reg_22_an_overtaken_resize_names_the_other_writer),
        cmocka_unit_test(reg_22_a_first_push_that_was_dropped),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * What a writer reports if the network is cut for good. Tried at every command that it sends, and at
 * places within all replies: a proxy holds the bytes and then ends, so that nobody can be asked any more.
 * ctest: long
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/proxy.h"
#include "support/redis_filters.h"
#include "support/scratch.h"

enum { SOME = 200 };

static proxy *between;
static tamis_filter *old, *own;
static const char *patience = "50ms"; /* of the writer */

typedef struct cut_writer {
    tamis_status (*run)(struct cut_writer *self);
    tamis_redis *slow;
    tamis_filter *there; /* of clear_filter */
    tamis_status status;
    tamis_error why;
    atomic_bool is_over;
} cut_writer;

static tamis_status drop_filter(cut_writer *self) {
    return tamis_redis_drop(self->slow, "f", &self->why);
}

static tamis_status push_filter(cut_writer *self) {
    return tamis_redis_push(own, self->slow, "f", NULL, &self->why);
}

static tamis_status clear_filter(cut_writer *self) {
    return tamis_filter_clear(self->there, &self->why);
}

static tamis_status set_alias(cut_writer *self) {
    return tamis_redis_alias(self->slow, "a", "f", &self->why);
}

static void *run_writer(void *context) {
    cut_writer *self = context;
    self->status = self->run(self);
    atomic_store(&self->is_over, true);
    return NULL;
}

static void prepare(cut_writer *self, tamis_status (*run)(cut_writer *self)) {
    char uri[100];
    *self = (cut_writer){.run = run, .why = TAMIS_ERROR_INIT};
    redis_server_command(&server, "FLUSHALL");
    OK(tamis_redis_push(old, redis, "f?partition=4096", NULL, &err));
    between = proxy_start(server.socket);
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d?read_timeout=20s&patience=%s", proxy_port(between),
             patience);
    OK(tamis_redis_open(&self->slow, uri, NULL, &err));
    if (run == clear_filter)
        OK(tamis_redis_filter_open(&self->there, self->slow, "f", NULL, &err));
    proxy_disarm(between); /* counting starts here */
}

static void finish(cut_writer *self) {
    tamis_filter_free(self->there);
    tamis_redis_close(self->slow);
}

/* True if the server has what the writer is to do. */
static bool has_changed(const cut_writer *self, const char *plan) {
    if (self->run == set_alias)
        return redis_server_number(&server, "HEXISTS tamis:{a} alias") == 1;
    return strcmp(redis_server_command(&server, "HGET tamis:{f} plan"), plan) != 0;
}

/* The message is true, and says which case it is. */
static void check_report(const cut_writer *self, const char *plan, const char *where) {
    const char *text = self->why.text;
    const bool changed = has_changed(self, plan), unknown = strstr(text, "it is unknown whether");
    const bool done = strstr(text, ", but Redis keys") || strstr(text, "took effect, and its lock stays");
    const bool is_locked = redis_server_number(&server, "EXISTS tamis:{f}:push tamis:{a}:push") > 0;
    const bool says_lock = strstr(text, "nothing of this command took effect, and its lock may stay");
    const bool is_ok = self->status == TAMIS_OK || done ? changed : unknown || !changed;
    const bool is_silent = is_locked && self->status != TAMIS_OK && !done && !unknown && !says_lock;
    if (!is_ok || is_silent || strlen(text) >= sizeof self->why.text - 1 || strstr(text, "TLS"))
        fail_msg("%s: status %d, %s: %s", where, self->status, changed ? "done" : "not done", text);
}

static void cut(tamis_status (*run)(cut_writer *self), bool replies, uint64_t position) {
    cut_writer self;
    pthread_t thread;
    char plan[500], where[60];
    prepare(&self, run);
    snprintf(plan, sizeof plan, "%s", redis_server_command(&server, "HGET tamis:{f} plan"));
    snprintf(where, sizeof where, "%s %d", replies ? "byte of the replies" : "command", (int)position);
    if (replies)
        proxy_arm(between, PROXY_REPLIES, PROXY_HOLD, position);
    else
        proxy_arm_command(between, PROXY_HOLD, position);
    assert_int_equal(pthread_create(&thread, NULL, run_writer, &self), 0);
    while (proxy_harmed(between) == 0 && !atomic_load(&self.is_over))
        usleep(500);
    proxy_stop(between);
    pthread_join(thread, NULL);
    check_report(&self, plan, where);
    finish(&self);
}

static void cut_everywhere(tamis_status (*run)(cut_writer *self)) {
    cut_writer self;
    begin_test();
    patience = "50ms";
    prepare(&self, run);
    OK(run(&self));
    const uint64_t commands = proxy_commands(between), bytes = proxy_passed(between, PROXY_REPLIES);
    proxy_stop(between);
    finish(&self);
    assert_in_range(commands, 4, 100);
    for (uint64_t n = 0; n < commands; n++)
        cut(run, false, n);
    for (uint64_t position = 0; position < bytes; position += test_scale(24, 200, 96))
        cut(run, true, position);
}

static void reg_22_a_cut_drop_says_what_it_did(void **state) {
    (void)state;
    cut_everywhere(drop_filter);
}

static void reg_22_a_cut_push_says_what_it_did(void **state) {
    (void)state;
    cut_everywhere(push_filter);
}

static void reg_22_a_cut_clear_says_what_it_did(void **state) {
    (void)state;
    cut_everywhere(clear_filter);
}

static void reg_22_a_cut_alias_says_what_it_did(void **state) {
    (void)state;
    cut_everywhere(set_alias);
}

/* ---- a command that is held while something happens ---- */

static tamis_status make_filter_there(cut_writer *self) {
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    options.create = true;
    return tamis_redis_filter_open(&self->there, self->slow, "new?expect=1000", &options, &self->why);
}

/* Holds command n, calls `meanwhile`, and delivers the command. */
static void hold(cut_writer *self, tamis_status (*run)(cut_writer *self), uint64_t n,
                 void (*meanwhile)(void)) {
    pthread_t thread;
    prepare(self, run);
    proxy_arm_command(between, PROXY_DELAY, n);
    assert_int_equal(pthread_create(&thread, NULL, run_writer, self), 0);
    while (proxy_harmed(between) == 0 && !atomic_load(&self->is_over))
        usleep(500);
    meanwhile();
    proxy_deliver(between, false);
    pthread_join(thread, NULL);
    proxy_stop(between);
}

static void drop_new(void) {
    (void)tamis_redis_drop(redis, "new", NULL);
}

static void reg_22_a_filter_that_is_dropped_when_it_was_made(void **state) {
    (void)state;
    begin_test();
    patience = "20s";
    uint64_t dropped = 0;
    for (uint64_t n = 0; n < 30; n++) {
        cut_writer self;
        hold(&self, make_filter_there, n, drop_new);
        assert_null(strstr(self.why.text, "give expect"));
        dropped += strstr(self.why.text, "right after it was made") != NULL;
        finish(&self);
    }
    assert_true(dropped > 0);
}

static bool had_lock;

static void end_lock(void) {
    had_lock = redis_server_number(&server, "DEL tamis:{f}:push") == 1;
}

/* The first command that is held while the lock is there is the GET that reads it. */
static void reg_22_a_lock_that_ends_before_it_is_read(void **state) {
    (void)state;
    begin_test();
    patience = "20s";
    had_lock = false;
    for (uint64_t n = 0; !had_lock; n++) {
        cut_writer self;
        assert_in_range(n, 0, 9);
        hold(&self, drop_filter, n, end_lock);
        assert_int_equal(self.status, TAMIS_OK);
        finish(&self);
    }
}

static int set_up(void **state) {
    const int failed = redis_filters_set_up(state);
    if (failed || !server.pid)
        return failed;
    old = make_filter(2000, 0, SOME);
    own = make_filter(2000, 1000, SOME);
    return 0;
}

static int tear_down(void **state) {
    tamis_filter_free(old);
    tamis_filter_free(own);
    return redis_filters_tear_down(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reg_22_a_cut_drop_says_what_it_did),
        cmocka_unit_test(reg_22_a_cut_push_says_what_it_did),
        cmocka_unit_test(reg_22_a_cut_clear_says_what_it_did),
        cmocka_unit_test(reg_22_a_cut_alias_says_what_it_did),
        cmocka_unit_test(reg_22_a_filter_that_is_dropped_when_it_was_made),
        cmocka_unit_test(reg_22_a_lock_that_ends_before_it_is_read),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

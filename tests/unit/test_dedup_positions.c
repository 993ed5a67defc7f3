/* SPDX-License-Identifier: BSD-2-Clause */

/* Records with positions: whatever a sender delivers again, and whenever the program stops, each key is
 * absent exactly once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/tamis.h>

#include "base/system.h"
#include "support/fault.h"
#include "support/states.h"

enum { SOURCES = 5, RECORDS = 700, BATCH = 600 };

static const char *const source_names[SOURCES] = {"clicks/0", "clicks/1", "", "views", "a"};

static const states_make growing = {.name = "growing", .kind = TAMIS_KIND_FINGERPRINT, .fpr = 1e-12};
static const states_make window = {
    .name = "window", .kind = TAMIS_KIND_WINDOW, .fpr = 1e-9, .window = 24 * 3600000};

static void assert_ok(tamis_status status) {
    if (status != TAMIS_OK)
        fail_msg("%s: %s", tamis_status_name(status), states_err.text);
}

typedef struct open_session {
    tamis_state *state;
    tamis_dedup *session;
} open_session;

static open_session open_it(const states_make *make, const tamis_allocator *allocator) {
    open_session o = {NULL, NULL};
    tamis_dedup_options options = TAMIS_DEDUP_OPTIONS_INIT;
    assert_ok(states_open(&o.state, make, scratch(""), allocator));
    options.state = o.state;
    options.allocator = allocator;
    assert_ok(tamis_dedup_open(&o.session, NULL, &options, &states_err));
    return o;
}

static void close_it(open_session *o) {
    tamis_dedup_close(o->session);
    tamis_state_close(o->state);
}

static tamis_delivery delivery(const tamis_dedup *session, const char *source, uint64_t position,
                               uint64_t number) {
    tamis_delivery made = {.source = {source, strlen(source)}, .position = position};
    const tamis_key key = {&number, sizeof number};
    assert_ok(
        tamis_hash_many(tamis_filter_hasher(tamis_dedup_filter(session)), &key, 1, &made.hash, &states_err));
    return made;
}

/* Delivers one record. */
static tamis_status deliver(const open_session *o, const char *source, uint64_t position, uint64_t number,
                            tamis_answer *answer) {
    const tamis_delivery made = delivery(o->session, source, position, number);
    return tamis_dedup_add_delivered(o->session, &(tamis_deliveries){&made, NULL, 1}, answer, NULL,
                                     &states_err);
}

static tamis_answer answer_of(const open_session *o, const char *source, uint64_t position, uint64_t number) {
    tamis_answer answer = TAMIS_UNKNOWN;
    assert_ok(deliver(o, source, position, number, &answer));
    return answer;
}

static void assert_refused(tamis_status status, tamis_status expected, const char *text) {
    assert_int_equal(status, expected);
    if (!strstr(states_err.text, text))
        fail_msg("\"%s\" is not in \"%s\"", text, states_err.text);
}

/* Last committed position of a source, plus 1; 0: none. */
static uint64_t committed_end(const open_session *o, const char *source) {
    uint64_t position;
    tamis_key name;
    for (size_t i = 0; (name = tamis_dedup_source_at(o->session, i, &position)).data; i++)
        if (name.size == strlen(source) && memcmp(name.data, source, name.size) == 0)
            return position + 1;
    return 0;
}

static void positions_come_back_after_a_start(void **state) {
    (void)state;
    open_session o = open_it(&growing, NULL);
    assert_null(tamis_dedup_source_at(o.session, 0, NULL).data);
    assert_int_equal(answer_of(&o, "a", 7, 1), TAMIS_ABSENT);
    assert_int_equal(answer_of(&o, "a", 7, 1), TAMIS_REDELIVERED);
    assert_int_equal(answer_of(&o, "a", 9, 1), TAMIS_PRESENT);
    assert_int_equal(answer_of(&o, "", 0, 2), TAMIS_ABSENT);
    assert_int_equal(committed_end(&o, "a"), 0); /* nothing is committed yet */
    assert_ok(tamis_dedup_commit(o.session, "one", 3, &states_err));
    assert_int_equal(answer_of(&o, "a", 10, 3), TAMIS_ABSENT); /* never committed */
    assert_int_equal(answer_of(&o, "b", 1, 4), TAMIS_ABSENT);
    assert_int_equal(committed_end(&o, "b"), 0);
    for (int again = 0; again < 2; again++) {
        const void *checkpoint;
        size_t size;
        if (again) {
            assert_ok(tamis_dedup_abort(o.session, &states_err));
        } else {
            close_it(&o);
            o = open_it(&growing, NULL);
        }
        tamis_dedup_committed(o.session, &checkpoint, &size);
        assert_int_equal(size, 3);
        assert_memory_equal(checkpoint, "one", 3);
        assert_int_equal(committed_end(&o, "a"), 10);
        assert_int_equal(committed_end(&o, ""), 1);
        assert_int_equal(answer_of(&o, "a", 8, 9), TAMIS_REDELIVERED);
        assert_int_equal(answer_of(&o, "a", 10, 3), TAMIS_ABSENT);
        assert_int_equal(answer_of(&o, "", 0, 2), TAMIS_REDELIVERED);
        assert_int_equal(answer_of(&o, "b", 0, 4), TAMIS_ABSENT);
    }
    close_it(&o);
}

static void a_commit_that_was_refused_moves_no_position(void **state) {
    (void)state;
    static char checkpoint[TAMIS_STATE_CHECKPOINT_MAX];
    open_session o = open_it(&growing, NULL);
    assert_int_equal(answer_of(&o, "a", 1, 1), TAMIS_ABSENT);
    assert_refused(tamis_dedup_commit(o.session, checkpoint, sizeof checkpoint, &states_err), TAMIS_E_RANGE,
                   "");
    assert_int_equal(committed_end(&o, "a"), 0);
    assert_ok(tamis_dedup_commit(o.session, checkpoint, sizeof checkpoint - 100, &states_err));
    assert_int_equal(committed_end(&o, "a"), 2);
    close_it(&o);
}

/* Bytes of a caller that look like a commit with positions come back as they were. */
static void any_checkpoint_is_kept(void **state) {
    (void)state;
    static const unsigned char like_ours[24] = {'T', 'P', 'O', 'S', 1, 0, 0, 0, 8};
    static const struct {
        const void *bytes;
        size_t size;
    } cases[] = {{NULL, 0}, {"x", 1}, {like_ours, sizeof like_ours}, {like_ours, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const void *checkpoint;
        size_t size;
        open_session o = open_it(&growing, NULL);
        if (i == 1)
            assert_int_equal(answer_of(&o, "a", 1, 1), TAMIS_ABSENT);
        assert_ok(tamis_dedup_commit(o.session, cases[i].bytes, cases[i].size, &states_err));
        close_it(&o);
        o = open_it(&growing, NULL);
        tamis_dedup_committed(o.session, &checkpoint, &size);
        assert_int_equal(size, cases[i].size);
        if (size > 0)
            assert_memory_equal(checkpoint, cases[i].bytes, size);
        close_it(&o);
    }
}

static void a_source_that_was_created_again_is_refused(void **state) {
    (void)state;
    tamis_answer answer;
    open_session o = open_it(&growing, NULL);
    assert_int_equal(answer_of(&o, "a", 3, 30), TAMIS_ABSENT);
    assert_int_equal(answer_of(&o, "a", 5, 50), TAMIS_ABSENT);
    assert_refused(deliver(&o, "a", 5, 51, &answer), TAMIS_E_CHANGED, "another key");
    assert_refused(deliver(&o, "a", 3, 31, &answer), TAMIS_E_CHANGED, "another key");
    assert_refused(deliver(&o, "a", 2, 20, &answer), TAMIS_E_CHANGED, "before the first");
    assert_int_equal(answer_of(&o, "a", 4, 40), TAMIS_REDELIVERED);
    assert_int_equal(answer_of(&o, "a", 6, 60), TAMIS_ABSENT);
    close_it(&o);
}

static void wrong_sources_are_refused(void **state) {
    (void)state;
    char name[TAMIS_SOURCE_MAX + 2];
    tamis_answer answers[3];
    size_t done;
    open_session o = open_it(&growing, NULL);
    memset(name, 'n', sizeof name);
    name[TAMIS_SOURCE_MAX + 1] = '\0';
    assert_refused(deliver(&o, name, 1, 1, answers), TAMIS_E_RANGE, "256 bytes");
    tamis_delivery batch[3] = {delivery(o.session, "a", 1, 1), delivery(o.session, "b", 1, 2),
                               delivery(o.session, "a", 2, 3)};
    batch[1].source = (tamis_key){"b\0c", 3};
    assert_refused(tamis_dedup_add_delivered(o.session, &(tamis_deliveries){batch, NULL, 3}, answers, &done,
                                             &states_err),
                   TAMIS_E_INVALID, "zero byte");
    assert_int_equal(done, 1);
    assert_int_equal(answers[0], TAMIS_ABSENT);
    batch[1].source = (tamis_key){"b", 1};
    assert_ok(tamis_dedup_add_delivered(o.session, &(tamis_deliveries){batch, NULL, 3}, answers, &done,
                                        &states_err));
    assert_int_equal(done, 3);
    assert_int_equal(answers[0], TAMIS_REDELIVERED);
    assert_int_equal(answers[1], TAMIS_ABSENT);
    assert_int_equal(answers[2], TAMIS_ABSENT);
    close_it(&o);
}

static void too_many_sources_are_refused(void **state) {
    (void)state;
    char name[16];
    tamis_answer answer;
    open_session o = open_it(&growing, NULL);
    for (int i = 0; i < 2048; i++) {
        snprintf(name, sizeof name, "s%d", i);
        assert_int_equal(answer_of(&o, name, 1, (uint64_t)i), TAMIS_ABSENT);
    }
    assert_refused(deliver(&o, "one more", 1, 1, &answer), TAMIS_E_RANGE, "2048");
    assert_int_equal(answer_of(&o, "s7", 2, 9999), TAMIS_ABSENT);
    assert_ok(tamis_dedup_commit(o.session, NULL, 0, &states_err));
    assert_int_equal(committed_end(&o, "s7"), 3);
    close_it(&o);
}

static void a_session_without_a_state_is_refused(void **state) {
    (void)state;
    tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *filter;
    open_session o = {NULL, NULL};
    tamis_answer answer;
    options.fpr = 1e-9;
    assert_ok(tamis_plan_make(&plan, &options, &states_err));
    assert_ok(tamis_filter_create(&filter, &plan, NULL, &states_err));
    assert_ok(tamis_dedup_open(&o.session, filter, NULL, &states_err));
    assert_refused(deliver(&o, "a", 1, 1, &answer), TAMIS_E_UNSUPPORTED, "state");
    tamis_dedup_close(o.session);
    tamis_filter_free(filter);
}

/* The filter stops within a batch: records behind that are new when they are delivered again. */
static void records_behind_an_error_count_as_not_delivered(void **state) {
    (void)state;
    enum { HOUR = 3600000, COUNT = 6 };
    tamis_answer answers[COUNT];
    tamis_delivery batch[COUNT];
    int64_t times[COUNT];
    size_t done;
    open_session o = open_it(&window, NULL);
    assert_ok(tamis_dedup_commit(o.session, NULL, 0, &states_err));
    for (uint64_t i = 0; i < COUNT; i++) {
        batch[i] = delivery(o.session, i % 2 ? "a" : "b", i, i);
        times[i] = (int64_t)(1000000 + i);
    }
    times[3] += 100 * (int64_t)HOUR; /* far ahead */
    assert_refused(tamis_dedup_add_delivered(o.session, &(tamis_deliveries){batch, times, COUNT}, answers,
                                             &done, &states_err),
                   TAMIS_E_RANGE, "are allowed");
    assert_int_equal(done, 3);
    times[3] -= 100 * (int64_t)HOUR;
    assert_ok(tamis_dedup_add_delivered(o.session, &(tamis_deliveries){batch, times, COUNT}, answers, &done,
                                        &states_err));
    assert_int_equal(done, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(answers[i], i < 3 ? TAMIS_REDELIVERED : TAMIS_ABSENT);
    assert_ok(tamis_dedup_commit(o.session, NULL, 0, &states_err));
    close_it(&o);
    o = open_it(&window, NULL);
    assert_ok(tamis_dedup_add_delivered(o.session, &(tamis_deliveries){batch, NULL, COUNT}, answers, &done,
                                        &states_err));
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(answers[i], TAMIS_REDELIVERED);
    close_it(&o);
}

/* A record that was refused and left out may be the first one of its source, and come again. */
static void a_source_may_begin_with_a_refused_record(void **state) {
    (void)state;
    tamis_answer answer;
    open_session o = open_it(&window, NULL);
    const tamis_delivery first = delivery(o.session, "a", 0, 0), second = delivery(o.session, "a", 1, 1),
                         other = delivery(o.session, "b", 0, 2);
    const int64_t now = 1000000, later = now + 100 * (int64_t)3600000;
    assert_ok(tamis_dedup_add_delivered(o.session, &(tamis_deliveries){&other, &now, 1}, &answer, NULL,
                                        &states_err));
    assert_refused(tamis_dedup_add_delivered(o.session, &(tamis_deliveries){&first, &later, 1}, &answer, NULL,
                                             &states_err),
                   TAMIS_E_RANGE, "are allowed");
    assert_ok(tamis_dedup_add_delivered(o.session, &(tamis_deliveries){&second, &now, 1}, &answer, NULL,
                                        &states_err));
    assert_int_equal(answer, TAMIS_ABSENT);
    assert_ok(tamis_dedup_commit(o.session, NULL, 0, &states_err));
    close_it(&o);
    o = open_it(&window, NULL);
    assert_ok(tamis_dedup_add_delivered(o.session, &(tamis_deliveries){&first, &later, 1}, &answer, NULL,
                                        &states_err));
    assert_int_equal(answer, TAMIS_REDELIVERED);
    assert_ok(tamis_dedup_add_delivered(o.session, &(tamis_deliveries){&second, &now, 1}, &answer, NULL,
                                        &states_err));
    assert_int_equal(answer, TAMIS_REDELIVERED);
    close_it(&o);
}

/* ---- a sender that delivers again, and a program that stops at any time ---- */

typedef struct trial {
    uint64_t random;
    fault_memory memory;
    open_session o;
    uint64_t next[SOURCES]; /* record of each source that is delivered next */
    uint64_t keys[SOURCES][RECORDS];
    uint32_t written[SOURCES][RECORDS]; /* times that the record was written */
    uint32_t committed[SOURCES][RECORDS];
    uint64_t commits; /* number of the last commit: its checkpoint */
    uint64_t failed;  /* number of a commit that failed; 0: none */
} trial;

static uint64_t choose(trial *t, uint64_t below) {
    return test_random(&t->random) % below;
}

/* Positions have gaps. */
static uint64_t position_of(uint64_t record) {
    return 100 + 3 * record;
}

/* The sender goes back: to the last committed position, or to any one before it. */
static void go_back(trial *t) {
    for (int i = 0; i < SOURCES; i++) {
        const uint64_t end = committed_end(&t->o, source_names[i]);
        const uint64_t record = end ? (end - 1 - position_of(0)) / 3 + 1 : 0;
        t->next[i] = choose(t, 2) ? record : choose(t, record + 1);
    }
}

/* Cuts from the output what is not committed. */
static void go_on_from_commit(trial *t) {
    uint64_t number = 0;
    const void *checkpoint;
    size_t size;
    tamis_dedup_committed(t->o.session, &checkpoint, &size);
    if (size == sizeof number)
        memcpy(&number, checkpoint, sizeof number);
    if (t->failed && number == t->failed) /* it is on the disk although it failed */
        memcpy(t->committed, t->written, sizeof t->written);
    else
        memcpy(t->written, t->committed, sizeof t->written);
    t->commits = number;
    t->failed = 0;
    go_back(t);
}

static void start(trial *t) {
    static tamis_allocator allocator;
    allocator = fault_memory_allocator(&t->memory);
    t->memory.fail_at = 0;
    t->o = open_it(&growing, &allocator);
    go_on_from_commit(t);
}

static void stop(trial *t) {
    close_it(&t->o);
    assert_int_equal(t->memory.live_blocks, 0);
}

/* One of the next allocations may fail. */
static void plan_failure(trial *t) {
    t->memory.fail_at = choose(t, 3) ? 0 : t->memory.requests + 1 + choose(t, 8);
}

/* Delivers random runs of records, and writes those that are absent. */
static void deliver_batch(trial *t) {
    tamis_delivery batch[BATCH];
    tamis_answer answers[BATCH];
    uint64_t records[BATCH];
    int sources[BATCH];
    size_t count = 0, answered = 0;
    const size_t wanted = 1 + choose(t, BATCH);
    for (int tries = 0; count < wanted && tries < 100; tries++) {
        const int source = (int)choose(t, SOURCES);
        for (uint64_t run = choose(t, 100); run > 0 && count < wanted && t->next[source] < RECORDS; run--) {
            const uint64_t record = t->next[source]++;
            batch[count] =
                delivery(t->o.session, source_names[source], position_of(record), t->keys[source][record]);
            records[count] = record;
            sources[count++] = source;
        }
    }
    plan_failure(t);
    while (answered < count) {
        size_t done;
        const tamis_status status = tamis_dedup_add_delivered(
            t->o.session, &(tamis_deliveries){batch + answered, NULL, count - answered}, answers + answered,
            &done, &states_err);
        for (size_t i = answered; i < answered + done; i++)
            if (answers[i] == TAMIS_ABSENT)
                t->written[sources[i]][records[i]]++;
        answered += done;
        if (status == TAMIS_OK)
            continue;
        assert_int_equal(status, TAMIS_E_NOMEM);
        if (t->memory.fail_at == 0) { /* the state has failed */
            stop(t);
            start(t);
            return;
        }
        t->memory.fail_at = 0;
    }
    t->memory.fail_at = 0;
}

static void commit(trial *t) {
    const uint64_t number = t->commits + 1;
    plan_failure(t);
    const tamis_status status = tamis_dedup_commit(t->o.session, &number, sizeof number, &states_err);
    t->memory.fail_at = 0;
    if (status == TAMIS_OK) {
        t->commits = number;
        memcpy(t->committed, t->written, sizeof t->written);
        return;
    }
    assert_int_equal(status, TAMIS_E_NOMEM);
    t->failed = number;
    stop(t);
    start(t);
}

/* An abort without memory leaves a session that accepts nothing. */
static void abort_session(trial *t) {
    tamis_answer answer;
    plan_failure(t);
    const tamis_status status = tamis_dedup_abort(t->o.session, &states_err);
    t->memory.fail_at = 0;
    if (status == TAMIS_OK) {
        go_on_from_commit(t);
        return;
    }
    assert_int_equal(status, TAMIS_E_NOMEM);
    assert_int_equal(tamis_dedup_commit(t->o.session, NULL, 0, &states_err), TAMIS_E_NOMEM);
    if (choose(t, 2) && tamis_dedup_abort(t->o.session, &states_err) == TAMIS_OK) {
        go_on_from_commit(t);
        return;
    }
    assert_int_equal(tamis_dedup_add_many(t->o.session, &(tamis_key){"k", 1}, 1, &answer, NULL, &states_err),
                     TAMIS_E_NOMEM);
    stop(t);
    start(t);
}

static bool has_uncommitted(const open_session *o) {
    for (int i = 0; i < SOURCES; i++)
        if (committed_end(o, source_names[i]) != position_of(RECORDS - 1) + 1)
            return true;
    return false;
}

static void each_key_is_absent_once(void **state) {
    (void)state;
    static trial t;
    tamis__sys.thread = fault_no_thread; /* its allocations would be counted at the same time */
    uint32_t written[SOURCES * RECORDS / 2] = {0}, expected[SOURCES * RECORDS / 2] = {0};
    t.random = test_seed(31);
    for (int i = 0; i < SOURCES; i++)
        for (int n = 0; n < RECORDS; n++)
            t.keys[i][n] = choose(&t, SOURCES * RECORDS / 2);
    start(&t);
    while (has_uncommitted(&t.o)) {
        deliver_batch(&t);
        switch (choose(&t, 6)) {
        case 0:
            stop(&t);
            start(&t);
            break;
        case 1:
            abort_session(&t);
            break;
        case 2: /* the sender was started again, the program not */
            go_back(&t);
            break;
        case 3:
        case 4:
            commit(&t);
            break;
        default:
            break;
        }
    }
    assert_true(t.memory.refused > 0);
    stop(&t);
    for (int i = 0; i < SOURCES; i++)
        for (int n = 0; n < RECORDS; n++) {
            written[t.keys[i][n]] += t.committed[i][n];
            expected[t.keys[i][n]] = 1;
        }
    assert_memory_equal(written, expected, sizeof written);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(positions_come_back_after_a_start, states_set_up, states_tear_down),
        cmocka_unit_test_setup_teardown(a_commit_that_was_refused_moves_no_position, states_set_up,
                                        states_tear_down),
        cmocka_unit_test_setup_teardown(any_checkpoint_is_kept, states_set_up, states_tear_down),
        cmocka_unit_test_setup_teardown(a_source_that_was_created_again_is_refused, states_set_up,
                                        states_tear_down),
        cmocka_unit_test_setup_teardown(wrong_sources_are_refused, states_set_up, states_tear_down),
        cmocka_unit_test_setup_teardown(too_many_sources_are_refused, states_set_up, states_tear_down),
        cmocka_unit_test_setup_teardown(a_session_without_a_state_is_refused, states_set_up,
                                        states_tear_down),
        cmocka_unit_test_setup_teardown(records_behind_an_error_count_as_not_delivered, states_set_up,
                                        states_tear_down),
        cmocka_unit_test_setup_teardown(a_source_may_begin_with_a_refused_record, states_set_up,
                                        states_tear_down),
        cmocka_unit_test_setup_teardown(each_key_is_absent_once, states_set_up, states_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

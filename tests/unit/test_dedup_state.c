/* SPDX-License-Identifier: BSD-2-Clause */

/* A dedup session over a state: after any end, exactly the committed keys are known. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/experimental/state.h>
#include <tamis/tamis.h>

#include "service/dedup/dedup_commits.h"
#include "service/dedup/dedup_parts.h"
#include "store/state/state_stats.h"
#include "support/fault.h"
#include "support/scratch.h"

static tamis_error err;

static void assert_ok(tamis_status status) {
    if (status != TAMIS_OK)
        fail_msg("%s: %s", tamis_status_name(status), err.text);
}

static int set_up(void **state) {
    (void)state;
    scratch_make();
    err = (tamis_error)TAMIS_ERROR_INIT;
    return 0;
}

/* Removes the directory of the state: scratch_remove removes only files. */
static int tear_down(void **state) {
    (void)state;
    char command[400];
    snprintf(command, sizeof command, "rm -rf '%s'", scratch("seen"));
    if (system(command) != 0)
        return -1;
    scratch_remove();
    return 0;
}

typedef struct open_session {
    tamis_state *state;
    tamis_dedup *session;
} open_session;

static open_session open_it(uint64_t expect) {
    open_session o = {NULL, NULL};
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_state_options options = TAMIS_STATE_OPTIONS_INIT;
    tamis_dedup_options session_options = TAMIS_DEDUP_OPTIONS_INIT;
    plan_options.expect = expect;
    plan_options.fpr = 1e-9;
    assert_ok(tamis_plan_make(&plan, &plan_options, &err));
    options.plan = &plan;
    assert_ok(tamis_state_open(&o.state, scratch("seen"), &options, &err));
    session_options.state = o.state;
    session_options.on_full = TAMIS_ON_FULL_PASS;
    assert_ok(tamis_dedup_open(&o.session, NULL, &session_options, &err));
    return o;
}

static void close_it(open_session *o) {
    tamis_dedup_close(o->session);
    tamis_state_close(o->state);
}

/* Queries `count` numbers from `from` on, and returns how many were absent. */
static size_t query(tamis_dedup *session, uint64_t from, size_t count) {
    uint64_t numbers[1000];
    tamis_key keys[1000];
    tamis_answer answers[1000];
    size_t done = 0, absent = 0;
    assert_true(count <= 1000);
    for (size_t i = 0; i < count; i++) {
        numbers[i] = from + i;
        keys[i] = (tamis_key){&numbers[i], sizeof numbers[i]};
    }
    assert_ok(tamis_dedup_add_many(session, keys, count, answers, &done, &err));
    assert_int_equal(done, count);
    for (size_t i = 0; i < count; i++)
        absent += answers[i] == TAMIS_ABSENT;
    return absent;
}

static void assert_checkpoint(const tamis_state *state, const char *checkpoint) {
    const void *bytes;
    size_t size;
    tamis_state_committed(state, &bytes, &size);
    assert_int_equal(size, strlen(checkpoint));
    assert_memory_equal(bytes, checkpoint, size);
}

/* A run may begin with records without a key, and commit them while a thread already queries later ones. */
static void a_commit_before_the_first_written_key(void **state) {
    (void)state;
    for (int again = 0; again < 2; again++) {
        open_session o = open_it(0);
        assert_int_equal(query(o.session, 0, 100), 100);
        assert_ok(tamis__state_commit(o.state, "none", 4, &err));
        if (again) {
            assert_ok(tamis_dedup_abort(o.session, &err));
            assert_int_equal(query(o.session, 0, 100), 100);
            assert_ok(tamis__state_commit(o.state, "none", 4, &err));
        }
        close_it(&o);
        o = open_it(0);
        assert_checkpoint(o.state, "none");
        assert_int_equal(query(o.session, 0, 100), 100);
        close_it(&o);
    }
}

static void committed_keys_are_known(void **state) {
    (void)state;
    open_session o = open_it(0);
    assert_checkpoint(o.state, "");
    assert_int_equal(query(o.session, 0, 1000), 1000);
    assert_int_equal(query(o.session, 500, 1000), 500);
    assert_ok(tamis_dedup_commit(o.session, "one", 3, &err));
    assert_int_equal(query(o.session, 1500, 500), 500); /* never committed */
    close_it(&o);
    o = open_it(0);
    assert_checkpoint(o.state, "one");
    assert_int_equal(query(o.session, 0, 1000), 0);
    assert_int_equal(query(o.session, 1000, 1000), 500);
    assert_ok(tamis_dedup_commit(o.session, "two", 3, &err));
    close_it(&o);
    o = open_it(0);
    assert_checkpoint(o.state, "two");
    assert_int_equal(query(o.session, 1000, 1000), 0);
    close_it(&o);
}

static void an_abort_leaves_no_trace(void **state) {
    (void)state;
    open_session o = open_it(0);
    query(o.session, 0, 100);
    assert_ok(tamis_dedup_commit(o.session, "one", 3, &err));
    assert_int_equal(query(o.session, 100, 100), 100);
    assert_ok(tamis_dedup_abort(o.session, &err));
    assert_int_equal(query(o.session, 100, 50), 50);
    assert_int_equal(query(o.session, 0, 100), 0);
    assert_ok(tamis_dedup_commit(o.session, "two", 3, &err));
    close_it(&o);
    o = open_it(0);
    assert_int_equal(query(o.session, 0, 200), 50); /* 150 to 199 were forgotten */
    close_it(&o);
}

/* A commit does not have batches that were queried but not written. */
static void a_commit_has_what_is_written(void **state) {
    (void)state;
    open_session o = open_it(0);
    query(o.session, 0, 10);
    query(o.session, 5, 10); /* 5 are absent */
    query(o.session, 100, 10);
    assert_ok(tamis__dedup_written(o.session, 1, &err));
    assert_ok(tamis__dedup_written(o.session, 1, &err));
    assert_ok(tamis__state_commit(o.state, "two", 3, &err));
    close_it(&o);
    o = open_it(0);
    assert_int_equal(query(o.session, 0, 15), 0);
    assert_int_equal(query(o.session, 100, 10), 10);
    close_it(&o);
}

/* A closed session may leave keys in the filter that are not in the log. A caller that continued would
 * take them for present, and the next start for absent. */
static void uncommitted_keys_of_a_session_are_aborted_first(void **state) {
    (void)state;
    open_session o = open_it(0);
    tamis_dedup_options options = TAMIS_DEDUP_OPTIONS_INIT;
    options.state = o.state;
    query(o.session, 0, 10);
    assert_ok(tamis_dedup_commit(o.session, "one", 3, &err));
    query(o.session, 10, 10);
    assert_int_equal(tamis_state_expect(o.state, 5, &err), TAMIS_E_INVALID);
    tamis_dedup_close(o.session);
    o.session = NULL;
    assert_int_equal(tamis_dedup_open(&o.session, NULL, &options, &err), TAMIS_E_INVALID);
    assert_non_null(
        strstr(err.text, "its filter has 20 keys, and 10 are logged; log the others first, or abort"));
    assert_int_equal(tamis_state_commit(o.state, "two", 3, &err), TAMIS_E_INVALID);
    assert_checkpoint(o.state, "one");
    assert_ok(tamis_state_abort(o.state, &err));
    assert_ok(tamis_dedup_open(&o.session, NULL, &options, &err));
    assert_int_equal(query(o.session, 0, 20), 10);
    assert_ok(tamis_dedup_commit(o.session, "two", 3, &err));
    close_it(&o);
    o = open_it(0);
    assert_int_equal(query(o.session, 0, 20), 0);
    close_it(&o);
}

/* The state refuses such a commit while a session is open too. */
static void reg_22_the_state_commits_no_unlogged_key(void **state) {
    (void)state;
    const tamis_key key = {"direct", 6};
    tamis_answer answer;
    open_session o = open_it(0);
    query(o.session, 0, 10);
    assert_ok(tamis_dedup_commit(o.session, "one", 3, &err));
    assert_ok(tamis_filter_add_many(tamis_state_filter(o.state), &key, 1, &answer, NULL, &err));
    assert_int_equal(tamis_state_commit(o.state, "two", 3, &err), TAMIS_E_INVALID);
    assert_checkpoint(o.state, "one");
    close_it(&o);
}

/* The answers of such a session could never be committed. */
static void reg_22_a_state_opened_to_look_has_no_session(void **state) {
    (void)state;
    tamis_state_options look = TAMIS_STATE_OPTIONS_INIT;
    tamis_dedup_options options = TAMIS_DEDUP_OPTIONS_INIT;
    tamis_state *opened = NULL;
    tamis_dedup *session = NULL;
    open_session o = open_it(0);
    query(o.session, 0, 10);
    assert_ok(tamis_dedup_commit(o.session, "one", 3, &err));
    close_it(&o);
    look.read_only = true;
    assert_ok(tamis_state_open(&opened, scratch("seen"), &look, &err));
    options.state = opened;
    assert_int_equal(tamis_dedup_open(&session, NULL, &options, &err), TAMIS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "open it without read_only"));
    tamis_state_close(opened);
}

/* After its session is closed, the caller may use the state directly. */
static void without_the_session_the_state_goes_on(void **state) {
    (void)state;
    const tamis_key key = {"direct", 6};
    tamis_answer answer;
    tamis_hash hash;
    open_session o = open_it(0);
    query(o.session, 0, 10);
    assert_ok(tamis_dedup_commit(o.session, "one", 3, &err));
    tamis_dedup_close(o.session);
    tamis_filter *filter = tamis_state_filter(o.state);
    assert_ok(tamis_hash_many(tamis_filter_hasher(filter), &key, 1, &hash, &err));
    assert_ok(tamis_filter_add_hashes(filter, &hash, 1, &answer, NULL, &err));
    assert_ok(tamis_state_log(o.state, &hash, 1, &err));
    assert_ok(tamis_state_commit(o.state, "two", 3, &err));
    tamis_state_close(o.state);
    o = open_it(0);
    tamis_state_info info = TAMIS_STATE_INFO_INIT;
    tamis_state_info_get(o.state, &info);
    assert_int_equal(info.keys, 11);
    close_it(&o);
}

/* Without memory for the hashes of a batch, no key of it is answered. */
static void unanswered_keys_are_not_counted(void **state) {
    (void)state;
    const tamis_key key = {"key", 3};
    tamis_answer answer = TAMIS_UNKNOWN;
    fault_memory memory = {0};
    const tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis_dedup_options options = TAMIS_DEDUP_OPTIONS_INIT;
    tamis_dedup *session = NULL;
    size_t done = 7;
    open_session o = open_it(0);
    options.state = o.state;
    options.allocator = &allocator;
    assert_ok(tamis_dedup_open(&session, NULL, &options, &err));
    memory.fail_at = memory.requests + 1;
    assert_int_equal(tamis_dedup_add_many(session, &key, 1, &answer, &done, &err), TAMIS_E_NOMEM);
    assert_int_equal(done, 0);
    assert_int_equal(answer, TAMIS_UNKNOWN);
    assert_ok(tamis_dedup_add_many(session, &key, 1, &answer, &done, &err));
    assert_int_equal(done, 1);
    tamis_dedup_close(session);
    close_it(&o);
}

/* A key that is added to the filter directly is not in the log, so no commit succeeds with it. */
static void reg_22_a_key_beside_the_session(void **state) {
    (void)state;
    tamis_answer answer;
    size_t done = 7;
    open_session o = open_it(0);
    query(o.session, 0, 10);
    assert_ok(tamis_dedup_commit(o.session, "one", 3, &err));
    assert_ok(tamis_filter_add(tamis_state_filter(o.state), "beside", 6, &answer, &err));
    assert_int_equal(answer, TAMIS_ABSENT);
    assert_int_equal(tamis_dedup_commit(o.session, "two", 3, &err), TAMIS_E_INVALID);
    assert_non_null(strstr(err.text, "has 11 keys, and the session put in 10"));
    assert_checkpoint(o.state, "one");
    const tamis_key key = {"key", 3};
    assert_int_equal(tamis_dedup_add_many(o.session, &key, 1, &answer, &done, &err), TAMIS_E_INVALID);
    assert_int_equal(done, 0);
    assert_int_equal(tamis_dedup_commit(o.session, "two", 3, &err), TAMIS_E_INVALID);
    assert_ok(tamis_dedup_abort(o.session, &err));
    assert_ok(tamis_filter_contains(tamis_state_filter(o.state), "beside", 6, &answer, &err));
    assert_int_equal(answer, TAMIS_ABSENT);
    assert_int_equal(query(o.session, 0, 20), 10);
    assert_ok(tamis_dedup_commit(o.session, "two", 3, &err));
    close_it(&o);
    o = open_it(0);
    assert_int_equal(query(o.session, 0, 20), 0);
    close_it(&o);
}

/* Keys that replace as many others would be committed unnoticed, so no key can be removed from the filter. */
static void reg_22_no_key_is_removed_beside_the_session(void **state) {
    (void)state;
    tamis_filter *other = NULL;
    open_session o = open_it(0);
    tamis_filter *filter = tamis_state_filter(o.state);
    query(o.session, 0, 2);
    assert_ok(tamis_filter_copy(&other, filter, &err));
    assert_int_equal(tamis_filter_clear(filter, &err), TAMIS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "belongs to a state"));
    assert_int_equal(tamis_filter_union(filter, other, &err), TAMIS_E_UNSUPPORTED);
    assert_int_equal(tamis_filter_remove(filter, "k", 1, NULL, &err), TAMIS_E_UNSUPPORTED);
    tamis_filter_free(other);
    assert_ok(tamis_dedup_commit(o.session, "one", 3, &err));
    assert_int_equal(query(o.session, 1, 2), 1);
    assert_ok(tamis_dedup_commit(o.session, "two", 3, &err));
    close_it(&o);
    o = open_it(0);
    assert_checkpoint(o.state, "two");
    assert_int_equal(query(o.session, 0, 4), 1);
    close_it(&o);
}

/* After a failed commit nothing is answered, since no commit could make it durable. */
static void reg_22_nothing_is_answered_after_a_failure(void **state) {
    (void)state;
    const tamis_key key = {"key", 3};
    tamis_answer answer = TAMIS_UNKNOWN;
    size_t done = 7;
    open_session o = open_it(0);
    query(o.session, 0, 10);
    assert_ok(tamis_dedup_commit(o.session, "one", 3, &err));
    query(o.session, 10, 10);
    fault_install();
    fault_arm(FAULT_SYNC, 1, EIO, true);
    assert_int_equal(tamis_dedup_commit(o.session, "two", 3, &err), TAMIS_E_IO);
    fault_disarm();
    fault_remove();
    const tamis_error why = err;
    assert_int_equal(tamis_dedup_add_many(o.session, &key, 1, &answer, &done, &err), TAMIS_E_IO);
    assert_string_equal(err.text, why.text);
    assert_int_equal(done, 0);
    assert_int_equal(answer, TAMIS_UNKNOWN);
    tamis_hash hash;
    assert_ok(tamis_hash_many(tamis_filter_hasher(tamis_dedup_filter(o.session)), &key, 1, &hash, &err));
    assert_int_equal(tamis_dedup_add_hashes(o.session, &hash, 1, &answer, &done, &err), TAMIS_E_IO);
    const tamis__divided_batch batch = {&hash, 1, &answer, 2};
    assert_int_equal(tamis__dedup_add_part(o.session, &batch, 0, &done, &err), TAMIS_E_IO);
    assert_int_equal(tamis_dedup_commit(o.session, "two", 3, &err), TAMIS_E_IO);
    assert_int_equal(tamis_dedup_abort(o.session, &err), TAMIS_E_IO);
    close_it(&o);
    o = open_it(0);
    assert_int_equal(query(o.session, 0, 10), 0);
    close_it(&o);
}

/* Keys for which the filter had no slot are passed on and not logged. */
static void refused_keys_are_not_logged(void **state) {
    (void)state;
    open_session o = open_it(100);
    assert_int_equal(query(o.session, 0, 1000), 100);
    assert_ok(tamis_dedup_commit(o.session, "full", 4, &err));
    close_it(&o);
    o = open_it(100);
    tamis_state_info info = TAMIS_STATE_INFO_INIT;
    tamis_state_info_get(o.state, &info);
    assert_int_equal(info.keys, 100);
    assert_int_equal(query(o.session, 0, 1000), 0);
    close_it(&o);
}

/* A batch that is queried in parts is logged in the order of its records. */
static void a_batch_in_parts_is_logged(void **state) {
    (void)state;
    enum { COUNT = 4096 };
    static uint64_t numbers[COUNT];
    static tamis_key keys[COUNT];
    static tamis_hash hashes[COUNT];
    static tamis_answer answers[COUNT];
    open_session o = open_it(0);
    for (size_t i = 0; i < COUNT; i++) {
        numbers[i] = i / 2; /* each twice */
        keys[i] = (tamis_key){&numbers[i], sizeof numbers[i]};
    }
    assert_ok(tamis_hash_many(tamis_filter_hasher(tamis_dedup_filter(o.session)), keys, COUNT, hashes, &err));
    const tamis__divided_batch batch = {hashes, COUNT, answers, tamis__dedup_parts(o.session, COUNT, 8)};
    assert_true(batch.parts > 1);
    for (uint32_t part = 0; part < batch.parts; part++) {
        size_t done;
        assert_ok(tamis__dedup_add_part(o.session, &batch, part, &done, &err));
    }
    tamis__dedup_finish_parts(o.session, answers, COUNT, TAMIS_OK, &err);
    assert_ok(tamis_dedup_commit(o.session, "parts", 5, &err));
    close_it(&o);
    o = open_it(0);
    tamis_state_info info = TAMIS_STATE_INFO_INIT;
    tamis_state_info_get(o.state, &info);
    assert_int_equal(info.keys, COUNT / 2);
    assert_int_equal(query(o.session, 0, 1000), 0);
    close_it(&o);
}

static void without_a_state_nothing_is_committed(void **state) {
    (void)state;
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *filter = NULL;
    tamis_dedup *session = NULL;
    plan_options.fpr = 1e-9;
    assert_ok(tamis_plan_make(&plan, &plan_options, &err));
    assert_ok(tamis_filter_create(&filter, &plan, NULL, &err));
    assert_ok(tamis_dedup_open(&session, filter, NULL, &err));
    assert_int_equal(tamis_dedup_commit(session, "x", 1, &err), TAMIS_E_UNSUPPORTED);
    assert_int_equal(tamis_dedup_abort(session, &err), TAMIS_E_UNSUPPORTED);
    tamis_dedup_close(session);
    open_session o = open_it(0);
    tamis_dedup_options options = TAMIS_DEDUP_OPTIONS_INIT;
    options.state = o.state;
    session = NULL;
    assert_int_equal(tamis_dedup_open(&session, filter, &options, &err),
                     TAMIS_E_INVALID); /* not the filter of the state */
    close_it(&o);
    tamis_filter_free(filter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_commit_before_the_first_written_key, set_up, tear_down),
        cmocka_unit_test_setup_teardown(committed_keys_are_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_abort_leaves_no_trace, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_commit_has_what_is_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(uncommitted_keys_of_a_session_are_aborted_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reg_22_the_state_commits_no_unlogged_key, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reg_22_a_state_opened_to_look_has_no_session, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_the_session_the_state_goes_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unanswered_keys_are_not_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reg_22_a_key_beside_the_session, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reg_22_no_key_is_removed_beside_the_session, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reg_22_nothing_is_answered_after_a_failure, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refused_keys_are_not_logged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_batch_in_parts_is_logged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_state_nothing_is_committed, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

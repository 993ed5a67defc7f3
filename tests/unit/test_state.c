/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: long */

/* A state from its creation to its reopening: it has exactly what was committed, byte for byte. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/state/state_int.h"
#include "support/scratch.h"
#include "support/states.h"

static const states_make *const growing = &states_makes[STATES_GROWING];
static const states_make *const small = &states_makes[STATES_SMALL];

static void assert_says(const char *text) {
    if (!strstr(states_err.text, text))
        fail_msg("\"%s\" does not say \"%s\"", states_err.text, text);
}

static void assert_ok(tamis_status status) {
    if (status != TAMIS_OK)
        fail_msg("%s: %s", tamis_status_name(status), states_err.text);
}

/* The scratch directory is the directory of the state. */
static const char *directory(void) {
    return scratch("");
}

static tamis_state *opened(const states_make *make) {
    tamis_state *state = NULL;
    assert_ok(states_open(&state, make, directory(), NULL));
    return state;
}

static void what_is_committed_is_there(void **unused) {
    (void)unused;
    tamis_state *state = opened(growing);
    assert_true(states_is_at(state, ""));
    assert_string_equal(tamis_state_metadata(state), "numbers");
    assert_ok(states_add(state, 0, 2500));
    assert_ok(states_commit(state, "one"));
    assert_ok(states_add(state, 2500, 100));
    tamis_state_close(state);
    state = opened(growing);
    assert_true(states_is_at(state, "one"));
    assert_int_equal(states_keys(state), 2500);
    assert_int_equal(states_info(state).replayed, 2500);
    assert_int_equal(states_info(state).epoch, 2);
    assert_string_equal(tamis_state_metadata(state), "numbers");
    assert_ok(states_add(state, 2500, 100)); /* absent again: no trace of them is left */
    assert_ok(states_commit(state, "two"));
    assert_int_equal(states_keys(state), 2600);
    assert_int_equal(states_info(state).commits, 2);
    tamis_state_close(state);
}

/* A state without a commit is made again, so a refused run does not bind the next one. A commit binds, even
 * without keys. */
static void what_nothing_was_committed_to_is_made_anew(void **unused) {
    (void)unused;
    tamis_state *state = opened(small);
    assert_ok(states_add(state, 0, 10));
    tamis_state_close(state);
    state = opened(growing);
    assert_true(tamis_state_filter(state)->plan.kind == growing->kind);
    assert_int_equal(states_info(state).epoch, 2);
    assert_int_equal(states_keys(state), 0);
    assert_ok(states_commit(state, "begun"));
    tamis_state_close(state);
    assert_int_equal(states_open(&state, small, directory(), NULL), TAMIS_E_MISMATCH);
    state = opened(growing);
    assert_true(states_is_at(state, "begun"));
    tamis_state_close(state);
    assert_ok(tamis_state_verify(directory(), NULL, &states_err));
}

/* The text of a state can be changed as long as it has no keys. */
static void reg_22_a_description_is_corrected(void **unused) {
    (void)unused;
    char *long_text = malloc(TAMIS_STATE_METADATA_MAX + 2);
    tamis_state *state = opened(growing);
    assert_non_null(long_text);
    assert_ok(tamis_state_set_metadata(state, "first", &states_err)); /* without a commit */
    assert_string_equal(tamis_state_metadata(state), "first");
    assert_ok(states_commit(state, "begun"));
    assert_ok(tamis_state_set_metadata(state, "second, and longer", &states_err));
    memset(long_text, 'x', TAMIS_STATE_METADATA_MAX + 1);
    long_text[TAMIS_STATE_METADATA_MAX + 1] = '\0';
    assert_int_equal(tamis_state_set_metadata(state, long_text, &states_err), TAMIS_E_RANGE);
    free(long_text);
    tamis_state_close(state);
    state = opened(growing);
    assert_string_equal(tamis_state_metadata(state), "second, and longer");
    assert_true(states_is_at(state, "begun"));
    assert_ok(states_add(state, 0, 10));
    assert_int_equal(tamis_state_set_metadata(state, "third", &states_err), TAMIS_E_INVALID);
    assert_ok(states_commit(state, "keys"));
    assert_int_equal(tamis_state_set_metadata(state, "third", &states_err), TAMIS_E_INVALID);
    assert_says("has keys");
    tamis_state_close(state);
    state = opened(growing);
    assert_string_equal(tamis_state_metadata(state), "second, and longer");
    assert_int_equal(states_keys(state), 10);
    tamis_state_close(state);
    assert_ok(tamis_state_verify(directory(), NULL, &states_err));
}

/* A commit without keys and without a checkpoint also commits the size hint. */
static void an_empty_commit_binds(void **unused) {
    (void)unused;
    tamis_state *state = opened(growing);
    assert_ok(tamis_state_expect(state, 5000, &states_err));
    assert_ok(tamis_state_commit(state, NULL, 0, &states_err));
    tamis_state_close(state);
    state = opened(growing);
    assert_int_equal(tamis_state_filter(state)->size_hint, 5000);
    assert_ok(states_add(state, 0, 10));
    assert_ok(states_commit(state, "some"));
    tamis_state_close(state);
}

/* Opens the state of `growing` with a plan and filter options. */
static void assert_differs(const tamis_plan *plan, const tamis_filter_options *how, const char *says) {
    tamis_state_options options = states_options(growing, NULL);
    tamis_state *state = NULL;
    options.plan = plan;
    options.filter = how;
    assert_int_equal(tamis_state_open(&state, directory(), &options, &states_err), TAMIS_E_MISMATCH);
    assert_null(state);
    assert_says(says);
}

/* If the caller asks for another filter than the state has, the message says what differs. */
static void reg_22_another_plan_is_refused(void **unused) {
    (void)unused;
    tamis_state *state = opened(growing);
    tamis_filter_options how = TAMIS_FILTER_OPTIONS_INIT;
    const tamis_plan plan = *tamis_filter_plan(tamis_state_filter(state));
    tamis_plan other = plan;
    assert_ok(states_add(state, 0, 10));
    assert_ok(states_commit(state, "begun"));
    tamis_state_close(state);
    other.kind = TAMIS_KIND_EXACT;
    assert_differs(&other, NULL, "kind is fingerprint, and exact was asked for");
    other = plan;
    other.scheme = TAMIS_SCHEME_SIP;
    assert_differs(&other, NULL, "scheme is xxh3, and sip was asked for");
    other = plan;
    other.capacity = 1000;
    assert_differs(&other, NULL, "capacity is 0, and 1000 was asked for");
    other = plan;
    other.fpr = 1e-3;
    assert_differs(&other, NULL, "fpr is 1e-06, and 0.001 was asked for");
    other = plan;
    other.memory_limit = 1 << 20;
    assert_differs(&other, NULL, "memory_limit is 0, and 1048576 was asked for");
    how.seed = 5;
    assert_differs(&plan, &how, "seed is 0, and 5 was asked for");
    how.seed = 0;
    how.allow_over_capacity = true;
    assert_differs(&plan, &how, "allow_over_capacity is 0, and 1 was asked for");
    state = opened(growing);
    assert_true(states_is_at(state, "begun"));
    assert_int_equal(states_keys(state), 10);
    tamis_state_close(state);
}

/* Keys beyond the capacity are refused, however the state is opened, before and after a snapshot. */
static void reg_22_a_frozen_state_stays_frozen(void **unused) {
    (void)unused;
    static const states_make frozen = {
        .name = "frozen", .kind = TAMIS_KIND_FINGERPRINT, .expect = 3000, .fpr = 1e-6, .frozen = true};
    tamis_state_options options = TAMIS_STATE_OPTIONS_INIT;
    tamis_filter_options how = TAMIS_FILTER_OPTIONS_INIT;
    tamis_state *state = opened(&frozen);
    tamis_plan plan = *tamis_filter_plan(tamis_state_filter(state));
    assert_ok(states_add(state, 0, 1000));
    assert_ok(states_commit(state, "begun"));
    tamis_state_close(state);
    options.plan = &plan;
    options.filter = &how;
    assert_int_equal(tamis_state_open(&state, directory(), &options, &states_err), TAMIS_E_MISMATCH);
    assert_says("frozen is 1, and 0 was asked for");
    options.plan = NULL;
    options.filter = NULL;
    for (int round = 0; round < 2; round++) {
        assert_ok(tamis_state_open(&state, directory(), &options, &states_err));
        assert_false(tamis_filter_can(tamis_state_filter(state), TAMIS_CAN_GROW));
        assert_ok(tamis_state_snapshot(state, 0, &states_err));
        tamis_state_close(state);
    }
    state = opened(&frozen);
    assert_int_equal(states_add(state, 1000, 3000), TAMIS_E_FULL);
    tamis_state_close(state);
}

/* A state without a commit is not bound to a secret yet. */
static void a_secret_binds_with_the_first_commit(void **unused) {
    (void)unused;
    const states_make *keyed = &states_makes[STATES_KEYED];
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_state *state = opened(keyed);
    assert_ok(states_add(state, 0, 10));
    plan = *tamis_filter_plan(tamis_state_filter(state));
    tamis_state_close(state);
    tamis_state_options options = TAMIS_STATE_OPTIONS_INIT;
    options.plan = &plan;
    options.secret = "another secret of some bytes";
    options.secret_size = 28;
    assert_ok(tamis_state_open(&state, directory(), &options, &states_err));
    tamis_state_close(state);
    plan_options.fpr = 1e-6;
    plan = (tamis_plan)TAMIS_PLAN_INIT;
    assert_ok(tamis_plan_make(&plan, &plan_options, &states_err));
    options.secret = NULL;
    options.secret_size = 0;
    assert_ok(tamis_state_open(&state, directory(), &options, &states_err));
    assert_ok(states_add(state, 0, 10));
    assert_ok(states_commit(state, "some"));
    tamis_state_close(state);
}

/* Encodes the filter of an undisturbed run. */
static void encode_whole(const states_make *make, uint64_t keys, test_bytes *bytes) {
    tamis_state *state = opened(make);
    assert_ok(tamis_state_expect(state, keys, &states_err));
    assert_ok(states_add(state, 0, keys));
    assert_ok(states_commit(state, "all"));
    states_encode(state, bytes);
    tamis_state_close(state);
    scratch_clear();
}

/* The same keys in one run, and in many runs with commits, uncommitted keys, aborts and snapshots. */
static void the_same_after_any_number_of_starts(void **unused) {
    (void)unused;
    enum { KEYS = 30000 };
    for (int i = 0; i < STATES_MAKES; i++) {
        const states_make *make = &states_makes[i];
        test_bytes whole = {0}, pieces = {0};
        encode_whole(make, KEYS, &whole);
        tamis_state *state = opened(make);
        assert_ok(tamis_state_expect(state, KEYS, &states_err));
        for (uint64_t from = 0, n = 0; from < KEYS; from += 1000, n++) {
            assert_ok(states_add(state, from, 1000));
            assert_ok(states_commit(state, "some"));
            if (n % 3 == 0) {
                assert_ok(states_add(state, from + 1000, 700));
                assert_ok(tamis_state_abort(state, &states_err));
            }
            if (n % 5 == 0)
                assert_ok(tamis_state_snapshot(state, 0, &states_err));
            if (n % 4 == 0) {
                assert_ok(states_add(state, from + 1000, 300));
                tamis_state_close(state);
                state = opened(make);
            }
        }
        states_encode(state, &pieces);
        assert_true(bytes_check(make->name, &pieces, &whole));
        assert_int_equal(states_keys(state), tamis_state_filter(state)->added);
        tamis_state_close(state);
        const tamis_state_options options = states_options(make, NULL);
        assert_ok(tamis_state_verify(directory(), &options, &states_err));
        scratch_clear();
        bytes_clear(&whole);
        bytes_clear(&pieces);
    }
}

/* Commits start snapshots in a thread while keys are added. */
static void snapshots_are_made_while_keys_are_added(void **unused) {
    (void)unused;
    enum { KEYS = 200000 };
    test_bytes whole = {0}, pieces = {0};
    encode_whole(growing, KEYS, &whole);
    tamis_state *state = opened(growing);
    state->snapshot_at = 300000;
    assert_ok(tamis_state_expect(state, KEYS, &states_err));
    for (uint64_t from = 0; from < KEYS; from += 5000) {
        assert_ok(states_add(state, from, 5000));
        assert_ok(states_commit(state, "some"));
    }
    assert_ok(tamis_state_snapshot(state, 300000, &states_err));
    assert_true(states_info(state).snapshot_bytes > 0);
    assert_true(states_info(state).log_bytes <= 300000);
    tamis_state_close(state);
    state = opened(growing);
    assert_true(states_info(state).replayed < KEYS);
    states_encode(state, &pieces);
    assert_true(bytes_check("snapshots", &pieces, &whole));
    tamis_state_close(state);
    bytes_clear(&whole);
    bytes_clear(&pieces);
}

/* At rest the directory has at most the promised size, and only files that the manifest names. */
static void a_finished_state_is_small(void **unused) {
    (void)unused;
    tamis_state *state = opened(small);
    assert_ok(states_add(state, 0, 20000));
    assert_ok(states_commit(state, "one"));
    assert_ok(tamis_state_snapshot(state, 1000000, &states_err));
    assert_int_equal(states_info(state).snapshot_bytes, 0);
    assert_ok(tamis_state_snapshot(state, 0, &states_err));
    assert_true(states_info(state).snapshot_bytes > 0);
    assert_true(states_info(state).log_bytes < 500);
    assert_int_equal(scratch_entries(), 4); /* lock, manifest, snapshot, log */
    assert_ok(tamis_state_snapshot(state, 0, &states_err));
    assert_int_equal(scratch_entries(), 4);
    assert_ok(states_add(state, 20000, 1));
    assert_int_equal(tamis_state_snapshot(state, 0, &states_err), TAMIS_E_INVALID);
    assert_says("commit or abort first");
    tamis_state_close(state);
}

/* The message is about the state, since a snapshot cannot be built again like a filter file. */
static void a_damaged_snapshot_is_reported(void **unused) {
    (void)unused;
    test_bytes bytes = {0};
    char path[300] = "";
    tamis_state *state = opened(small);
    assert_ok(states_add(state, 0, 2000));
    assert_ok(states_commit(state, "one"));
    assert_ok(tamis_state_snapshot(state, 0, &states_err));
    for (int i = 1; i < 9 && !file_exists(path); i++) {
        char name[40];
        snprintf(name, sizeof name, "snapshot-%010d.tamis", i);
        snprintf(path, sizeof path, "%s", scratch(name));
    }
    tamis_state_close(state);
    file_read(path, &bytes);
    bytes.data[bytes.size / 2] ^= 1;
    file_write(path, bytes.data, bytes.size);
    bytes_clear(&bytes);
    assert_int_equal(states_open(&state, small, directory(), NULL), TAMIS_E_DAMAGED);
    assert_says(path);
    assert_says("; restore the directory from a copy, or begin a new state");
}

/* A start without new keys leaves no segment. A snapshot replaces the segments of the others. */
static void many_starts_leave_few_files(void **unused) {
    (void)unused;
    for (int i = 0; i < 20; i++) {
        tamis_state *state = opened(small);
        if (i % 2)
            assert_ok(states_commit(state, "nothing new"));
        tamis_state_close(state);
    }
    assert_int_equal(scratch_entries(), 3);
    for (uint64_t i = 0; i < 300; i++) {
        tamis_state *state = opened(small);
        assert_ok(states_add(state, i, 1));
        assert_ok(states_commit(state, "one more"));
        assert_ok(tamis_state_snapshot(state, UINT64_MAX, &states_err));
        tamis_state_close(state);
    }
    assert_true(scratch_entries() < 270);
    tamis_state *state = opened(small);
    assert_int_equal(states_keys(state), 300);
    tamis_state_close(state);
}

static void notes_are_kept(void **unused) {
    (void)unused;
    size_t size;
    static char large[TAMIS_STATE_CHECKPOINT_MAX + 1];
    tamis_state *state = opened(small);
    assert_ok(tamis_state_note(state, "first", 5, &states_err));
    assert_memory_equal(tamis_state_note_at(state, 0, &size), "first", 5);
    assert_ok(states_commit(state, "one"));
    assert_ok(tamis_state_note(state, large, TAMIS_STATE_CHECKPOINT_MAX, &states_err));
    assert_ok(tamis_state_commit(state, large, TAMIS_STATE_CHECKPOINT_MAX, &states_err));
    assert_ok(tamis_state_note(state, "lost", 4, &states_err));
    assert_ok(tamis_state_abort(state, &states_err));
    assert_int_equal(states_info(state).notes, 2);
    assert_ok(tamis_state_note(state, "lost too", 8, &states_err));
    tamis_state_close(state);
    state = opened(small);
    assert_int_equal(states_info(state).notes, 2);
    assert_memory_equal(tamis_state_note_at(state, 1, &size), large, sizeof large - 1);
    assert_int_equal(size, TAMIS_STATE_CHECKPOINT_MAX);
    assert_null(tamis_state_note_at(state, 2, &size));
    assert_ok(tamis_state_note(state, "third", 5, &states_err));
    assert_ok(states_commit(state, "three"));
    tamis_state_close(state);
    state = opened(small);
    assert_memory_equal(tamis_state_note_at(state, 2, &size), "third", 5);
    assert_int_equal(tamis_state_note(state, large, sizeof large, &states_err), TAMIS_E_RANGE);
    assert_int_equal(tamis_state_note(state, large, 0, &states_err), TAMIS_E_RANGE);
    assert_int_equal(tamis_state_commit(state, large, sizeof large, &states_err), TAMIS_E_RANGE);
    assert_ok(states_commit(state, "four"));
    tamis_state_close(state);
}

/* Notes are all in the manifest, whose size is limited. Each takes 8 more bytes there. */
static void small_notes_are_not_for_nothing(void **unused) {
    (void)unused;
    tamis_state *state = opened(small);
    assert_ok(tamis_state_note(state, "x", 1, &states_err));
    assert_ok(states_commit(state, "one"));
    assert_int_equal(state->notes.bytes, 9);
    const uint64_t bytes = state->notes.bytes;
    state->notes.bytes = STATE_NOTES_MAX - 8;
    assert_int_equal(tamis_state_note(state, "y", 1, &states_err), TAMIS_E_RANGE);
    assert_says("its notes take 268435448 bytes");
    state->notes.bytes = STATE_NOTES_MAX - 9;
    assert_ok(tamis_state_note(state, "y", 1, &states_err));
    state->notes.bytes = bytes + 9;
    assert_ok(tamis_state_abort(state, &states_err));
    assert_int_equal(state->notes.bytes, bytes);
    tamis_state_close(state);
}

static void present_keys_are_not_logged(void **unused) {
    (void)unused;
    const uint64_t number = 1;
    const tamis_key key = {&number, sizeof number};
    tamis_hash hash;
    tamis_state *state = opened(small);
    tamis_filter *filter = tamis_state_filter(state);
    assert_ok(states_add(state, 1, 1));
    assert_ok(tamis_hash_many(tamis_filter_hasher(filter), &key, 1, &hash, &states_err));
    assert_int_equal(tamis_state_log(state, &hash, 1, &states_err), TAMIS_E_INVALID);
    assert_says("log each key that was absent");
    hash.hasher_id++;
    assert_int_equal(tamis_state_log(state, &hash, 1, &states_err), TAMIS_E_MISMATCH);
    assert_ok(tamis_filter_add(filter, "other", 5, NULL, &states_err));
    assert_int_equal(tamis_state_expect(state, 5, &states_err), TAMIS_E_INVALID);
    tamis_filter_expect(filter, 7);
    assert_int_equal(states_commit(state, "no"), TAMIS_E_INVALID);
    assert_says("call tamis_state_expect");
    tamis_state_close(state);
}

/* Keys cannot be removed, and no other filter can be merged in: the log has neither. A copy allows both. */
static void assert_only_added_to(tamis_state *state) {
    tamis_filter *filter = tamis_state_filter(state);
    tamis_filter *copy = NULL;
    test_bytes before = {0}, after = {0};
    states_encode(state, &before);
    assert_ok(tamis_filter_copy(&copy, filter, &states_err));
    assert_int_equal(tamis_filter_clear(filter, &states_err), TAMIS_E_UNSUPPORTED);
    assert_says("clear: the filter belongs to a state, whose log has added keys only; ");
    assert_int_equal(tamis_filter_union(filter, copy, &states_err), TAMIS_E_UNSUPPORTED);
    assert_says(": the filter ");
    assert_false(tamis_filter_is_compatible(filter, copy));
    assert_int_equal(tamis_filter_reload(filter, NULL, &states_err), TAMIS_E_UNSUPPORTED);
    states_encode(state, &after);
    assert_true(bytes_check("state", &after, &before));
    if (!copy->frozen)
        assert_ok(tamis_filter_union(copy, filter, &states_err));
    assert_ok(tamis_filter_clear(copy, &states_err));
    tamis_filter_free(copy);
    bytes_clear(&before);
    bytes_clear(&after);
}

static void reg_22_the_filter_is_only_added_to(void **unused) {
    (void)unused;
    for (int i = 0; i < STATES_WINDOW; i++) { /* a window has no unions */
        tamis_state *state = opened(&states_makes[i]);
        assert_only_added_to(state); /* new */
        assert_ok(states_add(state, 0, 50));
        assert_only_added_to(state);
        assert_ok(states_commit(state, "one"));
        assert_ok(tamis_state_abort(state, &states_err));
        assert_only_added_to(state); /* read again from the log */
        assert_ok(tamis_state_snapshot(state, 0, &states_err));
        tamis_state_close(state);
        state = opened(&states_makes[i]);
        assert_only_added_to(state); /* read from a snapshot */
        assert_int_equal(states_keys(state), 50);
        assert_ok(states_add(state, 50, 50));
        assert_ok(states_commit(state, "two"));
        tamis_state_close(state);
        scratch_clear();
    }
}

static void a_second_open_names_the_holder(void **unused) {
    (void)unused;
    tamis_state *state = opened(small), *other = NULL;
    assert_int_equal(states_open(&other, small, directory(), NULL), TAMIS_E_BUSY);
    assert_says("this process has it open already");
    assert_int_equal(states_err.sys_errno, EDEADLK);
    assert_int_equal(tamis_state_verify(directory(), NULL, &states_err), TAMIS_E_BUSY);
    char who[60];
    snprintf(who, sizeof who, "%ld on h since t\n", (long)getpid() + 1);
    file_write(scratch("lock"), who, strlen(who));
    assert_int_equal(states_open(&other, small, directory(), NULL), TAMIS_E_BUSY);
    snprintf(who, sizeof who, "process %ld on h since t has it open", (long)getpid() + 1);
    assert_says(who);
    tamis_state_close(state);
    test_bytes note = {0};
    state = opened(small);
    file_read(scratch("lock"), &note);
    snprintf(who, sizeof who, "%ld on ", (long)getpid());
    assert_memory_equal(note.data, who, strlen(who));
    bytes_clear(&note);
    tamis_state_close(state);
}

static void one_may_look_meanwhile(void **unused) {
    (void)unused;
    tamis_state_options options = TAMIS_STATE_OPTIONS_INIT;
    tamis_state *state = opened(small), *look = NULL;
    options.read_only = true;
    assert_ok(states_add(state, 0, 100));
    assert_ok(states_commit(state, "one"));
    assert_ok(states_add(state, 100, 100));
    size_t entries = scratch_entries();
    assert_ok(tamis_state_open(&look, directory(), &options, &states_err));
    assert_int_equal(scratch_entries(), entries);
    assert_true(states_is_at(look, "one"));
    assert_int_equal(states_keys(look), 100);
    assert_int_equal(tamis_state_filter(look)->added, 100);
    assert_int_equal(states_commit(look, "two"), TAMIS_E_UNSUPPORTED);
    assert_says("opened read-only");
    assert_int_equal(tamis_state_abort(look, &states_err), TAMIS_E_UNSUPPORTED);
    assert_int_equal(tamis_state_expect(look, 1, &states_err), TAMIS_E_UNSUPPORTED);
    tamis_state_close(look);
    assert_ok(states_commit(state, "two"));
    tamis_state_close(state);
}

static void a_secret_has_to_be_the_one(void **unused) {
    (void)unused;
    const states_make *keyed = &states_makes[STATES_KEYED];
    tamis_state *state = opened(keyed);
    assert_ok(states_add(state, 0, 100));
    assert_ok(states_commit(state, "one"));
    assert_ok(tamis_state_snapshot(state, 0, &states_err));
    tamis_state_close(state);
    tamis_state_options options = TAMIS_STATE_OPTIONS_INIT;
    assert_int_equal(tamis_state_open(&state, directory(), &options, &states_err), TAMIS_E_SECRET);
    assert_says("was made with a secret");
    options.secret = "another secret of some bytes";
    options.secret_size = 28;
    assert_int_equal(tamis_state_open(&state, directory(), &options, &states_err), TAMIS_E_SECRET);
    assert_says("another secret");
    options = states_options(keyed, NULL);
    assert_ok(tamis_state_open(&state, directory(), &options, &states_err));
    tamis_state_close(state);
    scratch_clear();
    tamis_state_close(opened(small));
    assert_int_equal(tamis_state_open(&state, directory(), &options, &states_err), TAMIS_E_MISMATCH);
    assert_says("leave the secret out");
}

static void what_is_no_state_is_left_alone(void **unused) {
    (void)unused;
    tamis_state *state = NULL;
    tamis_state_options options = TAMIS_STATE_OPTIONS_INIT;
    assert_int_equal(tamis_state_open(&state, directory(), &options, &states_err), TAMIS_E_FORMAT);
    assert_int_equal(tamis_state_open(&state, scratch("none"), &options, &states_err), TAMIS_E_IO);
    assert_false(file_exists(scratch("none")));
    file_write(scratch("letter"), "dear", 4);
    assert_int_equal(states_open(&state, small, directory(), NULL), TAMIS_E_FORMAT);
    assert_says("has other files (letter)");
    assert_int_equal(states_open(&state, small, scratch("letter"), NULL), TAMIS_E_IO);
    assert_true(file_is(scratch("letter"), "dear"));
    unlink(scratch("letter"));
    file_write(scratch("manifest"), "something else", 14);
    assert_int_equal(states_open(&state, small, directory(), NULL), TAMIS_E_DAMAGED);
    unlink(scratch("manifest"));
    file_write(scratch("log-0000000007"), "", 0);
    assert_int_equal(states_open(&state, small, directory(), NULL), TAMIS_E_DAMAGED);
    assert_says("has a log but no manifest");
}

static void a_directory_is_made(void **unused) {
    (void)unused;
    tamis_state *state = NULL;
    char path[300];
    snprintf(path, sizeof path, "%s//", scratch("new"));
    assert_ok(states_open(&state, small, path, NULL));
    tamis_state_close(state);
    struct stat st;
    assert_int_equal(stat(scratch("new"), &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_int_equal(unlink(scratch("new/manifest")), 0);
    assert_int_equal(unlink(scratch("new/lock")), 0);
    /* a start that ended before there was a manifest */
    file_write(scratch("new/manifest.new"), "cut", 3);
    assert_ok(states_open(&state, small, path, NULL));
    tamis_state_close(state);
    assert_int_equal(unlink(scratch("new/manifest")), 0);
    assert_int_equal(unlink(scratch("new/lock")), 0);
    assert_int_equal(unlink(scratch("new/log-0000000001")), 0);
    assert_int_equal(rmdir(scratch("new")), 0);
}

static void a_filter_without_order_is_refused(void **unused) {
    (void)unused;
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter_options how = TAMIS_FILTER_OPTIONS_INIT;
    tamis_state_options options = TAMIS_STATE_OPTIONS_INIT;
    tamis_state *state = NULL;
    plan_options.expect = 1000;
    assert_ok(tamis_plan_make(&plan, &plan_options, &states_err));
    options.plan = &plan;
    options.filter = &how;
    plan_options.kind = TAMIS_KIND_CLASSIC;
    plan_options.scheme = TAMIS_SCHEME_BKDR31;
    plan_options.fpr = 0.01;
    assert_ok(tamis_plan_make(&plan, &plan_options, &states_err));
    assert_int_equal(tamis_state_open(&state, directory(), &options, &states_err), TAMIS_E_UNSUPPORTED);
    assert_says("has no hash of a key to log");
    how.seed = 3;
    plan_options = (tamis_plan_options)TAMIS_PLAN_OPTIONS_INIT;
    plan_options.fpr = 1e-6;
    assert_ok(tamis_plan_make(&plan, &plan_options, &states_err));
    assert_ok(tamis_state_open(&state, directory(), &options, &states_err));
    assert_ok(states_commit(state, "begun"));
    tamis_state_close(state);
    options.filter = NULL; /* the seed stays that of the first start */
    assert_ok(tamis_state_open(&state, directory(), &options, &states_err));
    assert_int_equal(tamis_hasher_seed(tamis_filter_hasher(tamis_state_filter(state))), 3);
    assert_int_equal(tamis_filter_plan(tamis_state_filter(state))->kind, TAMIS_KIND_FINGERPRINT);
    tamis_state_close(state);
}

/* A filter that refused a key still reports that after a start. */
static void a_full_filter_stays_full(void **unused) {
    (void)unused;
    static const states_make tiny = {.name = "tiny", .kind = TAMIS_KIND_BLOCKED, .expect = 100, .fpr = 1e-2};
    tamis_state *state = opened(&tiny);
    test_bytes before = {0}, after = {0};
    assert_ok(states_add(state, 0, 90));
    assert_int_equal(states_add(state, 90, 400), TAMIS_E_FULL);
    assert_ok(tamis_state_abort(state, &states_err));
    assert_false(tamis_state_filter(state)->saturated);
    assert_int_equal(tamis_state_filter(state)->added, 0);
    for (uint64_t i = 0; states_add(state, i, 1) == TAMIS_OK; i++)
        assert_true(i < 1000);
    assert_ok(states_commit(state, "full"));
    states_encode(state, &before);
    tamis_state_close(state);
    state = opened(&tiny);
    assert_true(tamis_state_filter(state)->saturated);
    states_encode(state, &after);
    assert_true(bytes_check("full", &after, &before));
    tamis_state_close(state);
    bytes_clear(&before);
    bytes_clear(&after);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, states_set_up, states_tear_down)
    const struct CMUnitTest tests[] = {
        CASE(what_is_committed_is_there),
        CASE(what_nothing_was_committed_to_is_made_anew),
        CASE(reg_22_a_description_is_corrected),
        CASE(an_empty_commit_binds),
        CASE(reg_22_another_plan_is_refused),
        CASE(reg_22_a_frozen_state_stays_frozen),
        CASE(a_secret_binds_with_the_first_commit),
        CASE(the_same_after_any_number_of_starts),
        CASE(snapshots_are_made_while_keys_are_added),
        CASE(a_finished_state_is_small),
        CASE(a_damaged_snapshot_is_reported),
        CASE(many_starts_leave_few_files),
        CASE(notes_are_kept),
        CASE(small_notes_are_not_for_nothing),
        CASE(present_keys_are_not_logged),
        CASE(reg_22_the_filter_is_only_added_to),
        CASE(a_second_open_names_the_holder),
        CASE(one_may_look_meanwhile),
        CASE(a_secret_has_to_be_the_one),
        CASE(what_is_no_state_is_left_alone),
        CASE(a_directory_is_made),
        CASE(a_filter_without_order_is_refused),
        CASE(a_full_filter_stays_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A state forgets keys, and each system call or allocation fails once, or power is lost after each change on the
 * disk. Then the state has all of the keys or none of them, and the others in any case, with their checkpoint and
 * note. It goes on from there, and forgetting again ends well. Of what was forgotten no file has the hash.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/system.h"
#include "store/state/state_int.h"
#include "support/fault.h"
#include "support/outage.h"
#include "support/scratch.h"
#include "support/states.h"

enum {
    KEYS = 240,
    FIRST = 60, /* the keys to be forgotten are in the snapshot and in both segments */
    FORGOTTEN = 110,
    ABSENT = 10 /* of those to be forgotten, keys that the state never had */
};

static const states_make *const make = &states_makes[2]; /* exact */
static fault_memory memory;

static tamis_status open_state(tamis_state **state) {
    static tamis_allocator allocator;
    allocator = fault_memory_allocator(&memory);
    *state = NULL;
    return states_open(state, make, scratch(""), &allocator);
}

static void assert_ok(tamis_status status) {
    if (status != TAMIS_OK)
        fail_msg("%s: %s", tamis_status_name(status), states_err.text);
}

static void hash_numbers(const tamis_state *state, tamis_hash *hashes, uint64_t from, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const uint64_t number = from + i;
        const tamis_key key = {&number, sizeof number};
        assert_ok(tamis_hash_many(state->hasher, &key, 1, &hashes[i], &states_err));
    }
}

/* Makes a state whose keys are in a snapshot, in an old segment and in the live one. */
static void make_state(void) {
    tamis_state *state;
    assert_ok(open_state(&state));
    for (uint64_t part = 0; part < 3; part++) {
        assert_ok(states_add(state, part * KEYS / 3, KEYS / 3));
        assert_ok(tamis_state_note(state, "note", 4, &states_err));
        assert_ok(states_commit(state, "before"));
        if (part == 0)
            assert_ok(tamis_state_snapshot(state, 0, &states_err));
        if (part != 1)
            continue;
        tamis_state_close(state);
        assert_ok(open_state(&state));
    }
    tamis_state_close(state);
}

static bool is_forgotten(size_t number) {
    return number >= FIRST && number < FIRST + FORGOTTEN;
}

/* Forgets some of the keys, and others that are not there. */
static tamis_status forget(uint64_t *forgotten) {
    tamis_state *state;
    tamis_hash hashes[FORGOTTEN + ABSENT];
    tamis_status status = open_state(&state);
    *forgotten = 0;
    if (status != TAMIS_OK)
        return status;
    hash_numbers(state, hashes, FIRST, FORGOTTEN);
    hash_numbers(state, hashes + FORGOTTEN, 1000000, ABSENT);
    status = tamis_state_forget(state, hashes, FORGOTTEN + ABSENT, forgotten, &states_err);
    if (status != TAMIS_OK) /* a failed state accepts nothing more */
        assert_int_not_equal(tamis_state_commit(state, "late", 4, NULL), TAMIS_OK);
    tamis_state_close(state);
    return status;
}

static bool has_hash(const state_found *found, const uint8_t word[8]) {
    test_bytes bytes = {0};
    bool has = false;
    if (found->name[0] != '.')
        file_read(scratch(found->name), &bytes);
    for (size_t i = 0; i + 8 <= bytes.size && !has; i++)
        has = memcmp(bytes.data + i, word, 8) == 0;
    bytes_clear(&bytes);
    return has;
}

typedef struct hash_search {
    uint8_t word[8];
    size_t files; /* with the hash */
} hash_search;

static tamis_status search_file(void *context, const state_found *found, tamis_error *err) {
    hash_search *s = context;
    (void)err;
    s->files += has_hash(found, s->word);
    return TAMIS_OK;
}

/* Returns how many files have the hash of a number that the logs had. */
static size_t count_files_with(const tamis_state *state, uint64_t number) {
    tamis_hash hash;
    hash_search s = {.files = 0};
    hash_numbers(state, &hash, number, 1);
    tamis__store64le(s.word, hash.word[0]);
    assert_ok(tamis__state_directory_list(&state->directory, search_file, &s, &states_err));
    return s.files;
}

/* Returns NULL if the state is whole, else what is wrong. *has_forgotten: the keys are gone. */
static const char *look(bool *has_forgotten) {
    tamis_state *state;
    tamis_hash hashes[KEYS];
    tamis_answer answers[KEYS];
    size_t size, present = 0;
    const char *wrong = NULL;
    if (open_state(&state) != TAMIS_OK)
        return states_err.text;
    hash_numbers(state, hashes, 0, KEYS);
    assert_ok(tamis_filter_contains_hashes(tamis_state_filter(state), hashes, KEYS, answers, NULL, NULL));
    for (size_t i = FIRST; i < FIRST + FORGOTTEN; i++)
        present += answers[i] == TAMIS_PRESENT;
    *has_forgotten = present == 0;
    if (present != 0 && present != FORGOTTEN)
        wrong = "some of the keys are gone";
    for (size_t i = 0; i < KEYS; i++)
        if (!is_forgotten(i) && answers[i] != TAMIS_PRESENT)
            wrong = "another key is gone";
    if (states_keys(state) != (*has_forgotten ? KEYS - FORGOTTEN : KEYS))
        wrong = "the number of keys is wrong";
    if (!states_is_at(state, "before") || states_info(state).commits != 3)
        wrong = "the commit is another one";
    if (!tamis_state_note_at(state, 2, &size) || tamis_state_note_at(state, 3, &size))
        wrong = "the notes are others";
    tamis_state_close(state);
    return wrong;
}

/* Continues a state: adds the forgotten keys again. */
static const char *go_on(void) {
    const char *wrong = NULL;
    uint64_t forgotten;
    bool has_forgotten;
    tamis_state *state;
    if (forget(&forgotten) != TAMIS_OK)
        return states_err.text;
    if (look(&has_forgotten) || !has_forgotten)
        return "nothing is forgotten then";
    if (forget(&forgotten) != TAMIS_OK || forgotten != 0)
        return "more is forgotten the second time";
    assert_ok(open_state(&state));
    assert_ok(states_add(state, 0, KEYS));
    if (states_commit(state, "after") != TAMIS_OK || states_keys(state) != KEYS)
        wrong = "it does not go on";
    tamis_state_close(state);
    if (!wrong && open_state(&state) != TAMIS_OK)
        return states_err.text;
    if (!wrong && (states_keys(state) != KEYS || !states_is_at(state, "after")))
        wrong = "what was added then is gone";
    if (!wrong)
        tamis_state_close(state);
    return wrong;
}

/* Checks a state after forgetting; `ended`: that succeeded. */
static const char *check_state(bool ended) {
    bool has_forgotten;
    const char *wrong = look(&has_forgotten);
    if (!wrong && ended && !has_forgotten)
        wrong = "the keys are back";
    return wrong ? wrong : go_on();
}

/* ---- tests ---- */

static void no_file_has_the_hashes(void **unused) {
    (void)unused;
    tamis_state *state;
    uint64_t forgotten;
    make_state();
    assert_ok(open_state(&state));
    const uint64_t logged = KEYS - 1, other = KEYS - 2; /* the last part is in the log */
    tamis_hash hash;
    assert_int_equal(count_files_with(state, logged), 1);
    assert_int_equal(count_files_with(state, other), 1);
    hash_numbers(state, &hash, logged, 1);
    assert_ok(tamis_state_forget(state, &hash, 1, &forgotten, &states_err));
    assert_int_equal(forgotten, 1);
    assert_int_equal(count_files_with(state, logged), 0);
    assert_int_equal(states_info(state).keys, KEYS - 1);
    assert_ok(states_add(state, logged, 1)); /* it is new */
    assert_ok(states_commit(state, "more"));
    assert_int_equal(count_files_with(state, logged), 1);
    tamis_state_close(state);
    assert_ok(open_state(&state));
    assert_int_equal(states_keys(state), KEYS);
    tamis_state_close(state);
}

/* A run that is killed leaves keys behind the last commit. */
static void keys_without_a_commit_are_erased(void **unused) {
    (void)unused;
    tamis_state *state;
    tamis_hash hash;
    uint64_t forgotten;
    make_state();
    assert_ok(open_state(&state));
    assert_ok(states_add(state, KEYS, 1));
    assert_ok(states_commit(state, "before"));
    assert_ok(states_add(state, KEYS + 1, 1));
    assert_ok(tamis_state_note(state, "late", 4, &states_err)); /* writes the keys in front of it */
    tamis_state_close(state);
    assert_ok(open_state(&state));
    hash_numbers(state, &hash, KEYS + 1, 1);
    assert_int_equal(count_files_with(state, KEYS + 1), 1);
    assert_ok(tamis_state_forget(state, &hash, 1, &forgotten, &states_err));
    assert_int_equal(forgotten, 0);
    assert_int_equal(count_files_with(state, KEYS + 1), 0);
    assert_int_equal(states_info(state).keys, KEYS + 1);
    tamis_state_close(state);
    assert_ok(open_state(&state));
    assert_int_equal(states_keys(state), KEYS + 1);
    tamis_state_close(state);
}

static void assert_refused(tamis_status status, tamis_status expected, const char *text) {
    assert_int_equal(status, expected);
    if (!strstr(states_err.text, text))
        fail_msg("\"%s\" is not in \"%s\"", text, states_err.text);
}

static void what_cannot_be_done_is_refused(void **unused) {
    (void)unused;
    static const tamis_hash hash = {.hasher_id = 1};
    tamis_state *state;
    uint64_t forgotten;
    for (size_t i = 0; i < STATES_MAKES; i++) {
        if (&states_makes[i] == make)
            continue;
        assert_ok(states_open(&state, &states_makes[i], scratch(""), NULL));
        assert_refused(tamis_state_forget(state, &hash, 1, &forgotten, &states_err), TAMIS_E_UNSUPPORTED,
                       "cannot forget a key");
        tamis_state_close(state);
        scratch_clear();
    }
    make_state();
    assert_ok(open_state(&state));
    assert_int_equal(tamis_state_forget(state, &hash, 1, &forgotten, &states_err), TAMIS_E_MISMATCH);
    assert_ok(states_add(state, KEYS, 1));
    assert_refused(tamis_state_forget(state, NULL, 0, &forgotten, &states_err), TAMIS_E_INVALID, "commit");
    tamis_state_close(state);
    tamis_state_options options = states_options(make, NULL);
    options.read_only = true;
    assert_ok(tamis_state_open(&state, scratch(""), &options, &states_err));
    assert_refused(tamis_state_forget(state, NULL, 0, &forgotten, &states_err), TAMIS_E_UNSUPPORTED,
                   "read-only");
    tamis_state_close(state);
}

/* NULL if no file has the hash of a forgotten key that the log had, even before the next start to write. */
static const char *find_left_over(void) {
    tamis_state *state;
    tamis_state_options options = states_options(make, NULL);
    options.read_only = true;
    if (tamis_state_open(&state, scratch(""), &options, &states_err) != TAMIS_OK)
        return states_err.text;
    const size_t files =
        count_files_with(state, FIRST + FORGOTTEN / 2) + count_files_with(state, FIRST + FORGOTTEN - 1);
    tamis_state_close(state);
    return files > 0 ? "a file still has a forgotten hash" : NULL;
}

/* False if the failure was not reached. */
static bool survives(const char *what, uint64_t n) {
    uint64_t forgotten;
    const size_t descriptors = fault_open_descriptors();
    const tamis_status status = forget(&forgotten);
    const bool reached = fault_fired() > 0 || memory.refused > 0;
    fault_disarm();
    memory.fail_at = memory.refused = memory.requests = 0;
    if (status != TAMIS_OK && !reached)
        fail_msg("%s %" PRIu64 ": %s", what, n, states_err.text);
    assert_int_equal(fault_open_descriptors(), descriptors);
    assert_int_equal(memory.live_blocks, 0);
    const char *wrong = status == TAMIS_OK ? find_left_over() : NULL;
    if (!wrong)
        wrong = check_state(status == TAMIS_OK);
    if (wrong)
        fail_msg("%s %" PRIu64 ": %s", what, n, wrong);
    scratch_clear();
    return reached;
}

static void every_call_fails(void **unused) {
    (void)unused;
    static const int errors[] = {EIO, ENOSPC, FAULT_SHORT};
    fault_install();
    for (fault_call call = 0; call < FAULT_SOCKET; call++)
        for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
            const bool moves = call == FAULT_READ || call == FAULT_WRITE || call == FAULT_PREAD;
            for (uint64_t n = 1; moves || errors[i] != FAULT_SHORT; n += test_scale_torture(1, 3, 23, 7)) {
                make_state();
                fault_arm(call, n, errors[i], false);
                if (!survives(fault_call_name(call), n))
                    break;
            }
        }
    fault_remove();
}

static void every_allocation_fails(void **unused) {
    (void)unused;
    fault_install();
    for (uint64_t n = 1;; n += test_scale_torture(1, 3, 23, 7)) {
        make_state();
        memory.requests = memory.refused = 0;
        memory.fail_at = n;
        fault_arm(FAULT_UNREAD, 0, 0, false);
        if (!survives("allocation", n))
            break;
    }
    fault_remove();
}

static bool check_outage(void *context, int mark) {
    const char *wrong = mark > 0 ? find_left_over() : NULL;
    (void)context;
    if (!wrong)
        wrong = check_state(mark > 0);
    if (wrong)
        fail_msg("%s: %s", wrong, outage_describe());
    return true;
}

static void every_loss_of_power(void **unused) {
    (void)unused;
    uint64_t forgotten;
    make_state();
    outage_begin(scratch(""), (outage_model){.whole = true, .older = true});
    assert_ok(forget(&forgotten));
    assert_int_equal(forgotten, FORGOTTEN);
    outage_mark(1);
    outage_pause();
    const size_t changes = outage_changes();
    const uint64_t states = outage_each(0, test_scale_torture(1, 1, 7, 2), 3, check_outage, NULL);
    printf("%zu changes, %" PRIu64 " states\n", changes, states);
    assert_true(changes > 8 && states > 20);
    outage_end();
}

static int set_up(void **state) {
    memset(&memory, 0, sizeof memory);
    return states_set_up(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_file_has_the_hashes, set_up, states_tear_down),
        cmocka_unit_test_setup_teardown(keys_without_a_commit_are_erased, set_up, states_tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_done_is_refused, set_up, states_tear_down),
        cmocka_unit_test_setup_teardown(every_call_fails, set_up, states_tear_down),
        cmocka_unit_test_setup_teardown(every_allocation_fails, set_up, states_tear_down),
        cmocka_unit_test_setup_teardown(every_loss_of_power, set_up, states_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: torture */

/*
 * A state forgets keys, and each system call or allocation fails once, or power is lost after each change on
 * the disk. Then the state has all of the keys or none of them, and the others in any case, with their
 * checkpoint and note. It goes on from there, and forgetting again ends well. Of what was forgotten no file
 * has the hash.
 *
 * This holds for each scenario: tables that grow or have a size, a keyed hash, and records with positions.
 * Records with positions stay delivered when their keys are forgotten.
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
    ABSENT = 10,           /* of those to be forgotten, keys that the state never had */
    LAST_OF_FORGOTTEN = 99 /* of the source that has only keys to be forgotten */
};

typedef struct scenario {
    states_make make;
    bool positions; /* true if the keys come from records with positions */
    uint64_t step;  /* difference of two tried n, times the number for the scale */
} scenario;

static const scenario scenarios[] = {
    {{.name = "growing", .kind = TAMIS_KIND_EXACT}, false, 1},
    {{.name = "sized", .kind = TAMIS_KIND_EXACT, .expect = 3000}, false, 7},
    {{.name = "keyed", .kind = TAMIS_KIND_EXACT, .scheme = TAMIS_SCHEME_SIP}, false, 7},
    {{.name = "positions", .kind = TAMIS_KIND_EXACT}, true, 5},
};
static const scenario *current;
static fault_memory memory;

static tamis_status open_state(tamis_state **state) {
    static tamis_allocator allocator;
    allocator = fault_memory_allocator(&memory);
    *state = NULL;
    return states_open(state, &current->make, scratch(""), &allocator);
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

/* ---- records with positions: each number is the position of its record ---- */

static const char *source_of(uint64_t number) {
    if (number >= FIRST && number <= LAST_OF_FORGOTTEN)
        return "forgotten";
    return number % 2 ? "odd" : "even";
}

static tamis_dedup *open_session(tamis_state *state) {
    tamis_dedup_options options = TAMIS_DEDUP_OPTIONS_INIT;
    tamis_dedup *session;
    options.state = state;
    assert_ok(tamis_dedup_open(&session, NULL, &options, &states_err));
    return session;
}

/* Delivers records at positions from `from` on, whose keys are the numbers from `key` on. Returns how many
 * got that answer. */
static size_t deliver(tamis_dedup *session, uint64_t from, uint64_t key, size_t count,
                      tamis_answer expected) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t number = key + i;
        const char *source = source_of(from + i);
        tamis_delivery record = {.source = {source, strlen(source)}, .position = from + i};
        tamis_answer answer;
        assert_ok(tamis_hash_many(tamis_filter_hasher(tamis_dedup_filter(session)),
                                  &(tamis_key){&number, sizeof number}, 1, &record.hash, &states_err));
        assert_ok(tamis_dedup_add_delivered(session, &(tamis_deliveries){&record, NULL, 1}, &answer, NULL,
                                            &states_err));
        found += answer == expected;
    }
    return found;
}

/* NULL if all records count as delivered, else what is wrong. */
static const char *find_wrong_position(tamis_state *state) {
    static const struct {
        const char *source;
        uint64_t last;
    } sources[] = {{"even", KEYS - 2}, {"odd", KEYS - 1}, {"forgotten", LAST_OF_FORGOTTEN}};
    tamis_dedup *session = open_session(state);
    const char *wrong = NULL;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        uint64_t position = 0;
        const tamis_key name = tamis_dedup_source_at(session, i, &position);
        if (!name.data || name.size != strlen(sources[i].source) ||
            memcmp(name.data, sources[i].source, name.size) != 0 || position != sources[i].last)
            wrong = "a position is gone";
    }
    if (!wrong && deliver(session, 0, 0, KEYS, TAMIS_REDELIVERED) != KEYS)
        wrong = "a delivered record is new again";
    tamis_dedup_close(session);
    return wrong;
}

/* True if the last checkpoint, without positions, is that text. */
static bool is_at(tamis_state *state, const char *checkpoint) {
    tamis_dedup *session = open_session(state);
    const void *committed;
    size_t size;
    tamis_dedup_committed(session, &committed, &size);
    const bool is_same = size == strlen(checkpoint) && memcmp(committed, checkpoint, size) == 0;
    tamis_dedup_close(session);
    return is_same;
}

/* ---- a state ---- */

/* Adds keys, and commits them with a note. */
static void add_and_commit(tamis_state *state, uint64_t from, size_t count, const char *checkpoint) {
    tamis_dedup *session = current->positions ? open_session(state) : NULL;
    if (session)
        assert_int_equal(deliver(session, from, from, count, TAMIS_ABSENT), count);
    else
        assert_ok(states_add(state, from, count));
    assert_ok(tamis_state_note(state, "note", 4, &states_err));
    assert_ok(session ? tamis_dedup_commit(session, checkpoint, strlen(checkpoint), &states_err)
                      : states_commit(state, checkpoint));
    tamis_dedup_close(session);
}

/* Makes a state whose keys are in a snapshot, in an old segment and in the live one. */
static void make_state(void) {
    tamis_state *state;
    assert_ok(open_state(&state));
    for (uint64_t part = 0; part < 3; part++) {
        add_and_commit(state, part * KEYS / 3, KEYS / 3, "before");
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
    if (!is_at(state, "before") || states_info(state).commits != 3)
        wrong = "the commit is another one";
    if (!wrong && current->positions)
        wrong = find_wrong_position(state);
    if (!tamis_state_note_at(state, 2, &size) || tamis_state_note_at(state, 3, &size))
        wrong = "the notes are others";
    tamis_state_close(state);
    return wrong;
}

/* Adds all keys again, in records behind the delivered ones. */
static const char *deliver_again(tamis_state *state) {
    tamis_dedup *session = open_session(state);
    const size_t absent = deliver(session, KEYS, 0, KEYS, TAMIS_ABSENT);
    const tamis_status status = tamis_dedup_commit(session, "after", 5, &states_err);
    tamis_dedup_close(session);
    if (status != TAMIS_OK)
        return states_err.text;
    return absent == FORGOTTEN ? NULL : "other keys are new than those that were forgotten";
}

/* Continues a state: adds the forgotten keys again. */
static const char *go_on(void) {
    const char *wrong = NULL;
    uint64_t forgotten;
    bool has_forgotten;
    tamis_state *state;
    if (forget(&forgotten) != TAMIS_OK)
        return states_err.text;
    wrong = look(&has_forgotten);
    if (wrong || !has_forgotten)
        return wrong ? wrong : "nothing is forgotten then";
    if (forget(&forgotten) != TAMIS_OK || forgotten != 0)
        return "more is forgotten the second time";
    assert_ok(open_state(&state));
    if (current->positions) {
        wrong = deliver_again(state);
    } else {
        assert_ok(states_add(state, 0, KEYS));
        if (states_commit(state, "after") != TAMIS_OK)
            wrong = "it does not go on";
    }
    if (!wrong && states_keys(state) != KEYS)
        wrong = "the keys are not those from before";
    tamis_state_close(state);
    if (!wrong && open_state(&state) != TAMIS_OK)
        return states_err.text;
    if (!wrong && (states_keys(state) != KEYS || !is_at(state, "after")))
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
    /* The last part is in the log. The checkpoint has the hashes of the last key of each source, and keeps
     * them. */
    const uint64_t logged = KEYS - 3, other = KEYS - 4;
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
    add_and_commit(state, KEYS, 1, "before");
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
        if (states_makes[i].kind == TAMIS_KIND_EXACT)
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
    tamis_state_options options = states_options(&current->make, NULL);
    options.read_only = true;
    assert_ok(tamis_state_open(&state, scratch(""), &options, &states_err));
    assert_refused(tamis_state_forget(state, NULL, 0, &forgotten, &states_err), TAMIS_E_UNSUPPORTED,
                   "read-only");
    tamis_state_close(state);
}

/* NULL if no file has the hash of a forgotten key that the log had, even before the next start to write. */
static const char *find_left_over(void) {
    tamis_state *state;
    tamis_state_options options = states_options(&current->make, NULL);
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

static uint64_t scaled_step(void) {
    return test_is_torture() ? 1 : current->step * test_scale(23, 151, 31);
}

static void every_call_fails(void **unused) {
    (void)unused;
    static const int errors[] = {EIO, ENOSPC, FAULT_SHORT};
    const bool tries_all = current->step == 1 || test_is_torture();
    const size_t tried = tries_all ? sizeof errors / sizeof *errors : 1;
    fault_install();
    tamis__sys.thread = fault_no_thread; /* its allocations would be counted at the same time */
    for (fault_call call = 0; call < FAULT_SOCKET; call++)
        for (size_t i = 0; i < tried; i++) {
            const bool moves = call == FAULT_READ || call == FAULT_WRITE || call == FAULT_PREAD;
            for (uint64_t n = 1; moves || errors[i] != FAULT_SHORT; n += scaled_step()) {
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
    tamis__sys.thread = fault_no_thread; /* its allocations would be counted at the same time */
    for (uint64_t n = 1;; n += scaled_step()) {
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
    const uint64_t states =
        outage_each(0, test_scale_torture(1, current->step, 13, 7), 3, check_outage, NULL);
    printf("%zu changes, %" PRIu64 " states\n", changes, states);
    assert_true(changes > 8 && states > 10);
    outage_end();
}

/* The secret belongs to the keys that are left, too. */
static void a_keyed_state_still_needs_its_secret(void **unused) {
    (void)unused;
    uint64_t forgotten;
    tamis_state *state;
    tamis_state_options options = states_options(&current->make, NULL);
    if (!options.secret)
        return;
    make_state();
    assert_ok(forget(&forgotten));
    assert_int_equal(forgotten, FORGOTTEN);
    options.secret = "another one of sixteen bytes";
    options.secret_size = strlen(options.secret);
    assert_int_equal(tamis_state_open(&state, scratch(""), &options, &states_err), TAMIS_E_SECRET);
    options.secret = NULL;
    options.secret_size = 0;
    assert_int_equal(tamis_state_open(&state, scratch(""), &options, &states_err), TAMIS_E_SECRET);
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
        cmocka_unit_test_setup_teardown(a_keyed_state_still_needs_its_secret, set_up, states_tear_down),
        cmocka_unit_test_setup_teardown(every_call_fails, set_up, states_tear_down),
        cmocka_unit_test_setup_teardown(every_allocation_fails, set_up, states_tear_down),
        cmocka_unit_test_setup_teardown(every_loss_of_power, set_up, states_tear_down),
    };
    int failed = 0;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        current = &scenarios[i];
        printf("%s\n", current->make.name);
        failed += cmocka_run_group_tests_name(current->make.name, tests, NULL, NULL);
    }
    return failed;
}

/* SPDX-License-Identifier: BSD-2-Clause */

/* A state with damaged files: each byte is changed, and each file is cut at each byte. The state is at one
 * of its commits, or is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/system.h"
#include "store/state/state_int.h"
#include "support/fault.h"
#include "support/scratch.h"
#include "support/states.h"

enum { COMMITS = 3, EACH = 5 };

static const states_make makes[] = {
    {.name = "small", .kind = TAMIS_KIND_FINGERPRINT, .expect = 40, .fpr = 1e-3},
    {.name = "window", .kind = TAMIS_KIND_WINDOW, .expect = 40, .fpr = 1e-3, .window = 3600 * 1000},
};
static const states_make *make = &makes[0];
static test_bytes manifest, closed, live; /* the files, whole */
static uint64_t ends[COMMITS + 1];        /* of the live one: bytes behind each of its commits */

static const char *checkpoint(int number) {
    static char text[20];
    snprintf(text, sizeof text, "commit %d", number);
    return text;
}

/* Closes a state like a killed process: a failed state writes nothing when it is closed. */
static void kill_state(tamis_state *state) {
    state->failed = TAMIS_E_IO;
    tamis_state_close(state);
}

/* Segment log-1 has commit 1. The live segment log-2 has commits 2 and 3, and keys after them. */
static int set_up(void **unused) {
    (void)unused;
    tamis_state *state = NULL;
    tamis__sys.sync = fault_no_sync;
    scratch_make_in_memory();
    for (int i = 1; i <= COMMITS; i++) {
        if (i <= 2 && states_open(&state, make, scratch(""), NULL) != TAMIS_OK)
            return -1;
        if (states_add(state, (uint64_t)i * 100, EACH) != TAMIS_OK ||
            states_commit(state, checkpoint(i)) != TAMIS_OK)
            return -1;
        ends[i] = state->log.commit_end;
        if (i == 1 || i == COMMITS) {
            if (states_add(state, 10000, 3) != TAMIS_OK ||
                tamis_state_note(state, "n", 1, &states_err) != TAMIS_OK)
                return -1;
            kill_state(state);
        }
    }
    file_read(scratch("manifest"), &manifest);
    file_read(scratch("log-0000000001"), &closed);
    file_read(scratch("log-0000000002"), &live);
    return 0;
}

static int tear_down(void **unused) {
    (void)unused;
    bytes_clear(&manifest);
    bytes_clear(&closed);
    bytes_clear(&live);
    scratch_remove();
    return 0;
}

static void restore(void) {
    scratch_clear();
    file_write(scratch("manifest"), manifest.data, manifest.size);
    file_write(scratch("log-0000000001"), closed.data, closed.size);
    file_write(scratch("log-0000000002"), live.data, live.size);
}

/* Returns the commit at which the state opens; 0: refused, with a message that names a file. Fails if its
 * keys are not those of that commit. */
static int opens_at(void) {
    tamis_state *state = NULL;
    states_err = (tamis_error)TAMIS_ERROR_INIT;
    tamis_status status = states_open(&state, make, scratch(""), NULL);
    if (status != TAMIS_OK) {
        if (status != TAMIS_E_DAMAGED && status != TAMIS_E_FORMAT)
            fail_msg("%s: %s", tamis_status_name(status), states_err.text);
        assert_non_null(strstr(states_err.text, scratch("")));
        return 0;
    }
    int commit = 0;
    for (int i = 1; i <= COMMITS; i++)
        if (states_is_at(state, checkpoint(i)))
            commit = i;
    assert_true(commit > 0);
    assert_int_equal(states_keys(state), commit * EACH);
    assert_int_equal(tamis_state_filter(state)->added, commit * EACH);
    tamis_state_close(state);
    return commit;
}

static void as_it_was(void **unused) {
    (void)unused;
    restore();
    assert_int_equal(opens_at(), COMMITS);
    assert_int_equal(opens_at(), COMMITS);
}

/* All damage in front of the last commit's frame is detected. Bytes behind it do not count. A damaged
 * frame itself looks like one that was being written. */
static void each_byte_changed(void **unused) {
    (void)unused;
    const uint64_t last =
        ends[COMMITS] - STATE_FRAME_HEADER - STATE_COMMIT_FIXED - strlen(checkpoint(COMMITS));
    for (size_t i = 0; i < live.size; i++) {
        restore();
        live.data[i] ^= 0x20;
        file_write(scratch("log-0000000002"), live.data, live.size);
        live.data[i] ^= 0x20;
        const bool in_check =
            i >= last + 8 && i < last + STATE_FRAME_HEADER; /* the commit's content is undamaged */
        const int commit = opens_at();
        const int expected = i < last || in_check ? 0 : i < ends[COMMITS] ? COMMITS - 1 : COMMITS;
        if (commit != expected)
            fail_msg("byte %zu changed: at commit %d, not %d", i, commit, expected);
    }
    for (size_t i = 0; i < manifest.size; i++) {
        restore();
        manifest.data[i] ^= 0x20;
        file_write(scratch("manifest"), manifest.data, manifest.size);
        manifest.data[i] ^= 0x20;
        assert_int_equal(opens_at(), 0);
    }
    for (size_t i = 0; i < closed.size; i++) {
        restore();
        closed.data[i] ^= 0x20;
        file_write(scratch("log-0000000001"), closed.data, closed.size);
        closed.data[i] ^= 0x20;
        const uint64_t synced_end = ends[1] - STATE_FRAME_HEADER - STATE_COMMIT_FIXED - strlen(checkpoint(1));
        assert_int_equal(opens_at(), i < synced_end ? 0 : COMMITS);
    }
}

static void each_file_cut(void **unused) {
    (void)unused;
    for (size_t size = 0; size < live.size; size++) {
        restore();
        file_write(scratch("log-0000000002"), live.data, size);
        int expected = size >= ends[COMMITS] ? COMMITS : size >= ends[2] ? 2 : 1;
        /* header and first frame were synced before the manifest named the segment */
        if (size < STATE_HEADER + STATE_FRAME_HEADER + STATE_COMMIT_FIXED + strlen(checkpoint(1)))
            expected = 0;
        assert_int_equal(opens_at(), expected);
    }
    for (size_t size = 0; size < manifest.size; size++) {
        restore();
        file_write(scratch("manifest"), manifest.data, size);
        assert_int_equal(opens_at(), 0);
    }
    restore();
    assert_int_equal(truncate(scratch("log-0000000001"), (off_t)ends[1] / 2), 0);
    assert_int_equal(opens_at(), 0);
    unlink(scratch("log-0000000001"));
    tamis_state *state = NULL;
    assert_int_equal(states_open(&state, make, scratch(""), NULL), TAMIS_E_DAMAGED);
}

/* A closed state knows the length of its log, so a shorter one is damage. */
static void reg_22_a_log_cut_after_its_end_is_damage(void **unused) {
    (void)unused;
    tamis_state *state = NULL;
    char name[40];
    restore();
    assert_int_equal(states_open(&state, make, scratch(""), NULL), TAMIS_OK);
    assert_int_equal(states_add(state, 500, EACH), TAMIS_OK);
    assert_int_equal(states_commit(state, checkpoint(COMMITS)), TAMIS_OK);
    assert_int_equal(tamis_state_snapshot(state, UINT64_MAX, &states_err), TAMIS_OK);
    kill_state(state);                            /* the manifest has the end of the log by now */
    for (int number = 3; number <= 4; number++) { /* the segment of that run, and the next one */
        test_bytes whole = {0};
        snprintf(name, sizeof name, "log-%010d", number);
        file_read(scratch(name), &whole);
        for (size_t size = 0; size < whole.size; size += number < 4 ? 50 : 1) {
            file_write(scratch(name), whole.data, size);
            const tamis_status status = tamis_state_verify(scratch(""), NULL, &states_err);
            /* The manifest closes a segment in front of its last commit, which the next segment repeats. */
            const bool repeated = number < 4 && size + 100 > whole.size;
            if (status != TAMIS_E_DAMAGED && !(repeated && status == TAMIS_OK))
                fail_msg("%s cut to %zu of %zu bytes: %s", name, size, whole.size, tamis_status_name(status));
        }
        file_write(scratch(name), whole.data, whole.size);
        assert_int_equal(tamis_state_verify(scratch(""), NULL, &states_err), TAMIS_OK);
        bytes_clear(&whole);
    }
}

/* Any bytes after the last commit. */
static void any_tail(void **unused) {
    (void)unused;
    uint64_t seed = test_seed(9);
    for (int i = 0; i < 300; i++) {
        test_bytes bytes = {0};
        bytes_add(&bytes, live.data, (size_t)ends[COMMITS]);
        for (uint64_t n = test_below(&seed, 600); n > 0; n--) {
            unsigned char byte = (unsigned char)test_random(&seed);
            bytes_add(&bytes, &byte, 1);
        }
        if (i % 3 == 0) /* frames of another segment, with commits */
            bytes_add(&bytes, closed.data + STATE_HEADER, closed.size - STATE_HEADER);
        if (i % 3 == 1) /* its own earlier frames */
            bytes_add(&bytes, live.data + STATE_HEADER, (size_t)ends[COMMITS] - STATE_HEADER);
        restore();
        file_write(scratch("log-0000000002"), bytes.data, bytes.size);
        assert_int_equal(opens_at(), COMMITS);
        bytes_clear(&bytes);
    }
}

static void the_next_version_is_reported(void **unused) {
    (void)unused;
    restore();
    manifest.data[8] = 4;
    file_write(scratch("manifest"), manifest.data, manifest.size);
    tamis_state *state = NULL;
    assert_int_equal(states_open(&state, make, scratch(""), NULL),
                     TAMIS_E_DAMAGED); /* checksum of version 1 */
    const uint64_t sum =
        XXH3_64bits_withSeed(manifest.data + 32, manifest.size - 32, XXH3_64bits(manifest.data, 24));
    tamis__store64le(manifest.data + 24, sum);
    file_write(scratch("manifest"), manifest.data, manifest.size);
    assert_int_equal(states_open(&state, make, scratch(""), NULL), TAMIS_E_FORMAT);
    assert_non_null(strstr(states_err.text, "of a later version"));
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(as_it_was),
        CASE(each_byte_changed),
        CASE(each_file_cut),
        CASE(any_tail),
        CASE(the_next_version_is_reported),
        CASE(reg_22_a_log_cut_after_its_end_is_damage),
    };
    int failed = 0;
    for (size_t i = 0; i < sizeof makes / sizeof *makes; i++) {
        make = &makes[i];
        failed += cmocka_run_group_tests_name(make->name, tests, NULL, NULL);
    }
    return failed;
}

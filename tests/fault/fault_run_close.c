/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * An unfinished run is closed, and each system call fails once. If the call ends well, the run is closed,
 * also for the next process. Otherwise it is open or closed, and closing it again ends well. No key is lost.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/commits.h"
#include "support/fault.h"
#include "support/scratch.h"

enum { RECORDS = 2000, STOP = 20 /* batch before which the run is stopped */ };

static char input[PATH_MAX], outputs[2][PATH_MAX];

/* Begins or continues the run to an output, and stops it. */
static void leave_open(int output) {
    commits_run run;
    const char *inputs[] = {input};
    commits_init(&run, &commits_makes[COMMITS_EXACT]);
    run.options.inputs = inputs;
    run.options.input_count = 1;
    run.options.output = outputs[output];
    run.commits.reread = true;
    run.stop_before = STOP;
    commits_go(&run);
    assert_int_equal(run.status, TAMIS_E_INTERRUPTED);
}

static tamis_status close_run(size_t number, tamis_error *err) {
    tamis_state *state = NULL;
    tamis_state_options options = TAMIS_STATE_OPTIONS_INIT;
    tamis_status status = tamis_state_open(&state, scratch("state"), &options, err);
    if (status == TAMIS_OK)
        status = tamis_stream_run_close(state, number, err);
    tamis_state_close(state);
    return status;
}

/* Returns how many runs are open, and the keys of the state. */
static size_t count_open(uint64_t *keys) {
    tamis_state *state;
    tamis_state_options options = TAMIS_STATE_OPTIONS_INIT;
    tamis_state_info info = TAMIS_STATE_INFO_INIT;
    tamis_stream_checkpoint *checkpoint;
    tamis_stream_run_status run_status;
    size_t open = 0;
    options.read_only = true;
    assert_int_equal(tamis_state_open(&state, scratch("state"), &options, NULL), TAMIS_OK);
    tamis_state_info_get(state, &info);
    *keys = info.keys;
    for (size_t i = 0; tamis_stream_run_at(&checkpoint, &run_status, state, i, NULL) == TAMIS_OK; i++) {
        open += run_status == TAMIS_STREAM_RUN_OPEN;
        tamis_stream_checkpoint_free(checkpoint);
    }
    tamis_state_close(state);
    return open;
}

/* Makes two open runs, closes one, and has call `n` fail. Returns false if there was no such call. */
static bool fault_at(size_t number, fault_call call, int error_number, uint64_t n) {
    tamis_error err = TAMIS_ERROR_INIT;
    uint64_t keys, keys_after;
    commits_forget();
    unlink(outputs[0]);
    unlink(outputs[1]);
    leave_open(0);
    leave_open(1);
    assert_int_equal(count_open(&keys), 2);
    const size_t descriptors = fault_open_descriptors();
    fault_install();
    fault_arm(call, n, error_number, false);
    const tamis_status status = close_run(number, &err);
    const bool fired = fault_fired() > 0;
    fault_disarm();
    fault_remove();
    assert_int_equal(fault_open_descriptors(), descriptors);
    const size_t open = count_open(&keys_after);
    if (keys_after != keys || open > 2 || open < 1 || (status == TAMIS_OK && open != 1) ||
        (status != TAMIS_OK && (!fired || err.text[0] == '\0')))
        fail_msg("%s number %" PRIu64 " failed with %d: %d \"%s\", %zu runs are open", fault_call_name(call),
                 n, error_number, (int)status, err.text, open);
    assert_int_equal(close_run(number, &err), TAMIS_OK);
    assert_int_equal(count_open(&keys_after), 1);
    assert_int_equal(keys_after, keys);
    return fired;
}

static void every_call_fails(void **state) {
    static const int errors[] = {EIO, ENOSPC};
    const uint64_t step = test_scale(1, 5, 5);
    (void)state;
    for (size_t number = 0; number < 2; number++) /* a note, and the last commit */
        for (fault_call call = 0; call < FAULT_SOCKET; call++)
            for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
                uint64_t n = 1;
                while (fault_at(number, call, errors[i], n))
                    n += step;
            }
}

static int set_up(void **state) {
    (void)state;
    scratch_make();
    snprintf(input, sizeof input, "%s", scratch("input"));
    snprintf(outputs[0], sizeof outputs[0], "%s", scratch("first"));
    snprintf(outputs[1], sizeof outputs[1], "%s", scratch("second"));
    commits_write(input, RECORDS, 1);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    commits_forget();
    scratch_remove();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(every_call_fails, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

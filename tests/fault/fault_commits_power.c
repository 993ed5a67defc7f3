/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: timeout=900 */

/*
 * Power loss at each change that a run over a state makes on the disk, in every state of it that the
 * model of support/outage.h allows: started again, the run ends with outputs that are byte for byte those
 * of one that was not disturbed. Once it had ended, all is there whatever was lost. The same of a run
 * that goes on behind one that was killed, whose outputs it cuts back.
 *
 * The model is tried itself: where a sync is left out that matters, it finds a state that is wrong.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system.h"
#include "support/commits.h"
#include "support/outage.h"
#include "support/scratch.h"
#include "support/tools.h"
#include "support/unpacked.h"

enum { INPUTS = 2, OUTPUTS = 2, RECORDS = 1000, KEYS = 1200 };

typedef struct scenario {
    const char *name;
    int make;
    tamis_packing packing;
    uint64_t step;
} scenario;

static const scenario scenarios[] = {
    {"growing", COMMITS_GROWING, TAMIS_PACKING_NONE, 1}, {"blocked", COMMITS_BLOCKED, TAMIS_PACKING_NONE, 7},
    {"classic", COMMITS_CLASSIC, TAMIS_PACKING_NONE, 7}, {"exact", COMMITS_EXACT, TAMIS_PACKING_NONE, 7},
    {"fixed", COMMITS_FIXED, TAMIS_PACKING_NONE, 7},     {"gzip", COMMITS_GROWING, TAMIS_PACKING_GZIP, 11},
};
enum { SCENARIOS = sizeof scenarios / sizeof *scenarios };

static const scenario *current;
static char names[INPUTS + OUTPUTS][300];
static const char *inputs[INPUTS];
static test_bytes want[OUTPUTS];
static struct tamis__system real;

/* ---- runs ---- */

static tamis_status go(commits_run *run) {
    commits_init(run, &commits_makes[current->make]);
    run->options.inputs = inputs;
    run->options.input_count = INPUTS;
    run->options.output = names[INPUTS];
    run->options.duplicates = names[INPUTS + 1];
    run->options.packing = (int)current->packing;
    run->options.packing_level = current->packing ? 1 : 0;
    run->snapshot_at = 9000;
    return commits_go(run);
}

static void forget(void) {
    commits_forget();
    for (int i = 0; i < OUTPUTS; i++)
        unlink(names[INPUTS + i]);
}

static bool output_is_right(int i) {
    test_bytes got = {0};
    if (!file_exists(names[INPUTS + i]))
        return false;
    if (current->packing)
        unpacked_file(current->packing, names[INPUTS + i], &got);
    else
        file_read(names[INPUTS + i], &got);
    const bool right = bytes_equal(&got, &want[i]);
    bytes_clear(&got);
    return right;
}

static bool is_right(void) {
    return output_is_right(0) && output_is_right(1);
}

/* ---- what has to hold ---- */

typedef struct findings {
    uint64_t resumed, finished, wrong;
    bool planted; /* what is wrong is looked for */
} findings;

static const char *look(findings *f, bool ended) {
    commits_run run;
    if (ended && !is_right())
        return "what was written is gone";
    if (go(&run) != TAMIS_OK) {
        if (!f->planted)
            fprintf(stderr, "%s\n", run.err.text);
        return "it does not go on";
    }
    if (ended && run.commits.begun != TAMIS_STREAM_FINISHED)
        return "its end is forgotten";
    f->finished += ended;
    f->resumed += run.commits.begun == TAMIS_STREAM_RESUMED;
    return is_right() ? NULL : "it writes something else";
}

static bool check(void *context, bool ended) {
    findings *f = context;
    const char *what = look(f, ended);
    forget();
    if (!what)
        return true;
    if (!f->planted)
        fprintf(stderr, "%s: %s: %s\n", current->name, what, outage_describe());
    f->wrong++;
    return false;
}

static uint64_t step_of(uint64_t full, uint64_t sanitizer, uint64_t quick) {
    enum { MOST = 61 }; /* so that there are some */
    const char *scale = getenv("TAMIS_TEST_SCALE");
    if (scale && strcmp(scale, "torture") == 0)
        return 1;
    const uint64_t step = current->step * test_scale(full, sanitizer, quick);
    return step < MOST ? step : MOST;
}

static void record_run(outage_left_out left_out, const char *only) {
    commits_run run;
    forget();
    outage_begin(scratch(""), left_out, only);
    if (go(&run) != TAMIS_OK)
        fail_msg("%s", run.err.text);
    outage_mark();
    outage_pause();
    forget();
}

/* ---- tests ---- */

static void every_loss(void **state) {
    (void)state;
    findings f = {0};
    record_run(OUTAGE_NOTHING, NULL);
    const size_t changes = outage_changes();
    uint64_t states = outage_each(0, step_of(1, 13, 23), 3, check, &f);
    states += outage_each(changes, 1, 3, check, &f);
    printf("%s: %zu changes, %" PRIu64 " states: %" PRIu64 " gone on with, %" PRIu64 " at the end\n",
           current->name, changes, states, f.resumed, f.finished);
    assert_int_equal(f.wrong, 0);
    assert_true(changes > 200 && f.resumed > 0 && f.finished > 0);
}

/* What it wrote behind its last commit is in the system's memory, and may be on the disk, when it is
 * started again. */
static void every_loss_behind_a_kill(void **state) {
    (void)state;
    uint64_t states = 0;
    findings f = {0};
    for (uint64_t n = 20; n < 200; n += step_of(31, 83, 97)) {
        commits_run run;
        outage_begin(scratch(""), OUTAGE_NOTHING, NULL);
        outage_stop_at(n);
        assert_int_not_equal(go(&run), TAMIS_OK);
        outage_go_on();
        const size_t from = outage_changes();
        if (go(&run) != TAMIS_OK)
            fail_msg("%s: stopped at change %" PRIu64 ": %s", current->name, n, run.err.text);
        outage_mark();
        outage_pause();
        assert_true(is_right());
        forget();
        states += outage_each(from, step_of(29, 67, 97), 3, check, &f);
        assert_int_equal(f.wrong, 0);
        outage_end();
    }
    printf("%s: %" PRIu64 " states\n", current->name, states);
}

/* The sync of an output fails, and the system forgets what it could not write. Then power is lost, at once or while the run that was
 * started again is under way. */
static void every_loss_behind_a_failed_sync(void **state) {
    (void)state;
    static const char *const outputs[] = {"output", "duplicates"};
    uint64_t states = 0, failures = 0;
    for (int i = 0; i < OUTPUTS; i++)
        for (uint64_t n = 1;; n += step_of(5, 17, 23)) {
            findings f = {0};
            commits_run run;
            outage_begin(scratch(""), OUTAGE_NOTHING, NULL);
            outage_fail_sync(outputs[i], n);
            const tamis_status status = go(&run);
            const bool failed = outage_sync_failed();
            if (!failed)
                break;
            if (status != TAMIS_E_IO || !strstr(run.err.text, outputs[i]))
                fail_msg("%s: sync %" PRIu64 " failed: %d \"%s\"", current->name, n, status, run.err.text);
            failures++;
            const size_t from = outage_changes();
            if (go(&run) != TAMIS_OK || !is_right())
                fail_msg("%s: behind sync %" PRIu64 ": %s", current->name, n, run.err.text);
            outage_mark();
            outage_pause();
            forget();
            states += outage_each(from, step_of(29, 67, 97), 2, check, &f);
            if (f.wrong > 0)
                fail_msg("%s: sync %" PRIu64 " of %s", current->name, n, outputs[i]);
            outage_end();
        }
    printf("%s: %" PRIu64 " syncs failed, %" PRIu64 " states\n", current->name, failures, states);
    assert_true(failures > 0 && states > failures);
}

static void a_sync_left_out_is_found(void **state) {
    static const struct {
        outage_left_out what;
        const char *only;
    } planted[] = {{OUTAGE_FILE_SYNCS, "output"},
                   {OUTAGE_FILE_SYNCS, "duplicates"},
                   {OUTAGE_FILE_SYNCS, "log-"},
                   {OUTAGE_FOLDER_SYNCS, NULL}};
    (void)state;
    if (current->step > 1)
        return; /* it is the model that is tried */
    for (size_t i = 0; i < sizeof planted / sizeof *planted; i++) {
        findings f = {.planted = true};
        record_run(planted[i].what, planted[i].only);
        outage_each(0, 1, 1, check, &f);
        if (f.wrong == 0)
            fail_msg("syncs left out (%d, %s) are not found", (int)planted[i].what,
                     planted[i].only ? planted[i].only : "all");
        outage_end();
    }
}

/* ---- around them ---- */

static int no_sync(int fd) {
    (void)fd;
    return 0;
}

static int no_thread(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *context) {
    (void)thread;
    (void)how;
    (void)run;
    (void)context;
    return EAGAIN;
}

static int no_advice(void *block, size_t size, int advice) {
    (void)block;
    (void)size;
    (void)advice;
    return 0;
}

static void make_inputs(void) {
    static const char *const called[] = {"one", "two.gz", "output", "duplicates"};
    for (int i = 0; i < INPUTS + OUTPUTS; i++)
        snprintf(names[i], sizeof names[i], "%s", scratch(called[i]));
    for (int i = 0; i < INPUTS; i++) {
        test_bytes plain = {0}, packed = {0};
        commits_records(&plain, RECORDS, KEYS, (uint64_t)i + 1);
        if (i == 1)
            tool_run("gzip -c", plain.data, plain.size, &packed);
        file_write(names[i], i ? packed.data : plain.data, i ? packed.size : plain.size);
        bytes_clear(&plain);
        bytes_clear(&packed);
        inputs[i] = names[i];
    }
}

static int set_up(void **state) {
    commits_run run;
    scratch_make();
    make_inputs();
    real = tamis__sys;
    tamis__sys.sync = no_sync; /* what is recorded is above it */
    tamis__sys.thread = no_thread;
    tamis__sys.advise = no_advice;
    scenario plain = *(const scenario *)*state;
    plain.packing = TAMIS_PACKING_NONE;
    current = &plain;
    if (go(&run) != TAMIS_OK) {
        fprintf(stderr, "undisturbed: %s\n", run.err.text);
        return -1;
    }
    current = *state;
    for (int i = 0; i < OUTPUTS; i++)
        file_read(names[INPUTS + i], &want[i]);
    forget();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    outage_end();
    tamis__sys = real;
    forget();
    for (int i = 0; i < OUTPUTS; i++)
        bytes_clear(&want[i]);
    scratch_remove();
    return 0;
}

/* Of the scenarios, or of the one that is named. */
int main(int count, char **values) {
    static const struct {
        const char *name;
        CMUnitTestFunction test;
    } each[] = {{"every_loss", every_loss},
                {"every_loss_behind_a_kill", every_loss_behind_a_kill},
                {"every_loss_behind_a_failed_sync", every_loss_behind_a_failed_sync},
                {"a_sync_left_out_is_found", a_sync_left_out_is_found}};
    enum { TESTS = sizeof each / sizeof *each };
    static char texts[SCENARIOS * TESTS][60];
    struct CMUnitTest tests[SCENARIOS * TESTS];
    size_t taken = 0;
    for (int i = 0; i < SCENARIOS * TESTS; i++) {
        const scenario *s = &scenarios[i / TESTS];
        if (count > 1 && strcmp(values[1], s->name) != 0)
            continue;
        snprintf(texts[i], sizeof texts[i], "%s: %s", s->name, each[i % TESTS].name);
        tests[taken++] =
            (struct CMUnitTest){texts[i], each[i % TESTS].test, set_up, tear_down, (void *)(uintptr_t)s};
    }
    return _cmocka_run_group_tests("power", tests, taken, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: timeout=900 */

/*
 * A loss of power at each change that a run over a state makes on the disk. In every state of the disk that
 * the model of support/outage.h allows, the run is started again and must end with the outputs of an
 * undisturbed run, byte for byte. After the end of the run nothing may be lost. The same is tried with a run
 * that continues a killed one and cuts its outputs back.
 *
 * The model is tested too: if a sync that matters is left out, it must find a wrong state.
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
#include "support/commits_pair.h"
#include "support/outage.h"
#include "support/scratch.h"

enum { RECORDS = 1000, KEYS = 1200, SNAPSHOT_AT = 9000 /* bytes of log */ };

static const pair_scenario scenarios[] = {
    {"growing", COMMITS_GROWING, 1, TAMIS_COMPRESSION_NONE, 1, false, false},
    {"blocked", COMMITS_BLOCKED, 1, TAMIS_COMPRESSION_NONE, 7, false, false},
    {"classic", COMMITS_CLASSIC, 1, TAMIS_COMPRESSION_NONE, 7, false, false},
    {"exact", COMMITS_EXACT, 1, TAMIS_COMPRESSION_NONE, 7, false, false},
    {"fixed", COMMITS_FIXED, 1, TAMIS_COMPRESSION_NONE, 7, false, false},
    {"window", COMMITS_WINDOW, 1, TAMIS_COMPRESSION_NONE, 7, false, false},
    {"gzip", COMMITS_GROWING, 1, TAMIS_COMPRESSION_GZIP, 11, false, false},
    {"partial", COMMITS_GROWING, 1, TAMIS_COMPRESSION_NONE, 11, true, false},
    {"delivered", COMMITS_GROWING, 1, TAMIS_COMPRESSION_NONE, 5, false, true},
};

/* ---- progress of the run ---- */

enum { STEPS_MAX = 1000 };

static int steps;                                 /* the last one */
static bool recording;                            /* the recorded run is running */
static pair_acknowledged acknowledged[STEPS_MAX]; /* with `delivered`, by mark */

static void begin_recording(outage_model model) {
    steps = 0;
    outage_begin(scratch(""), model);
}

static void mark_progress(void) {
    if (!recording)
        return;
    if (++steps == STEPS_MAX)
        abort();
    if (pair_consumer)
        acknowledged[steps] = *pair_consumer;
    outage_mark(steps);
}

static tamis_status go_marking(commits_run *run) {
    recording = true;
    const tamis_status status = pair_go(run, NULL);
    recording = false;
    return status;
}

/* ---- checks of a state ---- */

typedef struct findings {
    uint64_t resumed, finished, wrong;
    int end;      /* mark of the end */
    bool planted; /* true if a sync is left out, and a wrong state is expected */
} findings;

static const char *look(findings *f, int mark) {
    const bool ended = mark == f->end;
    commits_run run;
    if (ended && !pair_is_right(true))
        return "what was written is gone";
    if (pair_go(&run, NULL) != TAMIS_OK) {
        if (!f->planted)
            fprintf(stderr, "%s\n", run.err.text);
        return "it does not go on";
    }
    if (ended && !pair_current->delivered && /* a pipe may always have more */
        run.result.start != (pair_current->partial ? TAMIS_STREAM_GROWN : TAMIS_STREAM_FINISHED))
        return "its end is forgotten";
    f->finished += ended;
    f->resumed += run.result.start == TAMIS_STREAM_RESUMED || (mark > 0 && !ended);
    return pair_is_right(true) ? NULL : "it writes something else";
}

static bool check(void *context, int mark) {
    findings *f = context;
    if (pair_consumer)
        *pair_consumer = acknowledged[mark];
    const char *what = look(f, mark);
    pair_forget();
    if (!what)
        return true;
    if (!f->planted)
        fprintf(stderr, "%s: %s: %s\n", pair_current->name, what, outage_describe());
    f->wrong++;
    return false;
}

static uint64_t step_of(uint64_t full, uint64_t sanitizer, uint64_t quick) {
    enum { MAX = 61 }; /* so that some states are tried in any case */
    const uint64_t step = pair_step(full, sanitizer, quick);
    return step < MAX ? step : MAX;
}

static void mark_end(findings *f) {
    recording = true;
    mark_progress();
    recording = false;
    f->end = steps;
    outage_pause();
    pair_forget();
}

static void record_run(findings *f, outage_left_out left_out, const char *only) {
    commits_run run;
    pair_forget();
    begin_recording((outage_model){.left_out = left_out, .only = only});
    if (go_marking(&run) != TAMIS_OK)
        fail_msg("%s", run.err.text);
    mark_end(f);
}

/* ---- tests ---- */

static void every_loss(void **state) {
    (void)state;
    findings f = {0};
    record_run(&f, OUTAGE_NOTHING, NULL);
    const size_t changes = outage_changes();
    uint64_t states = outage_each(0, step_of(13, 61, 61), 3, check, &f);
    states += outage_each(changes, 1, 3, check, &f);
    printf("%s: %zu changes, %" PRIu64 " states: %" PRIu64 " gone on with, %" PRIu64 " at the end\n",
           pair_current->name, changes, states, f.resumed, f.finished);
    assert_int_equal(f.wrong, 0);
    assert_true(changes > 200 && f.resumed > 0 && f.finished > 0);
}

/* Bytes that the killed run wrote behind its last commit are still in the memory of the system, and may or
 * may not be on the disk, when it is started again. */
static void every_loss_after_a_kill(void **state) {
    (void)state;
    uint64_t states = 0;
    findings f = {0};
    for (uint64_t n = 20; n < 200; n += step_of(61, 83, 97)) {
        commits_run run;
        begin_recording((outage_model){.left_out = OUTAGE_NOTHING});
        outage_stop_at(n);
        assert_int_not_equal(go_marking(&run), TAMIS_OK);
        outage_go_on();
        const size_t from = outage_changes();
        if (go_marking(&run) != TAMIS_OK)
            fail_msg("%s: stopped at change %" PRIu64 ": %s", pair_current->name, n, run.err.text);
        assert_true(pair_is_right(true));
        mark_end(&f);
        states += outage_each(from, step_of(61, 67, 97), 3, check, &f);
        assert_int_equal(f.wrong, 0);
        outage_end();
    }
    printf("%s: %" PRIu64 " states\n", pair_current->name, states);
}

/* The sync of an output fails, and the system drops what it could not write. Then power is lost, at once
 * or during the next run. */
static void every_loss_after_a_failed_sync(void **state) {
    (void)state;
    static const char *const outputs[] = {"output", "duplicates"};
    uint64_t states = 0, failures = 0;
    for (int i = 0; i < 2; i++)
        for (uint64_t n = 1;; n += step_of(23, 37, 37)) {
            findings f = {0};
            commits_run run;
            begin_recording((outage_model){.left_out = OUTAGE_NOTHING});
            outage_fail_sync(outputs[i], n, false);
            const tamis_status status = go_marking(&run);
            const bool failed = outage_sync_failed();
            if (!failed)
                break;
            if (status != TAMIS_E_IO || !strstr(run.err.text, outputs[i]))
                fail_msg("%s: sync %" PRIu64 " failed: %d \"%s\"", pair_current->name, n, status,
                         run.err.text);
            failures++;
            const size_t from = outage_changes();
            if (go_marking(&run) != TAMIS_OK || !pair_is_right(true))
                fail_msg("%s: behind sync %" PRIu64 ": %s", pair_current->name, n, run.err.text);
            mark_end(&f);
            states += outage_each(from, step_of(61, 67, 97), 2, check, &f);
            if (f.wrong > 0)
                fail_msg("%s: sync %" PRIu64 " of %s", pair_current->name, n, outputs[i]);
            outage_end();
        }
    printf("%s: %" PRIu64 " syncs failed, %" PRIu64 " states\n", pair_current->name, failures, states);
    assert_true(failures > 0 && states > failures);
}

static void a_sync_left_out_is_found(void **state) {
    static const struct {
        outage_left_out what;
        const char *only;
    } planted[] = {{OUTAGE_FILE_SYNCS, "output"},
                   {OUTAGE_FILE_SYNCS, "duplicates"},
                   {OUTAGE_FILE_SYNCS, "log-"},
                   {OUTAGE_DIRECTORY_SYNCS, NULL}};
    (void)state;
    if (pair_current->step > 1 || test_scale(0, 1, 0))
        return; /* this tests the model: one scenario is enough, without sanitizers */
    for (size_t i = 0; i < sizeof planted / sizeof *planted; i++) {
        findings f = {.planted = true};
        record_run(&f, planted[i].what, planted[i].only);
        outage_each(0, 1, 1, check, &f);
        if (f.wrong == 0)
            fail_msg("syncs left out (%d, %s) are not found", (int)planted[i].what,
                     planted[i].only ? planted[i].only : "all");
        outage_end();
    }
}

/* ---- set-up and tear-down ---- */

static int set_up(void **state) {
    commits_run run;
    steps = 0;
    pair_on_report = mark_progress;
    return pair_set_up(*state, RECORDS, KEYS, SNAPSHOT_AT, &run) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    outage_end();
    pair_tear_down();
    return 0;
}

int main(int count, char **values) {
    static const pair_test tests[] = {{"every_loss", every_loss},
                                      {"every_loss_after_a_kill", every_loss_after_a_kill},
                                      {"every_loss_after_a_failed_sync", every_loss_after_a_failed_sync},
                                      {"a_sync_left_out_is_found", a_sync_left_out_is_found}};
    return pair_main("power", scenarios, sizeof scenarios / sizeof *scenarios, tests,
                     sizeof tests / sizeof *tests, set_up, tear_down, count, values);
}

/* SPDX-License-Identifier: BSD-2-Clause */

/* Many threads query one session over a state and commit meanwhile. Checks the state after a restart;
 * under TSan also data races. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "property/filter_model.h"
#include "support/fault.h"
#include "support/states.h"

enum { THREADS = 4, BATCH = 97 };

static void assert_ok(tamis_status status) {
    if (status != TAMIS_OK)
        fail_msg("%s: %s", tamis_status_name(status), states_err.text);
}

/* ---- a shared session ---- */

typedef struct shared {
    tamis_state *state;
    tamis_dedup *session;
    uint64_t count;          /* number of keys: the numbers from 0 on */
    _Atomic uint8_t *absent; /* how often each key was answered TAMIS_ABSENT */
    _Atomic uint32_t started;
    _Atomic uint64_t unknown; /* number of answers TAMIS_UNKNOWN */
    bool commits;             /* true if each thread commits now and then */
    _Atomic bool failed;      /* true if a commit has failed */
} shared;

static tamis_status open_state(tamis_state **state, const states_make *make, const char *directory) {
    static const states_make *planned;
    static tamis_plan plan;
    tamis_state_options options = states_options(make, NULL);
    tamis_filter_options how = TAMIS_FILTER_OPTIONS_INIT;
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    plan_options.kind = make->kind;
    plan_options.scheme = make->scheme;
    plan_options.expect = make->expect;
    plan_options.fpr = make->fpr;
    if (planned != make) {
        plan = (tamis_plan)TAMIS_PLAN_INIT;
        assert_ok(tamis_plan_make(&plan, &plan_options, &states_err));
        planned = make;
    }
    how.concurrent = true;
    how.frozen = make->frozen;
    how.secret = options.secret;
    how.secret_size = options.secret_size;
    options.plan = &plan;
    options.filter = &how;
    return tamis_state_open(state, directory, &options, &states_err);
}

static void open_session(shared *s, const states_make *make, tamis_on_full on_full) {
    tamis_dedup_options options = TAMIS_DEDUP_OPTIONS_INIT;
    assert_ok(open_state(&s->state, make, scratch("state")));
    options.state = s->state;
    options.on_full = on_full;
    assert_ok(tamis_dedup_open(&s->session, NULL, &options, &states_err));
}

static void close_session(shared *s) {
    tamis_dedup_close(s->session);
    tamis_state_close(s->state);
}

static void remove_state(void) {
    char command[4200];
    snprintf(command, sizeof command, "rm -rf '%s'", scratch("state"));
    assert_int_equal(system(command), 0);
}

static void run_together(shared *s, void *(*work)(void *)) {
    pthread_t ids[THREADS];
    const char *wrong = NULL;
    s->started = 0;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&ids[i], NULL, work, s), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failure = NULL;
        assert_int_equal(pthread_join(ids[i], &failure), 0);
        wrong = failure ? failure : wrong;
    }
    if (wrong)
        fail_msg("%s", wrong);
}

/* Queries numbers from `from` on, and wraps around at the end. */
static tamis_status query_numbers(tamis_dedup *session, uint64_t from, size_t size, uint64_t count,
                                  uint64_t *numbers, tamis_answer *answers, tamis_error *err) {
    tamis_key keys[BATCH];
    size_t done;
    for (size_t i = 0; i < size; i++) {
        numbers[i] = (from + i) % count;
        keys[i] = (tamis_key){&numbers[i], sizeof numbers[i]};
    }
    return tamis_dedup_add_many(session, keys, size, answers, &done, err);
}

/* ---- answers, and the state after a restart ---- */

/* All threads query all keys: two in one order, so that they race for each key, two from other positions
 * on. */
static void *query_everything(void *context) {
    shared *s = context;
    const uint32_t mine = atomic_fetch_add(&s->started, 1);
    const uint64_t offset = mine % 2 ? s->count / THREADS * mine : 0;
    uint64_t numbers[BATCH];
    tamis_answer answers[BATCH];
    for (uint64_t start = 0, batch = 0; start < s->count; start += BATCH, batch++) {
        if (query_numbers(s->session, start + offset, BATCH, s->count, numbers, answers, NULL) != TAMIS_OK)
            return "ask";
        for (size_t i = 0; i < BATCH; i++) {
            s->unknown += answers[i] == TAMIS_UNKNOWN;
            if (answers[i] == TAMIS_ABSENT)
                atomic_fetch_add(&s->absent[numbers[i]], 1);
        }
        if (s->commits && batch % 16 == mine && tamis_dedup_commit(s->session, "some", 4, NULL) != TAMIS_OK)
            return "commit";
    }
    return NULL;
}

static uint64_t count_absent(const shared *s) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < s->count; i++) {
        assert_true(s->absent[i] <= 1);
        sum += s->absent[i];
    }
    return sum;
}

static void assert_counts(const shared *s, uint64_t absent) {
    tamis_dedup_counts counts = TAMIS_DEDUP_COUNTS_INIT;
    const uint64_t queried = (s->count + BATCH - 1) / BATCH * BATCH * THREADS;
    tamis_dedup_count(s->session, &counts);
    assert_int_equal(counts.absent, absent);
    assert_int_equal(counts.unknown, s->unknown);
    assert_int_equal(counts.absent + counts.present + counts.unknown, queried);
}

/* Each key is absent once, whichever threads query it. The replayed log gives the same filter, byte for
 * byte. */
static void reg_22_many_threads_over_a_state(void **unused) {
    (void)unused;
    for (int i = 0; i < STATES_WINDOW; i++) {
        shared s = {.count = model_full() ? 35000 : 5000, .commits = true};
        test_bytes before = {0}, after = {0};
        s.absent = calloc(s.count, 1);
        assert_non_null(s.absent);
        open_session(&s, &states_makes[i], TAMIS_ON_FULL_FAIL);
        run_together(&s, query_everything);
        const uint64_t absent = count_absent(&s);
        assert_counts(&s, absent);
        assert_int_equal(s.unknown, 0);
        assert_ok(tamis_dedup_commit(s.session, "all", 3, &states_err));
        states_encode(s.state, &before);
        close_session(&s);
        open_session(&s, &states_makes[i], TAMIS_ON_FULL_FAIL);
        assert_true(states_is_at(s.state, "all"));
        assert_int_equal(states_keys(s.state), absent);
        states_encode(s.state, &after);
        assert_true(bytes_check(states_makes[i].name, &after, &before));
        s.commits = false;
        run_together(&s, query_everything);
        assert_int_equal(count_absent(&s), absent); /* no key was absent again */
        close_session(&s);
        const tamis_state_options options = states_options(&states_makes[i], NULL);
        assert_ok(tamis_state_verify(scratch("state"), &options, &states_err));
        remove_state();
        bytes_clear(&before);
        bytes_clear(&after);
        free((void *)s.absent);
    }
}

/* A key that is added to the filter directly is in the log too. */
static void keys_beside_the_session_are_logged(void **unused) {
    (void)unused;
    shared s = {.count = 1000};
    tamis_answer answer;
    open_session(&s, &states_makes[STATES_GROWING], TAMIS_ON_FULL_FAIL);
    assert_ok(tamis_filter_add(tamis_state_filter(s.state), "beside", 6, &answer, &states_err));
    assert_int_equal(answer, TAMIS_ABSENT);
    assert_ok(tamis_dedup_commit(s.session, "one", 3, &states_err));
    close_session(&s);
    open_session(&s, &states_makes[STATES_GROWING], TAMIS_ON_FULL_FAIL);
    assert_ok(tamis_filter_contains(tamis_state_filter(s.state), "beside", 6, &answer, &states_err));
    assert_int_equal(answer, TAMIS_PRESENT);
    /* a change that the log cannot express is refused */
    assert_int_equal(tamis_filter_clear(tamis_state_filter(s.state), &states_err), TAMIS_E_UNSUPPORTED);
    assert_ok(tamis_filter_add(tamis_state_filter(s.state), "forgotten", 9, &answer, &states_err));
    assert_ok(tamis_dedup_abort(s.session, &states_err));
    assert_ok(tamis_filter_contains(tamis_state_filter(s.state), "beside", 6, &answer, &states_err));
    assert_int_equal(answer, TAMIS_PRESENT);
    assert_ok(tamis_filter_add(tamis_state_filter(s.state), "after", 5, &answer, &states_err));
    assert_ok(tamis_dedup_commit(s.session, "two", 3, &states_err));
    assert_int_equal(states_keys(s.state), 2);
    close_session(&s);
}

/* All threads pass on keys without a slot, and these are not logged. Keys that other threads add after
 * them are answered once. */
static void a_full_filter_passes_keys_on(void **unused) {
    (void)unused;
    static const states_make small = {
        .name = "small", .kind = TAMIS_KIND_FINGERPRINT, .expect = 2000, .fpr = 1e-6, .frozen = true};
    shared s = {.count = 3000, .commits = true};
    s.absent = calloc(s.count, 1);
    assert_non_null(s.absent);
    open_session(&s, &small, TAMIS_ON_FULL_PASS);
    run_together(&s, query_everything);
    const uint64_t absent = count_absent(&s);
    assert_int_equal(absent, 2000);
    assert_counts(&s, absent);
    assert_true(s.unknown > 0);
    assert_ok(tamis_dedup_commit(s.session, "full", 4, &states_err));
    close_session(&s);
    open_session(&s, &small, TAMIS_ON_FULL_PASS);
    assert_int_equal(states_keys(s.state), 2000);
    close_session(&s);
    free((void *)s.absent);
}

/* A filter that is not frozen grows under all threads. The state is opened again with its original plan. */
static void reg_22_a_session_outgrows_its_number(void **unused) {
    (void)unused;
    static const states_make small = {
        .name = "small", .kind = TAMIS_KIND_FINGERPRINT, .expect = 2000, .fpr = 1e-6};
    for (int snapshot = 0; snapshot < 2; snapshot++) {
        shared s = {.count = 30000, .commits = true};
        s.absent = calloc(s.count, 1);
        assert_non_null(s.absent);
        open_session(&s, &small, TAMIS_ON_FULL_FAIL);
        run_together(&s, query_everything);
        const uint64_t absent = count_absent(&s);
        assert_true(absent > s.count - s.count / 100);
        assert_counts(&s, absent);
        assert_ok(tamis_dedup_commit(s.session, "grown", 5, &states_err));
        if (snapshot)
            assert_ok(tamis_state_snapshot(s.state, 0, &states_err));
        close_session(&s);
        open_session(&s, &small, TAMIS_ON_FULL_FAIL);
        assert_int_equal(states_keys(s.state), absent);
        assert_true(tamis_filter_plan(tamis_state_filter(s.state))->capacity >= absent);
        assert_int_equal(tamis_filter_plan(tamis_state_filter(s.state))->memory_limit, 0);
        memset((void *)s.absent, 0, s.count);
        run_together(&s, query_everything);
        assert_int_equal(count_absent(&s), 0); /* all keys were present */
        close_session(&s);
        free((void *)s.absent);
        remove_state();
    }
}

/* ---- failure ---- */

static void *query_until_failure(void *context) {
    shared *s = context;
    const uint32_t mine = atomic_fetch_add(&s->started, 1);
    uint64_t numbers[BATCH];
    tamis_answer answers[BATCH];
    for (uint64_t start = 0;; start += BATCH) {
        const bool has_failed = s->failed;
        const tamis_status status =
            query_numbers(s->session, start, BATCH, UINT64_C(1) << 40, numbers, answers, NULL);
        if (status != TAMIS_OK)
            return status == TAMIS_E_IO ? NULL : "another failure";
        if (has_failed)
            return "answered after the failure";
        if (mine == 0 && start == 10 * BATCH) {
            if (tamis_dedup_commit(s->session, "two", 3, NULL) != TAMIS_E_IO)
                return "commit";
            s->failed = true;
        }
    }
}

static void nothing_is_answered_after_a_failure(void **unused) {
    (void)unused;
    shared s = {.count = 1000};
    open_session(&s, &states_makes[STATES_GROWING], TAMIS_ON_FULL_FAIL);
    assert_ok(tamis_dedup_commit(s.session, "one", 3, &states_err));
    fault_install();
    fault_arm(FAULT_SYNC, 1, EIO, true);
    run_together(&s, query_until_failure);
    fault_disarm();
    fault_remove();
    close_session(&s);
    open_session(&s, &states_makes[STATES_GROWING], TAMIS_ON_FULL_FAIL);
    assert_true(states_is_at(s.state, "one"));
    assert_int_equal(states_keys(s.state), 0);
    close_session(&s);
}

/* ---- killed ---- */

/*
 * A program as described in tamis/dedup.h. Each thread holds a shared lock from its query until the answer is
 * written. The thread that commits holds the lock exclusively. The output has the numbers that were absent;
 * the checkpoint is its length.
 */
typedef struct program {
    shared s;
    pthread_rwlock_t lock;
    int output, reported; /* descriptors; `reported` gets a byte for each commit */
} program;

enum { KEYS = 6000 };

static const char *write_absent(program *p, const uint64_t *numbers, const tamis_answer *answers) {
    uint64_t absent[BATCH];
    size_t count = 0;
    for (size_t i = 0; i < BATCH; i++)
        if (answers[i] == TAMIS_ABSENT)
            absent[count++] = numbers[i];
    const size_t size = count * sizeof *absent;
    return write(p->output, absent, size) == (ssize_t)size ? NULL : "write"; /* O_APPEND: whole */
}

static const char *commit_output(program *p) {
    const off_t size = lseek(p->output, 0, SEEK_END);
    if (tamis_dedup_commit(p->s.session, &size, sizeof size, NULL) != TAMIS_OK)
        return "commit";
    return write(p->reported, "c", 1) == 1 ? NULL : "tell";
}

static void *run_program(void *context) {
    program *p = context;
    shared *s = &p->s;
    const uint32_t mine = atomic_fetch_add(&s->started, 1);
    uint64_t numbers[BATCH];
    tamis_answer answers[BATCH];
    const char *wrong = NULL;
    for (uint64_t start = 0, batch = 0; start < KEYS && !wrong; start += BATCH, batch++) {
        pthread_rwlock_rdlock(&p->lock);
        if (query_numbers(s->session, start + mine * KEYS / THREADS, BATCH, KEYS, numbers, answers, NULL) !=
            TAMIS_OK)
            wrong = "ask";
        else
            wrong = write_absent(p, numbers, answers);
        pthread_rwlock_unlock(&p->lock);
        if (!wrong && batch % 8 == 2 * mine) {
            pthread_rwlock_wrlock(&p->lock);
            wrong = commit_output(p);
            pthread_rwlock_unlock(&p->lock);
        }
    }
    return (void *)(uintptr_t)wrong;
}

static void begin_program(program *p, int reported) {
    const void *checkpoint;
    size_t size;
    off_t length = 0;
    *p = (program){.reported = reported};
    assert_int_equal(pthread_rwlock_init(&p->lock, NULL), 0);
    open_session(&p->s, &states_makes[STATES_GROWING], TAMIS_ON_FULL_FAIL);
    p->output = open(scratch("output"), O_RDWR | O_CREAT | O_APPEND, 0600);
    assert_true(p->output >= 0);
    tamis_state_committed(p->s.state, &checkpoint, &size);
    if (size == sizeof length)
        memcpy(&length, checkpoint, size);
    assert_int_equal(ftruncate(p->output, length), 0);
}

static void end_program(program *p) {
    assert_null(commit_output(p));
    close(p->output);
    close_session(&p->s);
    pthread_rwlock_destroy(&p->lock);
}

/* Runs the program in a child process, and kills it after so many commits, unless it ends before. */
static void run_and_kill(int commits) {
    int ends[2], status;
    char byte;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        program p;
        begin_program(&p, ends[1]);
        run_together(&p.s, run_program);
        _exit(0);
    }
    close(ends[1]);
    while (commits-- > 0 && read(ends[0], &byte, 1) == 1)
        ;
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    close(ends[0]);
}

/* The program is killed again and again. Its output has each key once. */
static void reg_22_killed_with_many_threads(void **unused) {
    (void)unused;
    static uint8_t times[KEYS];
    uint64_t number;
    program p;
    memset(times, 0, sizeof times);
    for (int commits = 1; commits <= (model_full() ? 12 : 4); commits++)
        run_and_kill(commits);
    const int reported = open("/dev/null", O_WRONLY);
    begin_program(&p, reported);
    run_together(&p.s, run_program);
    end_program(&p);
    close(reported);
    const int output = open(scratch("output"), O_RDONLY);
    while (read(output, &number, sizeof number) == sizeof number) {
        assert_true(number < KEYS);
        times[number]++;
    }
    close(output);
    for (int i = 0; i < KEYS; i++)
        if (times[i] != 1)
            fail_msg("key %d is %u times in the output", i, times[i]);
    assert_int_equal(unlink(scratch("output")), 0);
}

static int tear_down(void **state) {
    remove_state();
    return states_tear_down(state);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, states_set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(reg_22_many_threads_over_a_state),     CASE(keys_beside_the_session_are_logged),
        CASE(reg_22_a_session_outgrows_its_number), CASE(a_full_filter_passes_keys_on),
        CASE(nothing_is_answered_after_a_failure),  CASE(reg_22_killed_with_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

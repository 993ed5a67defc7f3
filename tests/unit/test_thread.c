/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads of the library block all signals except those that they raise themselves. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system.h"
#include "base/thread.h"

enum { FIRST = 1, LAST = 31 };

static const int own[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};

static bool is_own(int number) {
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i] == number)
            return true;
    return false;
}

static sigset_t mask_now(void) {
    sigset_t now;
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &now), 0);
    return now;
}

/* Notes the signal mask with which a thread starts. */
static void *note_mask(void *context) {
    pthread_sigmask(SIG_SETMASK, NULL, context);
    return NULL;
}

static void check_mask(const sigset_t *of_thread) {
    for (int number = FIRST; number <= LAST; number++)
        if (number != SIGKILL && number != SIGSTOP)
            assert_int_equal(sigismember(of_thread, number), !is_own(number));
}

static void check_unchanged(const sigset_t *before) {
    const sigset_t now = mask_now();
    for (int number = FIRST; number <= LAST; number++)
        assert_int_equal(sigismember(&now, number), sigismember(before, number));
}

static void a_thread_takes_no_signal_of_others(void **state) {
    (void)state;
    const sigset_t before = mask_now();
    sigset_t of_thread;
    pthread_t thread;
    assert_int_equal(tamis__thread_create(&thread, note_mask, &of_thread), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    check_mask(&of_thread);
    check_unchanged(&before);
}

/* State of a detached thread, which reports its end here. */
typedef struct noted {
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool is_done;
    sigset_t mask;
} noted;

static void *note_and_signal(void *context) {
    noted *n = context;
    pthread_mutex_lock(&n->lock);
    note_mask(&n->mask);
    n->is_done = true;
    pthread_cond_signal(&n->done);
    pthread_mutex_unlock(&n->lock);
    return NULL;
}

static void a_thread_that_nobody_joins_receives_no_signal(void **state) {
    (void)state;
    static noted n = {.lock = PTHREAD_MUTEX_INITIALIZER}; /* static: the thread may outlive this function */
    const sigset_t before = mask_now();
    tamis__cond_init(&n.done);
    assert_int_equal(tamis__thread_start(note_and_signal, &n), 0);
    const uint64_t deadline = tamis__now_ns() + UINT64_C(20000000000);
    pthread_mutex_lock(&n.lock);
    while (!n.is_done && tamis__cond_wait(&n.done, &n.lock, deadline))
        ;
    pthread_mutex_unlock(&n.lock);
    assert_true(n.is_done);
    check_mask(&n.mask);
    check_unchanged(&before);
}

static int refuse(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *context) {
    (void)thread;
    (void)how;
    (void)run;
    (void)context;
    return EAGAIN;
}

static void a_refused_one_changes_nothing(void **state) {
    (void)state;
    const struct tamis__system real = tamis__sys;
    const sigset_t before = mask_now();
    pthread_t thread;
    tamis__sys.thread = refuse;
    assert_int_equal(tamis__thread_create(&thread, note_mask, NULL), EAGAIN);
    assert_int_equal(tamis__thread_start(note_mask, NULL), EAGAIN);
    tamis__sys = real;
    check_unchanged(&before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_takes_no_signal_of_others),
        cmocka_unit_test(a_thread_that_nobody_joins_receives_no_signal),
        cmocka_unit_test(a_refused_one_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

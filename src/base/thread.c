/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/thread.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "base/system.h"

#ifdef __GLIBC__
/* Blocks all signals except those that a thread raises itself, for instance SIGBUS for a read past the end
 * of a mapped file. If a thread raises such a signal while it is blocked, the system kills the process. */
static void fill_async_signals(sigset_t *signals) {
    static const int own[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigfillset(signals);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(signals, own[i]);
}
#endif

static int create_thread(pthread_t *thread, bool detached, void *(*run)(void *), void *context) {
    pthread_attr_t how;
    int failed = pthread_attr_init(&how);
    if (failed)
        return failed;
    if (detached)
        pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
#ifdef __GLIBC__
    sigset_t held;
    fill_async_signals(&held);
    pthread_attr_setsigmask_np(&how, &held);
#endif
    failed = tamis__sys.thread(thread, &how, run, context);
    pthread_attr_destroy(&how);
    return failed;
}

int tamis__thread_start(void *(*run)(void *), void *context) {
    pthread_t thread;
    return create_thread(&thread, true, run, context);
}

int tamis__thread_create(pthread_t *thread, void *(*run)(void *), void *context) {
    return create_thread(thread, false, run, context);
}

uint32_t tamis__thread_processors(void) {
    long online;
#ifdef __linux__
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        return (uint32_t)CPU_COUNT(&allowed);
#endif
    online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 && online <= INT32_MAX ? (uint32_t)online : 1;
}

int tamis__rwlock_init(pthread_rwlock_t *lock) {
    pthread_rwlockattr_t kind;
    int failed = pthread_rwlockattr_init(&kind);
    if (failed)
        return failed;
#ifdef __GLIBC__
    pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
#endif
    failed = pthread_rwlock_init(lock, &kind);
    pthread_rwlockattr_destroy(&kind);
    return failed;
}

void tamis__cond_init(pthread_cond_t *cond) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

bool tamis__cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t deadline) {
    const struct timespec until = {(time_t)(deadline / 1000000000u), (long)(deadline % 1000000000u)};
    return pthread_cond_timedwait(cond, mutex, &until) != ETIMEDOUT;
}

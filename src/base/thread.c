/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/thread.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

int tamis__thread_start(void *(*run)(void *), void *context) {
    pthread_attr_t detached;
    pthread_t thread;
    int failed = pthread_attr_init(&detached);
    if (failed)
        return failed;
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
#ifdef __GLIBC__
    sigset_t all;
    sigfillset(&all);
    pthread_attr_setsigmask_np(&detached, &all);
#endif
    failed = pthread_create(&thread, &detached, run, context);
    pthread_attr_destroy(&detached);
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

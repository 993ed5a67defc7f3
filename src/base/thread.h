/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_BASE_THREAD_H
#define TAMIS_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"

/* ---- threads: with glibc they block all signals sent from outside, which are for the program itself ---- */

/*
 * Starts a detached thread, for work that cannot be cancelled. The thread that waits for it may give up at a
 * deadline and leave it running. Returns 0 or an errno.
 *
 * Ownership: both threads share memory from malloc(), because the detached thread may outlive any allocator
 * of the caller. The last of the two to finish frees it.
 */
TAMIS_PRIVATE_API int tamis__thread_start(void *(*run)(void *), void *context);

/* Starts a thread that the caller ends with pthread_join. Returns 0 or an errno. */
TAMIS_PRIVATE_API int tamis__thread_create(pthread_t *thread, void *(*run)(void *), void *context);

/* Returns the number of processors that the calling thread may use, at least 1. */
TAMIS_PRIVATE_API uint32_t tamis__thread_processors(void);

/* ---- locks ---- */

/* Initialises a read-write lock that prefers writers: a waiting writer enters before readers that come
 * later. With the default order of the C library the writer might wait for ever. A thread must not hold
 * the read lock twice. Returns 0 or an errno. */
TAMIS_PRIVATE_API int tamis__rwlock_init(pthread_rwlock_t *lock);

/* ---- conditions ---- */

/* Initialises a condition for tamis__cond_wait. */
TAMIS_PRIVATE_API void tamis__cond_init(pthread_cond_t *cond);
/* Waits on `cond` until `deadline`, a time as in tamis__now_ns. Returns false if the deadline has passed. */
TAMIS_PRIVATE_API bool tamis__cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t deadline);

#endif

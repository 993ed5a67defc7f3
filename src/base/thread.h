/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_BASE_THREAD_H
#define TAMIS_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"

/* ---- threads of the library, which with glibc take no signal of others: those are for the program's own ---- */

/*
 * For what cannot be stopped: detached, so that whoever waits for it may leave it at his deadline. What both use is from
 * malloc, since it may live longer than any allocator of a caller; whoever of the two comes last gives it back. 0, or an
 * errno.
 */
TAMIS_PRIVATE_API int tamis__thread_start(void *(*run)(void *), void *context);

/* For what is waited for: it ends by pthread_join. 0, or an errno. */
TAMIS_PRIVATE_API int tamis__thread_make(pthread_t *thread, void *(*run)(void *), void *context);

/* The processors that whoever calls may use, at least 1. */
TAMIS_PRIVATE_API uint32_t tamis__thread_processors(void);

/* ---- locks ---- */

/* One in which who waits to have it alone comes before those who come later to share it; with the C library's own order he
 * might wait for ever. Not to be shared twice by one thread. 0, or an errno. */
TAMIS_PRIVATE_API int tamis__rwlock_init(pthread_rwlock_t *lock);

/* ---- conditions ---- */

/* A condition for tamis__cond_wait. */
TAMIS_PRIVATE_API void tamis__cond_init(pthread_cond_t *cond);
/* False: it is later than that (tamis__now_ns). */
TAMIS_PRIVATE_API bool tamis__cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t deadline);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_GUARD_GUARD_NEWS_H
#define TAMIS_SERVICE_GUARD_GUARD_NEWS_H

#include <stdbool.h>
#include <stdint.h>

#include <tamis/experimental/guard.h>

#include "service/guard/guard_cache.h"

/*
 * The news: keys that writers of any guard with the same prefix are about to write. docs/GUARD-PROTOCOL.md has
 * the steps N1 to N5 and the proof. Any number of threads use an object at once.
 */
typedef struct guard_news guard_news;

enum {
    GUARD_LATELY_MS = 200, /* what was heard longer ago is not lately: the guard is silent */
    GUARD_WAIT_MS = 220    /* of a writer: longer by a tenth, since clocks differ in speed (K6) */
};

/* The guard's Redis is open. The caller owns *news until tamis__guard_news_free. */
tamis_status tamis__guard_news_create(guard_news **news, tamis_guard *guard, tamis_error *err);
/* Starts and ends the thread that listens. It uses the guard's lookups and filter. */
tamis_status tamis__guard_news_start(guard_news *news, tamis_error *err);
void tamis__guard_news_stop(guard_news *news);
void tamis__guard_news_free(guard_news *news);

/* N1: appends a key to the news. The writer waits until *ready_at (tamis__now_ns). Errors of calls with a
 * server. */
tamis_status tamis__guard_news_publish(guard_news *news, tamis_key key, uint64_t *ready_at, tamis_error *err);

/*
 * N3, N5: returns the number of gaps so far, or 0 if the guard is silent at `now` (tamis__now_ns). A filter may
 * answer if this is the number that it had before its scan began. Cost: two loads.
 */
uint64_t tamis__guard_news_heard(const guard_news *news, uint64_t now);
/* Returns the number of gaps so far, 0 if nothing was ever heard. The first news count as a gap. */
uint64_t tamis__guard_news_gaps(const guard_news *news);

/* N4: calls `visit` for the key of each news that were heard during the last life of a mark. News that come
 * meanwhile are visited, or are added to the filters after this call. */
void tamis__guard_news_each_recent(guard_news *news, void (*visit)(void *context, guard_hash hash),
                                   void *context);

#endif

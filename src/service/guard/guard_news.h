/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_GUARD_GUARD_NEWS_H
#define TAMIS_SERVICE_GUARD_GUARD_NEWS_H

#include <stdbool.h>
#include <stdint.h>

#include <tamis/experimental/guard.h>

#include "service/guard/guard_cache.h"

/*
 * The news: keys that writers of any guard with the same prefix are about to write. docs/GUARD-PROTOCOL.md
 * has the steps N1 to N5 and the proof. Any number of threads may use it at once.
 *
 * A guard is silent if Redis has not answered it for GUARD_SILENT_AFTER_MS. After a gap, a guard may lack
 * news: it was silent for the life of a mark, or Redis has lost news. The first reply of Redis begins epoch 1,
 * and the first one after a gap begins the next epoch. A filter has the news of its own epoch alone.
 */
typedef struct guard_news guard_news;

enum {
    GUARD_SILENT_AFTER_MS = 200, /* after the last answered request, a guard is silent */
    GUARD_PUT_WAIT_MS = 220      /* wait of a writer: a tenth longer, since clocks differ in speed (K6) */
};

/* The guard's Redis is open. The caller owns *news until tamis__guard_news_free. */
tamis_status tamis__guard_news_create(guard_news **news, tamis_guard *guard, tamis_error *err);
/* Start and end the listener, the thread that reads news. It uses the guard's lookups and filter. The first
 * request is sent before the return, unless *why has the reason why Redis cannot be reached. */
tamis_status tamis__guard_news_start(guard_news *news, const tamis_error *why, tamis_error *err);
void tamis__guard_news_stop(guard_news *news);
void tamis__guard_news_free(guard_news *news);

/* N1: appends a key to the news. The writer waits for GUARD_PUT_WAIT_MS from the return on. Errors of calls
 * with a server. */
tamis_status tamis__guard_news_publish(guard_news *news, tamis_key key, tamis_error *err);

/*
 * N3, N5: returns the epoch, or 0 if the guard is silent at `now` (tamis__guard_now). A filter may answer if
 * this is the epoch in which its scan began. Cost: two loads.
 */
uint64_t tamis__guard_news_live_epoch(const guard_news *news, uint64_t now);
/* Returns the nanoseconds since Redis was last heard. 0: never, or not since a gap. */
uint64_t tamis__guard_news_silence(const guard_news *news, uint64_t now);
/* Returns TAMIS_OK, or why the guard is silent at `now`. */
tamis_status tamis__guard_news_check(guard_news *news, uint64_t now, tamis_error *err);
/* Returns the epoch, whether the guard is silent or not. 0: Redis has never answered. */
uint64_t tamis__guard_news_epoch(const guard_news *news);

/* N4: calls `visit` for each key that was heard during the last life of a mark. A key that comes meanwhile is
 * visited, or is added to the filters after this call. */
void tamis__guard_news_each_recent(guard_news *news, void (*visit)(void *context, guard_hash hash),
                                   void *context);

#endif

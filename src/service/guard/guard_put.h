/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_GUARD_GUARD_PUT_H
#define TAMIS_SERVICE_GUARD_GUARD_PUT_H

#include <stdint.h>

#include <tamis/experimental/guard.h>

#include "base/failure.h"

/*
 * tamis_guard_put_begin in two parts, for libtamis-server, where many writers wait in one thread:
 *
 *     tamis__guard_put_begin --> wait until put.ready_at --> tamis__guard_put_confirm --> tell the writer
 */

typedef struct guard_put {
    uint8_t token[TAMIS_GUARD_TOKEN];
    uint64_t ready_at;   /* from then on the row may be written (tamis__now_ns); 0: now */
    uint64_t confirm_by; /* later, its mark may expire before the row is written (tamis__guard_now) */
} guard_put;

TAMIS_PRIVATE_API tamis_status tamis__guard_put_begin(tamis_guard *guard, tamis_key key, guard_put *put,
                                                      tamis_error *err);
/* Begins the time in which the row may be written. Does not wait. TAMIS_E_TIMEOUT: too late, as after a pause of
 * this process. The put has ended, and the row must not be written. */
TAMIS_PRIVATE_API tamis_status tamis__guard_put_confirm(tamis_guard *guard, tamis_key key,
                                                        const guard_put *put, tamis_error *err);

/*
 * A guard that replaces another one. A key that a writer has told the old guard is in the filter of the new one:
 *
 *     tamis__guard_open_held --> tamis__guard_put_adopt, for each of tamis__guard_each_put
 *                            --> requests go to the new guard --> tamis__guard_begin_scans
 *
 * A put that has ended before that has its row, and the scan finds it. A file may lack it, so its key is visited
 * too, without a token. A put that has not ended has a mark.
 */

/* Like tamis_guard_open, but no scan begins before tamis__guard_begin_scans. */
TAMIS_PRIVATE_API tamis_status tamis__guard_open_held(tamis_guard **guard, const tamis_guard_options *options,
                                                      tamis_error *err);
/* Does nothing for a guard that scans already. */
TAMIS_PRIVATE_API void tamis__guard_begin_scans(tamis_guard *guard);

/* Calls `visit` for each put whose writer may have been told. Without a token: a key that a file may lack. The
 * guard waits meanwhile: `visit` must not use it. */
TAMIS_PRIVATE_API void tamis__guard_each_put(tamis_guard *guard,
                                             void (*visit)(void *context, tamis_key key,
                                                           const uint8_t token[TAMIS_GUARD_TOKEN]),
                                             void *context);
/* Begins a put in this guard that another guard has begun: P1 and a local mark, for mark_ms from now on. Does
 * nothing if it has this put. token NULL: P1 alone, and only in the guard's own filter: one in Redis has the
 * key already. TAMIS_E_NOMEM, TAMIS_E_FULL. For a filter in Redis it waits for Redis, and has its errors; the
 * first add also opens the filter, and counts its bits. */
TAMIS_PRIVATE_API tamis_status tamis__guard_put_adopt(tamis_guard *guard, tamis_key key,
                                                      const uint8_t token[TAMIS_GUARD_TOKEN],
                                                      tamis_error *err);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_GUARD_GUARD_LISTENER_H
#define TAMIS_SERVICE_GUARD_GUARD_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

#include <tamis/experimental/guard.h>

/* Keys that the database reports (tamis_guard_source.listen), on their way into the filter. */
typedef struct guard_listener guard_listener;

/* Starts a thread with a session of its own. The guard has its lookups and its filter already. */
tamis_status tamis__guard_listener_create(guard_listener **listener, tamis_guard *guard, tamis_error *err);
/* Ends the thread. Allows NULL, as the next one. */
void tamis__guard_listener_stop(guard_listener *listener);
void tamis__guard_listener_free(guard_listener *listener);
/* Fills the fields of *stats about reports. */
void tamis__guard_listener_stats(const guard_listener *listener, tamis_guard_stats *stats);

#endif

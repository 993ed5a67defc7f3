/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_GUARD_GUARD_SCAN_TIME_H
#define TAMIS_SERVICE_GUARD_GUARD_SCAN_TIME_H

#include <stdint.h>

#include "base/failure.h"

/* Times of day, at which full scans begin. Local time, as TZ says. */

/* Returns the minute of the day of a text such as "03:30", or -1. */
TAMIS_PRIVATE_API int tamis__guard_scan_minute(const char *text);
/* Returns the next time after `now` with this minute of the day, both in milliseconds since 1970 UTC. If the
 * clock skips that minute on a day, the result is up to an hour off. */
int64_t tamis__guard_next_scan(int minute, int64_t now);

#endif

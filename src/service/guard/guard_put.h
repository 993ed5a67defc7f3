/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_GUARD_GUARD_PUT_H
#define TAMIS_SERVICE_GUARD_GUARD_PUT_H

#include <stdint.h>

#include <tamis/experimental/guard.h>

#include "base/failure.h"

/* A put that has begun: its token, and the time (tamis__now_ns) from which the row may be written. 0: now. */
typedef struct guard_put {
    uint8_t token[TAMIS_GUARD_TOKEN];
    uint64_t ready_at;
} guard_put;

/* Like tamis_guard_put_begin, but the caller waits until put->ready_at. For libtamis-server, where many
 * writers wait in one thread. */
TAMIS_PRIVATE_API tamis_status tamis__guard_put_begin(tamis_guard *guard, tamis_key key, guard_put *put,
                                                      tamis_error *err);

#endif

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

#endif

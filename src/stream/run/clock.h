/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_RUN_CLOCK_H
#define TAMIS_STREAM_RUN_CLOCK_H

#include <stdint.h>

#include "base/system.h"

/* Timers for the stages of a run. The time is added to *into. With NULL the clock is not read. */

static inline uint64_t tamis__clock_begin(const uint64_t *into) {
    return into ? tamis__now_ns() : 0;
}

static inline void tamis__clock_end(uint64_t *into, uint64_t begun) {
    if (into)
        *into += tamis__now_ns() - begun;
}

#endif

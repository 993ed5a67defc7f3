/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_STATE_STATE_STATS_H
#define TAMIS_STORE_STATE_STATE_STATS_H

/*
 * Statistics of a state's filter, for a caller that logs keys while other threads add more to the filter. The
 * caller passes the statistics that belong to the logged keys, because the filter is already ahead of them.
 */
#include <stdbool.h>
#include <stdint.h>

#include <tamis/experimental/state.h>

#include "base/failure.h"

typedef struct tamis__filter_stats {
    uint64_t added, memory; /* keys in the filter; its size in bytes */
    int64_t newest;         /* newest time of a window; -1: no key, or no window */
    bool saturated;
    tamis_full full;
} tamis__filter_stats;

/* Reads the statistics of a filter that no other thread changes meanwhile. */
TAMIS_PRIVATE_API tamis__filter_stats tamis__filter_stats_get(const tamis_filter *filter);

/* Uses these statistics instead of the filter's own, until tamis_state_abort. NULL: the filter's own
 * again. */
TAMIS_PRIVATE_API void tamis__state_stats_set(tamis_state *state, const tamis__filter_stats *stats);

/* As tamis_state_commit, but the statistics, not the filter, must agree with the logged keys. */
TAMIS_PRIVATE_API tamis_status tamis__state_commit(tamis_state *state, const void *checkpoint, size_t size,
                                                   tamis_error *err);

/* Keys that a window has counted, in that order. */
typedef struct tamis__counted_keys {
    const tamis_hash *hashes;
    const int64_t *newest;  /* for each key, the newest time of the window when it was counted */
    const uint8_t *changes; /* filter/window/window.h */
    size_t count;
} tamis__counted_keys;

/* Logs keys that a window has counted. The newest time of a commit is that of the statistics. */
TAMIS_PRIVATE_API tamis_status tamis__state_log_window(tamis_state *state, const tamis__counted_keys *keys,
                                                       tamis_error *err);

/* TAMIS_E_INVALID if the filter has keys that are not logged. TAMIS_E_UNSUPPORTED: opened with read_only.
 * If the state has failed, its error. */
TAMIS_PRIVATE_API tamis_status tamis__state_check_logged(const tamis_state *state, tamis_error *err);

/* Logged keys, including uncommitted ones. */
TAMIS_PRIVATE_API uint64_t tamis__state_keys(const tamis_state *state);

/* The error of a failed state, else TAMIS_OK. Any thread may call it. */
TAMIS_PRIVATE_API tamis_status tamis__state_check_alive(const tamis_state *state, tamis_error *err);

/* True if all keys of the filter are logged and committed. */
TAMIS_PRIVATE_API bool tamis__state_is_committed(const tamis_state *state);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_STATE_FIGURES_H
#define TAMIS_STORE_STATE_FIGURES_H

/* For who logs keys while another thread puts more into the filter: what the state needs to know of it comes with them. */
#include <stdbool.h>
#include <stdint.h>

#include <tamis/state.h>

#include "base/failure.h"

typedef struct tamis__state_figures {
    uint64_t added, memory; /* keys and bytes of the filter */
    bool saturated;
    tamis_full full;
} tamis__state_figures;

/* Of a filter that nobody adds to meanwhile. */
TAMIS_PRIVATE_API tamis__state_figures tamis__state_figures_of(const tamis_filter *filter);

/* From now on, until abort, the filter is taken to be as the figures set last say; NULL: as it is. */
TAMIS_PRIVATE_API void tamis__state_figures_set(tamis_state *state, const tamis__state_figures *figures);

/* TAMIS_E_INVALID: the filter has keys that are not logged. The failure of a state that has failed. */
TAMIS_PRIVATE_API tamis_status tamis__state_check_logged(const tamis_state *state, tamis_error *err);

/* Keys that are logged, those not committed too. */
TAMIS_PRIVATE_API uint64_t tamis__state_keys(const tamis_state *state);

/* The failure of a state that has failed, from any thread. */
TAMIS_PRIVATE_API tamis_status tamis__state_check_alive(const tamis_state *state, tamis_error *err);

/* Whether all keys of its filter are logged and committed. */
TAMIS_PRIVATE_API bool tamis__state_is_settled(const tamis_state *state);

#endif

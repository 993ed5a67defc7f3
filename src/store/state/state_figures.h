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

/* From now on, until abort, the filter is as it is told here, last. */
TAMIS_PRIVATE_API void tamis__state_told(tamis_state *state, const tamis__state_figures *figures);

/* Whether all keys of its filter are logged and committed. */
TAMIS_PRIVATE_API bool tamis__state_is_settled(const tamis_state *state);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_DEDUP_DEDUP_COMMITS_H
#define TAMIS_SERVICE_DEDUP_DEDUP_COMMITS_H

/* A session over a state, for a run that asks batches ahead of those that it writes. */
#include <tamis/dedup.h>
#include <tamis/state.h>

#include "base/failure.h"

/* NULL where it has none. */
TAMIS_PRIVATE_API tamis_state *tamis__dedup_state(const tamis_dedup *session);

/* Whether many threads may ask it: then it has no batches. */
TAMIS_PRIVATE_API bool tamis__dedup_is_concurrent(const tamis_dedup *session);

/* Whether nothing was asked since the last commit, or the abort that came behind it. */
TAMIS_PRIVATE_API bool tamis__dedup_is_settled(const tamis_dedup *session);

/* What the oldest batch that was asked has of fresh keys is logged: its records are written, and the next commit tells of
 * them. While another thread may ask the next one. Errors of tamis_state_log, and TAMIS_E_NOMEM. */
TAMIS_PRIVATE_API tamis_status tamis__dedup_written(tamis_dedup *session, tamis_error *err);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_DEDUP_DEDUP_COMMITS_H
#define TAMIS_SERVICE_DEDUP_DEDUP_COMMITS_H

/* Commits of a session over a state, for a run that queries batches before it writes the earlier ones. */
#include <tamis/dedup.h>
#include <tamis/experimental/state.h>

#include "base/failure.h"

/* Returns the session's state, or NULL. */
TAMIS_PRIVATE_API tamis_state *tamis__dedup_state(const tamis_dedup *session);

/* True if many threads may use the session. It then logs keys one by one, not by batches. */
TAMIS_PRIVATE_API bool tamis__dedup_is_concurrent(const tamis_dedup *session);

/* True if all keys are committed: nothing was queried since the last commit or abort. */
TAMIS_PRIVATE_API bool tamis__dedup_is_committed(const tamis_dedup *session);

/* Logs the new keys of the oldest batches that are not logged: those of `calls` calls that added keys. The
 * caller has written their records, so that the next commit may cover them. Another thread may query the next
 * batch meanwhile. Errors of tamis_state_log; TAMIS_E_NOMEM. */
TAMIS_PRIVATE_API tamis_status tamis__dedup_written(tamis_dedup *session, size_t calls, tamis_error *err);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_DURABLE_DURABLE_INT_H
#define TAMIS_STREAM_DURABLE_DURABLE_INT_H

#include "stream/durable/durable.h"
#include "stream/durable/history.h"

/* Functions that durable.c, durable_begin.c and durable_start.c share. */

enum { TAMIS__DURABLE_OUTPUTS = 2 };

/* Opens an input as durable->input, to fingerprint it. */
tamis_status tamis__durable_open_input(tamis__durable *durable, size_t i, tamis_error *err);

/* Fingerprints an input of a new run. */
tamis_status tamis__durable_examine_input(tamis__durable *durable, size_t i, tamis_error *err);

/* B2: sets the positions from which the run reads, and the history that it found. The caller
 * releases the history, also after a failure. */
tamis_status tamis__durable_find_start(tamis__durable *durable, tamis__history *history,
                                       const tamis_stream_options *options, tamis_error *err);

/* Passes a message to the caller's callback. `loss`: bytes may be lost. */
void tamis__durable_remark(const tamis__durable *durable, const char *message, bool loss);

/* Inputs are opened several times by their names. If a followed file still has its name after that, it was
 * the same file each time, since log rotation gives no name back. TAMIS_E_CHANGED: it has not. */
tamis_status tamis__durable_check_named(const tamis__durable *durable, tamis_error *err);

/* K3: fingerprints the inputs from the last one fingerprinted to the one that is read now. */
tamis_status tamis__durable_fingerprint(tamis__durable *durable, tamis_error *err);
/* K4: commits `live` with the fingerprints of the inputs. */
tamis_status tamis__durable_commit_live(tamis__durable *durable, tamis_error *err);

#endif

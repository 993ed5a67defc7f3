/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_DURABLE_APPENDED_OUTPUT_H
#define TAMIS_STREAM_DURABLE_APPENDED_OUTPUT_H

#include <stdbool.h>

#include <tamis/file.h>

#include "store/file/target.h"
#include "stream/durable/checkpoint.h"
#include "stream/durable/history.h"
#include "stream/durable/tail.h"

/* An output of a run that lasts. A regular file is written in place: what of it is committed stays where it is. */
typedef struct tamis__appended_output {
    tamis__target *target; /* the runner's */
    tamis_lock *lock;
    int fd;                           /* of a regular file; -1: none */
    tamis__file_fingerprint observed; /* what of it is known to be written, */
    tamis__tail tail;                 /* bytes behind its last commit, which the writer compares */
    char remark_text[700];            /* remark: bytes kept or cut off; "": none */
    tamis__file_prefix prefix;        /* and, of one that was empty, what is not summed yet: the writer's */
} tamis__appended_output;

/* Of an output that nothing is known of yet. */
void tamis__appended_output_init(tamis__appended_output *output, tamis__target *target);

/* What it is: form, name and hints of outputs[i] of the account. *inexact, unless that is set, becomes the name of what cannot
 * be cut back. TAMIS_E_UNSUPPORTED of a regular file that is open already. */
tamis_status tamis__appended_output_find(const tamis__appended_output *output, tamis__checkpoint *checkpoint,
                                         int i, const char **inexact, tamis_error *err);

/*
 * Locks, opens and compares a regular file, and cuts it back to where it was left, unless the run is `finished` (B3 to B5 of
 * docs/DURABILITY.md); outputs[i] of the account and the place, which is a descriptor then, tell of it. *unlocked, unless that
 * is set, becomes its name where its file system has no locks. TAMIS_E_BUSY; TAMIS_E_CHANGED; TAMIS_E_MISMATCH.
 */
tamis_status tamis__appended_output_open(tamis__appended_output *output, tamis__checkpoint *checkpoint, int i,
                                         bool finished, const tamis__known_output *known,
                                         const char **unlocked, tamis_error *err);

/* Sums a regular file of as.at bytes (K3), and decides about its tail. `ended`: no more is written. TAMIS_E_CHANGED: the file is
 * not what was written. */
tamis_status tamis__appended_output_checksum(tamis__appended_output *output, tamis__checkpoint_output *out,
                                             bool ended, tamis_error *err);

/* Cuts a regular file of `written` bytes back to as.at, its last commit. If that fails, or the file has another length by now,
 * the file stays as it is: the next run cuts it back, or refuses it with a reason. */
void tamis__appended_output_cut_back(const tamis__appended_output *output,
                                     const tamis__checkpoint_output *out, uint64_t written);

/* Closes and unlocks; also where nothing is open. */
void tamis__appended_output_close(tamis__appended_output *output);

#endif

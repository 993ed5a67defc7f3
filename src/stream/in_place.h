/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_IN_PLACE_H
#define TAMIS_STREAM_IN_PLACE_H

#include <stdbool.h>

#include <tamis/file.h>

#include "store/place.h"
#include "stream/account.h"
#include "stream/history.h"
#include "stream/tail.h"

/* An output of a run that lasts. A regular file is written in place: what of it is committed stays where it is. */
typedef struct tamis__in_place {
    tamis__place *place; /* the runner's */
    tamis_lock *lock;
    int fd;                      /* of a regular file; -1: none */
    tamis__identity seen;        /* what of it is known to be written, */
    tamis__tail tail;            /* bytes behind its last commit, which the writer compares */
    char said[700];              /* remark: bytes kept or cut off; "": none */
    tamis__identity_front front; /* and, of one that was empty, what is not summed yet: the writer's */
} tamis__in_place;

/* Of an output that nothing is known of yet. */
void tamis__in_place_init(tamis__in_place *output, tamis__place *place);

/* What it is: form, name and hints of outputs[i] of the account. *inexact, unless that is set, becomes the name of what cannot
 * be cut back. TAMIS_E_UNSUPPORTED of a regular file that is open already. */
tamis_status tamis__in_place_find(const tamis__in_place *output, tamis__account *account, int i,
                                  const char **inexact, tamis_error *err);

/*
 * Locks, opens and compares a regular file, and cuts it back to where it was left, unless the run is `finished` (B3 to B5 of
 * docs/DURABILITY.md); outputs[i] of the account and the place, which is a descriptor then, tell of it. *unlocked, unless that
 * is set, becomes its name where its file system has no locks. TAMIS_E_BUSY; TAMIS_E_STALE; TAMIS_E_MISMATCH.
 */
tamis_status tamis__in_place_open(tamis__in_place *output, tamis__account *account, int i, bool finished,
                                  const tamis__known_output *known, const char **unlocked, tamis_error *err);

/* Sums a regular file of as.at bytes (K3), and decides about its tail. `ended`: no more is written. TAMIS_E_STALE: the file is
 * not what was written. */
tamis_status tamis__in_place_sum(tamis__in_place *output, tamis__account_output *as, bool ended,
                                 tamis_error *err);

/* Cuts a regular file of `written` bytes back to as.at, its last commit. If that fails, or the file has another length by now,
 * the file stays as it is: the next run cuts it back, or refuses it with a reason. */
void tamis__in_place_cut_back(const tamis__in_place *output, const tamis__account_output *as,
                              uint64_t written);

/* Closes and unlocks; also where nothing is open. */
void tamis__in_place_end(tamis__in_place *output);

#endif

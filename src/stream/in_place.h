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
    tamis__tail tail;            /* what stood behind its last commit, to be compared by the writer */
    char said[700];              /* for a person, once: bytes that were kept, or cut off; "": nothing */
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

/* Sums a regular file, as.at bytes long (K3), and decides about its tail; `ended`: no more is written. TAMIS_E_STALE where it is
 * not what was written. */
tamis_status tamis__in_place_sum(tamis__in_place *output, tamis__account_output *as, bool ended,
                                 tamis_error *err);

/* Cuts a regular file that is `written` bytes long back to as.at, its last commit. If that fails, or the file has another
 * length by now, it stays: the next run cuts it back, or says why not. */
void tamis__in_place_cut_back(const tamis__in_place *output, const tamis__account_output *as,
                              uint64_t written);

/* Closes and unlocks; also where nothing is open. */
void tamis__in_place_end(tamis__in_place *output);

#endif

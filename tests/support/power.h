/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_POWER_H
#define TAMIS_TEST_POWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Power loss in one folder. What is asked of the system for files in it is recorded, in order; then, for the moment after
 * each call, the states of the disk are made that a loss of power may leave there. Of what no sync has made sure of, each
 * item may be missing for itself: a name that was made, changed or removed; the bytes of a write. Where the bytes of a write
 * are missing there is the end of the file, zeros, half of them, or what an older file had in that place.
 *
 * A sync that is made to fail makes sure of nothing, and no later sync of that file does of what it was to: the
 * system has dropped it.
 *
 * Files are written front to back, from new. One thread at a time.
 */

/* What a mutant leaves out: syncs that were asked for are taken not to have happened. */
typedef enum power_left_out {
    POWER_NOTHING,
    POWER_FILE_SYNCS,
    POWER_BODY_SYNCS, /* of a log, where the last frame written is no commit */
    POWER_FOLDER_SYNCS
} power_left_out;

/* What is in the folder has been there for long: no loss takes it. */
void power_begin(const char *folder, power_left_out left_out);
/* Takes the recording off again; what was recorded stays. */
void power_pause(void);
void power_go_on(void);
/* Forgets it. */
void power_end(void);

/* The nth sync (from 1) fails; with `onwards` every call after it that changes something too, as if the process had been
 * stopped there, until power_heal. 0: none. power_failed says whether it came to that. */
void power_fail_at_sync(uint64_t n, bool onwards);
bool power_failed(void);
void power_heal(void);

/* What the run has come to: told to the check. */
void power_mark(int mark);

/* Makes each state of the disk, in the folder, in which up to `most` items are missing, or all, and calls `check` with the last
 * mark before the loss; false ends it. Returns how many there were; *moments is how many calls. */
uint64_t power_each(unsigned most, bool (*check)(void *context, int mark), void *context, size_t *moments);

/* What was missing in the state that is made now. */
const char *power_describe(void);

#endif

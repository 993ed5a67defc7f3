/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_POWER_H
#define TAMIS_TEST_POWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A model of power loss in one directory.
 *
 * The system calls on files in the directory are recorded in order. Then, for the moment after each call, the
 * model builds every state of the disk that a loss of power may leave. An item that no sync covers may be
 * missing, each item independently:
 * - a name that was created, changed or removed;
 * - the bytes of a write. Instead of them there is the end of the file, zeros, half of the bytes, or the
 *   bytes of an older file at the same offset.
 *
 *     calls     create  write  write  sync  write  rename   | power is lost
 *     items     name    -------synced-----  bytes  name     | any of the unsynced items may be missing
 *
 * A sync that is made to fail covers nothing. Later syncs of that file do not cover those bytes either: the
 * system has dropped them (A3 of docs/DURABILITY.md).
 *
 * Files are new and are written from front to back. One thread at a time.
 */

/* Syncs that a mutant of the code leaves out: the model ignores them. */
typedef enum power_left_out {
    POWER_NOTHING,
    POWER_FILE_SYNCS,
    POWER_BODY_SYNCS, /* syncs of a log whose last written frame is not a commit */
    POWER_FOLDER_SYNCS
} power_left_out;

/* Starts recording. Files that are already in the directory count as synced. */
void power_begin(const char *folder, power_left_out left_out);
/* Stops recording and keeps what was recorded. */
void power_pause(void);
void power_go_on(void);
/* Stops recording and forgets what was recorded. */
void power_end(void);

/* Makes sync number n (from 1) fail; 0: none. With `onwards`, every later call that changes something
 * fails too, until power_heal, as if the process had ended there. power_failed: the sync was reached. */
void power_fail_at_sync(uint64_t n, bool onwards);
bool power_failed(void);
void power_heal(void);

/* Records a mark of the run's progress, for the check. */
void power_mark(int mark);

/* Builds, in the directory, each state of the disk in which up to `most` items are missing, or all of
 * them. Calls `check` with the last mark before the loss; false ends the loop. Returns the number of
 * states; *moments is the number of calls. */
uint64_t power_each(unsigned most, bool (*check)(void *context, int mark), void *context, size_t *moments);

/* Describes what is missing in the current state, for messages. Static storage. */
const char *power_describe(void);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_OUTAGE_H
#define TAMIS_TEST_OUTAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A model of power loss in a tree of directories.
 *
 * The model records every change below the root, in order. A test chooses a change after which the power is
 * lost, and the model builds every state that the disk may have then. Each item that no sync covers is there
 * or missing, independently of the others. An item is
 * - a name that was created, changed or removed;
 * - a directory with everything in it;
 * - a truncation;
 * - the bytes of a write. If they are missing, the file ends before them, or has in their place zeros, their
 *   first half, or the bytes of an older file at the same offset.
 *
 *     calls     create  write  write  sync  write  rename   | power is lost
 *     items     name    -------synced-----  bytes  name     | any of the unsynced items may be missing
 *
 * A test may let a sync fail. It covers nothing then, and later syncs of the file do not cover these bytes
 * either: the system has dropped them (A3 of docs/DURABILITY.md).
 *
 * One thread at a time.
 */

/* Syncs that a mutant of the code leaves out: the model ignores them. */
typedef enum outage_left_out {
    OUTAGE_NOTHING,
    OUTAGE_FILE_SYNCS,
    OUTAGE_BODY_SYNCS, /* syncs of a log whose last written frame is not a commit */
    OUTAGE_DIRECTORY_SYNCS
} outage_left_out;

typedef struct outage_model {
    outage_left_out left_out;
    const char *only; /* only files whose path contains this lose syncs; NULL: all */
    /* The tree is the scratch directory, with the files that it has, which count as synced. It is cleared
     * before each state. Otherwise the tree begins empty, files that are only read are not part of it, and
     * the check removes what it has made. */
    bool whole;
    bool older; /* missing bytes may be those of an older file whose name begins with the same 4 characters */
} outage_model;

/* Starts recording below `root`. */
void outage_begin(const char *root, outage_model model);
/* Makes change number n (from 1) and all later ones fail, until outage_go_on, as if the process had ended
 * there. */
void outage_stop_at(uint64_t n);
void outage_go_on(void);
/* Makes sync number n (from 1) of a file whose path contains `name` fail; "": of any file or directory. No
 * later sync covers the bytes written before it. With `onwards`, every later change fails too, until
 * outage_go_on. outage_sync_failed: the sync was reached. */
void outage_fail_sync(const char *name, uint64_t n, bool onwards);
bool outage_sync_failed(void);
/* Stops recording and keeps what was recorded. */
void outage_pause(void);
/* Stops recording and forgets what was recorded. */
void outage_end(void);

/* Records a mark of the run's progress, above 0, for the check. */
void outage_mark(int mark);

/*
 * Builds the states of the disk after each `step`-th change, starting with change `from`. Up to `max`
 * items are missing at once, or all of them. Calls `check` with the last mark before the loss, 0 if there
 * is none; false ends the loop. A state is a tree with a mark: it is checked once, even if several sets of
 * missing items leave it. So the check must depend on them alone. Returns the number of states.
 */
uint64_t outage_each(size_t from, uint64_t step, unsigned max, bool (*check)(void *context, int mark),
                     void *context);
size_t outage_changes(void);
/* Describes what is missing in the current state, for messages. Static storage. */
const char *outage_describe(void);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_OUTAGE_H
#define TAMIS_TEST_OUTAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Power loss under a tree of folders. What a run changes there is recorded, in order, from an empty tree
 * on; files that it only reads are none of it. Then, for the moment after each change, the states of the
 * disk are made that a loss of power may leave: of what no sync has made sure of, each item may be
 * missing for itself: a name that was made, changed or removed, a folder with all in it, the bytes of a
 * write, a cut. Where the bytes of a write are missing, there is the end of the file, or zeros, or the
 * first half of them.
 *
 * Unlike support/power.h it knows files that are cut back and written on, and folders in folders. One
 * thread at a time.
 */

/* What a mutant leaves out: such syncs are taken not to have happened. */
typedef enum outage_left_out { OUTAGE_NOTHING, OUTAGE_FILE_SYNCS, OUTAGE_FOLDER_SYNCS } outage_left_out;

/* Only files below `root` whose path has `only` in it lose syncs; NULL: all. */
void outage_begin(const char *root, outage_left_out left_out, const char *only);
/* From the nth change (from 1) on every change fails, as if the process had been stopped there, until
 * outage_go_on. */
void outage_stop_at(uint64_t n);
void outage_go_on(void);
/* The nth sync (from 1) of a file whose path has `name` in it fails, and what was written to the file by then is never sure: a
 * later sync says nothing of it. Whether it came to that is returned by outage_sync_failed. */
void outage_fail_sync(const char *name, uint64_t n);
bool outage_sync_failed(void);
/* Takes the recording off; what was recorded stays. */
void outage_pause(void);
/* Forgets it. */
void outage_end(void);

/* The run is at its end: told to the check. */
void outage_mark(void);

/*
 * Makes each state of the disk from change `from` on, each `step`-th of them, and calls `check` with
 * whether the mark was passed; false ends it. Up to `most` items are missing at once, or all of them.
 * Returns how many states there were.
 */
uint64_t outage_each(size_t from, uint64_t step, unsigned most, bool (*check)(void *context, bool marked),
                     void *context);
size_t outage_changes(void);
/* What is missing in the state that is made now. Static storage. */
const char *outage_describe(void);

#endif

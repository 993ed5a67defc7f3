/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_OUTAGE_H
#define TAMIS_TEST_OUTAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A model of power loss in a tree of directories, as support/power.h has it for one directory. It also knows
 * files that are cut back and appended to, and directories in directories.
 *
 * Every change below the root is recorded in order, from an empty tree on. Files that the run only reads are
 * not part of the model. Then, for the moment after a change, the model builds every state of the disk that a
 * loss of power may leave. An item that no sync covers may be missing, each item independently:
 * - a name that was created, changed or removed;
 * - a directory with everything in it;
 * - a cut;
 * - the bytes of a write. Instead of them there is the end of the file, zeros, or the first half of the
 *   bytes.
 *
 * One thread at a time.
 */

/* Syncs that a mutant of the code leaves out: the model ignores them. */
typedef enum outage_left_out { OUTAGE_NOTHING, OUTAGE_FILE_SYNCS, OUTAGE_FOLDER_SYNCS } outage_left_out;

/* Starts recording below `root`. Only files whose path contains `only` lose syncs; NULL: all. */
void outage_begin(const char *root, outage_left_out left_out, const char *only);
/* Makes change number n (from 1) and all later ones fail, until outage_go_on, as if the process had ended
 * there. */
void outage_stop_at(uint64_t n);
void outage_go_on(void);
/* Makes sync number n (from 1) of a file whose path contains `name` fail. No later sync covers the bytes
 * written before it. outage_sync_failed: the sync was reached. */
void outage_fail_sync(const char *name, uint64_t n);
bool outage_sync_failed(void);
/* Stops recording and keeps what was recorded. */
void outage_pause(void);
/* Stops recording and forgets what was recorded. */
void outage_end(void);

/* Records that the run has ended, for the check. */
void outage_mark(void);

/*
 * Builds the states of the disk after each `step`-th change, starting with change `from`. Up to `most` items
 * are missing at once, or all of them. Calls `check`, with `marked` true if the run had ended by then; false
 * ends the loop. Returns the number of states.
 */
uint64_t outage_each(size_t from, uint64_t step, unsigned most, bool (*check)(void *context, bool marked),
                     void *context);
size_t outage_changes(void);
/* Describes what is missing in the current state, for messages. Static storage. */
const char *outage_describe(void);

#endif

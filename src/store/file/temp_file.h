/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_FILE_TEMP_FILE_H
#define TAMIS_STORE_FILE_TEMP_FILE_H

#include <stdbool.h>

#include "store/file/target.h"

/*
 * A temporary file beside its target. The caller writes it, and an atomic rename then gives it the target's
 * name. temp_file.c explains why.
 *
 *            create            commit                           finish
 *     NONE ----------> STAGED ----------> SWAPPED or COMMITTED ----------> NONE
 *                         |   <----------          |
 *                         | remove  revert         (a COMMITTED file that replaced another cannot go back)
 *                         v
 *                        NONE
 *
 * Only tamis__temp_file_commit_both swaps and reverts.
 */
typedef enum tamis__temp_file_state {
    TAMIS__TEMP_FILE_NONE,
    TAMIS__TEMP_FILE_STAGED,   /* the temporary file has the name `path`; the target is unchanged */
    TAMIS__TEMP_FILE_SWAPPED,  /* the new file has the target's name; the old file has the name `path` */
    TAMIS__TEMP_FILE_COMMITTED /* the new file has the target's name; no old file is left */
} tamis__temp_file_state;

typedef struct tamis__temp_file {
    const tamis__target *target; /* target; borrowed */
    struct tamis_lock *lock;     /* lock of the target, set by the caller; NULL: none */
    tamis__temp_file_state state;
    bool durable;        /* the file must survive a power loss */
    int directory;       /* open descriptor of the directory, if `durable` */
    char path[PATH_MAX]; /* name of the temporary file */
} tamis__temp_file;

/*
 * Creates the temporary file and opens it for writing. The caller closes *fd.
 * - Owner and permissions are those of the file to be replaced, as far as the system allows, and never wider.
 * - The lock's note gets the file's name before the file exists.
 * - With `durable` the caller must sync the file before tamis__temp_file_commit. tamis__temp_file_finish
 *   then syncs the directory, which therefore has to be readable.
 */
TAMIS_PRIVATE_API tamis_status tamis__temp_file_create(tamis__temp_file *temp, const tamis__target *target,
                                                       bool durable, int *fd, tamis_error *err);

/* True if `name`, which has no directory part, is that of a temporary file for this target. */
bool tamis__temp_file_is_for(const tamis__target *target, const char *name);

/* Gives the file its target's name, if it is staged. */
tamis_status tamis__temp_file_commit(tamis__temp_file *temp, tamis_error *err);
/* As tamis__temp_file_commit, but fails with TAMIS_E_CHANGED if the target exists. */
tamis_status tamis__temp_file_commit_new(tamis__temp_file *temp, tamis_error *err);

/* The last step after a commit: removes the old file and syncs the directory. The new file has its name even
 * on an error. */
TAMIS_PRIVATE_API tamis_status tamis__temp_file_finish(tamis__temp_file *temp, tamis_error *err);

/* Commits and finishes those of the two files that are staged. Either both get their names, or neither
 * does. */
TAMIS_PRIVATE_API tamis_status tamis__temp_file_commit_both(tamis__temp_file *first, tamis__temp_file *second,
                                                            tamis_error *err);

/* Removes a staged file. If that fails, the user's remedy is appended to the text of *err, if
 * any. */
TAMIS_PRIVATE_API void tamis__temp_file_remove(tamis__temp_file *temp, tamis_error *err);

#endif

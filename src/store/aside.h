/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_ASIDE_H
#define TAMIS_STORE_ASIDE_H

#include <stdbool.h>

#include "store/place.h"

/*
 * A temporary file beside its target. The caller writes it, and an atomic rename then gives it the target's
 * name. aside.c explains why.
 *
 *            create             publish                        settle
 *     NONE ----------> WRITTEN ----------> SWAPPED or PLACED ----------> NONE
 *                         |    <----------          |
 *                         | remove   withdraw       (a PLACED file that replaced another cannot go back)
 *                         v
 *                        NONE
 */
typedef enum tamis__aside_state {
    TAMIS__ASIDE_NONE,
    TAMIS__ASIDE_WRITTEN, /* the temporary file has the name `path`; the target is unchanged */
    TAMIS__ASIDE_SWAPPED, /* the new file has the target's name; the old file has the name `path` */
    TAMIS__ASIDE_PLACED   /* the new file has the target's name; no old file is left */
} tamis__aside_state;

typedef struct tamis__aside {
    const tamis__place *place; /* target; borrowed */
    struct tamis_lock *lock;   /* lock of the target, set by the caller; NULL: none */
    tamis__aside_state state;
    bool durable;        /* the file must survive a power loss */
    int folder;          /* open descriptor of the directory, if `durable` */
    char path[PATH_MAX]; /* name of the temporary file */
} tamis__aside;

/*
 * Creates the temporary file and opens it for writing. The caller closes *fd.
 * - Owner and permissions are those of the file to be replaced, as far as the system allows, and never wider.
 * - The lock's note gets the file's name before the file exists.
 * - With `durable` the caller must sync the file before tamis__aside_publish. tamis__aside_settle then syncs
 *   the directory, which therefore has to be readable.
 */
TAMIS_PRIVATE_API tamis_status tamis__aside_create(tamis__aside *aside, const tamis__place *place,
                                                   bool durable, int *fd, tamis_error *err);

/* True if `name`, which has no directory part, is that of a temporary file for this target. */
bool tamis__aside_is_of(const tamis__place *place, const char *name);

/* Gives the file its target's name. `revocable` keeps the old file for tamis__aside_withdraw, if the file
 * system can exchange two names. */
TAMIS_PRIVATE_API tamis_status tamis__aside_publish(tamis__aside *aside, bool revocable, tamis_error *err);
/* As tamis__aside_publish, but fails with TAMIS_E_STALE if the target exists. */
tamis_status tamis__aside_publish_new(tamis__aside *aside, tamis_error *err);
/* Takes a published file's name back, if that is still possible. Otherwise does nothing. */
void tamis__aside_withdraw(tamis__aside *aside);

/* Finishes after publish: removes the old file and syncs the directory. The new file has its name even on an
 * error. */
TAMIS_PRIVATE_API tamis_status tamis__aside_settle(tamis__aside *aside, tamis_error *err);

/* Publishes and settles those of the two files that were written. Either both get their names, or neither
 * does. */
TAMIS_PRIVATE_API tamis_status tamis__aside_publish_both(tamis__aside *first, tamis__aside *second,
                                                         tamis_error *err);

/* Removes a file that is not published. If that fails, the user's remedy is appended to the text of *err, if
 * any. */
TAMIS_PRIVATE_API void tamis__aside_remove(tamis__aside *aside, tamis_error *err);

#endif

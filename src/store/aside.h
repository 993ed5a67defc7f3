/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_ASIDE_H
#define TAMIS_STORE_ASIDE_H

#include <stdbool.h>

#include "store/place.h"

/*
 * A file written aside, in the folder of its final name, and put under that name when it is whole:
 *
 *            create             publish                        settle
 *     NONE ----------> WRITTEN ----------> SWAPPED or PLACED ----------> NONE
 *                         |    <----------          |
 *                         | remove   withdraw       (PLACED over an old file: no way back)
 *                         v
 *                        NONE
 *
 * One file is published by rename, which is atomic. Two files of one run cannot be: so the first
 * exchanges names with the old one, and goes back if the second fails.
 */
typedef enum tamis__aside_state {
    TAMIS__ASIDE_NONE,
    TAMIS__ASIDE_WRITTEN, /* under `path`, the final name is as it was */
    TAMIS__ASIDE_SWAPPED, /* under the final name, the old file under `path` */
    TAMIS__ASIDE_PLACED   /* under the final name */
} tamis__aside_state;

typedef struct tamis__aside {
    const tamis__place *place; /* borrowed */
    struct tamis_lock *lock;   /* that it is written under, the caller's to set; NULL: none */
    tamis__aside_state state;
    bool durable; /* it is to outlive a power loss */
    int folder;   /* of a durable one: open, to be synced */
    char path[PATH_MAX];
} tamis__aside;

/* Creates the file, with owner and permissions of the one it is to replace as far as the system lets us, never with
 * more; its name is noted in the lock before it is there. *fd is the caller's. With `durable` the file is to outlive a
 * power loss: the caller syncs it before it is published, and settle syncs its folder, which has to be readable for
 * that. */
TAMIS_PRIVATE_API tamis_status tamis__aside_create(tamis__aside *aside, const tamis__place *place,
                                                   bool durable, int *fd, tamis_error *err);

/* Whether that is a name (without folder) of a file aside of the place. */
bool tamis__aside_is_of(const tamis__place *place, const char *name);

/* Puts it under its final name; with `revocable` so that withdraw can bring the old file back, where the
 * file system can. */
TAMIS_PRIVATE_API tamis_status tamis__aside_publish(tamis__aside *aside, bool revocable, tamis_error *err);
/* Puts it under its final name if that stands for nothing: TAMIS_E_STALE else. */
tamis_status tamis__aside_publish_new(tamis__aside *aside, tamis_error *err);
void tamis__aside_withdraw(tamis__aside *aside);

/* Ends what publish began: removes the old file, syncs the folder. The new file stands whatever it returns. */
TAMIS_PRIVATE_API tamis_status tamis__aside_settle(tamis__aside *aside, tamis_error *err);

/* Publishes and settles two, as far as they are written: both get their names or none does. */
TAMIS_PRIVATE_API tamis_status tamis__aside_publish_both(tamis__aside *first, tamis__aside *second,
                                                         tamis_error *err);

/* Removes an unpublished file; *err, if it has a text, is told of failure. */
TAMIS_PRIVATE_API void tamis__aside_remove(tamis__aside *aside, tamis_error *err);

#endif

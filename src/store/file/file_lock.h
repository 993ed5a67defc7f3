/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_FILE_FILE_LOCK_H
#define TAMIS_STORE_FILE_FILE_LOCK_H

#include <stdbool.h>

#include <tamis/file.h>

#include "store/file/temp_file.h"

/*
 * Locks a file for a save. *lock is one of:
 * - a new lock;
 * - the lock that this process already holds (tamis_file_lock);
 * - NULL, if the file system has no locks.
 * TAMIS_E_BUSY if another process holds the file. Return it with tamis__lock_return.
 */
tamis_status tamis__lock_borrow(tamis_lock **lock, const tamis__target *target, tamis_error *err);
void tamis__lock_return(tamis_lock *lock); /* NULL does nothing */

/* TAMIS_E_BUSY if another process holds the file. Takes no lock and creates nothing: for a caller that
 * replaces the file without a lock. */
TAMIS_PRIVATE_API tamis_status tamis__lock_check_free(const tamis__target *target, tamis_error *err);

/* Writes the name of the temporary file into the lock's note (`temp` NULL: no file). If this process is
 * killed, the next holder removes that file. A NULL lock does nothing. */
void tamis__lock_note(const tamis_lock *lock, const tamis__temp_file *temp);

/* Holder of a lock as text for people: "PID on HOST since TIME". The lock file contains it. Whether the lock
 * is held now, only the kernel knows. */
typedef struct tamis__holder {
    char text[400];
} tamis__holder;

/* This process, with the current time. */
tamis__holder tamis__holder_now(void);
/* True if `text` names this process. */
bool tamis__holder_is_us(const char *text);

#endif

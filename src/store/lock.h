/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_LOCK_H
#define TAMIS_STORE_LOCK_H

#include <tamis/file.h>

#include "store/aside.h"

/* The lock of a file, as a save needs it: its own, the one that this process holds already (tamis_file_lock), or, where
 * the file system has no locks, none. TAMIS_E_BUSY where another process holds it. */
tamis_status tamis__lock_borrow(tamis_lock **lock, const tamis__place *place, tamis_error *err);
void tamis__lock_return(tamis_lock *lock); /* NULL is fine */

/* TAMIS_E_BUSY where another process holds the file; nothing is held by it, or made. For who replaces it without a lock. */
TAMIS_PRIVATE_API tamis_status tamis__lock_look(const tamis__place *place, tamis_error *err);

/* Notes the file that is to be written aside under the lock (NULL: none), so that the next to hold it removes what a
 * killed process left. NULL is fine. */
void tamis__lock_note(const tamis_lock *lock, const tamis__aside *aside);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_FILE_FILE_ERROR_H
#define TAMIS_STORE_FILE_FILE_ERROR_H

#include "base/failure.h"

enum { TAMIS__NAME_SHOWN = 200 }; /* bytes of a file name shown in a message, at most */

typedef struct tamis__shown {
    char text[TAMIS__NAME_SHOWN + 4];
} tamis__shown;

/* Returns the name as a message shows it: on one line (control bytes become '?'); of a long name only the
 * end, after "...". */
TAMIS_PRIVATE_API tamis__shown tamis__show(const char *name);

/* The text of an errno with a small initial ("no space left on device"), and what a user can do about it. The
 * result is static or thread-local and valid until the next call in this thread. */
TAMIS_PRIVATE_API const char *tamis__errno_text(int sys_errno);
TAMIS_PRIVATE_API const char *tamis__errno_remedy(int sys_errno);

/* Returns TAMIS_E_IO and writes "NAME: reason; what to do". EPIPE gives TAMIS_E_PIPE, ENOMEM gives
 * TAMIS_E_NOMEM. */
TAMIS_PRIVATE_API tamis_status tamis__fail_file(tamis_error *err, const char *name, int sys_errno);

/* Returns TAMIS_E_IO: the name refers to a FIFO, a device, a socket or a descriptor, but must be a regular
 * file. */
tamis_status tamis__fail_irregular(tamis_error *err, const char *name);

/* Returns TAMIS_E_CHANGED: a file exists where none may be. */
tamis_status tamis__fail_exists(tamis_error *err, const char *name);

#endif

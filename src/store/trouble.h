/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_TROUBLE_H
#define TAMIS_STORE_TROUBLE_H

#include "base/failure.h"

enum { TAMIS__NAME_SHOWN = 200 }; /* bytes of a file's name that stand in a sentence, at most */

typedef struct tamis__shown {
    char text[TAMIS__NAME_SHOWN + 4];
} tamis__shown;

/* The name as a sentence can hold it: on one line (control bytes become '?'), and of a long one only the
 * end, behind "..." */
TAMIS_PRIVATE_API tamis__shown tamis__show(const char *name);

/* "no space left on device": errno's text, small initial; what a person can do about it. Static or
 * thread-local storage, until the next call in this thread. */
TAMIS_PRIVATE_API const char *tamis__errno_text(int sys_errno);
TAMIS_PRIVATE_API const char *tamis__errno_remedy(int sys_errno);

/* TAMIS_E_IO and "NAME: why; what to do"; EPIPE becomes TAMIS_E_PIPE, ENOMEM TAMIS_E_NOMEM. */
TAMIS_PRIVATE_API tamis_status tamis__fail_file(tamis_error *err, const char *name, int sys_errno);

/* TAMIS_E_IO for a FIFO, a device, a socket or a descriptor where a file is needed. */
tamis_status tamis__fail_irregular(tamis_error *err, const char *name);

/* TAMIS_E_STALE for a file where none may be. */
tamis_status tamis__fail_there(tamis_error *err, const char *name);

#endif

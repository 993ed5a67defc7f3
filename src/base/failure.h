/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_BASE_FAILURE_H
#define TAMIS_BASE_FAILURE_H

#include <tamis/status.h>

/* Marks `tamis__*` symbols that the other libraries use. They are exported under the version node
 * TAMIS_PRIVATE. */
#define TAMIS_PRIVATE_API TAMIS_API

/*
 * Fills *err, unless it is NULL, and returns `status`, so that a failing function can end in `return
 * tamis__fail(err, ...)`.
 *
 * - sys_errno: an errno value, or 0 if no system call failed.
 * - format: the message, in the form "what: why; what to do". A message longer than the buffer is cut.
 */
TAMIS_PRIVATE_API tamis_status tamis__fail(tamis_error *err, tamis_status status, int sys_errno,
                                           const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Returns TAMIS_E_INVALID from a public function if a required argument is NULL (see status.h, "NULL"). */
#define TAMIS__NEED_AS(condition, name, err)                                                                 \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            return tamis__fail_null(err, name);                                                              \
    } while (0)
#define TAMIS__NEED(pointer, err) TAMIS__NEED_AS(pointer, #pointer, err)
/* Like TAMIS__NEED, for an array that may be NULL if `count` is 0. */
#define TAMIS__NEED_IF(count, pointer, err) TAMIS__NEED_AS(!(count) || (pointer), #pointer, err)

/* Returns TAMIS_E_INVALID with a message that names the NULL argument. */
TAMIS_PRIVATE_API tamis_status tamis__fail_null(tamis_error *err, const char *name);

/* Returns TAMIS_E_NOMEM with "what: out of memory, N bytes were refused; ...". Allocates nothing. */
TAMIS_PRIVATE_API tamis_status tamis__fail_nomem(tamis_error *err, const char *what, uint64_t bytes);

#endif

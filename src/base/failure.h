/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_BASE_FAILURE_H
#define TAMIS_BASE_FAILURE_H

#include <tamis/status.h>

/* For `tamis__*` symbols that the satellite libraries use: exported under version node TAMIS_PRIVATE. */
#define TAMIS_PRIVATE_API TAMIS_API

/*
 * Fills *err (if not NULL) with status, errno value (0: none) and the sentence, and returns status, so
 * that a failing function ends in `return tamis__fail(err, ...)`. The sentence has the form
 * "what: why; what to do"; one too long for the buffer is cut.
 */
TAMIS_PRIVATE_API tamis_status tamis__fail(tamis_error *err, tamis_status status, int sys_errno,
                                           const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Ends a public function whose argument is NULL and may not be (status.h, "NULL"). */
#define TAMIS__NEED_AS(condition, name, err)                                                                 \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            return tamis__fail_null(err, name);                                                              \
    } while (0)
#define TAMIS__NEED(pointer, err) TAMIS__NEED_AS(pointer, #pointer, err)
/* The same for an array that is read only if `count` is not 0. */
#define TAMIS__NEED_IF(count, pointer, err) TAMIS__NEED_AS(!(count) || (pointer), #pointer, err)

/* TAMIS_E_INVALID: the argument of that name is NULL. */
TAMIS_PRIVATE_API tamis_status tamis__fail_null(tamis_error *err, const char *name);

/* The same for "what: out of memory for N bytes; ...", which has to work without memory. */
TAMIS_PRIVATE_API tamis_status tamis__fail_nomem(tamis_error *err, const char *what, uint64_t bytes);

#endif

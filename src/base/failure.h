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

/* The same for "what: out of memory for N bytes; ...", which has to work without memory. */
TAMIS_PRIVATE_API tamis_status tamis__fail_nomem(tamis_error *err, const char *what, uint64_t bytes);

#endif

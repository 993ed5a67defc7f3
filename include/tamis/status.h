/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STATUS_H
#define TAMIS_STATUS_H

#include <stdint.h>

#include <tamis/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All statuses: name, value, text. New ones are appended; values never change. The answers to a lookup or
 * an add (absent, present) are not statuses: see tamis_answer in key.h. */
#define TAMIS_STATUS_TABLE(X)                                                                                \
    X(TAMIS_OK, 0, "success")                                                                                \
    X(TAMIS_E_INVALID, -1, "an argument is invalid or contradicts another")                                  \
    X(TAMIS_E_RANGE, -2, "a number is out of range")                                                         \
    X(TAMIS_E_NOMEM, -3, "out of memory")                                                                    \
    X(TAMIS_E_FULL, -4, "the filter holds all the keys its size and rate allow")                             \
    X(TAMIS_E_UNSUPPORTED, -5, "not available for this kind, scheme, build or machine")                      \
    X(TAMIS_E_MISMATCH, -6, "made with another scheme, seed or size")                                        \
    X(TAMIS_E_IO, -7, "input or output failed")                                                              \
    X(TAMIS_E_PIPE, -8, "the reader of the output has gone")                                                 \
    X(TAMIS_E_TOO_LONG, -9, "a record is longer than the limit")                                             \
    X(TAMIS_E_INTERRUPTED, -10, "stopped on request")                                                        \
    X(TAMIS_E_SYSTEM, -11, "the operating system refused a service")                                         \
    X(TAMIS_E_FORMAT, -12, "the bytes are not a filter of a known format")                                   \
    X(TAMIS_E_DAMAGED, -13, "bytes are incomplete or changed")                                               \
    X(TAMIS_E_BUSY, -14, "another process holds the file")                                                   \
    X(TAMIS_E_MEMORY_LIMIT, -15, "the filter does not fit the memory allowed")                               \
    X(TAMIS_E_CHANGED, -16, "the file was replaced or changed")                                              \
    X(TAMIS_E_TIMEOUT, -17, "no answer in time")                                                             \
    X(TAMIS_E_REFUSED, -18, "the server refused")                                                            \
    X(TAMIS_E_NOT_FOUND, -19, "there is no such filter")                                                     \
    X(TAMIS_E_RECORD, -20, "a record is malformed")                                                          \
    X(TAMIS_E_NO_KEY, -21, "a record has no key")                                                            \
    X(TAMIS_E_SECRET, -22, "the secret is missing or wrong")

typedef enum tamis_status {
#define TAMIS_STATUS_ENUM(name, value, text) name = value,
    TAMIS_STATUS_TABLE(TAMIS_STATUS_ENUM)
#undef TAMIS_STATUS_ENUM
} tamis_status;

/* Returns the text of a status, or "unknown status" for any other number. The string is static. */
TAMIS_API const char *tamis_strerror(tamis_status status);
/* Returns the name of the constant, such as "TAMIS_E_NOMEM", or "TAMIS_E_?" for any other number. The
 * string is static. */
TAMIS_API const char *tamis_status_name(tamis_status status);

/*
 * An error message for a person.
 *
 * The caller owns the struct. A call that fails fills it. A call that succeeds leaves it unchanged, unless
 * its comment says that it may leave a warning. `text` has the form "what: why; what to do", ends without a
 * full stop and is always NUL-terminated. A function that takes a tamis_error* accepts NULL, for callers
 * that need the status only.
 */
typedef struct tamis_error {
    uint32_t struct_size; /* sizeof(tamis_error), set by TAMIS_ERROR_INIT */
    tamis_status status;  /* status that the call returned */
    /* errno of the failed system call, 0 if none failed. With TAMIS_E_BUSY, two values mean that waiting
     * does not help. EDEADLK: this process itself holds the lock. ESTALE: a change on a server lost its
     * lock. */
    int sys_errno;
    char text[500];
} tamis_error;

#define TAMIS_ERROR_INIT TAMIS__INIT(tamis_error, )

/*
 * NULL pointers: the rule for every function of these libraries.
 *
 * These arguments may be NULL:
 *
 * - err;
 * - the handle that a function frees, closes or unlocks;
 * - options, and other arguments whose comment allows it;
 * - an array or bytes whose count or size is 0.
 *
 * Every other pointer is required. If one is NULL, a function that returns tamis_status returns
 * TAMIS_E_INVALID, names the argument and does nothing. Functions with another result cannot report errors
 * and do not check. Passing NULL to them is a programming error, as with strlen().
 *
 * Pointers inside arrays, such as tamis_key.data, are not checked. Objects and contexts that are passed on to
 * functions of the caller are not checked either.
 */

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STATUS_H
#define TAMIS_STATUS_H

#include <stdint.h>

#include <tamis/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Every status there is: name, value, text. Append only; values never change.
 * What a question answers (fresh, seen) is not here: see tamis_answer in key.h.
 */
#define TAMIS_STATUS_TABLE(X)                                                                                \
    X(TAMIS_OK, 0, "success")                                                                                \
    X(TAMIS_E_INVALID, -1, "an argument is invalid or contradicts another")                                  \
    X(TAMIS_E_RANGE, -2, "a number is out of range")                                                         \
    X(TAMIS_E_NOMEM, -3, "out of memory")                                                                    \
    X(TAMIS_E_FULL, -4, "the filter holds all the keys its size and rate allow")                             \
    X(TAMIS_E_UNSUPPORTED, -5, "not available for this kind, scheme, build or machine")                      \
    X(TAMIS_E_MISMATCH, -6, "made with another scheme, seed, secret or size")                                \
    X(TAMIS_E_IO, -7, "input or output failed")                                                              \
    X(TAMIS_E_PIPE, -8, "the reader of the output has gone")                                                 \
    X(TAMIS_E_TOO_LONG, -9, "a record is longer than the limit")                                             \
    X(TAMIS_E_INTERRUPTED, -10, "stopped on request")                                                        \
    X(TAMIS_E_SYSTEM, -11, "the operating system refused a service")                                         \
    X(TAMIS_E_FORMAT, -12, "the bytes are no filter of a known format")                                      \
    X(TAMIS_E_DAMAGED, -13, "bytes are incomplete or changed")                                               \
    X(TAMIS_E_BUSY, -14, "another process holds the file")                                                   \
    X(TAMIS_E_NO_ROOM, -15, "the filter does not fit the memory allowed")                                    \
    X(TAMIS_E_STALE, -16, "the name stands for another file than it did")                                    \
    X(TAMIS_E_TIMEOUT, -17, "no answer in time")                                                             \
    X(TAMIS_E_REFUSED, -18, "the server refused")                                                            \
    X(TAMIS_E_ABSENT, -19, "there is no such filter")                                                        \
    X(TAMIS_E_RECORD, -20, "a record is malformed")                                                          \
    X(TAMIS_E_KEYLESS, -21, "a record has no key")

typedef enum tamis_status {
#define TAMIS_STATUS_ENUM(name, value, text) name = value,
    TAMIS_STATUS_TABLE(TAMIS_STATUS_ENUM)
#undef TAMIS_STATUS_ENUM
} tamis_status;

/* The table's text of a status; "unknown status" for any other number. Total; static storage. */
TAMIS_API const char *tamis_strerror(tamis_status status);
/* The constant's name, "TAMIS_E_NOMEM"; "TAMIS_E_?" for any other number. Total; static storage. */
TAMIS_API const char *tamis_status_name(tamis_status status);

/*
 * What went wrong, for a person: owned by the caller, filled by the call that failed and left alone
 * by one that did not. `text` has the form "what: why; what to do", ends without a full stop and is
 * always NUL-terminated. Every function that takes a tamis_error* takes NULL for "only the status".
 */
typedef struct tamis_error {
    uint32_t struct_size; /* sizeof(tamis_error), set by TAMIS_ERROR_INIT */
    tamis_status status;  /* what the call returned */
    /* errno of the system call that failed, 0 where none did. Of TAMIS_E_BUSY not 0 where waiting does not help: EDEADLK if
     * this process is the holder, ESTALE if a change on a server lost its lock. */
    int sys_errno;
    char text[500];
} tamis_error;

/* clang-format off */
#define TAMIS_ERROR_INIT {sizeof(tamis_error), TAMIS_OK, 0, {0}}
/* clang-format on */

/*
 * NULL: the rule for every function of these libraries.
 *
 * These may be NULL: err; the handle that a function frees, closes or unlocks; options and other arguments whose comment
 * says so; an array or bytes whose count or size is 0.
 *
 * Any other pointer is needed. If it is NULL, a function that returns tamis_status returns TAMIS_E_INVALID, names the
 * argument and does nothing. Functions with another result cannot report errors and do not check: passing NULL to them is
 * a programming error, as with strlen. Pointers inside arrays, such as tamis_key.data, are not checked. Nor are objects and
 * contexts that are passed on to functions of the caller.
 */

#ifdef __cplusplus
}
#endif
#endif

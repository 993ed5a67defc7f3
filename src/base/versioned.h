/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_BASE_VERSIONED_H
#define TAMIS_BASE_VERSIONED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/failure.h"

/*
 * Versions of public structs. Each begins with `uint32_t struct_size` and grows at its end only.
 *
 *     older program    | struct_size | a | b |            fields that it lacks keep their defaults
 *     this library     | struct_size | a | b | c |
 *     newer program    | struct_size | a | b | c | d |    accepted only if d is zero
 *
 * So the library never writes past the end of a shorter struct, and never ignores a field that the caller has
 * set.
 */

/* Returns TAMIS_E_INVALID if an output struct is NULL or has no struct_size. `init` is the name of the
 * macro that initialises it. */
TAMIS_PRIVATE_API tamis_status tamis__check_struct(const void *given, const char *init, tamis_error *err);

/* Copies the caller's struct into *to, which has `size` bytes and is preset with the defaults. Errors:
 * those of tamis__check_struct, and TAMIS_E_INVALID if a field after the first `size` bytes is not zero. */
TAMIS_PRIVATE_API tamis_status tamis__read_struct(void *to, size_t size, const void *given, const char *init,
                                                  tamis_error *err);

/* Like tamis__read_struct, for options: NULL leaves the defaults. */
TAMIS_PRIVATE_API tamis_status tamis__read_options(void *to, size_t size, const void *given, const char *init,
                                                   tamis_error *err);

/* Copies *from, of `size` bytes, to the caller's *to and keeps its struct_size. Does nothing if `to` is
 * NULL or has no struct_size. */
TAMIS_PRIVATE_API void tamis__write_struct(void *to, const void *from, size_t size);

#endif

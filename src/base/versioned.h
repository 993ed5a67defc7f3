/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_BASE_VERSIONED_H
#define TAMIS_BASE_VERSIONED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/failure.h"

/*
 * Public structs begin with `uint32_t struct_size` and grow at their end only. A program built against an older
 * header passes a shorter one: what it lacks keeps the defaults, and nothing is written past its end. One built against a
 * newer header passes a longer one, and is refused if it has set a field that is not known here.
 */

/* TAMIS_E_INVALID if a struct to be filled is NULL or has no struct_size. `init` names the macro to start from. */
TAMIS_PRIVATE_API tamis_status tamis__check_struct(const void *given, const char *init, tamis_error *err);

/* Fills *to (of `size` bytes, preset with the defaults) from what the caller gave. TAMIS_E_INVALID as
 * tamis__check_struct, and if a field behind `size` is not zero. */
TAMIS_PRIVATE_API tamis_status tamis__take_struct(void *to, size_t size, const void *given, const char *init,
                                                  tamis_error *err);

/* The same for options, where NULL means the defaults. */
TAMIS_PRIVATE_API tamis_status tamis__take_options(void *to, size_t size, const void *given, const char *init,
                                                   tamis_error *err);

/* Fills the caller's *to from *from (of `size` bytes); struct_size stays the caller's. Nothing happens where `to` is
 * NULL or has no struct_size. */
TAMIS_PRIVATE_API void tamis__give_struct(void *to, const void *from, size_t size);

#endif

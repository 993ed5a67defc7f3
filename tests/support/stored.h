/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_STORED_H
#define TAMIS_TEST_STORED_H

#include <stdbool.h>
#include <stdint.h>

#include <tamis/tamis.h>

/* Small filters for tests of files. Their keys are numbers. These functions abort on an error of the
 * library. */

/* Makes a filter for twice `count` keys at 1e-6, with keys from .. from + count - 1. */
tamis_filter *stored_make(tamis_kind kind, uint64_t from, uint64_t count);
tamis_filter *stored_make_scheme(tamis_kind kind, tamis_scheme scheme, uint64_t from, uint64_t count);
/* The same, of kind blocked, with that allocator. */
tamis_filter *stored_make_in(const tamis_allocator *allocator, uint64_t from, uint64_t count);

/* True if the filter has all of these keys. */
bool stored_has(const tamis_filter *filter, uint64_t from, uint64_t count);

/* Saves a filter of scheme sip, with a secret of 16 bytes and 100 keys. */
tamis_status stored_save_keyed(const char *path, const char *secret, uint64_t from, tamis_error *err);

/* Leaves a temporary file of that name with its lock, as a killed save does. */
bool stored_leave_temp(tamis_lock *lock, const char *path);

#endif

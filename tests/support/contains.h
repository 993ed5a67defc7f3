/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TESTS_SUPPORT_CONTAINS_H
#define TAMIS_TESTS_SUPPORT_CONTAINS_H

#include <stdbool.h>
#include <stddef.h>

#include <tamis/filter.h>

/* True if the filter, which is in memory, contains the key. */
static inline bool contains_key(const tamis_filter *filter, const void *key, size_t size) {
    tamis_answer answer = TAMIS_UNKNOWN;
    return tamis_filter_contains(filter, key, size, &answer, NULL) == TAMIS_OK && answer == TAMIS_PRESENT;
}

#endif

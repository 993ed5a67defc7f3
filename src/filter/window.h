/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_WINDOW_H
#define TAMIS_FILTER_WINDOW_H

#include <stdint.h>

#include <tamis/experimental/window.h>

#include "filter/filter_int.h"

/* What a file has of a window beyond its plan and its lines (docs/FORMAT.md, "Window"). */
typedef struct tamis__window_image {
    int64_t newest;        /* largest time; -1: no key was added */
    const uint8_t *counts; /* entries of each kept step, for one table after the other, as 64-bit numbers */
} tamis__window_image;

/* Entries of table `i` in kept step `n`, where 0 is the oldest. */
uint64_t tamis__window_count(const tamis_filter *filter, size_t i, uint32_t n);

#endif

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

/*
 * What adding a key changed, in one byte. A state logs it with the key's hash, so that a later start can
 * repeat the change (docs/DURABILITY.md, "Windows").
 */
enum {
    TAMIS__WINDOW_STEPS_BACK = 0x07, /* steps from the one it was counted in to the newest one */
    TAMIS__WINDOW_STEP_MORE = 0x08,  /* the window of its time has a step more than window / step */
    TAMIS__WINDOW_RENEWED = 0x10,    /* it was present, and was counted again */
    TAMIS__WINDOW_UNUSED = 0x60,     /* bits that no change has */
    TAMIS__WINDOW_COUNTED = 0x80     /* always set; 0 instead of a change: nothing changed */
};

/* Keys to count at their times, or to count again as their changes say. */
typedef struct tamis__window_batch {
    const tamis_hash *hashes;
    const int64_t *times;
    size_t count;
    tamis_answer *answers; /* receives the answers; may be NULL */
    uint8_t *changes;      /* receives the change of each key, or has it; may be NULL */
    bool in_any_order;     /* keys older than the lateness count too, if a later lookup can find them */
} tamis__window_batch;

/* Returns `count` keys of the batch from key `from` on. */
static inline tamis__window_batch tamis__window_batch_slice(const tamis__window_batch *batch, size_t from,
                                                            size_t count) {
    return (tamis__window_batch){.hashes = batch->hashes + from,
                                 .times = batch->times + from,
                                 .count = count,
                                 .answers = batch->answers ? batch->answers + from : NULL,
                                 .changes = batch->changes ? batch->changes + from : NULL,
                                 .in_any_order = batch->in_any_order};
}

/* As tamis_window_add, for checked arguments. */
TAMIS_PRIVATE_API tamis_status tamis__window_add(tamis_filter *filter, const tamis__window_batch *batch,
                                                 size_t *done, tamis_error *err);

/* Counts keys as their changes say, in order: hashes, changes and count of the batch. *done is the number
 * of keys before the first one for which that is not possible. Then the window is not the one in which the
 * keys got their changes. TAMIS_E_NOMEM, TAMIS_E_FULL. */
tamis_status tamis__window_repeat(tamis_filter *filter, const tamis__window_batch *batch, size_t *done,
                                  tamis_error *err);
/* Moves the newest time to `time`, if that is later. */
TAMIS_PRIVATE_API void tamis__window_set_newest(tamis_filter *filter, int64_t time);
/* Returns the first later time at which a window counts keys in another way than at `newest`. Then another
 * step is the newest, or another one is too old for late records. */
int64_t tamis__window_steps_end(const tamis_filter *filter, int64_t newest);

/* Entries of table `i` in kept step `n`, where 0 is the oldest. */
uint64_t tamis__window_count(const tamis_filter *filter, size_t i, uint32_t n);

#endif

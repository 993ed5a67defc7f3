/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_ISA_H
#define TAMIS_TEST_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"

/* True if this build and this machine have the kernels of an instruction set. */
bool isa_is_here(tamis__isa isa);

/* Calls `test` for every available set, scalar first, and prints its name. For kernels that are chosen by
 * the number of their set, as in tamis__filter_kernels_of(isa). */
void isa_each(void (*test)(tamis__isa isa));

/*
 * Runs `make` for every available set, each in a process of its own, with the set forced by TAMIS_KERNEL.
 * Fails if the set is not used, or if `make` does not write the same bytes as with scalar. For code that
 * uses kernels through the library. `make` returns the number of bytes written, at most `capacity`; 0 is a
 * failure. The caller must not have used a kernel before: a process chooses its kernels once.
 */
void isa_each_forced(size_t (*make)(uint8_t *to, size_t capacity), size_t capacity);

#endif

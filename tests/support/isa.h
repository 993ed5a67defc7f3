/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_ISA_H
#define TAMIS_TEST_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"

/* Whether this build and machine have the kernels of a set. */
bool isa_is_here(tamis__isa isa);

/* Calls `test` for every set that is here, scalar first, and prints its name: for kernels that are asked by the number of
 * their set, as tamis__filter_kernels_of(isa) gives them. */
void isa_each(void (*test)(tamis__isa isa));

/*
 * Runs `make` in a process of its own for every set that is here, forced there by TAMIS_KERNEL and seen to be in use, and
 * fails where what it wrote is not byte for byte what it wrote with scalar: for whatever uses kernels by way of the
 * library. `make` returns how many bytes it wrote, at most `room`, or 0, which fails. The caller must not have used a
 * kernel before: the choice is made once a process.
 */
void isa_each_forced(size_t (*make)(uint8_t *to, size_t room), size_t room);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Fingerprint tables in plain C: the oracle that the other instruction sets are tested against. Entry by
 * entry, with the functions of fingerprint_line.h and fingerprint_values.h.
 *
 * tests/kernel/test_kernels_tables.c gives each set the same tables and keys, with lines of files that nobody
 * would write among them. It compares answers and lines with those of this one, byte for byte. So a change of
 * the layout begins here, and the other sets follow.
 *
 * This set is also what runs on CPUs without the others. So it has no branch on the number of entries of a
 * line where that would often be mispredicted (values_decode, values_move).
 *
 * Measured: ./dev bench memory (fingerprint) with TAMIS_KERNEL=scalar.
 */
#include "filter/kernels/fingerprint_values.h"

#define isa_bucket(g, ends, bucket) ends_bucket(ends, bucket)
#define isa_has                     line_find
#define isa_finds                   line_find
#define isa_insert                  line_insert_in
#define isa_remove                  line_remove_in
#define isa_decode                  values_decode
#define isa_move                    values_move
#define isa_encode                  values_encode
#include "filter/kernels/fingerprint_loops.h"

const struct tamis__table_kernels tamis__table_kernels_scalar = {
    .add = add, .contains = contains, .rewrite = rewrite};

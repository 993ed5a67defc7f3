/* SPDX-License-Identifier: BSD-2-Clause */

/* Fingerprint tables in plain C: the oracle that the other instruction sets are tested against. Entry by
 * entry, with the functions of fingerprint_line.h and fingerprint_values.h. */
#include "filter/kernels/fingerprint_values.h"

#define set_bucket(g, ends, bucket) ends_bucket(ends, bucket)
#define set_has                     line_find
#define set_finds                   line_find
#define set_insert                  line_insert_in
#define set_remove                  line_remove_in
#define set_decode                  values_decode
#define set_move                    values_move
#define set_encode                  values_encode
#include "filter/kernels/fingerprint_loops.h"

const struct tamis__table_kernels tamis__table_kernels_scalar = {
    .add = add, .contains = contains, .rewrite = rewrite};

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FORMAT_BLOOM_BITS_H
#define TAMIS_FORMAT_BLOOM_BITS_H

#include <tamis/file.h>

#include "filter/filter_int.h"
#include "format/format.h"

/* What the files of other programs have in common: the words of a Bloom filter one after the other. */

typedef enum tamis__endian { TAMIS__LITTLE_ENDIAN, TAMIS__BIG_ENDIAN } tamis__endian;

/*
 * A filter of kind classic of that plan, that takes keys past its capacity as the other program does, with the words
 * that begin at `bytes`: as many as the plan's bits take, which the caller has seen to be there. `added` as in
 * tamis__bloom_filled.
 */
tamis_status tamis__bloom_bits_decode(tamis_filter **filter, const tamis_plan *plan,
                                      const tamis_open_options *options, const uint8_t *bytes,
                                      tamis__endian endian, uint64_t added, tamis_error *err);

/* TAMIS_E_DAMAGED where the filter stands in a file of ours that is. */
tamis_status tamis__bloom_bits_encode(const tamis_filter *filter, const tamis__emitter *out,
                                      tamis__endian endian, tamis_error *err);

#endif

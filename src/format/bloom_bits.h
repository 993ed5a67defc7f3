/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FORMAT_BLOOM_BITS_H
#define TAMIS_FORMAT_BLOOM_BITS_H

#include <tamis/file.h>

#include "filter/filter_int.h"
#include "format/format.h"

/*
 * The words of a Bloom filter in files of other programs: one word of 64 bits after the other, in one byte
 * order. Bit i of the filter is bit i modulo 64 of word i / 64, for all of them:
 *
 *     filter    bit 0 ... 63 | bit 64 ... 127 | ...
 *     DCSO      word 0, LE   | word 1, LE     | ...      little-endian: bit 0 is in the first byte
 *     Guava     word 0, BE   | word 1, BE     | ...      big-endian: bit 0 is in the eighth byte
 *
 * So a file is converted word by word. Such filters are always copied to memory of their own. Their words
 * begin at offset 6 or 48 of the file, and those of Guava have the wrong byte order for lookups.
 */

typedef enum tamis__endian { TAMIS__LITTLE_ENDIAN, TAMIS__BIG_ENDIAN } tamis__endian;

/* The words of a filter in a file. */
typedef struct tamis__file_words {
    const uint8_t *bytes;
    tamis__endian endian;
} tamis__file_words;

/* Makes a filter of kind classic by `plan`, with these words. The caller has checked that all words of
 * plan->bits are there, and then calls tamis__bloom_filled. The filter allows more than its capacity, as
 * the other program does, only if the plan promises no rate. */
tamis_status tamis__bloom_bits_decode(tamis_filter **filter, const tamis_plan *plan,
                                      const tamis_open_options *options, tamis__file_words from,
                                      tamis_error *err);

/* Emits the words of a filter. TAMIS_E_DAMAGED: the filter is in a file of ours, which is damaged. */
tamis_status tamis__bloom_bits_encode(const tamis_filter *filter, const tamis__emitter *out,
                                      tamis__endian endian, tamis_error *err);

#endif

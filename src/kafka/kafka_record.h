/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_KAFKA_KAFKA_RECORD_H
#define TAMIS_KAFKA_KAFKA_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/hash.h>

#include "hash/xxh3.h"

/* A state record: the value of a record of the state topic. kafka_record.c has the layout. */

enum {
    TAMIS__KAFKA_RECORD_HASHES = 32768,    /* most hashes of a record: 204 KiB, or 460 KiB of whole digests */
    TAMIS__KAFKA_RECORD_DESCRIPTION = 2048 /* most bytes of a description */
};

typedef struct tamis__kafka_record {
    uint32_t partition;
    bool begins;             /* the first record of the chain */
    bool timed;              /* with a window: the hashes have times */
    unsigned bits;           /* bits of a hash: 48 or 64 (tamis__kafka_short_hash), or 128 */
    uint64_t from, to;       /* input offsets: the records from `from` to `to` - 1 are answered */
    int64_t newest;          /* largest time of all records before `to`; -1: none, or no window */
    uint64_t needed;         /* state offset: records of the chain below it are not needed any more */
    uint64_t bytes_before;   /* of all records of the chain before this one, for reports alone */
    const char *description; /* what keys are, without a zero byte at its end */
    size_t description_size;
    size_t count;  /* number of hashes */
    uint64_t step; /* with times: they are stored in whole steps of so many milliseconds */
    /* In a decoded record. */
    size_t size;                               /* bytes of the record */
    int64_t first;                             /* time at which the step of the earliest key begins */
    unsigned width;                            /* bits of the number of steps from `first` to a key */
    const uint8_t *words, *low, *high, *steps; /* kafka_record.c has the layout */
    size_t left;                               /* hashes that tamis__kafka_record_read has not read yet */
    size_t bit;                                /* bit of `high` from which the next one is found */
} tamis__kafka_record;

/* Returns the hash that stands for these 64 bits of a digest; in a hash of 48 bits, the last 16 are 0. Its
 * other word is computed from them, so that filters can use it like a whole one. */
static inline tamis_hash tamis__kafka_short_hash(uint64_t bits, uint64_t hasher_id) {
    return (tamis_hash){.word = {tamis__xxh64_avalanche(bits), bits}, .hasher_id = hasher_id};
}

/* Returns the size of a record. `width` is that of the numbers of steps, and -1 without times. */
size_t tamis__kafka_record_size(size_t description_size, size_t count, unsigned bits, int width);
/* Returns the largest size of a record with a description of this size and this number of hashes. */
size_t tamis__kafka_record_size_max(size_t description_size, size_t count);

/* Encodes *record, and `record->count` hashes and times, and returns the number of bytes. `bytes` has
 * tamis__kafka_record_size_max bytes. Unless `record->bits` is 128, the hashes are short ones. `times` and
 * `record->step` are not used if the record is not timed. */
size_t tamis__kafka_record_encode(uint8_t *bytes, const tamis__kafka_record *record, const tamis_hash *hashes,
                                  const int64_t *times);

/* Decodes and checks a record. Returns NULL, or the reason why the bytes are not a record: a phrase for "the
 * state record at offset 7 ...". *record is unchanged then. Its pointers point into `bytes`. */
const char *tamis__kafka_record_decode(tamis__kafka_record *record, const void *bytes, size_t size);

/* Reads the next hashes of a decoded record, at most `max`, and the times at which their steps begin; without
 * times, all are 0. Returns their number. They do not come in the order in which they were encoded. */
size_t tamis__kafka_record_read(tamis__kafka_record *record, size_t max, uint64_t hasher_id,
                                tamis_hash *hashes, int64_t *times);

#endif

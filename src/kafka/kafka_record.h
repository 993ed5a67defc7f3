/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_KAFKA_KAFKA_RECORD_H
#define TAMIS_KAFKA_KAFKA_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/hash.h>

/* The value of a record of the state topic. kafka_record.c has the layout. */

enum {
    TAMIS__KAFKA_RECORD_HASHES = 32768,    /* most hashes of a record: half a MiB */
    TAMIS__KAFKA_RECORD_DESCRIPTION = 2048 /* most bytes of a description */
};

typedef struct tamis__kafka_record {
    uint32_t partition;
    bool begins;             /* the first one of the chain */
    bool timed;              /* of a window: the hashes have times */
    uint64_t from, to;       /* input offsets: the records from `from` to `to` - 1 are answered */
    int64_t newest;          /* largest time of all records before `to`; -1: none, or no window */
    uint64_t needed;         /* state offset: records of the chain below it are not needed any more */
    const char *description; /* what keys are, without a zero byte at its end */
    size_t description_size;
    const uint8_t *hashes; /* encoded hashes and times; set by the decoder */
    size_t count;          /* number of hashes */
} tamis__kafka_record;

/* Returns the bytes of a record with this description and number of hashes. */
size_t tamis__kafka_record_size(size_t description_size, size_t count, bool timed);

/* Encodes *record, and `record->count` hashes and times. `bytes` has tamis__kafka_record_size bytes. `times` is
 * not used if the record is not timed. */
void tamis__kafka_record_encode(uint8_t *bytes, const tamis__kafka_record *record, const tamis_hash *hashes,
                                const int64_t *times);

/* Decodes and checks a record. Returns NULL, or the reason why the bytes are no record: a phrase for "the
 * state record at offset 7 ...". *record is unchanged then. Its pointers point into `bytes`. */
const char *tamis__kafka_record_decode(tamis__kafka_record *record, const void *bytes, size_t size);

/* Copies hashes `first` to `first` + `count` - 1 of a decoded record, and their times; without times, all are 0. */
void tamis__kafka_record_keys(const tamis__kafka_record *record, size_t first, size_t count,
                              uint64_t hasher_id, tamis_hash *hashes, int64_t *times);

#endif

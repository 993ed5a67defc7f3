/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_KEYS_H
#define TAMIS_STREAM_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include <tamis/stream.h>

#include "base/failure.h"
#include "base/memory.h"
#include "stream/reader.h"

/*
 * Which records of a batch are asked, and by what key:
 *
 *     records   r0   r1   r2   r3          fates  FRESH  MISSING  SEEN  ...
 *     found     key  none key  bad                  ^               ^
 *     keys      k0        k1               answers  a0              a1        dense: what the service sees
 *     of        0         2
 */

/* What became of a record: a tamis_answer, or that it was not asked. */
enum { TAMIS__FATE_MISSING = TAMIS_UNKNOWN + 1, TAMIS__FATE_MALFORMED };

/* The malformed record that is told of a run that goes on. */
typedef struct tamis__first_malformed {
    tamis_error *told; /* NULL: nobody asks, or it has what it keeps */
    bool filled;       /* it has one, which one with an open quote replaces */
} tamis__first_malformed;

typedef struct tamis__keys {
    tamis_extractor *extractor; /* borrowed; NULL: a record is its key, and there are no arrays but fates */
    tamis_stream_policy missing, malformed;
    tamis__first_malformed *first; /* of the run */
    uint8_t terminator;            /* '\n': records are lines to a person */
    bool objects;                  /* records are JSON objects, or malformed */
    tamis_allocator memory;
    size_t room; /* of each array */
    tamis_extraction *found;
    tamis_key *keys;
    uint32_t *of;
    tamis_answer *answers;
    uint8_t *fates;
} tamis__keys;

/* What is to be asked of a batch. */
typedef struct tamis__question {
    const tamis_key *keys;
    const uint32_t *of; /* as in tamis_stream_origin */
    size_t count;
    size_t records; /* of the batch, that the keys are of, and those between and behind that have none */
    tamis_answer *answers;
} tamis__question;

/* The extractor, policies, terminator and memory are set. After a failure release is fine. */
tamis_status tamis__keys_init(tamis__keys *keys, size_t room, tamis_error *err);
void tamis__keys_release(tamis__keys *keys);

/*
 * The keys of the batch. `ends` is TAMIS_OK, or TAMIS_E_RECORD or TAMIS_E_KEYLESS with its sentence in *why (never NULL)
 * where a record that has none ends the run, which is when those before it, of `question`, are answered. Errors of
 * tamis_extractor_take.
 */
tamis_status tamis__keys_take(tamis__keys *keys, const tamis__batch *batch, tamis__question *question,
                              tamis_status *ends, tamis_error *why, tamis_error *err);

/* When the first `done` keys are answered: how many records that settles, whose fates are set. */
size_t tamis__keys_settle(tamis__keys *keys, const tamis__batch *batch, const tamis__question *question,
                          size_t done);

#endif

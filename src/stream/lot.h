/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_LOT_H
#define TAMIS_STREAM_LOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/stream.h>

#include "stream/keys.h"
#include "stream/reader.h"

/*
 * What of a run travels through its stages together: a batch of records, and what is known of it so far.
 *
 *     read: batch    key: keys, question, hashes    ask: answered, enough    write: fates
 */
typedef struct tamis__lot {
    tamis_key *records; /* room for those of a batch */
    tamis__batch batch;
    size_t input;        /* number of the one it is of */
    size_t opened;       /* inputs that were, when it was read */
    uint64_t bytes_read; /* and bytes of them */
    tamis__keys keys;
    tamis__question question;
    tamis_hash *hashes; /* of the question; NULL: the service asks for none */
    size_t answered;    /* keys of the question */
    bool enough;        /* the service has that, when it has answered these */
    tamis_status
        ends; /* that of a record behind those of the question, which ends the run: see tamis__keys_take, */
    tamis_error why;     /* and its sentence */
    tamis_status status; /* what went wrong with the lot itself, */
    tamis_error err;     /* and the sentence of that */
    bool copied;         /* its extractor is the lot's own */
    bool timed;          /* and this is counted, of all batches that it was: */
    uint64_t extracting, hashing, asking;
} tamis__lot;

/* A zeroed lot of up to `room` records, like `keys` (with its extractor, which is the lot's own where `copies`). Release,
 * which leaves it zeroed, is fine after a failure and twice. TAMIS_E_NOMEM. */
tamis_status tamis__lot_init(tamis__lot *lot, const tamis__keys *keys, bool hashed, bool copies, size_t room,
                             tamis_error *err);
void tamis__lot_release(tamis__lot *lot);

/* What is to be asked, and its hashes. */
void tamis__lot_key(tamis__lot *lot, const tamis_stream_service *service);

/* Asks it; false: no lot behind this one is to be asked. */
bool tamis__lot_ask(tamis__lot *lot, const tamis_stream_service *service);

/* The fates of its records; returns how many are settled. */
size_t tamis__lot_settle(tamis__lot *lot);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_LOT_H
#define TAMIS_STREAM_LOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/stream.h>

#include "stream/keys.h"
#include "stream/reader.h"

/* What became of a part. */
typedef struct tamis__lot_part {
    size_t done; /* all of its keys below this number are answered */
    tamis_status status;
    tamis_error err;
    uint64_t asking;
} tamis__lot_part;

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
    uint64_t bytes_read; /* and bytes of them, */
    uint64_t bytes_done; /* those of them that are in this batch and in front of it */
    tamis__keys keys;
    tamis__question question;
    tamis_hash *hashes;         /* of the question; NULL: the service asks for none */
    tamis__lot_part *part;      /* room for most_parts, where those are more than 1 */
    uint32_t most_parts, parts; /* that there may be, and are; 1: asked whole */
    size_t answered;            /* keys of the question */
    bool enough;                /* the service has that, when it has answered these */
    tamis_status
        ends; /* that of a record behind those of the question, which ends the run: see tamis__keys_take, */
    tamis_error why;     /* and its sentence */
    tamis_status status; /* what went wrong with the lot itself, */
    tamis_error err;     /* and the sentence of that */
    bool copied;         /* its extractor is the lot's own */
    bool timed;          /* and this is counted, of all batches that it was: */
    uint64_t extracting, hashing, asking;
} tamis__lot;

/* How lots are made. */
typedef struct tamis__lot_setup {
    tamis__keys keys; /* of each, whose extractor is shared by none */
    size_t room;      /* records */
    bool hashed, timed;
    uint32_t most_parts; /* that one is asked in */
} tamis__lot_setup;

/* `count` of them; where memory does for one and not for all, *made is 1. TAMIS_E_NOMEM. */
tamis_status tamis__lots_make(tamis__lot **lots, size_t count, const tamis__lot_setup *setup, size_t *made,
                              tamis_error *err);
/* Of an array of `count`, NULL is fine. */
void tamis__lots_free(tamis__lot *lots, size_t count, const tamis_allocator *memory);

/* What is to be asked, and its hashes. */
void tamis__lot_key(tamis__lot *lot, const tamis_stream_service *service);

/* In how many parts it is to be asked: of more than one, each by tamis__lot_ask_part, from any thread, before it is ended
 * by tamis__lot_ask. */
size_t tamis__lot_divide(tamis__lot *lot, const tamis_stream_service *service);
void tamis__lot_ask_part(tamis__lot *lot, const tamis_stream_service *service, size_t part);

/* Asks it, or ends what was asked in parts; false: no lot behind this one is to be asked. */
bool tamis__lot_ask(tamis__lot *lot, const tamis_stream_service *service);

/* Nanoseconds in all its batches, where it is timed. */
typedef struct tamis__lot_times {
    uint64_t extracting, hashing, asking;
} tamis__lot_times;
tamis__lot_times tamis__lot_times_of(const tamis__lot *lot);

/* The fates of its records; returns how many are settled. */
size_t tamis__lot_settle(tamis__lot *lot);

#endif

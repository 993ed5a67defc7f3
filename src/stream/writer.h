/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_WRITER_H
#define TAMIS_STREAM_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "store/aside.h"
#include "store/identity.h"
#include "store/place.h"
#include "stream/pack.h"
#include "stream/tail.h"
#include "stream/watch.h"

/* An ordered, buffered output, packed where that is wanted. All calls on a writer of no place do nothing. */
typedef struct tamis__writer {
    tamis__watch *watch;
    const tamis__place *place; /* borrowed; NULL: not open */
    tamis_allocator memory;
    tamis__aside aside; /* places REPLACE and NEW */
    int fd;
    tamis__pack_want packing; /* packing NONE: as it is */
    tamis__pack *pack;        /* of a packed one */
    unsigned char *buffer;    /* of what was put: in front of `pack` */
    size_t capacity;
    size_t used;
    uint64_t written;             /* bytes the system has taken, packed ones */
    uint64_t sent;                /* of them, of one that is durable, on their way to the disk */
    uint64_t flushed_at;          /* tamis__now_ns */
    tamis__tail *tail;            /* NULL, or compared with the bytes written; borrowed */
    tamis__identity_front *front; /* NULL, or gets what the system has taken first; borrowed */
    uint64_t records;             /* records with keys that were put; counted by the router */
    uint64_t flushed_records;     /* `records` at the last flush of a compressed output */
    uint64_t lost_ends;           /* terminators of records that were put but not written */
    uint64_t *time;               /* of packing, writing and syncing, see clock.h */
    unsigned char terminator;
    bool durable;         /* a regular file is to outlive a power loss */
    bool in_pack;         /* of a packed one: something was put since its last commit */
    bool owes_terminator; /* the last record has none: it gets one if another follows */
    bool has_header;      /* what stands in front of records is in it, of an earlier run */
    bool stopping;        /* the run is to stop: what is in hand goes out, but not for ever */
    bool failed;          /* nothing more is written */
    bool ended;           /* nothing more is put */
} tamis__writer;

enum { TAMIS__STOP_GRACE_MS = 1000 }; /* how long a stopped run waits for its reader to take anything */

/* Sets how a zeroed writer packs what it is given, before it is opened: `packing`, or, where that is -1, what the end of
 * the output's name (NULL: nowhere) tells, at a level that may be 0. Looks and creates nothing. TAMIS_E_INVALID,
 * TAMIS_E_UNSUPPORTED, TAMIS_E_RANGE as tamis__pack_check. */
tamis_status tamis__writer_set_packing(tamis__writer *writer, int packing, int level, const char *name,
                                       tamis_error *err);

/* Opens the place (creates the file aside) of a writer that is zeroed but for its memory, time, front, terminator, durable
 * and packing, and, of one that goes on behind another, `written` and owes_terminator, with a buffer of `capacity` bytes, at least 1. The place and the watch are borrowed. After a failure abandon is
 * fine and has nothing to do. */
tamis_status tamis__writer_open(tamis__writer *writer, const tamis__place *place, size_t capacity,
                                tamis__watch *watch, tamis_error *err);

/* Takes whole records. With `unterminated` the last one lacks its terminator. */
tamis_status tamis__writer_put(tamis__writer *writer, const void *data, size_t size, bool unterminated,
                               tamis_error *err);

/* Number of `records` that were written completely, or a lower bound. Call after the last put. */
uint64_t tamis__writer_taken(const tamis__writer *writer);

/* Hands all that was put to the system; of a packed one so that its reader can unpack every record. For who has nothing
 * else to do: each such flush makes a packed output larger. */
tamis_status tamis__writer_flush(tamis__writer *writer, tamis_error *err);

/* The same where the last time is 5 ms ago, of a packed output a second: for who is at work, so that no record waits for
 * ever for others to go out with. */
tamis_status tamis__writer_flush_due(tamis__writer *writer, tamis_error *err);

/* The last flush, whether the run went well or not: what is packed is ended, so that what was written is a whole file.
 * Nothing is put from then on. A second time it does nothing. */
tamis_status tamis__writer_end(tamis__writer *writer, tamis_error *err);

/* All that was put is where it belongs: written, a packed one's file or frame ended, so that what is behind it is another one,
 * and of a durable writer synced. *taken is false where the reader of a pipe has not taken all of it in a second, with nothing
 * wrong, and where the writer has failed before. Of an output that is written directly. */
tamis_status tamis__writer_commit(tamis__writer *writer, bool *taken, tamis_error *err);

/* Whether somebody can see what is flushed before the run ends. */
bool tamis__writer_direct(const tamis__writer *writer);

/* Of a run that was stopped, after its end: whether all that was put is where it belongs, which nothing in a file
 * aside is; of a durable writer, too, synced or taken by its reader. */
bool tamis__writer_settled(tamis__writer *writer, tamis_error *err);

/* Ends, syncs what is to be durable, and closes; a file aside is whole then and waits to be published
 * (writer->aside). */
tamis_status tamis__writer_finish(tamis__writer *writer, tamis_error *err);

/* Frees everything; a file aside that was not published is removed. *err, if it has a text, is told of a
 * file that could not be. Also after finish, also of a zeroed writer. */
void tamis__writer_abandon(tamis__writer *writer, tamis_error *err);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_WRITER_H
#define TAMIS_STREAM_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "store/aside.h"
#include "store/place.h"
#include "stream/watch.h"

/* An ordered, buffered output. All calls on a writer of no place do nothing. */
typedef struct tamis__writer {
    tamis__watch *watch;
    const tamis__place *place; /* borrowed; NULL: not open */
    tamis_allocator memory;
    tamis__aside aside; /* places REPLACE and NEW */
    int fd;
    unsigned char *buffer;
    size_t capacity;
    size_t used;
    uint64_t written; /* bytes the system has taken */
    unsigned char terminator;
    bool durable;         /* a regular file is to outlive a power loss */
    bool owes_terminator; /* the last record has none: it gets one if another follows */
    bool stopping;        /* the run is to stop: what is in hand goes out, but not for ever */
    bool failed;          /* nothing more is written */
} tamis__writer;

enum { TAMIS__STOP_GRACE_MS = 1000 }; /* how long a stopped run waits for its reader to take anything */

/* Opens the place (creates the file aside) of a zeroed writer whose memory, terminator and durable are set, with a
 * buffer of `capacity` bytes, at least 1. The place and the watch are borrowed. After a failure abandon is
 * fine and has nothing to do. */
tamis_status tamis__writer_open(tamis__writer *writer, const tamis__place *place, size_t capacity,
                                tamis__watch *watch, tamis_error *err);

/* Takes whole records. With `unterminated` the last one lacks its terminator. */
tamis_status tamis__writer_put(tamis__writer *writer, const void *data, size_t size, bool unterminated,
                               tamis_error *err);

/* Hands all that was put to the system. */
tamis_status tamis__writer_flush(tamis__writer *writer, tamis_error *err);

/* Whether somebody can see what is flushed before the run ends. */
bool tamis__writer_direct(const tamis__writer *writer);

/* Of a run that was stopped, after the last flush: whether all that was put is where it belongs, which nothing in a file
 * aside is; of a durable writer, too, synced or taken by its reader. */
bool tamis__writer_settled(tamis__writer *writer, tamis_error *err);

/* Flushes, syncs what is to be durable, and closes; a file aside is whole then and waits to be published
 * (writer->aside). */
tamis_status tamis__writer_finish(tamis__writer *writer, tamis_error *err);

/* Frees everything; a file aside that was not published is removed. *err, if it has a text, is told of a
 * file that could not be. Also after finish, also of a zeroed writer. */
void tamis__writer_abandon(tamis__writer *writer, tamis_error *err);

#endif

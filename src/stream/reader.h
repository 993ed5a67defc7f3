/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_READER_H
#define TAMIS_STREAM_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <tamis/key.h>

#include "base/memory.h"
#include "stream/unpack.h"
#include "stream/watch.h"

/*
 * Records of inputs that are read one after the other. Nothing is copied out: a batch is views into the
 * read buffer.
 */
typedef struct tamis__reader_setup {
    const char *const *inputs; /* borrowed while the reader lives */
    size_t input_count;        /* 0: standard input */
    uint64_t max_record;
    size_t read_size;  /* bytes a buffer has at first, at least 1 */
    size_t batch_size; /* records of a batch, at most; at least 1 */
    size_t batches;    /* that are handed out at once, at most; at least 1 */
    unsigned char terminator;
    bool follow;             /* the last input, see tamis_stream_run */
    bool header;             /* the first record of each input is none to a person who counts */
    bool passes_mark;        /* a byte order mark in front of an input is in no record */
    bool csv;                /* terminators within quotes end no record */
    unsigned char delimiter; /* of it */
    bool leaves_partial;     /* a last record without terminator, of a regular, plain file */
    /* NULL, or of each input where it begins, as an earlier reader has left it; borrowed. */
    const struct tamis__reader_from {
        bool passed; /* it is not opened at all */
        uint64_t
            offset; /* bytes of it that are passed over, unpacked: whole records; an input that is no regular
                            file is read from where it is */
        uint64_t records, lines; /* in them, a header too; of CSV, line ends */
    } * from;
    /* NULL, or told of each input that was opened, before anything of it is read; what it fails with ends the reading */
    tamis_status (*opened)(void *context, size_t input, int fd, const struct stat *about, tamis_error *err);
    /* NULL, or told of a byte order mark that was passed over, so many bytes at the beginning of that input */
    void (*marked)(void *context, size_t input, uint64_t bytes);
    /* NULL, or told of an input whose last record has no terminator and is left: it is in no batch */
    void (*partial)(void *context, size_t input);
    void *context; /* of all */
    /* NULL, or counts bytes as they stand in the inputs, packed or not; those in front of `from` were counted before */
    uint64_t *bytes_read;
    uint64_t *read_time; /* see clock.h */
    uint64_t *split_time;
} tamis__reader_setup;

/* What batches are views into. */
typedef struct tamis__read_buffer {
    unsigned char *bytes; /* NULL: none now */
    size_t capacity;
    size_t batches; /* that have views into it */
} tamis__read_buffer;

/* Records that stand one behind the other in the buffer, each with its terminator between it and the
 * next: record i with its terminator reaches from keys[i].data to keys[i + 1].data, the first from `begin`
 * and the last to `end`. Valid until it is given back. */
typedef struct tamis__batch {
    tamis__read_buffer *buffer;
    tamis_key *keys;
    size_t count;
    const char *input; /* its name, for a person */
    uint64_t first;    /* number of the first one in its input, from 1 */
    uint64_t line;     /* and of its first line, where records end with one */
    uint64_t offset;   /* of `begin` in it */
    const unsigned char *begin, *end;
    bool marked;       /* in front of it, at the beginning of its input, stands a byte order mark */
    bool shortened;    /* its input is the file that was followed, made shorter and begun anew */
    bool unterminated; /* the last one has no terminator: it ended with its file */
} tamis__batch;

typedef enum tamis__reader_event {
    TAMIS__READER_RECORDS, /* the batch has at least one */
    /* No whole record is left and the input would block, or is followed and at its end: flush, then wait. */
    TAMIS__READER_IDLE,
    TAMIS__READER_END /* all inputs are at their end */
} tamis__reader_event;

typedef struct tamis__reader {
    tamis__reader_setup setup;
    tamis__watch *watch;
    tamis_allocator memory;
    tamis__read_buffer *buffers; /* one more than batches that are handed out at once */
    tamis__read_buffer *into;    /* the one that is read into, */
    size_t room;                 /* bytes of it, of those there are; what is next of it: */
    size_t start;                /* the first record not handed out, */
    size_t scan;                 /* what no terminator stands before, */
    size_t end;                  /* and the end of what was read */
    size_t next_input;           /* index of the one to open next */
    int fd;                      /* the open one; -1: none */
    tamis__unpack *unpack;       /* of the open one; NULL: it is plain */
    bool marked;                 /* a byte order mark was passed over in it */
    bool undecided;              /* too little of it is there to tell */
    bool borrowed;               /* fd was open before us and stays so */
    bool may_block;              /* not a regular file */
    bool waiting;                /* at the end of the file that is followed */
    bool shortened;              /* it was read before, and made shorter since */
    bool replaced; /* another file has taken its name: this one is read to its end, then that one */
    dev_t device;  /* what file it is, to tell another */
    ino_t inode;
    bool behind;      /* what stands in front of setup.from is still to be passed over */
    off_t base;       /* where in its file the input begins: it may be a descriptor that was read before */
    const char *name; /* of the open one, for a person */
    uint64_t file_offset;  /* of `start` in it, unpacked */
    uint64_t file_records; /* handed out of it */
    uint64_t file_counted; /* those of them that a person counts */
    uint64_t file_lines;   /* of CSV: line ends in what was handed out */
    uint8_t csv_place;     /* of CSV: what is known at `scan`, see tamis__split_csv */
} tamis__reader;

/* Takes memory, opens nothing. `watch` is borrowed. Release follows in any case, after a failure too. */
tamis_status tamis__reader_init(tamis__reader *reader, const tamis__reader_setup *setup, tamis__watch *watch,
                                const tamis_allocator *memory, tamis_error *err);
void tamis__reader_release(tamis__reader *reader);

/*
 * What comes next; *batch is filled with RECORDS, and its keys are put into `keys`, which has room for batch_size. At most
 * setup.batches are out at once. TAMIS_E_INTERRUPTED between two reads when the run is to stop; TAMIS_E_TOO_LONG,
 * TAMIS_E_IO, TAMIS_E_NOMEM, TAMIS_E_DAMAGED and TAMIS_E_UNSUPPORTED (of packed ones) name the input and the place in it.
 * All whole records before the place of an error were handed out, and no part of one.
 */
tamis_status tamis__reader_next(tamis__reader *reader, tamis_key *keys, tamis__batch *batch,
                                tamis__reader_event *event, tamis_error *err);

/* Takes the batch back, whose views are no longer good. */
void tamis__reader_give_back(tamis__reader *reader, const tamis__batch *batch);

/* Whether so much is handed out that some of it should come back before more is read. */
bool tamis__reader_is_full(const tamis__reader *reader);

/* Bytes that were counted as read and are in no batch yet; of packed ones 0. */
size_t tamis__reader_ahead(const tamis__reader *reader);

/* The number of the input that the last event is of, from 0; at the end that of the last. */
size_t tamis__reader_input(const tamis__reader *reader);

/* After IDLE: returns when there is something to read. */
tamis_status tamis__reader_wait(tamis__reader *reader, tamis_error *err);

#endif

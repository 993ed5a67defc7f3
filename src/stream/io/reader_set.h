/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_IO_READER_SET_H
#define TAMIS_STREAM_IO_READER_SET_H

#include "store/file/target.h"
#include "stream/io/input_pattern.h"
#include "stream/io/reader.h"

/* The readers of a run: one for all inputs, or, if several inputs are followed, one for each. These take
 * turns (reader_set.c) or are merged by time (reader_merge.c). The functions are those of the reader, for
 * all readers together. */
typedef struct tamis__reader_set_setup {
    tamis__reader_setup reader; /* of each reader, with all inputs; `reports` is ignored */
    const char *pattern;        /* NULL, or the inputs are the files that match it; needs `follow` */
    /* NULL, or a pattern whose paths are the inputs; with stops_when_left. Paths of new files are added to
     * it, and end the reading. Borrowed. */
    tamis__input_pattern *watched;
    const tamis__target *outputs; /* files that match must not be one of them; borrowed */
    size_t output_count;
    /* NULL, or returns the time of a record in milliseconds; INT64_MIN: it has none */
    int64_t (*time_of)(void *context, tamis_key record);
    void *time_context;
    int64_t merge_within; /* milliseconds */
} tamis__reader_set_setup;

enum { TAMIS__MERGED = 256 /* largest number of records in a batch that waits to be merged */ };

/* A reader, and its input if it has only one. */
typedef struct tamis__set_reader {
    tamis__reader reader;
    const char *input;
    tamis__reader_event event; /* its last one, for readers that are merged by time */
    bool is_drained;           /* it had no record in this round */
    tamis__record_batch next;  /* records read and not handed out; count 0: none */
    tamis_key *next_records;   /* views of these records; NULL: readers are not merged */
    bool has_next_time;        /* next_time was found; a header may have to be read first */
    int64_t next_time;         /* time of the first one; INT64_MIN: it has none */
    int64_t last_time;         /* latest time of a record that was handed out; INT64_MIN: none */
    bool is_alias; /* another reader has the same file under another name: this one does not read */
} tamis__set_reader;

typedef struct tamis__reader_set {
    tamis__reader_set_setup setup;
    tamis__set_reader **readers;
    size_t count, capacity;
    size_t current;     /* index of the reader of the last event */
    uint64_t turn_end;  /* offset at which its turn is over; 0: its turn has not begun */
    uint64_t round_end; /* merging: time at which readers without a record are tried again (tamis__now_ns) */
    tamis__change_reports reports;
    tamis__input_pattern pattern; /* pattern NULL: none. Path i is the input of reader i */
    bool has_grown;               /* there are more paths in setup.watched */
    bool awaits_pipe;             /* the reader of the last event waits for a pipe */
    bool reported_no_files;       /* nothing matched the pattern, and that was reported */
    int tries;                    /* failed attempts to read new files that match */
    tamis__poll_loop *loop;
    tamis_allocator memory;
} tamis__reader_set;

tamis_status tamis__reader_set_init(tamis__reader_set *set, const tamis__reader_set_setup *setup,
                                    tamis__poll_loop *loop, const tamis_allocator *memory, tamis_error *err);
/* Also after an error of init, and for a zeroed set. */
void tamis__reader_set_release(tamis__reader_set *set);

/* Opens all inputs. A caller that must find the right files calls it before a record is read. */
tamis_status tamis__reader_set_open(tamis__reader_set *set, tamis_error *err);

/*
 * IDLE: no reader has a whole record. END: no reader will have one. With stops_when_left also END: none has a
 * whole record, and a followed file has lost its name or setup.watched has more paths. Errors:
 * tamis__reader_next.
 */
tamis_status tamis__reader_set_next(tamis__reader_set *set, tamis__record_batch *batch,
                                    tamis__reader_event *event, tamis_error *err);
/* The same for readers that are merged by time: reader_merge.c, for reader_set.c. */
tamis_status tamis__reader_set_next_by_time(tamis__reader_set *set, tamis__record_batch *batch,
                                            tamis__reader_event *event, tamis_error *err);
void tamis__reader_set_give_back(const tamis__record_batch *batch);
bool tamis__reader_set_is_full(const tamis__reader_set *set);
size_t tamis__reader_set_ahead(const tamis__reader_set *set);
/* UINT64_MAX: for one of them it is not known. */
uint64_t tamis__reader_set_bytes_left(const tamis__reader_set *set);
/* Waits after IDLE. No batch may be in use. Begins to read files that match the pattern now. */
tamis_status tamis__reader_set_wait(tamis__reader_set *set, tamis_error *err);

/* Returns the reader of the last event; NULL if no file matches the pattern. */
tamis__reader *tamis__reader_set_current(const tamis__reader_set *set);

#endif

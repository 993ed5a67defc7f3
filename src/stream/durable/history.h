/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_DURABLE_HISTORY_H
#define TAMIS_STREAM_DURABLE_HISTORY_H

#include <stdbool.h>

#include <tamis/experimental/state.h>

#include "stream/durable/checkpoint.h"

/*
 * What a state knows of its runs. A state keeps the checkpoint of its last commit, and the last checkpoint of
 * each earlier run as a note. history.c explains the search.
 */

/* The newest knowledge of an output. */
typedef struct tamis__known_output {
    bool found;
    bool swapped;    /* true if it was the other output of that run: first occurrences or duplicates */
    bool unfinished; /* true if the run that wrote it last had not finished, and may have written more */
    bool owes_terminator, begun;
    tamis__file_fingerprint fingerprint;
    uint64_t header;
    int compression;
    uint64_t tail_offset, tail_size;
    uint64_t form[TAMIS__FORMS]; /* options of the run that wrote it */
    bool copied;                 /* true if known only by content, as a copy of that run's file */
} tamis__known_output;

/* How far an earlier run has read an input of this one. */
typedef struct tamis__earlier_read {
    bool found;
    bool to_same; /* true if that run wrote to the outputs of this one */
    bool whole;   /* true if no byte is unread */
    struct tamis__input_position position;
    tamis__file_fingerprint fingerprint;
    uint64_t form[TAMIS__FORMS]; /* options of that run */
} tamis__earlier_read;

/* An unfinished run that ends when this one begins. Its checkpoint becomes a note, marked `closed`. */
typedef struct tamis__closed_run {
    struct tamis__closed_run *next;
    unsigned char *bytes;
    size_t size;
    bool last;             /* true for the checkpoint of the last commit */
    char remark_text[500]; /* remark about what is given up; "": none */
} tamis__closed_run;

typedef struct tamis__candidates tamis__candidates;

typedef struct tamis__history {
    /* Set by the caller. */
    const tamis__checkpoint *run;        /* inputs and outputs of the run that begins */
    bool reread;                         /* true to allow inputs that were read or changed */
    bool abandon;                        /* true to give up an unfinished run that this one would cut back */
    const tamis_stream_options *options; /* options for counting the records that are given up */
    /* Results. */
    bool found, last;               /* a checkpoint of this run was found; it is that of the last commit */
    tamis__checkpoint before;       /* the checkpoint found */
    tamis__known_output outputs[2]; /* newest knowledge of each output */
    tamis__earlier_read *inputs;    /* what newer runs have read of each input */
    bool any_before;                /* true if one of `inputs` was read before */
    tamis__closed_run *closed_runs; /* unfinished runs that end when this one begins */
    tamis__checkpoint blocked;      /* the unfinished run that made the search fail; inputs NULL: none */
    tamis__checkpoint reader;       /* the unfinished run that `reader_text` is about; inputs NULL: none */
    char reader_text[sizeof((tamis_error *)0)->text]; /* error: an unfinished run has read an input */
    bool keep_reader;                                 /* true if the current checkpoint becomes `reader` */
    char rotated[500];   /* message: an input was rotated away with an unread rest; "": none */
    char beside[500];    /* message: another run is unfinished, but not in conflict; "": none */
    tamis_error read_by; /* error naming the run that has read the first known input */
    bool was_read;       /* true if the search failed because an input was read or has changed */
    bool changed;        /* true if an input has changed, which ends the search */
    /* State of the search. */
    tamis__candidates *candidates; /* heads of the run's inputs and outputs */
    bool had_row;                  /* true after a checkpoint with these outputs and as many inputs */
    bool had_names;                /* true after a checkpoint with these outputs and these input names */
    uint64_t *keys;                /* tamis__checkpoint_run_key of each checkpoint so far */
    size_t key_count, key_capacity;
} tamis__history;

/* Frees what the search found, except fields that the caller has moved out. Also allowed after a failure. */
void tamis__history_release(tamis__history *history);

/* Searches for the newest checkpoint of the run. Also finds what other runs have read of its inputs.
 * - TAMIS_E_CHANGED, with was_read set, unless `reread`: an input changed where it was read, or the last run
 *   with these names had not ended and its input is gone.
 * - TAMIS_E_INVALID, with was_read set, unless `reread`: a run with other outputs has read an input in part.
 * - TAMIS_E_INVALID, with `blocked` set: an unfinished run could not be finished any more. */
tamis_status tamis__history_search(tamis__history *history, const tamis_state *state, tamis_error *err);

/* Opens an input if it is a regular file; otherwise *fd is -1. If *borrowed, the descriptor is the
 * caller's: do not close it, and the input begins at its current position *base. */
tamis_status tamis__input_open_regular(const char *name, int *fd, bool *borrowed, off_t *base, uint64_t *size,
                                       tamis_error *err);

#endif

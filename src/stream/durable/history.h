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

/* What the newest checkpoint with an output says of it. */
typedef struct tamis__known_output {
    bool found;
    bool swapped;    /* true if it was the other output of that run: first occurrences or duplicates */
    bool unfinished; /* true if the run that wrote it last had not finished, and may have written more */
    bool owes_terminator, header_done;
    tamis__file_fingerprint fingerprint;
    uint64_t header;
    int compression;
    uint64_t uncommitted_offset, uncommitted_size;
    uint64_t form[TAMIS__FORMS]; /* options of the run that wrote it */
    bool copied;                 /* true if known only by content, as a copy of that run's file */
    bool is_copy;                /* `copied`, or that run knew already that its file was a copy */
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

/* Message about inputs that were rotated away or replaced before all their bytes were read. */
typedef struct tamis__unread_report {
    char text[500]; /* about the first of them; "": none */
    size_t others;  /* number of the others */
} tamis__unread_report;

/* What a search has found. */
typedef struct tamis__history {
    bool found, last;               /* a checkpoint of this run was found; it belongs to the last commit */
    tamis__checkpoint before;       /* the checkpoint found */
    tamis__known_output outputs[2]; /* what the newest checkpoint says of each output */
    tamis__earlier_read *inputs;    /* what newer runs have read of each input */
    size_t input_count;             /* size of `inputs` */
    bool any_before;                /* true if one of `inputs` was read before */
    tamis_error read_by;            /* error naming the first run found that wrote to other outputs */
    tamis__closed_run *closed_runs; /* unfinished runs that end when this one begins */
    tamis__unread_report rotated;   /* inputs of other runs, if no checkpoint of this run was found */
    tamis__unread_report unread;    /* inputs of this run that it had not begun to read, if it was found */
    char read_on_text[600];         /* message: a followed input is read on for other outputs; "": none */
    char beside[500];               /* message: another run is unfinished, but not in conflict; "": none */
    /* If the run is refused. */
    bool was_read;               /* true if an input was read or has changed */
    tamis__checkpoint blocking;  /* the unfinished run that is in the way; inputs NULL: none */
    tamis__checkpoint other_run; /* the unfinished run that `other_run_text` is about; inputs NULL: none */
    char other_run_text[sizeof((tamis_error *)0)->text]; /* error: an unfinished run has read an input */
    tamis_allocator memory;
} tamis__history;

/* Searches for the newest checkpoint of the run, whose inputs and outputs are those of `run`. Also finds
 * what other runs have read of its inputs. *history must be zeroed; release it even after a failure.
 * - TAMIS_E_CHANGED, with was_read set, unless commits.reread: an input changed where it was read.
 * - TAMIS_E_INVALID, with was_read set, unless commits.reread: a run with other outputs has read an input in
 *   part.
 * - TAMIS_E_INVALID, with `blocking` set: this run would make an unfinished run impossible to finish.
 *   was_read is set if commits.reread would read its rest. */
tamis_status tamis__history_search(tamis__history *history, const tamis__checkpoint *run,
                                   const tamis_stream_options *options, const tamis_state *state,
                                   tamis_error *err);
/* Frees what the search found, except fields that the caller has moved out. Does nothing if there was no
 * search. */
void tamis__history_release(tamis__history *history);

#endif

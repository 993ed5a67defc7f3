/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_DURABLE_HISTORY_H
#define TAMIS_STREAM_DURABLE_HISTORY_H

#include <stdbool.h>

#include <tamis/state.h>

#include "stream/durable/checkpoint.h"

/* What a state knows of its runs: the account of its last commit, and, as notes, the last account of each run before. */

/* The last that is known of the output of a run. */
typedef struct tamis__known_output {
    bool found;
    bool
        swapped; /* it has the repeats of a run, and is to have the firsts of this one, or the other way round */
    bool unfinished; /* the run that wrote it last had not ended, and may have written more */
    bool owes_terminator, begun;
    tamis__file_fingerprint fingerprint;
    uint64_t header;
    int compression;
    uint64_t tail_offset, tail_size;
    uint64_t form[TAMIS__FORMS]; /* of the run that wrote it */
    bool copied;                 /* known only by content: a copy of the file of that run */
} tamis__known_output;

/* How far an earlier run has read an input of this one. */
typedef struct tamis__earlier_read {
    bool found;
    bool to_same; /* that run wrote to the outputs of this one */
    bool whole;   /* nothing is left of it */
    struct tamis__input_position position;
    tamis__file_fingerprint fingerprint;
    uint64_t form[TAMIS__FORMS]; /* of that run */
} tamis__earlier_read;

/* An unfinished run that ends when this one begins. Its checkpoint becomes a note, marked `closed`. */
typedef struct tamis__closed_run {
    struct tamis__closed_run *next;
    unsigned char *bytes;
    size_t size;
    bool last;             /* it is the account of the last commit */
    char remark_text[500]; /* message for people; "": none */
} tamis__closed_run;

typedef struct tamis__candidates tamis__candidates;

typedef struct tamis__history {
    const tamis__checkpoint *run; /* whose inputs and outputs are looked for; its identities do not matter */
    bool reread;                  /* inputs that were read before do not matter either */
    bool abandon;                 /* give up an unfinished run that this one would cut back */
    const tamis_stream_options *options; /* options for counting the records that are given up */
    /* ---- found: ---- */
    bool found, last;         /* the run was here before; and is that of the last commit */
    tamis__checkpoint before; /* its account then, to be released */
    tamis__known_output outputs[2];
    tamis__earlier_read
        *inputs;     /* of each input, where `found` is false: released by tamis__history_release */
    bool any_before; /* one of them was read before */
    tamis__closed_run *closed_runs;
    tamis__checkpoint blocked; /* the unfinished run that made the search fail; inputs NULL: none */
    tamis__checkpoint
        reader; /* the unfinished run that has read an input, if the search says `reader_text` of it */
    char reader_text[sizeof((tamis_error *)0)->text];
    bool keep_reader;    /* the account that is looked at is to become `reader` */
    char rotated[500];   /* message: an input was rotated away with an unread rest; "": none */
    char beside[500];    /* message: another run is unfinished, but not in conflict; "": none */
    tamis_error read_by; /* error naming the run that has read the first known input */
    bool was_read;       /* why it failed */
    bool changed;        /* and nothing older speaks for it */
    /* ---- meanwhile: ---- */
    tamis__candidates *candidates; /* of the run's inputs */
    bool had_row;                  /* an account with as many inputs and these outputs was looked at */
    bool had_names;                /* and one with these names of inputs, too */
    uint64_t *keys;                /* hashes of the names of inputs and outputs of each account so far */
    size_t key_count, key_capacity;
} tamis__history;

/* Frees what the search found, except fields that the caller has moved out. Also allowed after a failure. */
void tamis__history_release(tamis__history *history);

/* Looks for the account of the run. If there is none, looks for what other runs have read of its inputs.
 * - TAMIS_E_CHANGED, with was_read set, unless `again`: an input changed where it was read, or the last run with these names
 *   had not ended and its input is gone.
 * - TAMIS_E_INVALID, with was_read set, unless `again`: another run has read an input.
 * - TAMIS_E_INVALID, with `blocked` set: an unfinished run could not be finished any more. */
tamis_status tamis__history_search(tamis__history *history, const tamis_state *state, tamis_error *err);

/* Opens the input if it is a regular file. *fd is -1 if it is none; *borrowed: it is not to be closed, and begins at *base. */
tamis_status tamis__input_open_regular(const char *name, int *fd, bool *borrowed, off_t *base, uint64_t *size,
                                       tamis_error *err);

#endif

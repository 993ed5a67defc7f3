/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_HISTORY_H
#define TAMIS_STREAM_HISTORY_H

#include <stdbool.h>

#include <tamis/state.h>

#include "stream/account.h"

/* What a state knows of its runs: the account of its last commit, and, as notes, the last account of each run before. */

/* The last that is known of the output of a run. */
typedef struct tamis__known_output {
    bool found;
    bool
        swapped; /* it has the repeats of a run, and is to have the firsts of this one, or the other way round */
    bool unfinished; /* the run that wrote it last had not ended, and may have written more */
    bool owes_terminator, begun;
    tamis__identity as;
    uint64_t header;
    int packing;
    uint64_t tail_at, tail_size;
    uint64_t form[TAMIS__FORMS]; /* of the run that wrote it */
    bool copied;                 /* it is known by its content alone, as a copy of the file of that run */
} tamis__known_output;

/* How far an earlier run has read an input of this one. */
typedef struct tamis__read_before {
    bool found;
    bool to_same; /* that run wrote to the outputs of this one */
    bool whole;   /* nothing is left of it */
    struct tamis__account_place at;
    tamis__identity as;
    uint64_t form[TAMIS__FORMS]; /* of that run */
} tamis__read_before;

/* An unfinished run that ends with this one: its account, marked so, becomes a note. */
typedef struct tamis__left_run {
    struct tamis__left_run *next;
    unsigned char *bytes;
    size_t size;
    bool last;      /* it is the account of the last commit */
    char said[500]; /* what a person is told of it; "": nothing */
} tamis__left_run;

typedef struct tamis__looks tamis__looks;

typedef struct tamis__history {
    const tamis__account *run; /* whose inputs and outputs are looked for; its identities do not matter */
    bool again;                /* inputs that were read before do not matter either */
    bool abandon;              /* an unfinished run in the way is given up */
    const tamis_stream_options *options; /* how records are counted that are given up */
    /* ---- found: ---- */
    bool found, last;      /* the run was here before; and is that of the last commit */
    tamis__account before; /* its account then, to be released */
    tamis__known_output outputs[2];
    tamis__read_before
        *inputs;     /* of each input, where `found` is false: released by tamis__history_release */
    bool any_before; /* one of them was read before */
    tamis__left_run *left;
    tamis__account
        blocked; /* the unfinished run for which the search failed: inputs is NULL where there is none */
    tamis__account
        reader; /* the unfinished run that has read an input, if the search says `reader_text` of it */
    char reader_text[sizeof((tamis_error *)0)->text];
    bool keep_reader;  /* the account that is looked at is to become `reader` */
    char rotated[500]; /* an input that has another file's name, whose rest was not read; "": there is none */
    char beside[500];  /* an unfinished run that is not in the way, for a person; "": there is none */
    tamis_error read_by; /* says which run has read the first input that was read before */
    bool was_read;       /* why it failed */
    bool changed;        /* and nothing older speaks for it */
    /* ---- meanwhile: ---- */
    tamis__looks *looks; /* of the run's inputs */
    bool had_row;        /* an account with as many inputs and these outputs was looked at */
    bool had_names;      /* and one with these names of inputs, too */
    uint64_t *keys;      /* of inputs and outputs, by name, of each account so far */
    size_t key_count, key_room;
} tamis__history;

/* Frees what the search found, but what was moved out of it. Fine after a failure too. */
void tamis__history_release(tamis__history *history);

/* Looks for the run; if there is none, for what other runs have read of its inputs. TAMIS_E_STALE of an input that changed where it was read, or where the last run with these
 * names had not ended and its input is gone;
 * TAMIS_E_INVALID of one that another run has read: both told by was_read, and only without `again`; and TAMIS_E_INVALID where an
 * unfinished run would be forgotten (`blocked`). */
tamis_status tamis__history_search(tamis__history *history, const tamis_state *state, tamis_error *err);

/* Opens the input if it is a regular file. *fd is -1 if it is none; *borrowed: it is not to be closed, and begins at *base. */
tamis_status tamis__history_open(const char *name, int *fd, bool *borrowed, off_t *base, uint64_t *size,
                                 tamis_error *err);

#endif

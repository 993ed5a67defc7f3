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
    uint64_t form[TAMIS__FORMS]; /* of the run that wrote it */
} tamis__known_output;

typedef struct tamis__looks tamis__looks;

typedef struct tamis__history {
    const tamis__account *run; /* whose inputs and outputs are looked for; its identities do not matter */
    bool again;                /* inputs that were read before do not matter either */
    /* ---- found: ---- */
    bool found, last;      /* the run was here before; and is that of the last commit */
    tamis__account before; /* its account then, to be released */
    tamis__known_output outputs[2];
    bool was_read; /* why it failed */
    bool changed;  /* and nothing older speaks for it */
    /* ---- meanwhile: ---- */
    tamis__looks *looks; /* of the run's inputs */
    bool had_row;        /* an account with as many inputs and these outputs was looked at */
    bool had_names;      /* and one with these names of inputs, too */
} tamis__history;

/* Looks for the run. TAMIS_E_STALE of an input that changed where it was read, or where the last run with these
 * names had not ended and its input is gone;
 * TAMIS_E_INVALID of one that another run has read: both told by was_read, and only without `again`. */
tamis_status tamis__history_search(tamis__history *history, const tamis_state *state, tamis_error *err);

/* Opens the input if it is a regular file. *fd is -1 if it is none; *borrowed: it is not to be closed, and begins at *base. */
tamis_status tamis__history_open(const char *name, int *fd, bool *borrowed, off_t *base, uint64_t *size,
                                 tamis_error *err);

#endif

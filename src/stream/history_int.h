/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_HISTORY_INT_H
#define TAMIS_STREAM_HISTORY_INT_H

/* For history.c, which looks through the accounts of a state, history_files.c, which compares files with them, and
 * history_open.c, which decides about runs that have not finished. */
#include "stream/history.h"

/*
 * Each input is opened once and its head kept; an account has many inputs, a state many accounts, and of nearly all pairs that
 * is enough to tell that they are not the same. Which pairs are looked at is found by what an input has in common with one that
 * is known, if it is that: its name, its inode, or the sum of a whole head.
 */
typedef struct tamis__looked {
    tamis__identity_head head;
    unsigned char *bytes; /* of it */
    bool name_known;      /* a newer account had an input of that name */
    bool once_named;      /* in an account that was looked at its name stands where it does in the run */
    size_t turn;          /* in which it was compared last */
} tamis__looked;

typedef struct tamis__clue {
    uint64_t sum;
    size_t input;
} tamis__clue;

struct tamis__looks {
    tamis__looked *inputs;
    tamis__looked outputs[2]; /* the head of each that is a regular file */
    char copied
        [2]
        [PATH_MAX]; /* the path that an output had where it was copied from; "": it is not known as a copy */
    tamis__clue *clues; /* 3 of each input, in the order of sums */
    size_t count, turn;
};

/* Opens inputs and outputs of the run and keeps their heads; free follows in any case. */
tamis_status tamis__looks_make(tamis__looks *looks, const tamis__account *run, tamis_error *err);
void tamis__looks_free(tamis__looks *looks, const tamis_allocator *memory);

/* How the run's input `i` stands to what an account knows of one. Unless `closely`, one that was changed may pass for another. */
tamis_status tamis__looks_compare(const tamis__history *history, size_t i, const tamis__account_input *known,
                                  bool closely, tamis__likeness *likeness, tamis_error *err);
/* The first of the run's inputs that has been read as this one of an account, SIZE_MAX: none; or, with its head, and was
 * changed behind that: *changed. */
tamis_status tamis__looks_find(tamis__history *history, const tamis__account_input *known, size_t *found,
                               size_t *changed, tamis_error *err);

/* For each input of each account, newer ones first; `there`: it is one of the run's inputs. If it is not, but its name is, the
 * file was rotated away: history->rotated says what of it was not read. */
void tamis__looks_rotated(tamis__history *history, const tamis__account_input *known, bool there);

/* Whether output `i` of the run is the file that an account knows as `known`: by its path; by its inode, where the old path
 * is gone; or, of a copy, by its content (`by_content`). `ended`: the run that wrote it last had finished. */
bool tamis__is_same_output(tamis__history *history, int i, const tamis__account_output *known, bool ended,
                           bool *by_content);
bool tamis__same_outputs(tamis__history *history, const tamis__account *account);

/* The first file that the run wrote, for a sentence. */
const char *tamis__output_of(const tamis__account *account);

/* Decides about an account, newer ones first: an unfinished run that the new one would make impossible to finish is a
 * reason to refuse that one (history->blocked), unless the new run reads its rest too or the caller gives it up
 * (history->left). `is`: the account is that of the run itself. TAMIS_E_NOMEM. */
tamis_status tamis__history_look_open(tamis__history *history, tamis__account *account, bool is, bool last,
                                      tamis_error *err);

/* Whether the run of the account has not finished, and was not given again since. */
bool tamis__history_is_open(const tamis__history *history, const tamis__account *account);

#endif

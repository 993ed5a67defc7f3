/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_DURABLE_HISTORY_INT_H
#define TAMIS_STREAM_DURABLE_HISTORY_INT_H

/* Shared by history.c, which searches the checkpoints of a state, history_candidates.c, which compares
 * files with them, and history_unfinished.c, which decides about unfinished runs. */
#include "stream/durable/history.h"
#include "stream/durable/known_input.h"

/* The head of an input or output of the run. history_candidates.c explains the comparison. */
typedef struct tamis__candidate {
    const tamis__checkpoint_input *input; /* the run's input; NULL for an output */
    tamis__file_head head;
    unsigned char *bytes;  /* bytes of the head, owned */
    bool name_known;       /* true after a checkpoint with an input of that name */
    bool compared_by_name; /* true after a comparison with an input of the same name and index */
    size_t last_lookup;    /* number of the lookup that last compared it */
} tamis__candidate;

typedef struct tamis__clue {
    uint64_t hash; /* of a name, of device and inode, or of a whole head */
    size_t input;  /* index of the input that has it */
} tamis__clue;

typedef struct tamis__candidates {
    tamis__candidate *inputs;
    tamis__candidate outputs[2]; /* the head of each that is a regular file */
    /* path by which the last matching checkpoint knows this output, if it is a copy; "": no known copy */
    char copied[2][PATH_MAX];
    tamis__clue *clues; /* 3 for each input, sorted by hash */
    size_t count;       /* number of inputs */
    size_t lookup;      /* number of the current lookup, from 1 */
} tamis__candidates;

/* A search in progress. */
typedef struct tamis__search {
    const tamis__checkpoint *run;        /* inputs and outputs of the run that begins */
    const tamis_stream_options *options; /* its options, for counting the records that are given up */
    bool reread;                         /* true to allow inputs that were read or changed */
    bool abandon;                        /* true to give up an unfinished run that this one would cut back */
    tamis__history *history;             /* what is found */
    tamis__candidates candidates;        /* heads of the run's inputs and outputs */
    bool compared_in_order; /* true after all inputs were compared with those of one checkpoint */
    bool unfinished;        /* true if the run of the current checkpoint is unfinished */
    bool was_read;          /* true if the error is that an input was read or has changed */
    bool changed;           /* true if an input has changed, which ends the search */
    bool abandoned;         /* true if the rest of the current checkpoint is given up */
    bool keep_as_other_run; /* true if the current checkpoint becomes history->other_run */
    uint64_t *keys;         /* tamis__checkpoint_run_key of each checkpoint so far */
    size_t key_count, key_capacity;
} tamis__search;

/* True if the new run, which follows its input, may read the rest of the checkpoint's run for other outputs.
 * The output files of that run then end at its last commit. */
bool tamis__history_may_read_rest(const tamis__search *search, const tamis__checkpoint *checkpoint);

/* Opens inputs and outputs of the run and keeps their heads. Call tamis__candidates_close even after a
 * failure. */
tamis_status tamis__candidates_open(tamis__candidates *candidates, const tamis__checkpoint *run,
                                    tamis_error *err);
void tamis__candidates_close(tamis__candidates *candidates, const tamis_allocator *memory);

/* Compares an input of the run with an input of a checkpoint. Unless `closely`, a changed file may count as
 * a different one. */
tamis_status tamis__candidate_compare(const tamis__candidate *candidate, const tamis__checkpoint_input *known,
                                      bool closely, tamis__file_match *match, tamis_error *err);
/* *found: index of the run's first input that is this input of a checkpoint; SIZE_MAX: none. *changed: the
 * same for the first input that is this file, but has changed. */
tamis_status tamis__candidates_find(tamis__search *search, const tamis__checkpoint_input *known,
                                    size_t *found, size_t *changed, tamis_error *err);

/* True if an input of the run has the inode of the input of a checkpoint. */
bool tamis__candidate_has_inode(const tamis__candidate *candidate, const tamis__checkpoint_input *known);

/* Call for each input of each checkpoint, newest checkpoint first. `there`: the run has that file among its
 * inputs, unchanged, or another message is about it. If the run has only the name, the file was rotated away
 * or rewritten, and *report says how much of it was not read. */
void tamis__candidates_note_rotation(tamis__search *search, const tamis__checkpoint_input *known, bool there,
                                     tamis__unread_report *report);

/* True if output `i` of the run is the output `known` of a checkpoint. It is found by its path; by its
 * inode, if the old path is gone; or by its content, if it is a copy (`by_content`). `ended`: the run that
 * wrote it last had finished. */
bool tamis__outputs_match_one(tamis__search *search, int i, const tamis__checkpoint_output *known, bool ended,
                              bool *by_content);
/* True if the run has both outputs of the checkpoint. */
bool tamis__outputs_match_both(tamis__search *search, const tamis__checkpoint *checkpoint);

/* For messages: replaces names in the checkpoint by the present names of the same files, which the run has or
 * which are found (tamis__input_find). */
void tamis__candidates_rename(tamis__search *search, tamis__checkpoint *checkpoint);

/* Name of the first file that the run wrote, for messages. */
const char *tamis__checkpoint_output_name(const tamis__checkpoint *checkpoint);

/* Decides about a checkpoint, newest first. If the new run would make an unfinished run impossible to
 * finish, it is refused (history->blocking). It is not if it reads the rest of that run too or the caller
 * gives it up (history->closed_runs). `is_run`: the checkpoint is that of the run itself. Sets
 * search->unfinished. TAMIS_E_NOMEM. */
tamis_status tamis__history_check_unfinished(tamis__search *search, tamis__checkpoint *checkpoint,
                                             bool is_run, bool last, tamis_error *err);

#endif

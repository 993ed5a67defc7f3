/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_DURABLE_CHECKPOINT_H
#define TAMIS_STREAM_DURABLE_CHECKPOINT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/stream.h>

#include "base/memory.h"
#include "store/file/file_fingerprint.h"

/*
 * What a commit tells of a run: how far its inputs are read and its outputs written, and what they were by then. It is the
 * account of tamis_state_commit; those of earlier runs are notes of the state.
 */
typedef struct tamis__checkpoint_input {
    char *name;      /* as it was given */
    bool regular;    /* else it is a pipe or the like: nothing more is known of it */
    bool compressed; /* its identity is that of the whole file */
    struct tamis__input_position {
        uint64_t offset;         /* unpacked bytes that are read */
        uint64_t records, lines; /* in them, see tamis__reader_start */
        bool unterminated;       /* the last record had no terminator */
    } position;
    tamis__file_fingerprint fingerprint; /* of those bytes, where it is plain */
    /* of a run under way, and not of its bytes: */
    struct tamis__input_position prefix; /* behind its mark and header, which may be all it has */
    uint64_t device, inode;              /* of the file that the reader has opened; 0: not yet */
    off_t base;                          /* where it begins in a descriptor that was open before, */
    bool based;                          /* once that is known */
    bool passed;                         /* there is nothing to read of it */
    tamis__file_fingerprint observed;    /* of what is known to have been in it, maybe ahead of `at` */
} tamis__checkpoint_input;

typedef enum tamis__output_form {
    TAMIS__OUTPUT_NONE,  /* there is no such output */
    TAMIS__OUTPUT_FILE,  /* a regular file */
    TAMIS__OUTPUT_STREAM /* what cannot be cut back */
} tamis__output_form;

typedef struct tamis__checkpoint_output {
    tamis__output_form form;
    char *path;                          /* FILE: absolute */
    tamis__file_fingerprint fingerprint; /* FILE: of all of it, as.at being its length */
    bool owes_terminator;
    bool begun;      /* it has had what stands in front of records: its header */
    uint64_t header; /* the sum of that; 0: none */
    int compression;
    uint64_t tail_offset, tail_size; /* FILE: bytes still to be compared, see tail.h; size 0: none */
} tamis__checkpoint_output;

/* Of its options those that say what a record is and how it is written: a run is gone on with as it was begun. */
enum {
    TAMIS__FORM_TERMINATOR,
    TAMIS__FORM_HEADER,
    TAMIS__FORM_MARKING,
    TAMIS__FORM_MARK, /* the sum of its name */
    TAMIS__FORMS
};

typedef struct tamis__checkpoint {
    bool finished; /* all inputs are at their end */
    bool begun;    /* an input has had a record, or a header */
    bool closed;   /* the unread rest was given up, or a later run reads it */
    char *command; /* the caller's text: the command that finishes the run; NULL: none */
    tamis_stream_stats stats;
    uint64_t form[TAMIS__FORMS];
    uint64_t input; /* the one that is read */
    tamis__checkpoint_input *inputs;
    size_t input_count;
    tamis__checkpoint_output outputs[2];
    tamis_allocator memory;
} tamis__checkpoint;

/* Set up a zeroed one for so many inputs, zeroed. TAMIS_E_NOMEM. Release is fine after a failure, and twice. */
tamis_status tamis__checkpoint_init(tamis__checkpoint *checkpoint, size_t inputs,
                                    const tamis_allocator *memory, tamis_error *err);
void tamis__checkpoint_release(tamis__checkpoint *checkpoint);
/* A copy of the text, NULL if there is no memory. */
char *tamis__checkpoint_copy_text(const tamis__checkpoint *checkpoint, const char *text);

/* Replaces a name or path of the account. Without memory for it the old one stays. */
void tamis__checkpoint_rename(const tamis__checkpoint *checkpoint, char **text, const char *to);

/* True if the run is unfinished, and an input that can be read again may have unread bytes. */
bool tamis__checkpoint_is_open(const tamis__checkpoint *checkpoint);
/* A hash of the names of inputs and outputs, by which accounts of the same run are known. */
uint64_t tamis__checkpoint_run_key(const tamis__checkpoint *checkpoint);
/* Moves the contents of `from` to *account, which the caller frees. TAMIS_E_NOMEM. */
tamis_status tamis__checkpoint_move(tamis_stream_checkpoint **checkpoint, tamis__checkpoint *from,
                                    tamis_error *err);

/* The run, or the output, `name` was begun with another of TAMIS__FORM_*, TAMIS__FORMS being the compression: TAMIS_E_MISMATCH. */
tamis_status tamis__checkpoint_fail_form(const char *name, int form, tamis_error *err);

/* *bytes is from the account's allocator. TAMIS_E_NOMEM; TAMIS_E_RANGE: more than TAMIS_STATE_CHECKPOINT_MAX bytes. */
tamis_status tamis__checkpoint_encode(const tamis__checkpoint *checkpoint, unsigned char **bytes,
                                      size_t *size, tamis_error *err);
/* Into a zeroed one. TAMIS_E_FORMAT of bytes that are no account of this version; TAMIS_E_NOMEM. */
tamis_status tamis__checkpoint_decode(tamis__checkpoint *checkpoint, const void *bytes, size_t size,
                                      const tamis_allocator *memory, tamis_error *err);

#endif

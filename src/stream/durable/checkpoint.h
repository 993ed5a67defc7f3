/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_DURABLE_CHECKPOINT_H
#define TAMIS_STREAM_DURABLE_CHECKPOINT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/experimental/state.h>
#include <tamis/experimental/stream.h>

#include "base/memory.h"
#include "service/dedup/source_positions.h"
#include "store/file/file_fingerprint.h"

/*
 * The checkpoint of a run: how far its inputs are read and its outputs written, and their fingerprints. Each
 * commit of the state has one. The last checkpoints of earlier runs are notes of the state.
 */
typedef struct tamis__checkpoint_input {
    char *name;      /* name as given by the user */
    bool regular;    /* true for a regular file; nothing more is known of a pipe or the like */
    bool compressed; /* true if `fingerprint` covers the whole file */
    bool truncated;  /* true if bytes of the followed file that were read are gone */
    bool ended;      /* true if the followed file was left at its end */
    bool rotated;    /* true if `name` is what log rotation made of the followed name */
    struct tamis__input_position {
        uint64_t offset;         /* number of decompressed bytes read */
        uint64_t records, lines; /* records and line ends in them, see tamis__reader_start */
        bool unterminated;       /* true if the last record had no terminator */
    } position;
    /* Fingerprint of the bytes read; of the head, if none was read; of the whole file, if it is
     * compressed. */
    tamis__file_fingerprint fingerprint;
    /* Fields of the current run, which are not encoded. */
    struct tamis__input_position prefix;    /* position after byte order mark and header */
    struct tamis__input_position committed; /* position at the last commit */
    int fd;                   /* descriptor of a followed file; the reader has opened it and owns it */
    bool from_start;          /* it was truncated: no checkpoint has this file */
    uint64_t device, inode;   /* file that the reader has opened; 0: not opened yet */
    off_t base;               /* start of the input in a borrowed descriptor */
    bool based;               /* true once `base` is known */
    bool match_by_inode;      /* true if no file with another inode is this one */
    bool skipped;             /* true if the run need not read the input */
    bool left_out;            /* true if the encoding leaves it out; needs run_key */
    tamis_stream_stats stats; /* statistics of this input; only counts */
    tamis__file_fingerprint observed; /* bytes known to have been in the file, maybe beyond `position` */
} tamis__checkpoint_input;

typedef enum tamis__output_form {
    TAMIS__OUTPUT_NONE,  /* there is no such output */
    TAMIS__OUTPUT_FILE,  /* a regular file */
    TAMIS__OUTPUT_STREAM /* a pipe or device: cannot be cut back */
} tamis__output_form;

typedef struct tamis__checkpoint_output {
    tamis__output_form form;
    char *path;                          /* FILE: absolute path */
    tamis__file_fingerprint fingerprint; /* FILE: fingerprint of the committed bytes, with their length */
    bool owes_terminator;                /* true if the last record has no terminator yet */
    bool header_done; /* nothing has to be written before the next record: no header, or it is written */
    bool is_copy;     /* FILE: a copy; earlier runs know the original by another path */
    uint64_t header;  /* FNV-1 of the header; 0: none */
    int compression;  /* TAMIS_COMPRESSION_* */
    /* FILE: uncommitted bytes that are still to be compared (uncommitted.c); size 0: none */
    uint64_t uncommitted_offset, uncommitted_size;
} tamis__checkpoint_output;

/* Options that define what a record is and how it is written. A run can be continued only with the same
 * ones. */
enum {
    TAMIS__FORM_TERMINATOR,
    TAMIS__FORM_HEADER,
    TAMIS__FORM_MARKING,
    TAMIS__FORM_MARK, /* FNV-1 of the mark's name */
    TAMIS__FORMS
};

typedef struct tamis__checkpoint {
    bool finished; /* true if all inputs were read to their end */
    bool has_data; /* true once a record or a header was read */
    bool closed;   /* true if the unread rest was given up, or a later run reads it */
    char *command; /* the caller's text: the command that finishes the run; NULL: none */
    tamis_stream_stats stats;
    uint64_t form[TAMIS__FORMS];
    uint64_t input; /* index of the input being read */
    /* For a note of a run of followed files: it lacks the inputs that a later run reads on. This is the key
     * of the run with all its inputs; 0: none is left out. */
    uint64_t run_key;
    tamis__checkpoint_input *inputs;
    size_t input_count;
    tamis__checkpoint_output outputs[2];
    tamis__source_positions positions; /* of all runs of the state, with their written records */
    bool positioned;                   /* not encoded: the records of the current run have positions */
    tamis_allocator memory;
} tamis__checkpoint;

/* Sets up a zeroed checkpoint with `inputs` zeroed inputs. TAMIS_E_NOMEM. */
tamis_status tamis__checkpoint_init(tamis__checkpoint *checkpoint, size_t inputs,
                                    const tamis_allocator *memory, tamis_error *err);
/* Frees the contents. Also allowed after a failure, and twice. */
void tamis__checkpoint_release(tamis__checkpoint *checkpoint);
/* Returns a copy of the text, from the checkpoint's allocator; NULL if there is no memory. */
char *tamis__checkpoint_copy_text(const tamis__checkpoint *checkpoint, const char *text);

/* Replaces a name or path of the checkpoint. Without memory for it the old one stays. */
void tamis__checkpoint_rename(const tamis__checkpoint *checkpoint, char **text, const char *to);

/* True if the run is unfinished, and an input that can be read again may have unread bytes. */
bool tamis__checkpoint_is_open(const tamis__checkpoint *checkpoint);
/* Returns a hash of the names of inputs and outputs. Checkpoints of the same run have the same one. */
uint64_t tamis__checkpoint_run_key(const tamis__checkpoint *checkpoint);
/* Moves the contents of `from` to *checkpoint, which the caller frees. TAMIS_E_NOMEM. */
tamis_status tamis__checkpoint_move(tamis_stream_checkpoint **checkpoint, tamis__checkpoint *from,
                                    tamis_error *err);

/* Fails with TAMIS_E_MISMATCH: the run or output `name` was begun with another option. `form` is one of
 * TAMIS__FORM_*, or TAMIS__FORMS for the compression. */
tamis_status tamis__checkpoint_fail_form(const char *name, int form, tamis_error *err);

/* A walk over the checkpoints of a state, the newest first: that of the last commit, then the notes. */
typedef struct tamis__checkpoint_walk {
    const tamis_state *state;
    size_t notes;   /* notes that are left */
    bool is_last;   /* true for the checkpoint of the last commit */
    bool has_begun; /* a checkpoint was returned */
} tamis__checkpoint_walk;

/* Returns the bytes of the next checkpoint, and their size: 0 if the commit has none. NULL: there are no
 * more. `walk` has `state` set, and zeros. */
const void *tamis__checkpoint_walk_next(tamis__checkpoint_walk *walk, size_t *size);

/* Encodes a checkpoint. *bytes is from its allocator; the caller frees it. TAMIS_E_NOMEM; TAMIS_E_RANGE:
 * more than TAMIS_STATE_CHECKPOINT_MAX bytes. */
tamis_status tamis__checkpoint_encode(const tamis__checkpoint *checkpoint, unsigned char **bytes,
                                      size_t *size, tamis_error *err);
/* Decodes into a zeroed checkpoint. TAMIS_E_FORMAT if the bytes are not a checkpoint of this version;
 * TAMIS_E_NOMEM. */
tamis_status tamis__checkpoint_decode(tamis__checkpoint *checkpoint, const void *bytes, size_t size,
                                      const tamis_allocator *memory, tamis_error *err);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_DURABLE_KNOWN_INPUT_H
#define TAMIS_STREAM_DURABLE_KNOWN_INPUT_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "stream/durable/checkpoint.h"

/* Known inputs: the inputs of checkpoints, and the files that they are now. */

/* An input that is open to be compared with what is known of it. */
typedef struct tamis__open_input {
    tamis__open_file file; /* fd -1: the input is not a regular file */
    bool borrowed;         /* the descriptor is the caller's standard input, and stays open */
    struct stat st;
    uint64_t size; /* bytes of the file behind its base */
} tamis__open_input;

/* Opens an input if it is a regular file. A borrowed one begins at its current position. */
tamis_status tamis__input_open_regular(tamis__open_input *input, const char *name, tamis_error *err);
/* Does nothing if it is not open. */
void tamis__input_close(tamis__open_input *input);

/* Where the file of an input is now. */
typedef struct tamis__present_input {
    bool found;
    uint64_t size;       /* size of the file, if found */
    struct stat st;      /* of the file, if found; it may be renamed again */
    char name[PATH_MAX]; /* its present name; the old name if it is not found */
} tamis__present_input;

/* Finds the file that an input of a checkpoint was. It is under its name or, if that is gone or another
 * file now, under any name in the same directory (log rotation). If no byte of it was read, and its head
 * is shorter than 4 KiB, its inode counts more than its name. */
void tamis__input_find(const tamis__checkpoint_input *known, tamis__present_input *present);
/* The same by its inode alone, under any name. TAMIS_E_IO if a file cannot be examined: it may be the one. */
tamis_status tamis__input_find_inode(const tamis__checkpoint_input *known, tamis__present_input *present,
                                     tamis_error *err);

/* True if the file `path` is a known input: it begins with the bytes that were read. */
bool tamis__input_is_file(const tamis__checkpoint_input *known, const char *path);

/* True if the file under the name of a known input has its inode. */
bool tamis__input_has_inode(const tamis__checkpoint_input *known);
/* True for an uncompressed input that no run has begun to read. */
bool tamis__input_is_unread(const tamis__checkpoint_input *known);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_FILE_TARGET_H
#define TAMIS_STORE_FILE_TARGET_H

#include <limits.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/failure.h"

/* What a file name given by the user refers to. Nothing is created or changed here. target.c explains it. */

/*
 * Returns the descriptor that a name refers to: `standard` for "-", 0 to 2 for /dev/stdin, /dev/stdout and
 * /dev/stderr, N for /dev/fd/N and /proc/self/fd/N, -1 for other names. Such a descriptor is used directly.
 * Opening its name again would start at the beginning of a file that others append to, and fails for a
 * socket.
 */
TAMIS_PRIVATE_API int tamis__descriptor_named(const char *path, int standard);

/* For messages: "standard input" for "-", else the path. */
TAMIS_PRIVATE_API const char *tamis__input_name(const char *path);

/* Returns the size of the directory in front of a path, with its last '/'; 0 if the path has none. */
TAMIS_PRIVATE_API size_t tamis__path_directory_size(const char *path);
/* Copies the directory of a path, with its last '/'; "." if the path has none. Returns the name behind it. */
TAMIS_PRIVATE_API const char *tamis__path_split(const char *path, char directory[PATH_MAX]);

typedef enum tamis__target_form {
    TAMIS__TARGET_NONE,       /* no name given */
    TAMIS__TARGET_DESCRIPTOR, /* open descriptor of the caller; we do not close it */
    TAMIS__TARGET_SPECIAL,    /* FIFO or device; written directly */
    TAMIS__TARGET_REPLACE,    /* existing regular file; to be replaced */
    TAMIS__TARGET_NEW         /* no file of that name exists */
} tamis__target_form;

typedef struct tamis__target {
    tamis__target_form form;
    int fd;              /* descriptor, if DESCRIPTOR */
    const char *name;    /* name for messages; borrowed from the caller */
    struct stat st;      /* metadata of the file; of its directory if NEW */
    char path[PATH_MAX]; /* path with its last symbolic links resolved; unset if DESCRIPTOR */
} tamis__target;

/* Classifies the name of an output (NULL: nowhere). TAMIS_E_IO if it is a directory, if the file is not
 * writable or if its directory does not exist. */
TAMIS_PRIVATE_API tamis_status tamis__target_find(tamis__target *target, const char *path, tamis_error *err);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_PLACE_H
#define TAMIS_STORE_PLACE_H

#include <limits.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/failure.h"

/* What the names of files, inputs and outputs stand for. Everything here looks and creates nothing. */

/*
 * The descriptor that a name means: `standard` for "-", 0..2 for /dev/stdin and so on, N for /dev/fd/N
 * and /proc/self/fd/N; -1 for any other name. Such a descriptor is used as it is and never opened anew:
 * that would start at the begin of a file that others append to, and cannot be done with a socket.
 */
TAMIS_PRIVATE_API int tamis__descriptor_named(const char *path, int standard);

/* "standard input" for "-", else the path. */
TAMIS_PRIVATE_API const char *tamis__input_name(const char *path);
const char *tamis__output_name(const char *path);

typedef enum tamis__place_form {
    TAMIS__PLACE_NOWHERE,    /* no name was given */
    TAMIS__PLACE_DESCRIPTOR, /* open already, not ours to close */
    TAMIS__PLACE_SPECIAL,    /* FIFO, device: written directly */
    TAMIS__PLACE_REPLACE,    /* a regular file to take the place of */
    TAMIS__PLACE_NEW         /* nothing has that name yet */
} tamis__place_form;

typedef struct tamis__place {
    tamis__place_form form;
    int fd;              /* DESCRIPTOR */
    const char *name;    /* for a person; borrowed from who gave it */
    struct stat about;   /* of what is there; of the folder for NEW */
    char path[PATH_MAX]; /* symbolic links at the end followed; unused for DESCRIPTOR */
} tamis__place;

/* What an output's name (NULL: nowhere) stands for. A directory, a file without permission to write and
 * a missing folder are refused (TAMIS_E_IO). */
TAMIS_PRIVATE_API tamis_status tamis__place_find(tamis__place *place, const char *path, tamis_error *err);

/* Splits place->path: bytes of the folder with its last '/', 0 where the name has none. */
TAMIS_PRIVATE_API size_t tamis__place_folder(const tamis__place *place);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_FILE_HOLDER_H
#define TAMIS_STORE_FILE_HOLDER_H

#include <stdbool.h>

/* Holder of a lock as text for people: "PID on HOST since TIME". The lock file contains it. Whether the lock
 * is held now, only the kernel knows. */
typedef struct tamis__holder {
    char text[400];
} tamis__holder;

/* This process, with the current time. */
tamis__holder tamis__holder_now(void);
/* True if `text` names this process. */
bool tamis__holder_is_us(const char *text);

#endif

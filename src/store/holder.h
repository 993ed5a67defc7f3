/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_HOLDER_H
#define TAMIS_STORE_HOLDER_H

#include <stdbool.h>

/* Who holds a lock, for people: "PID on HOST since TIME". It stands in the lock's file; that it is held is the kernel's to say. */
typedef struct tamis__holder {
    char text[400];
} tamis__holder;

/* This process, from now. */
tamis__holder tamis__holder_now(void);
/* Whether a text of that form names this process. */
bool tamis__holder_is_us(const char *text);

#endif

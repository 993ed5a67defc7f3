/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_JSON_LOOK_H
#define TAMIS_TEST_JSON_LOOK_H

#include <stdbool.h>
#include <stddef.h>

#include "stream/find.h"
#include "support/scratch.h"

/* Looking for values in one JSON record by the real code. Fails the cmocka test that it is called from. */

enum { JSON_LOOK_MOST = 16 };

/* What was found in the last one, which is gone. */
typedef struct json_look {
    tamis_status status;
    tamis__fault fault;
    bool there[JSON_LOOK_MOST];
    test_bytes found[JSON_LOOK_MOST];
    size_t taken; /* bytes that do not stand in the record */
} json_look;

extern json_look looked;

/* In a record of just its size, so that a sanitizer sees a look past its end. */
void look_all(const char *const *pointers, size_t count, const void *text, size_t size);
void look(const char *pointer, const void *text, size_t size);
void look_forget(void);

void expect_bytes(size_t i, const void *want, size_t size);
/* Looks, and expects a well record with that value; NULL: with none. */
void expect(const char *pointer, const char *text, const char *want);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TESTS_SUPPORT_JSON_PROBE_H
#define TAMIS_TESTS_SUPPORT_JSON_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "stream/split/find.h"
#include "support/scratch.h"

/* Looking for values in one JSON record by the real code. Fails the cmocka test that it is called from. */

enum { JSON_PROBE_MAX = 16 };

/* What was found in the last one, which is gone. */
typedef struct json_probe {
    tamis_status status;
    tamis__fault fault;
    bool there[JSON_PROBE_MAX];
    test_bytes found[JSON_PROBE_MAX];
    size_t decoded_bytes; /* bytes that do not stand in the record */
} json_probe;

extern json_probe probed;

/* In a record of just its size, so that a sanitizer sees a look past its end. */
void look_all(const char *const *pointers, size_t count, const void *text, size_t size);
void probe(const char *pointer, const void *text, size_t size);
void look_forget(void);

void expect_bytes(size_t i, const void *expected, size_t size);
/* Looks, and expects a well record with that value; NULL: with none. */
void expect(const char *pointer, const char *text, const char *expected);

#endif

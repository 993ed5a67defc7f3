/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TESTS_SUPPORT_JSON_PROBE_H
#define TAMIS_TESTS_SUPPORT_JSON_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "stream/extract/find.h"
#include "support/scratch.h"

/* Looks up values in one JSON record with the real code. Fails the current cmocka test on an error. */

enum { JSON_PROBE_MAX = 16 };

/* Result for the last record, which is freed already. */
typedef struct json_probe {
    tamis_status status;
    tamis__fault fault;
    bool there[JSON_PROBE_MAX];
    test_bytes found[JSON_PROBE_MAX];
    size_t decoded_bytes; /* bytes that the record has in another form, such as escapes */
} json_probe;

extern json_probe probed;

/* Looks up the pointers in a copy of exactly `size` bytes, so that a sanitizer sees a read past its end. */
void look_all(const char *const *pointers, size_t count, const void *text, size_t size);
void probe(const char *pointer, const void *text, size_t size);
void look_forget(void);

void expect_bytes(size_t i, const void *expected, size_t size);
/* Looks up the pointer, and expects a well-formed record with that value; NULL: without the value. */
void expect(const char *pointer, const char *text, const char *expected);

#endif

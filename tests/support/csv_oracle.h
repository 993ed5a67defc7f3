/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_CSV_ORACLE_H
#define TAMIS_TEST_CSV_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scratch.h"

/* A CSV record, parsed byte by byte. */
typedef struct csv_oracle {
    size_t size;        /* bytes without the terminator */
    bool terminated;    /* true if a terminator ends it, false if the end of the bytes does */
    bool malformed;     /* true if it has no columns */
    size_t fault;       /* offset of the error in a malformed record: of an unclosed quote, the quote */
    test_bytes columns; /* each column's size and bytes (csv_oracle_add) */
} csv_oracle;

/* Parses the first record of `size` bytes. *oracle must be zeroed before the first call. */
void csv_oracle_read(csv_oracle *oracle, const unsigned char *bytes, size_t size, unsigned char delimiter,
                     unsigned char terminator);
void csv_oracle_clear(csv_oracle *oracle);

void csv_oracle_add(test_bytes *columns, const void *data, size_t size);
/* Returns column `column`, from 1. Its data is NULL if there is no such column. Valid until the next read. */
test_bytes csv_oracle_column(const csv_oracle *oracle, size_t column);

/*
 * Splits the bytes into records as they arrive, in random pieces of at most `piece` bytes, and extracts their
 * columns with the real code. False, with the difference on stderr, if the oracle says otherwise.
 */
bool csv_agrees(const unsigned char *bytes, size_t size, unsigned char delimiter, unsigned char terminator,
                size_t piece, uint64_t *random);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_CSV_ORACLE_H
#define TAMIS_TEST_CSV_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scratch.h"

/* A record of CSV, told byte by byte: where it ends, and what is in it. */
typedef struct csv_oracle {
    size_t size;        /* without its terminator */
    bool terminated;    /* by one, not by the end of the bytes */
    bool malformed;     /* there are no columns then */
    size_t fault;       /* and this is the byte where that shows: of a quote that is not closed the quote */
    test_bytes columns; /* one behind the other, each behind its size, as csv_oracle_add has it */
} csv_oracle;

/* Takes the first record of `size` bytes. *oracle is zeroed before the first time. */
void csv_oracle_read(csv_oracle *oracle, const unsigned char *bytes, size_t size, unsigned char delimiter,
                     unsigned char terminator);
void csv_oracle_clear(csv_oracle *oracle);

void csv_oracle_add(test_bytes *columns, const void *data, size_t size);
/* Column `column`, from 1; its data is NULL if there is none. It is good until the next read. */
test_bytes csv_oracle_column(const csv_oracle *oracle, size_t column);

/*
 * Cuts records as they arrive, in random pieces of at most `piece` bytes, and takes their columns; false if that is not
 * what is told byte by byte, and stderr has the difference.
 */
bool csv_agrees(const unsigned char *bytes, size_t size, unsigned char delimiter, unsigned char terminator,
                size_t piece, uint64_t *random);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * csv_ops DELIMITER SEED COLUMN...: reads CSV records from standard input, in random pieces. Prints a line
 * for each: the number of its columns, and the given columns in hexadecimal, - for a missing one, or ! if
 * the record is malformed. DELIMITER is a number.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stream/extract/find.h"
#include "stream/split/split.h"

enum { MAX = 16, BATCH = 50 };

static unsigned char delimiter;
static size_t columns[MAX], column_count;
static tamis__arena arena;
static uint64_t state;

static size_t random_below(size_t bound) {
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (size_t)(state >> 33) % bound;
}

static void die(const char *why) {
    fprintf(stderr, "csv_ops: %s\n", why);
    exit(2);
}

static bool count_column(void *count, size_t column, tamis_key value) {
    (void)value;
    *(size_t *)count = column;
    return true;
}

static void print_record(tamis_key record) {
    tamis_key values[MAX];
    tamis__fault fault;
    size_t count = 0;
    const tamis__csv_columns selected = {columns, column_count, delimiter};
    const tamis_status found = tamis__csv_find(&selected, record, values, &arena, &fault);
    const tamis__csv_visitor visitor = {count_column, &count};
    if (tamis__csv_each(delimiter, record, visitor, &arena, &fault) != found)
        die("a record is malformed or not, as one asks");
    if (found != TAMIS_OK && found != TAMIS_E_DAMAGED)
        die("out of memory");
    if (found != TAMIS_OK) {
        puts("!");
        return;
    }
    printf("%zu", count);
    for (size_t i = 0; i < column_count; i++) {
        const unsigned char *bytes = values[i].data;
        putchar(' ');
        if (!bytes)
            putchar('-');
        for (size_t j = 0; j < values[i].size; j++)
            printf("%02x", bytes[j]);
    }
    putchar('\n');
}

static void print_whole(tamis__split_span *span, uint8_t *csv_state) {
    tamis_key keys[BATCH];
    size_t count;
    do {
        count = tamis__split_csv(span, delimiter, csv_state, keys, 1 + random_below(BATCH));
        for (size_t i = 0; i < count; i++)
            print_record(keys[i]);
        tamis__arena_reset(&arena);
    } while (count > 0);
}

int main(int argc, char **argv) {
    unsigned char *buffer = NULL;
    size_t capacity = 0, end = 0, scan = 0;
    uint8_t csv_state = 0;
    if (argc < 4 || argc > 3 + MAX)
        die("csv_ops DELIMITER SEED COLUMN...");
    delimiter = (unsigned char)strtoul(argv[1], NULL, 10);
    state = strtoull(argv[2], NULL, 10);
    for (; column_count + 3 < (size_t)argc; column_count++)
        columns[column_count] = strtoul(argv[column_count + 3], NULL, 10);
    arena.memory = tamis__allocator_resolve(NULL);

    for (;;) {
        const size_t piece = 1 + random_below(random_below(4) ? 150 : 20000);
        if (capacity - end < piece && !(buffer = realloc(buffer, capacity = 2 * (end + piece))))
            die("out of memory");
        const ssize_t size = read(STDIN_FILENO, buffer + end, piece);
        if (size <= 0)
            break;
        end += (size_t)size;
        tamis__split_span span = {buffer, buffer + scan, buffer + end, UINT64_MAX, '\n'};
        print_whole(&span, &csv_state);
        end = (size_t)(span.end - span.start);
        scan = (size_t)(span.scan - span.start);
        memmove(buffer, span.start, end);
    }
    if (end > 0)
        print_record((tamis_key){buffer, end});
    tamis__arena_release(&arena);
    free(buffer);
    return fflush(stdout) == 0 ? 0 : 2;
}

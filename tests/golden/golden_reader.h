/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_GOLDEN_READER_H
#define TAMIS_TEST_GOLDEN_READER_H

/* Reads the tables of tests/golden: lines of fields between tabs, bytes in hexadecimal. Included after
 * cmocka.h. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GOLDEN_FIELDS = 32 };

typedef struct golden {
    FILE *file;
    char *line;
    size_t capacity;
    char *field[GOLDEN_FIELDS];
    int fields;
} golden;

static inline golden golden_open(const char *name) {
    const char *source = getenv("TAMIS_SOURCE_DIR"); /* set by ctest; else from the top of the tree */
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/golden/%s", source ? source : ".", name);
    golden g = {fopen(path, "r"), NULL, 0, {NULL}, 0};
    if (!g.file)
        fail_msg("%s: cannot be opened; set TAMIS_SOURCE_DIR", path);
    return g;
}

/* The next line that is not a comment, cut into fields; false at the end, when all is given back. */
static inline bool golden_next(golden *g) {
    ssize_t size;
    do
        size = getline(&g->line, &g->capacity, g->file);
    while (size > 0 && g->line[0] == '#');
    if (size <= 0) {
        free(g->line);
        fclose(g->file);
        return false;
    }
    g->line[strcspn(g->line, "\n")] = 0;
    g->fields = 0;
    char *rest = g->line;
    while (rest && g->fields < GOLDEN_FIELDS)
        g->field[g->fields++] = strsep(&rest, "\t");
    return true;
}

/* Bytes of a hexadecimal string; they go to `bytes`, of room for half its length. */
static inline size_t golden_bytes(const char *hex, uint8_t *bytes) {
    size_t size = strlen(hex) / 2;
    for (size_t i = 0; i < size; i++) {
        char pair[3] = {hex[2 * i], hex[2 * i + 1], 0};
        bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return size;
}

/* A number as Guava's integerFunnel and longFunnel feed it: 4 or 8 bytes, little-endian. */
static inline size_t golden_number(const char *text, size_t size, uint8_t *bytes) {
    uint64_t value = (uint64_t)strtoll(text, NULL, 10);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
    return size;
}

/* A key of a table, by the kind its first field or its funnel names. */
static inline size_t golden_key(const char *kind, const char *text, uint8_t *bytes) {
    if (strcmp(kind, "int32") == 0)
        return golden_number(text, 4, bytes);
    if (strcmp(kind, "int64") == 0)
        return golden_number(text, 8, bytes);
    return golden_bytes(text, bytes);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include "csv_oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream/extract/find.h"
#include "stream/split/split.h"

typedef struct reader {
    csv_oracle *oracle;
    const unsigned char *bytes;
    size_t size, pos;
    unsigned char delimiter, terminator;
    test_bytes field;
} reader;

static bool ends_at(const reader *r, size_t pos) {
    return pos >= r->size || r->bytes[pos] == r->terminator;
}

/* True for a CR that belongs to the terminator. */
static bool last_return(const reader *r) {
    return r->pos < r->size && r->bytes[r->pos] == '\r' && ends_at(r, r->pos + 1);
}

static void fault(reader *r, size_t pos) {
    if (!r->oracle->malformed)
        r->oracle->fault = pos;
    r->oracle->malformed = true;
}

static void keep(reader *r) {
    bytes_add(&r->field, &r->bytes[r->pos++], 1);
}

static void read_plain(reader *r) {
    while (!ends_at(r, r->pos) && r->bytes[r->pos] != r->delimiter && !last_return(r)) {
        if (r->bytes[r->pos] == '\r')
            fault(r, r->pos);
        keep(r);
    }
}

static void read_quoted(reader *r) {
    const size_t open = r->pos++;
    while (r->pos < r->size) {
        if (r->bytes[r->pos] != '"') {
            keep(r);
        } else if (r->pos + 1 < r->size && r->bytes[r->pos + 1] == '"') {
            r->pos++;
            keep(r);
        } else {
            r->pos++;
            if (ends_at(r, r->pos) || last_return(r) || r->bytes[r->pos] == r->delimiter)
                return;
            fault(r, r->pos);
            while (!ends_at(r, r->pos))
                r->pos++;
            return;
        }
    }
    fault(r, open);
}

void csv_oracle_read(csv_oracle *oracle, const unsigned char *bytes, size_t size, unsigned char delimiter,
                     unsigned char terminator) {
    reader r = {oracle, bytes, size, 0, delimiter, terminator, {0}};
    oracle->malformed = false;
    oracle->columns.size = 0;
    bool more = !ends_at(&r, 0) && !last_return(&r);
    while (more) {
        r.field.size = 0;
        if (r.pos < size && bytes[r.pos] == '"')
            read_quoted(&r);
        else
            read_plain(&r);
        csv_oracle_add(&oracle->columns, r.field.data, r.field.size);
        more = !ends_at(&r, r.pos) && !last_return(&r);
        r.pos += more; /* past the delimiter */
    }
    r.pos += last_return(&r);
    oracle->size = r.pos;
    oracle->terminated = r.pos < size;
    if (oracle->malformed)
        oracle->columns.size = 0;
    bytes_clear(&r.field);
}

void csv_oracle_clear(csv_oracle *oracle) {
    bytes_clear(&oracle->columns);
    *oracle = (csv_oracle){0};
}

void csv_oracle_add(test_bytes *columns, const void *data, size_t size) {
    bytes_add(columns, &size, sizeof size);
    bytes_add(columns, data, size);
}

test_bytes csv_oracle_column(const csv_oracle *oracle, size_t column) {
    for (size_t pos = 0, size; pos < oracle->columns.size; pos += size) {
        memcpy(&size, oracle->columns.data + pos, sizeof size);
        pos += sizeof size;
        if (--column == 0)
            return (test_bytes){oracle->columns.data + pos, size, size};
    }
    return (test_bytes){0};
}

/* ---- comparison with the library ---- */

enum { BATCH = 40 };

typedef struct comparison {
    unsigned char delimiter, terminator;
    tamis__arena arena;
    csv_oracle oracle;
    test_bytes columns;
    size_t pos; /* offset of the record that is compared */
} comparison;

static bool differs(const comparison *c, const char *what) {
    fprintf(stderr, "csv: the record at byte %zu: %s\n", c->pos, what);
    return false;
}

static bool add_column(void *columns, size_t column, tamis_key value) {
    (void)column;
    csv_oracle_add(columns, value.data, value.size);
    return true;
}

/* Compares the last column, a column after it, and two others, one of them twice. */
static bool find_agrees(comparison *c, tamis_key record, uint64_t *random) {
    size_t last = 0;
    while (csv_oracle_column(&c->oracle, last + 1).data)
        last++;
    const size_t column = 1 + test_below(random, last + 1);
    size_t columns[] = {last + 1, column, 1, column, last ? last : 1};
    tamis_key values[5];
    tamis__fault fault;
    const tamis__csv_columns selected = {columns, 5, c->delimiter};
    if (tamis__csv_find(&selected, record, values, &c->arena, &fault) != TAMIS_OK)
        return differs(c, "its columns are not found");
    for (size_t i = 0; i < 5; i++) {
        test_bytes expected = csv_oracle_column(&c->oracle, columns[i]);
        test_bytes got = {(unsigned char *)(uintptr_t)values[i].data, values[i].size, 0};
        if (!expected.data != !got.data || !bytes_check("a column", &got, &expected))
            return differs(c, "a column is another");
    }
    return true;
}

static bool record_agrees(comparison *c, tamis_key record, uint64_t *random) {
    tamis__fault fault = {NULL, 0};
    c->columns.size = 0;
    const tamis__csv_visitor visitor = {add_column, &c->columns};
    tamis_status status = tamis__csv_each(c->delimiter, record, visitor, &c->arena, &fault);
    if (!c->oracle.malformed)
        return status == TAMIS_OK && bytes_check("columns", &c->columns, &c->oracle.columns)
                   ? find_agrees(c, record, random)
                   : differs(c, "its columns are others");
    if (status != TAMIS_E_DAMAGED || !fault.why || fault.pos != c->oracle.fault)
        return differs(c, "what is malformed is another byte");
    const tamis__csv_columns none = {(size_t[]){0}, 1, c->delimiter};
    tamis_key value;
    return tamis__csv_find(&none, record, &value, &c->arena, &fault) == TAMIS_E_DAMAGED ||
           differs(c, "is malformed only where all columns are asked");
}

/* Compares one record, which the library has split off at c->pos. */
static bool cut_agrees(comparison *c, const unsigned char *bytes, size_t size, tamis_key record,
                       bool terminated, uint64_t *random) {
    csv_oracle_read(&c->oracle, bytes + c->pos, size - c->pos, c->delimiter, c->terminator);
    if (record.size != c->oracle.size || terminated != c->oracle.terminated)
        return differs(c, "ends elsewhere");
    return record_agrees(c, record, random);
}

/* Splits the bytes that have arrived. `left` is a block of its own, so that a sanitizer sees a read past
 * its end. */
static bool split_whole(comparison *c, const unsigned char *bytes, size_t size, const test_bytes *left,
                        size_t *scan, uint8_t *csv_state, size_t *cut, uint64_t *random) {
    tamis__split_span span = {left->data, left->data + *scan, left->data + left->size, UINT64_MAX,
                              c->terminator};
    bool agrees = true;
    size_t count, capacity;
    do {
        tamis_key keys[BATCH];
        capacity = 1 + test_below(random, BATCH);
        count = tamis__split_csv(&span, c->delimiter, csv_state, keys, capacity);
        for (size_t i = 0; i < count && agrees; i++) {
            agrees = cut_agrees(c, bytes, size, keys[i], true, random);
            c->pos += keys[i].size + 1;
        }
        tamis__arena_reset(&c->arena);
    } while (agrees && count == capacity);
    *scan = (size_t)(span.scan - span.start);
    *cut = (size_t)(span.start - left->data);
    return agrees && (span.scan == span.end || differs(c, "bytes were left"));
}

bool csv_agrees(const unsigned char *bytes, size_t size, unsigned char delimiter, unsigned char terminator,
                size_t piece, uint64_t *random) {
    comparison c = {.delimiter = delimiter, .terminator = terminator};
    test_bytes left = {0};
    size_t scan = 0, cut = 0;
    uint8_t csv_state = 0;
    bool agrees = true;
    c.arena.memory = tamis__allocator_resolve(NULL);
    for (size_t end = 0; end < size && agrees;) {
        size_t more = 1 + test_below(random, piece);
        if (more > size - end)
            more = size - end;
        end += more;
        bytes_clear(&left);
        left = (test_bytes){malloc(end - c.pos), end - c.pos, 0};
        if (!left.data)
            abort();
        memcpy(left.data, bytes + c.pos, left.size);
        agrees = split_whole(&c, bytes, size, &left, &scan, &csv_state, &cut, random);
    }
    if (agrees && c.pos < size)
        agrees = cut_agrees(&c, bytes, size, (tamis_key){left.data + cut, left.size - cut}, false, random);
    bytes_clear(&left);
    bytes_clear(&c.columns);
    csv_oracle_clear(&c.oracle);
    tamis__arena_release(&c.arena);
    return agrees;
}

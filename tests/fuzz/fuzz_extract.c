/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Keys of records. Byte 0 of the input has the number of parts (1 to 4) and options: 4 trim, 8 ignore
 * case, 16 a delimiter, which is byte 1. Then follow the texts of the parts and the records, one a line.
 * The first record is the header, if a part needs one.
 *
 * Parts and records are refused with a message, or the keys lie in their records or in the extractor's
 * memory. A joined key consists of the keys that its parts give alone.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/experimental/extract.h>

#include "base/bytes.h"
#include "stream/extract/extract_int.h"

enum { PARTS = 4, RECORDS = 8, BLOCKS = 4096, PATTERN = 64, RECORD = 1000 };

static void check(bool holds) {
    if (!holds)
        abort();
}

/* ---- an allocator that keeps a list of its blocks ---- */

static struct {
    unsigned char *data;
    size_t size;
} blocks[BLOCKS];

static void *allocate(void *context, size_t size, size_t align) {
    (void)context;
    size_t i = 0;
    while (i < BLOCKS && blocks[i].data)
        i++;
    const size_t whole = (size + align - 1) / align * align;
    void *block = i < BLOCKS ? aligned_alloc(align, whole) : NULL;
    if (!block)
        return NULL;
    memset(block, 0, whole);
    blocks[i].data = block;
    blocks[i].size = size;
    return block;
}

static void release(void *context, void *block, size_t size) {
    (void)context;
    size_t i = 0;
    while (i < BLOCKS && blocks[i].data != block)
        i++;
    check(i < BLOCKS && blocks[i].size == size);
    blocks[i].data = NULL;
    free(block);
}

static const tamis_allocator memory = {allocate, release, NULL};

static bool lies_in(tamis_key key, const unsigned char *block, size_t size) {
    const unsigned char *pos = key.data;
    return block && pos >= block && pos <= block + size && key.size <= (size_t)(block + size - pos);
}

static void check_bounds(tamis_key key, tamis_key record) {
    bool is_ours = lies_in(key, record.data, record.size);
    for (size_t i = 0; !is_ours && i < BLOCKS; i++)
        is_ours = lies_in(key, blocks[i].data, blocks[i].size);
    check(is_ours || key.size == 0);
}

/* ---- input ---- */

typedef struct input {
    const uint8_t *pos, *end;
} input;

/* Copies the next line to a block of exactly its size, ended by a NUL. The caller frees it. */
static char *next_line(input *from, size_t *size) {
    const uint8_t *end =
        from->pos < from->end ? memchr(from->pos, '\n', (size_t)(from->end - from->pos)) : NULL;
    *size = (size_t)((end ? end : from->end) - from->pos);
    char *line = malloc(*size + 1);
    check(line);
    memcpy(line, from->pos, *size);
    line[*size] = '\0';
    from->pos = end ? end + 1 : from->end;
    return line;
}

static bool is_refused(tamis_status status, const tamis_error *err) {
    check(status == TAMIS_OK ||
          (status == TAMIS_E_INVALID && err->status == status && *err->text && !strchr(err->text, '\n')));
    return status != TAMIS_OK;
}

/* Returns NULL if the parts are refused. */
static tamis_extractor *make(tamis_extractor_options options, const char *const *parts, size_t count) {
    tamis_extractor *x = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    options.parts = parts;
    options.part_count = count;
    options.allocator = &memory;
    check(is_refused(tamis_extractor_create(&x, &options, &err), &err) == !x);
    return x;
}

static bool read_header(tamis_extractor *x, tamis_key record) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_extraction found;
    if (is_refused(tamis_extractor_header(x, record, &err), &err)) {
        check(tamis_extractor_extract(x, &record, 1, &found, NULL) == TAMIS_E_INVALID);
        return false;
    }
    return true;
}

/* ---- the property ---- */

/* Checks that the key begins, at `pos`, with the key `alone` of a part. Returns its end. */
static const unsigned char *pass_part(const unsigned char *pos, const unsigned char *end, tamis_key alone,
                                      bool is_joined) {
    if (!is_joined) { /* one value, preceded by its size */
        check(end - pos >= 8 && tamis__load64le(pos) == alone.size);
        pos += 8;
    }
    check(alone.size <= (size_t)(end - pos) && (alone.size == 0 || memcmp(pos, alone.data, alone.size) == 0));
    return pos + alone.size;
}

static void compare(tamis_extractor *const *alone, size_t count, tamis_key record,
                    const tamis_extraction *combined) {
    const unsigned char *pos = combined->key.data, *const end = pos ? pos + combined->key.size : NULL;
    bool is_missing = false, is_malformed = false;
    for (size_t i = 0; i < count; i++) {
        tamis_extraction extraction;
        if (tamis_extractor_extract(alone[i], &record, 1, &extraction, NULL) != TAMIS_OK)
            return; /* alone, this part exceeded its limit of time */
        is_missing = is_missing || extraction.outcome == TAMIS_KEY_MISSING;
        is_malformed = is_malformed || extraction.outcome == TAMIS_KEY_MALFORMED;
        if (combined->outcome == TAMIS_KEY_FOUND && count > 1)
            pos = pass_part(pos, end, extraction.key, alone[i]->value_count > 1);
    }
    check(combined->outcome == (is_malformed ? TAMIS_KEY_MALFORMED
                                : is_missing ? TAMIS_KEY_MISSING
                                             : TAMIS_KEY_FOUND));
    check(count == 1 || pos == end);
}

static void check_outcome(const tamis_extraction *found, tamis_key record) {
    if (found->outcome == TAMIS_KEY_FOUND)
        check_bounds(found->key, record);
    else
        check(!found->key.data && found->key.size == 0);
    if (found->outcome == TAMIS_KEY_MALFORMED)
        check(*found->why && found->pos <= record.size);
    else
        check(!found->why);
}

static void extract_records(tamis_extractor *x, tamis_extractor *const *alone, size_t count,
                            const tamis_key *records, size_t record_count) {
    tamis_extraction found[RECORDS], again;
    tamis_error err = TAMIS_ERROR_INIT;
    if (is_refused(tamis_extractor_extract(x, records, record_count, found, &err), &err))
        return;
    for (size_t i = 0; i < record_count; i++) {
        check_outcome(&found[i], records[i]);
        compare(alone, count, records[i], &found[i]);
    }
    /* Extracted one by one, the keys are the same. The keys of the batch are gone then. */
    for (size_t i = record_count; i-- > 0;) {
        const size_t size = found[i].key.size;
        check(tamis_extractor_extract(x, &records[i], 1, &again, NULL) == TAMIS_OK);
        check(again.outcome == found[i].outcome && again.key.size == size && again.pos == found[i].pos);
    }
}

static void run(tamis_extractor_options options, const char *const *parts, size_t count, input from) {
    tamis_extractor *x = make(options, parts, count), *alone[PARTS] = {NULL};
    tamis_key records[RECORDS];
    char *lines[RECORDS];
    size_t record_count = 0;
    bool is_good = x != NULL;
    for (size_t i = 0; is_good && i < count; i++) {
        alone[i] = make(options, &parts[i], 1);
        check(alone[i]);
    }
    for (; is_good && record_count < RECORDS && from.pos < from.end; record_count++) {
        size_t size;
        lines[record_count] = next_line(&from, &size);
        records[record_count] = (tamis_key){lines[record_count], size < RECORD ? size : RECORD};
    }
    if (is_good && tamis_extractor_wants_header(x)) {
        is_good = record_count > 0 && read_header(x, records[0]);
        for (size_t i = 0; is_good && i < count; i++)
            check(read_header(alone[i], records[0]) || !tamis_extractor_wants_header(alone[i]));
    }
    if (is_good)
        extract_records(x, alone, count, records, record_count);
    for (size_t i = 0; i < record_count; i++)
        free(lines[i]);
    for (size_t i = 0; i < count; i++)
        tamis_extractor_free(alone[i]);
    tamis_extractor_free(x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2)
        return 0;
    tamis_extractor_options options = TAMIS_EXTRACTOR_OPTIONS_INIT;
    const size_t count = 1 + data[0] % PARTS;
    char *parts[PARTS];
    bool is_short = true;
    options.trim = data[0] & 4;
    options.ignore_case = data[0] & 8;
    if (data[0] & 16)
        options.delimiter = data[1];
    input from = {data + 2, data + size};
    for (size_t i = 0; i < count; i++) {
        size_t text;
        parts[i] = next_line(&from, &text);
        is_short =
            is_short && (text < PATTERN || strncmp(parts[i], "regex:", 6) != 0); /* more would take minutes */
    }
    if (is_short)
        run(options, (const char *const *)parts, count, from);
    for (size_t i = 0; i < count; i++)
        free(parts[i]);
    for (size_t i = 0; i < BLOCKS; i++)
        check(!blocks[i].data);
    return 0;
}

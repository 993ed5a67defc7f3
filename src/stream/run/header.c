/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The header of CSV and of other inputs with named columns: the first record of each input.
 *
 *     inputs     a.csv: name,age | ann,7 | bob,9        b.csv: name,age | eve,5
 *     extractor  gets the names from the first header
 *     outputs    name,age | ann,7 | bob,9 | eve,5       once for each output, at its beginning
 *
 * Later inputs must have the same header, byte by byte, except for a CR at its end. With other columns their
 * records would not fit under the header of the output. A message shows both headers around the first
 * difference. Two exceptions: a followed file that was truncated may go on without a header, and an output
 * that is appended to has one already (route.c).
 */
#include "stream/run/run.h"

#include <stdio.h>
#include <string.h>

#include "store/file/file_error.h"
#include "stream/extract/find.h"
#include "stream/split/split.h"

void tamis__header_release(tamis__header *header) {
    tamis__free(&header->memory, header->bytes, header->size);
}

/* Keeps a copy. One byte more is allocated, so that an empty header differs from none. */
static tamis_status keep_header(tamis__header *header, tamis_key record, const char *input,
                                tamis_error *err) {
    header->size = record.size + 1;
    header->bytes = tamis__alloc(&header->memory, header->size, 1);
    if (!header->bytes)
        return tamis__fail_nomem(err, "header", header->size);
    memcpy(header->bytes, record.data, record.size);
    header->input = input;
    return TAMIS_OK;
}

enum {
    SHOWN = 60,    /* bytes of a header shown in a message */
    LEAD_SIZE = 20 /* bytes of them before the first difference */
};

/* Copies the bytes from `pos` on, after "..." if there are any before it. */
static void show_from(char text[SHOWN + 4], const unsigned char *bytes, size_t size, size_t pos) {
    const size_t shown = size - pos < SHOWN ? size - pos : SHOWN, prefix = pos > 0 ? 3 : 0;
    memcpy(text, "...", prefix);
    memcpy(text + prefix, bytes + pos, shown);
    text[prefix + shown] = '\0';
}

/* Returns where to begin showing, at the start of a UTF-8 character. */
static size_t step_back(const unsigned char *bytes, size_t pos) {
    pos -= pos < LEAD_SIZE ? pos : LEAD_SIZE;
    while (pos > 0 && (bytes[pos] & 0xC0) == 0x80)
        pos--;
    return pos;
}

static size_t first_difference(const unsigned char *given, size_t size, const unsigned char *expected,
                               size_t other_size) {
    size_t pos = 0;
    while (pos < size && pos < other_size && given[pos] == expected[pos])
        pos++;
    return pos;
}

/* Reports two different headers. Long ones are shown around the first difference. */
static tamis_status fail_mismatch(const tamis__header *header, tamis_key record, const char *input,
                                  tamis_error *err) {
    const size_t size = header->size - 1;
    const size_t differ = first_difference(record.data, record.size, header->bytes, size);
    const bool cut = record.size > SHOWN || size > SHOWN;
    const size_t from = cut ? step_back(header->bytes, differ) : 0;
    char given[SHOWN + 4], expected[SHOWN + 4], where[40] = "";
    show_from(given, record.data, record.size, from);
    show_from(expected, header->bytes, size, from);
    if (cut)
        snprintf(where, sizeof where, ", which differ at byte %zu", differ);
    return tamis__fail(err, TAMIS_E_INVALID, 0,
                       "%s: its header is '%s', and that of %s is '%s'%s; give inputs with one header, or "
                       "run them one by one",
                       tamis__show(input).text, tamis__show(given).text, tamis__show(header->input).text,
                       tamis__show(expected).text, where);
}

/* Gives the names to the extractor. An error of the extractor is reported with its position. */
static tamis_status read_names(const tamis__header *header, const tamis__record_batch *batch,
                               tamis_key record, tamis_error *err) {
    tamis_error wrong = TAMIS_ERROR_INIT;
    if (!header->extractor)
        return TAMIS_OK;
    const tamis_status status = tamis__extractor_header(header->extractor, record, batch->offset, &wrong);
    if (status == TAMIS_OK)
        return TAMIS_OK;
    return tamis__fail(err, status, wrong.sys_errno, "%s: %s 1: %s", tamis__show(batch->input).text,
                       header->terminator == '\n' ? "line" : "record", wrong.text);
}

static bool is_same_header(const tamis__header *header, tamis_key record) {
    return record.size == header->size - 1 && memcmp(record.data, header->bytes, record.size) == 0;
}

/* Removes record 0 from the batch. */
static void drop_first(tamis__record_batch *batch) {
    const unsigned char *next = batch->count > 1 ? batch->records[1].data : batch->end;
    batch->line += tamis__count_byte(batch->begin, next, '\n');
    batch->offset += (uint64_t)(next - batch->begin);
    batch->begin = next;
    batch->first++;
    batch->records++;
    batch->count--;
}

tamis_status tamis__header_read(tamis__header *header, tamis__record_batch *batch, tamis__router *router,
                                tamis_error *err) {
    const unsigned char *begin = batch->begin;
    const bool unterminated = batch->unterminated && batch->count == 1;
    tamis_key record = batch->records[0];
    if (record.size > 0 && ((const unsigned char *)record.data)[record.size - 1] == '\r')
        record.size--;
    if (header->bytes) {
        const bool same = is_same_header(header, record);
        if (same)
            drop_first(batch);
        return same || batch->restarted ? TAMIS_OK : fail_mismatch(header, record, batch->input, err);
    }
    tamis_status status = read_names(header, batch, record, err);
    if (status == TAMIS_OK)
        status = keep_header(header, record, batch->input, err);
    if (status != TAMIS_OK)
        return status;
    drop_first(batch);
    if (!router)
        return TAMIS_OK;
    return tamis__route_header(router, begin, (size_t)(batch->begin - begin), unterminated, err);
}

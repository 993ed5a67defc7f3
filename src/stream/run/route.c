/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Routing: writes each record of a batch to the output that its outcome demands.
 *
 *     outcome         goes to, if unmarked            goes to, if marked              mark of a service
 *     -------------   -----------------------------   -----------------------------   -----------------
 *     TAMIS_ABSENT    output                          output                          yes
 *     TAMIS_UNKNOWN   output                          output                          yes
 *     TAMIS_PRESENT   duplicates                      output                          yes
 *     TAMIS_LATE      output, or dropped              output, or dropped              yes
 *     no key          output, or dropped              output, or dropped              no
 *     malformed       output, or dropped              output, or dropped              no
 *     redelivered     dropped                         dropped                         no
 *
 * An unknown answer counts as a first occurrence: a duplicate that is printed does less harm than a first
 * occurrence that is not. The policies `late`, `missing` and `malformed` decide about the rows with "or
 * dropped". A policy that fails has ended the run before the record gets here. An output without a target
 * drops its records.
 *
 * Forms of a record, from left to right:
 *
 *     unmarked            {"id":7}
 *     column              1 TAB {"id":7}           1: absent, 0: present, -: any other outcome
 *     member              {"id":7,"fresh":true}    true: absent, false: present, null: any other outcome
 *     mark of a service   bytes of the service, then one of the forms above
 *     header              NAME TAB header          if there is a column or a mark of a service
 *
 * Runs of records. The records of a batch are consecutive in memory, each with its terminator. So several
 * records with the same output are one piece of memory, and unmarked output is written in such pieces:
 *
 *     batch      | a | b | c | d | e | f |      a b, e f: output; c d: duplicates
 *     writes     |- 1 -| |- 2 -| |- 3 -|
 *
 * If few records are duplicates, a write carries many records. Marked records are written singly.
 *
 * Invariants:
 * 1. An output has its records in the order of the inputs: the loop over the batch has no other order.
 * 2. A record is written unchanged, apart from its mark. A malformed record gets no member, and neither does
 *    a record that does not end with a brace.
 * 3. The index that the service's mark gets counts only records with a key, as its query did.
 * 4. Header and byte order mark go to every output, except to one that already has a header: an appended one.
 */
#include "stream/run/route.h"

#include <stdio.h>
#include <string.h>

#include "stream/extract/find.h"
#include "stream/split/bom.h"

/* ---- marks ---- */

/* Builds "name": with JSON escapes. The caller is responsible for valid UTF-8. */
tamis_status tamis__router_init(tamis__router *router, tamis_error *err) {
    const char *name = router->name;
    const size_t buffer_size = 6 * strlen(name) + sizeof "\"\":";
    if (router->marking != TAMIS_STREAM_MEMBER)
        return TAMIS_OK;
    char *to = router->member = tamis__alloc(&router->memory, buffer_size, 1);
    if (!to)
        return tamis__fail_nomem(err, "mark", buffer_size);
    router->member_size = buffer_size;
    *to++ = '"';
    for (; *name; name++) {
        const unsigned char byte = (unsigned char)*name;
        if (byte < ' ')
            to += sprintf(to, "\\u%04x", byte);
        else if (byte == '"' || byte == '\\')
            to += sprintf(to, "\\%c", byte);
        else
            *to++ = (char)byte;
    }
    memcpy(to, "\":", sizeof "\":");
    return TAMIS_OK;
}

void tamis__router_release(tamis__router *router) {
    tamis__free(&router->memory, router->member, router->member_size);
}

/* A record, or several consecutive ones with the same output. */
typedef struct record {
    const unsigned char *data;
    size_t size; /* with its terminator, if it has one */
    bool unterminated;
    uint8_t outcome;
    size_t key; /* index among the keys of the batch */
} record;

static tamis_status put_bytes(tamis__writer *writer, const void *data, size_t size, tamis_error *err) {
    return size ? tamis__writer_put(writer, data, size, false, err) : TAMIS_OK;
}

/* True for blanks and for the terminator NUL. */
static bool is_blank(unsigned char byte) {
    return tamis__json_is_blank(byte) || byte == '\0';
}

/* Adds the member before the closing brace. Malformed records and other values are written unchanged. */
static tamis_status put_marked_object(const tamis__router *router, tamis__writer *writer, const record *rec,
                                      tamis_error *err) {
    static const char *const values[] = {[TAMIS_ABSENT] = "true",
                                         [TAMIS_PRESENT] = "false",
                                         [TAMIS_UNKNOWN] = "null",
                                         [TAMIS_LATE] = "null",
                                         [TAMIS__OUTCOME_MISSING] = "null"};
    size_t brace = rec->size;
    while (brace > 0 && is_blank(rec->data[brace - 1]))
        brace--;
    if (brace < 2 || rec->data[brace - 1] != '}' || rec->outcome == TAMIS__OUTCOME_MALFORMED)
        return tamis__writer_put(writer, rec->data, rec->size, rec->unterminated, err);
    brace--;
    size_t end = brace; /* end of its last member */
    while (is_blank(rec->data[end - 1]))
        end--;
    const char *value = values[rec->outcome];
    tamis_status status = put_bytes(writer, rec->data, brace, err);
    if (status == TAMIS_OK && rec->data[end - 1] != '{')
        status = put_bytes(writer, ",", 1, err);
    if (status == TAMIS_OK)
        status = put_bytes(writer, router->member, strlen(router->member), err);
    if (status == TAMIS_OK)
        status = put_bytes(writer, value, strlen(value), err);
    return status == TAMIS_OK
               ? tamis__writer_put(writer, rec->data + brace, rec->size - brace, rec->unterminated, err)
               : status;
}

static tamis_status put_marked_column(tamis__writer *writer, const record *rec, tamis_error *err) {
    const char *column = rec->outcome == TAMIS_ABSENT ? "1\t" : rec->outcome == TAMIS_PRESENT ? "0\t" : "-\t";
    const tamis_status status = put_bytes(writer, column, 2, err);
    return status == TAMIS_OK ? tamis__writer_put(writer, rec->data, rec->size, rec->unterminated, err)
                              : status;
}

/* Writes a record, after the service's mark if there is one. */
static tamis_status put_record(const tamis__router *router, tamis__writer *writer, const record *rec,
                               tamis_error *err) {
    const tamis_stream_service *service = router->service;
    tamis_status status = TAMIS_OK;
    if (service->mark && rec->outcome <= TAMIS_LATE) {
        const tamis_key mark = service->mark(service->context, rec->key);
        status = put_bytes(writer, mark.data, mark.size, err);
    }
    if (status != TAMIS_OK)
        return status;
    switch (router->marking) {
    case TAMIS_STREAM_COLUMN:
        return put_marked_column(writer, rec, err);
    case TAMIS_STREAM_MEMBER:
        return put_marked_object(router, writer, rec, err);
    case TAMIS_STREAM_UNMARKED:
        break;
    }
    return tamis__writer_put(writer, rec->data, rec->size, rec->unterminated, err);
}

/* ---- outputs ---- */

static tamis__writer *choose_writer(const tamis__router *router, uint8_t outcome) {
    tamis__writer *output = &router->writers[TAMIS__OUTPUT];
    switch (outcome) {
    case TAMIS_PRESENT:
        return router->marking ? output : &router->writers[TAMIS__DUPLICATES];
    case TAMIS_LATE:
        return router->late == TAMIS_STREAM_PASS ? output : NULL;
    case TAMIS__OUTCOME_MISSING:
        return router->missing == TAMIS_STREAM_PASS ? output : NULL;
    case TAMIS__OUTCOME_MALFORMED:
        return router->malformed == TAMIS_STREAM_PASS ? output : NULL;
    case TAMIS_REDELIVERED:
        return NULL;
    default:
        return output;
    }
}

tamis_status tamis__route(tamis__router *router, const tamis__record_batch *batch, const uint8_t *outcomes,
                          size_t count, tamis_error *err) {
    const bool singly = router->service->mark || router->marking;
    tamis__writer *writers[TAMIS__OUTCOMES];
    for (uint8_t outcome = 0; outcome < TAMIS__OUTCOMES; outcome++)
        writers[outcome] = choose_writer(router, outcome);
    const unsigned char *data = batch->begin;
    tamis_status status = TAMIS_OK;
    size_t key = 0;
    for (size_t from = 0, to; from < count && status == TAMIS_OK; from = to) {
        tamis__writer *writer = writers[outcomes[from]];
        size_t keyed = outcomes[from] <= TAMIS_LATE;
        /* Consecutive records with the same output are written together. */
        for (to = from + 1; !singly && to < count && writers[outcomes[to]] == writer; to++)
            keyed += outcomes[to] <= TAMIS_LATE;
        const unsigned char *end = to < batch->count ? batch->records[to].data : batch->end;
        const record rec = {.data = data,
                            .size = (size_t)(end - data),
                            .unterminated = batch->unterminated && to == batch->count,
                            .outcome = outcomes[from],
                            .key = key};
        if (writer && writer->target) {
            writer->records += keyed;
            status = put_record(router, writer, &rec, err);
        }
        key += outcomes[from] <= TAMIS_LATE; /* not used for records written together */
        data = end;
    }
    return status;
}

tamis_status tamis__route_bom(tamis__router *router, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    for (int i = 0; i < TAMIS__OUTPUTS && status == TAMIS_OK; i++)
        if (router->writers[i].target && !router->writers[i].header_done)
            status = put_bytes(&router->writers[i], TAMIS__BOM, TAMIS__BOM_SIZE, err);
    return status;
}

tamis_status tamis__route_header(tamis__router *router, const unsigned char *data, size_t size,
                                 bool unterminated, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    for (int i = 0; i < TAMIS__OUTPUTS && status == TAMIS_OK; i++) {
        tamis__writer *writer = &router->writers[i];
        if (!writer->target || writer->header_done)
            continue;
        if (router->marking == TAMIS_STREAM_COLUMN || router->service->mark) {
            status = put_bytes(writer, router->name, strlen(router->name), err);
            if (status == TAMIS_OK)
                status = put_bytes(writer, "\t", 1, err);
        }
        if (status == TAMIS_OK)
            status = tamis__writer_put(writer, data, size, unterminated, err);
    }
    return status;
}

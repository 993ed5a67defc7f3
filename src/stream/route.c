/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/route.h"

#include <stdio.h>
#include <string.h>

#include "stream/bom.h"
#include "stream/find.h"

/* ---- marks ---- */

/* Builds "name": with JSON escapes. The caller is responsible for valid UTF-8. */
tamis_status tamis__router_init(tamis__router *router, tamis_error *err) {
    const char *name = router->name;
    const size_t room = 6 * strlen(name) + sizeof "\"\":";
    char *to;
    if (router->marking != TAMIS_STREAM_MEMBER)
        return TAMIS_OK;
    to = router->member = tamis__alloc(&router->memory, room, 1);
    if (!to)
        return tamis__fail_nomem(err, "mark", room);
    router->member_size = room;
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
    uint8_t fate;
    size_t key; /* index among the keys of the batch */
} record;

static tamis_status put(tamis__writer *writer, const void *data, size_t size, tamis_error *err) {
    return size ? tamis__writer_put(writer, data, size, false, err) : TAMIS_OK;
}

/* True for blanks and for the terminator NUL. */
static bool is_blank(unsigned char byte) {
    return tamis__json_is_blank(byte) || byte == '\0';
}

/* Adds the member before the closing brace. Malformed records and other values are written unchanged. */
static tamis_status put_member(const tamis__router *router, tamis__writer *writer, const record *one,
                               tamis_error *err) {
    static const char *const values[] = {[TAMIS_FRESH] = "true",
                                         [TAMIS_SEEN] = "false",
                                         [TAMIS_UNKNOWN] = "null",
                                         [TAMIS__FATE_MISSING] = "null"};
    size_t brace = one->size;
    while (brace > 0 && is_blank(one->data[brace - 1]))
        brace--;
    if (brace < 2 || one->data[brace - 1] != '}' || one->fate == TAMIS__FATE_MALFORMED)
        return tamis__writer_put(writer, one->data, one->size, one->unterminated, err);
    brace--;
    size_t end = brace; /* end of its last member */
    while (is_blank(one->data[end - 1]))
        end--;
    const char *value = values[one->fate];
    tamis_status status = put(writer, one->data, brace, err);
    if (status == TAMIS_OK && one->data[end - 1] != '{')
        status = put(writer, ",", 1, err);
    if (status == TAMIS_OK)
        status = put(writer, router->member, strlen(router->member), err);
    if (status == TAMIS_OK)
        status = put(writer, value, strlen(value), err);
    return status == TAMIS_OK
               ? tamis__writer_put(writer, one->data + brace, one->size - brace, one->unterminated, err)
               : status;
}

static tamis_status put_column(tamis__writer *writer, const record *one, tamis_error *err) {
    const char *column = one->fate == TAMIS_FRESH ? "1\t" : one->fate == TAMIS_SEEN ? "0\t" : "-\t";
    tamis_status status = put(writer, column, 2, err);
    return status == TAMIS_OK ? tamis__writer_put(writer, one->data, one->size, one->unterminated, err)
                              : status;
}

/* Writes a record, after the service's mark if there is one. */
static tamis_status put_one(const tamis__router *router, tamis__writer *writer, const record *one,
                            tamis_error *err) {
    const tamis_stream_service *service = router->service;
    tamis_status status = TAMIS_OK;
    if (service->mark && one->fate <= TAMIS_UNKNOWN) {
        const tamis_key mark = service->mark(service->context, one->key);
        status = put(writer, mark.data, mark.size, err);
    }
    if (status != TAMIS_OK)
        return status;
    switch (router->marking) {
    case TAMIS_STREAM_COLUMN:
        return put_column(writer, one, err);
    case TAMIS_STREAM_MEMBER:
        return put_member(router, writer, one, err);
    case TAMIS_STREAM_UNMARKED:
        break;
    }
    return tamis__writer_put(writer, one->data, one->size, one->unterminated, err);
}

/* ---- outputs ---- */

static tamis__writer *writer_of(const tamis__router *router, uint8_t fate) {
    tamis__writer *firsts = &router->writers[TAMIS__FIRSTS];
    switch (fate) {
    case TAMIS_SEEN:
        return router->marking ? firsts : &router->writers[TAMIS__REPEATS];
    case TAMIS__FATE_MISSING:
        return router->missing == TAMIS_STREAM_PASS ? firsts : NULL;
    case TAMIS__FATE_MALFORMED:
        return router->malformed == TAMIS_STREAM_PASS ? firsts : NULL;
    default:
        return firsts;
    }
}

static uint64_t count_keyed(const uint8_t *fates, size_t count) {
    uint64_t keyed = 0;
    for (size_t i = 0; i < count; i++)
        keyed += fates[i] <= TAMIS_UNKNOWN;
    return keyed;
}

tamis_status tamis__route(tamis__router *router, const tamis__batch *batch, const uint8_t *fates,
                          size_t count, tamis_error *err) {
    const bool one_by_one = router->service->mark || router->marking;
    const unsigned char *data = batch->begin;
    tamis_status status = TAMIS_OK;
    size_t key = 0;
    for (size_t from = 0, to; from < count && status == TAMIS_OK; from = to) {
        tamis__writer *writer = writer_of(router, fates[from]);
        to = from + 1;
        /* Consecutive records with the same output are written together. */
        while (!one_by_one && to < count && writer_of(router, fates[to]) == writer)
            to++;
        const unsigned char *end = to < batch->count ? batch->keys[to].data : batch->end;
        const record one = {data, (size_t)(end - data), batch->unterminated && to == batch->count,
                            fates[from], key};
        if (writer && writer->place) {
            writer->records += count_keyed(fates + from, to - from);
            status = put_one(router, writer, &one, err);
        }
        key += fates[from] <= TAMIS_UNKNOWN; /* not used for records written together */
        data = end;
    }
    return status;
}

tamis_status tamis__route_mark(tamis__router *router, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    for (int i = 0; i < TAMIS__OUTPUTS && status == TAMIS_OK; i++)
        if (router->writers[i].place && !router->writers[i].has_header)
            status = put(&router->writers[i], TAMIS__BOM, TAMIS__BOM_SIZE, err);
    return status;
}

tamis_status tamis__route_header(tamis__router *router, const unsigned char *data, size_t size,
                                 bool unterminated, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    for (int i = 0; i < TAMIS__OUTPUTS && status == TAMIS_OK; i++) {
        tamis__writer *writer = &router->writers[i];
        if (!writer->place || writer->has_header)
            continue;
        if (router->marking == TAMIS_STREAM_COLUMN || router->service->mark) {
            status = put(writer, router->name, strlen(router->name), err);
            if (status == TAMIS_OK)
                status = put(writer, "\t", 1, err);
        }
        if (status == TAMIS_OK)
            status = tamis__writer_put(writer, data, size, unterminated, err);
    }
    return status;
}

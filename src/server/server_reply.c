/* SPDX-License-Identifier: BSD-2-Clause */
#include "server/server_reply.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"

/* From this size on, a value is shared and not copied: the reference costs about as much as 4 KiB of copy. */
enum { SHARED_FROM = 8 << 10, LINE_MAX_BYTES = 640 };

void tamis__reply_flush(server_reply *reply) {
    if (reply->used > 0 && evbuffer_add(reply->target, reply->bytes, reply->used) != 0)
        reply->has_failed = true;
    reply->used = 0;
}

void tamis__reply_raw(server_reply *reply, const void *bytes, size_t size) {
    if (size > REPLY_BUFFER - reply->used)
        tamis__reply_flush(reply);
    if (size > REPLY_BUFFER) {
        if (evbuffer_add(reply->target, bytes, size) != 0)
            reply->has_failed = true;
        return;
    }
    if (size > 0)
        memcpy(reply->bytes + reply->used, bytes, size);
    reply->used += size;
}

void tamis__reply_text(server_reply *reply, const char *bytes) {
    tamis__reply_raw(reply, bytes, strlen(bytes));
}

void tamis__reply_line(server_reply *reply, char type, const char *format, ...) {
    char line[LINE_MAX_BYTES];
    va_list arguments;

    line[0] = type;
    va_start(arguments, format);
    const int length = vsnprintf(line + 1, sizeof line - 3, format, arguments);
    va_end(arguments);
    size_t size = 1 + (length < (int)sizeof line - 4 ? (size_t)length : sizeof line - 4);
    for (size_t i = 1; i < size; i++)
        if ((unsigned char)line[i] < ' ')
            line[i] = ' ';
    line[size++] = '\r';
    line[size++] = '\n';
    tamis__reply_raw(reply, line, size);
}

void tamis__reply_ok(server_reply *reply) {
    tamis__reply_raw(reply, "+OK\r\n", 5);
}

/* Appends the type and a number as a line. */
static void append_number(server_reply *reply, char type, int64_t number) {
    char line[32], *last = line + sizeof line, *first = last;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;

    *--first = '\n';
    *--first = '\r';
    do
        *--first = (char)('0' + left % 10);
    while (left /= 10);
    if (number < 0)
        *--first = '-';
    *--first = type;
    tamis__reply_raw(reply, first, (size_t)(last - first));
}

void tamis__reply_integer(server_reply *reply, int64_t number) {
    append_number(reply, ':', number);
}

void tamis__reply_boolean(server_reply *reply, bool value) {
    if (reply->is_resp3)
        tamis__reply_raw(reply, value ? "#t\r\n" : "#f\r\n", 4);
    else
        tamis__reply_raw(reply, value ? ":1\r\n" : ":0\r\n", 4);
}

void tamis__reply_null(server_reply *reply) {
    if (reply->is_resp3)
        tamis__reply_raw(reply, "_\r\n", 3);
    else
        tamis__reply_raw(reply, "$-1\r\n", 5);
}

void tamis__reply_bulk(server_reply *reply, const void *data, size_t size) {
    append_number(reply, '$', (int64_t)size);
    tamis__reply_raw(reply, data, size);
    tamis__reply_raw(reply, "\r\n", 2);
}

void tamis__reply_string(server_reply *reply, const char *text) {
    tamis__reply_bulk(reply, text, strlen(text));
}

void tamis__reply_array(server_reply *reply, size_t count) {
    append_number(reply, '*', (int64_t)count);
}

void tamis__reply_map(server_reply *reply, size_t count) {
    if (reply->is_resp3)
        append_number(reply, '%', (int64_t)count);
    else
        append_number(reply, '*', 2 * (int64_t)count);
}

void tamis__reply_set(server_reply *reply, size_t count) {
    append_number(reply, reply->is_resp3 ? '~' : '*', (int64_t)count);
}

/* Called by libevent when the bytes were sent. */
static void release_value(const void *data, size_t size, void *context) {
    tamis_guard_value *value = context;

    (void)data;
    (void)size;
    tamis_guard_value_release(value);
    free(value);
}

void tamis__reply_value(server_reply *reply, tamis_guard_value *value) {
    tamis_guard_value *shared = NULL;

    if (value->outcome != TAMIS_GUARD_FOUND) {
        tamis__reply_null(reply);
        return;
    }
    if (value->size >= SHARED_FROM)
        shared = malloc(sizeof *shared);
    if (!shared) {
        tamis__reply_bulk(reply, value->data, value->size);
        tamis_guard_value_release(value);
        return;
    }
    append_number(reply, '$', (int64_t)value->size);
    tamis__reply_flush(reply);
    *shared = *value;
    *value = (tamis_guard_value)TAMIS_GUARD_VALUE_INIT;
    if (evbuffer_add_reference(reply->target, shared->data, shared->size, release_value, shared) != 0) {
        release_value(NULL, 0, shared);
        reply->has_failed = true;
    }
    tamis__reply_raw(reply, "\r\n", 2);
}

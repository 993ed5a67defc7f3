/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVER_SERVER_REPLY_H
#define TAMIS_SERVER_SERVER_REPLY_H

#include <event2/buffer.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <tamis/experimental/guard.h>

/* Replies in the protocol of Redis, versions 2 and 3. Short ones are collected in `bytes`. */

enum { REPLY_BUFFER = 16 << 10 };

typedef struct server_reply {
    struct evbuffer *target; /* gets the bytes when the buffer is full or flushed */
    bool is_resp3;
    bool has_failed; /* memory was short: the connection must be closed */
    size_t used;
    char bytes[REPLY_BUFFER];
} server_reply;

/* Begins replies for another target. The former ones must have been flushed. */
static inline void tamis__reply_begin(server_reply *reply, struct evbuffer *target, bool is_resp3) {
    reply->target = target;
    reply->is_resp3 = is_resp3;
    reply->has_failed = false;
    reply->used = 0;
}
/* Passes the collected bytes to the target. */
void tamis__reply_flush(server_reply *reply);

/* Appends bytes of the protocol. */
void tamis__reply_raw(server_reply *reply, const void *bytes, size_t size);
void tamis__reply_text(server_reply *reply, const char *bytes); /* the same, NUL-terminated */

/* A line: "+OK" or "-ERR message". Control bytes of the text become blanks. */
void tamis__reply_line(server_reply *reply, char type, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define tamis__reply_error(reply, ...) tamis__reply_line(reply, '-', __VA_ARGS__)
void tamis__reply_ok(server_reply *reply);

void tamis__reply_integer(server_reply *reply, int64_t number);
void tamis__reply_boolean(server_reply *reply, bool value); /* 0 or 1 in version 2 */
void tamis__reply_null(server_reply *reply);
void tamis__reply_bulk(server_reply *reply, const void *data, size_t size);
void tamis__reply_string(server_reply *reply, const char *text); /* a bulk string */
/* Begin an array or a set of `count` elements, or a map of `count` pairs. */
void tamis__reply_array(server_reply *reply, size_t count);
void tamis__reply_map(server_reply *reply, size_t count);
void tamis__reply_set(server_reply *reply, size_t count);

/* Appends the value of a row, or null. Takes over *value: a long value is not copied. */
void tamis__reply_value(server_reply *reply, tamis_guard_value *value);

#endif

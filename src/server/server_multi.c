/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * MULTI, EXEC and DISCARD. Clients send them around pipelines: redis-py does by default.
 *
 *     MULTI      +OK
 *     GET a      +QUEUED     its bytes are kept as they came
 *     DEL b      +QUEUED
 *     EXEC       *2          the head of an array; then the kept bytes are parsed as if they came now
 *
 * 1. Replies of a connection are in the order of its commands, so the elements of the array are simply the
 *    replies of the commands. A slow one delays those behind it, as in a pipeline.
 * 2. Nothing is isolated: commands of other connections run in between, while a row is loaded. Nothing here
 *    changes two rows, so there is nothing to isolate.
 * 3. A command that could not run in any case (unknown, wrong number of arguments) is refused at once, and EXEC
 *    then runs none. Memory is bounded: all kept commands together are as long as one command may be.
 */
#include <string.h>

#include "base/memory.h"
#include "server/server_commands.h"

void tamis__multi_clear(server_client *client) {
    server_multi *multi = &client->multi;

    tamis__free(&client->server->memory, multi->bytes, multi->capacity);
    *multi = (server_multi){.bytes = NULL};
}

static bool reserve(server_client *client, size_t size) {
    server_multi *multi = &client->multi;
    size_t capacity = multi->capacity ? multi->capacity : 256;

    if (size <= multi->capacity)
        return true;
    while (capacity < size)
        capacity *= 2;
    char *grown = tamis__alloc(&client->server->memory, capacity, 1);
    if (!grown)
        return false;
    if (multi->size > 0)
        memcpy(grown, multi->bytes, multi->size);
    tamis__free(&client->server->memory, multi->bytes, multi->capacity);
    multi->bytes = grown;
    multi->capacity = capacity;
    return true;
}

void tamis__multi_fail(server_client *client) {
    if (!client->multi.is_open)
        return;
    tamis__multi_clear(client);
    client->multi.is_open = client->multi.has_failed = true;
}

void tamis__multi_add(server_client *client, server_reply *reply, tamis_key bytes) {
    server_multi *multi = &client->multi;
    const uint64_t max = client->server->config->command_max;

    if (!multi->has_failed && (bytes.size > max || multi->size > max - bytes.size)) {
        tamis__reply_error(
            reply, "ERR the commands since MULTI are longer than command_max; send fewer, or raise it");
        tamis__multi_fail(client);
        return;
    }
    if (!multi->has_failed && !reserve(client, multi->size + bytes.size)) {
        tamis__reply_error(reply, "ERR out of memory");
        tamis__multi_fail(client);
        return;
    }
    if (!multi->has_failed) {
        memcpy(multi->bytes + multi->size, bytes.data, bytes.size);
        multi->size += bytes.size;
        multi->count++;
    }
    tamis__reply_text(reply, "+QUEUED\r\n");
}

void tamis__server_run_multi(server_client *client, server_reply *reply, const tamis_key *arguments,
                             size_t count) {
    (void)arguments;
    (void)count;
    if (client->multi.is_open) {
        tamis__reply_error(reply, "ERR MULTI calls can not be nested");
        return;
    }
    client->multi.is_open = true;
    tamis__reply_ok(reply);
}

void tamis__server_run_exec(server_client *client, server_reply *reply, const tamis_key *arguments,
                            size_t count) {
    server_multi *multi = &client->multi;

    (void)arguments;
    (void)count;
    if (!multi->is_open) {
        tamis__reply_error(reply, "ERR EXEC without MULTI");
        return;
    }
    if (multi->has_failed) {
        tamis__reply_error(reply, "EXECABORT Transaction discarded because of previous errors.");
        tamis__multi_clear(client);
        return;
    }
    tamis__reply_array(reply, multi->count);
    multi->is_open = false;
    multi->runs = multi->count > 0;
}

void tamis__server_run_discard(server_client *client, server_reply *reply, const tamis_key *arguments,
                               size_t count) {
    (void)arguments;
    (void)count;
    if (!client->multi.is_open) {
        tamis__reply_error(reply, "ERR DISCARD without MULTI");
        return;
    }
    tamis__multi_clear(client);
    tamis__reply_ok(reply);
}

/* A row may change in the database without any command here, so a promise to notice that would be false. */
void tamis__server_run_watch(server_client *client, server_reply *reply, const tamis_key *arguments,
                             size_t count) {
    (void)arguments;
    (void)count;
    if (client->multi.is_open)
        tamis__reply_error(reply, "ERR WATCH inside MULTI is not allowed");
    else
        tamis__reply_error(reply,
                           "ERR WATCH is not possible: rows change in the database; use a transaction there");
}

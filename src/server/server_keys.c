/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Answers for keys, in the order of the commands.
 *
 *     input --> batch of up to 64 commands --> tamis_guard_find_many
 *                                                |        |
 *                                  found, absent |        | needs Redis or the database
 *                                                v        v
 *     output <------------------------------- reply     pending --> tamis_guard_request
 *        ^                                                  |
 *        '--------------------------------------------------'  when all commands before it are answered
 *
 * 1. Replies of a connection are in the order of its commands. Once a command is pending, the replies to
 *    later ones wait in its `after`.
 * 2. Keys of later commands are requested at once: one slow row does not delay the queries of others.
 * 3. A pending command outlives its client: requests in progress still have its address. The last answer
 *    frees it.
 * 4. A key of the batch lies in the input, which does not move before tamis__batch_answer. A request copies
 *    it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "server/server_int.h"

/* ---- errors ---- */

const char *tamis__server_error_word(tamis_status status) {
    switch (status) {
    case TAMIS_E_TIMEOUT:
        return "TIMEOUT";
    case TAMIS_E_BUSY:
        return "BUSY";
    case TAMIS_E_IO:
        return "IOERR";
    default:
        return "ERR";
    }
}

static void reply_failure(server_reply *reply, tamis_status status, const char *message) {
    tamis__reply_error(reply, "%s %s", tamis__server_error_word(status),
                       message ? message : tamis_strerror(status));
}

/* Replies to a call of tamis_guard_find_many that failed. TAMIS_E_BUSY: the filter does not answer, and
 * without_filter is `closed`. Redis replies with LOADING while it loads its data. */
static void reply_not_found(server_reply *reply, tamis_status status, const char *message) {
    tamis__reply_error(reply, "%s %s", status == TAMIS_E_BUSY ? "LOADING" : tamis__server_error_word(status),
                       message);
}

/* ---- pending commands ---- */

static size_t size_of_pending(size_t count) {
    return sizeof(server_pending) + count * sizeof(server_answer);
}

server_pending *tamis__pending_create(server_client *client, server_read_kind kind, size_t count) {
    server_pending *made =
        tamis__alloc(&client->server->memory, size_of_pending(count), _Alignof(server_pending));

    if (!made)
        return NULL;
    made->client = client;
    made->memory = client->server->memory;
    made->kind = kind;
    made->count = made->weight = count;
    made->is_resp3 = client->is_resp3;
    return made;
}

void tamis__pending_free(server_pending *pending) {
    const tamis_allocator memory = pending->memory;

    for (size_t i = 0; i < pending->count; i++) {
        tamis_guard_value_release(&pending->answers[i].value);
        free(pending->answers[i].message);
    }
    if (pending->after)
        evbuffer_free(pending->after);
    if (pending->filter)
        tamis__bloom_free(&memory, pending->filter);
    tamis__free(&memory, pending, size_of_pending(pending->count));
}

/* Appends a command to those that wait. Earlier replies go before it. */
void tamis__pending_append(server_client *client, server_pending *pending) {
    tamis__client_flush(client);
    if (client->last && client->last->after)
        client->waiting_size += evbuffer_get_length(client->last->after);
    if (client->last)
        client->last->next = pending;
    else
        client->first = pending;
    client->last = pending;
    client->pending_count += pending->weight;
}

static void reply_one(server_reply *reply, server_read_kind kind, tamis_guard_value *value) {
    const bool is_found = value->outcome == TAMIS_GUARD_FOUND;

    switch (kind) {
    case READ_EXISTS:
        tamis__reply_integer(reply, is_found);
        break;
    case READ_STRLEN:
        tamis__reply_integer(reply, is_found ? (int64_t)value->size : 0);
        break;
    case READ_TTL: /* a row does not expire */
        tamis__reply_integer(reply, is_found ? -1 : -2);
        break;
    default:
        tamis__reply_value(reply, value);
        return;
    }
    tamis_guard_value_release(value);
}

static void reply_pending(const tamis_server *server, server_reply *reply, server_pending *pending) {
    const uint64_t max = server->config->reply_max;
    uint64_t size = 0;
    int64_t found = 0;

    if (pending->kind == READ_FILTER) {
        tamis__bloom_reply(reply, pending->filter);
        return;
    }
    for (size_t i = 0; i < pending->count; i++) {
        const server_answer *answer = &pending->answers[i];
        found += answer->value.outcome == TAMIS_GUARD_FOUND;
        size += answer->value.size;
        if (answer->status == TAMIS_OK)
            continue;
        if (answer->was_requested)
            reply_failure(reply, answer->status, answer->message);
        else
            reply_not_found(reply, answer->status, answer->message);
        return;
    }
    if (pending->kind == READ_MGET && size > max) {
        tamis__reply_error(reply, "ERR %llu bytes of rows, above reply_max; ask for fewer keys, or raise it",
                           (unsigned long long)size);
        return;
    }
    if (pending->kind == READ_MGET) {
        tamis__reply_array(reply, pending->count);
        for (size_t i = 0; i < pending->count; i++)
            tamis__reply_value(reply, &pending->answers[i].value);
    } else if (pending->count > 1) { /* EXISTS */
        tamis__reply_integer(reply, found);
    } else {
        reply_one(reply, pending->kind, &pending->answers[0].value);
    }
}

void tamis__pending_reply(server_client *client) {
    while (client->first && client->first->waiting == 0) {
        server_pending *pending = client->first;
        server_reply *reply = &client->server->reply;

        const size_t after_size = pending->after ? evbuffer_get_length(pending->after) : 0;
        tamis__reply_begin(reply, client->output, pending->is_resp3);
        reply_pending(client->server, reply, pending);
        tamis__reply_flush(reply);
        if (reply->has_failed || (pending->after && evbuffer_add_buffer(client->output, pending->after) != 0))
            client->is_broken = true;
        client->first = pending->next;
        if (!client->first)
            client->last = NULL;
        else
            client->waiting_size -= after_size;
        client->pending_count -= pending->weight;
        tamis__pending_free(pending);
    }
}

void tamis__pending_abandon(server_client *client) {
    while (client->first) {
        server_pending *pending = client->first;

        client->first = pending->next;
        pending->client = NULL;
        if (pending->waiting == 0)
            tamis__pending_free(pending);
    }
    client->last = NULL;
    client->pending_count = 0;
}

/* ---- requests ---- */

/* A key that waits for the guard. */
typedef struct key_request {
    server_event event;
    tamis_server *server;
    server_guard *guard;
    server_pending *pending;
    size_t index; /* of the key in its command */
    server_answer answer;
} key_request;

static void apply_answer(tamis_server *server, server_event *event) {
    key_request *request = (key_request *)event;
    server_pending *pending = request->pending;

    pending->answers[request->index] = request->answer;
    pending->waiting--;
    server->request_count--;
    tamis__keyspace_release(server, request->guard);
    tamis__free(&server->memory, request, sizeof *request);
    if (pending->waiting > 0)
        return;
    if (!pending->client)
        tamis__pending_free(pending);
    else if (pending->client->first == pending)
        tamis__client_proceed(pending->client);
}

/* In a thread of the guard. */
static void pass_answer(void *context, tamis_status status, tamis_guard_value *value,
                        const tamis_error *why) {
    key_request *request = context;

    request->answer.status = status;
    if (status != TAMIS_OK) {
        request->answer.message = strdup(why ? why->text : tamis_strerror(status));
    } else {
        request->answer.value = *value;
        *value = (tamis_guard_value)TAMIS_GUARD_VALUE_INIT;
    }
    tamis__server_post(request->server, &request->event);
}

/* Requests a key of a pending command. On failure the error is its answer. */
static void request_key(server_pending *pending, size_t index, server_guard *guard, tamis_key key) {
    tamis_server *server = pending->client->server;
    server_answer *answer = &pending->answers[index];
    tamis_error err = TAMIS_ERROR_INIT;

    answer->was_requested = true;
    key_request *request = tamis__alloc(&server->memory, sizeof *request, _Alignof(key_request));

    if (!request) {
        answer->status = TAMIS_E_NOMEM;
        return;
    }
    *request = (key_request){.event.apply = apply_answer,
                             .server = server,
                             .guard = guard,
                             .pending = pending,
                             .index = index,
                             .answer.was_requested = true};
    atomic_fetch_add(&guard->references, 1);
    pending->waiting++;
    server->request_count++;
    const tamis_status status = tamis_guard_request(guard->guard, key, pass_answer, request, &err);
    if (status == TAMIS_OK)
        return;
    pending->waiting--;
    server->request_count--;
    answer->status = status;
    answer->message = strdup(err.text);
    tamis__keyspace_release(server, guard);
    tamis__free(&server->memory, request, sizeof *request);
}

/* ---- commands of one key ---- */

/* Replies to one command of the batch, or makes it pending. */
static void answer_one(server_client *client, size_t i) {
    server_batch *batch = &client->server->batch;
    tamis_guard_value *value = &batch->values[i];

    if (value->outcome != TAMIS_GUARD_PENDING) {
        reply_one(&client->server->reply, batch->kinds[i], value);
        return;
    }
    server_pending *pending = tamis__pending_create(client, batch->kinds[i], 1);
    if (!pending) {
        reply_failure(&client->server->reply, TAMIS_E_NOMEM, NULL);
        return;
    }
    request_key(pending, 0, batch->guards[i], batch->keys[i]);
    tamis__pending_append(client, pending);
    tamis__client_reply(client);
}

void tamis__batch_answer(server_client *client) {
    server_batch *batch = &client->server->batch;
    const size_t count = batch->count;

    if (count == 0)
        return;
    batch->count = 0;
    tamis__client_reply(client);
    for (size_t first = 0, last; first < count; first = last) {
        tamis_error err = TAMIS_ERROR_INIT;
        for (last = first + 1; last < count && batch->guards[last] == batch->guards[first];)
            last++;
        const tamis_status status = tamis_guard_find_many(batch->guards[first]->guard, batch->keys + first,
                                                          last - first, batch->values + first, &err);
        for (size_t i = first; i < last; i++) {
            if (status == TAMIS_OK)
                answer_one(client, i);
            else
                reply_not_found(&client->server->reply, status, err.text);
        }
    }
    tamis__client_flush(client);
}

void tamis__batch_add(server_client *client, server_read_kind kind, tamis_key key) {
    server_batch *batch = &client->server->batch;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_key row;
    server_guard *guard = tamis__keyspaces_find(client->server->guards, key, &row, &err);

    if (!guard) {
        tamis__batch_answer(client);
        reply_failure(tamis__client_reply(client), err.status, err.text);
        tamis__client_flush(client);
        return;
    }
    batch->guards[batch->count] = guard;
    batch->keys[batch->count] = row;
    batch->kinds[batch->count++] = kind;
    if (batch->count == SERVER_BATCH)
        tamis__batch_answer(client);
}

/* ---- commands of several keys ---- */

static void set_failure(server_answer *answer, tamis_status status, const char *message) {
    answer->status = status;
    answer->message = strdup(message);
}

/* Finds up to SERVER_BATCH keys of the same guard. Requests those that are not answered. */
static void find_keys(server_pending *pending, size_t first, server_guard *guard, const tamis_key *rows,
                      size_t count) {
    tamis_guard_value values[SERVER_BATCH];
    tamis_error err = TAMIS_ERROR_INIT;
    const tamis_status status = tamis_guard_find_many(guard->guard, rows, count, values, &err);

    for (size_t i = 0; i < count; i++) {
        server_answer *answer = &pending->answers[first + i];
        if (status != TAMIS_OK) {
            set_failure(answer, status, err.text);
            continue;
        }
        answer->value = values[i];
        if (values[i].outcome == TAMIS_GUARD_PENDING)
            request_key(pending, first + i, guard, rows[i]);
    }
}

void tamis__batch_answer_keys(server_client *client, server_read_kind kind, const tamis_key *keys,
                              size_t count) {
    tamis_key rows[SERVER_BATCH];
    server_pending *pending = tamis__pending_create(client, kind, count);
    server_reply *reply = tamis__client_reply(client);

    if (!pending) {
        reply_failure(reply, TAMIS_E_NOMEM, NULL);
        return;
    }
    for (size_t first = 0, last; first < count; first = last) {
        tamis_error err = TAMIS_ERROR_INIT;
        server_guard *guard = tamis__keyspaces_find(client->server->guards, keys[first], &rows[0], &err);
        last = first + 1;
        if (!guard) {
            set_failure(&pending->answers[first], err.status, err.text);
            continue;
        }
        while (last < count && last - first < SERVER_BATCH &&
               tamis__keyspaces_find(client->server->guards, keys[last], &rows[last - first], NULL) == guard)
            last++;
        find_keys(pending, first, guard, rows, last - first);
    }
    if (pending->waiting > 0) {
        tamis__pending_append(client, pending);
        return;
    }
    reply_pending(client->server, reply, pending);
    tamis__pending_free(pending);
}

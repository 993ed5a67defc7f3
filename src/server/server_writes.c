/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * GUARD.ADD and DEL: the two calls of a writer around the change of a row.
 *
 *     GUARD.ADD key --> tamis_guard_put_begin --> token, kept with the connection
 *     (the client writes the row)
 *     DEL key       --> tamis_guard_put_end with the tokens of the key, or with none
 *
 * Both calls may wait for Redis, so a worker makes them. With a Redis, GUARD.ADD is answered 0.22 seconds
 * later, when all guards have the key or are silent. The server's thread delays the reply. Later commands of
 * the connection wait until the job is done: a GET behind a DEL does not get the old entry. When a connection
 * is closed, its tokens are dropped, and their marks expire. A token has the whole key, so that DEL finds it
 * after a reload too. If a reload comes while a job is in progress, GUARD.ADD passes its put on to the new
 * guard, and DEL runs again there.
 */
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "server/server_int.h"
#include "service/guard/guard_put.h"

/* A key of a job. Its bytes are copied to the end of the job. */
typedef struct write_key {
    server_guard *guard;
    server_guard *former; /* DEL: guard before the last reload, until it is released */
    tamis_key key, row;   /* the row's key is the end of the key */
    server_token *tokens; /* DEL: those of the key */
} write_key;

typedef struct write_job {
    server_job job;
    server_client *client; /* NULL: the client has disconnected */
    size_t size;           /* bytes of the job in all */
    bool is_begin;
    server_token *made; /* GUARD.ADD: becomes a token of the client */
    guard_put put;      /* GUARD.ADD */
    tamis_status status;
    tamis_error err;
    size_t count;
    write_key keys[];
} write_job;

static void free_token(tamis_server *server, server_token *token) {
    tamis__free(&server->memory, token, sizeof *token + token->key_size);
}

static void free_tokens(tamis_server *server, server_token *tokens) {
    while (tokens) {
        server_token *next = tokens->next;
        free_token(server, tokens);
        tokens = next;
    }
}

void tamis__server_writes_abandon(server_client *client) {
    if (client->job)
        client->job->client = NULL;
    client->job = NULL;
    free_tokens(client->server, client->tokens);
    client->tokens = NULL;
    client->token_count = 0;
}

static void free_job(tamis_server *server, write_job *job) {
    for (size_t i = 0; i < job->count; i++) {
        free_tokens(server, job->keys[i].tokens);
        tamis__keyspace_release(server, job->keys[i].guard);
    }
    if (job->made)
        free_token(server, job->made);
    tamis__free(&server->memory, job, job->size);
}

/* ---- in a worker ---- */

static tamis_status begin_put(write_job *job, const write_key *key, tamis_error *err) {
    const tamis_status status = tamis__guard_put_begin(key->guard->guard, key->row, &job->put, err);

    if (status == TAMIS_OK)
        memcpy(job->made->token, job->put.token, sizeof job->put.token);
    return status;
}

/* Calls the guard for each key. The first error is that of the job. */
static void run_writes(tamis_server *server, server_job *base) {
    write_job *job = (write_job *)base;

    (void)server;
    for (size_t i = 0; i < job->count; i++) {
        write_key *key = &job->keys[i];
        tamis_error *err = job->status == TAMIS_OK ? &job->err : NULL;
        tamis_status status = TAMIS_OK;
        if (job->is_begin)
            status = begin_put(job, key, err);
        else if (!key->tokens)
            status = tamis_guard_put_end(key->guard->guard, key->row, NULL, err);
        for (server_token *token = key->tokens; token && status == TAMIS_OK; token = token->next)
            status = tamis_guard_put_end(key->guard->guard, key->row, token->token, err);
        if (job->status == TAMIS_OK)
            job->status = status;
    }
}

/* ---- in the server's thread ---- */

static void reply_job(server_reply *reply, const write_job *job) {
    if (job->status != TAMIS_OK)
        tamis__reply_error(reply, "%s %s", tamis__server_error_word(job->status), job->err.text);
    else if (job->is_begin)
        tamis__reply_ok(reply);
    else
        tamis__reply_integer(reply, (int64_t)job->count);
}

/* Ends GUARD.ADD. If a reload has replaced the guard since it began, the new one gets the put too. */
static tamis_status confirm_put(tamis_server *server, write_job *job) {
    const write_key *key = &job->keys[0];
    tamis_status status = tamis__guard_put_confirm(key->guard->guard, key->row, &job->put, &job->err);
    tamis_key row;

    if (status != TAMIS_OK || server->workers_stop) /* no set of guards replaces another one any more */
        return status;
    const server_guard *guard = tamis__keyspaces_find(
        server->guards, (tamis_key){job->made->key, job->made->key_size}, &row, &job->err);
    if (!guard)
        return job->err.status;
    return guard == key->guard ? TAMIS_OK
                               : tamis__guard_put_adopt(guard->guard, row, job->put.token, &job->err);
}

/* If a reload has replaced guards since DEL began, it runs again with the new ones. True: it does. */
static bool rerun_del(tamis_server *server, write_job *job) {
    bool is_moved = false;

    if (job->is_begin || job->status != TAMIS_OK || server->workers_stop)
        return false;
    for (size_t i = 0; i < job->count; i++) {
        write_key *key = &job->keys[i];
        tamis_key row;
        server_guard *guard = tamis__keyspaces_find(server->guards, key->key, &row, NULL);
        if (!guard || guard == key->guard)
            continue;
        atomic_fetch_add(&guard->references, 1);
        key->former = key->guard;
        key->guard = guard;
        key->row = row;
        is_moved = true;
    }
    if (!is_moved)
        return false;
    /* First, since a release may have a worker close the guard, which takes long. */
    tamis__server_work(server, &job->job);
    for (size_t i = 0; i < job->count; i++) {
        if (job->keys[i].former)
            tamis__keyspace_release(server, job->keys[i].former);
        job->keys[i].former = NULL;
    }
    return true;
}

static void finish_job(tamis_server *server, write_job *job) {
    server_client *client = job->client;

    if (rerun_del(server, job))
        return;
    if (job->is_begin && job->status == TAMIS_OK)
        job->status = confirm_put(server, job);
    if (client) {
        client->job = NULL;
        if (job->is_begin && job->status == TAMIS_OK) {
            job->made->next = client->tokens;
            client->tokens = job->made;
            client->token_count++;
            job->made = NULL;
        }
        reply_job(tamis__client_reply(client), job);
        tamis__client_flush(client);
    }
    free_job(server, job);
    if (client)
        tamis__client_proceed(client);
}

/* All writers wait equally long, so the list is in the order of the replies. */
static void apply_writes(tamis_server *server, server_event *event) {
    write_job *job = (write_job *)event;

    if (job->put.ready_at <= tamis__now_ns()) {
        finish_job(server, job);
        return;
    }
    event->next = NULL;
    *server->delayed_tail = event;
    server->delayed_tail = &event->next;
    if (server->delayed == event)
        tamis__server_writes_finish(server);
}

void tamis__server_writes_finish(tamis_server *server) {
    while (server->delayed) {
        write_job *job = (write_job *)server->delayed;
        const uint64_t now = tamis__now_ns();
        if (job->client && job->put.ready_at > now) {
            const uint64_t us = (job->put.ready_at - now) / 1000 + 1;
            const struct timeval time = {(time_t)(us / 1000000), (suseconds_t)(us % 1000000)};
            evtimer_add(&server->delay, &time);
            return;
        }
        server->delayed = job->job.event.next;
        if (!server->delayed)
            server->delayed_tail = &server->delayed;
        finish_job(server, job);
    }
}

/* Moves the tokens of a key out of the list of the client. */
static server_token *remove_tokens(server_client *client, tamis_key key) {
    server_token *removed = NULL;

    for (server_token **position = &client->tokens; *position;) {
        server_token *token = *position;
        if (token->key_size != key.size || memcmp(token->key, key.data, key.size)) {
            position = &token->next;
            continue;
        }
        *position = token->next;
        token->next = removed;
        removed = token;
        client->token_count--;
    }
    return removed;
}

/* Adds up the bytes of the keys. False: a key has no guard, and the reply says so. */
static bool check_keys(server_client *client, const tamis_key *keys, size_t count, size_t *bytes) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_key row;

    for (size_t i = 0; i < count; i++) {
        if (!tamis__keyspaces_find(client->server->guards, keys[i], &row, &err)) {
            tamis__reply_error(&client->server->reply, "ERR %s", err.text);
            return false;
        }
        *bytes += keys[i].size;
    }
    return true;
}

/* Makes a job with copies of the keys. Replies if it cannot be made. */
static write_job *make_job(server_client *client, const tamis_key *keys, size_t count) {
    tamis_server *server = client->server;
    size_t bytes = 0;

    if (!check_keys(client, keys, count, &bytes))
        return NULL;
    const size_t size = sizeof(write_job) + count * sizeof(write_key) + bytes;
    write_job *job = tamis__alloc(&server->memory, size, _Alignof(write_job));
    if (!job) {
        tamis__reply_error(&server->reply, "ERR out of memory");
        return NULL;
    }
    job->job.work = run_writes;
    job->job.event.apply = apply_writes;
    job->client = client;
    job->size = size;
    job->err = (tamis_error)TAMIS_ERROR_INIT;
    job->count = count;
    char *copy = (char *)&job->keys[count];
    for (size_t i = 0; i < count; i++) {
        write_key *key = &job->keys[i];
        key->key = (tamis_key){memcpy(copy, keys[i].data, keys[i].size), keys[i].size};
        key->guard = tamis__keyspaces_find(server->guards, key->key, &key->row, NULL);
        atomic_fetch_add(&key->guard->references, 1);
        copy += keys[i].size;
    }
    return job;
}

void tamis__server_write_begin(server_client *client, tamis_key key) {
    tamis_server *server = client->server;

    if (client->token_count >= SERVER_TOKENS_MAX) {
        tamis__reply_error(&server->reply, "ERR this connection has added %d keys; DEL them first",
                           SERVER_TOKENS_MAX);
        return;
    }
    write_job *job = make_job(client, &key, 1);
    if (!job)
        return;
    server_token *token = tamis__alloc(&server->memory, sizeof *token + key.size, _Alignof(server_token));
    if (!token) {
        tamis__reply_error(&server->reply, "ERR out of memory");
        free_job(server, job);
        return;
    }
    token->key_size = key.size;
    memcpy(token->key, key.data, key.size);
    job->made = token;
    job->is_begin = true;
    client->job = job;
    tamis__server_work(server, &job->job);
}

void tamis__server_write_finish(server_client *client, const tamis_key *keys, size_t count) {
    write_job *job = make_job(client, keys, count);

    if (!job)
        return;
    for (size_t i = 0; i < count; i++)
        job->keys[i].tokens = remove_tokens(client, keys[i]);
    client->job = job;
    tamis__server_work(client->server, &job->job);
}

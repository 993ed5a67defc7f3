/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Connections. After each event, tamis__client_proceed parses and sends as much as possible for the client:
 *
 *     socket --> server->input (shared) --> commands --> output --> socket
 *                      |                       ^
 *                      '--> client->input -----'     only an incomplete command, or at a bound
 *
 * 1. Memory of a client is bounded: input by one command, output by OUTPUT_MAX and the replies of one batch,
 *    pending keys by PENDING_MAX. At a bound its commands are not parsed and its socket is not read.
 * 2. An idle client has no buffers.
 * 3. A client is freed only by tamis__client_proceed, by the check of each second and by tamis_server_close.
 * 4. A connection that the server ends is shut down for writing first. A close with unread bytes would send a
 *    reset, and a reset can overtake the last reply.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/system.h"
#include "server/server_int.h"

enum { OUTPUT_MAX = 1 << 20, PENDING_MAX = 1024, INPUT_FIRST = 4 << 10 };
#define LINGER_NS ((uint64_t)1000000000)

/* ---- replies ---- */

server_reply *tamis__client_reply(server_client *client) {
    server_reply *reply = &client->server->reply;
    struct evbuffer *target = client->output;

    tamis__client_flush(client);
    if (client->last) {
        if (!client->last->after)
            client->last->after = evbuffer_new();
        target = client->last->after;
    }
    client->is_broken |= !target;
    tamis__reply_begin(reply, target ? target : client->output, client->is_resp3);
    return reply;
}

/* Returns the bytes of replies that wait for earlier replies, or for the client to read them. */
static size_t output_size(const server_client *client) {
    size_t size = evbuffer_get_length(client->output) + client->waiting_size;

    if (client->last && client->last->after)
        size += evbuffer_get_length(client->last->after);
    return size;
}

void tamis__client_flush(server_client *client) {
    server_reply *reply = &client->server->reply;

    tamis__reply_flush(reply);
    client->is_broken |= reply->has_failed;
    reply->has_failed = false;
}

/* ---- commands ---- */

static bool can_parse(const server_client *client) {
    return !client->job && !client->finishes && !client->is_broken && client->pending_count < PENDING_MAX &&
           output_size(client) < OUTPUT_MAX;
}

static void refuse_input(server_client *client) {
    tamis__batch_answer(client);
    tamis__reply_error(tamis__client_reply(client), "ERR %s", client->parser.error);
    tamis__client_flush(client);
    client->finishes = true;
    client->server->protocol_errors++;
    tamis__server_log_client(client, client->parser.error);
}

/* Parses and runs the command at data + *used. Returns false if it is not complete. */
static bool run_next(server_client *client, const char *data, size_t size, size_t *used) {
    const size_t command_max = client->server->config->command_max;
    /* A client that has not given the password gets little memory. */
    const resp_limits limits = {.arguments = client->is_authenticated ? command_max / 4 : 10,
                                .bulk = client->is_authenticated ? command_max : 16 << 10,
                                .command = command_max + 64};
    size_t consumed = 0;
    const resp_result result =
        tamis__resp_parse(&client->parser, &limits, data + *used, size - *used, &consumed);

    if (result == RESP_PARTIAL)
        return false;
    if (result == RESP_COMMAND) {
        if (client->parser.count > 0)
            tamis__server_command_run(client, client->parser.arguments, client->parser.count,
                                      (tamis_key){data + *used, consumed});
        if (data[*used] != '*') /* a typed line: the next command overwrites its arguments */
            tamis__batch_answer(client);
        *used += consumed;
        return true;
    }
    if (result == RESP_INVALID)
        refuse_input(client);
    else
        client->is_broken = true;
    *used = size;
    return true;
}

/* Runs what EXEC has left to run. Returns false if there is more, which has to wait. */
static bool run_kept(server_client *client) {
    server_multi *multi = &client->multi;

    while (multi->runs && can_parse(client)) {
        if (multi->used < multi->size && run_next(client, multi->bytes, multi->size, &multi->used))
            continue;
        tamis__batch_answer(client); /* its keys lie there */
        tamis__multi_clear(client);
    }
    return !multi->runs;
}

/* Parses and runs commands. Returns the number of bytes consumed. */
static size_t run_commands(server_client *client, const char *data, size_t size) {
    size_t used = 0;

    while (run_kept(client) && used < size && can_parse(client) && run_next(client, data, size, &used))
        ;
    tamis__batch_answer(client);
    tamis__filters_send(client->server);
    return used;
}

/* ---- input ---- */

static bool reserve_input(server_client *client, size_t more) {
    const size_t wanted = client->input_size + more;
    size_t capacity = client->input_capacity ? client->input_capacity : INPUT_FIRST;

    if (wanted <= client->input_capacity)
        return true;
    while (capacity < wanted)
        capacity *= 2;
    char *grown = tamis__alloc(&client->server->memory, capacity, 1);
    if (!grown)
        return false;
    if (client->input_size > 0)
        memcpy(grown, client->input, client->input_size);
    tamis__free(&client->server->memory, client->input, client->input_capacity);
    client->input = grown;
    client->input_capacity = capacity;
    return true;
}

static void drop_input(server_client *client, size_t count) {
    client->input_size -= count;
    if (client->input_size > 0) {
        memmove(client->input, client->input + count, client->input_size);
        return;
    }
    tamis__free(&client->server->memory, client->input, client->input_capacity);
    client->input = NULL;
    client->input_capacity = 0;
}

/* Reads once. Returns 0 if nothing came. */
static size_t receive(server_client *client, char *to, size_t size) {
    const ssize_t count =
        client->tls ? tamis__server_tls_read(client, to, size) : tamis__sys.receive(client->fd, to, size);

    if (count > 0) {
        client->active = tamis__now_ns();
        return (size_t)count;
    }
    if (count == 0)
        client->has_ended = client->is_closed = true;
    else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        client->is_broken = true;
    return 0;
}

/* Reads once, and runs the commands that are complete. False if nothing came. */
static bool read_commands(server_client *client) {
    tamis_server *server = client->server;

    if (client->input_size > 0) {
        if (!reserve_input(client, INPUT_FIRST)) {
            client->is_broken = true;
            return false;
        }
        const size_t count =
            receive(client, client->input + client->input_size, client->input_capacity - client->input_size);
        client->input_size += count;
        if (count > 0)
            drop_input(client, run_commands(client, client->input, client->input_size));
        return count > 0;
    }
    const size_t count = receive(client, server->input, sizeof server->input);
    const size_t used = count > 0 ? run_commands(client, server->input, count) : 0;
    if (used == count)
        return count > 0;
    if (reserve_input(client, count - used)) {
        memcpy(client->input, server->input + used, count - used);
        client->input_size = count - used;
    } else {
        client->is_broken = true;
    }
    return true;
}

/* ---- output ---- */

static ssize_t send_output(server_client *client) {
    struct evbuffer_iovec first;

    if (!client->tls)
        return evbuffer_write(client->output, client->fd);
    if (evbuffer_peek(client->output, -1, NULL, &first, 1) < 1)
        return 0;
    const ssize_t count = tamis__server_tls_write(client, first.iov_base, first.iov_len);
    if (count > 0)
        evbuffer_drain(client->output, (size_t)count);
    return count;
}

static void write_output(server_client *client) {
    while (!client->is_broken && evbuffer_get_length(client->output) > 0) {
        const ssize_t count = send_output(client);
        if (count > 0) {
            client->written = tamis__now_ns();
            continue;
        }
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (count == 0 || errno != EINTR)
            client->is_broken = true;
    }
}

/* ---- events ---- */

static void set_event(struct event *event, bool *is_added, bool wanted) {
    if (wanted == *is_added)
        return;
    *is_added = wanted;
    if (wanted)
        event_add(event, NULL);
    else
        event_del(event);
}

/* Closes the server's side of the connection, and waits until the client closes its own. */
static void linger(server_client *client) {
    if (client->tls)
        SSL_shutdown(client->tls);
    shutdown(client->fd, SHUT_WR);
    client->lingers = true;
    client->written = tamis__now_ns();
}

/* Sets the events that the client waits for. False: none; the caller frees the client. */
static bool await_client(server_client *client) {
    const bool has_output = evbuffer_get_length(client->output) > 0;

    if (client->is_broken)
        return false;
    if (client->has_ended && can_parse(client)) /* the input ends within a command */
        client->finishes = true;
    if (client->finishes && !client->lingers && !client->first && !client->job && !has_output) {
        if (client->is_closed)
            return false;
        linger(client);
    }
    const bool read_wanted = client->lingers || (!client->has_ended && can_parse(client));
    if (read_wanted && !client->reads && client->tls && SSL_pending(client->tls) > 0)
        event_active(&client->readable, EV_READ, 0);
    set_event(&client->readable, &client->reads, read_wanted);
    set_event(&client->writable, &client->writes, has_output || (client->tls && SSL_want_write(client->tls)));
    return true;
}

void tamis__client_proceed(server_client *client) {
    bool goes_on;

    do {
        size_t used = 0;
        tamis__pending_reply(client);
        const bool is_parsed = (client->input_size > 0 || client->multi.runs) && can_parse(client);
        if (is_parsed) {
            used = run_commands(client, client->input, client->input_size);
            drop_input(client, used);
        }
        write_output(client);
        /* Commands at the bound can be parsed now if the output has become shorter. */
        goes_on =
            can_parse(client) && (client->multi.runs || (client->input_size > 0 && (used > 0 || !is_parsed)));
    } while (goes_on);
    if (!await_client(client))
        tamis__client_free(client);
}

/* Drops what a client sends after its last command. */
static void discard_input(server_client *client) {
    client->is_broken |= receive(client, client->server->input, SERVER_INPUT) == 0 && client->has_ended;
}

static void on_readable(evutil_socket_t fd, short events, void *context) {
    server_client *client = context;

    (void)fd;
    (void)events;
    if (client->lingers) {
        client->has_ended = false;
        discard_input(client);
    } else {
        read_commands(client);
        if (client->tls && SSL_pending(client->tls) > 0 && can_parse(client))
            event_active(&client->readable, EV_READ, 0);
    }
    tamis__client_proceed(client);
}

static void on_writable(evutil_socket_t fd, short events, void *context) {
    server_client *client = context;

    (void)fd;
    (void)events;
    if (client->tls && can_parse(client) && !client->has_ended)
        read_commands(client);
    tamis__client_proceed(client);
}

/* ---- begin and end ---- */

static void set_socket_options(int fd) {
    const int enabled = 1, idle = 300, interval = 60, probes = 3;

    /* Fail for a Unix socket, which needs none of them. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &enabled, sizeof enabled);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &enabled, sizeof enabled);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

static void set_client(server_client *client, tamis_server *server, int fd) {
    client->server = server;
    client->fd = fd;
    client->id = ++server->next_id;
    client->parser.memory = server->memory;
    client->is_authenticated = !server->config->password;
    client->active = client->written = tamis__now_ns();
    client->next = server->clients;
    client->previous = &server->clients;
    if (server->clients)
        server->clients->previous = &client->next;
    server->clients = client;
    server->client_count++;
}

void tamis__client_accept(tamis_server *server, int fd) {
    static const char full[] = "-ERR max number of clients reached\r\n";

    if (server->client_count >= server->config->clients) {
        server->rejected++;
        if (!server->tls)
            (void)tamis__sys.send(fd, full, sizeof full - 1);
        tamis__sys.close(fd);
        return;
    }
    server_client *client = tamis__alloc(&server->memory, sizeof *client, _Alignof(server_client));
    struct evbuffer *output = evbuffer_new();
    SSL *tls = server->tls ? SSL_new(server->tls) : NULL;
    if (!client || !output || (server->tls && !tls) || (tls && SSL_set_fd(tls, fd) != 1)) {
        tamis__free(&server->memory, client, sizeof *client);
        if (output)
            evbuffer_free(output);
        SSL_free(tls);
        tamis__sys.close(fd);
        return;
    }
    if (tls)
        SSL_set_accept_state(tls);
    server->connections++;
    client->output = output;
    client->tls = tls;
    set_client(client, server, fd);
    set_socket_options(fd);
    event_assign(&client->readable, server->base, fd, EV_READ | EV_PERSIST, on_readable, client);
    event_assign(&client->writable, server->base, fd, EV_WRITE | EV_PERSIST, on_writable, client);
    set_event(&client->readable, &client->reads, true);
}

void tamis__client_free(server_client *client) {
    tamis_server *server = client->server;

    set_event(&client->readable, &client->reads, false);
    set_event(&client->writable, &client->writes, false);
    event_del(&client->readable); /* may be active without being added */
    tamis__pending_abandon(client);
    tamis__server_writes_abandon(client);
    tamis__multi_clear(client);
    SSL_free(client->tls);
    tamis__sys.close(client->fd);
    evbuffer_free(client->output);
    tamis__resp_parser_release(&client->parser);
    tamis__free(&server->memory, client->input, client->input_capacity);
    *client->previous = client->next;
    if (client->next)
        client->next->previous = client->previous;
    server->client_count--;
    if (server->drain_until > 0 && server->client_count == 0)
        event_base_loopbreak(server->base);
    tamis__free(&server->memory, client, sizeof *client);
}

/* Returns why a client is to be cut, or NULL. */
static const char *reason_to_cut(const server_client *client, uint64_t now) {
    const server_config *config = client->server->config;

    if (client->lingers)
        return now - client->written > LINGER_NS ? "" : NULL;
    if (evbuffer_get_length(client->output) > 0 && config->write_timeout_ms > 0 &&
        now - client->written > 1000000 * (uint64_t)config->write_timeout_ms)
        return "cut: does not read its replies";
    if (config->idle_ms > 0 && !client->first && !client->job &&
        now - client->active > 1000000 * (uint64_t)config->idle_ms)
        return "cut: idle";
    return NULL;
}

void tamis__clients_check(tamis_server *server, uint64_t now) {
    for (server_client *client = server->clients, *next; client; client = next) {
        next = client->next;
        if (evbuffer_get_length(client->output) == 0 && !client->lingers)
            client->written = now;
        const char *reason = reason_to_cut(client, now);
        if (!reason)
            continue;
        if (*reason) {
            server->cut++;
            tamis__server_log_client(client, reason);
        }
        tamis__client_free(client);
    }
}

void tamis__clients_drain(tamis_server *server) {
    for (server_client *client = server->clients, *next; client; client = next) {
        next = client->next;
        while (!client->has_ended && can_parse(client) && read_commands(client))
            ;
        client->has_ended = true;
        tamis__client_proceed(client);
    }
}

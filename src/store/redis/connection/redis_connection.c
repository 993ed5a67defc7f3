/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A connection: an output buffer, a socket with or without TLS, and a parser of replies.
 *
 *     tamis__connection_put*()    out | sent | still to be sent | free |     send -> socket (TLS)
 *                                     0      `sent`             `used`  `capacity`
 *
 *     tamis__connection_next_reply() <- parser (redis_reply.c) <- in[RECEIVE] <- receive
 *
 * Order of opening:
 *
 *     1. look up the host (redis_resolve.c); a Unix socket has a path instead
 *     2. connect to its addresses in turn, until one accepts
 *     3. TLS handshake (redis_tls.c), only for rediss://
 *     4. AUTH if there is a password, SELECT if the database is not 0; with TLS and neither of them, PING
 *
 * Each word of a command is sent as a bulk string of the Redis protocol, "$2\r\nu1\r\n", so it may hold
 * any bytes.
 *
 * Invariants:
 * 1. The socket never blocks. Only the lookup and tamis__poll_until wait, both until a deadline.
 * 2. A word that finds no memory is dropped. `out_of_memory` stays set from then on, so a command without all
 *    of its words is never sent.
 */
#include "store/redis/connection/redis_connection.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/file/file_error.h"

enum { RECEIVE = 64 << 10, WORD_HEAD = 24 /* max. bytes: "$" or "*", 20 digits, CR, LF */ };

struct tamis__connection {
    const tamis__endpoint *endpoint;
    tamis_allocator allocator;
    int fd;
    tamis__tls *tls;   /* NULL: none */
    bool reached;      /* the socket is connected */
    bool has_received; /* the server has sent at least one byte */
    tamis__replies *replies;
    char *out; /* output buffer; bytes from `sent` to `used` are still to be sent */
    size_t sent, used, capacity;
    bool out_of_memory;
    tamis__transaction *transacting; /* NULL: steps are scripts */
    char in[RECEIVE];
};

void tamis__connection_set_transaction(tamis__connection *conn, tamis__transaction *state) {
    conn->transacting = state;
}

tamis__transaction *tamis__connection_get_transaction(const tamis__connection *conn) {
    return conn->transacting;
}

/* ---- words ---- */

static char *reserve_output(tamis__connection *conn, size_t size) {
    if (conn->capacity - conn->used >= size)
        return conn->out + conn->used;
    if (conn->sent > 0) {
        memmove(conn->out, conn->out + conn->sent, conn->used - conn->sent);
        conn->used -= conn->sent;
        conn->sent = 0;
    }
    char *out = tamis__array_reserve(&conn->allocator, conn->out, 1, conn->used + size, &conn->capacity);
    if (!out) {
        conn->out_of_memory = true;
        return NULL;
    }
    conn->out = out;
    return conn->out + conn->used;
}

/* Returns the number of digits. */
static size_t put_digits(char *to, uint64_t number) {
    char digits[20];
    size_t left = sizeof digits;
    do
        digits[--left] = (char)('0' + number % 10);
    while (number /= 10);
    for (size_t i = left; i < sizeof digits; i++)
        to[i - left] = digits[i];
    return sizeof digits - left;
}

/* Writes the head of a command ('*') or of a word ('$'). Returns its size. */
static size_t put_header(char *to, char mark, uint64_t number) {
    to[0] = mark;
    size_t used = 1 + put_digits(to + 1, number);
    to[used++] = '\r';
    to[used++] = '\n';
    return used;
}

void tamis__connection_put_command(tamis__connection *conn, size_t words) {
    char *to = reserve_output(conn, WORD_HEAD);
    if (to)
        conn->used += put_header(to, '*', words);
}

void tamis__connection_put(tamis__connection *conn, const void *bytes, size_t size) {
    char *to = reserve_output(conn, WORD_HEAD + size + 2);
    if (!to)
        return;
    const size_t head = put_header(to, '$', size);
    if (size > 0)
        memcpy(to + head, bytes, size);
    memcpy(to + head + size, "\r\n", 2);
    conn->used += head + size + 2;
}

void tamis__connection_put_text(tamis__connection *conn, const char *text) {
    tamis__connection_put(conn, text, strlen(text));
}

void tamis__connection_put_number(tamis__connection *conn, int64_t number) {
    char digits[WORD_HEAD] = "-";
    const bool below = number < 0;
    tamis__connection_put(conn, digits,
                          below + put_digits(digits + below, below ? -(uint64_t)number : (uint64_t)number));
}

void tamis__connection_put_expire(tamis__connection *conn, const void *key, size_t size, uint64_t ms) {
    tamis__connection_put_command(conn, ms > 0 ? 3 : 2);
    tamis__connection_put_text(conn, ms > 0 ? "PEXPIRE" : "PERSIST");
    tamis__connection_put(conn, key, size);
    if (ms > 0)
        tamis__connection_put_number(conn, (int64_t)ms);
}

void tamis__connection_put_encoded(tamis__connection *conn, const char *words, size_t size) {
    char *to = reserve_output(conn, size);
    if (!to)
        return;
    memcpy(to, words, size);
    conn->used += size;
}

size_t tamis__connection_unsent(const tamis__connection *conn) {
    return conn->used - conn->sent;
}

bool tamis__connection_is_idle(const tamis__connection *conn) {
    return tamis__connection_unsent(conn) == 0 && tamis__replies_is_drained(conn->replies);
}

/* ---- bytes ---- */

static tamis_status fail_lost(const tamis__connection *conn, int failed, tamis_error *err) {
    if (failed == EPROTO && conn->tls) {
        bool final;
        const char *why = tamis__tls_error(conn->tls, &final);
        return tamis__fail(
            err, final ? TAMIS_E_REFUSED : TAMIS_E_IO, failed,
            "redis %s: %s; check that the server has TLS at that port, its certificate (cacert=, "
            "sni=) and ours (cert=, key=)",
            conn->endpoint->shown, why);
    }
    /* A server that expects TLS also closes the connection when it gets something else. */
    const bool has_answered =
        conn->has_received || atomic_load_explicit(&conn->endpoint->has_answered, memory_order_relaxed);
    const char *also = conn->reached && !has_answered && !conn->tls && conn->endpoint->address.port
                           ? " (does this port use TLS? write rediss://)"
                           : "";
    if (failed == 0)
        return tamis__fail(err, TAMIS_E_IO, 0,
                           "redis %s: closed the connection; check the server and its log%s",
                           conn->endpoint->shown, also);
    if (*also && (failed == ECONNRESET || failed == EPIPE))
        return tamis__fail(err, TAMIS_E_IO, failed, "redis %s: %s before any reply; check the server%s",
                           conn->endpoint->shown, tamis__errno_text(failed), also);
    return tamis__fail(err, TAMIS_E_IO, failed, "redis %s: %s; check that the server runs and can be reached",
                       conn->endpoint->shown, tamis__errno_text(failed));
}

static bool would_block(int failed) {
    return failed == EAGAIN || failed == EWOULDBLOCK || failed == EINTR;
}

struct pollfd tamis__connection_pollfd(const tamis__connection *conn) {
    return (struct pollfd){conn->fd, (short)(conn->sent < conn->used ? POLLIN | POLLOUT : POLLIN), 0};
}

tamis_status tamis__connection_send(tamis__connection *conn, tamis_error *err) {
    if (conn->out_of_memory)
        return tamis__fail(err, TAMIS_E_NOMEM, 0,
                           "redis %s: out of memory for commands; free some, or raise the limit",
                           conn->endpoint->shown);
    while (conn->sent < conn->used) {
        const char *from = conn->out + conn->sent;
        const size_t size = conn->used - conn->sent;
        ssize_t sent_size =
            conn->tls ? tamis__tls_send(conn->tls, from, size) : tamis__sys.send(conn->fd, from, size);
        if (sent_size < 0 && would_block(errno))
            return TAMIS_OK;
        if (sent_size < 0)
            return fail_lost(conn, errno, err);
        conn->sent += (size_t)sent_size;
    }
    conn->sent = conn->used = 0;
    return TAMIS_OK;
}

tamis_status tamis__connection_receive(tamis__connection *conn, bool *received, tamis_error *err) {
    const ssize_t size = conn->tls ? tamis__tls_receive(conn->tls, conn->in, sizeof conn->in)
                                   : tamis__sys.receive(conn->fd, conn->in, sizeof conn->in);
    *received = size > 0;
    if (size < 0 && would_block(errno))
        return TAMIS_OK;
    if (size <= 0)
        return fail_lost(conn, size < 0 ? errno : 0, err);
    conn->has_received = true;
    return tamis__replies_feed(conn->replies, conn->in, (size_t)size, err);
}

tamis_status tamis__connection_next_reply(tamis__connection *conn, const tamis__reply **reply,
                                          tamis_error *err) {
    return tamis__replies_next(conn->replies, reply, err);
}

tamis_status tamis__poll_until(struct pollfd *fds, size_t count, uint64_t deadline, int *ready,
                               tamis_error *err) {
    for (;;) {
        const uint64_t now = tamis__now_ns();
        const uint64_t left = now < deadline ? (deadline - now + 999999) / 1000000 : 0;
        *ready = tamis__sys.poll(fds, (nfds_t)count, left > 60000 ? 60000 : (int)left);
        if (*ready > 0 || (*ready == 0 && left <= 60000))
            return TAMIS_OK;
        if (*ready < 0 && errno != EINTR)
            return tamis__fail(err, TAMIS_E_SYSTEM, errno, "redis: waiting failed: %s; %s",
                               tamis__errno_text(errno), tamis__errno_remedy(errno));
    }
}

static tamis_status fail_timeout(const tamis__connection *conn, const char *what, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_TIMEOUT, ETIMEDOUT,
                       "redis %s: %s in time; check server and network, or give more time (timeout=, "
                       "read_timeout=)",
                       conn->endpoint->shown, what);
}

tamis_status tamis__connection_wait_reply(tamis__connection *conn, uint64_t deadline,
                                          const tamis__reply **reply, tamis_error *err) {
    for (;;) {
        bool received;
        int ready;
        tamis_status status = tamis__connection_send(conn, err);
        if (status == TAMIS_OK)
            status = tamis__connection_next_reply(conn, reply, err);
        if (status != TAMIS_OK || *reply)
            return status;
        struct pollfd fd = tamis__connection_pollfd(conn);
        status = tamis__poll_until(&fd, 1, deadline, &ready, err);
        if (status == TAMIS_OK && ready == 0)
            status = fail_timeout(conn, "did not answer", err);
        if (status == TAMIS_OK && (fd.revents & ~POLLOUT))
            status = tamis__connection_receive(conn, &received, err);
        if (status != TAMIS_OK)
            return status;
    }
}

/* ---- connecting ---- */

static tamis_status connect_to(tamis__connection *conn, const struct sockaddr *address, size_t size,
                               uint64_t deadline, tamis_error *err) {
    conn->fd = tamis__sys.socket(address->sa_family, SOCK_STREAM, 0);
    if (conn->fd < 0)
        return fail_lost(conn, errno, err);
    if (address->sa_family != AF_UNIX)
        (void)setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    if (tamis__sys.connect(conn->fd, address, size) == 0)
        return TAMIS_OK;
    if (errno != EINPROGRESS && errno != EINTR)
        return fail_lost(conn, errno, err);
    struct pollfd fd = {conn->fd, POLLOUT, 0};
    int ready;
    const tamis_status status = tamis__poll_until(&fd, 1, deadline, &ready, err);
    if (status == TAMIS_OK && ready == 0)
        return fail_timeout(conn, "was not reached", err);
    if (status == TAMIS_OK && tamis__sys.connected(conn->fd) < 0)
        return fail_lost(conn, errno, err);
    return status;
}

static void close_socket(tamis__connection *conn) {
    tamis__tls_free(conn->tls);
    conn->tls = NULL;
    if (conn->fd >= 0)
        tamis__sys.close(conn->fd);
    conn->fd = -1;
}

static tamis_status connect_socket(tamis__connection *conn, uint64_t deadline, tamis_error *err) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = conn->endpoint->address.host;
    if (strlen(path) >= sizeof address.sun_path)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "redis %s: longer than a socket's path may be (%zu); use a "
                           "shorter one",
                           conn->endpoint->shown, sizeof address.sun_path - 1);
    strcpy(address.sun_path, path);
    return connect_to(conn, (struct sockaddr *)&address, sizeof address, deadline, err);
}

/* Tries the addresses of the host in order until one accepts. Each gets an equal share of the time that is
 * left. */
static tamis_status connect_host(tamis__connection *conn, uint64_t deadline, tamis_error *err) {
    struct addrinfo *found;
    tamis_status status =
        tamis__resolve(&found, &conn->endpoint->address, conn->endpoint->shown, deadline, err);
    if (status != TAMIS_OK)
        return status;
    uint64_t left = 0;
    for (const struct addrinfo *candidate = found; candidate; candidate = candidate->ai_next)
        left++;
    status = TAMIS_E_IO;
    for (const struct addrinfo *candidate = found; candidate && status != TAMIS_OK;
         candidate = candidate->ai_next, left--) {
        const uint64_t now = tamis__now_ns();
        close_socket(conn);
        status = connect_to(conn, candidate->ai_addr, candidate->ai_addrlen,
                            now < deadline ? now + (deadline - now) / left : now, err);
    }
    freeaddrinfo(found);
    return status;
}

static tamis_status refused(const tamis__connection *conn, const char *what, const tamis__reply *reply,
                            const char *remedy, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_REFUSED, 0, "redis %s: refused %s (%.150s); %s", conn->endpoint->shown,
                       what, reply->type == TAMIS__REPLY_ERROR ? tamis__show(reply->text).text : "no OK",
                       remedy);
}

/* TAMIS_E_IO. A server without TLS takes the handshake for an unfinished line and waits for its end, so it
 * never replies. */
static tamis_status fail_no_tls(const tamis__connection *conn, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_IO, ETIMEDOUT,
                       "redis %s: did not answer in TLS; if it has no TLS at this port, write redis://, "
                       "else give more time (timeout=)",
                       conn->endpoint->shown);
}

static tamis_status start_tls(tamis__connection *conn, uint64_t deadline, tamis_error *err) {
    short events;
    conn->tls = tamis__tls_create(conn->endpoint->tls, conn->fd, conn->endpoint->address.host);
    if (!conn->tls)
        return tamis__fail_nomem(err, "redis", 0);
    while (tamis__tls_handshake(conn->tls, &events) < 0) {
        int ready;
        if (!would_block(errno))
            return fail_lost(conn, errno, err);
        struct pollfd fd = {conn->fd, events, 0};
        const tamis_status status = tamis__poll_until(&fd, 1, deadline, &ready, err);
        if (status == TAMIS_OK && ready == 0)
            return fail_no_tls(conn, err);
        if (status != TAMIS_OK)
            return status;
    }
    return TAMIS_OK;
}

/* True if the error has a fixed text of the server, which never quotes the password. */
static bool names_its_kind(const tamis__reply *error) {
    static const char *const kinds[] = {"WRONGPASS",
                                        "NOAUTH",
                                        "NOPERM",
                                        "ERR invalid password",
                                        "ERR invalid username",
                                        "ERR AUTH <password> called",
                                        "ERR Client sent AUTH, but no password is set"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(error->text, kinds[i], strlen(kinds[i])) == 0)
            return true;
    return false;
}

static tamis_status authenticate(tamis__connection *conn, uint64_t deadline, tamis_error *err) {
    const tamis__endpoint *endpoint = conn->endpoint;
    const tamis__reply *reply = NULL;
    tamis_status status = TAMIS_OK;
    if (endpoint->password) {
        tamis__connection_put_command(conn, endpoint->user ? 3 : 2);
        tamis__connection_put_text(conn, "AUTH");
        if (endpoint->user)
            tamis__connection_put_text(conn, endpoint->user);
        tamis__connection_put_text(conn, endpoint->password);
        status = tamis__connection_wait_reply(conn, deadline, &reply, err);
        /* Servers quote words of a command that they do not know. */
        if (status == TAMIS_OK && reply->type == TAMIS__REPLY_ERROR && !names_its_kind(reply) &&
            strstr(reply->text, endpoint->password))
            return tamis__fail(err, TAMIS_E_REFUSED, 0, "redis %s: knows no AUTH; leave the password out",
                               endpoint->shown);
        if (status == TAMIS_OK && reply->type != TAMIS__REPLY_STATUS)
            return refused(conn, "the password", reply, "check user and password", err);
    }
    if (status == TAMIS_OK && endpoint->db != 0) {
        tamis__connection_put_command(conn, 2);
        tamis__connection_put_text(conn, "SELECT");
        tamis__connection_put_number(conn, endpoint->db);
        status = tamis__connection_wait_reply(conn, deadline, &reply, err);
        if (status == TAMIS_OK && reply->type != TAMIS__REPLY_STATUS)
            return refused(conn, "the database", reply, "name one that the server has", err);
    }
    /* With TLS, wait for one reply in any case. A server that rejects our certificate reports that in
     * place of the first reply. Session tickets arrive before that reply; once they are read, an idle
     * connection has nothing to read. */
    if (status == TAMIS_OK && endpoint->tls && !reply) {
        tamis__connection_put_command(conn, 1);
        tamis__connection_put_text(conn, "PING");
        status = tamis__connection_wait_reply(conn, deadline, &reply, err);
    }
    return status;
}

void tamis__endpoint_show(tamis__endpoint *endpoint) {
    const tamis__shown host = tamis__show(endpoint->address.host);
    if (endpoint->address.port)
        snprintf(endpoint->shown, sizeof endpoint->shown, "%.100s:%u", host.text,
                 (unsigned)endpoint->address.port);
    else
        snprintf(endpoint->shown, sizeof endpoint->shown, "%.110s", host.text);
}

tamis_status tamis__connection_open(tamis__connection **made, const tamis__endpoint *endpoint,
                                    uint64_t deadline, tamis_error *err) {
    tamis__connection *conn = tamis__alloc(endpoint->allocator, sizeof *conn, _Alignof(tamis__connection));
    if (!conn)
        return tamis__fail_nomem(err, "redis", sizeof *conn);
    conn->endpoint = endpoint;
    conn->allocator = *endpoint->allocator;
    conn->fd = -1;
    conn->replies = tamis__replies_create(&conn->allocator);
    tamis_status status = conn->replies ? TAMIS_OK : tamis__fail_nomem(err, "redis", RECEIVE);
    if (status == TAMIS_OK)
        status = endpoint->address.port == 0 ? connect_socket(conn, deadline, err)
                                             : connect_host(conn, deadline, err);
    conn->reached = status == TAMIS_OK;
    if (status == TAMIS_OK && endpoint->tls)
        status = start_tls(conn, deadline, err);
    if (status == TAMIS_OK)
        status = authenticate(conn, deadline, err);
    if (status != TAMIS_OK) {
        tamis__connection_close(conn);
        return status;
    }
    *made = conn;
    return TAMIS_OK;
}

const char *tamis__connection_name(const tamis__connection *conn) {
    return conn->endpoint->shown;
}

void tamis__connection_close(tamis__connection *conn) {
    if (!conn)
        return;
    close_socket(conn);
    tamis__replies_free(conn->replies);
    tamis_allocator allocator = conn->allocator;
    if (conn->out)
        tamis__free(&allocator, conn->out, conn->capacity);
    tamis__free(&allocator, conn, sizeof *conn);
}

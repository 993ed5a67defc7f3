/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/redis/redis_link.h"

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
#include "store/file_error.h"
#include "store/redis/redis_resolve.h"

enum { RECEIVE = 64 << 10, WORD_HEAD = 24 /* "$" or "*", 20 digits, CR, LF */ };

struct tamis__link {
    const tamis__link_to *to;
    tamis_allocator allocator;
    int fd;
    tamis__tls *tls; /* NULL: none */
    bool reached;    /* and not only tried */
    bool heard;      /* bytes came */
    tamis__replies *replies;
    char *out; /* bytes sent..used are to be sent */
    size_t sent, used, room;
    bool out_of_memory;
    tamis__transacting *transacting; /* NULL: steps are scripts */
    char in[RECEIVE];
};

void tamis__link_transact(tamis__link *link, tamis__transacting *state) {
    link->transacting = state;
}

tamis__transacting *tamis__link_transacting(const tamis__link *link) {
    return link->transacting;
}

/* ---- words ---- */

static char *make_room(tamis__link *link, size_t size) {
    if (link->room - link->used >= size)
        return link->out + link->used;
    if (link->sent > 0) {
        memmove(link->out, link->out + link->sent, link->used - link->sent);
        link->used -= link->sent;
        link->sent = 0;
    }
    if (link->room - link->used < size) {
        size_t room = link->room * 2 > link->used + size ? link->room * 2 : link->used + size;
        char *out = tamis__alloc(&link->allocator, room, 1);
        if (!out) {
            link->out_of_memory = true;
            return NULL;
        }
        if (link->used > 0)
            memcpy(out, link->out, link->used);
        tamis__free(&link->allocator, link->out, link->room);
        link->out = out;
        link->room = room;
    }
    return link->out + link->used;
}

/* How many digits they are. */
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

/* A mark, a number, CR and LF. */
static size_t put_head(char *to, char mark, uint64_t number) {
    to[0] = mark;
    size_t used = 1 + put_digits(to + 1, number);
    to[used++] = '\r';
    to[used++] = '\n';
    return used;
}

void tamis__link_command(tamis__link *link, size_t words) {
    char *to = make_room(link, WORD_HEAD);
    if (to)
        link->used += put_head(to, '*', words);
}

void tamis__link_word(tamis__link *link, const void *bytes, size_t size) {
    char *to = make_room(link, WORD_HEAD + size + 2);
    if (!to)
        return;
    size_t head = put_head(to, '$', size);
    if (size > 0)
        memcpy(to + head, bytes, size);
    memcpy(to + head + size, "\r\n", 2);
    link->used += head + size + 2;
}

void tamis__link_text(tamis__link *link, const char *text) {
    tamis__link_word(link, text, strlen(text));
}

void tamis__link_number(tamis__link *link, int64_t number) {
    char digits[WORD_HEAD] = "-";
    const bool below = number < 0;
    tamis__link_word(link, digits,
                     below + put_digits(digits + below, below ? -(uint64_t)number : (uint64_t)number));
}

void tamis__link_expire(tamis__link *link, const void *key, size_t size, uint64_t ms) {
    tamis__link_command(link, ms > 0 ? 3 : 2);
    tamis__link_text(link, ms > 0 ? "PEXPIRE" : "PERSIST");
    tamis__link_word(link, key, size);
    if (ms > 0)
        tamis__link_number(link, (int64_t)ms);
}

void tamis__link_made(tamis__link *link, const char *words, size_t size) {
    char *to = make_room(link, size);
    if (!to)
        return;
    memcpy(to, words, size);
    link->used += size;
}

size_t tamis__link_unsent(const tamis__link *link) {
    return link->used - link->sent;
}

bool tamis__link_at_rest(const tamis__link *link) {
    return tamis__link_unsent(link) == 0 && tamis__replies_at_rest(link->replies);
}

/* ---- bytes ---- */

static tamis_status lost(const tamis__link *link, int failed, tamis_error *err) {
    if (failed == EPROTO && link->tls) {
        bool final;
        const char *why = tamis__tls_trouble(link->tls, &final);
        return tamis__fail(
            err, final ? TAMIS_E_REFUSED : TAMIS_E_IO, failed,
            "redis %s: %s; check that the server has TLS at that port, its certificate (cacert=, "
            "sni=) and ours (cert=, key=)",
            link->to->shown, why);
    }
    /* So does one that expects TLS, when it sees what is none. */
    const char *also = link->reached && !link->heard && !link->tls && link->to->address.port
                           ? " (has it TLS at this port? write rediss://)"
                           : "";
    if (failed == 0)
        return tamis__fail(err, TAMIS_E_IO, 0,
                           "redis %s: closed the connection; check the server and its log%s", link->to->shown,
                           also);
    if (*also && (failed == ECONNRESET || failed == EPIPE))
        return tamis__fail(err, TAMIS_E_IO, failed,
                           "redis %s: %s before it said anything; check the server%s", link->to->shown,
                           tamis__errno_text(failed), also);
    return tamis__fail(err, TAMIS_E_IO, failed, "redis %s: %s; check that the server runs and can be reached",
                       link->to->shown, tamis__errno_text(failed));
}

static bool would_block(int failed) {
    return failed == EAGAIN || failed == EWOULDBLOCK || failed == EINTR;
}

struct pollfd tamis__link_poll(const tamis__link *link) {
    return (struct pollfd){link->fd, (short)(link->sent < link->used ? POLLIN | POLLOUT : POLLIN), 0};
}

tamis_status tamis__link_send(tamis__link *link, tamis_error *err) {
    if (link->out_of_memory)
        return tamis__fail(err, TAMIS_E_NOMEM, 0,
                           "redis %s: out of memory for commands; free some, or raise the limit",
                           link->to->shown);
    while (link->sent < link->used) {
        const char *from = link->out + link->sent;
        const size_t size = link->used - link->sent;
        ssize_t some =
            link->tls ? tamis__tls_send(link->tls, from, size) : tamis__sys.send(link->fd, from, size);
        if (some < 0 && would_block(errno))
            return TAMIS_OK;
        if (some < 0)
            return lost(link, errno, err);
        link->sent += (size_t)some;
    }
    link->sent = link->used = 0;
    return TAMIS_OK;
}

tamis_status tamis__link_receive(tamis__link *link, bool *some, tamis_error *err) {
    ssize_t size = link->tls ? tamis__tls_receive(link->tls, link->in, sizeof link->in)
                             : tamis__sys.receive(link->fd, link->in, sizeof link->in);
    *some = size > 0;
    if (size < 0 && would_block(errno))
        return TAMIS_OK;
    if (size <= 0)
        return lost(link, size < 0 ? errno : 0, err);
    link->heard = true;
    return tamis__replies_feed(link->replies, link->in, (size_t)size, err);
}

tamis_status tamis__link_reply(tamis__link *link, const tamis__reply **reply, tamis_error *err) {
    return tamis__replies_next(link->replies, reply, err);
}

tamis_status tamis__link_wait(struct pollfd *fds, size_t count, uint64_t deadline, int *ready,
                              tamis_error *err) {
    for (;;) {
        uint64_t now = tamis__now_ns();
        uint64_t left = now < deadline ? (deadline - now + 999999) / 1000000 : 0;
        *ready = tamis__sys.poll(fds, (nfds_t)count, left > 60000 ? 60000 : (int)left);
        if (*ready > 0 || (*ready == 0 && left <= 60000))
            return TAMIS_OK;
        if (*ready < 0 && errno != EINTR)
            return tamis__fail(err, TAMIS_E_SYSTEM, errno, "redis: waiting failed: %s; %s",
                               tamis__errno_text(errno), tamis__errno_remedy(errno));
    }
}

static tamis_status too_late(const tamis__link *link, const char *what, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_TIMEOUT, ETIMEDOUT,
                       "redis %s: %s in time; check server and network, or give more time (timeout=, "
                       "read_timeout=)",
                       link->to->shown, what);
}

tamis_status tamis__link_ask(tamis__link *link, uint64_t deadline, const tamis__reply **reply,
                             tamis_error *err) {
    for (;;) {
        bool some;
        int ready;
        tamis_status status = tamis__link_send(link, err);
        if (status == TAMIS_OK)
            status = tamis__link_reply(link, reply, err);
        if (status != TAMIS_OK || *reply)
            return status;
        struct pollfd fd = tamis__link_poll(link);
        status = tamis__link_wait(&fd, 1, deadline, &ready, err);
        if (status == TAMIS_OK && ready == 0)
            status = too_late(link, "did not answer", err);
        if (status == TAMIS_OK && (fd.revents & ~POLLOUT))
            status = tamis__link_receive(link, &some, err);
        if (status != TAMIS_OK)
            return status;
    }
}

/* ---- connecting ---- */

static tamis_status connect_to(tamis__link *link, const struct sockaddr *address, size_t size,
                               uint64_t deadline, tamis_error *err) {
    link->fd = tamis__sys.socket(address->sa_family, SOCK_STREAM, 0);
    if (link->fd < 0)
        return lost(link, errno, err);
    if (address->sa_family != AF_UNIX)
        (void)setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    if (tamis__sys.connect(link->fd, address, size) == 0)
        return TAMIS_OK;
    if (errno != EINPROGRESS && errno != EINTR)
        return lost(link, errno, err);
    struct pollfd fd = {link->fd, POLLOUT, 0};
    int ready;
    tamis_status status = tamis__link_wait(&fd, 1, deadline, &ready, err);
    if (status == TAMIS_OK && ready == 0)
        return too_late(link, "was not reached", err);
    if (status == TAMIS_OK && tamis__sys.connected(link->fd) < 0)
        return lost(link, errno, err);
    return status;
}

static void hang_up(tamis__link *link) {
    tamis__tls_free(link->tls);
    link->tls = NULL;
    if (link->fd >= 0)
        tamis__sys.close(link->fd);
    link->fd = -1;
}

static tamis_status connect_socket(tamis__link *link, uint64_t deadline, tamis_error *err) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = link->to->address.host;
    if (strlen(path) >= sizeof address.sun_path)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "redis %s: longer than a socket's path may be (%zu); use a "
                           "shorter one",
                           link->to->shown, sizeof address.sun_path - 1);
    strcpy(address.sun_path, path);
    return connect_to(link, (struct sockaddr *)&address, sizeof address, deadline, err);
}

/* Every address that the name has, in order, until one answers; each has its share of the time that is left. */
static tamis_status connect_host(tamis__link *link, uint64_t deadline, tamis_error *err) {
    struct addrinfo *found;
    tamis_status status = tamis__resolve(&found, &link->to->address, link->to->shown, deadline, err);
    if (status != TAMIS_OK)
        return status;
    uint64_t left = 0;
    for (const struct addrinfo *one = found; one; one = one->ai_next)
        left++;
    status = TAMIS_E_IO;
    for (const struct addrinfo *one = found; one && status != TAMIS_OK; one = one->ai_next, left--) {
        uint64_t now = tamis__now_ns();
        hang_up(link);
        status = connect_to(link, one->ai_addr, one->ai_addrlen,
                            now < deadline ? now + (deadline - now) / left : now, err);
    }
    freeaddrinfo(found);
    return status;
}

static tamis_status refused(const tamis__link *link, const char *what, const tamis__reply *reply,
                            const char *remedy, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_REFUSED, 0, "redis %s: refused %s (%.150s); %s", link->to->shown, what,
                       reply->type == TAMIS__REPLY_ERROR ? tamis__show(reply->text).text : "no OK", remedy);
}

/* TAMIS_E_IO. A server without TLS does not reply: it takes the handshake for an unfinished line, and waits for its end. */
static tamis_status fail_no_tls(const tamis__link *link, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_IO, ETIMEDOUT,
                       "redis %s: did not answer in TLS; if it has no TLS at this port, write redis://, "
                       "else give more time (timeout=)",
                       link->to->shown);
}

static tamis_status begin_tls(tamis__link *link, uint64_t deadline, tamis_error *err) {
    short events;
    link->tls = tamis__tls_create(link->to->tls, link->fd, link->to->address.host);
    if (!link->tls)
        return tamis__fail_nomem(err, "redis", 0);
    while (tamis__tls_greet(link->tls, &events) < 0) {
        int ready;
        if (!would_block(errno))
            return lost(link, errno, err);
        struct pollfd fd = {link->fd, events, 0};
        tamis_status status = tamis__link_wait(&fd, 1, deadline, &ready, err);
        if (status == TAMIS_OK && ready == 0)
            return fail_no_tls(link, err);
        if (status != TAMIS_OK)
            return status;
    }
    return TAMIS_OK;
}

/* Of such errors the words are the server's own, whatever the password is. */
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

static tamis_status greet(tamis__link *link, uint64_t deadline, tamis_error *err) {
    const tamis__link_to *to = link->to;
    const tamis__reply *reply = NULL;
    tamis_status status = TAMIS_OK;
    if (to->password) {
        tamis__link_command(link, to->user ? 3 : 2);
        tamis__link_text(link, "AUTH");
        if (to->user)
            tamis__link_text(link, to->user);
        tamis__link_text(link, to->password);
        status = tamis__link_ask(link, deadline, &reply, err);
        if (status == TAMIS_OK && reply->type == TAMIS__REPLY_ERROR && !names_its_kind(reply) &&
            strstr(reply->text, to->password))
            return tamis__fail(err, TAMIS_E_REFUSED, 0, "redis %s: knows no AUTH; leave the password out",
                               to->shown); /* servers quote what they do not know */
        if (status == TAMIS_OK && reply->type != TAMIS__REPLY_STATUS)
            return refused(link, "the password", reply, "check user and password", err);
    }
    if (status == TAMIS_OK && to->db != 0) {
        tamis__link_command(link, 2);
        tamis__link_text(link, "SELECT");
        tamis__link_number(link, to->db);
        status = tamis__link_ask(link, deadline, &reply, err);
        if (status == TAMIS_OK && reply->type != TAMIS__REPLY_STATUS)
            return refused(link, "the database", reply, "name one that the server has", err);
    }
    /* What the server thinks of our certificate it says with its first reply; and tickets that stand before that are out
     * of the way, so that a connection that rests is silent. */
    if (status == TAMIS_OK && to->tls && !reply) {
        tamis__link_command(link, 1);
        tamis__link_text(link, "PING");
        status = tamis__link_ask(link, deadline, &reply, err);
    }
    return status;
}

void tamis__link_to_show(tamis__link_to *to) {
    const tamis__shown host = tamis__show(to->address.host);
    if (to->address.port)
        snprintf(to->shown, sizeof to->shown, "%.100s:%u", host.text, (unsigned)to->address.port);
    else
        snprintf(to->shown, sizeof to->shown, "%.110s", host.text);
}

tamis_status tamis__link_open(tamis__link **made, const tamis__link_to *to, uint64_t deadline,
                              tamis_error *err) {
    tamis__link *link = tamis__alloc(to->allocator, sizeof *link, _Alignof(tamis__link));
    if (!link)
        return tamis__fail_nomem(err, "redis", sizeof *link);
    link->to = to;
    link->allocator = *to->allocator;
    link->fd = -1;
    link->replies = tamis__replies_create(&link->allocator);
    tamis_status status = link->replies ? TAMIS_OK : tamis__fail_nomem(err, "redis", RECEIVE);
    if (status == TAMIS_OK)
        status =
            to->address.port == 0 ? connect_socket(link, deadline, err) : connect_host(link, deadline, err);
    link->reached = status == TAMIS_OK;
    if (status == TAMIS_OK && to->tls)
        status = begin_tls(link, deadline, err);
    if (status == TAMIS_OK)
        status = greet(link, deadline, err);
    if (status != TAMIS_OK) {
        tamis__link_close(link);
        return status;
    }
    *made = link;
    return TAMIS_OK;
}

const char *tamis__link_shown(const tamis__link *link) {
    return link->to->shown;
}

void tamis__link_close(tamis__link *link) {
    if (!link)
        return;
    hang_up(link);
    tamis__replies_free(link->replies);
    tamis_allocator allocator = link->allocator;
    if (link->out)
        tamis__free(&allocator, link->out, link->room);
    tamis__free(&allocator, link, sizeof *link);
}

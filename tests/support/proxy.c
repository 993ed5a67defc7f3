/* SPDX-License-Identifier: BSD-2-Clause */
#include "proxy.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/scratch.h"

enum { PAIRS = 32, BUFFER = 16384, TRICKLE_MS = 5 };

typedef struct stream_of_bytes {
    int from, to; /* descriptors */
    char bytes[BUFFER];
    size_t begin, end; /* bytes not yet forwarded */
} stream_of_bytes;

typedef struct pair {
    bool used, held, trickles;
    bool delayed;     /* true while requests wait for proxy_deliver */
    bool was_delayed; /* true after a delay: the client may have gone, so unread replies are discarded */
    stream_of_bytes streams[2]; /* by direction; the client is streams[PROXY_REQUESTS].from */
} pair;

typedef struct orders {
    bool stops, armed, drops_held, delivers;
    bool counts_commands; /* true if `position` is the number of a command, not of a byte */
    proxy_way way;
    proxy_harm harm;
    uint64_t position;
    uint64_t mean, random; /* of harm at random; mean 0: harm once */
} orders;

struct proxy {
    pthread_t thread;
    int door, port, wake[2];
    char socket_path[108];
    pair pairs[PAIRS];     /* used by the proxy's thread only */
    pthread_mutex_t mutex; /* protects the other fields */
    orders now;
    uint64_t passed[2], commands, harmed;
    size_t late; /* connections that were delayed and are still open */
};

static void give_up(const char *what) {
    fprintf(stderr, "proxy: %s: %s\n", what, strerror(errno));
    abort();
}

/* ---- connections ---- */

static void hang_up(pair *connection, bool reset) {
    struct linger now = {1, 0};
    if (reset)
        setsockopt(connection->streams[0].from, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(connection->streams[0].from);
    close(connection->streams[0].to);
    connection->used = false;
}

static void accept_client(proxy *self) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int client = accept4(self->door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client < 0 || server < 0)
        give_up("accept");
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    strcpy(address.sun_path, self->socket_path);
    pair *connection = self->pairs;
    while (connection < self->pairs + PAIRS && connection->used)
        connection++;
    if (connection == self->pairs + PAIRS ||
        connect(server, (struct sockaddr *)&address, sizeof address) < 0) {
        close(client);
        close(server);
        return;
    }
    connection->used = true;
    connection->held = connection->trickles = connection->delayed = connection->was_delayed = false;
    connection->streams[PROXY_REQUESTS].from = connection->streams[PROXY_REPLIES].to = client;
    connection->streams[PROXY_REQUESTS].to = connection->streams[PROXY_REPLIES].from = server;
    connection->streams[0].begin = connection->streams[0].end = connection->streams[1].begin =
        connection->streams[1].end = 0;
}

/* ---- harm ---- */

static void draw(proxy *self) {
    orders *now = &self->now;
    now->position = test_below(&now->random, 2 * now->mean);
    now->way = test_below(&now->random, 2) ? PROXY_REPLIES : PROXY_REQUESTS;
    now->harm = test_below(&now->random, 2) ? PROXY_RESET : PROXY_CUT;
    self->passed[0] = self->passed[1] = 0;
}

/* True at the beginning of a command: "*N\r\n$". Clients send whole commands at once. */
static bool is_command(const char *bytes, const char *end) {
    if (bytes == end || *bytes++ != '*')
        return false;
    const char *digits = bytes;
    while (bytes < end && *bytes >= '0' && *bytes <= '9')
        bytes++;
    return bytes > digits && end - bytes >= 3 && memcmp(bytes, "\r\n$", 3) == 0;
}

/* Counts the commands that begin in these bytes. True if the armed one is among them; *before: bytes in
 * front of it. */
static bool command_is_due(proxy *self, const stream_of_bytes *bytes, size_t *before) {
    const char *start = bytes->bytes + bytes->begin, *end = bytes->bytes + bytes->end;
    for (const char *pos = start; pos < end; pos++) {
        if ((pos != start && pos[-1] != '\n') || !is_command(pos, end))
            continue;
        if (self->now.armed && self->now.counts_commands && self->commands == self->now.position) {
            *before = (size_t)(pos - start);
            return true;
        }
        self->commands++;
    }
    return false;
}

static bool is_due(proxy *self, proxy_way way, const stream_of_bytes *bytes, size_t *before) {
    const orders *now = &self->now;
    const size_t size = bytes->end - bytes->begin;
    if (way == PROXY_REQUESTS && command_is_due(self, bytes, before))
        return true;
    *before = (size_t)(now->position - self->passed[way]);
    return now->armed && !now->counts_commands && now->way == way && now->position < self->passed[way] + size;
}

/* Returns how many of the bytes may be forwarded, and does the harm that is due. *ends: close the
 * connection. */
static size_t judge(proxy *self, pair *connection, proxy_way way, bool *ends, bool *reset) {
    stream_of_bytes *bytes = &connection->streams[way];
    orders *now = &self->now;
    size_t size = bytes->end - bytes->begin, before;
    *ends = *reset = false;
    pthread_mutex_lock(&self->mutex);
    if (is_due(self, way, bytes, &before)) {
        now->armed = now->mean > 0;
        self->harmed++;
        *ends = now->harm == PROXY_CUT || now->harm == PROXY_RESET;
        *reset = now->harm == PROXY_RESET;
        connection->held = now->harm == PROXY_HOLD;
        connection->trickles = now->harm == PROXY_TRICKLE;
        connection->delayed = now->harm == PROXY_DELAY;
        self->late += connection->delayed;
        if (now->harm == PROXY_GARBLE)
            bytes->bytes[bytes->begin + before] ^= (char)(1 << before % 7);
        else if (now->harm != PROXY_TRICKLE)
            size = before;
        self->passed[way] += size;
        if (now->mean)
            draw(self);
    } else {
        self->passed[way] += size;
    }
    pthread_mutex_unlock(&self->mutex);
    return size;
}

/* Sends the bytes up to `end`. False if the receiver accepts no more. */
static bool send_on(pair *connection, stream_of_bytes *bytes, size_t end) {
    while (bytes->begin < end) {
        /* Waiting blocks the other connections, but receivers are fast here. */
        struct pollfd fd = {bytes->to, POLLOUT, 0};
        poll(&fd, 1, -1);
        const ssize_t sent = send(bytes->to, bytes->bytes + bytes->begin,
                                  connection->trickles ? 1 : end - bytes->begin, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        bytes->begin += sent > 0 ? (size_t)sent : 0;
        if (connection->trickles)
            poll(NULL, 0, TRICKLE_MS);
    }
    return true;
}

/* Forwards the bytes of one direction. False if the connection is over. */
static bool pass(proxy *self, pair *connection, proxy_way way) {
    stream_of_bytes *bytes = &connection->streams[way];
    ssize_t received = recv(bytes->from, bytes->bytes, BUFFER, MSG_DONTWAIT);
    bool ends, reset;
    if (received < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (received <= 0 && connection->was_delayed && way == PROXY_REQUESTS) {
        shutdown(bytes->to, SHUT_WR); /* the server answers what it has, and closes */
        connection->delayed = true;
        return true;
    }
    if (received <= 0)
        return false;
    bytes->begin = 0;
    bytes->end = (size_t)received;
    size_t size = judge(self, connection, way, &ends, &reset);
    if (!send_on(connection, bytes, size) && !(connection->was_delayed && way == PROXY_REPLIES))
        return false;
    if (ends)
        hang_up(connection, reset);
    return true;
}

/* True if bytes of that direction are read now. While requests are delayed, a client's end is not noticed. */
static bool has_space(const pair *connection, int way) {
    return connection->used && !connection->held && !(connection->delayed && way == PROXY_REQUESTS);
}

static void count_over(proxy *self) {
    pthread_mutex_lock(&self->mutex);
    self->late--;
    pthread_mutex_unlock(&self->mutex);
}

static void deliver(proxy *self) {
    for (pair *connection = self->pairs; connection < self->pairs + PAIRS; connection++)
        if (connection->used && connection->delayed && !connection->was_delayed) {
            stream_of_bytes *bytes = &connection->streams[PROXY_REQUESTS];
            connection->delayed = false;
            connection->was_delayed = true;
            (void)send_on(connection, bytes, bytes->end);
        }
}

static void *run(void *context) {
    proxy *self = context;
    for (;;) {
        struct pollfd fds[2 + 2 * PAIRS];
        fds[0] = (struct pollfd){self->door, POLLIN, 0};
        fds[1] = (struct pollfd){self->wake[0], POLLIN, 0};
        for (int i = 0; i < PAIRS; i++)
            for (int way = 0; way < 2; way++) {
                pair *connection = &self->pairs[i];
                fds[2 + 2 * i + way] = (struct pollfd){
                    has_space(connection, way) ? connection->streams[way].from : -1, POLLIN, 0};
            }
        if (poll(fds, 2 + 2 * PAIRS, -1) < 0 && errno != EINTR)
            give_up("poll");
        pthread_mutex_lock(&self->mutex);
        const bool stops = self->now.stops, drops_held = self->now.drops_held, delivers = self->now.delivers;
        self->now.drops_held = self->now.delivers = false;
        pthread_mutex_unlock(&self->mutex);
        char byte;
        if (fds[1].revents)
            (void)!read(self->wake[0], &byte, 1);
        if (delivers)
            deliver(self);
        for (int i = 0; i < PAIRS; i++) {
            pair *connection = &self->pairs[i];
            const bool is_late = connection->used && (connection->delayed || connection->was_delayed);
            if (connection->used &&
                (stops || (drops_held && (connection->held || connection->trickles || connection->delayed))))
                hang_up(connection, false);
            for (int way = 0; way < 2; way++)
                if (connection->used && has_space(connection, way) && fds[2 + 2 * i + way].fd >= 0 &&
                    fds[2 + 2 * i + way].revents && !pass(self, connection, (proxy_way)way))
                    hang_up(connection, false);
            if (is_late && !connection->used)
                count_over(self);
        }
        if (stops)
            return NULL;
        if (fds[0].revents)
            accept_client(self);
    }
}

/* ---- interface ---- */

proxy *proxy_start(const char *socket_path) {
    proxy *self = calloc(1, sizeof *self);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    if (!self)
        give_up("memory");
    snprintf(self->socket_path, sizeof self->socket_path, "%s", socket_path);
    self->door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (bind(self->door, (struct sockaddr *)&address, size) < 0 || listen(self->door, PAIRS) < 0 ||
        getsockname(self->door, (struct sockaddr *)&address, &size) < 0 || pipe(self->wake) < 0)
        give_up("listen");
    self->port = ntohs(address.sin_port);
    pthread_mutex_init(&self->mutex, NULL);
    if (pthread_create(&self->thread, NULL, run, self) != 0)
        give_up("thread");
    return self;
}

static void order(proxy *self, orders now) {
    pthread_mutex_lock(&self->mutex);
    self->now = now;
    self->passed[0] = self->passed[1] = self->commands = self->harmed = 0;
    if (now.mean)
        draw(self);
    pthread_mutex_unlock(&self->mutex);
    if (write(self->wake[1], "", 1) < 0)
        give_up("wake");
}

void proxy_stop(proxy *self) {
    if (!self)
        return;
    order(self, (orders){.stops = true});
    pthread_join(self->thread, NULL);
    pthread_mutex_destroy(&self->mutex);
    close(self->door);
    close(self->wake[0]);
    close(self->wake[1]);
    free(self);
}

int proxy_port(const proxy *self) {
    return self->port;
}

void proxy_arm(proxy *self, proxy_way way, proxy_harm harm, uint64_t position) {
    order(self, (orders){.armed = true, .way = way, .harm = harm, .position = position});
}

void proxy_arm_random(proxy *self, uint64_t mean, uint64_t seed) {
    order(self, (orders){.armed = mean > 0, .mean = mean, .random = seed});
}

void proxy_disarm(proxy *self) {
    order(self, (orders){.drops_held = true});
}

void proxy_arm_command(proxy *self, proxy_harm harm, uint64_t position) {
    order(self, (orders){.armed = true, .counts_commands = true, .harm = harm, .position = position});
}

static size_t count_late(proxy *self) {
    pthread_mutex_lock(&self->mutex);
    const size_t late = self->late;
    pthread_mutex_unlock(&self->mutex);
    return late;
}

void proxy_deliver(proxy *self, bool is_gone) {
    order(self, (orders){.delivers = true});
    for (int i = 0; is_gone && i < 500 && count_late(self) > 0; i++)
        poll(NULL, 0, 2);
}

uint64_t proxy_commands(proxy *self) {
    pthread_mutex_lock(&self->mutex);
    const uint64_t commands = self->commands;
    pthread_mutex_unlock(&self->mutex);
    return commands;
}

uint64_t proxy_passed(proxy *self, proxy_way way) {
    pthread_mutex_lock(&self->mutex);
    uint64_t passed = self->passed[way];
    pthread_mutex_unlock(&self->mutex);
    return passed;
}

uint64_t proxy_harmed(proxy *self) {
    pthread_mutex_lock(&self->mutex);
    uint64_t harmed = self->harmed;
    pthread_mutex_unlock(&self->mutex);
    return harmed;
}

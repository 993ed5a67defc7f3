/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_SERVER_CALLS_H
#define TAMIS_TEST_SERVER_CALLS_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <tamis/experimental/server.h>

#include "support/scratch.h"

/* A server in a thread of its own, and clients with bytes as they go over the network. Include after
 * cmocka.h. */

typedef struct running {
    tamis_server *server;
    pthread_mutex_t lock; /* of the log */
    pthread_t thread;
    int port;
    char log[4000];
} running;

static inline void keep_line(void *context, const char *line) {
    running *run = context;

    pthread_mutex_lock(&run->lock);
    const size_t used = strlen(run->log);
    snprintf(run->log + used, sizeof run->log - used, "%s\n", line);
    pthread_mutex_unlock(&run->lock);
}

static inline void *run_server(void *context) {
    running *run = context;
    tamis_error err = TAMIS_ERROR_INIT;

    if (tamis_server_run(run->server, &err) != TAMIS_OK)
        print_error("%s\n", err.text);
    return NULL;
}

static inline void write_config(const char *text) {
    file_write(scratch("config.yaml"), text, strlen(text));
}

static inline void start(running *run, const char *config) {
    static const char rows[] = "CREATE TABLE items (id INTEGER PRIMARY KEY, value TEXT);"
                               "INSERT INTO items VALUES (1, 'one'), (2, 'two'), (3, '');";
    tamis_server_options options = TAMIS_SERVER_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;

    *run = (running){.lock = PTHREAD_MUTEX_INITIALIZER};
    file_write(scratch("rows.sql"), rows, sizeof rows - 1);
    write_config(config);
    options.log = keep_line;
    options.context = run;
    if (tamis_server_open(&run->server, scratch("config.yaml"), &options, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    run->port = atoi(strrchr(tamis_server_address(run->server), ':') + 1);
    assert_int_equal(pthread_create(&run->thread, NULL, run_server, run), 0);
}

static inline void finish(running *run) {
    tamis_server_stop(run->server);
    assert_int_equal(pthread_join(run->thread, NULL), 0);
    tamis_server_close(run->server);
}

static inline int connect_to(const running *run) {
    const struct sockaddr_in name = {.sin_family = AF_INET,
                                     .sin_port = htons((uint16_t)run->port),
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&name, sizeof name), 0);
    return fd;
}

static inline void send_all(int fd, const char *bytes, size_t size) {
    while (size > 0) {
        const ssize_t count = send(fd, bytes, size, MSG_NOSIGNAL);
        assert_true(count > 0);
        bytes += count;
        size -= (size_t)count;
    }
}

static inline void send_text(int fd, const char *text) {
    send_all(fd, text, strlen(text));
}

/* Reads `size` bytes, or until the end of the connection. Returns their number. */
static inline size_t receive(int fd, char *to, size_t size) {
    size_t received = 0;

    while (received < size) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, 20000) != 1)
            fail_msg("no more within 20 s, after: %.*s", (int)received, to);
        const ssize_t count = recv(fd, to + received, size - received, 0);
        if (count <= 0)
            break;
        received += (size_t)count;
    }
    return received;
}

static inline void expect(int fd, const char *reply) {
    char received[4096];
    const size_t size = receive(fd, received, strlen(reply));

    received[size] = '\0';
    assert_string_equal(received, reply);
}

static inline void expect_end(int fd) {
    char byte;

    assert_int_equal(receive(fd, &byte, 1), 0);
    close(fd);
}

/* Sends commands, and expects these bytes. */
static inline void query(int fd, const char *commands, const char *reply) {
    send_text(fd, commands);
    expect(fd, reply);
}

static inline void wait_for_log(running *run, const char *text) {
    bool is_there = false;

    for (int i = 0; i < 2000 && !is_there; i++) {
        pause_ms(10);
        pthread_mutex_lock(&run->lock);
        is_there = strstr(run->log, text) != NULL;
        pthread_mutex_unlock(&run->lock);
    }
    assert_true(is_there);
}

#endif

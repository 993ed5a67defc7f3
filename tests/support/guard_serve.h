/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_GUARD_SERVE_H
#define TAMIS_TEST_GUARD_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Servers of `tamis serve`, each in a process of its own, and clients that read one reply after the other.
 *
 *     int main(int argc, char **argv) {
 *         if (serve_is_child(argc, argv))
 *             return serve_child(argv);
 */
typedef struct serve_process {
    pid_t pid; /* 0: it has ended */
    char config[160], socket[108], log[160];
} serve_process;

bool serve_is_child(int argc, char **argv);
int serve_child(char **argv);

/* Starts a server, and waits until it listens. It listens at the socket `name` in the scratch directory, and
 * has this configuration besides. It is killed when the calling thread ends. Aborts if it does not start. */
void serve_start(serve_process *server, const char *name, const char *config);
/* End it: in order, or by SIGKILL. serve_stop aborts if its status is not 0, as after a finding of a sanitizer. */
void serve_stop(serve_process *server);
void serve_kill(serve_process *server);

typedef enum serve_kind { SERVE_VALUE, SERVE_NULL, SERVE_ERROR, SERVE_OTHER } serve_kind;

typedef struct serve_reply {
    serve_kind kind;
    const char
        *text; /* of the value, the error or the line; valid until the next call for its client. Empty for
                         SERVE_NULL */
    size_t size;
} serve_reply;

/* A connection. It is initialised by serve_connect. */
typedef struct serve_client {
    int fd; /* -1: none */
    size_t begin, end;
    char bytes[64 << 10]; /* those from `begin` to `end` were received, and are not read yet */
} serve_client;

/* Connect to the socket of a server, or to a port of loopback. False: there is no connection. */
bool serve_connect(serve_client *client, const char *path);
bool serve_connect_port(serve_client *client, int port);
void serve_disconnect(serve_client *client);
/* False: the connection is lost. */
bool serve_send(serve_client *client, const char *bytes, size_t size);
/* Reads the next reply: a bulk string of at most 32 KiB, or a line. Aborts if no byte comes for a minute, or if
 * the bytes are not a reply. False: the connection is lost; the bytes from `begin` to `end` are the beginning of a
 * reply. */
bool serve_read(serve_client *client, serve_reply *reply);
/* Sends a command as a line and reads its reply. */
bool serve_query(serve_client *client, serve_reply *reply, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool serve_is(const serve_reply *reply, serve_kind kind, const char *text);

#endif

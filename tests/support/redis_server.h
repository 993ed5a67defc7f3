/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_REDIS_SERVER_H
#define TAMIS_TEST_REDIS_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

#include "support/scratch.h"

/*
 * Private redis-servers. Each has a directory of its own, a free TCP port of 127.0.0.1, and a unix socket.
 * They end when the process that started them ends, in whatever way.
 *
 *     static int set_up(void **state) {
 *         if (!redis_server_installed())
 *             return 0;                                  -- and each test begins with: if (!server.pid) skip();
 *         redis_server_start(&server, (const char *[]){"--maxmemory", "10mb", NULL});
 *         ...
 *     }
 *
 * All functions abort on an error, with a message on stderr.
 */
typedef struct redis_server {
    pid_t pid; /* 0: not running */
    int port;
    char directory[64];
    char socket[80];
    char uri[64];       /* redis://127.0.0.1:PORT */
    char uri_unix[128]; /* redis+unix://SOCKET, percent-encoded */
    const char *const *options;
    const char *password; /* for AUTH; NULL: no password */
} redis_server;

bool redis_server_installed(void);

/* Starts a server and waits until it answers. `options`: more words of its command line, terminated by
 * NULL; NULL: none. They must stay valid until redis_server_stop. The server saves nothing to disk unless
 * the options say so. */
void redis_server_start(redis_server *server, const char *const *options);
/* Kills it (SIGKILL) and waits until it is gone. */
void redis_server_kill(redis_server *server);
/* Starts it again after redis_server_kill, with the same port, socket, directory and options. */
void redis_server_restart(redis_server *server);
/* Kills it and removes its directory. Does nothing if it was never started. */
void redis_server_stop(redis_server *server);

/* Sends one command. `format` is hiredis's (%s, %d, %b with a size_t: each is one word). Returns the reply
 * as text: an integer in decimal, nil as "(nil)", an error as "(error) ...", the items of an array
 * separated by spaces. Static storage, until the next call. */
const char *redis_server_command(const redis_server *server, const char *format, ...);
/* The same for a command whose reply must be an integer. */
long long redis_server_number(const redis_server *server, const char *format, ...);
/* The same for a command whose reply must be a string or nil, which gives no bytes. */
void redis_server_bytes(const redis_server *server, test_bytes *into, const char *format, ...);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_REDIS_SERVER_H
#define TAMIS_TEST_REDIS_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

#include "support/scratch.h"

/*
 * Private redis-servers: each in a folder of its own, on a free TCP port of 127.0.0.1 and on a unix socket. They end
 * with the process that started them, however that ends.
 *
 *     static int set_up(void **state) {
 *         if (!redis_server_installed())
 *             return 0;                                  -- and each test begins with: if (!server.pid) skip();
 *         redis_server_start(&server, (const char *[]){"--maxmemory", "10mb", NULL});
 *         ...
 *     }
 *
 * All of these abort, with a sentence on stderr, where the server does not do what it is asked.
 */
typedef struct redis_server {
    pid_t pid; /* 0: does not run */
    int port;
    char directory[64];
    char socket[80];
    char uri[64];       /* redis://127.0.0.1:PORT */
    char uri_unix[128]; /* redis+unix://SOCKET, percent-encoded */
    const char *const *options;
    const char *password; /* that questions begin with; NULL: none is asked for */
} redis_server;

bool redis_server_installed(void);

/* Starts one and waits until it answers. options: more words of its command line, NULL at their end; NULL: none. They
 * stay where they are until redis_server_stop. Not saved to disk unless they say so. */
void redis_server_start(redis_server *server, const char *const *options);
/* Kills it (SIGKILL) and waits until it is gone. */
void redis_server_kill(redis_server *server);
/* Starts it again after redis_server_kill: the same port, socket, folder and options. */
void redis_server_restart(redis_server *server);
/* Kills it and removes its folder. Nothing for one that was never started. */
void redis_server_stop(redis_server *server);

/* Asks it one command, format as printf's for hiredis (%s, %d, %b with a size_t: each stays one word). Gives the answer
 * as text: an integer in decimal, nil as "(nil)", an error as "(error) ...", an array's items with a space between. Static
 * storage, until the next call. */
const char *redis_server_command(const redis_server *server, const char *format, ...);
/* The same of what must answer with an integer. */
long long redis_server_number(const redis_server *server, const char *format, ...);
/* The same of what must answer with a string, or nil, which is no byte. */
void redis_server_bytes(const redis_server *server, test_bytes *into, const char *format, ...);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVER_H
#define TAMIS_SERVER_H

/* A read-through cache that speaks the protocol of Redis: library libtamis-server. Not part of tamis/tamis.h,
 * so that a program that embeds a filter needs no further library. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The server that a configuration file describes; docs/guide/serve.md lists its fields. */
typedef struct tamis_server tamis_server;

typedef struct tamis_server_options {
    uint32_t struct_size;
    /* NULL, or called in the server's thread for each event, with a line of text without a line feed */
    void (*log)(void *context, const char *line);
    void *context; /* of `log` */
    const tamis_allocator
        *allocator; /* NULL: the default; libevent, libyaml and OpenSSL use the C library's */
} tamis_server_options;

#define TAMIS_SERVER_OPTIONS_INIT TAMIS__INIT(tamis_server_options, )

/* Summary of a configuration. */
typedef struct tamis_server_summary {
    uint32_t struct_size;
    size_t keyspaces;
    size_t unchecked; /* keyspaces whose statements could not be checked, or whose filter cannot be used */
    bool has_filters;
} tamis_server_summary;

#define TAMIS_SERVER_SUMMARY_INIT TAMIS__INIT(tamis_server_summary, )

/*
 * Reads and checks a configuration file. For each keyspace, connects to its database and its Redis, and
 * prepares its statements. It also tries a filter in a file or in Redis. Listens nowhere, and changes nothing:
 * `init` of a SQLite file is not run, and that of PostgreSQL may only read. Returns the first error, with its
 * line: "FILE: line 7: what is wrong; what to do". `options` may be NULL.
 *
 * Three faults are not errors: a keyspace cannot be reached, needs an `init` that writes, or has a filter that
 * cannot be used. options->log gets a line, and the keyspace counts in summary->unchecked.
 *
 * - TAMIS_E_INVALID: the file is not valid. TAMIS_E_IO: the file, or one that it names, cannot be read.
 * - TAMIS_E_REFUSED: the database refuses a statement, or the database or Redis refuses the user.
 * - TAMIS_E_NOMEM.
 */
TAMIS_API tamis_status tamis_server_check(const char *config, const tamis_server_options *options,
                                          tamis_server_summary *summary, tamis_error *err);

/* Reads the configuration, opens the guards, and listens. A database or Redis that cannot be reached is
 * reported in the log, and tried again. The caller owns *server until tamis_server_close. Errors of
 * tamis_server_check and tamis_guard_open, and TAMIS_E_SYSTEM: the address cannot be used. */
TAMIS_API tamis_status tamis_server_open(tamis_server **server, const char *config,
                                         const tamis_server_options *options, tamis_error *err);
TAMIS_API void tamis_server_close(tamis_server *server);

/* Answers clients until tamis_server_stop: the calling thread is the server's thread. Returns TAMIS_OK when
 * it has answered the commands that it has read, or ten seconds after the stop. The program must ignore
 * SIGPIPE, which a client that disconnects would raise. TAMIS_E_SYSTEM: the event loop failed. */
TAMIS_API tamis_status tamis_server_run(tamis_server *server, tamis_error *err);

/* Stop and reload. Both may be called from any thread and from a signal handler. tamis_server_stop ends
 * tamis_server_run: the server accepts no further connections and commands. tamis_server_reload reads the
 * configuration again, and changes guards and limits. If the file is not valid, it logs that and changes
 * nothing. */
TAMIS_API void tamis_server_stop(tamis_server *server);
TAMIS_API void tamis_server_reload(tamis_server *server);

/* Returns the address on which the server listens, "HOST:PORT" or "unix:PATH"; valid until the server is
 * closed. */
TAMIS_API const char *tamis_server_address(const tamis_server *server);

#ifdef __cplusplus
}
#endif
#endif

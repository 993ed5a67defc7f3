/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVER_SERVER_INT_H
#define TAMIS_SERVER_SERVER_INT_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/experimental/guard.h>
#include <tamis/experimental/server.h>

#include "server/filter_store.h"
#include "server/resp_parser.h"
#include "server/server_config.h"
#include "server/server_reply.h"

/*
 * Shared by the files of the server. server.c has a picture of its threads. What follows belongs to the
 * server's thread unless a comment says otherwise.
 */

typedef struct server_client server_client;

/* ---- from other threads to the server's thread ---- */

/* Something that happened in another thread: first member of the struct that `apply` handles. */
typedef struct server_event {
    struct server_event *next;
    void (*apply)(tamis_server *server, struct server_event *event); /* also frees it */
} server_event;

/* Any thread: passes an event to the server's thread. */
void tamis__server_post(tamis_server *server, server_event *event);

/* Work that may block, for a worker: one of the server's other threads. Then its event is posted. */
typedef struct server_job {
    server_event event;
    struct server_job *next;
    void (*work)(tamis_server *server, struct server_job *job); /* called by a worker */
} server_job;

enum { SERVER_WORKERS = 4 };
void tamis__server_work(tamis_server *server, server_job *job);

/* ---- keyspaces (server_keyspaces.c) ---- */

/* A configuration. The sets of guards and the guards that use it have references. */
typedef struct server_shared_config {
    server_config *config;
    atomic_size_t references;
} server_shared_config;

/* A keyspace and its guard. Requests that are not answered have a reference. */
typedef struct server_guard {
    const server_keyspace *keyspace;
    server_shared_config *shared; /* contains the keyspace */
    tamis_guard *guard;
    tamis_guard_source source;
    atomic_size_t references;
    tamis_guard_stats last_stats;                    /* a second ago (server_reports.c) */
    bool scan_fails, load_fails, is_down, is_silent; /* the log says so */
    tamis_error scan_error;                          /* why `scan_fails`, as in the log */
    unsigned silences;                               /* seconds in a row in which Redis did not answer */
} server_guard;

/* The guards of a configuration, longest prefix first. */
typedef struct server_guards {
    tamis_allocator memory;
    server_shared_config *shared;
    size_t count;
    server_guard *items[];
} server_guards;

/* Opens the guards of a configuration. Shares the guards of `old` whose keyspace did not change; NULL: none,
 * the server starts. With `old`, a database or Redis that cannot be reached is an error, and no scan begins
 * before tamis__keyspaces_begin_scans. Any thread, as long as `old` is not released. Takes over `config`, also
 * on failure. */
tamis_status tamis__keyspaces_open(server_guards **guards, server_config *config, const server_guards *old,
                                   tamis_error *err);
/* Tells the guards of `to` the puts in progress of those of `from`. Server's thread. */
tamis_status tamis__keyspaces_hand_over(const server_guards *from, const server_guards *to, tamis_error *err);
/* Begins the scans of guards that were opened with `old`. */
void tamis__keyspaces_begin_scans(const server_guards *guards);

/* Opens each keyspace for a moment, without its filter. Nothing is changed. A keyspace that cannot be reached,
 * or needs an `init` that writes, is a line for `remark` (NULL: none) and counts in *unchecked. */
tamis_status tamis__keyspaces_check(const server_config *config,
                                    void (*remark)(void *context, const char *line), void *context,
                                    size_t *unchecked, tamis_error *err);
/* Releases a set. The last reference to a guard closes it in a job, or at once if `server` is NULL. */
void tamis__keyspaces_release(tamis_server *server, server_guards *guards);
void tamis__keyspace_release(tamis_server *server, server_guard *guard);

/* Returns the guard of a key, and sets *row to the parameter of its SQL statement. Returns NULL and fills
 * *err if no keyspace has the key, or no row can have it. */
server_guard *tamis__keyspaces_find(const server_guards *guards, tamis_key key, tamis_key *row,
                                    tamis_error *err);

/* Once a second: logs what has changed for a guard (server_reports.c). */
void tamis__keyspaces_report(tamis_server *server);
/* The same, of what could not be reached at the start. */
void tamis__keyspaces_report_down(tamis_server *server);

/* ---- requests that wait (server_keys.c) ---- */

typedef enum server_read_kind {
    READ_GET,
    READ_EXISTS,
    READ_STRLEN,
    READ_TTL,
    READ_MGET,
    READ_FILTER /* has no keys of a guard */
} server_read_kind;

/* One key of a command. */
typedef struct server_answer {
    tamis_status status;
    tamis_guard_value value;
    char *message;      /* of a status that is not TAMIS_OK; from malloc() */
    bool was_requested; /* levels 1 and 2 did not have it */
} server_answer;

/* A command whose keys are not all answered. Later replies of its connection wait in `after`. */
typedef struct server_pending {
    struct server_pending *next;
    server_client *client; /* NULL: the client has disconnected */
    tamis_allocator memory;
    server_read_kind kind;
    size_t count, waiting;
    size_t weight;                /* what it counts in pending_count of its client */
    bool is_resp3;                /* the protocol when the command came */
    struct evbuffer *after;       /* NULL: nothing */
    struct bloom_command *filter; /* of READ_FILTER */
    server_answer answers[];
} server_pending;

enum { SERVER_BATCH = 64 };

/* Commands of one key that were parsed and are not answered yet. Their keys lie in the input. */
typedef struct server_batch {
    size_t count;
    server_guard *guards[SERVER_BATCH];
    tamis_key keys[SERVER_BATCH];
    server_read_kind kinds[SERVER_BATCH];
    tamis_guard_value values[SERVER_BATCH];
} server_batch;

/* Returns the first word of an error reply, by which programs tell errors apart. */
const char *tamis__server_error_word(tamis_status status);

/* Adds a command of one key to the batch, and answers the batch if it is full. */
void tamis__batch_add(server_client *client, server_read_kind kind, tamis_key key);
/* Answers all commands of the batch. */
void tamis__batch_answer(server_client *client);
/* Answers a command of several keys. */
void tamis__batch_answer_keys(server_client *client, server_read_kind kind, const tamis_key *keys,
                              size_t count);
/* Makes a pending command with `count` keys, or returns NULL. It belongs to the client once it is appended. */
server_pending *tamis__pending_create(server_client *client, server_read_kind kind, size_t count);
void tamis__pending_append(server_client *client, server_pending *pending);
void tamis__pending_free(server_pending *pending);
/* Replies to commands whose keys are answered, up to the first command that still waits. */
void tamis__pending_reply(server_client *client);
/* Called before a client is freed. */
void tamis__pending_abandon(server_client *client);

/* ---- writers (server_writes.c) ---- */

/* A token of GUARD.ADD, until DEL of the same key. */
typedef struct server_token {
    struct server_token *next;
    size_t key_size; /* of the whole key, whose guard a reload may replace */
    uint8_t token[TAMIS_GUARD_TOKEN];
    char key[];
} server_token;

enum { SERVER_TOKENS_MAX = 1000 }; /* of a connection */

void tamis__server_write_begin(server_client *client, tamis_key key);
void tamis__server_write_finish(server_client *client, const tamis_key *keys, size_t count);
/* Called before a client is freed. */
void tamis__server_writes_abandon(server_client *client);
/* Replies to writers whose wait is over or whose connection is closed. */
void tamis__server_writes_finish(tamis_server *server);

/* ---- named filters (server_filters.c, server_bloom.c) ---- */

/* The store of filters and its thread. NULL in the server: there are none. */
typedef struct server_filters_thread server_filters_thread;

/* A BF.* command. Its name, items and answers are behind it. */
typedef struct bloom_command {
    filter_command command;
    server_pending *pending;
    bool is_single; /* the reply is one value, without an array */
    int field;      /* of BF.INFO; -1: all */
    size_t size;    /* bytes of memory in all */
} bloom_command;

/* Opens the directory of the configuration, if there is one, and starts the thread. */
tamis_status tamis__filters_open(tamis_server *server, tamis_error *err);
/* Runs what is queued, and ends the thread. Its last events are posted. */
void tamis__filters_close(tamis_server *server);
/* Closes the filters, after those events were applied. */
void tamis__filters_free(tamis_server *server);
/* Collects a command of the client, whose later replies wait for it. */
void tamis__filters_add(server_client *client, bloom_command *command);
/* Passes collected commands to the thread. */
void tamis__filters_send(tamis_server *server);
void tamis__filters_stats(server_filters_thread *filters, filter_stats *stats);

void tamis__bloom_reply(server_reply *reply, const bloom_command *command);
void tamis__bloom_free(const tamis_allocator *memory, bloom_command *command);

/* ---- MULTI (server_multi.c) ---- */

/* Commands between MULTI and EXEC, as they were sent. */
typedef struct server_multi {
    char *bytes;
    size_t size, capacity;
    size_t count;    /* of commands */
    size_t used;     /* bytes that have run since EXEC */
    bool is_open;    /* MULTI came, and no EXEC */
    bool has_failed; /* a command was refused: nothing is kept, and EXEC runs nothing */
    bool runs;       /* EXEC came, and commands are left */
} server_multi;

/* Keeps a command until EXEC, and replies. */
void tamis__multi_add(server_client *client, server_reply *reply, tamis_key bytes);
/* A command was refused. Does nothing without MULTI. */
void tamis__multi_fail(server_client *client);
void tamis__multi_clear(server_client *client);

/* ---- clients (server_client.c) ---- */

enum { CLIENT_NAME_MAX = 128 };

struct server_client {
    tamis_server *server;
    server_client *next, **previous;
    uint64_t id;
    int fd;
    SSL *tls; /* NULL: none */
    struct event readable, writable;
    resp_parser parser;
    char *input; /* bytes that are not parsed yet */
    size_t input_size, input_capacity;
    struct evbuffer *output;      /* replies that are not sent yet */
    server_pending *first, *last; /* commands that wait, in their order */
    size_t pending_count;         /* sum of their weights */
    size_t waiting_size;          /* bytes in `after` of all these commands but the last */
    server_client *answered;      /* the next client whose filter commands are answered */
    bool is_answered;             /* it is in that list */
    struct write_job *job;        /* NULL, or the job that the next command waits for */
    server_token *tokens;
    size_t token_count;
    server_multi multi;
    uint64_t active;  /* time of the last bytes from the client (tamis__now_ns) */
    uint64_t written; /* time when bytes were last sent, or when there were none to send */
    bool is_resp3, is_authenticated;
    bool reads, writes; /* `readable`, `writable` are added */
    bool has_ended;     /* nothing more is read: the client has closed its side, or the server stops */
    bool is_closed;     /* the client has closed its side */
    bool finishes;      /* no further command is parsed; the connection is closed after the last reply */
    bool lingers;       /* the server has closed its side, and waits until the client closes its own */
    bool is_broken;     /* the connection is of no further use */
    char name[CLIENT_NAME_MAX];
};

/* Accepts a connection. */
void tamis__client_accept(tamis_server *server, int fd);
void tamis__client_free(server_client *client);
/* Parses input and sends replies, as far as possible. May free the client. */
void tamis__client_proceed(server_client *client);
/* Returns the server's reply buffer. Its bytes now go to this client, behind its earlier replies. */
server_reply *tamis__client_reply(server_client *client);
/* Passes the bytes of the reply buffer to the client's output. */
void tamis__client_flush(server_client *client);
/* Once a second: cuts clients that are idle or do not read their replies. */
void tamis__clients_check(tamis_server *server, uint64_t now);
/* Reads the bytes that have arrived, and closes each connection when its commands are answered. */
void tamis__clients_drain(tamis_server *server);

/* ---- TLS (server_tls.c) ---- */

tamis_status tamis__server_tls_create(SSL_CTX **context, const server_config *config, tamis_error *err);
/* As read() and write(): -1 and EAGAIN if the connection must become readable or writable first. */
ssize_t tamis__server_tls_read(server_client *client, void *to, size_t size);
ssize_t tamis__server_tls_write(server_client *client, const void *from, size_t size);

/* ---- commands (server_commands.c, server_info.c) ---- */

enum { SERVER_COMMANDS_MAX = 40 };

/* Replies to a command, or adds it to the batch. arguments[0] is its name. bytes: the command as it was sent. */
void tamis__server_command_run(server_client *client, const tamis_key *arguments, size_t count,
                               tamis_key bytes);

/* True if the key is this word, in any case. */
bool tamis__server_is_word(tamis_key key, const char *word);

/* ---- listening (server_listen.c) ---- */

/* Opens the socket of server->config, and sets `listen_fd`, `address` and `socket_path`. */
tamis_status tamis__server_listen(tamis_server *server, tamis_error *err);

/* ---- metrics (server_metrics.c) ---- */

tamis_status tamis__server_metrics_open(tamis_server *server, tamis_error *err);
void tamis__server_metrics_close(tamis_server *server);

/* ---- the server (server.c) ---- */

enum { SERVER_INPUT = 64 << 10 };

struct tamis_server {
    tamis_allocator memory;
    void (*log)(void *context, const char *line);
    void *log_context;
    char *config_file;
    server_guards *guards;
    const server_config *config; /* that of `guards` */
    server_filters_thread *filters;
    struct event_base *base;
    struct event listener, wake, tick, retry, delay;
    server_event *delayed, **delayed_tail; /* jobs of GUARD.ADD whose wait is not over */
    int listen_fd, wake_fd;
    char address[256];
    char *socket_path; /* of a Unix socket, which is removed at the end */
    SSL_CTX *tls;
    struct evhttp *http;
    char metrics_address[256];

    server_client *clients;
    size_t client_count, request_count; /* request_count: keys that wait for a guard */
    uint64_t next_id, connections, rejected, protocol_errors, cut;
    uint64_t calls[SERVER_COMMANDS_MAX], unknown_calls, errors;
    uint64_t started;      /* tamis__now_ns */
    uint64_t drain_until;  /* 0: not stopping */
    bool reloads;          /* a job reads the configuration */
    uint64_t logged_until; /* end of the second in which lines about clients are counted */
    unsigned logged, not_logged;

    server_batch batch;
    server_reply reply;
    char input[SERVER_INPUT];

    atomic_bool stop, reload; /* any thread, without the lock */

    pthread_mutex_t lock; /* protects all fields below, for any thread */
    pthread_cond_t work;
    server_event *events, **events_tail;
    server_job *jobs, **jobs_tail;
    bool workers_stop;
    pthread_t workers[SERVER_WORKERS];
    size_t worker_count;
};

void tamis__server_log(tamis_server *server, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Logs an event that a client caused: at most ten lines a second. */
void tamis__server_log_client(server_client *client, const char *what);

#endif

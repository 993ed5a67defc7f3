/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_CONNECTION_REDIS_CONNECTION_H
#define TAMIS_STORE_REDIS_CONNECTION_REDIS_CONNECTION_H

#include <stdatomic.h>

#include <poll.h>

#include "store/redis/connection/redis_reply.h"
#include "store/redis/connection/redis_tls.h"
#include "store/redis/connection/redis_uri.h"

/*
 * One connection to one server. Commands collect in an output buffer; replies are parsed as they arrive.
 * No call waits past its deadline, which is a time as in tamis__now_ns. One thread uses a connection at a
 * time.
 */
typedef struct tamis__connection tamis__connection;

/* A server, and the user to log in as. It outlives its connections, and its strings do too. */
typedef struct tamis__endpoint {
    tamis__redis_address address;
    const char *user, *password; /* NULL: none */
    uint32_t db;
    const tamis_allocator *allocator;
    char shown[120];               /* "host:port", for messages */
    atomic_bool has_answered;      /* it has replied once, on any connection */
    const tamis__tls_context *tls; /* NULL: no TLS */
} tamis__endpoint;

/* Sets `shown` from `address`. */
void tamis__endpoint_show(tamis__endpoint *endpoint);

/* Connects, logs in and selects the database. TAMIS_E_IO: not reached. TAMIS_E_TIMEOUT. TAMIS_E_REFUSED: the
 * server refused the password, the database or the certificate. */
tamis_status tamis__connection_open(tamis__connection **conn, const tamis__endpoint *endpoint,
                                    uint64_t deadline, tamis_error *err);
void tamis__connection_close(tamis__connection *conn);
/* Returns the `shown` of its endpoint. */
const char *tamis__connection_name(const tamis__connection *conn);

/* ---- a command: the number of its words, then each word ---- */

/* These append to the output buffer and send nothing. If memory runs out, the next tamis__connection_send
 * fails. */
void tamis__connection_put_command(tamis__connection *conn, size_t words);
void tamis__connection_put(tamis__connection *conn, const void *bytes, size_t size);
void tamis__connection_put_text(tamis__connection *conn, const char *text);
void tamis__connection_put_number(tamis__connection *conn, int64_t number);
/* Appends words that are encoded already, as in "$2\r\nu1\r\n". */
void tamis__connection_put_encoded(tamis__connection *conn, const char *words, size_t size);

/* Appends a whole command: PEXPIRE, or PERSIST if ms is 0. */
void tamis__connection_put_expire(tamis__connection *conn, const void *key, size_t size, uint64_t ms);

/* While `state` is set, tamis__step_put runs each step at once, as a transaction: see redis_transaction.c.
 * NULL: steps are scripts. */
typedef struct tamis__transaction tamis__transaction;
void tamis__connection_set_transaction(tamis__connection *conn, tamis__transaction *state);
tamis__transaction *tamis__connection_get_transaction(const tamis__connection *conn);

/* Returns the number of bytes in the output buffer that are still to be sent. */
size_t tamis__connection_unsent(const tamis__connection *conn);

/* True if all commands were sent and all received bytes belong to returned replies. Only then may the
 * connection be reused. */
bool tamis__connection_is_idle(const tamis__connection *conn);

/* ---- sending and receiving without waiting ---- */

struct pollfd tamis__connection_pollfd(const tamis__connection *conn);
/* Sends as much as the socket accepts now. TAMIS_E_IO: the connection is lost. */
tamis_status tamis__connection_send(tamis__connection *conn, tamis_error *err);
/* Receives what has arrived. *received: true if that was at least one byte. TAMIS_E_IO: the connection is
 * lost. */
tamis_status tamis__connection_receive(tamis__connection *conn, bool *received, tamis_error *err);
/* Returns the next whole reply among the received bytes, or NULL: see tamis__replies_next. */
tamis_status tamis__connection_next_reply(tamis__connection *conn, const tamis__reply **reply,
                                          tamis_error *err);

/* Sends what the output buffer has, and waits for one reply. The reply may be an error reply, and is valid
 * until the next use of the connection. */
tamis_status tamis__connection_wait_reply(tamis__connection *conn, uint64_t deadline,
                                          const tamis__reply **reply, tamis_error *err);

/* Polls the descriptors until one is ready or the deadline has passed. *ready is the number of ready ones. */
tamis_status tamis__poll_until(struct pollfd *fds, size_t count, uint64_t deadline, int *ready,
                               tamis_error *err);

/* True if the failure is one of a connection. */
static inline bool tamis__is_lost(tamis_status status) {
    return status == TAMIS_E_IO || status == TAMIS_E_TIMEOUT;
}

/* ---- error replies ---- */

/* True if the error begins with this word or words, and a space. */
bool tamis__reply_begins(const tamis__reply *error, const char *word);
/* True if the command was refused only for now, so it is sent again. */
bool tamis__redis_is_transient(const tamis__reply *error);
/* True if the server refuses writes (memory, disk), or this user. Another command for the same purpose may
 * succeed. */
bool tamis__redis_is_denied(const tamis__reply *error);
/* True if the error says that EVAL is missing, or forbidden for this user. */
bool tamis__redis_forbids_scripts(const tamis__reply *error);
/* True if the command may have been carried out in spite of this error. */
bool tamis__redis_is_unsure(const tamis__reply *error);
/* Returns the status of an error reply. The message says what the server refused and what to do. sys_errno
 * is ENOMEM if the memory of the server is full. */
tamis_status tamis__redis_refused(const tamis__endpoint *endpoint, const char *what,
                                  const tamis__reply *reply, tamis_error *err);

/* ---- addresses ---- */

struct addrinfo;
/* Looks up the addresses of a host; the caller frees them with freeaddrinfo. `shown` names the host in
 * messages. TAMIS_E_IO: the host has no address. TAMIS_E_TIMEOUT: no answer by the deadline, a time as in
 * tamis__now_ns. */
tamis_status tamis__resolve(struct addrinfo **found, const tamis__redis_address *address, const char *shown,
                            uint64_t deadline, tamis_error *err);

#endif

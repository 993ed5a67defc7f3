/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_CONNECTION_REDIS_CONNECTION_H
#define TAMIS_STORE_REDIS_CONNECTION_REDIS_CONNECTION_H

#include <poll.h>

#include "store/redis/connection/redis_reply.h"
#include "store/redis/connection/redis_tls.h"
#include "store/redis/connection/redis_uri.h"

/*
 * One connection to one server: bytes out through a buffer, replies in, nothing ever waits past a deadline. Deadlines
 * are times of tamis__now_ns.
 */
typedef struct tamis__connection tamis__connection;

/* Who is spoken to, and as whom. Strings outlive the link. */
typedef struct tamis__endpoint {
    tamis__redis_address address;
    const char *user, *password; /* NULL: none */
    uint32_t db;
    const tamis_allocator *allocator;
    char shown[120];               /* "host:port", for sentences */
    const tamis__tls_context *tls; /* NULL: none */
} tamis__endpoint;

/* Fills `shown` of an address. */
void tamis__endpoint_show(tamis__endpoint *endpoint);

/* Connects, says who we are, chooses the database. TAMIS_E_IO: not reached; TAMIS_E_TIMEOUT; TAMIS_E_REFUSED: the
 * server will not have us. */
tamis_status tamis__connection_open(tamis__connection **conn, const tamis__endpoint *endpoint,
                                    uint64_t deadline, tamis_error *err);
void tamis__connection_close(tamis__connection *conn);
/* Its server's, "host:port": that of the tamis__endpoint. */
const char *tamis__connection_name(const tamis__connection *conn);

/* ---- a command: its words are put one after the other ---- */

/* A failure to find memory is kept and told by tamis__connection_send. */
void tamis__connection_put_command(tamis__connection *conn, size_t words);
void tamis__connection_put(tamis__connection *conn, const void *bytes, size_t size);
void tamis__connection_put_text(tamis__connection *conn, const char *text);
void tamis__connection_put_number(tamis__connection *conn, int64_t number);
/* Words with their lengths, as they go over the wire: "$2\r\nu1\r\n". */
void tamis__connection_put_encoded(tamis__connection *conn, const char *words, size_t size);

/* A whole command: PEXPIRE, or PERSIST where ms is 0. */
void tamis__connection_put_expire(tamis__connection *conn, const void *key, size_t size, uint64_t ms);

/* While `state` is set, each step is carried out at once as a transaction: see redis_transaction.c. */
typedef struct tamis__transaction tamis__transaction;
void tamis__connection_set_transaction(tamis__connection *conn, tamis__transaction *state);
tamis__transaction *tamis__connection_get_transaction(const tamis__connection *conn);

/* Bytes put that have not left. */
size_t tamis__connection_unsent(const tamis__connection *conn);

/* Whether all that was put has left, and all that came was read: else nobody may use it for something new. */
bool tamis__connection_is_idle(const tamis__connection *conn);

/* ---- moving bytes; none of these waits ---- */

struct pollfd tamis__connection_pollfd(const tamis__connection *conn);
/* Sends what the system takes now. TAMIS_E_IO: the connection is lost. */
tamis_status tamis__connection_send(tamis__connection *conn, tamis_error *err);
/* Receives what is there; *some says whether anything was. */
tamis_status tamis__connection_receive(tamis__connection *conn, bool *received, tamis_error *err);
/* The next whole reply of those received, or NULL; see tamis__replies_next. */
tamis_status tamis__connection_next_reply(tamis__connection *conn, const tamis__reply **reply,
                                          tamis_error *err);

/* One command and its reply, which is valid until the next use of the link. The reply may be an error. */
tamis_status tamis__connection_wait_reply(tamis__connection *conn, uint64_t deadline,
                                          const tamis__reply **reply, tamis_error *err);

/* Waits for one of the descriptors, or until the deadline: *ready is how many. */
tamis_status tamis__poll_until(struct pollfd *fds, size_t count, uint64_t deadline, int *ready,
                               tamis_error *err);

#endif

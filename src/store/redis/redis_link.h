/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_REDIS_LINK_H
#define TAMIS_STORE_REDIS_REDIS_LINK_H

#include <poll.h>

#include "store/redis/redis_reply.h"
#include "store/redis/redis_tls.h"
#include "store/redis/redis_uri.h"

/*
 * One connection to one server: bytes out through a buffer, replies in, nothing ever waits past a deadline. Deadlines
 * are times of tamis__now_ns.
 */
typedef struct tamis__link tamis__link;

/* Who is spoken to, and as whom. Strings outlive the link. */
typedef struct tamis__link_to {
    tamis__redis_address address;
    const char *user, *password; /* NULL: none */
    uint32_t db;
    const tamis_allocator *allocator;
    char shown[120];               /* "host:port", for sentences */
    const tamis__tls_context *tls; /* NULL: none */
} tamis__link_to;

/* Fills `shown` of an address. */
void tamis__link_to_show(tamis__link_to *to);

/* Connects, says who we are, chooses the database. TAMIS_E_IO: not reached; TAMIS_E_TIMEOUT; TAMIS_E_REFUSED: the
 * server will not have us. */
tamis_status tamis__link_open(tamis__link **link, const tamis__link_to *to, uint64_t deadline,
                              tamis_error *err);
void tamis__link_close(tamis__link *link);
/* Its server's, "host:port": that of the tamis__link_to. */
const char *tamis__link_shown(const tamis__link *link);

/* ---- a command: its words are put one after the other ---- */

/* A failure to find memory is kept and told by tamis__link_send. */
void tamis__link_command(tamis__link *link, size_t words);
void tamis__link_word(tamis__link *link, const void *bytes, size_t size);
void tamis__link_text(tamis__link *link, const char *text);
void tamis__link_number(tamis__link *link, int64_t number);
/* Words with their lengths, as they go over the wire: "$2\r\nu1\r\n". */
void tamis__link_made(tamis__link *link, const char *words, size_t size);

/* A whole command: PEXPIRE, or PERSIST where ms is 0. */
void tamis__link_expire(tamis__link *link, const void *key, size_t size, uint64_t ms);

/* While `state` is set, each step is carried out at once as a transaction: see redis_transaction.c. */
typedef struct tamis__transacting tamis__transacting;
void tamis__link_transact(tamis__link *link, tamis__transacting *state);
tamis__transacting *tamis__link_transacting(const tamis__link *link);

/* Bytes put that have not left. */
size_t tamis__link_unsent(const tamis__link *link);

/* Whether all that was put has left, and all that came was read: else nobody may use it for something new. */
bool tamis__link_at_rest(const tamis__link *link);

/* ---- moving bytes; none of these waits ---- */

struct pollfd tamis__link_poll(const tamis__link *link);
/* Sends what the system takes now. TAMIS_E_IO: the connection is lost. */
tamis_status tamis__link_send(tamis__link *link, tamis_error *err);
/* Receives what is there; *some says whether anything was. */
tamis_status tamis__link_receive(tamis__link *link, bool *some, tamis_error *err);
/* The next whole reply of those received, or NULL; see tamis__replies_next. */
tamis_status tamis__link_reply(tamis__link *link, const tamis__reply **reply, tamis_error *err);

/* One command and its reply, which is valid until the next use of the link. The reply may be an error. */
tamis_status tamis__link_ask(tamis__link *link, uint64_t deadline, const tamis__reply **reply,
                             tamis_error *err);

/* Waits for one of the descriptors, or until the deadline: *ready is how many. */
tamis_status tamis__link_wait(struct pollfd *fds, size_t count, uint64_t deadline, int *ready,
                              tamis_error *err);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_REDIS_CLUSTER_H
#define TAMIS_TEST_REDIS_CLUSTER_H

#include <stddef.h>

#include "support/redis_server.h"

/* A cluster of private servers, see redis_server.h: three masters, each with a replica. Like there all of these abort
 * where they do not get what they want. */
enum { CLUSTER_MASTERS = 3, CLUSTER_NODES = 6 };

extern redis_server cluster[CLUSTER_NODES];

void cluster_start(void); /* takes some seconds */
void cluster_stop(void);
/* "redis+cluster://" and two of its nodes, then `rest`. Static storage, until the next call. */
const char *cluster_uri(const char *rest);

/* Waits until every node that runs says that all is well, no more than three take themselves for masters, and every
 * replica has all its master had then. */
void cluster_wait_until_ready(void);
/* The node that has the slot, of those that run, and a replica of that. Both are waited for: a node that was late may have
 * lost its place just now, without having been told to. */
redis_server *cluster_master(unsigned slot);
redis_server *cluster_replica(unsigned slot);
/* Has it take its master's place when it has all that one has. */
void cluster_hand_over(redis_server *replica);
/* Makes `to` the owner of the slot in the steps that redis-cli takes; `between` (may be NULL) is called when the slot
 * is on its way with its keys at `from` still, and again when they are at `to`. */
void cluster_move(unsigned slot, redis_server *from, redis_server *to, void (*between)(void));

#endif

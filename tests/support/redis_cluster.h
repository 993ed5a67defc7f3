/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_REDIS_CLUSTER_H
#define TAMIS_TEST_REDIS_CLUSTER_H

#include <stddef.h>

#include "support/redis_server.h"

/* A cluster of private servers (redis_server.h): three masters, each with a replica. All functions abort
 * on an error. */
enum { CLUSTER_MASTERS = 3, CLUSTER_NODES = 6 };

extern redis_server cluster[CLUSTER_NODES];

void cluster_start(void); /* takes some seconds */
void cluster_stop(void);
/* Returns "redis+cluster://", two of the nodes, and `rest`. Static storage, until the next call. */
const char *cluster_uri(const char *rest);

/* Waits until every running node reports that the cluster is ok, at most three nodes are masters, and
 * every replica has all data that its master had at the call. */
void cluster_wait_until_ready(void);
/* Returns the running master of the slot, or a replica of it. Waits for one: a node that was late may just
 * have lost its role in a failover. */
redis_server *cluster_master(unsigned slot);
redis_server *cluster_replica(unsigned slot);
/* Makes the replica the master, once it has all its master's data. */
void cluster_hand_over(redis_server *replica);
/* Moves the slot to `to` in the steps of redis-cli. Calls `between` (may be NULL) twice while the slot is
 * being moved: with its keys still at `from`, and with its keys at `to`. */
void cluster_move(unsigned slot, redis_server *from, redis_server *to, void (*between)(void));

#endif

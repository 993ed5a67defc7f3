/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The connections of a node. A thread takes one of `connections` permits before it sends commands:
 *
 *     threads -> waiters (a queue) -> permit -> idle connection (a stack), or a new one -> commands
 *                                                      ^                                      |
 *                                                      +--------- returned, permit released --+
 *
 * Waiting threads are served first come, first served. Each waits on a condition of its own, so a released
 * permit wakes at most one thread. One exception: a thread that reads the slot map takes no permit. It may
 * hold one already, and waiting for a second could last for ever.
 *
 * An idle connection may be dead:
 * - If the server closed it, its socket is readable.
 * - If something between client and server forgot it, nothing shows that. A command would wait for
 *   read_timeout, and whether an add on it was carried out would be unknown. So a connection that was idle
 *   for longer than read_timeout is tested by PING, with half that time to answer.
 *
 * Idle connections are reused last in, first out. Those below a dead one were idle for longer, so all are
 * closed with it.
 *
 * Invariant: at most `connections` connections of a node are in use or idle, apart from those that read
 * the slot map.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/system.h"
#include "base/thread.h"
#include "store/redis/topology/redis_topology.h"

/* ---- permits ---- */

/* True if a permit is free for `first`, the head of the queue; NULL stands for a thread that finds the queue
 * empty. */
static bool can_acquire(const tamis_redis *redis, const tamis__node *node, const tamis__waiter *first) {
    return node->waiters == first && node->permits_used < redis->connections;
}

/* Wakes the first waiting thread of this node if a permit is free. Called after each change that may free
 * one for it: a thread released its permit, or left the queue ahead of another one. */
static void wake_first(const tamis_redis *redis, tamis__node *node) {
    if (node->waiters && can_acquire(redis, node, node->waiters))
        pthread_cond_signal(&node->waiters->may_enter);
}

static bool wait_in_line(tamis_redis *redis, tamis__node *node, uint64_t deadline) {
    tamis__waiter self = {.next = NULL}, **entry = &node->waiters;
    bool is_late = false;
    tamis__cond_init(&self.may_enter);
    while (*entry)
        entry = &(*entry)->next;
    *entry = &self;
    while (!can_acquire(redis, node, &self) && !is_late)
        is_late = !tamis__cond_wait(&self.may_enter, &redis->mutex, deadline);
    const bool acquired = can_acquire(redis, node, &self);
    for (entry = &node->waiters; *entry != &self;)
        entry = &(*entry)->next;
    *entry = self.next;
    pthread_cond_destroy(&self.may_enter);
    return acquired;
}

bool tamis__redis_acquire_permit(tamis_redis *redis, tamis__node *node, uint64_t deadline) {
    pthread_mutex_lock(&redis->mutex);
    bool acquired = can_acquire(redis, node, NULL);
    if (!acquired && tamis__now_ns() < deadline)
        acquired = wait_in_line(redis, node, deadline);
    node->permits_used += acquired;
    wake_first(redis, node); /* more than one permit may be free */
    pthread_mutex_unlock(&redis->mutex);
    return acquired;
}

tamis_status tamis__redis_fail_no_permit(const tamis_redis *redis, const tamis__node *node,
                                         tamis_error *err) {
    return tamis__fail(err, TAMIS_E_TIMEOUT, ETIMEDOUT,
                       "redis %s: all %" PRIu64 " connections were in use all the time; allow more "
                       "(connections=), or use it from fewer threads",
                       node->endpoint.shown, redis->connections);
}

void tamis__redis_release_permit(tamis_redis *redis, tamis__node *node) {
    pthread_mutex_lock(&redis->mutex);
    node->permits_used--;
    wake_first(redis, node);
    pthread_mutex_unlock(&redis->mutex);
}

/* ---- idle connections ---- */

static tamis__connection *pop_idle(tamis_redis *redis, tamis__node *node, uint64_t *since) {
    tamis__connection *conn = NULL;
    pthread_mutex_lock(&redis->mutex);
    if (node->idle_count > 0) {
        const tamis__idle *last = &node->idle[--node->idle_count];
        conn = last->conn;
        *since = last->since;
    }
    pthread_mutex_unlock(&redis->mutex);
    return conn;
}

void tamis__redis_close_idle(tamis_redis *redis, tamis__node *node) {
    uint64_t since;
    for (tamis__connection *idle_conn; (idle_conn = pop_idle(redis, node, &since));)
        tamis__connection_close(idle_conn);
}

/* True if the server has sent nothing. Anything to read means that the connection has ended, or is about
 * to. */
static bool is_quiet(const tamis__connection *conn) {
    struct pollfd fd = tamis__connection_pollfd(conn);
    return tamis__sys.poll(&fd, 1, 0) == 0;
}

/* True if the server replies to PING; an error reply counts too. */
static bool answers_ping(const tamis_redis *redis, tamis__connection *conn, uint64_t deadline) {
    const uint64_t answer_by = tamis__now_ns() + redis->read_ns / 2;
    const tamis__reply *reply;
    tamis__connection_put_command(conn, 1);
    tamis__connection_put_text(conn, "PING");
    return tamis__connection_wait_reply(conn, answer_by < deadline ? answer_by : deadline, &reply, NULL) ==
           TAMIS_OK;
}

tamis_status tamis__redis_get_connection(tamis_redis *redis, tamis__node *node, uint64_t deadline,
                                         tamis__connection **conn, tamis_error *err) {
    uint64_t since = 0;
    for (tamis__connection *idle_conn; (idle_conn = pop_idle(redis, node, &since));) {
        const bool quiet = is_quiet(idle_conn);
        if (quiet && (tamis__now_ns() < since + redis->read_ns || answers_ping(redis, idle_conn, deadline))) {
            *conn = idle_conn;
            return TAMIS_OK;
        }
        tamis__connection_close(idle_conn);
        if (quiet)
            tamis__redis_close_idle(redis, node);
    }
    return tamis__redis_connect(redis, node, deadline, conn, err);
}

void tamis__redis_return_connection(tamis_redis *redis, tamis__node *node, tamis__connection *conn) {
    pthread_mutex_lock(&redis->mutex);
    if (node->idle_count < redis->connections && !node->is_offline && tamis__connection_is_idle(conn)) {
        node->idle[node->idle_count++] = (tamis__idle){conn, tamis__now_ns()};
        conn = NULL;
    }
    pthread_mutex_unlock(&redis->mutex);
    tamis__connection_close(conn);
}

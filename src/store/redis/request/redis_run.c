/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Pipelined requests to several servers at once. Each server has a pipeline, and commands are put while
 * earlier ones are in flight, so neither side waits for the other. A run repeats commands until each has a
 * reply.
 *
 *                                             pipeline of node 0
 *      retries | next ... barrier ... count     pending (oldest first)     answered
 *      --------+--------------- put ---+--->  | i | k | ...     | -- reply ------>
 *        ^                             |      pipeline of node 1
 *        |                             +--->  | j | l | m | ... | -- reply ------>
 *        |                                             |
 *        +------ connection lost, server not ready ----+
 *
 * One pass renews the map if it is outdated, puts commands, sends them, waits for bytes and takes replies.
 *
 * - Choosing a pipeline. Whenever a command is put, its slot and the map give the node. So a retried
 *   command goes to the server that has its slot by then.
 * - Redirections. After MOVED or ASK, the command goes to the node that the error names. After MOVED, and
 *   after any error that a failover may cause, the map is learned again.
 * - Full pipelines. A command whose pipeline cannot take it now holds up the commands from `next` on.
 *   Passing it would gain nothing, because the run has to wait for all replies.
 * - Codis. All proxies serve the one slot. A run keeps the proxy of its map until the map is learned again.
 *
 * Invariants: 1. Every index is in exactly one place: from `next` on, in `retries`, in one `pending`, or
 * answered. 2. Replies come in the order of `pending`. 3. An index whose command was sent and lost its
 * reply is marked in `sent`: the command may have been carried out. 4. Indices of `retries` are put before
 * those from `next` on. 5. Without a common order (several slots, proxies), no index from a barrier on is
 * put before all below it are answered.
 */
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/redis/request/redis_pipeline.h"

/* ---- the map ---- */

static tamis_status renew_map(tamis__in_flight *run, tamis_error *err) {
    if (!run->is_outdated || run->now < run->renew_at)
        return TAMIS_OK;
    tamis_status status =
        tamis__redis_learn(run->redis, run->source, tamis__in_flight_deadline(run), &run->last_error);
    if (status != TAMIS_OK &&
        (!tamis__is_lost(status) || tamis__in_flight_is_hopeless(run, NULL, run->renewals, status)))
        return tamis__in_flight_fail(run, err);
    tamis__slot_map *before = run->map;
    run->map = tamis__slot_map_hold(run->redis);
    run->is_outdated = status != TAMIS_OK || !run->map;
    run->source = NULL;
    if (!run->is_outdated &&
        (!before || memcmp(before->slots, run->map->slots, before->slot_count * sizeof *before->slots) != 0))
        run->renewals = 0;
    else
        run->renewals++;
    tamis__slot_map_drop(run->redis, before);
    run->now = tamis__now_ns();
    run->renew_at = run->now + tamis__retry_delay_ns(run->redis, run->renewals);
    return TAMIS_OK;
}

static tamis_status has_no_server(tamis__in_flight *run, uint32_t slot) {
    if (run->last_error.status == TAMIS_OK)
        tamis__fail(&run->last_error, TAMIS_E_IO, 0,
                    "redis %s: slot %u of the cluster has no server; see CLUSTER INFO there",
                    run->redis->endpoint.shown, (unsigned)slot);
    run->is_outdated = run->paused = true;
    return TAMIS_OK;
}

/* ---- putting commands ---- */

static void put_on_pipeline(tamis__in_flight *run, tamis__node_pipeline *pipeline,
                            const tamis__retry *retry) {
    if (pipeline->count == 0)
        pipeline->received_ns = run->now;
    if (retry->is_ask) {
        tamis__connection_put_command(pipeline->conn, 1);
        tamis__connection_put_text(pipeline->conn, "ASKING");
        tamis__node_pipeline_push(pipeline, TAMIS__ASKING);
    }
    if (run->requests->put_command(run->requests->context, retry->i, pipeline->conn))
        tamis__node_pipeline_push(pipeline, retry->i);
    else
        run->answered++;
}

/* Puts a command. *was_put is false if its pipeline cannot take it now. */
static tamis_status put_request(tamis__in_flight *run, const tamis__retry *retry, bool *was_put,
                                tamis_error *err) {
    const tamis__requests *requests = run->requests;
    const uint32_t slot = run->redis->slot_count == 1 ? 0 : requests->slot(requests->context, retry->i);
    tamis__node_pipeline *pipeline = retry->target_pipeline;
    tamis_status status = TAMIS_OK;
    *was_put = slot == TAMIS__NO_SLOT;
    run->answered += *was_put;
    if (*was_put)
        return TAMIS_OK;
    if (!pipeline && !run->map->slots[slot])
        return has_no_server(run, slot);
    if (!pipeline)
        status = tamis__node_pipeline_find(run, run->map->slots[slot], &pipeline, err);
    if (status == TAMIS_OK && !pipeline->conn && pipeline->paused_until <= run->now)
        status = tamis__node_pipeline_connect(run, pipeline, err);
    if (status != TAMIS_OK)
        return status;
    *was_put = pipeline->conn && pipeline->paused_until <= run->now &&
               tamis__node_pipeline_has_capacity(run, pipeline);
    if (*was_put)
        put_on_pipeline(run, pipeline, retry);
    else if (pipeline->conn && pipeline->paused_until <= run->now)
        run->full = pipeline;
    else
        run->paused = true;
    return TAMIS_OK;
}

/* Returns the retry for the next pass. If the node of a redirection cannot be reached, the map decides
 * again. */
static tamis__retry retry_later(const tamis__in_flight *run, tamis__retry retry) {
    return retry.target_pipeline && retry.target_pipeline->paused_until > run->now
               ? (tamis__retry){.i = retry.i}
               : retry;
}

/* True if `next` is behind a barrier, and a command before that barrier is not answered. */
static bool is_held_up(const tamis__in_flight *run) {
    const size_t *barriers = run->requests->barriers;
    for (int i = 0; i < 2 && !tamis__redis_keeps_order(run->redis); i++)
        if (run->next >= barriers[i] && run->answered < barriers[i])
            return true;
    return false;
}

static tamis_status put_pending(tamis__in_flight *run, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    bool was_put = true;
    size_t kept = 0;
    for (size_t k = 0; k < run->retry_count && status == TAMIS_OK; k++) {
        status = put_request(run, &run->retries[k], &was_put, err);
        if (!was_put)
            run->retries[kept++] = retry_later(run, run->retries[k]);
    }
    if (status != TAMIS_OK)
        return status;
    run->retry_count = kept;
    was_put = kept == 0;
    while (was_put && status == TAMIS_OK && run->next < run->requests->count && !is_held_up(run)) {
        status = put_request(run, &(tamis__retry){.i = (uint32_t)run->next}, &was_put, err);
        run->next += was_put;
    }
    return status;
}

/* ---- replies ---- */

static tamis_status follow_redirection(tamis__in_flight *run, uint32_t i, const tamis__redirection *to,
                                       tamis_error *err) {
    tamis__node *node;
    tamis__node_pipeline *target_pipeline = NULL;
    const tamis__node_address address = {.host = to->host, .host_size = to->host_size, .port = to->port};
    tamis_status status = tamis__redis_node(run->redis, &address, &node, err);
    if (status == TAMIS_OK)
        status = tamis__node_pipeline_find(run, node, &target_pipeline, err);
    if (status != TAMIS_OK)
        return status;
    if (!to->is_ask && run->map->slots[to->slot] != node) {
        run->is_outdated = true;
        run->source = node;
    }
    return tamis__in_flight_put_back(run, (tamis__retry){i, to->is_ask, target_pipeline}, err);
}

static bool was_sent(const tamis__in_flight *run, size_t i) {
    return run->sent && run->sent[i / 8] >> i % 8 & 1;
}

/* An error reply that ends the run. Without note_refusal it ends at once. */
static tamis_status end_refused(tamis__in_flight *run, tamis_error *err) {
    if (!run->requests->note_refusal)
        return tamis__in_flight_fail(run, err);
    if (!run->is_refused)
        run->refusal = run->last_error;
    run->is_refused = true;
    return TAMIS_OK;
}

static tamis_status handle_error(tamis__in_flight *run, tamis__node_pipeline *pipeline, uint32_t i,
                                 const tamis__reply *reply, tamis_error *err) {
    tamis__redirection to;
    tamis__redis_refused(&pipeline->node->endpoint, run->requests->what, reply, &run->last_error);
    if (run->requests->note_refusal && !was_sent(run, i) && !tamis__redis_is_unsure(reply))
        run->requests->note_refusal(run->requests->context, i);
    if (run->redis->uri.kind == TAMIS__REDIS_CLUSTER &&
        tamis__cluster_redirection(reply, pipeline->node, &to))
        return follow_redirection(run, i, &to, err);
    if (!tamis__redis_is_transient(reply)) {
        if (run->requests->is_steps && !run->redis->codis && tamis__redis_forbids_scripts(reply))
            run->forbids_scripts = true;
        if (run->requests->denied)
            *run->requests->denied = tamis__redis_is_denied(reply);
        return end_refused(run, err);
    }
    tamis_status status = tamis__in_flight_put_back(run, (tamis__retry){.i = i}, err);
    if (status == TAMIS_OK && tamis__redis_is_unsure(reply))
        status = tamis__in_flight_mark_sent(run, i, err);
    if (tamis__reply_begins(reply, "READONLY")) /* the host name may resolve to a new master */
        pipeline->is_replica = true;
    tamis__node_pipeline_pause(run, pipeline);
    run->is_outdated = tamis__redis_can_learn(run->redis);
    return status;
}

static tamis_status accept_next_reply(tamis__in_flight *run, tamis__node_pipeline *pipeline,
                                      const tamis__reply *reply, tamis_error *err) {
    const tamis__requests *requests = run->requests;
    const uint32_t i = tamis__node_pipeline_shift(pipeline);
    if (i == TAMIS__ASKING)
        return TAMIS_OK;
    if (reply->type == TAMIS__REPLY_ERROR)
        return handle_error(run, pipeline, i, reply, err);
    run->answered++;
    pipeline->is_unconfirmed = requests->unconfirmed && run->redis->replicas > 0;
    pipeline->tries = 0;
    run->last = run->now;
    run->last_error.status = TAMIS_OK;
    return requests->accept_reply(requests->context, i, reply, was_sent(run, i), err);
}

static tamis_status accept_replies(tamis__in_flight *run, tamis__node_pipeline *pipeline, tamis_error *err) {
    for (;;) {
        const tamis__reply *reply;
        tamis_status status = tamis__connection_next_reply(pipeline->conn, &reply, &run->last_error);
        if (status != TAMIS_OK)
            return tamis__node_pipeline_recover(run, pipeline, status, err);
        if (!reply)
            return TAMIS_OK;
        if (!atomic_load_explicit(&pipeline->node->endpoint.has_answered, memory_order_relaxed))
            tamis__redis_mark_answered(run->redis, pipeline->node);
        if (pipeline->count == 0) {
            tamis__fail(&run->last_error, TAMIS_E_IO, 0,
                        "redis %s: sent an unexpected reply; is it a Redis at that port?",
                        pipeline->node->endpoint.shown);
            return tamis__node_pipeline_recover(run, pipeline, TAMIS_E_IO, err);
        }
        status = accept_next_reply(run, pipeline, reply, err);
        if (status == TAMIS_OK && pipeline->is_replica && pipeline->count == 0)
            return tamis__node_pipeline_recover(run, pipeline, TAMIS_E_IO, err);
        if (status != TAMIS_OK || !pipeline->conn)
            return status;
    }
}

/* ---- moving bytes ---- */

static tamis_status send_pending(tamis__in_flight *run, tamis_error *err) {
    for (size_t n = 0; n < run->capacity; n++) {
        tamis__node_pipeline *pipeline = run->pipelines[n];
        if (!pipeline || !pipeline->conn)
            continue;
        tamis_status status = tamis__connection_send(pipeline->conn, &run->last_error);
        if (status != TAMIS_OK)
            status = tamis__node_pipeline_recover(run, pipeline, status, err);
        if (status != TAMIS_OK)
            return status;
    }
    return TAMIS_OK;
}

/* Returns the time until which only bytes from a server can make progress. */
static uint64_t wait_until(const tamis__in_flight *run) {
    uint64_t until = tamis__in_flight_deadline(run);
    if (tamis__in_flight_report_time(run) < until)
        until = tamis__in_flight_report_time(run);
    if (run->full && run->full->conn && tamis__node_pipeline_has_capacity(run, run->full))
        return run->now;
    if (run->is_outdated && run->renew_at < until)
        until = run->renew_at;
    for (size_t n = 0; n < run->capacity; n++) {
        const tamis__node_pipeline *pipeline = run->pipelines[n];
        if (pipeline && tamis__node_pipeline_awaits_reply(pipeline) &&
            pipeline->received_ns + run->redis->read_ns < until)
            until = pipeline->received_ns + run->redis->read_ns;
        if (pipeline && run->paused && pipeline->paused_until > run->now && pipeline->paused_until < until)
            until = pipeline->paused_until;
    }
    return until;
}

static tamis_status wait_for_replies(tamis__in_flight *run, tamis_error *err) {
    int ready;
    for (size_t n = 0; n < run->capacity; n++) {
        const tamis__node_pipeline *pipeline = run->pipelines[n];
        run->fds[n] =
            pipeline && pipeline->conn ? tamis__connection_pollfd(pipeline->conn) : (struct pollfd){-1, 0, 0};
    }
    const tamis_status status = tamis__poll_until(run->fds, run->capacity, wait_until(run), &ready, err);
    run->now = tamis__now_ns();
    return status;
}

static tamis_status receive_replies(tamis__in_flight *run, tamis__node_pipeline *pipeline, short ready,
                                    tamis_error *err) {
    bool received;
    tamis_status status;
    if (ready & ~POLLOUT) {
        status = tamis__connection_receive(pipeline->conn, &received, &run->last_error);
        if (status != TAMIS_OK)
            return tamis__node_pipeline_recover(run, pipeline, status, err);
        if (received)
            pipeline->received_ns = run->now;
        status = accept_replies(run, pipeline, err);
        if (status != TAMIS_OK || !pipeline->conn)
            return status;
    }
    if (!tamis__node_pipeline_awaits_reply(pipeline) ||
        run->now < pipeline->received_ns + run->redis->read_ns)
        return TAMIS_OK;
    status = tamis__fail(&run->last_error, TAMIS_E_TIMEOUT, ETIMEDOUT,
                         "redis %s: did not answer in time; check server and network, or give more time "
                         "(read_timeout=)",
                         pipeline->node->endpoint.shown);
    return tamis__node_pipeline_recover(run, pipeline, status, err);
}

/* Ends the run if there was no reply for patience_ns. Error replies do not count. */
static tamis_status check_patience(tamis__in_flight *run, tamis_error *err) {
    if (run->now < tamis__in_flight_deadline(run))
        return TAMIS_OK;
    if (run->last_error.status == TAMIS_OK)
        tamis__fail(&run->last_error, TAMIS_E_TIMEOUT, ETIMEDOUT,
                    "redis %s: did not answer in time; check server and network, or give more time "
                    "(patience=)",
                    run->redis->endpoint.shown);
    return tamis__in_flight_fail(run, err);
}

static bool awaits_replies(const tamis__in_flight *run) {
    for (size_t n = 0; n < run->capacity; n++)
        if (run->pipelines[n] && tamis__node_pipeline_awaits_reply(run->pipelines[n]))
            return true;
    return false;
}

/* One pass: puts commands, sends and receives. It waits only if there is nothing else to do. */
static tamis_status run_pass(tamis__in_flight *run, tamis_error *err) {
    run->full = NULL;
    run->paused = false;
    tamis_status status = renew_map(run, err);
    if (status == TAMIS_OK && run->is_refused && !awaits_replies(run))
        return run->refusal.status;
    if (status == TAMIS_OK && run->map && !run->is_refused)
        status = put_pending(run, err);
    if (status == TAMIS_OK)
        status = send_pending(run, err);
    if (status != TAMIS_OK || run->answered == run->requests->count)
        return status;
    status = wait_for_replies(run, err);
    for (size_t n = 0; n < run->capacity && status == TAMIS_OK; n++)
        if (run->pipelines[n] && run->pipelines[n]->conn)
            status = receive_replies(run, run->pipelines[n], run->fds[n].revents, err);
    if (status == TAMIS_OK)
        status = check_patience(run, err);
    if (status == TAMIS_OK)
        tamis__in_flight_report_wait(run);
    return status;
}

/* ---- one run ---- */

/* Frees all pipelines. After a failure, replies may still arrive, so the connections are closed (is_done
 * false). */
static void release_pipelines(tamis__in_flight *run, bool is_done) {
    for (size_t n = 0; n < run->capacity; n++) {
        tamis__node_pipeline *pipeline = run->pipelines[n];
        if (!pipeline)
            continue;
        tamis__node_pipeline_release(run, pipeline, is_done);
        tamis__free(&run->redis->allocator, pipeline, sizeof *pipeline);
    }
}

/* *forbids_scripts: the first step was refused because it is a script, so nothing was carried out. */
static tamis_status run_all(tamis_redis *redis, const tamis__requests *requests, bool *any_retried,
                            bool *forbids_scripts, tamis_error *err) {
    const tamis_allocator *allocator = &redis->allocator;
    tamis__in_flight run = {.redis = redis, .requests = requests, .last_error = TAMIS_ERROR_INIT};
    if (requests->count >= UINT32_MAX)
        return tamis__fail(err, TAMIS_E_RANGE, 0, "redis %s: %s: too many commands at once; give fewer",
                           redis->endpoint.shown, requests->what);
    if (redis->slot_count > 1 && !requests->slot)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0, "redis %s: %s: not on several servers; name one",
                           redis->endpoint.shown, requests->what);
    run.now = run.last = tamis__now_ns();
    run.map = redis->codis ? NULL : tamis__slot_map_hold(redis); /* Codis: learn the next proxy */
    run.is_outdated = !run.map;
    tamis_status status = TAMIS_OK;
    while (run.answered < requests->count && status == TAMIS_OK)
        status = run_pass(&run, err);
    if (status == TAMIS_OK)
        status = tamis__in_flight_confirm(&run, err);
    if (run.is_refused) {
        status = run.refusal.status;
        if (err)
            *err = run.refusal;
    }
    release_pipelines(&run, status == TAMIS_OK);
    tamis__slot_map_drop(redis, run.map);
    tamis__free(allocator, run.pipelines, run.capacity * sizeof *run.pipelines);
    tamis__free(allocator, run.fds, run.capacity * sizeof *run.fds);
    tamis__free(allocator, run.retries, run.retry_capacity * sizeof *run.retries);
    tamis__free(allocator, run.sent, (requests->count + 7) / 8);
    if (any_retried)
        *any_retried = run.any_retried;
    *forbids_scripts = run.forbids_scripts;
    return status;
}

tamis_status tamis__requests_run(tamis_redis *redis, const tamis__requests *requests, bool *any_retried,
                                 tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT;
    bool forbids_scripts = requests->is_steps && redis->forbids_scripts;
    tamis_status status = TAMIS_OK;
    if (!forbids_scripts)
        status = run_all(redis, requests, any_retried, &forbids_scripts, &why);
    if (forbids_scripts) {
        redis->forbids_scripts = true;
        status = tamis__requests_transact(redis, requests, &why);
    }
    if (status != TAMIS_OK && err)
        *err = why;
    return status;
}

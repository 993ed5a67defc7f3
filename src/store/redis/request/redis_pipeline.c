/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The pipelines of a run: commands in flight, retries, failures and connections. redis_run.c puts commands
 * and takes replies, and has the picture of the whole. This file has what survives a lost connection.
 *
 * A pipeline belongs to one server. It is made at the first command for that server and stays until the run
 * ends; its connection comes and goes:
 *
 *                     connect                                 all replies are there
 *     no connection -----------> connected, replies pending ------------------------> connected, idle
 *        ^     ^                         |                                               |
 *        |     +------ pause <-----------+ lost: pending commands go to `retries`        |
 *        +-------------------------------------------------------------------------------+ released
 *
 * Commands are numbers. `pending` is a ring of the commands whose replies are outstanding, oldest first.
 * ASKING, which precedes a command redirected by ASK, has an entry too, because it also has a reply:
 *
 *     pending   . . | 17 | ASKING | 18 | 23 | . . .      count = 4
 *                     ^ first: next reply     ^ next command
 *
 * Failures. A lost connection is not an error of the run. Whether the server carried out the pending commands
 * is unknown, so they are marked in `sent`, and put again in the order of their numbers. The pipeline
 * pauses before it connects again: longer with each try, and at random, so that many clients do not return at
 * once. A server that says READONLY is treated in the same way, once all its replies are there. The run fails
 * if a server that has never replied cannot be reached, if patience ends, or after an error of another kind.
 *
 * Limits keep a pipeline from filling buffers while nobody reads: TAMIS__WINDOW commands in flight, or
 * CODIS_WINDOW to a proxy. No command is put while UNSENT_MAX bytes wait for the socket.
 *
 * Permits. A connected pipeline holds one of the `connections` permits of its server. A run with several
 * servers needs several permits, and two runs could wait for each other's. So a run that has to wait first
 * reads its outstanding replies and releases its other permits.
 *
 * Invariants:
 * 1. A pipeline holds a permit if and only if it has a connection.
 * 2. `pending` is empty without a connection.
 * 3. `retries` is sorted by command number.
 * 4. A connection that may still receive replies is closed, never returned to the pool.
 * 5. A connection that is given up before WAIT confirmed its writes sets `unconfirmed` of the requests.
 */
#include "store/redis/request/redis_pipeline.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"

static const uint64_t REPORT_NS = 5000000000; /* time without a reply until on_wait is called */

enum {
    CODIS_WINDOW = 512, /* max. commands in flight to a proxy, which closes above its limit (default 1024) */
    UNSENT_MAX = 16 << 10,    /* bytes put before the next send */
    PERMIT_AGAIN_NS = 1000000 /* time between attempts to get a permit */
};

/* ---- command numbers ---- */

tamis_status tamis__in_flight_mark_sent(tamis__in_flight *run, size_t i, tamis_error *err) {
    const size_t size = (run->requests->count + 7) / 8;
    if (!run->sent)
        run->sent = tamis__alloc(&run->redis->allocator, size, 1);
    if (!run->sent)
        return tamis__fail_nomem(err, "redis", size);
    run->sent[i / 8] |= (uint8_t)(1 << i % 8);
    return TAMIS_OK;
}

tamis_status tamis__in_flight_put_back(tamis__in_flight *run, tamis__retry retry, tamis_error *err) {
    tamis__retry *retries = tamis__array_reserve(&run->redis->allocator, run->retries, sizeof *retries,
                                                 run->retry_count + 1, &run->retry_capacity);
    if (!retries)
        return tamis__fail_nomem(err, "redis", (run->retry_count + 1) * sizeof *retries);
    run->retries = retries;
    size_t index = run->retry_count++;
    for (; index > 0 && run->retries[index - 1].i > retry.i; index--)
        run->retries[index] = run->retries[index - 1];
    run->retries[index] = retry;
    run->any_retried = run->any_retried || tamis__redis_keeps_order(run->redis);
    return TAMIS_OK;
}

void tamis__node_pipeline_push(tamis__node_pipeline *pipeline, uint32_t i) {
    pipeline->pending[(pipeline->first + pipeline->count++) % TAMIS__WINDOW] = i;
}

uint32_t tamis__node_pipeline_shift(tamis__node_pipeline *pipeline) {
    const uint32_t i = pipeline->pending[pipeline->first];
    pipeline->first = (pipeline->first + 1) % TAMIS__WINDOW;
    pipeline->count--;
    return i;
}

/* ---- failures ---- */

uint64_t tamis__in_flight_deadline(const tamis__in_flight *run) {
    const uint64_t deadline = run->last + run->redis->patience_ns;
    return deadline > run->redis->connect_by ? deadline : run->redis->connect_by;
}

uint64_t tamis__in_flight_report_time(const tamis__in_flight *run) {
    return run->requests->on_wait && !run->has_reported ? run->last + REPORT_NS : UINT64_MAX;
}

void tamis__in_flight_report_wait(tamis__in_flight *run) {
    if (run->now < tamis__in_flight_report_time(run))
        return;
    run->has_reported = true;
    run->requests->on_wait(run->requests->context,
                           run->last_error.status == TAMIS_OK ? "" : run->last_error.text);
}

tamis_status tamis__in_flight_fail(const tamis__in_flight *run, tamis_error *err) {
    if (err)
        *err = run->last_error;
    return run->last_error.status;
}

void tamis__node_pipeline_pause(tamis__in_flight *run, tamis__node_pipeline *pipeline) {
    if (pipeline->paused_until <= run->now)
        pipeline->paused_until = tamis__now_ns() + tamis__retry_delay_ns(run->redis, pipeline->tries++);
    run->paused = true; /* wait_until has to end with the pause */
}

void tamis__node_pipeline_release(const tamis__in_flight *run, tamis__node_pipeline *pipeline, bool is_done) {
    if (!pipeline->conn)
        return;
    if (is_done)
        tamis__redis_return_connection(run->redis, pipeline->node, pipeline->conn);
    else
        tamis__connection_close(pipeline->conn);
    pipeline->conn = NULL;
    pipeline->is_replica = false;
    if (pipeline->is_unconfirmed)
        *run->requests->unconfirmed = true;
    pipeline->is_unconfirmed = false;
    tamis__redis_release_permit(run->redis, pipeline->node);
}

bool tamis__in_flight_is_hopeless(const tamis__in_flight *run, const tamis__node *node, uint64_t tries,
                                  tamis_status status) {
    const bool is_accident = tries == 0 && run->last_error.sys_errno != ETIMEDOUT;
    return !is_accident && tamis__redis_is_hopeless(run->redis, node, status);
}

static tamis_status close_and_requeue(tamis__in_flight *run, tamis__node_pipeline *pipeline,
                                      tamis_error *err) {
    tamis_status status = TAMIS_OK;
    tamis__node_pipeline_release(run, pipeline, false);
    while (pipeline->count > 0 && status == TAMIS_OK) {
        const uint32_t i = tamis__node_pipeline_shift(pipeline);
        if (i == TAMIS__ASKING)
            continue;
        status = tamis__in_flight_mark_sent(run, i, err);
        if (status == TAMIS_OK)
            status = tamis__in_flight_put_back(run, (tamis__retry){.i = i}, err);
    }
    return status;
}

tamis_status tamis__node_pipeline_recover(tamis__in_flight *run, tamis__node_pipeline *pipeline,
                                          tamis_status status, tamis_error *err) {
    if (!tamis__is_lost(status) || tamis__in_flight_is_hopeless(run, pipeline->node, pipeline->tries, status))
        return tamis__in_flight_fail(run, err);
    tamis__node_pipeline_pause(run, pipeline);
    run->is_outdated = tamis__redis_can_learn(run->redis);
    return close_and_requeue(run, pipeline, err);
}

/* ---- pipelines ---- */

static tamis_status grow_pipelines(tamis__in_flight *run, size_t number, tamis_error *err) {
    const tamis_allocator *allocator = &run->redis->allocator;
    const size_t capacity = number + 4;
    tamis__node_pipeline **pipelines =
        tamis__alloc(allocator, capacity * sizeof *pipelines, _Alignof(tamis__node_pipeline *));
    struct pollfd *fds = tamis__alloc(allocator, capacity * sizeof *fds, _Alignof(struct pollfd));
    if (!pipelines || !fds) {
        tamis__free(allocator, pipelines, capacity * sizeof *pipelines);
        tamis__free(allocator, fds, capacity * sizeof *fds);
        return tamis__fail_nomem(err, "redis", capacity * (sizeof *pipelines + sizeof *fds));
    }
    if (run->capacity > 0)
        memcpy(pipelines, run->pipelines, run->capacity * sizeof *pipelines);
    tamis__free(allocator, run->pipelines, run->capacity * sizeof *pipelines);
    tamis__free(allocator, run->fds, run->capacity * sizeof *fds);
    run->pipelines = pipelines;
    run->fds = fds;
    run->capacity = capacity;
    return TAMIS_OK;
}

tamis_status tamis__node_pipeline_find(tamis__in_flight *run, tamis__node *node, tamis__node_pipeline **found,
                                       tamis_error *err) {
    tamis_status status = TAMIS_OK;
    if (node->number >= run->capacity)
        status = grow_pipelines(run, node->number, err);
    if (status != TAMIS_OK)
        return status;
    tamis__node_pipeline **entry = &run->pipelines[node->number];
    if (!*entry) {
        *entry = tamis__alloc(&run->redis->allocator, sizeof **entry, _Alignof(tamis__node_pipeline));
        if (!*entry)
            return tamis__fail_nomem(err, "redis", sizeof **entry);
        (*entry)->node = node;
    }
    *found = *entry;
    return TAMIS_OK;
}

bool tamis__node_pipeline_has_capacity(const tamis__in_flight *run, const tamis__node_pipeline *pipeline) {
    return pipeline->count + 2 <= (run->redis->codis ? CODIS_WINDOW : TAMIS__WINDOW) &&
           tamis__connection_unsent(pipeline->conn) < UNSENT_MAX;
}

/* Takes a permit for a pipeline. Before it waits for one, no reply is outstanding on any pipeline, and the
 * run has released its other permits. Two runs that wait for each other's permits would never end. */
static tamis_status acquire_permit(tamis__in_flight *run, tamis__node_pipeline *pipeline, bool *acquired,
                                   tamis_error *err) {
    *acquired = tamis__redis_acquire_permit(run->redis, pipeline->node, 0);
    if (*acquired)
        return TAMIS_OK;
    for (size_t n = 0; n < run->capacity; n++)
        if (run->pipelines[n] && tamis__node_pipeline_awaits_reply(run->pipelines[n]))
            return TAMIS_OK;
    const tamis_status status = tamis__in_flight_confirm(run, err);
    if (status != TAMIS_OK)
        return status;
    for (size_t n = 0; n < run->capacity; n++)
        if (run->pipelines[n])
            tamis__node_pipeline_release(run, run->pipelines[n], true);
    *acquired = tamis__redis_acquire_permit(run->redis, pipeline->node, tamis__in_flight_deadline(run));
    return TAMIS_OK;
}

tamis_status tamis__node_pipeline_connect(tamis__in_flight *run, tamis__node_pipeline *pipeline,
                                          tamis_error *err) {
    const uint64_t deadline = tamis__in_flight_deadline(run);
    bool acquired;
    tamis_status status = acquire_permit(run, pipeline, &acquired, err);
    if (status != TAMIS_OK)
        return status;
    if (!acquired) {
        run->now = tamis__now_ns();
        pipeline->paused_until = run->now + PERMIT_AGAIN_NS;
        tamis__redis_fail_no_permit(run->redis, pipeline->node, &run->last_error);
        return TAMIS_OK;
    }
    if (pipeline->tries > 0) /* they may be dead like the last one */
        tamis__redis_close_idle(run->redis, pipeline->node);
    status =
        tamis__redis_get_connection(run->redis, pipeline->node, deadline, &pipeline->conn, &run->last_error);
    if (status != TAMIS_OK)
        tamis__redis_release_permit(run->redis, pipeline->node);
    run->now = tamis__now_ns();
    return status == TAMIS_OK ? TAMIS_OK : tamis__node_pipeline_recover(run, pipeline, status, err);
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Waiting for replicas (replicas= in the URI). A master replies before its replicas have the write, so a
 * failover loses the writes that the new master lacks.
 *
 *     client                      master                      replicas
 *     BITFIELD ...           ->   replies                     write arrives later
 *     all replies are there
 *     WAIT replicas ms       ->   blocks                      acknowledge
 *                            <-   number of replicas
 *
 * WAIT counts the replicas that have everything that the master had at the last command of the same
 * connection, even if it only read. It blocks until enough replicas have it, or until its timeout.
 *
 * WAIT is sent when all commands of a run are answered, on every connection that answered one. If too few
 * replicas confirm, it is sent again until patience ends.
 *
 * If a connection ended before its WAIT, a new one cannot replace it. The server may have lost the writes
 * meanwhile, or may be a different server. The run is then marked unconfirmed, and the caller runs it again.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/system.h"
#include "store/file/file_error.h"
#include "store/redis/request/redis_pipeline.h"

enum { MS = 1000000 };

typedef struct confirmation {
    tamis__in_flight *run;
    uint64_t deadline;
} confirmation;

/* The timeout of a WAIT, at least 1: WAIT with 0 milliseconds blocks for ever. */
static uint64_t wait_ms(const confirmation *ctx) {
    const uint64_t now = tamis__now_ns(), max_ns = ctx->run->redis->read_ns;
    const uint64_t left = now < ctx->deadline ? ctx->deadline - now : 0;
    return (left < max_ns ? left : max_ns) / MS + 1;
}

static void put_wait(const confirmation *ctx, tamis__node_pipeline *pipeline) {
    tamis__connection_put_command(pipeline->conn, 3);
    tamis__connection_put_text(pipeline->conn, "WAIT");
    tamis__connection_put_number(pipeline->conn, (int64_t)ctx->run->redis->replicas);
    tamis__connection_put_number(pipeline->conn, (int64_t)wait_ms(ctx));
}

/* True if the server has become a replica, or is loading its data: its unreplicated writes are lost, or will
 * be. */
static bool has_changed_role(const tamis__reply *reply) {
    return tamis__reply_begins(reply, "UNBLOCKED") || tamis__redis_is_transient(reply) ||
           tamis__reply_begins(reply, "ERR WAIT cannot be used with replica instances.");
}

static tamis_status fail_too_few(const confirmation *ctx, const tamis__node_pipeline *pipeline, int64_t count,
                                 tamis_error *err) {
    return tamis__fail(
        err, TAMIS_E_TIMEOUT, ETIMEDOUT,
        "redis %s: %s: only %" PRId64 " of %" PRIu64
        " replicas confirmed the writes in time, so a failover may lose them; see INFO replication "
        "on the server, lower replicas=, or give more time (patience=)",
        pipeline->node->endpoint.shown, tamis__show(ctx->run->requests->what).text, count,
        ctx->run->redis->replicas);
}

/* Reads the reply to WAIT, which is in the pipeline already. */
static tamis_status confirm_pipeline(const confirmation *ctx, tamis__node_pipeline *pipeline,
                                     tamis_error *err) {
    tamis__in_flight *run = ctx->run;
    for (;;) {
        const tamis__reply *reply;
        const uint64_t answer_by = tamis__now_ns() + wait_ms(ctx) * MS + run->redis->read_ns;
        const tamis_status status =
            tamis__connection_wait_reply(pipeline->conn, answer_by, &reply, &run->last_error);
        if (status != TAMIS_OK && !tamis__is_lost(status))
            return tamis__in_flight_fail(run, err);
        if (status != TAMIS_OK || (reply->type == TAMIS__REPLY_ERROR && has_changed_role(reply))) {
            tamis__node_pipeline_release(run, pipeline, false);
            return TAMIS_OK;
        }
        if (reply->type == TAMIS__REPLY_ERROR)
            return tamis__redis_refused(&pipeline->node->endpoint, run->requests->what, reply, err);
        if (reply->type != TAMIS__REPLY_INTEGER)
            return tamis__redis_bad_reply(run->redis, run->requests->what, err);
        pipeline->is_unconfirmed = reply->integer < (int64_t)run->redis->replicas;
        if (!pipeline->is_unconfirmed)
            return TAMIS_OK;
        run->now = tamis__now_ns();
        fail_too_few(ctx, pipeline, reply->integer, &run->last_error);
        if (run->now >= ctx->deadline)
            return tamis__in_flight_fail(run, err);
        tamis__in_flight_report_wait(run);
        put_wait(ctx, pipeline);
    }
}

static bool needs_confirmation(const tamis__node_pipeline *pipeline) {
    return pipeline && pipeline->conn && pipeline->is_unconfirmed;
}

tamis_status tamis__in_flight_confirm(tamis__in_flight *run, tamis_error *err) {
    const confirmation ctx = {run, tamis__now_ns() + run->redis->patience_ns};
    tamis_status status = TAMIS_OK;
    for (size_t n = 0; n < run->capacity; n++)
        if (needs_confirmation(run->pipelines[n])) {
            put_wait(&ctx, run->pipelines[n]);
            /* A later confirm_pipeline sends again and sees the failure. */
            (void)tamis__connection_send(run->pipelines[n]->conn, NULL);
        }
    for (size_t n = 0; n < run->capacity && status == TAMIS_OK; n++)
        if (needs_confirmation(run->pipelines[n]))
            status = confirm_pipeline(&ctx, run->pipelines[n], err);
    return status;
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A master answers before its replicas have the write, so a failover loses the writes that the new master lacks. WAIT asks
 * how many replicas have everything that the master had when it answered the last command of the same connection, also if
 * that command only read. WAIT blocks until enough replicas do, or its timeout ends. It is sent when all commands of an
 * exchange are answered, on every connection that answered one. If too few replicas confirm, it is sent again until
 * patience ends.
 *
 * If a connection ended before its WAIT, a new one cannot replace it: the server may have lost the writes meanwhile, or may
 * be a different server. The exchange is then marked unconfirmed, and the caller runs it again.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/system.h"
#include "store/file_error.h"
#include "store/redis/redis_lane.h"

enum { MS = 1000000 };

typedef struct confirmation {
    tamis__flight *run;
    uint64_t deadline;
} confirmation;

/* The timeout of a WAIT, at least 1: WAIT with 0 milliseconds blocks for ever. */
static uint64_t wait_ms(const confirmation *all) {
    const uint64_t now = tamis__now_ns(), most = all->run->redis->read_ns;
    const uint64_t left = now < all->deadline ? all->deadline - now : 0;
    return (left < most ? left : most) / MS + 1;
}

static void put_wait(const confirmation *all, tamis__lane *on) {
    tamis__link_command(on->link, 3);
    tamis__link_text(on->link, "WAIT");
    tamis__link_number(on->link, (int64_t)all->run->redis->replicas);
    tamis__link_number(on->link, (int64_t)wait_ms(all));
}

/* True if the server has become a replica, or is loading its data: its unreplicated writes are lost, or will be. */
static bool has_changed_role(const tamis__reply *reply) {
    return tamis__reply_begins(reply, "UNBLOCKED") || tamis__redis_is_passing(reply) ||
           tamis__reply_begins(reply, "ERR WAIT cannot be used with replica instances.");
}

static tamis_status fail_too_few(const confirmation *all, const tamis__lane *on, int64_t count,
                                 tamis_error *err) {
    return tamis__fail(
        err, TAMIS_E_TIMEOUT, ETIMEDOUT,
        "redis %s: %s: only %" PRId64 " of %" PRIu64
        " replicas confirmed the writes in time, so a failover may lose them; see INFO replication "
        "on the server, lower replicas=, or give more time (patience=)",
        on->node->to.shown, tamis__show(all->run->exchange->what).text, count, all->run->redis->replicas);
}

/* Reads the reply to WAIT, which is in the pipeline already. */
static tamis_status confirm(const confirmation *all, tamis__lane *on, tamis_error *err) {
    tamis__flight *run = all->run;
    for (;;) {
        const tamis__reply *reply;
        const uint64_t answer_by = tamis__now_ns() + wait_ms(all) * MS + run->redis->read_ns;
        const tamis_status status = tamis__link_ask(on->link, answer_by, &reply, &run->trouble);
        if (status != TAMIS_OK && !tamis__is_lost(status))
            return tamis__flight_fail(run, err);
        if (status != TAMIS_OK || (reply->type == TAMIS__REPLY_ERROR && has_changed_role(reply))) {
            tamis__lane_leave(run, on, false);
            return TAMIS_OK;
        }
        if (reply->type == TAMIS__REPLY_ERROR)
            return tamis__redis_refused(&on->node->to, run->exchange->what, reply, err);
        if (reply->type != TAMIS__REPLY_INTEGER)
            return tamis__redis_no_reply(run->redis, run->exchange->what, err);
        on->is_unconfirmed = reply->integer < (int64_t)run->redis->replicas;
        if (!on->is_unconfirmed)
            return TAMIS_OK;
        if (tamis__now_ns() >= all->deadline)
            return fail_too_few(all, on, reply->integer, err);
        put_wait(all, on);
    }
}

static bool is_to_confirm(const tamis__lane *on) {
    return on && on->link && on->is_unconfirmed;
}

tamis_status tamis__flight_confirm(tamis__flight *run, tamis_error *err) {
    const confirmation all = {run, tamis__now_ns() + run->redis->patience_ns};
    tamis_status status = TAMIS_OK;
    for (size_t n = 0; n < run->room; n++)
        if (is_to_confirm(run->lanes[n])) {
            put_wait(&all, run->lanes[n]);
            (void)tamis__link_send(run->lanes[n]->link, NULL); /* what fails here fails there again */
        }
    for (size_t n = 0; n < run->room && status == TAMIS_OK; n++)
        if (is_to_confirm(run->lanes[n]))
            status = confirm(&all, run->lanes[n], err);
    return status;
}

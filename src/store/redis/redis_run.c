/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Pipelines, one a server, that run at once: a lane. Commands are put while earlier ones are on their way, so that
 * neither side waits for the other.
 *
 *                                        lane of node 0
 *      redo | next ... barrier ... count      pending (oldest first)        answered
 *      -----+---------------- ask ----+--->  | i | k | ...      | ---- take ------>
 *        ^                            |   lane of node 1             |
 *        |                            +-->  | j | l | m | ...    | ---- take ------>
 *        |                                           |
 *        +---- connection lost, server not ready ----+
 *
 * Which lane an index goes to is asked (its slot, and the node of that in the map) whenever it is put, so that one from
 * redo goes where its slot is by then. A server that says it has a slot no more (MOVED, ASK) is taken at its word for the
 * index it said it of; the map is learned anew after MOVED, and after whatever else a failover may be behind. An index
 * whose lane cannot take it holds up those behind it: as the batch has to wait for all of them, nothing would be gained by
 * going on.
 *
 * Proxies of a Codis are one slot that each of them has, and the map is of the one whose turn it is, for this run, or until
 * the map is learned anew.
 *
 * Invariants: every index is in just one of these places; replies come in the order of `pending`; an index that went
 * back after it was sent is marked in `sent`, because nobody knows whether its command was carried out; indices of redo
 * are asked before those of next; where there is no order (several slots, proxies), none from a barrier on is asked before all
 * below it are answered.
 */
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/redis/redis_lane.h"

/* ---- the map ---- */

static tamis_status renew_map(tamis__flight *run, tamis_error *err) {
    if (!run->is_stale || run->now < run->renew_at)
        return TAMIS_OK;
    tamis_status status =
        tamis__redis_learn(run->redis, run->teller, tamis__flight_deadline(run), &run->trouble);
    if (status != TAMIS_OK &&
        (!tamis__is_lost(status) || tamis__flight_is_hopeless(run, NULL, run->renewals, status)))
        return tamis__flight_fail(run, err);
    tamis__map *before = run->map;
    run->map = tamis__map_hold(run->redis);
    run->is_stale = status != TAMIS_OK || !run->map;
    run->teller = NULL;
    if (!run->is_stale &&
        (!before || memcmp(before->of, run->map->of, before->slot_count * sizeof *before->of) != 0))
        run->renewals = 0;
    else
        run->renewals++;
    tamis__map_drop(run->redis, before);
    run->now = tamis__now_ns();
    run->renew_at = run->now + tamis__flight_pause(run->redis, run->renewals);
    return TAMIS_OK;
}

static tamis_status has_no_server(tamis__flight *run, uint32_t slot) {
    if (run->trouble.status == TAMIS_OK)
        tamis__fail(&run->trouble, TAMIS_E_IO, 0,
                    "redis %s: slot %u of the cluster has no server; see CLUSTER INFO there",
                    run->redis->to.shown, (unsigned)slot);
    run->is_stale = run->paused = true;
    return TAMIS_OK;
}

/* ---- asking ---- */

static void put_on(tamis__flight *run, tamis__lane *on, const tamis__redo *one) {
    if (on->count == 0)
        on->heard = run->now;
    if (one->asks) {
        tamis__link_command(on->link, 1);
        tamis__link_text(on->link, "ASKING");
        tamis__lane_push(on, TAMIS__ASKING);
    }
    if (run->exchange->ask(run->exchange->context, one->i, on->link))
        tamis__lane_push(on, one->i);
    else
        run->answered++;
}

/* Puts the command, unless its lane cannot take it now. */
static tamis_status put(tamis__flight *run, const tamis__redo *one, bool *taken, tamis_error *err) {
    const tamis__exchange *exchange = run->exchange;
    const uint32_t slot = run->redis->slot_count == 1 ? 0 : exchange->slot(exchange->context, one->i);
    tamis__lane *on = one->at;
    tamis_status status = TAMIS_OK;
    *taken = slot == TAMIS__NO_SLOT;
    run->answered += *taken;
    if (*taken)
        return TAMIS_OK;
    if (!on && !run->map->of[slot])
        return has_no_server(run, slot);
    if (!on)
        status = tamis__lane_find(run, run->map->of[slot], &on, err);
    if (status == TAMIS_OK && !on->link && on->pause_till <= run->now)
        status = tamis__lane_reach(run, on, err);
    if (status != TAMIS_OK)
        return status;
    *taken = on->link && on->pause_till <= run->now && tamis__lane_has_room(run, on);
    if (*taken)
        put_on(run, on, one);
    else if (on->link && on->pause_till <= run->now)
        run->full = on;
    else
        run->paused = true;
    return TAMIS_OK;
}

/* Where another server was named, and that cannot be reached, the map is asked anew. */
static tamis__redo left_over(const tamis__flight *run, tamis__redo one) {
    return one.at && one.at->pause_till > run->now ? (tamis__redo){.i = one.i} : one;
}

/* Whether the next index has a barrier before it, and something before that has no answer. */
static bool is_held_up(const tamis__flight *run) {
    const size_t *barriers = run->exchange->barriers;
    for (int i = 0; i < 2 && !tamis__redis_keeps_order(run->redis); i++)
        if (run->next >= barriers[i] && run->answered < barriers[i])
            return true;
    return false;
}

static tamis_status put_some(tamis__flight *run, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    bool taken = true;
    size_t kept = 0;
    for (size_t k = 0; k < run->redo_count && status == TAMIS_OK; k++) {
        status = put(run, &run->redo[k], &taken, err);
        if (!taken)
            run->redo[kept++] = left_over(run, run->redo[k]);
    }
    if (status != TAMIS_OK)
        return status;
    run->redo_count = kept;
    taken = kept == 0;
    while (taken && status == TAMIS_OK && run->next < run->exchange->count && !is_held_up(run)) {
        status = put(run, &(tamis__redo){.i = (uint32_t)run->next}, &taken, err);
        run->next += taken;
    }
    return status;
}

/* ---- replies ---- */

static tamis_status follow(tamis__flight *run, uint32_t i, const tamis__redirection *to, tamis_error *err) {
    tamis__node *node;
    tamis__lane *at = NULL;
    tamis_status status = tamis__redis_node(run->redis, to->host, to->host_size, to->port, &node, err);
    if (status == TAMIS_OK)
        status = tamis__lane_find(run, node, &at, err);
    if (status != TAMIS_OK)
        return status;
    if (!to->asks && run->map->of[to->slot] != node) {
        run->is_stale = true;
        run->teller = node;
    }
    return tamis__flight_put_back(run, (tamis__redo){i, to->asks, at}, err);
}

static tamis_status take_error(tamis__flight *run, tamis__lane *on, uint32_t i, const tamis__reply *reply,
                               tamis_error *err) {
    tamis__redirection to;
    tamis__redis_refused(&on->node->to, run->exchange->what, reply, &run->trouble);
    if (run->redis->uri.kind == TAMIS__REDIS_CLUSTER && tamis__cluster_redirection(reply, on->node, &to))
        return follow(run, i, &to, err);
    if (!tamis__redis_is_passing(reply)) {
        if (run->exchange->is_steps && !run->redis->codis && tamis__redis_forbids_scripts(reply))
            run->forbids_scripts = true;
        if (run->exchange->denied)
            *run->exchange->denied = tamis__redis_is_denied(reply);
        return tamis__flight_fail(run, err);
    }
    tamis_status status = tamis__flight_put_back(run, (tamis__redo){.i = i}, err);
    if (status == TAMIS_OK && tamis__redis_is_unsure(reply))
        status = tamis__flight_mark_sent(run, i, err);
    if (status == TAMIS_OK &&
        tamis__reply_begins(reply, "READONLY")) /* the master's name may lead elsewhere by now */
        return tamis__lane_ride_out(run, on, TAMIS_E_IO, err);
    tamis__lane_pause(run, on);
    run->is_stale = tamis__redis_can_learn(run->redis);
    return status;
}

static bool was_sent(const tamis__flight *run, size_t i) {
    return run->sent && run->sent[i / 8] >> i % 8 & 1;
}

static tamis_status take_one(tamis__flight *run, tamis__lane *on, const tamis__reply *reply,
                             tamis_error *err) {
    const tamis__exchange *exchange = run->exchange;
    const uint32_t i = tamis__lane_shift(on);
    if (i == TAMIS__ASKING)
        return TAMIS_OK;
    if (reply->type == TAMIS__REPLY_ERROR)
        return take_error(run, on, i, reply, err);
    run->answered++;
    on->is_unconfirmed = exchange->unconfirmed && run->redis->replicas > 0;
    on->tries = 0;
    run->last = run->now;
    run->trouble.status = TAMIS_OK;
    return exchange->take(exchange->context, i, reply, was_sent(run, i), err);
}

static tamis_status take_all(tamis__flight *run, tamis__lane *on, tamis_error *err) {
    for (;;) {
        const tamis__reply *reply;
        tamis_status status = tamis__link_reply(on->link, &reply, &run->trouble);
        if (status != TAMIS_OK)
            return tamis__lane_ride_out(run, on, status, err);
        if (!reply)
            return TAMIS_OK;
        if (!atomic_load_explicit(&on->node->has_answered, memory_order_relaxed))
            tamis__redis_mark_answered(run->redis, on->node);
        if (on->count == 0) {
            tamis__fail(&run->trouble, TAMIS_E_IO, 0,
                        "redis %s: sent a reply that nobody asked for; is it a Redis at that port?",
                        on->node->to.shown);
            return tamis__lane_ride_out(run, on, TAMIS_E_IO, err);
        }
        status = take_one(run, on, reply, err);
        if (status != TAMIS_OK || !on->link)
            return status;
    }
}

/* ---- moving bytes ---- */

static tamis_status send_all(tamis__flight *run, tamis_error *err) {
    for (size_t n = 0; n < run->room; n++) {
        tamis__lane *on = run->lanes[n];
        if (!on || !on->link)
            continue;
        tamis_status status = tamis__link_send(on->link, &run->trouble);
        if (status != TAMIS_OK)
            status = tamis__lane_ride_out(run, on, status, err);
        if (status != TAMIS_OK)
            return status;
    }
    return TAMIS_OK;
}

/* Until when there is nothing to do but to wait for bytes. */
static uint64_t wait_until(const tamis__flight *run) {
    uint64_t until = tamis__flight_deadline(run);
    if (run->full && run->full->link && tamis__lane_has_room(run, run->full))
        return run->now;
    if (run->is_stale && run->renew_at < until)
        until = run->renew_at;
    for (size_t n = 0; n < run->room; n++) {
        const tamis__lane *on = run->lanes[n];
        if (on && tamis__lane_is_waited_for(on) && on->heard + run->redis->read_ns < until)
            until = on->heard + run->redis->read_ns;
        if (on && run->paused && on->pause_till > run->now && on->pause_till < until)
            until = on->pause_till;
    }
    return until;
}

static tamis_status wait_for_some(tamis__flight *run, tamis_error *err) {
    int ready;
    for (size_t n = 0; n < run->room; n++) {
        const tamis__lane *on = run->lanes[n];
        run->fds[n] = on && on->link ? tamis__link_poll(on->link) : (struct pollfd){-1, 0, 0};
    }
    tamis_status status = tamis__link_wait(run->fds, run->room, wait_until(run), &ready, err);
    run->now = tamis__now_ns();
    return status;
}

static tamis_status receive(tamis__flight *run, tamis__lane *on, short ready, tamis_error *err) {
    bool some;
    tamis_status status;
    if (ready & ~POLLOUT) {
        status = tamis__link_receive(on->link, &some, &run->trouble);
        if (status != TAMIS_OK)
            return tamis__lane_ride_out(run, on, status, err);
        if (some)
            on->heard = run->now;
        status = take_all(run, on, err);
        if (status != TAMIS_OK || !on->link)
            return status;
    }
    if (!tamis__lane_is_waited_for(on) || run->now < on->heard + run->redis->read_ns)
        return TAMIS_OK;
    status = tamis__fail(&run->trouble, TAMIS_E_TIMEOUT, ETIMEDOUT,
                         "redis %s: did not answer in time; check server and network, or give more time "
                         "(read_timeout=)",
                         on->node->to.shown);
    return tamis__lane_ride_out(run, on, status, err);
}

/* Servers that say much and answer nothing are not waited for either. */
static tamis_status check_patience(tamis__flight *run, tamis_error *err) {
    if (run->now < tamis__flight_deadline(run))
        return TAMIS_OK;
    if (run->trouble.status == TAMIS_OK)
        tamis__fail(&run->trouble, TAMIS_E_TIMEOUT, ETIMEDOUT,
                    "redis %s: did not answer in time; check server and network, or give more time "
                    "(patience=)",
                    run->redis->to.shown);
    return tamis__flight_fail(run, err);
}

/* One turn: puts what can be put, moves bytes both ways, and waits only where there is nothing else to do. */
static tamis_status turn(tamis__flight *run, tamis_error *err) {
    run->full = NULL;
    run->paused = false;
    tamis_status status = renew_map(run, err);
    if (status == TAMIS_OK && run->map)
        status = put_some(run, err);
    if (status == TAMIS_OK)
        status = send_all(run, err);
    if (status != TAMIS_OK || run->answered == run->exchange->count)
        return status;
    status = wait_for_some(run, err);
    for (size_t n = 0; n < run->room && status == TAMIS_OK; n++)
        if (run->lanes[n] && run->lanes[n]->link)
            status = receive(run, run->lanes[n], run->fds[n].revents, err);
    return status == TAMIS_OK ? check_patience(run, err) : status;
}

/* ---- the whole ---- */

/* After a failure replies are on their way that nobody waits for. */
static void leave_lanes(tamis__flight *run, bool is_done) {
    for (size_t n = 0; n < run->room; n++) {
        tamis__lane *on = run->lanes[n];
        if (!on)
            continue;
        tamis__lane_leave(run, on, is_done);
        tamis__free(&run->redis->allocator, on, sizeof *on);
    }
}

/* *forbids_scripts: its first step was refused as a script, so that nothing was carried out. */
static tamis_status run_all(tamis_redis *redis, const tamis__exchange *exchange, bool *redone,
                            bool *forbids_scripts, tamis_error *err) {
    const tamis_allocator *allocator = &redis->allocator;
    tamis__flight run = {.redis = redis, .exchange = exchange, .trouble = TAMIS_ERROR_INIT};
    if (exchange->count >= UINT32_MAX)
        return tamis__fail(err, TAMIS_E_RANGE, 0, "redis %s: %s: too many commands at once; give fewer",
                           redis->to.shown, exchange->what);
    if (redis->slot_count > 1 && !exchange->slot)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0, "redis %s: %s: not on several servers; name one",
                           redis->to.shown, exchange->what);
    run.now = run.last = tamis__now_ns();
    run.map = redis->codis ? NULL : tamis__map_hold(redis); /* of proxies the next one's */
    run.is_stale = !run.map;
    tamis_status status = TAMIS_OK;
    while (run.answered < exchange->count && status == TAMIS_OK)
        status = turn(&run, err);
    if (status == TAMIS_OK)
        status = tamis__flight_confirm(&run, err);
    leave_lanes(&run, status == TAMIS_OK);
    tamis__map_drop(redis, run.map);
    tamis__free(allocator, run.lanes, run.room * sizeof *run.lanes);
    tamis__free(allocator, run.fds, run.room * sizeof *run.fds);
    tamis__free(allocator, run.redo, run.redo_room * sizeof *run.redo);
    tamis__free(allocator, run.sent, (exchange->count + 7) / 8);
    if (redone)
        *redone = run.redone;
    *forbids_scripts = run.forbids_scripts;
    return status;
}

tamis_status tamis__redis_run(tamis_redis *redis, const tamis__exchange *exchange, bool *redone,
                              tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT;
    bool forbids_scripts = exchange->is_steps && redis->forbids_scripts;
    tamis_status status = TAMIS_OK;
    if (!forbids_scripts)
        status = run_all(redis, exchange, redone, &forbids_scripts, &why);
    if (forbids_scripts) {
        redis->forbids_scripts = true;
        status = tamis__redis_transact(redis, exchange, &why);
    }
    if (status != TAMIS_OK && err)
        *err = why;
    return status;
}

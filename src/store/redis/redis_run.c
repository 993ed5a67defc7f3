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
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/redis/redis_int.h"
#include "store/trouble.h"

#define ASKING UINT32_MAX /* in `pending`, where no command has this number */

enum {
    WINDOW = 4096, /* commands on their way to a server, */
    /* and to a proxy, which hangs up on more than it is set to: 1024, where that was left */
    CODIS_WINDOW = 512,
    AT_ONCE = 16 << 10,      /* bytes put before the next look at the socket */
    PLACE_AGAIN_NS = 1000000 /* between looks for a place at a node that has none */
};

typedef struct lane {
    tamis__node *node;
    tamis__link *link;   /* NULL: to be opened */
    size_t first, count; /* of pending, a ring */
    uint64_t tries;      /* since the last answer */
    uint64_t pause_till; /* nothing is asked before */
    uint64_t heard; /* time of the last bytes, or when something was asked after there was nothing to hear */
    uint32_t pending[WINDOW];
} lane;

/* What was pending once. */
typedef struct again {
    uint32_t i;
    bool asks; /* for ASKING before it */
    lane *at;  /* where it was sent to; NULL: where its slot is */
} again;

typedef struct flight {
    tamis_redis *redis;
    const tamis__exchange *exchange;
    tamis__map *map;
    lane **lanes; /* by the node's number; NULL: nothing was asked of it yet */
    struct pollfd *fds;
    size_t room; /* of both */
    size_t next, answered;
    again *redo; /* rising */
    size_t redo_count, redo_room;
    bool redone;         /* anything was ever there */
    uint8_t *sent;       /* a bit an index; NULL: none was lost yet */
    lane *full;          /* took all it can for now, the last of such */
    bool paused;         /* something waits for a lane's pause to end, or for a lane */
    bool is_stale;       /* the map may be of yesterday */
    tamis__node *teller; /* who may know better; NULL: anyone */
    uint64_t renewals;   /* in a row that told nothing new */
    uint64_t renew_at;   /* not before */
    uint64_t now;        /* as of this turn */
    uint64_t last;       /* time of the last answer, or when it began */
    tamis_error trouble; /* why it was last asked again */
} flight;

/* ---- indices ---- */

static bool was_sent(const flight *run, size_t i) {
    return run->sent && run->sent[i / 8] >> i % 8 & 1;
}

static tamis_status mark_sent(flight *run, size_t i, tamis_error *err) {
    size_t size = (run->exchange->count + 7) / 8;
    if (!run->sent)
        run->sent = tamis__alloc(&run->redis->allocator, size, 1);
    if (!run->sent)
        return tamis__fail_nomem(err, "redis", size);
    run->sent[i / 8] |= (uint8_t)(1 << i % 8);
    return TAMIS_OK;
}

/* Once more later, the least number first. */
static tamis_status put_back(flight *run, again one, tamis_error *err) {
    if (run->redo_count == run->redo_room) {
        const tamis_allocator *allocator = &run->redis->allocator;
        const size_t room = run->redo_room ? 2 * run->redo_room : WINDOW / 4, size = room * sizeof *run->redo;
        again *redo = tamis__alloc(allocator, size, _Alignof(again));
        if (!redo)
            return tamis__fail_nomem(err, "redis", size);
        if (run->redo_count > 0)
            memcpy(redo, run->redo, run->redo_count * sizeof *redo);
        tamis__free(allocator, run->redo, run->redo_room * sizeof *redo);
        run->redo = redo;
        run->redo_room = room;
    }
    size_t at = run->redo_count++;
    for (; at > 0 && run->redo[at - 1].i > one.i; at--)
        run->redo[at] = run->redo[at - 1];
    run->redo[at] = one;
    run->redone = run->redone || tamis__redis_keeps_order(run->redis);
    return TAMIS_OK;
}

static void push(lane *on, uint32_t i) {
    on->pending[(on->first + on->count++) % WINDOW] = i;
}

static uint32_t shift(lane *on) {
    uint32_t i = on->pending[on->first];
    on->first = (on->first + 1) % WINDOW;
    on->count--;
    return i;
}

/* ---- failures of a lane ---- */

static uint64_t deadline_of(const flight *run) {
    return run->last + run->redis->patience_ns;
}

static tamis_status fail_with_trouble(const flight *run, tamis_error *err) {
    if (err)
        *err = run->trouble;
    return run->trouble.status;
}

/* retry_ns and more, doubled up to 32 times, half of it by chance: clients that lost one server together do not come
 * back together. */
static uint64_t pause_of(const tamis_redis *redis, uint64_t tries) {
    uint64_t wait = redis->retry_ns << (tries < 5 ? tries : 5);
    uint64_t chance = (tamis__now_ns() * UINT64_C(0x9e3779b97f4a7c15)) >> 32; /* of 2^32 */
    return wait / 2 + (wait / 2 * chance >> 32);
}

static void pause_for_a_while(flight *run, lane *on) {
    if (on->pause_till <= run->now)
        on->pause_till = tamis__now_ns() + pause_of(run->redis, on->tries++);
    run->paused = true; /* this turn has put already what it can */
}

/* is_done: nothing is on its way on its link, which others may use. */
static void leave(const flight *run, lane *on, bool is_done) {
    if (!on->link)
        return;
    if (is_done)
        tamis__redis_give_back(run->redis, on->node, on->link);
    else
        tamis__link_close(on->link);
    on->link = NULL;
    tamis__redis_leave(run->redis, on->node);
}

static tamis_status lose_link(flight *run, lane *on, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    leave(run, on, false);
    while (on->count > 0 && status == TAMIS_OK) {
        uint32_t i = shift(on);
        if (i == ASKING)
            continue;
        status = mark_sent(run, i, err);
        if (status == TAMIS_OK)
            status = put_back(run, (again){.i = i}, err);
    }
    return status;
}

static bool is_lost(tamis_status status) {
    return status == TAMIS_E_IO || status == TAMIS_E_TIMEOUT;
}

/* A failure of the connection is kept in mind and mended later; others end the run. */
static tamis_status ride_out(flight *run, lane *on, tamis_status status, tamis_error *err) {
    if (!is_lost(status))
        return fail_with_trouble(run, err);
    pause_for_a_while(run, on);
    run->is_stale = tamis__redis_can_learn(run->redis);
    return lose_link(run, on, err);
}

/* ---- lanes ---- */

static tamis_status make_room(flight *run, size_t number, tamis_error *err) {
    const tamis_allocator *allocator = &run->redis->allocator;
    const size_t room = number + 4;
    lane **lanes = tamis__alloc(allocator, room * sizeof *lanes, _Alignof(lane *));
    struct pollfd *fds = tamis__alloc(allocator, room * sizeof *fds, _Alignof(struct pollfd));
    if (!lanes || !fds) {
        tamis__free(allocator, lanes, room * sizeof *lanes);
        tamis__free(allocator, fds, room * sizeof *fds);
        return tamis__fail_nomem(err, "redis", room * (sizeof *lanes + sizeof *fds));
    }
    if (run->room > 0)
        memcpy(lanes, run->lanes, run->room * sizeof *lanes);
    tamis__free(allocator, run->lanes, run->room * sizeof *lanes);
    tamis__free(allocator, run->fds, run->room * sizeof *fds);
    run->lanes = lanes;
    run->fds = fds;
    run->room = room;
    return TAMIS_OK;
}

static tamis_status find_lane(flight *run, tamis__node *node, lane **found, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    if (node->number >= run->room)
        status = make_room(run, node->number, err);
    if (status != TAMIS_OK)
        return status;
    lane **at = &run->lanes[node->number];
    if (!*at) {
        *at = tamis__alloc(&run->redis->allocator, sizeof **at, _Alignof(lane));
        if (!*at)
            return tamis__fail_nomem(err, "redis", sizeof **at);
        (*at)->node = node;
    }
    *found = *at;
    return TAMIS_OK;
}

static bool has_room(const flight *run, const lane *on) {
    return on->count + 2 <= (run->redis->codis ? CODIS_WINDOW : WINDOW) &&
           tamis__link_unsent(on->link) < AT_ONCE;
}

static bool is_waited_for(const lane *on) {
    return on->link && on->count > 0;
}

/* Waits for a place there only where no reply is on its way to it, and holding none elsewhere. */
static bool enter(flight *run, lane *on) {
    if (tamis__redis_enter(run->redis, on->node, 0))
        return true;
    for (size_t n = 0; n < run->room; n++)
        if (run->lanes[n] && is_waited_for(run->lanes[n]))
            return false;
    for (size_t n = 0; n < run->room; n++)
        if (run->lanes[n])
            leave(run, run->lanes[n], true);
    return tamis__redis_enter(run->redis, on->node, deadline_of(run));
}

static tamis_status reach(flight *run, lane *on, tamis_error *err) {
    const uint64_t deadline = deadline_of(run);
    if (!enter(run, on)) {
        run->now = tamis__now_ns();
        on->pause_till = run->now + PLACE_AGAIN_NS;
        tamis__fail(&run->trouble, TAMIS_E_TIMEOUT, ETIMEDOUT,
                    "redis %s: all %" PRIu64 " connections were in use all the time; allow more "
                    "(connections=), or use it from fewer threads",
                    on->node->to.shown, run->redis->connections);
        return TAMIS_OK;
    }
    if (on->tries > 0) /* those may be as lost as the last one was */
        tamis__redis_close_idle(run->redis, on->node);
    tamis_status status = tamis__redis_lease(run->redis, on->node, deadline, &on->link, &run->trouble);
    if (status != TAMIS_OK)
        tamis__redis_leave(run->redis, on->node);
    run->now = tamis__now_ns();
    return status == TAMIS_OK ? TAMIS_OK : ride_out(run, on, status, err);
}

/* ---- the map ---- */

static tamis_status renew_map(flight *run, tamis_error *err) {
    if (!run->is_stale || run->now < run->renew_at)
        return TAMIS_OK;
    tamis_status status = tamis__redis_learn(run->redis, run->teller, deadline_of(run), &run->trouble);
    if (status != TAMIS_OK && !is_lost(status))
        return fail_with_trouble(run, err);
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
    run->renew_at = run->now + pause_of(run->redis, run->renewals);
    return TAMIS_OK;
}

static tamis_status has_no_server(flight *run, uint32_t slot) {
    if (run->trouble.status == TAMIS_OK)
        tamis__fail(&run->trouble, TAMIS_E_IO, 0,
                    "redis %s: slot %u of the cluster has no server; see CLUSTER INFO there",
                    run->redis->to.shown, (unsigned)slot);
    run->is_stale = run->paused = true;
    return TAMIS_OK;
}

/* ---- asking ---- */

static void put_on(flight *run, lane *on, const again *one) {
    if (on->count == 0)
        on->heard = run->now;
    if (one->asks) {
        tamis__link_command(on->link, 1);
        tamis__link_text(on->link, "ASKING");
        push(on, ASKING);
    }
    if (run->exchange->ask(run->exchange->context, one->i, on->link))
        push(on, one->i);
    else
        run->answered++;
}

/* Puts the command, unless its lane cannot take it now. */
static tamis_status put(flight *run, const again *one, bool *taken, tamis_error *err) {
    const tamis__exchange *exchange = run->exchange;
    const uint32_t slot = run->redis->slot_count == 1 ? 0 : exchange->slot(exchange->context, one->i);
    lane *on = one->at;
    tamis_status status = TAMIS_OK;
    *taken = slot == TAMIS__NO_SLOT;
    run->answered += *taken;
    if (*taken)
        return TAMIS_OK;
    if (!on && !run->map->of[slot])
        return has_no_server(run, slot);
    if (!on)
        status = find_lane(run, run->map->of[slot], &on, err);
    if (status == TAMIS_OK && !on->link && on->pause_till <= run->now)
        status = reach(run, on, err);
    if (status != TAMIS_OK)
        return status;
    *taken = on->link && on->pause_till <= run->now && has_room(run, on);
    if (*taken)
        put_on(run, on, one);
    else if (on->link && on->pause_till <= run->now)
        run->full = on;
    else
        run->paused = true;
    return TAMIS_OK;
}

/* Where another server was named, and that cannot be reached, the map is asked anew. */
static again left_over(const flight *run, again one) {
    return one.at && one.at->pause_till > run->now ? (again){.i = one.i} : one;
}

/* Whether the next index has a barrier before it, and something before that has no answer. */
static bool is_held_up(const flight *run) {
    const size_t *barriers = run->exchange->barriers;
    for (int i = 0; i < 2 && !tamis__redis_keeps_order(run->redis); i++)
        if (run->next >= barriers[i] && run->answered < barriers[i])
            return true;
    return false;
}

static tamis_status put_some(flight *run, tamis_error *err) {
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
        status = put(run, &(again){.i = (uint32_t)run->next}, &taken, err);
        run->next += taken;
    }
    return status;
}

/* ---- replies ---- */

static tamis_status follow(flight *run, uint32_t i, const tamis__redirection *to, tamis_error *err) {
    tamis__node *node;
    lane *at = NULL;
    tamis_status status = tamis__redis_node(run->redis, to->host, to->host_size, to->port, &node, err);
    if (status == TAMIS_OK)
        status = find_lane(run, node, &at, err);
    if (status != TAMIS_OK)
        return status;
    if (!to->asks && run->map->of[to->slot] != node) {
        run->is_stale = true;
        run->teller = node;
    }
    return put_back(run, (again){i, to->asks, at}, err);
}

static tamis_status take_error(flight *run, lane *on, uint32_t i, const tamis__reply *reply,
                               tamis_error *err) {
    tamis__redirection to;
    tamis__redis_refused(&on->node->to, run->exchange->what, reply, &run->trouble);
    if (run->redis->uri.kind == TAMIS__REDIS_CLUSTER && tamis__cluster_redirection(reply, on->node, &to))
        return follow(run, i, &to, err);
    if (!tamis__redis_is_passing(reply)) {
        if (run->exchange->denied)
            *run->exchange->denied = tamis__redis_is_denied(reply);
        return fail_with_trouble(run, err);
    }
    tamis_status status = put_back(run, (again){.i = i}, err);
    if (status == TAMIS_OK && tamis__redis_is_unsure(reply))
        status = mark_sent(run, i, err);
    if (status == TAMIS_OK &&
        tamis__reply_begins(reply, "READONLY")) /* the master's name may lead elsewhere by now */
        return ride_out(run, on, TAMIS_E_IO, err);
    pause_for_a_while(run, on);
    run->is_stale = tamis__redis_can_learn(run->redis);
    return status;
}

static tamis_status take_one(flight *run, lane *on, const tamis__reply *reply, tamis_error *err) {
    const tamis__exchange *exchange = run->exchange;
    const uint32_t i = shift(on);
    if (i == ASKING)
        return TAMIS_OK;
    if (reply->type == TAMIS__REPLY_ERROR)
        return take_error(run, on, i, reply, err);
    run->answered++;
    on->tries = 0;
    run->last = run->now;
    run->trouble.status = TAMIS_OK;
    return exchange->take(exchange->context, i, reply, was_sent(run, i), err);
}

static tamis_status take_all(flight *run, lane *on, tamis_error *err) {
    for (;;) {
        const tamis__reply *reply;
        tamis_status status = tamis__link_reply(on->link, &reply, &run->trouble);
        if (status != TAMIS_OK)
            return ride_out(run, on, status, err);
        if (!reply)
            return TAMIS_OK;
        if (on->count == 0) {
            tamis__fail(&run->trouble, TAMIS_E_IO, 0,
                        "redis %s: sent a reply that nobody asked for; is it a Redis at that port?",
                        on->node->to.shown);
            return ride_out(run, on, TAMIS_E_IO, err);
        }
        status = take_one(run, on, reply, err);
        if (status != TAMIS_OK || !on->link)
            return status;
    }
}

/* ---- moving bytes ---- */

static tamis_status send_all(flight *run, tamis_error *err) {
    for (size_t n = 0; n < run->room; n++) {
        lane *on = run->lanes[n];
        if (!on || !on->link)
            continue;
        tamis_status status = tamis__link_send(on->link, &run->trouble);
        if (status != TAMIS_OK)
            status = ride_out(run, on, status, err);
        if (status != TAMIS_OK)
            return status;
    }
    return TAMIS_OK;
}

/* Until when there is nothing to do but to wait for bytes. */
static uint64_t wait_until(const flight *run) {
    uint64_t until = deadline_of(run);
    if (run->full && run->full->link && has_room(run, run->full))
        return run->now;
    if (run->is_stale && run->renew_at < until)
        until = run->renew_at;
    for (size_t n = 0; n < run->room; n++) {
        const lane *on = run->lanes[n];
        if (on && is_waited_for(on) && on->heard + run->redis->read_ns < until)
            until = on->heard + run->redis->read_ns;
        if (on && run->paused && on->pause_till > run->now && on->pause_till < until)
            until = on->pause_till;
    }
    return until;
}

static tamis_status wait_for_some(flight *run, tamis_error *err) {
    int ready;
    for (size_t n = 0; n < run->room; n++) {
        const lane *on = run->lanes[n];
        run->fds[n] = on && on->link ? tamis__link_poll(on->link) : (struct pollfd){-1, 0, 0};
    }
    tamis_status status = tamis__link_wait(run->fds, run->room, wait_until(run), &ready, err);
    run->now = tamis__now_ns();
    return status;
}

static tamis_status receive(flight *run, lane *on, short ready, tamis_error *err) {
    bool some;
    tamis_status status;
    if (ready & ~POLLOUT) {
        status = tamis__link_receive(on->link, &some, &run->trouble);
        if (status != TAMIS_OK)
            return ride_out(run, on, status, err);
        if (some)
            on->heard = run->now;
        status = take_all(run, on, err);
        if (status != TAMIS_OK || !on->link)
            return status;
    }
    if (!is_waited_for(on) || run->now < on->heard + run->redis->read_ns)
        return TAMIS_OK;
    status = tamis__fail(&run->trouble, TAMIS_E_TIMEOUT, ETIMEDOUT,
                         "redis %s: did not answer in time; check server and network, or give more time "
                         "(read_timeout=)",
                         on->node->to.shown);
    return ride_out(run, on, status, err);
}

/* Servers that say much and answer nothing are not waited for either. */
static tamis_status check_patience(flight *run, tamis_error *err) {
    if (run->now < deadline_of(run))
        return TAMIS_OK;
    if (run->trouble.status == TAMIS_OK)
        tamis__fail(&run->trouble, TAMIS_E_TIMEOUT, ETIMEDOUT,
                    "redis %s: did not answer in time; check server and network, or give more time "
                    "(patience=)",
                    run->redis->to.shown);
    return fail_with_trouble(run, err);
}

/* One turn: puts what can be put, moves bytes both ways, and waits only where there is nothing else to do. */
static tamis_status turn(flight *run, tamis_error *err) {
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
static void leave_lanes(flight *run, bool is_done) {
    for (size_t n = 0; n < run->room; n++) {
        lane *on = run->lanes[n];
        if (!on)
            continue;
        leave(run, on, is_done);
        tamis__free(&run->redis->allocator, on, sizeof *on);
    }
}

tamis_status tamis__redis_run(tamis_redis *redis, const tamis__exchange *exchange, bool *redone,
                              tamis_error *err) {
    const tamis_allocator *allocator = &redis->allocator;
    flight run = {.redis = redis, .exchange = exchange, .trouble = TAMIS_ERROR_INIT};
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
    leave_lanes(&run, status == TAMIS_OK);
    tamis__map_drop(redis, run.map);
    tamis__free(allocator, run.lanes, run.room * sizeof *run.lanes);
    tamis__free(allocator, run.fds, run.room * sizeof *run.fds);
    tamis__free(allocator, run.redo, run.redo_room * sizeof *run.redo);
    tamis__free(allocator, run.sent, (exchange->count + 7) / 8);
    if (redone)
        *redone = run.redone;
    return status;
}

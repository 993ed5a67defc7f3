/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/redis/redis_lane.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"

enum {
    CODIS_WINDOW = 512, /* to a proxy, which hangs up on more than it is set to: 1024, where that was left */
    AT_ONCE = 16 << 10, /* bytes put before the next look at the socket */
    PLACE_AGAIN_NS = 1000000 /* between looks for a place at a node that has none */
};

/* ---- indices ---- */

tamis_status tamis__flight_mark_sent(tamis__flight *run, size_t i, tamis_error *err) {
    size_t size = (run->exchange->count + 7) / 8;
    if (!run->sent)
        run->sent = tamis__alloc(&run->redis->allocator, size, 1);
    if (!run->sent)
        return tamis__fail_nomem(err, "redis", size);
    run->sent[i / 8] |= (uint8_t)(1 << i % 8);
    return TAMIS_OK;
}

tamis_status tamis__flight_put_back(tamis__flight *run, tamis__redo one, tamis_error *err) {
    if (run->redo_count == run->redo_room) {
        const tamis_allocator *allocator = &run->redis->allocator;
        const size_t room = run->redo_room ? 2 * run->redo_room : TAMIS__WINDOW / 4,
                     size = room * sizeof *run->redo;
        tamis__redo *redo = tamis__alloc(allocator, size, _Alignof(tamis__redo));
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

void tamis__lane_push(tamis__lane *on, uint32_t i) {
    on->pending[(on->first + on->count++) % TAMIS__WINDOW] = i;
}

uint32_t tamis__lane_shift(tamis__lane *on) {
    uint32_t i = on->pending[on->first];
    on->first = (on->first + 1) % TAMIS__WINDOW;
    on->count--;
    return i;
}

/* ---- failures of a lane ---- */

uint64_t tamis__flight_deadline(const tamis__flight *run) {
    const uint64_t deadline = run->last + run->redis->patience_ns;
    return deadline > run->redis->connect_by ? deadline : run->redis->connect_by;
}

tamis_status tamis__flight_fail(const tamis__flight *run, tamis_error *err) {
    if (err)
        *err = run->trouble;
    return run->trouble.status;
}

/* retry_ns and more, doubled up to 32 times, half of it by chance: clients that lost one server together do not come
 * back together. */
uint64_t tamis__flight_pause(const tamis_redis *redis, uint64_t tries) {
    uint64_t wait = redis->retry_ns << (tries < 5 ? tries : 5);
    uint64_t chance = (tamis__now_ns() * UINT64_C(0x9e3779b97f4a7c15)) >> 32; /* of 2^32 */
    return wait / 2 + (wait / 2 * chance >> 32);
}

void tamis__lane_pause(tamis__flight *run, tamis__lane *on) {
    if (on->pause_till <= run->now)
        on->pause_till = tamis__now_ns() + tamis__flight_pause(run->redis, on->tries++);
    run->paused = true; /* this turn has put already what it can */
}

void tamis__lane_leave(const tamis__flight *run, tamis__lane *on, bool is_done) {
    if (!on->link)
        return;
    if (is_done)
        tamis__redis_give_back(run->redis, on->node, on->link);
    else
        tamis__link_close(on->link);
    on->link = NULL;
    if (on->is_unconfirmed)
        *run->exchange->unconfirmed = true;
    on->is_unconfirmed = false;
    tamis__redis_leave(run->redis, on->node);
}

bool tamis__flight_is_hopeless(const tamis__flight *run, const tamis__node *node, uint64_t tries,
                               tamis_status status) {
    const bool is_accident = tries == 0 && run->trouble.sys_errno != ETIMEDOUT;
    return !is_accident && tamis__redis_is_hopeless(run->redis, node, status);
}

static tamis_status lose_link(tamis__flight *run, tamis__lane *on, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    tamis__lane_leave(run, on, false);
    while (on->count > 0 && status == TAMIS_OK) {
        uint32_t i = tamis__lane_shift(on);
        if (i == TAMIS__ASKING)
            continue;
        status = tamis__flight_mark_sent(run, i, err);
        if (status == TAMIS_OK)
            status = tamis__flight_put_back(run, (tamis__redo){.i = i}, err);
    }
    return status;
}

tamis_status tamis__lane_ride_out(tamis__flight *run, tamis__lane *on, tamis_status status,
                                  tamis_error *err) {
    if (!tamis__is_lost(status) || tamis__flight_is_hopeless(run, on->node, on->tries, status))
        return tamis__flight_fail(run, err);
    tamis__lane_pause(run, on);
    run->is_stale = tamis__redis_can_learn(run->redis);
    return lose_link(run, on, err);
}

/* ---- lanes ---- */

static tamis_status make_room(tamis__flight *run, size_t number, tamis_error *err) {
    const tamis_allocator *allocator = &run->redis->allocator;
    const size_t room = number + 4;
    tamis__lane **lanes = tamis__alloc(allocator, room * sizeof *lanes, _Alignof(tamis__lane *));
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

tamis_status tamis__lane_find(tamis__flight *run, tamis__node *node, tamis__lane **found, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    if (node->number >= run->room)
        status = make_room(run, node->number, err);
    if (status != TAMIS_OK)
        return status;
    tamis__lane **at = &run->lanes[node->number];
    if (!*at) {
        *at = tamis__alloc(&run->redis->allocator, sizeof **at, _Alignof(tamis__lane));
        if (!*at)
            return tamis__fail_nomem(err, "redis", sizeof **at);
        (*at)->node = node;
    }
    *found = *at;
    return TAMIS_OK;
}

bool tamis__lane_has_room(const tamis__flight *run, const tamis__lane *on) {
    return on->count + 2 <= (run->redis->codis ? CODIS_WINDOW : TAMIS__WINDOW) &&
           tamis__link_unsent(on->link) < AT_ONCE;
}

/* Waits for a place there only where no reply is on its way to it, and holding none elsewhere. */
static tamis_status enter(tamis__flight *run, tamis__lane *on, bool *may, tamis_error *err) {
    *may = tamis__redis_enter(run->redis, on->node, 0);
    if (*may)
        return TAMIS_OK;
    for (size_t n = 0; n < run->room; n++)
        if (run->lanes[n] && tamis__lane_is_waited_for(run->lanes[n]))
            return TAMIS_OK;
    tamis_status status = tamis__flight_confirm(run, err);
    if (status != TAMIS_OK)
        return status;
    for (size_t n = 0; n < run->room; n++)
        if (run->lanes[n])
            tamis__lane_leave(run, run->lanes[n], true);
    *may = tamis__redis_enter(run->redis, on->node, tamis__flight_deadline(run));
    return TAMIS_OK;
}

tamis_status tamis__lane_reach(tamis__flight *run, tamis__lane *on, tamis_error *err) {
    const uint64_t deadline = tamis__flight_deadline(run);
    bool may;
    tamis_status status = enter(run, on, &may, err);
    if (status != TAMIS_OK)
        return status;
    if (!may) {
        run->now = tamis__now_ns();
        on->pause_till = run->now + PLACE_AGAIN_NS;
        tamis__redis_no_place(run->redis, on->node, &run->trouble);
        return TAMIS_OK;
    }
    if (on->tries > 0) /* those may be as lost as the last one was */
        tamis__redis_close_idle(run->redis, on->node);
    status = tamis__redis_lease(run->redis, on->node, deadline, &on->link, &run->trouble);
    if (status != TAMIS_OK)
        tamis__redis_leave(run->redis, on->node);
    run->now = tamis__now_ns();
    return status == TAMIS_OK ? TAMIS_OK : tamis__lane_ride_out(run, on, status, err);
}

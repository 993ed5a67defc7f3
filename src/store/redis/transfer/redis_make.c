/* SPDX-License-Identifier: BSD-2-Clause */

/* Makes empty filters of layout tamis: a new one, or one that replaces a filter (clear). */
#include "store/redis/transfer/redis_push.h"

/* The new filter expires when the old one would have. */
tamis_status tamis__push_empty(tamis_filter *there, tamis_error *err) {
    const tamis_redis_push_options options = TAMIS_REDIS_PUSH_OPTIONS_INIT;
    tamis__push p = {.there = there, .rf = tamis__redis_of(there), .options = &options};
    tamis_status status = tamis__push_name(&p, err);
    p.ttl_ms = 0;
    return status == TAMIS_OK ? tamis__push_replace(&p, tamis__tamis_of(p.rf)->plan_text, err) : status;
}

static tamis_status fail_deleted(const tamis__push *p, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "redis %s: %s: its hash, which describes its partitions, was deleted or evicted; "
                       "nothing was made; drop the filter, then add all keys again",
                       p->rf->redis->endpoint.shown, p->rf->uri->shown_name);
}

/* *is_there: another writer has made the filter, or is making it. */
static tamis_status make_once(tamis__push *p, bool *is_there, tamis_error *err) {
    tamis_status status = tamis__push_begin(p, err);
    *is_there = status == TAMIS_E_BUSY;
    if (status != TAMIS_OK)
        return status;
    if (*p->copy) /* read the hash again: if this process was stopped between the reads, another may have made it */
        status = tamis__config_find(p->rf, &p->config, err);
    *is_there = status == TAMIS_OK && *p->config.plan;
    if (status == TAMIS_OK && !*is_there && *p->copy)
        status = fail_deleted(p, err);
    if (status != TAMIS_OK || *is_there)
        return tamis__push_withdraw(p, status);
    status = tamis__push_conclude(p, tamis__push_run(p, err), err);
    tamis__push_free(p);
    return status;
}

tamis_status tamis__push_new(tamis_filter *made, tamis_error *err) {
    const tamis_redis_push_options options = TAMIS_REDIS_PUSH_OPTIONS_INIT;
    const tamis__redis_filter *rf = tamis__redis_of(made);
    tamis__push p = {.there = made, .rf = rf, .options = &options};
    bool is_there = true;
    tamis_status status = tamis__push_name(&p, err);
    for (int i = 0; i < TAMIS__LOCK_POLLS && status == TAMIS_OK; i++) {
        status = make_once(&p, &is_there, err);
        if (status != TAMIS_E_BUSY || !is_there)
            return status;
        status = tamis__lock_pause(err);
        if (status == TAMIS_OK)
            status = tamis__config_find(rf, &p.config, err);
        if (status == TAMIS_OK && *p.config.plan)
            return TAMIS_OK;
    }
    return status == TAMIS_OK ? tamis__lock_busy(rf, err) : status;
}

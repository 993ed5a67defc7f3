/* SPDX-License-Identifier: BSD-2-Clause */

/* Whether a filter's Redis keys can be of the parameters it was opened with. */
#include <inttypes.h>

#include "store/file_error.h"
#include "store/redis/redis_filter.h"

typedef struct measuring {
    const tamis_filter *filter;
    uint64_t most; /* bytes that a Redis key may have */
} measuring;

static uint32_t slot_of_key(void *context, size_t i) {
    const measuring *all = context;
    return tamis__redis_key_slot(tamis__redis_of(all->filter), i);
}

static size_t name_key(const measuring *all, size_t i, char *to) {
    const tamis__redis_filter *at = tamis__redis_of(all->filter);
    return at->layout->key_name(at, (uint32_t)(i % at->keys), to);
}

static bool put_length(void *context, size_t i, tamis__link *link) {
    char name[TAMIS__REDIS_KEY];
    const size_t size = name_key(context, i, name);
    tamis__link_command(link, 2);
    tamis__link_text(link, "STRLEN");
    tamis__link_word(link, name, size);
    return true;
}

static tamis_status take_length(void *context, size_t i, const tamis__reply *reply, bool again,
                                tamis_error *err) {
    const measuring *all = context;
    const tamis__redis_filter *at = tamis__redis_of(all->filter);
    char name[TAMIS__REDIS_KEY + 1];
    (void)again;
    if (reply->type != TAMIS__REPLY_INTEGER || reply->integer < 0)
        return tamis__redis_strange(at, err);
    if ((uint64_t)reply->integer <= all->most)
        return TAMIS_OK;
    name[name_key(all, i, name)] = '\0';
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "redis %s: %s: is of other parameters: Redis key %s has %" PRId64
                       " bytes, and %" PRIu64 " bits take %" PRIu64
                       "; give the parameters that it was made with, or name another filter",
                       at->redis->to.shown, at->uri->named, tamis__show(name).text, reply->integer,
                       all->filter->plan.bits, all->most);
}

tamis_status tamis__redis_check_length(const tamis_filter *filter, tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    const size_t count = tamis__redis_all_keys(at);
    bool denied = false;
    measuring all = {filter, filter->plan.memory / count};
    const tamis__exchange exchange = {.count = count,
                                      .context = &all,
                                      .ask = put_length,
                                      .take = take_length,
                                      .what = at->uri->named,
                                      .slot = slot_of_key,
                                      .denied = &denied};
    if (at->is_measured || at->is_family) /* whose members have Redis keys of their own */
        return TAMIS_OK;
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = tamis__redis_run(at->redis, &exchange, NULL, &why);
    at->is_measured = status == TAMIS_OK || denied; /* who may not ask for it is not kept out */
    if (at->is_measured)
        return TAMIS_OK;
    if (err)
        *err = why;
    return status;
}

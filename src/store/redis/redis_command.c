/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "store/file_error.h"
#include "store/redis/redis_int.h"

enum { REPEATS_MAX = 64 };

tamis_status tamis__redis_no_reply(const tamis_redis *redis, const char *what, tamis_error *err) {
    return tamis__fail(
        err, TAMIS_E_IO, 0,
        "redis %s: %s: answered with what is no reply to the command; is it a Redis of version 6.2 or "
        "later?",
        redis->to.shown, what);
}

static uint32_t slot(void *context, size_t i) {
    const tamis__command *one = context;
    (void)i;
    return one->slot;
}

static bool put(void *context, size_t i, tamis__link *link) {
    const tamis__command *one = context;
    (void)i;
    tamis__link_command(link, one->count);
    for (size_t j = 0; j < one->count; j++)
        tamis__link_word(link, one->words[j].data, one->words[j].size);
    return true;
}

static tamis_status take(void *context, size_t i, const tamis__reply *reply, bool resent, tamis_error *err) {
    tamis__command *one = context;
    (void)i;
    (void)resent;
    switch (reply->type) {
    case TAMIS__REPLY_INTEGER:
        one->integer = reply->integer;
        return TAMIS_OK;
    case TAMIS__REPLY_STRING:
        if (!one->to || reply->size > one->room)
            break;
        memcpy(one->to, reply->text, reply->size);
        one->size = reply->size;
        return TAMIS_OK;
    case TAMIS__REPLY_STATUS:
    case TAMIS__REPLY_NIL:
        return TAMIS_OK;
    case TAMIS__REPLY_ARRAY:
    case TAMIS__REPLY_ERROR:
        break;
    }
    return tamis__redis_no_reply(one->redis, one->what, err);
}

tamis_status tamis__redis_do(tamis__command *one, tamis_error *err) {
    bool unconfirmed;
    const tamis__exchange exchange = {.count = 1,
                                      .context = one,
                                      .ask = put,
                                      .take = take,
                                      .what = one->what,
                                      .slot = slot,
                                      .unconfirmed = one->is_replicated ? &unconfirmed : NULL};
    tamis_status status;
    size_t repeats = 0;
    do {
        unconfirmed = false;
        one->integer = -1;
        one->size = 0;
        status = tamis__redis_run(one->redis, &exchange, NULL, err);
    } while (status == TAMIS_OK && unconfirmed && ++repeats < REPEATS_MAX);
    if (status == TAMIS_OK && unconfirmed)
        return tamis__fail(err, TAMIS_E_IO, 0,
                           "redis %s: %s: lost %d connections before the replicas confirmed it; check server "
                           "and network",
                           one->redis->to.shown, tamis__show(one->what).text, REPEATS_MAX);
    return status;
}

/* SPDX-License-Identifier: BSD-2-Clause */

/* tamis:{NAME}:push, a string that says who replaces or drops the filter: one at a time. It expires, so that who was
 * stopped holds nobody up for long. */
#include <stdio.h>
#include <string.h>

#include "store/redis/layout_tamis.h"

size_t tamis__lock_name(const tamis__redis_filter *at, char *to) {
    const size_t size = tamis__config_name(at, to);
    memcpy(to + size, ":push", 5);
    return size + 5;
}

tamis_status tamis__lock_busy(const tamis__redis_filter *at, tamis_error *err) {
    return tamis__fail(
        err, TAMIS_E_BUSY, 0,
        "redis %s: %s: another push or drop of it is under way, or ended less than a minute ago "
        "without saying so; wait for it, and do it again",
        at->redis->to.shown, at->uri->shown);
}

tamis_status tamis__lock_check(tamis__redis_filter *at, const char *holder, tamis_error *err) {
    char name[TAMIS__REDIS_KEY], there[TAMIS__REDIS_PLAN];
    size_t size;
    const tamis_key words[] = {tamis__redis_word("GET"), {name, tamis__lock_name(at, name)}};
    tamis_status status = tamis__redis_get(at, words, 2, there, sizeof there, &size, err);
    if (status != TAMIS_OK)
        return status;
    return size == strlen(holder) && memcmp(there, holder, size) == 0 ? TAMIS_OK : tamis__lock_busy(at, err);
}

tamis_status tamis__lock_check_free(tamis__redis_filter *at, tamis_error *err) {
    return tamis__lock_check(at, "", err);
}

/* The answer to SET does not say whether it was ours already, after a connection that was lost: the value does. */
tamis_status tamis__lock_take(tamis__redis_filter *at, const char *holder, tamis_error *err) {
    char name[TAMIS__REDIS_KEY], ms[24];
    snprintf(ms, sizeof ms, "%d", TAMIS__LOCK_MS);
    const tamis_key words[] = {tamis__redis_word("SET"),  {name, tamis__lock_name(at, name)},
                               tamis__redis_word(holder), tamis__redis_word("NX"),
                               tamis__redis_word("PX"),   tamis__redis_word(ms)};
    tamis_status status = tamis__redis_command(at, words, 6, NULL, err);
    return status == TAMIS_OK ? tamis__lock_check(at, holder, err) : status;
}

tamis_status tamis__lock_leave(tamis__redis_filter *at, tamis_error *err) {
    char name[TAMIS__REDIS_KEY];
    const tamis_key words[] = {tamis__redis_word("DEL"), {name, tamis__lock_name(at, name)}};
    return tamis__redis_command(at, words, 2, NULL, err);
}

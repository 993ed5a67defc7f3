/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Filters of RedisBloom on a server: they are Redis keys of a module's type. A copy in memory is looked up.
 *
 *     TYPE key          ->  MBbloom-- or MBbloomCF; another type: not a filter
 *     MEMORY USAGE key  ->  a reply that would be too large is not requested
 *     DUMP key          ->  the filter at one instant, which format/redisbloom_file.c decodes
 *
 * Why DUMP and not BF.SCANDUMP: a cuckoo filter may move entries between two chunks of a scan. An entry may
 * move from a chunk that is still to come to one that was sent, and the copy would lack it.
 *
 * Why a copy and not BF.MEXISTS: it needs one reply, however many keys are looked up, and it asks nothing of
 * the module. Keys that are added later are not in it.
 */
#include "store/redis/filter/redis_foreign.h"

#include <inttypes.h>
#include <string.h>

#include "format/format.h"

enum { DUMP_MAX = 60 << 20 }; /* bytes; a reply of more than 64 MiB is refused */

enum { REQUEST_TYPE, REQUEST_SIZE, REQUEST_DUMP };

typedef struct fetching {
    const tamis__redis_filter *rf;
    const tamis_allocator *memory;
    int request; /* number of the command that is sent */
    bool is_filter;
    int64_t size;
    tamis_filter *fetched; /* NULL: not yet */
} fetching;

static uint32_t slot_of(void *context, size_t i) {
    const fetching *f = context;
    (void)i;
    return tamis__redis_slot(f->rf->redis, f->rf->name.data, f->rf->name.size);
}

static bool put_command(void *context, size_t i, tamis__connection *conn) {
    const fetching *f = context;
    (void)i;
    tamis__connection_put_command(conn, f->request == REQUEST_SIZE ? 3 : 2);
    tamis__connection_put_text(conn, f->request == REQUEST_TYPE   ? "TYPE"
                                     : f->request == REQUEST_SIZE ? "MEMORY"
                                                                  : "DUMP");
    if (f->request == REQUEST_SIZE)
        tamis__connection_put_text(conn, "USAGE");
    tamis__connection_put(conn, f->rf->name.data, f->rf->name.size);
    return true;
}

static bool is_text(const tamis__reply *reply, const char *text) {
    return reply->size == strlen(text) && memcmp(reply->text, text, reply->size) == 0;
}

static tamis_status accept_dump(fetching *f, const tamis__reply *reply, tamis_error *err) {
    const tamis__encoded_bytes source = {.bytes = (const uint8_t *)reply->text,
                                         .size = reply->size,
                                         .name = f->rf->uri->shown_name,
                                         .stay = false};
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    options.format = TAMIS_FORMAT_REDISBLOOM;
    options.allocator = f->memory;
    if (f->fetched || reply->type == TAMIS__REPLY_NIL) /* sent again; or deleted meanwhile */
        return TAMIS_OK;
    if (reply->type != TAMIS__REPLY_STRING)
        return tamis__redis_filter_bad_reply(f->rf, err);
    return tamis__format_decode(&f->fetched, &source, &options, err);
}

static tamis_status accept(void *context, size_t i, const tamis__reply *reply, bool resent,
                           tamis_error *err) {
    fetching *f = context;
    (void)i;
    (void)resent;
    if (f->request == REQUEST_DUMP)
        return accept_dump(f, reply, err);
    if (f->request == REQUEST_SIZE)
        f->size = reply->type == TAMIS__REPLY_INTEGER ? reply->integer : 0;
    else
        f->is_filter = reply->type == TAMIS__REPLY_STATUS &&
                       (is_text(reply, "MBbloom--") || is_text(reply, "MBbloomCF"));
    return TAMIS_OK;
}

static tamis_status run(fetching *f, int request, tamis_error *err) {
    const tamis__requests requests = {.count = 1,
                                      .context = f,
                                      .put_command = put_command,
                                      .accept_reply = accept,
                                      .what = f->rf->uri->shown_name,
                                      .slot = slot_of};
    f->request = request;
    return tamis__requests_run(f->rf->redis, &requests, NULL, err);
}

tamis_status tamis__redis_fetch_foreign(tamis_filter **filter, const tamis_filter *named, tamis_error *err) {
    fetching f = {.rf = tamis__redis_of(named), .memory = &named->allocator};
    tamis_error ignored = TAMIS_ERROR_INIT;
    if (run(&f, REQUEST_TYPE, &ignored) != TAMIS_OK || !f.is_filter)
        return TAMIS_E_NOT_FOUND;
    (void)run(&f, REQUEST_SIZE, &ignored); /* the user may not be allowed to; then the reply decides */
    if (f.size > DUMP_MAX)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "redis %s: %s: a filter of RedisBloom of %" PRId64
                           " bytes, too many for a reply; save the database (redis-cli --rdb FILE), and give "
                           "FILE#KEY",
                           f.rf->redis->endpoint.shown, f.rf->uri->shown_name, f.size);
    const tamis_status status = run(&f, REQUEST_DUMP, err);
    if (status == TAMIS_OK && !f.fetched)
        return TAMIS_E_NOT_FOUND;
    if (status == TAMIS_OK)
        *filter = f.fetched;
    else
        tamis_filter_free(f.fetched);
    return status;
}

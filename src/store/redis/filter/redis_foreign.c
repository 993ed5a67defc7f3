/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Filters of RedisBloom and of the Redis module on a server: they are Redis keys of a module's type. A copy in
 * memory is looked up.
 *
 *     TYPE key          ->  a type of format/module_value.c; another one: no filter
 *     MEMORY USAGE key  ->  a reply that would be too large is not requested
 *     DUMP key          ->  the filter at one instant, which format/redisbloom_file.c decodes
 *
 * Why DUMP and not BF.SCANDUMP: a cuckoo filter may move entries between two chunks of a scan. An entry may
 * move from a chunk that is still to come to one that was sent, and the copy would lack it. Filters of other
 * kinds and windows have no chunks.
 *
 * Why a copy and not BF.MEXISTS: the copy needs one reply, however many keys are looked up, and no command of
 * the module. Keys that are added to the server later are not in it. A copy of a window answers for the time
 * of its newest item, as a window in a file does.
 */
#include "store/redis/filter/redis_filter.h"

#include <inttypes.h>

#include "format/module_value.h"

enum { DUMP_MAX = 60 << 20 }; /* bytes; a reply of more than 64 MiB is refused */

enum { REQUEST_TYPE, REQUEST_SIZE, REQUEST_DUMP };

/* A copy while it is made. */
typedef struct foreign_copy {
    const tamis__redis_filter *rf;
    const tamis_allocator *memory;
    int request; /* REQUEST_*: the command that is sent */
    tamis__value_type type;
    int64_t size;         /* bytes, by MEMORY USAGE; 0: unknown */
    tamis_filter *filter; /* the copy; NULL: not yet */
} foreign_copy;

static uint32_t slot_of(void *context, size_t i) {
    const foreign_copy *f = context;
    (void)i;
    return tamis__redis_slot(f->rf->redis, f->rf->name.data, f->rf->name.size);
}

static bool put_command(void *context, size_t i, tamis__connection *conn) {
    const foreign_copy *f = context;
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

static tamis_status accept_dump(foreign_copy *f, const tamis__reply *reply, tamis_error *err) {
    const tamis__encoded_bytes source = {.bytes = (const uint8_t *)reply->text,
                                         .size = reply->size,
                                         .name = f->rf->uri->shown_name,
                                         .stay = false};
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    options.format = TAMIS_FORMAT_REDISBLOOM;
    options.allocator = f->memory;
    if (f->filter || reply->type == TAMIS__REPLY_NIL) /* sent again; or deleted meanwhile */
        return TAMIS_OK;
    if (reply->type != TAMIS__REPLY_STRING)
        return tamis__redis_filter_bad_reply(f->rf, err);
    return tamis__format_decode(&f->filter, &source, &options, err);
}

static tamis_status accept_reply(void *context, size_t i, const tamis__reply *reply, bool resent,
                                 tamis_error *err) {
    foreign_copy *f = context;
    (void)i;
    (void)resent;
    if (f->request == REQUEST_DUMP)
        return accept_dump(f, reply, err);
    if (f->request == REQUEST_SIZE)
        f->size = reply->type == TAMIS__REPLY_INTEGER ? reply->integer : 0;
    else if (reply->type == TAMIS__REPLY_STATUS)
        f->type = tamis__value_type_named(reply->text, reply->size);
    return TAMIS_OK;
}

static tamis_status send_request(foreign_copy *f, int request, tamis_error *err) {
    const tamis__requests requests = {.count = 1,
                                      .context = f,
                                      .put_command = put_command,
                                      .accept_reply = accept_reply,
                                      .what = f->rf->uri->shown_name,
                                      .slot = slot_of};
    f->request = request;
    return tamis__requests_run(f->rf->redis, &requests, NULL, err);
}

tamis_status tamis__redis_fetch_foreign(tamis_filter **filter, const tamis_filter *named, tamis_error *err) {
    foreign_copy f = {.rf = tamis__redis_of(named), .memory = &named->allocator};
    tamis_error ignored = TAMIS_ERROR_INIT;
    if (send_request(&f, REQUEST_TYPE, &ignored) != TAMIS_OK || f.type == TAMIS__VALUE_OTHER)
        return TAMIS_E_NOT_FOUND;
    tamis_status status = tamis__value_type_check(f.type, f.rf->uri->shown_name, err);
    if (status != TAMIS_OK)
        return status;
    /* The user may have no right to it. Then the size of the reply decides. */
    (void)send_request(&f, REQUEST_SIZE, &ignored);
    if (f.size > DUMP_MAX)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "redis %s: %s: a filter of %" PRId64
                           " bytes, too many for a reply; save the database (redis-cli --rdb FILE), and give "
                           "FILE#KEY",
                           f.rf->redis->endpoint.shown, f.rf->uri->shown_name, f.size);
    status = send_request(&f, REQUEST_DUMP, err);
    if (status == TAMIS_OK && !f.filter)
        return TAMIS_E_NOT_FOUND;
    if (status == TAMIS_OK)
        *filter = f.filter;
    else
        tamis_filter_free(f.filter);
    return status;
}

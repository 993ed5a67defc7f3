/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Scripts as requests (redis_run.c):
 *
 *     EVAL text number KEYS... ARGV...
 *
 * Each sending has the text. It is as long as a value of ordinary size. EVALSHA would save it, and would need
 * a second way for a server that was restarted.
 *
 * Invariant: each sending makes its script again. So its maker may put what tells sendings apart into its
 * words.
 */
#include "store/redis/request/redis_scripts.h"

#include "store/redis/request/redis_requests.h"

typedef struct script_run {
    tamis_redis *redis;
    const tamis__scripts *scripts;
} script_run;

static uint32_t script_slot(void *context, size_t i) {
    const script_run *run = context;
    const tamis_key key = run->scripts->slot_key(run->scripts->context, i);

    return tamis__redis_slot(run->redis, key.data, key.size);
}

static bool put_script(void *context, size_t i, tamis__connection *conn) {
    const script_run *run = context;
    tamis__script script = {0};

    run->scripts->make(run->scripts->context, i, &script);
    tamis__connection_put_command(conn, 3 + script.key_count + script.argument_count);
    tamis__connection_put_text(conn, "EVAL");
    tamis__connection_put(conn, script.text.data, script.text.size);
    tamis__connection_put_number(conn, (int64_t)script.key_count);
    for (size_t k = 0; k < script.key_count; k++)
        tamis__connection_put(conn, script.keys[k].data, script.keys[k].size);
    for (size_t k = 0; k < script.argument_count; k++)
        tamis__connection_put(conn, script.arguments[k].data, script.arguments[k].size);
    return true;
}

static tamis_status accept_script(void *context, size_t i, const tamis__reply *reply, bool resent,
                                  tamis_error *err) {
    const script_run *run = context;

    (void)resent;
    return run->scripts->accept_reply(run->scripts->context, i, reply, err);
}

tamis_status tamis__scripts_run(tamis_redis *redis, const tamis__scripts *scripts, tamis_error *err) {
    script_run run = {redis, scripts};
    bool unconfirmed = false;
    const tamis__requests requests = {.count = scripts->count,
                                      .context = &run,
                                      .put_command = put_script,
                                      .accept_reply = accept_script,
                                      .what = scripts->what,
                                      .slot = script_slot,
                                      .unconfirmed = scripts->confirms ? &unconfirmed : NULL};
    const tamis_status status = tamis__requests_run(redis, &requests, NULL, err);

    if (status == TAMIS_OK && unconfirmed)
        return tamis__fail(err, TAMIS_E_IO, 0,
                           "redis %s: %s: a connection was lost before the replicas confirmed it; try again",
                           redis->endpoint.shown, scripts->what);
    return status;
}

tamis_status tamis__scripts_open(tamis_redis **redis, const char *uri, uint32_t timeout_ms,
                                 const tamis_allocator *allocator, tamis_error *err) {
    return tamis__redis_create_within(redis, uri, timeout_ms, allocator, err);
}

tamis_status tamis__scripts_reach(tamis_redis *redis, tamis_error *err) {
    return tamis__redis_reach(redis, err);
}

const char *tamis__scripts_server(const tamis_redis *redis) {
    return redis->endpoint.shown;
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A single command and its reply, as a batch of one request (redis_run.c). So it has the same routes, repeats
 * and errors as a batch.
 *
 *     words --> the node of `slot` --> integer, or text in the caller's buffer; nil and OK: neither
 *
 * A command may wait for replicas, until they have all that the server had when it carried out the command
 * (`waits_for_replicas`). So a command that reads confirms every write before it. If the connection is lost
 * before that, the command is sent again, at most REPEATS_MAX times: it changes nothing.
 *
 * A reply of another type comes from something that is not the expected server, such as a proxy or an old
 * Redis. It is an error that names the command.
 */
#include <string.h>

#include "store/file/file_error.h"
#include "store/redis/request/redis_requests.h"

enum { REPEATS_MAX = 64 /* max. runs that lose their connection before the replicas confirm */ };

tamis_status tamis__redis_bad_reply(const tamis_redis *redis, const char *what, tamis_error *err) {
    return tamis__fail(
        err, TAMIS_E_IO, 0,
        "redis %s: %s: sent an answer that is not a reply to the command; is it a Redis of version 6.2 or "
        "later?",
        redis->endpoint.shown, what);
}

static uint32_t slot(void *context, size_t i) {
    const tamis__command *command = context;
    (void)i;
    return command->slot;
}

static bool put_command(void *context, size_t i, tamis__connection *conn) {
    const tamis__command *command = context;
    (void)i;
    tamis__connection_put_command(conn, command->count);
    for (size_t j = 0; j < command->count; j++)
        tamis__connection_put(conn, command->words[j].data, command->words[j].size);
    return true;
}

static tamis_status accept_reply(void *context, size_t i, const tamis__reply *reply, bool resent,
                                 tamis_error *err) {
    tamis__command *command = context;
    (void)i;
    (void)resent;
    switch (reply->type) {
    case TAMIS__REPLY_INTEGER:
        command->integer = reply->integer;
        return TAMIS_OK;
    case TAMIS__REPLY_STRING:
        if (!command->to || reply->size > command->buffer_size)
            break;
        memcpy(command->to, reply->text, reply->size);
        command->size = reply->size;
        return TAMIS_OK;
    case TAMIS__REPLY_STATUS:
    case TAMIS__REPLY_NIL:
        return TAMIS_OK;
    case TAMIS__REPLY_ARRAY:
    case TAMIS__REPLY_ERROR:
        break;
    }
    return tamis__redis_bad_reply(command->redis, command->what, err);
}

tamis_status tamis__command_run(tamis__command *command, tamis_error *err) {
    bool unconfirmed;
    const tamis__requests requests = {.count = 1,
                                      .context = command,
                                      .put_command = put_command,
                                      .accept_reply = accept_reply,
                                      .what = command->what,
                                      .slot = slot,
                                      .unconfirmed = command->waits_for_replicas ? &unconfirmed : NULL};
    tamis_status status;
    size_t repeats = 0;
    do {
        unconfirmed = false;
        command->integer = -1;
        command->size = 0;
        status = tamis__requests_run(command->redis, &requests, NULL, err);
    } while (status == TAMIS_OK && unconfirmed && ++repeats < REPEATS_MAX);
    if (status == TAMIS_OK && unconfirmed)
        return tamis__fail(err, TAMIS_E_IO, 0,
                           "redis %s: %s: lost %d connections before the replicas confirmed it; check server "
                           "and network",
                           command->redis->endpoint.shown, tamis__show(command->what).text, REPEATS_MAX);
    return status;
}

tamis_status tamis__redis_info(tamis_redis *redis, const char *what, const char *section,
                               char info[TAMIS__REDIS_INFO], tamis_error *err) {
    const tamis_key words[] = {tamis__redis_word("INFO"), tamis__redis_word(section)};
    tamis__command command = {.redis = redis,
                              .what = what,
                              .words = words,
                              .count = 2,
                              .to = info,
                              .buffer_size = TAMIS__REDIS_INFO - 1};
    tamis_error why = TAMIS_ERROR_INIT;
    const tamis_status status = tamis__command_run(&command, &why);

    info[status == TAMIS_OK ? command.size : 0] = '\0';
    if (status == TAMIS_E_REFUSED)
        return TAMIS_OK;
    if (status != TAMIS_OK && err)
        *err = why;
    return status;
}

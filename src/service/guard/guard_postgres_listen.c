/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys of new and changed rows, by LISTEN and NOTIFY. A trigger notifies a channel of the key, and the server sends that
 * after the commit. It keeps nothing for a session that is not connected.
 *
 *     CREATE TRIGGER ... AFTER INSERT OR ... EXECUTE FUNCTION ...  pg_notify('channel', NEW.id::text)
 *     a session that listens                                      waits for its socket, PQnotifies
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"
#include "service/guard/guard_postgres.h"

enum { NS_PER_MS = 1000000 };

static tamis_status start_listening(postgres_session *session, tamis_error *err) {
    const char *channel = session->sql->options.channel;
    char *name = PQescapeIdentifier(session->conn, channel, strlen(channel));
    char *text = name ? tamis__guard_sql_wrap("LISTEN", name, "") : NULL;

    PQfreemem(name);
    if (!text)
        return tamis__fail_nomem(err, "channel of PostgreSQL", strlen(channel));
    const tamis_status status = tamis__postgres_run(session, "notify", text, err);
    free(text);
    session->is_listening = status == TAMIS_OK;
    return status;
}

/* Passes on the keys that have arrived. *count: their number. */
static tamis_status add_notified(postgres_session *session, guard_key_batch *batch, size_t *count,
                                 tamis_error *err) {
    tamis_status status = TAMIS_OK;
    PGnotify *notified;

    *count = 0;
    while (status == TAMIS_OK && (notified = PQnotifies(session->conn))) {
        status = tamis__guard_key_batch_add(batch, notified->extra, strlen(notified->extra), err);
        PQfreemem(notified);
        ++*count;
    }
    return status == TAMIS_OK ? tamis__guard_key_batch_flush(batch, err) : status;
}

static tamis_status wait_for_keys(postgres_session *session, guard_key_batch *batch, tamis_error *err) {
    for (;;) {
        size_t count;
        const tamis_status status = add_notified(session, batch, &count, err);
        if (status != TAMIS_OK || count > 0 || !tamis__postgres_poll(session, POLLIN))
            return status;
        if (!PQconsumeInput(session->conn))
            return tamis__postgres_fail_connection(session, "notify", err);
    }
}

tamis_status tamis__postgres_listen(void *context, uint32_t timeout_ms, tamis_guard_scan *scan,
                                    tamis_error *err) {
    postgres_session *session = context;
    guard_key_batch *batch = NULL;

    session->timeout_ms = timeout_ms;
    session->deadline = tamis__now_ns() + (uint64_t)timeout_ms * NS_PER_MS;
    if (!session->is_listening)
        return start_listening(session, err);
    tamis_status status = tamis__guard_key_batch_create(&batch, scan, err);
    if (status == TAMIS_OK)
        status = wait_for_keys(session, batch, err);
    tamis__guard_key_batch_free(batch);
    return status;
}

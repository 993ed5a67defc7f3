/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A source of PostgreSQL.
 *
 * A session is one connection, whose transactions only read. Queries of rows are transactions of their own.
 * A scan is one transaction, whose rows arrive one by one (PQsetSingleRowMode): no result is ever in memory
 * as a whole.
 *
 * New keys. A session remembers the bound of its next scan as text, not the highest value. The server
 * computes it before the keys are read. Rows that are committed between the two are read now and again by the
 * next scan; none is left out.
 *
 * A text that is not a value of the key's type, as "abc" for a number, has no row. The server reports it like
 * an error of the query. Statement tamis_key converts the text alone, which shows the two apart.
 */
#include "service/guard/guard_postgres.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"

enum { NS_PER_MS = 1000000 };

/* ---- connecting ---- */

static void set_limit(postgres_session *session, uint32_t timeout_ms) {
    session->timeout_ms = timeout_ms;
    session->deadline = tamis__now_ns() + (uint64_t)timeout_ms * NS_PER_MS;
}

/* Raises the server's time limit of a statement. A shorter limit is kept by this side alone: changing it
 * would cost a round trip for each row. */
static tamis_status raise_server_limit(postgres_session *session, uint32_t timeout_ms, tamis_error *err) {
    char text[80];

    if (timeout_ms <= session->server_ms)
        return TAMIS_OK;
    const unsigned limit = timeout_ms < INT32_MAX ? timeout_ms : INT32_MAX;
    snprintf(text, sizeof text, "SET statement_timeout = %u", limit);
    const tamis_status status = tamis__postgres_run(session, "row", text, err);
    if (status == TAMIS_OK)
        session->server_ms = timeout_ms;
    return status;
}

static void disconnect(void *context) {
    postgres_session *session = context;
    const tamis_allocator allocator = session->sql->allocator;

    PQfinish(session->conn);
    free(session->bound);
    tamis__free(&allocator, session, sizeof *session);
}

/* A transaction that stays open would have all later queries see one moment, and end with the first error. */
static tamis_status run_init(postgres_session *session, const char *init, tamis_error *err) {
    const tamis_status status = tamis__postgres_run(session, "init", init, err);

    if (status != TAMIS_OK || PQtransactionStatus(session->conn) == PQTRANS_IDLE)
        return status;
    return tamis__postgres_fail(TAMIS_E_REFUSED, "init", "leaves a transaction open; end it with COMMIT",
                                err);
}

static tamis_status open_session(postgres_session *session, tamis_error *err) {
    const char *init = session->sql->options.init;
    tamis_status status = tamis__postgres_connect(session, err);

    if (status == TAMIS_OK)
        status = tamis__postgres_run(session, "connect", "SET datestyle = 'ISO'", err);
    if (status == TAMIS_OK && init)
        status = run_init(session, init, err);
    if (status == TAMIS_OK)
        status = tamis__postgres_run(session, "connect", "SET default_transaction_read_only = on", err);
    if (status == TAMIS_OK)
        status = raise_server_limit(session, session->timeout_ms, err);
    return status == TAMIS_OK ? tamis__postgres_prepare(session, err) : status;
}

static tamis_status connect_session(void *context, uint32_t timeout_ms, void **session, tamis_error *err) {
    const guard_sql *sql = context;
    postgres_session *made = tamis__alloc(&sql->allocator, sizeof *made, _Alignof(postgres_session));

    if (!made)
        return tamis__fail_nomem(err, "session of PostgreSQL", sizeof *made);
    made->sql = sql;
    set_limit(made, timeout_ms);
    tamis_status status = tamis__random(&made->number, sizeof made->number, "session of PostgreSQL", err);
    if (status == TAMIS_OK)
        status = open_session(made, err);
    if (status != TAMIS_OK) {
        disconnect(made);
        return status;
    }
    *session = made;
    return TAMIS_OK;
}

/* ---- rows ---- */

/* Copies a key as a parameter. Returns false if no row can have it: a text has no NUL. */
static bool make_parameter(postgres_session *session, tamis_key key, postgres_parameter *parameter) {
    const bool is_binary = session->key_type == POSTGRES_BYTEA;

    if (key.size > TAMIS_GUARD_KEY_MAX || (!is_binary && key.size && memchr(key.data, 0, key.size)))
        return false;
    if (key.size)
        memcpy(session->key, key.data, key.size);
    session->key[key.size] = 0;
    *parameter = (postgres_parameter){session->key, key.size, is_binary};
    return true;
}

/* Passes on the value, if the key is spelled as the server prints it. */
static tamis_status set_row(const PGresult *result, tamis_key key, tamis_guard_row *row, tamis_error *err) {
    size_t size = 0;
    void *owned = NULL;
    const void *spelling = tamis__postgres_cell(result, PQnfields(result) - 1, &size, &owned);
    const bool is_equal =
        spelling && size == key.size && (size == 0 || memcmp(spelling, key.data, size) == 0);

    PQfreemem(owned);
    if (!is_equal)
        return TAMIS_OK;
    const void *value = tamis__postgres_cell(result, 0, &size, &owned);
    if (!value && !PQgetisnull(result, 0, 0))
        return tamis__fail_nomem(err, "value of a row", (uint64_t)PQgetlength(result, 0, 0));
    const tamis_status status = tamis_guard_row_set(row, value, size, err);
    PQfreemem(owned);
    return status;
}

/* Class 22 is that of errors of data. */
static bool is_data_error(const postgres_session *session) {
    return strncmp(session->sqlstate, "22", 2) == 0;
}

/* True if the server refuses the text of a key because of its type or its encoding. */
static bool is_no_value(postgres_session *session, const postgres_parameter *key) {
    PGresult *result = NULL;
    const tamis_status status = tamis__postgres_result(
        session, "row", tamis__postgres_send(session, POSTGRES_KEY, key), &result, NULL);

    PQclear(result);
    return status == TAMIS_E_REFUSED && is_data_error(session);
}

static tamis_status load_row(postgres_session *session, tamis_key key, tamis_guard_row *row,
                             tamis_error *err) {
    postgres_parameter parameter;
    PGresult *result = NULL;

    if (!make_parameter(session, key, &parameter))
        return TAMIS_OK;
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = tamis__postgres_result(
        session, "row", tamis__postgres_send(session, POSTGRES_ROW, &parameter), &result, &why);
    if (status == TAMIS_OK) {
        if (PQntuples(result) > 0)
            status = set_row(result, key, row, err);
        PQclear(result);
        return status;
    }
    if (status == TAMIS_E_REFUSED && is_data_error(session) && is_no_value(session, &parameter))
        return TAMIS_OK;
    return tamis__fail(err, status, why.sys_errno, "%s", why.text);
}

static tamis_status load(void *context, tamis_key key, uint32_t timeout_ms, tamis_guard_row *row,
                         tamis_error *err) {
    postgres_session *session = context;

    set_limit(session, timeout_ms);
    tamis_status status = raise_server_limit(session, timeout_ms, err);
    if (status == TAMIS_OK)
        status = load_row(session, key, row, err);
    return status;
}

/* ---- scans ---- */

static tamis_status add_key(postgres_session *session, const char *purpose, const PGresult *result,
                            guard_key_batch *batch, tamis_error *err) {
    const ExecStatusType type = PQresultStatus(result);
    size_t size = 0;
    void *owned = NULL;

    if (type == PGRES_TUPLES_OK)
        return TAMIS_OK; /* behind the last row */
    if (type != PGRES_SINGLE_TUPLE)
        return tamis__postgres_fail_result(session, purpose, result, err);
    const void *key = tamis__postgres_cell(result, 0, &size, &owned);
    if (!key)
        return PQgetisnull(result, 0, 0) ? TAMIS_OK : tamis__fail_nomem(err, "key of a scan", size);
    const tamis_status status = tamis__guard_key_batch_add(batch, key, size, err);
    PQfreemem(owned);
    return status;
}

/* Ends a statement that failed, so that the session can go on. `is_row`: the failure is not the server's,
 * which still sends rows. Returns `status`, or why the session cannot go on. */
static tamis_status end_early(postgres_session *session, const char *purpose, bool is_row,
                              tamis_status status, tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT;
    const tamis_status ended =
        is_row ? tamis__postgres_stop(session, purpose, &why) : tamis__postgres_drain(session, purpose, &why);

    return ended == TAMIS_OK ? status : tamis__fail(err, ended, why.sys_errno, "%s", why.text);
}

/* Passes on the first column of all rows of a statement that was sent. */
static tamis_status add_keys(postgres_session *session, const char *purpose, guard_key_batch *batch,
                             tamis_error *err) {
    PQsetSingleRowMode(session->conn);
    for (;;) {
        tamis_status status = tamis__postgres_wait(session, purpose, err);
        if (status != TAMIS_OK)
            return status;
        PGresult *result = PQgetResult(session->conn);
        if (!result)
            return tamis__guard_key_batch_flush(batch, err);
        const bool is_row = PQresultStatus(result) == PGRES_SINGLE_TUPLE;
        status = add_key(session, purpose, result, batch, err);
        PQclear(result);
        if (status != TAMIS_OK)
            return end_early(session, purpose, is_row, status, err);
    }
}

/* Computes the bound of the next scan of new keys. *next stays NULL if there is no row. */
static tamis_status compute_bound(postgres_session *session, char **next, tamis_error *err) {
    const postgres_parameter bound = {.text = session->bound ? session->bound : session->min_bound};
    PGresult *result = NULL;
    tamis_status status = tamis__postgres_result(
        session, "new_keys", tamis__postgres_send(session, POSTGRES_NEXT_BOUND, &bound), &result, err);

    if (status != TAMIS_OK)
        return status;
    if (PQntuples(result) == 1 && !PQgetisnull(result, 0, 0)) {
        const char *text = PQgetvalue(result, 0, 0);
        if (strcmp(text, "Infinity") == 0 || strcmp(text, "NaN") == 0)
            status = tamis__postgres_fail(TAMIS_E_REFUSED, "new_keys",
                                          "the second column has Infinity or NaN, above which "
                                          "no new row can be",
                                          err);
        else if (!(*next = strdup(text)))
            status = tamis__fail_nomem(err, "bound of new keys", (uint64_t)PQgetlength(result, 0, 0));
    }
    PQclear(result);
    return status;
}

static tamis_status scan_in_transaction(postgres_session *session, bool is_new, char **next,
                                        guard_key_batch *batch, tamis_error *err) {
    const char *purpose = is_new ? "new_keys" : "all_keys";
    const postgres_parameter bound = {.text = session->bound ? session->bound : session->min_bound};
    tamis_status status = TAMIS_OK;

    if (session->sql->options.new_keys)
        status = compute_bound(session, next, err);
    if (status != TAMIS_OK)
        return status;
    if (!tamis__postgres_send(session, is_new ? POSTGRES_NEW_KEYS : POSTGRES_KEYS, is_new ? &bound : NULL))
        return tamis__postgres_fail_connection(session, purpose, err);
    return add_keys(session, purpose, batch, err);
}

/* Returns `status`, or why the session cannot go on. */
static tamis_status roll_back(postgres_session *session, const char *purpose, tamis_status status,
                              tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT;

    if (tamis__postgres_run(session, purpose, "ROLLBACK", &why) == TAMIS_OK)
        return status;
    return tamis__fail(err, TAMIS_E_IO, why.sys_errno, "%s", why.text);
}

static tamis_status scan(postgres_session *session, bool is_new, tamis_guard_scan *into, tamis_error *err) {
    const char *purpose = is_new ? "new_keys" : "all_keys";
    guard_key_batch *batch = NULL;
    char *next = NULL;
    tamis_status status = tamis__guard_key_batch_create(&batch, into, err);

    if (status != TAMIS_OK)
        return status;
    session->deadline = 0;
    status = tamis__postgres_run(session, purpose, "BEGIN READ ONLY; SET LOCAL statement_timeout = 0", err);
    if (status == TAMIS_OK)
        status = scan_in_transaction(session, is_new, &next, batch, err);
    if (status == TAMIS_OK)
        status = tamis__postgres_run(session, purpose, "COMMIT", err);
    else if (status != TAMIS_E_IO && status != TAMIS_E_TIMEOUT)
        status = roll_back(session, purpose, status, err);
    tamis__guard_key_batch_free(batch);
    if (status != TAMIS_OK || !next) {
        free(next);
        return status;
    }
    free(session->bound);
    session->bound = next;
    return TAMIS_OK;
}

static tamis_status scan_all(void *session, tamis_guard_scan *into, tamis_error *err) {
    return scan(session, false, into, err);
}

static tamis_status scan_new(void *session, tamis_guard_scan *into, tamis_error *err) {
    return scan(session, true, into, err);
}

/* ---- the source ---- */

tamis_status tamis_guard_postgres_create(tamis_guard_source *source, const tamis_guard_sql *sql,
                                         tamis_error *err) {
    static const tamis_guard_source functions = {.connect = connect_session,
                                                 .disconnect = disconnect,
                                                 .load = load,
                                                 .scan = scan_all,
                                                 .scan_new = scan_new,
                                                 .listen = tamis__postgres_listen};
    void *context = NULL;
    tamis_status status = tamis__guard_sql_create(&context, sizeof(guard_sql), source, sql, err);

    if (status != TAMIS_OK)
        return status;
    status = tamis__postgres_check_string(((guard_sql *)context)->options.database, err);
    if (status != TAMIS_OK) {
        tamis__guard_sql_free(context);
        return status;
    }
    tamis__guard_sql_fill(source, context, tamis__guard_sql_free, &functions);
    return TAMIS_OK;
}

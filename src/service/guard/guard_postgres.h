/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_GUARD_GUARD_POSTGRES_H
#define TAMIS_SERVICE_GUARD_GUARD_POSTGRES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpq-fe.h>

#include "service/guard/guard_sql.h"

/* Names of prepared statements. That of a session has its number behind. */
#define POSTGRES_CHECK      "tamis_check"
#define POSTGRES_ROW        "tamis_row"
#define POSTGRES_KEY        "tamis_key"
#define POSTGRES_KEYS       "tamis_keys"
#define POSTGRES_NEW_KEYS   "tamis_new_keys"
#define POSTGRES_NEXT_BOUND "tamis_next_bound"

/* Types by their numbers in pg_type, which never change. */
enum {
    POSTGRES_BYTEA = 17,
    POSTGRES_INT8 = 20,
    POSTGRES_INT2 = 21,
    POSTGRES_INT4 = 23,
    POSTGRES_FLOAT4 = 700,
    POSTGRES_FLOAT8 = 701,
    POSTGRES_DATE = 1082,
    POSTGRES_TIMESTAMP = 1114,
    POSTGRES_TIMESTAMPTZ = 1184,
    POSTGRES_NUMERIC = 1700
};

/* A session: one connection with prepared statements. */
typedef struct postgres_session {
    const guard_sql *sql;
    PGconn *conn;
    uint64_t number;       /* random */
    uint64_t deadline;     /* a time as in tamis__now_ns; 0: none */
    uint32_t timeout_ms;   /* of the call, for messages */
    uint32_t server_ms;    /* statement_timeout of the connection */
    Oid key_type;          /* of the parameter of `row` */
    char *bound;           /* of the next scan of new keys; owned, from malloc */
    const char *min_bound; /* of the first scan of new keys */
    char sqlstate[6];      /* of the last error; empty: none */
    bool is_listening;     /* to the channel */
    char key[TAMIS_GUARD_KEY_MAX + 1];
} postgres_session;

/* One parameter, or none, of a prepared statement. */
typedef struct postgres_parameter {
    const char *text;
    size_t size;
    bool is_binary;
} postgres_parameter;

/* Fills *err. `purpose` is a field of tamis_guard_sql. */
tamis_status tamis__postgres_fail(tamis_status status, const char *purpose, const char *reason,
                                  tamis_error *err);
/* Fills *err with the reason of a result that failed, and session->sqlstate. */
tamis_status tamis__postgres_fail_result(postgres_session *session, const char *purpose,
                                         const PGresult *result, tamis_error *err);
/* The same for a connection that failed. */
tamis_status tamis__postgres_fail_connection(const postgres_session *session, const char *purpose,
                                             tamis_error *err);

/* Checks a connection string, without its text in the message. TAMIS_E_INVALID. */
tamis_status tamis__postgres_check_string(const char *database, tamis_error *err);
/* Connects until the deadline. */
tamis_status tamis__postgres_connect(postgres_session *session, tamis_error *err);

/* Polls the socket up to the deadline. False: it has passed. */
bool tamis__postgres_poll(const postgres_session *session, short events);
/* Waits until PQgetResult does not block. TAMIS_E_TIMEOUT at the deadline, when the query is cancelled;
 * TAMIS_E_IO. */
tamis_status tamis__postgres_wait(postgres_session *session, const char *purpose, tamis_error *err);
/* Waits for the result of a query that was sent. `is_sent` is the result of the function that sent it. The
 * caller owns *result until PQclear. */
tamis_status tamis__postgres_result(postgres_session *session, const char *purpose, int is_sent,
                                    PGresult **result, tamis_error *err);
/* Carries out statements without a result. */
tamis_status tamis__postgres_run(postgres_session *session, const char *purpose, const char *text,
                                 tamis_error *err);
typedef struct postgres_name {
    char text[40];
} postgres_name;
/* Returns the name of a statement in this session. A pooler that gives sessions each other's connections must not
 * run the statement of another keyspace. */
postgres_name tamis__postgres_name(const postgres_session *session, const char *name);
/* Sends a prepared statement; returns 0 if that fails. parameter: NULL if there is none. */
int tamis__postgres_send(postgres_session *session, const char *name, const postgres_parameter *parameter);
/* Drops the results of the query in progress. The connection can be used again after TAMIS_OK. */
tamis_status tamis__postgres_drain(postgres_session *session, const char *purpose, tamis_error *err);
/* The same, and cancels the query first. */
tamis_status tamis__postgres_stop(postgres_session *session, const char *purpose, tamis_error *err);

/* Prepares statements of the session, and checks their parameters and columns. */
tamis_status tamis__postgres_prepare(postgres_session *session, tamis_error *err);

/* The function `listen` of the source. */
tamis_status tamis__postgres_listen(void *session, uint32_t timeout_ms, tamis_guard_scan *scan,
                                    tamis_error *err);

/* Returns the bytes of a cell, which are valid until PQclear. *owned: NULL, or to be freed by PQfreemem.
 * Returns NULL if memory is short, or the cell is NULL. */
const void *tamis__postgres_cell(const PGresult *result, int column, size_t *size, void **owned);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_GUARD_GUARD_SQLITE_H
#define TAMIS_SERVICE_GUARD_GUARD_SQLITE_H

#include <stdbool.h>
#include <stdint.h>

#include <pthread.h>
#include <sqlite3.h>

#include "service/guard/guard_sql.h"

/* A session: one handle of SQLite with prepared statements. */
typedef struct sqlite_session {
    const guard_sql *sql;
    sqlite3 *db;
    sqlite3_stmt *row, *keys, *new_keys; /* of the options; NULL: not given */
    sqlite3_stmt *next_bound;            /* see prepare_next_bound */
    sqlite3_value *bound;                /* of the next scan of new keys; NULL: all keys */
    sqlite3_stmt *spelling;              /* see tamis__sqlite_is_spelling; NULL: any spelling */
    uint64_t deadline;                   /* a time as in tamis__now_ns; 0: none */
    uint64_t busy_since;                 /* when the current wait for a lock began */
    uint32_t timeout_ms;
} sqlite_session;

/* Fills *err with SQLite's reason for `code`. `purpose` is a field of tamis_guard_sql. */
tamis_status tamis__sqlite_fail(const sqlite_session *session, const char *purpose, int code,
                                tamis_error *err);

/* Steps a statement, and waits for locks until the deadline. Returns SQLITE_ROW, SQLITE_DONE or an error. */
int tamis__sqlite_step(sqlite_session *session, sqlite3_stmt *statement);

/* Passes the current row of session->row to tamis_guard_row_set. */
tamis_status tamis__sqlite_set_row(const sqlite_session *session, tamis_guard_row *row, tamis_error *err);
/* Returns TAMIS_E_REFUSED if two columns of the row have one name. */
tamis_status tamis__sqlite_check_names(const sqlite_session *session, tamis_error *err);

/* Prepares session->spelling if the first column of session->keys has a numeric type. Returns a code of
 * SQLite. */
int tamis__sqlite_prepare_spelling(sqlite_session *session);
/* Returns false if the key spells a number otherwise than SQLite prints it, as "017" or "1e1". A numeric
 * column compares equal to all spellings; the filter and the caches have one key for each. */
bool tamis__sqlite_is_spelling(sqlite_session *session, tamis_key key);

#endif

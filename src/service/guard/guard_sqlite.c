/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A source of SQLite.
 *
 *     source    options, and a handle that ran `init`: a database in memory lives as long as this handle
 *     session   a handle that only reads, with one prepared statement for each query
 *
 * Time limits. The progress handler compares the clock with the deadline every 1,000 instructions of the
 * virtual machine, some 50 microseconds. The busy handler does so while another program has a lock. SQLite
 * does not call it for handles that share a cache, so tamis__sqlite_step repeats these steps.
 *
 * New keys. A session remembers the bound of its next scan, not the highest value. The bound is computed in
 * SQL, by a query over `new_keys`:
 *
 *     bound = max(second column) - overlap                            number
 *             the earlier of max(second column) and now, less overlap   text
 *
 * It runs before the keys are read. Rows that are committed between the two are read now and again by the
 * next scan; none is left out.
 */
#include "service/guard/guard_sqlite.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/memory.h"
#include "base/system.h"

enum { PROGRESS_STEPS = 1000, NS_PER_MS = 1000000, LOCK_PAUSE_MS = 1 };

typedef struct sqlite_source {
    guard_sql sql; /* first, for tamis_guard_source_free */
    pthread_mutex_t mutex;
    sqlite3 *keeper; /* handle that ran `init`; under `mutex` */
} sqlite_source;

/* ---- errors and time limits ---- */

static tamis_status status_of(int code) {
    switch (code & 0xff) {
    case SQLITE_INTERRUPT:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return TAMIS_E_TIMEOUT;
    case SQLITE_NOMEM:
        return TAMIS_E_NOMEM;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_PERM:
    case SQLITE_FULL:
    case SQLITE_PROTOCOL:
        return TAMIS_E_IO;
    default:
        return TAMIS_E_REFUSED;
    }
}

/* Parameters of a URI are left out of messages: some extensions expect a password there. */
static tamis_status fail_with(const sqlite_session *session, const char *purpose, tamis_status status,
                              const char *reason, tamis_error *err) {
    const char *given = session->sql->options.database;
    const char *database = strstr(given, "mode=memory") ? "memory" : given;

    return tamis__fail(err, status, 0, "SQLite %.*s: %s: %s", (int)strcspn(database, "?"), database, purpose,
                       reason);
}

tamis_status tamis__sqlite_fail(const sqlite_session *session, const char *purpose, int code,
                                tamis_error *err) {
    const tamis_status status = status_of(code);

    if ((code & 0xff) == SQLITE_CANTOPEN)
        return fail_with(session, purpose, status,
                         "unable to open the file; give a database that exists, with its tables", err);
    if ((code & 0xff) == SQLITE_READONLY && session->db &&
        sqlite3_extended_errcode(session->db) != SQLITE_READONLY)
        return fail_with(session, purpose, TAMIS_E_IO,
                         "the database needs a recovery, or files beside it, which only a program that may "
                         "write can make; open it with such a program",
                         err);
    if (status != TAMIS_E_TIMEOUT)
        return fail_with(session, purpose, status,
                         session->db && sqlite3_errcode(session->db) == (code & 0xff)
                             ? sqlite3_errmsg(session->db)
                             : sqlite3_errstr(code),
                         err);
    char reason[160];
    sqlite3_snprintf(sizeof reason, reason, "%s within %u ms; %s",
                     (code & 0xff) == SQLITE_INTERRUPT ? "no answer" : "another program has the lock",
                     session->timeout_ms, "make the query faster, or raise the time limit");
    return fail_with(session, purpose, status, reason, err);
}

static int check_deadline(void *context) {
    const sqlite_session *session = context;

    return session->deadline && tamis__now_ns() > session->deadline;
}

/* Returns true after a pause, or false if the time for the lock is over. */
static bool wait_for_lock(sqlite_session *session, bool is_first) {
    const uint64_t now = tamis__now_ns();

    if (is_first)
        session->busy_since = now;
    const uint64_t limit = session->deadline
                               ? session->deadline
                               : session->busy_since + (uint64_t)session->timeout_ms * NS_PER_MS;
    if (now >= limit)
        return false;
    sqlite3_sleep(LOCK_PAUSE_MS);
    return true;
}

static int wait_while_busy(void *context, int count) {
    return wait_for_lock(context, count == 0);
}

int tamis__sqlite_step(sqlite_session *session, sqlite3_stmt *statement) {
    for (bool is_first = true;; is_first = false) {
        const int code = sqlite3_step(statement);
        if ((code & 0xff) != SQLITE_LOCKED || !wait_for_lock(session, is_first))
            return code;
        sqlite3_reset(statement);
    }
}

/* ---- connecting ---- */

/* Runs `init` once, in a handle that stays open. */
static tamis_status run_init(sqlite_source *source, uint32_t timeout_ms, tamis_error *err) {
    sqlite_session session = {.sql = &source->sql, .timeout_ms = timeout_ms};
    int code = sqlite3_open_v2(source->sql.options.database, &session.db,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_busy_timeout(session.db, (int)(timeout_ms < INT32_MAX ? timeout_ms : INT32_MAX));
    if (code == SQLITE_OK)
        code = sqlite3_exec(session.db, source->sql.options.init, NULL, NULL, NULL);
    if (code == SQLITE_OK) {
        source->keeper = session.db;
        return TAMIS_OK;
    }
    const tamis_status status = tamis__sqlite_fail(&session, "init", code, err);
    sqlite3_close_v2(session.db);
    return status;
}

static tamis_status prepare(const sqlite_session *session, const char *purpose, const char *text,
                            int parameters, int columns, sqlite3_stmt **statement, tamis_error *err) {
    const char *rest = NULL;
    sqlite3_stmt *more = NULL;
    int code = sqlite3_prepare_v3(session->db, text, -1, SQLITE_PREPARE_PERSISTENT, statement, &rest);

    if (code == SQLITE_OK)
        code = sqlite3_prepare_v3(session->db, rest, -1, 0, &more, NULL);
    const bool has_more = more != NULL;
    sqlite3_finalize(more);
    if (code != SQLITE_OK && !*statement)
        return tamis__sqlite_fail(session, purpose, code, err);
    if (has_more || code != SQLITE_OK || !*statement)
        return fail_with(session, purpose, TAMIS_E_REFUSED, "expected exactly one statement", err);
    if (!sqlite3_stmt_readonly(*statement)) /* of a database in memory: others are opened for reading */
        return fail_with(session, purpose, TAMIS_E_REFUSED, "writes; expected a SELECT", err);
    if (sqlite3_bind_parameter_count(*statement) == parameters && sqlite3_column_count(*statement) >= columns)
        return TAMIS_OK;
    char reason[160];
    sqlite3_snprintf(sizeof reason, reason,
                     "has %d parameters and %d columns; expected %s and %d column%s or more",
                     sqlite3_bind_parameter_count(*statement), sqlite3_column_count(*statement),
                     parameters ? "one parameter, ?1," : "no parameter", columns, columns > 1 ? "s" : "");
    return fail_with(session, purpose, TAMIS_E_REFUSED, reason, err);
}

/* Prepares the query for the next bound. Results: the highest value, and the bound. */
static tamis_status prepare_next_bound(sqlite_session *session, tamis_error *err) {
    char *text = tamis__guard_sql_wrap("WITH q(tamis_key, tamis_rising) AS (", session->sql->options.new_keys,
                                       ") SELECT m, CASE typeof(m) WHEN 'text'"
                                       " THEN datetime(min(datetime(m), datetime('now')), ?2)"
                                       " WHEN 'blob' THEN NULL ELSE m - ?3 END"
                                       " FROM (SELECT max(tamis_rising) AS m FROM q)");

    if (!text)
        return tamis__fail_nomem(err, "new_keys of a source", strlen(session->sql->options.new_keys));
    const tamis_status status =
        prepare(session, "new_keys (in WITH q(key, rising) AS (...))", text, 3, 2, &session->next_bound, err);
    free(text);
    if (status != TAMIS_OK)
        return status;
    const double overlap = session->sql->options.overlap;
    char *modifier = sqlite3_mprintf("-%.3f seconds", ceil(overlap * 1000) / 1000);
    if (!modifier)
        return tamis__fail_nomem(err, "new_keys of a source", 64);
    sqlite3_bind_text(session->next_bound, 2, modifier, -1, sqlite3_free);
    /* A whole number keeps a difference of integers exact. */
    if (overlap == floor(overlap) && overlap < 0x1p62)
        sqlite3_bind_int64(session->next_bound, 3, (sqlite3_int64)overlap);
    else
        sqlite3_bind_double(session->next_bound, 3, overlap);
    return TAMIS_OK;
}

static tamis_status prepare_all(sqlite_session *session, tamis_error *err) {
    const tamis_guard_sql *options = &session->sql->options;
    tamis_status status = prepare(session, "row", options->row, 1, 1, &session->row, err);

    if (status == TAMIS_OK && options->as_json)
        status = tamis__sqlite_check_names(session, err);
    if (status == TAMIS_OK && options->keys)
        status = prepare(session, "all_keys", options->keys, 0, 1, &session->keys, err);
    if (status == TAMIS_OK && options->new_keys)
        status = prepare(session, "new_keys", options->new_keys, 1, 2, &session->new_keys, err);
    if (status == TAMIS_OK && options->new_keys)
        status = prepare_next_bound(session, err);
    if (status != TAMIS_OK)
        return status;
    const int code = tamis__sqlite_prepare_spelling(session);
    return code == SQLITE_OK ? TAMIS_OK : tamis__sqlite_fail(session, "all_keys", code, err);
}

static void disconnect(void *context) {
    sqlite_session *session = context;
    const tamis_allocator allocator = session->sql->allocator;

    sqlite3_finalize(session->row);
    sqlite3_finalize(session->keys);
    sqlite3_finalize(session->new_keys);
    sqlite3_finalize(session->next_bound);
    sqlite3_finalize(session->spelling);
    sqlite3_value_free(session->bound);
    sqlite3_close_v2(session->db);
    tamis__free(&allocator, session, sizeof *session);
}

/* A missing file, or one that is not a database, needs another configuration. Other errors may pass. */
static tamis_status fail_open(const sqlite_session *session, int code, tamis_error *err) {
    static const int lasting[] = {ENOENT, ENOTDIR, EACCES, EPERM, EISDIR, ELOOP, ENAMETOOLONG};
    const int number = session->db ? sqlite3_system_errno(session->db) : 0;
    tamis_status status = tamis__sqlite_fail(session, "connect", code, err);

    if ((code & 0xff) == SQLITE_NOTADB)
        status = TAMIS_E_REFUSED;
    for (size_t i = 0; (code & 0xff) == SQLITE_CANTOPEN && i < sizeof lasting / sizeof *lasting; i++)
        if (number == lasting[i])
            status = TAMIS_E_REFUSED;
    if (err)
        err->status = status;
    return status;
}

static tamis_status open_session(sqlite_session *session, tamis_error *err) {
    const int code = sqlite3_open_v2(session->sql->options.database, &session->db,
                                     SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);

    if (code != SQLITE_OK)
        return fail_open(session, code, err);
    sqlite3_busy_handler(session->db, wait_while_busy, session);
    sqlite3_progress_handler(session->db, PROGRESS_STEPS, check_deadline, session);
    session->deadline = tamis__now_ns() + (uint64_t)session->timeout_ms * NS_PER_MS;
    tamis_status status = prepare_all(session, err);
    session->deadline = 0;
    if (status == TAMIS_E_IO && sqlite3_errcode(session->db) == SQLITE_NOTADB)
        status = fail_open(session, SQLITE_NOTADB, err);
    return status;
}

static tamis_status connect_session(void *context, uint32_t timeout_ms, void **session, tamis_error *err) {
    sqlite_source *source = context;

    if (source->sql.options.init) {
        pthread_mutex_lock(&source->mutex);
        const tamis_status status = source->keeper ? TAMIS_OK : run_init(source, timeout_ms, err);
        pthread_mutex_unlock(&source->mutex);
        if (status != TAMIS_OK)
            return status;
    }
    sqlite_session *made = tamis__alloc(&source->sql.allocator, sizeof *made, _Alignof(sqlite_session));
    if (!made)
        return tamis__fail_nomem(err, "session of SQLite", sizeof *made);
    made->sql = &source->sql;
    made->timeout_ms = timeout_ms;
    const tamis_status status = open_session(made, err);
    if (status != TAMIS_OK) {
        disconnect(made);
        return status;
    }
    *session = made;
    return TAMIS_OK;
}

/* ---- rows and keys ---- */

static tamis_status load(void *context, tamis_key key, uint32_t timeout_ms, tamis_guard_row *row,
                         tamis_error *err) {
    sqlite_session *session = context;
    tamis_status status = TAMIS_OK;

    session->timeout_ms = timeout_ms;
    session->deadline = tamis__now_ns() + (uint64_t)timeout_ms * NS_PER_MS;
    if (key.size <= TAMIS_GUARD_KEY_MAX && tamis__sqlite_is_spelling(session, key)) {
        sqlite3_bind_text(session->row, 1, key.size ? key.data : "", (int)key.size, SQLITE_STATIC);
        const int code = tamis__sqlite_step(session, session->row);
        if (code == SQLITE_ROW)
            status = tamis__sqlite_set_row(session, row, err);
        else if (code != SQLITE_DONE)
            status = tamis__sqlite_fail(session, "row", code, err);
        sqlite3_reset(session->row);
        sqlite3_clear_bindings(session->row);
    }
    session->deadline = 0;
    return status;
}

/* Passes on the first column of all rows. */
static tamis_status add_keys(sqlite_session *session, sqlite3_stmt *statement, const char *purpose,
                             tamis_guard_scan *scan, tamis_error *err) {
    guard_key_batch *batch = NULL;
    tamis_status status = tamis__guard_key_batch_create(&batch, scan, err);

    while (status == TAMIS_OK) {
        const int code = tamis__sqlite_step(session, statement);
        if (code == SQLITE_DONE) {
            status = tamis__guard_key_batch_flush(batch, err);
            break;
        }
        if (code != SQLITE_ROW) {
            status = tamis__sqlite_fail(session, purpose, code, err);
            break;
        }
        const bool is_blob = sqlite3_column_type(statement, 0) == SQLITE_BLOB;
        const void *data = is_blob ? sqlite3_column_blob(statement, 0) : sqlite3_column_text(statement, 0);
        const size_t size = (size_t)sqlite3_column_bytes(statement, 0);
        if (data)
            status = tamis__guard_key_batch_add(batch, data, size, err);
        else if (sqlite3_errcode(session->db) == SQLITE_NOMEM)
            status = tamis__sqlite_fail(session, purpose, SQLITE_NOMEM, err);
    }
    sqlite3_reset(statement);
    tamis__guard_key_batch_free(batch);
    return status;
}

static void bind_bound(sqlite_session *session, sqlite3_stmt *statement) {
    if (session->bound)
        sqlite3_bind_value(statement, 1, session->bound);
    else
        sqlite3_bind_double(statement, 1, -INFINITY);
}

/* Computes the bound of the next scan of new keys. *next stays NULL if there is no row. */
static tamis_status compute_bound(sqlite_session *session, sqlite3_value **next, tamis_error *err) {
    tamis_status status = TAMIS_OK;

    bind_bound(session, session->next_bound);
    const int code = tamis__sqlite_step(session, session->next_bound);
    if (code != SQLITE_ROW) {
        status = tamis__sqlite_fail(session, "new_keys", code, err);
    } else if (sqlite3_column_type(session->next_bound, 0) != SQLITE_NULL) {
        if (sqlite3_column_type(session->next_bound, 1) == SQLITE_NULL ||
            sqlite3_column_double(session->next_bound, 1) == INFINITY)
            status = fail_with(session, "new_keys", TAMIS_E_REFUSED,
                               "the second column has a value that is neither a number nor a UTC time; "
                               "expected 2026-11-29 02:20:00",
                               err);
        else if (!(*next = sqlite3_value_dup(sqlite3_column_value(session->next_bound, 1))))
            status = tamis__sqlite_fail(session, "new_keys", SQLITE_NOMEM, err);
    }
    sqlite3_reset(session->next_bound);
    return status;
}

static tamis_status scan_keys(sqlite_session *session, sqlite3_stmt *statement, const char *purpose,
                              tamis_guard_scan *scan, tamis_error *err) {
    sqlite3_value *next = NULL;
    tamis_status status = session->next_bound ? compute_bound(session, &next, err) : TAMIS_OK;

    if (status == TAMIS_OK)
        status = add_keys(session, statement, purpose, scan, err);
    if (status != TAMIS_OK || !next) {
        sqlite3_value_free(next);
        return status;
    }
    sqlite3_value_free(session->bound);
    session->bound = next;
    return TAMIS_OK;
}

static tamis_status scan_all(void *context, tamis_guard_scan *scan, tamis_error *err) {
    sqlite_session *session = context;

    return scan_keys(session, session->keys, "all_keys", scan, err);
}

static tamis_status scan_new(void *context, tamis_guard_scan *scan, tamis_error *err) {
    sqlite_session *session = context;

    bind_bound(session, session->new_keys);
    return scan_keys(session, session->new_keys, "new_keys", scan, err);
}

/* ---- the source ---- */

static void free_source(void *context) {
    sqlite_source *source = context;

    sqlite3_close_v2(source->keeper);
    pthread_mutex_destroy(&source->mutex);
    tamis__guard_sql_free(source);
}

tamis_status tamis_guard_sqlite_create(tamis_guard_source *source, const tamis_guard_sql *sql,
                                       tamis_error *err) {
    static const tamis_guard_source functions = {.connect = connect_session,
                                                 .disconnect = disconnect,
                                                 .load = load,
                                                 .scan = scan_all,
                                                 .scan_new = scan_new};
    void *context = NULL;
    const tamis_status status = tamis__guard_sql_create(&context, sizeof(sqlite_source), source, sql, err);

    if (status != TAMIS_OK)
        return status;
    if (((guard_sql *)context)->options.channel) {
        tamis__guard_sql_free(context);
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "channel: SQLite reports no new rows; use new_keys to find them");
    }
    pthread_mutex_init(&((sqlite_source *)context)->mutex, NULL);
    tamis__guard_sql_fill(source, context, free_source, &functions);
    return TAMIS_OK;
}

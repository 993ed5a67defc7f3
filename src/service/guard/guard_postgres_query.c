/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections and queries of PostgreSQL with a time limit.
 *
 * libpq never blocks here: each wait is a poll() up to the deadline. The server ends a statement at its
 * statement_timeout. If the client's deadline comes first, a detached thread requests the server to cancel.
 * The thread needs a connection of its own, which may take long where the network is down.
 *
 * Passwords. libpq's messages quote parts of a connection string that it cannot parse. Such a string is
 * refused before, with a message of our own.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"
#include "base/thread.h"
#include "service/guard/guard_postgres.h"

enum { NS_PER_MS = 1000000 };

/* ---- errors ---- */

tamis_status tamis__postgres_fail(tamis_status status, const char *purpose, const char *reason,
                                  tamis_error *err) {
    char line[400];

    snprintf(line, sizeof line, "%s", reason);
    size_t size = strlen(line);
    while (size && isspace((unsigned char)line[size - 1]))
        line[--size] = 0;
    for (char *c = line; *c; c++)
        if (*c == '\n' || *c == '\t')
            *c = ' ';
    return tamis__fail(err, status, 0, "PostgreSQL: %s: %s", purpose, line);
}

static bool has_prefix(const char *code, const char *const *prefixes) {
    for (; *prefixes; prefixes++)
        if (strncmp(code, *prefixes, strlen(*prefixes)) == 0)
            return true;
    return false;
}

/* Classes and codes: appendix "PostgreSQL Error Codes". */
static tamis_status status_of(const char *code) {
    static const char *const timeouts[] = {"57014", "55P03", NULL};
    /* 0A000, 26000: the plan was dropped or no longer fits the table; a new session prepares it again. */
    static const char *const failures[] = {"08", "53",    "57P",   "58", "25P03",
                                           "40", "0A000", "26000", "XX", NULL};

    if (has_prefix(code, timeouts))
        return TAMIS_E_TIMEOUT;
    return has_prefix(code, failures) ? TAMIS_E_IO : TAMIS_E_REFUSED;
}

static tamis_status fail_late(const postgres_session *session, const char *purpose, tamis_error *err) {
    char reason[120];

    snprintf(reason, sizeof reason, "no answer within %u ms; make the query faster, or raise the time limit",
             session->timeout_ms);
    return tamis__postgres_fail(TAMIS_E_TIMEOUT, purpose, reason, err);
}

tamis_status tamis__postgres_fail_connection(const postgres_session *session, const char *purpose,
                                             tamis_error *err) {
    const char *reason = PQerrorMessage(session->conn);

    return tamis__postgres_fail(TAMIS_E_IO, purpose, reason && *reason ? reason : "the connection was lost",
                                err);
}

tamis_status tamis__postgres_fail_result(postgres_session *session, const char *purpose,
                                         const PGresult *result, tamis_error *err) {
    const char *code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    char reason[400];

    if (!code || !message)
        return tamis__postgres_fail_connection(session, purpose, err);
    snprintf(session->sqlstate, sizeof session->sqlstate, "%s", code);
    snprintf(reason, sizeof reason, "%.260s (SQLSTATE %s)%s", message, code,
             strcmp(code, "26000") == 0 ? "; a pooler between needs pool_mode = session" : "");
    return tamis__postgres_fail(status_of(code), purpose, reason, err);
}

/* ---- connecting ---- */

static tamis_status check_option(const PQconninfoOption *option, tamis_error *err) {
    if (!option->val)
        return TAMIS_OK;
    if (strcmp(option->keyword, "port") == 0 && option->val[strspn(option->val, "0123456789,")])
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "database: the port is not a number; percent-encode the password in a URI");
    if (strcmp(option->keyword, "host") == 0 && option->val[0] != '/' && strchr(option->val, '@') &&
        option->val[0] != '@')
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "database: the host has an @; percent-encode the password in a URI");
    return TAMIS_OK;
}

tamis_status tamis__postgres_check_string(const char *database, tamis_error *err) {
    PQconninfoOption *options = PQconninfoParse(database, NULL);
    tamis_status status = TAMIS_OK;

    if (!options)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "database: is not a connection string of PostgreSQL; "
                           "expected host=... dbname=... or postgresql://...");
    for (const PQconninfoOption *option = options; option->keyword && status == TAMIS_OK; option++)
        status = check_option(option, err);
    PQconninfoFree(options);
    return status;
}

bool tamis__postgres_poll(const postgres_session *session, short events) {
    struct pollfd fd = {PQsocket(session->conn), events, 0};

    for (;;) {
        int timeout = -1;
        if (session->deadline) {
            const uint64_t now = tamis__now_ns();
            if (now >= session->deadline)
                return false;
            timeout = (int)((session->deadline - now) / NS_PER_MS) + 1;
        }
        const int count = tamis__sys.poll(&fd, 1, timeout);
        if (count > 0 || (count < 0 && errno != EINTR))
            return true; /* libpq finds an error of the socket */
    }
}

static void ignore_notice(void *context, const PGresult *notice) {
    (void)context;
    (void)notice;
}

/* Returns the first SQLSTATE of a verbose message, "FATAL:  28P01: password ...", or NULL. */
static const char *find_sqlstate(const char *message) {
    for (const char *from = message; (from = strstr(from, ":  ")) != NULL; from++)
        if (strspn(from + 3, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == 5 && strncmp(from + 8, ": ", 2) == 0)
            return from + 3;
    return NULL;
}

/* A server refuses a connection for one of two reasons: it is not ready, or it needs another configuration. The
 * SQLSTATE tells them apart. libpq has it in the message alone, which tamis__postgres_connect makes verbose.
 * Then the first line has all but the place in the server's source. */
static tamis_status fail_connect(const postgres_session *session, tamis_error *err) {
    const char *message = PQerrorMessage(session->conn), *code = find_sqlstate(message);
    char reason[400];

    if (!code && PQconnectionNeedsPassword(session->conn))
        return tamis__postgres_fail(TAMIS_E_REFUSED, "connect",
                                    "the server needs a password; add it to the connection string", err);
    if (!code)
        return tamis__postgres_fail_connection(session, "connect", err);
    const char *text = code + 7;
    const tamis_status status = status_of(code);
    snprintf(reason, sizeof reason, "%.*s%.*s (SQLSTATE %.5s)%s",
             (int)(code - message < 140 ? code - message : 140), message,
             (int)(strcspn(text, "\n") < 150 ? strcspn(text, "\n") : 150), text, code,
             status == TAMIS_E_REFUSED ? "; correct the connection string, or the rights on the server" : "");
    return tamis__postgres_fail(status, "connect", reason, err);
}

tamis_status tamis__postgres_connect(postgres_session *session, tamis_error *err) {
    /* Names before `dbname` are defaults for its connection string, names behind it are fixed. */
    static const char *const names[] = {
        "fallback_application_name", "keepalives_idle", "keepalives_interval", "keepalives_count",
        "tcp_user_timeout",          "dbname",          "client_encoding",     NULL};
    const char *const values[] = {"tamis", "30", "10", "3", "60000", session->sql->options.database,
                                  "UTF8",  NULL};

    session->conn = PQconnectStartParams(names, values, 1);
    if (!session->conn)
        return tamis__fail_nomem(err, "connection to PostgreSQL", 0);
    PQsetNoticeReceiver(session->conn, ignore_notice, NULL); /* the default one prints */
    PQsetErrorVerbosity(session->conn, PQERRORS_VERBOSE);
    PostgresPollingStatusType progress = PGRES_POLLING_WRITING;
    while (PQstatus(session->conn) != CONNECTION_BAD && progress != PGRES_POLLING_OK) {
        if (!tamis__postgres_poll(session, progress == PGRES_POLLING_READING ? POLLIN : POLLOUT))
            return fail_late(session, "connect", err);
        progress = PQconnectPoll(session->conn);
        if (progress == PGRES_POLLING_FAILED)
            break;
    }
    if (PQstatus(session->conn) != CONNECTION_OK || PQsetnonblocking(session->conn, 1) != 0)
        return fail_connect(session, err);
    PQsetErrorVerbosity(session->conn, PQERRORS_DEFAULT);
    return TAMIS_OK;
}

/* ---- queries ---- */

static void *send_cancel(void *context) {
    PGcancel *cancel = context;
    char reason[256];

    PQcancel(cancel, reason, sizeof reason);
    PQfreeCancel(cancel);
    return NULL;
}

static void cancel_detached(const postgres_session *session) {
    PGcancel *cancel = PQgetCancel(session->conn);

    if (cancel && tamis__thread_start(send_cancel, cancel) != 0)
        PQfreeCancel(cancel);
}

tamis_status tamis__postgres_wait(postgres_session *session, const char *purpose, tamis_error *err) {
    for (;;) {
        const int unsent = PQflush(session->conn);
        if (unsent < 0)
            return tamis__postgres_fail_connection(session, purpose, err);
        if (!unsent && !PQisBusy(session->conn))
            return TAMIS_OK;
        if (!tamis__postgres_poll(session, unsent ? POLLIN | POLLOUT : POLLIN)) {
            cancel_detached(session);
            return fail_late(session, purpose, err);
        }
        if (!PQconsumeInput(session->conn))
            return tamis__postgres_fail_connection(session, purpose, err);
    }
}

static bool is_copy(const PGresult *result) {
    const ExecStatusType type = PQresultStatus(result);

    return type == PGRES_COPY_IN || type == PGRES_COPY_OUT || type == PGRES_COPY_BOTH;
}

tamis_status tamis__postgres_result(postgres_session *session, const char *purpose, int is_sent,
                                    PGresult **result, tamis_error *err) {
    PGresult *last = NULL;

    session->sqlstate[0] = 0;
    if (!is_sent)
        return tamis__postgres_fail_connection(session, purpose, err);
    for (;;) {
        const tamis_status status = tamis__postgres_wait(session, purpose, err);
        PGresult *next = status == TAMIS_OK ? PQgetResult(session->conn) : NULL;
        if (status != TAMIS_OK || (next && is_copy(next))) {
            PQclear(last);
            PQclear(next);
            return status != TAMIS_OK
                       ? status
                       : tamis__postgres_fail(TAMIS_E_REFUSED, purpose, "COPY is not possible here", err);
        }
        if (!next)
            break;
        PQclear(last);
        last = next;
    }
    const ExecStatusType type = PQresultStatus(last);
    if (type == PGRES_TUPLES_OK || type == PGRES_COMMAND_OK || type == PGRES_EMPTY_QUERY) {
        *result = last;
        return TAMIS_OK;
    }
    const tamis_status status = tamis__postgres_fail_result(session, purpose, last, err);
    PQclear(last);
    return status;
}

tamis_status tamis__postgres_run(postgres_session *session, const char *purpose, const char *text,
                                 tamis_error *err) {
    PGresult *result = NULL;
    const tamis_status status =
        tamis__postgres_result(session, purpose, PQsendQuery(session->conn, text), &result, err);

    PQclear(result);
    return status;
}

postgres_name tamis__postgres_name(const postgres_session *session, const char *name) {
    postgres_name made;

    snprintf(made.text, sizeof made.text, "%s_%016" PRIx64, name, session->number);
    return made;
}

int tamis__postgres_send(postgres_session *session, const char *name, const postgres_parameter *parameter) {
    const postgres_name own = tamis__postgres_name(session, name);

    if (!parameter)
        return PQsendQueryPrepared(session->conn, own.text, 0, NULL, NULL, NULL, 0);
    const char *const values[] = {parameter->text};
    const int sizes[] = {(int)parameter->size};
    const int formats[] = {parameter->is_binary};

    return PQsendQueryPrepared(session->conn, own.text, 1, values, sizes, formats, 0);
}

tamis_status tamis__postgres_stop(postgres_session *session, const char *purpose, tamis_error *err) {
    PGcancel *cancel = PQgetCancel(session->conn);

    if (cancel)
        send_cancel(cancel);
    return tamis__postgres_drain(session, purpose, err);
}

tamis_status tamis__postgres_drain(postgres_session *session, const char *purpose, tamis_error *err) {
    for (;;) {
        const tamis_status status = tamis__postgres_wait(session, purpose, err);
        if (status != TAMIS_OK)
            return status;
        PGresult *result = PQgetResult(session->conn);
        if (!result)
            return TAMIS_OK;
        PQclear(result);
    }
}

const void *tamis__postgres_cell(const PGresult *result, int column, size_t *size, void **owned) {
    *owned = NULL;
    *size = 0;
    if (PQgetisnull(result, 0, column))
        return NULL;
    const char *text = PQgetvalue(result, 0, column);
    if (PQftype(result, column) == POSTGRES_BYTEA)
        return *owned = PQunescapeBytea((const unsigned char *)text, size);
    *size = (size_t)PQgetlength(result, 0, column);
    return text;
}

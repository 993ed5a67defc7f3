/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of SQLite: a row as bytes or as JSON, and the spelling of numbers in keys. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/failure.h"
#include "service/guard/guard_sqlite.h"

/* ---- values ---- */

/* Bytes as hexadecimal digits, as PostgreSQL prints them: \x00ff. */
static json_t *hex_of(const unsigned char *bytes, size_t size) {
    static const char digits[] = "0123456789abcdef";
    char *text = malloc(2 * size + 2);

    if (!text)
        return NULL;
    memcpy(text, "\\x", 2);
    for (size_t i = 0; i < size; i++) {
        text[2 + 2 * i] = digits[bytes[i] >> 4];
        text[3 + 2 * i] = digits[bytes[i] & 15];
    }
    json_t *value = json_stringn(text, 2 * size + 2);
    free(text);
    return value;
}

/* Returns NULL if a text is not UTF-8, or memory is short. */
static json_t *json_of(sqlite3_stmt *row, int column) {
    switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER:
        return json_integer(sqlite3_column_int64(row, column));
    case SQLITE_FLOAT: {
        const double value = sqlite3_column_double(row, column);
        return isfinite(value) ? json_real(value) : json_null();
    }
    case SQLITE_TEXT: {
        const char *text = (const char *)sqlite3_column_text(row, column);
        return json_stringn(text ? text : "", (size_t)sqlite3_column_bytes(row, column));
    }
    case SQLITE_BLOB: {
        const void *bytes = sqlite3_column_blob(row, column);
        const size_t size = (size_t)sqlite3_column_bytes(row, column);
        return bytes || size == 0 ? hex_of(bytes, size) : NULL; /* NULL: memory is short */
    }
    default:
        return json_null();
    }
}

static tamis_status set_json(const sqlite_session *session, tamis_guard_row *row, tamis_error *err) {
    json_t *object = json_object();
    tamis_status status = TAMIS_OK;

    for (int i = 0; i < sqlite3_column_count(session->row) && status == TAMIS_OK; i++) {
        const char *name = sqlite3_column_name(session->row, i);
        if (!name || json_object_set_new(object, name, json_of(session->row, i)) != 0)
            status = tamis__fail(err, TAMIS_E_REFUSED, 0,
                                 "SQLite: row: column %s: a text that is not UTF-8 cannot be JSON; "
                                 "select it as a blob",
                                 name ? name : "?");
    }
    char *text = status == TAMIS_OK ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
    json_decref(object);
    if (status != TAMIS_OK)
        return status;
    if (!text)
        return tamis__fail_nomem(err, "JSON of a row", 0);
    status = tamis_guard_row_set(row, text, strlen(text), err);
    free(text);
    return status;
}

tamis_status tamis__sqlite_set_row(const sqlite_session *session, tamis_guard_row *row, tamis_error *err) {
    if (session->sql->options.as_json)
        return set_json(session, row, err);
    const int type = sqlite3_column_type(session->row, 0);
    const void *data =
        type == SQLITE_BLOB ? sqlite3_column_blob(session->row, 0) : sqlite3_column_text(session->row, 0);
    const size_t size = (size_t)sqlite3_column_bytes(session->row, 0);

    if (!data && type != SQLITE_NULL && sqlite3_errcode(session->db) == SQLITE_NOMEM)
        return tamis__sqlite_fail(session, "row", SQLITE_NOMEM, err);
    return tamis_guard_row_set(row, data, data ? size : 0, err);
}

tamis_status tamis__sqlite_check_names(const sqlite_session *session, tamis_error *err) {
    for (int i = 0; i < sqlite3_column_count(session->row); i++)
        for (int j = 0; j < i; j++) {
            const char *name = sqlite3_column_name(session->row, i),
                       *other = sqlite3_column_name(session->row, j);
            if (name && other && strcmp(name, other) == 0)
                return tamis__fail(err, TAMIS_E_REFUSED, 0,
                                   "SQLite: row: two columns have the name %s; name one by AS", name);
        }
    return TAMIS_OK;
}

/* ---- spelling of keys ---- */

/* Declared types with integer, numeric or real affinity: see "Datatypes In SQLite". */
static const char *cast_of(const char *type) {
    static const char *const texts[] = {"CHAR", "CLOB", "TEXT", "BLOB"};
    static const char *const reals[] = {"REAL", "FLOA", "DOUB"};
    const char *cast = "NUMERIC";

    if (!type || !*type)
        return NULL;
    char *upper = sqlite3_mprintf("%s", type);
    for (char *c = upper; c && *c; c++)
        if (*c >= 'a' && *c <= 'z')
            *c = (char)(*c - 'a' + 'A');
    if (upper && !strstr(upper, "INT")) {
        for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
            if (strstr(upper, reals[i]))
                cast = "REAL";
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            if (strstr(upper, texts[i]))
                cast = NULL;
    }
    sqlite3_free(upper);
    return cast;
}

int tamis__sqlite_prepare_spelling(sqlite_session *session) {
    const char *cast = session->keys ? cast_of(sqlite3_column_decltype(session->keys, 0)) : NULL;

    if (!cast)
        return SQLITE_OK;
    char *text = sqlite3_mprintf("SELECT CAST(CAST(?1 AS %s) AS TEXT) = ?1", cast);
    const int code =
        text ? sqlite3_prepare_v3(session->db, text, -1, SQLITE_PREPARE_PERSISTENT, &session->spelling, NULL)
             : SQLITE_NOMEM;
    sqlite3_free(text);
    return code;
}

static size_t skip_of(const char *text, size_t size, size_t pos, const char *set) {
    while (pos < size && text[pos] && strchr(set, text[pos]))
        pos++;
    return pos;
}

/* True if a numeric column would convert the text to a number. */
static bool is_number(const char *text, size_t size) {
    static const char blanks[] = " \t\n\v\f\r", digits[] = "0123456789";
    size_t pos = skip_of(text, size, 0, blanks);

    if (pos < size && (text[pos] == '+' || text[pos] == '-'))
        pos++;
    const size_t whole = skip_of(text, size, pos, digits);
    size_t count = whole - pos;
    pos = whole;
    if (pos < size && text[pos] == '.') {
        const size_t fraction = skip_of(text, size, pos + 1, digits);
        count += fraction - pos - 1;
        pos = fraction;
    }
    if (count == 0)
        return false;
    if (pos < size && (text[pos] == 'e' || text[pos] == 'E')) {
        pos++;
        if (pos < size && (text[pos] == '+' || text[pos] == '-'))
            pos++;
        const size_t exponent = skip_of(text, size, pos, digits);
        if (exponent == pos)
            return false;
        pos = exponent;
    }
    return skip_of(text, size, pos, blanks) == size;
}

bool tamis__sqlite_is_spelling(sqlite_session *session, tamis_key key) {
    if (!session->spelling || !is_number(key.data, key.size))
        return true;
    sqlite3_bind_text(session->spelling, 1, key.data, (int)key.size, SQLITE_STATIC);
    /* An error here, as lack of memory, shows again in the query. */
    const bool is_other =
        sqlite3_step(session->spelling) == SQLITE_ROW && sqlite3_column_int(session->spelling, 0) == 0;
    sqlite3_reset(session->spelling);
    sqlite3_clear_bindings(session->spelling);
    return !is_other;
}

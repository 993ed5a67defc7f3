/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Statements of a session of PostgreSQL.
 *
 *     tamis_check        row                                           its parameters and columns
 *     tamis_row          SELECT r.*, $1 FROM (row) AS r                value and spelling of the key
 *     tamis_key          SELECT $1                                     is the text a value of the key's type?
 *     tamis_keys         keys
 *     tamis_new_keys     new_keys
 *     tamis_next_bound   SELECT max(second column) - overlap FROM (new_keys) AS q; never later than now
 *
 * Each query is prepared alone first, to check its parameters and columns. In a larger query, a missing
 * parameter would not show. The server converts $1 to the type of the key's column. Its text comes back with
 * the row. So a key in another spelling is found: 017 comes back as 17.
 *
 * With as_json, the value is row_to_json(r): the server knows numbers without limit, arrays and JSON.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "service/guard/guard_postgres.h"

/* Parameters and columns of a query. */
typedef struct statement_shape {
    bool names_differ; /* no two columns have one name */
    int parameters, columns;
    Oid parameter_type; /* of the first parameter */
    Oid column_type;    /* of the second column */
} statement_shape;

static tamis_status prepare(postgres_session *session, const char *purpose, const char *name,
                            const char *text, const Oid *type, tamis_error *err) {
    const postgres_name own = tamis__postgres_name(session, name);
    PGresult *result = NULL;
    const tamis_status status = tamis__postgres_result(
        session, purpose, PQsendPrepare(session->conn, own.text, text, type ? 1 : 0, type), &result, err);

    PQclear(result);
    return status;
}

/* A member of a JSON object has a name of its own. */
static tamis_status check_names(const PGresult *result, const char *purpose, tamis_error *err) {
    char reason[160];

    for (int i = 0; i < PQnfields(result); i++)
        for (int j = 0; j < i; j++) {
            if (strcmp(PQfname(result, i), PQfname(result, j)) != 0)
                continue;
            snprintf(reason, sizeof reason, "two columns have the name %s; name one by AS",
                     PQfname(result, i));
            return tamis__postgres_fail(TAMIS_E_REFUSED, purpose, reason, err);
        }
    return TAMIS_OK;
}

static tamis_status describe(postgres_session *session, const char *purpose, const char *name,
                             statement_shape *shape, tamis_error *err) {
    const postgres_name own = tamis__postgres_name(session, name);
    PGresult *result = NULL;
    tamis_status status = tamis__postgres_result(
        session, purpose, PQsendDescribePrepared(session->conn, own.text), &result, err);

    if (status != TAMIS_OK)
        return status;
    shape->parameters = PQnparams(result);
    shape->columns = PQnfields(result);
    shape->parameter_type = shape->parameters ? PQparamtype(result, 0) : 0;
    shape->column_type = shape->columns > 1 ? PQftype(result, 1) : 0;
    if (shape->names_differ)
        status = check_names(result, purpose, err);
    PQclear(result);
    return status;
}

/* Prepares a query and checks its parameters and columns. */
static tamis_status prepare_query(postgres_session *session, const char *purpose, const char *name,
                                  const char *text, const statement_shape *expected, statement_shape *shape,
                                  tamis_error *err) {
    tamis_status status = prepare(session, purpose, name, text, NULL, err);

    shape->names_differ = expected->names_differ;
    if (status == TAMIS_OK)
        status = describe(session, purpose, name, shape, err);
    if (status != TAMIS_OK)
        return status;
    if (shape->parameters == expected->parameters && shape->columns >= expected->columns)
        return TAMIS_OK;
    char reason[160];
    snprintf(reason, sizeof reason, "has %d parameters and %d columns; expected %s and %d column%s or more",
             shape->parameters, shape->columns, expected->parameters ? "one parameter, $1," : "no parameter",
             expected->columns, expected->columns > 1 ? "s" : "");
    return tamis__postgres_fail(TAMIS_E_REFUSED, purpose, reason, err);
}

static tamis_status prepare_wrapped(postgres_session *session, const char *purpose, const char *name,
                                    const char *before, const char *query, const char *after,
                                    tamis_error *err) {
    char *text = tamis__guard_sql_wrap(before, query, after);

    if (!text)
        return tamis__fail_nomem(err, "SQL of a source", 0);
    const tamis_status status = prepare(session, purpose, name, text, NULL, err);
    free(text);
    return status;
}

static tamis_status prepare_row(postgres_session *session, tamis_error *err) {
    const tamis_guard_sql *options = &session->sql->options;
    const statement_shape expected = {.parameters = 1, .columns = 1, .names_differ = options->as_json};
    statement_shape shape = {0};
    tamis_status status = prepare_query(session, "row", POSTGRES_CHECK, options->row, &expected, &shape, err);

    if (status != TAMIS_OK)
        return status;
    session->key_type = shape.parameter_type;
    status = prepare_wrapped(session, "row", POSTGRES_ROW,
                             options->as_json ? "SELECT row_to_json(tamis_row)::text, $1 FROM ("
                                              : "SELECT tamis_row.*, $1 FROM (",
                             options->row, ") AS tamis_row LIMIT 1", err);
    if (status != TAMIS_OK)
        return status;
    return prepare(session, "row", POSTGRES_KEY, "SELECT $1", &session->key_type, err);
}

/* ---- new keys ---- */

/* What a type is to a bound. */
typedef enum bound_kind { BOUND_NONE, BOUND_EXACT, BOUND_FLOAT, BOUND_TIME } bound_kind;

typedef struct bound_type {
    Oid type;
    bound_kind kind;
    bool is_integer;
    const char *min; /* the lowest value, as text */
} bound_type;

static const bound_type bound_types[] = {
    {POSTGRES_INT2, BOUND_EXACT, true, "-32768"},
    {POSTGRES_INT4, BOUND_EXACT, true, "-2147483648"},
    {POSTGRES_INT8, BOUND_EXACT, true, "-9223372036854775808"},
    {POSTGRES_NUMERIC, BOUND_EXACT, false, "-1e1000"},
    {POSTGRES_FLOAT4, BOUND_FLOAT, false, "-Infinity"},
    {POSTGRES_FLOAT8, BOUND_FLOAT, false, "-Infinity"},
    {POSTGRES_DATE, BOUND_TIME, false, "-infinity"},
    {POSTGRES_TIMESTAMP, BOUND_TIME, false, "-infinity"},
    {POSTGRES_TIMESTAMPTZ, BOUND_TIME, false, "-infinity"},
};

static const bound_type *bound_type_of(Oid type) {
    static const bound_type none = {.kind = BOUND_NONE};

    for (size_t i = 0; i < sizeof bound_types / sizeof *bound_types; i++)
        if (bound_types[i].type == type)
            return &bound_types[i];
    return &none;
}

/* Prints the query before `new_keys` that computes the next bound: from the column's type, for the
 * parameter's type. */
static void print_bound(char *to, size_t size, const bound_type *column, const bound_type *parameter,
                        double overlap) {
    char seconds[64], expression[160];

    tamis__write_decimal(seconds, sizeof seconds, overlap);
    switch (column->kind) {
    case BOUND_EXACT:
        snprintf(expression, sizeof expression, "max(tamis_rising)::numeric - '%s'::numeric", seconds);
        break;
    case BOUND_FLOAT:
        snprintf(expression, sizeof expression, "max(tamis_rising)::float8 - '%s'::float8", seconds);
        break;
    default:
        snprintf(expression, sizeof expression,
                 "least(max(tamis_rising), now())"
                 " - make_interval(secs => '%s'::float8)",
                 seconds);
    }
    if (parameter->is_integer)
        snprintf(to, size, "SELECT greatest(floor(%s), '%s')::text FROM (", expression, parameter->min);
    else
        snprintf(to, size, "SELECT (%s)::text FROM (", expression);
}

static tamis_status prepare_new_keys(postgres_session *session, tamis_error *err) {
    const tamis_guard_sql *options = &session->sql->options;
    const statement_shape expected = {.parameters = 1, .columns = 2};
    statement_shape shape = {0};
    tamis_status status =
        prepare_query(session, "new_keys", POSTGRES_NEW_KEYS, options->new_keys, &expected, &shape, err);

    if (status != TAMIS_OK)
        return status;
    const bound_type *column = bound_type_of(shape.column_type),
                     *parameter = bound_type_of(shape.parameter_type);
    if (column->kind == BOUND_NONE || parameter->kind == BOUND_NONE ||
        (column->kind == BOUND_TIME) != (parameter->kind == BOUND_TIME))
        return tamis__postgres_fail(TAMIS_E_REFUSED, "new_keys",
                                    "the second column and $1 have types that are not compared as numbers or "
                                    "timestamps; expected WHERE column >= $1 with such a column",
                                    err);
    char before[320];
    print_bound(before, sizeof before, column, parameter, options->overlap);
    session->min_bound = parameter->min;
    return prepare_wrapped(session, "new_keys", POSTGRES_NEXT_BOUND, before, options->new_keys,
                           ") AS q(tamis_key, tamis_rising)", err);
}

tamis_status tamis__postgres_prepare(postgres_session *session, tamis_error *err) {
    const tamis_guard_sql *options = &session->sql->options;
    const statement_shape expected = {.parameters = 0, .columns = 1};
    statement_shape shape = {0};
    tamis_status status = prepare_row(session, err);

    if (status == TAMIS_OK && options->keys)
        status = prepare_query(session, "all_keys", POSTGRES_KEYS, options->keys, &expected, &shape, err);
    if (status == TAMIS_OK && options->new_keys)
        status = prepare_new_keys(session, err);
    return status;
}

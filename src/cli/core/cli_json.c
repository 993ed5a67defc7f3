/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/core/cli_json.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A member or element was lost, since memory ran out, or its text was not UTF-8. */
static bool incomplete;

/* Kinds in JSON and in the manual. */
static const struct {
    json_type type;
    const char *name;
} kinds[] = {
    [CLI_INTEGER] = {JSON_INTEGER, "integer"},
    [CLI_NUMBER] = {JSON_REAL, "number"},
    [CLI_STRING] = {JSON_STRING, "string"},
    [CLI_BOOLEAN] = {JSON_TRUE, "boolean"},
    [CLI_OBJECT] = {JSON_OBJECT, "object"},
    [CLI_OBJECT_OF_STRINGS] = {JSON_OBJECT, "object of strings"},
    [CLI_ARRAY_OF_OBJECTS] = {JSON_ARRAY, "array of objects"},
    [CLI_ARRAY_OF_STRINGS] = {JSON_ARRAY, "array of strings"},
};

const char *cli_json_kind_name(const cli_field *field) {
    return kinds[field->kind & ~CLI_NULL].name;
}

static bool has_kind(const json_t *value, int kind) {
    if (json_is_null(value))
        return (kind & CLI_NULL) != 0;
    return (json_is_false(value) ? JSON_TRUE : json_typeof(value)) == kinds[kind & ~CLI_NULL].type;
}

void cli_json_set(json_t *object, const cli_field *field, json_t *value) {
    const bool as_described = field->name && (!value || has_kind(value, field->kind));

    assert(as_described);
    (void)as_described;
    if (json_object_set_new(object, field->name, value) != 0)
        incomplete = true;
}

void cli_json_integer(json_t *object, const cli_field *field, uint64_t number) {
    /* JSON integers of jansson are signed. No count or size here is near the limit. */
    cli_json_set(object, field, json_integer(number > INT64_MAX ? INT64_MAX : (json_int_t)number));
}

void cli_json_integer_or_null(json_t *object, const cli_field *field, bool is_known, uint64_t number) {
    if (is_known)
        cli_json_integer(object, field, number);
    else
        cli_json_set(object, field, json_null());
}

void cli_json_number(json_t *object, const cli_field *field, double number) {
    cli_json_set(object, field, isfinite(number) ? json_real(number) : json_null());
}

void cli_json_boolean(json_t *object, const cli_field *field, bool value) {
    cli_json_set(object, field, json_boolean(value));
}

void cli_json_boolean_or_null(json_t *object, const cli_field *field, bool is_known, bool value) {
    cli_json_set(object, field, is_known ? json_boolean(value) : json_null());
}

/* Returns a JSON string, or null for NULL. Bytes from 0x80 on become '?' in a text that is not UTF-8. */
static json_t *string_of(const char *text) {
    json_t *value = text ? json_string(text) : json_null();
    char *plain = !value ? strdup(text) : NULL;

    if (!plain)
        return value;
    for (char *pos = plain; *pos != '\0'; pos++)
        if ((unsigned char)*pos >= 0x80)
            *pos = '?';
    value = json_string(plain);
    free(plain);
    return value;
}

void cli_json_string(json_t *object, const cli_field *field, const char *text) {
    cli_json_set(object, field, string_of(text));
}

void cli_json_label(json_t *object, const char *name, const char *text) {
    if (json_object_set_new(object, name, string_of(text)) != 0)
        incomplete = true;
}

void cli_json_append(json_t *array, json_t *value) {
    if (json_array_append_new(array, value) != 0)
        incomplete = true;
}

tamis_status cli_json_write(json_t *object, FILE *out, size_t indent, const char *what, tamis_error *err) {
    bool complete = object && !incomplete, written = false;

    incomplete = false;
    errno = 0;
    /* Nine digits are more precise than any measurement here. Seventeen would print 0.1 as
     * 0.10000000000000001. */
    if (complete)
        written = json_dumpf(object, out, JSON_INDENT(indent) | JSON_REAL_PRECISION(9)) == 0 &&
                  fputc('\n', out) != EOF;
    json_decref(object);
    if (!complete)
        return cli_fail_nomem(what, err);
    return written ? TAMIS_OK : cli_fail_output(err, errno);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/core/cli_json.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

/* The manual's list of members; NULL: not known. */
static const cli_entry *documented;
/* A member or element was lost, since memory was short, or its text was not UTF-8. */
static bool incomplete;

void cli_json_put(json_t *object, const char *name, json_t *value) {
    if (json_object_set_new(object, name, value) != 0)
        incomplete = true;
}

void cli_json_append(json_t *array, json_t *value) {
    if (json_array_append_new(array, value) != 0)
        incomplete = true;
}

void cli_json_count(json_t *object, const char *name, uint64_t number) {
    /* JSON integers of jansson are signed. No count or size here is near the limit. */
    cli_json_put(object, name, json_integer(number > INT64_MAX ? INT64_MAX : (json_int_t)number));
}

void cli_json_real(json_t *object, const char *name, double number) {
    cli_json_put(object, name, isfinite(number) ? json_real(number) : json_null());
}

void cli_json_text(json_t *object, const char *name, const char *text) {
    cli_json_put(object, name, json_string(text));
}

void cli_json_bool(json_t *object, const char *name, bool value) {
    cli_json_put(object, name, json_boolean(value));
}

void cli_json_null(json_t *object, const char *name) {
    cli_json_put(object, name, json_null());
}

void cli_json_begin(const cli_entry *members) {
    documented = members;
}

static void check_members(json_t *object) {
    const char *name;
    json_t *value;

    json_object_foreach(object, name, value) {
        const cli_entry *entry = documented;
        while (entry && entry->name && strcmp(entry->name, name) != 0)
            entry++;
        assert(!entry || entry->name); /* else the member is missing in docs/man/VERB.txt */
        (void)entry;
    }
}

tamis_status cli_json_write(json_t *object, FILE *out, size_t indent, const char *what, tamis_error *err) {
    bool whole = object && !incomplete, written = false;

    check_members(object);
    incomplete = false;
    errno = 0;
    /* Nine digits are more precise than any measurement here. Seventeen would print 0.1 as
     * 0.10000000000000001. */
    if (whole)
        written = json_dumpf(object, out, JSON_INDENT(indent) | JSON_REAL_PRECISION(9)) == 0 &&
                  fputc('\n', out) != EOF;
    json_decref(object);
    if (!whole)
        return cli_fail_nomem(what, err);
    return written ? TAMIS_OK : cli_fail_output(err, errno);
}

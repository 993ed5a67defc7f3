/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/core/cli_json.h"

#include <math.h>

void cli_json_count(json_t *object, const char *name, uint64_t number) {
    /* JSON integers of jansson are signed. No count or size here is near the limit. */
    json_object_set_new(object, name, json_integer(number > INT64_MAX ? INT64_MAX : (json_int_t)number));
}

void cli_json_real(json_t *object, const char *name, double number) {
    json_object_set_new(object, name, isfinite(number) ? json_real(number) : json_null());
}

void cli_json_text(json_t *object, const char *name, const char *text) {
    json_object_set_new(object, name, json_string(text));
}

void cli_json_bool(json_t *object, const char *name, bool value) {
    json_object_set_new(object, name, json_boolean(value));
}

void cli_json_null(json_t *object, const char *name) {
    json_object_set_new(object, name, json_null());
}

bool cli_json_write(json_t *object, size_t members, FILE *out, size_t indent) {
    bool whole = object != NULL && json_object_size(object) == members;

    /* Nine digits are more precise than any measurement here. Seventeen would print 0.1 as 0.10000000000000001. */
    whole = whole && json_dumpf(object, out, JSON_INDENT(indent) | JSON_REAL_PRECISION(9)) == 0 &&
            fputc('\n', out) != EOF;
    json_decref(object);
    return whole;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CORE_CLI_JSON_H
#define TAMIS_CLI_CORE_CLI_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/cli.h"

/*
 * JSON output: one object at a time, with all that is in it, is built and then written. A lack of memory
 * on the way needs no check: cli_json_write reports it.
 *
 * A command describes what it prints in one table. A row has the name in JSON, the label in the text, the
 * kind and the meaning. To add a field, give it a name, a row, and a call:
 *
 *     static const struct {
 *         cli_field records, rate;                                  order of the manual
 *     } fields = {
 *         .records = {"records", "records", CLI_INTEGER, "Records read."},
 *         .rate = {"rate", NULL, CLI_NUMBER | CLI_NULL, "Records per second; null = unknown."},
 *     };
 *
 *     cli_json_integer(object, &fields.records, 5);                 member of JSON
 *     printf("%s %d\n", fields.records.label, 5);                   line of text
 *     .fields = CLI_FIELDS(fields),                                 section JSON of the manual
 *
 * An assertion fails if a value does not have the kind of its row.
 */

void cli_json_integer(json_t *object, const cli_field *field, uint64_t number);
/* null unless the number is known */
void cli_json_integer_or_null(json_t *object, const cli_field *field, bool is_known, uint64_t number);
void cli_json_number(json_t *object, const cli_field *field, double number); /* null if not finite */
void cli_json_boolean(json_t *object, const cli_field *field, bool value);
/* null unless the value is known */
void cli_json_boolean_or_null(json_t *object, const cli_field *field, bool is_known, bool value);
/* NULL: null. If the text is not UTF-8, its bytes from 0x80 on become '?'. */
void cli_json_string(json_t *object, const cli_field *field, const char *text);
/* The same with a name that the user chose. */
void cli_json_label(json_t *object, const char *name, const char *text);
/* Sets the field to `value`, which belongs to the object then. NULL: memory ran out. */
void cli_json_set(json_t *object, const cli_field *field, json_t *value);

/* Appends `value`, which belongs to the array then. NULL: memory ran out. */
void cli_json_append(json_t *array, json_t *value);

/* Writes the object and a newline, with `indent` blanks a level (0: one line), and drops its reference.
 * TAMIS_E_NOMEM: something is missing in the object, and nothing was written; `what` begins the message. */
tamis_status cli_json_write(json_t *object, FILE *out, size_t indent, const char *what, tamis_error *err);

/* Returns the kind of the field as the manual calls it, such as "array of objects", without " or null". */
const char *cli_json_kind_name(const cli_field *field);

#endif

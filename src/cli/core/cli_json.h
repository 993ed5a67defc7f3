/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CORE_CLI_JSON_H
#define TAMIS_CLI_CORE_CLI_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/cli.h"

/* JSON output: one object at a time, with all that is in it, is built and then written. A lack of memory
 * on the way needs no check: cli_json_write reports it. */

/* Sets the members that objects may have, and the kinds of their values: section JSON of docs/man/VERB.txt,
 * which is the list in the manual. An assertion fails for others. NULL: any. */
void cli_json_begin(const cli_entry *members);

/* Adds `value`, which belongs to the object then. NULL: memory ran out. */
void cli_json_put(json_t *object, const char *name, json_t *value);
/* Appends `value`, which belongs to the array then. NULL: memory ran out. */
void cli_json_append(json_t *array, json_t *value);
void cli_json_count(json_t *object, const char *name, uint64_t number);
/* null unless the number is known */
void cli_json_count_or_null(json_t *object, const char *name, bool is_known, uint64_t number);
void cli_json_real(json_t *object, const char *name, double number); /* null if not finite */
void cli_json_bool(json_t *object, const char *name, bool value);
void cli_json_null(json_t *object, const char *name);
/* NULL: null. If the text is not UTF-8, its bytes from 0x80 on become '?'. */
void cli_json_text(json_t *object, const char *name, const char *text);

/* Writes the object and a newline, with `indent` blanks a level (0: one line), and drops its reference.
 * TAMIS_E_NOMEM: something is missing in the object, and nothing was written; `what` begins the message. */
tamis_status cli_json_write(json_t *object, FILE *out, size_t indent, const char *what, tamis_error *err);

#endif

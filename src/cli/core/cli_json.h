/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CORE_CLI_JSON_H
#define TAMIS_CLI_CORE_CLI_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Each adds a member to an object. cli_json_write detects a lack of memory later. */
void cli_json_count(json_t *object, const char *name, uint64_t number);
void cli_json_real(json_t *object, const char *name, double number); /* null if not finite */
void cli_json_text(json_t *object, const char *name, const char *text);
void cli_json_bool(json_t *object, const char *name, bool value);
void cli_json_null(json_t *object, const char *name);

/* Writes the object and a newline, with `indent` blanks a level (0: one line), and drops its reference. Returns false if the
 * write failed, or if the object does not have `members` members because memory was short. */
bool cli_json_write(json_t *object, size_t members, FILE *out, size_t indent);

#endif

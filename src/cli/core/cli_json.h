/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CORE_CLI_JSON_H
#define TAMIS_CLI_CORE_CLI_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Members of an object; what finds no memory is noticed by cli_json_write, not by each of these. */
void cli_json_count(json_t *object, const char *name, uint64_t number);
void cli_json_real(json_t *object, const char *name, double number); /* null if not finite */
void cli_json_text(json_t *object, const char *name, const char *text);
void cli_json_bool(json_t *object, const char *name, bool value);
void cli_json_null(json_t *object, const char *name);

/* Writes the object and a newline, with `indent` blanks a level (0: one line), and lets go of it. False
 * if it could not be made whole or written. */
bool cli_json_write(json_t *object, size_t members, FILE *out, size_t indent);

#endif

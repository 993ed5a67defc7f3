/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_KAFKA_KAFKA_SETTINGS_H
#define TAMIS_CLI_CMD_KAFKA_KAFKA_SETTINGS_H

#include "cli/cli.h"

enum { KAFKA_SETTINGS_MAX = 1000, KAFKA_SETTINGS_BYTES = 65536 };

/* Settings of librdkafka, "name=value": those of a file first, then those of options. Each name is there
 * once: the last one wins. */
typedef struct kafka_settings {
    const char *list[KAFKA_SETTINGS_MAX];
    size_t lines[KAFKA_SETTINGS_MAX]; /* line of the file; 0: a value of --setting */
    size_t count;
    const char *path;
    char bytes[KAFKA_SETTINGS_BYTES]; /* the file; it may have passwords */
} kafka_settings;

/* Reads the file `path` (NULL: none), and adds the settings of `options`, whose texts are borrowed. A line of
 * the file is a setting, blank, or a comment that begins with #. Blanks around a name or a value do not
 * count. */
tamis_status kafka_settings_read(kafka_settings *settings, const char *path, const cli_value *options,
                                 tamis_error *err);
/* Names option or line of the setting that a message of the library begins with. */
void kafka_settings_name(const kafka_settings *settings, tamis_error *err);
/* Overwrites the file's bytes. */
void kafka_settings_forget(kafka_settings *settings);

#endif

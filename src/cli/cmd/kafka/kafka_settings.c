/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Settings of librdkafka, from the file of --config and from --setting. Only librdkafka knows their names, so
 * it refuses wrong ones, and this file adds path and line to its message. The text may have a password: it is
 * in one buffer, which is overwritten at the end.
 */
#include "cli/cmd/kafka/kafka_settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static tamis_status fail(const char *path, size_t line, const char *why, tamis_error *err) {
    if (line > 0)
        return cli_fail(err, "--config '%.300s': line %zu: %s", path, line, why);
    return cli_fail(err, "--config '%.300s': %s; give a file with lines name=value", path, why);
}

static tamis_status read_file(kafka_settings *settings, const char *path, tamis_error *err) {
    FILE *file = fopen(path, "re");
    char why[80];

    if (!file)
        return fail(path, 0, cli_errno_text(why, sizeof why, errno), err);
    setvbuf(file, NULL, _IONBF, 0); /* no copy of a password stays in a buffer */
    const size_t size = fread(settings->bytes, 1, sizeof settings->bytes, file);
    const int number = ferror(file) ? errno : 0;
    fclose(file);
    if (number != 0)
        return fail(path, 0, cli_errno_text(why, sizeof why, number), err);
    if (size == sizeof settings->bytes)
        return fail(path, 0, "has 64 KiB or more", err);
    if (memchr(settings->bytes, '\0', size))
        return fail(path, 0, "has a zero byte", err);
    settings->bytes[size] = '\0';
    return TAMIS_OK;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/* Removes blanks at both ends of the text, in place. */
static char *trim(char *text) {
    size_t size;

    while (is_blank(*text))
        text++;
    for (size = strlen(text); size > 0 && is_blank(text[size - 1]); size--)
        text[size - 1] = '\0';
    return text;
}

/* Removes the blanks around the first sign '='. */
static void join(char *setting) {
    char *sign = strchr(setting, '='), *value = sign + 1, *end = sign;

    while (is_blank(*value))
        value++;
    while (end > setting && is_blank(end[-1]))
        end--;
    *end = '=';
    memmove(end + 1, value, strlen(value) + 1);
}

/* Returns the index of the setting whose name is the first `size` bytes of `name`, or the number of
 * settings. */
static size_t find(const kafka_settings *settings, const char *name, size_t size) {
    size_t i = 0;

    while (i < settings->count &&
           (strcspn(settings->list[i], "=") != size || strncmp(settings->list[i], name, size) != 0))
        i++;
    return i;
}

static tamis_status add(kafka_settings *settings, const char *setting, size_t line, tamis_error *err) {
    const size_t i = find(settings, setting, strcspn(setting, "="));

    if (i == KAFKA_SETTINGS_MAX)
        return cli_fail(err, "--setting: there are more than %d; leave some out", KAFKA_SETTINGS_MAX);
    settings->list[i] = setting;
    settings->lines[i] = line;
    settings->count += i == settings->count;
    return TAMIS_OK;
}

static tamis_status split_lines(kafka_settings *settings, const char *path, tamis_error *err) {
    char *rest = settings->bytes, *line;

    for (size_t number = 1; (line = strsep(&rest, "\n")); number++) {
        line = trim(line);
        if (*line == '\0' || *line == '#')
            continue;
        if (*line == '=' || !strchr(line, '='))
            return fail(path, number, "is not name=value; correct it, or begin a comment with #", err);
        join(line);
        if (add(settings, line, number, err) != TAMIS_OK)
            return err->status;
    }
    return TAMIS_OK;
}

tamis_status kafka_settings_read(kafka_settings *settings, const char *path, const cli_value *options,
                                 tamis_error *err) {
    settings->count = 0;
    settings->path = path;
    if (path && (read_file(settings, path, err) != TAMIS_OK || split_lines(settings, path, err) != TAMIS_OK))
        return err->status;
    for (size_t i = 0; i < options->count; i++)
        if (add(settings, options->list[i], 0, err) != TAMIS_OK)
            return err->status;
    return TAMIS_OK;
}

void kafka_settings_name(const kafka_settings *settings, tamis_error *err) {
    static const char word[] = "setting ";
    const tamis_error original = *err;
    const char *rest = original.text + strlen(word);

    if (err->status == TAMIS_E_INVALID && strncmp(original.text, "settings: ", strlen("settings: ")) == 0)
        cli_subject(err, "--setting or --config"); /* they contradict each other */
    if (err->status != TAMIS_E_INVALID || strncmp(original.text, word, strlen(word)) != 0)
        return;
    const size_t i = find(settings, rest, strcspn(rest, ":"));
    if (i < settings->count && settings->lines[i] > 0)
        cli_fail(err, "--config '%.150s': line %zu: %.300s", settings->path, settings->lines[i], rest);
    else if (i == settings->count && settings->path)
        cli_fail(err, "--config '%.150s': %.300s", settings->path, rest); /* a line is missing */
    else
        cli_fail(err, "--setting %.480s", rest);
}

void kafka_settings_forget(kafka_settings *settings) {
    explicit_bzero(settings, sizeof *settings);
}

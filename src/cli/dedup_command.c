/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/dedup_command.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/dedup_config.h"

/* A command line in a buffer of fixed size. */
typedef struct line {
    char *to;
    size_t room, used;
    bool fits;
} line;

static void append(line *l, const char *text, size_t size) {
    l->fits = l->fits && size < l->room - l->used;
    if (!l->fits)
        return;
    memcpy(l->to + l->used, text, size);
    l->used += size;
    l->to[l->used] = '\0';
}

static void append_text(line *l, const char *text) {
    append(l, text, strlen(text));
}

static bool is_plain(const char *text) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,@%+-";
    return text[0] != '\0' && strspn(text, plain) == strlen(text);
}

static bool has_control(const char *text) {
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ' || *text == 127)
            return true;
    return false;
}

/* Appends the text, quoted as one word of a shell. */
static void append_quoted(line *l, const char *text) {
    const bool controls = has_control(text);

    if (is_plain(text)) {
        append_text(l, text);
        return;
    }
    append_text(l, controls ? "$'" : "'");
    for (; *text != '\0'; text++) {
        char escaped[8];
        if (controls && (has_control((char[]){*text, '\0'}) || *text == '\\' || *text == '\'')) {
            snprintf(escaped, sizeof escaped, "\\%03o", (unsigned)(unsigned char)*text);
            append_text(l, escaped);
        } else if (*text == '\'') {
            append_text(l, "'\\''");
        } else {
            append(l, text, 1);
        }
    }
    append_text(l, "'");
}

static void append_option(line *l, const cli_option *option, const char *text) {
    append_text(l, " --");
    append_text(l, option->name);
    if (text == NULL)
        return;
    append_text(l, option->optional ? "=" : " ");
    append_quoted(l, text);
}

/* True for options that do not change the outputs, or that were meant for one run only. */
static bool is_left_out(int option) {
    static const int those[] = {DEDUP_AGAIN,       DEDUP_ABANDON, DEDUP_FILES_FROM,  DEDUP_THREADS,
                                DEDUP_PROFILE,     DEDUP_STATS,   DEDUP_JSON,        DEDUP_PROGRESS,
                                DEDUP_NO_PROGRESS, DEDUP_QUIET,   DEDUP_COMMIT_EVERY};

    for (size_t i = 0; i < sizeof those / sizeof *those; i++)
        if (those[i] == option)
            return true;
    return false;
}

bool dedup_command_keep(char *to, const cli_value *values) {
    line l = {to, DEDUP_COMMAND, 0, true};
    char folder[PATH_MAX];

    if (getcwd(folder, sizeof folder) == NULL)
        return false;
    append_quoted(&l, folder);
    append_text(&l, "\ntamis dedup");
    for (int i = 0; i < DEDUP_OPTIONS; i++) {
        if (!values[i].given || is_left_out(i))
            continue;
        for (size_t n = 0; n < values[i].count; n++)
            append_option(&l, &dedup_options[i], values[i].list[n]);
        if (values[i].count == 0)
            append_option(&l, &dedup_options[i], values[i].text);
    }
    if (!l.fits)
        to[0] = '\0';
    return l.fits;
}

bool dedup_command_of(char *to, size_t room, const tamis_stream_account *run) {
    const char *kept = tamis_stream_account_command(run), *end, *name;
    line l = {to, room, 0, true}, here = {.fits = true};
    char folder[PATH_MAX], word[DEDUP_COMMAND] = "";

    end = kept != NULL ? strchr(kept, '\n') : NULL;
    if (end == NULL)
        return false;
    here.to = word;
    here.room = sizeof word;
    if (getcwd(folder, sizeof folder) != NULL)
        append_quoted(&here, folder);
    if (strlen(word) != (size_t)(end - kept) || strncmp(word, kept, strlen(word)) != 0) {
        append_text(&l, "cd ");
        append(&l, kept, (size_t)(end - kept));
        append_text(&l, " && ");
    }
    append_text(&l, end + 1);
    for (size_t i = 0; (name = tamis_stream_account_input(run, i, NULL)) != NULL; i++) {
        if (i == 0 && name[0] == '-' && name[1] != '\0')
            append_text(&l, " --");
        append_text(&l, " ");
        append_quoted(&l, name);
    }
    return l.fits;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A run with --state that was killed can be finished by its own command. So each commit of a state stores the
 * command line, in two lines of words quoted for a shell:
 *
 *     /data/clicks                                        working directory
 *     tamis dedup --state seen --output once.log          options, without the FILEs
 *
 * The checkpoint of the run stores the FILEs, and absolute names of the outputs. Options that do not change
 * the outputs are left out. The command to finish the run is put together from all of these:
 *
 *     cd /data/clicks && tamis dedup --state seen --output once.log a.log b.log
 *
 * The state may have been moved or copied since. Its present name is known, because the user has just given
 * it.
 *
 *     case                 example                                          names in the command
 *     not moved            /data/clicks/seen                                unchanged
 *     moved together       /old/clicks/seen: still ends in "seen"           unchanged, after cd /old/clicks
 *     moved alone          /backup/state                                    --state gets its present name
 *
 * An output may still exist under its absolute name while its name in the command leads elsewhere. Then the
 * command gets the absolute name, unless the output was moved together with the state. Without such a file
 * the name in the command stays. If the state was moved alone, it may be out of date, and the command is
 * marked as unsure. The first file that does not exist, or is not the input that was read, is reported.
 *
 * The command is never shortened: part of it would be a different command.
 */
#include "cli/cmd/dedup/dedup_command.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cmd/dedup/dedup_config.h"
#include "cli/core/cli_option.h"

/* A command line in a buffer of fixed size. */
typedef struct command_line {
    char *to;
    size_t capacity, used;
    bool fits; /* nothing was left out so far */
} command_line;

static void append_bytes(command_line *line, const char *text, size_t size) {
    line->fits = line->fits && size < line->capacity - line->used;
    if (!line->fits)
        return;
    memcpy(line->to + line->used, text, size);
    line->used += size;
    line->to[line->used] = '\0';
}

static void append_text(command_line *line, const char *text) {
    append_bytes(line, text, strlen(text));
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
static void append_quoted(command_line *line, const char *text) {
    const bool controls = has_control(text);

    if (is_plain(text)) {
        append_text(line, text);
        return;
    }
    append_text(line, controls ? "$'" : "'");
    for (; *text != '\0'; text++) {
        char escaped[8];
        if (controls && (has_control((char[]){*text, '\0'}) || *text == '\\' || *text == '\'')) {
            snprintf(escaped, sizeof escaped, "\\%03o", (unsigned)(unsigned char)*text);
            append_text(line, escaped);
        } else if (*text == '\'') {
            append_text(line, "'\\''");
        } else {
            append_bytes(line, text, 1);
        }
    }
    append_text(line, "'");
}

static void append_option(command_line *line, const cli_option *option, const char *text) {
    append_text(line, " --");
    append_text(line, option->name);
    if (!text)
        return;
    append_text(line, option->optional ? "=" : " ");
    append_quoted(line, text);
}

/* Appends the option with all its values, if it was given. */
static void append_given(command_line *line, const cli_option *option, const cli_value *value) {
    if (!value->given)
        return;
    for (size_t n = 0; n < value->count; n++)
        append_option(line, option, value->list[n]);
    if (value->count == 0)
        append_option(line, option, value->text);
}

/* True for options that do not change the outputs, or that were meant for one run only. A run that follows
 * its input is finished by one that reads the rest of the present file. */
static bool is_left_out(int id) {
    static const int left_out[] = {DEDUP_REREAD,        DEDUP_ABANDON, CLI_OPT_FILES_FROM, CLI_OPT_THREADS,
                                   DEDUP_PROFILE,       CLI_OPT_STATS, CLI_OPT_JSON,       CLI_OPT_PROGRESS,
                                   CLI_OPT_NO_PROGRESS, CLI_OPT_QUIET, DEDUP_COMMIT_EVERY, DEDUP_FOLLOW_INPUT,
                                   DEDUP_METRICS,       DEDUP_FILES};

    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        if (left_out[i] == id)
            return true;
    return false;
}

bool dedup_command_keep(char *to, const cli_value *values) {
    command_line line = {.to = to, .capacity = DEDUP_COMMAND, .fits = true};
    char directory[PATH_MAX];

    if (!getcwd(directory, sizeof directory))
        return false;
    append_quoted(&line, directory);
    append_text(&line, "\ntamis dedup");
    for (const cli_option *option = dedup_options; option->name; option++) {
        if (!is_left_out(option->id))
            append_given(&line, option, &values[option->id]);
    }
    if (values[DEDUP_FOLLOW_INPUT].given &&
        !values[DEDUP_DEFER_UNTERMINATED].given) /* its last record may have no end yet */
        append_text(&line, " --defer-unterminated");
    if (!line.fits)
        to[0] = '\0';
    return line.fits;
}

/* ---- the options that define the keys ---- */

bool dedup_command_keys(char *to, size_t capacity, const cli_value *values) {
    static const int ids[] = {
        CLI_OPT_KEY, CLI_OPT_DELIMITER, CLI_OPT_TRIM, CLI_OPT_IGNORE_CASE, CLI_OPT_TYPE,
        CLI_OPT_HEX, DEDUP_TIME,        DEDUP_SOURCE, DEDUP_POSITION,
    };
    command_line line = {.to = to, .capacity = capacity, .fits = true};

    to[0] = '\0';
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        append_given(&line, cli_option_of(dedup_options, ids[i]), &values[ids[i]]);
    if (line.used > 0)
        memmove(to, to + 1, line.used); /* without the first blank */
    return line.fits;
}

/* ---- the command that finishes a run ---- */

/* Reads one word that append_quoted wrote, without its quotes. Returns the end of the word; NULL: it does not
 * fit. */
static const char *read_word(char *to, size_t capacity, const char *text) {
    const bool escapes = text[0] == '$';
    size_t used = 0;
    bool quoted = false;

    for (text += escapes; *text != '\0' && (quoted || (*text != ' ' && *text != '\n'));) {
        char c = *text++;
        if (c == '\'') {
            quoted = !quoted;
            continue;
        }
        if (c == '\\' && !quoted)
            c = *text++; /* the quote of '\'' */
        else if (c == '\\' && escapes) {
            c = (char)((text[0] - '0') << 6 | (text[1] - '0') << 3 | (text[2] - '0'));
            text += 3;
        }
        if (used + 1 >= capacity)
            return NULL;
        to[used++] = c;
    }
    to[used] = '\0';
    return text;
}

/* An option of a stored command. */
typedef struct kept_option {
    const char *text;       /* start of the option in the command, with its dashes */
    size_t name_size, size; /* bytes of the name with dashes, and of name and value */
    bool has_value;
    char value[DEDUP_COMMAND]; /* value without quotes */
} kept_option;

static bool is_named(const kept_option *kept, const char *name) {
    return strlen(name) == kept->name_size && strncmp(kept->text, name, kept->name_size) == 0;
}

/* Reads the option at `text`. Returns the end of the option; NULL: there is none. */
static const char *read_option(kept_option *kept, const char *text) {
    const char *end = text + strcspn(text, " =");

    if (strncmp(text, "--", 2) != 0)
        return NULL;
    *kept = (kept_option){.text = text, .name_size = (size_t)(end - text)};
    kept->has_value = *end == '=';
    for (size_t i = 0; dedup_options[i].name && !kept->has_value; i++)
        kept->has_value = strlen(dedup_options[i].name) == kept->name_size - 2 &&
                          strncmp(dedup_options[i].name, text + 2, kept->name_size - 2) == 0 &&
                          dedup_options[i].type != CLI_FLAG && !dedup_options[i].optional;
    if (kept->has_value)
        end = *end == '\0' ? NULL : read_word(kept->value, sizeof kept->value, end + 1);
    if (end)
        kept->size = (size_t)(end - text);
    return end;
}

static cli_key_type find_type(const char *name) {
    int type = 0;

    while (cli_key_types[type] && strcmp(name, cli_key_types[type]) != 0)
        type++;
    return cli_key_types[type] ? (cli_key_type)type : CLI_KEY_BYTES;
}

bool dedup_command_key_form(cli_key_form *form, const char *keys) {
    kept_option kept;

    *form = (cli_key_form){.given = false};
    for (const char *text = keys; *text != '\0'; text += *text == ' ') {
        text = read_option(&kept, text);
        if (!text)
            return false;
        if (is_named(&kept, "--trim"))
            form->normalization |= TAMIS_KEYS_TRIMMED;
        else if (is_named(&kept, "--ignore-case"))
            form->normalization |= TAMIS_KEYS_FOLDED;
        else if (is_named(&kept, "--hex"))
            form->hex = true;
        else if (is_named(&kept, "--type"))
            form->type = find_type(kept.value);
    }
    return true;
}

bool dedup_command_joins_keys(bool *joins, const char *keys) {
    kept_option kept;
    size_t count = 0;

    *joins = false;
    for (const char *text = keys; *text != '\0'; text += *text == ' ') {
        text = read_option(&kept, text);
        if (!text)
            return false;
        if (!is_named(&kept, "--key"))
            continue;
        tamis_extractor_options options = TAMIS_EXTRACTOR_OPTIONS_INIT;
        tamis_extractor *extractor = NULL;
        const char *part = kept.value;
        options.parts = &part;
        options.part_count = 1;
        if (tamis_extractor_create(&extractor, &options, NULL) != TAMIS_OK)
            return false;
        *joins = *joins || ++count > 1 || tamis_extractor_joins(extractor);
        tamis_extractor_free(extractor);
    }
    return true;
}

static bool is_there(const char *path) {
    struct stat st;

    return stat(path, &st) == 0;
}

static bool is_same_file(const char *path, const char *other) {
    struct stat a, b;

    return stat(path, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void make_absolute(char to[PATH_MAX], const char *directory, const char *name) {
    if (name[0] == '/')
        snprintf(to, PATH_MAX, "%s", name);
    else
        snprintf(to, PATH_MAX, "%s%s%s", directory, strcmp(directory, "/") == 0 ? "" : "/", name);
}

/* Present location of the state, and the directory in which the command works. */
typedef struct command_site {
    char directory[PATH_MAX]; /* working directory for the names in the command */
    char state[PATH_MAX];     /* absolute name of the state */
    bool moved;               /* the state was moved or copied */
    bool together;            /* the files beside it moved with it */
} command_site;

/* Returns the path relative to the directory of the site if it is in there, else the path itself. */
static const char *visible_from(const command_site *site, const char *path) {
    const size_t size = strlen(site->directory);

    return strncmp(path, site->directory, size) == 0 && path[size] == '/' && path[size + 1] != '\0'
               ? path + size + 1
               : path;
}

/* Finds out whether the state was moved. When the run began it was `name` in `directory`; `state` is its
 * present name. */
static void find_site(command_site *site, const char *directory, const char *name, const char *state) {
    char before[PATH_MAX];

    make_absolute(before, directory, name);
    snprintf(site->directory, sizeof site->directory, "%s", directory);
    if (!realpath(state, site->state))
        snprintf(site->state, sizeof site->state, "%s", before);
    site->moved = !is_same_file(before, site->state);
    while (strncmp(name, "./", 2) == 0)
        name += 2;
    size_t size = strlen(name);
    while (size > 0 && name[size - 1] == '/')
        size--;
    const size_t length = strlen(site->state);
    site->together = site->moved && size > 0 && name[0] != '/' && length > size + 1 &&
                     strncmp(site->state + length - size, name, size) == 0 &&
                     site->state[length - size - 1] == '/';
    if (site->together)
        snprintf(site->directory, sizeof site->directory, "%.*s", (int)(length - size - 1), site->state);
    else if (site->moved && !is_there(directory) && !getcwd(site->directory, sizeof site->directory))
        snprintf(site->directory, sizeof site->directory, "%s", directory);
}

static void note_absent(dedup_finish *finish, const char *name, uint64_t read) {
    enum { KNOWN_BY_CONTENT = 4096 };       /* docs/guide/restarts.md: bytes by which a copy is known */
    const char *slash = strrchr(name, '/'); /* the command has the whole name, and messages are short */

    if (finish->absent[0] != '\0' || strcmp(name, "-") == 0)
        return;
    finish->is_known_by_name = read < KNOWN_BY_CONTENT;
    snprintf(finish->absent, sizeof finish->absent, "%.*s", (int)sizeof finish->absent - 1,
             slash && slash[1] != '\0' ? slash + 1 : name);
}

/* Returns the value of an option, or the present name if it names the state or an output that was moved. */
static const char *present_name(const command_site *site, const kept_option *kept,
                                const tamis_stream_checkpoint *run, dedup_finish *finish) {
    const bool is_output = is_named(kept, "--output"), is_second = is_named(kept, "--duplicates");
    char path[PATH_MAX];

    if (is_named(kept, "--state"))
        return site->moved && !site->together ? visible_from(site, site->state) : kept->value;
    const char *known = is_output || is_second ? tamis_stream_checkpoint_output(run, is_second, NULL) : NULL;
    if (!known)
        return kept->value;
    make_absolute(path, site->directory, kept->value);
    if (is_there(known) && !is_same_file(known, path) &&
        !(site->together && kept->value[0] != '/' && is_there(path)))
        return visible_from(site, known);
    if (!is_there(path))
        note_absent(finish, kept->value, UINT64_MAX);
    finish->unsure = finish->unsure || (site->moved && !site->together);
    return kept->value;
}

static bool append_options(command_line *line, const char *text, const command_site *site,
                           const tamis_stream_checkpoint *run, dedup_finish *finish) {
    kept_option kept;

    while (*text == ' ') {
        text = read_option(&kept, text + 1);
        if (!text)
            return false;
        const char *name = kept.has_value ? present_name(site, &kept, run, finish) : kept.value;
        append_text(line, " ");
        if (name == kept.value) {
            append_bytes(line, kept.text, kept.size);
        } else {
            append_bytes(line, kept.text, kept.name_size);
            append_text(line, " ");
            append_quoted(line, name);
        }
    }
    return true;
}

/* Copies the value of --state in the stored command. False: there is none, or it does not fit. */
static bool find_state(char *to, size_t capacity, const char *text) {
    kept_option kept;

    while (*text == ' ') {
        text = read_option(&kept, text + 1);
        if (!text)
            return false;
        if (is_named(&kept, "--state"))
            return snprintf(to, capacity, "%s", kept.value) < (int)capacity;
    }
    return false;
}

bool dedup_command_of(char *to, size_t capacity, const tamis_stream_checkpoint *run, const char *state,
                      dedup_finish *finish) {
    static const char command[] = "\ntamis dedup";
    const char *stored = tamis_stream_checkpoint_command(run), *options, *name;
    command_line line = {.to = to, .capacity = capacity, .fits = true};
    char directory[PATH_MAX], before[PATH_MAX], path[PATH_MAX];
    uint64_t read;
    command_site present;

    *finish = (dedup_finish){.unsure = false};
    options = stored ? read_word(directory, sizeof directory, stored) : NULL;
    if (!options || strncmp(options, command, strlen(command)) != 0)
        return false;
    options += strlen(command);
    if (!find_state(before, sizeof before, options))
        return false;
    find_site(&present, directory, before, state);
    if (!getcwd(directory, sizeof directory) || strcmp(directory, present.directory) != 0) {
        append_text(&line, "cd ");
        append_quoted(&line, present.directory);
        append_text(&line, " && ");
    }
    append_text(&line, command + 1);
    if (!append_options(&line, options, &present, run, finish))
        return false;
    for (size_t i = 0; (name = tamis_stream_checkpoint_input(run, i, &read)) != NULL; i++) {
        name = visible_from(&present, name);
        if (i == 0 && name[0] == '-' && name[1] != '\0')
            append_text(&line, " --");
        append_text(&line, " ");
        append_quoted(&line, name);
        make_absolute(path, present.directory, name);
        if (!is_there(path) || !tamis_stream_checkpoint_is_input(run, i, path))
            note_absent(finish, name, read);
    }
    return line.fits;
}

void dedup_command_missing_names(char *to, size_t capacity, const dedup_finish *finish) {
    to[0] = '\0';
    if (finish->absent[0] != '\0')
        snprintf(to, capacity, " (%s is gone or changed: give it as it was, %s)", finish->absent,
                 finish->is_known_by_name
                     ? "under this name: too little of it was read to know a copy by its content"
                     : "by its present name");
    else if (finish->unsure)
        snprintf(to, capacity, " (the state was copied or moved: give the outputs by their present names)");
}

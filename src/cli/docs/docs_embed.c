/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tamis-embed: compiles the prose of help and manual pages, docs/man/VERB.txt, into C tables that the
 * command contains. docs/man/README.md describes the format.
 *
 *     docs/man/dedup.txt              output
 *
 *     # NOTES                         static const char *const dedup_notes[] = {
 *     A file that is replaced             "A file that is replaced"
 *     keeps its owner.                    " keeps its owner.",
 *     @shared compressed                  "A compressed FILE ...",      (docs/man/shared/compressed.txt)
 *                                         NULL};
 *     # EXIT STATUS                   static const cli_entry dedup_exits[] = {
 *     0                                   {"0",
 *         All records were read.           "All records were read."},
 *                                         {NULL, NULL}};
 *
 *                           const cli_manual cli_manual_dedup = {.notes = dedup_notes, .exits = dedup_exits};
 *
 * The texts are read line by line, and C is written as they are read. The program keeps nothing but the
 * state of the current section, and stops at the first malformed line.
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INDENT = 4, PATH_SIZE = 4096 };

typedef enum section_type { PARAGRAPHS, ENTRIES } section_type;

static const struct {
    const char *title, *member; /* heading in the text, member of cli_manual */
    section_type type;
    bool required;
} sections[] = {{.title = "DESCRIPTION", .member = "description", .type = PARAGRAPHS, .required = true},
                {.title = "NUMBERS", .member = "numbers", .type = PARAGRAPHS},
                {.title = "ENVIRONMENT", .member = "environment", .type = ENTRIES},
                {.title = "SCHEMES", .member = "schemes", .type = ENTRIES},
                {.title = "JSON", .member = "json", .type = PARAGRAPHS},
                {.title = "METRICS", .member = "metrics", .type = ENTRIES},
                {.title = "NOTES", .member = "notes", .type = PARAGRAPHS},
                {.title = "FILES", .member = "files", .type = ENTRIES},
                {.title = "EXIT STATUS", .member = "exits", .type = ENTRIES, .required = true},
                {.title = "EXAMPLES", .member = "examples", .type = ENTRIES, .required = true}};

enum { SECTIONS = sizeof sections / sizeof sections[0], NO_SECTION = SECTIONS };

/* Item that the last line belongs to. Its C is not complete yet. */
typedef enum item { NO_ITEM, PARAGRAPH, TERM, ENTRY_TEXT } item;

typedef struct embedder {
    FILE *out;
    const char *verb; /* name of the text without directory and suffix */
    size_t verb_length;
    const char *path; /* file that is read, for messages */
    size_t line;
    size_t section; /* index into sections; NO_SECTION: before the first heading */
    bool found[SECTIONS];
    bool has_content; /* the section has an item */
    item item;
} embedder;

static bool refuse(const embedder *state, const char *message) {
    fprintf(stderr, "%s:%zu: %s\n", state->path, state->line, message);
    return false;
}

/* Writes a string literal of `before` and `text`. */
static void put_string(FILE *out, const char *before, const char *text) {
    fprintf(out, "\"%s", before);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\' || *text == '?') /* ??x may be a trigraph */
            fputc('\\', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

/* Writes one more line of an item. Lines are joined with a blank. */
static void put_line(embedder *state, const char *text) {
    fputs("\n        ", state->out);
    put_string(state->out, " ", text);
}

static void open_array(embedder *state) {
    const char *type = sections[state->section].type == PARAGRAPHS ? "char *const" : "cli_entry";

    fprintf(state->out, "\nstatic const %s %.*s_%s[] = {", type, (int)state->verb_length, state->verb,
            sections[state->section].member);
}

static bool end_item(embedder *state) {
    if (state->item == TERM)
        return refuse(state, "the name above has no description; indent its description by 4 blanks");
    if (state->item == PARAGRAPH)
        fputc(',', state->out);
    else if (state->item == ENTRY_TEXT)
        fputs("},", state->out);
    state->item = NO_ITEM;
    return true;
}

static bool end_section(embedder *state) {
    if (!end_item(state))
        return false;
    if (state->section == NO_SECTION)
        return true;
    if (!state->has_content)
        return refuse(state, "the section above is empty; give it a text or remove its heading");
    fputs(sections[state->section].type == PARAGRAPHS ? "\n    NULL};\n" : "\n    {NULL, NULL}};\n",
          state->out);
    return true;
}

static bool begin_section(embedder *state, const char *title) {
    size_t i;

    if (!end_section(state))
        return false;
    for (i = 0; i < SECTIONS && strcmp(sections[i].title, title) != 0; i++)
        ;
    if (i == SECTIONS)
        return refuse(state, "unknown section; docs/man/README.md lists the sections");
    if (state->found[i])
        return refuse(state, "this section exists already; merge the two");
    state->section = i;
    state->found[i] = true;
    state->has_content = false;
    open_array(state);
    return true;
}

/* Adds a line that begins in the first column: text of a paragraph, or the name of an entry. */
static bool add_text(embedder *state, const char *text) {
    if (state->section == NO_SECTION)
        return refuse(state, "text before the first heading; begin with # DESCRIPTION");
    if (state->item == PARAGRAPH) {
        put_line(state, text);
        return true;
    }
    if (!end_item(state))
        return false;
    if (sections[state->section].type == PARAGRAPHS) {
        fputs("\n    ", state->out);
        state->item = PARAGRAPH;
    } else {
        fputs("\n    {", state->out);
        state->item = TERM;
    }
    state->has_content = true;
    put_string(state->out, "", text);
    return true;
}

static bool add_description(embedder *state, const char *text) {
    if (isspace((unsigned char)*text))
        return refuse(state, "indented by more than 4 blanks; indent descriptions by 4");
    if (state->item == ENTRY_TEXT) {
        put_line(state, text);
        return true;
    }
    if (state->item != TERM)
        return refuse(state, "indented, but no name is above it; put text in the first column");
    fputs(",\n     ", state->out);
    put_string(state->out, "", text);
    state->item = ENTRY_TEXT;
    return true;
}

static bool read_text(embedder *state, const char *path, bool is_shared);

/* Reads the file shared/NAME.txt beside the text as if its lines stood here. */
static bool include_shared(embedder *state, const char *name) {
    const char *text = state->path, *slash = strrchr(text, '/');
    const size_t line = state->line;
    char path[PATH_SIZE];

    if (!end_item(state))
        return false;
    if (strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(name) || *name == '\0')
        return refuse(state, "a shared text is named by lower-case letters, digits and dashes");
    snprintf(path, sizeof path, "%.*sshared/%s.txt", !slash ? 0 : (int)(slash - text + 1), text, name);
    if (!read_text(state, path, true)) {
        fprintf(stderr, "%s:%zu: included from here\n", text, line);
        return false;
    }
    state->path = text;
    state->line = line;
    return true;
}

static bool add_line(embedder *state, const char *line, bool is_shared) {
    for (const char *pos = line; *pos != '\0'; pos++)
        if (!isprint((unsigned char)*pos))
            return refuse(state, "a character that is not printable ASCII, or a tab; replace it");
    if (*line == '\0')
        return end_item(state);
    if (line[strlen(line) - 1] == ' ')
        return refuse(state, "a blank at the end of the line; remove it");
    if (*line == '#' || *line == '@') {
        if (is_shared)
            return refuse(state,
                          "a shared text has no headings and includes nothing; move the line out of it");
        if (strncmp(line, "# ", 2) == 0)
            return begin_section(state, line + 2);
        if (strncmp(line, "@shared ", 8) == 0 && state->section != NO_SECTION)
            return include_shared(state, line + 8);
        return refuse(state, "neither \"# SECTION\" nor \"@shared NAME\" in a section");
    }
    if (*line != ' ')
        return add_text(state, line);
    if (strspn(line, " ") < INDENT)
        return refuse(state, "indented by less than 4 blanks; indent descriptions by 4");
    return add_description(state, line + INDENT);
}

static bool read_text(embedder *state, const char *path, bool is_shared) {
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    bool ok = true;

    state->path = path;
    state->line = 0;
    if (!file) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return false;
    }
    while (ok && (length = getline(&line, &size, file)) != -1) {
        state->line++;
        if (line[length - 1] == '\n')
            line[--length] = '\0';
        ok = strlen(line) == (size_t)length ? add_line(state, line, is_shared)
                                            : refuse(state, "a zero byte; remove it");
    }
    if (ok && ferror(file))
        ok = refuse(state, "the rest cannot be read");
    free(line);
    (void)fclose(file);
    return ok && end_item(state);
}

/* Writes the tables of one text, and the struct that names them. */
static bool embed(FILE *out, const char *path) {
    const char *slash = strrchr(path, '/'), *verb = !slash ? path : slash + 1;
    embedder state = {.out = out, .verb = verb, .verb_length = strcspn(verb, "."), .section = NO_SECTION};

    if (!read_text(&state, path, false) || !end_section(&state))
        return false;
    for (size_t i = 0; i < SECTIONS; i++) {
        if (!sections[i].required || state.found[i])
            continue;
        fprintf(stderr, "%s:%zu: no section %s; add it\n", path, state.line, sections[i].title);
        return false;
    }
    fprintf(out, "\nconst cli_manual cli_manual_%.*s = {\n", (int)state.verb_length, verb);
    for (size_t i = 0; i < SECTIONS; i++) {
        const char *member = sections[i].member;
        if (state.found[i])
            fprintf(out, "    .%s = %.*s_%s,\n", member, (int)state.verb_length, verb, member);
    }
    fputs("};\n", out);
    return true;
}

int main(int argc, char **argv) {
    bool ok = true;

    if (argc < 3) {
        fputs("usage: tamis-embed OUTPUT TEXT...\n", stderr);
        return 2;
    }
    FILE *out = fopen(argv[1], "w");
    if (!out) {
        perror(argv[1]);
        return 1;
    }
    fputs("/* Made from docs/man by tamis-embed: do not edit. */\n#include \"cli/cli.h\"\n", out);
    for (int i = 2; i < argc && ok; i++)
        ok = embed(out, argv[i]);
    if (ferror(out) | fclose(out)) {
        perror(argv[1]);
        ok = false;
    }
    if (!ok)
        (void)remove(argv[1]); /* else the next build would take it for complete */
    return ok ? 0 : 1;
}

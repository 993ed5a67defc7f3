/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Manual pages in mdoc, one for tamis and one for each command, from the table of options and docs/man.
 *
 *     NAME, SYNOPSIS      cli_command
 *     DESCRIPTION         docs/man/VERB.txt; then an item for each option: help, more, default
 *     JSON                the command's table of fields
 *     EXIT STATUS, ...    docs/man/VERB.txt
 *
 * Plain text becomes roff. A dot at the start of a line would be a request. A dash would be set as a hyphen,
 * which cannot be pasted into a shell. So both are escaped, as are quotes. Each sentence begins a line: roff
 * sets the space after a sentence only there.
 */
#include <ctype.h>
#include <string.h>

#include <tamis/version.h>

#include "cli/core/cli_json.h"
#include "cli/core/cli_option.h"
#include "cli/docs/docs_int.h"

#define MANUAL_DATE "November 21, 2026"

/* Escapes characters that roff would read as markup. */
static void put_char(FILE *out, char c, bool code) {
    static const struct {
        char c;
        const char *text;
    } special[] = {{'\\', "\\e"},  {'~', "\\(ti"},  {'^', "\\(ha"},
                   {'`', "\\(ga"}, {'\'', "\\(aq"}, {'"', "\\(dq"}};

    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
        if (special[i].c != c)
            continue;
        fputs(special[i].text, out);
        return;
    }
    if (c == '-' && code)
        fputs("\\-", out);
    else
        fputc(c, out);
}

/* Writes text as mdoc, one sentence a line. Words that begin with a dash, and numbers such as 1e-9, are
 * code: their dashes are written as \-. */
static void put_text(FILE *out, const char *text) {
    bool code = false, begins = true;
    size_t column = 0;

    for (; *text != '\0'; text++) {
        if (begins)
            code = *text == '-' || (*text == '1' && text[1] == 'e');
        begins = *text == ' ';
        /* roff detects the end of a sentence at the end of a line. Lines are at most about 70 columns
         * wide. */
        if (begins &&
            ((text[-1] == '.' && isupper((unsigned char)text[1])) || column + strcspn(text + 1, " ") > 70)) {
            fputc('\n', out);
            column = 0;
            continue;
        }
        if (column++ == 0 && *text == '.')
            fputs("\\&", out);
        put_char(out, *text, code);
    }
    fputc('\n', out);
}

static void put_code(FILE *out, const char *text) {
    if (*text == '.')
        fputs("\\&", out);
    for (; *text != '\0'; text++)
        put_char(out, *text, true);
    fputc('\n', out);
}

static void put_option(FILE *out, const cli_option *option) {
    fputs(".It ", out);
    if (option->letter != 0)
        fprintf(out, "Fl %c , ", option->letter);
    fprintf(out, "Fl \\-%s", option->name);
    if (option->value)
        fprintf(out, option->optional ? " Ns Oo Ns = Ns Ar %s Oc" : " Ar %s", option->value);
    fputc('\n', out);
    put_text(out, option->help);
    if (option->more)
        put_text(out, option->more);
    if (!option->fallback)
        return;
    fputs("The default is\n.Cm ", out);
    for (const char *pos = option->fallback; *pos != '\0'; pos++)
        put_char(out, *pos, true);
    fputs(" .\n", out);
}

static void put_head(FILE *out, const char *name, const char *what) {
    char title[40];
    size_t i;

    for (i = 0; name[i] != '\0' && i + 1 < sizeof title; i++)
        title[i] = (char)toupper((unsigned char)name[i]);
    title[i] = '\0';
    fputs(".\\\" Made from the option tables by tamis-docs: do not edit.\n", out);
    fprintf(out, ".Dd %s\n.Dt %s 1\n.Os tamis %d.%d.%d\n", MANUAL_DATE, title, TAMIS_VERSION_MAJOR,
            TAMIS_VERSION_MINOR, TAMIS_VERSION_PATCH);
    fprintf(out, ".Sh NAME\n.Nm %s\n.Nd %s\n", name, what);
}

static void put_exits(FILE *out, const cli_entry *exits) {
    fputs(".Sh EXIT STATUS\n.Bl -tag -width 3n\n", out);
    for (; exits->name; exits++) {
        fprintf(out, ".It %s\n", exits->name);
        put_text(out, exits->text);
    }
    fputs(".El\n", out);
}

/* Writes a section with a list of names and their descriptions. */
static void put_entries(FILE *out, const char *title, const cli_entry *entries) {
    if (!entries)
        return;
    fprintf(out, ".Sh %s\n", title);
    fputs(".Bl -tag -width Ds\n", out);
    for (; entries->name; entries++) {
        fputs(".It Li ", out);
        put_code(out, entries->name);
        put_text(out, entries->text);
    }
    fputs(".El\n", out);
}

static void put_paragraphs(FILE *out, const char *const *paragraphs) {
    for (size_t i = 0; paragraphs[i]; i++) {
        if (i > 0)
            fputs(".Pp\n", out);
        put_text(out, paragraphs[i]);
    }
}

/* Writes the section with the members of --json and their kinds. */
static void put_fields(FILE *out, const cli_command *command) {
    const cli_fields *fields = &command->fields;

    if (!command->manual->json)
        return;
    fputs(".Sh JSON\n", out);
    put_paragraphs(out, command->manual->json);
    fputs(".Bl -tag -width Ds\n", out);
    for (size_t i = 0; i < fields->count; i++) {
        const cli_field *field = &fields->rows[i];
        if (!field->name)
            continue;
        fprintf(out, ".It Li %s: %s%s\n", field->name, cli_json_kind_name(field),
                field->kind & CLI_NULL ? " or null" : "");
        put_text(out, field->meaning);
    }
    fputs(".El\n", out);
}

static void put_examples(FILE *out, const cli_entry *examples) {
    fputs(".Sh EXAMPLES\n", out);
    for (; examples->name; examples++) {
        put_text(out, examples->text);
        fputs(".Bd -literal -offset indent\n", out);
        put_code(out, examples->name);
        fputs(".Ed\n", out);
        if (examples[1].name)
            fputs(".Pp\n", out);
    }
}

/* Writes operands such as "words|urls|clicks N" or "FILTER [FILE...]" as mdoc, word by word. */
static void put_operands(FILE *out, const char *operands) {
    while (*operands != '\0') {
        const bool optional = *operands == '[';
        operands += optional;
        const int length = (int)strcspn(operands, ".] ");
        fprintf(out, "%s %.*s%s\n", optional ? ".Op Ar" : ".Ar", length, operands,
                operands[length] == '.' ? " ..." : "");
        operands += strcspn(operands, " ");
        operands += *operands == ' ';
    }
}

/* Writes the other pages in alphabetical order, which is not the order of the table. */
static void put_see_also(FILE *out, const char *name) {
    const char *last = "";

    fputs(".Sh SEE ALSO\n", out);
    if (*name != '\0')
        fputs(".Xr tamis 1", out);
    for (;;) {
        const char *next = NULL;
        for (size_t i = 0; cli_commands[i]; i++) {
            const char *candidate = cli_commands[i]->name;
            if (strcmp(candidate, last) > 0 && (!next || strcmp(candidate, next) < 0))
                next = candidate;
        }
        if (!next)
            break;
        if (strcmp(next, name) != 0)
            fprintf(out, "%s.Xr tamis-%s 1", *name || *last ? " ,\n" : "", next);
        last = next;
    }
    fputc('\n', out);
}

void docs_manual_command(FILE *out, const cli_command *command) {
    const cli_manual *manual = command->manual;
    char name[40];

    snprintf(name, sizeof name, "tamis-%s", command->name);
    put_head(out, name, command->summary);
    fprintf(out, ".Sh SYNOPSIS\n.Nm tamis %s\n.Op Ar OPTION ...\n", command->name);
    put_operands(out, command->operands);
    fputs(".Sh DESCRIPTION\n", out);
    put_paragraphs(out, manual->description);
    fputs(".Pp\nThe options are as follows:\n.Bl -tag -width Ds\n", out);
    for (size_t i = 0; command->options[i].name; i++)
        put_option(out, &command->options[i]);
    put_option(out, &cli_option_help);
    fputs(".El\n", out);
    put_entries(out, "SCHEMES", manual->schemes);
    put_fields(out, command);
    put_entries(out, "METRICS", manual->metrics);
    if (manual->notes) {
        fputs(".Sh NOTES\n", out);
        put_paragraphs(out, manual->notes);
    }
    put_entries(out, "FILES", manual->files);
    put_exits(out, manual->exits);
    put_examples(out, manual->examples);
    put_see_also(out, command->name);
}

void docs_manual_main(FILE *out, const cli_command *none) {
    const cli_manual *manual = &cli_manual_tamis;

    (void)none;
    put_head(out, "tamis", "membership filters for streams of records");
    fputs(".Sh SYNOPSIS\n.Nm\n.Ar COMMAND\n.Op Ar OPTION ...\n.Op Ar OPERAND ...\n"
          ".Nm\n.Fl \\-version | \\-help\n.Sh DESCRIPTION\n",
          out);
    put_paragraphs(out, manual->description);
    fputs(".Pp\nThe commands, each with a page of its own, are:\n.Bl -tag -width 14n\n", out);
    for (size_t i = 0; cli_commands[i]; i++) {
        fprintf(out, ".It Xr tamis-%s 1\n", cli_commands[i]->name);
        put_text(out, cli_commands[i]->summary);
    }
    fputs(".El\n.Pp\nThe options are as follows:\n.Bl -tag -width Ds\n"
          ".It Fl V , Fl \\-version\nPrint the version, the vector kernels in use, "
          "what the system does with huge pages, and the libraries.\n"
          ".It Fl h , Fl \\-help\nPrint the list of commands.\n.El\n"
          ".Sh NUMBERS\n",
          out);
    put_paragraphs(out, manual->numbers);
    put_entries(out, "ENVIRONMENT", manual->environment);
    put_exits(out, manual->exits);
    put_examples(out, manual->examples);
    put_see_also(out, "");
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Manual pages in mdoc, one for tamis and one for each command. */
#include <ctype.h>
#include <string.h>

#include <tamis/version.h>

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

/* Writes text as mdoc, one sentence a line. Words that begin with a dash, and numbers such as 1e-9, are code: their dashes are
 * written as \-. */
static void put_text(FILE *out, const char *text) {
    bool code = false, begins = true;
    size_t column = 0;

    for (; *text != '\0'; text++) {
        if (begins)
            code = *text == '-' || (*text == '1' && text[1] == 'e');
        begins = *text == ' ';
        /* roff detects the end of a sentence at the end of a line. Lines are at most about 70 columns wide. */
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
    if (option->value != NULL)
        fprintf(out, option->optional ? " Ns Oo Ns = Ns Ar %s Oc" : " Ar %s", option->value);
    fputc('\n', out);
    put_text(out, option->help);
    if (option->more != NULL)
        put_text(out, option->more);
    if (option->fallback == NULL)
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

static void put_exits(FILE *out, const char *const *exits) {
    fputs(".Sh EXIT STATUS\n.Bl -tag -width 3n\n", out);
    for (; *exits != NULL; exits += 2) {
        fprintf(out, ".It %s\n", exits[0]);
        put_text(out, exits[1]);
    }
    fputs(".El\n", out);
}

/* Writes a section with a list of names and their descriptions. */
static void put_entries(FILE *out, const char *title, const char *intro, const cli_entry *entries) {
    if (entries == NULL)
        return;
    fprintf(out, ".Sh %s\n", title);
    if (intro != NULL)
        put_text(out, intro);
    fputs(".Bl -tag -width Ds\n", out);
    for (; entries->name != NULL; entries++) {
        fputs(".It Li ", out);
        put_code(out, entries->name);
        put_text(out, entries->text);
    }
    fputs(".El\n", out);
}

static void put_paragraphs(FILE *out, const char *const *paragraphs) {
    for (size_t i = 0; paragraphs[i] != NULL; i++) {
        if (i > 0)
            fputs(".Pp\n", out);
        put_text(out, paragraphs[i]);
    }
}

static void put_examples(FILE *out, const cli_example *examples) {
    fputs(".Sh EXAMPLES\n", out);
    for (; examples->line != NULL; examples++) {
        put_text(out, examples->what);
        fputs(".Bd -literal -offset indent\n", out);
        put_code(out, examples->line);
        fputs(".Ed\n", out);
        if (examples[1].line != NULL)
            fputs(".Pp\n", out);
    }
}

/* Writes operands such as "words|urls|clicks N" or "FILTER [FILE...]" as mdoc, word by word. */
static void put_operands(FILE *out, const char *operands) {
    while (*operands != '\0') {
        bool optional = *operands == '[';
        int length;
        operands += optional;
        length = (int)strcspn(operands, ".] ");
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
        for (size_t i = 0; cli_commands[i] != NULL; i++) {
            const char *candidate = cli_commands[i]->name;
            if (strcmp(candidate, last) > 0 && (next == NULL || strcmp(candidate, next) < 0))
                next = candidate;
        }
        if (next == NULL)
            break;
        if (strcmp(next, name) != 0)
            fprintf(out, "%s.Xr tamis-%s 1", *name || *last ? " ,\n" : "", next);
        last = next;
    }
    fputc('\n', out);
}

void docs_manual_command(FILE *out, const cli_command *command) {
    char name[40];

    snprintf(name, sizeof name, "tamis-%s", command->name);
    put_head(out, name, command->summary);
    fprintf(out, ".Sh SYNOPSIS\n.Nm tamis %s\n.Op Ar OPTION ...\n", command->name);
    put_operands(out, command->operands);
    fputs(".Sh DESCRIPTION\n", out);
    put_paragraphs(out, command->description);
    fputs(".Pp\nThe options are as follows:\n.Bl -tag -width Ds\n", out);
    for (size_t i = 0; i < command->option_count; i++)
        put_option(out, &command->options[i]);
    put_option(out, &cli_option_help);
    fputs(".El\n", out);
    put_entries(out, "SCHEMES", NULL, command->schemes);
    put_entries(out, "JSON", command->json_intro, command->json);
    if (command->notes != NULL) {
        fputs(".Sh NOTES\n", out);
        put_paragraphs(out, command->notes);
    }
    put_entries(out, "FILES", NULL, command->files);
    put_exits(out, command->exits);
    put_examples(out, command->examples);
    put_see_also(out, command->name);
}

static const char *const main_exits[] = {
    "0",   "Done, or the answer is yes.",
    "1",   "The negative answer of a command that answers a question.",
    "2",   "Error: one line on standard error says what, why and what to do.",
    "130", "Ended by SIGINT, in order (143: by SIGTERM).",
    "141", "Ended by SIGPIPE, without a word: the reader of the output has gone (a closed pipe).",
    NULL};

void docs_manual_main(FILE *out, const cli_command *none) {
    (void)none;
    put_head(out, "tamis", "membership filters for streams of records");
    fputs(".Sh SYNOPSIS\n.Nm\n.Ar COMMAND\n.Op Ar OPTION ...\n.Op Ar OPERAND ...\n"
          ".Nm\n.Fl \\-version | \\-help\n.Sh DESCRIPTION\n",
          out);
    put_text(
        out,
        "tamis keeps sets of records in a few bytes each, and answers whether a record was met before. "
        "Data goes to standard output, everything else to standard error; - names a standard stream "
        "wherever records are read from a file or written to one (not in --secret-file). Long options may "
        "be abbreviated as long as they stay unique. If an option is given twice, the last value counts, so "
        "an "
        "alias can be overridden; the values of options that may be given again, such as --key, --filter and "
        "--files-from, add up. An option and one that contradicts it are refused, in any order.");
    fputs(".Pp\nThe commands, each with a page of its own, are:\n.Bl -tag -width 14n\n", out);
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        fprintf(out, ".It Xr tamis-%s 1\n", cli_commands[i]->name);
        put_text(out, cli_commands[i]->summary);
    }
    fputs(".El\n.Pp\nThe options are as follows:\n.Bl -tag -width Ds\n", out);
    fputs(
        ".It Fl V , Fl \\-version\nPrint the version, the vector kernels in use, "
        "what the system does with huge pages, and the libraries.\n"
        ".It Fl h , Fl \\-help\nPrint the list of commands.\n.El\n"
        ".Sh NUMBERS\n"
        "Counts: k, M, G and T are powers of 1000.\n"
        "Sizes: K, M, G, T, P and E, alone or as KiB, are powers of 1024, and KB and so on powers of 1000.\n"
        "Times: ms, s, m, h and d, and seconds where there is no unit.\n"
        "So 1M is 1,000,000 records or 1,048,576 bytes, by what the option counts, and 1m is one minute.\n"
        ".Sh ENVIRONMENT\n.Bl -tag -width TAMIS_KERNEL\n"
        ".It Ev TAMIS_KERNEL\nForces a set of vector kernels, by the name that\n.Fl \\-version\nprints: "
        "scalar, and avx2 or avx512 on x86-64, neon on arm64.\n"
        "All of them give the same output and the same files.\n"
        "A name that the machine does not support makes every command fail.\n"
        ".It Ev NO_COLOR\nRespected: nothing is coloured at all.\n.El\n",
        out);
    put_exits(out, main_exits);
    put_examples(out, cli_commands[0]->examples);
    put_see_also(out, "");
}

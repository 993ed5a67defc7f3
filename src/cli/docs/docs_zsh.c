/* SPDX-License-Identifier: BSD-2-Clause */
/* The completion for zsh: one call of _arguments for each command. */
#include <string.h>

#include "cli/core/cli_option.h"
#include "cli/docs/docs_int.h"

/* Writes text within single quotes, with a backslash before bytes that have a meaning for _arguments. */
static void put_text(FILE *out, const char *text, const char *special) {
    for (; *text != '\0'; text++) {
        if (strchr(special, *text))
            fputc('\\', out);
        if (*text == '\'')
            fputs("'\\''", out);
        else
            fputc(*text, out);
    }
}

/* bytes to escape: in a list of choices blanks and parentheses, in a message colons, in an explanation
 * brackets */
static const char special_in_words[] = "\\: ()", special_in_message[] = "\\:", special_in_help[] = "\\[]";

static void put_words(FILE *out, const char *const *words) {
    fputc('(', out);
    for (size_t i = 0; words[i]; i++) {
        if (i > 0)
            fputc(' ', out);
        put_text(out, words[i], special_in_words);
    }
    fputc(')', out);
}

static void put_names(FILE *out, const cli_option *option) {
    if (option->letter != 0)
        fprintf(out, "-%c ", option->letter);
    fprintf(out, "--%s", option->name);
}

/* Writes the options that are not offered after this one: the option itself unless it may be repeated, and
 * those that contradict it. */
static void put_excluded(FILE *out, const cli_command *command, const cli_option *option) {
    if (option == &cli_option_help) {
        fputs("(- *)", out);
        return;
    }
    fputc('(', out);
    if (!option->many)
        put_names(out, option);
    for (size_t i = 0; command->conflicts && command->conflicts[i].why; i++) {
        const cli_option *other = docs_contradicting(command, option, i);
        if (!other)
            continue;
        fputc(' ', out);
        put_names(out, other);
    }
    fputs(option->many ? ")*" : ")", out);
}

static void put_value(FILE *out, const cli_option *option) {
    if (option->type == CLI_FLAG)
        return;
    fputs(option->optional ? "::" : ":", out);
    put_text(out, option->value, special_in_message);
    fputc(':', out);
    if (option->type == CLI_FILE)
        fputs("_files", out);
    else if (option->choices)
        put_words(out, option->choices);
    else
        fputc(' ', out);
}

/* Writes one spelling of an option. For _arguments, "-o+" and "--output=" accept the value in the same word
 * or the next. */
static void put_spelling(FILE *out, const cli_command *command, const cli_option *option, bool brief) {
    fputs(" \\\n        '", out);
    put_excluded(out, command, option);
    if (brief)
        fprintf(out, "-%c%s[", option->letter, option->type == CLI_FLAG ? "" : "+");
    else
        fprintf(out, "--%s%s[", option->name,
                option->type == CLI_FLAG ? ""
                : option->optional       ? "=-" /* only in the same word */
                                         : "=");
    put_text(out, option->help, special_in_help);
    fputc(']', out);
    put_value(out, option);
    fputc('\'', out);
}

static void put_option(FILE *out, const cli_command *command, const cli_option *option) {
    if (option->letter != 0)
        put_spelling(out, command, option, true);
    put_spelling(out, command, option, false);
}

static void put_operands(FILE *out, const cli_command *command) {
    const bool names = strcmp(command->operands, CLI_OPERAND_COMMAND) == 0;

    if (*command->operands == '\0')
        return;
    fputs(" \\\n        '", out);
    fputs(names || command->operand_words ? "1:" : "*:", out);
    put_text(out, command->operands, special_in_message);
    fputc(':', out);
    if (names)
        fputs("_tamis_commands", out);
    else if (command->operand_words)
        put_words(out, command->operand_words);
    else
        fputs("_files", out);
    fputc('\'', out);
}

static void put_command(FILE *out, const cli_command *command) {
    fprintf(out, "_tamis_%s() {\n    _arguments -s -S :", command->name);
    for (size_t i = 0; command->options[i].name; i++)
        put_option(out, command, &command->options[i]);
    put_option(out, command, &cli_option_help);
    put_operands(out, command);
    fputs("\n}\n", out);
}

void docs_completion_zsh(FILE *out, const cli_command *none) {
    (void)none;
    fputs("#compdef tamis\n"
          "# Made from the option tables by tamis-docs: do not edit.\n"
          "_tamis_commands() {\n"
          "    local -a commands=(\n",
          out);
    for (size_t i = 0; cli_commands[i]; i++) {
        fprintf(out, "        '%s:", cli_commands[i]->name);
        put_text(out, cli_commands[i]->summary, "\\");
        fputs("'\n", out);
    }
    fputs("    )\n"
          "    _describe -t commands command commands\n"
          "}\n",
          out);
    for (size_t i = 0; cli_commands[i]; i++)
        put_command(out, cli_commands[i]);
    fputs("_tamis() {\n"
          "    if ((CURRENT == 2)); then\n"
          "        _arguments : '(- *)'{-h,--help}'[Print the list of commands.]' \\\n"
          "            '(- *)'{-V,--version}'[Print the version and what is built in.]' "
          "'1:COMMAND:_tamis_commands'\n"
          "        return\n"
          "    fi\n"
          "    local verb=$words[2] curcontext=${curcontext%:*:*}:tamis-$words[2]:\n"
          "    (($+functions[_tamis_$verb])) || return\n"
          "    shift words\n"
          "    ((CURRENT--))\n"
          "    _tamis_$verb\n"
          "}\n"
          "# Loaded as a function this file is the body of its first call; sourced, it only defines.\n"
          "if [[ $funcstack[1] == _tamis ]]; then _tamis \"$@\"; else compdef _tamis tamis; fi\n",
          out);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The completion for fish: one line `complete` for each option, with a condition for where it applies.
 *
 * The condition is a pattern over the words typed so far, joined by newlines (__tamis_in). It must not match:
 *
 *     the option itself             unless it may be given several times
 *     options that contradict it    from the command's table of conflicts
 *
 * Why one pattern: fish tests the conditions of all options whenever the user asks for completions. So each
 * of them is a single match.
 */
#include <string.h>

#include "cli/core/cli_option.h"
#include "cli/docs/docs_int.h"

static void put_quoted(FILE *out, const char *text) {
    fputc('\'', out);
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
    fputc('\'', out);
}

static void put_words(FILE *out, const char *const *words, char between) {
    for (size_t i = 0; words[i]; i++) {
        if (i > 0)
            fputc(between, out);
        fputs(words[i], out);
    }
}

static void put_commands(FILE *out, char between) {
    for (size_t i = 0; cli_commands[i]; i++) {
        if (i > 0)
            fputc(between, out);
        fputs(cli_commands[i]->name, out);
    }
}

/*
 * Writes a pattern for words that give the option. An option without its value does not match, because
 * fish would then not complete the value. In a word of short options, letters of flags may come before the
 * option's letter.
 */
static void put_spellings(FILE *out, const cli_command *command, const cli_option *option) {
    const bool flag = option->type == CLI_FLAG;

    fprintf(out, "--%s%s", option->name, flag ? "(\\n|\\z)" : option->optional ? "(=|\\n|\\z)" : "[=\\n]");
    if (option->letter == 0)
        return;
    fprintf(out, "|-[%c", cli_option_help.letter);
    for (size_t i = 0; command->options[i].name; i++)
        if (command->options[i].letter != 0 && command->options[i].type == CLI_FLAG)
            fputc(command->options[i].letter, out);
    fprintf(out, "]*%c%s", option->letter, flag ? "" : "[\\s\\S]");
}

/* Writes the condition for an option: no option that contradicts it was given, nor the option itself
 * unless it may be given again. */
static void put_condition(FILE *out, const cli_command *command, const cli_option *option) {
    fprintf(out, "complete -c tamis -n '__tamis_in %s \"", command->name);
    if (option->many)
        fputs("(?!)", out); /* matches nothing */
    else
        put_spellings(out, command, option);
    for (size_t i = 0; command->conflicts && command->conflicts[i].why; i++) {
        const cli_option *other = docs_contradicting(command, option, i);
        if (!other)
            continue;
        fputc('|', out);
        put_spellings(out, command, other);
    }
    fputs("\"'", out);
}

static void put_option(FILE *out, const cli_command *command, const cli_option *option) {
    put_condition(out, command, option);
    if (option->letter != 0)
        fprintf(out, " -s %c", option->letter);
    fprintf(out, " -l %s", option->name);
    if (option->type == CLI_FILE) {
        fputs(" -rF", out);
    } else if (option->choices) {
        fputs(" -xa '", out);
        put_words(out, option->choices, ' ');
        fputc('\'', out);
    } else if (option->type != CLI_FLAG && !option->optional) {
        fputs(" -x", out);
    }
    fputs(" -d ", out);
    put_quoted(out, option->help);
    fputc('\n', out);
}

static void put_operands(FILE *out, const cli_command *command) {
    if (*command->operands == '\0')
        return;
    if (strcmp(command->operands, CLI_OPERAND_COMMAND) == 0) {
        for (size_t i = 0; cli_commands[i]; i++) {
            fprintf(out, "complete -c tamis -n '__tamis_in %s \"(", command->name);
            put_commands(out, '|');
            fprintf(out, ")(\\n|\\z)\"' -a %s -d ", cli_commands[i]->name);
            put_quoted(out, cli_commands[i]->summary);
            fputc('\n', out);
        }
        return;
    }
    fprintf(out, "complete -c tamis -n '__tamis_in %s", command->name);
    if (!command->operand_words) {
        fputs("' -F\n", out);
        return;
    }
    fputs(" \"(", out);
    put_words(out, command->operand_words, '|');
    fputs(")(\\n|\\z)\"' -a '", out);
    put_words(out, command->operand_words, ' ');
    fputs("'\n", out);
}

void docs_completion_fish(FILE *out, const cli_command *none) {
    (void)none;
    fputs("# Made from the option tables by tamis-docs: do not edit.\n"
          "# Whether the command is VERB, and no word after it, each with a newline before it, is as PATTERN "
          "says.\n"
          "function __tamis_in --argument-names verb pattern\n"
          "    set -l words (commandline -opc)\n"
          "    test \"$words[2]\" = $verb; or return\n"
          "    set -l rest (string join \\n -- '' $words[3..-1] | string collect)\n"
          "    test -z \"$pattern\"; or not string match -qr -- \"\\n($pattern)\" $rest\n"
          "end\n"
          "complete -c tamis -f\n"
          "complete -c tamis -n __fish_is_first_token -s h -l help -d 'Print the list of commands.'\n"
          "complete -c tamis -n __fish_is_first_token -s V -l version "
          "-d 'Print the version and what is built in.'\n",
          out);
    for (size_t i = 0; cli_commands[i]; i++) {
        fprintf(out, "complete -c tamis -n __fish_is_first_token -a %s -d ", cli_commands[i]->name);
        put_quoted(out, cli_commands[i]->summary);
        fputc('\n', out);
    }
    for (size_t i = 0; cli_commands[i]; i++) {
        const cli_command *command = cli_commands[i];
        for (size_t j = 0; command->options[j].name; j++)
            put_option(out, command, &command->options[j]);
        put_option(out, command, &cli_option_help);
        put_operands(out, command);
    }
}

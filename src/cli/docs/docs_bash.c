/* SPDX-License-Identifier: BSD-2-Clause */
/* The completion for bash. It needs bash 4, but not the package bash-completion. */
#include <string.h>

#include "cli/core/cli_option.h"
#include "cli/docs/docs_int.h"

static void put_options(FILE *out, const cli_command *command) {
    for (size_t i = 0; command->options[i].name; i++) {
        if (command->options[i].letter != 0)
            fprintf(out, "-%c ", command->options[i].letter);
        fprintf(out, "--%s ", command->options[i].name);
    }
    fprintf(out, "-%c --%s", cli_option_help.letter, cli_option_help.name);
}

static void put_words(FILE *out, const char *const *words) {
    for (size_t i = 0; words && words[i]; i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", words[i]);
}

/* Writes the candidates for the value of each option, as a word of its own: a list of words, file names, or
 * none. */
static void put_values(FILE *out, const cli_command *command) {
    for (size_t i = 0; command->options[i].name; i++) {
        const cli_option *option = &command->options[i];
        if (option->type == CLI_FLAG || option->optional)
            continue;
        fprintf(out, "        '%s --%s'", command->name, option->name);
        if (option->letter != 0)
            fprintf(out, "|'%s -%c'", command->name, option->letter);
        fputs(") ", out);
        if (option->type == CLI_FILE) {
            fputs("_tamis_files \"$cur\"", out);
        } else if (option->choices) {
            fputs("_tamis_words '", out);
            put_words(out, option->choices);
            fputs("' \"$cur\"", out);
        } else {
            fputs("COMPREPLY=()", out);
        }
        fputs("; return ;;\n", out);
    }
}

static void put_commands(FILE *out) {
    for (size_t i = 0; cli_commands[i]; i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", cli_commands[i]->name);
}

static void put_operands(FILE *out, const cli_command *command) {
    const bool names = strcmp(command->operands, CLI_OPERAND_COMMAND) == 0;

    if (*command->operands == '\0')
        return;
    if (!command->operand_words && !names) {
        fprintf(out, "        %s:*) _tamis_files \"$cur\" ;;\n", command->name);
        return;
    }
    fprintf(out, "        %s:*) _tamis_first '", command->name);
    if (names)
        put_commands(out);
    else
        put_words(out, command->operand_words);
    fputs("' \"$cur\" ;;\n", out);
}

void docs_completion_bash(FILE *out, const cli_command *none) {
    (void)none;
    fputs("# Made from the option tables by tamis-docs: do not edit.\n"
          "_tamis_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$2\"); }\n"
          "# The words, unless one of them was given before.\n"
          "_tamis_first() {\n"
          "    local word\n"
          "    for word in \"${COMP_WORDS[@]:2:COMP_CWORD-2}\"; do [[ \" $1 \" != *\" $word \"* ]] || return "
          "0; done\n"
          "    _tamis_words \"$1\" \"$2\"\n"
          "}\n"
          "_tamis_files() { compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$1\"); }\n"
          "_tamis() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local i ended=''\n"
          "    COMPREPLY=()\n"
          "    if ((COMP_CWORD == 1)); then _tamis_words '",
          out);
    put_commands(out);
    fputs(" --help --version' \"$cur\"; return; fi\n"
          "    # Readline takes \"--kind=x\" for three words.\n"
          "    if [[ $cur == = ]]; then cur=''\n"
          "    elif [[ $before == = ]] && ((COMP_CWORD > 2)); then before=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
          "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
          "        if [[ ${COMP_WORDS[i]} == -- ]]; then ended=/ before=--; fi\n"
          "    done\n"
          "    case \"$verb $before\" in\n",
          out);
    for (size_t i = 0; cli_commands[i]; i++)
        put_values(out, cli_commands[i]);
    /* After "--" no word is an option: `ended` is then a slash, so that the patterns of options do not
     * match. */
    fputs("    esac\n    case \"$verb:$ended$cur\" in\n", out);
    for (size_t i = 0; cli_commands[i]; i++) {
        fprintf(out, "        %s:-*) _tamis_words '", cli_commands[i]->name);
        put_options(out, cli_commands[i]);
        fputs("' \"$cur\" ;;\n", out);
    }
    for (size_t i = 0; cli_commands[i]; i++)
        put_operands(out, cli_commands[i]);
    fputs("    esac\n}\ncomplete -F _tamis tamis\n", out);
}

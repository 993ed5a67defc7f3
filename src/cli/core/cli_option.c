/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Options of a command line: getopt_long, driven by the table of the command.
 *
 *     table of cli_option --> struct option of getopt_long --> cli_args: a value for each id, and operands
 *
 * Why not getopt_long alone: a message names the option as typed and lists the ones that it may stand for.
 * Each value is read by its type, with its bounds. One table refuses options that exclude each other.
 */
#include "cli/core/cli_option.h"

#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/cli_number.h"
#include "cli/core/cli_text.h"

const cli_option cli_option_help = {
    .name = "help", .letter = 'h', .type = CLI_FLAG, .help = "Print this help and do nothing else."};

/* getopt_long returns LONG_BASE + index for a long option, which differs from every letter. */
enum { LONG_BASE = 256, LONG_HELP = LONG_BASE + CLI_OPTIONS_MAX };

const cli_option *cli_option_of(const cli_option *options, int id) {
    while (options->name && options->id != id)
        options++;
    return options->name ? options : NULL;
}

static void build_getopt(const cli_command *command, struct option *longs, char *shorts) {
    char *pos = shorts;
    size_t count = 0;

    *pos++ = ':'; /* getopt_long returns ':' for a missing value, '?' for an unknown option */
    for (const cli_option *option = command->options; option->name; option++, count++) {
        const int value = option->type == CLI_FLAG ? no_argument
                          : option->optional       ? optional_argument
                                                   : required_argument;
        longs[count] = (struct option){.name = option->name, .has_arg = value, .val = LONG_BASE + (int)count};
        if (option->letter == 0)
            continue;
        *pos++ = option->letter;
        if (value == required_argument)
            *pos++ = ':';
    }
    *pos++ = cli_option_help.letter;
    *pos = '\0';
    longs[count] = (struct option){.name = cli_option_help.name, .has_arg = no_argument, .val = LONG_HELP};
    longs[count + 1] = (struct option){0};
}

/* Returns the option for a result of getopt_long; NULL if the table has no such option. */
static const cli_option *find_option(const cli_command *command, int answer) {
    if (answer >= LONG_BASE)
        return answer == LONG_HELP ? NULL : &command->options[answer - LONG_BASE];
    for (const cli_option *option = command->options; option->name; option++)
        if (option->letter == answer)
            return option;
    return NULL;
}

static tamis_status read_choice(const cli_option *option, const char *what, const char *text,
                                cli_value *value, tamis_error *err) {
    char list[160];
    size_t used = 0;

    for (size_t i = 0; option->choices[i]; i++) {
        const char *between = i == 0 ? "" : !option->choices[i + 1] ? " or " : ", ";
        if (strcmp(option->choices[i], text) == 0) {
            value->number = i;
            return TAMIS_OK;
        }
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", between, option->choices[i]);
    }
    return cli_fail(err, "%s '%.60s': not one of its values; give %s", what, text, list);
}

static tamis_status keep_in_list(const char *what, const char *text, cli_value *value, tamis_error *err) {
    const char **list = realloc(value->list, (value->count + 1) * sizeof *list);

    if (!list)
        return cli_fail_nomem(what, err);
    list[value->count++] = text;
    value->list = list;
    return TAMIS_OK;
}

tamis_status cli_option_read(const cli_option *option, const char *what, const char *text, cli_value *value,
                             tamis_error *err) {
    value->given = true;
    value->text = text;
    if (!text)
        return TAMIS_OK;
    switch (option->type) {
    case CLI_FLAG:
        return TAMIS_OK;
    case CLI_TEXT:
    case CLI_FILE:
        if (*text != '\0' || option->may_be_empty)
            return option->many ? keep_in_list(what, text, value, err) : TAMIS_OK;
        return cli_fail(err, "%s '': empty; give %s%c%s", what, what, option->optional ? '=' : ' ',
                        option->value);
    case CLI_CHOICE:
        return read_choice(option, what, text, value, err);
    default:
        return cli_number_read(option, what, text, value, err);
    }
}

/* Refuses the second value of an option. The error names the value as the help does, in lower case. */
static tamis_status fail_twice(const cli_option *option, const char *what, tamis_error *err) {
    char value[20] = "";

    for (size_t i = 0; i < sizeof value - 1 && option->value[i] != '\0'; i++)
        value[i] = (char)tolower((unsigned char)option->value[i]);
    return cli_fail(err, "%s: given twice; give one %s", what, value);
}

static tamis_status store_option(const cli_option *option, const char *text, cli_value *value,
                                 tamis_error *err) {
    char what[40];

    snprintf(what, sizeof what, "--%s", option->name);
    if (option->once && value->given)
        return fail_twice(option, what, err);
    if (!option->many)
        *value = (cli_value){.given = false}; /* the last value counts */
    return cli_option_read(option, what, text, value, err);
}

/* Returns long option `i` of the command; --help comes last, then NULL. */
static const char *long_name(const cli_command *command, size_t i) {
    size_t count = 0;

    while (command->options[count].name)
        count++;
    if (i < count)
        return command->options[i].name;
    return i == count ? cli_option_help.name : NULL;
}

/* Lists the long options with the prefix `name`, as "--a, --b or --c". Returns their number. */
static size_t list_with_prefix(const cli_command *command, const char *name, char *list, size_t size) {
    const char *last = NULL, *candidate;
    size_t count = 0, used = 0;

    list[0] = '\0';
    for (size_t i = 0; (candidate = long_name(command, i)) != NULL; i++) {
        if (strncmp(candidate, name, strlen(name)) != 0)
            continue;
        if (last && used < size)
            used += (size_t)snprintf(list + used, size - used, "%s--%s", count > 1 ? ", " : "", last);
        last = candidate;
        count++;
    }
    if (last && used < size)
        snprintf(list + used, size - used, "%s--%s", count > 1 ? " or " : "", last);
    return count;
}

/* True for parameters of URIs of servers that look like options of a command. */
static bool is_uri_parameter(const char *name) {
    static const char *const parameters[] = {"connect-wait",   "read-timeout", "timeout",     "patience",
                                             "retry-interval", "replicas",     "connections", "ttl"};

    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
        if (strcmp(name, parameters[i]) == 0)
            return true;
    return false;
}

/* Refuses an unknown or ambiguous long option. The error lists the options with this prefix, or suggests the
 * nearest one. */
static tamis_status refuse_long(const cli_command *command, const char *typed, tamis_error *err) {
    const size_t length = strcspn(typed, "=");
    char name[64], list[400];
    const char *closest = cli_option_help.name, *candidate;

    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), typed);
    if (list_with_prefix(command, name, list, sizeof list) > 1)
        return cli_fail(err, "--%s: could be %s; write the option in full", name, list);
    unsigned best = cli_text_distance(name, closest);
    for (size_t i = 0; (candidate = long_name(command, i)) != NULL; i++) {
        const unsigned distance = cli_text_distance(name, candidate);
        if (distance >= best)
            continue;
        best = distance;
        closest = candidate;
    }
    if (is_uri_parameter(name))
        return cli_fail(err,
                        "--%s: unknown option; on a server it is a parameter of the URI, as in "
                        "redis://host/NAME?connect_wait=5s; see man tamis-redis",
                        name);
    /* Up to a third of the letters may be a typing error. More is another word. */
    if (best > 1 + strlen(name) / 3)
        return cli_fail(err, "--%s: unknown option; see tamis %s --help", name, command->name);
    return cli_fail(err, "--%s: unknown option; did you mean --%s? See tamis %s --help", name, closest,
                    command->name);
}

/* Fills *err for an option to which getopt_long returned '?' or ':'. */
static tamis_status refuse(const cli_command *command, int answer, char **argv, tamis_error *err) {
    const cli_option *option = optopt != 0 ? find_option(command, optopt) : NULL;

    if (answer == ':' && option)
        return cli_fail(err, "--%s: its value is missing; give --%s %s", option->name, option->name,
                        option->value);
    if (optopt >= LONG_BASE) {
        const char *name = option ? option->name : cli_option_help.name;
        return cli_fail(err, "--%s: takes no value; leave out what follows the '='", name);
    }
    if (optopt >= '0' && optopt <= '9' && *command->operands != '\0')
        return cli_fail(err, "-%c: unknown option; give -- before operands if it is a negative number",
                        optopt);
    if (optopt != 0)
        return cli_fail(err, "-%c: unknown option; see tamis %s --help", optopt, command->name);
    return refuse_long(command, argv[optind - 1] + 2, err);
}

static tamis_status check_conflicts(const cli_command *command, const cli_args *args, tamis_error *err) {
    for (const cli_conflict *conflict = command->conflicts; conflict && conflict->why; conflict++) {
        if (!args->values[conflict->first].given || !args->values[conflict->second].given)
            continue;
        return cli_fail(err, "--%s: contradicts --%s: %s; leave one of them out",
                        cli_option_of(command->options, conflict->first)->name,
                        cli_option_of(command->options, conflict->second)->name, conflict->why);
    }
    return TAMIS_OK;
}

void cli_args_release(cli_args *args) {
    for (size_t i = 0; i < CLI_OPTIONS_MAX; i++) {
        free(args->values[i].list);
        args->values[i].list = NULL;
    }
}

tamis_status cli_parse(cli_args *args, const cli_command *command, int argc, char **argv, tamis_error *err) {
    struct option longs[CLI_OPTIONS_MAX + 2];
    char shorts[2 * CLI_OPTIONS_MAX + 4];
    int answer;

    memset(args, 0, sizeof *args);
    build_getopt(command, longs, shorts);
    opterr = 0; /* getopt_long prints no messages */
    optind = 0; /* GNU: start again, so that a test may parse twice */
    while ((answer = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        if (answer == LONG_HELP || answer == cli_option_help.letter) {
            args->help = true;
            return TAMIS_OK;
        }
        if (answer == '?' || answer == ':')
            return refuse(command, answer, argv, err);
        const cli_option *option = find_option(command, answer);
        if (store_option(option, optarg, &args->values[option->id], err) != TAMIS_OK)
            return err->status;
    }
    args->operands = argv + optind;
    args->operand_count = (size_t)(argc - optind);
    return check_conflicts(command, args, err);
}

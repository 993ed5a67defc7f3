/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of commands. It is not in main.c, because tamis-docs is built from it too. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/core/cli_text.h"

const cli_command *const cli_commands[] = {
    &cmd_dedup, &cmd_state,  &cmd_build, &cmd_add,   &cmd_remove, &cmd_check, &cmd_info, &cmd_verify,
    &cmd_merge, &cmd_copy,   &cmd_clear, &cmd_diff,  &cmd_audit,  &cmd_gen,   &cmd_plan, &cmd_hash,
    &cmd_redis, &cmd_bitmap, &cmd_kafka, &cmd_serve, &cmd_help,   NULL};

const cli_command *cli_command_find(const char *name) {
    for (size_t i = 0; cli_commands[i]; i++)
        if (strcmp(cli_commands[i]->name, name) == 0)
            return cli_commands[i];
    return NULL;
}

/* True if `typed` may be a typing error: at most two letters differ, and less than half of them. Keeps the
 * nearest name in *best. */
static bool is_near(const char *typed, const char *name, unsigned *best) {
    const unsigned distance = cli_text_distance(typed, name);

    if (distance > 2 || 2 * distance >= strlen(typed) || distance >= *best)
        return false;
    *best = distance;
    return true;
}

/* "dedup, gen, plan or help" */
static void list_commands(char *list, size_t size) {
    size_t used = 0;

    for (size_t i = 0; cli_commands[i] && used < size; i++) {
        const char *between = i == 0 ? "" : !cli_commands[i + 1] ? " or " : ", ";
        used += (size_t)snprintf(list + used, size - used, "%s%s", between, cli_commands[i]->name);
    }
}

tamis_status cli_command_unknown(tamis_error *err, const char *typed, const char *before) {
    static const char *const globals[] = {"help", "version"};
    const char *word = typed + strspn(typed, "-"), *what = word == typed ? "command" : "option";
    const char *name = *typed == '\0' ? "''" : typed, *guess = NULL, *head = "";
    unsigned best = 3;
    char list[200];

    for (size_t i = 0; word == typed && cli_commands[i]; i++)
        if (is_near(word, cli_commands[i]->name, &best)) {
            guess = cli_commands[i]->name;
            head = before;
        }
    for (size_t i = 0; i < sizeof globals / sizeof globals[0]; i++)
        if (is_near(word, globals[i], &best)) {
            guess = globals[i];
            head = "--";
        }
    if (guess)
        return cli_fail(err, "%.60s: unknown %s; did you mean tamis %s%s? See tamis --help", name, what, head,
                        guess);
    if (word != typed)
        return cli_fail(err, "%.60s: unknown option; give --help, --version or a command", name);
    list_commands(list, sizeof list);
    return cli_fail(err, "%.60s: unknown command; give %s", name, list);
}

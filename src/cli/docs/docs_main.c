/* SPDX-License-Identifier: BSD-2-Clause */
/* tamis-docs: writes manual pages (mdoc) and shell completions from the tables that parse the options. It
 * checks these tables first, so a wrong one fails the build. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/docs/docs_int.h"

static int write_file(const char *path, void (*write)(FILE *, const cli_command *),
                      const cli_command *command) {
    FILE *out = fopen(path, "w");

    if (!out) {
        perror(path);
        return 1;
    }
    write(out, command);
    int failed = ferror(out);
    failed |= fclose(out);
    if (failed)
        perror(path);
    return failed ? 1 : 0;
}

static int fail(const cli_command *command, const char *option, const char *why) {
    fprintf(stderr, "tamis-docs: tamis %s: --%s: %s\n", command->name, option, why);
    return 1;
}

/* Ids, names and letters must be unique, since values are found by id. Both sides of a conflict must be in
 * the table. */
static int check_table(const cli_command *command) {
    uint64_t ids = 0;
    int failed = 0;

    for (const cli_option *option = command->options; option->name; option++) {
        if (option->id < 0 || option->id >= CLI_OPTIONS_MAX)
            return fail(command, option->name, "its id is out of range");
        if (ids >> option->id & 1)
            failed |= fail(command, option->name, "another option has its id");
        ids |= UINT64_C(1) << option->id;
        for (const cli_option *other = command->options; other != option; other++)
            if (strcmp(option->name, other->name) == 0 ||
                (option->letter != 0 && option->letter == other->letter))
                failed |= fail(command, option->name, "another option has its name or letter");
    }
    for (size_t i = 0; i < command->fields.count; i++)
        if (command->fields.rows[i].name && !command->fields.rows[i].meaning)
            failed |= fail(command, "json", "a row of its fields has no meaning");
    if ((command->fields.count > 0) != (command->manual->json != NULL))
        failed |= fail(command, "json", "only one of the command and its text in docs/man has fields");
    for (const cli_conflict *conflict = command->conflicts; conflict && conflict->why; conflict++)
        if ((ids >> conflict->first & ids >> conflict->second & 1) == 0)
            failed |= fail(command, conflict->why, "a conflict names an option that the table lacks");
    return failed;
}

static int write_manual(const char *directory) {
    char path[4096];

    for (size_t i = 0; cli_commands[i]; i++)
        if (check_table(cli_commands[i]) != 0)
            return 1;
    snprintf(path, sizeof path, "%s/tamis.1", directory);
    int failed = write_file(path, docs_manual_main, NULL);
    for (size_t i = 0; cli_commands[i]; i++) {
        snprintf(path, sizeof path, "%s/tamis-%s.1", directory, cli_commands[i]->name);
        failed |= write_file(path, docs_manual_command, cli_commands[i]);
    }
    return failed;
}

static const struct {
    const char *shell;
    void (*write)(FILE *, const cli_command *);
} completions[] = {
    {"bash", docs_completion_bash}, {"fish", docs_completion_fish}, {"zsh", docs_completion_zsh}};

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "man") == 0)
        return write_manual(argv[2]);
    for (size_t i = 0; argc == 3 && i < sizeof completions / sizeof completions[0]; i++)
        if (strcmp(argv[1], completions[i].shell) == 0)
            return write_file(argv[2], completions[i].write, NULL);
    fputs("usage: tamis-docs man DIRECTORY\n       tamis-docs bash|fish|zsh FILE\n", stderr);
    return 2;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli_run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tamis/hash.h>

#include "cli/cli.h"
#include "cli/core/cli_help.h"
#include "cli/core/cli_option.h"

static int run_command(const cli_command *command, int argc, char **argv, tamis_error *err) {
    cli_args args;
    int code = cli_parse(command, argc, argv, &args, err);

    if (code == CLI_DONE && args.help)
        cli_help_command(stdout, command);
    else if (code == CLI_DONE)
        code = command->run(&args, err);
    cli_args_release(&args);
    return code;
}

/* True if `typed` is --name or a prefix of it. Options of commands may be abbreviated too. */
static bool is_option(const char *typed, const char *name) {
    size_t length = strlen(typed);

    return length > 2 && strncmp(typed, "--", 2) == 0 && strncmp(typed + 2, name, length - 2) == 0;
}

/* A wrong TAMIS_KERNEL is an error of every command, also of one without kernels, so that the user learns of it. Creating a
 * hasher reports it. */
static int check_kernel(tamis_error *err) {
    tamis_hasher *hasher = NULL;

    if (tamis_hasher_create(&hasher, NULL, err) != TAMIS_OK)
        return CLI_FAILED;
    tamis_hasher_free(hasher);
    return CLI_DONE;
}

static int run(int argc, char **argv, tamis_error *err) {
    const char *verb = argc > 1 ? argv[1] : NULL;
    const cli_command *command;

    if (check_kernel(err) != CLI_DONE)
        return CLI_FAILED;
    if (verb == NULL)
        return cli_fail(err, "command: missing; give one, such as tamis dedup FILE, or see tamis --help");
    if (is_option(verb, "help") || strcmp(verb, "-h") == 0) {
        cli_help_all(stdout);
        return CLI_DONE;
    }
    if (is_option(verb, "version") || strcmp(verb, "-V") == 0) {
        cli_help_version(stdout);
        return CLI_DONE;
    }
    command = cli_command_find(verb);
    if (command != NULL)
        return run_command(command, argc - 1, argv + 1, err);
    return cli_command_unknown(err, verb, "");
}

/* Flushes and closes standard output. A failure is an error, whatever the command returned. */
static int finish_output(int code, tamis_error *err) {
    int failed = ferror(stdout);

    errno = 0;
    if (fflush(stdout) == 0 && !failed && (close(STDOUT_FILENO) == 0 || errno == EBADF))
        return code;
    if (errno == EPIPE)
        return CLI_PIPE_GONE;
    if (code == CLI_FAILED)
        return code;
    return cli_fail_output(err, errno);
}

int cli_run(int argc, char **argv) {
    tamis_error err = TAMIS_ERROR_INIT;
    int code = finish_output(run(argc, argv, &err), &err);

    if (code == CLI_FAILED)
        cli_report(err.text);
    return code;
}

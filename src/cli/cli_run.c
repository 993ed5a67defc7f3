/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tamis/hash.h>

#include "cli/cli.h"
#include "cli/core/cli_help.h"
#include "cli/core/cli_option.h"
#include "cli/process/cli_signal.h"

static tamis_status run_command(const cli_command *command, int argc, char **argv, bool *negative,
                                tamis_error *err) {
    cli_args args;
    tamis_status status = cli_parse(&args, command, argc, argv, err);

    if (status == TAMIS_OK && args.help)
        cli_help_command(stdout, command);
    else if (status == TAMIS_OK)
        status = command->run(&args, negative, err);
    cli_args_release(&args);
    return status;
}

/* True if `typed` is --name or a prefix of it. Options of commands may be abbreviated too. */
static bool is_option(const char *typed, const char *name) {
    const size_t length = strlen(typed);

    return length > 2 && strncmp(typed, "--", 2) == 0 && strncmp(typed + 2, name, length - 2) == 0;
}

/* A wrong TAMIS_KERNEL is an error of every command, also of one without kernels, so that the user learns
 * of it. Creating a hasher reports it. */
static tamis_status check_kernel(tamis_error *err) {
    tamis_hasher *hasher = NULL;

    if (tamis_hasher_create(&hasher, NULL, err) != TAMIS_OK)
        return err->status;
    tamis_hasher_free(hasher);
    return TAMIS_OK;
}

static tamis_status run(int argc, char **argv, bool *negative, tamis_error *err) {
    const char *verb = argc > 1 ? argv[1] : NULL;

    if (check_kernel(err) != TAMIS_OK)
        return err->status;
    if (!verb)
        return cli_fail(err, "command: missing; give one, such as tamis dedup FILE, or see tamis --help");
    if (is_option(verb, "help") || strcmp(verb, "-h") == 0) {
        cli_help_all(stdout);
        return TAMIS_OK;
    }
    if (is_option(verb, "version") || strcmp(verb, "-V") == 0) {
        cli_help_version(stdout);
        return TAMIS_OK;
    }
    const cli_command *command = cli_command_find(verb);
    if (command)
        return run_command(command, argc - 1, argv + 1, negative, err);
    return cli_command_unknown(err, verb, "");
}

/* Flushes and closes standard output. A failure is an error, whatever the command returned. */
static tamis_status finish_output(tamis_status status, tamis_error *err) {
    const int failed = ferror(stdout);

    errno = 0;
    if (fflush(stdout) == 0 && !failed && (close(STDOUT_FILENO) == 0 || errno == EBADF))
        return status;
    if (errno == EPIPE)
        return TAMIS_E_PIPE;
    if (status != TAMIS_OK && status != TAMIS_E_PIPE && status != TAMIS_E_INTERRUPTED)
        return status;
    return cli_fail_output(err, errno);
}

int cli_run(int argc, char **argv) {
    tamis_error err = TAMIS_ERROR_INIT;
    bool negative = false;
    const tamis_status status = finish_output(run(argc, argv, &negative, &err), &err);

    if (status == TAMIS_E_PIPE)
        cli_die_of_pipe();
    if (status == TAMIS_E_INTERRUPTED)
        return cli_signals_code();
    if (status == TAMIS_OK)
        return negative ? CLI_EXIT_NEGATIVE : CLI_EXIT_DONE;
    cli_report(err.text);
    return CLI_EXIT_ERROR;
}

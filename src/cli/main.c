/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/cli_help.h"
#include "cli/cli_option.h"
#include "cli/cli_signal.h"

/* All that a command prints itself fits in here, so the first write is the last and its error is seen. */
static char output_buffer[1 << 16];

static int run_command(const cli_command *command, int argc, char **argv, tamis_error *err) {
    cli_args args;

    if (cli_parse(command, argc, argv, &args, err) != CLI_DONE)
        return CLI_FAILED;
    if (!args.help)
        return command->run(&args, err);
    cli_help_command(stdout, command);
    return CLI_DONE;
}

static int run(int argc, char **argv, tamis_error *err) {
    const char *verb = argc > 1 ? argv[1] : NULL;
    const cli_command *command;

    if (verb == NULL)
        return cli_fail(err, "command: missing; give one, such as tamis dedup FILE, or see tamis --help");
    if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0) {
        cli_help_all(stdout);
        return CLI_DONE;
    }
    if (strcmp(verb, "--version") == 0 || strcmp(verb, "-V") == 0) {
        cli_help_version(stdout);
        return CLI_DONE;
    }
    command = cli_command_find(verb);
    if (command != NULL)
        return run_command(command, argc - 1, argv + 1, err);
    return cli_fail(err, "%.60s: unknown %s; did you mean tamis %s? See tamis --help", verb,
                    verb[0] == '-' ? "option" : "command",
                    verb[0] == '-' ? "--help" : cli_command_closest(verb)->name);
}

/* Data that did not arrive is an error, whatever the command said. */
static int finish_output(int code, tamis_error *err) {
    char why[80];
    int failed = ferror(stdout);

    errno = 0;
    if (fflush(stdout) == 0 && !failed && (close(STDOUT_FILENO) == 0 || errno == EBADF))
        return code;
    if (errno == EPIPE)
        return CLI_PIPE_GONE;
    if (code == CLI_FAILED)
        return code;
    return cli_fail(err, "standard output: %s; free space there, or write elsewhere",
                    errno != 0 ? cli_errno_text(why, sizeof why, errno) : "not all could be written");
}

int main(int argc, char **argv) {
    tamis_error err = TAMIS_ERROR_INIT;
    int code;

    cli_hold_standard_files();
    setvbuf(stdout, output_buffer, _IOFBF, sizeof output_buffer);
    code = finish_output(run(argc, argv, &err), &err);
    if (code == CLI_PIPE_GONE)
        cli_die_of_pipe();
    if (code == CLI_FAILED)
        cli_report(err.text);
    return code;
}

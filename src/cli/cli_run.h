/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_RUN_H
#define TAMIS_CLI_RUN_H

/*
 * Runs the command line, flushes and closes standard output, and reports an error. main() does only what concerns the process
 * itself. Returns the exit status, or CLI_PIPE_GONE.
 */
int cli_run(int argc, char **argv);

#endif

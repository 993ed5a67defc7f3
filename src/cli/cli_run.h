/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_RUN_H
#define TAMIS_CLI_RUN_H

/*
 * Runs the command line, flushes and closes standard output, and reports an error. Returns the exit
 * status: one of CLI_EXIT_*, or that of a signal. If the reader of an output has gone, the process ends by
 * SIGPIPE.
 */
int cli_run(int argc, char **argv);

#endif

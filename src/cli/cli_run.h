/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_RUN_H
#define TAMIS_CLI_RUN_H

/*
 * All that the command does, apart from the process that it does it in: the command line is run, standard output
 * flushed and closed, an error reported. Answers the exit status, or CLI_PIPE_GONE.
 */
int cli_run(int argc, char **argv);

#endif

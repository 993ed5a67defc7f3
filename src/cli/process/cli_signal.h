/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_PROCESS_CLI_SIGNAL_H
#define TAMIS_CLI_PROCESS_CLI_SIGNAL_H

#include <tamis/status.h>

/* Signals that end a run in order. One run at a time, because a process has one set of handlers. */

/*
 * Installs the handlers.
 *
 * - The first SIGINT, SIGTERM or SIGHUP makes *stop_fd readable. A second one of the same kind kills the
 *   process.
 * - SIGPIPE and SIGXFSZ become errors of write().
 * - A signal that was ignored stays ignored (nohup, a background job of a shell).
 */
tamis_status cli_signals_begin(int *stop_fd, tamis_error *err);
/* Returns the exit status of a run that a signal ended, as a shell reports it: 130 for SIGINT. */
int cli_signals_code(void);

/* Returns the descriptor of cli_signals_begin; -1 before that call. */
int cli_signals_fd(void);
/* Checks for a signal between two steps. TAMIS_E_INTERRUPTED: one came. */
tamis_status cli_signals_look(tamis_error *err);

/* Ends the process by SIGPIPE, the default action of the signal. The shell sees status 141. */
_Noreturn void cli_die_of_pipe(void);

/* Opens those of descriptors 0 to 2 that are closed, so that no file opened later gets one of these
 * numbers. */
void cli_hold_standard_files(void);

/* ---- cli_bus.c ---- */

/*
 * Installs a handler for SIGBUS, which reading a mapped file raises if the file was cut short. The process
 * then prints a message with the name of the file and exits with status 2, instead of crashing. The
 * library cannot do this, because signal handlers belong to the process.
 */
void cli_bus_begin(void);

#endif

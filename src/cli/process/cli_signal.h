/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_PROCESS_CLI_SIGNAL_H
#define TAMIS_CLI_PROCESS_CLI_SIGNAL_H

#include <tamis/status.h>

/* The signals of a run that must end in order. One run at a time: a process has one set of handlers. */

/*
 * From now on the first SIGINT, SIGTERM or SIGHUP makes *stop_fd readable, a second one of the same
 * kills; SIGPIPE and SIGXFSZ become errors of write(). A signal that was ignored stays ignored (nohup,
 * a shell's background job). CLI_DONE or CLI_FAILED.
 */
int cli_signals_begin(int *stop_fd, tamis_error *err);
/* The exit status of a run that a signal ended: 130 for SIGINT, as a shell would say it. */
int cli_signals_code(void);

/* The same descriptor; -1 before cli_signals_begin. */
int cli_signals_fd(void);
/* Between two steps: CLI_FAILED with TAMIS_E_INTERRUPTED where a signal came. */
int cli_signals_look(tamis_error *err);
/* What a run answers that came to `code`: the signal's status where that is what ended it. */
int cli_signals_end(int code, const tamis_error *err);

/* Dies of SIGPIPE, as a program does that takes no care of it: the shell sees 141. */
_Noreturn void cli_die_of_pipe(void);

/* Makes descriptors 0 to 2 exist, so that no file of ours takes the place of one the caller closed. */
void cli_hold_standard_files(void);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_PROCESS_CLI_BUS_H
#define TAMIS_CLI_PROCESS_CLI_BUS_H

/*
 * Installs a handler for SIGBUS, which reading a mapped file raises if the file was cut short. The process
 * then prints a message with the name of the file and exits with status 2, instead of crashing. The
 * library cannot do this, because signal handlers belong to the process.
 */
void cli_bus_begin(void);

#endif

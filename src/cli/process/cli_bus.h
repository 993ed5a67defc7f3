/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_PROCESS_CLI_BUS_H
#define TAMIS_CLI_PROCESS_CLI_BUS_H

/*
 * A file that is cut short while it is mapped: touching what is gone raises SIGBUS. From now on that ends the process
 * with a sentence that names the file and status 2, instead of a crash. The library cannot do it: handlers are the
 * process's.
 */
void cli_bus_begin(void);

#endif

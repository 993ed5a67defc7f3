/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_SERVE_SERVE_LIBRARY_H
#define TAMIS_CLI_CMD_SERVE_SERVE_LIBRARY_H

#include <tamis/experimental/server.h>

/* The functions of libtamis-server. In a build without it the first two return TAMIS_E_UNSUPPORTED. */

/* Calls tamis_server_check. */
tamis_status serve_library_check(const char *config, const tamis_server_options *options,
                                 tamis_server_summary *summary, tamis_error *err);
/* Opens the server of a file, calls `ready` with its address, answers clients until it is stopped, and closes
 * it. One server a process. */
tamis_status serve_library_run(const char *config, const tamis_server_options *options,
                               void (*ready)(void *context, const char *address), tamis_error *err);
/* For signal handlers. They do nothing if no server runs. */
void serve_library_stop(void);
void serve_library_reload(void);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_PROCESS_CLI_METRICS_SERVER_H
#define TAMIS_CLI_PROCESS_CLI_METRICS_SERVER_H

#include <stdint.h>
#include <stdio.h>

#include <tamis/status.h>

/* An HTTP server in a thread of its own. It answers GET /metrics only. */
typedef struct cli_metrics_server cli_metrics_server;

/* Serves what `write_metrics` writes, at [HOST:]PORT; without HOST at 127.0.0.1. The thread of the server
 * calls it for each request. *address receives the text HOST:PORT, valid until the server is closed. */
tamis_status cli_metrics_server_open(cli_metrics_server **server, const char *target,
                                     void (*write_metrics)(void *context, FILE *out), void *context,
                                     const char **address, tamis_error *err);
/* `server` may be NULL. */
void cli_metrics_server_close(cli_metrics_server *server);

#endif

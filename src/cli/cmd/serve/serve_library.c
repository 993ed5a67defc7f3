/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cmd/serve/serve_library.h"

#include <event2/event.h>
#include <stdatomic.h>
#include <stddef.h>

static _Atomic(tamis_server *) running; /* for signal handlers */

/* libevent prints its warnings by default. The server logs its own events. */
static void drop_warning(int severity, const char *message) {
    (void)severity;
    (void)message;
}

tamis_status serve_library_check(const char *config, const tamis_server_options *options,
                                 tamis_server_summary *summary, tamis_error *err) {
    return tamis_server_check(config, options, summary, err);
}

tamis_status serve_library_run(const char *config, const tamis_server_options *options,
                               void (*ready)(void *context, const char *address), tamis_error *err) {
    tamis_server *server = NULL;

    event_set_log_callback(drop_warning);
    tamis_status status = tamis_server_open(&server, config, options, err);
    if (status != TAMIS_OK)
        return status;
    atomic_store(&running, server);
    ready(options->context, tamis_server_address(server));
    status = tamis_server_run(server, err);
    atomic_store(&running, NULL);
    tamis_server_close(server);
    return status;
}

void serve_library_stop(void) {
    tamis_server *server = atomic_load(&running);

    if (server)
        tamis_server_stop(server);
}

void serve_library_reload(void) {
    tamis_server *server = atomic_load(&running);

    if (server)
        tamis_server_reload(server);
}

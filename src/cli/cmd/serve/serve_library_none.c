/* SPDX-License-Identifier: BSD-2-Clause */
/* For builds without libtamis-server, in place of serve_library.c. */
#include "cli/cmd/serve/serve_library.h"

#include "cli/cli.h"

static tamis_status refuse(tamis_error *err) {
    cli_fail(err,
             "serve: this tamis was built without it; install libsqlite3-dev, libpq-dev and libyaml-dev, "
             "and build it again");
    err->status = TAMIS_E_UNSUPPORTED;
    return err->status;
}

tamis_status serve_library_check(const char *config, const tamis_server_options *options,
                                 tamis_server_summary *summary, tamis_error *err) {
    (void)config;
    (void)options;
    (void)summary;
    return refuse(err);
}

tamis_status serve_library_run(const char *config, const tamis_server_options *options,
                               void (*ready)(void *context, const char *address), tamis_error *err) {
    (void)config;
    (void)options;
    (void)ready;
    return refuse(err);
}

void serve_library_stop(void) {
}

void serve_library_reload(void) {
}

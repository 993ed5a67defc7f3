/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli_server.h"

#include <stdio.h>
#include <string.h>

#include <tamis/redis.h>

bool cli_server_is_uri(const char *name) {
    const char *colon = strstr(name, "://");

    return colon != NULL && colon != name && strcspn(name, "/") > (size_t)(colon - name);
}

int cli_server_open(tamis_filter **filter, const char *uri, bool create, const cli_secret *secret,
                    tamis_error *err) {
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;

    options.create = create;
    if (secret != NULL) {
        options.secret = secret->bytes;
        options.secret_size = secret->size;
    }
    return tamis_redis_filter_open(filter, NULL, uri, &options, err) == TAMIS_OK ? CLI_DONE : CLI_FAILED;
}

int cli_server_pull(tamis_filter **filter, tamis_error *err) {
    tamis_filter *pulled;

    if (tamis_redis_filter_layout(*filter) == NULL)
        return CLI_DONE;
    if (tamis_redis_pull(*filter, &pulled, err) != TAMIS_OK)
        return CLI_FAILED;
    tamis_filter_free(*filter);
    *filter = pulled;
    return CLI_DONE;
}

int cli_server_push(const tamis_filter *filter, const char *uri, tamis_error *err) {
    return tamis_redis_push(filter, NULL, uri, NULL, err) == TAMIS_OK ? CLI_DONE : CLI_FAILED;
}

tamis_status cli_server_plan(tamis_plan *plan, const tamis_want *want, const char *uri, tamis_error *err) {
    return tamis_redis_plan_for(plan, want, NULL, uri, err);
}

const char *cli_server_format(const tamis_filter *filter) {
    static char format[32];
    const char *layout = tamis_redis_filter_layout(filter);

    if (layout == NULL)
        return NULL;
    snprintf(format, sizeof format, "redis-%s", layout);
    return format;
}

int cli_server_refuse(const char *name, const char *what, const char *remedy, tamis_error *err) {
    char shown[CLI_SERVER_SHOWN];

    if (!cli_server_is_uri(name))
        return CLI_DONE;
    return cli_fail(err, "%s '%.200s': is a filter on a server; %s", what, cli_server_show(name, shown),
                    remedy);
}

const char *cli_server_show(const char *name, char *to) {
    if (cli_server_is_uri(name))
        tamis_redis_uri_show(name, to, CLI_SERVER_SHOWN);
    else
        snprintf(to, CLI_SERVER_SHOWN, "%s", name);
    return to;
}

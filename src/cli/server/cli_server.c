/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Filters on servers, for commands that take the name of a file or a URI.
 *
 *     redis://host/NAME?expect=1M    the text of the URI: name, fields {1}, parameters
 *     cli_server_open, _pull, _push  the filter that it names
 *
 * What a URI means is the library's (store/redis). Here its text is only searched for what options need.
 */
#include "cli/server/cli_server.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/core/cli_text.h"

bool cli_server_is_uri(const char *name) {
    const char *colon = strstr(name, "://");

    return colon && colon != name && strcspn(name, "/") > (size_t)(colon - name);
}

const char *cli_server_name(const char *uri, size_t *size) {
    const char *host = strstr(uri, "://"), *pos = host ? host + 3 : uri, *end = pos + strcspn(pos, "?"),
               *name = end;

    pos += strcspn(pos, "/?");
    for (; pos < end; pos++)
        if (*pos == '/')
            name = pos + 1;
    *size = (size_t)(end - name);
    return name;
}

size_t cli_server_field(const char *pos, const char *end, uint64_t *field) {
    const char *digit = pos + 1;

    if (pos == end || *pos != '{')
        return 0;
    for (*field = 0; digit < end && *digit >= '0' && *digit <= '9'; digit++)
        *field = *field > UINT64_MAX / 100 ? UINT64_MAX : 10 * *field + (uint64_t)(*digit - '0');
    return digit > pos + 1 && digit < end && *digit == '}' ? (size_t)(digit + 1 - pos) : 0;
}

bool cli_server_is_family(const char *uri) {
    uint64_t field;
    size_t size;

    if (!cli_server_is_uri(uri))
        return false;
    const char *pos = cli_server_name(uri, &size);
    for (const char *end = pos + size; pos < end; pos++)
        if (cli_server_field(pos, end, &field) > 0)
            return true;
    return false;
}

/* Copies the name in the URI, with a * for each field. */
static void star_name(const char *uri, char *to, size_t capacity) {
    size_t size, used = 0, field_size;
    const char *pos = cli_server_name(uri, &size), *end = pos + size;
    uint64_t field;

    for (; pos < end && used + 1 < capacity; pos += field_size > 0 ? field_size : 1) {
        field_size = cli_server_field(pos, end, &field);
        to[used++] = field_size > 0 ? '*' : *pos;
    }
    to[used] = '\0';
}

tamis_status cli_server_refuse_family(const char *uri, tamis_error *err) {
    char shown[CLI_SERVER_SHOWN], name[120];

    if (!cli_server_is_family(uri))
        return TAMIS_OK;
    star_name(uri, name, sizeof name);
    return cli_fail(err,
                    "%.200s: a family of filters, for tamis add and check only; %s %s%s, or write %%7B for a "
                    "literal brace",
                    cli_server_show(uri, shown),
                    cli_server_keeps_type(uri) ? "for tamis redis drop, expire and ls give"
                                               : "give the name of one filter:",
                    name, cli_server_keeps_type(uri) ? "" : " with the value of a field for each *");
}

const char *cli_server_encode(char *to, const char *name, size_t size) {
    const char *end = name + size;
    size_t used = 0;
    uint64_t field;

    for (; name < end && used + 4 <= CLI_SERVER_NAME; name++) {
        const unsigned char c = (unsigned char)*name;
        if (c <= ' ' || c == 0x7f || strchr("%/?@&#", c) || cli_server_field(name, end, &field) > 0)
            used += (size_t)snprintf(to + used, 4, "%%%02X", c);
        else
            to[used++] = *name;
    }
    to[used] = '\0';
    return to;
}

size_t cli_server_decode(char *to, const char *from, size_t size) {
    size_t used = 0;

    for (size_t i = 0; i < size; i++) {
        const int high = from[i] == '%' && i + 2 < size ? cli_text_hex_digit(from[i + 1]) : -1;
        const int low = high >= 0 ? cli_text_hex_digit(from[i + 2]) : -1;
        to[used++] = low < 0 ? from[i] : (char)(high * 16 + low);
        i += low < 0 ? 0 : 2;
    }
    return used;
}

const char *cli_server_parameter(const char *uri, const char *name, size_t *size) {
    const char *pos = strchr(uri, '?');
    const size_t length = strlen(name);

    for (; pos; pos = strchr(pos, '&')) {
        pos++;
        if (strncmp(pos, name, length) == 0 && pos[length] == '=') {
            *size = strcspn(pos + length + 1, "&");
            return pos + length + 1;
        }
    }
    return NULL;
}

bool cli_server_keeps_type(const char *uri) {
    size_t size;
    const char *layout = cli_server_parameter(uri, "layout", &size);

    return !layout || (size == 5 && memcmp(layout, "tamis", size) == 0);
}

tamis_status cli_server_open(tamis_filter **filter, const char *uri, const cli_key_form *new_form,
                             const cli_secret *secret, tamis_error *err) {
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;

    if (cli_server_refuse_family(uri, err) != TAMIS_OK)
        return err->status;
    options.create = new_form;
    options.key_type = new_form ? cli_key_type_of(*new_form) : TAMIS_KEYS_UNSPECIFIED;
    if (secret) {
        options.secret = secret->bytes;
        options.secret_size = secret->size;
    }
    return tamis_redis_filter_open(filter, NULL, uri, &options, err);
}

tamis_status cli_server_pull(tamis_filter **filter, tamis_error *err) {
    tamis_filter *pulled;

    if (!tamis_redis_filter_layout(*filter))
        return TAMIS_OK;
    if (tamis_redis_pull(&pulled, *filter, err) != TAMIS_OK)
        return err->status;
    tamis_filter_free(*filter);
    *filter = pulled;
    return TAMIS_OK;
}

tamis_status cli_server_push(const tamis_filter *filter, const char *uri, cli_lock_wait wait,
                             tamis_error *err) {
    tamis_status status;

    if (cli_server_refuse_family(uri, err) != TAMIS_OK)
        return err->status;
    while ((status = tamis_redis_push(filter, NULL, uri, NULL, err)) == TAMIS_E_BUSY) {
        const tamis_status code = cli_lock_again(&wait, err);
        if (code != TAMIS_OK)
            return code;
    }
    return status;
}

tamis_status cli_server_resize_begin(tamis_redis_resize **resize, const tamis_filter *like, const char *uri,
                                     cli_lock_wait wait, tamis_error *err) {
    tamis_status status;

    while ((status = tamis_redis_resize_begin(resize, like, NULL, uri, err)) == TAMIS_E_BUSY) {
        const tamis_status code = cli_lock_again(&wait, err);
        if (code != TAMIS_OK)
            return code;
    }
    return status;
}

const char *cli_server_format(const tamis_filter *filter) {
    static char format[32];
    const char *layout = tamis_redis_filter_layout(filter);

    if (!layout)
        return NULL;
    snprintf(format, sizeof format, "redis-%s", layout);
    return format;
}

tamis_status cli_server_enforce_capacity(tamis_filter *filter, tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT;
    const tamis_status status = tamis_redis_filter_enforce_capacity(filter, &why);

    if (status == TAMIS_OK || status == TAMIS_E_UNSUPPORTED)
        return TAMIS_OK;
    *err = why;
    return status;
}

/* The PHP layouts store no capacity: their parameters are bits and probes only. */
static bool is_unbounded(const char *uri) {
    size_t size;
    const char *layout = cli_server_parameter(uri, "layout", &size);

    return layout && size > 3 && memcmp(layout, "php", 3) == 0;
}

/* The share of set bits is fpr_live ^ (1 / probes). At the optimal fill half of the bits are set. A few more
 * may be chance, so the limit is above one half. */
bool cli_server_is_dense(const tamis_filter_info *info, const tamis_plan *plan, const char *uri) {
    const double dense = 0.55;

    return is_unbounded(uri) && info->fpr_live > pow(dense, plan->probes);
}

void cli_server_report_dense(const tamis_filter *filter, const char *uri) {
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    const tamis_plan *plan = tamis_filter_plan(filter);
    char message[CLI_SERVER_SHOWN + 200], shown[CLI_SERVER_SHOWN], now[CLI_TEXT_NUMBER];

    if (!is_unbounded(uri) || tamis_filter_info_get(filter, &info, NULL) != TAMIS_OK ||
        !cli_server_is_dense(&info, plan, uri))
        return;
    snprintf(message, sizeof message,
             "%.300s: has most of its bits set, so its rate is now about %s; make one with more bits",
             cli_server_show(uri, shown), cli_text_real(now, sizeof now, info.fpr_live));
    cli_report(message);
}

tamis_status cli_server_refuse(const char *name, const char *what, const char *remedy, tamis_error *err) {
    char shown[CLI_SERVER_SHOWN];

    if (!cli_server_is_uri(name))
        return TAMIS_OK;
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

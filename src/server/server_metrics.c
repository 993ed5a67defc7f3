/* SPDX-License-Identifier: BSD-2-Clause */

/* GET /metrics, in the text format of Prometheus, by the HTTP server of libevent on the server's loop. */
#include <errno.h>
#include <event2/buffer.h>
#include <event2/http.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/decimal.h"
#include "base/memory.h"
#include "server/server_commands.h"

/* Limits for a client: seconds without progress, and bytes of a request. */
enum { TIMEOUT = 10, HEADERS_MAX = 16384, BODY_MAX = 0 };

static void append_head(struct evbuffer *text, const char *name, const char *type, const char *help) {
    evbuffer_add_printf(text, "# HELP tamis_%s %s\n# TYPE tamis_%s %s\n", name, help, name, type);
}

static void append_count(struct evbuffer *text, const char *name, const char *type, const char *help,
                         uint64_t count) {
    append_head(text, name, type, help);
    evbuffer_add_printf(text, "tamis_%s %" PRIu64 "\n", name, count);
}

/* Appends `text` as the value of a label, with the quote behind it. */
static void append_label(struct evbuffer *to, const char *text) {
    for (; *text; text++) {
        if (*text == '\\' || *text == '"')
            evbuffer_add(to, "\\", 1);
        evbuffer_add(to, text, 1);
    }
    evbuffer_add(to, "\"", 1);
}

static void append_keyspace(struct evbuffer *text, const char *name, const server_guard *guard) {
    evbuffer_add_printf(text, "tamis_%s{keyspace=\"", name);
    append_label(text, guard->keyspace->pattern);
}

/* ---- of the server ---- */

static void append_server(struct evbuffer *text, const tamis_server *server) {
    append_count(text, "server_clients", "gauge", "Connections now.", server->client_count);
    append_count(text, "server_connections_total", "counter", "Connections that were accepted.",
                 server->connections);
    append_count(text, "server_rejected_total", "counter", "Connections beyond the limit.", server->rejected);
    append_count(text, "server_cut_total", "counter",
                 "Connections that were idle, or did not read their replies.", server->cut);
    append_count(text, "server_protocol_errors_total", "counter", "Connections with malformed commands.",
                 server->protocol_errors);
    append_count(text, "server_waiting_keys", "gauge", "Keys of commands that wait for Redis or a database.",
                 server->request_count);
    append_head(text, "server_commands_total", "counter", "Commands that were run.");
    for (size_t i = 0; i < tamis__server_command_count; i++)
        evbuffer_add_printf(text, "tamis_server_commands_total{command=\"%s\"} %" PRIu64 "\n",
                            tamis__server_commands[i].name, server->calls[i]);
    append_count(text, "server_errors_total", "counter",
                 "Commands that are unknown, or were refused before they ran.", server->errors);
}

/* ---- of the guards ---- */

/* Statistics that are one number. */
static const struct {
    const char *name, *type, *help;
    size_t offset;
} numbers[] = {
#define NUMBER(name, type, help, member)                                                                     \
    { name, type, help, offsetof(tamis_guard_stats, member) }
    NUMBER("guard_loads_total", "counter", "Queries that the database answered.", loads),
    NUMBER("guard_failed_loads_total", "counter", "Queries that failed.", failed_loads),
    NUMBER("guard_missing_loads_total", "counter",
           "Queries without a row, as for false positives of the filter.", missing_loads),
    NUMBER("guard_joined_total", "counter", "Requests that joined another one for the same key.", joined),
    NUMBER("guard_refused_total", "counter", "Requests beyond waiting_max.", refused),
    NUMBER("guard_timeouts_total", "counter", "Requests without an answer in time.", timeouts),
    NUMBER("guard_redis_errors_total", "counter", "Batches that Redis did not answer.", redis_errors),
    NUMBER("guard_waiting_keys", "gauge", "Keys that wait for Redis or the database.", waiting),
    NUMBER("guard_cache_entries", "gauge", "Entries of the cache of this process.", cache_entries),
    NUMBER("guard_cache_bytes", "gauge", "Memory of that cache.", cache_bytes),
    NUMBER("guard_filter_keys", "gauge", "Keys in the filter.", filter_keys),
    NUMBER("guard_filter_bytes", "gauge", "Memory of the filter.", filter_bytes),
    NUMBER("guard_filter_version", "gauge", "Version of the filter file in use; 0: none.", filter_version),
    NUMBER("guard_notified_keys_total", "counter", "Keys of new rows by NOTIFY.", reported_keys),
    NUMBER("guard_scans_total", "counter", "Full scans of the keys, or files that were read.", scans),
    NUMBER("guard_failed_scans_total", "counter", "Full scans or files that failed.", failed_scans),
#undef NUMBER
};

static void append_numbers(struct evbuffer *text, const server_guards *guards,
                           const tamis_guard_stats *stats) {
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
        append_head(text, numbers[n].name, numbers[n].type, numbers[n].help);
        for (size_t i = 0; i < guards->count; i++) {
            uint64_t value;
            memcpy(&value, (const char *)&stats[i] + numbers[n].offset, sizeof value);
            append_keyspace(text, numbers[n].name, guards->items[i]);
            evbuffer_add_printf(text, "} %" PRIu64 "\n", value);
        }
    }
}

static void append_answers(struct evbuffer *text, const server_guards *guards,
                           const tamis_guard_stats *stats) {
    append_head(text, "guard_answers_total", "counter", "Keys that were answered, by the level that did.");
    for (size_t i = 0; i < guards->count; i++) {
        const struct {
            const char *level;
            uint64_t count;
        } levels[] = {{"filter", stats[i].absent},
                      {"cache", stats[i].cache_hits},
                      {"redis", stats[i].redis_hits},
                      {"database", stats[i].loads}};
        for (size_t j = 0; j < sizeof levels / sizeof *levels; j++) {
            append_keyspace(text, "guard_answers_total", guards->items[i]);
            evbuffer_add_printf(text, ",level=\"%s\"} %" PRIu64 "\n", levels[j].level, levels[j].count);
        }
    }
}

static void append_latency(struct evbuffer *text, const server_guard *guard, const tamis_guard_stats *stats) {
    char number[32];
    uint64_t count = 0;

    for (int i = 0; i < TAMIS_GUARD_LATENCY_STEPS; i++) {
        count += stats->load_steps[i];
        append_keyspace(text, "guard_load_seconds_bucket", guard);
        if (i + 1 < TAMIS_GUARD_LATENCY_STEPS)
            tamis__write_digits(number, sizeof number, 6, 250e-6 * (double)(1 << i));
        else
            strcpy(number, "+Inf");
        evbuffer_add_printf(text, ",le=\"%s\"} %" PRIu64 "\n", number, count);
    }
    tamis__write_digits(number, sizeof number, 15, (double)stats->load_us / 1e6);
    append_keyspace(text, "guard_load_seconds_sum", guard);
    evbuffer_add_printf(text, "} %s\n", number);
    append_keyspace(text, "guard_load_seconds_count", guard);
    evbuffer_add_printf(text, "} %" PRIu64 "\n", count);
}

static void append_guard_filters(struct evbuffer *text, const server_guards *guards,
                                 const tamis_guard_stats *stats) {
    char number[32];

    append_head(text, "guard_filter_ready", "gauge", "1: the filter has the keys of all rows.");
    for (size_t i = 0; i < guards->count; i++) {
        append_keyspace(text, "guard_filter_ready", guards->items[i]);
        evbuffer_add_printf(text, "} %d\n", stats[i].has_filter);
    }
    append_head(text, "guard_filter_saturated", "gauge", "1: the filter has more keys than its rate allows.");
    for (size_t i = 0; i < guards->count; i++) {
        append_keyspace(text, "guard_filter_saturated", guards->items[i]);
        evbuffer_add_printf(text, "} %d\n", stats[i].is_saturated);
    }
    append_head(text, "guard_listening", "gauge", "1: a connection waits for NOTIFY.");
    for (size_t i = 0; i < guards->count; i++) {
        append_keyspace(text, "guard_listening", guards->items[i]);
        evbuffer_add_printf(text, "} %d\n", stats[i].is_listening);
    }
    append_head(text, "guard_redis_silent", "gauge",
                "1: Redis has not answered lately, so the filter does not answer either.");
    for (size_t i = 0; i < guards->count; i++) {
        append_keyspace(text, "guard_redis_silent", guards->items[i]);
        evbuffer_add_printf(text, "} %d\n", stats[i].is_silent);
    }
    append_head(text, "guard_database_down", "gauge", "1: the database could not be reached.");
    for (size_t i = 0; i < guards->count; i++) {
        append_keyspace(text, "guard_database_down", guards->items[i]);
        evbuffer_add_printf(text, "} %d\n", stats[i].is_down);
    }
    append_head(text, "guard_false_positive_rate", "gauge",
                "Share of keys without a row that reached the database, since the last scan.");
    for (size_t i = 0; i < guards->count; i++) {
        if (isnan(stats[i].live_fpr))
            continue;
        tamis__write_digits(number, sizeof number, 6, stats[i].live_fpr);
        append_keyspace(text, "guard_false_positive_rate", guards->items[i]);
        evbuffer_add_printf(text, "} %s\n", number);
    }
    append_head(text, "guard_scanned_timestamp_seconds", "gauge", "Time of the last full scan.");
    for (size_t i = 0; i < guards->count; i++) {
        append_keyspace(text, "guard_scanned_timestamp_seconds", guards->items[i]);
        evbuffer_add_printf(text, "} %" PRId64 "\n", stats[i].scanned_at / 1000);
    }
    append_head(text, "guard_updated_timestamp_seconds", "gauge",
                "Time of the last scan, full or of new rows.");
    for (size_t i = 0; i < guards->count; i++) {
        append_keyspace(text, "guard_updated_timestamp_seconds", guards->items[i]);
        evbuffer_add_printf(text, "} %" PRId64 "\n", stats[i].updated_at / 1000);
    }
}

static bool append_guards(struct evbuffer *text, tamis_server *server) {
    const server_guards *guards = server->guards;
    tamis_guard_stats *stats = tamis__alloc(&server->memory, (guards->count + 1) * sizeof *stats, 16);

    if (!stats)
        return false;
    for (size_t i = 0; i < guards->count; i++) {
        stats[i] = (tamis_guard_stats)TAMIS_GUARD_STATS_INIT;
        (void)tamis_guard_stats_get(guards->items[i]->guard, &stats[i], NULL);
    }
    append_answers(text, guards, stats);
    append_numbers(text, guards, stats);
    append_guard_filters(text, guards, stats);
    append_head(text, "guard_load_seconds", "histogram", "Time of queries.");
    for (size_t i = 0; i < guards->count; i++)
        append_latency(text, guards->items[i], &stats[i]);
    tamis__free(&server->memory, stats, (guards->count + 1) * sizeof *stats);
    return true;
}

/* ---- of the named filters ---- */

static void append_commits(struct evbuffer *text, const filter_stats *stats) {
    char number[32];
    uint64_t count = 0;

    append_head(text, "filter_commit_seconds", "histogram", "Time of commits.");
    for (int i = 0; i < FILTER_LATENCY_STEPS; i++) {
        count += stats->commit_steps[i];
        if (i + 1 < FILTER_LATENCY_STEPS)
            tamis__write_digits(number, sizeof number, 6, 100e-6 * (double)(1 << i));
        else
            strcpy(number, "+Inf");
        evbuffer_add_printf(text, "tamis_filter_commit_seconds_bucket{le=\"%s\"} %" PRIu64 "\n", number,
                            count);
    }
    tamis__write_digits(number, sizeof number, 15, (double)stats->commit_us / 1e6);
    evbuffer_add_printf(text,
                        "tamis_filter_commit_seconds_sum %s\ntamis_filter_commit_seconds_count %" PRIu64 "\n",
                        number, count);
}

static void append_named_filters(struct evbuffer *text, const tamis_server *server) {
    filter_stats stats;

    if (!server->filters)
        return;
    tamis__filters_stats(server->filters, &stats);
    append_count(text, "filters", "gauge", "Named filters.", stats.filters);
    append_count(text, "filter_keys", "gauge", "Keys in all of them.", stats.keys);
    append_count(text, "filter_bytes", "gauge", "Memory of all of them.", stats.memory);
    append_count(text, "filter_added_total", "counter", "Items that were new.", stats.added);
    append_count(text, "filter_present_total", "counter", "Items that were added and not new.",
                 stats.present);
    append_count(text, "filter_lookups_total", "counter", "Items that were looked up.", stats.lookups);
    append_count(text, "filter_failed_commits_total", "counter", "Commits that failed.",
                 stats.failed_commits);
    append_commits(text, &stats);
}

/* ---- HTTP ---- */

static void reply_metrics(struct evhttp_request *request, void *context) {
    tamis_server *server = context;
    struct evbuffer *body = evbuffer_new();

    if (body) {
        append_server(body, server);
        append_named_filters(body, server);
        if (append_guards(body, server)) {
            evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type",
                              "text/plain; version=0.0.4; charset=utf-8");
            evhttp_send_reply(request, HTTP_OK, "OK", body);
            evbuffer_free(body);
            return;
        }
        evbuffer_free(body);
    }
    evhttp_send_error(request, HTTP_INTERNAL, "out of memory");
}

static void reply_other(struct evhttp_request *request, void *context) {
    (void)context;
    evhttp_send_error(request, HTTP_NOTFOUND, "only /metrics is here");
}

tamis_status tamis__server_metrics_open(tamis_server *server, tamis_error *err) {
    const server_address *address = &server->config->metrics;
    union {
        struct sockaddr any;
        struct sockaddr_in ipv4;
        struct sockaddr_in6 ipv6;
    } name = {0};
    socklen_t size = sizeof name;

    if (!address->host)
        return TAMIS_OK;
    server->http = evhttp_new(server->base);
    if (!server->http || evhttp_set_cb(server->http, "/metrics", reply_metrics, server) != 0)
        return tamis__fail_nomem(err, server->config_file, 0);
    evhttp_set_allowed_methods(server->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
    evhttp_set_max_headers_size(server->http, HEADERS_MAX);
    evhttp_set_max_body_size(server->http, BODY_MAX);
    evhttp_set_timeout(server->http, TIMEOUT);
    evhttp_set_gencb(server->http, reply_other, NULL);
    errno = 0;
    struct evhttp_bound_socket *bound =
        evhttp_bind_socket_with_handle(server->http, address->host, address->port);
    if (!bound)
        return tamis__fail(err, TAMIS_E_SYSTEM, errno, "%s: metrics: %s: %s; give another address",
                           server->config_file, address->text,
                           errno ? strerror(errno) : "not an address of this machine");
    if (getsockname(evhttp_bound_socket_get_fd(bound), &name.any, &size) == 0)
        snprintf(server->metrics_address, sizeof server->metrics_address,
                 strchr(address->host, ':') ? "[%s]:%u" : "%s:%u", address->host,
                 ntohs(name.any.sa_family == AF_INET6 ? name.ipv6.sin6_port : name.ipv4.sin_port));
    tamis__server_log(server, "metrics at http://%s/metrics", server->metrics_address);
    return TAMIS_OK;
}

void tamis__server_metrics_close(tamis_server *server) {
    if (server->http)
        evhttp_free(server->http);
    server->http = NULL;
}

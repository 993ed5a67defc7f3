/* SPDX-License-Identifier: BSD-2-Clause */

/* INFO and COMMAND: what the server says about itself. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tamis/version.h>

#include "base/system.h"
#include "server/server_commands.h"

/* ---- INFO ---- */

__attribute__((format(printf, 2, 3))) static void append(struct evbuffer *text, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    evbuffer_add_vprintf(text, format, arguments);
    va_end(arguments);
}

static void append_server(const tamis_server *server, struct evbuffer *text) {
    append(text, "# Server\r\nredis_version:%s\r\ntamis_version:%s\r\nredis_mode:standalone\r\n",
           SERVER_REDIS_VERSION, tamis_version());
    append(text, "process_id:%ld\r\naddress:%s\r\nuptime_in_seconds:%" PRIu64 "\r\nconfig_file:%s\r\n\r\n",
           (long)getpid(), server->address, (tamis__now_ns() - server->started) / 1000000000,
           server->config_file);
}

static void append_clients(const tamis_server *server, struct evbuffer *text) {
    append(text, "# Clients\r\nconnected_clients:%zu\r\nmaxclients:%" PRIu32 "\r\nblocked_keys:%zu\r\n\r\n",
           server->client_count, server->config->clients, server->request_count);
}

static void append_stats(const tamis_server *server, struct evbuffer *text) {
    uint64_t commands = 0;

    for (size_t i = 0; i < tamis__server_command_count; i++)
        commands += server->calls[i];
    append(text,
           "# Stats\r\ntotal_connections_received:%" PRIu64 "\r\ntotal_commands_processed:%" PRIu64 "\r\n",
           server->connections, commands);
    append(text,
           "rejected_connections:%" PRIu64 "\r\ncut_connections:%" PRIu64 "\r\nprotocol_errors:%" PRIu64
           "\r\ntotal_error_replies:%" PRIu64 "\r\n\r\n",
           server->rejected, server->cut, server->protocol_errors, server->errors);
}

static void append_keyspaces(const tamis_server *server, struct evbuffer *text) {
    append(text, "# Guards\r\n");
    for (size_t i = 0; i < server->guards->count; i++) {
        const server_guard *guard = server->guards->items[i];
        tamis_guard_stats stats = TAMIS_GUARD_STATS_INIT;
        if (tamis_guard_stats_get(guard->guard, &stats, NULL) != TAMIS_OK)
            continue;
        append(text,
               "guard%zu:keys=%s,absent=%" PRIu64 ",cache_hits=%" PRIu64 ",redis_hits=%" PRIu64
               ",loads=%" PRIu64 ",failed_loads=%" PRIu64 ",missing_loads=%" PRIu64,
               i, guard->keyspace->pattern, stats.absent, stats.cache_hits, stats.redis_hits, stats.loads,
               stats.failed_loads, stats.missing_loads);
        append(text,
               ",joined=%" PRIu64 ",refused=%" PRIu64 ",timeouts=%" PRIu64 ",waiting=%" PRIu64
               ",filter=%d,filter_keys=%" PRIu64 ",cache_bytes=%" PRIu64 "\r\n",
               stats.joined, stats.refused, stats.timeouts, stats.waiting, stats.has_filter,
               stats.filter_keys, stats.cache_bytes);
    }
}

static void append_filters(const tamis_server *server, struct evbuffer *text) {
    filter_stats stats;

    append(text, "# Filters\r\n");
    if (!server->filters)
        return;
    tamis__filters_stats(server->filters, &stats);
    append(text, "filters:%" PRIu64 "\r\nfilter_keys:%" PRIu64 "\r\nfilter_memory:%" PRIu64 "\r\n",
           stats.filters, stats.keys, stats.memory);
    append(text,
           "filter_added:%" PRIu64 "\r\nfilter_present:%" PRIu64 "\r\nfilter_lookups:%" PRIu64
           "\r\nfilter_commits:%" PRIu64 "\r\nfilter_failed_commits:%" PRIu64
           "\r\nfilter_commit_usec:%" PRIu64 "\r\n\r\n",
           stats.added, stats.present, stats.lookups, stats.commits, stats.failed_commits, stats.commit_us);
}

void tamis__server_run_info(server_client *client, server_reply *reply, const tamis_key *arguments,
                            size_t count) {
    static const struct {
        const char *name;
        void (*append_section)(const tamis_server *server, struct evbuffer *text);
    } sections[] = {{"server", append_server},
                    {"clients", append_clients},
                    {"stats", append_stats},
                    {"filters", append_filters},
                    {"guards", append_keyspaces}};
    struct evbuffer *text = evbuffer_new();

    if (!text) {
        tamis__reply_error(reply, "ERR out of memory");
        return;
    }
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        bool is_wanted = count == 1;
        for (size_t j = 1; j < count; j++)
            is_wanted |= tamis__server_is_word(arguments[j], sections[i].name) ||
                         tamis__server_is_word(arguments[j], "all") ||
                         tamis__server_is_word(arguments[j], "default") ||
                         tamis__server_is_word(arguments[j], "everything");
        if (is_wanted)
            sections[i].append_section(client->server, text);
    }
    const size_t size = evbuffer_get_length(text);
    const unsigned char *bytes = evbuffer_pullup(text, -1);
    if (reply->is_resp3) {
        char head[40];
        snprintf(head, sizeof head, "=%zu\r\ntxt:", size + 4);
        tamis__reply_text(reply, head);
        tamis__reply_raw(reply, bytes, size);
        tamis__reply_raw(reply, "\r\n", 2);
    } else {
        tamis__reply_bulk(reply, bytes, size);
    }
    evbuffer_free(text);
}

/* ---- COMMAND ---- */

static void reply_flags(server_reply *reply, const char *flags) {
    size_t count = 1;

    for (const char *c = flags; *c; c++)
        count += *c == ' ';
    tamis__reply_set(reply, count);
    while (*flags) {
        const size_t length = strcspn(flags, " ");
        tamis__reply_line(reply, '+', "%.*s", (int)length, flags);
        flags += length + (flags[length] == ' ');
    }
}

/* The ten elements of Redis 7. Categories, tips, key specifications and subcommands are empty. */
static void reply_command(server_reply *reply, const server_command *command) {
    tamis__reply_array(reply, 10);
    tamis__reply_string(reply, command->name);
    tamis__reply_integer(reply, command->arity);
    reply_flags(reply, command->flags);
    tamis__reply_integer(reply, command->first_key);
    tamis__reply_integer(reply, command->last_key);
    tamis__reply_integer(reply, command->key_step);
    tamis__reply_set(reply, 0);
    tamis__reply_array(reply, 0);
    tamis__reply_array(reply, 0);
    tamis__reply_array(reply, 0);
}

static void reply_docs(server_reply *reply, const server_command *command) {
    tamis__reply_string(reply, command->name);
    tamis__reply_map(reply, 3);
    tamis__reply_string(reply, "summary");
    tamis__reply_string(reply, command->summary);
    tamis__reply_string(reply, "since");
    tamis__reply_string(reply, tamis_version());
    tamis__reply_string(reply, "group");
    tamis__reply_string(reply, command->group);
}

static void reply_all_docs(server_reply *reply, const tamis_key *names, size_t count) {
    size_t known = 0;

    for (size_t i = 0; i < count; i++)
        known += tamis__server_command_find(names[i]) != NULL;
    tamis__reply_map(reply, count > 0 ? known : tamis__server_command_count);
    for (size_t i = 0; count == 0 && i < tamis__server_command_count; i++)
        reply_docs(reply, &tamis__server_commands[i]);
    for (size_t i = 0; i < count; i++) {
        const server_command *command = tamis__server_command_find(names[i]);
        if (command)
            reply_docs(reply, command);
    }
}

static void reply_commands(server_reply *reply, const tamis_key *names, size_t count) {
    tamis__reply_array(reply, count > 0 ? count : tamis__server_command_count);
    for (size_t i = 0; count == 0 && i < tamis__server_command_count; i++)
        reply_command(reply, &tamis__server_commands[i]);
    for (size_t i = 0; i < count; i++) {
        const server_command *command = tamis__server_command_find(names[i]);
        if (command)
            reply_command(reply, command);
        else
            tamis__reply_null(reply);
    }
}

void tamis__server_run_command(server_client *client, server_reply *reply, const tamis_key *arguments,
                               size_t count) {
    (void)client;
    if (count == 1)
        reply_commands(reply, NULL, 0);
    else if (count == 2 && tamis__server_is_word(arguments[1], "COUNT"))
        tamis__reply_integer(reply, (int64_t)tamis__server_command_count);
    else if (tamis__server_is_word(arguments[1], "DOCS"))
        reply_all_docs(reply, arguments + 2, count - 2);
    else if (tamis__server_is_word(arguments[1], "INFO"))
        reply_commands(reply, arguments + 2, count - 2);
    else
        tamis__reply_error(
            reply,
            "ERR unknown subcommand or wrong number of arguments for '%.*s'. Known: COUNT, DOCS, "
            "INFO.",
            (int)(arguments[1].size < 64 ? arguments[1].size : 64), (const char *)arguments[1].data);
}

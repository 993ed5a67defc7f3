/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Log lines about guards. A guard works in threads of its own and reports by counters. The server compares
 * them once a second with those of the second before:
 *
 *     scans, failed_scans  --> the filter has been read, cannot be read; each new file
 *     loads, failed_loads  --> queries fail, are answered again
 *     is_silent            --> Redis does not answer, answers again
 *
 * A line tells a change, so that a database that is down for an hour is one line and not 3600.
 */
#include <inttypes.h>
#include <string.h>

#include "server/server_int.h"

static bool has_file(const server_guard *guard) {
    return guard->keyspace->filter_file || guard->keyspace->keys_file;
}

static void report_new_filter(tamis_server *server, const server_guard *guard, const tamis_guard_stats *now) {
    if (now->filter_version)
        tamis__server_log(server, "keyspace '%.80s': the filter has %" PRIu64 " keys, version %" PRIu64,
                          guard->keyspace->pattern, now->filter_keys, now->filter_version);
    else
        tamis__server_log(server, "keyspace '%.80s': the filter has %" PRIu64 " keys",
                          guard->keyspace->pattern, now->filter_keys);
}

/* One line for each reason of a file: it may be missing first, and damaged after that. */
static void report_failed_scan(tamis_server *server, server_guard *guard, const tamis_guard_stats *now,
                               const tamis_error *why) {
    const server_keyspace *keyspace = guard->keyspace;

    if (guard->scan_fails && (!has_file(guard) || strcmp(guard->scan_error.text, why->text) == 0))
        return;
    guard->scan_fails = true;
    guard->scan_error = *why;
    tamis__server_log(server, "keyspace '%.80s': %s; %s; it is tried again%s", keyspace->pattern,
                      keyspace->filter_file                    ? "filter_file cannot be used"
                      : keyspace->keys_file                    ? "keys_file cannot be used"
                      : keyspace->notify && !now->is_listening ? "notify is not heard"
                                                               : "all_keys cannot be read",
                      why->text, now->has_filter ? ", and the former filter stays" : "");
}

static void report_filter(tamis_server *server, server_guard *guard, const tamis_guard_stats *now) {
    const tamis_guard_stats *before = &guard->last_stats;
    tamis_error why = TAMIS_ERROR_INIT;
    const bool fails = tamis_guard_filter_error(guard->guard, &why) != TAMIS_OK;

    if (fails && now->failed_scans > before->failed_scans) {
        report_failed_scan(server, guard, now, &why);
    } else if (!fails && (guard->scan_fails ||
                          (now->scans > before->scans && (before->scans == 0 || has_file(guard))))) {
        guard->scan_fails = false;
        report_new_filter(server, guard, now);
    }
}

static void report_queries(tamis_server *server, server_guard *guard, const tamis_guard_stats *now) {
    const tamis_guard_stats *before = &guard->last_stats;
    const uint64_t failed = now->failed_loads - before->failed_loads;

    if (failed > 0 && !guard->load_fails)
        tamis__server_log(server,
                          "keyspace '%.80s': queries fail, %" PRIu64 " in a second; clients get the reason",
                          guard->keyspace->pattern, failed);
    else if (failed == 0 && guard->load_fails && now->loads > before->loads)
        tamis__server_log(server, "keyspace '%.80s': queries are answered again", guard->keyspace->pattern);
    else
        return;
    guard->load_fails = failed > 0;
}

static void report_redis(tamis_server *server, const server_guard *guard, const tamis_guard_stats *now) {
    if (now->is_silent != guard->last_stats.is_silent)
        tamis__server_log(server, "keyspace '%.80s': Redis %s", guard->keyspace->pattern,
                          now->is_silent ? "does not answer, so the filter does not either"
                                         : "answers again");
}

void tamis__keyspaces_report(tamis_server *server) {
    for (size_t i = 0; i < server->guards->count; i++) {
        server_guard *guard = server->guards->items[i];
        tamis_guard_stats now = TAMIS_GUARD_STATS_INIT;
        if (tamis_guard_stats_get(guard->guard, &now, NULL) != TAMIS_OK)
            continue;
        report_filter(server, guard, &now);
        report_queries(server, guard, &now);
        report_redis(server, guard, &now);
        guard->last_stats = now;
    }
}

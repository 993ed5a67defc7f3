/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Log lines about guards. A guard works in threads of its own and reports by counters. The server compares
 * them once a second with those of the second before:
 *
 *     scans, failed_scans  --> the filter has been read, cannot be read
 *     loads, failed_loads  --> queries fail, are answered again
 *     is_silent            --> Redis does not answer, answers again
 *
 * A line tells a change, so that a database that is down for an hour is one line and not 3600.
 */
#include <inttypes.h>

#include "server/server_int.h"

static void report_filter(tamis_server *server, server_guard *guard, const tamis_guard_stats *now) {
    const tamis_guard_stats *before = &guard->last_stats;
    tamis_error why = TAMIS_ERROR_INIT;

    if (now->scans > before->scans && (before->scans == 0 || guard->scan_fails)) {
        guard->scan_fails = false;
        tamis__server_log(server, "keyspace '%.80s': the filter has %" PRIu64 " keys",
                          guard->keyspace->pattern, now->filter_keys);
    } else if (now->failed_scans > before->failed_scans && !guard->scan_fails) {
        guard->scan_fails = true;
        /* The reason is known only while there is no filter. */
        const bool has_filter = tamis_guard_wait_for_filter(guard->guard, 0, &why) == TAMIS_OK;
        tamis__server_log(server, "keyspace '%.80s': all_keys cannot be read; %s; it is tried again",
                          guard->keyspace->pattern, has_filter ? "the former filter stays" : why.text);
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

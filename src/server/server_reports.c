/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Log lines about guards. A guard works in threads of its own and reports by counters. The server compares
 * them once a second with those of the second before:
 *
 *     scans, failed_scans  --> the filter has been read, cannot be read; each new file;
 *                              a filter in Redis answers
 *     loads, failed_loads  --> queries fail, are answered again
 *     tamis_guard_health   --> the database or Redis does not answer, answers again
 *
 * A line reports a change, so that a database that is down for an hour is one line and not 3600. Meanwhile no
 * line tells that scans and queries fail.
 */
#include <inttypes.h>
#include <string.h>

#include "server/server_int.h"

/* True if the filter is made by another program. */
static bool has_foreign_filter(const server_guard *guard) {
    const server_keyspace *keyspace = guard->keyspace;

    return keyspace->filter_file || keyspace->keys_file || keyspace->redis_filter;
}

static void report_new_filter(tamis_server *server, const server_guard *guard, const tamis_guard_stats *now) {
    if (guard->keyspace->redis_filter)
        tamis__server_log(server, "keyspace '%.80s': the filter in Redis answers", guard->keyspace->pattern);
    else if (now->filter_version)
        tamis__server_log(server, "keyspace '%.80s': the filter has %" PRIu64 " keys, version %" PRIu64,
                          guard->keyspace->pattern, now->filter_keys, now->filter_version);
    else
        tamis__server_log(server, "keyspace '%.80s': the filter has %" PRIu64 " keys",
                          guard->keyspace->pattern, now->filter_keys);
}

/* One line for each reason of another program's filter: it may be missing first, and damaged after that. */
static void report_failed_scan(tamis_server *server, server_guard *guard, const tamis_guard_stats *now,
                               const tamis_error *why) {
    const server_keyspace *keyspace = guard->keyspace;

    if (guard->scan_fails && (!has_foreign_filter(guard) || strcmp(guard->scan_error.text, why->text) == 0))
        return;
    guard->scan_fails = true;
    guard->scan_error = *why;
    tamis__server_log(server, "keyspace '%.80s': %s; %s; it is tried again%s", keyspace->pattern,
                      keyspace->filter_file                    ? "filter_file cannot be used"
                      : keyspace->keys_file                    ? "keys_file cannot be used"
                      : keyspace->redis_filter                 ? "redis_filter cannot be used"
                      : keyspace->notify && !now->is_listening ? "notifications cannot be received"
                                                               : "all_keys cannot be read",
                      why->text,
                      now->has_filter && !keyspace->redis_filter ? ", and the former filter stays" : "");
}

static void report_filter(tamis_server *server, server_guard *guard, const tamis_guard_stats *now) {
    const tamis_guard_stats *before = &guard->last_stats;
    const server_keyspace *keyspace = guard->keyspace;
    tamis_error why = TAMIS_ERROR_INIT;
    const bool fails = tamis_guard_filter_error(guard->guard, &why) != TAMIS_OK;

    if (fails && now->failed_scans > before->failed_scans) {
        if (keyspace->redis_filter ? guard->silences == 0 : !guard->is_down || has_foreign_filter(guard))
            report_failed_scan(server, guard, now, &why);
    } else if (!fails && (guard->scan_fails || (now->scans > before->scans &&
                                                (before->scans == 0 || has_foreign_filter(guard))))) {
        guard->scan_fails = false;
        report_new_filter(server, guard, now);
    }
}

static void report_queries(tamis_server *server, server_guard *guard, const tamis_guard_stats *now) {
    const tamis_guard_stats *before = &guard->last_stats;
    const uint64_t failed = now->failed_loads - before->failed_loads;
    tamis_error why = TAMIS_ERROR_INIT;

    if (guard->is_down)
        return;
    if (failed > 0 && !guard->load_fails) {
        (void)tamis_guard_health(guard->guard, TAMIS_GUARD_QUERY, &why);
        tamis__server_log(server, "keyspace '%.80s': queries fail, %" PRIu64 " in a second: %s",
                          guard->keyspace->pattern, failed, why.text);
    } else if (failed == 0 && guard->load_fails && now->loads > before->loads)
        tamis__server_log(server, "keyspace '%.80s': queries are answered again", guard->keyspace->pattern);
    else
        return;
    guard->load_fails = failed > 0;
}

/* Logs that a part fails, or works again. */
static void report_part(tamis_server *server, const server_guard *guard, const char *name,
                        const tamis_error *why, bool *is_logged) {
    const bool fails = why->status != TAMIS_OK;

    if (fails && !*is_logged)
        tamis__server_log(server, "keyspace '%.80s': %s does not answer: %s; it is tried again",
                          guard->keyspace->pattern, name, why->text);
    else if (!fails && *is_logged)
        tamis__server_log(server, "keyspace '%.80s': %s answers again", guard->keyspace->pattern, name);
    *is_logged = fails;
}

/* On a busy machine, Redis may be silent for a moment. That is not worth a line. */
static void report_parts(tamis_server *server, server_guard *guard, unsigned silences_min) {
    tamis_error database = TAMIS_ERROR_INIT, redis = TAMIS_ERROR_INIT;

    (void)tamis_guard_health(guard->guard, TAMIS_GUARD_SOURCE, &database);
    report_part(server, guard, "the database", &database, &guard->is_down);
    (void)tamis_guard_health(guard->guard, TAMIS_GUARD_REDIS, &redis);
    guard->silences = redis.status == TAMIS_OK ? 0 : guard->silences + 1;
    if (guard->silences == 0 || guard->silences >= silences_min)
        report_part(server, guard, "Redis", &redis, &guard->is_silent);
}

void tamis__keyspaces_report_down(tamis_server *server) {
    for (size_t i = 0; i < server->guards->count; i++)
        report_parts(server, server->guards->items[i], 1);
}

void tamis__keyspaces_report(tamis_server *server) {
    for (size_t i = 0; i < server->guards->count; i++) {
        server_guard *guard = server->guards->items[i];
        tamis_guard_stats now = TAMIS_GUARD_STATS_INIT;
        if (tamis_guard_stats_get(guard->guard, &now, NULL) != TAMIS_OK)
            continue;
        report_parts(server, guard, 2);
        report_filter(server, guard, &now);
        report_queries(server, guard, &now);
        guard->last_stats = now;
    }
}

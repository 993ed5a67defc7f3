/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_GUARD_CALLS_H
#define TAMIS_TEST_GUARD_CALLS_H

#include <stdio.h>
#include <string.h>

#include <tamis/experimental/guard.h>

#include "support/guard_table.h"
#include "support/scratch.h"

/* Calls of a guard over a guard_table that must succeed. Include after cmocka.h. */

static inline tamis_key key_of(const char *text) {
    return (tamis_key){text, strlen(text)};
}

/* Opens a guard over a table, with the options that are set in *options. Its source is that of the options if
 * there is one. Without Redis, the default of timeout_ms is so long that no pause of the machine exceeds it. */
static inline tamis_guard *open_guard(guard_table *table, tamis_guard_options *options) {
    tamis_guard_source source = TAMIS_GUARD_SOURCE_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_guard *guard = NULL;
    const tamis_guard_source *given = options->source;
    const uint32_t timeout_ms = options->timeout_ms;
    guard_table_source(table, &source);
    if (!given)
        options->source = &source;
    if (!timeout_ms && !options->redis)
        options->timeout_ms = 20000;
    if (tamis_guard_open(&guard, options, &err) != TAMIS_OK)
        fail_msg("open: %s", err.text);
    options->source = given;
    options->timeout_ms = timeout_ms;
    return guard;
}

/* Opens a guard with a filter. Does not wait for it. */
static inline tamis_guard *open_scanned(guard_table *table, tamis_guard_options *options) {
    tamis_guard_source source = TAMIS_GUARD_SOURCE_INIT;
    guard_table_source_scanned(table, &source);
    options->source = &source;
    tamis_guard *guard = open_guard(table, options);
    options->source = NULL;
    return guard;
}

static inline tamis_guard_stats stats_of(const tamis_guard *guard) {
    tamis_guard_stats stats = TAMIS_GUARD_STATS_INIT;
    assert_int_equal(tamis_guard_stats_get(guard, &stats, NULL), TAMIS_OK);
    return stats;
}

/* Gets one key. Returns its value in static storage, "" without a row, or NULL for an error. */
static inline const char *get_row(tamis_guard *guard, const char *key, tamis_error *err) {
    static _Thread_local char text[64];
    const tamis_key keys[1] = {key_of(key)};
    tamis_guard_value value[1];
    if (tamis_guard_get_many(guard, keys, 1, value, err) != TAMIS_OK) {
        assert_int_equal(value[0].outcome, TAMIS_GUARD_PENDING);
        return NULL;
    }
    assert_int_not_equal(value[0].outcome, TAMIS_GUARD_PENDING);
    snprintf(text, sizeof text, "%.*s", (int)value[0].size, value[0].data ? (const char *)value[0].data : "");
    tamis_guard_value_release(&value[0]);
    return text;
}

static inline void assert_row(tamis_guard *guard, const char *key, const char *expected) {
    tamis_error err = TAMIS_ERROR_INIT;
    const char *value = get_row(guard, key, &err);
    if (!value)
        fail_msg("%s: %s", key, err.text);
    assert_string_equal(value, expected);
}

enum { PUT_TRIES = 50, PUT_PAUSE_MS = 20 };

/* Begin and end a put. Where Redis has little time, a busy machine may need several attempts. */
static inline void begin_put(tamis_guard *guard, const char *key, uint8_t token[TAMIS_GUARD_TOKEN]) {
    tamis_error err = TAMIS_ERROR_INIT;
    for (int tries = 1; tamis_guard_put_begin(guard, key_of(key), token, &err) != TAMIS_OK; tries++) {
        if (tries == PUT_TRIES)
            fail_msg("put_begin: %s", err.text);
        pause_ms(PUT_PAUSE_MS);
    }
}

static inline void end_put(tamis_guard *guard, const char *key, const uint8_t token[TAMIS_GUARD_TOKEN]) {
    tamis_error err = TAMIS_ERROR_INIT;
    for (int tries = 1; tamis_guard_put_end(guard, key_of(key), token, &err) != TAMIS_OK; tries++) {
        if (tries == PUT_TRIES)
            fail_msg("put_end: %s", err.text);
        pause_ms(PUT_PAUSE_MS);
    }
}

/* Writes a row through the guard. */
static inline void put_row(tamis_guard *guard, guard_table *table, const char *key, const char *value) {
    uint8_t token[TAMIS_GUARD_TOKEN];
    begin_put(guard, key, token);
    guard_table_put(table, key, value);
    end_put(guard, key, token);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include "support/guard_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/scratch.h"

typedef struct table_session {
    guard_table *table;
    uint64_t downs; /* of the table when it was opened */
} table_session;

static void check(bool condition, const char *what) {
    if (condition)
        return;
    fprintf(stderr, "guard_table: %s\n", what);
    abort();
}

static tamis_status fail_with(tamis_error *err, tamis_status status, const char *text) {
    if (err) {
        err->status = status;
        snprintf(err->text, sizeof err->text, "%s", text);
    }
    return status;
}

/* ---- the source ---- */

static tamis_status connect_table(void *context, uint32_t timeout_ms, void **session, tamis_error *err) {
    guard_table *table = context;
    (void)timeout_ms;
    pthread_mutex_lock(&table->mutex);
    const bool is_down = table->is_down;
    const uint64_t downs = table->downs;
    table->connects++;
    table->sessions += !is_down;
    pthread_mutex_unlock(&table->mutex);
    if (is_down)
        return fail_with(err, TAMIS_E_IO, "table: connection refused; start it");
    table_session *opened = malloc(sizeof *opened);
    check(opened != NULL, "no memory");
    *opened = (table_session){table, downs};
    *session = opened;
    return TAMIS_OK;
}

static void disconnect_table(void *session) {
    table_session *opened = session;
    pthread_mutex_lock(&opened->table->mutex);
    opened->table->sessions--;
    pthread_mutex_unlock(&opened->table->mutex);
    free(opened);
}

/* Index of a row, or the number of rows. */
static size_t find_row(const guard_table *table, const char *key, size_t size) {
    for (size_t i = 0; i < table->count; i++)
        if (strlen(table->rows[i].key) == size && memcmp(table->rows[i].key, key, size) == 0)
            return i;
    return table->count;
}

static bool is_broken(const table_session *session) {
    return session->table->is_down || session->downs != session->table->downs;
}

static tamis_status load_from_table(void *context, tamis_key key, uint32_t timeout_ms, tamis_guard_row *row,
                                    tamis_error *err) {
    const table_session *session = context;
    guard_table *table = session->table;
    char value[32];
    (void)timeout_ms;
    pthread_mutex_lock(&table->mutex);
    table->queries++;
    table->running++;
    table->running_max = table->running > table->running_max ? table->running : table->running_max;
    const size_t i = find_row(table, key.data, key.size);
    const bool found = i < table->count && !table->rows[i].is_removed;
    if (found)
        memcpy(value, table->rows[i].value, sizeof value);
    const uint32_t delay = table->delay_ms;
    pthread_mutex_unlock(&table->mutex);
    if (delay)
        pause_ms(delay);
    pthread_mutex_lock(&table->mutex);
    table->running--;
    const bool is_lost = is_broken(session);
    table->loads += !is_lost;
    pthread_mutex_unlock(&table->mutex);
    if (is_lost)
        return fail_with(err, TAMIS_E_IO, "table: connection lost; try again");
    return found ? tamis_guard_row_set(row, value, strlen(value), err) : TAMIS_OK;
}

void guard_table_source(guard_table *table, tamis_guard_source *source) {
    source->context = table;
    source->connect = connect_table;
    source->disconnect = disconnect_table;
    source->load = load_from_table;
}

/* ---- rows ---- */

static guard_table_row *row_for(guard_table *table, const char *key) {
    const size_t i = find_row(table, key, strlen(key));
    if (i < table->count)
        return &table->rows[i];
    if (table->count == table->capacity) {
        table->capacity = table->capacity ? 2 * table->capacity : 64;
        table->rows = realloc(table->rows, table->capacity * sizeof *table->rows);
        check(table->rows != NULL, "no memory");
    }
    guard_table_row *row = &table->rows[table->count++];
    memset(row, 0, sizeof *row);
    snprintf(row->key, sizeof row->key, "%s", key);
    return row;
}

void guard_table_put(guard_table *table, const char *key, const char *value) {
    pthread_mutex_lock(&table->mutex);
    guard_table_row *row = row_for(table, key);
    snprintf(row->value, sizeof row->value, "%s", value);
    row->is_removed = false;
    row->changed = ++table->changes;
    pthread_mutex_unlock(&table->mutex);
}

void guard_table_remove(guard_table *table, const char *key) {
    pthread_mutex_lock(&table->mutex);
    row_for(table, key)->is_removed = true;
    pthread_mutex_unlock(&table->mutex);
}

/* ---- the table ---- */

void guard_table_init(guard_table *table) {
    memset(table, 0, sizeof *table);
    pthread_mutex_init(&table->mutex, NULL);
}

void guard_table_release(guard_table *table) {
    check(table->sessions == 0, "a session is still open");
    pthread_mutex_destroy(&table->mutex);
    free(table->rows);
}

uint64_t guard_table_loads(guard_table *table) {
    pthread_mutex_lock(&table->mutex);
    const uint64_t loads = table->loads;
    pthread_mutex_unlock(&table->mutex);
    return loads;
}

static void set_down(guard_table *table, bool is_down) {
    pthread_mutex_lock(&table->mutex);
    table->downs += is_down;
    table->is_down = is_down;
    pthread_mutex_unlock(&table->mutex);
}

void guard_table_stop(guard_table *table) {
    set_down(table, true);
}

void guard_table_start(guard_table *table) {
    set_down(table, false);
}

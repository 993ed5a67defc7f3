/* SPDX-License-Identifier: BSD-2-Clause */
#include "support/guard_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/scratch.h"

typedef struct table_session {
    guard_table *table;
    uint64_t downs;   /* of the table when it was opened */
    uint64_t changes; /* of the table at the last scan, or when keys were last reported */
    bool is_listening;
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
    *opened = (table_session){table, downs, 0, false};
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

static size_t *bucket_of(guard_table *table, const char *key, size_t size) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)key[i]) * 16777619u;
    return &table->buckets[hash % GUARD_TABLE_BUCKETS];
}

/* Index of a row, or the number of rows. */
static size_t find_row(guard_table *table, const char *key, size_t size) {
    size_t found = *bucket_of(table, key, size);
    while (found &&
           (strlen(table->rows[found - 1].key) != size || memcmp(table->rows[found - 1].key, key, size) != 0))
        found = table->rows[found - 1].next;
    return found ? found - 1 : table->count;
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

/* ---- scans ---- */

enum { SCAN_BATCH = 50 };

/* Copies the keys that were changed after `changes`. Returns their number. */
static size_t copy_keys(guard_table *table, uint64_t changes, char (**copied)[32]) {
    size_t count = 0;
    *copied = malloc((table->count + 1) * sizeof **copied);
    check(*copied != NULL, "no memory");
    for (size_t i = 0; i < table->count; i++)
        if (!table->rows[i].is_removed && table->rows[i].changed > changes)
            memcpy((*copied)[count++], table->rows[i].key, sizeof **copied);
    return count;
}

/* Passes keys on, in batches, with the delay of the table. */
static tamis_status pass_keys(const table_session *session, char (*copied)[32], size_t count,
                              tamis_guard_scan *scan, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    for (size_t pos = 0; status == TAMIS_OK && pos < count; pos += SCAN_BATCH) {
        tamis_key keys[SCAN_BATCH];
        const size_t batch = count - pos < SCAN_BATCH ? count - pos : SCAN_BATCH;
        for (size_t i = 0; i < batch; i++)
            keys[i] = (tamis_key){copied[pos + i], strlen(copied[pos + i])};
        if (session->table->scan_delay_ms)
            pause_ms(session->table->scan_delay_ms);
        status = tamis_guard_scan_add(scan, keys, batch, err);
    }
    return status;
}

static tamis_status scan_since(table_session *session, uint64_t changes, bool is_full, tamis_guard_scan *scan,
                               tamis_error *err) {
    guard_table *table = session->table;
    char(*copied)[32];
    pthread_mutex_lock(&table->mutex);
    const bool is_lost = is_broken(session), is_refused = is_full && table->fails_scans;
    table->scans += is_full;
    table->new_scans += !is_full;
    session->changes = table->changes;
    const size_t count = copy_keys(table, changes, &copied);
    pthread_mutex_unlock(&table->mutex);
    const tamis_status status = is_lost      ? fail_with(err, TAMIS_E_IO, "table: connection lost; try again")
                                : is_refused ? fail_with(err, TAMIS_E_REFUSED, "table: no scan; allow it")
                                             : pass_keys(session, copied, count, scan, err);
    free(copied);
    return status;
}

static tamis_status scan_table(void *session, tamis_guard_scan *scan, tamis_error *err) {
    return scan_since(session, 0, true, scan, err);
}

static tamis_status scan_new_of_table(void *session, tamis_guard_scan *scan, tamis_error *err) {
    return scan_since(session, ((table_session *)session)->changes, false, scan, err);
}

/* True if there is something to report. The first call begins. */
static bool has_reports(table_session *session) {
    guard_table *table = session->table;
    pthread_mutex_lock(&table->mutex);
    if (!session->is_listening && !is_broken(session)) {
        session->is_listening = true;
        session->changes = table->changes;
        table->listens++;
    }
    const bool has_some = is_broken(session) || session->changes < table->changes;
    pthread_mutex_unlock(&table->mutex);
    return has_some;
}

static tamis_status listen_to_table(void *context, uint32_t timeout_ms, tamis_guard_scan *scan,
                                    tamis_error *err) {
    table_session *session = context;
    const bool is_first = !session->is_listening;
    for (uint32_t waited = 0; !has_reports(session); waited++) {
        if (is_first || waited >= timeout_ms)
            return TAMIS_OK;
        pause_ms(1);
    }
    return scan_since(session, session->changes, false, scan, err);
}

void guard_table_source(guard_table *table, tamis_guard_source *source) {
    source->context = table;
    source->connect = connect_table;
    source->disconnect = disconnect_table;
    source->load = load_from_table;
}

void guard_table_source_scanned(guard_table *table, tamis_guard_source *source) {
    guard_table_source(table, source);
    source->scan = scan_table;
    source->scan_new = scan_new_of_table;
}

void guard_table_source_listened(guard_table *table, tamis_guard_source *source) {
    guard_table_source(table, source);
    source->scan = scan_table;
    source->listen = listen_to_table;
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
    size_t *bucket = bucket_of(table, key, strlen(key));
    row->next = *bucket;
    *bucket = table->count;
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

static uint64_t read_count(guard_table *table, const uint64_t *count) {
    pthread_mutex_lock(&table->mutex);
    const uint64_t value = *count;
    pthread_mutex_unlock(&table->mutex);
    return value;
}

uint64_t guard_table_loads(guard_table *table) {
    return read_count(table, &table->loads);
}

uint64_t guard_table_queries(guard_table *table) {
    return read_count(table, &table->queries);
}

uint64_t guard_table_scans(guard_table *table) {
    return read_count(table, &table->scans);
}

uint64_t guard_table_new_scans(guard_table *table) {
    return read_count(table, &table->new_scans);
}

uint64_t guard_table_listens(guard_table *table) {
    return read_count(table, &table->listens);
}

uint64_t guard_table_connects(guard_table *table) {
    return read_count(table, &table->connects);
}

uint64_t guard_table_running_max(guard_table *table) {
    return read_count(table, &table->running_max);
}

void guard_table_fail_scans(guard_table *table, bool fails) {
    pthread_mutex_lock(&table->mutex);
    table->fails_scans = fails;
    pthread_mutex_unlock(&table->mutex);
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

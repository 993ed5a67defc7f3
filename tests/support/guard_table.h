/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_GUARD_TABLE_H
#define TAMIS_TEST_GUARD_TABLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/experimental/guard.h>

/*
 * A database in this process: rows of short keys and values, as the source of a guard. It counts queries, and
 * can be slow, refuse connections, or break them.
 *
 * Fields that a test may set at any time are read without a lock only by one thread at a time; set them before
 * the guard is opened, or by the functions below.
 */
typedef struct guard_table_row {
    char key[32], value[32];
    bool is_removed;
    uint64_t changed; /* number of the change that wrote it */
} guard_table_row;

typedef struct guard_table {
    pthread_mutex_t mutex;
    guard_table_row *rows;
    size_t count, capacity;
    uint64_t changes;
    uint64_t loads;   /* queries that were answered */
    uint64_t queries; /* that began */
    uint64_t running, running_max;
    uint64_t connects, sessions; /* attempts; open sessions */
    bool is_down;                /* connections are refused, queries fail */
    uint64_t downs;              /* times that it went down: sessions from before are broken */
    uint32_t delay_ms;           /* of a query, between reading the row and answering */
} guard_table;

void guard_table_init(guard_table *table);
/* Fails the test if a session is open. */
void guard_table_release(guard_table *table);
/* Fills *source, which uses the table. */
void guard_table_source(guard_table *table, tamis_guard_source *source);

/* Write a row, or remove it. The mutex is not locked. */
void guard_table_put(guard_table *table, const char *key, const char *value);
void guard_table_remove(guard_table *table, const char *key);

uint64_t guard_table_loads(guard_table *table);
/* Breaks all sessions and refuses new ones; accepts them again. */
void guard_table_stop(guard_table *table);
void guard_table_start(guard_table *table);

#endif

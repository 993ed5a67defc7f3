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
 */
typedef struct guard_table_row {
    char key[32], value[32];
    bool is_removed;
    uint64_t changed; /* number of the change that wrote it last */
    size_t next;      /* in its bucket, plus one; 0: none */
} guard_table_row;

enum { GUARD_TABLE_BUCKETS = 4096 };

typedef struct guard_table {
    pthread_mutex_t mutex;
    guard_table_row *rows;
    size_t count, capacity;
    size_t buckets[GUARD_TABLE_BUCKETS]; /* first row of each, plus one; 0: none */
    uint64_t changes;
    /* threads of the guard write these: a test reads them by the functions below */
    uint64_t loads;   /* queries that were answered */
    uint64_t queries; /* queries that began */
    uint64_t running, running_max;
    uint64_t connects, sessions; /* attempts; open sessions */
    uint64_t scans, new_scans;   /* that began */
    bool is_down;                /* connections are refused, queries fail */
    uint64_t downs;              /* times that it went down: sessions from before are broken */
    bool fails_scans;            /* full scans fail with TAMIS_E_REFUSED */
    uint64_t listens;            /* sessions that began to listen */
    /* set before the guard is opened */
    uint32_t delay_ms;      /* of a query, between reading the row and the answer */
    uint32_t scan_delay_ms; /* of a scan, for each batch of keys */
} guard_table;

void guard_table_init(guard_table *table);
/* Fails the test if a session is open. */
void guard_table_release(guard_table *table);
/* Fills *source, which uses the table. Without `scan` and `scan_new`, see the next one. */
void guard_table_source(guard_table *table, tamis_guard_source *source);
void guard_table_source_scanned(guard_table *table, tamis_guard_source *source);
/* The same with `listen` instead of `scan_new`. */
void guard_table_source_listened(guard_table *table, tamis_guard_source *source);

/* Write a row, or remove it. The mutex is not locked. */
void guard_table_put(guard_table *table, const char *key, const char *value);
void guard_table_remove(guard_table *table, const char *key);

uint64_t guard_table_loads(guard_table *table);
uint64_t guard_table_queries(guard_table *table);
uint64_t guard_table_scans(guard_table *table);
uint64_t guard_table_new_scans(guard_table *table);
uint64_t guard_table_listens(guard_table *table);
uint64_t guard_table_connects(guard_table *table);
uint64_t guard_table_running_max(guard_table *table);
void guard_table_fail_scans(guard_table *table, bool fails);
/* Breaks all sessions and refuses new ones; accepts them again. */
void guard_table_stop(guard_table *table);
void guard_table_start(guard_table *table);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_GUARD_LOAD_H
#define TAMIS_TEST_GUARD_LOAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "support/postgres.h"

/*
 * Load on servers of `tamis serve` in front of a PostgreSQL, and an oracle that compares every reply.
 *
 *     item:1 to item:LOAD_ROWS      rows that do not change; higher ids have no row
 *     live:1 to live:LOAD_LIVE      writers insert, change and delete these rows, with GUARD.ADD and DEL
 *     live:LOAD_FOREIGN and higher  rows that came without GUARD.ADD
 *
 * Version v of a row of a writer is "live ID v", or no row if v is a multiple of four. A reader accepts each
 * version from the one whose DEL was answered before its request to the last one whose write has begun. (Between
 * the commit of a row and its DEL, a request may join a query from before the commit.) An error is accepted if
 * its first word is one of those in docs/guide/serve.md.
 */
enum {
    LOAD_ROWS = 20000,
    LOAD_HOT = 100,
    LOAD_LIVE = 12,
    LOAD_FOREIGN = 10000,
    LOAD_READERS = 8,
    LOAD_WRITERS = 6
};

typedef struct guard_load {
    /* set before guard_load_start */
    const char *sockets[2]; /* of the servers; readers take turns. Writers use the first one */
    int port;               /* not 0: readers connect to this port of loopback instead */
    uint64_t requests;      /* of each reader; 0: until guard_load_finish */
    unsigned live_percent; /* how many of the requests are for live:*. 80 % of the others are for absent keys,
                               15 % for LOAD_HOT rows */
    const postgres_server *database; /* not NULL: there are writers */
    uint64_t seed;
    /* results */
    atomic_uint_fast64_t values, absent, loading, errors; /* replies: rows, no rows, LOADING, other errors */
    atomic_uint_fast64_t lost;                            /* requests whose connection was lost */
    atomic_uint_fast64_t writes, refused_writes;
    atomic_bool was_requested[LOAD_ROWS + 1]; /* items */
    atomic_uint foreign;                      /* rows from LOAD_FOREIGN on that must be found */
    /* of its own */
    atomic_uint_fast64_t finished[LOAD_LIVE + 1], begun[LOAD_LIVE + 1]; /* versions */
    atomic_bool is_over, holds_writes;
    bool is_running; /* threads are to be joined */
    pthread_t readers[LOAD_READERS], writers[LOAD_WRITERS];
    pthread_rwlock_t writing; /* locked for reading from GUARD.ADD to DEL of a row */
    pthread_mutex_t lock;     /* of `failure` and `error` */
    char failure[300];        /* the first wrong reply; empty: none */
    char error[300];          /* the last error */
} guard_load;

/* Makes the tables, and has the server log the queries of user reader. */
void guard_load_tables(const postgres_server *database);
/* Sets all but the sockets to zero. */
void guard_load_init(guard_load *load);
/* Starts the threads. */
void guard_load_start(guard_load *load);
/* Ends the readers, at once if they have no number of requests, and the writers. Fails the test if a reply was
 * wrong. */
void guard_load_finish(guard_load *load);
/* Ends all threads of a load that still runs, because its test has failed. Its servers have ended. */
void guard_load_abandon(guard_load *load);
/* Waits until no row is being written, and lets no write begin; allows writes again. */
void guard_load_hold_writes(guard_load *load);
void guard_load_allow_writes(guard_load *load);
/* Returns how many different items with a row were requested. */
uint64_t guard_load_known(guard_load *load);

/* Count executions of a prepared statement whose text contains `part`, since a position in the server's log. A
 * killed query counts too. */
uint64_t guard_load_queries(const postgres_server *database, uint64_t position, const char *statement,
                            const char *part);
uint64_t guard_load_position(const postgres_server *database);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_GUARD_H
#define TAMIS_GUARD_H

/* A cache in front of a database, which lets no lookup of a missing row through: library libtamis-guard. Not
 * part of tamis/tamis.h, so that a program that embeds a filter needs no further library. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/key.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- sources: where rows come from ---- */

/* A row that is being read. The source calls tamis_guard_row_set for a row that exists. */
typedef struct tamis_guard_row tamis_guard_row;

/* Copies the value of a row. A second call replaces it. TAMIS_E_NOMEM; TAMIS_E_TOO_LONG above
 * TAMIS_GUARD_VALUE_MAX. */
TAMIS_API tamis_status tamis_guard_row_set(tamis_guard_row *row, const void *data, size_t size,
                                           tamis_error *err);

#define TAMIS_GUARD_KEY_MAX   ((size_t)64 << 10)  /* bytes of a key */
#define TAMIS_GUARD_VALUE_MAX ((size_t)512 << 20) /* bytes of a value */

/* A scan of keys that goes into a filter. */
typedef struct tamis_guard_scan tamis_guard_scan;

/* Adds keys that have a row. Keys may repeat. A failure ends the scan: return it. TAMIS_E_INTERRUPTED: the
 * guard is being closed. */
TAMIS_API tamis_status tamis_guard_scan_add(tamis_guard_scan *scan, const tamis_key *keys, size_t count,
                                            tamis_error *err);

/*
 * The database, as functions of the caller.
 *
 * Each session is used by one thread at a time. Sessions are used side by side. A session whose function
 * fails with TAMIS_E_IO or TAMIS_E_TIMEOUT is closed, and the guard connects again. A query that fails with
 * TAMIS_E_IO in a session that was used before is repeated in another one.
 */
typedef struct tamis_guard_source {
    uint32_t struct_size;
    void *context; /* first argument of `connect`; must outlive the guard */
    /* Opens a session. May take up to timeout_ms. */
    tamis_status (*connect)(void *context, uint32_t timeout_ms, void **session, tamis_error *err);
    void (*disconnect)(void *session);
    /* Reads the row of a key, and passes it to tamis_guard_row_set; without a row it returns TAMIS_OK alone.
     * It must read what was committed before the call, so no replica that is behind. TAMIS_E_TIMEOUT after
     * timeout_ms. */
    tamis_status (*load)(void *session, tamis_key key, uint32_t timeout_ms, tamis_guard_row *row,
                         tamis_error *err);
    /* Passes the key of each row that was committed before the call to tamis_guard_scan_add. NULL: there is
     * no filter, and each key may have a row. */
    tamis_status (*scan)(void *session, tamis_guard_scan *scan, tamis_error *err);
    /* Passes keys of rows that were committed since the last call in this session, or since the session's
     * `scan`, or more. After a failure, the next scan is a full one in another session, and the filter stays
     * in use meanwhile. NULL: new rows come with the next scan. */
    tamis_status (*scan_new)(void *session, tamis_guard_scan *scan, tamis_error *err);
} tamis_guard_source;

#define TAMIS_GUARD_SOURCE_INIT TAMIS__INIT(tamis_guard_source, )

/*
 * SQL of a source. Each query is one statement, and is prepared once a session.
 *
 * A key has one spelling: the one in which `keys` returns it. The row of number 17 is not found by "017",
 * " 17", "17.0" or "1e1". SQLite knows this for a `keys` with the plain column first, PostgreSQL always.
 * Some types have several texts for equal values: citext, char(n), texts with a collation that ignores case.
 * Several keys then find one row, and tamis_guard_put_end deletes only its own. Compare the bytes in `row`.
 *
 * No row has a key that the type of its column does not allow. In PostgreSQL this includes a key that is not
 * UTF-8 or has a byte 0, unless $1 is bytea.
 */
typedef struct tamis_guard_sql {
    uint32_t struct_size;
    /* required. SQLite: a file name, or a "file:" URI. PostgreSQL: a connection string */
    const char *database;
    /* required: reads the row of one key, which is the only parameter: ?1 (SQLite) or $1 (PostgreSQL). The
     * first column of the first row is the value, as text or bytes. NULL there is a value of no bytes. */
    const char *row;
    /* NULL, or a query without parameters: its first column has the keys of all rows. Left out are NULL, keys
     * without bytes, and keys of more than TAMIS_GUARD_KEY_MAX. */
    const char *keys;
    /* NULL, or a query for the keys of new rows; needs `keys`. Exactly two columns. First: the key. Second: a
     * value that rises with time, as a number or a timestamp. SQLite: a number, or a text in UTC as datetime
     * returns it. The only parameter is a lower bound of that value; the query must return rows with value >=
     * bound. The bound is the highest value seen less `overlap`. An index on that column makes this cheap. */
    const char *new_keys;
    /* What may still be committed with a lower value than the highest one seen: as long as the longest
     * transaction. In units of the second column; for a timestamp, seconds. A whole number keeps large
     * integers exact. A timestamp that is later than the database's clock counts as now. */
    double overlap;
    /* as_json: a value is a JSON object of all columns of the row, by their names. Bytes become a string of
     * hexadecimal digits, as "\\x00ff". */
    bool as_json;
    /* NULL, or SQL statements. PostgreSQL: carried out in each session that is opened, as SET search_path.
     * SQLite: carried out once, before the first session, as to fill the database
     * "file:NAME?mode=memory&cache=shared", which then lives as long as the source. */
    const char *init;
} tamis_guard_sql;

#define TAMIS_GUARD_SQL_INIT TAMIS__INIT(tamis_guard_sql, )

/*
 * Makes a source of a database. The strings of *sql are copied. The caller frees source->context with the
 * function below when no guard uses it any more. Does not connect.
 *
 * - TAMIS_E_INVALID: a required string is missing, the overlap is negative, or the connection string of
 *   PostgreSQL has an error; TAMIS_E_NOMEM.
 * - Errors of its functions: TAMIS_E_IO: the database cannot be reached or read; TAMIS_E_TIMEOUT;
 *   TAMIS_E_REFUSED: the database refuses the statement, the message has its reason. `connect` also refuses a
 *   query with another number of parameters or columns.
 *
 * SQLite: a session only reads; only `init` may write. In journal modes other than WAL, a scan keeps writers
 * waiting until it ends.
 *
 * PostgreSQL: a session only reads; only `init` may write. `row` and `new_keys` must be possible as
 * FROM (query). A scan is one transaction. It has no time limit, but keepalives end a dead connection after a
 * minute. Looking up a host name is not part of the time limit. No message has the password.
 */
TAMIS_API tamis_status tamis_guard_sqlite_create(tamis_guard_source *source, const tamis_guard_sql *sql,
                                                 tamis_error *err);
TAMIS_API tamis_status tamis_guard_postgres_create(tamis_guard_source *source, const tamis_guard_sql *sql,
                                                   tamis_error *err);
/* Frees what the two functions above made. For their sources only. NULL, or a freed one, is allowed. */
TAMIS_API void tamis_guard_source_free(tamis_guard_source *source);

/* ---- guards ---- */

/*
 * A guard: answers keys from four levels, cheapest first.
 *
 *     1. filter       the keys that have a row: a certain "absent" needs nothing else
 *     2. cache        values and nulls in this process, bounded in bytes
 *     3. Redis        values and nulls that processes share
 *     4. source       one query at a time for each key, over all processes that share the Redis
 *
 * docs/GUARD-PROTOCOL.md says why no value of level 3 is older than its row.
 *
 * Threads: any number may use a guard at once, except for tamis_guard_close.
 */
typedef struct tamis_guard tamis_guard;

/* What a guard does while it has no filter: until the first scan ends, or after it dropped its filter for
 * lack of memory. A source without `scan` has no filter, and the mode has no meaning. */
typedef enum tamis_guard_mode {
    TAMIS_GUARD_OPEN = 0,  /* a key may have a row: go on with level 2 */
    TAMIS_GUARD_CLOSED = 1 /* TAMIS_E_BUSY */
} tamis_guard_mode;

/* Times are in milliseconds. 0 in a field means the default in its comment. */
typedef struct tamis_guard_options {
    uint32_t struct_size;
    const tamis_guard_source *source; /* required; copied */
    const char *name;                 /* for messages; NULL: "guard" */
    /* NULL: no level 3, or the URI of a Redis (tamis/experimental/redis.h) */
    const char *redis;
    /* PREFIX of the Redis keys, see docs/GUARD-PROTOCOL.md; NULL: "tamis:". Guards with the same rows share a
     * prefix, others must not. Braces are TAMIS_E_INVALID. */
    const char *prefix;
    uint32_t sessions;      /* with the source, and so queries at once; 4 */
    uint32_t keys_max;      /* keys that wait for levels 3 and 4 at once, further ones: TAMIS_E_BUSY; 10000 */
    uint32_t timeout_ms;    /* of one request, and of one query; 1000 */
    uint32_t life_ms;       /* of a value in Redis, up to a tenth longer, at random; 10 minutes */
    uint32_t null_life_ms;  /* of a null in Redis, likewise; 30 seconds */
    uint32_t lease_ms;      /* of a lease, which its holder renews; 5 seconds */
    uint32_t mark_ms;       /* longest time from the return of tamis_guard_put_begin to the row; 10 seconds */
    uint64_t cache_bytes;   /* of level 2, its memory in all; 0: no level 2 */
    uint32_t cache_life_ms; /* of a value or null in level 2; 1 second */
    tamis_guard_mode without_filter;  /* what to do while there is no filter */
    double fpr;                       /* of the filter; 0.001 */
    uint32_t scan_ms;                 /* from one full scan to the next; 24 hours */
    uint32_t scan_new_ms;             /* from one scan of new rows to the next; 1 second */
    const tamis_allocator *allocator; /* NULL: the default; databases use that of the C library */
    /* No guard with this prefix is used for puts, rows come from elsewhere. The filter then answers also while
     * Redis does not. Set it in all guards of the prefix or in none. */
    bool without_puts;
} tamis_guard_options;

#define TAMIS_GUARD_OPTIONS_INIT TAMIS__INIT(tamis_guard_options, )

/*
 * Opens a guard. Connects to the Redis and opens one session, so that errors show here. The first scan goes
 * on in a thread of the guard after that, see tamis_guard_wait_for_filter. Starts `sessions` threads and up
 * to three more. The caller owns *guard until tamis_guard_close.
 *
 * - TAMIS_E_INVALID, TAMIS_E_NOMEM, TAMIS_E_SYSTEM (no thread could be started).
 * - Errors of tamis_redis_open, and of the source.
 */
TAMIS_API tamis_status tamis_guard_open(tamis_guard **guard, const tamis_guard_options *options,
                                        tamis_error *err);
/* Waits for queries in progress, then frees the guard. Requests that are not answered yet get
 * TAMIS_E_INTERRUPTED. Values that the caller has stay valid. */
TAMIS_API void tamis_guard_close(tamis_guard *guard);

/* Waits until the filter has the keys of all rows: at once if the source has no `scan`. TAMIS_E_TIMEOUT after
 * timeout_ms. If there is no filter because a scan failed: its error, at once. */
TAMIS_API tamis_status tamis_guard_wait_for_filter(tamis_guard *guard, uint32_t timeout_ms, tamis_error *err);

/* ---- reading ---- */

typedef enum tamis_guard_outcome {
    TAMIS_GUARD_PENDING = 0, /* not answered */
    TAMIS_GUARD_FOUND = 1,   /* the row exists: `data` and `size` are its value */
    TAMIS_GUARD_MISSING = 2  /* there is no row */
} tamis_guard_outcome;

/* An answer. The caller owns it until tamis_guard_value_release. It does not change, and any thread may read
 * it. */
typedef struct tamis_guard_value {
    tamis_guard_outcome outcome;
    const void *data; /* valid until the value is released */
    size_t size;
    void *owner; /* of the library */
} tamis_guard_value;

#define TAMIS_GUARD_VALUE_INIT                                                                               \
    { 0 }

/* Releases an answer and makes it TAMIS_GUARD_PENDING. Does nothing for an answer without a value. */
TAMIS_API void tamis_guard_value_release(tamis_guard_value *value);

/*
 * Answers keys from levels 1 and 2, without waiting. values[i] becomes TAMIS_GUARD_PENDING if key i needs
 * levels 3 or 4. The former contents of `values` are overwritten, not released. Cost: less than 100 ns for a
 * key that the filter answers, in batches of 16 and more.
 *
 * - TAMIS_E_BUSY: the guard has no filter yet, and without_filter is TAMIS_GUARD_CLOSED.
 * - TAMIS_E_TOO_LONG: a key has more than TAMIS_GUARD_KEY_MAX bytes. TAMIS_E_INVALID: a key is empty. Then
 *   no key is answered.
 */
TAMIS_API tamis_status tamis_guard_find_many(tamis_guard *guard, const tamis_key *keys, size_t count,
                                             tamis_guard_value *values, tamis_error *err);

/*
 * Called once for a request that was accepted, in a thread of the guard or in tamis_guard_close. It must not
 * wait. `value` is borrowed: to keep it, copy the struct and set *value to TAMIS_GUARD_VALUE_INIT. If
 * `status` is not TAMIS_OK, there is no answer, and `why` has the message; else `why` is NULL.
 */
typedef void (*tamis_guard_done)(void *context, tamis_status status, tamis_guard_value *value,
                                 const tamis_error *why);

/*
 * Requests the answer for one key from levels 3 and 4, and returns at once. Requests for the same key join:
 * one query answers them all. A request is answered within timeout_ms, with TAMIS_E_TIMEOUT if need be.
 *
 * - TAMIS_E_BUSY: keys_max keys wait already. `done` is not called.
 */
TAMIS_API tamis_status tamis_guard_request(tamis_guard *guard, tamis_key key, tamis_guard_done done,
                                           void *context, tamis_error *err);

/*
 * Answers keys from all levels, and waits. On failure, `values` has the answers that were found, and
 * TAMIS_GUARD_PENDING for other keys. The caller releases all. The error is that of the first key without an
 * answer. Errors of tamis_guard_find_many, and:
 *
 * - TAMIS_E_TIMEOUT: no answer within timeout_ms. TAMIS_E_BUSY: too many keys wait.
 * - TAMIS_E_IO, TAMIS_E_REFUSED: the source failed, and Redis had no answer.
 *
 * A Redis that fails is left out: the source is queried instead, within the same bounds.
 */
TAMIS_API tamis_status tamis_guard_get_many(tamis_guard *guard, const tamis_key *keys, size_t count,
                                            tamis_guard_value *values, tamis_error *err);

/* ---- writing ---- */

enum { TAMIS_GUARD_TOKEN = 16 }; /* bytes */

/*
 * A writer calls tamis_guard_put_begin, writes the row, and calls tamis_guard_put_end, whether the row was
 * written or not. The row must be committed within mark_ms, or never: limit the time of the statement in the
 * database. In between, the key is not cached.
 *
 * A reader of this guard that begins after tamis_guard_put_end gets the new row. With a Redis, guards of other
 * processes hear of the key before tamis_guard_put_begin returns. It waits 0.22 seconds for that. From then
 * on:
 *
 * - Their filters have the key. A filter whose guard has heard nothing from Redis for 0.2 seconds does not
 *   answer. Such a guard is silent.
 * - Their caches do not have the former answer. A silent guard may still have a value, for cache_life_ms.
 * - A request that joins a query from before tamis_guard_put_end gets that query's answer.
 *
 * Without a Redis, they find the key by scan_new, or by their next scan. Until then they answer that there is
 * no row, even after tamis_guard_put_end.
 *
 * If tamis_guard_put_begin fails, write no row, and call it again. If tamis_guard_put_end fails, the row is
 * written, and the key is not cached until the mark expires.
 *
 * Errors: those of tamis/experimental/redis.h; TAMIS_E_NOMEM; TAMIS_E_TOO_LONG, TAMIS_E_INVALID as for
 * tamis_guard_find_many; TAMIS_E_FULL: the filter takes no more keys until the next scan;
 * TAMIS_E_UNSUPPORTED: with options.without_puts.
 */
TAMIS_API tamis_status tamis_guard_put_begin(tamis_guard *guard, tamis_key key,
                                             uint8_t token[TAMIS_GUARD_TOKEN], tamis_error *err);
/* token: NULL if there was no tamis_guard_put_begin, as for a row that another program has changed. Then
 * entry and lease are deleted, and marks stay. */
TAMIS_API tamis_status tamis_guard_put_end(tamis_guard *guard, tamis_key key,
                                           const uint8_t token[TAMIS_GUARD_TOKEN], tamis_error *err);

/* ---- statistics ---- */

enum {
    TAMIS_GUARD_LATENCY_STEPS = 16
}; /* step i: queries of less than 2^i * 250 microseconds, not cumulative */

typedef struct tamis_guard_stats {
    uint32_t struct_size;
    uint64_t absent;        /* keys that the filter answered */
    uint64_t cache_hits;    /* keys that level 2 answered, nulls included */
    uint64_t redis_hits;    /* keys that level 3 answered, nulls included */
    uint64_t loads;         /* queries that were answered */
    uint64_t failed_loads;  /* queries that failed */
    uint64_t missing_loads; /* queries without a row: false positives of the filter, and deleted rows */
    uint64_t joined;        /* requests that joined another one for the same key */
    uint64_t refused;       /* requests that got TAMIS_E_BUSY */
    uint64_t timeouts;      /* requests that got TAMIS_E_TIMEOUT */
    uint64_t waiting;       /* keys that wait for levels 3 and 4 now */
    uint64_t redis_errors;  /* batches that Redis did not answer */
    uint64_t load_us;       /* time of all queries together, microseconds */
    uint64_t load_steps[TAMIS_GUARD_LATENCY_STEPS]; /* queries by their time; the last has all longer ones */
    uint64_t cache_entries, cache_bytes;            /* of level 2 now */
    uint64_t filter_keys, filter_bytes;             /* of the filter now */
    bool has_filter;   /* false: there is none yet, or the source has no `scan` */
    bool is_saturated; /* the filter has more keys than its rate allows */
    double live_fpr;   /* missing_loads / (missing_loads + absent) since the last scan; NAN: nothing yet */
    uint64_t scans, failed_scans; /* full scans */
    int64_t scanned_at; /* time of the last full scan that succeeded, milliseconds since 1970 UTC; 0: none */
    int64_t updated_at; /* the same, of the last scan, full or of new rows */
    bool is_silent;     /* Redis has not answered lately, so the filter does not answer either */
} tamis_guard_stats;

#define TAMIS_GUARD_STATS_INIT TAMIS__INIT(tamis_guard_stats, )

TAMIS_API tamis_status tamis_guard_stats_get(const tamis_guard *guard, tamis_guard_stats *stats,
                                             tamis_error *err);

#ifdef __cplusplus
}
#endif
#endif

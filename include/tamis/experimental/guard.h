/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_GUARD_H
#define TAMIS_GUARD_H

/* A cache in front of a database, with a filter that answers lookups of missing rows: library libtamis-guard.
 * Not part of tamis/tamis.h, so that a program that embeds a filter needs no further library. */

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

/* A scan in progress: its keys go into a filter. */
typedef struct tamis_guard_scan tamis_guard_scan;

/* Adds keys that have a row. Keys may repeat. A failure ends the scan: return it. TAMIS_E_INTERRUPTED: the
 * guard is being closed. */
TAMIS_API tamis_status tamis_guard_scan_add(tamis_guard_scan *scan, const tamis_key *keys, size_t count,
                                            tamis_error *err);

/*
 * The database, as functions of the caller.
 *
 * One thread at a time uses a session, and several sessions are open at once. If a function fails with
 * TAMIS_E_IO or TAMIS_E_TIMEOUT, the guard closes its session and connects again. If `load` fails with
 * TAMIS_E_IO in a session that was used before, the guard repeats it in another one.
 */
typedef struct tamis_guard_source {
    uint32_t struct_size;
    void *context; /* first argument of `connect`; must outlive the guard */
    /* Opens a session. May take up to timeout_ms. */
    tamis_status (*connect)(void *context, uint32_t timeout_ms, void **session, tamis_error *err);
    void (*disconnect)(void *session);
    /* Reads the row of a key, and passes it to tamis_guard_row_set. If there is no row, it only returns
     * TAMIS_OK. It must see all that was committed before the call: do not read from a replica that lags.
     * TAMIS_E_TIMEOUT after timeout_ms. */
    tamis_status (*load)(void *session, tamis_key key, uint32_t timeout_ms, tamis_guard_row *row,
                         tamis_error *err);
    /* Passes the key of each row that was committed before the call to tamis_guard_scan_add. NULL: the guard
     * has no filter, and looks up each key in the other levels. */
    tamis_status (*scan)(void *session, tamis_guard_scan *scan, tamis_error *err);
    /* Passes at least the keys of rows that were committed since the session's last scan or scan_new. After a
     * failure, the guard calls `scan` in another session, and uses its filter meanwhile. NULL: the guard
     * finds new rows by its next `scan`. */
    tamis_status (*scan_new)(void *session, tamis_guard_scan *scan, tamis_error *err);
    /* Passes at least the keys of rows that are committed after the session's first call. The first call
     * returns at once; then the guard calls `scan`. A later call returns when there are keys, or after
     * timeout_ms. The guard deletes cached answers of the keys, so keys of changed rows may be passed too. The
     * session has no other use. After a failure, the guard opens another session, and uses its filter
     * meanwhile. NULL: the database reports no keys. Needs `scan`. */
    tamis_status (*listen)(void *session, uint32_t timeout_ms, tamis_guard_scan *scan, tamis_error *err);
} tamis_guard_source;

#define TAMIS_GUARD_SOURCE_INIT TAMIS__INIT(tamis_guard_source, )

/*
 * SQL of a source. Each query is one statement. Each session prepares it once.
 *
 * A key has one spelling: the one in which `keys` returns it. The row of number 17 is not found by "017" or
 * "17.0". The source of PostgreSQL always checks this. That of SQLite checks it if the first column of `keys`
 * is a column of a table, not an expression. Some types have several texts for equal values: citext, char(n),
 * texts with a collation that ignores case. Several keys then find one row, and tamis_guard_put_end deletes
 * the entry of its own key alone. To prevent this, let `row` compare bytes.
 *
 * A key that the type of the column does not allow has no row. In PostgreSQL, this includes a key that is not
 * UTF-8 or has a byte 0, unless $1 is bytea.
 */
typedef struct tamis_guard_sql {
    uint32_t struct_size;
    /* required. SQLite: a file name, or a "file:" URI. PostgreSQL: a connection string */
    const char *database;
    /* required: reads the row of one key, which is the only parameter: ?1 (SQLite) or $1 (PostgreSQL). The
     * first column of the first row is the value, as text or bytes. NULL there is a value of no bytes. */
    const char *row;
    /* NULL, or a query without parameters: its first column has the keys of all rows. NULL, empty keys and
     * keys of more than TAMIS_GUARD_KEY_MAX bytes are ignored. */
    const char *keys;
    /* NULL, or a query for the keys of new rows; needs `keys`. Exactly two columns. First: the key. Second: a
     * value that rises with time, as a number or a timestamp. SQLite: a number, or a text in UTC as datetime
     * returns it. The only parameter is a lower bound of that value: the query must return all rows with a
     * value >= bound. The bound is the highest value seen so far, minus `overlap`. An index on that column
     * makes this cheap. */
    const char *new_keys;
    /* How far a later commit may lie below the highest value seen: the length of the longest transaction. In
     * units of the second column; for a timestamp, seconds. A whole number keeps large integers exact. A
     * timestamp that is later than the database's clock counts as now. */
    double overlap;
    /* as_json: a value is a JSON object of all columns of the row, by their names. Bytes become a string of
     * hexadecimal digits, as "\\x00ff". */
    bool as_json;
    /* NULL, or SQL statements. PostgreSQL: each session runs them when it opens; an example is SET
     * search_path. SQLite: they run once, before the first session. They may fill the database
     * "file:NAME?mode=memory&cache=shared", which then lives as long as the source. */
    const char *init;
    /* NULL, or the channel on which PostgreSQL notifies of keys of new and changed rows, as `keys` returns
     * them; needs `keys`. A trigger on the table calls pg_notify(channel, key). The session of LISTEN must
     * reach the server itself, not a pool of connections for single transactions. Keys are text, not bytea. */
    const char *channel;
} tamis_guard_sql;

#define TAMIS_GUARD_SQL_INIT TAMIS__INIT(tamis_guard_sql, )

/*
 * Makes a source of a database. Does not connect. The strings of *sql are copied. When no guard uses the
 * source any more, the caller frees it by tamis_guard_source_free.
 *
 * - TAMIS_E_INVALID: a required string is missing, the overlap is negative, or the connection string of
 *   PostgreSQL has an error; TAMIS_E_NOMEM.
 * - Errors of the source's functions: TAMIS_E_IO: the database cannot be reached or read; TAMIS_E_TIMEOUT;
 *   TAMIS_E_REFUSED: the database refuses the statement, the message has its reason. `connect` also refuses a
 *   query with a wrong number of parameters or columns.
 *
 * SQLite: a session only reads; only `init` may write. In journal modes other than WAL, a scan keeps writers
 * waiting until it ends.
 *
 * PostgreSQL: a session only reads; only `init` may write. `row` and `new_keys` must be valid as subqueries:
 * SELECT ... FROM (query). A scan is one transaction. It has no time limit, but keepalives end a dead
 * connection after a minute. The time limit does not cover the lookup of a host name. No message contains the
 * password.
 */
TAMIS_API tamis_status tamis_guard_sqlite_create(tamis_guard_source *source, const tamis_guard_sql *sql,
                                                 tamis_error *err);
TAMIS_API tamis_status tamis_guard_postgres_create(tamis_guard_source *source, const tamis_guard_sql *sql,
                                                   tamis_error *err);
/* Frees a source that one of the two functions above made, and no other. NULL and a freed source are
 * allowed. */
TAMIS_API void tamis_guard_source_free(tamis_guard_source *source);

/* ---- guards ---- */

/*
 * A guard: answers lookups of keys from four levels, cheapest first.
 *
 *     1. filter       the keys that have a row, from scans of the source, from a file, or in the Redis: if it
 *                     says "absent", there is no row
 *     2. cache        values and nulls in this process, bounded in bytes; a null: the key has no row
 *     3. Redis        values and nulls that processes share
 *     4. source       one query at a time for each key, over all processes that share the Redis
 *
 * docs/GUARD-PROTOCOL.md says why no value of level 3 is older than its row.
 *
 * Threads: any number may use a guard at once, except for tamis_guard_close.
 */
typedef struct tamis_guard tamis_guard;

/* The behaviour of a guard while its filter does not answer:
 *
 * - until the first scan has ended, or the first whole file is there,
 * - after the guard dropped the filter for lack of memory,
 * - while the guard is silent (see tamis_guard_put_begin),
 * - while redis_filter is missing or damaged, or Redis fails.
 *
 * The mode has no meaning if there is no filter at all. */
typedef enum tamis_guard_mode {
    TAMIS_GUARD_OPEN = 0,  /* continue with level 2 */
    TAMIS_GUARD_CLOSED = 1 /* fail with TAMIS_E_BUSY */
} tamis_guard_mode;

/* Times are in milliseconds. 0 in a field means the default at the end of its comment. A full scan begins
 * early if the live rate is above four times `fpr`, but at most once a minute. mark_ms and timeout_ms are at
 * most 10^9. */
typedef struct tamis_guard_options {
    uint32_t struct_size;
    const tamis_guard_source *source; /* required; copied */
    const char *name;                 /* for messages; NULL: "guard" */
    /* NULL: no level 3, or the URI of a Redis (tamis/experimental/redis.h) */
    const char *redis;
    /* PREFIX of the Redis keys, see docs/GUARD-PROTOCOL.md; NULL: "tamis:". Guards with the same rows share a
     * prefix, others must not. Braces are TAMIS_E_INVALID. */
    const char *prefix;
    uint32_t sessions;   /* sessions for `load`, so queries at once; scans and `listen` open three more; 4 */
    uint32_t keys_max;   /* keys that wait for levels 3 and 4 at once; more get TAMIS_E_BUSY; 10000 */
    uint32_t timeout_ms; /* of one request, and of one query; 1000 */
    uint32_t life_ms;    /* of a value in Redis, plus up to a tenth at random; 10 minutes */
    uint32_t null_life_ms;  /* of a null in Redis, likewise; 30 seconds */
    uint32_t lease_ms;      /* of a lease, which its holder renews; 5 seconds */
    uint32_t mark_ms;       /* from the return of tamis_guard_put_begin to the commit, at most; 10 seconds */
    uint64_t cache_bytes;   /* all memory of level 2, at least 64 KiB; 0: no level 2 */
    uint32_t cache_life_ms; /* of a value or null in level 2, at most; 1 second */
    tamis_guard_mode without_filter; /* what to do while the filter does not answer */
    double fpr;                      /* of the filter; 0.001 */
    uint32_t scan_ms;                /* from one full scan to the next, see above; 24 hours */
    /* NULL, or a time of day such as "03:30", in local time, at which a full scan begins. The default of
     * scan_ms is 49 days then. */
    const char *scan_at;
    uint32_t scan_new_ms; /* from one scan of new rows, or look at the file, to the next; 1 second */
    const tamis_allocator *allocator; /* NULL: the default; databases use that of the C library */
    /* True: no guard with this prefix makes puts, other programs write all rows. The filter then also answers
     * while Redis does not. Set it in all guards of the prefix or in none. */
    bool without_puts;
    /*
     * NULL, or the file from which the filter comes, if the source has no `scan`. Another program replaces it
     * by rename. The guard looks at the name every scan_new_ms. It reads a new file into memory, verifies it,
     * and then uses it. If that fails, the former filter stays (tamis_guard_filter_error).
     *
     * - filter_file: a filter for tamis_filter_open. Its keys are the texts of keys of the guard. `fpr` has no
     *   meaning. A file with a lower tamis_metadata.version is refused, or with the same one and an earlier
     *   `created`.
     * - keys_file: one key a line. The last line has an end, too. An older file is refused.
     *
     * A key that is neither in the file nor of a put is absent, even if it has a row. The guard keeps the key
     * of a put until a file has it, in some 80 bytes and its own. See news_ms for other guards and restarts.
     */
    const char *filter_file, *keys_file;
    /*
     * NULL, or the name of the filter in `redis`, if the source has no `scan` and there is no file. A name is
     * that of tamis_redis_filter_open, with layout tamis. The filter must have the keys of all rows. The guard
     * queries it there, after level 2, and never caches "absent". So it hides no row whose key was added before
     * the commit, by whatever program. (A lookup that joins one in progress gets the answer of that one.) But a
     * lookup between add and commit may cache a null: use puts, which also add the key, or call
     * tamis_guard_put_end after the commit. `fpr` has no meaning.
     *
     * The filter does not answer while it is missing or damaged, or while Redis fails. The guard tries a
     * missing or damaged one again every scan_new_ms. Keys that a failover of Redis loses without a trace are
     * absent.
     */
    const char *redis_filter;
    /* Secret of filter_file or redis_filter with scheme sip (tamis_open_options); copied. NULL: none. */
    const void *filter_secret;
    size_t filter_secret_size;
    /* How long Redis keeps the keys of puts; at least three lives of a mark, also for 0. Required with a file,
     * `redis` and puts: a guard that starts, or was cut off from Redis, reads these keys. It refuses a file
     * whose age and the life of a mark together reach news_ms. Choose more than the time from reading the
     * keys to replacing the file, plus the life of a mark. All guards of the prefix need the same value. */
    uint32_t news_ms;
} tamis_guard_options;

#define TAMIS_GUARD_OPTIONS_INIT TAMIS__INIT(tamis_guard_options, )

/*
 * Opens a guard. Connects to the Redis and opens one session. If one of them cannot be reached (TAMIS_E_IO,
 * TAMIS_E_TIMEOUT), the guard is opened without it and keeps trying, see tamis_guard_health. Their other
 * errors are returned here: they need other options. A thread of the guard makes the first scan after the
 * return, see tamis_guard_wait_for_filter. Starts `sessions` threads and up to five more. The caller owns
 * *guard until tamis_guard_close.
 *
 * - TAMIS_E_INVALID, TAMIS_E_NOMEM, TAMIS_E_SYSTEM (no thread could be started).
 * - TAMIS_E_RANGE: cache_bytes is too small. TAMIS_E_UNSUPPORTED: the layout of redis_filter. TAMIS_E_REFUSED
 *   and others: errors of tamis_redis_open, and of the source.
 */
TAMIS_API tamis_status tamis_guard_open(tamis_guard **guard, const tamis_guard_options *options,
                                        tamis_error *err);
/* Waits for queries in progress, then frees the guard. Requests without an answer get TAMIS_E_INTERRUPTED.
 * The caller's values stay valid. */
TAMIS_API void tamis_guard_close(tamis_guard *guard);

/* Waits until there is a whole filter. Returns TAMIS_OK at once if there is no filter at all, and
 * TAMIS_E_TIMEOUT after timeout_ms. If there is no filter because a scan, a file or the filter in Redis failed,
 * returns its error at once. */
TAMIS_API tamis_status tamis_guard_wait_for_filter(tamis_guard *guard, uint32_t timeout_ms, tamis_error *err);
/* Returns the error of the last scan, file or lookup in redis_filter if it failed, else TAMIS_OK. The guard
 * tries again by itself. */
TAMIS_API tamis_status tamis_guard_filter_error(tamis_guard *guard, tamis_error *err);

/* The servers of a guard, and its queries. */
typedef enum tamis_guard_part {
    TAMIS_GUARD_SOURCE = 0,
    TAMIS_GUARD_REDIS = 1,
    TAMIS_GUARD_QUERY = 2
} tamis_guard_part;

/*
 * Returns TAMIS_OK, or the error of the last attempt to use the source or the Redis. Does not wait.
 *
 * - The source fails while no session is open and the last attempt to connect failed.
 * - Queries: the error is that of the last call of `load` that failed, also after others that did not.
 * - The Redis fails while the guard is silent. With options.without_puts it fails until the next batch that
 *   Redis answers.
 */
TAMIS_API tamis_status tamis_guard_health(tamis_guard *guard, tamis_guard_part part, tamis_error *err);

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
 * Answers keys from levels 1 and 2, without waiting. A filter in Redis is for requests. values[i] becomes
 * TAMIS_GUARD_PENDING if key i needs levels 3 or 4. The former contents of `values` are overwritten, not
 * released. Cost: less than 100 ns for a key that the filter answers, in batches of 16 and more.
 *
 * - TAMIS_E_BUSY: the filter does not answer, and without_filter is TAMIS_GUARD_CLOSED.
 * - TAMIS_E_TOO_LONG: a key has more than TAMIS_GUARD_KEY_MAX bytes. TAMIS_E_INVALID: a key is empty. Then
 *   no key is answered.
 */
TAMIS_API tamis_status tamis_guard_find_many(tamis_guard *guard, const tamis_key *keys, size_t count,
                                             tamis_guard_value *values, tamis_error *err);

/*
 * Called once for each accepted request, in a thread of the guard or in tamis_guard_close. It must not wait.
 * The guard owns *value: to keep it, copy the struct and set *value to TAMIS_GUARD_VALUE_INIT. If `status` is
 * not TAMIS_OK, there is no answer, and `why` has the message; else `why` is NULL.
 */
typedef void (*tamis_guard_done)(void *context, tamis_status status, tamis_guard_value *value,
                                 const tamis_error *why);

/*
 * Requests the answer for one key from levels 3 and 4, and returns at once. Requests for the same key join:
 * one query answers them all. `done` is called within timeout_ms, with TAMIS_E_TIMEOUT if there is no answer.
 *
 * - TAMIS_E_BUSY: keys_max keys wait already. `done` is not called. Also to `done`: redis_filter does not
 *   answer, and without_filter is TAMIS_GUARD_CLOSED.
 */
TAMIS_API tamis_status tamis_guard_request(tamis_guard *guard, tamis_key key, tamis_guard_done done,
                                           void *context, tamis_error *err);

/*
 * Answers keys from all levels, and waits. On failure, `values` has the answers that came, and
 * TAMIS_GUARD_PENDING for the other keys. The caller releases all of them. The error is that of the first key
 * without an answer. Errors of tamis_guard_find_many, and:
 *
 * - TAMIS_E_TIMEOUT: no answer within timeout_ms. TAMIS_E_BUSY: too many keys wait.
 * - TAMIS_E_IO, TAMIS_E_REFUSED: the source failed, and Redis had no answer.
 *
 * While Redis fails, the guard does not use it: it queries the source, within the same bounds. Not with
 * redis_filter and TAMIS_GUARD_CLOSED: then the error is TAMIS_E_BUSY.
 */
TAMIS_API tamis_status tamis_guard_get_many(tamis_guard *guard, const tamis_key *keys, size_t count,
                                            tamis_guard_value *values, tamis_error *err);

/* ---- writing ---- */

enum { TAMIS_GUARD_TOKEN = 16 }; /* bytes */

/*
 * A writer calls tamis_guard_put_begin, writes the row, and calls tamis_guard_put_end, whether the row was
 * written or not. The row must be committed within mark_ms, or never: limit the time of the statement in the
 * database. Between the two calls, the key is not cached.
 *
 * A lookup in this guard that begins after tamis_guard_put_end gets the new row. With a Redis, the guards of
 * other processes learn of the key before tamis_guard_put_begin returns: it waits 0.22 seconds for that. A
 * guard that has heard nothing from Redis for 0.2 seconds is silent: its filter does not answer. From the
 * return on:
 *
 * - The filters of the other guards have the key, or do not answer.
 * - Their caches do not have the former answer. But a silent guard may keep a value for cache_life_ms.
 * - A request to them that joins a query from before tamis_guard_put_end gets the answer of that query.
 *
 * Without a Redis, the other guards find the key by scan_new, or by their next scan. Until then they answer
 * that there is no row, even after tamis_guard_put_end.
 *
 * If tamis_guard_put_begin fails, write no row, and call it again. If tamis_guard_put_end fails, the row is
 * written, and the key is not cached until the mark expires.
 *
 * Errors:
 *
 * - Those of tamis/experimental/redis.h. TAMIS_E_NOMEM. TAMIS_E_TOO_LONG, TAMIS_E_INVALID: as for
 *   tamis_guard_find_many.
 * - TAMIS_E_FULL: the filter takes no more keys until the next scan or, in Redis, until a larger one is made.
 * - TAMIS_E_UNSUPPORTED: with options.without_puts.
 */
TAMIS_API tamis_status tamis_guard_put_begin(tamis_guard *guard, tamis_key key,
                                             uint8_t token[TAMIS_GUARD_TOKEN], tamis_error *err);
/* Ends a put: deletes the cached answers of the key. token: NULL if there was no tamis_guard_put_begin, as
 * for a row that another program has changed. The guard's own filter then gets the key, since the row may be
 * new. A filter in Redis does not, nor do those of other guards. */
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
    bool has_filter;   /* false: none yet, it was dropped, redis_filter failed, or there is none at all */
    bool is_saturated; /* the filter has more keys than its rate allows */
    /* missing_loads / (missing_loads + absent) since the last scan, or of all with redis_filter; NAN: nothing
     * yet */
    double live_fpr;
    /* full scans, or files. With redis_filter: how often it began to answer, and how often it did not */
    uint64_t scans, failed_scans;
    int64_t scanned_at; /* time of the last of them that succeeded, milliseconds since 1970 UTC; 0: none */
    int64_t updated_at; /* the same, of the last scan, full or of new rows */
    bool is_silent;     /* Redis has not answered for 0.2 seconds, so the filter does not answer */
    uint64_t filter_version; /* tamis_metadata.version of filter_file; 0: none */
    uint64_t reported_keys;  /* keys from `listen` */
    bool is_listening;       /* a session listens; false: it is lost, or the source has no `listen` */
    bool is_down;            /* no session is open, and the source could not be reached */
} tamis_guard_stats;

#define TAMIS_GUARD_STATS_INIT TAMIS__INIT(tamis_guard_stats, )

TAMIS_API tamis_status tamis_guard_stats_get(const tamis_guard *guard, tamis_guard_stats *stats,
                                             tamis_error *err);

#ifdef __cplusplus
}
#endif
#endif

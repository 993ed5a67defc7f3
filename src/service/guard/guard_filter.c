/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The filter of a guard, and the thread that keeps it.
 *
 *                 first scan            scan_ms later, or the rate is too high
 *     current:    none                  |-- A -----------------------------|-- B ---
 *     building:   |-- A (scan) ---------|          |-- B (scan) -----------|
 *                                    switch                             switch
 *     scan_new:                          . . . . . . . . . . . . . . . . . . . . . .
 *     puts:       to A                  to A       to A and B              to B
 *
 * Invariants:
 *
 * 1. Only a complete filter is queried: `building` becomes `current` after its scan has succeeded, and after
 *    each put since its beginning was added to it.
 * 2. A key of a put is in `current` and in `building`. A put sets its local mark, then adds its key to both
 *    filters. A scan sets `building`, then adds the keys of all local marks to it, and only then reads rows.
 *    So if the scan does not see the row of a put, it sees the mark, or the put sees `building`.
 * 3. A filter has all keys that it was given. If it cannot take a key of a scan, it is dropped. If it cannot
 *    take the key of a put, the put fails, and its row is not written.
 * 4. The same holds for news, with the recent keys of guard_news.c instead of marks. A filter answers only in
 *    the epoch of the news in which its scan began.
 * 5. Whoever changes a filter or the pointers to them holds `changes`. Whoever changes `current` or its keys
 *    also holds the write lock, and readers hold the read lock: they never wait for keys of `building`.
 *
 * The filters themselves are not concurrent. A concurrent one has a lock for each part of its body, so a
 * lookup of 16 keys takes up to 16 locks. Here it takes one, and waits only while keys of puts or of scan_new
 * are added, at most GUARD_BATCH at a time. `./dev bench guard` has the time.
 *
 * A full scan has a session of its own. Meanwhile the old session continues with scan_new, between two
 * batches of the scan, so new rows of other processes are not delayed by it. Their keys go to both filters.
 *
 * With a file (guard_filter_file.c) there are no scans and no `building`:
 *
 *     file:       A                                       B, complete and verified
 *     current:    none |-- A -----------------------------|-- B ------------
 *     added:           a b c .......... all keys of puts and news ......... those that B lacks
 *
 * 6. A key of a put or of news is in `added` until a file has it (guard_added_keys.h). The keys of `added` are
 *    in `current` too. If it cannot take one, as a frozen filter, `searches_added` is set: lookups search
 *    `added` too. A switch holds `changes`, so no key comes between the lookups in the new filter and its use.
 */
#include "service/guard/guard_filter.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <tamis/filter.h>

#include "base/memory.h"
#include "base/system.h"
#include "base/thread.h"
#include "service/guard/guard_added_keys.h"
#include "service/guard/guard_filter_file.h"
#include "service/guard/guard_int.h"
#include "service/guard/guard_lookups.h"
#include "service/guard/guard_scan_time.h"
#include "service/guard/guard_source.h"

enum {
    PAUSE_MIN_MS = 1000, /* after a failed scan, doubled each time */
    PAUSE_MAX_MS = 60000,
    CONNECT_PAUSE_MAX_MS = 2000, /* after a scan that could not connect */
    RATE_CHECK_MS = 1000,
    EPOCH_CHECK_MS = 20,  /* of the epoch of the news */
    RATE_SCAN_MS = 60000, /* shortest time between two scans because of the rate */
    RATE_SAMPLES = 1000,
    RATE_FACTOR = 4 /* a scan is due if the live rate is this many times the promised one */
};

struct guard_filter {
    tamis_guard *guard;
    pthread_mutex_t changes; /* of both filters; locked before `lock` */
    pthread_rwlock_t lock;   /* of `current` and its keys */
    tamis_filter *current, *building;
    uint64_t current_epoch, building_epoch; /* of the news, when their scans began */
    atomic_bool is_incomplete;              /* `building` could not take the key of a put */
    atomic_bool is_scan_due;                /* the listener needs a scan that begins now */
    guard_filter_file *file;                /* NULL: scans */
    guard_file_version used;                /* of `file`, the version of `current` */
    struct stat failed;                     /* the last version that could not be used */
    uint64_t retry_at;                      /* time when it is tried again */
    guard_added_keys added;                 /* with a file: keys that it may lack */
    bool searches_added;                    /* `current` lacks keys of `added` */
    /* for the thread alone */
    void *session;         /* the one that scanned `current`; NULL: none */
    uint64_t new_at;       /* time of the next scan_new */
    uint64_t full_at;      /* time of the next full scan */
    int scan_minute;       /* of the day: a full scan begins then; -1: none */
    int64_t scan_at;       /* when that is next, milliseconds since 1970 UTC; 0: not before the first scan */
    uint64_t full_started; /* time of the last one */
    uint32_t pause_ms;     /* after a failed scan; 0: the last scan, full or of new rows, succeeded */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t mutex; /* protects all fields below */
    pthread_cond_t cond;   /* one of them has changed */
    bool is_closing;
    bool is_held; /* no scan begins yet */
    bool has_filter;
    tamis_error why; /* why the last full scan failed, or the filter was dropped; TAMIS_OK: neither */
    uint64_t scans, failed_scans;
    int64_t scanned_at, updated_at;
    uint64_t absent_before, missing_before; /* counters at the last switch */
};

/* A scan in progress, the context of its tamis_guard_scan. */
typedef struct filter_scan {
    guard_filter *filter;
    tamis_filter *targets[2]; /* get each key; NULL: none */
    bool is_full;
    tamis_status failed; /* a target could not take a key, or the guard is being closed; else TAMIS_OK */
} filter_scan;

static bool is_closing(guard_filter *filter) {
    pthread_mutex_lock(&filter->mutex);
    const bool closing = filter->is_closing;
    pthread_mutex_unlock(&filter->mutex);
    return closing;
}

static uint64_t after_ms(uint64_t time, uint64_t ms) {
    return time + ms * 1000000;
}

/* ---- reading and puts ---- */

/* True if a filter of this epoch has all news until `now`, or if no other guard puts. */
static bool has_all_news(const guard_filter *filter, uint64_t epoch, uint64_t now) {
    const guard_news *news = filter->guard->news;
    return !news || tamis__guard_news_live_epoch(news, now) == epoch;
}

bool tamis__guard_filter_needs_hashes(const guard_filter *filter) {
    return !filter->file || !tamis__guard_filter_file_hashes(filter->file);
}

/* Looks up absent keys in `added`. */
static tamis_status find_added(const guard_filter *filter, const tamis_key *keys, size_t count,
                               tamis_answer *answers) {
    for (size_t i = 0; i < count; i++) {
        tamis_hash hash;
        if (answers[i] != TAMIS_ABSENT)
            continue;
        const tamis_status status = tamis_hash_many(filter->guard->hasher, &keys[i], 1, &hash, NULL);
        if (status != TAMIS_OK)
            return status;
        if (tamis__guard_added_keys_contain(&filter->added, guard_hash_of(&hash)))
            answers[i] = TAMIS_PRESENT;
    }
    return TAMIS_OK;
}

bool tamis__guard_filter_find(guard_filter *filter, const tamis_key *keys, const tamis_hash *hashes,
                              size_t count, uint64_t now, tamis_answer *answers) {
    tamis_status status = TAMIS_E_BUSY;
    pthread_rwlock_rdlock(&filter->lock);
    if (filter->current && has_all_news(filter, filter->current_epoch, now))
        status = hashes ? tamis_filter_contains_hashes(filter->current, hashes, count, answers, NULL, NULL)
                        : tamis_filter_contains_many(filter->current, keys, count, answers, NULL, NULL);
    if (status == TAMIS_OK && filter->searches_added)
        status = find_added(filter, keys, count, answers);
    pthread_rwlock_unlock(&filter->lock);
    return status == TAMIS_OK;
}

/* Adds keys to a filter, or to none. The lock `changes` is held. */
static tamis_status add_hashes(guard_filter *filter, tamis_filter *target, const tamis_hash *hashes,
                               size_t count, tamis_error *err) {
    if (!target)
        return TAMIS_OK;
    if (target != filter->current)
        return tamis_filter_add_hashes(target, hashes, count, NULL, NULL, err);
    pthread_rwlock_wrlock(&filter->lock);
    const tamis_status status = tamis_filter_add_hashes(target, hashes, count, NULL, NULL, err);
    pthread_rwlock_unlock(&filter->lock);
    return status;
}

static tamis_status add_to_file(guard_filter *filter, tamis_key key, const tamis_hash *hash,
                                tamis_error *err) {
    pthread_rwlock_wrlock(&filter->lock);
    const tamis_status status =
        tamis__guard_added_keys_add(&filter->added, key, guard_hash_of(hash), tamis__sys.now_unix_ms(), err);
    if (status == TAMIS_OK && filter->current && !tamis__guard_added_keys_fit(filter->current, key))
        filter->searches_added = true;
    pthread_rwlock_unlock(&filter->lock);
    return status;
}

tamis_status tamis__guard_filter_add(guard_filter *filter, tamis_key key, const tamis_hash *hash,
                                     tamis_error *err) {
    pthread_mutex_lock(&filter->changes);
    tamis_status status = filter->file ? add_to_file(filter, key, hash, err)
                                       : add_hashes(filter, filter->current, hash, 1, err);
    if (status == TAMIS_OK && add_hashes(filter, filter->building, hash, 1, NULL) != TAMIS_OK)
        atomic_store(&filter->is_incomplete, true);
    pthread_mutex_unlock(&filter->changes);
    return status;
}

void tamis__guard_filter_each_added(guard_filter *filter, void (*visit)(void *context, tamis_key key),
                                    void *context) {
    pthread_mutex_lock(&filter->changes);
    tamis__guard_added_keys_each(&filter->added, visit, context);
    pthread_mutex_unlock(&filter->changes);
}

/* ---- keys of a scan ---- */

static tamis_status add_batch(filter_scan *scan, const tamis_key *keys, size_t count, tamis_error *err) {
    tamis_hash hashes[GUARD_BATCH];
    guard_filter *filter = scan->filter;
    tamis_status status = tamis_hash_many(filter->guard->hasher, keys, count, hashes, err);
    pthread_mutex_lock(&filter->changes);
    for (size_t i = 0; status == TAMIS_OK && i < 2; i++)
        status = add_hashes(filter, scan->targets[i], hashes, count, err);
    pthread_mutex_unlock(&filter->changes);
    return status;
}

static void scan_new_rows(guard_filter *filter);

/* Gets the keys of tamis_guard_scan_add. */
static tamis_status add_scanned(void *context, const tamis_key *keys, size_t count, tamis_error *err) {
    filter_scan *scan = context;
    guard_filter *filter = scan->filter;
    for (size_t pos = 0; scan->failed == TAMIS_OK && pos < count; pos += GUARD_BATCH)
        scan->failed =
            add_batch(scan, keys + pos, count - pos < GUARD_BATCH ? count - pos : GUARD_BATCH, err);
    if (scan->failed == TAMIS_OK && is_closing(filter))
        scan->failed = tamis__fail(err, TAMIS_E_INTERRUPTED, 0, "%s: is being closed; open it again",
                                   filter->guard->name);
    if (scan->failed == TAMIS_OK && scan->is_full && filter->session && filter->guard->source.scan_new &&
        tamis__now_ns() >= filter->new_at)
        scan_new_rows(filter);
    return scan->failed;
}

/* ---- filters come and go ---- */

/* Replaces `current` or `building`. Returns the former filter. */
static tamis_filter *replace(guard_filter *filter, tamis_filter **replaced, tamis_filter *by) {
    pthread_mutex_lock(&filter->changes);
    pthread_rwlock_wrlock(&filter->lock);
    tamis_filter *old = *replaced;
    *replaced = by;
    pthread_rwlock_unlock(&filter->lock);
    pthread_mutex_unlock(&filter->changes);
    return old;
}

/* Returns how many keys `current` has. 0: there is none. */
static uint64_t count_keys(guard_filter *filter) {
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    pthread_rwlock_rdlock(&filter->lock);
    if (filter->current)
        (void)tamis_filter_info_get(filter->current, &info, NULL);
    pthread_rwlock_unlock(&filter->lock);
    return info.added;
}

static tamis_status create_filter(guard_filter *filter, tamis_filter **created, tamis_error *err) {
    const tamis_guard *guard = filter->guard;
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    plan_options.scheme = TAMIS_SCHEME_SIP;
    plan_options.fpr = guard->options.fpr;
    options.secret = guard->secret;
    options.secret_size = sizeof guard->secret;
    options.allocator = &guard->memory;
    tamis_status status = tamis_plan_make(&plan, &plan_options, err);
    if (status == TAMIS_OK)
        status = tamis_filter_create(created, &plan, &options, err);
    const uint64_t count = count_keys(filter);
    if (status == TAMIS_OK && count)
        tamis_filter_expect(*created, count); /* about as many as there were */
    return status;
}

static void add_recent(void *context, guard_hash hash) {
    guard_filter *filter = context;
    const tamis_hash added = {{hash.low, hash.high}, filter->guard->hasher_id};
    pthread_mutex_lock(&filter->changes);
    if (add_hashes(filter, filter->building, &added, 1, NULL) != TAMIS_OK)
        atomic_store(&filter->is_incomplete, true);
    pthread_mutex_unlock(&filter->changes);
}

static void add_marked(void *context, const guard_mark *mark) {
    add_recent(context, mark->hash);
}

/* Sets `building` to an empty filter, and adds the keys of puts in progress and of recent news. */
static tamis_status begin_building(guard_filter *filter, tamis_error *err) {
    tamis_filter *created = NULL;
    const tamis_status status = create_filter(filter, &created, err);
    if (status != TAMIS_OK)
        return status;
    const tamis_guard *guard = filter->guard;
    atomic_store(&filter->is_incomplete, false);
    filter->building_epoch = guard->news ? tamis__guard_news_epoch(guard->news) : 0;
    (void)replace(filter, &filter->building, created);
    tamis__guard_lookups_each_mark(guard->lookups, add_marked, filter);
    if (guard->news)
        tamis__guard_news_each_recent(guard->news, add_recent, filter);
    return TAMIS_OK;
}

static uint64_t read_counter(const atomic_uint_fast64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/* A new filter is in use. */
static void note_switch(guard_filter *filter) {
    pthread_mutex_lock(&filter->mutex);
    filter->has_filter = true;
    filter->why.status = TAMIS_OK;
    filter->scans++;
    filter->scanned_at = filter->updated_at = tamis__sys.now_unix_ms();
    filter->absent_before = read_counter(&filter->guard->counters.absent);
    filter->missing_before = read_counter(&filter->guard->counters.missing_loads);
    pthread_cond_broadcast(&filter->cond);
    pthread_mutex_unlock(&filter->mutex);
}

static tamis_status switch_filters(guard_filter *filter, tamis_error *err) {
    pthread_mutex_lock(&filter->changes);
    if (atomic_load(&filter->is_incomplete)) {
        pthread_mutex_unlock(&filter->changes);
        return tamis__fail(err, TAMIS_E_NOMEM, 0,
                           "%s: the new filter could not take the key of a put; free memory",
                           filter->guard->name);
    }
    pthread_rwlock_wrlock(&filter->lock);
    tamis_filter *old = filter->current;
    filter->current = filter->building;
    filter->current_epoch = filter->building_epoch;
    filter->building = NULL;
    pthread_rwlock_unlock(&filter->lock);
    pthread_mutex_unlock(&filter->changes);
    tamis_filter_free(old);
    note_switch(filter);
    return TAMIS_OK;
}

/* Without a filter, a guard answers more slowly, and never wrongly. */
static void drop_filter(guard_filter *filter, const tamis_error *why) {
    tamis_filter_free(replace(filter, &filter->current, NULL));
    pthread_mutex_lock(&filter->mutex);
    filter->has_filter = false;
    filter->why = *why;
    pthread_cond_broadcast(&filter->cond);
    pthread_mutex_unlock(&filter->mutex);
}

void tamis__guard_filter_drop(guard_filter *filter, const tamis_error *why) {
    static const tamis_error unknown = {.status = TAMIS_E_NOMEM, .text = "the filter could not take a key"};
    atomic_store(&filter->is_incomplete, true);
    drop_filter(filter, why ? why : &unknown);
}

/* ---- scans ---- */

static void close_session(guard_filter *filter, void **session) {
    if (*session)
        filter->guard->source.disconnect(*session);
    *session = NULL;
}

static tamis_status scan_rows(guard_filter *filter, void *session, tamis_error *err) {
    filter_scan keys = {.filter = filter, .targets = {filter->building, NULL}, .is_full = true};
    tamis_guard_scan scan = {add_scanned, &keys};
    const tamis_guard *guard = filter->guard;
    const tamis_status status = guard->source.scan(session, &scan, err);
    if (status == TAMIS_OK && keys.failed != TAMIS_OK)
        return tamis__fail(err, keys.failed, 0, "%s: the source ignored that its scan had failed",
                           guard->name);
    return status;
}

/* Takes over the session. */
static tamis_status scan_all(guard_filter *filter, void *session, tamis_error *err) {
    tamis_status status = begin_building(filter, err);
    if (status == TAMIS_OK)
        status = scan_rows(filter, session, err);
    if (status == TAMIS_OK)
        status = switch_filters(filter, err);
    if (status != TAMIS_OK) {
        tamis_filter_free(replace(filter, &filter->building, NULL));
        close_session(filter, &session);
        return status;
    }
    close_session(filter, &filter->session);
    filter->session = session;
    return TAMIS_OK;
}

static void double_pause(guard_filter *filter, uint32_t max) {
    filter->pause_ms = guard_next_pause(filter->pause_ms, PAUSE_MIN_MS, max);
}

void tamis__guard_filter_note_failure(guard_filter *filter, const tamis_error *why) {
    pthread_mutex_lock(&filter->mutex);
    filter->failed_scans++;
    filter->why = *why;
    pthread_cond_broadcast(&filter->cond);
    pthread_mutex_unlock(&filter->mutex);
}

static void note_failed_scan(guard_filter *filter, const tamis_error *why, bool is_connected) {
    double_pause(filter, is_connected ? PAUSE_MAX_MS : CONNECT_PAUSE_MAX_MS);
    filter->full_at = after_ms(tamis__now_ns(), filter->pause_ms);
    tamis__guard_filter_note_failure(filter, why);
}

/* The clock may be set meanwhile, so it is read each time. */
static bool is_time_of_day(const guard_filter *filter) {
    return filter->scan_at > 0 && tamis__sys.now_unix_ms() >= filter->scan_at;
}

static void set_time_of_day(guard_filter *filter) {
    if (filter->scan_minute >= 0)
        filter->scan_at = tamis__guard_next_scan(filter->scan_minute, tamis__sys.now_unix_ms());
}

static void run_full_scan(guard_filter *filter) {
    const tamis_guard *guard = filter->guard;
    tamis_error why = tamis__guard_no_message(guard);
    void *session = NULL;
    filter->full_started = tamis__now_ns();
    set_time_of_day(filter);
    why.status = guard->source.connect(guard->source.context, guard->options.timeout_ms, &session, &why);
    const bool is_connected = why.status == TAMIS_OK;
    if (is_connected)
        why.status = scan_all(filter, session, &why);
    if (why.status != TAMIS_OK) {
        note_failed_scan(filter, &why, is_connected);
        return;
    }
    const uint64_t now = tamis__now_ns();
    if (!guard->source.scan_new)
        filter->pause_ms = 0;
    set_time_of_day(filter);
    filter->full_at = after_ms(now, guard->options.scan_ms);
    filter->new_at = after_ms(now, guard->options.scan_new_ms);
}

/* Only a full scan in a new session finds what came since the last scan. */
static void note_failed_scan_new(guard_filter *filter) {
    close_session(filter, &filter->session);
    double_pause(filter, PAUSE_MAX_MS);
    filter->full_at = after_ms(tamis__now_ns(), filter->pause_ms);
}

static void scan_new_rows(guard_filter *filter) {
    const tamis_guard *guard = filter->guard;
    tamis_error why = TAMIS_ERROR_INIT;
    filter_scan keys = {.filter = filter, .targets = {filter->current, filter->building}};
    tamis_guard_scan scan = {add_scanned, &keys};
    filter->new_at = UINT64_MAX; /* add_scanned must not call this function meanwhile */
    const tamis_status status = guard->source.scan_new(filter->session, &scan, &why);
    filter->new_at = after_ms(tamis__now_ns(), guard->options.scan_new_ms);
    if (keys.failed == TAMIS_E_INTERRUPTED)
        return;
    if (keys.failed != TAMIS_OK) { /* a filter could not take a key */
        why.status = keys.failed;
        atomic_store(&filter->is_incomplete, true);
        drop_filter(filter, &why);
    }
    if (keys.failed != TAMIS_OK || status != TAMIS_OK) {
        note_failed_scan_new(filter);
        return;
    }
    filter->pause_ms = 0;
    pthread_mutex_lock(&filter->mutex);
    filter->updated_at = tamis__sys.now_unix_ms();
    pthread_mutex_unlock(&filter->mutex);
}

/* ---- files ---- */

/* Uses a filter of the file, with the keys that it lacks. Takes it over on success. */
static tamis_status use_file(guard_filter *filter, tamis_filter *loaded, const guard_file_version *version,
                             uint64_t epoch, tamis_error *err) {
    bool fits = true;
    pthread_mutex_lock(&filter->changes);
    const tamis_status status =
        tamis__guard_added_keys_into(&filter->added, loaded, version->created, &fits, err);
    tamis_filter *old = NULL;
    if (status == TAMIS_OK) {
        pthread_rwlock_wrlock(&filter->lock);
        old = filter->current;
        filter->current = loaded;
        filter->current_epoch = epoch;
        filter->searches_added = !fits;
        filter->used = *version;
        tamis__guard_added_keys_finish(&filter->added);
        pthread_rwlock_unlock(&filter->lock);
    }
    pthread_mutex_unlock(&filter->changes);
    tamis_filter_free(old);
    return status;
}

/* Makes a filter of the keys in a file. */
static tamis_status build_from_file(guard_filter *filter, tamis_filter **built, guard_file_version *version,
                                    tamis_error *err) {
    tamis_filter *created = NULL;
    tamis_status status = create_filter(filter, &created, err);
    if (status != TAMIS_OK)
        return status;
    filter_scan keys = {.filter = filter, .targets = {created, NULL}};
    tamis_guard_scan scan = {add_scanned, &keys};
    status = tamis__guard_filter_file_scan(filter->file, &filter->used, &scan, version, err);
    if (status == TAMIS_OK)
        *built = created;
    else
        tamis_filter_free(created);
    return status;
}

/* N6: the news have the keys of all puts since the file was made. */
static tamis_status check_age(const guard_filter *filter, const guard_file_version *version,
                              tamis_error *err) {
    const tamis_guard *guard = filter->guard;
    const int64_t age = tamis__sys.now_unix_ms() - version->created;
    if (!guard->news || age + filter->added.commit_ms < (int64_t)guard->options.news_ms)
        return TAMIS_OK;
    return tamis__fail(
        err, TAMIS_E_CHANGED, 0,
        "%s: the file is older than the keys of puts in Redis, which are of the last %u s; make "
        "it again, or keep news longer",
        guard->name, (unsigned)(guard->options.news_ms / 1000));
}

static tamis_status load_file(guard_filter *filter, tamis_error *err) {
    const uint64_t epoch = filter->guard->news ? tamis__guard_news_epoch(filter->guard->news) : 0;
    guard_file_version version;
    tamis_filter *loaded = NULL;
    tamis_status status =
        tamis__guard_filter_file_hashes(filter->file)
            ? tamis__guard_filter_file_open(filter->file, &filter->used, &loaded, &version, err)
            : build_from_file(filter, &loaded, &version, err);
    if (status != TAMIS_OK)
        return status;
    status = check_age(filter, &version, err);
    if (status == TAMIS_OK)
        status = use_file(filter, loaded, &version, epoch, err);
    if (status == TAMIS_OK)
        note_switch(filter);
    else
        tamis_filter_free(loaded);
    return status;
}

/* The file in use is back. */
static void forget_failure(guard_filter *filter) {
    filter->pause_ms = 0;
    pthread_mutex_lock(&filter->mutex);
    filter->why.status = TAMIS_OK;
    pthread_mutex_unlock(&filter->mutex);
}

/* N6: after a gap, `added` has the keys of all news that Redis keeps. The filter answers again if that is
 * enough. */
static bool enter_epoch(guard_filter *filter) {
    const guard_news *news = filter->guard->news;
    const uint64_t epoch = news ? tamis__guard_news_epoch(news) : 0;
    if (!filter->current ||
        (filter->current_epoch != epoch && check_age(filter, &filter->used, NULL) != TAMIS_OK))
        return false;
    pthread_rwlock_wrlock(&filter->lock);
    filter->current_epoch = epoch;
    pthread_rwlock_unlock(&filter->lock);
    return true;
}

/* Loads the file if it was replaced, or if the filter in use does not answer any more. A file that failed is
 * tried again after a pause, or when it has changed. */
static void follow_file(guard_filter *filter) {
    tamis_error why = TAMIS_ERROR_INIT;
    struct stat now;
    tamis__guard_filter_file_look(filter->file, &now);
    filter->full_at = after_ms(tamis__now_ns(), filter->guard->options.scan_new_ms);
    if (enter_epoch(filter) && tamis__guard_filter_file_equal(&now, &filter->used.st)) {
        if (filter->pause_ms)
            forget_failure(filter);
        return;
    }
    if (filter->pause_ms && tamis__guard_filter_file_equal(&now, &filter->failed) &&
        tamis__now_ns() < filter->retry_at)
        return;
    why.status = load_file(filter, &why);
    if (why.status == TAMIS_OK) {
        filter->pause_ms = 0;
        return;
    }
    note_failed_scan(filter, &why, true);
    filter->failed = now;
    filter->retry_at = filter->full_at;
    filter->full_at = after_ms(tamis__now_ns(), filter->guard->options.scan_new_ms);
}

/* ---- the thread ---- */

/* Rate of lookups of absent keys that the filter did not answer, since the last scan. NAN: too few. The mutex
 * is locked. */
static double live_rate(const guard_filter *filter, uint64_t *samples) {
    const guard_counters *counters = &filter->guard->counters;
    const uint64_t missing = read_counter(&counters->missing_loads) - filter->missing_before;
    *samples = read_counter(&counters->absent) - filter->absent_before + missing;
    return *samples ? (double)missing / (double)*samples : (double)NAN;
}

static bool is_rate_too_high(guard_filter *filter, uint64_t now) {
    uint64_t samples;
    if (now < after_ms(filter->full_started, RATE_SCAN_MS))
        return false;
    pthread_mutex_lock(&filter->mutex);
    const double rate = live_rate(filter, &samples);
    const bool is_high =
        filter->has_filter && samples >= RATE_SAMPLES && rate > RATE_FACTOR * filter->guard->options.fpr;
    pthread_mutex_unlock(&filter->mutex);
    return is_high;
}

/* N4, N5: makes a scan due if the filter is of an earlier epoch. False: no news yet, so that no filter may be
 * built. */
static bool follow_epoch(guard_filter *filter) {
    const guard_news *news = filter->guard->news;
    const uint64_t epoch = news ? tamis__guard_news_epoch(news) : 0;
    if (news && filter->current && filter->current_epoch != epoch && filter->pause_ms == 0)
        filter->full_at = 0;
    return !news || epoch > 0;
}

static void wait_until(guard_filter *filter, uint64_t time) {
    pthread_mutex_lock(&filter->mutex);
    while (!filter->is_closing && !atomic_load(&filter->is_scan_due) && tamis__now_ns() < time)
        (void)tamis__cond_wait(&filter->cond, &filter->mutex, time);
    pthread_mutex_unlock(&filter->mutex);
}

void tamis__guard_filter_request_scan(guard_filter *filter) {
    pthread_mutex_lock(&filter->mutex);
    atomic_store(&filter->is_scan_due, true);
    pthread_cond_broadcast(&filter->cond);
    pthread_mutex_unlock(&filter->mutex);
}

static void wait_while_held(guard_filter *filter) {
    pthread_mutex_lock(&filter->mutex);
    while (filter->is_held && !filter->is_closing)
        pthread_cond_wait(&filter->cond, &filter->mutex);
    pthread_mutex_unlock(&filter->mutex);
}

static void *keep_filter(void *context) {
    guard_filter *filter = context;
    wait_while_held(filter);
    while (!is_closing(filter)) {
        const uint64_t now = tamis__now_ns();
        uint64_t next = after_ms(now, filter->guard->news ? EPOCH_CHECK_MS : RATE_CHECK_MS);
        if (atomic_exchange(&filter->is_scan_due, false))
            filter->full_at = 0;
        if (!follow_epoch(filter)) {
            wait_until(filter, next);
            continue;
        }
        if (filter->file && now >= filter->full_at)
            follow_file(filter);
        else if (!filter->file &&
                 (now >= filter->full_at || is_time_of_day(filter) || is_rate_too_high(filter, now)))
            run_full_scan(filter);
        else if (filter->session && filter->guard->source.scan_new && now >= filter->new_at)
            scan_new_rows(filter);
        next = filter->full_at < next ? filter->full_at : next;
        if (filter->session && filter->guard->source.scan_new && filter->new_at < next)
            next = filter->new_at;
        wait_until(filter, next);
    }
    close_session(filter, &filter->session);
    return NULL;
}

tamis_status tamis__guard_filter_wait(guard_filter *filter, uint32_t timeout_ms, tamis_error *err) {
    const uint64_t deadline = after_ms(tamis__now_ns(), timeout_ms);
    bool in_time = true;
    tamis_error why = TAMIS_ERROR_INIT;
    pthread_mutex_lock(&filter->mutex);
    while (in_time && !filter->has_filter && filter->why.status == TAMIS_OK)
        in_time = tamis__cond_wait(&filter->cond, &filter->mutex, deadline);
    const bool has_filter = filter->has_filter;
    why = filter->why;
    pthread_mutex_unlock(&filter->mutex);
    if (has_filter)
        return TAMIS_OK;
    if (why.status != TAMIS_OK)
        return tamis__fail(err, why.status, why.sys_errno, "%s", why.text);
    return tamis__fail(err, TAMIS_E_TIMEOUT, 0,
                       "%s: the scan of the keys has not ended after %u ms; wait longer", filter->guard->name,
                       (unsigned)timeout_ms);
}

tamis_status tamis__guard_filter_error(guard_filter *filter, tamis_error *err) {
    pthread_mutex_lock(&filter->mutex);
    const tamis_error why = filter->why;
    pthread_mutex_unlock(&filter->mutex);
    return guard_report_error(&why, err);
}

/* ---- life and statistics ---- */

static tamis_status init_filter(guard_filter *filter, tamis_guard *guard, bool is_held, tamis_error *err) {
    const tamis_guard_options *options = &guard->options;
    filter->guard = guard;
    filter->is_held = is_held;
    filter->scan_minute = options->scan_at ? tamis__guard_scan_minute(options->scan_at) : -1;
    filter->why = (tamis_error)TAMIS_ERROR_INIT;
    if (guard->source.listen)
        filter->full_at = UINT64_MAX; /* until the source reports keys */
    filter->added = (guard_added_keys){
        .memory = &guard->memory,
        .commit_ms = guard->entries ? (int64_t)tamis__guard_entries_mark_life(guard->entries)
                                    : (int64_t)options->mark_ms};
    const tamis_status status =
        options->filter_file || options->keys_file
            ? tamis__guard_filter_file_create(&filter->file, options, &guard->memory, err)
            : TAMIS_OK;
    if (status != TAMIS_OK)
        return status;
    const int failed = tamis__rwlock_init(&filter->lock);
    if (!failed)
        return TAMIS_OK;
    tamis__guard_filter_file_free(filter->file);
    return tamis__fail(err, TAMIS_E_SYSTEM, failed, "%s: cannot make a lock: %s", guard->name,
                       strerror(failed));
}

tamis_status tamis__guard_filter_create(guard_filter **created, tamis_guard *guard, bool is_held,
                                        tamis_error *err) {
    guard_filter *filter = tamis__alloc(&guard->memory, sizeof *filter, _Alignof(guard_filter));
    if (!filter)
        return tamis__fail_nomem(err, guard->name, sizeof *filter);
    const tamis_status status = init_filter(filter, guard, is_held, err);
    if (status != TAMIS_OK) {
        tamis__free(&guard->memory, filter, sizeof *filter);
        return status;
    }
    (void)pthread_mutex_init(&filter->changes, NULL);
    (void)pthread_mutex_init(&filter->mutex, NULL);
    tamis__cond_init(&filter->cond);
    *created = filter;
    const int failed = tamis__thread_create(&filter->thread, keep_filter, filter);
    filter->has_thread = !failed;
    if (failed)
        return tamis__fail(err, TAMIS_E_SYSTEM, failed,
                           "%s: cannot start a thread: %s; raise the limit of threads", guard->name,
                           strerror(failed));
    return TAMIS_OK;
}

void tamis__guard_filter_begin(guard_filter *filter) {
    pthread_mutex_lock(&filter->mutex);
    filter->is_held = false;
    pthread_cond_broadcast(&filter->cond);
    pthread_mutex_unlock(&filter->mutex);
}

void tamis__guard_filter_stop(guard_filter *filter) {
    if (!filter || !filter->has_thread)
        return;
    pthread_mutex_lock(&filter->mutex);
    filter->is_closing = true;
    pthread_cond_broadcast(&filter->cond);
    pthread_mutex_unlock(&filter->mutex);
    pthread_join(filter->thread, NULL);
    filter->has_thread = false;
}

void tamis__guard_filter_free(guard_filter *filter) {
    if (!filter)
        return;
    tamis__guard_filter_stop(filter);
    tamis_filter_free(filter->current);
    tamis__guard_added_keys_release(&filter->added);
    tamis__guard_filter_file_free(filter->file);
    pthread_cond_destroy(&filter->cond);
    pthread_mutex_destroy(&filter->mutex);
    pthread_mutex_destroy(&filter->changes);
    pthread_rwlock_destroy(&filter->lock);
    tamis__free(&filter->guard->memory, filter, sizeof *filter);
}

void tamis__guard_filter_stats(guard_filter *filter, tamis_guard_stats *stats) {
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    uint64_t samples;
    pthread_rwlock_rdlock(&filter->lock);
    if (filter->current && tamis_filter_info_get(filter->current, &info, NULL) == TAMIS_OK) {
        stats->has_filter = true;
        stats->filter_keys = info.added;
        stats->filter_bytes = info.memory;
        stats->is_saturated = info.saturated;
        stats->filter_version = filter->used.version;
    }
    pthread_rwlock_unlock(&filter->lock);
    pthread_mutex_lock(&filter->mutex);
    stats->live_fpr = live_rate(filter, &samples);
    stats->scans = filter->scans;
    stats->failed_scans = filter->failed_scans;
    stats->scanned_at = filter->scanned_at;
    stats->updated_at = filter->updated_at;
    pthread_mutex_unlock(&filter->mutex);
}

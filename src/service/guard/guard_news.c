/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The news: a stream in Redis with the keys that writers of all guards are about to write.
 *
 *     step   script           key           arguments                       reply
 *     N1     script_publish   PREFIX:news   time to keep news, key          1
 *     N2     script_read      PREFIX:news   cursor or "", time, page size   cursor, last id, keys...
 *
 *     writer     publish -> wait 220 ms ------------------------> row
 *     listener   read . . . . read . . . . read . . . .           every 25 ms
 *                 |            |
 *                 +------------+-- `heard`: the time just before this request was sent
 *
 * Invariants:
 *
 * 1. The listener adds a key to the recent keys first, and to the filters after that. A new filter becomes
 *    visible to the listener first, and gets the recent keys after that. So it has each key that was heard
 *    during the last life of a mark.
 * 2. `heard` moves only after all keys of a reply are in the filters. If a filter cannot take one, the guard
 *    becomes silent, and the listener reads the same news again.
 * 3. The first reply, and the first one after each gap, begin a new epoch. `epoch` is raised before `heard` moves:
 *    no filter of an earlier epoch answers any more.
 *
 * After a gap, the listener reads news of twice the life of a mark. The clocks of two servers, before and
 * after a failover, may differ. If the filter comes from a file, it reads all news that Redis keeps: the file
 * may lack any key of them.
 *
 * The listener polls, and does not wait in Redis (XREAD BLOCK): a request that waits tells nothing about the
 * time until its reply. 40 small requests a second cost a Redis less than a thousandth of its time.
 *
 * XTRIM in script_read removes nothing. A replica refuses it, and so does a master that has lost its replicas
 * (min-replicas-to-write). Such a server may not have the latest news.
 *
 * Redis may run a script twice or late. The stream then has a key twice, or the key of a writer that has
 * given up. Neither does harm.
 */
#include "service/guard/guard_news.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "base/thread.h"
#include "service/guard/guard_entries.h"
#include "service/guard/guard_filter.h"
#include "service/guard/guard_int.h"
#include "service/guard/guard_lookups.h"
#include "store/redis/request/redis_scripts.h"

enum {
    READ_MS = 25,   /* from one request to the next */
    PAUSE_MS = 100, /* after a failure */
    PAGE = 1000,    /* max. news in a reply */
    ID = 48,        /* bytes of the id of a stream entry, as text */
    NUMBER = 24
};

/* An id of a stream: time of the server in ms, and a number. */
typedef struct news_id {
    uint64_t ms, number;
} news_id;

/* A key that was heard less than the life of a mark ago. */
typedef struct news_recent {
    guard_hash hash;
    uint64_t deadline;
} news_recent;

struct guard_news {
    tamis_guard *guard;
    char *name; /* of the stream */
    size_t name_size;
    uint64_t life_ms;           /* of a mark */
    uint64_t keep_ms;           /* how long Redis keeps news */
    uint64_t from_ms;           /* how far back the first request reads */
    bool keeps_all;             /* the filter comes from a file, and keeps keys by itself */
    atomic_uint_fast64_t heard; /* time (tamis__guard_now) to which the news are known; 0: never heard */
    atomic_uint_fast64_t lost;  /* while `heard` is 0: since when */
    atomic_uint_fast64_t epoch; /* number of the current epoch; 0: none yet */
    /* of the listener */
    char cursor[ID]; /* id of the last entry that was read; "": begin `from_ms` ago */
    news_id last;    /* highest id of the stream that was seen */
    bool has_more;   /* the last reply was full */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t mutex; /* protects all fields below */
    pthread_cond_t cond;
    bool is_closing;
    tamis_error why;     /* of the last request that failed */
    news_recent *recent; /* recent keys: a ring buffer, ordered by deadline */
    size_t recent_first, recent_count, recent_capacity;
};

/* ---- scripts ---- */

#define NOW                                                                                                  \
    "local time = redis.call('TIME') "                                                                       \
    "local now = time[1] * 1000 + math.floor(time[2] / 1000) "

static const char script_publish[] = NOW
    "redis.call('XADD', KEYS[1], 'MINID', '~', string.format('%.0f', now - ARGV[1]), '*', 'key', ARGV[2]) "
    "return 1";

static const char script_read[] =
    "redis.call('XTRIM', KEYS[1], 'MINID', '0') "
    "local cursor, last = ARGV[1], '' "
    "if cursor == '' then " NOW "cursor = string.format('%.0f', now - ARGV[2]) .. '-0' end "
    "if redis.call('EXISTS', KEYS[1]) == 1 then "
    "local info = redis.call('XINFO', 'STREAM', KEYS[1]) "
    "for i = 1, #info, 2 do if info[i] == 'last-generated-id' then last = info[i + 1] end end end "
    "local reply = {cursor, last} "
    "for i, entry in ipairs(redis.call('XRANGE', KEYS[1], '(' .. cursor, '+', 'COUNT', ARGV[3])) do "
    "reply[1] = entry[1] "
    "reply[i + 2] = entry[2][2] end "
    "return reply";

/* One script of the news: publish if `key` is set, else read. */
typedef struct news_call {
    guard_news *news;
    const tamis_key *key;
    tamis_key stream, words[3];
    char time[NUMBER], page[NUMBER];
    uint64_t sent; /* time before it was sent for the last time */
} news_call;

static tamis_key slot_key(void *context, size_t i) {
    (void)i;
    return ((const news_call *)context)->stream;
}

static tamis_key text_word(const char *text) {
    return (tamis_key){text, strlen(text)};
}

static void make_script(void *context, size_t i, tamis__script *script) {
    news_call *call = context;
    (void)i;
    call->sent = tamis__guard_now();
    script->text = text_word(call->key ? script_publish : script_read);
    script->keys = &call->stream;
    script->key_count = 1;
    script->arguments = call->words;
    if (call->key) {
        call->words[0] = text_word(call->time);
        call->words[1] = *call->key;
        script->argument_count = 2;
        return;
    }
    call->words[0] = text_word(call->news->cursor);
    call->words[1] = text_word(call->time);
    call->words[2] = text_word(call->page);
    script->argument_count = 3;
}

static tamis_status run_script(news_call *call,
                               tamis_status (*accept_reply)(void *context, size_t i,
                                                            const tamis__reply *reply, tamis_error *err),
                               tamis_error *err) {
    guard_news *news = call->news;
    const tamis__scripts scripts = {.count = 1,
                                    .context = call,
                                    .what = "guard",
                                    .slot_key = slot_key,
                                    .make = make_script,
                                    .accept_reply = accept_reply,
                                    .confirms = call->key != NULL};
    call->stream = (tamis_key){news->name, news->name_size};
    snprintf(call->time, sizeof call->time, "%llu",
             (unsigned long long)(call->key ? news->keep_ms : news->from_ms));
    snprintf(call->page, sizeof call->page, "%d", PAGE);
    return tamis__scripts_run(tamis__guard_entries_redis(news->guard->entries), &scripts, err);
}

/* ---- N1 ---- */

static tamis_status accept_published(void *context, size_t i, const tamis__reply *reply, tamis_error *err) {
    (void)context;
    (void)i;
    (void)reply;
    (void)err;
    return TAMIS_OK;
}

tamis_status tamis__guard_news_publish(guard_news *news, tamis_key key, tamis_error *err) {
    news_call call = {.news = news, .key = &key};
    return run_script(&call, accept_published, err);
}

/* ---- recent keys ---- */

static void forget_old(guard_news *news, uint64_t now) {
    while (news->recent_count > 0 && news->recent[news->recent_first].deadline <= now) {
        news->recent_first = (news->recent_first + 1) % news->recent_capacity;
        news->recent_count--;
    }
}

/* Doubles the ring. Its entries begin at 0 after that. */
static bool grow_recent(guard_news *news) {
    const tamis_allocator *memory = &news->guard->memory;
    const size_t capacity = news->recent_capacity ? 2 * news->recent_capacity : 64;
    news_recent *grown = tamis__alloc(memory, capacity * sizeof *grown, _Alignof(news_recent));
    if (!grown)
        return false;
    for (size_t i = 0; i < news->recent_count; i++)
        grown[i] = news->recent[(news->recent_first + i) % news->recent_capacity];
    tamis__free(memory, news->recent, news->recent_capacity * sizeof *grown);
    news->recent = grown;
    news->recent_first = 0;
    news->recent_capacity = capacity;
    return true;
}

static tamis_status add_recent(guard_news *news, guard_hash hash, tamis_error *err) {
    const uint64_t now = tamis__now_ns();
    tamis_status status = TAMIS_OK;
    pthread_mutex_lock(&news->mutex);
    forget_old(news, now);
    if (news->recent_count == news->recent_capacity && !grow_recent(news))
        status = tamis__fail_nomem(err, news->guard->name, 2 * news->recent_capacity * sizeof *news->recent);
    else
        news->recent[(news->recent_first + news->recent_count++) % news->recent_capacity] =
            (news_recent){hash, now + news->life_ms * GUARD_NS_OF_MS};
    pthread_mutex_unlock(&news->mutex);
    return status;
}

void tamis__guard_news_each_recent(guard_news *news, void (*visit)(void *context, guard_hash hash),
                                   void *context) {
    pthread_mutex_lock(&news->mutex);
    for (size_t i = 0; i < news->recent_count; i++)
        visit(context, news->recent[(news->recent_first + i) % news->recent_capacity].hash);
    pthread_mutex_unlock(&news->mutex);
}

/* ---- N2, N5 ---- */

static bool parse_id(const tamis__reply *text, news_id *id) {
    if (text->type != TAMIS__REPLY_STRING || text->size == 0 || text->size >= ID)
        return false;
    return sscanf(text->text, "%" SCNu64 "-%" SCNu64, &id->ms, &id->number) == 2;
}

static bool is_before(news_id a, news_id b) {
    return a.ms < b.ms || (a.ms == b.ms && a.number < b.number);
}

/* True if the guard has heard nothing for the life of a mark, or if Redis has lost news. */
static bool is_gap(const guard_news *news, news_id last, uint64_t sent) {
    const uint64_t heard = atomic_load(&news->heard);
    return is_before(last, news->last) || (heard > 0 && sent - heard >= news->life_ms * GUARD_NS_OF_MS);
}

/* N5. The next request begins `from_ms` ago. */
static void start_again(guard_news *news) {
    guard_lookups *lookups = news->guard->lookups;
    news->cursor[0] = '\0';
    news->last = (news_id){0, 0};
    atomic_store(&news->lost, tamis__guard_now());
    atomic_store(&news->heard, 0);
    pthread_mutex_lock(&lookups->mutex);
    tamis__guard_lookups_forget_all(lookups);
    pthread_mutex_unlock(&lookups->mutex);
}

/* Adds a new key to the filters, and removes it from the cache. */
static tamis_status accept_key(guard_news *news, const tamis__reply *text, tamis_error *err) {
    tamis_guard *guard = news->guard;
    const tamis_key key = {text->text, text->size};
    tamis_hash hash;
    tamis_status status = tamis_hash_many(guard->hasher, &key, 1, &hash, err);
    if (status == TAMIS_OK && !news->keeps_all)
        status = add_recent(news, guard_hash_of(&hash), err);
    if (status == TAMIS_OK && guard->filter)
        status = tamis__guard_filter_add(guard->filter, key, &hash, err);
    if (status == TAMIS_OK)
        tamis__guard_lookups_unmark(guard->lookups, guard_hash_of(&hash), NULL);
    return status;
}

static tamis_status accept_news(void *context, size_t i, const tamis__reply *reply, tamis_error *err) {
    const news_call *call = context;
    guard_news *news = call->news;
    news_id last = {0, 0};
    (void)i;
    if (reply->type != TAMIS__REPLY_ARRAY || reply->size < 2 || reply->items[0].type != TAMIS__REPLY_STRING ||
        reply->items[0].size >= ID || (reply->items[1].size > 0 && !parse_id(&reply->items[1], &last)))
        return tamis__fail(err, TAMIS_E_IO, 0, "guard: the reply is not from a Redis; check the address");
    if (is_gap(news, last, call->sent)) {
        start_again(news);
        return TAMIS_OK;
    }
    for (size_t k = 2; k < reply->size; k++) {
        if (reply->items[k].type != TAMIS__REPLY_STRING)
            continue; /* no guard has written this */
        const tamis_status status = accept_key(news, &reply->items[k], err);
        if (status != TAMIS_OK)
            return status;
    }
    memcpy(news->cursor, reply->items[0].text, reply->items[0].size + 1);
    news->last = last;
    news->has_more = reply->size == PAGE + 2;
    if (news->has_more)
        return TAMIS_OK;
    if (atomic_load(&news->heard) == 0)
        atomic_fetch_add(&news->epoch, 1);
    atomic_store(&news->heard, call->sent);
    return TAMIS_OK;
}

/* Waits for the next request. Returns false when the guard is being closed. */
static bool wait_for_turn(guard_news *news, uint64_t time) {
    pthread_mutex_lock(&news->mutex);
    while (!news->is_closing && tamis__now_ns() < time)
        (void)tamis__cond_wait(&news->cond, &news->mutex, time);
    const bool goes_on = !news->is_closing;
    pthread_mutex_unlock(&news->mutex);
    return goes_on;
}

/* N2, once. */
static tamis_status read_news(guard_news *news) {
    news_call call = {.news = news};
    tamis_error why = TAMIS_ERROR_INIT;
    news->has_more = false;
    const tamis_status status = run_script(&call, accept_news, &why);
    if (status == TAMIS_OK)
        return TAMIS_OK;
    pthread_mutex_lock(&news->mutex);
    news->why = why;
    pthread_mutex_unlock(&news->mutex);
    return status;
}

static void *listen_to_news(void *context) {
    guard_news *news = context;
    uint64_t next = 0;
    while (wait_for_turn(news, next)) {
        const tamis_status status = read_news(news);
        const bool at_once = status == TAMIS_OK && (news->has_more || !news->cursor[0]);
        next = at_once ? 0 : tamis__now_ns() + (status == TAMIS_OK ? READ_MS : PAUSE_MS) * GUARD_NS_OF_MS;
    }
    return NULL;
}

uint64_t tamis__guard_news_live_epoch(const guard_news *news, uint64_t now) {
    const uint64_t heard = atomic_load_explicit(&news->heard, memory_order_acquire);
    if (heard == 0 || now >= heard + GUARD_SILENT_AFTER_MS * GUARD_NS_OF_MS)
        return 0;
    return tamis__guard_news_epoch(news);
}

uint64_t tamis__guard_news_silence(const guard_news *news, uint64_t now) {
    const uint64_t heard = atomic_load_explicit(&news->heard, memory_order_acquire),
                   since = heard > 0 ? heard : atomic_load(&news->lost);
    return now > since ? now - since : 0;
}

tamis_status tamis__guard_news_check(guard_news *news, uint64_t now, tamis_error *err) {
    if (tamis__guard_news_live_epoch(news, now))
        return TAMIS_OK;
    pthread_mutex_lock(&news->mutex);
    const tamis_error why = news->why;
    pthread_mutex_unlock(&news->mutex);
    if (why.status == TAMIS_OK)
        return tamis__fail(err, TAMIS_E_TIMEOUT, 0, "%s: Redis has not answered for %d ms", news->guard->name,
                           GUARD_SILENT_AFTER_MS);
    return tamis__fail(err, why.status, why.sys_errno, "%s", why.text);
}

uint64_t tamis__guard_news_epoch(const guard_news *news) {
    return atomic_load_explicit(&news->epoch, memory_order_acquire);
}

/* ---- life ---- */

tamis_status tamis__guard_news_create(guard_news **news, tamis_guard *guard, tamis_error *err) {
    static const char suffix[] = ":news";
    const char *prefix = tamis__guard_entries_prefix(guard->entries);
    guard_news *made = tamis__alloc(&guard->memory, sizeof *made, _Alignof(guard_news));
    if (!made)
        return tamis__fail_nomem(err, guard->name, sizeof *made);
    made->guard = guard;
    made->life_ms = tamis__guard_entries_mark_life(guard->entries);
    made->keep_ms = guard->options.news_ms > 3 * made->life_ms ? guard->options.news_ms : 3 * made->life_ms;
    made->keeps_all = guard->options.filter_file || guard->options.keys_file;
    made->from_ms = made->keeps_all ? made->keep_ms : 2 * made->life_ms;
    made->why = (tamis_error)TAMIS_ERROR_INIT;
    atomic_init(&made->lost, tamis__guard_now());
    made->name_size = strlen(prefix) + sizeof suffix - 1;
    made->name = tamis__alloc(&guard->memory, made->name_size + 1, 1);
    if (!made->name) {
        tamis__free(&guard->memory, made, sizeof *made);
        return tamis__fail_nomem(err, guard->name, strlen(prefix) + sizeof suffix);
    }
    snprintf(made->name, made->name_size + 1, "%s%s", prefix, suffix);
    (void)pthread_mutex_init(&made->mutex, NULL);
    tamis__cond_init(&made->cond);
    *news = made;
    return TAMIS_OK;
}

tamis_status tamis__guard_news_start(guard_news *news, const tamis_error *why, tamis_error *err) {
    const uint64_t deadline = tamis__now_ns() + news->guard->options.timeout_ms * GUARD_NS_OF_MS;
    news->why = *why;
    tamis_status status = why->status;
    do { /* after a failure or the time limit, the listener goes on */
        if (status == TAMIS_OK)
            status = read_news(news);
    } while (status == TAMIS_OK && news->has_more && tamis__now_ns() < deadline);
    const int failed = tamis__thread_create(&news->thread, listen_to_news, news);
    news->has_thread = !failed;
    if (failed)
        return tamis__fail(err, TAMIS_E_SYSTEM, failed,
                           "%s: cannot start a thread: %s; raise the limit of threads", news->guard->name,
                           strerror(failed));
    return TAMIS_OK;
}

void tamis__guard_news_stop(guard_news *news) {
    if (!news || !news->has_thread)
        return;
    pthread_mutex_lock(&news->mutex);
    news->is_closing = true;
    pthread_cond_broadcast(&news->cond);
    pthread_mutex_unlock(&news->mutex);
    pthread_join(news->thread, NULL);
    news->has_thread = false;
}

void tamis__guard_news_free(guard_news *news) {
    if (!news)
        return;
    tamis__guard_news_stop(news);
    const tamis_allocator memory = news->guard->memory;
    pthread_cond_destroy(&news->cond);
    pthread_mutex_destroy(&news->mutex);
    tamis__free(&memory, news->recent, news->recent_capacity * sizeof *news->recent);
    tamis__free(&memory, news->name, news->name_size + 1);
    tamis__free(&memory, news, sizeof *news);
}

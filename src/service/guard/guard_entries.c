/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Entries, leases and marks in a Redis: docs/GUARD-PROTOCOL.md as scripts. That document has the invariants
 * and the proof.
 *
 *     step      script           keys                   arguments                        reply
 *     G2        script_get       entry, lease, marks    token, life, previous token      text, or 0, 1, 2
 *     G3        script_renew     lease                  token, life
 *     G4        script_store     entry, lease           token, V or N, bytes, life       0, 1, or an error
 *     -         script_release   lease                  token
 *     P2        script_mark      entry, lease, marks    token, life
 *     P4        script_unmark    entry, lease, marks    token, or nothing
 *
 * Redis may run a script twice, or long after its sender has given up. So:
 *
 * 1. Each sending of G2 has a token of its own, and G4 sends the token of the one that was answered. An
 *    earlier sending that comes late sets a lease whose token nobody stores with. With one token for all
 *    sendings, a late G2 and a late G4 together would store an old row.
 * 2. G2 replaces the lease of its own previous sending. Else a lost reply would make the reader wait for
 *    itself.
 * 3. All other scripts compare a token, or delete only what may be deleted at any time.
 *
 * A server whose memory is full refuses commands that need memory until the script has written something.
 * Leases and marks are small and expire, so G2 and P2 write a DEL first. G4 does not: its error comes back as
 * text, and the lease is deleted, so that the next reader does not wait for it.
 *
 * The life of a mark is mark_ms + timeout_ms: the life begins on the server, while mark_ms begins when the
 * call returns.
 *
 * Time limit: a call ends within timeout_ms. It gives up after half of that time without a reply. A reply in
 * the second half ends it too. If the URI sets patience, that is the only limit.
 */
#include "service/guard/guard_entries.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "base/system.h"
#include "store/redis/request/redis_scripts.h"

enum { NS_OF_MS = 1000000, ESCAPED = 3 /* bytes of an escaped byte */, SUFFIX = 8, WORDS = 4, NUMBER = 24 };

struct guard_entries {
    tamis_allocator allocator;
    tamis_redis *redis;
    char *prefix;
    size_t prefix_size;
    guard_entries_options options; /* without its strings */
    uint64_t patience_ns;          /* from the start of a call until a reply ends it; 0: none */
};

/* ---- scripts ---- */

#define NOW                                                                                                  \
    "local time = redis.call('TIME') "                                                                       \
    "local now = time[1] * 1000 + math.floor(time[2] / 1000) "

static const char script_get[] = "local entry = redis.pcall('GET', KEYS[1]) "
                                 "if type(entry) == 'table' then return entry.err end "
                                 "if entry then return entry end " NOW
                                 "if redis.call('ZCOUNT', KEYS[3], now, '+inf') > 0 then return 2 end "
                                 "local lease = redis.call('GET', KEYS[2]) "
                                 "if lease and lease ~= ARGV[3] then return 0 end "
                                 "redis.call('DEL', KEYS[2]) "
                                 "redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2]) "
                                 "return 1";

static const char script_store[] =
    "if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end "
    "local done = redis.pcall('SET', KEYS[1], ARGV[2] .. ARGV[3], 'PX', ARGV[4]) "
    "redis.call('DEL', KEYS[2]) "
    "return done.err or 1";

static const char script_renew[] = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end "
                                   "return redis.call('PEXPIRE', KEYS[1], ARGV[2])";

static const char script_release[] = "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end "
                                     "return redis.call('DEL', KEYS[1])";

static const char script_mark[] = NOW "redis.call('DEL', KEYS[1], KEYS[2]) "
                                      "redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', '(' .. now) "
                                      "redis.call('ZADD', KEYS[3], now + ARGV[2], ARGV[1]) "
                                      "local last = redis.call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')[2] "
                                      "redis.call('PEXPIREAT', KEYS[3], last + 1) "
                                      "return 1";

static const char script_unmark[] = "redis.call('DEL', KEYS[1], KEYS[2]) "
                                    "if ARGV[1] then redis.call('ZREM', KEYS[3], ARGV[1]) end "
                                    "return 1";

typedef enum step { STEP_GET, STEP_STORE, STEP_RENEW, STEP_RELEASE, STEP_MARK, STEP_UNMARK } step;

/* The first Redis key of a script. */
enum { NAME_ENTRY, NAME_LEASE };

static const struct {
    const char *text;
    size_t size, first_key, key_count;
} steps[] = {
    [STEP_GET] = {script_get, sizeof script_get - 1, NAME_ENTRY, 3},
    [STEP_STORE] = {script_store, sizeof script_store - 1, NAME_ENTRY, 2},
    [STEP_RENEW] = {script_renew, sizeof script_renew - 1, NAME_LEASE, 1},
    [STEP_RELEASE] = {script_release, sizeof script_release - 1, NAME_LEASE, 1},
    [STEP_MARK] = {script_mark, sizeof script_mark - 1, NAME_ENTRY, 3},
    [STEP_UNMARK] = {script_unmark, sizeof script_unmark - 1, NAME_ENTRY, 3},
};

/* One call: a step for each of `count` entries. */
typedef struct entries_call {
    guard_entries *entries;
    step step;
    const guard_entry *items;
    guard_entry *wanted; /* STEP_GET: the same items, to be answered */
    size_t count;
    bool has_token;    /* STEP_UNMARK: false: no mark is removed */
    uint8_t token[16]; /* random; raised by one for each sending of G2 */
    uint64_t random;   /* for lives */
    uint64_t deadline; /* a later reply ends the call */
    char *names;       /* buffer for the three Redis keys of one item */
    size_t name_capacity;
    tamis_key keys[3];
    tamis_key words[WORDS];
    char number[NUMBER];
    uint8_t previous[16]; /* STEP_GET: token of the item's previous sending */
    tamis_status failure; /* of one item; the run goes on */
    tamis_error why;
} entries_call;

/* ---- names ---- */

/* Writes PREFIX{KEY} with % and } escaped. Returns the end. */
static char *write_tag(const guard_entries *entries, tamis_key key, char *to) {
    const unsigned char *bytes = key.data;

    memcpy(to, entries->prefix, entries->prefix_size);
    to += entries->prefix_size;
    *to++ = '{';
    for (size_t i = 0; i < key.size; i++) {
        if (bytes[i] != '%' && bytes[i] != '}') {
            *to++ = (char)bytes[i];
            continue;
        }
        memcpy(to, bytes[i] == '%' ? "%25" : "%7D", ESCAPED);
        to += ESCAPED;
    }
    *to++ = '}';
    return to;
}

static size_t name_size_max(const guard_entries *entries, tamis_key key) {
    return entries->prefix_size + 2 + ESCAPED * key.size + SUFFIX;
}

/* Sets `keys` to the Redis keys of an item. */
static void make_keys(entries_call *call, tamis_key key) {
    static const char *const suffixes[] = {":entry", ":lease", ":marks"};
    char *name = call->names;
    const size_t tag_size = (size_t)(write_tag(call->entries, key, name) - name);

    for (size_t k = 0; k < 3; k++, name += call->name_capacity) {
        if (k > 0)
            memcpy(name, call->names, tag_size);
        memcpy(name + tag_size, suffixes[k], strlen(suffixes[k]));
        call->keys[k] = (tamis_key){name, tag_size + strlen(suffixes[k])};
    }
}

static tamis_key slot_key(void *context, size_t i) {
    entries_call *call = context;

    make_keys(call, call->items[i].key);
    return call->keys[NAME_ENTRY];
}

/* ---- words ---- */

static tamis_key token_word(const uint8_t *token) {
    return (tamis_key){token, TAMIS_GUARD_TOKEN};
}

static tamis_key number_word(entries_call *call, uint64_t number) {
    const int size = snprintf(call->number, NUMBER, "%llu", (unsigned long long)number);

    return (tamis_key){call->number, (size_t)size};
}

/* Returns life_ms and up to a tenth more, at random. */
static uint64_t random_life(entries_call *call, uint32_t life_ms) {
    call->random = call->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return life_ms + (call->random >> 33) % (life_ms / 10 + 1);
}

/* Gives a sending of G2 a token of its own. */
static void renew_token(entries_call *call, guard_entry *item) {
    memcpy(call->previous, item->token, sizeof call->previous);
    tamis__store64le(call->token, tamis__load64le(call->token) + 1);
    memcpy(item->token, call->token, sizeof item->token);
}

static size_t make_get(entries_call *call, size_t i) {
    renew_token(call, &call->wanted[i]);
    call->words[0] = token_word(call->wanted[i].token);
    call->words[1] = number_word(call, call->entries->options.lease_ms);
    call->words[2] = token_word(call->previous);
    return 3;
}

static size_t make_store(entries_call *call, const guard_entry *item) {
    const guard_entries_options *options = &call->entries->options;
    const bool is_null = tamis__guard_blob_is_null(item->blob);
    const tamis_key bytes = tamis__guard_blob_bytes(item->blob);

    call->words[0] = token_word(item->token);
    call->words[1] = (tamis_key){is_null ? "N" : "V", 1};
    call->words[2] = is_null ? (tamis_key){"", 0} : bytes;
    call->words[3] = number_word(call, random_life(call, is_null ? options->null_life_ms : options->life_ms));
    return 4;
}

/* Puts the arguments of a script into `words`, and returns their number. */
static size_t make_words(entries_call *call, size_t i) {
    const guard_entries_options *options = &call->entries->options;

    if (call->step == STEP_GET)
        return make_get(call, i);
    if (call->step == STEP_STORE)
        return make_store(call, &call->items[i]);
    if (call->step == STEP_UNMARK && !call->has_token)
        return 0;
    call->words[0] = token_word(call->items[i].token);
    if (call->step == STEP_RELEASE || call->step == STEP_UNMARK)
        return 1;
    call->words[1] = number_word(
        call, call->step == STEP_RENEW ? options->lease_ms : tamis__guard_entries_mark_life(call->entries));
    return 2;
}

static void make_script(void *context, size_t i, tamis__script *script) {
    entries_call *call = context;

    make_keys(call, call->items[i].key);
    script->text = (tamis_key){steps[call->step].text, steps[call->step].size};
    script->keys = call->keys + steps[call->step].first_key;
    script->key_count = steps[call->step].key_count;
    script->argument_count = make_words(call, i);
    script->arguments = call->words;
}

/* ---- replies ---- */

/* Notes the failure of one item. The others go on. */
static void note_failure(entries_call *call, tamis_status status, const tamis__reply *reply) {
    if (call->failure != TAMIS_OK)
        return;
    call->failure = tamis__fail(
        &call->why, status, 0, "redis %s: %.*s: %.150s; %s", tamis__scripts_server(call->entries->redis),
        call->keys[NAME_ENTRY].size > 60 ? 60 : (int)call->keys[NAME_ENTRY].size,
        (const char *)call->keys[NAME_ENTRY].data,
        status == TAMIS_E_MISMATCH ? "expected an entry of a guard" : reply->text,
        status == TAMIS_E_MISMATCH ? "remove this key, or give another prefix"
                                   : "see maxmemory and the rights of the user there");
}

static tamis_status accept_get(entries_call *call, guard_entry *item, const tamis__reply *reply,
                               tamis_error *err) {
    static const guard_entry_state states[] = {GUARD_ENTRY_LEASED, GUARD_ENTRY_GRANTED, GUARD_ENTRY_MARKED};

    if (reply->type == TAMIS__REPLY_INTEGER && reply->integer >= 0 && reply->integer <= 2) {
        item->state = states[reply->integer];
        return TAMIS_OK;
    }
    const bool is_null = reply->type == TAMIS__REPLY_STRING && reply->size == 1 && reply->text[0] == 'N';
    const bool is_value = reply->type == TAMIS__REPLY_STRING && reply->size > 0 && reply->text[0] == 'V';
    if (!is_null && !is_value) {
        make_keys(call, item->key);
        note_failure(call, TAMIS_E_MISMATCH, reply);
        return TAMIS_OK;
    }
    item->blob = tamis__guard_blob_create(&call->entries->allocator, is_null ? NULL : reply->text + 1,
                                          reply->size - 1);
    if (!item->blob)
        return tamis__fail_nomem(err, "value", reply->size);
    item->state = GUARD_ENTRY_FOUND;
    return TAMIS_OK;
}

static tamis_status accept_reply(void *context, size_t i, const tamis__reply *reply, tamis_error *err) {
    entries_call *call = context;

    if (call->step == STEP_GET) {
        const tamis_status status = accept_get(call, &call->wanted[i], reply, err);
        if (status != TAMIS_OK)
            return status;
    } else if (reply->type != TAMIS__REPLY_INTEGER) {
        make_keys(call, call->items[i].key);
        note_failure(call, TAMIS_E_REFUSED, reply);
    }
    if (call->deadline > 0 && i + 1 < call->count && tamis__now_ns() > call->deadline)
        return tamis__fail(err, TAMIS_E_TIMEOUT, 0,
                           "redis %s: answers too slowly; check server and network, or give more time",
                           tamis__scripts_server(call->entries->redis));
    return TAMIS_OK;
}

/* ---- calls ---- */

static tamis_status prepare(entries_call *call, tamis_error *err) {
    guard_entries *entries = call->entries;
    uint8_t random[sizeof call->token + sizeof call->random];
    const tamis_status status = tamis__random(random, sizeof random, "tokens of a guard", err);

    if (status != TAMIS_OK)
        return status;
    memcpy(call->token, random, sizeof call->token);
    call->random = tamis__load64le(random + sizeof call->token);
    if (entries->patience_ns > 0)
        call->deadline = tamis__now_ns() + entries->patience_ns;
    for (size_t i = 0; i < call->count; i++) {
        const size_t size = name_size_max(entries, call->items[i].key);
        if (call->items[i].key.size == 0)
            return tamis__fail(err, TAMIS_E_INVALID, 0, "key: has no bytes; no row has such a key");
        call->name_capacity = size > call->name_capacity ? size : call->name_capacity;
    }
    call->names = tamis__alloc(&entries->allocator, 3 * call->name_capacity, 1);
    return call->names ? TAMIS_OK : tamis__fail_nomem(err, "keys", 3 * call->name_capacity);
}

static tamis_status run_call(entries_call *call, tamis_error *err) {
    if (call->count == 0)
        return TAMIS_OK;
    const tamis__scripts scripts = {.count = call->count,
                                    .context = call,
                                    .what = "guard",
                                    .slot_key = slot_key,
                                    .make = make_script,
                                    .accept_reply = accept_reply,
                                    .confirms = call->step == STEP_MARK};
    tamis_status status = prepare(call, err);

    if (status == TAMIS_OK)
        status = tamis__scripts_run(call->entries->redis, &scripts, err);
    tamis__free(&call->entries->allocator, call->names, 3 * call->name_capacity);
    if (status == TAMIS_OK && call->failure != TAMIS_OK) {
        status = call->failure;
        if (err)
            *err = call->why;
    }
    return status;
}

tamis_status tamis__guard_entries_get(guard_entries *entries, guard_entry *wanted, size_t count,
                                      tamis_error *err) {
    entries_call call = {
        .entries = entries, .step = STEP_GET, .items = wanted, .wanted = wanted, .count = count};

    for (size_t i = 0; i < count; i++) {
        wanted[i].state = GUARD_ENTRY_UNKNOWN;
        wanted[i].blob = NULL;
        memset(wanted[i].token, 0, sizeof wanted[i].token);
    }
    return run_call(&call, err);
}

tamis_status tamis__guard_entries_store(guard_entries *entries, const guard_entry *stored, size_t count,
                                        tamis_error *err) {
    entries_call call = {.entries = entries, .step = STEP_STORE, .items = stored, .count = count};

    return run_call(&call, err);
}

tamis_status tamis__guard_entries_renew(guard_entries *entries, const guard_entry *leased, size_t count,
                                        tamis_error *err) {
    entries_call call = {.entries = entries, .step = STEP_RENEW, .items = leased, .count = count};

    return run_call(&call, err);
}

tamis_status tamis__guard_entries_release(guard_entries *entries, const guard_entry *leased, size_t count,
                                          tamis_error *err) {
    entries_call call = {.entries = entries, .step = STEP_RELEASE, .items = leased, .count = count};

    return run_call(&call, err);
}

tamis_status tamis__guard_entries_mark(guard_entries *entries, tamis_key key,
                                       uint8_t token[TAMIS_GUARD_TOKEN], tamis_error *err) {
    guard_entry item = {.key = key};
    entries_call call = {.entries = entries, .step = STEP_MARK, .items = &item, .count = 1};

    tamis_status status = tamis__random(item.token, sizeof item.token, "token of a guard", err);
    if (status == TAMIS_OK)
        status = run_call(&call, err);
    if (status == TAMIS_OK)
        memcpy(token, item.token, sizeof item.token);
    return status;
}

tamis_status tamis__guard_entries_unmark(guard_entries *entries, tamis_key key,
                                         const uint8_t token[TAMIS_GUARD_TOKEN], tamis_error *err) {
    guard_entry item = {.key = key};
    entries_call call = {
        .entries = entries, .step = STEP_UNMARK, .items = &item, .count = 1, .has_token = token};

    if (token)
        memcpy(item.token, token, sizeof item.token);
    return run_call(&call, err);
}

tamis_status tamis__guard_entries_forget(guard_entries *entries, const guard_entry *items, size_t count,
                                         tamis_error *err) {
    entries_call call = {.entries = entries, .step = STEP_UNMARK, .items = items, .count = count};

    return run_call(&call, err);
}

/* ---- opening ---- */

tamis_status tamis__guard_entries_open(guard_entries **entries, const guard_entries_options *options,
                                       tamis_error *err) {
    const tamis_allocator allocator = tamis__allocator_resolve(options->allocator);

    if (strpbrk(options->prefix, "{}"))
        return tamis__fail(err, TAMIS_E_INVALID, 0, "prefix '%.60s': has a brace; give one without",
                           options->prefix);
    guard_entries *made = tamis__alloc(&allocator, sizeof *made, _Alignof(guard_entries));
    if (!made)
        return tamis__fail_nomem(err, "guard", sizeof *made);
    made->allocator = allocator;
    made->options = *options;
    made->options.redis = made->options.prefix = NULL;
    made->prefix_size = strlen(options->prefix);
    made->prefix = tamis__alloc(&allocator, made->prefix_size + 1, 1);
    if (!strstr(options->redis, "patience="))
        made->patience_ns = (uint64_t)options->timeout_ms * NS_OF_MS / 2;
    tamis_status status =
        made->prefix ? tamis__scripts_open(&made->redis, options->redis, options->timeout_ms, &allocator, err)
                     : tamis__fail_nomem(err, "guard", made->prefix_size + 1);
    if (status != TAMIS_OK) {
        tamis__guard_entries_close(made);
        return status;
    }
    memcpy(made->prefix, options->prefix, made->prefix_size);
    *entries = made;
    return TAMIS_OK;
}

tamis_status tamis__guard_entries_reach(guard_entries *entries, tamis_error *err) {
    const guard_entry nobody = {.key = {"tamis", 5}}; /* its token is that of no lease */
    const tamis_status status = tamis__scripts_reach(entries->redis, err);

    return status == TAMIS_OK ? tamis__guard_entries_renew(entries, &nobody, 1, err) : status;
}

tamis_redis *tamis__guard_entries_redis(const guard_entries *entries) {
    return entries->redis;
}

const char *tamis__guard_entries_prefix(const guard_entries *entries) {
    return entries->prefix;
}

uint64_t tamis__guard_entries_mark_life(const guard_entries *entries) {
    return (uint64_t)entries->options.mark_ms + entries->options.timeout_ms;
}

void tamis__guard_entries_close(guard_entries *entries) {
    if (!entries)
        return;
    const tamis_allocator allocator = entries->allocator;
    tamis_redis_close(entries->redis);
    tamis__free(&allocator, entries->prefix, entries->prefix_size + 1);
    tamis__free(&allocator, entries, sizeof *entries);
}

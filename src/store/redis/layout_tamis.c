/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Our own layout (docs/REDIS-LAYOUT.md): a filter of kind blocked, cut into partitions.
 *
 *     tamis:{NAME}                  hash:   plan -> "layout=1 kind=blocked ... generation=G", state -> "ready G"
 *     tamis:{NAME:G:0}:bits         string: | block 0 | block 1 | ... | footer |       64 bytes each
 *     tamis:{NAME:G:1}:bits                 | block of the next ...   | footer |
 *
 * What the plan says is one field of the hash, so it is made (HSETNX) and replaced (HSET) as one. Every making of the
 * filter has another generation G, so bits of before are never taken for bits of now.
 *
 * A partition that the server evicted, or that somebody deleted or cut short, has no footer: a batch that touched it
 * fails rather than call keys absent that were in it. A batch after which the hash has another plan fails too. What is
 * dropped or expires loses its hash first, so a footer that is missing is damage only where the plan is there still when
 * it is looked for once more.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "base/versioned.h"
#include "filter/kernels/filter_kernels.h"
#include "store/redis/redis_decimal.h"
#include "store/redis/redis_filter.h"
#include "store/trouble.h"

enum {
    BLOCK_BITS = 512,
    PARTITION_MAX = 512 << 20,    /* bytes: no string of a Redis is longer */
    PARTITION_DEFAULT = 64 << 20, /* footer included */
    PLAN_TEXT = TAMIS__REDIS_PLAN,
    FOOTER_TEXT = 48,
    STATE_TEXT = 32,
};

/* Most bits beside those of the fewest-bits plan: see choose_probes. */
#define MORE_BITS 1.6

/* ---- names ---- */

static size_t config_name(const tamis__redis_filter *at, char *to) {
    size_t used = 0;
    memcpy(to, "tamis:{", 7);
    used += 7;
    memcpy(to + used, at->uri->name, at->uri->name_size);
    used += at->uri->name_size;
    to[used++] = '}';
    return used;
}

static size_t key_name(const tamis__redis_filter *at, uint32_t key, char *to) {
    size_t used = config_name(at, to) - 1;
    return used + (size_t)snprintf(to + used, TAMIS__REDIS_KEY - used, ":%016" PRIx64 ":%" PRIu32 "}:bits",
                                   at->generation, key);
}

static uint64_t blocks_of(const tamis_filter *filter) {
    return filter->plan.bits / BLOCK_BITS;
}

/* Of this partition: the last may have fewer. */
static uint64_t blocks_in(const tamis_filter *filter, uint32_t key) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    uint64_t before = key * at->partition, left = blocks_of(filter) - before;
    return left < at->partition ? left : at->partition;
}

static void write_footer(const tamis__redis_filter *at, uint32_t key, char to[TAMIS__REDIS_BLOCK]) {
    memset(to, 0, TAMIS__REDIS_BLOCK);
    snprintf(to, FOOTER_TEXT, "tamis-footer 1 %016" PRIx64 " %" PRIu32, at->generation, key);
}

/* guava64 is murmur3 here, for clients whose language has no XXH3 of 128 bits (Java); positions are the same. */
static bool has_scheme(tamis_scheme scheme) {
    return scheme == TAMIS_SCHEME_XXH3 || scheme == TAMIS_SCHEME_SIP || scheme == TAMIS_SCHEME_GUAVA64;
}

/* What stands in field state once all partitions of this generation are there. One of another generation, which a maker
 * that was late may leave, says nothing. */
static void write_state(const tamis__redis_filter *at, char to[STATE_TEXT]) {
    snprintf(to, STATE_TEXT, "ready %016" PRIx64, at->generation);
}

/* ---- the plan as text ---- */

static void write_plan(const tamis_filter *filter, char to[PLAN_TEXT]) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    const tamis_plan *plan = &filter->plan;
    char secret[32] = "", fpr[32];
    tamis__redis_write_decimal(fpr, sizeof fpr, plan->fpr);
    if (plan->scheme == TAMIS_SCHEME_SIP)
        snprintf(secret, sizeof secret, " secret=%016" PRIx64, filter->hasher->secret_print);
    snprintf(to, PLAN_TEXT,
             "layout=1 kind=blocked scheme=%s seed=%" PRIu64 "%s bits=%" PRIu64 " probes=%" PRIu32
             " partition=%" PRIu64 " expect=%" PRIu64 " fpr=%s generation=%016" PRIx64,
             tamis_scheme_name(plan->scheme), at->seed, secret, plan->bits, plan->probes, at->partition,
             plan->capacity, fpr, at->generation);
}

/* What a plan's text says; of what somebody else may have written. */
typedef struct told {
    char scheme[16];
    uint64_t layout, seed, secret, bits, probes, partition, expect, generation;
    double fpr;
    bool blocked, has_secret;
} told;

static bool read_number(const char *text, int base, uint64_t *out) {
    char *end;
    if (!((*text >= '0' && *text <= '9') || (base == 16 && *text >= 'a' && *text <= 'f')))
        return false;
    *out = strtoull(text, &end, base);
    return *end == '\0';
}

static bool read_word(told *plan, char *name, char *value) {
    const struct {
        const char *name;
        uint64_t *to;
        int base;
    } numbers[] = {{"layout", &plan->layout, 10}, {"seed", &plan->seed, 10},
                   {"secret", &plan->secret, 16}, {"bits", &plan->bits, 10},
                   {"probes", &plan->probes, 10}, {"partition", &plan->partition, 10},
                   {"expect", &plan->expect, 10}, {"generation", &plan->generation, 16}};
    char *end;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(name, numbers[i].name) == 0)
            return read_number(value, numbers[i].base, numbers[i].to);
    if (strcmp(name, "fpr") == 0) {
        plan->fpr = tamis__redis_read_decimal(value, &end);
        return *end == '\0' && end != value;
    }
    if (strcmp(name, "kind") == 0)
        plan->blocked = strcmp(value, "blocked") == 0;
    if (strcmp(name, "scheme") == 0)
        snprintf(plan->scheme, sizeof plan->scheme, "%s", value);
    return true; /* words of a later version are passed over */
}

static bool is_sound(const told *plan) {
    return plan->layout == 1 && plan->blocked && plan->bits >= BLOCK_BITS && plan->bits % BLOCK_BITS == 0 &&
           plan->bits <= TAMIS_BITS_MAX && plan->probes >= 1 && plan->probes <= TAMIS_PROBES_MAX &&
           plan->partition >= 1 && plan->partition < PARTITION_MAX / TAMIS__REDIS_BLOCK &&
           (plan->bits / BLOCK_BITS - 1) / plan->partition < UINT32_MAX && plan->expect >= 1 &&
           plan->expect <= TAMIS_EXPECT_MAX && plan->fpr > 0 && plan->fpr < 1 &&
           plan->has_secret == (strcmp(plan->scheme, tamis_scheme_name(TAMIS_SCHEME_SIP)) == 0);
}

static tamis_status read_plan(const tamis__redis_filter *at, const char *text, told *plan, tamis_error *err) {
    char copy[PLAN_TEXT], *rest = NULL;
    bool sound = true;
    snprintf(copy, sizeof copy, "%s", text);
    *plan = (told){0};
    for (char *word = strtok_r(copy, " ", &rest); word && sound; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        if (!value)
            continue;
        *value++ = '\0';
        plan->has_secret = plan->has_secret || strcmp(word, "secret") == 0;
        sound = read_word(plan, word, value);
    }
    if (sound && is_sound(plan))
        return TAMIS_OK;
    return tamis__fail(
        err, TAMIS_E_DAMAGED, 0,
        "redis %s: %s: what stands in its field plan is no plan of layout 1 (%.100s); restore it, or "
        "drop the filter and build it anew",
        at->redis->to.shown, at->uri->shown, tamis__show(text).text);
}

/* ---- what is asked for ---- */

typedef struct asked_for {
    tamis_want want;
    bool seeded;
    uint64_t partition; /* bytes, 0: not given */
} asked_for;

static tamis_status read_wanted(tamis__redis_filter *at, asked_for *wanted, tamis_error *err) {
    tamis__redis_uri *uri = at->uri;
    uint64_t probes = 0;
    const char *scheme = tamis__redis_uri_take(uri, "scheme");
    wanted->want = (tamis_want)TAMIS_WANT_INIT;
    wanted->want.kind = TAMIS_KIND_BLOCKED;
    wanted->partition = 0;
    tamis_status status = scheme ? tamis_scheme_parse(scheme, &wanted->want.scheme, err) : TAMIS_OK;
    if (status == TAMIS_OK && wanted->want.scheme != TAMIS_SCHEME_AUTO && !has_scheme(wanted->want.scheme))
        status = tamis__fail(err, TAMIS_E_INVALID, 0,
                             "%s: layout tamis has schemes xxh3, sip and guava64, not %s; choose one of them",
                             uri->shown, scheme);
    if (status == TAMIS_OK)
        status = tamis__redis_uri_count(uri, "expect", 1, TAMIS_EXPECT_MAX, &wanted->want.expect, err);
    if (status == TAMIS_OK)
        status = tamis__redis_uri_rate(uri, "fpr", &wanted->want.fpr, err);
    if (status == TAMIS_OK)
        status = tamis__redis_uri_count(uri, "probes", 1, TAMIS_PROBES_MAX, &probes, err);
    if (status == TAMIS_OK)
        status = tamis__redis_uri_count(uri, "partition", 2 * TAMIS__REDIS_BLOCK, PARTITION_MAX,
                                        &wanted->partition, err);
    wanted->want.probes = (uint32_t)probes;
    at->seed = 0;
    wanted->seeded = tamis__redis_uri_take(uri, "seed") != NULL;
    if (status == TAMIS_OK)
        status = tamis__redis_uri_count(uri, "seed", 0, UINT64_MAX, &at->seed, err);
    if (status == TAMIS_OK &&
        (memchr(uri->name, '{', uri->name_size) || memchr(uri->name, '}', uri->name_size)))
        status = tamis__fail(err, TAMIS_E_INVALID, 0,
                             "%s: the name has a brace, which marks hash tags; choose a name "
                             "without",
                             uri->shown);
    return status;
}

/*
 * A server spends its time on reading commands: an add costs it about 0.28 us and 0.32 us for every probe (measured,
 * bench/). So fewer probes are better than fewer bits, up to a bound: the fewest probes that keep the rate at MORE_BITS
 * times the bits of the plan with the fewest.
 */
static tamis_status choose_probes(tamis_plan *plan, const tamis_want *want, tamis_error *err) {
    tamis_plan least = TAMIS_PLAN_INIT;
    tamis_want some = *want;
    tamis_status status = tamis_plan_make(&least, want, err);
    if (status != TAMIS_OK)
        return status;
    *plan = least;
    if (want->probes)
        return TAMIS_OK;
    for (some.probes = 1; some.probes < least.probes; some.probes++) {
        tamis_plan fewer = TAMIS_PLAN_INIT;
        if (tamis_plan_make(&fewer, &some, NULL) != TAMIS_OK ||
            (double)fewer.bits > MORE_BITS * (double)least.bits)
            continue;
        *plan = fewer;
        break;
    }
    return TAMIS_OK;
}

/* ---- opening ---- */

static void set_partitions(tamis_filter *filter, uint64_t blocks_each) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    at->partition = blocks_each;
    at->keys = (uint32_t)((blocks_of(filter) - 1) / blocks_each + 1);
}

static tamis_status differs(const tamis__redis_filter *at, const char *what, const char *there,
                            const char *asked, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "redis %s: %s: has %s=%s, and %s is asked for; leave it out, or name another filter",
                       at->redis->to.shown, at->uri->shown, what, there, asked);
}

static tamis_status check_number(const tamis__redis_filter *at, const char *what, uint64_t there,
                                 uint64_t asked, tamis_error *err) {
    char one[24], other[24];
    if (asked == 0 || there == asked)
        return TAMIS_OK;
    snprintf(one, sizeof one, "%" PRIu64, there);
    snprintf(other, sizeof other, "%" PRIu64, asked);
    return differs(at, what, one, other, err);
}

/* Takes what is there, which has to be what is asked for. */
static tamis_status adopt(tamis_filter *filter, const told *there, const asked_for *wanted,
                          const tamis_redis_filter_options *options, tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    tamis_plan *plan = &filter->plan;
    char one[32], other[32];
    tamis_scheme scheme;
    tamis_status status = tamis_scheme_parse(there->scheme, &scheme, err);
    if (status == TAMIS_OK && !has_scheme(scheme))
        status = tamis__fail(
            err, TAMIS_E_UNSUPPORTED, 0,
            "redis %s: %s: its scheme %s is not one of layout tamis; use a later version of tamis",
            at->redis->to.shown, at->uri->shown, there->scheme);
    if (status == TAMIS_OK && wanted->want.scheme != TAMIS_SCHEME_AUTO && wanted->want.scheme != scheme)
        status = differs(at, "scheme", there->scheme, tamis_scheme_name(wanted->want.scheme), err);
    if (status == TAMIS_OK && wanted->seeded && there->seed != at->seed) {
        snprintf(one, sizeof one, "%" PRIu64, there->seed);
        snprintf(other, sizeof other, "%" PRIu64, at->seed);
        status = differs(at, "seed", one, other, err);
    }
    if (status == TAMIS_OK)
        status = check_number(at, "expect", there->expect, wanted->want.expect, err);
    if (status == TAMIS_OK)
        status = check_number(at, "probes", there->probes, wanted->want.probes, err);
    if (status == TAMIS_OK && wanted->partition)
        status = check_number(at, "partition", (there->partition + 1) * TAMIS__REDIS_BLOCK,
                              wanted->partition / TAMIS__REDIS_BLOCK * TAMIS__REDIS_BLOCK, err);
    if (status == TAMIS_OK && wanted->want.fpr > 0 && fabs(wanted->want.fpr / there->fpr - 1) > 1e-9) {
        snprintf(one, sizeof one, "%g", there->fpr);
        snprintf(other, sizeof other, "%g", wanted->want.fpr);
        status = differs(at, "fpr", one, other, err);
    }
    if (status != TAMIS_OK)
        return status;
    *plan = (tamis_plan)TAMIS_PLAN_INIT;
    plan->kind = TAMIS_KIND_BLOCKED;
    plan->scheme = scheme;
    plan->capacity = there->expect;
    plan->fpr = there->fpr;
    plan->bits = there->bits;
    plan->probes = (uint32_t)there->probes;
    plan->fpr_predicted =
        tamis_blocked_fpr((double)there->expect, (double)there->bits, (double)there->probes);
    plan->memory = there->bits / 8;
    plan->bits_per_key = (double)there->bits / (double)there->expect;
    plan->lines_touched = 1;
    at->seed = there->seed;
    at->generation = there->generation;
    set_partitions(filter, there->partition);
    tamis_hasher_free(filter->hasher);
    filter->hasher = NULL;
    status = tamis__redis_set_up(filter, options, err);
    if (status == TAMIS_OK && there->has_secret && filter->hasher->secret_print != there->secret)
        return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                           "redis %s: %s: was made with another secret; give that one", at->redis->to.shown,
                           at->uri->shown);
    return status;
}

static tamis_status get_field(const tamis__redis_filter *at, const char *field, char *to, size_t room,
                              tamis_error *err) {
    char name[TAMIS__REDIS_KEY];
    size_t size = config_name(at, name), got;
    const tamis_key words[] = {{"HGET", 4}, {name, size}, {field, strlen(field)}};
    tamis_status status =
        tamis__redis_get((tamis__redis_filter *)(uintptr_t)at, words, 3, to, room - 1, &got, err);
    to[status == TAMIS_OK ? got : 0] = '\0';
    return status;
}

static uint32_t slot_of_partition(void *context, size_t i) {
    return tamis__redis_key_slot(tamis__redis_of(context), i / 2);
}

/* SETRANGE of the footer makes the whole partition, and leaves one that is there as it is. */
static bool put_partition(void *context, size_t i, tamis__link *link) {
    const tamis_filter *filter = context;
    const tamis__redis_filter *at = tamis__redis_of(filter);
    char name[TAMIS__REDIS_KEY], footer[TAMIS__REDIS_BLOCK];
    uint32_t key = (uint32_t)(i / 2);
    size_t size = key_name(at, key, name);
    if (i % 2 == 1 && at->ttl_ms == 0)
        return false;
    tamis__link_command(link, i % 2 == 1 ? 3 : 4);
    tamis__link_text(link, i % 2 == 1 ? "PEXPIRE" : "SETRANGE");
    tamis__link_word(link, name, size);
    if (i % 2 == 1) {
        tamis__link_number(link, (int64_t)at->ttl_ms);
        return true;
    }
    write_footer(at, key, footer);
    tamis__link_number(link, (int64_t)(blocks_in(filter, key) * TAMIS__REDIS_BLOCK));
    tamis__link_word(link, footer, sizeof footer);
    return true;
}

static tamis_status take_number(void *context, size_t i, const tamis__reply *reply, bool again,
                                tamis_error *err) {
    const tamis_filter *filter = context;
    (void)i;
    (void)again;
    return reply->type == TAMIS__REPLY_INTEGER ? TAMIS_OK
                                               : tamis__redis_strange(tamis__redis_of(filter), err);
}

static tamis_status put_partitions(tamis_filter *filter, tamis_error *err) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    const tamis__exchange exchange = {.count = 2 * (size_t)at->keys,
                                      .context = filter,
                                      .ask = put_partition,
                                      .take = take_number,
                                      .what = at->uri->shown,
                                      .slot = slot_of_partition};
    return tamis__redis_run(at->redis, &exchange, NULL, err);
}

static tamis_status make_partitions(tamis_filter *filter, tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    char name[TAMIS__REDIS_KEY], ttl[24], state[STATE_TEXT];
    size_t size = config_name(at, name);
    write_state(at, state);
    const int digits = snprintf(ttl, sizeof ttl, "%" PRIu64, at->ttl_ms);
    const tamis_key expire[] = {{"PEXPIRE", 7}, {name, size}, {ttl, (size_t)digits}};
    const tamis_key ready[] = {{"HSET", 4}, {name, size}, {"state", 5}, {state, strlen(state)}};
    tamis_status status = TAMIS_OK;
    if (at->ttl_ms > 0) /* first: what expires is to be found absent, not damaged */
        status = tamis__redis_command(at, expire, 3, NULL, err);
    if (status == TAMIS_OK)
        status = put_partitions(filter, err);
    if (status == TAMIS_OK)
        status = tamis__redis_command(at, ready, 4, NULL, err);
    return status;
}

static tamis_status new_generation(tamis__redis_filter *at, tamis_error *err) {
    if (getrandom(&at->generation, sizeof at->generation, 0) == sizeof at->generation)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_SYSTEM, 0, "%s: the system gives no random bytes; check getrandom(2)",
                       at->uri->shown);
}

/* Puts our plan, unless somebody was faster: then theirs is read and stands. */
static tamis_status create(tamis_filter *filter, const asked_for *wanted,
                           const tamis_redis_filter_options *options, tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    tamis_want want = wanted->want;
    char name[TAMIS__REDIS_KEY], text[PLAN_TEXT];
    if (want.scheme == TAMIS_SCHEME_AUTO && options->secret_size > 0)
        want.scheme = TAMIS_SCHEME_SIP;
    tamis_status status = choose_probes(&filter->plan, &want, err);
    if (status != TAMIS_OK)
        return status;
    filter->plan.scheme = want.scheme == TAMIS_SCHEME_AUTO ? TAMIS_SCHEME_XXH3 : want.scheme;
    status = new_generation(at, err);
    if (status != TAMIS_OK)
        return status;
    set_partitions(filter,
                   (wanted->partition ? wanted->partition : PARTITION_DEFAULT) / TAMIS__REDIS_BLOCK - 1);
    status = tamis__redis_set_up(filter, options, err);
    if (status != TAMIS_OK)
        return status;
    write_plan(filter, text);
    const tamis_key words[] = {
        {"HSETNX", 6}, {name, config_name(at, name)}, {"plan", 4}, {text, strlen(text)}};
    return tamis__redis_command(at, words, 4, NULL, err);
}

static tamis_status open(tamis_filter *filter, const tamis_redis_filter_options *options, tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    char text[PLAN_TEXT] = "", state[STATE_TEXT] = "", ready[STATE_TEXT];
    asked_for wanted;
    told there;
    tamis_status status = read_wanted(at, &wanted, err);
    if (status == TAMIS_OK)
        status = tamis__redis_uri_check_used(at->uri, err);
    if (status == TAMIS_OK)
        status = get_field(at, "plan", text, sizeof text, err);
    if (status == TAMIS_OK && !*text && !(options->create && wanted.want.expect))
        return tamis__fail(err, TAMIS_E_ABSENT, 0, "redis %s: %s: there is no such filter; %s",
                           at->redis->to.shown, at->uri->shown,
                           options->create ? "give expect=N and fpr=RATE, and it is made"
                                           : "check the name, or build it");
    if (status == TAMIS_OK && !*text) {
        status = create(filter, &wanted, options, err);
        if (status == TAMIS_OK)
            status = get_field(at, "plan", text, sizeof text, err);
    }
    memcpy(at->plan_text, text, sizeof text);
    if (status == TAMIS_OK)
        status = read_plan(at, text, &there, err);
    if (status == TAMIS_OK)
        status = adopt(filter, &there, &wanted, options, err);
    if (status == TAMIS_OK)
        status = get_field(at, "state", state, sizeof state, err);
    /* Whoever comes first after its maker finishes what that may not have: it is the same for everyone. */
    write_state(at, ready);
    if (status == TAMIS_OK && strcmp(state, ready) != 0)
        status = make_partitions(filter, err);
    return status;
}

/* ---- elements ---- */

static void place(const tamis_filter *filter, const tamis__asked *asked, size_t i, tamis__spot *spot) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    tamis_hash hash;
    if (asked->hashes)
        hash = asked->hashes[i];
    else
        tamis_hash_many(filter->hasher, &asked->keys[i], 1, &hash, NULL); /* both schemes have digests */
    uint64_t block = tamis__mulhi(hash.word[1], blocks_of(filter));
    spot->server = 0;
    spot->key = (uint32_t)(block / at->partition);
    spot->block = block % at->partition * TAMIS__REDIS_BLOCK;
    tamis__block_positions(&hash, filter->plan.probes, spot->offsets);
    for (uint32_t j = 0; j < filter->plan.probes; j++)
        spot->offsets[j] += spot->block * 8;
}

/* ---- checks: the footer of each partition, the plan, and the expiry of the hash ---- */

static size_t check_begin(const tamis_filter *filter) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    at->gone = 0;
    return 2 + (size_t)at->keys;
}

static bool check_ask(const tamis_filter *filter, const tamis__touched *batch, size_t i, tamis__link *link) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    char name[TAMIS__REDIS_KEY];
    if (i < at->keys) {
        if (!batch->keys[i])
            return false;
        uint64_t end = blocks_in(filter, (uint32_t)i) * TAMIS__REDIS_BLOCK;
        size_t size = key_name(at, (uint32_t)i, name);
        tamis__link_command(link, 4);
        tamis__link_text(link, "GETRANGE");
        tamis__link_word(link, name, size);
        tamis__link_number(link, (int64_t)end);
        tamis__link_number(link, (int64_t)end + TAMIS__REDIS_BLOCK - 1);
        return true;
    }
    size_t size = config_name(at, name);
    if (i == at->keys) {
        tamis__link_command(link, 3);
        tamis__link_text(link, "HGET");
        tamis__link_word(link, name, size);
        tamis__link_text(link, "plan");
        return true;
    }
    if (!batch->adds || at->ttl_ms == 0 || !at->renewed)
        return false;
    tamis__link_command(link, 3);
    tamis__link_text(link, "PEXPIRE");
    tamis__link_word(link, name, size);
    tamis__link_number(link, (int64_t)at->ttl_ms);
    return true;
}

static uint32_t check_slot(const tamis_filter *filter, const tamis__touched *batch, size_t i) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    char name[TAMIS__REDIS_KEY];
    if (i < at->keys)
        return batch->keys[i] ? tamis__redis_key_slot(at, i) : TAMIS__NO_SLOT;
    return tamis__redis_slot(at->redis, name, config_name(at, name));
}

/* plan: NULL: there is none. */
static tamis_status check_plan(const tamis__redis_filter *at, const char *plan, tamis_error *err) {
    if (!plan)
        return tamis__fail(err, TAMIS_E_ABSENT, 0,
                           "redis %s: %s: was dropped, or expired, while it was open; open it anew",
                           at->redis->to.shown, at->uri->shown);
    if (strcmp(plan, at->plan_text) != 0)
        return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                           "redis %s: %s: was replaced by another while it was open; open it anew",
                           at->redis->to.shown, at->uri->shown);
    return TAMIS_OK;
}

static tamis_status check_take(const tamis_filter *filter, size_t i, const tamis__reply *reply,
                               tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    if (i > at->keys)
        return reply->type == TAMIS__REPLY_INTEGER ? TAMIS_OK : tamis__redis_strange(at, err);
    if (i == at->keys)
        return reply->type == TAMIS__REPLY_STRING || reply->type == TAMIS__REPLY_NIL
                   ? check_plan(at, reply->type == TAMIS__REPLY_STRING ? reply->text : NULL, err)
                   : tamis__redis_strange(at, err);
    char footer[TAMIS__REDIS_BLOCK];
    if (reply->type != TAMIS__REPLY_STRING)
        return tamis__redis_strange(at, err);
    write_footer(at, (uint32_t)i, footer);
    if (reply->size != sizeof footer || memcmp(reply->text, footer, sizeof footer) != 0)
        at->gone = i + 1;
    return TAMIS_OK;
}

/* A footer was missing: the plan of before it was looked for says nothing. */
static tamis_status check_end(const tamis_filter *filter, tamis_error *err) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    char text[PLAN_TEXT];
    if (at->gone == 0)
        return TAMIS_OK;
    tamis_status status = get_field(at, "plan", text, sizeof text, err);
    if (status == TAMIS_OK)
        status = check_plan(at, *text ? text : NULL, err);
    if (status != TAMIS_OK)
        return status;
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "redis %s: %s: partition %" PRIu64
                       " is gone or cut short (evicted, deleted or overwritten), with keys "
                       "that were in it; drop the filter and build it anew, and keep it from eviction",
                       at->redis->to.shown, at->uri->shown, at->gone - 1);
}

/* ---- the whole ---- */

typedef struct counting {
    const tamis_filter *filter;
    uint64_t ones;
} counting;

static uint32_t slot_of_count(void *context, size_t i) {
    const counting *all = context;
    return tamis__redis_key_slot(tamis__redis_of(all->filter), i);
}

static bool put_count(void *context, size_t i, tamis__link *link) {
    const counting *all = context;
    char name[TAMIS__REDIS_KEY];
    size_t size = key_name(tamis__redis_of(all->filter), (uint32_t)i, name);
    tamis__link_command(link, 4);
    tamis__link_text(link, "BITCOUNT");
    tamis__link_word(link, name, size);
    tamis__link_number(link, 0);
    tamis__link_number(link, (int64_t)(blocks_in(all->filter, (uint32_t)i) * TAMIS__REDIS_BLOCK) - 1);
    return true;
}

static tamis_status take_count(void *context, size_t i, const tamis__reply *reply, bool again,
                               tamis_error *err) {
    counting *all = context;
    (void)i;
    (void)again;
    if (reply->type != TAMIS__REPLY_INTEGER || reply->integer < 0)
        return tamis__redis_strange(tamis__redis_of(all->filter), err);
    all->ones += (uint64_t)reply->integer;
    return TAMIS_OK;
}

/*
 * Blocks get Poisson numbers of keys, L on the mean, and a key leaves a bit of its block unset with chance
 * q = (1 - 1/512)^k: of all bits exp(-L (1 - q)) stay unset.
 */
static tamis_status estimate(const tamis_filter *filter, tamis_filter_info *info, tamis_error *err) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    const tamis_plan *plan = &filter->plan;
    counting all = {filter, 0};
    const tamis__exchange exchange = {.count = at->keys,
                                      .context = &all,
                                      .ask = put_count,
                                      .take = take_count,
                                      .what = at->uri->shown,
                                      .slot = slot_of_count};
    tamis_status status = tamis__redis_run(at->redis, &exchange, NULL, err);
    if (status != TAMIS_OK)
        return status;
    const double m = (double)plan->bits, q = pow(1 - 1.0 / BLOCK_BITS, plan->probes);
    info->ones = all.ones;
    info->cardinality = m / BLOCK_BITS * -log1p(-fmin((double)all.ones, m - 1) / m) / (1 - q);
    info->fpr_live = tamis_blocked_fpr(info->cardinality, m, plan->probes);
    info->memory = (blocks_of(filter) + at->keys) * TAMIS__REDIS_BLOCK;
    return TAMIS_OK;
}

/* ---- clear ---- */

/* Partitions of before are left so long, for batches that are on their way: they find the new plan at their end, and
 * fail. An add to a partition that is not there would make one that nobody removes. */
enum { OLD_STAYS_MS = 15000 };

/* Replaces the plan, if it is still the one we know. 1 too where it is ours already: who asked twice may not know. */
static const char replace_script[] =
    "local p = redis.call('HGET', KEYS[1], 'plan') "
    "if p == ARGV[1] then "
    "redis.call('HSET', KEYS[1], 'plan', ARGV[2], 'state', ARGV[3]) return 1 end "
    "if p == ARGV[2] then return 1 end return 0";

static bool put_farewell(void *context, size_t i, tamis__link *link) {
    const tamis_filter *filter = context;
    char name[TAMIS__REDIS_KEY];
    size_t size = key_name(tamis__redis_of(filter), (uint32_t)i, name);
    tamis__link_command(link, 3);
    tamis__link_text(link, "PEXPIRE");
    tamis__link_word(link, name, size);
    tamis__link_number(link, OLD_STAYS_MS);
    return true;
}

static uint32_t slot_of_farewell(void *context, size_t i) {
    return tamis__redis_key_slot(tamis__redis_of(context), i);
}

/* The partitions of a generation are to go; where that fails they stay, and harm nobody. */
static void expire_generation(tamis_filter *filter, uint64_t generation) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    const tamis__exchange exchange = {.count = at->keys,
                                      .context = filter,
                                      .ask = put_farewell,
                                      .take = take_number,
                                      .what = at->uri->shown,
                                      .slot = slot_of_farewell};
    uint64_t ours = at->generation;
    at->generation = generation;
    (void)tamis__redis_run(at->redis, &exchange, NULL, NULL);
    at->generation = ours;
}

/* New partitions, then the plan that names them; never a moment in which the filter is half of each. */
static tamis_status replace(tamis_filter *filter, const char *text, bool *replaced, tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    char name[TAMIS__REDIS_KEY], state[STATE_TEXT];
    write_state(at, state);
    const tamis_key words[] = {{"EVAL", 4},
                               {replace_script, sizeof replace_script - 1},
                               {"1", 1},
                               {name, config_name(at, name)},
                               {at->plan_text, strlen(at->plan_text)},
                               {text, strlen(text)},
                               {state, strlen(state)}};
    int64_t integer = 0;
    tamis_status status = put_partitions(filter, err);
    if (status == TAMIS_OK)
        status = tamis__redis_command(at, words, 7, &integer, err);
    *replaced = integer == 1;
    return status;
}

static tamis_status clear(tamis_filter *filter, tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    const uint64_t before = at->generation;
    char text[PLAN_TEXT];
    bool replaced = false;
    tamis_status status = new_generation(at, err);
    if (status != TAMIS_OK)
        return status;
    write_plan(filter, text);
    status = replace(filter, text, &replaced, err);
    if (status == TAMIS_OK && replaced) {
        memcpy(at->plan_text, text, sizeof text);
        expire_generation(filter, before);
        return TAMIS_OK;
    }
    /* Where the connection was lost for good, the plan may be the new one: then its partitions stay, and the next batch
     * says that the filter was replaced. */
    if (status == TAMIS_OK || status == TAMIS_E_REFUSED)
        expire_generation(filter, at->generation);
    at->generation = before;
    if (status != TAMIS_OK)
        return status;
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "redis %s: %s: was dropped or replaced by another while it was open; open it anew",
                       at->redis->to.shown, at->uri->shown);
}

const tamis__layout tamis__layout_tamis = {.name = "tamis",
                                           .has_blocks = true,
                                           .open = open,
                                           .place = place,
                                           .key_name = key_name,
                                           .check_begin = check_begin,
                                           .check_ask = check_ask,
                                           .check_slot = check_slot,
                                           .check_take = check_take,
                                           .check_end = check_end,
                                           .estimate = estimate,
                                           .clear = clear};

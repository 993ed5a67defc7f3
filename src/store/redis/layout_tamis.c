/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Our own layout (docs/REDIS-LAYOUT.md): a filter of kind blocked, cut into partitions.
 *
 *     tamis:{NAME}                  hash:   plan -> "layout=1 kind=blocked ... generation=G", state -> "ready"
 *     tamis:{NAME:G:0}:bits         string: | block 0 | block 1 | ... | footer |       64 bytes each
 *     tamis:{NAME:G:1}:bits                 | block of the next ...   | footer |
 *
 * What the plan says is one field of the hash, so it is made (HSETNX) and replaced (HSET) as one. Every making of the
 * filter has another generation G, so bits of before are never taken for bits of now.
 *
 * A partition that the server evicted, or that somebody deleted or cut short, has no footer: a batch that touched it
 * fails rather than call keys absent that were in it.
 *
 * tamis:{NAME} may hold alias -> "TARGET" instead, or beside a plan, which then does not count: NAME stands for the
 * filter TARGET. Every batch ends with a look at the plan, and at the alias it came by. Where they are others than when it
 * began, the handle becomes the filter that has the name now, and asks the whole batch again: so a push (redis_push.c) and
 * a new alias take effect for everyone by one HSET, while what was replaced stays for TAMIS__GRACE_MS.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/system.h"
#include "filter/kernels/filter_kernels.h"
#include "store/redis/layout_tamis.h"

enum { BLOCK_BITS = 8 * TAMIS__REDIS_BLOCK, FOLLOW_MOST = 32 /* replacements during one batch */ };

/* Most bits beside those of the fewest-bits plan: see tamis_redis_plan_make. */
#define MORE_BITS 1.6

/* ---- what is asked for ---- */

typedef struct asked_for {
    tamis_want want;
    bool seeded;
    uint64_t seed;
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
    if (status == TAMIS_OK && wanted->want.scheme != TAMIS_SCHEME_AUTO &&
        !tamis__has_scheme(wanted->want.scheme))
        status = tamis__fail(err, TAMIS_E_INVALID, 0,
                             "%s: layout tamis has schemes xxh3, sip and guava64, not %s; choose one of them",
                             uri->shown, scheme);
    if (status == TAMIS_OK)
        status = tamis__redis_uri_count(uri, "expect", 1, TAMIS_EXPECT_MAX, &wanted->want.expect, err);
    if (status == TAMIS_OK)
        status = tamis__redis_uri_rate(uri, "fpr", &wanted->want.fpr, err);
    if (status == TAMIS_OK)
        status = tamis__redis_uri_count(uri, "probes", 1, TAMIS_PROBES_MAX, &probes, err);
    if (status == TAMIS_OK && !at->is_family)
        status = tamis__redis_uri_count(uri, "partition", 2 * TAMIS__REDIS_BLOCK, TAMIS__PARTITION_MAX,
                                        &wanted->partition, err);
    wanted->want.probes = (uint32_t)probes;
    wanted->seed = 0;
    wanted->seeded = tamis__redis_uri_take(uri, "seed") != NULL;
    if (status == TAMIS_OK)
        status = tamis__redis_uri_count(uri, "seed", 0, UINT64_MAX, &wanted->seed, err);
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
tamis_status tamis_redis_plan_make(tamis_plan *plan, const tamis_want *want, tamis_error *err) {
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

static tamis_status differs(const tamis__redis_filter *at, const char *what, const char *there,
                            const char *asked, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "redis %s: %s: has %s=%s, and %s is asked for; leave it out, or name another filter",
                       at->redis->to.shown, at->uri->named, what, there, asked);
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

/* Whether what is there is what is asked for. */
static tamis_status check_wanted(const tamis__redis_filter *at, const tamis__told *there,
                                 const asked_for *wanted, tamis_error *err) {
    char one[32], other[32];
    tamis_status status = TAMIS_OK;
    if (wanted->want.scheme != TAMIS_SCHEME_AUTO &&
        strcmp(tamis_scheme_name(wanted->want.scheme), there->scheme) != 0)
        status = differs(at, "scheme", there->scheme, tamis_scheme_name(wanted->want.scheme), err);
    if (status == TAMIS_OK && wanted->seeded && there->seed != wanted->seed) {
        snprintf(one, sizeof one, "%" PRIu64, there->seed);
        snprintf(other, sizeof other, "%" PRIu64, wanted->seed);
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
    return status;
}

/* A handle that is open keeps its hasher, which its owner may have made hashes with. */
static tamis_status take_hasher(tamis_filter *filter, const tamis__told *there,
                                const tamis_redis_filter_options *options, tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    const tamis_hasher *have = filter->hasher;
    tamis_scheme scheme;
    tamis_status status = tamis_scheme_parse(there->scheme, &scheme, err);
    if (status == TAMIS_OK && !tamis__has_scheme(scheme))
        status = tamis__fail(
            err, TAMIS_E_UNSUPPORTED, 0,
            "redis %s: %s: its scheme %s is not one of layout tamis; use a later version of tamis",
            at->redis->to.shown, at->uri->named, there->scheme);
    if (status != TAMIS_OK)
        return status;
    if (have && (have->scheme != scheme || at->seed != there->seed ||
                 (there->has_secret && have->secret_print != there->secret)))
        return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                           "redis %s: %s: was replaced by one of another scheme, seed or secret while it was "
                           "open; open it anew",
                           at->redis->to.shown, at->uri->named);
    if (have)
        return TAMIS_OK;
    filter->plan.scheme = scheme;
    at->seed = there->seed;
    at->secret_print = there->has_secret ? there->secret : 0;
    status = tamis__redis_set_up(filter, options, err);
    if (status == TAMIS_OK && there->has_secret && filter->hasher->secret_print != there->secret)
        return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                           "redis %s: %s: was made with another secret; give that one", at->redis->to.shown,
                           at->uri->shown);
    return status;
}

static void set_plan(tamis_filter *filter, const tamis__told *there) {
    tamis_plan *plan = &filter->plan;
    *plan = (tamis_plan)TAMIS_PLAN_INIT;
    plan->kind = TAMIS_KIND_BLOCKED;
    plan->scheme = filter->hasher->scheme;
    plan->capacity = there->expect;
    plan->fpr = there->fpr;
    plan->bits = there->bits;
    plan->probes = (uint32_t)there->probes;
    plan->fpr_predicted =
        tamis_blocked_fpr((double)there->expect, (double)there->bits, (double)there->probes);
    plan->memory = there->bits / 8;
    plan->bits_per_key = (double)there->bits / (double)there->expect;
    plan->lines_touched = 1;
    tamis__partitions_set(filter, there->partition);
}

/* What whoever makes the filter does last, and whoever comes first after one that did not: it is the same for both. */
static tamis_status finish(tamis_filter *filter, tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    char name[TAMIS__REDIS_KEY], ttl[24], state[TAMIS__REDIS_STATE];
    const size_t size = tamis__config_name(at, name);
    const int digits = snprintf(ttl, sizeof ttl, "%" PRIu64, at->ttl_ms);
    tamis__state_write(at, state);
    const tamis_key expire[] = {{"PEXPIRE", 7}, {name, size}, {ttl, (size_t)digits}};
    const tamis_key ready[] = {{"HSET", 4}, {name, size}, {"state", 5}, {state, strlen(state)}};
    tamis_status status = TAMIS_OK;
    if (at->ttl_ms > 0) /* first: what expires is to be found absent, not damaged */
        status = tamis__redis_command(at, expire, 3, NULL, err);
    if (status == TAMIS_OK && !at->is_family) /* whose members come with their first adds */
        status = tamis__partitions_make(filter, err);
    if (status == TAMIS_OK && !at->is_family && at->ttl_ms > 0)
        status = tamis__partitions_expire(at, NULL, (int64_t)at->ttl_ms, err);
    return status == TAMIS_OK ? tamis__redis_command(at, ready, 4, NULL, err) : status;
}

/* Makes the handle that of the filter that is there, which has to be what is asked for. After a failure it is what it was
 * before. */
static tamis_status become(tamis_filter *filter, const tamis__config *config, const asked_for *wanted,
                           const tamis_redis_filter_options *options, tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    char ready[TAMIS__REDIS_STATE];
    tamis__told there;
    tamis_status status = tamis__told_read(at, config->plan, &there, err);
    if (status == TAMIS_OK)
        status = check_wanted(at, &there, wanted, err);
    if (status == TAMIS_OK)
        status = take_hasher(filter, &there, options, err);
    if (status != TAMIS_OK)
        return status;
    set_plan(filter, &there);
    at->generation = there.generation;
    memcpy(at->plan_text, config->plan, sizeof at->plan_text);
    memcpy(at->target, config->target, config->target_size);
    at->target_size = config->target_size;
    at->looked_at = tamis__now_ns();
    tamis__state_write(at, ready);
    return strcmp(config->state, ready) == 0 ? TAMIS_OK : finish(filter, err);
}

/* Puts our plan, unless somebody was faster: then theirs stands. */
static tamis_status create(tamis_filter *filter, const asked_for *wanted,
                           const tamis_redis_filter_options *options, tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    tamis_want want = wanted->want;
    char name[TAMIS__REDIS_KEY], text[TAMIS__REDIS_PLAN];
    if (want.fpr == 0)
        want.fpr = 1e-6; /* as tamis build has it */
    if (want.scheme == TAMIS_SCHEME_AUTO && options->secret_size > 0)
        want.scheme = TAMIS_SCHEME_SIP;
    tamis_status status = tamis_redis_plan_make(&filter->plan, &want, err);
    if (status == TAMIS_OK && at->is_family && filter->plan.memory > TAMIS__MEMBER_MAX)
        status = tamis__fail(err, TAMIS_E_RANGE, 0,
                             "%s: a member of the family would take %" PRIu64
                             " bytes, and may take %d; expect fewer, or ask for a larger rate",
                             at->uri->shown, filter->plan.memory, TAMIS__MEMBER_MAX);
    if (status != TAMIS_OK)
        return status;
    filter->plan.scheme = want.scheme == TAMIS_SCHEME_AUTO ? TAMIS_SCHEME_XXH3 : want.scheme;
    at->seed = wanted->seed;
    status = tamis__generation_new(at, err);
    if (status == TAMIS_OK)
        status = tamis__redis_set_up(filter, options, err);
    if (status != TAMIS_OK)
        return status;
    tamis__partitions_set(
        filter,
        at->is_family
            ? tamis__blocks_of(filter)
            : (wanted->partition ? wanted->partition : TAMIS__PARTITION_DEFAULT) / TAMIS__REDIS_BLOCK - 1);
    tamis__told_write(filter, text);
    const tamis_key words[] = {
        {"HSETNX", 6}, {name, tamis__config_name(at, name)}, {"plan", 4}, {text, strlen(text)}};
    status = tamis__redis_command(at, words, 4, NULL, err);
    tamis_hasher_free(filter->hasher); /* theirs may be another */
    filter->hasher = NULL;
    return status;
}

static tamis_status open(tamis_filter *filter, const tamis_redis_filter_options *options, tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    tamis__config config;
    asked_for wanted;
    tamis_status status = read_wanted(at, &wanted, err);
    if (status == TAMIS_OK)
        status = tamis__redis_uri_check_used(at->uri, err);
    if (status == TAMIS_OK)
        status = tamis__config_find(at, &config, err);
    if (status != TAMIS_OK)
        return status;
    if (!*config.plan && !(options->create && wanted.want.expect))
        return tamis__fail(err, TAMIS_E_ABSENT, 0, "redis %s: %s: there is no such filter; %s",
                           at->redis->to.shown, at->uri->named,
                           options->create ? "give expect=N and fpr=RATE, and it is made"
                                           : "check the name, or build it");
    if (!*config.plan) {
        memcpy(at->target, config.target, config.target_size);
        at->target_size = config.target_size;
        status = create(filter, &wanted, options, err);
        if (status == TAMIS_OK)
            status = tamis__config_find(at, &config, err);
    }
    return status == TAMIS_OK ? become(filter, &config, &wanted, options, err) : status;
}

tamis_status tamis__partitions_choose(tamis_filter *filter, const tamis__told *old, tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    const tamis_plan *plan = &filter->plan;
    tamis__told mine = {.seed = at->seed, .expect = plan->capacity, .probes = plan->probes, .fpr = plan->fpr};
    asked_for wanted;
    tamis_status status = read_wanted(at, &wanted, err);
    if (status == TAMIS_OK)
        status = tamis__redis_uri_check_used(at->uri, err);
    if (status != TAMIS_OK)
        return status;
    mine.partition = old ? old->partition : TAMIS__PARTITION_DEFAULT / TAMIS__REDIS_BLOCK - 1;
    if (wanted.partition)
        mine.partition = wanted.partition / TAMIS__REDIS_BLOCK - 1;
    snprintf(mine.scheme, sizeof mine.scheme, "%s", tamis_scheme_name(plan->scheme));
    status = check_wanted(at, &mine, &wanted, err);
    if (status == TAMIS_OK)
        tamis__partitions_set(filter, mine.partition);
    return status;
}

/* ---- following ---- */

static tamis_status gone(const tamis__redis_filter *at, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_ABSENT, 0,
                       "redis %s: %s: was dropped, or expired, while it was open; open it anew",
                       at->redis->to.shown, at->uri->named);
}

static bool has_target(const tamis__redis_filter *at, const tamis__config *config) {
    return at->target_size == config->target_size && memcmp(at->target, config->target, at->target_size) == 0;
}

static bool is_same(const tamis__redis_filter *at, const tamis__config *config) {
    return strcmp(at->plan_text, config->plan) == 0 && has_target(at, config);
}

/* Becomes the filter that has the name now. A handle is used by one thread at a time, so a question may do that too. */
static tamis_status follow(const tamis_filter *filter, tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    const tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis__config config;
    asked_for wanted;
    tamis_status status = read_wanted(at, &wanted, err);
    if (status == TAMIS_OK)
        status = tamis__config_find(at, &config, err);
    if (status != TAMIS_OK)
        return status;
    if (!*config.plan)
        return gone(at, err);
    at->looked_at = tamis__now_ns();
    if (is_same(at, &config))
        return TAMIS_OK;
    return become((tamis_filter *)(uintptr_t)filter, &config, &wanted, &options, err);
}

static tamis_status refresh(const tamis_filter *filter, tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    at->replaced = at->retired = false;
    at->cut_from = 0;
    at->followed = 0;
    if (tamis__now_ns() - at->looked_at < UINT64_C(1000000) * TAMIS__TRUST_MS)
        return TAMIS_OK;
    return follow(filter, err);
}

/* Whether a hash with this plan, empty where it has none, is no more of our generation. */
static bool retires(const tamis__redis_filter *at, const char *plan) {
    tamis__told now;
    return !*plan || (tamis__told_read(at, plan, &now, NULL) == TAMIS_OK && now.generation != at->generation);
}

/* A footer was missing. Of several servers, which answer in no order, the plan may have been read before it was replaced
 * and the footer after: only a plan that still stands says that the footer is to be there. */
static tamis_status look_again(tamis__redis_filter *at, tamis_error *err) {
    tamis__config config;
    tamis_status status = tamis__config_find(at, &config, err);
    if (status != TAMIS_OK || is_same(at, &config))
        return status;
    at->replaced = true;
    at->retired = has_target(at, &config) && retires(at, config.plan);
    return TAMIS_OK;
}

static tamis_status settle(const tamis_filter *filter, const tamis__touched *batch, bool *again,
                           tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    tamis_status status = at->cut_from > 0 && !at->replaced ? look_again(at, err) : TAMIS_OK;
    const uint32_t cut_from = at->cut_from;
    const bool replaced = at->replaced, retired = at->retired;
    at->replaced = at->retired = false;
    at->cut_from = 0;
    *again = replaced;
    if (status != TAMIS_OK)
        return status;
    if (!replaced && cut_from > 0)
        return tamis__fail(
            err, TAMIS_E_DAMAGED, 0,
            "redis %s: %s: partition %" PRIu32
            " is gone or cut short (evicted, deleted or overwritten), with "
            "keys that were in it; drop the filter and build it anew, and keep it from eviction",
            at->redis->to.shown, at->uri->named, cut_from - 1);
    if (!replaced) {
        at->looked_at = tamis__now_ns();
        return TAMIS_OK;
    }
    /* An add makes a partition that had expired already, and renews the expiry of one that had not. (What it made of a
     * family's members stays, as all do of a family that was dropped.) */
    if (retired && batch->adds && !at->is_family)
        status = tamis__partitions_expire(at, at->ttl_ms > 0 ? NULL : batch->keys, TAMIS__GRACE_MS, err);
    if (status == TAMIS_OK && ++at->followed > FOLLOW_MOST)
        return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                           "redis %s: %s: was replaced %d times during one batch; find out who does that",
                           at->redis->to.shown, at->uri->named, FOLLOW_MOST);
    return status == TAMIS_OK ? follow(filter, err) : status;
}

/* ---- elements ---- */

static void place(const tamis_filter *filter, const tamis__asked *asked, size_t i, tamis__spot *spot) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    tamis_hash hash;
    if (asked->hashes)
        hash = asked->hashes[i];
    else
        tamis_hash_many(filter->hasher, &asked->keys[i], 1, &hash, NULL); /* both schemes have digests */
    uint64_t block = tamis__mulhi(hash.word[1], tamis__blocks_of(filter));
    spot->server = 0;
    spot->key = (uint32_t)(block / at->partition);
    spot->block = block % at->partition * TAMIS__REDIS_BLOCK;
    tamis__block_positions(&hash, filter->plan.probes, spot->offsets);
    for (uint32_t j = 0; j < filter->plan.probes; j++)
        spot->offsets[j] += spot->block * 8;
}

/* ---- checks: the footer of each partition touched, the plan, the alias; and the hash's expiry ---- */

enum { CHECK_PLAN, CHECK_ALIAS, CHECK_EXPIRY, CHECKS };

static size_t count_footers(const tamis__redis_filter *at) {
    return at->is_family ? 0 : at->keys;
}

static size_t check_count(const tamis_filter *filter) {
    return count_footers(tamis__redis_of(filter)) + CHECKS;
}

static bool check_ask(const tamis_filter *filter, const tamis__touched *batch, size_t i, tamis__link *link) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    const size_t footers = count_footers(at);
    char name[TAMIS__REDIS_KEY];
    if (i < footers) {
        if (batch->keys[i])
            tamis__footer_ask(filter, (uint32_t)i, link);
        return batch->keys[i];
    }
    i -= footers;
    if ((i == CHECK_ALIAS && at->target_size == 0) ||
        (i == CHECK_EXPIRY && (!batch->adds || at->ttl_ms == 0 || !(at->renewed || at->is_family))))
        return false; /* a family's members are made one after the other, and it outlives them all */
    size_t size = i == CHECK_ALIAS ? tamis__alias_name(at, name) : tamis__config_name(at, name);
    tamis__link_command(link, i == CHECK_PLAN ? 5 : 3);
    tamis__link_text(link, i == CHECK_PLAN ? "HMGET" : i == CHECK_ALIAS ? "HGET" : "PEXPIRE");
    tamis__link_word(link, name, size);
    if (i == CHECK_PLAN)
        tamis__link_text(link, "plan");
    if (i == CHECK_EXPIRY)
        tamis__link_number(link, (int64_t)at->ttl_ms);
    else
        tamis__link_text(link, "alias");
    if (i == CHECK_PLAN)
        tamis__link_text(link, "next");
    return true;
}

static uint32_t check_slot(const tamis_filter *filter, const tamis__touched *batch, size_t i) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    const size_t footers = count_footers(at);
    char name[TAMIS__REDIS_KEY];
    if (i < footers)
        return batch->keys[i] ? tamis__redis_key_slot(at, i) : TAMIS__NO_SLOT;
    const size_t size =
        i - footers == CHECK_ALIAS ? tamis__alias_name(at, name) : tamis__config_name(at, name);
    return tamis__redis_slot(at->redis, name, size);
}

static tamis_status take_plan(tamis__redis_filter *at, const tamis__reply *reply, tamis_error *err) {
    if (reply->type != TAMIS__REPLY_ARRAY || reply->size != 3 ||
        (reply->items[0].type != TAMIS__REPLY_STRING && reply->items[0].type != TAMIS__REPLY_NIL))
        return tamis__redis_strange(at, err);
    const tamis__reply *plan = &reply->items[0], *next = &reply->items[2];
    snprintf(at->next_text, sizeof at->next_text, "%s", next->type == TAMIS__REPLY_STRING ? next->text : "");
    const char *text = plan->type == TAMIS__REPLY_STRING ? plan->text : "";
    const bool stands = strcmp(text, at->plan_text) == 0;
    at->replaced = at->replaced || !stands || reply->items[1].type != TAMIS__REPLY_NIL;
    at->retired = at->retired || (!stands && retires(at, text));
    return TAMIS_OK;
}

static tamis_status check_take(const tamis_filter *filter, size_t i, const tamis__reply *reply,
                               tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    const size_t footers = count_footers(at);
    if (i == footers + CHECK_PLAN)
        return take_plan(at, reply, err);
    if (i == footers + CHECK_EXPIRY)
        return reply->type == TAMIS__REPLY_INTEGER ? TAMIS_OK : tamis__redis_strange(at, err);
    if (i == footers + CHECK_ALIAS) {
        at->replaced = at->replaced || reply->type != TAMIS__REPLY_STRING || reply->size != at->target_size ||
                       memcmp(reply->text, at->target, at->target_size) != 0;
        return TAMIS_OK;
    }
    if (reply->type != TAMIS__REPLY_STRING)
        return tamis__redis_strange(at, err);
    if (!tamis__footer_is(at, (uint32_t)i, reply) && !at->cut_from)
        at->cut_from = (uint32_t)i + 1;
    return TAMIS_OK;
}

/* ---- what is to take its place: see redis_push.c ---- */

static const tamis__layout layout_next = {
    .name = "tamis", .has_blocks = true, .place = place, .key_name = tamis__partition_name};

static tamis_status add_to_next(const tamis_filter *filter, const tamis__asked *asked, tamis_error *err) {
    tamis_filter copy = *filter;
    tamis__redis_filter at = *tamis__redis_of(filter);
    tamis__told told;
    size_t done;
    tamis_status status = tamis__told_read(&at, at.next_text, &told, err);
    if (status != TAMIS_OK)
        return status;
    copy.body = &at;
    copy.plan.bits = told.bits;
    copy.plan.probes = (uint32_t)told.probes;
    at.layout = &layout_next;
    at.generation = told.generation;
    at.ttl_ms = 0; /* until it takes the place */
    at.doubts = (tamis__doubts){0};
    at.tracer = NULL;
    tamis__partitions_set(&copy, told.partition);
    status = tamis__redis_add(&copy, asked, NULL, &done, err);
    tamis__doubts_release(&at.doubts,
                          &filter->allocator); /* what fails here is kept by the batch that it is of */
    return status;
}

/* Where it has taken the place by then, the batch is asked again there; where nobody makes it any more, an add may have
 * made partitions of it anew. */
static tamis_status mirror(const tamis_filter *filter, const tamis__asked *asked, bool *again,
                           tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    tamis__config config = {.next = ""};
    while (*at->next_text && strcmp(at->next_text, at->plan_text) != 0) {
        tamis_status status = add_to_next(filter, asked, err);
        if (status == TAMIS_OK)
            status = tamis__config_find(at, &config, err);
        if (status == TAMIS_OK && has_target(at, &config) && strcmp(config.next, at->next_text) != 0 &&
            strcmp(config.plan, at->next_text) != 0)
            status = tamis__told_expire(at, at->next_text, TAMIS__GRACE_MS, err);
        if (status != TAMIS_OK)
            return status;
        *again = !is_same(at, &config);
        if (*again)
            return follow(filter, err);
        if (strcmp(config.next, at->next_text) == 0)
            return TAMIS_OK;
        memcpy(at->next_text, config.next, sizeof at->next_text);
    }
    return TAMIS_OK;
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
    size_t size = tamis__partition_name(tamis__redis_of(all->filter), (uint32_t)i, name);
    tamis__link_command(link, 4);
    tamis__link_text(link, "BITCOUNT");
    tamis__link_word(link, name, size);
    tamis__link_number(link, 0);
    tamis__link_number(link, (int64_t)(tamis__blocks_in(all->filter, (uint32_t)i) * TAMIS__REDIS_BLOCK) - 1);
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

/* Bits of a partition that is gone would count as none. */
static tamis_status count_ones(const tamis_filter *filter, counting *all, tamis_error *err) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    tamis_status status = refresh(filter, err);
    for (bool again = true; again && status == TAMIS_OK;) {
        const tamis__exchange exchange = {.count = at->keys,
                                          .context = all,
                                          .ask = put_count,
                                          .take = take_count,
                                          .what = at->uri->named,
                                          .slot = slot_of_count};
        all->ones = 0;
        status = tamis__redis_run(at->redis, &exchange, NULL, err);
        if (status == TAMIS_OK)
            status = tamis__redis_check(filter, false, &again, err);
    }
    return status;
}

/*
 * Blocks get Poisson numbers of keys, L on the mean, and a key leaves a bit of its block unset with chance
 * q = (1 - 1/512)^k: of all bits exp(-L (1 - q)) stay unset.
 */
static tamis_status estimate(const tamis_filter *filter, tamis_filter_info *info, tamis_error *err) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    const tamis_plan *plan = &filter->plan;
    counting all = {filter, 0};
    tamis_status status = count_ones(filter, &all, err);
    if (status != TAMIS_OK)
        return status;
    info->capacity = plan->capacity;
    const double m = (double)plan->bits, q = pow(1 - 1.0 / BLOCK_BITS, plan->probes);
    info->ones = all.ones;
    info->cardinality = m / BLOCK_BITS * -log1p(-fmin((double)all.ones, m - 1) / m) / (1 - q);
    info->fpr_live = tamis_blocked_fpr(info->cardinality, m, plan->probes);
    info->memory = (tamis__blocks_of(filter) + at->keys) * TAMIS__REDIS_BLOCK;
    return TAMIS_OK;
}

static uint64_t bytes_in(const tamis_filter *filter, uint32_t key) {
    return tamis__blocks_in(filter, key) * TAMIS__REDIS_BLOCK;
}

/* By a new generation: clients that add meanwhile add to the one or to the other, and see the whole of it. */
static tamis_status clear(tamis_filter *filter, tamis_error *err) {
    tamis_status status = follow(filter, err);
    if (status == TAMIS_OK)
        status = tamis__push_empty(filter, err);
    return status == TAMIS_OK ? follow(filter, err) : status;
}

const tamis__layout tamis__layout_tamis = {.name = "tamis",
                                           .has_capacity = true,
                                           .has_blocks = true,
                                           .open = open,
                                           .place = place,
                                           .key_name = tamis__partition_name,
                                           .check_count = check_count,
                                           .check_ask = check_ask,
                                           .check_slot = check_slot,
                                           .check_take = check_take,
                                           .settle = settle,
                                           .mirror = mirror,
                                           .refresh = refresh,
                                           .bytes_in = bytes_in,
                                           .estimate = estimate,
                                           .clear = clear};

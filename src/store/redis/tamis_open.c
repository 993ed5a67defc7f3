/* SPDX-License-Identifier: BSD-2-Clause */

/* Opening a filter of layout tamis: what its URI asks for, whether what is there is that, and making what is not. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/system.h"
#include "base/versioned.h"
#include "plan/plan_int.h"
#include "store/file_error.h"
#include "store/redis/layout_tamis.h"

/* Most bits beside those of the fewest-bits plan: see tamis_redis_plan_make. */
#define MORE_BITS 2

/* ---- what is asked for ---- */

typedef struct asked_for {
    tamis_plan_options want;
    bool seeded;
    uint64_t seed;
    uint64_t partition; /* bytes, 0: not given */
} asked_for;

static tamis_status read_wanted(tamis__redis_filter *at, asked_for *wanted, tamis_error *err) {
    tamis__redis_uri *uri = at->uri;
    uint64_t probes = 0;
    const char *scheme = tamis__redis_uri_take(uri, "scheme");
    wanted->want = (tamis_plan_options)TAMIS_PLAN_OPTIONS_INIT;
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
 * A server spends its time on reading commands (docs/MATH.md, Filters in a Redis). So fewer probes are better than fewer
 * bits, up to a bound: the fewest probes that keep the rate at MORE_BITS times the bits of the plan with the fewest.
 */
#define COMMAND_US 0.28 /* of an add, measured by bench/redis.py */
#define PROBE_US   0.32

double tamis_redis_add_cost(uint32_t probes) {
    return COMMAND_US + PROBE_US * probes;
}

static void explain(tamis_plan *plan, const tamis_plan *least, bool is_asked) {
    if (is_asked)
        snprintf(plan->reason, sizeof plan->reason, "probes as asked for");
    else if (plan->probes < least->probes)
        snprintf(
            plan->reason, sizeof plan->reason,
            "%" PRIu32 " probe%s and not %" PRIu32
            ", at %.2f times the bits, as a server reads words for each: about %.1f us an add and not %.1f",
            plan->probes, plan->probes == 1 ? "" : "s", least->probes,
            (double)plan->bits / (double)least->bits, tamis_redis_add_cost(plan->probes),
            tamis_redis_add_cost(least->probes));
    else
        snprintf(plan->reason, sizeof plan->reason,
                 "the least bits, as with fewer probes it would take more than %.0f times those",
                 (double)MORE_BITS);
}

tamis_status tamis_redis_plan_make(tamis_plan *plan, const tamis_plan_options *given, tamis_error *err) {
    tamis_plan least = TAMIS_PLAN_INIT, made;
    tamis_plan_options want = TAMIS_PLAN_OPTIONS_INIT;
    tamis_status status = tamis__plan_read_options(&want, given, plan, err);
    if (want.kind == TAMIS_KIND_AUTO)
        want.kind = TAMIS_KIND_BLOCKED;
    if (status == TAMIS_OK)
        status = tamis_plan_make(&least, &want, err);
    if (status != TAMIS_OK)
        return status;
    made = least;
    for (uint32_t probes = 1; want.probes == 0 && probes < least.probes; probes++) {
        tamis_plan fewer = TAMIS_PLAN_INIT;
        tamis_plan_options some = want;
        some.probes = probes;
        if (tamis_plan_make(&fewer, &some, NULL) != TAMIS_OK ||
            (double)fewer.bits > MORE_BITS * (double)least.bits)
            continue;
        made = fewer;
        break;
    }
    explain(&made, &least, want.probes > 0);
    tamis__write_struct(plan, &made, sizeof made);
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

/* Blocks of a partition of so many bytes; behind those of the largest there is room for what else it has. */
static uint64_t blocks_for(uint64_t bytes) {
    const uint64_t blocks = bytes / TAMIS__REDIS_BLOCK - 1;
    return blocks < TAMIS__PARTITION_BLOCKS ? blocks : TAMIS__PARTITION_BLOCKS;
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
    if (status == TAMIS_OK && wanted->partition && there->partition != blocks_for(wanted->partition))
        status = check_number(at, "partition", (there->partition + 1) * TAMIS__REDIS_BLOCK,
                              wanted->partition / TAMIS__REDIS_BLOCK * TAMIS__REDIS_BLOCK, err);
    if (status == TAMIS_OK && wanted->want.fpr > 0 && fabs(wanted->want.fpr / there->fpr - 1) > 1e-9) {
        snprintf(one, sizeof one, "%g", there->fpr);
        snprintf(other, sizeof other, "%g", wanted->want.fpr);
        status = differs(at, "fpr", one, other, err);
    }
    return status;
}

/* Text is its bytes; what stands above the type's own byte is kept. */
static uint32_t without_utf8(uint32_t key_type) {
    return (key_type & 0xff) == TAMIS_KEYS_UTF8 ? key_type - TAMIS_KEYS_UTF8 + TAMIS_KEYS_BYTES : key_type;
}

/* Whether keys made for the one would be no keys of the other. */
static bool types_clash(uint32_t one, uint32_t other) {
    return one != TAMIS_KEYS_UNSPECIFIED && other != TAMIS_KEYS_UNSPECIFIED &&
           without_utf8(one) != without_utf8(other);
}

/* A handle that is open keeps its hasher, which its owner may have made hashes with. */
static tamis_status take_hasher(tamis_filter *filter, const tamis__told *there,
                                const tamis_redis_filter_options *options, tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    const tamis_hasher *have = filter->hasher;
    tamis_scheme scheme;
    tamis_status status = tamis_scheme_parse(there->scheme, &scheme, NULL);
    if (status != TAMIS_OK || !tamis__has_scheme(scheme))
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "redis %s: %s: has scheme=%s, and layout tamis has xxh3, sip and guava64; use a "
                           "version of tamis that knows it, or drop the filter and build it anew",
                           at->redis->to.shown, at->uri->named, tamis__show(there->scheme).text);
    if (have && (have->scheme != scheme || at->seed != there->seed ||
                 (there->has_secret && have->secret_print != there->secret) ||
                 types_clash(filter->metadata.fields.key_type, there->key_type)))
        return tamis__fail(
            err, TAMIS_E_MISMATCH, 0,
            "redis %s: %s: was replaced by one of another scheme, seed, secret or type of keys "
            "while it was open; open it anew",
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

/* A filter of layout 1 stands in the hash before its partitions are there, and is not finished by this version. */
static tamis_status fail_unfinished(const tamis__redis_filter *at, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_BUSY, 0,
                       "redis %s: %s: a client of layout 1 is making it, or was stopped while it did; wait "
                       "for it, or drop the filter and make it anew",
                       at->redis->to.shown, at->uri->named);
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
        snprintf(ready, sizeof ready, "ready %016" PRIx64, there.generation);
    if (status == TAMIS_OK && there.layout == 1 && strcmp(config->state, ready) != 0)
        status = fail_unfinished(at, err);
    if (status == TAMIS_OK)
        status = check_wanted(at, &there, wanted, err);
    if (status == TAMIS_OK)
        status = take_hasher(filter, &there, options, err);
    if (status != TAMIS_OK)
        return status;
    set_plan(filter, &there);
    filter->metadata.fields.key_type = there.key_type;
    at->generation = there.generation;
    memcpy(at->plan_text, config->plan, sizeof at->plan_text);
    memcpy(at->target, config->target, config->target_size);
    at->target_size = config->target_size;
    at->looked_at = tamis__now_ns();
    return TAMIS_OK;
}

/* Makes it, unless somebody was faster: then theirs stands. */
static tamis_status create(tamis_filter *filter, const asked_for *wanted,
                           const tamis_redis_filter_options *options, tamis_error *err) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    tamis_plan_options want = wanted->want;
    uint64_t each = blocks_for(wanted->partition ? wanted->partition : TAMIS__PARTITION_DEFAULT);
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
    if (at->is_family)
        each = tamis__blocks_of(filter);
    if (status == TAMIS_OK)
        status = tamis__partitions_check(filter, each, err);
    if (status == TAMIS_OK && !at->is_family)
        status = tamis__room_check(at, filter->plan.memory, err);
    if (status == TAMIS_OK)
        status = tamis__redis_set_up(filter, options, err);
    if (status != TAMIS_OK)
        return status;
    tamis__partitions_set(filter, each);
    filter->metadata.fields.key_type = options->key_type;
    status = tamis__push_new(filter, err);
    filter->metadata.fields.key_type =
        TAMIS_KEYS_UNSPECIFIED;        /* as the hasher: somebody may have been faster */
    tamis_hasher_free(filter->hasher); /* theirs may be another */
    filter->hasher = NULL;
    return status;
}

tamis_status tamis__target_gone(const tamis__redis_filter *at, const tamis__config *config,
                                tamis_error *err) {
    char target[TAMIS__REDIS_NAME + 1];
    memcpy(target, config->target, config->target_size);
    target[config->target_size] = '\0';
    return tamis__fail(err, TAMIS_E_NOT_FOUND, 0,
                       "redis %s: %s: is an alias of %s, and there is no such filter; build that, or let the "
                       "name stand for another",
                       at->redis->to.shown, at->uri->named, tamis__show(target).text);
}

static tamis_status fail_absent(const tamis__redis_filter *at, const tamis_redis_filter_options *options,
                                tamis_error *err) {
    return tamis__fail(err, TAMIS_E_NOT_FOUND, 0, "redis %s: %s: there is no such filter; %s",
                       at->redis->to.shown, at->uri->named,
                       options->create ? "give expect=N and fpr=RATE, and it is made"
                                       : "check the name, or build it");
}

/* Batches of adds renew the expiry by scripts: a step that writes nothing finds out whether scripts are allowed. */
static tamis_status find_out_scripts(tamis__redis_filter *at, tamis_error *err) {
    char name[TAMIS__REDIS_KEY];
    tamis__step step = {.key_count = 0};
    if (at->ttl_ms == 0 || !(at->renews_on_add || at->is_family))
        return TAMIS_OK;
    (void)tamis__plan_guard(at, &step, at->plan_text, name);
    return tamis__step_run(at, &step, &(bool){false}, err);
}

tamis_status tamis__handle_open(tamis_filter *filter, const tamis_redis_filter_options *options,
                                tamis_error *err) {
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
    if (!*config.plan && config.target_size > 0 && !(options->create && wanted.want.expect))
        return tamis__target_gone(at, &config, err);
    if (!*config.plan && !(options->create && wanted.want.expect))
        return fail_absent(at, options, err);
    if (!*config.plan) {
        memcpy(at->target, config.target, config.target_size);
        at->target_size = config.target_size;
        status = create(filter, &wanted, options, err);
        if (status == TAMIS_OK)
            status = tamis__config_find(at, &config, err);
    }
    if (status == TAMIS_OK && !*config.plan) /* dropped, or expired, as soon as it was made */
        status = fail_absent(at, options, err);
    if (status == TAMIS_OK)
        status = become(filter, &config, &wanted, options, err);
    return status == TAMIS_OK ? find_out_scripts(at, err) : status;
}

tamis_status tamis__wanted_pass(tamis__redis_filter *at, tamis_error *err) {
    asked_for wanted;
    tamis_status status = read_wanted(at, &wanted, err);
    return status == TAMIS_OK ? tamis__redis_uri_check_used(at->uri, err) : status;
}

tamis_status tamis__handle_become(tamis_filter *filter, const tamis__config *config, tamis_error *err) {
    const tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    asked_for wanted;
    tamis_status status = read_wanted(tamis__redis_of(filter), &wanted, err);
    return status == TAMIS_OK ? become(filter, config, &wanted, &options, err) : status;
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
    mine.partition = old ? old->partition : blocks_for(TAMIS__PARTITION_DEFAULT);
    if (wanted.partition)
        mine.partition = blocks_for(wanted.partition);
    if (mine.partition > TAMIS__PARTITION_BLOCKS) /* of layout 1 */
        mine.partition = TAMIS__PARTITION_BLOCKS;
    snprintf(mine.scheme, sizeof mine.scheme, "%s", tamis_scheme_name(plan->scheme));
    status = check_wanted(at, &mine, &wanted, err);
    if (status == TAMIS_OK)
        status = tamis__partitions_check(filter, mine.partition, err);
    if (status == TAMIS_OK)
        tamis__partitions_set(filter, mine.partition);
    return status;
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Opening a filter of layout tamis:
 *
 *     URI ---> options       server ---> config hash (through an alias) ---> plan
 *                 |                                      |
 *                 |    no plan: make the filter ---------+
 *                 v                                      v
 *                 compare each option given with the plan: TAMIS_E_MISMATCH if one differs
 *                                                        v
 *                 the handle gets the stored plan and a hasher for its scheme, seed and secret
 *
 * Options that the URI does not give come from the stored plan. A filter is made only if the caller allows
 * it and expect= is given. If another program makes it first, its filter is used.
 *
 * The same comparison runs when an open handle switches to a filter that replaced its own. The handle then
 * keeps its hasher, since its owner may have hashes made with it. A filter with another scheme, seed, secret
 * or key type is refused.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/system.h"
#include "base/versioned.h"
#include "plan/plan_int.h"
#include "store/file/file_error.h"
#include "store/redis/layout/layout_tamis.h"

/* Max. bits of a plan with fewer probes, as a multiple of the smallest plan's: see tamis_redis_plan_make. */
#define MORE_BITS 2

/* ---- options of the URI ---- */

typedef struct uri_options {
    tamis_plan_options plan_options;
    bool seeded; /* seed= is given */
    uint64_t seed;
    uint64_t partition; /* bytes; 0: not given */
} uri_options;

static tamis_status read_uri_options(tamis__redis_filter *rf, uri_options *wanted, tamis_error *err) {
    tamis__redis_uri *uri = rf->uri;
    uint64_t probes = 0;
    const char *scheme = tamis__redis_uri_get(uri, "scheme");
    wanted->plan_options = (tamis_plan_options)TAMIS_PLAN_OPTIONS_INIT;
    wanted->plan_options.kind = TAMIS_KIND_BLOCKED;
    wanted->partition = 0;
    tamis_status status = scheme ? tamis_scheme_parse(&wanted->plan_options.scheme, scheme, err) : TAMIS_OK;
    if (status == TAMIS_OK && wanted->plan_options.scheme != TAMIS_SCHEME_AUTO &&
        !tamis__has_scheme(wanted->plan_options.scheme))
        status = tamis__fail(err, TAMIS_E_INVALID, 0,
                             "%s: layout tamis has schemes xxh3, sip and guava64, not %s; choose one of them",
                             uri->shown, scheme);
    if (status == TAMIS_OK)
        status = tamis__redis_uri_count(uri, "expect", (tamis__count_range){1, TAMIS_EXPECT_MAX},
                                        &wanted->plan_options.expect, err);
    if (status == TAMIS_OK)
        status = tamis__redis_uri_rate(uri, "fpr", &wanted->plan_options.fpr, err);
    if (status == TAMIS_OK)
        status =
            tamis__redis_uri_count(uri, "probes", (tamis__count_range){1, TAMIS_PROBES_MAX}, &probes, err);
    if (status == TAMIS_OK && !rf->is_family)
        status = tamis__redis_uri_count(uri, "partition",
                                        (tamis__count_range){2 * TAMIS__REDIS_BLOCK, TAMIS__PARTITION_MAX},
                                        &wanted->partition, err);
    wanted->plan_options.probes = (uint32_t)probes;
    wanted->seed = 0;
    wanted->seeded = tamis__redis_uri_get(uri, "seed") != NULL;
    if (status == TAMIS_OK)
        status = tamis__redis_uri_count(uri, "seed", (tamis__count_range){0, UINT64_MAX}, &wanted->seed, err);
    if (status == TAMIS_OK &&
        (memchr(uri->name, '{', uri->name_size) || memchr(uri->name, '}', uri->name_size)))
        status = tamis__fail(err, TAMIS_E_INVALID, 0,
                             "%s: the name has a brace, which marks hash tags; choose a name "
                             "without",
                             uri->shown);
    return status;
}

/*
 * Choosing the number of probes. A server spends most of its time on reading commands, and each probe makes
 * them longer (docs/MATH.md, Filters in a Redis). So fewer probes are better than fewer bits, up to a bound.
 * The plan has the fewest probes that keep the rate with at most MORE_BITS times the bits of the smallest
 * plan.
 */
#define COMMAND_US 0.28 /* microseconds of an add without probes, measured by bench/redis.py */
#define PROBE_US   0.32 /* microseconds of each probe */

double tamis_redis_add_cost(uint32_t probes) {
    return COMMAND_US + PROBE_US * probes;
}

static void explain(tamis_plan *plan, const tamis_plan *smallest, bool is_requested) {
    if (is_requested)
        snprintf(plan->reason, sizeof plan->reason, "probes as requested");
    else if (plan->probes < smallest->probes)
        snprintf(
            plan->reason, sizeof plan->reason,
            "%" PRIu32 " probe%s and not %" PRIu32
            ", at %.2f times the bits, as a server reads words for each: about %.1f us an add and not %.1f",
            plan->probes, plan->probes == 1 ? "" : "s", smallest->probes,
            (double)plan->bits / (double)smallest->bits, tamis_redis_add_cost(plan->probes),
            tamis_redis_add_cost(smallest->probes));
    else
        snprintf(plan->reason, sizeof plan->reason,
                 "the least bits, as with fewer probes it would take more than %.0f times those",
                 (double)MORE_BITS);
}

tamis_status tamis_redis_plan_make(tamis_plan *plan, const tamis_plan_options *given, tamis_error *err) {
    tamis_plan smallest = TAMIS_PLAN_INIT, made;
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_status status = tamis__plan_read_options(&plan_options, given, plan, err);
    if (plan_options.kind == TAMIS_KIND_AUTO)
        plan_options.kind = TAMIS_KIND_BLOCKED;
    if (status == TAMIS_OK)
        status = tamis_plan_make(&smallest, &plan_options, err);
    if (status != TAMIS_OK)
        return status;
    made = smallest;
    for (uint32_t probes = 1; plan_options.probes == 0 && probes < smallest.probes; probes++) {
        tamis_plan fewer = TAMIS_PLAN_INIT;
        tamis_plan_options fewer_options = plan_options;
        fewer_options.probes = probes;
        if (tamis_plan_make(&fewer, &fewer_options, NULL) != TAMIS_OK ||
            (double)fewer.bits > MORE_BITS * (double)smallest.bits)
            continue;
        made = fewer;
        break;
    }
    explain(&made, &smallest, plan_options.probes > 0);
    tamis__write_struct(plan, &made, sizeof made);
    return TAMIS_OK;
}

/* ---- opening ---- */

static tamis_status check_number(const tamis__redis_filter *rf, const char *what, uint64_t stored,
                                 uint64_t requested, tamis_error *err) {
    char stored_text[24], wanted_text[24];
    if (requested == 0 || stored == requested)
        return TAMIS_OK;
    snprintf(stored_text, sizeof stored_text, "%" PRIu64, stored);
    snprintf(wanted_text, sizeof wanted_text, "%" PRIu64, requested);
    return tamis__redis_fail_differs(rf, what, stored_text, wanted_text, err);
}

/* The number of blocks of a partition of `bytes` bytes, footer included. The largest leaves space for stamp
 * and chunk bits. */
static uint64_t blocks_for(uint64_t bytes) {
    const uint64_t blocks = bytes / TAMIS__REDIS_BLOCK - 1;
    return blocks < TAMIS__PARTITION_BLOCKS ? blocks : TAMIS__PARTITION_BLOCKS;
}

/* TAMIS_E_MISMATCH: the stored plan differs from an option that the URI gives. */
static tamis_status check_uri_options(const tamis__redis_filter *rf, const tamis__parsed_plan *stored,
                                      const uri_options *wanted, tamis_error *err) {
    char stored_text[32], wanted_text[32];
    tamis_status status = TAMIS_OK;
    if (wanted->plan_options.scheme != TAMIS_SCHEME_AUTO &&
        strcmp(tamis_scheme_name(wanted->plan_options.scheme), stored->scheme) != 0)
        status = tamis__redis_fail_differs(rf, "scheme", stored->scheme,
                                           tamis_scheme_name(wanted->plan_options.scheme), err);
    if (status == TAMIS_OK && wanted->seeded && stored->seed != wanted->seed) {
        snprintf(stored_text, sizeof stored_text, "%" PRIu64, stored->seed);
        snprintf(wanted_text, sizeof wanted_text, "%" PRIu64, wanted->seed);
        status = tamis__redis_fail_differs(rf, "seed", stored_text, wanted_text, err);
    }
    if (status == TAMIS_OK)
        status = check_number(rf, "expect", stored->expect, wanted->plan_options.expect, err);
    if (status == TAMIS_OK)
        status = check_number(rf, "probes", stored->probes, wanted->plan_options.probes, err);
    if (status == TAMIS_OK && wanted->partition && stored->partition != blocks_for(wanted->partition))
        status = check_number(rf, "partition", (stored->partition + 1) * TAMIS__REDIS_BLOCK,
                              wanted->partition / TAMIS__REDIS_BLOCK * TAMIS__REDIS_BLOCK, err);
    if (status == TAMIS_OK && wanted->plan_options.fpr > 0 &&
        fabs(wanted->plan_options.fpr / stored->fpr - 1) > 1e-9) {
        snprintf(stored_text, sizeof stored_text, "%g", stored->fpr);
        snprintf(wanted_text, sizeof wanted_text, "%g", wanted->plan_options.fpr);
        status = tamis__redis_fail_differs(rf, "fpr", stored_text, wanted_text, err);
    }
    return status;
}

/* Maps text in UTF-8 to bytes, which is the same encoding. Bits above the low byte of the type are kept. */
static uint32_t without_utf8(uint32_t key_type) {
    return (key_type & 0xff) == TAMIS_KEYS_UTF8 ? key_type - TAMIS_KEYS_UTF8 + TAMIS_KEYS_BYTES : key_type;
}

/* True if the two types encode the same key differently. An unspecified type conflicts with none. */
static bool types_conflict(uint32_t a, uint32_t b) {
    return a != TAMIS_KEYS_UNSPECIFIED && b != TAMIS_KEYS_UNSPECIFIED && without_utf8(a) != without_utf8(b);
}

/* Without the secret, the hasher only describes the plan: adds and lookups fail. */
static tamis_status make_hasher(tamis_filter *filter, const tamis__parsed_plan *stored,
                                const tamis_redis_filter_options *options, tamis_error *err) {
    if (!stored->has_secret || stored->secret == 0 || options->secret_size > 0)
        return tamis__redis_set_up(filter, options, stored->seed, err);
    const tamis_status status = tamis__redis_uri_check_used(tamis__redis_of(filter)->uri, err);
    if (status != TAMIS_OK)
        return status;
    return tamis__hasher_create_locked(&filter->hasher, stored->secret, &filter->allocator, err);
}

/* Makes the hasher from the stored plan. An open handle keeps its hasher, since its owner may have made
 * hashes with it: TAMIS_E_MISMATCH if the plan needs another one. */
static tamis_status set_hasher(tamis_filter *filter, const tamis__parsed_plan *stored,
                               const tamis_redis_filter_options *options, tamis_error *err) {
    const tamis__redis_filter *rf = tamis__redis_of(filter);
    const tamis_hasher *have = filter->hasher;
    tamis_scheme scheme;
    tamis_status status = tamis_scheme_parse(&scheme, stored->scheme, NULL);
    if (status != TAMIS_OK || !tamis__has_scheme(scheme))
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "redis %s: %s: has scheme=%s, and layout tamis has xxh3, sip and guava64; use a "
                           "version of tamis that knows it, or drop the filter and build it again",
                           rf->redis->endpoint.shown, rf->uri->shown_name, tamis__show(stored->scheme).text);
    if (have && (have->scheme != scheme || have->seed != stored->seed ||
                 (stored->has_secret && have->secret_fingerprint != stored->secret) ||
                 types_conflict(filter->metadata.fields.key_type, stored->key_type)))
        return tamis__fail(
            err, TAMIS_E_MISMATCH, 0,
            "redis %s: %s: was replaced by one of another scheme, seed, secret or type of keys "
            "while it was open; open it again",
            rf->redis->endpoint.shown, rf->uri->shown_name);
    if (have)
        return TAMIS_OK;
    filter->plan.scheme = scheme;
    status = make_hasher(filter, stored, options, err);
    if (status == TAMIS_OK && stored->has_secret && filter->hasher->secret_fingerprint != stored->secret)
        return tamis__fail(err, TAMIS_E_SECRET, 0,
                           "redis %s: %s: was made with another secret; give that one",
                           rf->redis->endpoint.shown, rf->uri->shown);
    return status;
}

static void set_plan(tamis_filter *filter, const tamis__parsed_plan *stored) {
    tamis_plan *plan = &filter->plan;
    *plan = (tamis_plan)TAMIS_PLAN_INIT;
    plan->kind = TAMIS_KIND_BLOCKED;
    plan->scheme = filter->hasher->scheme;
    plan->capacity = stored->expect;
    plan->fpr = stored->fpr;
    plan->bits = stored->bits;
    plan->probes = (uint32_t)stored->probes;
    plan->fpr_predicted =
        tamis_blocked_fpr((double)stored->expect, (double)stored->bits, (double)stored->probes);
    plan->memory = stored->bits / 8;
    plan->bits_per_key = (double)stored->bits / (double)stored->expect;
    plan->lines_touched = 1;
    tamis__handle_set_partitions(filter, stored->generation, stored->partition);
}

/* Layout 1 writes the plan before the partitions, and this version does not finish a filter of layout 1. */
static tamis_status fail_unfinished(const tamis__redis_filter *rf, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_BUSY, 0,
                       "redis %s: %s: a client of layout 1 is making it, or was stopped while it did; wait "
                       "for it, or drop the filter and make it again",
                       rf->redis->endpoint.shown, rf->uri->shown_name);
}

/* Switches the handle to the filter with this config, if it agrees with the URI. After a failure the handle
 * is unchanged. */
static tamis_status apply_config(tamis_filter *filter, const tamis__config *config, const uri_options *wanted,
                                 const tamis_redis_filter_options *options, tamis_error *err) {
    const tamis__redis_filter *rf = tamis__redis_of(filter);
    tamis__tamis_state *state = tamis__tamis_of(rf);
    char ready[TAMIS__REDIS_STATE];
    tamis__parsed_plan stored;
    tamis_status status = tamis__plan_text_read(rf, config->plan, &stored, err);
    if (status == TAMIS_OK)
        tamis__state_write(stored.generation, ready);
    if (status == TAMIS_OK && stored.layout == 1 && strcmp(config->state, ready) != 0)
        status = fail_unfinished(rf, err);
    if (status == TAMIS_OK)
        status = check_uri_options(rf, &stored, wanted, err);
    if (status == TAMIS_OK)
        status = set_hasher(filter, &stored, options, err);
    if (status != TAMIS_OK)
        return status;
    set_plan(filter, &stored);
    filter->metadata.fields.key_type = stored.key_type;
    memcpy(state->plan_text, config->plan, sizeof state->plan_text);
    tamis__handle_set_target(rf, config->target, config->target_size);
    state->checked_ns = tamis__now_ns();
    return TAMIS_OK;
}

/* Makes the filter, unless another program made it first: then that one is used. */
static tamis_status create_filter(tamis_filter *filter, const uri_options *wanted,
                                  const tamis_redis_filter_options *options, tamis_error *err) {
    tamis__redis_filter *rf = tamis__redis_of(filter);
    tamis_plan_options plan_options = wanted->plan_options;
    uint64_t each = blocks_for(wanted->partition ? wanted->partition : TAMIS__PARTITION_DEFAULT);
    if (plan_options.fpr == 0)
        plan_options.fpr = 1e-6; /* default of tamis build */
    if (plan_options.scheme == TAMIS_SCHEME_AUTO && options->secret_size > 0)
        plan_options.scheme = TAMIS_SCHEME_SIP;
    tamis_status status = tamis_redis_plan_make(&filter->plan, &plan_options, err);
    if (status == TAMIS_OK && rf->is_family && filter->plan.memory > TAMIS__MEMBER_MAX)
        status = tamis__fail(err, TAMIS_E_RANGE, 0,
                             "%s: a member of the family would take %" PRIu64
                             " bytes, and may take %d; expect fewer, or choose a larger rate",
                             rf->uri->shown, filter->plan.memory, TAMIS__MEMBER_MAX);
    if (status != TAMIS_OK)
        return status;
    filter->plan.scheme = plan_options.scheme == TAMIS_SCHEME_AUTO ? TAMIS_SCHEME_XXH3 : plan_options.scheme;
    if (rf->is_family)
        each = tamis__blocks_of(filter->plan.bits);
    if (status == TAMIS_OK)
        status = tamis__partitions_check(filter, each, err);
    if (status == TAMIS_OK && !rf->is_family)
        status = tamis__server_memory_check(rf, filter->plan.memory, err);
    if (status == TAMIS_OK)
        status = tamis__redis_set_up(filter, options, wanted->seed, err);
    if (status != TAMIS_OK)
        return status;
    tamis__handle_set_partitions(filter, 0, each);
    filter->metadata.fields.key_type = options->key_type;
    status = tamis__push_new(filter, err);
    /* The filter may be another program's, with another key type and another hasher. */
    filter->metadata.fields.key_type = TAMIS_KEYS_UNSPECIFIED;
    tamis_hasher_free(filter->hasher);
    filter->hasher = NULL;
    return status;
}

tamis_status tamis__target_gone(const tamis__redis_filter *rf, const tamis__config *config,
                                tamis_error *err) {
    char target[TAMIS__REDIS_NAME + 1];
    memcpy(target, config->target, config->target_size);
    target[config->target_size] = '\0';
    return tamis__fail(err, TAMIS_E_NOT_FOUND, 0,
                       "redis %s: %s: is an alias of %s, which does not exist; build that filter, or give "
                       "the alias another target",
                       rf->redis->endpoint.shown, rf->uri->shown_name, tamis__show(target).text);
}

static tamis_status fail_absent(const tamis__redis_filter *rf, const tamis_redis_filter_options *options,
                                tamis_error *err) {
    return tamis__fail(err, TAMIS_E_NOT_FOUND, 0, "redis %s: %s: there is no such filter; %s",
                       rf->redis->endpoint.shown, rf->uri->shown_name,
                       options->create ? "give expect=N and fpr=RATE, and it is made"
                                       : "check the name, or build it");
}

/* Finds out by a step that writes nothing whether scripts are allowed: adds that renew the expiry use
 * them. */
static tamis_status probe_scripts(const tamis__redis_filter *rf, tamis_error *err) {
    char name[TAMIS__REDIS_KEY];
    tamis__step step = {.key_count = 0};
    if (rf->ttl_ms == 0 || !(rf->renews_on_add || rf->is_family))
        return TAMIS_OK;
    (void)tamis__plan_add_condition(rf, &step, tamis__tamis_of(rf)->plan_text, name);
    return tamis__step_run(rf, &step, &(bool){false}, err);
}

tamis_status tamis__handle_open(tamis_filter *filter, const tamis_redis_filter_options *options,
                                tamis_error *err) {
    tamis__redis_filter *rf = tamis__redis_of(filter);
    tamis__config config;
    uri_options wanted;
    tamis_status status = read_uri_options(rf, &wanted, err);
    if (status == TAMIS_OK)
        status = tamis__redis_uri_check_used(rf->uri, err);
    if (status == TAMIS_OK)
        status = tamis__config_seek(rf, &config, err);
    if (status != TAMIS_OK)
        return status;
    if (!*config.plan && config.target_size > 0 && !(options->create && wanted.plan_options.expect))
        return tamis__target_gone(rf, &config, err);
    if (!*config.plan && !(options->create && wanted.plan_options.expect))
        return fail_absent(rf, options, err);
    if (!*config.plan) {
        tamis__handle_set_target(rf, config.target, config.target_size);
        status = create_filter(filter, &wanted, options, err);
        if (status == TAMIS_OK)
            status = tamis__config_seek(rf, &config, err);
    }
    if (status == TAMIS_OK && !*config.plan)
        status = tamis__fail(
            err, TAMIS_E_NOT_FOUND, 0,
            "redis %s: %s: was dropped, or expired, right after it was made; see who does that, and "
            "run again",
            rf->redis->endpoint.shown, rf->uri->shown_name);
    if (status == TAMIS_OK)
        status = apply_config(filter, &config, &wanted, options, err);
    return status == TAMIS_OK ? probe_scripts(rf, err) : status;
}

tamis_status tamis__uri_options_check(tamis__redis_filter *rf, tamis_error *err) {
    uri_options wanted;
    const tamis_status status = read_uri_options(rf, &wanted, err);
    return status == TAMIS_OK ? tamis__redis_uri_check_used(rf->uri, err) : status;
}

tamis_status tamis__handle_set_config(tamis_filter *filter, const tamis__config *config, tamis_error *err) {
    const tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    uri_options wanted;
    const tamis_status status = read_uri_options(tamis__redis_of(filter), &wanted, err);
    return status == TAMIS_OK ? apply_config(filter, config, &wanted, &options, err) : status;
}

tamis_status tamis__partitions_choose(tamis_filter *filter, const tamis__parsed_plan *old, tamis_error *err) {
    tamis__redis_filter *rf = tamis__redis_of(filter);
    const tamis_plan *plan = &filter->plan;
    tamis__parsed_plan chosen = {
        .seed = filter->hasher->seed, .expect = plan->capacity, .probes = plan->probes, .fpr = plan->fpr};
    uri_options wanted;
    tamis_status status = read_uri_options(rf, &wanted, err);
    if (status == TAMIS_OK)
        status = tamis__redis_uri_check_used(rf->uri, err);
    if (status != TAMIS_OK)
        return status;
    chosen.partition = old ? old->partition : blocks_for(TAMIS__PARTITION_DEFAULT);
    if (wanted.partition)
        chosen.partition = blocks_for(wanted.partition);
    if (chosen.partition > TAMIS__PARTITION_BLOCKS) /* layout 1 allows larger ones */
        chosen.partition = TAMIS__PARTITION_BLOCKS;
    snprintf(chosen.scheme, sizeof chosen.scheme, "%s", tamis_scheme_name(plan->scheme));
    status = check_uri_options(rf, &chosen, &wanted, err);
    if (status == TAMIS_OK)
        status = tamis__partitions_check(filter, chosen.partition, err);
    if (status == TAMIS_OK)
        tamis__handle_set_partitions(filter, 0, chosen.partition);
    return status;
}

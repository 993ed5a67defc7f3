/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Layout redisson: the format of Redisson's RBloomFilter with its StringCodec, of releases 2.11.0 and
 * 3.6.0 or later (org.redisson.RedissonBloomFilter):
 *
 *     NAME             bitmap of `size` bits, positions of scheme redisson
 *     {NAME}:config    hash: size, hashIterations, expectedInsertions, falseProbability;
 *                      NAME:config if NAME has a brace
 *
 * Redisson creates the hash by one script if it is missing. Each of its later scripts checks size and
 * hashIterations, and fails if they have changed. This file does the same, except that the check follows
 * each batch, in the same pipeline.
 *
 * The number of bits and probes follow Redisson's rules from expectedInsertions and falseProbability. A
 * stored hash whose numbers disagree with these rules is refused: with a wrong size, lookups would answer
 * wrongly that keys are absent.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/versioned.h"
#include "plan/plan_int.h"
#include "store/file/file_error.h"
#include "store/redis/layout/layout_bitmap.h"

#define BITS_MAX UINT64_C(4294967294) /* Redisson's own limit */

enum { NUMBER = 32, FIELDS = 4 };

/* ---- the config hash ---- */

static size_t config_name(const tamis__redis_filter *rf, char *to) {
    const char *name = rf->uri->name;
    const size_t size = rf->uri->name_size;
    const bool has_tag = memchr(name, '{', size) != NULL;
    size_t used = 0;
    if (!has_tag)
        to[used++] = '{';
    memcpy(to + used, name, size);
    used += size;
    if (!has_tag)
        to[used++] = '}';
    memcpy(to + used, ":config", 7);
    return used + 7;
}

/* The fields of the hash as text; a missing field is "". */
typedef struct config {
    const tamis__redis_filter *rf;
    char size[NUMBER], probes[NUMBER], expect[NUMBER], fpr[NUMBER];
} config;

void tamis__redisson_put_query(tamis__connection *conn, const char *name, size_t size) {
    static const char *const fields[FIELDS] = {"size", "hashIterations", "expectedInsertions",
                                               "falseProbability"};
    tamis__connection_put_command(conn, 2 + FIELDS);
    tamis__connection_put_text(conn, "HMGET");
    tamis__connection_put(conn, name, size);
    for (int j = 0; j < FIELDS; j++)
        tamis__connection_put_text(conn, fields[j]);
}

static bool put_config_query(void *context, size_t i, tamis__connection *conn) {
    const config *stored = context;
    char name[TAMIS__REDIS_KEY];
    const size_t size = config_name(stored->rf, name);
    (void)i;
    tamis__redisson_put_query(conn, name, size);
    return true;
}

static tamis_status accept_config(void *context, size_t i, const tamis__reply *reply, bool resent,
                                  tamis_error *err) {
    config *stored = context;
    char *const to[FIELDS] = {stored->size, stored->probes, stored->expect, stored->fpr};
    (void)i;
    (void)resent;
    if (reply->type != TAMIS__REPLY_ARRAY || reply->size != FIELDS)
        return tamis__redis_filter_bad_reply(stored->rf, err);
    for (int j = 0; j < FIELDS; j++) {
        const tamis__reply *item = &reply->items[j];
        if (item->type != TAMIS__REPLY_NIL && item->type != TAMIS__REPLY_STRING)
            return tamis__redis_filter_bad_reply(stored->rf, err);
        /* A value that is too long is cut. It is out of its bounds before and after. */
        snprintf(to[j], NUMBER, "%s", item->type == TAMIS__REPLY_STRING ? item->text : "");
    }
    return TAMIS_OK;
}

static uint32_t slot_of_config(void *context, size_t i) {
    const config *stored = context;
    char name[TAMIS__REDIS_KEY];
    (void)i;
    return tamis__redis_slot(stored->rf->redis, name, config_name(stored->rf, name));
}

static tamis_status read_config(const tamis__redis_filter *rf, config *stored, tamis_error *err) {
    const tamis__requests requests = {.count = 1,
                                      .context = stored,
                                      .put_command = put_config_query,
                                      .accept_reply = accept_config,
                                      .what = rf->uri->shown_name,
                                      .slot = slot_of_config};
    stored->rf = rf;
    return tamis__requests_run(rf->redis, &requests, NULL, err);
}

static bool is_there(const config *stored) {
    return *stored->size || *stored->probes || *stored->expect || *stored->fpr;
}

/* ---- options of the URI ---- */

typedef struct uri_options {
    uint64_t expect, size, probes; /* 0: not given */
    double fpr;
} uri_options;

static tamis_status read_uri_options(tamis__redis_filter *rf, uri_options *wanted, tamis_error *err) {
    *wanted = (uri_options){0};
    tamis_status status = tamis__redis_uri_count(rf->uri, "expect", (tamis__count_range){1, TAMIS_EXPECT_MAX},
                                                 &wanted->expect, err);
    if (status == TAMIS_OK)
        status = tamis__redis_uri_rate(rf->uri, "fpr", &wanted->fpr, err);
    if (status == TAMIS_OK)
        status =
            tamis__redis_uri_count(rf->uri, "bits", (tamis__count_range){1, BITS_MAX}, &wanted->size, err);
    if (status == TAMIS_OK)
        status = tamis__redis_uri_count(rf->uri, "probes", (tamis__count_range){1, TAMIS_PROBES_MAX},
                                        &wanted->probes, err);
    return status == TAMIS_OK ? tamis__redis_uri_check_used(rf->uri, err) : status;
}

/* ---- making a filter ---- */

/* With a time to live the script also creates the bitmap, so that both Redis keys get the same expiry. */
static const char make_script[] = "if redis.call('exists', KEYS[1]) == 1 then return 0 end "
                                  "for i, field in ipairs({'size', 'hashIterations', 'expectedInsertions', "
                                  "'falseProbability'}) do redis.call('hset', KEYS[1], field, ARGV[i]) end "
                                  "if ARGV[5] ~= '0' then "
                                  "redis.call('setbit', KEYS[2], 0, redis.call('getbit', KEYS[2], 0)) "
                                  "redis.call('pexpire', KEYS[1], ARGV[5]) "
                                  "redis.call('pexpire', KEYS[2], ARGV[5]) end "
                                  "return 1";

/* Writes the shortest decimal that reads as the same number. */
static void print_rate(char to[NUMBER], double rate) {
    for (int digits = 1; digits <= 17; digits++) {
        tamis__write_digits(to, NUMBER, digits, rate);
        if (tamis__read_decimal(to, NULL) == rate)
            break;
    }
}

/* Computes the fields by Redisson's rules. */
static tamis_status write_config(config *to, const uri_options *wanted, tamis_error *err) {
    const tamis__redis_filter *rf = to->rf;
    const double n = (double)wanted->expect, size = floor(tamis_bloom_bits(n, wanted->fpr));
    if (size < 1 || size > (double)BITS_MAX)
        return tamis__fail(
            err, TAMIS_E_RANGE, 0,
            "%s: expect=%" PRIu64 " and fpr=%g come to %.0f bits, and Redisson has filters of 1 to "
            "%" PRIu64 "; %s",
            rf->uri->shown, wanted->expect, wanted->fpr, size, BITS_MAX,
            size < 1 ? "expect more, or choose a smaller rate" : "expect fewer, or choose a larger rate");
    const uint32_t k = tamis_bloom_probes(n, size);
    if (k > TAMIS_PROBES_MAX)
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "%s: fpr=%g takes %" PRIu32 " probes, more than %d; choose a larger rate",
                           rf->uri->shown, wanted->fpr, k, TAMIS_PROBES_MAX);
    snprintf(to->size, NUMBER, "%.0f", size);
    snprintf(to->probes, NUMBER, "%" PRIu32, k);
    snprintf(to->expect, NUMBER, "%" PRIu64, wanted->expect);
    print_rate(to->fpr, wanted->fpr);
    return TAMIS_OK;
}

/* If two programs do this at once, the first one creates the hash, and the script of the other does
 * nothing. */
static tamis_status make_config(tamis__redis_filter *rf, const config *wanted_config, tamis_error *err) {
    char config_key[TAMIS__REDIS_KEY], ttl[NUMBER];
    const tamis_key words[] = {
        {"EVAL", 4},
        {make_script, sizeof make_script - 1},
        {"2", 1},
        {config_key, config_name(rf, config_key)},
        {rf->uri->name, rf->uri->name_size},
        tamis__redis_word(wanted_config->size),
        tamis__redis_word(wanted_config->probes),
        tamis__redis_word(wanted_config->expect),
        tamis__redis_word(wanted_config->fpr),
        {ttl, (size_t)snprintf(ttl, sizeof ttl, "%" PRIu64, rf->ttl_ms)},
    };
    return tamis__redis_command(rf, words, sizeof words / sizeof *words, NULL, err);
}

/* ---- reading a stored filter ---- */

static tamis_status check_number(const tamis__redis_filter *rf, const char *what, const char *stored,
                                 uint64_t requested, tamis_error *err) {
    char text[NUMBER];
    snprintf(text, sizeof text, "%" PRIu64, requested);
    return requested == 0 || strcmp(text, stored) == 0
               ? TAMIS_OK
               : tamis__redis_fail_differs(rf, what, stored, text, err);
}

static tamis_status check_uri_options(const tamis__redis_filter *rf, const config *stored, double fpr,
                                      const uri_options *wanted, tamis_error *err) {
    char text[NUMBER];
    tamis_status status = check_number(rf, "expectedInsertions", stored->expect, wanted->expect, err);
    if (status == TAMIS_OK)
        status = check_number(rf, "size", stored->size, wanted->size, err);
    if (status == TAMIS_OK)
        status = check_number(rf, "hashIterations", stored->probes, wanted->probes, err);
    if (status != TAMIS_OK || wanted->fpr == 0 || fabs(fpr - wanted->fpr) <= 1e-9 * wanted->fpr)
        return status;
    print_rate(text, wanted->fpr);
    return tamis__redis_fail_differs(rf, "falseProbability", stored->fpr, text, err);
}

/* Parses a number without leading zeros: Redisson's own script compares the fields as text. */
static bool read_plain(const char *text, uint64_t max, uint64_t *out) {
    return *text != '0' && tamis__read_number(text, max, out);
}

static tamis_status read_plan(const tamis__redis_filter *rf, const config *stored, tamis_plan *plan,
                              tamis_error *err) {
    uint64_t size = 0, probes = 0, expect = 0;
    char *end;
    const double fpr = tamis__read_decimal(stored->fpr, &end);
    if (!read_plain(stored->size, BITS_MAX, &size) ||
        !read_plain(stored->probes, TAMIS_PROBES_MAX, &probes) ||
        !read_plain(stored->expect, TAMIS_EXPECT_MAX, &expect) || end == stored->fpr || *end ||
        !(fpr >= 0 && fpr <= 1))
        return tamis__fail(
            err, TAMIS_E_DAMAGED, 0,
            "redis %s: %s: its config is not Redisson's (size '%s', "
            "hashIterations '%s', expectedInsertions '%s', falseProbability '%s'), or past what "
            "tamis can do (%" PRIu64 " bits, %d probes); restore it, or name another filter",
            rf->redis->endpoint.shown, rf->uri->shown_name, tamis__show(stored->size).text,
            tamis__show(stored->probes).text, tamis__show(stored->expect).text, tamis__show(stored->fpr).text,
            BITS_MAX, TAMIS_PROBES_MAX);
    /* A tolerance of 1 bit, since the logarithms of two libraries may differ in their last bit. */
    const double by_rule = floor(tamis_bloom_bits((double)expect, fpr));
    if (!(fabs((double)size - by_rule) <= 1) || probes != tamis_bloom_probes((double)expect, (double)size))
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "redis %s: %s: its config contradicts itself: expectedInsertions %" PRIu64
                           " and falseProbability %g come to size %.0f and hashIterations %" PRIu32
                           ", and it says %" PRIu64 " and %" PRIu64 "; restore it, or name another filter",
                           rf->redis->endpoint.shown, rf->uri->shown_name, expect, fpr, by_rule,
                           tamis_bloom_probes((double)expect, by_rule), size, probes);
    plan->kind = TAMIS_KIND_CLASSIC;
    plan->scheme = TAMIS_SCHEME_REDISSON;
    plan->capacity = expect;
    plan->fpr = fpr;
    plan->bits = size;
    plan->probes = (uint32_t)probes;
    plan->fpr_predicted = tamis__classic_fpr(plan->scheme, (double)expect, (double)size, (double)probes);
    plan->memory = (size + 7) / 8;
    plan->bits_per_key = 8 * (double)plan->memory / (double)expect;
    plan->lines_touched = (double)probes;
    return TAMIS_OK;
}

tamis_status tamis__redisson_read_plan(const tamis__redis_filter *rf, const tamis__reply *reply,
                                       tamis_plan *plan, bool *is_here, tamis_error *err) {
    config stored = {.rf = rf};
    const tamis_status status = accept_config(&stored, 0, reply, false, err);
    *is_here = is_there(&stored);
    return status == TAMIS_OK && *is_here ? read_plan(rf, &stored, plan, err) : status;
}

/* makes: a filter that is missing is made; else only planned. */
static tamis_status open_or_plan(tamis_filter *filter, const tamis_redis_filter_options *options, bool makes,
                                 tamis_error *err) {
    tamis__redis_filter *rf = tamis__redis_of(filter);
    uri_options wanted;
    config stored;
    rf->keys = 1;
    if (rf->servers > 1) /* scripts use both Redis keys, so they must be on one server */
        return tamis__fail(
            err, TAMIS_E_INVALID, 0,
            "%s: layout redisson is not for servers that know nothing of each other; name one, "
            "or a cluster",
            rf->uri->shown);
    if (rf->redis->slot_count > 1 && slot_of_config(&(config){.rf = rf}, 0) != tamis__redis_key_slot(rf, 0))
        return tamis__fail(
            err, TAMIS_E_INVALID, 0,
            "%s: a cluster keeps its bits and its config in two places, since the name has a brace "
            "and no tag; choose one without braces, or with a tag as in a{b}c",
            rf->uri->shown);
    tamis_status status = read_uri_options(rf, &wanted, err);
    const bool can_make = options->create && wanted.expect && wanted.fpr > 0;
    if (status == TAMIS_OK)
        status = read_config(rf, &stored, err);
    if (status == TAMIS_OK && !is_there(&stored) && can_make) {
        status = write_config(&stored, &wanted, err);
        if (status == TAMIS_OK && makes)
            status = make_config(rf, &stored, err);
        if (status == TAMIS_OK && makes)
            status = read_config(rf, &stored, err);
    }
    if (status == TAMIS_OK && !is_there(&stored))
        return tamis__fail(
            err, TAMIS_E_NOT_FOUND, 0, "redis %s: %s: there is no such filter of Redisson's; %s",
            rf->redis->endpoint.shown, rf->uri->shown_name,
            options->create ? "give expect=N and fpr=RATE, and it is made" : "check the name, or make it");
    if (status == TAMIS_OK)
        status = read_plan(rf, &stored, &filter->plan, err);
    if (status == TAMIS_OK)
        status = check_uri_options(rf, &stored, filter->plan.fpr, &wanted, err);
    return status == TAMIS_OK ? tamis__redis_set_up(filter, options, 0, err) : status;
}

static tamis_status open(tamis_filter *filter, const tamis_redis_filter_options *options, tamis_error *err) {
    return open_or_plan(filter, options, true, err);
}

static tamis_status open_plan(tamis_filter *filter, tamis_error *err) {
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    options.create = true;
    return open_or_plan(filter, &options, false, err);
}

/* ---- elements ---- */

static size_t key_name(const tamis__redis_filter *rf, uint32_t key, char *to) {
    (void)key;
    memcpy(to, rf->uri->name, rf->uri->name_size);
    return rf->uri->name_size;
}

/* ---- checks: the config hash, and its expiry ---- */

static size_t check_count(const tamis_filter *filter) {
    (void)filter;
    return 2;
}

static bool check_query(const tamis_filter *filter, const tamis__touched *batch, size_t i,
                        tamis__connection *conn) {
    const tamis__redis_filter *rf = tamis__redis_of(filter);
    char name[TAMIS__REDIS_KEY];
    if (i == 0) {
        config stored = {.rf = rf};
        return put_config_query(&stored, 0, conn);
    }
    if (!batch->adds || rf->ttl_ms == 0 || !rf->renews_on_add)
        return false;
    tamis__connection_put_expire(conn, name, config_name(rf, name), rf->ttl_ms);
    return true;
}

static uint32_t check_slot(const tamis_filter *filter, const tamis__touched *batch, size_t i) {
    config stored = {.rf = tamis__redis_of(filter)};
    (void)batch;
    return slot_of_config(&stored, i);
}

static tamis_status accept_check_reply(const tamis_filter *filter, size_t i, const tamis__reply *reply,
                                       tamis_error *err) {
    const tamis__redis_filter *rf = tamis__redis_of(filter);
    config stored = {.rf = rf};
    uint64_t size, probes;
    if (i > 0)
        return reply->type == TAMIS__REPLY_INTEGER ? TAMIS_OK : tamis__redis_filter_bad_reply(rf, err);
    const tamis_status status = accept_config(&stored, 0, reply, false, err);
    if (status != TAMIS_OK)
        return status;
    if (!is_there(&stored))
        return tamis__fail(
            err, TAMIS_E_NOT_FOUND, 0,
            "redis %s: %s: was deleted, or expired, while it was open, or its server was started again "
            "without its data; open it again",
            rf->redis->endpoint.shown, rf->uri->shown_name);
    if (read_plain(stored.size, UINT64_MAX, &size) && size == filter->plan.bits &&
        read_plain(stored.probes, UINT64_MAX, &probes) && probes == filter->plan.probes)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "redis %s: %s: its config was changed while it was open; open it again",
                       rf->redis->endpoint.shown, rf->uri->shown_name);
}

/* ---- statistics and clear ---- */

/* Adds to the rate that probes of an element may repeat a position. */
static tamis_status estimate(const tamis_filter *filter, tamis_filter_info *info, tamis_error *err) {
    const double m = (double)filter->plan.bits;
    const tamis_status status =
        tamis__redis_estimate(filter, &(tamis__bit_spread){1, m, filter->plan.bits}, info, err);
    if (status == TAMIS_OK)
        info->fpr_live =
            fmin(info->fpr_live + tamis__scheme_repeats(filter->plan.scheme, (double)info->ones / m, m,
                                                        filter->plan.probes),
                 1);
    return status;
}

/* Deletes the bits only, and keeps their expiry. */
static tamis_status clear(tamis_filter *filter, tamis_error *err) {
    static const char script[] = "local left = redis.call('pttl', KEYS[1]) redis.call('del', KEYS[1]) "
                                 "if left > 0 then redis.call('setbit', KEYS[1], 0, 0) "
                                 "redis.call('pexpire', KEYS[1], left) end return 0";
    tamis__redis_filter *rf = tamis__redis_of(filter);
    const tamis_key words[] = {
        {"EVAL", 4}, {script, sizeof script - 1}, {"1", 1}, {rf->uri->name, rf->uri->name_size}};
    return tamis__redis_command(rf, words, sizeof words / sizeof *words, NULL, err);
}

const tamis__layout tamis__layout_redisson = {.name = "redisson",
                                              .has_capacity = true,
                                              .has_servers = true,
                                              .state_size = sizeof(tamis__bitmap_state),
                                              .open = open,
                                              .open_plan = open_plan,
                                              .locate = tamis__redis_locate,
                                              .key_name = key_name,
                                              .config_name = config_name,
                                              .check_count = check_count,
                                              .check_query = check_query,
                                              .check_slot = check_slot,
                                              .accept_check_reply = accept_check_reply,
                                              .refresh = tamis__redis_check_length,
                                              .bytes_in = tamis__redis_bytes_in,
                                              .estimate = estimate,
                                              .clear = clear};

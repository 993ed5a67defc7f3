/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The plan of a filter of layout tamis as text, as in field plan of its hash (docs/REDIS-LAYOUT.md, Plan):
 *
 *     layout=2 kind=blocked scheme=xxh3 seed=7 bits=15360 probes=5 partition=20 expect=1000 fpr=0.01
 *     generation=00000000c0ffee00                                        (one line, one space between)
 *
 * A plan is compared as text, byte by byte. The parser accepts the words in any order and ignores words
 * that it does not know: they are of later versions. It refuses a plan that lacks a word, has a value out
 * of its bounds, or contradicts itself: with wrong parameters, lookups would answer wrongly.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "store/file/file_error.h"
#include "store/redis/layout/layout_tamis.h"

enum { BLOCK_BITS = 8 * TAMIS__REDIS_BLOCK };

static const char *kind_name(const tamis__redis_filter *rf) {
    return rf->is_family ? "family" : "blocked";
}

/* Words for tamis_key_type; types of later versions are written as numbers. */
static const char *const key_types[] = {
    [TAMIS_KEYS_BYTES] = "bytes", [TAMIS_KEYS_UTF8] = "utf8",   [TAMIS_KEYS_UTF16] = "utf16",
    [TAMIS_KEYS_INT32] = "int32", [TAMIS_KEYS_INT64] = "int64",
};

enum { KEY_TYPES = sizeof key_types / sizeof *key_types, KEY_TYPE_TEXT = 24 };

static void write_key_type(uint32_t type, char to[KEY_TYPE_TEXT]) {
    if (type == TAMIS_KEYS_UNSPECIFIED)
        *to = '\0';
    else if (type < KEY_TYPES)
        snprintf(to, KEY_TYPE_TEXT, " type=%s", key_types[type]);
    else
        snprintf(to, KEY_TYPE_TEXT, " type=%" PRIu32, type);
}

static uint32_t read_key_type(const char *text) {
    const size_t digits = strspn(text, "0123456789");
    for (uint32_t type = 1; type < KEY_TYPES; type++)
        if (strcmp(text, key_types[type]) == 0)
            return type;
    if (digits > 0 && digits < 10 && !text[digits] && strtoul(text, NULL, 10) >= KEY_TYPES)
        return (uint32_t)strtoul(text, NULL, 10);
    return UINT32_MAX;
}

void tamis__plan_text_write(const tamis_filter *filter, const tamis__partitions *partitions,
                            char to[TAMIS__REDIS_PLAN]) {
    const tamis_plan *plan = &filter->plan;
    char secret[32] = "", fpr[32], type[KEY_TYPE_TEXT];
    write_key_type(filter->metadata.fields.key_type, type);
    tamis__write_decimal(fpr, sizeof fpr, plan->fpr);
    if (plan->scheme == TAMIS_SCHEME_SIP)
        snprintf(secret, sizeof secret, " secret=%016" PRIx64, filter->hasher->secret_fingerprint);
    snprintf(to, TAMIS__REDIS_PLAN,
             "layout=2 kind=%s scheme=%s seed=%" PRIu64 "%s bits=%" PRIu64 " probes=%" PRIu32
             " partition=%" PRIu64 " expect=%" PRIu64 " fpr=%s generation=%016" PRIx64 "%s",
             kind_name(partitions->rf), tamis_scheme_name(plan->scheme), filter->hasher->seed, secret,
             plan->bits, plan->probes, partitions->each, plan->capacity, fpr, partitions->generation, type);
}

enum { HEX_DIGITS = 16, WHY = 200 };

/* Accepts exactly 16 digits in lower case: another spelling would give other names of Redis keys. */
static bool read_hex(const char *text, uint64_t *out) {
    if (strspn(text, "0123456789abcdef") != HEX_DIGITS || text[HEX_DIGITS])
        return false;
    *out = strtoull(text, NULL, 16);
    return true;
}

/* A word whose value is a number; it is hexadecimal if `max` is 0. */
typedef struct number {
    const char *name;
    size_t to; /* offset in tamis__parsed_plan */
    uint64_t min, max;
} number;

static const number numbers[] = {
    {.name = "layout", .to = offsetof(tamis__parsed_plan, layout), .min = 1, .max = 2},
    {.name = "seed", .to = offsetof(tamis__parsed_plan, seed), .min = 0, .max = UINT64_MAX},
    {.name = "secret", .to = offsetof(tamis__parsed_plan, secret), .min = 0, .max = 0},
    {.name = "bits", .to = offsetof(tamis__parsed_plan, bits), .min = BLOCK_BITS, .max = TAMIS_BITS_MAX},
    {.name = "probes", .to = offsetof(tamis__parsed_plan, probes), .min = 1, .max = TAMIS_PROBES_MAX},
    {.name = "partition",
     .to = offsetof(tamis__parsed_plan, partition),
     .min = 1,
     .max = TAMIS__PARTITION_MAX / TAMIS__REDIS_BLOCK - 1},
    {.name = "expect", .to = offsetof(tamis__parsed_plan, expect), .min = 1, .max = TAMIS_EXPECT_MAX},
    {.name = "generation", .to = offsetof(tamis__parsed_plan, generation), .min = 0, .max = 0}};

enum { NUMBERS = sizeof numbers / sizeof *numbers, SECRET = 2 /* index of the only optional number */ };

static bool read_number(tamis__parsed_plan *plan, const number *spec, const char *value, char why[WHY]) {
    uint64_t *to = (uint64_t *)(void *)((char *)plan + spec->to);
    const tamis__shown shown = tamis__show(value);
    if (spec->max == 0 ? read_hex(value, to) : tamis__read_number(value, spec->max, to) && *to >= spec->min)
        return true;
    if (spec->max == 0)
        snprintf(why, WHY, "has %s=%.40s, and takes 16 digits of 0 to 9 and a to f", spec->name, shown.text);
    else if (spec->max == spec->min)
        snprintf(why, WHY, "has %s=%.40s, and takes %" PRIu64, spec->name, shown.text, spec->max);
    else
        snprintf(why, WHY, "has %s=%.40s, and takes %" PRIu64 " to %" PRIu64, spec->name, shown.text,
                 spec->min, spec->max);
    return false;
}

/* Parses one word. Unknown words are ignored: a later version wrote them. */
static bool read_word(tamis__parsed_plan *plan, const char *name, const char *value, char why[WHY]) {
    for (size_t i = 0; i < NUMBERS; i++)
        if (strcmp(name, numbers[i].name) == 0) {
            plan->words |= 1u << i;
            plan->has_secret = plan->has_secret || i == SECRET;
            return read_number(plan, &numbers[i], value, why);
        }
    if (strcmp(name, "fpr") == 0) {
        char *end;
        plan->fpr = tamis__read_decimal(value, &end);
        if (*end || end == value || !(plan->fpr > 0 && plan->fpr < 1)) {
            snprintf(why, WHY, "has fpr=%.40s, and takes a rate between 0 and 1", tamis__show(value).text);
            return false;
        }
    }
    if (strcmp(name, "kind") == 0) {
        plan->is_family = strcmp(value, "family") == 0;
        plan->blocked = plan->is_family || strcmp(value, "blocked") == 0;
        if (!plan->blocked) {
            snprintf(why, WHY, "has kind=%.40s, and takes blocked or family", tamis__show(value).text);
            return false;
        }
    }
    if (strcmp(name, "type") == 0)
        plan->key_type = read_key_type(value);
    if (strcmp(name, "scheme") == 0)
        snprintf(plan->scheme, sizeof plan->scheme, "%s", value);
    return true;
}

/* Checks that no word is missing and that the words agree with each other. */
static bool is_whole(const tamis__parsed_plan *plan, char why[WHY]) {
    const char *missing = !plan->blocked ? "kind" : !*plan->scheme ? "scheme" : plan->fpr > 0 ? NULL : "fpr";
    for (size_t i = NUMBERS; i-- > 0;)
        if (i != SECRET && !(plan->words & 1u << i))
            missing = numbers[i].name;
    const bool is_sip = strcmp(plan->scheme, tamis_scheme_name(TAMIS_SCHEME_SIP)) == 0;
    if (missing)
        snprintf(why, WHY, "has no word %s", missing);
    else if (plan->bits % BLOCK_BITS != 0)
        snprintf(why, WHY, "has bits=%" PRIu64 ", and takes a multiple of %d", plan->bits, BLOCK_BITS);
    else if ((plan->bits / BLOCK_BITS - 1) / plan->partition >= TAMIS__PARTITIONS_MAX)
        snprintf(why, WHY, "has bits=%" PRIu64 " and partition=%" PRIu64 ", which is more than %d partitions",
                 plan->bits, plan->partition, TAMIS__PARTITIONS_MAX);
    else if (plan->is_family && plan->partition != plan->bits / BLOCK_BITS)
        snprintf(why, WHY, "has partition=%" PRIu64 ", and of a family of bits=%" PRIu64 " takes %" PRIu64,
                 plan->partition, plan->bits, plan->bits / BLOCK_BITS);
    else if (plan->layout == 2 && !plan->is_family && plan->partition > TAMIS__PARTITION_BLOCKS)
        snprintf(why, WHY, "has partition=%" PRIu64 ", and of layout 2 takes 1 to %d", plan->partition,
                 TAMIS__PARTITION_BLOCKS);
    else if (plan->has_secret != is_sip)
        snprintf(why, WHY, "has scheme=%.20s and %s word secret", tamis__show(plan->scheme).text,
                 is_sip ? "no" : "a");
    else
        return true;
    return false;
}

static bool read_plan(tamis__parsed_plan *plan, const char *text, char why[WHY]) {
    char copy[TAMIS__REDIS_PLAN], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", text);
    *plan = (tamis__parsed_plan){0};
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        if (!value)
            continue;
        *value++ = '\0';
        if (!read_word(plan, word, value, why))
            return false;
    }
    return is_whole(plan, why);
}

bool tamis__plan_text_parse(tamis__parsed_plan *plan, const char *text) {
    char why[WHY];
    return read_plan(plan, text, why);
}

tamis_status tamis__plan_text_read_field(const tamis__redis_filter *rf, const char *field, const char *text,
                                         tamis__parsed_plan *plan, tamis_error *err) {
    char why[WHY];
    if (!read_plan(plan, text, why))
        return tamis__fail(
            err, TAMIS_E_DAMAGED, 0,
            "redis %s: %s: its field %s is not a plan of layout 1 or 2: it %s; use a version of tamis that "
            "knows that, restore it, or drop the filter and build it again",
            rf->redis->endpoint.shown, rf->uri->shown_name, field, why);
    if (plan->is_family == rf->is_family)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_MISMATCH, 0, "redis %s: %s: is %s; %s", rf->redis->endpoint.shown,
                       rf->uri->shown_name,
                       rf->is_family ? "one filter, and no family" : "a family of filters",
                       rf->is_family ? "choose another name"
                                     : "add and check take it, with {1} and so on where its name has *");
}

tamis_status tamis__plan_text_read(const tamis__redis_filter *rf, const char *text, tamis__parsed_plan *plan,
                                   tamis_error *err) {
    return tamis__plan_text_read_field(rf, "plan", text, plan, err);
}

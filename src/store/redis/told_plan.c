/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/redis/layout_tamis.h"
#include "store/redis/redis_decimal.h"
#include "store/trouble.h"

enum { BLOCK_BITS = 8 * TAMIS__REDIS_BLOCK };

static const char *kind_of(const tamis__redis_filter *at) {
    return at->is_family ? "family" : "blocked";
}

void tamis__told_write(const tamis_filter *filter, char to[TAMIS__REDIS_PLAN]) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    const tamis_plan *plan = &filter->plan;
    char secret[32] = "", fpr[32];
    tamis__redis_write_decimal(fpr, sizeof fpr, plan->fpr);
    if (plan->scheme == TAMIS_SCHEME_SIP)
        snprintf(secret, sizeof secret, " secret=%016" PRIx64, filter->hasher->secret_print);
    snprintf(to, TAMIS__REDIS_PLAN,
             "layout=1 kind=%s scheme=%s seed=%" PRIu64 "%s bits=%" PRIu64 " probes=%" PRIu32
             " partition=%" PRIu64 " expect=%" PRIu64 " fpr=%s generation=%016" PRIx64,
             kind_of(at), tamis_scheme_name(plan->scheme), at->seed, secret, plan->bits, plan->probes,
             at->partition, plan->capacity, fpr, at->generation);
}

enum { HEX_DIGITS = 16 };

/* Just 16 digits in lower case: what is spelled otherwise would name other Redis keys. */
static bool read_hex(const char *text, uint64_t *out) {
    if (strspn(text, "0123456789abcdef") != HEX_DIGITS || text[HEX_DIGITS])
        return false;
    *out = strtoull(text, NULL, 16);
    return true;
}

/* Numbers of the table below; secret alone may be missing. */
enum { SECRET = 2, ALL_WORDS = (1 << 8) - 1 };

static bool read_word(tamis__told *plan, char *name, char *value) {
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
        if (strcmp(name, numbers[i].name) == 0) {
            plan->words |= 1u << i;
            return numbers[i].base == 16 ? read_hex(value, numbers[i].to)
                                         : tamis__redis_read_number(value, UINT64_MAX, numbers[i].to);
        }
    if (strcmp(name, "fpr") == 0) {
        plan->fpr = tamis__redis_read_decimal(value, &end);
        return *end == '\0' && end != value;
    }
    if (strcmp(name, "kind") == 0) {
        plan->is_family = strcmp(value, "family") == 0;
        plan->blocked = plan->is_family || strcmp(value, "blocked") == 0;
    }
    if (strcmp(name, "scheme") == 0)
        snprintf(plan->scheme, sizeof plan->scheme, "%s", value);
    return true; /* words of a later version are passed over */
}

static bool is_sound(const tamis__told *plan) {
    return plan->layout == 1 && plan->blocked && plan->bits >= BLOCK_BITS && plan->bits % BLOCK_BITS == 0 &&
           plan->bits <= TAMIS_BITS_MAX && plan->probes >= 1 && plan->probes <= TAMIS_PROBES_MAX &&
           plan->partition >= 1 && plan->partition < TAMIS__PARTITION_MAX / TAMIS__REDIS_BLOCK &&
           (plan->bits / BLOCK_BITS - 1) / plan->partition < TAMIS__PARTITIONS_MOST && plan->expect >= 1 &&
           (plan->words | 1u << SECRET) == ALL_WORDS && plan->expect <= TAMIS_EXPECT_MAX && plan->fpr > 0 &&
           plan->fpr < 1 && (!plan->is_family || plan->partition == plan->bits / BLOCK_BITS) &&
           plan->has_secret == (strcmp(plan->scheme, tamis_scheme_name(TAMIS_SCHEME_SIP)) == 0);
}

tamis_status tamis__told_read(const tamis__redis_filter *at, const char *text, tamis__told *plan,
                              tamis_error *err) {
    char copy[TAMIS__REDIS_PLAN], *rest = NULL;
    bool sound = true;
    snprintf(copy, sizeof copy, "%s", text);
    *plan = (tamis__told){0};
    for (char *word = strtok_r(copy, " ", &rest); word && sound; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        if (!value)
            continue;
        *value++ = '\0';
        plan->has_secret = plan->has_secret || strcmp(word, "secret") == 0;
        sound = read_word(plan, word, value);
    }
    if (sound && is_sound(plan) && plan->is_family != at->is_family)
        return tamis__fail(err, TAMIS_E_MISMATCH, 0, "redis %s: %s: is %s; %s", at->redis->to.shown,
                           at->uri->shown,
                           at->is_family ? "one filter, and no family" : "a family of filters",
                           at->is_family ? "choose another name" : "add to it and ask it with names");
    if (sound && is_sound(plan))
        return TAMIS_OK;
    return tamis__fail(
        err, TAMIS_E_DAMAGED, 0,
        "redis %s: %s: what stands in its field plan is no plan of layout 1 (%.100s); restore it, or "
        "drop the filter and build it anew",
        at->redis->to.shown, at->uri->named, tamis__show(text).text);
}

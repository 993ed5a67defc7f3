/* SPDX-License-Identifier: BSD-2-Clause */
#include "redis_families.h"

#include <stdio.h>

#include "support/redis_keys.h"

enum { MEMBERS = 500, EACH = 4, PAIRS = MEMBERS * EACH };

static char names[MEMBERS][24];
static uint64_t numbers[PAIRS];
static tamis_redis_pair pairs[PAIRS];
static tamis_answer answers[PAIRS];

static size_t count(tamis_answer expected) {
    size_t found = 0;
    for (size_t i = 0; i < PAIRS; i++)
        found += answers[i] == expected;
    return found;
}

/* Consecutive pairs are of different members, so the servers take turns too. */
static void make_pairs(void) {
    for (size_t i = 0; i < PAIRS; i++) {
        size_t size = (size_t)snprintf(names[i % MEMBERS], sizeof names[0], "user:%zu", i % MEMBERS);
        numbers[i] = i;
        pairs[i] = (tamis_redis_pair){{names[i % MEMBERS], size}, {&numbers[i], sizeof numbers[i]}};
    }
}

static void query_alone(tamis_redis *redis, size_t member, const char *parameters) {
    char name[200];
    tamis_filter *alone;
    snprintf(name, sizeof name, "%.23s%s", names[member], parameters);
    OK(tamis_redis_filter_open(&alone, redis, name, NULL, &err));
    for (size_t i = member; i < PAIRS; i += MEMBERS) {
        tamis_answer answer;
        OK(tamis_filter_add(alone, &numbers[i], sizeof numbers[i], &answer, &err));
        assert_int_equal(answer, TAMIS_PRESENT);
    }
    tamis_filter_free(alone);
}

size_t redis_families_fill(tamis_redis *redis, const char *name) {
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis_redis_family *family;
    const bool is_ours = !strstr(name, "layout=");
    make_pairs();
    options.create = true;
    OK(tamis_redis_family_open(&family, redis, name, &options, &err));
    OK(tamis_redis_family_contains_many(family, pairs, PAIRS, answers, NULL, &err));
    assert_int_equal(count(TAMIS_ABSENT), PAIRS);
    OK(tamis_redis_family_add_many(family, pairs, PAIRS, answers, NULL, &err));
    assert_true(count(TAMIS_ABSENT) > PAIRS - 20);
    OK(tamis_redis_family_add_many(family, pairs, PAIRS, answers, NULL, &err));
    assert_int_equal(count(TAMIS_PRESENT), PAIRS);
    OK(tamis_redis_family_contains_many(family, pairs, PAIRS, answers, NULL, &err));
    assert_int_equal(count(TAMIS_PRESENT), PAIRS);
    tamis_redis_family_close(family);
    for (size_t i = 0; i < MEMBERS && !is_ours; i += MEMBERS / 50)
        query_alone(redis, i, strchr(name, '?'));
    return MEMBERS + (is_ours ? 2 : 0); /* the hash, and the copy of its plan */
}

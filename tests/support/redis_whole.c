/* SPDX-License-Identifier: BSD-2-Clause */
#include "redis_whole.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/tamis.h>

enum { HALF = 5000, EXPECT = 50000 };

static uint64_t numbers[2 * HALF];
static tamis_key keys[2 * HALF];
static tamis_error err;

static void must(tamis_status status) {
    if (status != TAMIS_OK)
        fail_msg("%s: %s", tamis_status_name(status), err.text);
}

static tamis_filter *make_half(size_t from) {
    tamis_want want = TAMIS_WANT_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *filter = NULL;
    want.expect = EXPECT;
    want.fpr = 1e-3;
    want.kind = TAMIS_KIND_BLOCKED;
    must(tamis_plan_make(&plan, &want, &err));
    must(tamis_filter_create(&filter, &plan, NULL, &err));
    must(tamis_filter_add_many(filter, keys + from, HALF, NULL, NULL, &err));
    return filter;
}

static tamis_filter *open_there(tamis_redis *redis, const char *name) {
    const tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis_filter *filter = NULL;
    must(tamis_redis_filter_open(&filter, redis, name, &options, &err));
    return filter;
}

static size_t count_seen(const tamis_filter *filter, size_t from) {
    static tamis_answer answers[HALF];
    size_t done, seen = 0;
    must(tamis_filter_contains_many(filter, keys + from, HALF, answers, &done, &err));
    assert_int_equal(done, HALF);
    for (size_t i = 0; i < HALF; i++)
        seen += answers[i] == TAMIS_SEEN;
    return seen;
}

static void pull_both_halves(const tamis_filter *there) {
    tamis_filter *pulled = NULL;
    tamis_filter_info here = TAMIS_FILTER_INFO_INIT, far = TAMIS_FILTER_INFO_INIT;
    must(tamis_redis_pull(there, &pulled, &err));
    assert_int_equal(count_seen(pulled, 0), HALF);
    assert_int_equal(count_seen(pulled, HALF), HALF);
    must(tamis_filter_info_get(pulled, &here, &err));
    must(tamis_filter_info_get(there, &far, &err));
    assert_int_equal(here.ones, far.ones);
    tamis_filter_free(pulled);
}

/* Layout java: several names, so that some of them lie elsewhere than what would be beside them by the name alone. */
static void replace_by_rename(tamis_redis *redis) {
    for (int i = 0; i < 8; i++) {
        tamis_plan plan = TAMIS_PLAN_INIT;
        tamis_filter *made = NULL, *there = NULL;
        char name[100];
        snprintf(name, sizeof name, "whole%s%d?layout=java&expect=5000&fpr=0.01", i % 2 ? "%7Btag%7D" : "",
                 i);
        must(tamis_redis_plan_for(&plan, NULL, redis, name, &err));
        must(tamis_filter_create(&made, &plan, NULL, &err));
        must(tamis_filter_add_many(made, keys, HALF, NULL, NULL, &err));
        there = open_there(redis, name);
        must(tamis_filter_add_many(there, keys + HALF, 1, NULL, NULL, &err));
        must(tamis_redis_push(made, redis, name, NULL, &err));
        assert_int_equal(count_seen(there, 0), HALF);
        must(tamis_redis_drop(redis, name, &err));
        tamis_filter_free(there);
        tamis_filter_free(made);
    }
}

static tamis_status take_entry(void *context, const tamis_redis_entry *entry, tamis_error *e) {
    char *to = context;
    (void)e;
    snprintf(to + strlen(to), 200 - strlen(to), "%.*s %s %d %.*s;", (int)entry->name_size, entry->name,
             entry->layout, entry->state, (int)entry->target_size, entry->target ? entry->target : "");
    return TAMIS_OK;
}

static void check_list(tamis_redis *redis, const char *wanted) {
    char told[200] = "";
    must(tamis_redis_list(redis, "*whole", take_entry, told, &err));
    assert_string_equal(told, wanted);
}

/* With adds between its two ends, which are in both. */
static void resize_there(tamis_redis *redis, tamis_filter *there) {
    tamis_want want = TAMIS_WANT_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *larger = NULL;
    tamis_redis_resize *resize = NULL;
    want.expect = 2 * EXPECT;
    want.fpr = 1e-3;
    want.kind = TAMIS_KIND_BLOCKED;
    must(tamis_plan_make(&plan, &want, &err));
    must(tamis_filter_create(&larger, &plan, NULL, &err));
    must(tamis_redis_resize_begin(&resize, larger, redis, "whole", &err));
    must(tamis_filter_add_many(there, keys + HALF, HALF, NULL, NULL, &err));
    must(tamis_filter_add_many(larger, keys, HALF, NULL, NULL, &err));
    must(tamis_redis_resize_end(resize, larger, &err));
    assert_int_equal(count_seen(there, 0), HALF);
    assert_int_equal(count_seen(there, HALF), HALF);
    assert_int_equal(tamis_filter_plan(there)->capacity, 2 * EXPECT);
    tamis_filter_free(larger);
}

void redis_whole_filters(tamis_redis *redis) {
    size_t done;
    err = (tamis_error)TAMIS_ERROR_INIT;
    for (uint64_t i = 0; i < 2 * HALF; i++) {
        numbers[i] = i;
        keys[i] = (tamis_key){&numbers[i], sizeof numbers[i]};
    }
    tamis_filter *first = make_half(0), *second = make_half(HALF);
    must(tamis_redis_push(second, redis, "whole?partition=4096", NULL, &err));
    tamis_filter *there = open_there(redis, "whole");
    assert_int_equal(count_seen(there, HALF), HALF);
    resize_there(redis, there);
    must(tamis_redis_push(first, redis, "whole", NULL, &err));
    assert_int_equal(count_seen(there, 0), HALF); /* the handle follows */
    assert_in_range(count_seen(there, HALF), 0, HALF / 100);
    must(tamis_redis_unite(there, second, &err));
    assert_int_equal(count_seen(there, 0), HALF);
    assert_int_equal(count_seen(there, HALF), HALF);
    pull_both_halves(there);
    must(tamis_redis_alias(redis, "other-whole", "whole", &err));
    check_list(redis, "other-whole tamis 2 whole;whole tamis 0 ;");
    tamis_filter *other = open_there(redis, "other-whole");
    assert_int_equal(count_seen(other, HALF), HALF);
    must(tamis_redis_expire(redis, "whole", 3600000, &err));
    must(tamis_redis_expire(redis, "whole", 0, &err));
    must(tamis_filter_clear(there, &err));
    assert_int_equal(count_seen(other, 0), 0);
    must(tamis_redis_drop(redis, "other-whole", &err));
    must(tamis_redis_drop(redis, "whole", &err));
    assert_string_equal(
        tamis_status_name(tamis_filter_contains_many(there, keys, 1, &(tamis_answer){0}, &done, &err)),
        "TAMIS_E_ABSENT");
    tamis_filter_free(other);
    tamis_filter_free(there);
    tamis_filter_free(second);
    tamis_filter_free(first);
    check_list(redis, "");
    replace_by_rename(redis);
}

void redis_whole_expires(redis_server *servers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char names[20000], *rest = NULL;
        snprintf(names, sizeof names, "%s", redis_server_ask(&servers[i], "KEYS *whole*"));
        for (char *name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
            if (redis_server_number(&servers[i], "PTTL %s", name) == -1)
                fail_msg("%s does not expire", name);
    }
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "redis_whole.h"

#include <stdio.h>

#include <tamis/tamis.h>

#include "support/redis_keys.h"

enum { HALF = 5000, EXPECT = 50000 };

static void pull_both_halves(const tamis_filter *there) {
    tamis_filter *pulled = NULL;
    tamis_filter_info here = TAMIS_FILTER_INFO_INIT, far = TAMIS_FILTER_INFO_INIT;
    OK(tamis_redis_pull(&pulled, there, &err));
    assert_int_equal(count_present(pulled, 0, HALF), HALF);
    assert_int_equal(count_present(pulled, HALF, HALF), HALF);
    OK(tamis_filter_info_get(pulled, &here, &err));
    OK(tamis_filter_info_get(there, &far, &err));
    assert_int_equal(here.ones, far.ones);
    tamis_filter_free(pulled);
}

/* Layout java. Tries several names, so that for some of them other keys of a similar name are on another
 * server. */
static void replace_by_rename(tamis_redis *redis) {
    for (int i = 0; i < 8; i++) {
        tamis_plan plan = TAMIS_PLAN_INIT;
        tamis_filter *made = NULL, *there = NULL;
        char name[100];
        snprintf(name, sizeof name, "whole%s%d?layout=java&expect=5000&fpr=0.01", i % 2 ? "%7Btag%7D" : "",
                 i);
        OK(tamis_redis_plan_for(&plan, NULL, redis, name, &err));
        OK(tamis_filter_create(&made, &plan, NULL, &err));
        add_keys(made, 0, HALF);
        there = open_on(redis, name);
        add_keys(there, HALF, 1);
        OK(tamis_redis_push(made, redis, name, NULL, &err));
        assert_int_equal(count_present(there, 0, HALF), HALF);
        OK(tamis_redis_drop(redis, name, &err));
        tamis_filter_free(there);
        tamis_filter_free(made);
    }
}

static tamis_status append_entry(void *context, const tamis_redis_entry *entry, tamis_error *e) {
    char *to = context;
    (void)e;
    snprintf(to + strlen(to), 200 - strlen(to), "%.*s %s %d %.*s;", (int)entry->name_size, entry->name,
             entry->layout, entry->state, (int)entry->target_size, entry->target ? entry->target : "");
    return TAMIS_OK;
}

static void check_list(tamis_redis *redis, const char *expected) {
    char reported[200] = "";
    OK(tamis_redis_list(redis, "*whole", append_entry, reported, &err));
    assert_string_equal(reported, expected);
}

/* Adds keys by the old handle while the filter is resized. Afterwards the keys of both filters are
 * present. */
static void resize_there(tamis_redis *redis, tamis_filter *there) {
    tamis_filter *larger = make_filter(2 * EXPECT, 0, 0);
    tamis_redis_resize *resize = NULL;
    OK(tamis_redis_resize_begin(&resize, larger, redis, "whole", &err));
    add_keys(there, HALF, HALF);
    add_keys(larger, 0, HALF);
    OK(tamis_redis_resize_end(resize, larger, &err));
    assert_int_equal(count_present(there, 0, HALF), HALF);
    assert_int_equal(count_present(there, HALF, HALF), HALF);
    assert_int_equal(tamis_filter_plan(there)->capacity, 2 * EXPECT);
    tamis_filter_free(larger);
}

void redis_whole_filters(tamis_redis *redis) {
    size_t done;
    err = (tamis_error)TAMIS_ERROR_INIT;
    make_numbers();
    tamis_filter *first = make_filter(EXPECT, 0, HALF), *second = make_filter(EXPECT, HALF, HALF);
    OK(tamis_redis_push(second, redis, "whole?partition=4096", NULL, &err));
    tamis_filter *there = open_on(redis, "whole");
    assert_int_equal(count_present(there, HALF, HALF), HALF);
    resize_there(redis, there);
    OK(tamis_redis_push(first, redis, "whole", NULL, &err));
    assert_int_equal(count_present(there, 0, HALF), HALF); /* the handle uses the new filter */
    assert_in_range(count_present(there, HALF, HALF), 0, HALF / 100);
    OK(tamis_redis_union(there, second, &err));
    assert_int_equal(count_present(there, 0, HALF), HALF);
    assert_int_equal(count_present(there, HALF, HALF), HALF);
    pull_both_halves(there);
    OK(tamis_redis_alias(redis, "other-whole", "whole", &err));
    check_list(redis, "other-whole tamis 2 whole;whole tamis 0 ;");
    tamis_filter *other = open_on(redis, "other-whole");
    assert_int_equal(count_present(other, HALF, HALF), HALF);
    OK(tamis_redis_expire(redis, "whole", 3600000, &err));
    OK(tamis_redis_expire(redis, "whole", 0, &err));
    OK(tamis_filter_clear(there, &err));
    assert_int_equal(count_present(other, 0, HALF), 0);
    OK(tamis_redis_drop(redis, "other-whole", &err));
    OK(tamis_redis_drop(redis, "whole", &err));
    assert_string_equal(
        tamis_status_name(tamis_filter_contains_many(there, keys, 1, &(tamis_answer){0}, &done, &err)),
        "TAMIS_E_NOT_FOUND");
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
        snprintf(names, sizeof names, "%s", redis_server_command(&servers[i], "KEYS *whole*"));
        for (char *name = strtok_r(names, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
            if (redis_server_number(&servers[i], "PTTL %s", name) == -1)
                fail_msg("%s does not expire", name);
    }
}

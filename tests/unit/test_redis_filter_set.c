/* SPDX-License-Identifier: BSD-2-Clause */

/* Lookups in filters on a server and in memory at once. */
#include <stdlib.h>
#include <string.h>

#include <tamis/experimental/filter_set.h>

#include "support/redis_filters.h"

enum { COUNT = 40000, FILTERS = 4 }; /* COUNT: more than are looked up on a server at a time without rows */

static tamis_filter *owned[FILTERS];
static const tamis_filter *filters[FILTERS];
static const tamis_filter_set set = {filters, FILTERS};
static tamis_answer any[COUNT], rows[FILTERS * COUNT];

/* Filter i has the keys from i * 8000 to i * 8000 + 10000. All have scheme xxh3. */
static void open_filters(void) {
    begin_test();
    owned[0] = make_filter(COUNT, 0, 0);
    owned[1] = open_filter("a?expect=40000&fpr=1e-6");
    owned[2] = make_filter(COUNT, 0, 0);
    owned[3] = open_filter("b?expect=40000&fpr=1e-6");
    for (size_t i = 0; i < FILTERS; i++) {
        add_keys(owned[i], i * 8000, 10000);
        filters[i] = owned[i];
    }
}

static void close_filters(void) {
    for (size_t i = 0; i < FILTERS; i++)
        tamis_filter_free(owned[i]);
}

static void assert_answers(bool has_rows) {
    for (size_t i = 0; i < COUNT; i++) {
        const bool is_in = i < 3 * 8000 + 10000;
        assert_true(!is_in || any[i] == TAMIS_PRESENT);
        for (size_t f = 0; has_rows && f < FILTERS; f++)
            assert_true(i < f * 8000 || i >= f * 8000 + 10000 || rows[f * COUNT + i] == TAMIS_PRESENT);
    }
    assert_non_null(memchr(any + 34000, TAMIS_ABSENT, COUNT - 34000));
}

static void filters_on_a_server_beside_others(void **state) {
    (void)state;
    static tamis_hash hashes[COUNT];
    size_t done = 0;
    open_filters();
    for (int has_rows = 0; has_rows < 2; has_rows++) {
        OK(tamis_filter_set_contains_many(
            &set, keys, COUNT, &(tamis_filter_set_answers){any, has_rows ? rows : NULL}, &done, &err));
        assert_int_equal(done, COUNT);
        assert_answers(has_rows);
    }
    OK(tamis_hash_many(tamis_filter_set_hasher(&set), keys, COUNT, hashes, &err));
    memset(any, TAMIS_UNKNOWN, sizeof any);
    OK(tamis_filter_set_contains_hashes(&set, hashes, COUNT, &(tamis_filter_set_answers){.any = any}, &done,
                                        &err));
    assert_answers(false);
    close_filters();
}

static void a_dropped_filter_answers_no_key(void **state) {
    (void)state;
    size_t done = 77;
    open_filters();
    OK(tamis_redis_drop(redis, "b", &err));
    FAILS(tamis_filter_set_contains_many(&set, keys, COUNT, &(tamis_filter_set_answers){.any = any}, &done,
                                         &err),
          TAMIS_E_NOT_FOUND, "b");
    assert_int_equal(done, 0);
    close_filters();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(filters_on_a_server_beside_others),
                                       cmocka_unit_test(a_dropped_filter_answers_no_key)};
    return cmocka_run_group_tests(tests, redis_filters_set_up, redis_filters_tear_down);
}

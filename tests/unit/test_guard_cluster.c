/* SPDX-License-Identifier: BSD-2-Clause */

/* Entries of a guard in a Redis Cluster: the keys of a row lie in one slot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "service/guard/guard_entries.h"
#include "support/redis_cluster.h"

enum { COUNT = 300 };

static guard_entry items[COUNT];
static char keys[COUNT][16];

static void get_all(guard_entries *entries, guard_entry_state expected) {
    for (int i = 0; i < COUNT; i++) {
        snprintf(keys[i], sizeof keys[i], "row}%d", i);
        items[i] = (guard_entry){.key = {keys[i], strlen(keys[i])}};
    }
    assert_int_equal(tamis__guard_entries_get(entries, items, COUNT, NULL), TAMIS_OK);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(items[i].state, expected);
}

static void test_rows_over_all_servers(void **state) {
    (void)state;
    guard_entries_options options = {.prefix = "g:",
                                     .life_ms = 60000,
                                     .null_life_ms = 60000,
                                     .lease_ms = 60000,
                                     .mark_ms = 60000,
                                     .timeout_ms = 5000};
    guard_entries *entries = NULL;
    uint8_t token[TAMIS_GUARD_TOKEN];

    if (!redis_server_installed())
        skip();
    cluster_start();
    options.redis = cluster_uri("");
    assert_int_equal(tamis__guard_entries_open(&entries, &options, NULL), TAMIS_OK);
    get_all(entries, GUARD_ENTRY_GRANTED);
    for (int i = 0; i < COUNT; i++)
        items[i].blob = tamis__guard_blob_create(NULL, keys[i], strlen(keys[i]));
    assert_int_equal(tamis__guard_entries_store(entries, items, COUNT, NULL), TAMIS_OK);
    for (int i = 0; i < COUNT; i++)
        tamis__guard_blob_release(items[i].blob);
    get_all(entries, GUARD_ENTRY_FOUND);
    for (int i = 0; i < COUNT; i++) {
        assert_memory_equal(tamis__guard_blob_bytes(items[i].blob).data, keys[i], strlen(keys[i]));
        tamis__guard_blob_release(items[i].blob);
    }
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(tamis__guard_entries_mark(entries, items[i].key, token, NULL), TAMIS_OK);
    get_all(entries, GUARD_ENTRY_MARKED);
    tamis__guard_entries_close(entries);
    cluster_stop();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_over_all_servers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

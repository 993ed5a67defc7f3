/* SPDX-License-Identifier: BSD-2-Clause */
#include "redis_filters.h"

#include <stdio.h>
#include <stdlib.h>

redis_server server;
tamis_redis *redis;

int redis_filters_set_up(void **state) {
    (void)state;
    scratch_make();
    make_numbers();
    if (!redis_server_installed())
        return 0;
    redis_server_start(&server, NULL);
    return tamis_redis_open(&redis, server.uri, NULL, &err) == TAMIS_OK ? 0 : -1;
}

int redis_filters_tear_down(void **state) {
    (void)state;
    tamis_redis_close(redis);
    redis_server_stop(&server);
    scratch_remove();
    return 0;
}

void begin_test(void) {
    if (!redis)
        skip();
    redis_server_command(&server, "FLUSHALL");
}

tamis_filter *open_filter(const char *name) {
    return open_on(redis, name);
}

void assert_same_answers(const tamis_filter *a, const tamis_filter *b, size_t count) {
    tamis_answer *first = calloc(count, sizeof *first), *second = calloc(count, sizeof *second);
    OK(tamis_filter_contains_many(a, keys, count, first, NULL, &err));
    OK(tamis_filter_contains_many(b, keys, count, second, NULL, &err));
    assert_memory_equal(first, second, count * sizeof *first);
    free(first);
    free(second);
}

const char *partition_of(const char *name, int i) {
    static char found[100];
    char pattern[100];
    snprintf(pattern, sizeof pattern, "tamis:{%s:*:%d}:bits", name, i);
    const char *reply = redis_server_command(&server, "KEYS %s", pattern);
    snprintf(found, sizeof found, "%s", reply);
    assert_true(*found && !strchr(found, ' '));
    return found;
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Filters in a Redis, for shell scripts:
 *
 *     redis_filter add URI      adds the keys of standard input; prints for each 1 (present), 0 (absent) or ? (unknown)
 *     redis_filter make URI     the same; makes the filter if it does not exist
 *     redis_filter ask URI      looks the keys up and prints the answers
 *     redis_filter clear URI
 *     redis_filter family URI   adds each key to the member `seen` of a family, and a letter of it to `unseen`
 *     redis_filter positions SERVERS NAME?layout=php3&...   without a server: prints "server key:offset ..." for each key
 *
 * A key is a line of hexadecimal digits.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/experimental/redis_family.h>

#include "store/redis/filter/redis_filter.h"

enum { AT_ONCE = 1000, CAPACITY = 256 };

static tamis_error err = TAMIS_ERROR_INIT;

static void must(tamis_status status) {
    if (status == TAMIS_OK)
        return;
    fprintf(stderr, "%s: %s\n", tamis_status_name(status), err.text);
    exit(1);
}

/* How many keys were read. */
static size_t read_keys(uint8_t bytes[][CAPACITY], tamis_key *keys) {
    static char line[2 * CAPACITY + 2];
    size_t count = 0;
    while (count < AT_ONCE && fgets(line, sizeof line, stdin)) {
        size_t size = 0;
        for (const char *c = line; *c && *c != '\n'; c += 2, size++) {
            unsigned value;
            if (size == CAPACITY || sscanf(c, "%2x", &value) != 1) {
                fprintf(stderr, "redis_filter: not a key: %s", line);
                exit(2);
            }
            bytes[count][size] = (uint8_t)value;
        }
        keys[count] = (tamis_key){bytes[count], size};
        count++;
    }
    return count;
}

static void query_all(tamis_filter *filter, bool adds) {
    static uint8_t bytes[AT_ONCE][CAPACITY];
    static tamis_key keys[AT_ONCE];
    static tamis_answer answers[AT_ONCE];
    for (size_t count; (count = read_keys(bytes, keys)) > 0;) {
        must(adds ? tamis_filter_add_many(filter, keys, count, answers, NULL, &err)
                  : tamis_filter_contains_many(filter, keys, count, answers, NULL, &err));
        for (size_t i = 0; i < count; i++)
            puts(answers[i] == TAMIS_PRESENT ? "1" : answers[i] == TAMIS_ABSENT ? "0" : "?");
    }
}

static void add_to_family(const char *uri) {
    static uint8_t bytes[AT_ONCE][CAPACITY];
    static tamis_key keys[AT_ONCE];
    static tamis_redis_pair pairs[2 * AT_ONCE];
    tamis_redis_family *family;
    must(tamis_redis_family_open(&family, NULL, uri, NULL, &err));
    for (size_t count; (count = read_keys(bytes, keys)) > 0;) {
        for (size_t i = 0; i < count; i++) {
            pairs[2 * i] = (tamis_redis_pair){{"seen", 4}, keys[i]};
            pairs[2 * i + 1] = (tamis_redis_pair){{"unseen", 6}, {keys[i].data, keys[i].size > 0}};
        }
        must(tamis_redis_family_add_many(family, pairs, 2 * count, NULL, NULL, &err));
    }
    tamis_redis_family_close(family);
}

static const tamis__layout *layout_of(tamis__redis_uri *uri) {
    static const tamis__layout *const known[] = {&tamis__layout_php1, &tamis__layout_php2,
                                                 &tamis__layout_php3};
    const char *name = tamis__redis_uri_get(uri, "layout");
    for (size_t i = 0; name && i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i]->name, name) == 0)
            return known[i];
    fprintf(stderr, "redis_filter: a layout whose positions depend on no server is needed\n");
    exit(2);
}

static void show_positions(uint32_t servers, const char *name) {
    static uint8_t bytes[AT_ONCE][CAPACITY];
    static tamis_key keys[AT_ONCE];
    const tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis__redis_filter rf = {.servers = servers, .probe_groups = 1};
    tamis_filter filter = {.body = &rf, .allocator = tamis__allocator_resolve(NULL)};
    rf.uri = &rf.named;
    must(tamis__redis_uri_parse_name(&rf.named, name, &filter.allocator, &err));
    rf.layout = layout_of(rf.uri);
    rf.state = calloc(1, rf.layout->state_size + 1);
    if (!rf.state)
        exit(1);
    rf.name = (tamis_key){rf.uri->name, rf.uri->name_size};
    must(rf.layout->open(&filter, &options, &err));
    for (size_t count; (count = read_keys(bytes, keys)) > 0;) {
        for (size_t i = 0; i < count; i++) {
            tamis__element_positions positions;
            rf.layout->locate(&filter, &(tamis__key_batch){.keys = keys, .count = count}, i, &positions);
            printf("%" PRIu32, positions.server);
            for (uint32_t j = 0; j < filter.plan.probes; j++) {
                char key[TAMIS__REDIS_KEY];
                size_t size =
                    rf.layout->key_name(&rf, rf.probe_groups > 1 ? positions.keys[j] : positions.key, key);
                printf(" %.*s=%" PRIu64, (int)size, key, positions.offsets[j]);
            }
            putchar('\n');
        }
    }
    tamis_hasher_free(filter.hasher);
    free(rf.state);
    tamis__redis_uri_release(&rf.named);
}

int main(int argc, char **argv) {
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis_filter *filter;
    if (argc == 4 && strcmp(argv[1], "positions") == 0) {
        show_positions((uint32_t)strtoul(argv[2], NULL, 10), argv[3]);
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "family") == 0) {
        add_to_family(argv[2]);
        return 0;
    }
    if (argc != 3) {
        fprintf(stderr, "usage: redis_filter add|make|ask|clear|family URI, or positions SERVERS NAME\n");
        return 2;
    }
    options.create = strcmp(argv[1], "make") == 0;
    must(tamis_redis_filter_open(&filter, NULL, argv[2], &options, &err));
    if (strcmp(argv[1], "clear") == 0)
        must(tamis_filter_clear(filter, &err));
    else
        query_all(filter, strcmp(argv[1], "ask") != 0);
    tamis_filter_free(filter);
    return 0;
}

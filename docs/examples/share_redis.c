/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L /* getline */
/*
 * Lines that no program has seen yet, on any machine that uses the same Redis:
 * cc share_redis.c $(pkg-config --cflags --libs tamis-redis)
 *
 *     share_redis 'redis://localhost/seen?expect=1000000&fpr=1e-6' <lines >new_lines
 *
 * The filter is made if it does not exist. Lines are added in batches, one round trip each. If a connection
 * is lost, the answers of a batch may be unknown. Such lines are printed: twice is better here than never.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include <tamis/experimental/redis.h>
#include <tamis/tamis.h>

enum { BATCH = 500 };

/* A line as getline(3) keeps it. */
typedef struct line {
    char *text;
    size_t capacity;
} line;

/* Up to BATCH lines of standard input, each without its newline. */
static size_t next_batch(line lines[BATCH], tamis_key keys[BATCH]) {
    size_t count = 0;
    ssize_t size;
    while (count < BATCH && (size = getline(&lines[count].text, &lines[count].capacity, stdin)) > 0) {
        const size_t last = (size_t)size - 1;
        keys[count].data = lines[count].text;
        keys[count].size = lines[count].text[last] == '\n' ? last : last + 1;
        count++;
    }
    return count;
}

static int die(const tamis_error *err) {
    fprintf(stderr, "share_redis: %s\n", err->text);
    return 2;
}

int main(int argc, char **argv) {
    static line lines[BATCH];
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_filter *filter = NULL;
    tamis_key keys[BATCH];
    tamis_answer answers[BATCH];
    tamis_status status = TAMIS_OK;
    size_t count;

    if (argc != 2) {
        fputs("usage: share_redis 'redis://host:port/NAME?expect=N&fpr=RATE' <lines\n", stderr);
        return 2;
    }
    options.create = true;
    if (tamis_redis_filter_open(&filter, NULL, argv[1], &options, &err) != TAMIS_OK)
        return die(&err);
    while (status == TAMIS_OK && (count = next_batch(lines, keys)) > 0) {
        status = tamis_filter_add_many(filter, keys, count, answers, NULL, &err);
        for (size_t i = 0; status == TAMIS_OK && i < count; i++)
            if (answers[i] != TAMIS_PRESENT) /* TAMIS_ABSENT, or TAMIS_UNKNOWN */
                printf("%.*s\n", (int)keys[i].size, lines[i].text);
    }
    for (size_t i = 0; i < BATCH; i++)
        free(lines[i].text);
    tamis_filter_free(filter);
    return status == TAMIS_OK ? 0 : die(&err);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * redis_ops URI add|contains: opens the filter, or makes it if the URI has its parameters, and prints
 * "open". Then reads keys, one a line in hexadecimal, and prints for each 1 (add: it was absent; contains:
 * it is present) or 0. Prints errors too, and exits with status 2.
 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/experimental/redis.h>
#include <tamis/tamis.h>

enum { BATCH = 500, LINE = 4096 };

static int fail(const tamis_error *err) {
    printf("%s\n", err->text);
    return 2;
}

static unsigned digit(char c) {
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* Up to BATCH keys; their bytes follow one another in `bytes`. */
static size_t read_keys(tamis_key keys[BATCH], unsigned char *bytes) {
    char line[LINE];
    size_t count = 0;
    while (count < BATCH && fgets(line, sizeof line, stdin)) {
        size_t size = strcspn(line, "\n") / 2;
        for (size_t i = 0; i < size; i++)
            bytes[i] = (unsigned char)(digit(line[2 * i]) << 4 | digit(line[2 * i + 1]));
        keys[count++] = (tamis_key){bytes, size};
        bytes += size;
    }
    return count;
}

int main(int argc, char **argv) {
    static unsigned char bytes[BATCH * LINE / 2];
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_filter *filter = NULL;
    tamis_key keys[BATCH];
    tamis_answer answers[BATCH];
    size_t count;
    if (argc != 3)
        return 2;
    setlocale(LC_ALL,
              ""); /* as interactive programs do: numbers of the library must not depend on the locale */
    int adds = strcmp(argv[2], "add") == 0;
    options.create = strstr(argv[1], "expect=") != NULL;
    if (tamis_redis_filter_open(&filter, NULL, argv[1], &options, &err) != TAMIS_OK)
        return fail(&err);
    puts("open");
    fflush(stdout);
    while ((count = read_keys(keys, bytes)) > 0) {
        size_t done = 0;
        tamis_status status = adds ? tamis_filter_add_many(filter, keys, count, answers, &done, &err)
                                   : tamis_filter_contains_many(filter, keys, count, answers, &done, &err);
        for (size_t i = 0; i < done; i++)
            puts((answers[i] == TAMIS_ABSENT) == adds ? "1" : "0");
        if (status != TAMIS_OK) {
            fail(&err);
            break;
        }
    }
    tamis_filter_free(filter);
    return count > 0 ? 2 : 0;
}

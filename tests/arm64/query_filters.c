/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Repeats the lookups of format/make_filters in its filters, which may be from another machine.
 *
 *     query_filters SECRET FILTER.tamis...
 *
 * FILTER.lookups has the queries and the expected answers. SECRET is for filters of scheme sip. Prints the
 * set of kernels in use and the number of answers compared. Exit status 1 if an answer differs.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/tamis.h>

enum { KEY_MAX = 64, QUERIES_MAX = 65536 };

/* The queries of a filter: keys and hashes. */
static tamis_key keys[QUERIES_MAX];
static uint8_t bytes[QUERIES_MAX][KEY_MAX];
static tamis_hash hashes[QUERIES_MAX];
static tamis_answer key_answers[QUERIES_MAX], hash_answers[QUERIES_MAX];
static tamis_answer key_wants[QUERIES_MAX], hash_wants[QUERIES_MAX];
static size_t key_count, hash_count;

static tamis_error err = TAMIS_ERROR_INIT;

static void die(const char *what, const char *why) {
    fprintf(stderr, "query_filters: %s: %s\n", what, why);
    exit(2);
}

static void must(const char *what, tamis_status status) {
    if (status != TAMIS_OK)
        die(what, err.text);
}

static void parse_line(const char *path, char *line, uint64_t hasher_id) {
    char *tab = strchr(line, '\t');
    if (!tab || key_count == QUERIES_MAX || hash_count == QUERIES_MAX)
        die(path, "not what make_filters writes");
    tamis_answer expected = tab[1] == '1' ? TAMIS_PRESENT : TAMIS_ABSENT;
    char *colon = memchr(line, ':', (size_t)(tab - line));
    if (colon) {
        hashes[hash_count] =
            (tamis_hash){{strtoull(line, NULL, 16), strtoull(colon + 1, NULL, 16)}, hasher_id};
        hash_wants[hash_count++] = expected;
        return;
    }
    size_t size = (size_t)(tab - line) / 2;
    if (size > KEY_MAX)
        die(path, "a key is too long");
    for (size_t i = 0; i < size; i++) {
        char two[3] = {line[2 * i], line[2 * i + 1], '\0'};
        bytes[key_count][i] = (uint8_t)strtoul(two, NULL, 16);
    }
    keys[key_count] = (tamis_key){bytes[key_count], size};
    key_wants[key_count++] = expected;
}

static void read_queries(const char *filter_path, uint64_t hasher_id) {
    char path[4096], line[2 * KEY_MAX + 64];
    snprintf(path, sizeof path, "%.*s.lookups", (int)(strlen(filter_path) - strlen(".tamis")), filter_path);
    FILE *file = fopen(path, "r");
    if (!file)
        die(path, "cannot be read");
    key_count = hash_count = 0;
    while (fgets(line, sizeof line, file))
        parse_line(path, line, hasher_id);
    fclose(file);
}

/* The hasher_id of hashes made for this filter; 0 if the scheme makes none. */
static uint64_t hasher_id_of(const tamis_filter *filter) {
    tamis_key none = {"", 0};
    tamis_hash hash = {{0, 0}, 0};
    if (tamis_scheme_digest_bits(tamis_filter_plan(filter)->scheme) != 0)
        must("hash", tamis_hash_many(tamis_filter_hasher(filter), &none, 1, &hash, &err));
    return hash.hasher_id;
}

static bool query(const char *path, const char *secret) {
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    tamis_filter *filter = NULL;
    if (strstr(path, "-sip")) {
        options.secret = secret;
        options.secret_size = strlen(secret);
    }
    must(path, tamis_filter_open(&filter, path, &options, &err));
    read_queries(path, hasher_id_of(filter));
    must(path, tamis_filter_contains_many(filter, keys, key_count, key_answers, NULL, &err));
    if (hash_count > 0)
        must(path, tamis_filter_contains_hashes(filter, hashes, hash_count, hash_answers, NULL, &err));
    tamis_filter_free(filter);
    return memcmp(key_answers, key_wants, key_count * sizeof *key_answers) == 0 &&
           memcmp(hash_answers, hash_wants, hash_count * sizeof *hash_answers) == 0;
}

int main(int argc, char **argv) {
    size_t compared = 0;
    int status = 0;
    if (argc < 3)
        die("arguments", "SECRET FILTER.tamis...");
    for (int i = 2; i < argc; i++) {
        if (!query(argv[i], argv[1])) {
            printf("%s: answers differ\n", argv[i]);
            status = 1;
        }
        compared += key_count + hash_count;
    }
    printf("%s %zu\n", tamis_kernel_name(), compared);
    return status;
}

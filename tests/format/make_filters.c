/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Makes filters of every kind and scheme with random keys, and lists answers of the library.
 *
 *     make_filters DIR SEED QUERIES [NAME...]
 *
 * DIR/NAME.tamis is the filter. DIR/NAME.lookups has a line for each lookup: a key in hexadecimal, or a hash
 * as X:Y, then a tab, and 1 (present) or 0. There are QUERIES keys of the filter and as many others. If
 * NAMEs are given, only these filters are made. A name that ends with -split needs millions of keys, and
 * is made only if it is given. The secret for scheme sip is below. Prints the number of queries of absent
 * keys, and how many were answered present.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/experimental/window.h>
#include <tamis/tamis.h>

enum { KEY_MAX = 40 };

static const char secret[] = "a secret of 25 characters";

/*
 * The filters. Each gets `keys` keys, and grows if they exceed its capacity. The end of a name selects:
 *
 *     -parts, -parts-grown  a table of 4 partitions, like a large one
 *     -frozen               a table that does not grow
 *     -united               the union of a table made for `expect` keys (0: growing) and one made for the other
 *                           keys; classic: the union of two halves
 *     -removed              a third more keys were added, and removed again; one key was added 20 times
 */
static const struct {
    const char *name;
    tamis_kind kind;
    tamis_scheme scheme;
    double fpr;
    uint64_t expect; /* 0: it grows */
    uint64_t keys;
} filters[] = {
    {"classic-xxh3", TAMIS_KIND_CLASSIC, TAMIS_SCHEME_XXH3, 0.05, 2000, 2000},
    {"classic-sip", TAMIS_KIND_CLASSIC, TAMIS_SCHEME_SIP, 0.1, 3000, 3000},
    {"classic-guava64", TAMIS_KIND_CLASSIC, TAMIS_SCHEME_GUAVA64, 0.03, 2000, 2000},
    {"classic-guava32", TAMIS_KIND_CLASSIC, TAMIS_SCHEME_GUAVA32, 0.03, 1000, 1000},
    {"classic-bkdr31", TAMIS_KIND_CLASSIC, TAMIS_SCHEME_BKDR31, 0.03, 1000, 1000},
    {"classic-bkdr63", TAMIS_KIND_CLASSIC, TAMIS_SCHEME_BKDR63, 0.03, 1000, 1000},
    {"classic-bkdr31-many-probes", TAMIS_KIND_CLASSIC, TAMIS_SCHEME_BKDR31, 1e-9, 60, 60},
    {"classic-bkdr63-many-probes", TAMIS_KIND_CLASSIC, TAMIS_SCHEME_BKDR63, 1e-18, 60, 60},
    {"classic-redisbloom", TAMIS_KIND_CLASSIC, TAMIS_SCHEME_REDISBLOOM, 0.02, 2000, 2000},
    {"classic-fnv-dcso", TAMIS_KIND_CLASSIC, TAMIS_SCHEME_FNV_DCSO, 0.02, 2000, 2000},
    {"classic-redisson", TAMIS_KIND_CLASSIC, TAMIS_SCHEME_REDISSON, 0.02, 2000, 2000},
    {"classic-large", TAMIS_KIND_CLASSIC, TAMIS_SCHEME_XXH3, 0.01, 100000, 100000},
    {"classic-united", TAMIS_KIND_CLASSIC, TAMIS_SCHEME_XXH3, 0.02, 500, 500},
    {"blocked-xxh3", TAMIS_KIND_BLOCKED, TAMIS_SCHEME_XXH3, 0.05, 2000, 2000},
    {"blocked-sip", TAMIS_KIND_BLOCKED, TAMIS_SCHEME_SIP, 0.002, 5000, 5000},
    {"blocked-guava64", TAMIS_KIND_BLOCKED, TAMIS_SCHEME_GUAVA64, 0.01, 1, 1},
    {"blocked-guava32", TAMIS_KIND_BLOCKED, TAMIS_SCHEME_GUAVA32, 0.01, 2000, 2000},
    {"blocked-redisbloom", TAMIS_KIND_BLOCKED, TAMIS_SCHEME_REDISBLOOM, 0.0005, 9000, 9000},
    {"fingerprint-xxh3", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, 0.01, 3000, 3000},
    {"fingerprint-sip", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_SIP, 1e-4, 9000, 9000},
    {"fingerprint-guava64", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_GUAVA64, 1e-6, 3000, 3000},
    {"fingerprint-guava32", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_GUAVA32, 1e-9, 3000, 3000},
    {"fingerprint-redisbloom", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_REDISBLOOM, 1e-12, 3000, 3000},
    {"fingerprint-wide", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, 1e-28, 3000, 3000},
    {"fingerprint-20", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, 6e-6, 3000, 3000},
    {"fingerprint-24", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, 4e-7, 3000, 3000},
    {"fingerprint-40", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, 4e-12, 3000, 3000},
    {"fingerprint-64", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_GUAVA64, 1e-18, 3000, 3000},
    {"fingerprint-few", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, 0.001, 5, 5},
    {"fingerprint-growing-xxh3", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, 0.02, 0, 150000},
    {"fingerprint-growing-sip", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_SIP, 1e-6, 0, 400000},
    {"fingerprint-growing-guava64", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_GUAVA64, 1e-9, 0, 20000},
    {"fingerprint-growing-redisbloom", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_REDISBLOOM, 1e-4, 0, 700000},
    {"fingerprint-growing-38", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, 2e-9, 0, 250000},
    {"fingerprint-growing-48", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_GUAVA32, 1e-12, 0, 250000},
    {"fingerprint-growing-64", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, 1e-16, 0, 3000},
    {"fingerprint-growing-few", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_REDISBLOOM, 0.01, 0, 300},
    {"exact-xxh3", TAMIS_KIND_EXACT, TAMIS_SCHEME_XXH3, 0, 2000, 2000},
    {"exact-few", TAMIS_KIND_EXACT, TAMIS_SCHEME_GUAVA64, 0, 2, 2},
    {"exact-sip", TAMIS_KIND_EXACT, TAMIS_SCHEME_SIP, 0, 20000, 20000},
    {"exact-growing-xxh3", TAMIS_KIND_EXACT, TAMIS_SCHEME_XXH3, 0, 0, 100000},
    {"exact-growing-guava32", TAMIS_KIND_EXACT, TAMIS_SCHEME_GUAVA32, 0, 0, 3000},
    {"fingerprint-parts", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, 0.001, 6900, 6900},
    {"fingerprint-large", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, 1e-6, 300000, 300000},
    {"exact-parts", TAMIS_KIND_EXACT, TAMIS_SCHEME_GUAVA64, 0, 5000, 5000},
    {"exact-growing-split", TAMIS_KIND_EXACT, TAMIS_SCHEME_XXH3, 0, 0, 130000},
    {"fingerprint-frozen", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, 0.001, 30, 30},
    {"exact-frozen", TAMIS_KIND_EXACT, TAMIS_SCHEME_REDISBLOOM, 0, 3000, 3000},
    {"fingerprint-grown", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, 0.001, 1200, 2500},
    {"fingerprint-parts-grown", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_GUAVA64, 1e-6, 6900, 20000},
    {"exact-grown", TAMIS_KIND_EXACT, TAMIS_SCHEME_GUAVA32, 0, 1500, 5000},
    {"fingerprint-united", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, 0.001, 500, 3000},
    {"fingerprint-larger-united", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_REDISBLOOM, 1e-5, 50000, 70000},
    {"fingerprint-growing-united", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, 1e-4, 0, 9000},
    {"exact-united", TAMIS_KIND_EXACT, TAMIS_SCHEME_GUAVA64, 0, 2000, 5000},
    {"window-xxh3", TAMIS_KIND_WINDOW, TAMIS_SCHEME_XXH3, 1e-9, 30, 30},
    {"window-growing-sip", TAMIS_KIND_WINDOW, TAMIS_SCHEME_SIP, 1e-3, 0, 30000},
    {"window-wide", TAMIS_KIND_WINDOW, TAMIS_SCHEME_GUAVA64, 1e-12, 0, 9000},
    {"window-narrow", TAMIS_KIND_WINDOW, TAMIS_SCHEME_REDISBLOOM, 1e-7, 2000, 2000},
    {"cuckoo-xxh3", TAMIS_KIND_CUCKOO, TAMIS_SCHEME_XXH3, 0.001, 30, 30},
    {"cuckoo-sip", TAMIS_KIND_CUCKOO, TAMIS_SCHEME_SIP, 1e-6, 9000, 9000},
    {"cuckoo-narrow", TAMIS_KIND_CUCKOO, TAMIS_SCHEME_GUAVA64, 0.05, 20000, 20000},
    {"cuckoo-wide", TAMIS_KIND_CUCKOO, TAMIS_SCHEME_GUAVA32, 1e-16, 3000, 3000},
    {"cuckoo-growing", TAMIS_KIND_CUCKOO, TAMIS_SCHEME_XXH3, 0.05, 0, 9000},
    {"cuckoo-growing-sip", TAMIS_KIND_CUCKOO, TAMIS_SCHEME_SIP, 1e-4, 0, 40000},
    {"counting-xxh3", TAMIS_KIND_COUNTING, TAMIS_SCHEME_XXH3, 0.05, 300, 300},
    {"counting-removed", TAMIS_KIND_COUNTING, TAMIS_SCHEME_GUAVA64, 0.01, 900, 600},
    {"counting-sip", TAMIS_KIND_COUNTING, TAMIS_SCHEME_SIP, 1e-4, 5000, 5000},
};

enum { WINDOW = 24 * 3600 * 1000 };

static uint64_t random_state, absent_queries, false_positives;
static tamis_error err = TAMIS_ERROR_INIT;

static void die(const char *what, const char *why) {
    fprintf(stderr, "make_filters: %s: %s\n", what, why);
    exit(2);
}

static void must(const char *what, tamis_status status) {
    if (status != TAMIS_OK)
        die(what, err.text);
}

/* Vigna's splitmix64. */
static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

static uint64_t random_number(void) {
    return mix(random_state += 0x9e3779b97f4a7c15);
}

/* Key number `id`: random bytes, of a length from 8 to KEY_MAX. Keys with an id below 8 have that length. */
static size_t make_key(uint64_t set, uint64_t id, uint8_t *key) {
    uint64_t x = mix(set + mix(id));
    size_t size = id < 8 ? (size_t)id : 8 + (size_t)(x % (KEY_MAX - 7));
    for (size_t i = 0; i < size; i++) {
        if (i % 8 == 0)
            x = mix(x + 0x9e3779b97f4a7c15);
        key[i] = (uint8_t)(x >> i % 8 * 8);
    }
    return size;
}

static bool is_named(const char *name, const char *end) {
    return strlen(name) > strlen(end) && strcmp(name + strlen(name) - strlen(end), end) == 0;
}

static uint64_t random_seed(size_t i) {
    return filters[i].scheme == TAMIS_SCHEME_XXH3 ? random_number() : 0;
}

/* ---- keys of few partitions ---- */

static uint64_t *chosen; /* ids of the keys, if these are not 0, 1, ... */

static uint64_t id_of(uint64_t number) {
    return chosen ? chosen[number] : number;
}

/* Two of the 256 partitions get all keys but every 50th. So these two are as large as in a table of 15
 * million keys, which the reader in Python could not read in reasonable time. */
static void choose(const tamis_filter *filter, uint64_t set, uint64_t count) {
    enum { BATCH = 256 };
    static uint8_t bytes[BATCH][KEY_MAX];
    tamis_key keys[BATCH];
    tamis_hash hashes[BATCH];
    uint64_t found = 0;
    chosen = malloc(count * sizeof *chosen);
    if (!chosen)
        die("keys", "out of memory");
    for (uint64_t id = 0; found < count; id += BATCH) {
        for (size_t i = 0; i < BATCH; i++)
            keys[i] = (tamis_key){bytes[i], make_key(set, id + i, bytes[i])};
        must("hash", tamis_hash_many(tamis_filter_hasher(filter), keys, BATCH, hashes, &err));
        for (size_t i = 0; i < BATCH && found < count; i++) {
            const uint64_t partition = hashes[i].word[1] >> 56;
            if (partition == 0 || partition == 0xa5 || found % 50 == 0)
                chosen[found++] = id + i;
        }
    }
}

/* ---- queries ---- */

static int is_in(const tamis_filter *filter, const void *key, size_t size) {
    tamis_answer answer = TAMIS_UNKNOWN;
    must("contains", tamis_filter_contains(filter, key, size, &answer, &err));
    return answer == TAMIS_PRESENT;
}

static int write_key(FILE *file, const tamis_filter *filter, const uint8_t *key, size_t size) {
    int present = is_in(filter, key, size);
    for (size_t i = 0; i < size; i++)
        fprintf(file, "%02x", key[i]);
    fprintf(file, "\t%d\n", present);
    return present;
}

/* Hashes that differ from that of a member in one bit: some of these bits are in the stored prefix, others
 * after it. */
static void write_neighbours(FILE *file, const tamis_filter *filter, const uint8_t *key, size_t size,
                             uint64_t which) {
    tamis_key view = {key, size};
    tamis_hash hash;
    tamis_answer answer = TAMIS_UNKNOWN;
    must("hash", tamis_hash_many(tamis_filter_hasher(filter), &view, 1, &hash, &err));
    hash.word[which / 64 % 2] ^= UINT64_C(1) << which % 64;
    must("contains", tamis_filter_contains_hashes(filter, &hash, 1, &answer, NULL, &err));
    fprintf(file, "%" PRIx64 ":%" PRIx64 "\t%d\n", hash.word[0], hash.word[1], answer == TAMIS_PRESENT);
}

static void write_queries(const char *path, const tamis_filter *filter, uint64_t set, uint64_t keys,
                          uint64_t queried) {
    uint8_t key[KEY_MAX];
    bool digest = tamis_scheme_digest_bits(tamis_filter_plan(filter)->scheme) == 128;
    FILE *file = fopen(path, "w");
    if (!file)
        die(path, "cannot be written");
    for (uint64_t i = 0; i < queried; i++) {
        uint64_t id = keys <= queried ? i % keys : random_number() % keys;
        size_t size = make_key(set, id_of(id), key);
        write_key(file, filter, key, size);
        if (digest)
            write_neighbours(file, filter, key, size, i);
        false_positives += (uint64_t)write_key(file, filter, key, make_key(set + 1, 8 + i, key));
        if (chosen) /* in the same partitions */
            write_key(file, filter, key, make_key(set, id_of(keys + i), key));
    }
    absent_queries += queried;
    if (fclose(file) != 0)
        die(path, "cannot be written");
}

static tamis_filter *make(size_t i, uint64_t expect, uint64_t seed) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    tamis_filter *filter = NULL;
    plan_options.kind = filters[i].kind;
    plan_options.scheme = filters[i].scheme;
    plan_options.fpr = filters[i].fpr;
    plan_options.expect = expect;
    plan_options.window = plan_options.kind == TAMIS_KIND_WINDOW ? WINDOW : 0;
    must(filters[i].name, tamis_plan_make(&plan, &plan_options, &err));
    if (is_named(filters[i].name, "-parts") || is_named(filters[i].name, "-parts-grown")) {
        plan.partitions = 4;
        plan.lines = (plan.lines + 3) / 4 * 4;
    }
    options.seed = seed;
    options.frozen = is_named(filters[i].name, "-frozen");
    if (plan_options.scheme == TAMIS_SCHEME_SIP) {
        options.secret = secret;
        options.secret_size = sizeof secret - 1;
    }
    must(filters[i].name, tamis_filter_create(&filter, &plan, &options, &err));
    return filter;
}

static void say(tamis_filter *filter, const char *name) {
    const tamis_label label = {"name", name};
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    metadata.version = random_number();
    metadata.created = 1735689600; /* a constant, so that each run makes the same files */
    metadata.labels = &label;
    metadata.label_count = 1;
    if (tamis_filter_plan(filter)->scheme == TAMIS_SCHEME_FNV_DCSO) {
        metadata.data = "user data";
        metadata.data_size = 9;
    }
    must(name, tamis_filter_metadata_set(filter, &metadata, &err));
}

/* Adds keys to a window, evenly over one and a half windows: the first third is too old at the end. */
static uint64_t add_timed(tamis_filter *filter, uint64_t set, uint64_t keys) {
    uint8_t key[KEY_MAX];
    for (uint64_t id = 0; id < keys; id++) {
        const tamis_key view = {key, make_key(set, id_of(id), key)};
        const int64_t time = 1735689600000 + (int64_t)(id * WINDOW * 3 / 2 / keys);
        tamis_hash hash;
        must("hash", tamis_hash_many(tamis_filter_hasher(filter), &view, 1, &hash, &err));
        must("add", tamis_window_add(filter, &(tamis_timed_hashes){&hash, &time, 1}, NULL, NULL, &err));
    }
    return keys;
}

/* Adds the keys that fit. */
static uint64_t add(tamis_filter *filter, uint64_t set, uint64_t first, uint64_t keys) {
    uint8_t key[KEY_MAX];
    for (uint64_t id = first; id < keys; id++) {
        tamis_status status = tamis_filter_add(filter, key, make_key(set, id_of(id), key), NULL, &err);
        if (status == TAMIS_E_FULL && id > keys * 9 / 10)
            return id;
        must("add", status);
    }
    return keys;
}

/* Adds the keys below `first` to the filter and the rest to `other`. Merges `other` into the filter and frees
 * it. */
static uint64_t make_union(tamis_filter *filter, tamis_filter *other, uint64_t set, uint64_t first,
                           uint64_t keys) {
    add(filter, set, 0, first);
    keys = add(other, set, first, keys);
    must("union", tamis_filter_union(filter, other, &err));
    tamis_filter_free(other);
    return keys;
}

static void add_and_remove(tamis_filter *filter, uint64_t set, uint64_t keys) {
    uint8_t key[KEY_MAX];
    add(filter, set + 2, 0, keys / 3);
    for (uint64_t id = 0; id < keys / 3; id++)
        must("remove", tamis_filter_remove(filter, key, make_key(set + 2, id, key), NULL, &err));
    for (int i = 0; i < 20; i++)
        add(filter, set, 0, 1);
}

static bool is_requested(const char *name, int argc, char **argv) {
    for (int i = 4; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return argc <= 4 && !is_named(name, "-split");
}

int main(int argc, char **argv) {
    if (argc < 4)
        die("arguments", "FOLDER SEED ASKED [NAME...]");
    random_state = strtoull(argv[2], NULL, 10);
    uint64_t queried = strtoull(argv[3], NULL, 10);
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        char path[4096];
        uint64_t set = random_number(), in = filters[i].keys;
        if (!is_requested(filters[i].name, argc, argv))
            continue;
        const bool table = !tamis_kind_is_bloom(filters[i].kind);
        const uint64_t expect = filters[i].expect, seed = random_seed(i);
        tamis_filter *filter = make(i, expect, seed), *other = NULL;
        if (is_named(filters[i].name, "-united")) {
            const uint64_t first = table && expect ? expect : in / 2;
            other = make(i, table ? in - first : expect, seed);
            in = make_union(filter, other, set, first, in);
        } else {
            if (is_named(filters[i].name, "-split"))
                choose(filter, set, in + queried);
            in = filters[i].kind == TAMIS_KIND_WINDOW ? add_timed(filter, set, in) : add(filter, set, 0, in);
        }
        if (is_named(filters[i].name, "-removed"))
            add_and_remove(filter, set, in);
        say(filter, filters[i].name);
        snprintf(path, sizeof path, "%s/%s.tamis", argv[1], filters[i].name);
        must(path, tamis_filter_save(filter, path, &err));
        snprintf(path, sizeof path, "%s/%s.lookups", argv[1], filters[i].name);
        write_queries(path, filter, set, in, queried);
        tamis_filter_free(filter);
        free(chosen);
        chosen = NULL;
    }
    printf("%" PRIu64 " %" PRIu64 "\n", absent_queries, false_positives);
    return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Runs a script of guava/script.py through the public interface. Prints one answer a line, see there.
 *
 *     guava_ops SCRIPT THEIRS
 *
 * THEIRS is the output of GuavaOps.java. Only its head is read: the hash codes of funnels and strategies
 * in that JVM, and the rule for k of that Guava.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <tamis/compat/funnel.h>
#include <tamis/compat/guava.h>
#include <tamis/tamis.h>

enum { SLOTS = 64, WORDS = 16, BYTES = 4096 };

static void die(const char *what, const char *why) {
    fprintf(stderr, "guava_ops: %s: %s\n", what, why);
    exit(2);
}

static tamis_error err = TAMIS_ERROR_INIT;

/* What must not fail here. */
static void must(tamis_status status) {
    if (status != TAMIS_OK)
        die("refused", err.text);
}

/* ---- memory for sizes that are only looked at ---- */

/* Large blocks are read-only, which a system gives however large they are: `size` never writes. */
static void *allocate(void *context, size_t size, size_t align) {
    (void)context;
    (void)align; /* a page is aligned enough */
    int rights = size > (size_t)1 << 30 ? PROT_READ : PROT_READ | PROT_WRITE;
    void *block = mmap(NULL, size, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return block == MAP_FAILED ? NULL : block;
}

static void release(void *context, void *block, size_t size) {
    (void)context;
    munmap(block, size);
}

/* ---- objects and funnels ---- */

typedef struct object {
    int32_t small;
    int64_t large;
    tamis_key key;
    const uint16_t *units;
    size_t unit_count;
} object;

/* The same as in GuavaOps.java. */
static void custom_funnel(tamis_sink *sink, const void *content, void *context) {
    const object *from = content;
    const uint8_t *bytes = from->key.data;
    char utf8[2 * BYTES];
    size_t size = 0;
    (void)context;
    tamis_sink_put_int64(sink, from->large);
    tamis_sink_put_int32(sink, from->small);
    tamis_sink_put_int16(sink, (int16_t)from->large);
    tamis_sink_put_byte(sink, (uint8_t)(from->large >> 8));
    tamis_sink_put_bool(sink, (from->large & 1) != 0);
    tamis_sink_put_float(sink, (float)from->small);
    tamis_sink_put_double(sink, (double)from->large);
    for (size_t i = 0; i < from->key.size; i++) {
        if (bytes[i] >= 0x80)
            utf8[size++] = (char)(0xc0 | bytes[i] >> 6);
        utf8[size++] = (char)(bytes[i] >= 0x80 ? 0x80 | (bytes[i] & 0x3f) : bytes[i]);
    }
    tamis_sink_put_utf8(sink, utf8, size);
    tamis_sink_put_utf16(sink, from->units, from->unit_count);
    tamis_sink_put_bytes(sink, bytes, from->key.size);
}

typedef struct named {
    const char *name;
    tamis_funnel funnel;
    int32_t hash; /* in the other side's JVM */
} named;

static named funnels[] = {
    {"int32", tamis_funnel_int32, 0}, {"int64", tamis_funnel_int64, 0}, {"utf8", tamis_funnel_utf8, 0},
    {"utf16", tamis_funnel_utf16, 0}, {"bytes", tamis_funnel_bytes, 0}, {"custom", custom_funnel, 0},
};
static named strategies[] = {{"guava64", NULL, 0}, {"guava32", NULL, 0}};

static named *find(named *list, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

static named *funnel_named(const char *name) {
    named *found = find(funnels, sizeof funnels / sizeof *funnels, name);
    if (!found)
        die("no such funnel", name);
    return found;
}

static named *strategy_named(const char *name) {
    named *found = find(strategies, 2, name);
    if (!found)
        die("no such strategy", name);
    return found;
}

static unsigned hex_byte(const char *text) {
    char digits[3] = {text[0], text[1], 0};
    return (unsigned)strtoul(digits, NULL, 16);
}

/* Bytes of the hex digits from `hex` to `end`. */
static size_t unhex(const char *hex, const char *end, uint8_t *bytes) {
    size_t size = 0;
    for (; hex + 1 < end && size < BYTES; hex += 2)
        bytes[size++] = (uint8_t)hex_byte(hex);
    return size;
}

/* What the funnel takes, made of a token. It lives until the next call. */
static const void *object_of(const named *type, const char *token) {
    static uint8_t bytes[BYTES], big[BYTES];
    static uint16_t units[BYTES / 2];
    static object made;
    const char *end = token + strlen(token);
    made = (object){0};
    made.key.data = bytes;
    if (*token == 'x') {
        made.key.size = unhex(token + 1, end, bytes);
        return &made.key;
    }
    made.large = strtoll(token, NULL, 10);
    made.small = (int32_t)(uint32_t)made.large;
    if (type->funnel == tamis_funnel_int32)
        return &made.small;
    if (type->funnel == tamis_funnel_int64)
        return &made.large;
    const char *first = strchr(token, ':'), *second = strrchr(token, ':');
    if (!first)
        die("no object of a custom funnel", token);
    made.key.size = unhex(first + 1, second, bytes);
    made.units = units;
    made.unit_count = unhex(second + 1, end, big) / 2;
    for (size_t i = 0; i < made.unit_count; i++)
        units[i] = (uint16_t)(big[2 * i] << 8 | big[2 * i + 1]);
    return &made;
}

/* ---- operations ---- */

static struct slot {
    tamis_guava *filter;
    const named *funnel, *strategy;
} slots[SLOTS];
static tamis_guava_rule rule;

static struct slot *slot_at(const char *number) {
    unsigned long index = strtoul(number, NULL, 10);
    if (index >= SLOTS)
        die("no such slot", number);
    return &slots[index];
}

static tamis_guava *filter_at(const char *number) {
    return slot_at(number)->filter;
}

static void put_bool(bool value) {
    puts(value ? "true" : "false");
}

static tamis_guava_options options_of(const char *funnel, const char *strategy, const char *n,
                                      const char *p) {
    tamis_guava_options options = TAMIS_GUAVA_OPTIONS_INIT;
    options.expected_insertions = strtoll(n, NULL, 10);
    if (strcmp(p, "default") != 0) {
        uint64_t bits = strtoull(p, NULL, 16);
        memcpy(&options.fpp, &bits, sizeof bits);
    }
    options.strategy = strcmp(strategy, "guava32") == 0 ? TAMIS_SCHEME_GUAVA32 : TAMIS_SCHEME_GUAVA64;
    options.rule = rule;
    options.funnel = funnel_named(funnel)->funnel;
    return options;
}

/* "range" for what Guava refuses as an argument; NULL and the sizes are the caller's otherwise. */
static tamis_guava *create_or_range(const tamis_guava_options *options) {
    tamis_guava *made = NULL;
    tamis_status status = tamis_guava_create(&made, options, &err);
    if (status == TAMIS_E_RANGE)
        puts("range");
    else
        must(status);
    return made;
}

static void print_sizes(const tamis_guava *filter) {
    printf("%" PRIu64 " %" PRIu32, tamis_guava_bit_size(filter), tamis_guava_hash_functions(filter));
}

static void create(char **w) {
    tamis_guava_options options = options_of(w[2], w[3], w[4], w[5]);
    tamis_guava *made = create_or_range(&options);
    if (!made)
        return;
    struct slot *slot = slot_at(w[1]);
    tamis_guava_free(slot->filter);
    *slot = (struct slot){made, funnel_named(w[2]), strategy_named(w[3])};
    printf("ok ");
    print_sizes(made);
    putchar('\n');
}

/* A plan of scheme guava64 has the same sizes by the older rule, where it takes the arguments at all. */
static void check_plan(const tamis_guava_options *options, const tamis_guava *filter) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    plan_options.kind = TAMIS_KIND_CLASSIC;
    plan_options.scheme = TAMIS_SCHEME_GUAVA64;
    plan_options.expect = (uint64_t)options->expected_insertions;
    plan_options.fpr = options->fpp;
    if (rule == TAMIS_GUAVA_RULE_SIZE && tamis_plan_make(&plan, &plan_options, NULL) == TAMIS_OK &&
        (plan.bits != tamis_guava_bit_size(filter) || plan.probes != tamis_guava_hash_functions(filter)))
        printf("plan %" PRIu64 " %" PRIu32 ", but ", plan.bits, plan.probes);
}

static void size(char **w) {
    tamis_allocator looked_at = {allocate, release, NULL};
    tamis_guava_options options = options_of("bytes", "guava64", w[1], w[2]);
    options.allocator = &looked_at;
    tamis_guava *made = create_or_range(&options);
    if (!made)
        return;
    check_plan(&options, made);
    print_sizes(made);
    putchar('\n');
    tamis_guava_free(made);
}

static void put_object(char **w) {
    const struct slot *slot = slot_at(w[1]);
    bool changed;
    must(tamis_guava_put(slot->filter, object_of(slot->funnel, w[2]), &changed, &err));
    put_bool(changed);
}

static void has(char **w) {
    const struct slot *slot = slot_at(w[1]);
    bool might;
    must(tamis_guava_might_contain(slot->filter, object_of(slot->funnel, w[2]), &might, &err));
    put_bool(might);
}

static void putall(char **w) {
    static const char *const reasons[] = {"itself", "hash functions", "bit", "strategies", "funnels"};
    tamis_status status = tamis_guava_put_all(filter_at(w[1]), filter_at(w[2]), &err);
    if (status == TAMIS_OK) {
        puts("ok");
        return;
    }
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strstr(err.text, reasons[i]) && status == (i == 0 ? TAMIS_E_INVALID : TAMIS_E_MISMATCH)) {
            printf("refused %s\n", reasons[i]);
            return;
        }
    printf("%s\n", err.text);
}

static void copy(char **w) {
    struct slot *to = slot_at(w[1]), made = *slot_at(w[2]);
    const tamis_guava *from = made.filter;
    must(tamis_guava_copy(&made.filter, from, &err));
    tamis_guava_free(to->filter);
    *to = made;
    puts("ok");
}

static void equal(char **w) {
    put_bool(tamis_guava_equals(filter_at(w[1]), filter_at(w[2])));
}

static void compatible(char **w) {
    put_bool(tamis_guava_is_compatible(filter_at(w[1]), filter_at(w[2])));
}

static void hash(char **w) {
    const struct slot *slot = slot_at(w[1]);
    printf("%" PRId32 "\n", tamis_guava_hash_code(slot->filter, slot->funnel->hash, slot->strategy->hash));
}

static void state(char **w) {
    const tamis_guava *filter = filter_at(w[1]);
    int64_t count;
    tamis_status status = tamis_guava_approximate_element_count(filter, &count, &err);
    print_sizes(filter);
    printf(" %" PRIu64 " ", tamis_guava_bit_count(filter));
    if (status == TAMIS_E_RANGE) {
        printf("all");
    } else {
        must(status);
        printf("%" PRId64, count);
    }
    printf(" %a\n", tamis_guava_expected_fpp(filter));
}

/* writeTo, from the positions: strategy, k, the number of words, the words, big-endian. */
static void written(char **w) {
    static uint8_t bits[BYTES];
    tamis_guava_options options = options_of(w[1], w[2], w[3], w[4]);
    tamis_guava *filter = NULL;
    tamis_sink *sink = NULL;
    const tamis_key *keys;
    size_t count;
    must(tamis_guava_create(&filter, &options, &err));
    must(tamis_sink_create(&sink, NULL, &err));
    for (char **token = w + 5; *token; token++)
        tamis_funnel_many(sink, options.funnel, NULL, object_of(funnel_named(w[1]), *token), 0, 1);
    must(tamis_sink_keys(sink, &keys, &count, &err));

    uint64_t m = tamis_guava_bit_size(filter), positions[WORDS * TAMIS_PROBES_MAX];
    uint32_t k = tamis_guava_hash_functions(filter);
    if (m / 8 > sizeof bits)
        die("too large for this test", w[3]);
    memset(bits, 0, sizeof bits);
    must(tamis_hash_positions(tamis_filter_hasher(tamis_guava_filter(filter)), keys, count,
                              &(tamis_bloom_shape){.bits = m, .probes = k}, positions, &err));
    for (size_t i = 0; i < count * k; i++)
        bits[positions[i] / 64 * 8 + 7 - positions[i] % 64 / 8] |= (uint8_t)(1u << positions[i] % 8);
    printf("%02x%02x%08" PRIx64, options.strategy == TAMIS_SCHEME_GUAVA64, k, m / 64);
    for (size_t i = 0; i < m / 8; i++)
        printf("%02x", bits[i]);
    putchar('\n');
    tamis_sink_free(sink);
    tamis_guava_free(filter);
}

static void digest(char **w) {
    tamis_hasher_options options = TAMIS_HASHER_OPTIONS_INIT;
    options.scheme = TAMIS_SCHEME_GUAVA64;
    tamis_hasher *hasher = NULL;
    tamis_sink *sink = NULL;
    const tamis_key *keys;
    tamis_hash made;
    size_t count;
    const named *funnel = funnel_named(w[1]);
    must(tamis_hasher_create(&hasher, &options, &err));
    must(tamis_sink_create(&sink, NULL, &err));
    tamis_funnel_many(sink, funnel->funnel, NULL, object_of(funnel, w[2]), 0, 1);
    must(tamis_sink_keys(sink, &keys, &count, &err));
    must(tamis_hash_many(hasher, keys, count, &made, &err));
    for (int i = 0; i < 16; i++)
        printf("%02x", (unsigned)(made.word[i / 8] >> i % 8 * 8 & 0xff));
    putchar('\n');
    tamis_sink_free(sink);
    tamis_hasher_free(hasher);
}

static const struct operation {
    const char *name;
    void (*run)(char **w);
    int min; /* words */
} operations[] = {
    {"create", create, 6}, {"size", size, 3},   {"put", put_object, 3},  {"has", has, 3},
    {"putall", putall, 3}, {"copy", copy, 3},   {"equal", equal, 3},     {"compatible", compatible, 3},
    {"hash", hash, 2},     {"state", state, 2}, {"written", written, 5}, {"digest", digest, 3},
};

static void run(char *line) {
    char *w[WORDS + 1] = {NULL};
    int count = 0;
    for (char *word = strtok(line, " \n"); word && count < WORDS; word = strtok(NULL, " \n"))
        w[count++] = word;
    for (size_t i = 0; count && i < sizeof operations / sizeof *operations; i++)
        if (strcmp(operations[i].name, w[0]) == 0 && count >= operations[i].min) {
            operations[i].run(w);
            return;
        }
    die("no operation", line);
}

static FILE *opened(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file)
        die(path, strerror(errno));
    return file;
}

static void read_head(const char *path) {
    char name[32], value[32];
    FILE *file = opened(path);
    while (fscanf(file, "%31s", name) == 1 && strcmp(name, "--") != 0) {
        if (fscanf(file, "%31s", value) != 1)
            die(path, "no head");
        if (strcmp(name, "rule") == 0) {
            rule = strcmp(value, "fpp") == 0 ? TAMIS_GUAVA_RULE_FPP : TAMIS_GUAVA_RULE_SIZE;
            continue;
        }
        named *entry = find(funnels, sizeof funnels / sizeof *funnels, name);
        if (!entry)
            entry = strategy_named(name);
        entry->hash = (int32_t)strtol(value, NULL, 10);
    }
    fclose(file);
}

int main(int argc, char **argv) {
    static char line[1 << 16];
    if (argc != 3)
        die("usage", "guava_ops SCRIPT THEIRS");
    read_head(argv[2]);
    FILE *script = opened(argv[1]);
    while (fgets(line, sizeof line, script))
        run(line);
    fclose(script);
    for (int i = 0; i < SLOTS; i++)
        tamis_guava_free(slots[i].filter);
    return ferror(stdout) || fflush(stdout) ? 2 : 0;
}

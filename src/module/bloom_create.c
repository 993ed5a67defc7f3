/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * New Bloom filters: the options of BF.RESERVE and BF.INSERT, and what is made of them.
 *
 *     KIND          filter                                              when it is full
 *     compatible    RedisBloom's chain                                  grows, or refuses if NONSCALING
 *     fingerprint   one table of the library                            doubles, or refuses if NONSCALING
 *     growing       the same without a capacity                         grows in small steps
 *     blocked       the library's Bloom filter, a cache line an item    refuses
 *     classic       the library's Bloom filter                          refuses
 *     fast          fingerprint for an eighth more items; if NONSCALING, what the library plans
 *
 * The eighth more of `fast` is for speed. In a table that is nearly full most new items move others first: with
 * 10^7 items and rate 0.001, an add takes 48 ns instead of 27.
 *
 * A replica gets BF.RESERVE with all options: the kind that was chosen, and EXPANSION or NONSCALING. So its
 * settings do not matter. The expansion of a nonscaling filter has no effect, but RedisBloom stores it: 0 if
 * EXPANSION 0 made the filter, else a number. Here it is that of RedisBloom's default.
 */
#include <ctype.h>
#include <stdio.h>

#include "module/module.h"

enum {
    TEXT = 32,
    GROWTH = 2,              /* the capacity of a native filter that grows doubles */
    FAST_SHARE = 8,          /* `fast` has a capacity of 1 + 1/8 times the items */
    NONSCALING_EXPANSION = 2 /* stored with NONSCALING, as RedisBloom does by default; it has no effect */
};

bloom_creation bloom_creation_by_settings(RedisModuleCtx *ctx) {
    return (bloom_creation){.rate = settings.rate,
                            .capacity = settings.capacity,
                            .expansion = settings.expansion,
                            .nonscaling = settings.expansion == 0,
                            .fast = settings.fast && module_is_client(ctx)};
}

/* ---- creation ---- */

static tamis_status create_compatible(RedisModuleCtx *ctx, bloom_key *key, const bloom_creation *how) {
    tamis_redisbloom_options options = TAMIS_REDISBLOOM_OPTIONS_INIT;
    options.rate = how->rate;
    options.capacity = (uint64_t)how->capacity;
    options.expansion = how->nonscaling && how->expansion ? NONSCALING_EXPANSION : (uint32_t)how->expansion;
    options.nonscaling = how->nonscaling;
    options.allocator = module_allocator();
    tamis_redisbloom *filter = NULL;
    tamis_redisbloom_info info = TAMIS_REDISBLOOM_INFO_INIT;
    tamis_status status = tamis_redisbloom_create(&filter, &options, NULL);
    if (status == TAMIS_OK)
        status = tamis_redisbloom_info_get(filter, &info, NULL);
    if (status == TAMIS_OK && module_exceeds_memory(ctx, info.memory))
        status = TAMIS_E_NOMEM;
    if (status == TAMIS_OK)
        bloom_key_set(key, filter);
    else
        tamis_redisbloom_free(filter);
    return status;
}

static long long fast_capacity(long long items) {
    const long long capacity = items + items / FAST_SHARE;
    return capacity < MODULE_CAPACITY_MAX ? capacity : MODULE_CAPACITY_MAX;
}

/* Creates a native filter. Sets how->kind and how->capacity to what was chosen. */
static tamis_status create_native(RedisModuleCtx *ctx, bloom_key *key, bloom_creation *how) {
    const bool is_fast_table = how->fast && !how->nonscaling;
    if (is_fast_table)
        how->capacity = fast_capacity(how->capacity);
    tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
    options.expect = how->is_growing ? 0 : (uint64_t)how->capacity;
    options.fpr = how->rate;
    options.kind = is_fast_table ? TAMIS_KIND_FINGERPRINT : how->kind;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_status status = tamis_plan_make(&plan, &options, NULL);
    if (status != TAMIS_OK)
        return status;
    how->kind = plan.kind;
    how->nonscaling = how->nonscaling || plan.kind != TAMIS_KIND_FINGERPRINT;
    tamis_filter_options filter_options = TAMIS_FILTER_OPTIONS_INIT;
    filter_options.frozen = how->nonscaling && plan.kind == TAMIS_KIND_FINGERPRINT;
    filter_options.allocator = module_aligned_allocator();
    tamis_filter *filter = NULL;
    status = tamis_filter_create(&filter, &plan, &filter_options, NULL);
    if (status == TAMIS_OK && module_exceeds_memory(ctx, plan.memory))
        status = TAMIS_E_NOMEM;
    if (status == TAMIS_OK) {
        key->native = native_key_set(key->key, &native_filters, filter);
        key->state = FILTER_KEY_FILTER;
    } else {
        tamis_filter_free(filter);
    }
    return status;
}

static void replicate_creation(RedisModuleCtx *ctx, RedisModuleString *name, const bloom_creation *how) {
    char rate[TEXT];
    const char *kind = how->is_growing ? MODULE_GROWING : tamis_kind_name(how->kind);
    snprintf(rate, sizeof rate, "%.17g", how->rate);
    if (how->kind == TAMIS_KIND_AUTO && how->nonscaling && how->expansion)
        server.Replicate(ctx, "BF.RESERVE", "sclc", name, rate, how->capacity, "NONSCALING");
    else if (how->kind == TAMIS_KIND_AUTO)
        server.Replicate(ctx, "BF.RESERVE", "sclcl", name, rate, how->capacity, "EXPANSION", how->expansion);
    else if (how->nonscaling)
        server.Replicate(ctx, "BF.RESERVE", "sclccc", name, rate, how->capacity, "NONSCALING", "KIND", kind);
    else
        server.Replicate(ctx, "BF.RESERVE", "sclclcc", name, rate, how->capacity, "EXPANSION",
                         (long long)GROWTH, "KIND", kind);
}

bool bloom_create(RedisModuleCtx *ctx, bloom_key *key, RedisModuleString *name, bloom_creation how) {
    if (how.rate > BLOOM_RATE_MAX)
        how.rate = BLOOM_RATE_MAX;
    const bool is_native = how.fast || how.kind != TAMIS_KIND_AUTO;
    const tamis_status status = is_native ? create_native(ctx, key, &how) : create_compatible(ctx, key, &how);
    if (status != TAMIS_OK) {
        server.ReplyWithError(ctx, status == TAMIS_E_NOMEM ? "ERR Insufficient memory to create filter"
                                                           : "ERR could not create filter");
        return false;
    }
    replicate_creation(ctx, name, &how);
    return true;
}

/* ---- options ---- */

/* Sets the kind. False: there is no such kind. */
static bool parse_kind(bloom_creation *how, const RedisModuleString *word) {
    static const tamis_kind kinds[] = {TAMIS_KIND_FINGERPRINT, TAMIS_KIND_BLOCKED, TAMIS_KIND_CLASSIC};
    how->fast = is_word(word, "fast");
    how->is_growing = is_word(word, MODULE_GROWING);
    how->kind = how->is_growing ? TAMIS_KIND_FINGERPRINT : TAMIS_KIND_AUTO;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (is_word(word, tamis_kind_name(kinds[i])))
            how->kind = kinds[i];
    }
    return how->fast || how->kind != TAMIS_KIND_AUTO || is_word(word, "compatible");
}
#define BAD_KIND "ERR kind must be compatible, fast, fingerprint, growing, blocked or classic"

/* Returns why the kind does not suit the other options, or NULL. */
static const char *check_kind(const bloom_creation *how) {
    const bool is_fixed = how->kind == TAMIS_KIND_BLOCKED || how->kind == TAMIS_KIND_CLASSIC;
    if (how->is_growing && how->nonscaling)
        return "ERR kind growing always grows; choose kind fingerprint";
    return is_fixed && how->must_grow
               ? "ERR kinds blocked and classic do not grow; leave out EXPANSION, or choose another kind"
               : NULL;
}

/* `nonscaling`: EXPANSION above 0 is an error. */
static const char *parse_expansion(bloom_creation *how, RedisModuleString **argv, int argc, bool nonscaling) {
    const int expansion = find_word(argv, argc, 4, "EXPANSION");
    if (!expansion)
        return NULL;
    if (expansion + 1 == argc)
        return "ERR no expansion";
    if (server.StringToLongLong(argv[expansion + 1], &how->expansion) != MODULE_OK)
        return "ERR bad expansion";
    if (nonscaling && how->expansion != 0)
        return "Nonscaling filters cannot expand";
    if (how->expansion < 0 || how->expansion > MODULE_EXPANSION_MAX)
        return "ERR expansion must be in the range [0, 32768]";
    how->nonscaling = how->expansion == 0;
    how->must_grow = how->expansion > 0;
    return NULL;
}

/* Unknown words are ignored, as in RedisBloom. With bf-expansion-factor 0 it refuses a client's EXPANSION. */
const char *bloom_parse_reserve(RedisModuleCtx *ctx, bloom_creation *how, RedisModuleString **argv,
                                int argc) {
    static const module_option options[] = {{"EXPANSION", 1}, {"NONSCALING", 0}, {"KIND", 1}, {NULL, 0}};
    if (server.StringToDouble(argv[2], &how->rate) != MODULE_OK)
        return "ERR bad error rate";
    if (!(how->rate > 0 && how->rate < 1))
        return "ERR error rate must be in the range (0.000000, 1.000000)";
    if (server.StringToLongLong(argv[3], &how->capacity) != MODULE_OK)
        return "ERR bad capacity";
    if (how->capacity < 1 || how->capacity > MODULE_CAPACITY_MAX)
        return "ERR capacity must be in the range [1, 1073741824]";
    const char *error = settings_check_options(ctx, options, argv + 4, argc - 4,
                                               "ERR unknown option; expected EXPANSION, NONSCALING or KIND");
    if (error)
        return error;
    const bool is_nonscaling = how->nonscaling && module_is_client(ctx);
    const bool nonscaling = find_word(argv, argc, 4, "NONSCALING") != 0;
    how->nonscaling = how->nonscaling || nonscaling;
    error = parse_expansion(how, argv, argc, is_nonscaling || nonscaling);
    const int kind = find_word(argv, argc, 4, "KIND");
    if (error)
        return error;
    if (kind && (kind + 1 == argc || !parse_kind(how, argv[kind + 1])))
        return BAD_KIND;
    return check_kind(how);
}

/* ---- options of BF.INSERT ---- */

/* Reads the value of an option. Returns the error, or NULL. */
static const char *parse_insert_value(bloom_creation *how, char option, const RedisModuleString *value) {
    switch (option) {
    case 'r':
        return server.StringToDouble(value, &how->rate) == MODULE_OK && how->rate > 0 && how->rate < 1
                   ? NULL
                   : "Bad error rate";
    case 'c':
        return server.StringToLongLong(value, &how->capacity) == MODULE_OK && how->capacity >= 1 &&
                       how->capacity <= MODULE_CAPACITY_MAX
                   ? NULL
                   : "Bad capacity";
    case 'k':
        return parse_kind(how, value) ? NULL : BAD_KIND;
    default:
        if (server.StringToLongLong(value, &how->expansion) != MODULE_OK || how->expansion < 0 ||
            how->expansion > MODULE_EXPANSION_MAX)
            return "Bad expansion";
        how->must_grow = how->expansion > 0;
        return NULL;
    }
}

/* Returns the option that a word stands for: its first letters decide, as in RedisBloom. 'i': ITEMS, 'c':
 * CAPACITY, 'r': ERROR, 'x': EXPANSION, 'n': NONSCALING, 'o': NOCREATE, '?': unknown. */
static char option_by_letters(const RedisModuleString *word) {
    size_t size;
    const char *text = server.StringPtrLen(word, &size);
    const int first = size > 0 ? tolower((unsigned char)text[0]) : 0;
    const int second = size > 1 ? tolower((unsigned char)text[1]) : 0;
    const int third = size > 2 ? tolower((unsigned char)text[2]) : 0;
    switch (first) {
    case 'i':
    case 'c':
        return (char)first;
    case 'e':
        return second == 'r' ? 'r' : 'x';
    case 'n':
        return third == 'c' ? 'o' : 'n';
    default:
        return '?';
    }
}

/* The same by whole words, and 'k': KIND. */
static char option_by_word(const RedisModuleString *word) {
    static const struct {
        const char *word;
        char option;
    } options[] = {{"ITEMS", 'i'},    {"CAPACITY", 'c'},   {"ERROR", 'r'}, {"EXPANSION", 'x'},
                   {"NOCREATE", 'o'}, {"NONSCALING", 'n'}, {"KIND", 'k'}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (is_word(word, options[i].word))
            return options[i].option;
    }
    return '?';
}

/* With bf-expansion-factor 0 an EXPANSION has no effect, as in RedisBloom. */
const char *bloom_parse_insert(RedisModuleCtx *ctx, bloom_insertion *insertion, RedisModuleString **argv,
                               int argc) {
    static const module_option options[] = {{"CAPACITY", 1},
                                            {"ERROR", 1},
                                            {"EXPANSION", 1},
                                            {"NOCREATE", 0},
                                            {"NONSCALING", 0},
                                            {"KIND", 1},
                                            {"ITEMS", MODULE_ALL_VALUES},
                                            {NULL, 0}};
    bloom_creation *how = &insertion->how;
    const char *error = settings_check_options(ctx, options, argv + 2, argc - 2, "Unknown argument received");
    if (error)
        return error;
    for (int i = 2; i < argc; i++) {
        char option = option_by_word(argv[i]);
        if (option == '?')
            option = option_by_letters(argv[i]);
        if (option == 'i') {
            insertion->items = i + 1 < argc ? i + 1 : 0;
            break;
        }
        if (option == '?')
            return "Unknown argument received";
        if (option == 'n')
            how->nonscaling = true;
        else if (option == 'o')
            insertion->no_create = true;
        else if (++i == argc)
            return NULL;
        else
            error = parse_insert_value(how, option, argv[i]);
        if (error)
            return error;
    }
    how->nonscaling = how->nonscaling || how->expansion == 0;
    how->must_grow = how->must_grow && !how->nonscaling;
    return check_kind(how);
}

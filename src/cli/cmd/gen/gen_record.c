/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each record has a state of 64 bits, which is a bijection of its index for a given seed. Numbered draws from
 * the state fill the members of the record. A repeated record is made from the state of an earlier one:
 *
 *     index --> draw 0 < share? --no--> record from the state of this index
 *       ^            |yes
 *       |            v
 *       '-- draw 1 selects an earlier index
 *
 * The chain ends at a record that repeats none, or at index 0. On average it is 1/(1 - share) long. So the
 * share of repeated records is as requested, and no record need be remembered.
 *
 * Distinct indices have distinct states, because every step of mix() is invertible and the multiplier of the
 * index is odd. An address contains its whole state, so no two addresses are equal by chance.
 *
 * The mixing function is that of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
 * Generators, OOPSLA 2014).
 */
#include "cli/cmd/gen/gen_record.h"

#include <stdbool.h>
#include <string.h>

#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* Numbers of the draws from the state of a record. */
enum { DRAW_REPEAT, DRAW_EARLIER, DRAW_FIRST, DRAW_SECOND, DRAW_THIRD, DRAW_FOURTH, DRAW_HOST, DRAW_PATH };

static const char words[GEN_WORDS][8] = {
    "about",  "account", "add",     "album",   "alerts",  "api",     "archive", "art",     "article",
    "audio",  "auth",    "author",  "basket",  "best",    "blog",    "board",   "book",    "brand",
    "browse", "camera",  "cards",   "career",  "cart",    "catalog", "chart",   "city",    "client",
    "cloud",  "code",    "comment", "compare", "contact", "cook",    "course",  "data",    "deals",
    "design", "detail",  "docs",    "edit",    "event",   "family",  "faq",     "feed",    "file",
    "film",   "finance", "food",    "forum",   "forward", "free",    "gallery", "game",    "garden",
    "gift",   "green",   "group",   "guide",   "health",  "help",    "history", "home",    "hotel",
    "house",  "image",   "index",   "info",    "item",    "jobs",    "journal", "kids",    "kitchen",
    "label",  "latest",  "learn",   "library", "light",   "list",    "local",   "login",   "mail",
    "maps",   "market",  "media",   "member",  "menu",    "mobile",  "music",   "nature",  "news",
    "offer",  "open",    "order",   "page",    "partner", "people",  "photo",   "places",  "player",
    "plus",   "podcast", "post",    "press",   "price",   "product", "profile", "project", "query",
    "rating", "recipe",  "report",  "review",  "sale",    "school",  "science", "search",  "season",
    "series", "service", "shop",    "signup",  "sport",   "story",   "street",  "style",   "support",
    "tag",    "travel"};

static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t state_of(const gen_source *source, uint64_t index) {
    return mix(source->base + index * GOLDEN);
}

static uint64_t draw(uint64_t state, uint64_t number) {
    return mix(state + (number + 1) * GOLDEN);
}

/* The upper half of a * b: a number below b, uniform if `a` is. No partial sum overflows: each is at most
 * (2^32 - 1)^2 + 2 (2^32 - 1) = 2^64 - 1. */
static uint64_t multiply_high(uint64_t a, uint64_t b) {
    uint64_t a_low = a & 0xffffffff, a_high = a >> 32, b_low = b & 0xffffffff, b_high = b >> 32;
    const uint64_t middle = a_high * b_low + (a_low * b_low >> 32);
    const uint64_t low_bits = a_low * b_high + (middle & 0xffffffff);

    return a_high * b_high + (middle >> 32) + (low_bits >> 32);
}

/* A number below `limit` from 32 bits of a draw. */
static uint32_t below(uint64_t bits, uint32_t limit) {
    return (uint32_t)((bits & 0xffffffff) * limit >> 32);
}

/* Index of the record that this one repeats, or its own index. */
static uint64_t root_of(const gen_source *source, uint64_t index) {
    while (source->repeat != 0 && index > 0) {
        const uint64_t state = state_of(source, index);
        if (draw(state, DRAW_REPEAT) >> 11 >= source->repeat)
            break;
        index = multiply_high(draw(state, DRAW_EARLIER), index);
    }
    return index;
}

static char *put_bytes(char *pos, const char *text, size_t size) {
    memcpy(pos, text, size);
    return pos + size;
}

/* Writes a string literal without its NUL. */
#define PUT(pos, literal) put_bytes(pos, literal, sizeof(literal) - 1)

static char *put_hex(const gen_source *source, char *pos, uint64_t number, int bytes) {
    for (int i = bytes - 1; i >= 0; i--)
        pos = put_bytes(pos, source->pairs[number >> (8 * i) & 0xff], 2);
    return pos;
}

static char *put_decimal(char *pos, uint64_t number) {
    char digits[20];
    size_t used = sizeof digits;

    do {
        digits[--used] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    return put_bytes(pos, digits + used, sizeof digits - used);
}

/* Makes a host name of 9 to 18 bytes, "shop.talimo.org", from a prefix, syllables and a suffix. It is the
 * same for every seed. */
static void make_host(gen_host *host, uint64_t number) {
    static const char syllables[] = "bacadefogehijakolumenapiqurasetivowexiyozu";
    static const char names[][6] = {"www.", "www.", "shop.", "blog.", "m.", "news.", "", ""};
    static const char suffixes[][6] = {".com", ".com", ".com", ".org", ".net", ".de", ".fr", ".co"};
    const uint64_t bits = mix(~number * GOLDEN);
    const uint32_t count = 3 + (uint32_t)(bits >> 60) % 2;
    char *pos = host->text;

    pos = put_bytes(pos, names[bits & 7], strlen(names[bits & 7]));
    for (uint32_t i = 0; i < count; i++)
        pos = put_bytes(pos, syllables + 2 * ((bits >> (8 + 8 * i) & 0xff) % 21), 2);
    pos = put_bytes(pos, suffixes[bits >> 3 & 7], strlen(suffixes[bits >> 3 & 7]));
    host->size = (uint8_t)(pos - host->text);
}

void gen_source_init(gen_source *source, uint64_t seed, double share) {
    static const char digits[] = "0123456789abcdef";

    source->base = mix(seed ^ UINT64_C(0x74616d69732d6765)); /* "tamis-ge" */
    source->repeat = (uint64_t)(share * 9007199254740992.0); /* 2^53: exact on every machine */
    for (unsigned i = 0; i < 256; i++) {
        source->pairs[i][0] = digits[i >> 4];
        source->pairs[i][1] = digits[i & 15];
    }
    for (unsigned i = 0; i < GEN_HOSTS; i++)
        make_host(&source->hosts[i], i);
}

/*
 * Makes letters from a fraction: x in [0, 2^58) stands for x / 2^58 in [0, 1). 26 x has a whole part, which
 * is a letter, and a fraction, which is the next x. Six letters and the length use 32 of the 58 bits, so no
 * letter is more likely than another by more than 2^-26. Two such chains run side by side; the newline cuts
 * them off at the length.
 */
char *gen_word(const gen_source *source, uint64_t index, char *pos) {
    const uint64_t mask = (UINT64_C(1) << 58) - 1;
    const uint64_t state = state_of(source, root_of(source, index));
    uint64_t high_bits = draw(state, DRAW_FIRST) >> 6, low_bits = draw(state, DRAW_SECOND) >> 6;

    high_bits *= 9;
    const size_t size = 4 + (size_t)(high_bits >> 58);
    high_bits &= mask;
    for (int i = 0; i < 6; i++) {
        high_bits *= 26;
        low_bits *= 26;
        pos[i] = (char)('a' + (int)(high_bits >> 58));
        pos[6 + i] = (char)('a' + (int)(low_bits >> 58));
        high_bits &= mask;
        low_bits &= mask;
    }
    pos[size] = '\n';
    return pos + size + 1;
}

/* Writes a host. Hosts with low numbers are more frequent. */
static char *put_host(const gen_source *source, char *pos, uint64_t bits) {
    const gen_host *host = &source->hosts[below(bits, below(bits >> 32, GEN_HOSTS) + 1)];

    memcpy(pos, host->text, sizeof host->text); /* a fixed size is fast; the excess is overwritten later */
    return pos + host->size;
}

/* Writes a path of words, "/news/best-garden-photo", from `pos` to `end`, where the last word is cut. It may
 * write past `end`; the caller writes over these bytes. */
static void put_path(uint64_t state, char *pos, const char *end) {
    uint64_t bits = 0, number = DRAW_PATH;
    char mark = '/';

    for (int left = 0; pos < end; left--) {
        if (left == 0) {
            bits = draw(state, number++);
            left = 6;
        }
        const char *word = words[bits & (GEN_WORDS - 1)];
        *pos++ = mark;
        memcpy(pos, word, sizeof words[0]);
        pos += strnlen(word, sizeof words[0]);
        mark = (bits >> 7 & 7) < 3 ? '/' : '-';
        bits >>= 10;
    }
}

char *gen_url(const gen_source *source, uint64_t index, char *pos) {
    uint64_t state = state_of(source, root_of(source, index)), bits = draw(state, DRAW_FIRST);
    char *begin = pos, *query;

    pos = (bits & 7) == 0 ? PUT(pos, "http://") : PUT(pos, "https://");
    pos = put_host(source, pos, draw(state, DRAW_SECOND));
    query = begin + 60 + below(bits >> 32, 41) - (sizeof "?id=" - 1 + 16);
    put_path(state, pos, query);
    if (query[-1] == '-' || query[-1] == '/')
        query[-1] = 's';
    pos = PUT(query, "?id=");
    pos = put_hex(source, pos, state, 8);
    *pos++ = '\n';
    return pos;
}

/* Writes a UUID of version 4 (RFC 9562), with 122 bits of two draws. */
static char *put_uuid(const gen_source *source, char *pos, uint64_t high, uint64_t low) {
    high = (high & ~UINT64_C(0xf000)) | 0x4000;
    low = (low >> 2) | UINT64_C(1) << 63;
    pos = put_hex(source, pos, high >> 32, 4);
    *pos++ = '-';
    pos = put_hex(source, pos, high >> 16, 2);
    *pos++ = '-';
    pos = put_hex(source, pos, high, 2);
    *pos++ = '-';
    pos = put_hex(source, pos, low >> 48, 2);
    *pos++ = '-';
    return put_hex(source, pos, low, 6);
}

char *gen_click(const gen_source *source, uint64_t index, char *pos) {
    static const char agents[][28] = {"Firefox/128.0 (Linux)",     "Firefox/128.0 (Windows)",
                                      "Chrome/126.0 (Android 14)", "Chrome/126.0 (Windows)",
                                      "Chrome/126.0 (Macintosh)",  "Safari/17.5 (iPhone)",
                                      "Safari/17.5 (Macintosh)",   "Edge/126.0 (Windows)"};
    static const char referrers[][8] = {"direct", "search", "mail", "social"};
    uint64_t state = state_of(source, root_of(source, index)), bits = draw(state, DRAW_FIRST);
    uint64_t more = draw(state, DRAW_FOURTH), node = draw(state_of(source, index), DRAW_FOURTH) >> 40;

    pos = PUT(pos, "{\"event_id\":\"");
    pos = put_uuid(source, pos, draw(state, DRAW_SECOND), draw(state, DRAW_THIRD));
    pos = PUT(pos, "\",\"user_id\":");
    pos = put_decimal(pos, 1 + below(bits, below(more, 10000000) + 1));
    /* One event a millisecond from 1 January 2024 on, so no two events have the same time. */
    pos = PUT(pos, ",\"ts\":");
    pos = put_decimal(pos, UINT64_C(1704067200000) + index);
    pos = PUT(pos, ",\"url\":\"https://");
    char *path = put_host(source, pos, draw(state, DRAW_HOST));
    pos = path + 6 + (bits >> 40 & 31);
    put_path(state, path, pos);
    if (pos[-1] == '-' || pos[-1] == '/')
        pos[-1] = 's';
    pos = PUT(pos, "\",\"from\":\"");
    pos = put_bytes(pos, referrers[more >> 32 & 3], strlen(referrers[more >> 32 & 3]));
    pos = PUT(pos, "\",\"agent\":\"");
    pos = put_bytes(pos, agents[more >> 34 & 7], strlen(agents[more >> 34 & 7]));
    pos = PUT(pos, "\",\"node\":\"edge-");
    pos = put_hex(source, pos, node, 1);
    return PUT(pos, "\"}\n");
}

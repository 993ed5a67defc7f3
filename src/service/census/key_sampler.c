/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random keys that look like given ones.
 *
 *     keys --> reservoir of 1024 samples --> one of them --> each byte again, at random --> random key
 *
 * Text, byte by byte:
 *
 *     a-z, A-Z, 0-9                    a random byte of the same range
 *     0x80-0xbf                        a random byte of that range (continuation bytes of UTF-8)
 *     others (punctuation, blanks)     the same byte
 *
 *     https://shop.example.org/item?id=4711
 *     qzfrb://ldvw.kpumcxe.ohs/bgyt?na=0392
 *
 * So the length stays, and text in UTF-8 remains UTF-8. UTF-16 is kept as UTF-8 and becomes UTF-16 again
 * at the end; a lone surrogate is encoded like any other character of three bytes. Numbers keep their sign
 * and their size. Keys of shape TAMIS_KEY_SHAPE_BYTES keep only their length.
 *
 * If few keys have the shape (there are 26 single letters), random keys repeat. The caller then calls
 * tamis_key_sampler_widen, which appends bytes.
 *
 * The random numbers are those of splitmix64. Every key takes the same numbers in the same order on every
 * machine, so a seed gives the same random keys everywhere.
 */
#include <string.h>

#include <tamis/experimental/census.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "base/versioned.h"

enum {
    SAMPLES = 1024,
    SAMPLE_SIZE = 2048, /* max. bytes kept of a key */
    WIDER_MAX = 32,     /* max. bytes appended */
    TEXT_SIZE = SAMPLE_SIZE + WIDER_MAX
};
_Static_assert(2 * TEXT_SIZE == TAMIS_KEY_SAMPLER_SIZE_MAX, "UTF-16 takes at most twice the bytes of UTF-8");

struct tamis_key_sampler {
    tamis_allocator memory;
    tamis_key_shape shape;
    uint64_t state;          /* state of the random numbers */
    uint64_t added;          /* number of keys added */
    size_t wider;            /* bytes appended to each random key; for a number, each means two more bits */
    uint16_t sizes[SAMPLES]; /* bytes of each sample */
    unsigned char samples[SAMPLES][SAMPLE_SIZE];
};

/* A key to imitate. */
typedef struct sample {
    const unsigned char *bytes;
    size_t size;
} sample;

tamis_status tamis_key_sampler_create(tamis_key_sampler **sampler, const tamis_key_sampler_options *options,
                                      tamis_error *err) {
    TAMIS__NEED(sampler, err);
    tamis_key_sampler_options given = TAMIS_KEY_SAMPLER_OPTIONS_INIT;
    tamis_status status =
        tamis__read_options(&given, sizeof given, options, "TAMIS_KEY_SAMPLER_OPTIONS_INIT", err);
    if (status != TAMIS_OK)
        return status;
    if ((unsigned)given.shape > TAMIS_KEY_SHAPE_INT64)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "key shape %d: there is none; use one of tamis_key_shape",
                           (int)given.shape);
    tamis_allocator memory = tamis__allocator_resolve(given.allocator);
    tamis_key_sampler *made = tamis__alloc(&memory, sizeof *made, _Alignof(tamis_key_sampler));
    if (!made)
        return tamis__fail_nomem(err, "sample of keys", sizeof *made);
    made->memory = memory;
    made->shape = given.shape;
    made->state = given.seed;
    *sampler = made;
    return TAMIS_OK;
}

void tamis_key_sampler_free(tamis_key_sampler *sampler) {
    if (!sampler)
        return;
    tamis_allocator memory = sampler->memory;
    tamis__free(&memory, sampler, sizeof *sampler);
}

bool tamis_key_sampler_widen(tamis_key_sampler *sampler) {
    if (sampler->wider == WIDER_MAX)
        return false;
    sampler->wider++;
    return true;
}

/* ---- random numbers ---- */

/* splitmix64 */
static uint64_t next_random(tamis_key_sampler *sampler) {
    uint64_t x = sampler->state += TAMIS__GOLDEN;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Returns a random number from 0 to bound - 1. Its bias is negligible for bounds far below 2^32. */
static uint64_t below(tamis_key_sampler *sampler, uint64_t bound) {
    return bound <= UINT32_MAX ? (next_random(sampler) >> 32) * bound >> 32 : next_random(sampler) % bound;
}

/* ---- UTF-16 ---- */

static uint32_t load_unit(const unsigned char *bytes) {
    return bytes[0] | (uint32_t)bytes[1] << 8;
}

/* Converts UTF-16LE to UTF-8, until `limit` bytes are written or exceeded by at most 3. Returns their
 * number. An odd byte at the end is left out. */
static size_t to_utf8(const unsigned char *from, size_t size, unsigned char *to, size_t limit) {
    size_t used = 0;
    for (size_t i = 0; i + 1 < size && used < limit; i += 2) {
        uint32_t c = load_unit(from + i);
        if ((c & 0xfc00) == 0xd800 && i + 3 < size && (load_unit(from + i + 2) & 0xfc00) == 0xdc00) {
            i += 2;
            c = 0x10000 + ((c & 0x3ff) << 10) + (load_unit(from + i) & 0x3ff);
        }
        if (c < 0x80) {
            to[used++] = (unsigned char)c;
            continue;
        }
        int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3; /* continuation bytes */
        static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
        to[used++] = (unsigned char)(lead[more] | c >> 6 * more);
        while (more-- > 0)
            to[used++] = (unsigned char)(0x80 | (c >> 6 * more & 0x3f));
    }
    return used;
}

/* Converts UTF-8 as to_utf8 and make_text write it to UTF-16LE. Returns the size in bytes. */
static size_t to_utf16(const unsigned char *from, size_t size, unsigned char *to) {
    size_t used = 0;
    for (size_t i = 0; i < size;) {
        int more = from[i] < 0x80 ? 0 : from[i] < 0xe0 ? 1 : from[i] < 0xf0 ? 2 : 3;
        uint32_t c = more == 0 ? from[i] : from[i] & (0x3fu >> more), high = 0;
        for (i++; more-- > 0 && i < size; i++)
            c = c << 6 | (from[i] & 0x3fu);
        if (c >= 0x10000) {
            high = 0xd800 + ((c - 0x10000) >> 10);
            c = 0xdc00 + (c & 0x3ff);
            to[used++] = (unsigned char)high;
            to[used++] = (unsigned char)(high >> 8);
        }
        to[used++] = (unsigned char)c;
        to[used++] = (unsigned char)(c >> 8);
    }
    return used;
}

/* ---- samples ---- */

/* Returns the bytes of a sample to keep: at most SAMPLE_SIZE, and whole characters if it is UTF-8. */
static size_t size_to_keep(const unsigned char *bytes, size_t size) {
    size_t kept = SAMPLE_SIZE;
    if (size <= SAMPLE_SIZE)
        return size;
    while (kept > SAMPLE_SIZE - 3 && (bytes[kept] & 0xc0) == 0x80)
        kept--;
    return kept;
}

/* Replaces a sample by the beginning of a key, as UTF-8. */
static void keep_sample(tamis_key_sampler *sampler, size_t index, const tamis_key *key) {
    unsigned char text[SAMPLE_SIZE + 4];
    const unsigned char *bytes = key->data;
    size_t size = key->size;
    if (sampler->shape == TAMIS_KEY_SHAPE_UTF16) {
        size = to_utf8(bytes, size, text, SAMPLE_SIZE + 1);
        bytes = text;
    }
    size = size_to_keep(bytes, size);
    if (size > 0)
        memcpy(sampler->samples[index], bytes, size);
    sampler->sizes[index] = (uint16_t)size;
}

/* Reservoir sampling: key n replaces a random sample with a chance of SAMPLES / n. */
void tamis_key_sampler_add_many(tamis_key_sampler *sampler, const tamis_key *keys, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const uint64_t index = sampler->added < SAMPLES ? sampler->added : below(sampler, sampler->added + 1);
        sampler->added++;
        if (index < SAMPLES)
            keep_sample(sampler, (size_t)index, &keys[i]);
    }
}

/* ---- random keys ---- */

/* Returns the number of bytes in the range of this byte, which begins at *first; 0: the byte stays as it
 * is. */
static unsigned range_of(unsigned char byte, unsigned char *first) {
    static const struct {
        unsigned char first, last;
    } ranges[] = {{'a', 'z'}, {'A', 'Z'}, {'0', '9'}, {0x80, 0xbf}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (byte >= ranges[i].first && byte <= ranges[i].last) {
            *first = ranges[i].first;
            return 1u + ranges[i].last - ranges[i].first;
        }
    return 0;
}

static unsigned char random_like(tamis_key_sampler *sampler, unsigned char byte) {
    unsigned char first = 0;
    const unsigned size = range_of(byte, &first);
    return size > 0 ? (unsigned char)(first + below(sampler, size)) : byte;
}

/* True if only some of the bytes 0x80 to 0xbf may follow this one in UTF-8, because of overlong forms,
 * surrogates or characters above U+10FFFF. The following byte then stays as it is. */
static bool binds_next(unsigned char byte) {
    return byte == 0xe0 || byte == 0xed || byte == 0xf0 || byte == 0xf4;
}

static size_t make_text(tamis_key_sampler *sampler, sample like, unsigned char *to) {
    size_t size = 0;
    unsigned char last = 'a', first;
    for (; size < like.size; size++)
        to[size] = size > 0 && binds_next(like.bytes[size - 1]) ? like.bytes[size]
                                                                : random_like(sampler, like.bytes[size]);
    if (size > 0 && like.bytes[size - 1] < 0x80 && range_of(like.bytes[size - 1], &first) > 0)
        last = like.bytes[size - 1];
    for (size_t i = 0; i < sampler->wider; i++)
        to[size++] = random_like(sampler, last);
    return size;
}

static size_t make_utf16(tamis_key_sampler *sampler, sample like, unsigned char *to) {
    unsigned char text[TEXT_SIZE];
    return to_utf16(text, make_text(sampler, like, text), to);
}

static size_t make_bytes(tamis_key_sampler *sampler, sample like, unsigned char *to) {
    size_t size = like.size + sampler->wider;
    for (size_t i = 0; i < size; i++)
        to[i] = (unsigned char)next_random(sampler);
    return size;
}

/* Writes a number in little-endian order. An empty sample gives any number of `size` bytes. */
static size_t make_number(tamis_key_sampler *sampler, sample like, size_t size, unsigned char *to) {
    uint64_t number = next_random(sampler), value = 0;
    const bool negative = like.size > 0 && like.bytes[like.size - 1] >= 0x80;
    size_t bits = like.size > 0 ? 2 * sampler->wider : 64;
    for (size_t i = like.size; i-- > 0;)
        value = value << 8 | (negative ? like.bytes[i] ^ 0xffu : like.bytes[i]);
    for (; value > 0; value >>= 1)
        bits++;
    if (bits + 1 < 8 * size) {
        number &= (UINT64_C(1) << bits) - 1;
        number = negative ? ~number : number;
    }
    for (size_t i = 0; i < size; i++)
        to[i] = (unsigned char)(number >> 8 * i);
    return size;
}

size_t tamis_key_sampler_make(tamis_key_sampler *sampler, void *key) {
    static const unsigned char word[] = "aaaaaaaaaaaaaaaaaaaaaaaa";
    const size_t count = sampler->added < SAMPLES ? (size_t)sampler->added : SAMPLES;
    const size_t index = count > 0 ? (size_t)below(sampler, count) : 0;
    sample like = {sampler->samples[index], sampler->sizes[index]};
    switch (sampler->shape) {
    case TAMIS_KEY_SHAPE_INT32:
        return make_number(sampler, like, 4, key);
    case TAMIS_KEY_SHAPE_INT64:
        return make_number(sampler, like, 8, key);
    case TAMIS_KEY_SHAPE_BYTES:
        return make_bytes(sampler, count > 0 ? like : (sample){NULL, 16}, key);
    case TAMIS_KEY_SHAPE_UTF16:
        return make_utf16(sampler, count > 0 ? like : (sample){word, sizeof word - 1}, key);
    case TAMIS_KEY_SHAPE_TEXT:
        break;
    }
    return make_text(sampler, count > 0 ? like : (sample){word, sizeof word - 1}, key);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cmd/audit/audit_shape.h"

#include <stdlib.h>
#include <string.h>

/* splitmix64 */
static uint64_t next(audit_shape *shape) {
    uint64_t x = shape->state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Random number from 0 to bound - 1. Its bias is negligible for bounds far below 2^32. */
static uint64_t below(audit_shape *shape, uint64_t bound) {
    return bound <= UINT32_MAX ? (next(shape) >> 32) * bound >> 32 : next(shape) % bound;
}

/* Bytes of a number of the key type; 0 for other types. */
static size_t number_size(const audit_shape *shape) {
    cli_key_type type = shape->form.type;

    return type == CLI_KEY_INT32 ? 4 : type == CLI_KEY_INT64 ? 8 : 0;
}

void audit_shape_begin(audit_shape *shape, cli_key_form form, uint64_t seed) {
    memset(shape, 0, sizeof *shape);
    shape->form = form;
    shape->state = seed;
}

/* Bytes of a key to keep: at most AUDIT_LEARNT, and whole characters if the key is UTF-8. */
static size_t size_to_learn(const tamis_key *key) {
    const unsigned char *bytes = key->data;
    size_t size = AUDIT_LEARNT;

    if (key->size <= AUDIT_LEARNT)
        return key->size;
    while (size > AUDIT_LEARNT - 3 && (bytes[size] & 0xc0) == 0x80)
        size--;
    return size;
}

/* Reservoir sampling: key n replaces a random sample with chance AUDIT_SAMPLES / n. */
bool audit_shape_learn(audit_shape *shape, const tamis_key *key) {
    uint64_t index = shape->learnt < AUDIT_SAMPLES ? shape->learnt : below(shape, shape->learnt + 1);
    size_t size = size_to_learn(key);
    audit_sample *sample;
    unsigned char *bytes;

    shape->learnt++;
    if (index >= AUDIT_SAMPLES)
        return true;
    sample = &shape->samples[index];
    bytes = realloc(sample->bytes, size > 0 ? size : 1);
    if (bytes == NULL)
        return false;
    if (size > 0)
        memcpy(bytes, key->data, size);
    *sample = (audit_sample){bytes, size};
    return true;
}

/* Returns the number of bytes in the class of this byte, which begins at *first; 0: the byte stays as it
 * is. */
static unsigned class_of(unsigned char byte, unsigned char *first) {
    static const struct {
        unsigned char first, last;
    } classes[] = {{'a', 'z'}, {'A', 'Z'}, {'0', '9'}, {0x80, 0xbf}};

    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (byte >= classes[i].first && byte <= classes[i].last) {
            *first = classes[i].first;
            return 1u + classes[i].last - classes[i].first;
        }
    return 0;
}

static unsigned char like(audit_shape *shape, unsigned char byte) {
    unsigned char first = 0;
    unsigned size = class_of(byte, &first);

    return size > 0 ? (unsigned char)(first + below(shape, size)) : byte;
}

/* True if only some of the bytes 0x80 to 0xbf may follow this one in UTF-8, because of overlong forms,
 * surrogates or characters above U+10FFFF. The following byte then stays as it is. */
static bool binds_next(unsigned char byte) {
    return byte == 0xe0 || byte == 0xed || byte == 0xf0 || byte == 0xf4;
}

static size_t make_text(audit_shape *shape, audit_sample sample, unsigned char *to) {
    size_t size = 0;
    unsigned char last = 'a', first;

    for (; size < sample.size; size++)
        to[size] = size > 0 && binds_next(sample.bytes[size - 1]) ? sample.bytes[size]
                                                                  : like(shape, sample.bytes[size]);
    if (size > 0 && sample.bytes[size - 1] < 0x80 && class_of(sample.bytes[size - 1], &first) > 0)
        last = sample.bytes[size - 1];
    for (size_t i = 0; i < shape->more; i++)
        to[size++] = like(shape, last);
    return size;
}

static size_t make_bytes(audit_shape *shape, audit_sample sample, unsigned char *to) {
    size_t size = sample.size + shape->more;

    for (size_t i = 0; i < size; i++)
        to[i] = (unsigned char)next(shape);
    return size;
}

/* Writes a number in little-endian order. An empty sample gives any number of `size` bytes. */
static size_t make_number(audit_shape *shape, audit_sample sample, size_t size, unsigned char *to) {
    uint64_t number = next(shape), value = 0;
    bool negative = sample.size > 0 && sample.bytes[sample.size - 1] >= 0x80;
    size_t bits = sample.size > 0 ? 2 * shape->more : 64;

    for (size_t i = sample.size; i-- > 0;)
        value = value << 8 | (negative ? sample.bytes[i] ^ 0xffu : sample.bytes[i]);
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

size_t audit_shape_make(audit_shape *shape, unsigned char *to) {
    static unsigned char word[] = "aaaaaaaaaaaaaaaaaaaaaaaa";
    size_t number = number_size(shape);
    audit_sample sample = {word, number > 0 ? 0 : shape->form.hex ? 16 : sizeof word - 1};

    if (shape->learnt > 0)
        sample = shape->samples[below(shape, shape->learnt < AUDIT_SAMPLES ? shape->learnt : AUDIT_SAMPLES)];
    if (number > 0)
        return make_number(shape, sample, number, to);
    return shape->form.hex ? make_bytes(shape, sample, to) : make_text(shape, sample, to);
}

void audit_shape_release(audit_shape *shape) {
    for (size_t i = 0; i < AUDIT_SAMPLES; i++)
        free(shape->samples[i].bytes);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/audit_shape.h"

#include <stdlib.h>
#include <string.h>

/* splitmix64 */
static uint64_t next(audit_shape *shape) {
    uint64_t x = shape->state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* 0 to bound - 1. The bias is of no matter for bounds far below 2^32. */
static uint64_t below(audit_shape *shape, uint64_t bound) {
    return bound <= UINT32_MAX ? (next(shape) >> 32) * bound >> 32 : next(shape) % bound;
}

void audit_shape_begin(audit_shape *shape, uint64_t seed) {
    memset(shape, 0, sizeof *shape);
    shape->state = seed;
}

bool audit_shape_learn(audit_shape *shape, const tamis_key *key) {
    uint64_t place = shape->seen < AUDIT_SAMPLES ? shape->seen : below(shape, shape->seen + 1);
    size_t size = key->size < AUDIT_LEARNT ? key->size : AUDIT_LEARNT;
    audit_sample *sample;
    unsigned char *bytes;

    shape->seen++;
    if (place >= AUDIT_SAMPLES)
        return true;
    sample = &shape->samples[place];
    bytes = realloc(sample->bytes, size > 0 ? size : 1);
    if (bytes == NULL)
        return false;
    memcpy(bytes, key->data, size);
    *sample = (audit_sample){bytes, size};
    return true;
}

/* The class of a byte: so many from `first` on; 0: it stays. */
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

size_t audit_shape_make(audit_shape *shape, unsigned char *to) {
    static unsigned char word[] = "aaaaaaaaaaaaaaaaaaaaaaaa", letter = 'a';
    audit_sample sample = {word, sizeof word - 1};
    size_t size = 0;
    unsigned char last, first;

    if (shape->seen > 0)
        sample = shape->samples[below(shape, shape->seen < AUDIT_SAMPLES ? shape->seen : AUDIT_SAMPLES)];
    for (; size < sample.size; size++)
        to[size] = like(shape, sample.bytes[size]);
    last = size > 0 && class_of(sample.bytes[size - 1], &first) > 0 ? sample.bytes[size - 1] : letter;
    for (size_t i = 0; i < shape->more; i++)
        to[size++] = like(shape, last);
    return size;
}

void audit_shape_release(audit_shape *shape) {
    for (size_t i = 0; i < AUDIT_SAMPLES; i++)
        free(shape->samples[i].bytes);
}

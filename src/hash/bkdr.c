/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BKDR hashes as a published PHP class computes them, for reading and writing filters of that class in Redis.
 *
 * Idea: BKDR is a polynomial hash, h = h * seed + byte. The class makes one hash for each probe, each with
 * its own seed: 31, 131, 1313, 13131, ... There is no digest that the probes share, so a key costs O(probes *
 * size).
 *
 * The result depends on the number types of PHP, which this file imitates exactly:
 *
 *     value                             PHP type          effect
 *     up to 63 bits                     int               exact
 *     product h * seed past 63 bits     float (binary64)  rounded to 53 bits
 *     seed of 20 digits or more         float             every product is a float
 *     (int) of a float                  int               the value modulo 2^64
 *
 * Invariants:
 *
 * 1. The product is converted to a float before it is masked, even if it fits an int.
 * 2. The mask is applied to the product and again after the byte is added.
 *
 * Weakness: under the 63-bit mask most products exceed 53 bits, and rounding clears their low bits. So many
 * keys share positions, and the real false-positive rate is far above the formula. These schemes exist for
 * old data only. Counted for bkdr31 and 19,998 different words:
 *
 *     probe     different values   why
 *     -------   ----------------   -----------------------------------------------------------------------
 *     13        6,073              products pass 53 bits, and rounding clears low bits
 *     from 17   702                only the last one or two bytes still count (under bkdr63 from probe 16)
 *
 * With 50 bits a key and 16 probes, bkdr63 has a rate of 2.5e-3, where the published table says 1e-9.
 *
 * The versions of the class (store/redis/layout/layout_php.c) have one bitmap, or one of several by the CRC
 * of the key, both with bkdr31. Or they have one of several by the CRC of the key and by the position, with
 * bkdr63. docs/FORMAT.md, "BKDR", has the normative definition.
 */
#include "hash/hash_functions.h"

#include <stdbool.h>
#include <string.h>

/* A PHP number: an integer while it fits 63 bits, a float from then on. */
typedef struct php_number {
    bool is_float;
    int64_t integer; /* value while is_float is false */
    double real;     /* value as a float, always valid */
} php_number;

static php_number php_seed_first(void) {
    return (php_number){false, 1, 1};
}

/* Appends a decimal digit: seed * 10 + digit. */
static void php_seed_append(php_number *seed, int digit) {
    int64_t tenfold;
    if (!seed->is_float && !__builtin_mul_overflow(seed->integer, 10, &tenfold) &&
        !__builtin_add_overflow(tenfold, digit, &seed->integer)) {
        seed->real = (double)seed->integer;
        return;
    }
    /* The seed becomes a float at 20 digits. Both the product and the sum are then near 1.3e19 and
     * overflow together, so no case is left where only the sum overflows. */
    seed->is_float = true;
    seed->real = seed->real * 10 + digit;
}

/* PHP's (int)real for real >= 0: the value modulo 2^64. Infinity and NaN give 0. */
static uint64_t php_int(double real) {
    if (real < 0x1p63)
        return (uint64_t)real;
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023 - 52; /* real = mantissa * 2^exponent */
    const uint64_t mantissa = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    return exponent < 64 ? mantissa << exponent : 0; /* infinity and NaN have exponent 972 */
}

static uint64_t hash_integer_seed(const uint8_t *data, size_t size, uint64_t mask, int64_t seed) {
    uint64_t h = 0;
    for (size_t i = 0; i < size; i++) {
        int64_t product;
        const double real = __builtin_mul_overflow((int64_t)h, seed, &product)
                                ? (double)(int64_t)h * (double)seed
                                : (double)product;
        h = ((php_int(real) & mask) + data[i]) & mask;
    }
    return h;
}

static uint64_t hash_float_seed(const uint8_t *data, size_t size, uint64_t mask, double seed) {
    uint64_t h = 0;
    for (size_t i = 0; i < size; i++) {
        h = ((php_int((double)(int64_t)h * seed) & mask) + data[i]) & mask;
    }
    return h;
}

void tamis__bkdr(const void *data, size_t size, uint64_t mask, uint32_t probes, uint64_t *values) {
    php_number seed = php_seed_first();
    php_seed_append(&seed, 3);
    for (uint32_t n = 0; n < probes; n++) {
        if (n > 0) /* 13 becomes 131, then 1313, and so on */
            php_seed_append(&seed, n % 2 ? 1 : 3);
        if (n == 0) /* the one seed that does not begin with 13 */
            values[n] = hash_integer_seed(data, size, mask, 31);
        else if (!seed.is_float)
            values[n] = hash_integer_seed(data, size, mask, seed.integer);
        else
            values[n] = hash_float_seed(data, size, mask, seed.real);
    }
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "hash/bkdr.h"

#include <stdbool.h>
#include <string.h>

/* A PHP number: an integer until it outgrows 63 bits, a float ever after. */
typedef struct php_number {
    bool is_float;
    int64_t integer; /* where it is none */
    double real;     /* the value either way */
} php_number;

static php_number php_seed_first(void) {
    return (php_number){false, 1, 1};
}

/* seed * 10 + digit */
static void php_seed_append(php_number *seed, int digit) {
    int64_t tenfold;
    if (!seed->is_float && !__builtin_mul_overflow(seed->integer, 10, &tenfold) &&
        !__builtin_add_overflow(tenfold, digit, &seed->integer)) {
        seed->real = (double)seed->integer;
        return;
    }
    /* At 20 digits: never does the product fit and the sum not, as both begin with 13. */
    seed->is_float = true;
    seed->real = seed->real * 10 + digit;
}

/* (int)real for real >= 0: modulo 2^64; infinity and NaN give 0. */
static uint64_t php_int(double real) {
    if (real < 0x1p63)
        return (uint64_t)real;
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023 - 52; /* real = mantissa * 2^exponent, and an integer */
    uint64_t mantissa = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    return exponent < 64 ? mantissa << exponent : 0; /* infinity and NaN have exponent 972 */
}

static uint64_t hash_integer_seed(const uint8_t *data, size_t size, uint64_t mask, int64_t seed) {
    uint64_t h = 0;
    for (size_t i = 0; i < size; i++) {
        int64_t product;
        double real = __builtin_mul_overflow((int64_t)h, seed, &product) ? (double)(int64_t)h * (double)seed
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
        if (n > 0)
            php_seed_append(&seed, n % 2 ? 1 : 3);
        if (n == 0)
            values[n] = hash_integer_seed(data, size, mask, 31);
        else if (!seed.is_float)
            values[n] = hash_integer_seed(data, size, mask, seed.integer);
        else
            values[n] = hash_float_seed(data, size, mask, seed.real);
    }
}

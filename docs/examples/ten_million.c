/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The test that is published with Guava's BloomFilter, at its sizes and with its hashes:
 * cc ten_million.c $(pkg-config --cflags --libs tamis)
 *
 *     ten_million [N [FPP]]     10000000 0.03
 *
 * Adds the integers below N. Looks up each of them, which must be present, and the N integers that follow,
 * some of which are false positives: as many as the theory says, not more and not fewer. Exits with 1
 * otherwise.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <tamis/compat/funnel.h>
#include <tamis/compat/guava.h>
#include <tamis/tamis.h>

static void need(tamis_status status, const tamis_error *err) {
    if (status == TAMIS_OK)
        return;
    fprintf(stderr, "ten_million: %s\n", err->text);
    exit(2);
}

/* How many of the integers from `first` to before `end` the filter may hold. */
static int32_t count(tamis_guava *guava, int32_t first, int32_t end) {
    tamis_error err = TAMIS_ERROR_INIT;
    int32_t found = 0;

    for (int32_t i = first; i < end; i++) {
        bool might = false;
        need(tamis_guava_might_contain(guava, &i, &might, &err), &err);
        found += might;
    }
    return found;
}

int main(int argc, char **argv) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_guava_options options = TAMIS_GUAVA_OPTIONS_INIT; /* an fpp of 0.03 */
    tamis_guava *guava = NULL;
    double wanted = argc > 1 ? atof(argv[1]) : 1e7;
    int32_t n, forgotten, wrong;

    if (argc > 3 || !(wanted >= 1 && wanted < 1 << 30)) { /* twice as many are asked, as Java's ints */
        fprintf(stderr, "ten_million: give N, 1 to 2^30 - 1, and a rate\n");
        return 2;
    }
    n = (int32_t)wanted;
    options.expected_insertions = n;
    options.funnel = tamis_funnel_int32; /* Funnels.integerFunnel() */
    if (argc > 2)
        options.fpp = atof(argv[2]);
    need(tamis_guava_create(&guava, &options, &err), &err);
    for (int32_t i = 0; i < n; i++)
        need(tamis_guava_put(guava, &i, NULL, &err), &err);
    forgotten = n - count(guava, 0, n);
    wrong = count(guava, n, 2 * n);
    printf("%" PRId32 " integers in %" PRIu64 " bits, %" PRIu32 " hash functions\n", n,
           tamis_guava_bit_size(guava), tamis_guava_hash_functions(guava));
    tamis_guava_free(guava);

    /* The rate of Guava's size and number of hash functions is not just the fpp: k is rounded. `wrong` is
     * binomial about it; it is off by 5 standard deviations once in a million runs. */
    double bits = tamis_bloom_bits(n, options.fpp);
    double rate = tamis_bloom_fpr(n, bits, tamis_bloom_probes(n, bits));
    double off = wrong - n * rate, variance = n * rate * (1 - rate);
    bool good = forgotten == 0 && off * off <= 25 * (variance + 1); /* 1: where hardly any is expected */

    printf("forgotten: %" PRId32 "\n", forgotten);
    printf("wrongly found: %.4f %%, expected %.4f %%\n", 100.0 * wrong / n, 100 * rate);
    printf("%s\n", good ? "as promised" : "NOT as promised");
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "ten_million: standard output failed\n");
        return 2;
    }
    return good ? 0 : 1;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_PLAN_H
#define TAMIS_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include <tamis/hash.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The structure that keeps the keys. The numbers go into files and never change. */
typedef enum tamis_kind {
    TAMIS_KIND_AUTO = 0,
    TAMIS_KIND_CLASSIC = 1, /* Bloom filter, k lines a key; under a scheme of another program, of its sizes */
    TAMIS_KIND_BLOCKED = 2, /* Bloom filter, one 64-byte line a key */
    TAMIS_KIND_FINGERPRINT = 3, /* table of fingerprints, 1 or 2 lines a key; grows without its keys */
    TAMIS_KIND_EXACT = 4        /* the same with all 128 bits of the hash: n/2^128 a lookup remains */
} tamis_kind;

/* "auto", "classic", "blocked", "fingerprint", "exact"; NULL for a number that is no kind. */
TAMIS_API const char *tamis_kind_name(tamis_kind kind);
/* The kind of that name. TAMIS_E_INVALID names the ones there are. */
TAMIS_API tamis_status tamis_kind_parse(const char *name, tamis_kind *kind, tamis_error *err);
/* Whether it is a Bloom filter, of bits and probes: classic, blocked. The others are tables of slots. */
TAMIS_API bool tamis_kind_is_bloom(tamis_kind kind);

#define TAMIS_FPR_MIN    1e-30                     /* smallest false-positive rate that can be asked for */
#define TAMIS_FPR_MAX    0.5                       /* and the largest */
#define TAMIS_EXPECT_MAX ((uint64_t)1000000000000) /* most keys that can be expected, 1e12 */

/* What is asked of a plan. Zero in a field means: not given. */
typedef struct tamis_want {
    uint32_t struct_size; /* sizeof(tamis_want), set by TAMIS_WANT_INIT */
    tamis_kind kind;      /* AUTO: chosen by cost, see tamis_plan_make */
    tamis_scheme scheme;  /* AUTO: xxh3; decides on the sizes of classic, and on which kinds there are */
    uint64_t expect;      /* distinct keys the filter must hold; 0: not known, so it must grow */
    double fpr;           /* false-positive rate a lookup, at capacity; default 1e-9 */
    uint64_t memory;      /* most bytes the filter may take at its peak, growth included */
    uint32_t
        probes; /* classic, blocked: probes a key, up to TAMIS_PROBES_MAX; default: those of least memory */
} tamis_want;

/* clang-format off */
#define TAMIS_WANT_INIT {sizeof(tamis_want), TAMIS_KIND_AUTO, TAMIS_SCHEME_AUTO, 0, 0.0, 0, 0}
/* clang-format on */

/* The sizing of a filter. Made by tamis_plan_make; only read by others. */
typedef struct tamis_plan {
    uint32_t struct_size;
    tamis_kind kind;     /* never AUTO */
    tamis_scheme scheme; /* as wanted */
    uint64_t capacity;   /* distinct keys planned for, at the promised rate; 0: unknown */
    double fpr; /* the rate promised; of a scheme of another program the rate to give that program. 1:
                             none is, as where a file of Guava has one probe a key */
    double fpr_predicted; /* the rate computed for `capacity` keys (a growing kind: for 2^40); classic under a
                              scheme of another program: may be above fpr, see docs/MATH.md */
    uint64_t bits;        /* classic, blocked: m; planned: a multiple of 64 but for fnv-dcso */
    uint32_t probes;      /* classic, blocked: k */
    uint32_t slot_bits;   /* fingerprint, exact: bits of a slot, its end marker included */
    uint32_t home_bits;   /* fingerprint, exact: log2 of the buckets of a line */
    uint32_t partitions;  /* fingerprint, exact: parts by first bits of the hash; 256 at first if it grows */
    uint64_t lines;       /* fingerprint, exact: 64-byte lines in all, where capacity is given */
    uint64_t memory;      /* peak bytes at capacity, without the few hundred bytes of the handle (as in
                                all figures of memory); a growing kind: bytes from a few thousand keys on, less
                                than 64 KiB when empty */
    uint64_t memory_limit; /* most bytes growth may reach; 0: no limit */
    double bits_per_key;   /* 8 * memory / capacity; a growing kind: the average while it grows */
    double lines_touched;  /* 64-byte lines a lookup of an absent key reads, expected, at capacity */
    char reason[160];      /* why this kind, for a person; no full stop */
} tamis_plan;

/* clang-format off */
#define TAMIS_PLAN_INIT \
    {sizeof(tamis_plan), TAMIS_KIND_AUTO, TAMIS_SCHEME_AUTO, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}}
/* clang-format on */

/*
 * Sizes a filter. With kind AUTO: fingerprint where the number of keys is not known (it grows); else
 * the kind that touches the fewest lines at the least memory among those that fit want->memory. With probes it is a
 * Bloom filter, with a scheme of less than 128 bits of digest kind classic.
 *
 * TAMIS_E_RANGE:   expect, fpr or probes outside the bounds above, fpr below n/2^128 (or as many bits as the scheme's
 *                  hash has), which no such hash can do, or more bits or probes than the kind or the scheme reaches.
 * TAMIS_E_INVALID: classic or blocked without expect (they cannot grow), or probes for a kind that has none.
 * TAMIS_E_NO_ROOM: want->memory is too small for what is asked: the sentence says how much it takes.
 * TAMIS_E_UNSUPPORTED: the kind needs a digest of 128 bits, and the scheme has less.
 * TAMIS_E_INVALID too where *plan or *want has no struct_size: both start from their _INIT.
 * *plan is untouched on failure. Any thread. Arithmetic only: 0.2 to 50 microseconds (./dev bench growth).
 */
TAMIS_API tamis_status tamis_plan_make(tamis_plan *plan, const tamis_want *want, tamis_error *err);

/*
 * The most that fits want->memory, which must be given, with what else is:
 *     expect alone (fpr 0):  the filter for so many keys of the least rate
 *     fpr alone (expect 0):  the filter that holds the most keys at that rate; it does not grow
 * With kind AUTO that is the best of blocked, fingerprint and classic, or one that touches fewer lines at no more than
 * 1.25 times the rate, or as many keys divided by 1.25.
 * Both given, or neither: TAMIS_E_INVALID. Otherwise as tamis_plan_make, its errors included; TAMIS_E_NO_ROOM too where
 * nothing of use fits (a rate of TAMIS_FPR_MAX, or one key). O(log) plans.
 */
TAMIS_API tamis_status tamis_plan_fit(tamis_plan *plan, const tamis_want *want, tamis_error *err);

/*
 * The sizing mathematics of a classic Bloom filter with n keys, m bits, k probes and rate p
 * (derivations in docs/MATH.md). Total functions: bad arguments give NaN or 0. Good to n = 1e12.
 */
/* p = (1 - (1 - 1/m)^(k n))^k */
TAMIS_API double tamis_bloom_fpr(double n, double m, double k);
/* m = -n ln p / (ln 2)^2, the least that any k can do; a real number */
TAMIS_API double tamis_bloom_bits(double n, double p);
/* m that reaches p with just k probes: 1 / (1 - (1 - p^(1/k))^(1/(k n))); a real number */
TAMIS_API double tamis_bloom_bits_for_probes(double n, double p, double k);
/* k = max(1, round(m / n * ln 2)), Guava's rule up to release 33.3 */
TAMIS_API uint32_t tamis_bloom_probes(double n, double m);
/* n at which m bits and k probes reach p: ln(1 - p^(1/k)) / (k ln(1 - 1/m)) */
TAMIS_API double tamis_bloom_capacity(double m, double k, double p);
/* The best that any k can do, k a real number: p = 2^-(m/n ln 2) */
TAMIS_API double tamis_bloom_best_fpr(double n, double m);
/* n = -m (ln 2)^2 / ln p */
TAMIS_API double tamis_bloom_best_capacity(double m, double p);
/* k = max(1, round(-ln p / ln 2)), Guava's rule after release 33.3; 0 where p is no rate */
TAMIS_API uint32_t tamis_bloom_probes_for_fpr(double p);
/* The fewest probes that keep tamis_bloom_fpr(n, m, k) at p or below; 0 where none of 1..TAMIS_PROBES_MAX does */
TAMIS_API uint32_t tamis_bloom_fewest_probes(double n, double m, double p);
/* At half of the bits set: n = m/k ln 2, and m = k n / ln 2 */
TAMIS_API double tamis_bloom_half_full_keys(double m, double k);
TAMIS_API double tamis_bloom_half_full_bits(double n, double k);
/* Rate of a filter made for p = 2^-k at half of its bits set, with t times its keys: f = (1 - 0.5^t)^k. k real.
 * tamis_bloom_fpr(t n, m, k) is the exact one. */
TAMIS_API double tamis_bloom_overfill(double t, double k);
/* keys in a filter of which `ones` of m bits are set: -m/k ln(1 - ones/m); infinity when all are */
TAMIS_API double tamis_bloom_cardinality(double ones, double m, double k);
/* p of a blocked filter: n keys over m/512 blocks, k probes in one block; block loads Poisson */
TAMIS_API double tamis_blocked_fpr(double n, double m, double k);

#ifdef __cplusplus
}
#endif
#endif

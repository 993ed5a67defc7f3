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

/* The kind of a filter: its data structure. The numbers are stored in files and never change. */
typedef enum tamis_kind {
    TAMIS_KIND_AUTO = 0,
    /* Bloom filter; touches up to k cache lines per key. Its sizes follow the other program if the scheme
     * is one of another program */
    TAMIS_KIND_CLASSIC = 1,
    TAMIS_KIND_BLOCKED = 2, /* Bloom filter; one 64-byte line per key */
    /* table of fingerprints; 1 or 2 lines per key; grows without its keys */
    TAMIS_KIND_FINGERPRINT = 3,
    /* the same with all 128 bits of a hash; a lookup errs with n / 2^128 */
    TAMIS_KIND_EXACT = 4,
    /* table of fingerprints with times; keys expire, see tamis/experimental/window.h. Never chosen by AUTO */
    TAMIS_KIND_WINDOW = 5,
    /* Bloom filter of 4-bit counters; one 64-byte line per key; keys can be removed, see
     * tamis_filter_add_many. Never chosen by AUTO */
    TAMIS_KIND_COUNTING = 6,
    /* table of fingerprints from which keys can be removed, see tamis_filter_add_many; 2 or 3 lines per key.
     * Without a number of keys it grows, by sub-filters of 2 or 3 lines each. Never chosen by AUTO */
    TAMIS_KIND_CUCKOO = 7
} tamis_kind;

/* Returns the name of a kind: "auto", "classic", "blocked", "fingerprint", "exact", "window", "counting" or
 * "cuckoo"; NULL for any other number. The string is static. */
TAMIS_API const char *tamis_kind_name(tamis_kind kind);
/* Finds a kind by its name. TAMIS_E_INVALID: no such kind; the message lists all names. */
TAMIS_API tamis_status tamis_kind_parse(tamis_kind *kind, const char *name, tamis_error *err);
/* True for Bloom filters, which have bits and probes: classic, blocked and counting. The other kinds are
 * tables of slots. */
TAMIS_API bool tamis_kind_is_bloom(tamis_kind kind);

#define TAMIS_FPR_MIN    1e-30                     /* smallest valid false-positive rate */
#define TAMIS_FPR_MAX    0.5                       /* largest valid false-positive rate */
#define TAMIS_EXPECT_MAX ((uint64_t)1000000000000) /* largest number of expected keys, 1e12 */

/* Plan options. A field of 0 means: not given. */
typedef struct tamis_plan_options {
    uint32_t struct_size; /* sizeof(tamis_plan_options), set by TAMIS_PLAN_OPTIONS_INIT */
    tamis_kind kind;      /* AUTO: chosen by tamis_plan_make */
    tamis_scheme scheme;  /* AUTO: xxh3; determines the sizes of classic and the possible kinds */
    uint64_t expect;      /* distinct keys; 0: unknown, the filter must grow */
    double fpr;           /* false-positive rate of a lookup at capacity; default 1e-9 */
    uint64_t memory;      /* memory limit in bytes, for the peak while growing */
    /* classic, blocked, counting: probes per key, up to TAMIS_PROBES_MAX; default: the number that takes
     * the least memory */
    uint32_t probes;
    /* Kind window, where `expect` is the number of keys within a window. All times are milliseconds. */
    uint64_t window;   /* required: how long a key counts as seen */
    uint64_t step;     /* precision of times, at most `window`; default: a 24th of `window` */
    uint64_t lateness; /* how much older than the newest time a key may be; default: `step` */
    bool refresh;      /* a key that is seen again counts from then on; default: from its first time */
} tamis_plan_options;

#define TAMIS_PLAN_OPTIONS_INIT TAMIS__INIT(tamis_plan_options, )

/* A caution about the rate of a plan, for a person. */
typedef enum tamis_plan_caution {
    TAMIS_CAUTION_NONE = 0,
    TAMIS_CAUTION_POOR_HASHES = 1,        /* the hashes are poor: the real rate is higher than fpr */
    TAMIS_CAUTION_REPEATED_POSITIONS = 2, /* fpr_predicted is more than 1.1 fpr: positions repeat */
    TAMIS_CAUTION_SIZES = 3               /* the same, because of the scheme's sizes and positions */
} tamis_plan_caution;

/* Returns a caution for a person, as at the end of plan.reason; "" for NONE, NULL for any other number. The
 * string is static. */
TAMIS_API const char *tamis_plan_caution_text(tamis_plan_caution caution);

/* The plan of a filter: its sizes. tamis_plan_make and tamis_plan_fit fill it; callers only read it. */
typedef struct tamis_plan {
    uint32_t struct_size;
    tamis_kind kind;     /* never AUTO */
    tamis_scheme scheme; /* as in the options */
    uint64_t capacity;   /* distinct keys at the promised rate; 0: unknown */
    /* Promised rate. Under a scheme of another program: the rate to give that program. 1: no promise, as
     * for a Guava file with one probe per key */
    double fpr;
    /* Computed rate at `capacity` keys (growing filter: at 2^40). Classic under a scheme of another
     * program may exceed fpr, see docs/MATH.md */
    double fpr_predicted;
    /* Classic, blocked: m, a multiple of 64 except under fnv-dcso and redisson. Counting: 4 for each counter.
     * Cuckoo: bits of all slots; 0 if it grows */
    uint64_t bits;
    uint32_t probes;    /* classic, blocked, counting: k */
    uint32_t slot_bits; /* bits of a slot; fingerprint, exact: end marker included; cuckoo: 8 to 57 */
    uint32_t home_bits; /* fingerprint, exact: log2 of the buckets of a line */
    /* Fingerprint, exact: partitions, chosen by the first bits of the hash; 256 at first in a growing
     * filter */
    uint32_t partitions;
    uint64_t lines; /* fingerprint, exact: 64-byte lines if capacity is given */
    /* Peak memory in bytes at capacity. Growing filter: the memory from a few thousand keys on; less than
     * 64 KiB while empty. Like all numbers of memory, it leaves out the few hundred bytes of the handle */
    uint64_t memory;
    uint64_t memory_limit; /* memory limit for growth in bytes; 0: none */
    double bits_per_key;   /* 8 * memory / capacity; growing filter: the average while it grows */
    /* Expected 64-byte lines read by a lookup of an absent key, at capacity; growing cuckoo filter: at 2^40 */
    double lines_touched;
    char reason[160]; /* reason for the kind, for a person; no full stop */
    uint64_t target;  /* fingerprint, exact: keys it grows to, see tamis_plan_start_small; 0: capacity */
    uint64_t window, step, lateness; /* window: as in the options, in milliseconds */
    bool refresh;                    /* window: as in the options */
    /* Caution about the rate, whose text also ends `reason`. NONE if the plan is read from a native file or a
     * state */
    tamis_plan_caution caution;
} tamis_plan;

#define TAMIS_WINDOW_MAX       ((uint64_t)1 << 42) /* longest window, in milliseconds: 139 years */
#define TAMIS_WINDOW_STEPS_MAX 2046                /* most steps in window and lateness together */
#define TAMIS_WINDOW_LATE_MAX  4                   /* most steps in the lateness */

#define TAMIS_PLAN_INIT TAMIS__INIT(tamis_plan, )

/*
 * Sizes a filter.
 *
 * The choice for kind AUTO: if the number of keys is unknown, fingerprint, because it grows. Else the kind
 * that touches the fewest lines with the least memory, among those that keep options->memory. If probes are
 * given, a Bloom filter. If the scheme has a digest below 128 bits, classic.
 *
 * - TAMIS_E_RANGE: expect, fpr or probes are out of bounds. Or fpr is below n / 2^b for n keys and the b bits
 *   of the scheme's hash. Or the filter needs more bits or probes than the kind or the scheme supports.
 * - TAMIS_E_INVALID: classic, blocked or counting without expect, since they cannot grow; or probes for a
 *   kind that has none. Or a window for another kind, or kind window without one. Or *plan or *options
 *   has no struct_size (start both from their _INIT macros).
 * - TAMIS_E_MEMORY_LIMIT: the filter exceeds options->memory; the message names the memory that it needs.
 * - TAMIS_E_UNSUPPORTED: the kind needs a digest of 128 bits, and the scheme has less.
 *
 * Kind cuckoo with scheme redisbloom is RedisBloom's own cuckoo filter, as CF.RESERVE makes it by default (see
 * tamis/compat/redisbloom_cuckoo.h). It grows, and has no promised rate: leave fpr and memory out. Its handle
 * takes keys and no hashes. It is saved in TAMIS_FORMAT_REDISBLOOM, and cannot be copied or compared.
 *
 * *plan is unchanged on failure. Any thread may call it. Cost: arithmetic only, 0.2 to 50 microseconds (./dev
 * bench growth).
 */
TAMIS_API tamis_status tamis_plan_make(tamis_plan *plan, const tamis_plan_options *options, tamis_error *err);

/*
 * Sizes the best filter that fits options->memory, which is required, as is exactly one of these:
 *
 * - expect: the filter for this number of keys with the lowest rate. Leave fpr 0.
 * - fpr: the filter that holds the most keys at this rate. It does not grow. Leave expect 0.
 *
 * The choice for kind AUTO is the best of blocked, fingerprint and classic. One that touches fewer lines is
 * chosen if it is worse by at most a factor of 1.25, in rate or in number of keys.
 *
 * - TAMIS_E_INVALID: both or neither of expect and fpr are given, or memory is not.
 * - TAMIS_E_MEMORY_LIMIT: nothing useful fits: not even a rate of TAMIS_FPR_MAX, or one key.
 * - Other errors and threads as for tamis_plan_make. Cost: O(log) plans.
 */
TAMIS_API tamis_status tamis_plan_fit(tamis_plan *plan, const tamis_plan_options *options, tamis_error *err);

/* Makes kind AUTO fingerprint, which grows. False: the kind stays AUTO, because such a table does not fit
 * options->memory. The kind also stays if probes are given, or if no plan can be made. Cost: a plan. */
TAMIS_API bool tamis_plan_options_prefer_growth(tamis_plan_options *options);

/* Returns the highest lateness of a window with these options: TAMIS_WINDOW_LATE_MAX steps, where the step is
 * options->step or its default. 0 if window or step is out of range. Any thread may call it. */
TAMIS_API uint64_t tamis_plan_options_max_lateness(const tamis_plan_options *options);

/*
 * Keeps an options->expect that is far too large from taking memory. `max_keys` is the highest number of
 * keys that can come. If that is not known: 0 lets the filter grow as keys come, UINT64_MAX keeps expect.
 *
 * If the filter would take more than 64 MiB, expect is lowered to `max_keys`. A kind AUTO becomes one that
 * grows, since a number that was guessed may be too small. Kinds classic, blocked, counting and cuckoo keep
 * expect if options->kind names them. If no plan can be made, nothing changes. Cost: two plans.
 */
TAMIS_API void tamis_plan_options_limit(tamis_plan_options *options, uint64_t max_keys);

/*
 * Lets a table begin small, for an expect that may be far too large. A filter made with this plan begins
 * with at most 64 MiB. Each time it is full it becomes up to 16 times larger, until it has the size that
 * was planned. So it takes at most 16 times the memory that its keys need, or 64 MiB, and finally the
 * planned size, with the planned rate. The last step takes a sixteenth more for a moment. `capacity`
 * becomes that of the small table.
 *
 * Nothing changes for a plan of at most 64 MiB, with a memory limit, of kind classic, blocked, counting
 * or cuckoo, or that grows already. A frozen filter cannot be made with it. Cost: a plan.
 */
TAMIS_API void tamis_plan_start_small(tamis_plan *plan);

/*
 * The mathematics of a classic Bloom filter with n keys, m bits, k probes and rate p; docs/MATH.md derives
 * it. Bad arguments give NaN or 0. Accurate up to n = 1e12.
 */
/* Returns p = (1 - (1 - 1/m)^(k n))^k. */
TAMIS_API double tamis_bloom_fpr(double n, double m, double k);
/* Returns m = -n ln p / (ln 2)^2, the minimum over all k; a real number. */
TAMIS_API double tamis_bloom_bits(double n, double p);
/* Returns the m that reaches p with exactly k probes: 1 / (1 - (1 - p^(1/k))^(1/(k n))); a real number. */
TAMIS_API double tamis_bloom_bits_for_probes(double n, double p, double k);
/* Returns k = max(1, round(m / n * ln 2)), Guava's rule up to release 33.3. */
TAMIS_API uint32_t tamis_bloom_probes(double n, double m);
/* Returns the n at which m bits and k probes reach p: ln(1 - p^(1/k)) / (k ln(1 - 1/m)). */
TAMIS_API double tamis_bloom_capacity(double m, double k, double p);
/* Returns the lowest rate for any real k: p = 2^-(m/n ln 2). */
TAMIS_API double tamis_bloom_best_fpr(double n, double m);
/* Returns n = -m (ln 2)^2 / ln p. */
TAMIS_API double tamis_bloom_best_capacity(double m, double p);
/* Returns k = max(1, round(-ln p / ln 2)), Guava's rule after release 33.3; 0 if p is not a rate. */
TAMIS_API uint32_t tamis_bloom_probes_for_fpr(double p);
/* Returns the smallest k with tamis_bloom_fpr(n, m, k) <= p; 0 if none of 1..TAMIS_PROBES_MAX reaches p. */
TAMIS_API uint32_t tamis_bloom_fewest_probes(double n, double m, double p);
/* Return n = m/k ln 2 and m = k n / ln 2, the values at which half of the bits are set. */
TAMIS_API double tamis_bloom_half_full_keys(double m, double k);
TAMIS_API double tamis_bloom_half_full_bits(double n, double k);
/* Returns the rate of a filter over its capacity, f = (1 - 0.5^t)^k, for real k. Half of its bits are set
 * at p = 2^-k, and it holds t times its keys. tamis_bloom_fpr(t n, m, k) is exact. */
TAMIS_API double tamis_bloom_over_capacity_fpr(double t, double k);
/* Returns the keys in a filter with `ones` of m bits set: -m/k ln(1 - ones/m); infinity if all are set. */
TAMIS_API double tamis_bloom_cardinality(double ones, double m, double k);
/* Returns p of a blocked filter: n keys in m/512 blocks, k probes in one block, Poisson distributed loads. */
TAMIS_API double tamis_blocked_fpr(double n, double m, double k);
/* Returns p of a counting filter: the same with 128 counters in the 512 bits of a block. */
TAMIS_API double tamis_counting_fpr(double n, double m, double k);

/*
 * The statistics of a measured rate: `queries` lookups of absent keys, fixed beforehand, with `hits` answers
 * TAMIS_PRESENT. Right for any rate, however small, and for up to about 1e12 queries; docs/MATH.md, "Measured
 * rates". Cost: at most some milliseconds, for millions of hits.
 */
/*
 * Computes the confidence interval of the rate (Clopper and Pearson). With confidence 0.95, `hits` or
 * fewer have a chance of 0.025 at rate *high, and `hits` or more at rate *low.
 *
 * - Without a hit, *low is 0, and *high is the rate at which no hit has a chance of 0.05: about 3 / queries.
 * - If all lookups are hits, *high is 1. If there are no lookups, the interval is 0 to 1.
 * - Both are NaN if hits > queries, or if confidence is not between 0 and 1.
 */
TAMIS_API void tamis_rate_interval(double *low, double *high, uint64_t hits, uint64_t queries,
                                   double confidence);
/*
 * Returns the p-value of the hypothesis that the rate is at most `rate`: the chance of `hits` or more at
 * that rate. It is Chernoff's bound of the chance, which is never too small, so that rejecting the
 * hypothesis below a level is wrong even less often. 1 if no more hits came than expected. NaN if hits >
 * queries, or if rate is below 0 or NaN.
 *
 * tamis calls a promised rate broken below TAMIS_RATE_SIGNIFICANCE.
 */
TAMIS_API double tamis_rate_p_value(uint64_t hits, uint64_t queries, double rate);
#define TAMIS_RATE_SIGNIFICANCE 1e-9

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Sizing one kind of filter: from n keys and rate p to bits or lines, memory and the predicted rate. k probes
 * may be given, too.
 *
 *     kind           size                                     rounded up to
 *     classic        m bits, k probes                         64-bit words (fnv-dcso, redisson: not rounded)
 *     blocked        512-bit blocks, k probes                 blocks
 *     counting       the same, of 128 counters each           blocks
 *     fingerprint    64-byte lines in partitions              lines, equal in all partitions
 *     exact          the same with slots of 120 bits          the same
 *     window         64-byte lines, see plan_window.c         lines
 *     cuckoo         buckets of 4 slots, see plan_cuckoo.c    pairs of buckets; growing: powers of two
 *
 * Classic under a scheme of another program has exactly the m and k of that program. Otherwise the filter
 * could not be shared. Its predicted rate may then exceed p. Under all other schemes m is enlarged until the
 * predicted rate keeps p.
 *
 * Tables choose a shape: how many slots a 64-byte line has and how wide they are. A narrow slot stores few
 * bits of a hash, so more absent keys match it. The shape with the fewest slot bits that keeps p is used. The
 * hash of an entry selects its home line. If that is full, the entry is stored in a second line: a spilled
 * entry.
 *
 *     lines of a sized table = n / (load * slots), and 2 / sqrt(n) more
 *     rate = shape.rate * 2^(1 - slot_bits)
 *
 * An example: n = 1e6 keys at p = 1e-9. The narrowest slots that keep p have 32 bits, 15 in a line: their
 * rate is 2.08 * 2^-31 = 9.7e-10. 1e6 / (0.925 * 15) = 72,073 lines, and 2 in a thousand more make 72,218.
 * They suffice for 16 partitions of at least 4096 lines, so 72,224 lines: 37.0 bits a key. Classic takes
 * 43.1.
 *
 * How other programs compute m and k for n keys at rate p (foreign_size), with M = -n ln p / (ln 2)^2:
 *
 *     scheme            m                             k                            note
 *     ---------------   ---------------------------   --------------------------   --------------------------
 *     guava64, _32      floor(M), up to words of 64   round(floor(M)/n ln 2)       see below
 *     redisbloom        floor(n e), up to words       ceil(e ln 2)                 e = -ln p / (ln 2)^2
 *     fnv-dcso          floor(M)                      ceil(m/n ln 2)               k is rounded up
 *     redisson          floor(M)                      round(m/n ln 2)              at most 2^32 - 2 bits
 *
 * Pitfalls in these programs:
 *
 * - Guava's k changed after 33.3 from round(m/n ln 2) to round(log2(1/p)). Both agree but for a few keys: for
 *   n = 1 at p = 0.01 they are 6 and 7. A reader takes k from the file, so either is right.
 * - RedisBloom writes its logarithms as decimal constants. The code has the same digits, since one more could
 *   move a floor or a ceil. Old releases rounded to 8 bits instead of 64; readers take m from the header.
 * - A RedisBloom filter that scales gives its first link half of the rate. So plan it with p/2.
 * - The published Java class over Redis bitmaps has Guava's hash, but does not round m to words. Its filters
 *   have scheme guava64 with an m of their own (store/redis/layout/layout_java.c).
 *
 * Limits checked here:
 *
 * 1. Two keys with equal hashes are one key to every kind. n keys and b bits of hash allow no rate below n /
 *    2^b.
 * 2. guava32 and bkdr31 reach positions below 2^31 only. A larger m would leave bits unused.
 * 3. Kinds other than classic need a digest of 128 bits.
 *
 * docs/MATH.md derives the formulas and has the table "Sizes by scheme".
 */
#include <inttypes.h>
#include <math.h>

#include "base/memory.h"
#include "plan/plan_int.h"

#define EXACT_BITS   128
#define BITS_MAX_31  ((uint64_t)1 << 31) /* bit limit of guava32 and bkdr31 */
#define GUAVA32_BITS 63 /* bits that decide on positions: (a, b) and (~a, -b) give the same ones */

/* ---- shapes of a line ---- */

/* Fixed tables, fewest slot bits first. Columns: slot_bits, home_bits, slots, load, rate, second. The last
 * row stores the whole hash, so its rate is that of the hash. */
/* clang-format off */
static const tamis__line_shape sized_shapes[] = {
    { 16, 4, 29, 0.930, 3.13, 0.54},
    { 20, 4, 23, 0.930, 2.73, 0.58},
    { 24, 4, 19, 0.930, 2.44, 0.61},
    { 32, 4, 15, 0.925, 2.08, 0.63},
    { 40, 4, 12, 0.920, 1.80, 0.65},
    { 48, 4, 10, 0.910, 1.57, 0.65},
    { 64, 4,  7, 0.880, 1.17, 0.62},
    {120, 4,  4, 0.820, 0.74, 0.58},
};
/* Growing tables, with the same columns. Each doubling adds about a constant to the rate: 5.1, 5.3, 3.7 and
 * 2.8 times 2^(1 - slot_bits) for the first four shapes. Measured from 2^20 to 2^24 keys and extrapolated to
 * 2^40. */
static const tamis__line_shape growing_shapes[] = {
    { 32, 4, 15, 0.95, 115, 0.42},
    { 38, 2, 13, 0.94, 130, 0.42},
    { 48, 4, 10, 0.94,  90, 0.47},
    { 64, 4,  7, 0.92,  70, 0.50},
    {120, 4,  4, 0.90,  70, 0.57},
};
/* clang-format on */

/* Finds a shape by its slot bits, or, if `slot_bits` is 0, the first one that keeps p. */
static const tamis__line_shape *shape_find(double p, uint32_t slot_bits, bool grows) {
    const tamis__line_shape *row = grows ? growing_shapes : sized_shapes;
    for (; row->slot_bits != 120; row++)
        if (slot_bits ? row->slot_bits == slot_bits : ldexp(row->rate, 1 - row->slot_bits) <= p)
            break;
    return row;
}

const tamis__line_shape *tamis__line_shape_for(double p, bool grows) {
    return shape_find(p, 0, grows);
}

const tamis__line_shape *tamis__line_shape_of(uint32_t slot_bits, bool grows) {
    return shape_find(0, slot_bits, grows);
}

const tamis__line_shape *tamis__line_shape_from(uint32_t slot_bits) {
    const tamis__line_shape *row = sized_shapes;
    while (row->slot_bits < slot_bits && row->slot_bits != 120)
        row++;
    return row;
}

const tamis__line_shape *tamis__line_shape_wider(const tamis__line_shape *shape) {
    return shape->slot_bits == 120 ? NULL : shape + 1;
}

double tamis__line_shape_rate(const tamis__line_shape *shape, double keys) {
    return shape->slot_bits == 120 ? ldexp(keys, -EXACT_BITS) : ldexp(shape->rate, 1 - shape->slot_bits);
}

/* Returns the bits per key of a growing table, averaged over the sizes of a partition. Each size is a
 * quarter larger than the one before, and a partition grows at load L. With keys spread evenly over the
 * logarithm of a step, the average of 1/load is (1.25 - 1) / ln(1.25) / L. */
static double growing_bits(const tamis__line_shape *shape) {
    return 8.0 * TAMIS__LINE / shape->slots * (0.25 / log(1.25)) / shape->load;
}

/* ---- what schemes can do ---- */

uint32_t tamis__plan_digest_bits(tamis_scheme scheme) {
    return tamis_scheme_digest_bits(scheme == TAMIS_SCHEME_AUTO ? TAMIS_SCHEME_XXH3 : scheme);
}

bool tamis__scheme_has_own_sizes(tamis_scheme scheme) {
    return scheme == TAMIS_SCHEME_GUAVA64 || scheme == TAMIS_SCHEME_GUAVA32 ||
           scheme == TAMIS_SCHEME_REDISBLOOM || scheme == TAMIS_SCHEME_FNV_DCSO ||
           scheme == TAMIS_SCHEME_REDISSON;
}

static bool has_31_bits(tamis_scheme scheme) {
    return scheme == TAMIS_SCHEME_GUAVA32 || scheme == TAMIS_SCHEME_BKDR31;
}

uint64_t tamis__scheme_bits_max(tamis_scheme scheme) {
    return has_31_bits(scheme) ? BITS_MAX_31 : TAMIS_BITS_MAX;
}

/* Returns the bits of a hash that distinguish keys; 0 if each probe has a hash of its own. */
static uint32_t distinguishing_bits(tamis_scheme scheme, tamis_kind kind) {
    return scheme == TAMIS_SCHEME_GUAVA32 && kind == TAMIS_KIND_CLASSIC ? GUAVA32_BITS
                                                                        : tamis__plan_digest_bits(scheme);
}

static double keys_of(const tamis_plan_options *options) {
    return options->expect ? (double)options->expect : ldexp(1, TAMIS__FINGERPRINT_GROWN_LOG2);
}

double tamis__plan_min_fpr(const tamis_plan_options *options, tamis_kind kind) {
    const uint32_t bits = distinguishing_bits(options->scheme, kind);
    return bits ? fmax(TAMIS_FPR_MIN, ldexp(keys_of(options), -(int)bits)) : TAMIS_FPR_MIN;
}

/* Refuses a rate below n / 2^b, for n keys and b bits of hash: keys with equal hashes cannot be
 * distinguished. */
static tamis_status check_hash(const tamis_plan_options *options, tamis_kind kind, tamis_error *err) {
    const double min = tamis__plan_min_fpr(options, kind);
    if (kind == TAMIS_KIND_EXACT || options->fpr >= min)
        return TAMIS_OK;
    const uint32_t bits = distinguishing_bits(options->scheme, kind);
    char rate[TAMIS__PLAN_NUMBER], limit[TAMIS__PLAN_NUMBER], keys[TAMIS__PLAN_NUMBER];
    return tamis__fail(err, TAMIS_E_RANGE, 0,
                       "false-positive rate %s: below %s, the rate of %" PRIu32
                       "-bit hashes with %s keys; choose "
                       "that or more%s",
                       tamis__plan_number(rate, options->fpr), tamis__plan_number(limit, min), bits,
                       tamis__plan_number(keys, keys_of(options)),
                       bits < EXACT_BITS ? ", or a scheme of 128 bits"
                       : options->probes ? ""
                                         : ", or kind exact");
}

tamis_status tamis__plan_check_scheme(tamis_kind kind, tamis_scheme scheme, tamis_error *err) {
    const uint32_t bits = tamis__plan_digest_bits(scheme);
    if (bits >= EXACT_BITS || kind == TAMIS_KIND_CLASSIC)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                       "kind %s: needs a digest of 128 bits, scheme %s has %s; use %sanother scheme",
                       tamis_kind_name(kind), tamis_scheme_name(scheme), bits ? "64" : "none",
                       kind == TAMIS_KIND_WINDOW ? "" : "kind classic or ");
}

static tamis_status check_kind(const tamis_plan_options *options, tamis_kind kind, tamis_error *err) {
    const bool can_be_table = tamis__plan_digest_bits(options->scheme) >= EXACT_BITS && !options->probes;
    const tamis_status status = tamis__plan_check_scheme(kind, options->scheme, err);
    if (status != TAMIS_OK)
        return status;
    if (options->probes && !tamis_kind_is_bloom(kind))
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "kind %s: has no probes; leave them out, or use kind classic or blocked",
                           tamis_kind_name(kind));
    if (tamis_kind_is_bloom(kind) && !options->expect)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "kind %s: cannot grow, and the number of keys (expect) was not given; give it%s",
                           tamis_kind_name(kind), can_be_table ? ", or use kind fingerprint" : "");
    if (options->window && kind != TAMIS_KIND_WINDOW)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "kind %s: its keys do not expire; leave the window out, or use kind window",
                           tamis_kind_name(kind));
    return check_hash(options, kind, err);
}

/* ---- classic and blocked ---- */

double tamis__scheme_repeats(tamis_scheme scheme, double fill, double m, double k) {
    switch (scheme) {
    case TAMIS_SCHEME_GUAVA64:
    case TAMIS_SCHEME_REDISBLOOM:
        return tamis__repeats_fpr(fill, m, k, 1);
    case TAMIS_SCHEME_GUAVA32:
        return tamis__repeats_fpr(fill, m, k, 2);
    case TAMIS_SCHEME_REDISSON: /* pairs of probes: x + i z and (i + 1) z */
        return tamis__repeats_fpr(fill * fill, m, k / 2, 1) + tamis__multiples_fpr(fill, k);
    default:
        return 0;
    }
}

double tamis__classic_fpr(tamis_scheme scheme, double n, double m, double k) {
    const double rate = has_31_bits(scheme) ? tamis__uneven_fpr((double)BITS_MAX_31, m, k * n, k)
                                            : tamis__bits_fpr(m, k * n, k);
    return fmin(rate + tamis__scheme_repeats(scheme, -expm1(k * n * log1p(-1 / m)), m, k), 1);
}

void tamis__plan_set_bits(tamis_plan *plan, uint64_t bits, uint32_t probes) {
    double n = (double)plan->capacity, m = (double)bits, k = probes;
    plan->bits = bits;
    plan->probes = probes;
    plan->memory = 8 * (bits / 64 + (bits % 64 != 0));
    plan->bits_per_key = 8 * (double)plan->memory / n;
    plan->lines_touched = 1;
    if (plan->kind != TAMIS_KIND_CLASSIC) {
        plan->fpr_predicted =
            plan->kind == TAMIS_KIND_BLOCKED ? tamis_blocked_fpr(n, m, k) : tamis_counting_fpr(n, m, k);
        return;
    }
    plan->fpr_predicted = tamis__classic_fpr(plan->scheme, n, m, k);
    /* A lookup of an absent key ends at the first zero bit. At capacity half of the bits are set. */
    const double fill = pow(plan->fpr_predicted, 1 / k);
    plan->lines_touched = fill < 1 ? (1 - pow(fill, k)) / (1 - fill) : k;
}

/* Computes m and k exactly as the program of the scheme does. The rate may exceed p by a few per cent if k
 * was rounded far. */
static void foreign_size(tamis_scheme scheme, double n, double p, double *m, double *k) {
    double bits = floor(tamis_bloom_bits(n, p)), bits_per_entry;
    switch (scheme) {
    case TAMIS_SCHEME_REDISBLOOM: /* with RedisBloom's constants */
        bits_per_entry = -log(p) / 0.480453013918201;
        *m = 64 * fmax(1, ceil(floor(n * bits_per_entry) / 64));
        *k = ceil(0.693147180559945 * bits_per_entry);
        return;
    case TAMIS_SCHEME_FNV_DCSO:
        *m = fmax(1, bits);
        *k = ceil(log(2) * *m / n);
        return;
    case TAMIS_SCHEME_REDISSON:
        *m = fmax(1, bits);
        *k = tamis_bloom_probes(n, *m);
        return;
    default: /* Guava */
        *k = tamis_bloom_probes(n, fmax(bits, 1));
        *m = 64 * fmax(1, ceil(bits / 64));
    }
}

/*
 * Returns the bits of our own sizing: at least m, and at least what k probes need. As many more come on top
 * as it takes to keep p. Few keys need more because the fill varies. Positions of other programs need more
 * because they are uneven or repeat.
 *
 * The search doubles its step until p is kept, then bisects in words. A result above
 * the scheme's largest number of bits only means that these are not enough.
 */
static double own_bits(tamis_scheme scheme, double n, double p, double m, double k) {
    const double max = (double)tamis__scheme_bits_max(scheme);
    m = 64 * fmax(1, ceil(fmax(m, ceil(tamis_bloom_bits_for_probes(n, p, k))) / 64));
    double low = m, step = 64;
    while (m <= max && tamis__classic_fpr(scheme, n, m, k) > p) {
        low = m;
        m += fmax(step, 64 * ceil(m / 0x1p36)); /* below 2^-36 of m a step would be lost in rounding */
        step *= 2;
    }
    const double word = 64 * ceil(m / 0x1p36);
    while (m - low > 1.5 * word) { /* m keeps p or exceeds `max`; low does not keep p */
        const double middle = low + word * fmax(1, floor((m - low) / (2 * word)));
        if (middle <= max && tamis__classic_fpr(scheme, n, middle, k) > p)
            low = middle;
        else
            m = middle;
    }
    return m;
}

static tamis_status plan_classic(tamis_plan *plan, const tamis_plan_options *options, tamis_error *err) {
    double n = (double)options->expect, p = options->fpr, m = 0, k = options->probes;
    const double max = (double)tamis__scheme_bits_max(options->scheme);
    const char *larger = p < TAMIS_FPR_MAX ? "choose a larger rate, " : "";
    char number[TAMIS__PLAN_NUMBER];
    if (k == 0 && tamis__scheme_has_own_sizes(options->scheme)) {
        foreign_size(options->scheme, n, p, &m, &k);
    } else {
        if (k == 0) {
            m = floor(tamis_bloom_bits(n, p));
            k = tamis_bloom_probes(n, fmax(m, 1));
        }
        m = own_bits(options->scheme, n, p, m, k);
    }
    if (m > (double)TAMIS_BITS_MAX || k > TAMIS_PROBES_MAX)
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "kind classic: %s bits and %g probes are past what it can do (2^62 bits, %d "
                           "probes); %sexpect fewer keys, or use %s",
                           tamis__plan_number(number, m), k, TAMIS_PROBES_MAX, larger,
                           options->probes ? "other probes" : "another kind");
    if (m > max)
        return tamis__fail(
            err, TAMIS_E_RANGE, 0,
            "kind classic: needs more than 2^31 bits, and scheme %s reaches only so many; %sexpect fewer "
            "keys, or use scheme %s",
            tamis_scheme_name(options->scheme), larger,
            options->scheme == TAMIS_SCHEME_GUAVA32 ? "guava64" : "bkdr63");
    tamis__plan_set_bits(plan, (uint64_t)m, (uint32_t)k);
    return TAMIS_OK;
}

/* Kinds blocked and counting. */
static tamis_status plan_blocked(tamis_plan *plan, const tamis_plan_options *options, tamis_error *err) {
    double m;
    uint32_t k = options->probes;
    const uint32_t positions = tamis__block_positions_of(plan->kind);
    char rate[TAMIS__PLAN_NUMBER];
    if (!tamis__blocked_size(positions, (double)options->expect, options->fpr, &m, &k))
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "kind %s: cannot reach a rate of %s in its %s blocks%s; choose %s%s",
                           tamis_kind_name(plan->kind), tamis__plan_number(rate, options->fpr),
                           plan->kind == TAMIS_KIND_BLOCKED ? "512-bit" : "128-counter",
                           options->probes ? " with the probes given" : "",
                           options->fpr < TAMIS_FPR_MAX ? "a larger rate or " : "",
                           options->probes                    ? "other probes"
                           : plan->kind == TAMIS_KIND_BLOCKED ? "kind fingerprint"
                                                              : "kind cuckoo");
    tamis__plan_set_bits(plan, (uint64_t)m, k);
    return TAMIS_OK;
}

/* ---- tables ---- */

/* Sets the size of an empty growing table. */
static void plan_growing(tamis_plan *plan, const tamis__line_shape *shape) {
    uint64_t lines = 0;
    for (uint32_t i = 0; i < 1u << TAMIS__FINGERPRINT_PARTITION_BITS; i++)
        lines += tamis__fingerprint_first_lines(i);
    plan->memory =
        lines * TAMIS__LINE + ((uint64_t)(TAMIS__FINGERPRINT_PARTITION_BYTES + TAMIS__FINGERPRINT_GROUP_BYTES)
                               << TAMIS__FINGERPRINT_PARTITION_BITS);
    plan->bits_per_key = growing_bits(shape);
    plan->partitions = 1u << TAMIS__FINGERPRINT_PARTITION_BITS;
}

static void plan_sized(tamis_plan *plan, const tamis__line_shape *shape, double keys, double min) {
    double lines = ceil(keys / (shape->load * shape->slots));
    /* The share of spilled entries, and with it the rate, varies most in small tables. Hence 2/sqrt(n)
     * more lines. Partitions need no further allowance: one is crowded only if it has 20 standard
     * deviations more keys than the average (docs/MATH.md). */
    lines = fmax(ceil(lines * (1 + 2 / sqrt(keys))), min);
    plan->partitions = TAMIS__FINGERPRINT_SIZED_MAX;
    while (plan->partitions > 1 && lines / plan->partitions < TAMIS__FINGERPRINT_SIZED_LINES)
        plan->partitions /= 2;
    plan->lines = (uint64_t)ceil(lines / plan->partitions) * plan->partitions;
    plan->memory =
        plan->lines * TAMIS__LINE + (uint64_t)plan->partitions * TAMIS__FINGERPRINT_PARTITION_BYTES;
    plan->bits_per_key = 8 * (double)plan->memory / keys;
}

/* The inverse of plan_sized, up to rounding. n keys need n (1 + 2 / sqrt(n)) = n + 2 sqrt(n) slots.
 * With r = sqrt(n) that is r^2 + 2 r = slots, so r = sqrt(1 + slots) - 1. */
static uint64_t keys_of_lines(const tamis__line_shape *shape, uint64_t lines) {
    double slots = (double)lines * shape->load * shape->slots, root = sqrt(1 + slots) - 1;
    return (uint64_t)fmin(root * root, (double)TAMIS_EXPECT_MAX);
}

void tamis__plan_set_lines(tamis_plan *plan, const tamis__line_shape *shape, uint64_t lines) {
    uint32_t min = plan->partitions ? plan->partitions : 1, parts = TAMIS__FINGERPRINT_SIZED_MAX;
    while (parts > min && (lines % parts != 0 || lines / parts < TAMIS__FINGERPRINT_SIZED_LINES))
        parts /= 2;
    plan->slot_bits = shape->slot_bits;
    plan->home_bits = shape->home_bits;
    plan->partitions = parts;
    plan->lines = lines;
    plan->capacity = keys_of_lines(shape, lines);
    plan->memory = lines * TAMIS__LINE + (uint64_t)parts * TAMIS__FINGERPRINT_PARTITION_BYTES;
    plan->bits_per_key = 8 * (double)plan->memory / (double)plan->capacity;
    plan->fpr_predicted = tamis__line_shape_rate(shape, (double)plan->capacity);
    plan->lines_touched = 1 + shape->second;
}

static void plan_table(tamis_plan *plan, const tamis_plan_options *options, bool exact) {
    const bool grows = options->expect == 0;
    const tamis__line_shape *shape = tamis__line_shape_for(exact ? 0 : options->fpr, grows);
    plan->slot_bits = shape->slot_bits;
    plan->home_bits = shape->home_bits;
    const double keys = keys_of(options);
    const bool whole_hash = shape->slot_bits == 120;
    plan->fpr_predicted = tamis__line_shape_rate(shape, keys);
    plan->lines_touched = 1 + shape->second;
    if (exact)
        plan->fpr = plan->fpr_predicted;
    if (grows) {
        plan_growing(plan, shape);
        return;
    }
    plan_sized(plan, shape, keys, whole_hash ? TAMIS__EXACT_MIN_LINES : TAMIS__FINGERPRINT_MIN_LINES);
}

tamis_status tamis__plan_kind(tamis_plan *plan, const tamis_plan_options *options, tamis_kind kind,
                              tamis_error *err) {
    *plan = (tamis_plan)TAMIS_PLAN_INIT;
    plan->kind = kind;
    plan->scheme = options->scheme;
    plan->capacity = options->expect;
    plan->fpr = options->fpr;
    plan->memory_limit = options->memory;
    tamis_status status = check_kind(options, kind, err);
    if (status != TAMIS_OK)
        return status;
    if (kind == TAMIS_KIND_CLASSIC)
        return plan_classic(plan, options, err);
    if (kind == TAMIS_KIND_BLOCKED || kind == TAMIS_KIND_COUNTING)
        return plan_blocked(plan, options, err);
    if (kind == TAMIS_KIND_WINDOW)
        return tamis__plan_window(plan, options, err);
    if (kind == TAMIS_KIND_CUCKOO)
        return tamis__plan_cuckoo(plan, options, err);
    plan_table(plan, options, kind == TAMIS_KIND_EXACT);
    return TAMIS_OK;
}

/* ---- checking a caller's plan ---- */

#define PLAN_REMEDY "take the plan as tamis_plan_make made it"

static tamis_status fail_made(const char *field, uint64_t value, const char *bounds, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_INVALID, 0, "plan: %s is %" PRIu64 ", not %s; " PLAN_REMEDY, field, value,
                       bounds);
}

static tamis_status check_made_bloom(const tamis_plan *plan, tamis_error *err) {
    if (plan->bits < 1 || plan->bits > TAMIS_BITS_MAX)
        return fail_made("bits", plan->bits, "from 1 to 2^62", err);
    if (plan->kind != TAMIS_KIND_CLASSIC && plan->bits % TAMIS__BLOCK_BITS)
        return fail_made("bits", plan->bits, "a multiple of 512", err);
    if (plan->probes < 1 || plan->probes > TAMIS_PROBES_MAX)
        return fail_made("probes", plan->probes, "from 1 to 255", err);
    return TAMIS_OK;
}

static tamis_status check_made_table(const tamis_plan *plan, tamis_error *err) {
    const bool grows = plan->capacity == 0, exact = plan->kind == TAMIS_KIND_EXACT;
    const tamis__line_shape *shape = tamis__line_shape_of(plan->slot_bits, grows);
    const uint32_t parts = plan->partitions;
    if (shape->slot_bits != plan->slot_bits || (exact && plan->slot_bits != 120))
        return fail_made("slot_bits", plan->slot_bits, "that of its kind", err);
    if (shape->home_bits != plan->home_bits)
        return fail_made("home_bits", plan->home_bits, "that of its slot_bits", err);
    if (grows)
        return TAMIS_OK;
    if (parts > 256 || (parts & (parts - 1)))
        return fail_made("partitions", parts, "a power of two up to 256", err);
    if (plan->lines < (parts ? parts : 1) || plan->lines > TAMIS_BITS_MAX / TAMIS__LINE)
        return fail_made("lines", plan->lines, "from the number of partitions to 2^56", err);
    return TAMIS_OK;
}

static tamis_status check_made_cuckoo(const tamis_plan *plan, tamis_error *err) {
    uint64_t value;
    const char *field = tamis__plan_check_cuckoo(plan, &value);
    return field ? fail_made(field, value, "that of a cuckoo filter", err) : TAMIS_OK;
}

tamis_status tamis__plan_check_made(const tamis_plan *plan, tamis_error *err) {
    if (plan->kind == TAMIS_KIND_WINDOW)
        return tamis__plan_check_window(plan, err);
    if (plan->kind == TAMIS_KIND_CUCKOO)
        return check_made_cuckoo(plan, err);
    return tamis_kind_is_bloom(plan->kind) ? check_made_bloom(plan, err) : check_made_table(plan, err);
}

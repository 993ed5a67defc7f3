/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Layouts php1, php2 and php3: the formats of a published PHP class for Redis bitmaps, in its three
 * versions. With m bits, k probes, S servers, the i-th BKDR hash h_i of the element, and its CRC-32 c:
 *
 *     php1   one server; bit h_i mod m of NAME, m <= 2^32
 *     php2   server c mod S; bit h_i mod m of NAME.(c mod P), P = ceil(ceil(m / S) / 2^32), or 1 if m <= 2^32
 *     php3   server c mod S; m' = ceil(m / S) bits on each server, in P = ceil(m' / 2^32) Redis keys of
 *            part = ceil(m' / P) bits; bit o mod part of NAME:floor(o / part), o = h_i mod m'
 *
 * m and k are not stored: every program that uses a filter must be given the same numbers. php1 and php2
 * hash to 31 bits, so bits from 2^31 on are never used; php3 hashes to 63 bits. It divides in floating
 * point, as PHP does.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/versioned.h"
#include "store/redis/layout/layout_bitmap.h"

#define KEY_BITS  0x1p32              /* no bitmap of a Redis has more */
#define BITS_MAX  (UINT64_C(1) << 53) /* above, PHP's floats are not exact */
#define HASH_BITS (UINT64_C(1) << 31) /* number of values of a bkdr31 hash */

/* ---- parameters ---- */

/* The number of bits on one server. */
static uint64_t of_server(const tamis__redis_filter *rf, uint64_t bits) {
    return rf->servers > 1 ? (uint64_t)ceil((double)bits / rf->servers) : bits;
}

static tamis_status make_plan(tamis_filter *filter, tamis_scheme scheme, uint64_t max, tamis_error *err) {
    tamis__redis_filter *rf = tamis__redis_of(filter);
    tamis_plan *plan = &filter->plan;
    uint64_t probes = 0;
    plan->bits = 0;
    tamis_status status =
        tamis__redis_uri_count(rf->uri, "bits", (tamis__count_range){1, max}, &plan->bits, err);
    if (status == TAMIS_OK)
        status = tamis__redis_uri_count(rf->uri, "probes", (tamis__count_range){1, TAMIS_PROBES_MAX}, &probes,
                                        err);
    if (status != TAMIS_OK)
        return status;
    if (plan->bits == 0 || probes == 0)
        return tamis__fail(
            err, TAMIS_E_INVALID, 0,
            "%s: layout %s keeps no parameters in the Redis; give bits=M and probes=K, the same as "
            "every other program that uses the filter",
            rf->uri->shown, rf->layout->name);
    /* The class has only bits and probes. Capacity and rate are those of a half full filter with good
     * hashes. */
    plan->kind = TAMIS_KIND_CLASSIC;
    plan->scheme = scheme;
    plan->probes = (uint32_t)probes;
    plan->capacity = (uint64_t)fmax(1, tamis_bloom_half_full_keys((double)plan->bits, (double)probes));
    plan->fpr = tamis_bloom_fpr((double)plan->capacity, (double)plan->bits, (double)probes);
    plan->fpr_predicted = plan->fpr;
    plan->lines_touched = (double)probes;
    return TAMIS_OK;
}

/* Sets the memory of all Redis keys on all servers, `bits` bits each. */
static void set_memory(tamis_filter *filter, uint64_t bits) {
    const tamis__redis_filter *rf = tamis__redis_of(filter);
    filter->plan.memory = (bits + 7) / 8 * rf->keys * rf->servers;
    filter->plan.bits_per_key = 8 * (double)filter->plan.memory / (double)filter->plan.capacity;
}

static uint64_t min(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static tamis_status open_php1(tamis_filter *filter, const tamis_redis_filter_options *options,
                              tamis_error *err) {
    tamis__redis_filter *rf = tamis__redis_of(filter);
    tamis_status status = make_plan(filter, TAMIS_SCHEME_BKDR31, (uint64_t)KEY_BITS, err);
    if (status == TAMIS_OK && rf->servers > 1)
        status = tamis__fail(err, TAMIS_E_INVALID, 0,
                             "%s: layout php1 has one server; name one, or use php2 or php3", rf->uri->shown);
    if (status != TAMIS_OK)
        return status;
    rf->keys = 1;
    set_memory(filter, min(filter->plan.bits, HASH_BITS));
    return tamis__redis_set_up(filter, options, 0, err);
}

static tamis_status open_php2(tamis_filter *filter, const tamis_redis_filter_options *options,
                              tamis_error *err) {
    tamis__redis_filter *rf = tamis__redis_of(filter);
    const tamis_status status = make_plan(filter, TAMIS_SCHEME_BKDR31, BITS_MAX, err);
    if (status != TAMIS_OK)
        return status;
    rf->keys = 1;
    if ((double)filter->plan.bits > KEY_BITS)
        rf->keys = (uint32_t)ceil((double)of_server(rf, filter->plan.bits) / KEY_BITS);
    set_memory(filter, min(filter->plan.bits, HASH_BITS));
    return tamis__redis_set_up(filter, options, 0, err);
}

static tamis_status open_php3(tamis_filter *filter, const tamis_redis_filter_options *options,
                              tamis_error *err) {
    tamis__redis_filter *rf = tamis__redis_of(filter);
    const tamis_status status = make_plan(filter, TAMIS_SCHEME_BKDR63, BITS_MAX, err);
    if (status != TAMIS_OK)
        return status;
    tamis__php3_state *php3 = tamis__php3_of(rf);
    php3->share = of_server(rf, filter->plan.bits);
    rf->keys = (uint32_t)ceil((double)php3->share / KEY_BITS);
    php3->key_bits = (uint64_t)ceil((double)php3->share / rf->keys);
    rf->probe_groups = (uint32_t)min(rf->keys, filter->plan.probes);
    set_memory(filter, php3->key_bits);
    return tamis__redis_set_up(filter, options, 0, err);
}

/* ---- positions: the schemes have no digest, so elements are passed as keys ---- */

static uint32_t crc_of(const tamis_key *key) {
    return (uint32_t)crc32_z(0, key->data ? key->data : (const void *)"", key->size);
}

static void locate_by_key(const tamis_filter *filter, const tamis__key_batch *key_batch, size_t i,
                          tamis__element_positions *positions) {
    const tamis__redis_filter *rf = tamis__redis_of(filter);
    const tamis_key *key = &key_batch->keys[i];
    const uint32_t crc = rf->servers > 1 || rf->keys > 1 ? crc_of(key) : 0;
    positions->server = crc % rf->servers;
    positions->key = crc % rf->keys;
    tamis__hasher_positions(filter->hasher, key, filter->plan.bits, filter->plan.probes, positions->offsets);
}

static void locate_by_offset(const tamis_filter *filter, const tamis__key_batch *key_batch, size_t i,
                             tamis__element_positions *positions) {
    const tamis__redis_filter *rf = tamis__redis_of(filter);
    const tamis__php3_state *php3 = tamis__php3_of(rf);
    const tamis_key *key = &key_batch->keys[i];
    positions->server = rf->servers > 1 ? crc_of(key) % rf->servers : 0;
    positions->key = 0;
    tamis__hasher_positions(filter->hasher, key, php3->share, filter->plan.probes, positions->offsets);
    for (uint32_t j = 0; rf->keys > 1 && j < filter->plan.probes; j++) {
        positions->keys[j] = (uint32_t)((double)positions->offsets[j] / (double)php3->key_bits);
        positions->offsets[j] %= php3->key_bits;
    }
    if (rf->keys > 1)
        positions->key = positions->keys[0];
}

/* ---- names ---- */

static size_t write_name(const tamis__redis_filter *rf, char mark, uint32_t key, char *to) {
    const size_t size = rf->name.size;
    memcpy(to, rf->name.data, size);
    return size + (size_t)snprintf(to + size, TAMIS__REDIS_KEY - size, "%c%" PRIu32, mark, key);
}

static size_t name_whole(const tamis__redis_filter *rf, uint32_t key, char *to) {
    (void)key;
    memcpy(to, rf->name.data, rf->name.size);
    return rf->name.size;
}

static size_t name_by_key(const tamis__redis_filter *rf, uint32_t key, char *to) {
    return write_name(rf, '.', key, to);
}

static size_t name_by_offset(const tamis__redis_filter *rf, uint32_t key, char *to) {
    return write_name(rf, ':', key, to);
}

/* ---- statistics ---- */

/* Each Redis key is a separate filter. */
static tamis_status estimate_by_key(const tamis_filter *filter, tamis_filter_info *info, tamis_error *err) {
    const tamis__redis_filter *rf = tamis__redis_of(filter);
    const uint64_t bits = min(filter->plan.bits, HASH_BITS);
    const tamis__bit_spread spread = {(double)rf->keys * rf->servers, (double)bits, bits};
    return tamis__redis_estimate(filter, &spread, info, err);
}

/* The Redis keys of a server are one filter. */
static tamis_status estimate_by_offset(const tamis_filter *filter, tamis_filter_info *info,
                                       tamis_error *err) {
    const tamis__redis_filter *rf = tamis__redis_of(filter);
    const tamis__php3_state *php3 = tamis__php3_of(rf);
    const tamis__bit_spread spread = {rf->servers, (double)php3->share, php3->key_bits};
    return tamis__redis_estimate(filter, &spread, info, err);
}

const tamis__layout tamis__layout_php1 = {.name = "php1",
                                          .has_servers = true,
                                          .state_size = sizeof(tamis__bitmap_state),
                                          .open = open_php1,
                                          .locate = locate_by_key,
                                          .key_name = name_whole,
                                          .refresh = tamis__redis_check_length,
                                          .bytes_in = tamis__redis_bytes_in,
                                          .estimate = estimate_by_key,
                                          .clear = tamis__redis_delete_all};
const tamis__layout tamis__layout_php2 = {.name = "php2",
                                          .has_servers = true,
                                          .state_size = sizeof(tamis__bitmap_state),
                                          .open = open_php2,
                                          .locate = locate_by_key,
                                          .key_name = name_by_key,
                                          .refresh = tamis__redis_check_length,
                                          .bytes_in = tamis__redis_bytes_in,
                                          .estimate = estimate_by_key,
                                          .clear = tamis__redis_delete_all};
const tamis__layout tamis__layout_php3 = {.name = "php3",
                                          .has_servers = true,
                                          .state_size = sizeof(tamis__php3_state),
                                          .open = open_php3,
                                          .locate = locate_by_offset,
                                          .key_name = name_by_offset,
                                          .refresh = tamis__redis_check_length,
                                          .bytes_in = tamis__redis_bytes_in,
                                          .estimate = estimate_by_offset,
                                          .clear = tamis__redis_delete_all};

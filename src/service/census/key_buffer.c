/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The buffer holds two things for each distinct key. With keeps_repeats it holds the hashes of all keys,
 * since each add then needs a removal.
 *
 *     known     an exact filter with a hash of its own (xxh3, or sip with a secret). It finds repeats.
 *     hashes    the hash that the filter to be filled takes, 24 bytes a key
 *
 * `known` needs its own hash because that of the filter to be filled may be too short to tell keys apart.
 * Every batch is hashed with both, and the hashes of its new keys are appended.
 *
 * Invariant: each key that was answered (with keeps_repeats: each time) is in `known` and in `hashes`.
 *
 * A growing filter from the start would need no buffer. But it is larger than a filter of the right size, and
 * kinds that cannot grow would need the number of keys for every pipe.
 */
#include <inttypes.h>

#include <tamis/experimental/key_buffer.h>
#include <tamis/plan.h>

#include "base/memory.h"
#include "base/versioned.h"

enum { BATCH = 256 };
#define CAPACITY_MAX ((uint64_t)1 << 32)

struct tamis_key_buffer {
    tamis_allocator memory;
    tamis_filter *known;  /* the buffered keys */
    tamis_hasher *hasher; /* hasher of the filter to be filled */
    tamis_hash *hashes;   /* `capacity` entries */
    size_t count, capacity;
    uint64_t distinct;
    bool keeps_repeats;
};

static tamis_status create_known(tamis_filter **known, const tamis_key_buffer_options *given,
                                 tamis_error *err) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;

    plan_options.kind = TAMIS_KIND_EXACT;
    plan_options.expect = given->capacity;
    plan_options.scheme = given->secret ? TAMIS_SCHEME_SIP : TAMIS_SCHEME_XXH3;
    options.secret = given->secret;
    options.secret_size = given->secret_size;
    options.allocator = given->allocator;
    const tamis_status status = tamis_plan_make(&plan, &plan_options, err);
    return status == TAMIS_OK ? tamis_filter_create(known, &plan, &options, err) : status;
}

static tamis_status create_hasher(tamis_hasher **hasher, const tamis_key_buffer_options *given,
                                  tamis_error *err) {
    tamis_hasher_options options = TAMIS_HASHER_OPTIONS_INIT;

    options.scheme = given->scheme;
    options.seed = given->seed;
    options.secret = given->secret;
    options.secret_size = given->secret_size;
    options.allocator = given->allocator;
    return tamis_hasher_create(hasher, &options, err);
}

static tamis_status check_options(const tamis_key_buffer_options *given, tamis_error *err) {
    if (given->capacity < 1 || given->capacity > CAPACITY_MAX)
        return tamis__fail(err, TAMIS_E_RANGE, 0, "key buffer: capacity is %zu; give 1 to %" PRIu64,
                           given->capacity, CAPACITY_MAX);
    if (tamis_scheme_digest_bits(given->scheme) == 0)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "key buffer: scheme %.40s has no digest to keep; give another scheme",
                           tamis_scheme_name(given->scheme) ? tamis_scheme_name(given->scheme) : "?");
    return TAMIS_OK;
}

tamis_status tamis_key_buffer_create(tamis_key_buffer **buffer, const tamis_key_buffer_options *options,
                                     tamis_error *err) {
    TAMIS__NEED(buffer, err);
    tamis_key_buffer_options given = TAMIS_KEY_BUFFER_OPTIONS_INIT;
    tamis_status status =
        tamis__read_options(&given, sizeof given, options, "TAMIS_KEY_BUFFER_OPTIONS_INIT", err);
    if (status == TAMIS_OK)
        status = check_options(&given, err);
    if (status != TAMIS_OK)
        return status;
    tamis_allocator memory = tamis__allocator_resolve(given.allocator);
    tamis_key_buffer *made = tamis__alloc(&memory, sizeof *made, _Alignof(tamis_key_buffer));
    if (!made)
        return tamis__fail_nomem(err, "key buffer", sizeof *made);
    const size_t bytes = given.capacity * sizeof *made->hashes;
    *made = (tamis_key_buffer){.memory = memory,
                               .hashes = tamis__alloc(&memory, bytes, _Alignof(tamis_hash)),
                               .capacity = given.capacity,
                               .keeps_repeats = given.keeps_repeats};
    status = made->hashes ? create_known(&made->known, &given, err)
                          : tamis__fail_nomem(err, "hashes of keys", bytes);
    if (status == TAMIS_OK)
        status = create_hasher(&made->hasher, &given, err);
    if (status != TAMIS_OK) {
        tamis_key_buffer_free(made);
        return status;
    }
    *buffer = made;
    return TAMIS_OK;
}

void tamis_key_buffer_free(tamis_key_buffer *buffer) {
    if (!buffer)
        return;
    const tamis_allocator memory = buffer->memory;
    tamis_filter_free(buffer->known);
    tamis_hasher_free(buffer->hasher);
    tamis__free(&memory, buffer->hashes, buffer->capacity * sizeof *buffer->hashes);
    tamis__free(&memory, buffer, sizeof *buffer);
}

/* Adds at most BATCH keys, which must fit into the buffer. */
static tamis_status add_batch(tamis_key_buffer *buffer, const tamis_key *keys, size_t count,
                              tamis_answer *answers, size_t *added, tamis_error *err) {
    tamis_hash hashes[BATCH];

    *added = 0;
    tamis_status status = tamis_hash_many(buffer->hasher, keys, count, hashes, err);
    if (status == TAMIS_OK)
        status = tamis_filter_add_many(buffer->known, keys, count, answers, added, err);
    for (size_t i = 0; i < *added; i++) {
        buffer->distinct += answers[i] == TAMIS_ABSENT;
        if (buffer->keeps_repeats || answers[i] == TAMIS_ABSENT)
            buffer->hashes[buffer->count++] = hashes[i];
    }
    return status;
}

tamis_status tamis_key_buffer_add_many(tamis_key_buffer *buffer, const tamis_key *keys, size_t count,
                                       tamis_answer *answers, size_t *done, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    size_t added = 0;

    for (*done = 0; *done < count && status == TAMIS_OK; *done += added) {
        const size_t left = count - *done, batch_size = left < BATCH ? left : BATCH;
        if (batch_size > buffer->capacity - buffer->count)
            return tamis__fail(err, TAMIS_E_FULL, 0,
                               "key buffer: full with %zu hashes; flush it into a filter", buffer->count);
        status = add_batch(buffer, keys + *done, batch_size, answers + *done, &added, err);
    }
    return status;
}

uint64_t tamis_key_buffer_count(const tamis_key_buffer *buffer) {
    return buffer->distinct;
}

tamis_status tamis_key_buffer_flush(const tamis_key_buffer *buffer, tamis_filter *filter, tamis_error *err) {
    tamis_answer answers[BATCH];
    tamis_status status = TAMIS_OK;
    size_t done;

    for (size_t from = 0; from < buffer->count && status == TAMIS_OK; from += BATCH) {
        const size_t left = buffer->count - from;
        status = tamis_filter_add_hashes(filter, buffer->hashes + from, left < BATCH ? left : BATCH, answers,
                                         &done, err);
    }
    return status;
}

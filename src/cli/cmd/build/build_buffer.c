/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The buffer holds two things for each distinct key. If each add counts in the filter (TAMIS_CAN_COUNT), it
 * holds the hashes of all keys, since each add needs a removal.
 *
 *     known     an exact filter with a hash of its own (xxh3, or sip with a secret). It finds duplicates.
 *     hashes    the hash that the filter to be built takes, 24 bytes a key
 *
 * `known` needs its own hash because that of the filter to be built may be too short to tell keys apart.
 * Every batch is hashed with both, and the hashes of its new keys are appended.
 *
 * The buffer holds KEPT_MAX hashes. If a batch might not fit, the buffer is flushed into a growing filter and
 * freed. All later keys go directly into that filter.
 *
 * Invariants:
 * 1. Each key (if each add counts: each time) was added once: it is in `known` and `hashes`, or in `filter`.
 * 2. `filter` is NULL until the buffer is full; afterwards `known`, `hasher` and `hashes` are NULL.
 *
 * A growing filter from the start would need no buffer. But it is larger than a filter of the right size, and
 * kinds that cannot grow would need --expect for every pipe.
 */
#include "cli/cmd/build/build.h"

#include <stdlib.h>

#include "cli/cli.h"

enum {
    BATCH = 256,
    KEPT_MAX = 1 << 16 /* max. buffered hashes */
};

struct build_buffer {
    const cli_filter_spec *spec;
    const cli_secret *secret; /* NULL: none */
    tamis_filter *filter;     /* growing filter for more than KEPT_MAX keys; NULL until then */
    tamis_filter *known;      /* exact filter of the buffered keys */
    tamis_hasher *hasher;     /* hasher of the filter to be built */
    tamis_hash *hashes;       /* malloc, KEPT_MAX entries */
    size_t count;             /* number of hashes */
    uint64_t distinct;        /* number of distinct keys */
    bool keeps_all;           /* each add counts in the filter to be built */
};

/* ---- buffered hashes ---- */

static void free_hashes(build_buffer *buffer) {
    tamis_filter_free(buffer->known);
    tamis_hasher_free(buffer->hasher);
    free(buffer->hashes);
    buffer->known = NULL;
    buffer->hasher = NULL;
    buffer->hashes = NULL;
    buffer->count = 0;
}

static tamis_status create_known(build_buffer *buffer, tamis_error *err) {
    cli_filter_spec spec = {.plan_options = TAMIS_PLAN_OPTIONS_INIT};

    spec.plan_options.kind = TAMIS_KIND_EXACT;
    spec.plan_options.expect = KEPT_MAX;
    spec.plan_options.scheme = buffer->secret ? TAMIS_SCHEME_SIP : TAMIS_SCHEME_XXH3;
    return cli_filter_create(&buffer->known, &spec, buffer->secret, err);
}

static tamis_status create_hasher(build_buffer *buffer, tamis_error *err) {
    tamis_hasher_options options = TAMIS_HASHER_OPTIONS_INIT;

    options.scheme = buffer->spec->plan_options.scheme;
    options.seed = buffer->spec->seed;
    if (buffer->secret) {
        options.secret = buffer->secret->bytes;
        options.secret_size = buffer->secret->size;
    }
    return tamis_hasher_create(&buffer->hasher, &options, err);
}

/* Adds at most BATCH keys, which must fit into the buffer. After an error no hash was appended. */
static tamis_status add_batch(build_buffer *buffer, const tamis_key *keys, size_t count,
                              tamis_answer *answers, tamis_error *err) {
    tamis_hash hashes[BATCH];
    tamis_status status = tamis_hash_many(buffer->hasher, keys, count, hashes, err);

    if (status == TAMIS_OK)
        status = tamis_filter_add_many(buffer->known, keys, count, answers, NULL, err);
    for (size_t i = 0; i < count && status == TAMIS_OK; i++) {
        buffer->distinct += answers[i] == TAMIS_ABSENT;
        if (buffer->keeps_all || answers[i] == TAMIS_ABSENT)
            buffer->hashes[buffer->count++] = hashes[i];
    }
    return status;
}

uint64_t build_buffer_count(const build_buffer *buffer) {
    return buffer->distinct;
}

tamis_status build_buffer_flush(const build_buffer *buffer, tamis_filter *filter, tamis_error *err) {
    tamis_answer answers[BATCH];
    size_t done;

    for (size_t from = 0; from < buffer->count; from += BATCH) {
        const size_t batch_size = buffer->count - from < BATCH ? buffer->count - from : BATCH;
        tamis_status status =
            tamis_filter_add_hashes(filter, buffer->hashes + from, batch_size, answers, &done, err);
        if (status != TAMIS_OK)
            return status;
    }
    return TAMIS_OK;
}

/* ---- more keys than the buffer holds ---- */

static bool grows(const cli_filter_spec *filter) {
    const tamis_plan_options *plan_options = &filter->plan_options;

    return !filter->frozen && !tamis_kind_is_bloom(plan_options->kind) &&
           plan_options->kind != TAMIS_KIND_CUCKOO && tamis_scheme_digest_bits(plan_options->scheme) >= 128;
}

static tamis_status refuse(const char *much, bool frozen, tamis_error *err) {
    cli_fail(
        err,
        "--expect: missing, and the input %scannot be read twice to be counted first; give --expect N, or "
        "files, or a filter that grows (--kind fingerprint)%s",
        much, frozen ? ", without --frozen" : "");
    return TAMIS_E_INVALID;
}

/* Moves the buffered hashes into a growing filter. */
static tamis_status create_growing(build_buffer *buffer, tamis_error *err) {
    if (!grows(buffer->spec))
        return refuse("has more than some 65,000 distinct records, and ", buffer->spec->frozen, err);
    if (cli_filter_create(&buffer->filter, buffer->spec, buffer->secret, err) != TAMIS_OK)
        return err->status;
    const tamis_status status = build_buffer_flush(buffer, buffer->filter, err);
    free_hashes(buffer);
    return status;
}

tamis_status build_buffer_add(void *context, const tamis_stream_batch *batch, size_t *done,
                              tamis_error *err) {
    build_buffer *buffer = context;
    tamis_status status = TAMIS_OK;

    for (*done = 0; *done < batch->count && status == TAMIS_OK;) {
        const tamis_key *keys = batch->keys + *done;
        tamis_answer *answers = batch->answers + *done;
        size_t left = batch->count - *done, batch_size = left < BATCH ? left : BATCH, added = 0;
        if (buffer->filter) {
            status = tamis_filter_add_many(buffer->filter, keys, left, answers, &added, err);
        } else if (batch_size > KEPT_MAX - buffer->count) {
            status = create_growing(buffer, err);
        } else {
            status = add_batch(buffer, keys, batch_size, answers, err);
            added = status == TAMIS_OK ? batch_size : 0;
        }
        *done += added;
    }
    return status;
}

tamis_filter *build_buffer_detach_filter(build_buffer *buffer) {
    tamis_filter *filter = buffer->filter;

    buffer->filter = NULL;
    return filter;
}

/* ---- creation ---- */

/* Makes a filter of one key, so that bad options are refused before the input is read. *counts is true if
 * each add of a key counts in it. */
static tamis_status check_plan(const cli_filter_spec *spec, const cli_secret *secret, bool *counts,
                               tamis_error *err) {
    cli_filter_spec single = *spec;
    tamis_filter *filter = NULL;

    if (tamis_scheme_digest_bits(spec->plan_options.scheme) == 0) {
        refuse("", spec->frozen, err);
        return err->status;
    }
    single.plan_options.expect = 1;
    if (cli_filter_create(&filter, &single, secret, err) != TAMIS_OK)
        return err->status;
    *counts = tamis_filter_can(filter, TAMIS_CAN_COUNT);
    tamis_filter_free(filter);
    return TAMIS_OK;
}

tamis_status build_buffer_create(build_buffer **buffer, const cli_filter_spec *spec, const cli_secret *secret,
                                 tamis_error *err) {
    bool counts;

    if (check_plan(spec, secret, &counts, err) != TAMIS_OK)
        return err->status;
    build_buffer *made = calloc(1, sizeof *made);
    if (made) {
        made->spec = spec;
        made->secret = secret;
        made->keeps_all = counts;
        made->hashes = malloc(KEPT_MAX * sizeof *made->hashes);
    }
    if (!made || !made->hashes) {
        build_buffer_free(made);
        return cli_fail(err, "hashes of keys: out of memory; free some, or give --expect");
    }
    if (create_known(made, err) != TAMIS_OK || create_hasher(made, err) != TAMIS_OK) {
        build_buffer_free(made);
        return err->status;
    }
    *buffer = made;
    return TAMIS_OK;
}

void build_buffer_free(build_buffer *buffer) {
    if (!buffer)
        return;
    free_hashes(buffer);
    tamis_filter_free(buffer->filter);
    free(buffer);
}

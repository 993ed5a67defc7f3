/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The policy around tamis_key_buffer: what is checked before the input is read, and what happens when the
 * buffer is full. Then it is flushed into a growing filter and freed, and all later keys go directly into
 * that filter.
 *
 * Invariants:
 * 1. Each key (if each add counts: each time) was added once, to `keys` or to `filter`.
 * 2. `filter` is NULL until the buffer is full; afterwards `keys` is NULL.
 */
#include "cli/cmd/build/build.h"

#include <stdlib.h>

#include <tamis/experimental/key_buffer.h>

#include "cli/cli.h"

struct build_buffer {
    const cli_filter_spec *spec;
    const cli_secret *secret; /* NULL: none */
    tamis_key_buffer *keys;
    tamis_filter *filter; /* growing filter for more keys than `keys` holds; NULL until then */
};

uint64_t build_buffer_count(const build_buffer *buffer) {
    return tamis_key_buffer_count(buffer->keys);
}

tamis_status build_buffer_flush(const build_buffer *buffer, tamis_filter *filter, tamis_error *err) {
    return tamis_key_buffer_flush(buffer->keys, filter, err);
}

/* ---- more keys than the buffer holds ---- */

static bool grows(const cli_filter_spec *filter) {
    const tamis_plan_options *plan_options = &filter->plan_options;

    return !filter->frozen && !tamis_kind_is_bloom(plan_options->kind) &&
           tamis_scheme_digest_bits(plan_options->scheme) >= 128;
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
    const tamis_status status = tamis_key_buffer_flush(buffer->keys, buffer->filter, err);
    tamis_key_buffer_free(buffer->keys);
    buffer->keys = NULL;
    return status;
}

tamis_status build_buffer_add(void *context, const tamis_stream_batch *batch, size_t *done,
                              tamis_error *err) {
    build_buffer *buffer = context;
    tamis_status status = TAMIS_OK;
    size_t added;

    *done = 0;
    if (!buffer->filter) {
        status =
            tamis_key_buffer_add_many(buffer->keys, batch->keys, batch->count, batch->answers, done, err);
        if (status == TAMIS_E_FULL)
            status = create_growing(buffer, err);
    }
    if (status != TAMIS_OK || !buffer->filter)
        return status;
    status = tamis_filter_add_many(buffer->filter, batch->keys + *done, batch->count - *done,
                                   batch->answers + *done, &added, err);
    *done += added;
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

    if (tamis_scheme_digest_bits(spec->plan_options.scheme) == 0 || cli_filter_will_be_redisbloom(spec)) {
        refuse("", spec->frozen, err);
        return err->status;
    }
    single.plan_options.expect = cli_filter_grows_by_parts(spec) ? 0 : 1;
    if (cli_filter_create(&filter, &single, secret, err) != TAMIS_OK)
        return err->status;
    *counts = tamis_filter_can(filter, TAMIS_CAN_COUNT);
    tamis_filter_free(filter);
    return TAMIS_OK;
}

tamis_status build_buffer_create(build_buffer **buffer, const cli_filter_spec *spec, const cli_secret *secret,
                                 tamis_error *err) {
    tamis_key_buffer_options options = TAMIS_KEY_BUFFER_OPTIONS_INIT;

    if (check_plan(spec, secret, &options.keeps_repeats, err) != TAMIS_OK)
        return err->status;
    options.scheme = spec->plan_options.scheme;
    options.seed = spec->seed;
    if (secret) {
        options.secret = secret->bytes;
        options.secret_size = secret->size;
    }
    build_buffer *made = calloc(1, sizeof *made);
    if (!made)
        return cli_fail(err, "hashes of keys: out of memory; free some, or give --expect");
    made->spec = spec;
    made->secret = secret;
    const tamis_status status = tamis_key_buffer_create(&made->keys, &options, err);
    if (status == TAMIS_E_NOMEM)
        cli_remedy(err, "free some, or give --expect");
    if (status != TAMIS_OK) {
        build_buffer_free(made);
        return status;
    }
    *buffer = made;
    return TAMIS_OK;
}

void build_buffer_free(build_buffer *buffer) {
    if (!buffer)
        return;
    tamis_key_buffer_free(buffer->keys);
    tamis_filter_free(buffer->filter);
    free(buffer);
}

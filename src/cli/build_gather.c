/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which keys are distinct an exact filter knows, of a hash of its own: that of the filter wanted need not have the bits
 * for it. What is kept besides is 24 bytes a key.
 */
#include "cli/build_gather.h"

#include <stdlib.h>

#include "cli/cli.h"

enum { BATCH = 256 };

struct build_gather {
    tamis_filter *known;
    tamis_hasher *hasher;
    size_t count;
    tamis_hash hashes[BUILD_GATHER_MOST];
};

static int create_known(build_gather *gather, const cli_secret *secret, tamis_error *err) {
    cli_filter_want want = {.want = TAMIS_WANT_INIT};

    want.want.kind = TAMIS_KIND_EXACT;
    want.want.expect = BUILD_GATHER_MOST;
    want.want.scheme = secret != NULL ? TAMIS_SCHEME_SIP : TAMIS_SCHEME_XXH3;
    return cli_filter_create(&gather->known, &want, secret, err);
}

int build_gather_create(build_gather **gather, const cli_filter_want *want, const cli_secret *secret,
                        tamis_error *err) {
    tamis_hasher_options options = TAMIS_HASHER_OPTIONS_INIT;
    build_gather *made = calloc(1, sizeof *made);

    if (made == NULL)
        return cli_fail(err, "hashes of keys: out of memory; free some, or give --expect");
    options.scheme = want->want.scheme;
    options.seed = want->seed;
    if (secret != NULL) {
        options.secret = secret->bytes;
        options.secret_size = secret->size;
    }
    if (create_known(made, secret, err) != CLI_DONE ||
        tamis_hasher_create(&made->hasher, &options, err) != TAMIS_OK) {
        build_gather_free(made);
        return CLI_FAILED;
    }
    *gather = made;
    return CLI_DONE;
}

void build_gather_free(build_gather *gather) {
    if (gather == NULL)
        return;
    tamis_filter_free(gather->known);
    tamis_hasher_free(gather->hasher);
    free(gather);
}

bool build_gather_has_room(const build_gather *gather, size_t count) {
    return count <= BUILD_GATHER_MOST - gather->count;
}

tamis_status build_gather_add(build_gather *gather, const tamis_key *keys, size_t count,
                              tamis_answer *answers, size_t *done, tamis_error *err) {
    tamis_hash hashes[BATCH];

    for (*done = 0; *done < count;) {
        size_t some = count - *done < BATCH ? count - *done : BATCH;
        tamis_status status = tamis_hash_many(gather->hasher, keys + *done, some, hashes, err);
        if (status == TAMIS_OK)
            status = tamis_filter_add_many(gather->known, keys + *done, some, answers + *done, NULL, err);
        if (status != TAMIS_OK)
            return status;
        for (size_t i = 0; i < some; i++)
            if (answers[*done + i] == TAMIS_FRESH)
                gather->hashes[gather->count++] = hashes[i];
        *done += some;
    }
    return TAMIS_OK;
}

uint64_t build_gather_count(const build_gather *gather) {
    return gather->count;
}

tamis_status build_gather_pour(const build_gather *gather, tamis_filter *filter, tamis_error *err) {
    tamis_answer answers[BATCH];
    size_t done;

    for (size_t from = 0; from < gather->count; from += BATCH) {
        size_t some = gather->count - from < BATCH ? gather->count - from : BATCH;
        tamis_status status =
            tamis_filter_add_hashes(filter, gather->hashes + from, some, answers, &done, err);
        if (status != TAMIS_OK)
            return status;
    }
    return TAMIS_OK;
}

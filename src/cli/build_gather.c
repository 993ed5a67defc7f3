/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which keys are distinct an exact filter knows, of a hash of its own: that of the filter wanted need not have the bits
 * for it. What is kept besides is 24 bytes a key.
 */
#include "cli/build_gather.h"

#include <stdlib.h>

#include "cli/cli.h"

enum {
    BATCH = 256,
    MOST = 1 << 16 /* distinct keys of which hashes are kept */
};

struct build_gather {
    const cli_filter_want *want;
    const cli_secret *secret; /* NULL: none */
    tamis_filter *filter;     /* where there are more: keys go there then, and what follows is empty */
    tamis_filter *known;
    tamis_hasher *hasher;
    tamis_hash *hashes; /* malloc, MOST of them */
    size_t count;
};

/* ---- what is kept ---- */

static void forget(build_gather *gather) {
    tamis_filter_free(gather->known);
    tamis_hasher_free(gather->hasher);
    free(gather->hashes);
    gather->known = NULL;
    gather->hasher = NULL;
    gather->hashes = NULL;
    gather->count = 0;
}

static int create_known(build_gather *gather, tamis_error *err) {
    cli_filter_want want = {.want = TAMIS_WANT_INIT};

    want.want.kind = TAMIS_KIND_EXACT;
    want.want.expect = MOST;
    want.want.scheme = gather->secret != NULL ? TAMIS_SCHEME_SIP : TAMIS_SCHEME_XXH3;
    return cli_filter_create(&gather->known, &want, gather->secret, err);
}

static int create_hasher(build_gather *gather, tamis_error *err) {
    tamis_hasher_options options = TAMIS_HASHER_OPTIONS_INIT;

    options.scheme = gather->want->want.scheme;
    options.seed = gather->want->seed;
    if (gather->secret != NULL) {
        options.secret = gather->secret->bytes;
        options.secret_size = gather->secret->size;
    }
    return tamis_hasher_create(&gather->hasher, &options, err) == TAMIS_OK ? CLI_DONE : CLI_FAILED;
}

/* Up to BATCH keys that have room, or none of them. */
static tamis_status add(build_gather *gather, const tamis_key *keys, size_t count, tamis_answer *answers,
                        tamis_error *err) {
    tamis_hash hashes[BATCH];
    tamis_status status = tamis_hash_many(gather->hasher, keys, count, hashes, err);

    if (status == TAMIS_OK)
        status = tamis_filter_add_many(gather->known, keys, count, answers, NULL, err);
    for (size_t i = 0; i < count && status == TAMIS_OK; i++)
        if (answers[i] == TAMIS_FRESH)
            gather->hashes[gather->count++] = hashes[i];
    return status;
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

/* ---- what is not ---- */

static bool grows(const cli_filter_want *filter) {
    const tamis_want *want = &filter->want;

    return !filter->frozen && !tamis_kind_is_bloom(want->kind) &&
           tamis_scheme_digest_bits(want->scheme) >= 128;
}

static tamis_status refuse(const char *much, bool frozen, tamis_error *err) {
    cli_fail(
        err,
        "--expect: missing, and the input %scannot be read twice to be counted first; give --expect N, or "
        "files, or a filter that grows (--kind fingerprint)%s",
        much, frozen ? ", without --frozen" : "");
    return TAMIS_E_INVALID;
}

/* There are more keys than are kept: from here on the filter has to grow. */
static tamis_status spill(build_gather *gather, tamis_error *err) {
    tamis_status status;

    if (!grows(gather->want))
        return refuse("has more than some 65,000 distinct records, and ", gather->want->frozen, err);
    if (cli_filter_create(&gather->filter, gather->want, gather->secret, err) != CLI_DONE)
        return err->status;
    status = build_gather_pour(gather, gather->filter, err);
    forget(gather);
    return status;
}

tamis_status build_gather_ask(void *context, const tamis_key *keys, size_t count, tamis_answer *answers,
                              size_t *done, tamis_error *err) {
    build_gather *gather = context;
    tamis_status status = TAMIS_OK;

    for (*done = 0; *done < count && status == TAMIS_OK;) {
        size_t left = count - *done, some = left < BATCH ? left : BATCH, added = 0;
        if (gather->filter != NULL) {
            status = tamis_filter_add_many(gather->filter, keys + *done, left, answers + *done, &added, err);
        } else if (some > MOST - gather->count) {
            status = spill(gather, err);
        } else {
            status = add(gather, keys + *done, some, answers + *done, err);
            added = status == TAMIS_OK ? some : 0;
        }
        *done += added;
    }
    return status;
}

tamis_filter *build_gather_take(build_gather *gather) {
    tamis_filter *filter = gather->filter;

    gather->filter = NULL;
    return filter;
}

/* ---- making one ---- */

static int check_plan(const cli_filter_want *want, const cli_secret *secret, tamis_error *err) {
    cli_filter_want one = *want;
    tamis_filter *filter = NULL;

    if (tamis_scheme_digest_bits(want->want.scheme) == 0) {
        refuse("", want->frozen, err);
        return CLI_FAILED;
    }
    one.want.expect = 1;
    if (cli_filter_create(&filter, &one, secret, err) != CLI_DONE)
        return CLI_FAILED;
    tamis_filter_free(filter);
    return CLI_DONE;
}

int build_gather_create(build_gather **gather, const cli_filter_want *want, const cli_secret *secret,
                        tamis_error *err) {
    build_gather *made;

    if (check_plan(want, secret, err) != CLI_DONE)
        return CLI_FAILED;
    made = calloc(1, sizeof *made);
    if (made != NULL) {
        made->want = want;
        made->secret = secret;
        made->hashes = malloc(MOST * sizeof *made->hashes);
    }
    if (made == NULL || made->hashes == NULL) {
        build_gather_free(made);
        return cli_fail(err, "hashes of keys: out of memory; free some, or give --expect");
    }
    if (create_known(made, err) != CLI_DONE || create_hasher(made, err) != CLI_DONE) {
        build_gather_free(made);
        return CLI_FAILED;
    }
    *gather = made;
    return CLI_DONE;
}

void build_gather_free(build_gather *gather) {
    if (gather == NULL)
        return;
    forget(gather);
    tamis_filter_free(gather->filter);
    free(gather);
}

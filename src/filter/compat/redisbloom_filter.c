/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A filter of RedisBloom behind the handle of all filters. So whatever looks up keys or reports a filter
 * takes it like any other: filter sets, audits, the command.
 *
 *     tamis_filter --> external: add, contains, estimate, clear, release
 *          `--------> body: a chain (redisbloom.c), or cuckoo tables (redisbloom_cuckoo.c)
 *
 * The handle is that of an external filter (tamis__external_ops): a chain has no operations of a kind. A filter
 * that was read is only looked up. Whoever adds keys uses the chain itself, or the server that has it.
 *
 * A cuckoo filter may also be made here, by a plan of kind cuckoo and scheme redisbloom. It can be changed, and
 * is saved in format redisbloom, for RESTORE. Whoever makes it so gets the same slots as with CF.RESERVE and
 * CF.ADD: the same functions move its entries (redisbloom_cuckoo.c).
 *
 * Its plan says as much as a plan can:
 *
 *     field       chain                                        cuckoo tables
 *     ---------   ------------------------------------------   ------------------------------
 *     kind        classic                                      cuckoo
 *     capacity    sum of all sub-filters                       slots of all tables
 *     fpr         of a nonscaling one its rate, else twice     1: RedisBloom promises no rate
 *                 that of the first sub-filter
 *     bits        of all sub-filters                           of all slots
 *     probes      of the newest sub-filter                     0
 *
 * The rate now. A lookup asks all sub-filters, each independent of the others:
 *
 *     chain    1 - product of (1 - f^k)             f: share of the bits that are set; k: hashes
 *     cuckoo   1 - (254/255)^(sum of 2 e / b)       e entries in b buckets of a table
 */
#include "filter/compat/redisbloom_filter.h"

#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "filter/compat/redisbloom_chain.h"
#include "filter/compat/redisbloom_tables.h"
#include "plan/plan_int.h"

static tamis__redisbloom_pair *pair_of(const tamis_filter *filter) {
    return filter->body;
}

/* ---- operations ---- */

static tamis_status refuse(const char *what, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                       "%s: a filter of RedisBloom is only looked up here; change it on its server, by BF or "
                       "CF commands",
                       what);
}

static tamis_status add(tamis_filter *filter, const tamis__key_batch *batch, size_t *done, tamis_error *err) {
    (void)filter;
    (void)batch;
    *done = 0;
    return refuse("add", err);
}

static tamis_status clear(tamis_filter *filter, tamis_error *err) {
    (void)filter;
    return refuse("clear", err);
}

static tamis_status contains(const tamis_filter *filter, const tamis__key_batch *batch, size_t *done,
                             tamis_error *err) {
    const tamis__redisbloom_pair *own = pair_of(filter);
    const tamis_key *keys = batch->keys;
    *done = 0;
    if (!keys)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "contains: a filter of RedisBloom takes keys and no hashes; give the keys");
    const tamis_status status =
        own->chain
            ? tamis_redisbloom_contains_many(own->chain, keys, batch->count, batch->answers, err)
            : tamis_redisbloom_cuckoo_contains_many(own->cuckoo, keys, batch->count, batch->answers, err);
    *done = status == TAMIS_OK ? batch->count : 0;
    return status;
}

static uint64_t count_ones(const uint8_t *bits, uint64_t bytes) {
    uint64_t ones = 0;
    for (; bytes >= 8; bytes -= 8, bits += 8)
        ones += (uint64_t)__builtin_popcountll(tamis__load64le(bits));
    for (; bytes > 0; bytes--, bits++)
        ones += (uint64_t)__builtin_popcount(*bits);
    return ones;
}

static void estimate_chain(const tamis_redisbloom *chain, tamis_filter_info *info) {
    double absent = 0; /* logarithm of the chance that an absent key is answered absent */
    for (size_t i = 0; i < chain->count; i++) {
        const tamis_redisbloom_subfilter *size = &chain->subfilters[i].size;
        const uint64_t ones = count_ones(chain->subfilters[i].bits, size->bytes);
        const uint64_t modulus = size->bits_log2 ? UINT64_C(1) << size->bits_log2 : size->bits;
        absent += log1p(-fmin(1, pow((double)ones / (double)modulus, size->hashes)));
        info->ones += ones;
    }
    info->cardinality = (double)chain->keys;
    info->fpr_live = -expm1(absent);
}

static void estimate_cuckoo(const tamis_redisbloom_cuckoo *cuckoo, tamis_filter_info *info) {
    double compared = 0; /* entries that a lookup compares with its fingerprint */
    for (size_t i = 0; i < cuckoo->count; i++) {
        const uint8_t *slots = cuckoo->tables[i].slots;
        uint64_t entries = 0;
        for (uint64_t slot = 0; slot < tamis__rbc_table_bytes(cuckoo, i); slot++)
            entries += slots[slot] != 0;
        compared += 2 * (double)entries / (double)cuckoo->tables[i].buckets;
    }
    info->cardinality = (double)cuckoo->keys;
    info->fpr_live = -expm1(compared * log1p(-1.0 / 255));
}

static tamis_status estimate(const tamis_filter *filter, tamis_filter_info *info, tamis_error *err) {
    const tamis__redisbloom_pair *own = pair_of(filter);
    (void)err;
    if (own->chain)
        estimate_chain(own->chain, info);
    else
        estimate_cuckoo(own->cuckoo, info);
    return TAMIS_OK;
}

static void free_pair(const tamis__redisbloom_pair *own) {
    tamis_redisbloom_free(own->chain);
    tamis_redisbloom_cuckoo_free(own->cuckoo);
}

static void release_body(tamis_filter *filter) {
    if (!filter->body)
        return;
    free_pair(pair_of(filter));
    tamis__free(&filter->allocator, filter->body, sizeof(tamis__redisbloom_pair));
}

/* ---- cuckoo filters that are made here ---- */

static void plan_cuckoo(tamis_filter *filter, const tamis_redisbloom_cuckoo *cuckoo);

static tamis_status check_keys(const tamis__key_batch *batch, const char *what, tamis_error *err) {
    return batch->keys
               ? TAMIS_OK
               : tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                             "%s: a filter of RedisBloom takes keys and no hashes; give the keys", what);
}

/* Brings the numbers of the handle up to date, since tables come and go. */
static void update(tamis_filter *filter) {
    plan_cuckoo(filter, pair_of(filter)->cuckoo);
    filter->tally.memory = filter->plan.memory;
    if (filter->tally.memory_peak < filter->tally.memory)
        filter->tally.memory_peak = filter->tally.memory;
}

static tamis_status add_made(tamis_filter *filter, const tamis__key_batch *batch, size_t *done,
                             tamis_error *err) {
    tamis_redisbloom_cuckoo *cuckoo = pair_of(filter)->cuckoo;
    tamis_answer answer = TAMIS_ABSENT;
    *done = 0;
    tamis_status status = check_keys(batch, "add", err);
    while (status == TAMIS_OK && *done < batch->count) {
        const tamis_key *key = &batch->keys[*done];
        if (batch->answers)
            tamis_redisbloom_cuckoo_contains_many(cuckoo, key, 1, &answer, NULL);
        status = tamis_redisbloom_cuckoo_add(cuckoo, key->data, key->size, err);
        if (status != TAMIS_OK)
            break;
        if (batch->answers)
            batch->answers[*done] = answer;
        ++*done;
    }
    if (status == TAMIS_E_FULL) {
        filter->saturated = true;
        filter->full = TAMIS_FULL_CROWDED;
    }
    update(filter);
    return status;
}

static tamis_status remove_made(tamis_filter *filter, const tamis__key_batch *batch, size_t *done,
                                tamis_error *err) {
    tamis_redisbloom_cuckoo *cuckoo = pair_of(filter)->cuckoo;
    tamis_answer answer;
    *done = 0;
    const tamis_status status = check_keys(batch, "remove", err);
    for (; status == TAMIS_OK && *done < batch->count; ++*done) {
        const tamis_key *key = &batch->keys[*done];
        tamis_redisbloom_cuckoo_remove(cuckoo, key->data, key->size, &answer, NULL);
        if (batch->answers)
            batch->answers[*done] = answer;
    }
    update(filter);
    return status;
}

static tamis_status copies_made(const tamis_filter *filter, const tamis_key *key, uint64_t *copies,
                                tamis_error *err) {
    return tamis_redisbloom_cuckoo_count(pair_of(filter)->cuckoo, key->data, key->size, copies, err);
}

static tamis_status create_cuckoo(tamis_redisbloom_cuckoo **cuckoo, uint64_t slots,
                                  const tamis_allocator *allocator, tamis_error *err) {
    tamis_redisbloom_cuckoo_options options = TAMIS_REDISBLOOM_CUCKOO_OPTIONS_INIT;
    options.capacity = slots;
    options.allocator = allocator;
    return tamis_redisbloom_cuckoo_create(cuckoo, &options, err);
}

static tamis_status clear_made(tamis_filter *filter, tamis_error *err) {
    tamis__redisbloom_pair *own = pair_of(filter);
    tamis_redisbloom_cuckoo *empty;
    const tamis_status status =
        create_cuckoo(&empty, tamis__rbc_table_bytes(own->cuckoo, 0), &filter->allocator, err);
    if (status != TAMIS_OK)
        return status;
    tamis_redisbloom_cuckoo_free(own->cuckoo);
    own->cuckoo = empty;
    update(filter);
    return TAMIS_OK;
}

static const tamis__external_ops made_operations = {.add = add_made,
                                                    .contains = contains,
                                                    .estimate = estimate,
                                                    .clear = clear_made,
                                                    .remove = remove_made,
                                                    .copies = copies_made,
                                                    .release = release_body,
                                                    .foreign = "a filter of RedisBloom"};

/* ---- filters that are read ---- */

static const tamis__external_ops operations = {.add = add,
                                               .contains = contains,
                                               .estimate = estimate,
                                               .clear = clear,
                                               .release = release_body,
                                               .foreign = "a filter of RedisBloom"};

/* ---- handles ---- */

static void plan_chain(tamis_filter *filter, const tamis_redisbloom *chain) {
    tamis_plan *plan = &filter->plan;
    const tamis_redisbloom_subfilter *oldest = &chain->subfilters[0].size;
    plan->kind = TAMIS_KIND_CLASSIC;
    for (size_t i = 0; i < chain->count; i++) {
        plan->capacity += chain->subfilters[i].size.capacity;
        plan->bits += chain->subfilters[i].size.bits;
    }
    plan->probes = chain->subfilters[chain->count - 1].size.hashes;
    plan->fpr = fmin(1, chain->options & TAMIS__RB_NONSCALING ? oldest->rate : 2 * oldest->rate);
    plan->memory = chain->bytes;
    filter->added = chain->keys;
}

static void plan_cuckoo(tamis_filter *filter, const tamis_redisbloom_cuckoo *cuckoo) {
    tamis_plan *plan = &filter->plan;
    plan->kind = TAMIS_KIND_CUCKOO;
    plan->capacity = cuckoo->bytes;
    plan->bits = 8 * cuckoo->bytes;
    plan->slot_bits = 8;
    plan->fpr = 1;
    plan->memory = cuckoo->bytes;
    filter->added = cuckoo->keys;
}

static tamis_status set_up(tamis_filter *filter, const tamis__redisbloom_pair *own, tamis_error *err) {
    tamis_hasher_options hashing = TAMIS_HASHER_OPTIONS_INIT;
    tamis__redisbloom_pair *body =
        tamis__alloc(&filter->allocator, sizeof *body, _Alignof(tamis__redisbloom_pair));
    if (!body)
        return tamis__fail_nomem(err, "filter", sizeof *body);
    filter->body = body;
    filter->plan.scheme = TAMIS_SCHEME_REDISBLOOM;
    if (own->chain)
        plan_chain(filter, own->chain);
    else
        plan_cuckoo(filter, own->cuckoo);
    filter->plan.fpr_predicted = filter->plan.fpr;
    filter->plan.bits_per_key = (double)filter->plan.bits / (double)filter->plan.capacity;
    tamis__plan_explain(&filter->plan, "read from a dump of RedisBloom");
    filter->tally.memory = filter->tally.memory_peak = filter->plan.memory;
    hashing.scheme = TAMIS_SCHEME_REDISBLOOM;
    hashing.allocator = &filter->allocator;
    return tamis_hasher_create(&filter->hasher, &hashing, err);
}

tamis_status tamis__redisbloom_filter_create(tamis_filter **filter, tamis__redisbloom_pair *own,
                                             const tamis_allocator *allocator, tamis_error *err) {
    tamis_filter *created = NULL;
    tamis_status status = tamis__filter_create_external(&created, &operations, allocator, err);
    if (status == TAMIS_OK)
        status = set_up(created, own, err);
    if (status != TAMIS_OK) {
        tamis_filter_free(created);
        free_pair(own);
        return status;
    }
    *pair_of(created) = *own;
    *filter = created;
    return TAMIS_OK;
}

tamis_status tamis__redisbloom_filter_make(tamis_filter **filter, const tamis_plan *plan,
                                           const tamis_filter_options *options, tamis_error *err) {
    const tamis_allocator allocator = tamis__allocator_resolve(options->allocator);
    tamis__redisbloom_pair own = {NULL, NULL};
    tamis_filter *created = NULL;
    if (plan->slot_bits != 8 || plan->bits != 8 * plan->capacity || plan->capacity == 0)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "plan: not one of kind cuckoo and scheme redisbloom; take the plan as "
                           "tamis_plan_make made it");
    if (options->seed || options->secret || options->secret_size || options->concurrent || options->frozen ||
        options->allow_over_capacity)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "kind cuckoo of scheme redisbloom: has no seed, secret, concurrent, frozen and "
                           "allow_over_capacity; leave them out");
    tamis_status status = create_cuckoo(&own.cuckoo, plan->capacity, &allocator, err);
    if (status == TAMIS_OK)
        status = tamis__redisbloom_filter_create(&created, &own, &allocator, err);
    if (status != TAMIS_OK)
        return status;
    created->external = &made_operations;
    created->plan.fpr_predicted = plan->fpr_predicted;
    created->metadata.fields.format = TAMIS_FORMAT_REDISBLOOM;
    memcpy(created->plan.reason, plan->reason, sizeof plan->reason);
    *filter = created;
    return TAMIS_OK;
}

tamis__redisbloom_pair tamis__redisbloom_filter_of(const tamis_filter *filter) {
    const tamis__external_ops *external = filter ? filter->external : NULL;
    return external == &operations || external == &made_operations ? *pair_of(filter)
                                                                   : (tamis__redisbloom_pair){NULL, NULL};
}

const tamis_redisbloom *tamis_redisbloom_of(const tamis_filter *filter) {
    return tamis__redisbloom_filter_of(filter).chain;
}

const tamis_redisbloom_cuckoo *tamis_redisbloom_cuckoo_of(const tamis_filter *filter) {
    return tamis__redisbloom_filter_of(filter).cuckoo;
}

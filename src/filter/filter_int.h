/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_FILTER_INT_H
#define TAMIS_FILTER_FILTER_INT_H

#include <tamis/filter.h>

#include "base/memory.h"
#include "filter/kernels/filter_kernels.h"
#include "hash/hasher.h"

/* What the layers of a kind count for it, so that every kind tells the same figures. */
typedef struct tamis__tally {
    uint64_t memory;      /* bytes held now */
    uint64_t memory_peak; /* the most held at any moment */
} tamis__tally;

/* The operations of a kind. `hashes` are of this filter's hasher: filter.c has checked. */
struct tamis__filter_ops {
    /* Makes filter->body from filter->plan; nothing is left behind on failure. */
    tamis_status (*create)(tamis_filter *filter, tamis_error *err);
    /* Gives back what create took; also after a create that failed or never ran. */
    void (*destroy)(tamis_filter *filter);
    /* answers is never NULL. On failure *done keys are in. */
    tamis_status (*add)(tamis_filter *filter, const tamis_hash *hashes, size_t count, tamis_answer *answers,
                        size_t *done, tamis_error *err);
    void (*contains)(const tamis_filter *filter, const tamis_hash *hashes, size_t count,
                     tamis_answer *answers);
    /* The same from the keys themselves, for schemes without a digest; NULL where the kind needs one. */
    tamis_status (*add_keys)(tamis_filter *filter, const tamis_key *keys, size_t count, tamis_answer *answers,
                             size_t *done, tamis_error *err);
    void (*contains_keys)(const tamis_filter *filter, const tamis_key *keys, size_t count,
                          tamis_answer *answers);
    /* Fills cardinality, fpr_live, false_fresh and ones; filter.c fills the rest. */
    void (*estimate)(const tamis_filter *filter, tamis_filter_info *info);
    void (*clear)(tamis_filter *filter);
    /* Into one just created from the same plan: it is destroyed on failure. */
    tamis_status (*copy)(tamis_filter *to, const tamis_filter *from, tamis_error *err);
    /* NULL where a kind has none. filter.c has checked that both are of one plan and hasher. */
    void (*unite)(tamis_filter *into, const tamis_filter *from);
};

struct tamis_filter {
    const struct tamis__filter_ops *ops;
    const struct tamis__filter_kernels *kernels;
    tamis_allocator allocator;
    tamis_plan plan;
    tamis_hasher *hasher;
    uint64_t added; /* keys answered fresh */
    bool saturated;
    tamis_full full; /* why the last fresh key was refused */
    bool overfill;   /* as in tamis_filter_options */
    tamis__tally tally;
    void *body; /* the kind's own */
};

extern const struct tamis__filter_ops tamis__classic_ops;
extern const struct tamis__filter_ops tamis__blocked_ops;
extern const struct tamis__filter_ops tamis__fingerprint_ops; /* exact too */

/* The bits of a classic or blocked filter, bit i being bit i & 63 of word i >> 6. */
const uint64_t *tamis__bloom_words(const tamis_filter *filter, size_t *count);

/* Memory of the filter's allocator for what the plan counts, which is all but handles of at most 2 KiB; lines are aligned to 64 bytes. NULL when there is none. */
void *tamis__filter_alloc(tamis_filter *filter, size_t size);
void tamis__filter_release(tamis_filter *filter, void *block, size_t size);

/* Marks the filter saturated and full, and says what to do. */
tamis_status tamis__filter_full(tamis_filter *filter, tamis_full why, tamis_error *err);

#endif

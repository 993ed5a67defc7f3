/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Copies of a filter: at once, and of a concurrent filter in pieces.
 *
 * Copies of a concurrent filter are made while other threads add. The steps, with the lock that each holds:
 *
 *     whole filter   copy the handle (plan, hasher, metadata)
 *     none           allocate the body
 *     whole filter   start_copy
 *     part by part   copy the body in pieces (concurrent.c)
 *     whole filter   finish_copy: counts
 *
 * Why no lock while the body is allocated: the first write to a page of 2 MiB takes up to 4 ms. Batches would
 * wait (see `populate`). Why the count comes last: a key that is added to a part already copied is then
 * counted without being there. The other way round a key would be there and not counted, and the copy could
 * pass its capacity.
 *
 * If the body is replaced meanwhile (`remade` changes, because the table grew as a whole), the copy starts
 * again. Growth at least doubles a table, so there are few repetitions.
 *
 * Invariant: the count of keys of a copy may be too high, but never too low. It is read after the last piece
 * was copied.
 */
#include <string.h>

#include "filter/concurrent.h"
#include "filter/filter_int.h"

static tamis_status copy_source_file(tamis_filter *to, const tamis_filter *from, tamis_error *err) {
    if (!from->source_file)
        return TAMIS_OK;
    size_t size = from->source_file->block_size;
    to->source_file = tamis__alloc(&to->allocator, size, _Alignof(tamis__source_file));
    if (!to->source_file)
        return tamis__fail_nomem(err, "filter", size);
    memcpy(to->source_file, from->source_file, size);
    return TAMIS_OK;
}

/* Copies everything but the body.
 *
 * All members are copied as bytes, and then those that one handle alone may own are cleared. A new member
 * that owns memory has to be cleared too: otherwise both handles free it. */
static tamis_status copy_handle(tamis_filter **copied, const tamis_filter *filter, tamis_error *err) {
    tamis_filter *created = tamis__alloc(&filter->allocator, sizeof *created, TAMIS__LINE);
    if (!created)
        return tamis__fail_nomem(err, "filter", sizeof *created);
    /* All before `inside`, the last member: other threads may count themselves there meanwhile. */
    memcpy(created, filter, offsetof(tamis_filter, inside));
    created->hasher = NULL;
    created->body = NULL;
    created->block = NULL;
    created->verifier = NULL;
    created->backing = (tamis__backing){0};
    created->source_file = NULL;
    created->concurrent = NULL;
    created->opened = NULL;
    created->add_only = false;
    created->read_only = false;
    created->inside = 0;
    created->metadata = (tamis__metadata){0};
    created->tally = (tamis__tally){0, 0};
    tamis_status status = tamis__hasher_copy(&created->hasher, filter->hasher, err);
    if (status == TAMIS_OK)
        status = tamis__metadata_copy(created, filter, err);
    if (status == TAMIS_OK)
        status = copy_source_file(created, filter, err);
    if (status == TAMIS_OK)
        *copied = created;
    else
        tamis_filter_free(created);
    return status;
}

static tamis_status copy(tamis_filter **copied, const tamis_filter *filter, tamis_error *err) {
    tamis_filter *created = NULL;
    tamis_status status = tamis__filter_check_local(filter, "copy", err);
    if (status == TAMIS_OK)
        status = tamis_filter_verify(filter, err); /* verify shares slow_lock once more, which is allowed */
    if (status == TAMIS_OK)
        status = copy_handle(&created, filter, err);
    if (status == TAMIS_OK)
        status = created->ops->init(created, err);
    if (status == TAMIS_OK)
        status = created->ops->copy(created, filter, err);
    if (status == TAMIS_OK)
        *copied = created;
    else
        tamis_filter_free(created);
    return status;
}

/* Begins a copy in pieces. False if the body of `from` was replaced since the handle was copied: `to` then
 * has other sizes. */
static bool start_copy(tamis_filter *to, const tamis_filter *from) {
    tamis__concurrent_pause_batches(from);
    const bool same = to->remade == from->remade;
    if (same && from->ops->pieces->begin)
        from->ops->pieces->begin(to, from);
    tamis__concurrent_resume_batches(from);
    return same;
}

/* Ends a copy in pieces: sets the count of keys. It may be too high, never too low: keys added after their
 * piece was copied are counted too. Returns false if the body of `from` was replaced since start_copy. */
static bool finish_copy(tamis_filter *to, const tamis_filter *from) {
    tamis__concurrent_pause_batches(from);
    const bool same = to->remade == from->remade;
    if (same && from->ops->pieces->end)
        from->ops->pieces->end(to, from);
    to->added = from->added;
    to->saturated = from->saturated;
    to->full = from->full;
    tamis__concurrent_resume_batches(from);
    return same;
}

/* Makes one attempt at a copy. *copied stays NULL, with TAMIS_OK, if the body was replaced meanwhile. */
static tamis_status try_copy_snapshot(tamis_filter **copied, const tamis_filter *filter, tamis_error *err) {
    tamis_filter *created = NULL;
    bool same = false;
    tamis__concurrent_pause_batches(filter);
    tamis_status status = copy_handle(&created, filter, err);
    tamis__concurrent_resume_batches(filter);
    if (status == TAMIS_OK) /* without a lock: slow if the allocator clears memory */
        status = created->ops->init(created, err);
    if (status == TAMIS_OK && created->ops->pieces->populate)
        created->ops->pieces->populate(created);
    if (status == TAMIS_OK && start_copy(created, filter)) {
        status = tamis__concurrent_copy_body(created, filter, err);
        same = finish_copy(created, filter);
    }
    if (status == TAMIS_OK && same)
        *copied = created;
    else
        tamis_filter_free(created);
    return status;
}

/* Repeats the attempt each time the whole table has grown. */
tamis_status tamis__filter_copy_snapshot(tamis_filter **copied, const tamis_filter *filter,
                                         tamis_error *err) {
    tamis_filter *created = NULL;
    tamis_status status = TAMIS_OK;
    while (status == TAMIS_OK && !created)
        status = try_copy_snapshot(&created, filter, err);
    if (status == TAMIS_OK)
        *copied = created;
    return status;
}

static tamis_status copy_concurrent(tamis_filter **copied, const tamis_filter *filter, tamis_error *err) {
    tamis_filter *created = NULL;
    tamis__concurrent_lock_whole(filter);
    tamis_status status = tamis__filter_copy_snapshot(&created, filter, err);
    tamis__concurrent_unlock_whole(filter);
    if (status == TAMIS_OK)
        status = tamis__concurrent_enable(created, err);
    if (status == TAMIS_OK)
        *copied = created;
    else
        tamis_filter_free(created);
    return status;
}

tamis_status tamis_filter_copy(tamis_filter **copied, const tamis_filter *filter, tamis_error *err) {
    TAMIS__NEED_AS(copied, "copy", err);
    TAMIS__NEED(filter, err);
    if (filter->concurrent)
        return copy_concurrent(copied, filter, err);
    tamis_status status = tamis__filter_claim(filter, false, err);
    if (status != TAMIS_OK)
        return status;
    tamis__filter_lock_content(filter);
    status = copy(copied, filter, err);
    tamis__filter_unlock_content(filter);
    tamis__filter_unclaim(filter, false);
    return status;
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A pipeline item: the stages' work on one batch. pipeline.c decides when each function is called.
 *
 *     extract    keys of the records, then their hashes                any thread, several items at once
 *     divide     leave out redelivered records; choose the parts       in the order of the batches
 *     query      send the query to the service, whole or in parts      in the order of the batches
 *     write      outcome of each record (tamis__item_finish)           in the order of the batches
 *
 * An error does not end the run where it is found: it is stored in the item. The stages behind it do nothing
 * for this item, and the write stage reports it when all batches before it are written. So the outputs are
 * the same for any number of threads.
 *
 * Parts. A service that can divide its filter (tamis_stream_service.parts) queries one batch by several
 * threads. A part is a share of the filter, not of the batch. Each part reads all hashes of the batch, and
 * answers the keys of its share.
 *
 *     keys          k0  k1  k2  k3  k4  k5
 *     part 0        x       x           x      done 6
 *     part 1            x       f              done 3, failed at k3
 *     answered      k0  k1  k2                 the batch is answered up to the first unanswered key
 *
 * A part reports `done`: all of its keys with a smaller index are answered. The part with the smallest `done`
 * decides for the batch, and its error is the one that a whole query would have found first. The others may
 * have added keys behind that: finish_parts tells the service how many answers count.
 *
 * Invariants:
 * 1. `answered` never exceeds the keys of the query, whatever the service reports (check_done), and all
 *    answers before it are valid (check_answers). A service is foreign code.
 * 2. An item belongs to one stage at a time. Parts are the exception: each writes only item->part[i], and the
 *    answers of its own keys.
 * 3. The first item uses the caller's extractor, others have copies, so no two threads share one.
 */
#include "stream/run/item.h"

#include <inttypes.h>

#include "stream/extract/find.h"
#include "stream/run/clock.h"

/* Smallest number of keys in a part. Each part reads all hashes of the batch, and waking a thread takes
 * longer than to query fewer keys. */
enum { WORTH_A_PART = 256 };

static tamis_status alloc_arrays(tamis__item *item, const tamis__item_setup *setup, tamis_error *err) {
    const tamis_allocator *memory = &setup->keys.memory;
    const size_t capacity = setup->capacity, records = capacity * sizeof *item->records;
    const size_t hashes = capacity * sizeof *item->hashes, parts = item->max_parts * sizeof *item->part;
    item->records = tamis__alloc(memory, records, TAMIS__LINE);
    if (!item->records)
        return tamis__fail_nomem(err, "batch of records", records);
    if (setup->hashed)
        item->hashes = tamis__alloc(memory, hashes, TAMIS__LINE);
    if (setup->hashed && !item->hashes)
        return tamis__fail_nomem(err, "batch of hashes", hashes);
    if (item->max_parts > 1)
        item->part = tamis__alloc(memory, parts, TAMIS__LINE);
    return item->max_parts == 1 || item->part ? TAMIS_OK : tamis__fail_nomem(err, "parts of a batch", parts);
}

/* Sets up a zeroed item. With `copies` it gets an extractor of its own. */
static tamis_status init_item(tamis__item *item, const tamis__item_setup *setup, bool copies,
                              tamis_error *err) {
    item->keys = setup->keys;
    item->keys.capacity = setup->capacity;
    item->err = (tamis_error)TAMIS_ERROR_INIT;
    item->timed = setup->timed;
    item->max_parts = setup->max_parts;
    item->parts = 1;
    if (copies && setup->keys.extractor) {
        item->keys.extractor = NULL;
        const tamis_status status = tamis__extractor_copy(&item->keys.extractor, setup->keys.extractor, err);
        if (status != TAMIS_OK)
            return status;
        item->copied = true;
    }
    const tamis_status status = alloc_arrays(item, setup, err);
    return status == TAMIS_OK ? tamis__keys_init(&item->keys, setup->capacity, err) : status;
}

/* Releases and zeroes the item. May be called again, or after a failed make. */
static void release_item(tamis__item *item) {
    const tamis_allocator *memory = &item->keys.memory;
    const size_t capacity = item->keys.capacity;
    if (item->copied)
        tamis_extractor_free(item->keys.extractor);
    tamis__free(memory, item->records, capacity * sizeof *item->records);
    tamis__free(memory, item->hashes, capacity * sizeof *item->hashes);
    tamis__free(memory, item->part, item->max_parts * sizeof *item->part);
    tamis__keys_release(&item->keys);
    *item = (tamis__item){.records = NULL};
}

tamis_status tamis__items_create(tamis__item **items, size_t count, const tamis__item_setup *setup,
                                 size_t *made, tamis_error *err) {
    tamis__item *row = tamis__alloc(&setup->keys.memory, count * sizeof *row, TAMIS__LINE);
    if (!row)
        return tamis__fail_nomem(err, "batches", count * sizeof *row);
    *items = row;
    const tamis_status status = init_item(&row[0], setup, false, err);
    for (*made = 1; *made < count && status == TAMIS_OK; ++*made)
        if (init_item(&row[*made], setup, true, NULL) != TAMIS_OK)
            break;
    if (*made == count || status != TAMIS_OK)
        return status;
    for (size_t i = *made; i > 0; i--)
        release_item(&row[i]);
    *made = 1;
    return TAMIS_OK;
}

void tamis__items_free(tamis__item *items, size_t count, const tamis_allocator *memory) {
    for (size_t i = 0; items && i < count; i++)
        release_item(&items[i]);
    tamis__free(memory, items, count * sizeof *items);
}

void tamis__item_extract(tamis__item *item, const tamis_stream_service *service) {
    tamis__query *query = &item->query;
    uint64_t *extracting = item->timed ? &item->extracting : NULL,
             *hashing = item->timed ? &item->hashing : NULL;
    uint64_t begun = tamis__clock_begin(extracting);
    item->calls = 0;
    item->status = tamis__keys_extract(&item->keys, &item->batch, query, &item->err);
    tamis__clock_end(extracting, begun);
    begun = tamis__clock_begin(hashing);
    if (item->status == TAMIS_OK && item->hashes && query->count > 0)
        item->status = tamis_hash_many(service->hasher, query->keys, query->count, item->hashes, &item->err);
    tamis__clock_end(hashing, begun);
}

void tamis__item_leave_out_redelivered(tamis__item *item, tamis__source_positions *positions) {
    if (item->status == TAMIS_OK)
        item->status =
            tamis__keys_leave_out_redelivered(&item->keys, &item->query, positions, item->hashes, &item->err);
}

/* Checks that the service returned only valid answers. If not, *count becomes the index of the first invalid
 * one. */
static tamis_status check_answers(const tamis_answer *answers, size_t *count, tamis_answer max,
                                  tamis_error *err) {
    tamis_answer largest = 0;
    for (size_t i = 0; i < *count; i++)
        largest = answers[i] > largest ? answers[i] : largest;
    if (largest <= max)
        return TAMIS_OK;
    size_t valid_count = 0;
    while (answers[valid_count] <= max)
        valid_count++;
    *count = valid_count;
    return tamis__fail(
        err, TAMIS_E_INVALID, 0,
        "stream: the service answered %d, which is not an answer; have it answer TAMIS_ABSENT, "
        "TAMIS_PRESENT or TAMIS_UNKNOWN",
        answers[valid_count]);
}

/* Checks that the service answered all keys or failed. If *done is more than `count`, no key counts as
 * answered. */
static tamis_status check_done(tamis_status status, size_t *done, size_t count, tamis_error *err) {
    const size_t reported = *done;
    *done = reported <= count ? reported : 0;
    if (status != TAMIS_OK || reported == count)
        return status;
    return tamis__fail(err, TAMIS_E_INVALID, 0,
                       "stream: the service says that %zu keys of %zu are answered; have it answer all, or "
                       "fail",
                       reported, count);
}

static void report_source(const tamis__item *item, const tamis_stream_service *service) {
    const tamis_stream_source source = {.struct_size = sizeof source,
                                        .input = item->batch.input,
                                        .first = item->batch.first,
                                        .records = item->batch.records,
                                        .record_index = item->query.record_index};
    if (service->set_source)
        service->set_source(service->context, &source);
}

/* Returns the keys of the query from `pos` on. */
static tamis_stream_batch batch_from(const tamis__item *item, size_t pos) {
    const tamis__query *q = &item->query;
    return (tamis_stream_batch){.struct_size = sizeof(tamis_stream_batch),
                                .parts = item->parts > 1 ? item->parts : 0,
                                .count = q->count - pos,
                                .keys = q->keys + pos,
                                .hashes = item->hashes ? item->hashes + pos : NULL,
                                .times = q->times ? q->times + pos : NULL,
                                .answers = q->answers + pos};
}

/* Sends keys to a service that needs times. If the service refuses a key, the query continues behind it,
 * unless such a key ends the run. */
static tamis_status query_timed(tamis__item *item, const tamis_stream_service *service) {
    const tamis__query *q = &item->query;
    for (size_t pos = 0; pos < q->count;) {
        const tamis_stream_batch batch = batch_from(item, pos);
        size_t done = 0;
        tamis_error refused = TAMIS_ERROR_INIT;
        item->calls++;
        tamis_status status = service->query(service->context, &batch, &done, &refused);
        const bool is_refused = status == TAMIS_E_RANGE && done < batch.count;
        status = is_refused ? TAMIS_OK : check_done(status, &done, batch.count, &refused);
        if (status == TAMIS_OK)
            status = check_answers(batch.answers, &done, TAMIS_LATE, &refused);
        pos += done;
        item->answered = pos;
        if (status != TAMIS_OK)
            return tamis__fail(&item->err, status, refused.sys_errno, "%s", refused.text);
        if (!is_refused)
            continue;
        status = tamis__keys_refuse(&item->keys, q, pos, refused.text, &item->err);
        if (status != TAMIS_OK)
            return status;
        item->answered = ++pos;
    }
    return TAMIS_OK;
}

static tamis_status query_whole(tamis__item *item, const tamis_stream_service *service) {
    report_source(item, service);
    if (item->query.count == 0)
        return TAMIS_OK;
    if (service->timed)
        return query_timed(item, service);
    const tamis_stream_batch batch = batch_from(item, 0);
    item->calls = 1;
    const tamis_status status = service->query(service->context, &batch, &item->answered, &item->err);
    return check_done(status, &item->answered, batch.count, &item->err);
}

/* Returns the largest useful number of parts, a power of two. */
static uint32_t useful_parts(const tamis__item *item) {
    uint32_t parts = 1;
    while (parts <= item->max_parts / 2 && parts <= item->query.count / (2 * WORTH_A_PART))
        parts *= 2;
    return parts;
}

size_t tamis__item_divide(tamis__item *item, const tamis_stream_service *service) {
    const uint32_t max = item->status == TAMIS_OK && !service->timed ? useful_parts(item) : 1;
    item->parts = 1;
    if (max == 1)
        return 1;
    const uint32_t parts = service->parts(service->context, item->query.count, max);
    if (parts < 1 || parts > max) {
        item->status = tamis__fail(&item->err, TAMIS_E_INVALID, 0,
                                   "stream: the service divides a batch into %" PRIu32
                                   " parts; have it answer 1 to %" PRIu32,
                                   parts, max);
        return 1;
    }
    item->parts = parts;
    if (parts > 1) {
        item->calls = 1;
        report_source(item, service);
    }
    return parts;
}

void tamis__item_query_part(tamis__item *item, const tamis_stream_service *service, size_t part) {
    const tamis_stream_batch batch = batch_from(item, 0);
    tamis__item_part *result = &item->part[part];
    uint64_t *querying = item->timed ? &result->querying : NULL;
    const uint64_t begun = tamis__clock_begin(querying);
    result->done = 0;
    result->err = (tamis_error)TAMIS_ERROR_INIT;
    result->status =
        service->query_part(service->context, &batch, (uint32_t)part, &result->done, &result->err);
    result->status = check_done(result->status, &result->done, batch.count, &result->err);
    tamis__clock_end(querying, begun);
}

/* Orders parts by their first unanswered key. At the same key, a failed part comes first. */
static bool stops_before(const tamis__item_part *a, const tamis__item_part *b) {
    if (a->done != b->done)
        return a->done < b->done;
    return a->status != TAMIS_OK && b->status == TAMIS_OK;
}

/* Joins the parts: the batch is answered up to the first unanswered key of any part. */
static tamis_status join_parts(tamis__item *item, const tamis_stream_service *service) {
    const tamis__item_part *first = &item->part[0];
    for (uint32_t i = 1; i < item->parts; i++)
        if (stops_before(&item->part[i], first))
            first = &item->part[i];
    item->answered = first->done;
    if (first->status != TAMIS_OK)
        item->err = first->err;
    const tamis_stream_batch batch = batch_from(item, 0);
    service->finish_parts(service->context, &batch, item->answered, first->status, &item->err);
    return first->status;
}

bool tamis__item_query(tamis__item *item, const tamis_stream_service *service) {
    uint64_t *querying = item->timed ? &item->querying : NULL;
    const uint64_t begun = tamis__clock_begin(querying);
    item->answered = 0;
    item->enough = false;
    if (item->status == TAMIS_OK) {
        item->status = item->parts > 1 ? join_parts(item, service) : query_whole(item, service);
        /* An error of the query is reported before one of the check. */
        const tamis_answer max = service->timed ? TAMIS__OUTCOME_MALFORMED : TAMIS_UNKNOWN;
        const tamis_status checked = check_answers(item->query.answers, &item->answered, max,
                                                   item->status == TAMIS_OK ? &item->err : NULL);
        item->status = item->status == TAMIS_OK ? checked : item->status;
        item->enough = service->enough && service->enough(service->context);
    }
    item->parts = 1;
    tamis__clock_end(querying, begun);
    return item->status == TAMIS_OK && item->query.end_status == TAMIS_OK && !item->enough;
}

tamis__item_times tamis__item_times_get(const tamis__item *item) {
    tamis__item_times times = {item->extracting, item->hashing, item->querying};
    for (uint32_t i = 0; item->part && i < item->max_parts; i++)
        times.querying += item->part[i].querying;
    return times;
}

size_t tamis__item_finish(tamis__item *item) {
    return tamis__keys_store_outcomes(&item->keys, &item->query, item->answered);
}

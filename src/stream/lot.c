/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/lot.h"

#include <inttypes.h>

#include "stream/clock.h"
#include "stream/find.h"

/* Smallest number of keys in a part. Each part reads all hashes of the batch, and waking a thread takes
 * longer than to query fewer keys. */
enum { WORTH_A_PART = 256 };

static tamis_status take_room(tamis__lot *lot, const tamis__lot_setup *setup, tamis_error *err) {
    const tamis_allocator *memory = &setup->keys.memory;
    const size_t room = setup->room, records = room * sizeof *lot->records;
    const size_t hashes = room * sizeof *lot->hashes, parts = lot->most_parts * sizeof *lot->part;
    lot->records = tamis__alloc(memory, records, TAMIS__LINE);
    if (!lot->records)
        return tamis__fail_nomem(err, "batch of records", records);
    if (setup->hashed)
        lot->hashes = tamis__alloc(memory, hashes, TAMIS__LINE);
    if (setup->hashed && !lot->hashes)
        return tamis__fail_nomem(err, "batch of hashes", hashes);
    if (lot->most_parts > 1)
        lot->part = tamis__alloc(memory, parts, TAMIS__LINE);
    return lot->most_parts == 1 || lot->part ? TAMIS_OK : tamis__fail_nomem(err, "parts of a batch", parts);
}

/* Sets up a zeroed item. With `copies` it gets an extractor of its own. */
static tamis_status make(tamis__lot *lot, const tamis__lot_setup *setup, bool copies, tamis_error *err) {
    lot->keys = setup->keys;
    lot->keys.room = setup->room;
    lot->why = lot->err = (tamis_error)TAMIS_ERROR_INIT;
    lot->timed = setup->timed;
    lot->most_parts = setup->most_parts;
    lot->parts = 1;
    if (copies && setup->keys.extractor) {
        lot->keys.extractor = NULL;
        tamis_status status = tamis__extractor_copy(&lot->keys.extractor, setup->keys.extractor, err);
        if (status != TAMIS_OK)
            return status;
        lot->copied = true;
    }
    tamis_status status = take_room(lot, setup, err);
    return status == TAMIS_OK ? tamis__keys_init(&lot->keys, setup->room, err) : status;
}

/* Releases and zeroes the item. May be called again, or after a failed make. */
static void release(tamis__lot *lot) {
    const tamis_allocator *memory = &lot->keys.memory;
    const size_t room = lot->keys.room;
    if (lot->copied)
        tamis_extractor_free(lot->keys.extractor);
    tamis__free(memory, lot->records, room * sizeof *lot->records);
    tamis__free(memory, lot->hashes, room * sizeof *lot->hashes);
    tamis__free(memory, lot->part, lot->most_parts * sizeof *lot->part);
    tamis__keys_release(&lot->keys);
    *lot = (tamis__lot){.records = NULL};
}

tamis_status tamis__lots_make(tamis__lot **lots, size_t count, const tamis__lot_setup *setup, size_t *made,
                              tamis_error *err) {
    tamis__lot *row = tamis__alloc(&setup->keys.memory, count * sizeof *row, TAMIS__LINE);
    if (!row)
        return tamis__fail_nomem(err, "batches", count * sizeof *row);
    *lots = row;
    tamis_status status = make(&row[0], setup, false, err);
    for (*made = 1; *made < count && status == TAMIS_OK; ++*made)
        if (make(&row[*made], setup, true, NULL) != TAMIS_OK)
            break;
    if (*made == count || status != TAMIS_OK)
        return status;
    for (size_t i = *made; i > 0; i--)
        release(&row[i]);
    *made = 1;
    return TAMIS_OK;
}

void tamis__lots_free(tamis__lot *lots, size_t count, const tamis_allocator *memory) {
    for (size_t i = 0; lots && i < count; i++)
        release(&lots[i]);
    tamis__free(memory, lots, count * sizeof *lots);
}

void tamis__lot_key(tamis__lot *lot, const tamis_stream_service *service) {
    tamis__question *question = &lot->question;
    uint64_t *extracting = lot->timed ? &lot->extracting : NULL, *hashing = lot->timed ? &lot->hashing : NULL;
    uint64_t begun = tamis__clock_begin(extracting);
    *question = (tamis__question){.keys = NULL};
    lot->status = tamis__keys_take(&lot->keys, &lot->batch, question, &lot->ends, &lot->why, &lot->err);
    tamis__clock_end(extracting, begun);
    begun = tamis__clock_begin(hashing);
    if (lot->status == TAMIS_OK && lot->hashes && question->count > 0)
        lot->status =
            tamis_hash_many(service->hasher, question->keys, question->count, lot->hashes, &lot->err);
    tamis__clock_end(hashing, begun);
}

/* Checks that the service returned only valid answers. If not, *count becomes the index of the first invalid
 * one. */
static tamis_status check_answers(const tamis_answer *answers, size_t *count, tamis_error *err) {
    tamis_answer largest = 0;
    for (size_t i = 0; i < *count; i++)
        largest = answers[i] > largest ? answers[i] : largest;
    if (largest <= TAMIS_UNKNOWN)
        return TAMIS_OK;
    size_t well = 0;
    while (answers[well] <= TAMIS_UNKNOWN)
        well++;
    *count = well;
    return tamis__fail(err, TAMIS_E_INVALID, 0,
                       "stream: the service answered %d, which is none; have it answer TAMIS_FRESH, "
                       "TAMIS_SEEN or TAMIS_UNKNOWN",
                       answers[well]);
}

/* Checks that the service answered all keys or failed. If *done is more than `count`, no key counts as
 * answered. */
static tamis_status check_done(tamis_status status, size_t *done, size_t count, tamis_error *err) {
    const size_t told = *done;
    *done = told <= count ? told : 0;
    if (status != TAMIS_OK || told == count)
        return status;
    return tamis__fail(err, TAMIS_E_INVALID, 0,
                       "stream: the service says that %zu keys of %zu are answered; have it answer all, or "
                       "fail",
                       told, count);
}

static void tell_place(const tamis__lot *lot, const tamis_stream_service *service) {
    const tamis_stream_origin origin = {sizeof origin, lot->batch.input, lot->batch.first, lot->batch.keys,
                                        lot->question.of};
    if (service->place)
        service->place(service->context, &origin);
}

static tamis_status ask(tamis__lot *lot, const tamis_stream_service *service) {
    const tamis__question *q = &lot->question;
    tell_place(lot, service);
    if (q->count == 0)
        return TAMIS_OK;
    tamis_status status;
    if (lot->hashes)
        status = service->ask_hashes(service->context, q->keys, lot->hashes, q->count, q->answers,
                                     &lot->answered, &lot->err);
    else
        status = service->ask(service->context, q->keys, q->count, q->answers, &lot->answered, &lot->err);
    return check_done(status, &lot->answered, q->count, &lot->err);
}

/* Returns the largest useful number of parts, a power of two. */
static uint32_t parts_worth(const tamis__lot *lot) {
    uint32_t parts = 1;
    while (parts <= lot->most_parts / 2 && parts <= lot->question.count / (2 * WORTH_A_PART))
        parts *= 2;
    return parts;
}

size_t tamis__lot_divide(tamis__lot *lot, const tamis_stream_service *service) {
    const uint32_t most = lot->status == TAMIS_OK ? parts_worth(lot) : 1;
    lot->parts = 1;
    if (most == 1)
        return 1;
    const uint32_t parts = service->parts(service->context, lot->question.count, most);
    if (parts < 1 || parts > most) {
        lot->status = tamis__fail(&lot->err, TAMIS_E_INVALID, 0,
                                  "stream: the service divides a batch into %" PRIu32
                                  " parts; have it answer 1 to %" PRIu32,
                                  parts, most);
        return 1;
    }
    lot->parts = parts;
    if (parts > 1)
        tell_place(lot, service);
    return parts;
}

void tamis__lot_ask_part(tamis__lot *lot, const tamis_stream_service *service, size_t part) {
    const tamis__question *q = &lot->question;
    tamis__lot_part *of = &lot->part[part];
    uint64_t *asking = lot->timed ? &of->asking : NULL;
    const uint64_t begun = tamis__clock_begin(asking);
    of->done = 0;
    of->err = (tamis_error)TAMIS_ERROR_INIT;
    of->status = service->ask_part(service->context, lot->hashes, q->count, (uint32_t)part, lot->parts,
                                   q->answers, &of->done, &of->err);
    of->status = check_done(of->status, &of->done, q->count, &of->err);
    tamis__clock_end(asking, begun);
}

/* Orders parts by their first unanswered key. At the same key, a failed part comes first. */
static bool ends_before(const tamis__lot_part *one, const tamis__lot_part *other) {
    if (one->done != other->done)
        return one->done < other->done;
    return one->status != TAMIS_OK && other->status == TAMIS_OK;
}

/* Joins the parts: the batch is answered up to the first unanswered key of any part. */
static tamis_status join_parts(tamis__lot *lot, const tamis_stream_service *service) {
    const tamis__lot_part *first = &lot->part[0];
    for (uint32_t i = 1; i < lot->parts; i++)
        if (ends_before(&lot->part[i], first))
            first = &lot->part[i];
    lot->answered = first->done;
    if (first->status != TAMIS_OK)
        lot->err = first->err;
    service->settle(service->context, lot->question.answers, lot->answered, first->status, &lot->err);
    return first->status;
}

bool tamis__lot_ask(tamis__lot *lot, const tamis_stream_service *service) {
    uint64_t *asking = lot->timed ? &lot->asking : NULL;
    const uint64_t begun = tamis__clock_begin(asking);
    lot->answered = 0;
    lot->enough = false;
    if (lot->status == TAMIS_OK) {
        lot->status = lot->parts > 1 ? join_parts(lot, service) : ask(lot, service);
        /* An error of the query is reported before one of the check. */
        tamis_status checked =
            check_answers(lot->question.answers, &lot->answered, lot->status == TAMIS_OK ? &lot->err : NULL);
        lot->status = lot->status == TAMIS_OK ? checked : lot->status;
        lot->enough = service->enough && service->enough(service->context);
    }
    lot->parts = 1;
    tamis__clock_end(asking, begun);
    return lot->status == TAMIS_OK && lot->ends == TAMIS_OK && !lot->enough;
}

tamis__lot_times tamis__lot_times_of(const tamis__lot *lot) {
    tamis__lot_times times = {lot->extracting, lot->hashing, lot->asking};
    for (uint32_t i = 0; lot->part && i < lot->most_parts; i++)
        times.asking += lot->part[i].asking;
    return times;
}

size_t tamis__lot_settle(tamis__lot *lot) {
    return tamis__keys_settle(&lot->keys, &lot->batch, &lot->question, lot->answered);
}

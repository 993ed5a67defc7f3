/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/lot.h"

#include "stream/clock.h"
#include "stream/find.h"

tamis_status tamis__lot_init(tamis__lot *lot, const tamis__keys *keys, bool hashed, bool copies, size_t room,
                             tamis_error *err) {
    const tamis_allocator *memory = &keys->memory;
    lot->keys = *keys;
    lot->keys.room = room;
    lot->why = lot->err = (tamis_error)TAMIS_ERROR_INIT;
    if (copies && keys->extractor) {
        lot->keys.extractor = NULL;
        tamis_status status = tamis__extractor_copy(&lot->keys.extractor, keys->extractor, err);
        if (status != TAMIS_OK)
            return status;
        lot->copied = true;
    }
    lot->records = tamis__alloc(memory, room * sizeof *lot->records, TAMIS__LINE);
    if (!lot->records)
        return tamis__fail_nomem(err, "batch of records", room * sizeof *lot->records);
    if (hashed)
        lot->hashes = tamis__alloc(memory, room * sizeof *lot->hashes, TAMIS__LINE);
    if (hashed && !lot->hashes)
        return tamis__fail_nomem(err, "batch of hashes", room * sizeof *lot->hashes);
    return tamis__keys_init(&lot->keys, room, err);
}

void tamis__lot_release(tamis__lot *lot) {
    const tamis_allocator *memory = &lot->keys.memory;
    const size_t room = lot->keys.room;
    if (lot->copied)
        tamis_extractor_free(lot->keys.extractor);
    tamis__free(memory, lot->records, room * sizeof *lot->records);
    tamis__free(memory, lot->hashes, room * sizeof *lot->hashes);
    tamis__keys_release(&lot->keys);
    *lot = (tamis__lot){.records = NULL};
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

/* Nothing else may get among the fates: *count goes to the first answer that is none. */
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

static tamis_status ask(tamis__lot *lot, const tamis_stream_service *service) {
    const tamis__question *q = &lot->question;
    if (service->place) {
        const tamis_stream_origin origin = {sizeof origin, lot->batch.input, lot->batch.first,
                                            lot->batch.keys, q->of};
        service->place(service->context, &origin);
    }
    if (q->count == 0)
        return TAMIS_OK;
    if (lot->hashes)
        return service->ask_hashes(service->context, q->keys, lot->hashes, q->count, q->answers,
                                   &lot->answered, &lot->err);
    return service->ask(service->context, q->keys, q->count, q->answers, &lot->answered, &lot->err);
}

bool tamis__lot_ask(tamis__lot *lot, const tamis_stream_service *service) {
    uint64_t *asking = lot->timed ? &lot->asking : NULL;
    const uint64_t begun = tamis__clock_begin(asking);
    lot->answered = 0;
    lot->enough = false;
    if (lot->status == TAMIS_OK) {
        lot->status = ask(lot, service);
        /* Where asking failed that is the error to tell. */
        tamis_status checked =
            check_answers(lot->question.answers, &lot->answered, lot->status == TAMIS_OK ? &lot->err : NULL);
        lot->status = lot->status == TAMIS_OK ? checked : lot->status;
        lot->enough = service->enough && service->enough(service->context);
    }
    tamis__clock_end(asking, begun);
    return lot->status == TAMIS_OK && lot->ends == TAMIS_OK && !lot->enough;
}

size_t tamis__lot_settle(tamis__lot *lot) {
    return tamis__keys_settle(&lot->keys, &lot->batch, &lot->question, lot->answered);
}

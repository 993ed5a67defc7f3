/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * From records to keys and back. A service is asked for keys alone, densely packed. The outputs need an
 * outcome for each record, also for one without a key:
 *
 *     records        r0      r1        r2       r3         r4            all records of the batch
 *     found          key     no key    key      malformed  key           tamis_extractor_extract
 *     keys           k0      k1        k2                                the keys found, without gaps
 *     record_index   0       2         4                                 record of each key
 *     answers        a0      a1        a2                                the service's answers
 *     outcomes       ABSENT  MISSING   PRESENT  MALFORMED  ABSENT        outcome of each record
 *
 * Without an extractor every record is its own key. Then only `outcomes` exists, and the service writes its
 * answers there: nothing is copied.
 *
 * A record ends the run if a policy fails for its malformed or missing key. It cuts the query to the records
 * before it. Its error is kept in `end_error` until they are answered and written. A user who repairs the
 * input finds all records before the bad one in the outputs.
 *
 * With positions, records that were delivered before are taken out of the query in place, after keys and
 * hashes are made. Extraction may run ahead in any order, but whether a record came before is known only in
 * the order of the batches. `kept` is the number of keys that stay; they move to the front of their arrays:
 *
 *     keys           k0   k1   k2   k3            k1 was delivered before
 *     after          k0   k2   k3                 found[] of its record: REDELIVERED
 *
 * Invariants:
 * 1. keys, record_index, times, hashes and answers have the same index, and the order of the records.
 * 2. A record has its outcome only once all keys before it are answered. So a failed query leaves a prefix of
 *    the batch with outcomes, and the rest is as if it had not been read.
 */
#include "stream/run/keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "hash/fnv.h"
#include "store/file/file_error.h"
#include "stream/extract/find.h"
#include "stream/split/split.h"

enum { OPEN_NOTE_SIZE = 80 };

tamis_status tamis__keys_init(tamis__keys *keys, size_t capacity, tamis_error *err) {
    const tamis_allocator *memory = &keys->memory;
    keys->capacity = capacity;
    keys->outcomes = tamis__alloc(memory, capacity, TAMIS__LINE);
    if (keys->extractor) {
        keys->found = tamis__alloc(memory, capacity * sizeof *keys->found, TAMIS__LINE);
        keys->keys = tamis__alloc(memory, capacity * sizeof *keys->keys, TAMIS__LINE);
        keys->record_index = tamis__alloc(memory, capacity * sizeof *keys->record_index, TAMIS__LINE);
        keys->answers = tamis__alloc(memory, capacity, TAMIS__LINE);
    }
    if (keys->timed)
        keys->times = tamis__alloc(memory, capacity * sizeof *keys->times, TAMIS__LINE);
    if (keys->positioned)
        keys->spans = tamis__alloc(memory, capacity * sizeof *keys->spans, TAMIS__LINE);
    const bool extracts = keys->found && keys->keys && keys->record_index && keys->answers;
    if (keys->outcomes && (extracts || !keys->extractor) && (keys->times || !keys->timed) &&
        (keys->spans || !keys->positioned))
        return TAMIS_OK;
    return tamis__fail_nomem(err, "batch of keys",
                             capacity *
                                 (sizeof *keys->found + sizeof *keys->keys + sizeof *keys->record_index + 2));
}

void tamis__keys_release(tamis__keys *keys) {
    const tamis_allocator *memory = &keys->memory;
    tamis__free(memory, keys->outcomes, keys->capacity);
    tamis__free(memory, keys->found, keys->capacity * sizeof *keys->found);
    tamis__free(memory, keys->keys, keys->capacity * sizeof *keys->keys);
    tamis__free(memory, keys->record_index, keys->capacity * sizeof *keys->record_index);
    tamis__free(memory, keys->answers, keys->capacity);
    tamis__free(memory, keys->times, keys->capacity * sizeof *keys->times);
    tamis__free(memory, keys->spans, keys->capacity * sizeof *keys->spans);
}

/* Returns a phrase with the number of lines that an open quote swallowed, or "". Users would not think of
 * that. */
static const char *describe_open_quote(const tamis__keys *keys, tamis_key record, const char *why,
                                       char text[OPEN_NOTE_SIZE]) {
    const unsigned char *bytes = record.data, *end = bytes + record.size;
    if (why != tamis__csv_open || keys->terminator != '\n')
        return "";
    const uint64_t lines = tamis__count_byte(bytes, end, '\n') + (end[-1] != '\n');
    if (lines == 1)
        return "";
    snprintf(text, OPEN_NOTE_SIZE, ", and the record extends to the end of the file, %" PRIu64 " lines",
             lines);
    return text;
}

/* Reports a fault of record i with its position: the line number for lines, which in CSV differs from the
 * record number. */
static tamis_status fail_record(const tamis__keys *keys, size_t i, tamis_status status, tamis__fault fault,
                                tamis_error *err) {
    const tamis__record_batch *batch = keys->batch;
    const unsigned char *record = batch->records[i].data;
    const uint64_t byte = batch->offset + (uint64_t)(record - batch->begin) + fault.pos;
    const bool lines = keys->terminator == '\n';
    const uint64_t number =
        lines ? batch->line + tamis__count_byte(batch->begin, record + fault.pos, '\n') : batch->first + i;
    char open[OPEN_NOTE_SIZE];
    return tamis__fail(err, status, 0, "%s: %s %" PRIu64 ", at byte %" PRIu64 ": %s%s",
                       tamis__show(batch->input).text, lines ? "line" : "record", number, byte, fault.why,
                       describe_open_quote(keys, batch->records[i], fault.why, open));
}

/* Returns an error if record i, which has no key, ends the run; else TAMIS_OK. */
static tamis_status check_outcome(const tamis__keys *keys, size_t i, tamis_error *why) {
    const tamis_extraction *found = &keys->found[i];
    if (found->outcome == TAMIS_KEY_MALFORMED && keys->malformed == TAMIS_STREAM_FAIL)
        return fail_record(keys, i, TAMIS_E_RECORD, (tamis__fault){found->why, found->pos}, why);
    if (found->outcome == TAMIS_KEY_MISSING && keys->missing == TAMIS_STREAM_FAIL)
        return fail_record(keys, i, TAMIS_E_NO_KEY, (tamis__fault){"the record has no key", 0}, why);
    return TAMIS_OK;
}

static bool is_object(tamis_key record) {
    const unsigned char *bytes = record.data;
    size_t pos = 0;
    while (pos < record.size && tamis__json_is_blank(bytes[pos]))
        pos++;
    return pos < record.size && bytes[pos] == '{';
}

/* Marks records as malformed that are not objects: a member with the answer cannot be added to them. */
static void refuse_non_objects(tamis__keys *keys) {
    for (size_t i = 0; i < keys->batch->count; i++)
        if (keys->found[i].outcome == TAMIS_KEY_FOUND && !is_object(keys->batch->records[i]))
            keys->found[i] = (tamis_extraction){.outcome = TAMIS_KEY_MALFORMED,
                                                .why = "it is not an object, and cannot have a mark"};
}

tamis_status tamis__keys_extract(tamis__keys *keys, const tamis__record_batch *batch, tamis__query *query,
                                 tamis_error *err) {
    keys->batch = batch;
    *query = (tamis__query){.keys = batch->records,
                            .count = batch->count,
                            .records = batch->count,
                            .answers = keys->outcomes,
                            .times = keys->times,
                            .end_error = TAMIS_ERROR_INIT};
    if (!keys->extractor)
        return TAMIS_OK;
    tamis_status status =
        tamis_extractor_extract(keys->extractor, batch->records, batch->count, keys->found, err);
    if (status != TAMIS_OK)
        return status;
    if (keys->objects)
        refuse_non_objects(keys);
    size_t count = 0, i = 0;
    for (; i < batch->count; i++) {
        if (keys->found[i].outcome == TAMIS_KEY_FOUND) {
            keys->keys[count] = keys->found[i].key;
            if (keys->times)
                keys->times[count] = keys->found[i].time;
            keys->record_index[count++] = (uint32_t)i;
        } else if ((query->end_status = check_outcome(keys, i, &query->end_error)) != TAMIS_OK) {
            break;
        }
    }
    query->keys = keys->keys;
    query->record_index = count < batch->count ? keys->record_index : NULL;
    query->count = count;
    query->records = i;
    query->answers = keys->answers;
    return TAMIS_OK;
}

/* ---- positions ---- */

/* Takes the place of TAMIS_KEY_FOUND or TAMIS_KEY_MISSING in `found`. */
enum { REDELIVERED = TAMIS_KEY_MALFORMED + 1 };

/* Tells a record from others at the same position: the hash of its key, if the query has one. */
static uint64_t hash_for_position(tamis_key text, const tamis_hash *hash) {
    return hash ? hash->word[0] : tamis__fnv1_64(text.data, text.size);
}

/* Moves key `from` of the query to index `to`. */
static void move_key(tamis__keys *keys, tamis_hash *hashes, size_t from, size_t to) {
    if (from == to)
        return;
    keys->keys[to] = keys->keys[from];
    keys->record_index[to] = keys->record_index[from];
    if (keys->times)
        keys->times[to] = keys->times[from];
    if (hashes)
        hashes[to] = hashes[from];
}

/* Stores a new record in the spans. */
static void note_new(tamis__keys *keys, uint32_t source, const tamis__known_position *record) {
    if (keys->span_count == 0 || keys->spans[keys->span_count - 1].source != source)
        keys->spans[keys->span_count++].source = source;
    keys->spans[keys->span_count - 1].last = *record;
}

tamis_status tamis__keys_leave_out_redelivered(tamis__keys *keys, tamis__query *query,
                                               tamis__source_positions *positions, tamis_hash *hashes,
                                               tamis_error *err) {
    tamis_error refused = TAMIS_ERROR_INIT; /* out here: it is large, and each record would clear it */
    size_t next = 0, kept = 0;
    keys->span_count = 0;
    for (size_t i = 0; i < query->records; i++) {
        tamis_extraction *found = &keys->found[i];
        if (found->outcome == TAMIS_KEY_MALFORMED)
            continue;
        const bool has_key = found->outcome == TAMIS_KEY_FOUND;
        const size_t key = next;
        next += has_key;
        const tamis__known_position record = {
            found->position, hash_for_position(has_key ? found->key : keys->batch->records[i],
                                               has_key && hashes ? &hashes[key] : NULL)};
        uint32_t source;
        bool redelivered;
        tamis_status status = tamis__source_positions_find(positions, found->source, &source, &refused);
        if (status == TAMIS_OK)
            status = tamis__source_positions_query(positions, source, &record, &redelivered, &refused);
        if (status == TAMIS_E_NOMEM)
            return tamis__fail(err, status, 0, "%s", refused.text);
        if (status != TAMIS_OK) {
            query->end_status =
                fail_record(keys, i, status, (tamis__fault){refused.text, 0}, &query->end_error);
            query->records = i;
            break;
        }
        if (redelivered) {
            found->outcome = REDELIVERED;
            continue;
        }
        note_new(keys, source, &record);
        if (has_key)
            move_key(keys, hashes, key, kept++);
    }
    query->count = kept;
    query->record_index = keys->record_index;
    return TAMIS_OK;
}

void tamis__keys_note_written(const tamis__keys *keys, tamis__source_positions *positions) {
    for (size_t i = 0; i < keys->span_count; i++)
        tamis__source_positions_written(positions, keys->spans[i].source, &keys->spans[i].last);
}

tamis_status tamis__keys_refuse(tamis__keys *keys, const tamis__query *query, size_t i, const char *refused,
                                tamis_error *why) {
    const size_t record = query->record_index ? query->record_index[i] : i;
    if (keys->malformed == TAMIS_STREAM_FAIL)
        return fail_record(keys, record, TAMIS_E_RANGE, (tamis__fault){refused, 0}, why);
    query->answers[i] = TAMIS__OUTCOME_MALFORMED;
    if (keys->found)
        keys->found[record].why = "its time is too far after the newest one before it";
    return TAMIS_OK;
}

/* Stores the message about record i, after which the run continues. */
static void note_malformed(tamis__keys *keys, size_t i) {
    const tamis_extraction *found = &keys->found[i];
    tamis__first_malformed *first = keys->first;
    const bool open = found->why == tamis__csv_open;
    if (first->error && (!first->filled || open))
        fail_record(keys, i, TAMIS_E_RECORD, (tamis__fault){found->why, found->pos}, first->error);
    first->filled = true;
    if (open)
        first->error = NULL;
}

size_t tamis__keys_store_outcomes(tamis__keys *keys, const tamis__query *query, size_t done) {
    if (!keys->extractor)
        return done;
    const size_t records = done < query->count ? keys->record_index[done] : query->records;
    size_t next = 0;
    keys->has_found = false;
    for (size_t i = 0; i < records; i++) {
        switch (keys->found[i].outcome) {
        case TAMIS_KEY_FOUND:
            keys->has_found = true;
            keys->outcomes[i] = keys->answers[next++];
            if (keys->outcomes[i] == TAMIS__OUTCOME_MALFORMED)
                note_malformed(keys, i);
            break;
        case TAMIS_KEY_MISSING:
            keys->outcomes[i] = TAMIS__OUTCOME_MISSING;
            break;
        case REDELIVERED:
            keys->outcomes[i] = TAMIS_REDELIVERED;
            break;
        default:
            note_malformed(keys, i);
            keys->outcomes[i] = TAMIS__OUTCOME_MALFORMED;
            break;
        }
    }
    return records;
}

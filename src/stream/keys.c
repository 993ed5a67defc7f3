/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/trouble.h"
#include "stream/find.h"
#include "stream/split.h"

enum { OPEN_TOLD = 80 };

tamis_status tamis__keys_init(tamis__keys *keys, size_t room, tamis_error *err) {
    const tamis_allocator *memory = &keys->memory;
    keys->room = room;
    keys->fates = tamis__alloc(memory, room, TAMIS__LINE);
    if (keys->extractor) {
        keys->found = tamis__alloc(memory, room * sizeof *keys->found, TAMIS__LINE);
        keys->keys = tamis__alloc(memory, room * sizeof *keys->keys, TAMIS__LINE);
        keys->of = tamis__alloc(memory, room * sizeof *keys->of, TAMIS__LINE);
        keys->answers = tamis__alloc(memory, room, TAMIS__LINE);
    }
    const bool extracts = keys->found && keys->keys && keys->of && keys->answers;
    if (keys->fates && (extracts || !keys->extractor))
        return TAMIS_OK;
    return tamis__fail_nomem(err, "batch of keys",
                             room * (sizeof *keys->found + sizeof *keys->keys + sizeof *keys->of + 2));
}

void tamis__keys_release(tamis__keys *keys) {
    const tamis_allocator *memory = &keys->memory;
    tamis__free(memory, keys->fates, keys->room);
    tamis__free(memory, keys->found, keys->room * sizeof *keys->found);
    tamis__free(memory, keys->keys, keys->room * sizeof *keys->keys);
    tamis__free(memory, keys->of, keys->room * sizeof *keys->of);
    tamis__free(memory, keys->answers, keys->room);
}

/* Returns a phrase with the number of lines that an open quote swallowed, or "". Users would not think of
 * that. */
static const char *tell_open(const tamis__keys *keys, tamis_key record, const char *why,
                             char text[OPEN_TOLD]) {
    const unsigned char *bytes = record.data, *end = bytes + record.size;
    if (why != tamis__csv_open || keys->terminator != '\n')
        return "";
    const uint64_t lines = tamis__count_byte(bytes, end, '\n') + (end[-1] != '\n');
    if (lines == 1)
        return "";
    snprintf(text, OPEN_TOLD, ", and the record goes on to the end of the file, %" PRIu64 " lines", lines);
    return text;
}

/* Reports record i with its position: the line number for lines, which in CSV differs from the record
 * number. */
static tamis_status fail_record(const tamis__keys *keys, const tamis__batch *batch, size_t i,
                                tamis_status status, size_t at, const char *why, tamis_error *err) {
    const unsigned char *record = batch->keys[i].data;
    const uint64_t byte = batch->offset + (uint64_t)(record - batch->begin) + at;
    const bool lines = keys->terminator == '\n';
    const uint64_t number =
        lines ? batch->line + tamis__count_byte(batch->begin, record + at, '\n') : batch->first + i;
    char open[OPEN_TOLD];
    return tamis__fail(err, status, 0, "%s: %s %" PRIu64 ", at byte %" PRIu64 ": %s%s",
                       tamis__show(batch->input).text, lines ? "line" : "record", number, byte, why,
                       tell_open(keys, batch->keys[i], why, open));
}

/* Returns an error if record i, which has no key, ends the run; else TAMIS_OK. */
static tamis_status end_at(const tamis__keys *keys, const tamis__batch *batch, size_t i, tamis_error *why) {
    const tamis_extraction *found = &keys->found[i];
    if (found->outcome == TAMIS_KEY_MALFORMED && keys->malformed == TAMIS_STREAM_FAIL)
        return fail_record(keys, batch, i, TAMIS_E_RECORD, found->at, found->why, why);
    if (found->outcome == TAMIS_KEY_MISSING && keys->missing == TAMIS_STREAM_FAIL)
        return fail_record(keys, batch, i, TAMIS_E_KEYLESS, 0, "the record has no key", why);
    return TAMIS_OK;
}

static bool is_object(tamis_key record) {
    const unsigned char *bytes = record.data;
    size_t at = 0;
    while (at < record.size && tamis__json_is_blank(bytes[at]))
        at++;
    return at < record.size && bytes[at] == '{';
}

/* Marks records as malformed that are no objects: a member with the answer cannot be added to them. */
static void refuse_others(tamis__keys *keys, const tamis__batch *batch) {
    for (size_t i = 0; i < batch->count; i++)
        if (keys->found[i].outcome == TAMIS_KEY_FOUND && !is_object(batch->keys[i]))
            keys->found[i] = (tamis_extraction){.outcome = TAMIS_KEY_MALFORMED,
                                                .why = "it is no object, and has no place for a mark"};
}

tamis_status tamis__keys_take(tamis__keys *keys, const tamis__batch *batch, tamis__question *question,
                              tamis_status *ends, tamis_error *why, tamis_error *err) {
    *ends = TAMIS_OK;
    *question = (tamis__question){batch->keys, NULL, batch->count, batch->count, keys->fates};
    if (!keys->extractor)
        return TAMIS_OK;
    tamis_status status = tamis_extractor_take(keys->extractor, batch->keys, batch->count, keys->found, err);
    if (status != TAMIS_OK)
        return status;
    if (keys->objects)
        refuse_others(keys, batch);
    size_t count = 0, i = 0;
    for (; i < batch->count; i++) {
        if (keys->found[i].outcome == TAMIS_KEY_FOUND) {
            keys->keys[count] = keys->found[i].key;
            keys->of[count++] = (uint32_t)i;
        } else if ((*ends = end_at(keys, batch, i, why)) != TAMIS_OK) {
            break;
        }
    }
    *question =
        (tamis__question){keys->keys, count < batch->count ? keys->of : NULL, count, i, keys->answers};
    return TAMIS_OK;
}

/* Stores the message about record i, after which the run continues. */
static void note_malformed(tamis__keys *keys, const tamis__batch *batch, size_t i) {
    const tamis_extraction *found = &keys->found[i];
    tamis__first_malformed *first = keys->first;
    const bool open = found->why == tamis__csv_open;
    if (first->told && (!first->filled || open))
        fail_record(keys, batch, i, TAMIS_E_RECORD, found->at, found->why, first->told);
    first->filled = true;
    if (open)
        first->told = NULL;
}

size_t tamis__keys_settle(tamis__keys *keys, const tamis__batch *batch, const tamis__question *question,
                          size_t done) {
    if (!keys->extractor)
        return done;
    const size_t records = done < question->count ? keys->of[done] : question->records;
    size_t next = 0;
    for (size_t i = 0; i < records; i++) {
        switch (keys->found[i].outcome) {
        case TAMIS_KEY_FOUND:
            keys->fates[i] = keys->answers[next++];
            break;
        case TAMIS_KEY_MISSING:
            keys->fates[i] = TAMIS__FATE_MISSING;
            break;
        default:
            note_malformed(keys, batch, i);
            keys->fates[i] = TAMIS__FATE_MALFORMED;
            break;
        }
    }
    return records;
}

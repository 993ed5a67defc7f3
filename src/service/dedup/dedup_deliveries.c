/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Records with positions: redelivered ones are left out, and the keys of the others are added
 * to the filter.
 *
 *     deliveries   0 1 2 3 4 5        chunk
 *     new          0   2 3   5        their keys are added; the filter stops at 3
 *     answered     0 1 2              *done is 3; the positions of 3 and 5 are taken back
 *
 * Invariant: after each call, `queried` of a source is the position of an answered record. If it were beyond,
 * a repeated call would take an unanswered record for one that was delivered before, and lose it.
 */
#include "service/dedup/dedup_int.h"

#include <string.h>

#include "base/bytes.h"

static const unsigned char MAGIC[8] = {'T', 'P', 'O', 'S', 1};

enum {
    HEAD = sizeof MAGIC + 8, /* bytes in front of the caller's checkpoint */
    CHUNK = 256              /* records answered at once; each keeps a copy of its source's entry */
};

static bool has_magic(const void *bytes, size_t size) {
    return size >= HEAD && memcmp(bytes, MAGIC, sizeof MAGIC) == 0;
}

const void *tamis__dedup_deliveries_split(const void *committed, size_t *size, tamis_key *encoded) {
    const unsigned char *bytes = committed;
    const size_t whole = *size;
    tamis_key none, *behind = encoded ? encoded : &none;
    *behind = (tamis_key){NULL, 0};
    if (!has_magic(bytes, whole) || tamis__load64le(bytes + sizeof MAGIC) > whole - HEAD)
        return committed;
    *size = (size_t)tamis__load64le(bytes + sizeof MAGIC);
    *behind = (tamis_key){bytes + HEAD + *size, whole - HEAD - *size};
    return bytes + HEAD;
}

tamis_status tamis__dedup_deliveries_load(tamis__source_positions *positions, const void *committed,
                                          size_t size, tamis_error *err) {
    tamis_key encoded;
    tamis__source_positions_release(positions);
    tamis__dedup_deliveries_split(committed, &size, &encoded);
    const tamis_status status =
        encoded.data ? tamis__source_positions_decode(positions, encoded.data, encoded.size, err) : TAMIS_OK;
    if (status != TAMIS_OK)
        tamis__source_positions_release(positions);
    return status;
}

tamis_status tamis__dedup_deliveries_join(const tamis__source_positions *positions, const void *checkpoint,
                                          size_t size, tamis__joined_checkpoint *joined, tamis_error *err) {
    *joined = (tamis__joined_checkpoint){.bytes = NULL};
    if (positions->count == 0 && !has_magic(checkpoint, size))
        return TAMIS_OK;
    const size_t joined_size = HEAD + size + tamis__source_positions_size(positions, true);
    unsigned char *bytes = tamis__alloc(&positions->memory, joined_size, 1);
    if (!bytes)
        return tamis__fail_nomem(err, "checkpoint of a session", joined_size);
    memcpy(bytes, MAGIC, sizeof MAGIC);
    tamis__store64le(bytes + sizeof MAGIC, size);
    if (size > 0)
        memcpy(bytes + HEAD, checkpoint, size);
    tamis__source_positions_encode(positions, true, bytes + HEAD + size);
    *joined = (tamis__joined_checkpoint){bytes, joined_size};
    return TAMIS_OK;
}

void tamis__dedup_deliveries_committed(tamis__source_positions *positions) {
    for (uint32_t i = 0; i < positions->count; i++)
        if (positions->sources[i].is_queried)
            tamis__source_positions_written(positions, i, &positions->sources[i].queried);
}

/* The records of a chunk that are new. */
typedef struct new_records {
    size_t count;
    size_t index[CHUNK]; /* in the chunk */
    tamis_hash hashes[CHUNK];
    int64_t times[CHUNK];
    tamis_answer answers[CHUNK];
    uint32_t sources[CHUNK];
    tamis__source_entry before[CHUNK]; /* their sources before they were queried, but for `first` */
} new_records;

static tamis_status check_name(tamis_key source, tamis_error *err) {
    if (source.size > TAMIS_SOURCE_MAX)
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "its source has %zu bytes, and %d are allowed; give a shorter name", source.size,
                           TAMIS_SOURCE_MAX);
    if (source.size > 0 && memchr(source.data, '\0', source.size))
        return tamis__fail(err, TAMIS_E_INVALID, 0, "its source has a zero byte; give a text");
    return TAMIS_OK;
}

/* Looks up the position of record i of the chunk. */
static tamis_status find_new(tamis__source_positions *positions, const tamis_delivery *delivery, size_t i,
                             new_records *chunk, tamis_error *err) {
    uint32_t source;
    bool redelivered;
    const tamis_key name = delivery->source.size > 0 ? delivery->source : (tamis_key){"", 0};
    tamis_status status = check_name(name, err);
    if (status == TAMIS_OK)
        status = tamis__source_positions_find(positions, name, &source, err);
    if (status != TAMIS_OK)
        return status;
    tamis__source_entry before = positions->sources[source];
    const tamis__known_position record = {delivery->position, delivery->hash.word[0]};
    status = tamis__source_positions_query(positions, source, &record, &redelivered, err);
    if (status != TAMIS_OK || redelivered)
        return status;
    chunk->index[chunk->count] = i;
    chunk->hashes[chunk->count] = delivery->hash;
    chunk->sources[chunk->count] = source;
    /* The entry as it was before the query, except for `first`. The caller may leave a refused record out,
     * and when it is delivered again it must not be in front of the first position. */
    before.first = positions->sources[source].first;
    before.has_first = true;
    chunk->before[chunk->count++] = before;
    return TAMIS_OK;
}

/* Adds the keys of the new records. `times` are those of all records of the chunk. */
static tamis_status add_new(tamis_dedup *session, new_records *chunk, const int64_t *times, size_t *done,
                            tamis_error *err) {
    *done = 0;
    if (tamis_filter_plan(session->filter)->kind != TAMIS_KIND_WINDOW)
        return tamis_dedup_add_hashes(session, chunk->hashes, chunk->count, chunk->answers, done, err);
    for (size_t i = 0; times && i < chunk->count; i++)
        chunk->times[i] = times[chunk->index[i]];
    const tamis_timed_hashes batch = {chunk->hashes, times ? chunk->times : NULL, chunk->count};
    return tamis_dedup_add_timed(session, &batch, chunk->answers, done, err);
}

/* Answers at most CHUNK records. */
static tamis_status add_chunk(tamis_dedup *session, const tamis_deliveries *batch, tamis_answer *answers,
                              size_t *done, tamis_error *err) {
    new_records chunk;
    tamis_status status = TAMIS_OK;
    size_t added;
    chunk.count = 0;
    for (*done = 0; *done < batch->count; ++*done) {
        status = find_new(&session->positions, &batch->records[*done], *done, &chunk, err);
        if (status != TAMIS_OK)
            break;
    }
    tamis_error refused = TAMIS_ERROR_INIT;
    const tamis_status add_status = add_new(session, &chunk, batch->times, &added, &refused);
    if (add_status != TAMIS_OK) {
        status = tamis__fail(err, add_status, refused.sys_errno, "%s", refused.text);
        *done = added < chunk.count ? chunk.index[added] : *done;
    }
    for (size_t i = chunk.count; i-- > added;)
        session->positions.sources[chunk.sources[i]] = chunk.before[i];
    for (size_t i = 0; i < *done; i++)
        answers[i] = TAMIS_REDELIVERED;
    for (size_t i = 0; i < added; i++)
        answers[chunk.index[i]] = chunk.answers[i];
    return status;
}

tamis_status tamis_dedup_add_delivered(tamis_dedup *session, const tamis_deliveries *batch,
                                       tamis_answer *answers, size_t *done, tamis_error *err) {
    TAMIS__NEED(session, err);
    TAMIS__NEED(batch, err);
    TAMIS__NEED_IF(batch->count, batch->records, err);
    TAMIS__NEED_IF(batch->count, answers, err);
    const size_t count = batch->count;
    size_t answered = 0;
    if (done)
        *done = 0;
    tamis_status status = tamis__dedup_check_state(session, err);
    if (status == TAMIS_OK && session->is_concurrent)
        status = tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                             "dedup session: its filter is concurrent, and positions have an order; open the "
                             "state without that option");
    while (answered < count && status == TAMIS_OK) {
        const tamis_deliveries chunk = {.records = batch->records + answered,
                                        .times = batch->times ? batch->times + answered : NULL,
                                        .count = count - answered < CHUNK ? count - answered : CHUNK};
        size_t in_chunk;
        status = add_chunk(session, &chunk, answers + answered, &in_chunk, err);
        answered += in_chunk;
    }
    if (done)
        *done = answered;
    return status;
}

tamis_key tamis_dedup_source_at(const tamis_dedup *session, size_t i, uint64_t *position) {
    const tamis__source_positions *positions = &session->positions;
    for (size_t source = 0; source < positions->written_count; source++) {
        if (!positions->sources[source].is_written || i-- > 0)
            continue;
        if (position)
            *position = positions->sources[source].written.position;
        return (tamis_key){positions->sources[source].name, positions->sources[source].size};
    }
    return (tamis_key){NULL, 0};
}

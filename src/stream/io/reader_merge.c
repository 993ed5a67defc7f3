/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Readers of followed inputs, merged by the times of their records (setup.time_of).
 *
 * Turns would read the whole backlog of one file first. A window filter moves on with the newest time, and
 * the records of the other files would be late. So each reader keeps a batch that waits (`next`), and the
 * reader with the earliest next record hands out records:
 *
 *     a.log   waiting:  10:00  10:01  10:07       the earliest is 10:00, so a.log hands out records
 *     b.log   waiting:  10:02  10:05              limit: 10:02 + merge_within (1 minute) = 10:03
 *                                                 a.log hands out 10:00 and 10:01; b.log is next
 *
 * A larger merge_within makes larger batches, and records later by that time at most. A record without a time
 * has that of the record before it. A reader without a record does not hold up the others for ever: readers
 * are tried again in rounds of 10 ms.
 *
 * Invariant: the buffer of a batch that is handed out in pieces has a reference for each piece, and one for
 * what still waits.
 */
#include <string.h>

#include "base/system.h"
#include "stream/io/reader_set.h"
#include "stream/split/split.h"

/* Reads the next records of a reader, unless some wait, or it had none in this round. */
static tamis_status fill_next(tamis__set_reader *r, tamis_error *err) {
    if (r->is_alias || r->next.count > 0 || r->is_drained)
        return TAMIS_OK;
    r->next.records = r->next_records;
    const tamis_status status = tamis__reader_next(&r->reader, &r->next, &r->event, err);
    if (status != TAMIS_OK || r->event != TAMIS__READER_RECORDS) {
        r->next.count = 0;
        r->is_drained = true;
        tamis__reader_free_unused(&r->reader);
        return status;
    }
    r->next.reader = &r->reader;
    r->has_next_time = false;
    return TAMIS_OK;
}

/* Returns the time of waiting record `i`, or of the last one before it that has a time. */
static int64_t time_up_to(const tamis__reader_set *set, const tamis__set_reader *r, size_t i) {
    int64_t time = INT64_MIN;
    while (i > 0 && time == INT64_MIN)
        time = set->setup.time_of(set->setup.time_context, r->next_records[i--]);
    return time == INT64_MIN ? r->next_time : time;
}

/* Returns the number of records that wait in `r` up to the first one after `limit`, but at least 1. The times
 * of a log mostly increase. A record without a time comes alone: it may be a header, which the next one
 * needs. */
static size_t count_until(const tamis__reader_set *set, const tamis__set_reader *r, int64_t limit) {
    size_t from = 1, to = r->next.count;
    if (r->next_time == INT64_MIN)
        return 1;
    if (time_up_to(set, r, to - 1) <= limit)
        return to;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (time_up_to(set, r, middle) <= limit)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Moves the first `count` records that wait in `r` to *batch. The records after them keep a reference to the
 * buffer. */
static void hand_out(const tamis__reader_set *set, tamis__set_reader *r, size_t count,
                     tamis__record_batch *batch) {
    const int64_t time = time_up_to(set, r, count - 1);
    r->last_time = time > r->last_time ? time : r->last_time;
    tamis_key *records = batch->records;
    *batch = r->next;
    batch->records = memcpy(records, r->next_records, count * sizeof *records);
    batch->count = count;
    r->next.count -= count;
    if (r->next.count == 0)
        return;
    const unsigned char *rest = r->next_records[count].data;
    batch->unterminated = false;
    batch->end = rest;
    batch->buffer->batches++;
    r->next.begin = rest;
    r->next.first += count;
    r->next.line += r->reader.setup.csv ? tamis__count_byte(batch->begin, rest, '\n') : count;
    r->next.offset += (uint64_t)(rest - batch->begin);
    r->next.has_bom = r->next.restarted = false;
    memmove(r->next_records, r->next_records + count, r->next.count * sizeof *r->next_records);
    r->has_next_time = false;
}

/* Readers without a record are tried again when all have none, or after a while. */
static void begin_round(tamis__reader_set *set) {
    enum { ROUND_MS = 10 };
    for (size_t i = 0; i < set->count; i++)
        set->readers[i]->is_drained = false;
    set->round_end = tamis__now_ns() + ROUND_MS * UINT64_C(1000000);
}

/* Returns time + merge_within; INT64_MAX if that is not a time. */
static int64_t add_slack(const tamis__reader_set *set, int64_t time) {
    return time < INT64_MAX - set->setup.merge_within ? time + set->setup.merge_within : INT64_MAX;
}

/* Reads the next batch of each reader that has none. *first is the reader with the earliest next record;
 * NULL: no reader has a record. *limit is the time up to which its records may be handed out. */
static tamis_status find_first(tamis__reader_set *set, tamis__set_reader **first, int64_t *limit,
                               tamis_error *err) {
    *first = NULL;
    *limit = INT64_MAX;
    for (size_t i = 0; i < set->count; i++) {
        tamis__set_reader *r = set->readers[i];
        const tamis_status status = fill_next(r, err);
        if (status != TAMIS_OK) {
            set->current = i;
            return status;
        }
        if (r->next.count == 0)
            continue;
        if (!r->has_next_time)
            r->next_time = set->setup.time_of(set->setup.time_context, r->next_records[0]);
        r->has_next_time = true;
        const bool is_earlier = !*first || r->next_time < (*first)->next_time;
        const tamis__set_reader *other = is_earlier ? *first : r;
        if (other && other->next_time < *limit)
            *limit = other->next_time;
        if (!is_earlier)
            continue;
        *first = r;
        set->current = i;
    }
    *limit = add_slack(set, *limit);
    return TAMIS_OK;
}

/* True if a followed file was left, so that the next run reads its successor. Records of other files up to
 * the time *until come before that successor, or before the successor of a file that is being left. */
static bool has_left_file(const tamis__reader_set *set, int64_t *until) {
    bool has_left = set->has_grown;
    *until = INT64_MAX;
    for (size_t i = 0; i < set->count; i++) {
        const tamis__set_reader *r = set->readers[i];
        const bool is_left = set->setup.reader.stops_when_left && r->event == TAMIS__READER_END;
        const bool has_next_file = is_left || tamis__reader_is_replaced(&r->reader);
        if (r->is_alias || r->next.count > 0 || !has_next_file)
            continue;
        has_left = has_left || is_left;
        if (add_slack(set, r->last_time) < *until)
            *until = add_slack(set, r->last_time);
    }
    return has_left;
}

static bool has_ended(const tamis__reader_set *set) {
    bool ended = set->pattern.pattern == NULL;
    for (size_t i = 0; i < set->count; i++)
        ended = ended && (set->readers[i]->is_alias || set->readers[i]->event == TAMIS__READER_END);
    return ended;
}

tamis_status tamis__reader_set_next_by_time(tamis__reader_set *set, tamis__record_batch *batch,
                                            tamis__reader_event *event, tamis_error *err) {
    tamis__set_reader *first;
    int64_t limit, until;
    if (tamis__now_ns() >= set->round_end)
        begin_round(set);
    const tamis_status status = find_first(set, &first, &limit, err);
    if (status != TAMIS_OK)
        return status;
    const bool has_left = has_left_file(set, &until);
    if (first && first->next_time <= until) {
        *event = TAMIS__READER_RECORDS;
        hand_out(set, first, count_until(set, first, limit < until ? limit : until), batch);
        return TAMIS_OK;
    }
    /* After a file was left, records that wait are read again by the next run. */
    *event = has_left || has_ended(set) ? TAMIS__READER_END : TAMIS__READER_IDLE;
    begin_round(set);
    return TAMIS_OK;
}

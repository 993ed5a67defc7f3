/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream_oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/filter.h>

typedef struct record {
    const unsigned char *data;
    size_t size;
} record;

typedef struct side {
    test_bytes *bytes;
    bool owes;
} side;

static void side_put(side *to, const record *item, bool terminated, unsigned char terminator) {
    if (to->owes)
        bytes_add(to->bytes, &terminator, 1);
    bytes_add(to->bytes, item->data, item->size);
    if (terminated)
        bytes_add(to->bytes, &terminator, 1);
    to->owes = !terminated;
}

static bool came_before(const record *records, size_t count, const record *item) {
    for (size_t i = 0; i < count; i++)
        if (records[i].size == item->size &&
            (item->size == 0 || memcmp(records[i].data, item->data, item->size) == 0))
            return true;
    return false;
}

/* Returns the record at `pos`. *terminated: a terminator follows it. */
static record record_at(const test_bytes *input, size_t pos, unsigned char terminator, bool *terminated) {
    size_t end = pos;
    while (end < input->size && input->data[end] != terminator)
        end++;
    *terminated = end < input->size;
    return (record){input->data + pos, end - pos};
}

void oracle_make(stream_oracle *oracle, const test_bytes *inputs, size_t count, unsigned char terminator) {
    *oracle = (stream_oracle){.stats = TAMIS_STREAM_STATS_INIT};
    side unique = {&oracle->unique, false};
    side duplicates = {&oracle->duplicates, false};
    size_t total = 1;
    for (size_t i = 0; i < count; i++)
        total += inputs[i].size;
    record *firsts = malloc(total * sizeof *firsts);
    size_t first_count = 0;
    if (!firsts)
        abort();
    for (size_t i = 0; i < count; i++) {
        for (size_t pos = 0; pos < inputs[i].size;) {
            bool terminated;
            record item = record_at(&inputs[i], pos, terminator, &terminated);
            bool repeat = came_before(firsts, first_count, &item);
            side_put(repeat ? &duplicates : &unique, &item, terminated, terminator);
            if (!repeat)
                firsts[first_count++] = item;
            oracle->stats.records++;
            oracle->stats.duplicates += repeat;
            oracle->stats.unique += !repeat;
            pos += item.size + terminated;
        }
        oracle->stats.bytes_in += inputs[i].size;
    }
    oracle->stats.bytes_read = oracle->stats.bytes_total = oracle->stats.bytes_in;
    oracle->stats.bytes_out = oracle->unique.size + oracle->duplicates.size;
    free(firsts);
}

static bool number_check(const char *name, uint64_t got, uint64_t expected) {
    if (got != expected)
        fprintf(stderr, "stats: %s is %llu instead of %llu\n", name, (unsigned long long)got,
                (unsigned long long)expected);
    return got == expected;
}

bool stats_check(const tamis_stream_stats *got, const tamis_stream_stats *expected) {
    bool records = number_check("records", got->records, expected->records);
    bool unique = number_check("unique", got->unique, expected->unique);
    bool duplicates = number_check("duplicates", got->duplicates, expected->duplicates);
    bool unknown = number_check("unknown", got->unknown, expected->unknown);
    bool in = number_check("bytes_in", got->bytes_in, expected->bytes_in);
    bool out = number_check("bytes_out", got->bytes_out, expected->bytes_out);
    bool read = number_check("bytes_read", got->bytes_read, expected->bytes_read);
    bool total = number_check("bytes_total", got->bytes_total, expected->bytes_total);
    return records && unique && duplicates && unknown && in && out && read && total;
}

void oracle_clear(stream_oracle *oracle) {
    bytes_clear(&oracle->unique);
    bytes_clear(&oracle->duplicates);
}

tamis_dedup *session_make(uint64_t expect, tamis_on_full on_full) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_plan_options expected = TAMIS_PLAN_OPTIONS_INIT;
    expected.kind = TAMIS_KIND_EXACT;
    expected.expect = expect;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *filter = NULL;
    tamis_dedup *session = NULL;
    tamis_dedup_options options = TAMIS_DEDUP_OPTIONS_INIT;
    tamis_filter_options filter_options = TAMIS_FILTER_OPTIONS_INIT;
    filter_options.frozen = expect > 0; /* full at that number of keys */
    options.on_full = on_full;
    if (tamis_plan_make(&plan, &expected, &err) != TAMIS_OK ||
        tamis_filter_create(&filter, &plan, &filter_options, &err) != TAMIS_OK ||
        tamis_dedup_open(&session, filter, &options, &err) != TAMIS_OK) {
        fprintf(stderr, "session_make: %s\n", err.text);
        abort();
    }
    return session;
}

void session_drop(tamis_dedup *session) {
    if (!session)
        return;
    /* session_make made the filter, so it may be freed here, although the session returns it as const. */
    tamis_filter *filter = (tamis_filter *)(uintptr_t)tamis_dedup_filter(session);
    tamis_dedup_close(session);
    tamis_filter_free(filter);
}

/* ---- counting divided queries ---- */

static tamis_stream_service of_session;
static size_t complete;

static void finish_and_count(void *session, const tamis_stream_batch *batch, size_t done, tamis_status status,
                             tamis_error *err) {
    complete++;
    of_session.finish_parts(session, batch, done, status, err);
}

tamis_status session_run(tamis_dedup *session, const tamis_stream_options *options,
                         const tamis__stream_buffer_sizes *tuning, tamis_stream_stats *stats, size_t *divided,
                         tamis_error *err) {
    of_session = (tamis_stream_service)TAMIS_STREAM_SERVICE_INIT;
    tamis_stream_service_dedup(&of_session, session);
    tamis_stream_service service = of_session;
    service.finish_parts = finish_and_count;
    complete = 0;
    const tamis_status status = tamis__stream_run_tuned(&service, options, tuning, stats, NULL, err);
    *divided = complete;
    return status;
}

/* SPDX-License-Identifier: BSD-2-Clause */

/* Runs that query a dedup session: the session's functions as a tamis_stream_service. */
#include "base/versioned.h"
#include "filter/filter_int.h"
#include "service/dedup/dedup_parts.h"
#include "stream/run/runner.h"

static tamis_status query_batch(void *session, const tamis_stream_batch *b, size_t *done, tamis_error *err) {
    return b->hashes ? tamis_dedup_add_hashes(session, b->hashes, b->count, b->answers, done, err)
                     : tamis_dedup_add_many(session, b->keys, b->count, b->answers, done, err);
}

static tamis_status query_window(void *session, const tamis_stream_batch *b, size_t *done, tamis_error *err) {
    return tamis_dedup_add_timed(session, &(tamis_timed_hashes){b->hashes, b->times, b->count}, b->answers,
                                 done, err);
}

static void set_size_hint(void *session, uint64_t more) {
    tamis_dedup_expect(session, more);
}

static uint32_t choose_parts(void *session, size_t count, uint32_t max) {
    return tamis__dedup_parts(session, count, max);
}

static tamis_status query_part(void *session, const tamis_stream_batch *b, uint32_t part, size_t *done,
                               tamis_error *err) {
    const tamis__divided_batch divided = {
        .hashes = b->hashes, .count = b->count, .answers = b->answers, .parts = b->parts};
    return tamis__dedup_add_part(session, &divided, part, done, err);
}

static void finish_parts(void *session, const tamis_stream_batch *b, size_t done, tamis_status status,
                         tamis_error *err) {
    tamis__dedup_finish_parts(session, b->answers, done, status, err);
}

void tamis_stream_service_dedup(tamis_stream_service *service, tamis_dedup *session) {
    const tamis_filter *filter = tamis_dedup_filter(session);
    tamis_stream_service full = TAMIS_STREAM_SERVICE_INIT;
    full.context = session;
    full.query = query_batch;
    full.expect = set_size_hint;
    /* A filter on a server needs the keys themselves, for its trace. */
    if (tamis__filter_check_local(filter, "dedup", NULL) == TAMIS_OK) {
        full.hasher = tamis_filter_hasher(filter);
        full.timed = tamis_filter_plan(filter)->kind == TAMIS_KIND_WINDOW;
        full.query = full.timed ? query_window : query_batch;
        full.parts = choose_parts;
        full.query_part = query_part;
        full.finish_parts = finish_parts;
    }
    tamis__write_struct(service, &full, sizeof full);
}

tamis_status tamis__stream_dedup_tuned(tamis_dedup *session, const tamis_stream_options *options,
                                       const tamis__stream_buffer_sizes *sizes, tamis_stream_stats *stats,
                                       tamis_stream_result *result, tamis_error *err) {
    tamis_stream_service service = TAMIS_STREAM_SERVICE_INIT;
    tamis_stream_service_dedup(&service, session);
    return tamis__stream_run_tuned(&service, options, sizes, stats, result, err);
}

tamis_status tamis_stream_dedup(tamis_dedup *session, const tamis_stream_options *options,
                                tamis_stream_stats *stats, tamis_stream_result *result, tamis_error *err) {
    TAMIS__NEED(session, err);
    const tamis__stream_buffer_sizes tuned = TAMIS__STREAM_BUFFER_SIZES_INIT;
    return tamis__stream_dedup_tuned(session, options, &tuned, stats, result, err);
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A snapshot replaces the log segments that it covers: steps P1 to P5 of docs/DURABILITY.md.
 *
 *     before    snapshot 3 + log 7 8 9 | 10 live
 *     after     snapshot 11            | 10 live
 *
 * - It is built from the disk alone: the last snapshot and the sealed segments are loaded as at a start. So
 *   the thread that makes it shares nothing with the run, which goes on adding keys.
 * - It is the filter of the last commit before it was begun.
 * - It counts from the moment when the manifest names it (P4). Before that, an error does no harm: the run
 *   continues with the old files and reports the error later, in tamis_state_snapshot.
 *
 * A snapshot is due when the log is longer than twice the filter plus 64 MiB, or has more than 256 segments.
 * After a failure the next try waits until the log is twice as long, because each try reads all of it.
 */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/system.h"
#include "base/thread.h"
#include "hash/hasher.h"
#include "store/file/file_error.h"
#include "store/file/filter_file.h"
#include "store/state/state_int.h"

#define LOG_MIN ((uint64_t)64 << 20) /* log bytes that are acceptable for any filter */
enum { TIMES_FILTER = 2, SEGMENTS = 256 /* each start adds a segment; a snapshot removes them */ };

uint64_t tamis__state_log_bytes(const tamis_state *state) {
    const state_manifest *manifest = &state->manifest;
    uint64_t sum = state->log.fd >= 0 ? state->log.segment.bytes : state->log.synced_end;
    for (size_t i = 0; i + 1 < manifest->segment_count; i++)
        sum += manifest->segments[i].bytes;
    return sum;
}

bool tamis__state_snapshot_is_due(const tamis_state *state) {
    const uint64_t bytes = tamis__state_log_bytes(state);
    uint64_t max = state->snapshot_at;
    if (max == 0)
        max = TIMES_FILTER * tamis__state_stats_get(state).memory + LOG_MIN;
    return !state->job.running && bytes >= state->snapshot_again &&
           (bytes > max || state->manifest.segment_count > SEGMENTS);
}

/* ---- the snapshot thread ---- */

static tamis_status keep_false_present(const tamis_filter *filter, const tamis_allocator *memory,
                                       state_bytes *false_present, tamis_error *err) {
    const size_t count = tamis__filter_false_present_get(filter, NULL), size = count * 8;
    if (count == 0)
        return TAMIS_OK;
    double *reals = tamis__alloc(memory, size, 8);
    if (!reals || !tamis__state_bytes_reserve(memory, false_present, size)) {
        tamis__free(memory, reals, size);
        return tamis__fail_nomem(err, "snapshot", size);
    }
    (void)tamis__filter_false_present_get(filter, reals);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &reals[i], 8);
        tamis__store64le(false_present->data + 8 * i, bits);
    }
    false_present->size = size;
    tamis__free(memory, reals, size);
    return TAMIS_OK;
}

tamis_status tamis__state_snapshot_save(const state_rebuild *source, tamis_filter *filter,
                                        state_snapshot *created, tamis_error *err) {
    const tamis__save_options options = {.format = TAMIS_FORMAT_TAMIS,
                                         .stop = {.fd = -1, .given_up = source->given_up}};
    const state_path path = tamis__state_snapshot_path(source->directory, created->number);
    struct stat st;
    tamis_status status = keep_false_present(filter, source->memory, &created->false_present, err);
    if (status == TAMIS_OK)
        status = tamis__file_save(filter, path.text, &options, err);
    if (status == TAMIS_OK && tamis__sys.stat(path.text, &st) < 0)
        status = tamis__fail(err, TAMIS_E_IO, 0, "%s: is gone just after it was written; try again",
                             tamis__show(path.text).text);
    if (status == TAMIS_OK)
        created->bytes = (uint64_t)st.st_size;
    return status;
}

/* Steps P2, P3. */
static void *make_snapshot(void *context) {
    state_job *job = context;
    tamis_filter *filter = NULL;
    uint64_t replayed;
    job->status = tamis__state_build(&job->source, &filter, &replayed, &job->err);
    if (job->status == TAMIS_OK)
        job->status = tamis__state_check_given_up(&job->source, &job->err);
    if (job->status == TAMIS_OK)
        job->status = tamis__state_snapshot_save(&job->source, filter, &job->created, &job->err);
    tamis_filter_free(filter);
    __atomic_store_n(&job->ended, true, __ATOMIC_RELEASE);
    return NULL;
}

/* ---- the run's thread ---- */

/* Records an error and puts the next try off: each try makes a segment and reads the whole log. */
static void note_failed_snapshot(tamis_state *state, tamis_status status, const tamis_error *why) {
    state->snapshot_again = 2 * tamis__state_log_bytes(state);
    if (state->snapshot_status != TAMIS_OK)
        return;
    state->snapshot_status = status;
    state->snapshot_err = *why;
}

static void drop_job(tamis_state *state) {
    state_job *job = &state->job;
    tamis__state_manifest_release(&job->manifest, &state->memory);
    tamis__state_bytes_free(&state->memory, &job->created.false_present);
    memset(job, 0, sizeof *job);
}

/* Prepares a snapshot of all segments but the live one. */
static tamis_status prepare(tamis_state *state, tamis_error *err) {
    state_job *job = &state->job;
    memset(job, 0, sizeof *job);
    tamis_status status =
        tamis__state_manifest_copy(&job->manifest, &state->memory, &state->manifest, 0, err);
    if (status != TAMIS_OK)
        return status;
    job->err = (tamis_error)TAMIS_ERROR_INIT;
    job->last = state->last;
    job->created.number = state->manifest.next++;
    job->created.covers = state->last;
    job->source = (state_rebuild){.directory = &state->directory,
                                  .memory = &state->memory,
                                  .manifest = &job->manifest,
                                  .segments = job->manifest.segments,
                                  .segment_count = job->manifest.segment_count - 1,
                                  .hasher = state->hasher,
                                  .last = &job->last,
                                  .threads = 1, /* one thread: the other processors are for the run */
                                  .given_up = &job->given_up};
    job->running = true;
    return TAMIS_OK;
}

tamis_status tamis__state_snapshot_start(tamis_state *state, bool threaded) {
    tamis_error why = TAMIS_ERROR_INIT;
    bool fatal;
    const uint64_t before = state->manifest.snapshot.number ? state->manifest.snapshot.covers.keys : 0;
    if (state->last.keys == before)
        return TAMIS_OK; /* no new keys since the last snapshot */
    tamis_status status = tamis__state_roll(state, state->manifest.epoch, &fatal, &why); /* P1 */
    if (status != TAMIS_OK && fatal)
        return tamis__state_fail(state, status, &why);
    if (status == TAMIS_OK)
        status = prepare(state, &why);
    if (status != TAMIS_OK) {
        note_failed_snapshot(state, status, &why);
        return TAMIS_OK;
    }
    state_job *job = &state->job;
    job->threaded = threaded && tamis__thread_create(&job->thread, make_snapshot, job) == 0;
    if (!job->threaded)
        (void)make_snapshot(job);
    return TAMIS_OK;
}

/* Step P5 (I6): unlinks what the manifest no longer names. If that fails, the next start removes it. */
static void unlink_covered(const tamis_state *state, const state_manifest *old, size_t covered) {
    if (old->snapshot.number)
        (void)tamis__sys.unlink(tamis__state_snapshot_path(&state->directory, old->snapshot.number).text);
    for (size_t i = 0; i < covered; i++)
        (void)tamis__sys.unlink(tamis__state_log_path(&state->directory, old->segments[i].number).text);
}

/* Step P4. */
static tamis_status name_snapshot(tamis_state *state, bool *fatal, tamis_error *err) {
    state_job *job = &state->job;
    const size_t covered = job->source.segment_count;
    state_manifest next;
    *fatal = false;
    tamis_status status = tamis__state_manifest_copy(&next, &state->memory, &state->manifest, covered, err);
    if (status != TAMIS_OK)
        return status;
    tamis__state_bytes_free(&state->memory, &next.snapshot.false_present);
    next.snapshot = job->created;
    job->created.false_present = (state_bytes){NULL, 0, 0};
    status = tamis__state_manifest_write(state, &next, state->manifest.note_count, fatal, err);
    if (status != TAMIS_OK) {
        tamis__state_manifest_release(&next, &state->memory);
        return status;
    }
    unlink_covered(state, &state->manifest, covered);
    tamis__state_manifest_release(&state->manifest, &state->memory);
    state->manifest = next;
    return TAMIS_OK;
}

static void join_thread(state_job *job) {
    if (job->threaded)
        pthread_join(job->thread, NULL);
}

static void unlink_made(const tamis_state *state) {
    (void)tamis__sys.unlink(tamis__state_snapshot_path(&state->directory, state->job.created.number).text);
}

tamis_status tamis__state_snapshot_finish(tamis_state *state, bool wait, tamis_error *err) {
    state_job *job = &state->job;
    tamis_error why = TAMIS_ERROR_INIT;
    bool fatal = false;
    if (!job->running || (!wait && !__atomic_load_n(&job->ended, __ATOMIC_ACQUIRE)))
        return TAMIS_OK;
    join_thread(job);
    tamis_status status = job->status;
    if (status == TAMIS_OK)
        status = name_snapshot(state, &fatal, &why);
    else
        why = job->err;
    if (status == TAMIS_OK)
        state->snapshot_again = 0;
    if (status != TAMIS_OK && !fatal) {
        note_failed_snapshot(state, status, &why);
        unlink_made(state);
    }
    drop_job(state);
    return fatal && status != TAMIS_OK
               ? tamis__state_report(&why, tamis__state_fail(state, status, &why), err)
               : TAMIS_OK;
}

void tamis__state_snapshot_abandon(tamis_state *state) {
    if (!state->job.running)
        return;
    __atomic_store_n(&state->job.given_up, true, __ATOMIC_RELAXED);
    if (state->failed == TAMIS_OK) {
        (void)tamis__state_snapshot_finish(state, true, NULL);
        return;
    }
    join_thread(&state->job);
    unlink_made(state);
    drop_job(state);
}

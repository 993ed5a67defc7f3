/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Rebuilding the filter of the last commit: step S5 of docs/DURABILITY.md.
 *
 *     snapshot          +  keys of the sealed segments  +  keys of the live segment
 *     or empty filter                                      up to its last commit
 *
 * The result is the same filter, byte for byte. A filter is determined by the hashes in it, their order, and
 * the size hints between them, and the log has all of these. Each logged key was absent when it was added, so
 * it must be absent again. A key that is already present, or another number of keys than a commit says,
 * proves that the files do not belong together. Then the state is refused.
 *
 * Keys are collected over many frames into a replay batch, so that several threads can add them
 * (state_batch.c). The list `frames` remembers where each key came from, for the message about a damaged
 * file.
 *
 * The memory limit of the filter does not apply during the replay: these keys were accepted once.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/system.h"
#include "base/thread.h"
#include "filter/concurrent.h"
#include "filter/window/window.h"
#include "hash/hasher.h"
#include "plan/plan_int.h"
#include "store/file/file_error.h"
#include "store/state/state_int.h"

/* ---- the initial filter ---- */

static tamis_status set_hasher(tamis_filter *filter, const tamis_hasher *hasher, tamis_error *err) {
    tamis_hasher *copy = NULL;
    const tamis_status status = tamis__hasher_copy(&copy, hasher, err);
    if (status != TAMIS_OK)
        return status;
    tamis_hasher_free(filter->hasher);
    filter->hasher = copy;
    return TAMIS_OK;
}

/* The state stores no secret. Under scheme sip the filter is created as xxh3, and then gets the keyed
 * hasher. */
static tamis_status make_empty(tamis_filter **filter, const state_rebuild *source, tamis_error *err) {
    tamis_plan plan = source->manifest->plan;
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    options.allow_over_capacity = source->manifest->allow_over_capacity;
    options.frozen = source->manifest->frozen;
    options.allocator = source->memory;
    options.seed = source->manifest->seed;
    if (plan.scheme == TAMIS_SCHEME_SIP)
        plan.scheme = TAMIS_SCHEME_XXH3;
    if (tamis__is_redisbloom_cuckoo(plan.kind, plan.scheme)) /* its handle has no operations of a kind */
        return tamis__fail(err, TAMIS_E_DAMAGED, 0, "state: its manifest is of a filter of RedisBloom; %s",
                           STATE_REMEDY);
    return tamis_filter_create(filter, &plan, &options, err);
}

/* True if a table with a given capacity has grown. It then has more lines, and perhaps wider slots, or
 * narrower ones if it began small. */
static bool has_grown(const tamis_filter *filter, const state_manifest *manifest) {
    const tamis_plan *own_plan = &filter->plan, *manifest_plan = &manifest->plan;
    return !tamis_kind_is_bloom(own_plan->kind) && manifest_plan->capacity > 0 &&
           own_plan->capacity > manifest_plan->capacity &&
           (own_plan->slot_bits >= manifest_plan->slot_bits || manifest_plan->target > 0);
}

static bool matches_plan(const tamis_filter *filter, const state_manifest *manifest) {
    const tamis_plan *own_plan = &filter->plan, *manifest_plan = &manifest->plan;
    const bool same_shape = own_plan->capacity == manifest_plan->capacity &&
                            own_plan->slot_bits == manifest_plan->slot_bits &&
                            own_plan->home_bits == manifest_plan->home_bits;
    return own_plan->kind == manifest_plan->kind && own_plan->scheme == manifest_plan->scheme &&
           own_plan->bits == manifest_plan->bits && own_plan->probes == manifest_plan->probes &&
           own_plan->window == manifest_plan->window && own_plan->step == manifest_plan->step &&
           own_plan->lateness == manifest_plan->lateness && own_plan->refresh == manifest_plan->refresh &&
           (same_shape || has_grown(filter, manifest)) && filter->hasher->seed == manifest->seed &&
           filter->hasher->secret_fingerprint == manifest->secret_fingerprint;
}

static tamis_status fail_other_filter(const state_path *path, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "%s: is not the filter that the manifest describes; " STATE_REMEDY,
                       tamis__show(path->text).text);
}

static tamis_status set_false_present(tamis_filter *filter, const state_bytes *false_present,
                                      const tamis_allocator *memory, const state_path *path,
                                      tamis_error *err) {
    const size_t count = false_present->size / 8;
    double *reals = tamis__alloc(memory, false_present->size + 8, 8);
    if (!reals)
        return tamis__fail_nomem(err, path->text, false_present->size + 8);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = tamis__load64le(false_present->data + 8 * i);
        memcpy(&reals[i], &bits, 8);
    }
    const bool set = tamis__filter_false_present_set(filter, reals, count);
    tamis__free(memory, reals, false_present->size + 8);
    return set ? TAMIS_OK : fail_other_filter(path, err);
}

/* Replaces the remedy of an error about the snapshot: the user cannot rebuild a file of the state. */
static tamis_status fail_snapshot(const tamis_error *why, tamis_error *err) {
    const char *end = strrchr(why->text, ';');
    const size_t size = end ? (size_t)(end - why->text) : strlen(why->text);
    return tamis__fail(err, why->status, why->sys_errno, "%.*s; " STATE_REMEDY, (int)size, why->text);
}

static tamis_status load_snapshot(tamis_filter **filter, const state_rebuild *source, tamis_error *err) {
    const state_snapshot *snapshot = &source->manifest->snapshot;
    const state_path path = tamis__state_snapshot_path(source->directory, snapshot->number);
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    options.writable = true;
    options.format = TAMIS_FORMAT_TAMIS;
    options.allocator = source->memory;
    tamis_filter *opened = NULL;
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = tamis_filter_open(&opened, path.text, &options, &why);
    if (status == TAMIS_E_IO && why.sys_errno == ENOENT)
        return tamis__fail(err, TAMIS_E_DAMAGED, ENOENT, "%s: is not there; " STATE_REMEDY,
                           tamis__show(path.text).text);
    if (status == TAMIS_E_DAMAGED || status == TAMIS_E_FORMAT)
        return fail_snapshot(&why, err);
    if (status != TAMIS_OK)
        return tamis__state_report(&why, status, err);
    if (!matches_plan(opened, source->manifest) || opened->added != snapshot->covers.keys ||
        (opened->plan.kind == TAMIS_KIND_WINDOW &&
         (uint64_t)tamis_window_newest(opened) + 1 != snapshot->covers.hint))
        status = fail_other_filter(&path, err);
    else
        status = set_false_present(opened, &snapshot->false_present, source->memory, &path, err);
    if (status != TAMIS_OK) {
        tamis_filter_free(opened);
        return status;
    }
    if (opened->plan.kind != TAMIS_KIND_WINDOW)
        opened->size_hint = snapshot->covers.hint;
    opened->metadata.fields.created = 0; /* that of the snapshot file, not of the filter */
    *filter = opened;
    return TAMIS_OK;
}

static tamis_status load_filter(tamis_filter **filter, const state_rebuild *source, tamis_error *err) {
    tamis_filter *opened = NULL;
    tamis_status status = source->manifest->snapshot.number ? load_snapshot(&opened, source, err)
                                                            : make_empty(&opened, source, err);
    if (status == TAMIS_OK)
        status = set_hasher(opened, source->hasher, err);
    if (status != TAMIS_OK) {
        tamis_filter_free(opened);
        return status;
    }
    const tamis_plan *plan = &source->manifest->plan;
    if (!has_grown(opened, source->manifest))
        opened->plan = *plan;
    else if (opened->plan.capacity < plan->target) /* a file does not say it */
        opened->plan.target = plan->target;
    *filter = opened;
    return TAMIS_OK;
}

/* ---- the keys of the log ---- */

tamis_status tamis__state_check_given_up(const state_rebuild *source, tamis_error *err) {
    if (!source->given_up || !__atomic_load_n(source->given_up, __ATOMIC_RELAXED))
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_INTERRUPTED, 0, "%s: its snapshot was given up",
                       tamis__show(source->directory->path).text);
}

typedef struct replay {
    const state_rebuild *source;
    tamis_filter *filter;
    uint64_t keys; /* keys logged so far */
    uint64_t replayed;
    size_t frame_count; /* frames with keys in the batch */
    struct replay_frame {
        uint64_t offset; /* offset of the frame in its segment */
        size_t end;      /* number of batch keys up to the frame's last one */
    } frames[STATE_BATCH];
    uint8_t changes[STATE_KEYS_FRAME]; /* of a window's keys */
    state_batch batch;
} replay;

/* Adds the batch. All its keys come from the segment of `frames`. */
static tamis_status add_waiting(replay *r, const state_frames *frames, tamis_error *err) {
    state_batch *batch = &r->batch;
    const size_t count = batch->count;
    size_t absent, frame = 0;
    if (count == 0)
        return TAMIS_OK;
    const tamis_status status = tamis__state_batch_add(batch, &absent, err);
    batch->count = r->frame_count = 0;
    if (status != TAMIS_OK || absent == count)
        return status;
    while (r->frames[frame].end <= absent)
        frame++;
    return tamis__state_fail_damaged(frames, r->frames[frame].offset, "has a key that was present already",
                                     err);
}

static tamis_status queue_keys(replay *r, const state_frames *frames, const state_frame *frame,
                               tamis_error *err) {
    const size_t count = frame->size / STATE_KEY;
    const uint64_t hasher_id = r->source->hasher->hasher_id;
    state_batch *batch = &r->batch;
    const tamis_status status = count > STATE_BATCH - batch->count ? add_waiting(r, frames, err) : TAMIS_OK;
    if (status != TAMIS_OK)
        return status;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *from = frame->payload + i * STATE_KEY;
        batch->hashes[batch->count++] =
            (tamis_hash){{tamis__load64le(from), tamis__load64le(from + 8)}, hasher_id};
    }
    r->frames[r->frame_count++] = (struct replay_frame){frame->offset, batch->count};
    r->keys += count;
    r->replayed += count;
    return TAMIS_OK;
}

/* Counts keys of a window again, as their changes say. */
static tamis_status repeat_window_keys(replay *r, const state_frames *frames, const state_frame *frame,
                                       tamis_error *err) {
    const size_t count = frame->size / STATE_WINDOW_KEY;
    const uint64_t hasher_id = r->source->hasher->hasher_id;
    size_t done;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *from = frame->payload + i * STATE_WINDOW_KEY;
        r->batch.hashes[i] = (tamis_hash){{tamis__load64le(from), tamis__load64le(from + 8)}, hasher_id};
        r->changes[i] = from[STATE_KEY];
    }
    r->keys += count;
    r->replayed += count;
    const tamis__window_batch batch = {.hashes = r->batch.hashes, .changes = r->changes, .count = count};
    const tamis_status status = tamis__window_repeat(r->filter, &batch, &done, err);
    if (status == TAMIS_E_NOMEM || (status == TAMIS_OK && done == count))
        return status;
    return tamis__state_fail_damaged(frames, frame->offset, "has a key that does not fit the window", err);
}

static void set_hint(tamis_filter *filter, uint64_t hint) {
    if (filter->plan.kind != TAMIS_KIND_WINDOW)
        filter->size_hint = hint;
    else if (hint > 0)
        tamis__window_set_newest(filter, (int64_t)hint - 1);
}

/* Sets a hint between the same keys as when it was logged. */
static tamis_status replay_hint(replay *r, const state_frames *frames, const state_frame *frame,
                                uint64_t hint, tamis_error *err) {
    const bool is_window = r->filter->plan.kind == TAMIS_KIND_WINDOW;
    tamis_status status = TAMIS_OK;
    if (is_window && hint > (uint64_t)TAMIS_TIME_MAX + 1)
        return tamis__state_fail_damaged(frames, frame->offset, "has a time out of range", err);
    if (!is_window && r->filter->size_hint != hint)
        status = add_waiting(r, frames, err);
    set_hint(r->filter, hint);
    return status;
}

static tamis_status apply_frame(replay *r, const state_frames *frames, const state_frame *frame,
                                tamis_error *err) {
    const tamis_kind kind = r->filter->plan.kind;
    state_commit commit;
    switch (frame->type) {
    case STATE_KEYS:
    case STATE_WINDOW_KEYS:
        if (frame->type != tamis__state_keys_type(kind))
            return tamis__state_fail_damaged(frames, frame->offset, "has keys of another kind of filter",
                                             err);
        return kind == TAMIS_KIND_WINDOW ? repeat_window_keys(r, frames, frame, err)
                                         : queue_keys(r, frames, frame, err);
    case STATE_TIME:
    case STATE_SIZE_HINT:
        return replay_hint(r, frames, frame, tamis__load64le(frame->payload), err);
    case STATE_COMMIT:
    case STATE_LAST:
        tamis__state_commit_read(frame, &commit);
        if (commit.keys != r->keys)
            return tamis__state_fail_damaged(frames, frame->offset, "has another number of keys than the log",
                                             err);
        return replay_hint(r, frames, frame, commit.hint, err);
    default:
        return TAMIS_OK;
    }
}

/* Replays a segment up to its sealed length. The manifest that gives this length was written after the bytes
 * were synced. */
static tamis_status replay_segment(replay *r, const state_segment *segment, tamis_error *err) {
    state_frames frames;
    state_frame frame;
    tamis_status status =
        tamis__state_frames_open(&frames, r->source->directory, r->source->memory, segment, err);
    if (status != TAMIS_OK)
        return status;
    if (segment->first_key != r->keys)
        status = tamis__state_fail_damaged(&frames, 0, "begins after another number of keys than the log has",
                                           err);
    do {
        if (status == TAMIS_OK)
            status = tamis__state_check_given_up(r->source, err);
        if (status == TAMIS_OK)
            status = tamis__state_frames_next(&frames, &frame, err);
        if (status == TAMIS_OK && frame.type)
            status = apply_frame(r, &frames, &frame, err);
    } while (status == TAMIS_OK && frame.type);
    if (status == TAMIS_OK && (frame.broken || frames.check != segment->check))
        status = tamis__state_fail_damaged(&frames, frames.offset, "is not what was written", err);
    if (status == TAMIS_OK)
        status = add_waiting(r, &frames, err);
    tamis__state_frames_close(&frames);
    return status;
}

static tamis_status replay_all(replay *r, tamis_error *err) {
    const state_rebuild *source = r->source;
    tamis_filter *filter = r->filter;
    tamis_status status = TAMIS_OK;
    r->keys = filter->added;
    filter->ignore_memory_limit = true;
    for (size_t i = 0; i < source->segment_count && status == TAMIS_OK; i++)
        status = replay_segment(r, &source->segments[i], err);
    filter->ignore_memory_limit = false;
    if (status != TAMIS_OK)
        return status;
    const state_commit *last = source->last;
    if (r->keys != last->keys || filter->added != last->keys)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: has %" PRIu64 " keys, and its last commit says %" PRIu64 "; " STATE_REMEDY,
                           tamis__show(source->directory->path).text, r->keys, last->keys);
    set_hint(filter, last->hint);
    filter->saturated = filter->saturated || last->flags & STATE_SATURATED;
    filter->full = (tamis_full)last->full;
    return TAMIS_OK;
}

tamis_status tamis__state_build(const state_rebuild *source, tamis_filter **filter, uint64_t *replayed,
                                tamis_error *err) {
    replay *r = tamis__alloc(source->memory, sizeof *r, TAMIS__LINE);
    if (!r)
        return tamis__fail_nomem(err, "state", sizeof *r);
    r->source = source;
    tamis_status status = load_filter(&r->filter, source, err);
    r->batch.filter = r->filter;
    r->batch.threads = source->threads;
    if (status == TAMIS_OK)
        status = replay_all(r, err);
    if (status == TAMIS_OK) {
        *filter = r->filter;
        *replayed = r->replayed;
    } else {
        tamis_filter_free(r->filter);
    }
    tamis__free(source->memory, r, sizeof *r);
    return status;
}

/* ---- the last commit ---- */

/* Makes this the last commit. Only the frames of the log before it belong to the state. */
static tamis_status read_commit(tamis_state *state, const state_frames *frames, const state_frame *frame,
                                uint64_t keys, tamis_error *err) {
    const bool restated = frame->type == STATE_LAST;
    tamis__state_commit_read(frame, &state->last);
    if (state->last.keys != keys || state->last.notes != state->notes.count)
        return tamis__state_fail_damaged(frames, frame->offset,
                                         "has another number of keys or notes than the log", err);
    state->checkpoint.size = 0;
    if (!tamis__state_bytes_add(&state->memory, &state->checkpoint, frame->payload + STATE_COMMIT_FIXED,
                                frame->size - STATE_COMMIT_FIXED))
        return tamis__fail_nomem(err, "checkpoint", frame->size);
    state->log.synced_end = restated ? frames->offset : frame->offset;
    state->log.synced_check = restated ? frames->check : frame->before;
    return TAMIS_OK;
}

static tamis_status read_frame(tamis_state *state, const state_frames *frames, const state_frame *frame,
                               uint64_t *keys, tamis_error *err) {
    switch (frame->type) {
    case STATE_KEYS:
    case STATE_WINDOW_KEYS:
        *keys += frame->size / tamis__state_key_size(frame->type);
        return TAMIS_OK;
    case STATE_NOTE:
        return tamis__state_note_add(&state->notes, &state->memory, frame->payload, frame->size, err);
    case STATE_COMMIT:
    case STATE_LAST:
        return read_commit(state, frames, frame, *keys, err);
    default:
        return TAMIS_OK;
    }
}

/* Reads the live segment up to its last complete commit. Its first frame restates a commit, synced before the
 * segment became the live one. */
tamis_status tamis__state_find_commit(tamis_state *state, tamis_error *err) {
    const state_segment *live = &state->manifest.segments[state->manifest.segment_count - 1];
    state_frames frames;
    state_frame frame = {0};
    uint64_t keys = live->first_key;
    tamis__state_notes_cut(&state->memory, &state->notes, state->manifest.note_count);
    state->log.synced_end = 0;
    tamis_status status = tamis__state_frames_open(&frames, &state->directory, &state->memory, live, err);
    if (status != TAMIS_OK)
        return status;
    do {
        status = tamis__state_frames_next(&frames, &frame, err);
        if (status == TAMIS_OK && frame.offset == STATE_HEADER && frame.type != STATE_LAST)
            status = tamis__state_fail_damaged(&frames, frame.offset, "is not a restated commit", err);
        if (status == TAMIS_OK && frame.type)
            status = read_frame(state, &frames, &frame, &keys, err);
    } while (status == TAMIS_OK && frame.type);
    if (status == TAMIS_OK && frame.broken)
        status = tamis__state_frames_check_end(&frames, err);
    tamis__state_frames_close(&frames);
    tamis__state_notes_cut(&state->memory, &state->notes, state->last.notes);
    return status;
}

tamis_status tamis__state_load(tamis_state *state, tamis_error *err) {
    state_manifest *manifest = &state->manifest;
    state_manifest copy;
    tamis_status status = tamis__state_manifest_copy(&copy, &state->memory, manifest, 0, err);
    if (status != TAMIS_OK)
        return status;
    state_segment *live = &copy.segments[copy.segment_count - 1];
    live->bytes = state->log.synced_end;
    live->check = state->log.synced_check;
    const uint32_t processors = tamis__thread_processors();
    const state_rebuild source = {.directory = &state->directory,
                                  .memory = &state->memory,
                                  .manifest = manifest,
                                  .segments = copy.segments,
                                  .segment_count = copy.segment_count,
                                  .hasher = state->hasher,
                                  .last = &state->last,
                                  .threads = processors < STATE_THREADS_MAX ? processors : STATE_THREADS_MAX,
                                  .given_up = NULL};
    status = tamis__state_build(&source, &state->filter, &state->replayed, err);
    tamis__state_manifest_release(&copy, &state->memory);
    if (status == TAMIS_OK)
        state->filter->add_only = true;
    if (status == TAMIS_OK && state->concurrent)
        status = tamis__concurrent_enable(state->filter, err);
    state->keys = state->last.keys;
    if (status == TAMIS_OK)
        tamis__state_set_hint(state);
    return status;
}

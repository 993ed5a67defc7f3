/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Writing a log segment, from front to back and nowhere else:
 *
 *     0        56
 *     +--------+------+------+------+------+------+-- ...
 *     | header | LAST | KEYS | KEYS | CMIT | KEYS |
 *     +--------+------+------+------+------+------+-- ...
 *
 *     frame:   0 type   4 payload size   8 check   16 payload
 *     header:  0 magic  8 version  12 features  16 number  24 epoch  32 seed  40 first_key  48 check
 *
 * Checksums form a chain (I3):
 *
 *     check(0) = XXH3-64(bytes 0 to 47 of the header, seed = the segment's random seed)
 *     check(n) = XXH3-64(payload of frame n, seed = XXH3-64(first 8 bytes of frame n, seed = check(n - 1)))
 *
 * So no frame of another segment, or of an earlier run, can continue the chain.
 *
 * A commit is durable in four steps: C1 write the keys, C2 sync, C3 write the commit's frame, C4 sync.
 * Because of C2, all bytes before a commit's frame are on the disk before that frame is. A reader can
 * therefore tell damage from an interrupted write (state_frames.c). For this it must recognise a commit even
 * where the chain is broken. So a commit's payload begins with a checksum of its own.
 *
 * If a sync fails, the state fails, and nothing is synced again: the system may have dropped the bytes and
 * forgotten the error.
 */
#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/system.h"
#include "store/file/file_error.h"
#include "store/state/state_int.h"

static const uint8_t magic[8] = STATE_LOG_MAGIC;
enum { VERSION = 1 };

static uint64_t header_check(const uint8_t header[STATE_HEADER], uint64_t seed) {
    return XXH3_64bits_withSeed(header, STATE_HEADER - 8, seed);
}

void tamis__state_header_put(uint8_t header[STATE_HEADER], const state_segment *segment) {
    memcpy(header, magic, sizeof magic);
    tamis__store32le(header + 8, VERSION);
    tamis__store32le(header + 12, 0);
    tamis__store64le(header + 16, segment->number);
    tamis__store64le(header + 24, segment->epoch);
    tamis__store64le(header + 32, segment->seed);
    tamis__store64le(header + 40, segment->first_key);
    tamis__store64le(header + 48, header_check(header, segment->seed));
}

uint64_t tamis__state_frame_check(const uint8_t *frame, size_t size, uint64_t before) {
    const uint64_t seed = XXH3_64bits_withSeed(frame, 8, before);
    return XXH3_64bits_withSeed(frame + STATE_FRAME_HEADER, size - STATE_FRAME_HEADER, seed);
}

uint64_t tamis__state_commit_check(const uint8_t *payload, size_t size, uint64_t seed, uint64_t offset) {
    return XXH3_64bits_withSeed(payload + 8, size - 8, seed ^ offset * TAMIS__GOLDEN);
}

uint32_t tamis__state_keys_type(tamis_kind kind) {
    return kind == TAMIS_KIND_WINDOW ? STATE_WINDOW_KEYS : STATE_KEYS;
}

size_t tamis__state_key_size(uint32_t keys_type) {
    return keys_type == STATE_WINDOW_KEYS ? STATE_WINDOW_KEY : STATE_KEY;
}

/* Writes a frame of `size` bytes. Its payload is already in place. */
static tamis_status write_frame(state_log *log, uint8_t *frame, uint32_t type, size_t size,
                                tamis_error *err) {
    tamis__store32le(frame, type);
    tamis__store32le(frame + 4, (uint32_t)(size - STATE_FRAME_HEADER));
    log->segment.check = tamis__state_frame_check(frame, size, log->segment.check);
    tamis__store64le(frame + 8, log->segment.check);
    log->segment.bytes += size;
    const tamis_status status = tamis__state_write_file(log->fd, log->path.text, frame, size, err);
    if (status == TAMIS_OK)
        tamis__send_off(log->fd, &log->sent, log->segment.bytes);
    return status;
}

static tamis_status write_keys(state_log *log, tamis_error *err) {
    const size_t keys = log->keys;
    log->keys = 0;
    if (keys == 0)
        return TAMIS_OK;
    return write_frame(log, log->frame.data, log->keys_type,
                       STATE_FRAME_HEADER + keys * tamis__state_key_size(log->keys_type), err);
}

tamis_status tamis__state_log_keys(state_log *log, const tamis_hash *hashes, const uint8_t *changes,
                                   size_t count, tamis_error *err) {
    const size_t key_size = tamis__state_key_size(log->keys_type);
    tamis_status status = TAMIS_OK;
    while (count > 0 && status == TAMIS_OK) {
        const size_t chunk = STATE_KEYS_FRAME - log->keys < count ? STATE_KEYS_FRAME - log->keys : count;
        uint8_t *to = log->frame.data + STATE_FRAME_HEADER + log->keys * key_size;
        for (size_t i = 0; i < chunk; i++, to += key_size) {
            tamis__store64le(to, hashes[i].word[0]);
            tamis__store64le(to + 8, hashes[i].word[1]);
            if (changes)
                to[STATE_KEY] = changes[i];
        }
        changes = changes ? changes + chunk : NULL;
        log->keys += chunk;
        hashes += chunk;
        count -= chunk;
        if (log->keys == STATE_KEYS_FRAME)
            status = write_keys(log, err);
    }
    return status;
}

tamis_status tamis__state_log_frame(state_log *log, uint32_t type, const void *payload, size_t size,
                                    tamis_error *err) {
    state_bytes frame = {NULL, 0, 0};
    tamis_status status = write_keys(log, err);
    if (status != TAMIS_OK)
        return status;
    if (!tamis__state_bytes_reserve(log->memory, &frame, STATE_FRAME_HEADER + size))
        return tamis__fail_nomem(err, log->path.text, STATE_FRAME_HEADER + size);
    memcpy(frame.data + STATE_FRAME_HEADER, payload, size);
    status = write_frame(log, frame.data, type, STATE_FRAME_HEADER + size, err);
    tamis__state_bytes_free(log->memory, &frame);
    return status;
}

static tamis_status write_commit(state_log *log, uint32_t type, const state_commit *commit,
                                 tamis_key checkpoint, tamis_error *err) {
    state_bytes payload = {NULL, 0, 0};
    const size_t payload_size = STATE_COMMIT_FIXED + checkpoint.size;
    if (!tamis__state_bytes_reserve(log->memory, &payload, payload_size))
        return tamis__fail_nomem(err, log->path.text, payload_size);
    uint8_t *to = payload.data;
    tamis__store64le(to + 8, commit->number);
    tamis__store64le(to + 16, commit->keys);
    tamis__store64le(to + 24, commit->hint);
    tamis__store64le(to + 32, commit->notes);
    tamis__store32le(to + 40, commit->flags);
    tamis__store32le(to + 44, commit->full);
    tamis__store64le(to + 48, log->segment.epoch);
    if (checkpoint.size > 0)
        memcpy(to + STATE_COMMIT_FIXED, checkpoint.data, checkpoint.size);
    tamis__store64le(to, tamis__state_commit_check(to, payload_size, log->segment.seed, log->segment.bytes));
    const tamis_status status = tamis__state_log_frame(log, type, to, payload_size, err);
    tamis__state_bytes_free(log->memory, &payload);
    return status;
}

static tamis_status sync_log(const state_log *log, tamis_error *err) {
    return tamis__sync(log->fd) < 0 ? tamis__fail_file(err, log->path.text, errno) : TAMIS_OK;
}

tamis_status tamis__state_log_commit(state_log *log, const state_commit *commit, const void *checkpoint,
                                     size_t size, tamis_error *err) {
    tamis_status status = write_keys(log, err); /* C1 */
    if (status == TAMIS_OK && log->segment.bytes > log->commit_end)
        status = sync_log(log, err); /* C2 */
    const uint64_t synced_end = log->segment.bytes, synced_check = log->segment.check;
    if (status == TAMIS_OK)
        status = write_commit(log, STATE_COMMIT, commit, (tamis_key){checkpoint, size}, err); /* C3 */
    if (status == TAMIS_OK)
        status = sync_log(log, err); /* C4 */
    if (status != TAMIS_OK)
        return status;
    log->commit_end = log->segment.bytes;
    log->synced_end = synced_end;
    log->synced_check = synced_check;
    return TAMIS_OK;
}

tamis_status tamis__state_log_create(state_log *log, const tamis_state *state, const state_manifest *next,
                                     const state_commit *last, tamis_error *err) {
    const state_segment *live = &next->segments[next->segment_count - 1];
    const tamis_key checkpoint = {state->checkpoint.data, state->checkpoint.size};
    const uint32_t keys_type = tamis__state_keys_type(next->plan.kind);
    const size_t capacity = STATE_FRAME_HEADER + STATE_KEYS_FRAME * tamis__state_key_size(keys_type);
    uint8_t header[STATE_HEADER];
    *log = (state_log){.fd = -1,
                       .segment = *live,
                       .path = tamis__state_log_path(&state->directory, live->number),
                       .keys_type = keys_type,
                       .memory = &state->memory};
    if (!tamis__state_bytes_reserve(log->memory, &log->frame, capacity))
        return tamis__fail_nomem(err, log->path.text, capacity);
    tamis_status status = tamis__state_create(&log->fd, log->path.text, err); /* R1 */
    if (status == TAMIS_OK) {
        tamis__state_header_put(header, live);
        log->segment.bytes = STATE_HEADER;
        log->sent = 0;
        log->segment.check = tamis__load64le(header + STATE_HEADER - 8);
        status = tamis__state_write_file(log->fd, log->path.text, header, sizeof header, err);
    }
    if (status == TAMIS_OK)
        status = write_commit(log, STATE_LAST, last, checkpoint, err);
    if (status == TAMIS_OK)
        status = sync_log(log, err); /* R2 */
    if (status == TAMIS_OK) {
        log->commit_end = log->synced_end = log->segment.bytes;
        log->synced_check = log->segment.check;
        return TAMIS_OK;
    }
    const bool created = log->fd >= 0;
    tamis__state_log_close(log);
    if (created)
        (void)tamis__sys.unlink(log->path.text); /* otherwise the next start would find it */
    return status;
}

void tamis__state_log_close(state_log *log) {
    if (log->fd >= 0)
        tamis__sys.close(log->fd);
    log->fd = -1;
    tamis__state_bytes_free(log->memory, &log->frame);
}

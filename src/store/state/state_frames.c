/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Reading a log segment.
 *
 *     | header | LAST | KEYS | CMIT | KEYS | ??????? | CMIT ?
 *     ------- chain of checksums holds ----->         does a commit follow?
 *
 * A frame is accepted only if the chain of checksums holds up to it. Where the chain breaks, the bytes are
 * either an interrupted write or damage. Commits tell which: a commit's frame is written (C3) only after all
 * bytes before it were synced (C2). A commit after the break therefore proves that synced bytes are damaged
 * (I5), and the state is refused. Without one, the bytes after the break are ignored.
 *
 * tamis__state_frames_check_end searches for such a commit at every byte offset, by the commit's own
 * checksum.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/system.h"
#include "store/file/file_error.h"
#include "store/file/filter_file.h"
#include "store/state/state_int.h"

enum { BUFFER = 2 * STATE_FRAME_MAX };

tamis_status tamis__state_fail_damaged(const state_frames *frames, uint64_t offset, const char *what,
                                       tamis_error *err) {
    return tamis__fail(err, TAMIS_E_DAMAGED, 0, "%s: at byte %" PRIu64 " %s; " STATE_REMEDY,
                       tamis__show(frames->path.text).text, offset, what);
}

/* Bytes in the buffer that are not yet consumed. */
static size_t unread_bytes(const state_frames *frames) {
    return frames->buffer.size - frames->from;
}

/* Reads more bytes into the buffer, up to its size or the end of the segment. Buffer byte `from` is file byte
 * `offset`. */
static tamis_status fill_buffer(state_frames *frames, tamis_error *err) {
    state_bytes *buffer = &frames->buffer;
    if (frames->from > 0) {
        memmove(buffer->data, buffer->data + frames->from, unread_bytes(frames));
        buffer->size -= frames->from;
        frames->from = 0;
    }
    while (buffer->size < BUFFER && frames->offset + buffer->size < frames->end) {
        const uint64_t left = frames->end - frames->offset - buffer->size;
        const size_t chunk = left < BUFFER - buffer->size ? (size_t)left : BUFFER - buffer->size;
        const ssize_t got = tamis__sys.pread(frames->fd, buffer->data + buffer->size, chunk,
                                             (off_t)(frames->offset + buffer->size));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return tamis__fail_file(err, frames->path.text, errno);
        if (got == 0) /* the file was shortened since it was opened */
            frames->end = frames->offset + buffer->size;
        buffer->size += (size_t)got;
    }
    return TAMIS_OK;
}

static tamis_status read_header(state_frames *frames, const state_segment *segment, tamis_error *err) {
    uint8_t header[STATE_HEADER];
    tamis__state_header_put(header, segment);
    if (unread_bytes(frames) < STATE_HEADER || memcmp(frames->buffer.data, header, STATE_HEADER) != 0)
        return tamis__state_fail_damaged(frames, 0, "is not the header that the manifest describes", err);
    frames->check = tamis__load64le(header + STATE_HEADER - 8);
    frames->from = STATE_HEADER;
    frames->offset = STATE_HEADER;
    return TAMIS_OK;
}

tamis_status tamis__state_frames_open(state_frames *frames, const state_directory *directory,
                                      const tamis_allocator *memory, const state_segment *segment,
                                      tamis_error *err) {
    struct stat st;
    *frames = (state_frames){.fd = -1,
                             .path = tamis__state_log_path(directory, segment->number),
                             .seed = segment->seed,
                             .memory = memory};
    if (!tamis__state_bytes_reserve(memory, &frames->buffer, BUFFER))
        return tamis__fail_nomem(err, frames->path.text, BUFFER);
    tamis_status status = tamis__file_open(&frames->fd, &st, frames->path.text, err);
    if (status == TAMIS_OK) {
        frames->end = (uint64_t)st.st_size;
        if (segment->bytes && frames->end < segment->bytes)
            status = tamis__state_fail_damaged(frames, frames->end,
                                               "it ends before the length in the manifest", err);
        else if (segment->bytes)
            frames->end = segment->bytes;
    } else {
        frames->fd = -1;
        if (status == TAMIS_E_IO && err && err->sys_errno == ENOENT)
            status = tamis__fail(err, TAMIS_E_DAMAGED, ENOENT, "%s: is not there; " STATE_REMEDY,
                                 tamis__show(frames->path.text).text);
    }
    if (status == TAMIS_OK)
        status = fill_buffer(frames, err);
    if (status == TAMIS_OK)
        status = read_header(frames, segment, err);
    if (status != TAMIS_OK)
        tamis__state_frames_close(frames);
    return status;
}

void tamis__state_frames_close(state_frames *frames) {
    if (frames->fd >= 0)
        tamis__sys.close(frames->fd);
    frames->fd = -1;
    tamis__state_bytes_free(frames->memory, &frames->buffer);
}

static bool is_valid_size(uint32_t type, size_t size) {
    switch (type) {
    case STATE_KEYS:
    case STATE_WINDOW_KEYS:
        return size > 0 && size % tamis__state_key_size(type) == 0 &&
               size <= STATE_KEYS_FRAME * tamis__state_key_size(type);
    case STATE_TIME:
    case STATE_SIZE_HINT:
        return size == 8;
    case STATE_NOTE:
        return size > 0 && size <= TAMIS_STATE_CHECKPOINT_MAX;
    case STATE_COMMIT:
    case STATE_LAST:
        return size >= STATE_COMMIT_FIXED && size <= STATE_COMMIT_FIXED + TAMIS_STATE_CHECKPOINT_MAX;
    default:
        return false;
    }
}

/* Size of the frame that begins at `bytes`, with `available` bytes available; 0 if there is no complete
 * frame. */
static size_t frame_size(const uint8_t *bytes, size_t available) {
    if (available < STATE_FRAME_HEADER)
        return 0;
    const size_t size = tamis__load32le(bytes + 4);
    if (!is_valid_size(tamis__load32le(bytes), size) || size > available - STATE_FRAME_HEADER)
        return 0;
    return STATE_FRAME_HEADER + size;
}

tamis_status tamis__state_frames_next(state_frames *frames, state_frame *frame, tamis_error *err) {
    if (unread_bytes(frames) < STATE_FRAME_MAX) {
        const tamis_status status = fill_buffer(frames, err);
        if (status != TAMIS_OK)
            return status;
    }
    const uint8_t *bytes = frames->buffer.data + frames->from;
    const size_t size = frame_size(bytes, unread_bytes(frames));
    const uint64_t check = size ? tamis__state_frame_check(bytes, size, frames->check) : 0;
    *frame =
        (state_frame){.offset = frames->offset, .before = frames->check, .broken = unread_bytes(frames) > 0};
    if (size == 0 || check != tamis__load64le(bytes + 8))
        return TAMIS_OK;
    frame->type = tamis__load32le(bytes);
    frame->size = size - STATE_FRAME_HEADER;
    frame->payload = bytes + STATE_FRAME_HEADER;
    frame->broken = false;
    frames->check = check;
    frames->from += size;
    frames->offset += size;
    return TAMIS_OK;
}

void tamis__state_commit_read(const state_frame *frame, state_commit *commit) {
    const uint8_t *from = frame->payload;
    *commit = (state_commit){.number = tamis__load64le(from + 8),
                             .keys = tamis__load64le(from + 16),
                             .hint = tamis__load64le(from + 24),
                             .notes = tamis__load64le(from + 32),
                             .flags = tamis__load32le(from + 40),
                             .full = tamis__load32le(from + 44)};
}

/* ---- after the break ---- */

static bool is_commit(const state_frames *frames, const uint8_t *bytes, size_t available, uint64_t offset) {
    const size_t size = frame_size(bytes, available);
    if (size == 0 || tamis__load32le(bytes) != STATE_COMMIT)
        return false;
    const uint8_t *payload = bytes + STATE_FRAME_HEADER;
    return tamis__load64le(payload) ==
           tamis__state_commit_check(payload, size - STATE_FRAME_HEADER, frames->seed, offset);
}

tamis_status tamis__state_frames_check_end(state_frames *frames, tamis_error *err) {
    const uint64_t broken = frames->offset;
    for (;;) {
        const tamis_status status = fill_buffer(frames, err);
        if (status != TAMIS_OK)
            return status;
        const bool last = frames->offset + frames->buffer.size == frames->end;
        const size_t available = frames->buffer.size;
        /* A commit that begins in the first `chunk` bytes is completely in the buffer. */
        const size_t chunk = last ? available : available - STATE_FRAME_MAX;
        for (size_t i = 0; i < chunk; i++) {
            const uint8_t *found = memchr(frames->buffer.data + i, 'C', chunk - i);
            if (!found)
                break;
            i = (size_t)(found - frames->buffer.data);
            if (is_commit(frames, found, available - i, frames->offset + i))
                return tamis__state_fail_damaged(frames, broken, "is not what was written", err);
        }
        if (last)
            return TAMIS_OK;
        frames->from = chunk;
        frames->offset += chunk;
    }
}

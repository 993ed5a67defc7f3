/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The manifest: the list of the valid files of a state, with plan, notes and segment lengths.
 *
 *     0     magic
 *     8     version
 *     12    features, 0: bit flags that a reader must know
 *     16    total size
 *     24    check: XXH3-64 of the bytes from 32 on, seeded by the XXH3-64 of the bytes before 24
 *     32    fields, in the order of code_fields; then the notes
 *
 * It is read and replaced as a whole. The new content goes to manifest.new, is synced, and is renamed. So the
 * name always refers to a complete manifest (I1).
 *
 * One list of fields (code_fields) serves for writing and reading, so that the two cannot differ. All sizes
 * are checked before memory is allocated. docs/DURABILITY.md describes the format.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/system.h"
#include "store/file/file_error.h"
#include "store/file/file_fingerprint.h"
#include "store/file/filter_file.h"
#include "store/state/state_int.h"

static const uint8_t magic[8] = {0x89, 'T', 'A', 'M', 'S', 'T', '\r', '\n'};

enum {
    VERSION = 3, /* of a window; 2 is written if the plan has a target, else 1 */
    HEADER_SIZE = 32,
    SEGMENT_ROW = 48,
    FALSE_PRESENT_MAX = 1 << 16
};
/* Size limit: notes, and 64 MiB for everything else. */
#define MANIFEST_SIZE_MAX ((uint64_t)STATE_NOTES_MAX * 2 + ((uint64_t)64 << 20))

/* ---- in memory ---- */

void tamis__state_manifest_release(state_manifest *manifest, const tamis_allocator *memory) {
    tamis__state_bytes_free(memory, &manifest->metadata);
    tamis__state_bytes_free(memory, &manifest->snapshot.false_present);
    tamis__free(memory, manifest->segments, manifest->segment_capacity * sizeof(state_segment));
    memset(manifest, 0, sizeof *manifest);
}

tamis_status tamis__state_manifest_copy(state_manifest *copy, const tamis_allocator *memory,
                                        const state_manifest *from, size_t drop, tamis_error *err) {
    const size_t count = from->segment_count - drop, size = (count + 1) * sizeof(state_segment);
    *copy = *from;
    copy->metadata = copy->snapshot.false_present = (state_bytes){NULL, 0, 0};
    copy->segment_count = count;
    copy->segment_capacity = count + 1;
    copy->segments = tamis__alloc(memory, size, _Alignof(state_segment));
    if (copy->segments &&
        tamis__state_bytes_add(memory, &copy->metadata, from->metadata.data, from->metadata.size) &&
        tamis__state_bytes_add(memory, &copy->snapshot.false_present, from->snapshot.false_present.data,
                               from->snapshot.false_present.size)) {
        if (count > 0)
            memcpy(copy->segments, from->segments + drop, count * sizeof(state_segment));
        return TAMIS_OK;
    }
    tamis__state_manifest_release(copy, memory);
    return tamis__fail_nomem(err, "manifest", size + from->metadata.size + from->snapshot.false_present.size);
}

tamis_status tamis__state_note_add(state_notes *notes, const tamis_allocator *memory, const void *bytes,
                                   size_t size, tamis_error *err) {
    state_note *list =
        tamis__array_reserve(memory, notes->list, sizeof *list, notes->count + 1, &notes->capacity);
    if (!list)
        return tamis__fail_nomem(err, "note", (notes->count + 1) * sizeof *list);
    notes->list = list;
    uint8_t *copy = tamis__alloc(memory, size, 1);
    if (!copy)
        return tamis__fail_nomem(err, "note", size);
    memcpy(copy, bytes, size);
    notes->list[notes->count++] = (state_note){copy, size};
    notes->bytes += size + STATE_NOTE_SIZE;
    return TAMIS_OK;
}

void tamis__state_notes_cut(const tamis_allocator *memory, state_notes *notes, uint64_t count) {
    while (notes->count > count) {
        state_note *note = &notes->list[--notes->count];
        notes->bytes -= note->size + STATE_NOTE_SIZE;
        tamis__free(memory, note->bytes, note->size);
    }
}

void tamis__state_notes_free(const tamis_allocator *memory, state_notes *notes) {
    tamis__state_notes_cut(memory, notes, 0);
    tamis__free(memory, notes->list, notes->capacity * sizeof *notes->list);
    *notes = (state_notes){0};
}

/* ---- encoding and decoding, by one list of fields ---- */

/* Encoder if `out` is set, else a decoder that reads from `cursor`. */
typedef struct coder {
    const tamis_allocator *memory;
    state_bytes *out;
    const uint8_t *cursor, *end;
    bool no_memory;
    bool bad; /* the bytes are not a valid manifest */
} coder;

static void code_bytes(coder *c, void *bytes, size_t size) {
    if (c->out) {
        c->no_memory = c->no_memory || !tamis__state_bytes_add(c->memory, c->out, bytes, size);
    } else if (c->bad || (size_t)(c->end - c->cursor) < size) {
        c->bad = true;
        memset(bytes, 0, size);
    } else {
        memcpy(bytes, c->cursor, size);
        c->cursor += size;
    }
}

static void code64(coder *c, uint64_t *value) {
    uint8_t bytes[8];
    tamis__store64le(bytes, *value);
    code_bytes(c, bytes, 8);
    *value = tamis__load64le(bytes);
}

static void code32(coder *c, uint32_t *value) {
    uint64_t wide = *value;
    code64(c, &wide);
    c->bad = c->bad || wide > UINT32_MAX;
    *value = (uint32_t)wide;
}

static void code_real(coder *c, double *value, double max) {
    uint64_t bits;
    memcpy(&bits, value, sizeof bits);
    code64(c, &bits);
    memcpy(value, &bits, sizeof bits);
    c->bad = c->bad || !(*value >= 0 && *value <= max);
}

static void code_plan(coder *c, tamis_plan *plan) {
    uint32_t kind = (uint32_t)plan->kind, scheme = (uint32_t)plan->scheme;
    code32(c, &kind);
    code32(c, &scheme);
    plan->kind = (tamis_kind)kind;
    plan->scheme = (tamis_scheme)scheme;
    code64(c, &plan->capacity);
    code_real(c, &plan->fpr, 1);
    code_real(c, &plan->fpr_predicted, 1);
    code64(c, &plan->bits);
    code32(c, &plan->probes);
    code32(c, &plan->slot_bits);
    code32(c, &plan->home_bits);
    code32(c, &plan->partitions);
    code64(c, &plan->lines);
    code64(c, &plan->memory);
    code64(c, &plan->memory_limit);
    code_real(c, &plan->bits_per_key, 0x1p62);
    code_real(c, &plan->lines_touched, 0x1p62);
    code_bytes(c, plan->reason, sizeof plan->reason);
    plan->reason[sizeof plan->reason - 1] = '\0';
}

/* Encodes a length and that many bytes, at most `max`. */
static void code_run(coder *c, state_bytes *run, uint64_t max) {
    uint64_t size = run->size;
    code64(c, &size);
    c->bad = c->bad || size > max || (!c->out && size > (uint64_t)(c->end - c->cursor));
    if (c->bad || size == 0)
        return;
    if (!c->out) {
        c->no_memory = c->no_memory || !tamis__state_bytes_reserve(c->memory, run, (size_t)size);
        if (c->no_memory)
            return;
        run->size = (size_t)size;
    }
    code_bytes(c, run->data, (size_t)size);
}

static void code_snapshot(coder *c, state_snapshot *snapshot) {
    code64(c, &snapshot->number);
    code64(c, &snapshot->bytes);
    code64(c, &snapshot->covers.number);
    code64(c, &snapshot->covers.keys);
    code64(c, &snapshot->covers.hint);
    code64(c, &snapshot->covers.notes);
    code32(c, &snapshot->covers.flags);
    code32(c, &snapshot->covers.full);
    code_run(c, &snapshot->false_present, 8 * FALSE_PRESENT_MAX);
    c->bad = c->bad || snapshot->false_present.size % 8;
}

static void code_segment(coder *c, state_segment *segment) {
    code64(c, &segment->number);
    code64(c, &segment->epoch);
    code64(c, &segment->seed);
    code64(c, &segment->first_key);
    code64(c, &segment->bytes);
    code64(c, &segment->check);
}

static void code_segments(coder *c, state_manifest *manifest) {
    uint64_t count = manifest->segment_count;
    code64(c, &count);
    c->bad = c->bad || count < 1 || count > STATE_SEGMENTS_MAX ||
             (!c->out && count > (uint64_t)(c->end - c->cursor) / SEGMENT_ROW);
    if (c->bad)
        return;
    if (!c->out) {
        const size_t size = (size_t)count * sizeof(state_segment);
        manifest->segments = tamis__alloc(c->memory, size, _Alignof(state_segment));
        c->no_memory = c->no_memory || !manifest->segments;
        if (c->no_memory)
            return;
        manifest->segment_count = manifest->segment_capacity = (size_t)count;
    }
    for (size_t i = 0; i < manifest->segment_count; i++)
        code_segment(c, &manifest->segments[i]);
}

static void code_window(coder *c, tamis_plan *plan) {
    uint32_t refresh = plan->refresh;
    code64(c, &plan->window);
    code64(c, &plan->step);
    code64(c, &plan->lateness);
    code32(c, &refresh);
    c->bad = c->bad || refresh > 1;
    plan->refresh = refresh;
}

static void code_fields(coder *c, state_manifest *manifest) {
    uint32_t flags = manifest->allow_over_capacity | (uint32_t)manifest->frozen << 1 |
                     (uint32_t)(manifest->plan.target > 0) << 2 |
                     (uint32_t)(manifest->plan.kind == TAMIS_KIND_WINDOW) << 3;
    code64(c, &manifest->epoch);
    code64(c, &manifest->next);
    code_plan(c, &manifest->plan);
    code64(c, &manifest->seed);
    code64(c, &manifest->secret_fingerprint);
    code32(c, &flags);
    manifest->allow_over_capacity = flags & 1;
    manifest->frozen = flags & 2;
    if (flags & 4)
        code64(c, &manifest->plan.target);
    if (flags & 8)
        code_window(c, &manifest->plan);
    code_run(c, &manifest->metadata, TAMIS_STATE_METADATA_MAX + 1);
    code_snapshot(c, &manifest->snapshot);
    code_segments(c, manifest);
}

static void put_notes(coder *c, const state_notes *notes, uint64_t count) {
    code64(c, &count);
    for (uint64_t i = 0; i < count; i++) {
        state_bytes note = {notes->list[i].bytes, notes->list[i].size, notes->list[i].size};
        code_run(c, &note, TAMIS_STATE_CHECKPOINT_MAX);
    }
}

static tamis_status get_notes(coder *c, state_notes *notes, tamis_error *err) {
    uint64_t count = 0;
    tamis_status status = TAMIS_OK;
    code64(c, &count);
    for (uint64_t i = 0; i < count && status == TAMIS_OK && !c->bad; i++) {
        uint64_t size = 0;
        code64(c, &size);
        c->bad =
            c->bad || size < 1 || size > TAMIS_STATE_CHECKPOINT_MAX || size > (uint64_t)(c->end - c->cursor);
        if (c->bad)
            break;
        status = tamis__state_note_add(notes, c->memory, c->cursor, (size_t)size, err);
        c->cursor += size;
    }
    return status;
}

static uint64_t checksum_of(const uint8_t *bytes, size_t size) {
    return XXH3_64bits_withSeed(bytes + HEADER_SIZE, size - HEADER_SIZE, XXH3_64bits(bytes, 24));
}

/* ---- the file ---- */

/* The lowest version that has all fields of the plan. */
static uint32_t version_of(const tamis_plan *plan) {
    return plan->kind == TAMIS_KIND_WINDOW ? VERSION : plan->target > 0 ? 2 : 1;
}

/* Encodes a manifest of the state, with the state's first `note_count` notes. */
static tamis_status encode(const tamis_state *state, const state_manifest *manifest, uint64_t note_count,
                           state_bytes *out, tamis_error *err) {
    state_manifest fields = *manifest; /* an encoder only reads it */
    coder c = {.memory = &state->memory, .out = out};
    uint8_t header[HEADER_SIZE] = {0};
    code_bytes(&c, header, HEADER_SIZE);
    code_fields(&c, &fields);
    put_notes(&c, &state->notes, note_count);
    if (c.no_memory)
        return tamis__fail_nomem(err, "manifest", out->size);
    if (c.bad)
        return tamis__fail(
            err, TAMIS_E_RANGE, 0,
            "state: its log has more than %d segments; free space, so that a snapshot can be made",
            (int)STATE_SEGMENTS_MAX);
    memcpy(out->data, magic, sizeof magic);
    tamis__store32le(out->data + 8, version_of(&manifest->plan));
    tamis__store64le(out->data + 16, out->size);
    tamis__store64le(out->data + 24, checksum_of(out->data, out->size));
    return TAMIS_OK;
}

static tamis_status write_temp_file(const char *temp, const state_bytes *bytes, tamis_error *err) {
    int fd;
    tamis_status status = tamis__state_create(&fd, temp, err);
    if (status != TAMIS_OK)
        return status;
    status = tamis__state_write_file(fd, temp, bytes->data, bytes->size, err);
    if (status == TAMIS_OK && tamis__sync(fd) < 0)
        status = tamis__fail_file(err, temp, errno);
    tamis__sys.close(fd);
    if (status != TAMIS_OK)
        (void)tamis__sys.unlink(temp);
    return status;
}

tamis_status tamis__state_manifest_write(const tamis_state *state, const state_manifest *manifest,
                                         uint64_t note_count, bool *replaced, tamis_error *err) {
    const state_path path = tamis__state_path(&state->directory, "manifest");
    const state_path temp = tamis__state_path(&state->directory, "manifest.new");
    state_bytes bytes = {NULL, 0, 0};
    *replaced = false;
    tamis_status status = encode(state, manifest, note_count, &bytes, err);
    if (status == TAMIS_OK)
        status = write_temp_file(temp.text, &bytes, err);
    tamis__state_bytes_free(&state->memory, &bytes);
    if (status != TAMIS_OK)
        return status;
    /* A failed rename may still have happened on the disk. */
    *replaced = true;
    if (tamis__sys.rename(temp.text, path.text) < 0)
        return tamis__fail_file(err, path.text, errno);
    return tamis__state_directory_sync(&state->directory, err);
}

static tamis_status fail_manifest(const char *path, tamis_status status, const char *why, tamis_error *err) {
    return tamis__fail(err, status, 0, "%s: %s", tamis__show(path).text, why);
}

static bool are_in_order(const state_manifest *manifest) {
    uint64_t number = 0, keys = manifest->snapshot.number ? manifest->snapshot.covers.keys : 0;
    for (size_t i = 0; i < manifest->segment_count; i++) {
        const state_segment *segment = &manifest->segments[i];
        const bool live = i + 1 == manifest->segment_count;
        if (segment->number <= number || segment->number >= manifest->next ||
            segment->epoch > manifest->epoch || segment->first_key < keys ||
            (i == 0 && segment->first_key != keys) || live != (segment->bytes == 0) ||
            segment->bytes > INT64_MAX)
            return false;
        number = segment->number;
        keys = segment->first_key;
    }
    return manifest->next <= STATE_NUMBER_MAX && manifest->snapshot.number < manifest->next;
}

/* Decodes the bytes of the file `path` into state->manifest and state->notes. */
static tamis_status decode(tamis_state *state, const char *path, const state_bytes *bytes, tamis_error *err) {
    static const char damaged[] = "is not what was written; " STATE_REMEDY;
    state_manifest *manifest = &state->manifest;
    if (bytes->size < HEADER_SIZE)
        return fail_manifest(path, TAMIS_E_DAMAGED, damaged, err);
    if (memcmp(bytes->data, magic, sizeof magic) != 0)
        return fail_manifest(path, TAMIS_E_FORMAT,
                             "is not the manifest of a state; name the directory of one, or a new directory",
                             err);
    if (tamis__load64le(bytes->data + 16) != bytes->size ||
        tamis__load64le(bytes->data + 24) != checksum_of(bytes->data, bytes->size))
        return fail_manifest(path, TAMIS_E_DAMAGED, damaged, err);
    if (tamis__load32le(bytes->data + 8) > VERSION || tamis__load32le(bytes->data + 12))
        return fail_manifest(path, TAMIS_E_FORMAT, "is of a later version; use a newer tamis", err);
    coder c = {
        .memory = &state->memory, .cursor = bytes->data + HEADER_SIZE, .end = bytes->data + bytes->size};
    manifest->plan = (tamis_plan)TAMIS_PLAN_INIT;
    code_fields(&c, manifest);
    const tamis_status status = get_notes(&c, &state->notes, err);
    if (status != TAMIS_OK)
        return status;
    if (c.no_memory)
        return tamis__fail_nomem(err, path, bytes->size);
    const state_bytes *metadata = &manifest->metadata;
    if (c.bad || c.cursor != c.end || !are_in_order(manifest) || metadata->size < 1 ||
        metadata->data[metadata->size - 1])
        return fail_manifest(path, TAMIS_E_DAMAGED, damaged, err);
    return TAMIS_OK;
}

static tamis_status read_whole(const char *path, const tamis_allocator *memory, state_bytes *bytes,
                               bool *exists, tamis_error *err) {
    struct stat st;
    tamis_error why = TAMIS_ERROR_INIT;
    int fd;
    tamis_status status = tamis__file_open(&fd, &st, path, &why);
    *exists = status == TAMIS_OK || why.sys_errno != ENOENT;
    if (status != TAMIS_OK)
        return *exists ? tamis__fail(err, status, why.sys_errno, "%s", why.text) : TAMIS_OK;
    if ((uint64_t)st.st_size > MANIFEST_SIZE_MAX)
        status = fail_manifest(path, TAMIS_E_DAMAGED, "is too long for a manifest; " STATE_REMEDY, err);
    else if (!tamis__state_bytes_reserve(memory, bytes, (size_t)st.st_size + 1))
        status = tamis__fail_nomem(err, path, (uint64_t)st.st_size);
    if (status == TAMIS_OK)
        status = tamis__file_read(&(tamis__open_file){.fd = fd, .name = path},
                                  (tamis__file_span){0, (size_t)st.st_size}, bytes->data, &bytes->size, err);
    tamis__sys.close(fd);
    return status;
}

tamis_status tamis__state_manifest_read(tamis_state *state, bool *exists, tamis_error *err) {
    const state_path path = tamis__state_path(&state->directory, "manifest");
    state_bytes bytes = {NULL, 0, 0};
    memset(&state->manifest, 0, sizeof state->manifest);
    state->notes = (state_notes){0};
    tamis_status status = read_whole(path.text, &state->memory, &bytes, exists, err);
    if (status == TAMIS_OK && *exists)
        status = decode(state, path.text, &bytes, err);
    state->manifest.note_count = state->notes.count;
    tamis__state_bytes_free(&state->memory, &bytes);
    if (status != TAMIS_OK) {
        tamis__state_manifest_release(&state->manifest, &state->memory);
        tamis__state_notes_free(&state->memory, &state->notes);
    }
    return status;
}

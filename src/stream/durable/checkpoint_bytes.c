/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Encoding of a checkpoint. All numbers are little-endian and have 64 bits:
 *
 *     magic         'A' 'C' 'C' 2 0 0 0 0
 *     numbers       flags of the run, counts (8), form (4), input, number of inputs
 *     inputs        for each: flags, offset, records, lines, fingerprint (5), bytes of the name, the name
 *     outputs       for both: form, flags, header, compression, uncommitted bytes (2), fingerprint (5), bytes
 *                   of the path, the path
 *     command       bytes of the command, the command
 *     late          with flag 8: number of late records
 *     run key       with flag 64: `run_key`. Some inputs are left out then, here and in the input counts
 *     input counts  with flag 32: for each input a mask, then a number for each bit that is set in it, from
 *                   bit 0: records (0), unique, duplicates, unknown, late, redelivered, missing, malformed,
 *                   bytes_in (8). Other counts are 0
 *     positions     with flag 16: redelivered records, number of sources, and for each: bytes of its name,
 *                   its name, first position, hash of the key there, last position, hash of the key there
 *
 *     flags of      1            2           4             8          16          32            64
 *     the run       finished     has data    closed        late       positions   input counts  run key
 *     an input      regular      compressed  unterminated  truncated  ended       rotated
 *     an output     owes a       has a       is a copy
 *                   terminator   header
 *
 * checkpoint.h explains the flags. The counts of the run are records, unique, duplicates, unknown, missing,
 * malformed, bytes_in and bytes_read. A fingerprint is device, inode, length, first hash, last hash. Texts
 * have no NUL.
 *
 * The checksums of the state cover these bytes. So bytes that cannot be decoded are not damaged: they are
 * from another version of this library, or from another program.
 */
#include <string.h>

#include <tamis/experimental/state.h>

#include "base/bytes.h"
#include "stream/durable/checkpoint.h"
#include "stream/run/stats.h"

static const unsigned char MAGIC[8] = {'A', 'C', 'C', 2};

enum {
    FINISHED = 1,
    HAS_DATA = 2,
    CLOSED = 4,
    HAS_LATE = 8,
    HAS_POSITIONS = 16,
    HAS_INPUT_COUNTS = 32,
    HAS_RUN_KEY = 64,
    REGULAR = 1,
    COMPRESSED = 2,
    UNTERMINATED = 4,
    TRUNCATED = 8,
    ENDED = 16,
    ROTATED = 32,
    OWES_TERMINATOR = 1,
    HEADER_DONE = 2,
    IS_COPY = 4,
    NAME_SIZE_MAX = 65536,
    MIN_INPUT_SIZE = 8 * 10 /* bytes of an input with an empty name */
};

/* ---- writing: first with `to` NULL, to count the bytes ---- */

typedef struct byte_writer {
    unsigned char *to;
    size_t size;
} byte_writer;

static void put_bytes(byte_writer *i, const void *bytes, size_t size) {
    if (i->to && size > 0)
        memcpy(i->to + i->size, bytes, size);
    i->size += size;
}

static void put_number(byte_writer *i, uint64_t value) {
    unsigned char bytes[8];
    tamis__store64le(bytes, value);
    put_bytes(i, bytes, sizeof bytes);
}

static void put_text(byte_writer *i, const char *text) {
    const size_t size = text ? strlen(text) : 0;
    put_number(i, size);
    put_bytes(i, text, size);
}

static void put_fingerprint(byte_writer *i, const tamis__file_fingerprint *fingerprint) {
    const uint64_t fields[] = {fingerprint->device, fingerprint->inode, fingerprint->length,
                               fingerprint->first_hash, fingerprint->last_hash};
    for (size_t n = 0; n < sizeof fields / sizeof *fields; n++)
        put_number(i, fields[n]);
}

static void put_positions(byte_writer *i, const tamis__source_positions *positions) {
    if (i->to)
        tamis__source_positions_encode(positions, false, i->to + i->size);
    i->size += tamis__source_positions_size(positions, false);
}

/* Most of the counts of an input are 0, and there may be thousands of inputs: a mask says which ones
 * follow. */
static void put_counts(byte_writer *i, tamis_stream_stats stats) {
    uint64_t *counters[TAMIS__COUNTERS], mask = 0;
    tamis__stats_counters(counters, &stats);
    for (unsigned n = 0; n < TAMIS__COUNTERS; n++)
        mask |= (uint64_t)(*counters[n] > 0) << n;
    put_number(i, mask);
    for (unsigned n = 0; n < TAMIS__COUNTERS; n++)
        if (*counters[n] > 0)
            put_number(i, *counters[n]);
}

static void put_checkpoint(byte_writer *i, const tamis__checkpoint *a) {
    const tamis_stream_stats *s = &a->stats;
    size_t left_out = 0;
    for (size_t n = 0; n < a->input_count; n++)
        left_out += a->inputs[n].left_out;
    const uint64_t numbers[] = {(a->finished ? FINISHED : 0u) | (a->has_data ? HAS_DATA : 0u) |
                                    (a->closed ? CLOSED : 0u) | (s->late > 0 ? HAS_LATE : 0u) |
                                    (a->run_key != 0 ? HAS_RUN_KEY : 0u) | HAS_INPUT_COUNTS |
                                    (a->positions.written_count > 0 ? HAS_POSITIONS : 0u),
                                s->records,
                                s->unique,
                                s->duplicates,
                                s->unknown,
                                s->missing,
                                s->malformed,
                                s->bytes_in,
                                s->bytes_read};
    put_bytes(i, MAGIC, sizeof MAGIC);
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
        put_number(i, numbers[n]);
    for (int n = 0; n < TAMIS__FORMS; n++)
        put_number(i, a->form[n]);
    put_number(i, left_out > 0 ? a->input_count - left_out - 1 : a->input);
    put_number(i, a->input_count - left_out);
    for (size_t n = 0; n < a->input_count; n++) {
        const tamis__checkpoint_input *in = &a->inputs[n];
        if (in->left_out)
            continue;
        put_number(i, (in->regular ? REGULAR : 0u) | (in->compressed ? COMPRESSED : 0u) |
                          (in->position.unterminated ? UNTERMINATED : 0u) | (in->truncated ? TRUNCATED : 0u) |
                          (in->ended ? ENDED : 0u) | (in->rotated ? ROTATED : 0u));
        put_number(i, in->position.offset);
        put_number(i, in->position.records);
        put_number(i, in->position.lines);
        put_fingerprint(i, &in->fingerprint);
        put_text(i, in->name);
    }
    for (int n = 0; n < 2; n++) {
        put_number(i, a->outputs[n].form);
        put_number(i, (a->outputs[n].owes_terminator ? OWES_TERMINATOR : 0u) |
                          (a->outputs[n].header_done ? HEADER_DONE : 0u) |
                          (a->outputs[n].is_copy ? IS_COPY : 0u));
        put_number(i, a->outputs[n].header);
        put_number(i, (uint64_t)a->outputs[n].compression);
        put_number(i, a->outputs[n].uncommitted_offset);
        put_number(i, a->outputs[n].uncommitted_size);
        put_fingerprint(i, &a->outputs[n].fingerprint);
        put_text(i, a->outputs[n].path);
    }
    put_text(i, a->command);
    if (s->late > 0)
        put_number(i, s->late);
    if (a->run_key != 0)
        put_number(i, a->run_key);
    for (size_t n = 0; n < a->input_count; n++)
        if (!a->inputs[n].left_out)
            put_counts(i, a->inputs[n].stats);
    if (a->positions.written_count > 0) {
        put_number(i, s->redelivered);
        put_positions(i, &a->positions);
    }
}

tamis_status tamis__checkpoint_encode(const tamis__checkpoint *checkpoint, unsigned char **bytes,
                                      size_t *size, tamis_error *err) {
    byte_writer i = {NULL, 0};
    put_checkpoint(&i, checkpoint);
    if (i.size > TAMIS_STATE_CHECKPOINT_MAX)
        return tamis__fail(
            err, TAMIS_E_RANGE, 0,
            "stream: the names of %zu inputs take %zu bytes of each commit, of which there may be %d; "
            "run some of them, then the others",
            checkpoint->input_count, i.size, TAMIS_STATE_CHECKPOINT_MAX);
    *size = i.size;
    i = (byte_writer){tamis__alloc(&checkpoint->memory, i.size, 1), 0};
    if (!i.to)
        return tamis__fail_nomem(err, "checkpoint of a run", *size);
    put_checkpoint(&i, checkpoint);
    *bytes = i.to;
    return TAMIS_OK;
}

/* ---- reading ---- */

typedef struct byte_reader {
    const unsigned char *next;
    size_t left;
    bool is_valid; /* false after a read beyond the end */
} byte_reader;

static uint64_t read_number(byte_reader *e) {
    if (e->left < 8)
        e->is_valid = false;
    if (!e->is_valid)
        return 0;
    e->next += 8;
    e->left -= 8;
    return tamis__load64le(e->next - 8);
}

/* Returns NULL if there is no memory, or the bytes are not a text (is_valid is false then). */
static char *read_text(byte_reader *e, const tamis_allocator *memory) {
    const uint64_t size = read_number(e);
    if (size > e->left || size > NAME_SIZE_MAX)
        e->is_valid = false;
    char *text = e->is_valid ? tamis__alloc(memory, (size_t)size + 1, 1) : NULL;
    if (!text)
        return NULL;
    memcpy(text, e->next, (size_t)size);
    text[size] = '\0';
    e->next += size;
    e->left -= (size_t)size;
    if (strlen(text) == size)
        return text;
    tamis__free(memory, text, (size_t)size + 1);
    e->is_valid = false;
    return NULL;
}

static tamis__file_fingerprint read_fingerprint(byte_reader *e) {
    tamis__file_fingerprint fingerprint;
    fingerprint.device = read_number(e);
    fingerprint.inode = read_number(e);
    fingerprint.length = read_number(e);
    fingerprint.first_hash = read_number(e);
    fingerprint.last_hash = read_number(e);
    return fingerprint;
}

static tamis_status fail_format(tamis_error *err) {
    return tamis__fail(err, TAMIS_E_FORMAT, 0,
                       "state: a commit was not made by this program; use the program that made it");
}

static void read_counts(byte_reader *e, tamis_stream_stats *stats) {
    uint64_t *counters[TAMIS__COUNTERS];
    const uint64_t mask = read_number(e);
    tamis__stats_counters(counters, stats);
    e->is_valid = e->is_valid && mask >> TAMIS__COUNTERS == 0;
    for (unsigned n = 0; n < TAMIS__COUNTERS; n++)
        if (mask >> n & 1)
            *counters[n] = read_number(e);
}

/* Positions are the last part of a checkpoint. False if memory ran out, or the bytes are something else
 * (is_valid is false then). */
static bool read_positions(byte_reader *e, tamis__checkpoint *a) {
    const tamis_status status = tamis__source_positions_decode(&a->positions, e->next, e->left, NULL);
    e->is_valid = e->is_valid && status != TAMIS_E_FORMAT;
    e->left = 0;
    return status == TAMIS_OK;
}

static bool read_inputs_and_outputs(byte_reader *e, tamis__checkpoint *a) {
    for (size_t n = 0; n < a->input_count; n++) {
        tamis__checkpoint_input *in = &a->inputs[n];
        const uint64_t flags = read_number(e);
        in->regular = flags & REGULAR;
        in->compressed = flags & COMPRESSED;
        in->position.unterminated = flags & UNTERMINATED;
        in->truncated = flags & TRUNCATED;
        in->ended = flags & ENDED;
        in->rotated = flags & ROTATED;
        in->position.offset = read_number(e);
        in->position.records = read_number(e);
        in->position.lines = read_number(e);
        in->fingerprint = read_fingerprint(e);
        in->name = read_text(e, &a->memory);
        if (!in->name)
            return false;
    }
    for (int n = 0; n < 2; n++) {
        const uint64_t form = read_number(e), flags = read_number(e);
        a->outputs[n].form = (tamis__output_form)form;
        a->outputs[n].owes_terminator = flags & OWES_TERMINATOR;
        a->outputs[n].header_done = flags & HEADER_DONE;
        a->outputs[n].is_copy = flags & IS_COPY;
        a->outputs[n].header = read_number(e);
        a->outputs[n].compression = (int)read_number(e);
        a->outputs[n].uncommitted_offset = read_number(e);
        a->outputs[n].uncommitted_size = read_number(e);
        a->outputs[n].fingerprint = read_fingerprint(e);
        a->outputs[n].path = read_text(e, &a->memory);
        e->is_valid = e->is_valid && form <= TAMIS__OUTPUT_STREAM;
        if (!a->outputs[n].path)
            return false;
    }
    a->command = read_text(e, &a->memory);
    return a->command != NULL;
}

tamis_status tamis__checkpoint_decode(tamis__checkpoint *checkpoint, const void *bytes, size_t size,
                                      const tamis_allocator *memory, tamis_error *err) {
    byte_reader e = {bytes, size, size >= sizeof MAGIC && memcmp(bytes, MAGIC, sizeof MAGIC) == 0};
    if (!e.is_valid)
        return fail_format(err);
    e.next += sizeof MAGIC;
    e.left -= sizeof MAGIC;
    tamis_stream_stats s = TAMIS_STREAM_STATS_INIT;
    const uint64_t flags = read_number(&e);
    uint64_t *const counts[] = {&s.records, &s.unique,    &s.duplicates, &s.unknown,
                                &s.missing, &s.malformed, &s.bytes_in,   &s.bytes_read};
    for (size_t n = 0; n < sizeof counts / sizeof *counts; n++)
        *counts[n] = read_number(&e);
    uint64_t form[TAMIS__FORMS];
    for (int n = 0; n < TAMIS__FORMS; n++)
        form[n] = read_number(&e);
    const uint64_t input = read_number(&e), inputs = read_number(&e);
    if (!e.is_valid || inputs > e.left / MIN_INPUT_SIZE || input >= inputs)
        return fail_format(err);
    const tamis_status status = tamis__checkpoint_init(checkpoint, (size_t)inputs, memory, err);
    if (status != TAMIS_OK)
        return status;
    checkpoint->finished = flags & FINISHED;
    checkpoint->has_data = flags & HAS_DATA;
    checkpoint->closed = flags & CLOSED;
    checkpoint->stats = s;
    memcpy(checkpoint->form, form, sizeof form);
    checkpoint->input = input;
    bool is_complete = read_inputs_and_outputs(&e, checkpoint);
    if (flags & HAS_LATE)
        checkpoint->stats.late = read_number(&e);
    if (flags & HAS_RUN_KEY)
        checkpoint->run_key = read_number(&e);
    for (size_t n = 0; is_complete && flags & HAS_INPUT_COUNTS && n < checkpoint->input_count; n++) {
        read_counts(&e, &checkpoint->inputs[n].stats);
        /* A note has no positions: the sum is that of the inputs that it keeps. */
        checkpoint->stats.redelivered += checkpoint->inputs[n].stats.redelivered;
    }
    if (is_complete && flags & HAS_POSITIONS) {
        checkpoint->stats.redelivered = read_number(&e);
        is_complete = read_positions(&e, checkpoint);
    }
    if (is_complete && e.is_valid && e.left == 0)
        return TAMIS_OK;
    tamis__checkpoint_release(checkpoint);
    return e.is_valid && !is_complete ? tamis__fail_nomem(err, "checkpoint of a run", NAME_SIZE_MAX)
                                      : fail_format(err);
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Compression to a file. One block of memory holds everything but the library's own allocations:
 *
 *     | tamis__compressor | state of the encoder | output buffer |
 *
 * The buffer is passed on when its free space is less than a step needs (encoder->output_min), and at each
 * flush.
 */
#include "stream/codec/compressor.h"

#include <errno.h>

#include <tamis/experimental/stream.h>

#include "stream/codec/encoder.h"

enum { BUFFER = 64 << 10 };

struct tamis__compressor {
    const tamis__encoder *encoder;
    tamis__codec_memory memory;
    tamis__compressor_sink out;
    size_t block_size; /* bytes of the whole block */
    void *state;
    unsigned char *buffer;
    size_t capacity; /* bytes of `buffer` */
    size_t used;
    bool unflushed; /* bytes were put since the last flush */
};

tamis_status tamis__encoder_fail_memory(const tamis__codec_memory *memory, tamis_error *err) {
    if (memory->refused)
        return tamis__fail_nomem(err, "compression", memory->refused);
    return tamis__fail(err, TAMIS_E_NOMEM, ENOMEM,
                       "compression: out of memory; free memory, or lower its level");
}

/* ---- create and free ---- */

static int effective_level(const tamis__compressor_options *options, const tamis__encoder *encoder) {
    return options->level == TAMIS_COMPRESSION_LEVEL_0 ? 0
           : options->level == 0                       ? encoder->level_default
                                                       : options->level;
}

tamis_status tamis__compressor_check(const tamis__compressor_options *options, tamis_error *err) {
    const int number = (int)options->compression;
    if (number <= TAMIS_COMPRESSION_NONE || number >= TAMIS_COMPRESSIONS)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "compression: %d is not valid; see tamis_compression",
                           number);
    const tamis__encoder *encoder = tamis__encoder_find(options->compression);
    const char *name = tamis_compression_name(options->compression);
    if (!encoder->begin)
        return tamis__fail(
            err, TAMIS_E_UNSUPPORTED, 0,
            "%s: this build of tamis cannot write it; take gzip, or build tamis with its library", name);
    const int level = effective_level(options, encoder);
    if (level < encoder->level_min || level > encoder->level_max)
        return tamis__fail(err, TAMIS_E_RANGE, 0, "%s: has no level %d; give one from %d to %d", name, level,
                           encoder->level_min, encoder->level_max);
    return TAMIS_OK;
}

static size_t round_up_to_line(size_t size) {
    return (size + TAMIS__LINE - 1) / TAMIS__LINE * TAMIS__LINE;
}

tamis_status tamis__compressor_create(tamis__compressor **compressor, const tamis__compressor_options *given,
                                      const tamis_allocator *memory, const tamis__compressor_sink *out,
                                      tamis_error *err) {
    tamis__compressor_options options = *given;
    tamis_status status = tamis__compressor_check(&options, err);
    if (status != TAMIS_OK)
        return status;
    const tamis__encoder *encoder = tamis__encoder_find(options.compression);
    const size_t head = round_up_to_line(sizeof(tamis__compressor)),
                 state = round_up_to_line(encoder->state_size);
    const size_t capacity = encoder->output_min > BUFFER ? encoder->output_min : BUFFER;
    const size_t block_size = head + state + capacity;
    unsigned char *block = tamis__alloc(memory, block_size, TAMIS__LINE);
    if (!block)
        return tamis__fail_nomem(err, "compression", block_size);
    tamis__compressor *made = (tamis__compressor *)(void *)block;
    *made = (tamis__compressor){.encoder = encoder,
                                .memory = {*memory, 0},
                                .out = *out,
                                .block_size = block_size,
                                .state = block + head,
                                .buffer = block + head + state,
                                .capacity = capacity};
    options.level = effective_level(given, encoder);
    status = encoder->begin(made->state, &options, &made->memory, err);
    if (status == TAMIS_OK)
        *compressor = made;
    else
        tamis__free(memory, block, block_size);
    return status;
}

void tamis__compressor_free(tamis__compressor *compressor) {
    if (!compressor)
        return;
    const tamis_allocator memory = compressor->memory.from;
    compressor->encoder->end(compressor->state);
    tamis__free(&memory, compressor, compressor->block_size);
}

/* ---- compression ---- */

static tamis_status emit_buffer(tamis__compressor *p, tamis_error *err) {
    const size_t used = p->used;
    p->used = 0;
    return used ? p->out.emit(p->out.context, p->buffer, used, err) : TAMIS_OK;
}

static tamis_status run_encoder(tamis__compressor *p, tamis__encode_op step, const void *bytes, size_t size,
                                tamis_error *err) {
    tamis__codec_buffer io = {.in = bytes, .in_size = size};
    tamis_status status = TAMIS_OK;
    for (bool done = false; !done && status == TAMIS_OK;) {
        if (p->capacity - p->used < p->encoder->output_min)
            status = emit_buffer(p, err);
        if (status != TAMIS_OK)
            break;
        io.out = p->buffer + p->used;
        io.out_size = p->capacity - p->used;
        status = p->encoder->step(p->state, step, &io, &done, err);
        p->used = p->capacity - io.out_size;
    }
    return status;
}

tamis_status tamis__compressor_put(tamis__compressor *compressor, const void *bytes, size_t size,
                                   tamis_error *err) {
    if (size == 0)
        return TAMIS_OK;
    compressor->unflushed = true;
    return run_encoder(compressor, TAMIS__ENCODE_CONTINUE, bytes, size, err);
}

tamis_status tamis__compressor_flush(tamis__compressor *compressor, tamis_error *err) {
    if (!compressor->unflushed)
        return TAMIS_OK;
    compressor->unflushed = false;
    const tamis_status status = run_encoder(compressor, TAMIS__ENCODE_FLUSH, "", 0, err);
    return status == TAMIS_OK ? emit_buffer(compressor, err) : status;
}

tamis_status tamis__compressor_finish(tamis__compressor *compressor, tamis_error *err) {
    const tamis_status status = run_encoder(compressor, TAMIS__ENCODE_END, "", 0, err);
    return status == TAMIS_OK ? emit_buffer(compressor, err) : status;
}

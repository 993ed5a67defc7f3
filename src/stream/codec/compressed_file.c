/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Compressed filter files.
 *
 *     open    pass 1: decompress everything into a small buffer, check the first bytes, count
 *             pass 2: decompress into one block of exactly that size, then decode the filter
 *     save    filter --encoder--> compressor --> temporary file (file_save.c)
 *
 * The file is read twice because its size is unknown. Pass 1 needs little memory, whatever the file claims.
 * Only a complete, valid stream that begins like a filter leads to a large allocation.
 */
#include <tamis/experimental/compressed.h>

#include <errno.h>
#include <unistd.h>

#include "base/system.h"
#include "base/versioned.h"
#include "store/file/file_error.h"
#include "store/file/file_fingerprint.h"
#include "store/file/filter_file.h"
#include "store/file/source_file.h"
#include "stream/codec/compressor.h"
#include "stream/codec/decompressor.h"

enum { SCRATCH = 64 << 10 };

/* A compressed file and the options for opening it. */
typedef struct input_file {
    tamis__filter_source file;
    tamis__shown name;
    tamis_open_options options; /* complete, with an allocator */
} input_file;

/* Decompresses `capacity` bytes; *got is smaller only at the end of the file. */
static tamis_status read_fully(tamis__decompressor *from, uint8_t *into, size_t capacity, size_t *got,
                               tamis_error *err) {
    for (*got = 0; *got < capacity && !tamis__decompressor_has_ended(from);) {
        size_t size = capacity - *got;
        const tamis_status status = tamis__decompressor_read(from, true, into + *got, &size, err);
        if (status != TAMIS_OK)
            return status;
        *got += size;
    }
    return TAMIS_OK;
}

/* ---- pass 1 ---- */

static tamis_status count_bytes(const input_file *p, tamis__decompressor *from, uint8_t *scratch,
                                uint64_t *size, tamis_error *err) {
    tamis_format format;
    size_t got;
    tamis_status status = read_fully(from, scratch, SCRATCH, &got, err);
    if (status == TAMIS_OK)
        status = tamis__format_recognise(
            &(tamis__encoded_bytes){
                .bytes = scratch, .size = got, .name = p->name.text, .stay = false, .block_size = NULL},
            &p->options, &format, err);
    for (*size = got; status == TAMIS_OK && got == SCRATCH; *size += got)
        status = read_fully(from, scratch, SCRATCH, &got, err);
    return status;
}

static tamis_status create_decompressor(tamis__decompressor **from, const input_file *p, tamis_error *err) {
    const tamis__decompressor_setup setup = {
        .fd = p->file.fd, .name = p->file.path, .memory = p->options.allocator};
    return tamis__decompressor_create(from, &setup, err);
}

static tamis_status measure_content(const input_file *p, uint64_t *size, tamis_error *err) {
    const tamis_allocator *memory = p->options.allocator;
    tamis__decompressor *from;
    uint8_t *scratch = tamis__alloc(memory, SCRATCH, TAMIS__LINE);
    if (!scratch)
        return tamis__fail_nomem(err, p->name.text, SCRATCH);
    tamis_status status = create_decompressor(&from, p, err);
    if (status == TAMIS_OK) {
        status = count_bytes(p, from, scratch, size, err);
        tamis__decompressor_free(from);
    }
    tamis__free(memory, scratch, SCRATCH);
    return status;
}

/* ---- pass 2 ---- */

static tamis_status read_exactly(const input_file *p, tamis__decompressor *from, uint8_t *bytes, size_t size,
                                 tamis_error *err) {
    uint8_t more;
    size_t got, extra = 0;
    tamis_status status = read_fully(from, bytes, size, &got, err);
    if (status == TAMIS_OK && got == size)
        status = read_fully(from, &more, 1, &extra, err); /* reaches the last checksum too */
    if (status != TAMIS_OK || (got == size && extra == 0))
        return status;
    return tamis__fail(err, TAMIS_E_DAMAGED, 0, "%s: was written to while it was read; open it again",
                       p->name.text);
}

static tamis_status decompress_into(const input_file *p, uint8_t *bytes, size_t size, tamis_error *err) {
    tamis__decompressor *from;
    if (tamis__sys.seek(p->file.fd, 0, SEEK_SET) < 0)
        return tamis__fail_file(err, p->file.path, errno);
    tamis_status status = create_decompressor(&from, p, err);
    if (status != TAMIS_OK)
        return status;
    status = read_exactly(p, from, bytes, size, err);
    tamis__decompressor_free(from);
    return status;
}

static tamis_status open_compressed(tamis_filter **filter, const input_file *p, tamis_error *err) {
    tamis_filter *made = NULL;
    const tamis_allocator *memory = p->options.allocator;
    uint64_t size = 0;
    tamis_status status = measure_content(p, &size, err);
    if (status != TAMIS_OK)
        return status;
    size_t capacity = size ? (size_t)size : 1;
    uint8_t *bytes = tamis__alloc(memory, capacity, TAMIS__LINE);
    if (!bytes)
        return tamis__fail_nomem(err, p->name.text, size);
    status = decompress_into(p, bytes, (size_t)size, err);
    if (status == TAMIS_OK)
        status = tamis__format_decode(&made,
                                      &(tamis__encoded_bytes){.bytes = bytes,
                                                              .size = size,
                                                              .name = p->name.text,
                                                              .stay = false,
                                                              .block_size = &capacity,
                                                              .key = p->file.key},
                                      &p->options, err);
    if (capacity)
        tamis__free(memory, bytes, capacity);
    if (status == TAMIS_OK)
        status = tamis__source_file_set(made, p->file.path, &p->file.st, err);
    if (status != TAMIS_OK) {
        tamis_filter_free(made);
        return status;
    }
    *filter = made;
    return TAMIS_OK;
}

/* ---- public functions ---- */

tamis_status tamis_compressed_open(tamis_filter **filter, tamis_compression *compression, const char *path,
                                   const tamis_open_options *given, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED(path, err);
    input_file p = {.file = {.path = path}, .name = tamis__show(path), .options = TAMIS_OPEN_OPTIONS_INIT};
    uint8_t head[TAMIS_COMPRESSION_MAGIC_MAX];
    size_t got;
    tamis_compression found = TAMIS_COMPRESSION_NONE;
    tamis_status status =
        tamis__read_options(&p.options, sizeof p.options, given, "TAMIS_OPEN_OPTIONS_INIT", err);
    if (status == TAMIS_OK)
        status = tamis__filter_file_open(&p.file, err);
    if (status != TAMIS_OK)
        return status;
    const tamis_allocator memory = tamis__allocator_resolve(p.options.allocator);
    p.options.allocator = &memory;
    p.options.writable = true;
    const tamis__open_file file = {.fd = p.file.fd, .name = path};
    status = tamis__file_read(&file, (tamis__file_span){0, sizeof head}, head, &got, err);
    if (status == TAMIS_OK)
        found = tamis_compression_of_bytes(head, got);
    if (status == TAMIS_OK && found != TAMIS_COMPRESSION_NONE)
        status = open_compressed(filter, &p, err);
    tamis__sys.close(p.file.fd);
    if (status == TAMIS_OK && found == TAMIS_COMPRESSION_NONE)
        status = tamis_filter_open(filter, path, given, err);
    if (status == TAMIS_OK && compression)
        *compression = found;
    return status;
}

/* ---- saving ---- */

static tamis_status emit_compressed(void *compressor, const void *bytes, size_t size, tamis_error *err) {
    return tamis__compressor_put(compressor, bytes, size, err);
}

static tamis_status write_compressed(const void *codec_options, const tamis_filter *filter,
                                     const tamis__format *format, const tamis_allocator *memory,
                                     const tamis__emitter *out, tamis_error *err) {
    tamis__compressor *compressor;
    tamis_status status = tamis__compressor_create(&compressor, codec_options, memory,
                                                   &(tamis__compressor_sink){out->emit, out->context}, err);
    if (status != TAMIS_OK)
        return status;
    status = format->encode(filter, &(tamis__emitter){emit_compressed, compressor}, err);
    if (status == TAMIS_OK)
        status = tamis__compressor_finish(compressor, err);
    tamis__compressor_free(compressor);
    return status;
}

tamis_status tamis_compressed_save(tamis_filter *filter, const char *path, tamis_format format,
                                   tamis_compression compression, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED(path, err);
    return tamis_compressed_save_until(filter, path, format, compression, -1, err);
}

tamis_status tamis_compressed_save_until(tamis_filter *filter, const char *path, tamis_format format,
                                         tamis_compression compression, int stop_fd, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED(path, err);
    const tamis__compressor_options codec_options = {compression, 0, true};
    const tamis__wrap wrap = {write_compressed, &codec_options};
    const tamis__save_options options = {
        .format = format,
        .wrap = compression == TAMIS_COMPRESSION_NONE ? NULL : &wrap,
        .stop = {.fd = stop_fd},
    };
    const tamis_status status = options.wrap ? tamis__compressor_check(&codec_options, err) : TAMIS_OK;
    return status == TAMIS_OK ? tamis__file_save(filter, path, &options, err) : status;
}

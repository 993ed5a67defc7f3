/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Bits of a filter repeat by chance alone, so looking for earlier strings finds little and takes long: runs (of zeros)
 * and the shares of byte values are all there is. 16 MiB of a classic filter, level 6 of zlib 1.2.13:
 *
 *     bits set    default strategy     runs (Z_RLE)
 *       1 %       0.099,  29 MB/s      0.090, 220 MB/s
 *       7 %       0.447,   5 MB/s      0.391,  68 MB/s
 *      50 %       1.000,  44 MB/s      1.000, 144 MB/s
 */
#include "stream/pack.h"

#include <limits.h>

#include "stream/zlib_memory.h"

enum {
    WRITE = 64 << 10,
    GZIP_WINDOW = MAX_WBITS + 16, /* zlib's way to say: with the head and end of gzip */
    EFFORT = 8,                   /* of memory: zlib's default */
    ANY_SYSTEM = 255              /* so that the head is the same wherever it was written */
};

typedef struct packer {
    z_stream stream;
    tamis__zlib_memory memory;
    const tamis__emitter *out;
    gz_header head;
    unsigned char buffer[WRITE];
} packer;

/* Packs all of the stream's input; with Z_FINISH what zlib has kept too. */
static tamis_status drain(packer *p, int flush, tamis_error *err) {
    z_stream *stream = &p->stream;
    for (;;) {
        int result = deflate(stream, flush); /* fails only where there is nothing to do */
        if (stream->avail_out == 0 || result == Z_STREAM_END) {
            tamis_status status = p->out->emit(p->out->context, p->buffer, WRITE - stream->avail_out, err);
            if (status != TAMIS_OK)
                return status;
            stream->next_out = p->buffer;
            stream->avail_out = WRITE;
        } else if (flush == Z_NO_FLUSH) {
            return TAMIS_OK; /* there was room left, so all input is taken */
        }
        if (result == Z_STREAM_END)
            return TAMIS_OK;
    }
}

static tamis_status emit(void *context, const void *bytes, size_t size, tamis_error *err) {
    packer *p = context;
    const unsigned char *at = bytes;
    tamis_status status = TAMIS_OK;
    while (size > 0 && status == TAMIS_OK) {
        uInt some = size < UINT_MAX ? (uInt)size : UINT_MAX;
        p->stream.next_in = at;
        p->stream.avail_in = some;
        status = drain(p, Z_NO_FLUSH, err);
        at += some;
        size -= some;
    }
    return status;
}

static tamis_status begin(packer *p, tamis_error *err) {
    tamis__zlib_memory_set(&p->stream, &p->memory);
    if (deflateInit2(&p->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, EFFORT, Z_RLE) !=
        Z_OK) /* of a zlib that we were built with: memory */
        return tamis__fail_nomem(err, "compression", p->memory.refused);
    p->head.os = ANY_SYSTEM;
    deflateSetHeader(&p->stream, &p->head);
    p->stream.next_out = p->buffer;
    p->stream.avail_out = WRITE;
    return TAMIS_OK;
}

tamis_status tamis__pack_gzip(const tamis_filter *filter, const tamis__format *format,
                              const tamis_allocator *memory, const tamis__emitter *out, tamis_error *err) {
    packer *p = tamis__alloc(memory, sizeof *p, TAMIS__LINE);
    if (!p)
        return tamis__fail_nomem(err, "compression", sizeof *p);
    p->memory.from = *memory;
    p->out = out;
    tamis_status status = begin(p, err);
    if (status == TAMIS_OK) {
        status = format->encode(filter, &(tamis__emitter){emit, p}, err);
        if (status == TAMIS_OK)
            status = drain(p, Z_FINISH, err);
        deflateEnd(&p->stream);
    }
    tamis__free(memory, p, sizeof *p);
    return status;
}

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
#include <tamis/packed.h>

#include <errno.h>
#include <unistd.h>

#include "base/system.h"
#include "base/versioned.h"
#include "store/filter_file.h"
#include "store/origin.h"
#include "store/trouble.h"
#include "stream/pack.h"
#include "stream/unpack.h"

enum { SCRATCH = 64 << 10 };

/* A compressed file and the options for opening it. */
typedef struct packed {
    int fd;
    const char *path;
    tamis__shown name;
    tamis_open_options options; /* complete, with an allocator */
} packed;

/* Decompresses `room` bytes; *got is smaller only at the end of the file. */
static tamis_status fill(tamis__unpack *from, uint8_t *into, size_t room, size_t *got, tamis_error *err) {
    tamis__unpack_event event = TAMIS__UNPACK_BYTES;
    for (*got = 0; *got < room && event != TAMIS__UNPACK_END;) {
        size_t some;
        tamis_status status = tamis__unpack_next(from, true, into + *got, room - *got, &some, &event, err);
        if (status != TAMIS_OK)
            return status;
        *got += some;
    }
    return TAMIS_OK;
}

/* ---- pass 1 ---- */

static tamis_status count_bytes(const packed *p, tamis__unpack *from, uint8_t *scratch, uint64_t *size,
                                tamis_error *err) {
    tamis_format format;
    size_t got;
    tamis_status status = fill(from, scratch, SCRATCH, &got, err);
    if (status == TAMIS_OK)
        status = tamis__format_recognise(&(tamis__source){scratch, got, p->name.text, false, NULL},
                                         &p->options, &format, err);
    for (*size = got; status == TAMIS_OK && got == SCRATCH; *size += got)
        status = fill(from, scratch, SCRATCH, &got, err);
    return status;
}

static tamis_status begin(const packed *p, tamis__unpack **from, tamis_error *err) {
    const tamis__unpack_setup setup = {.fd = p->fd, .name = p->path, .memory = p->options.allocator};
    return tamis__unpack_create(from, &setup, err);
}

static tamis_status measure(const packed *p, uint64_t *size, tamis_error *err) {
    const tamis_allocator *memory = p->options.allocator;
    tamis__unpack *from;
    uint8_t *scratch = tamis__alloc(memory, SCRATCH, TAMIS__LINE);
    if (!scratch)
        return tamis__fail_nomem(err, p->name.text, SCRATCH);
    tamis_status status = begin(p, &from, err);
    if (status == TAMIS_OK) {
        status = count_bytes(p, from, scratch, size, err);
        tamis__unpack_free(from);
    }
    tamis__free(memory, scratch, SCRATCH);
    return status;
}

/* ---- pass 2 ---- */

static tamis_status fill_exactly(const packed *p, tamis__unpack *from, uint8_t *bytes, size_t size,
                                 tamis_error *err) {
    uint8_t more;
    size_t got, past = 0;
    tamis_status status = fill(from, bytes, size, &got, err);
    if (status == TAMIS_OK && got == size)
        status = fill(from, &more, 1, &past, err); /* reaches the last checksum too */
    if (status != TAMIS_OK || (got == size && past == 0))
        return status;
    return tamis__fail(err, TAMIS_E_DAMAGED, 0, "%s: was written to while it was read; open it again",
                       p->name.text);
}

static tamis_status unpack_into(const packed *p, uint8_t *bytes, size_t size, tamis_error *err) {
    tamis__unpack *from;
    if (tamis__sys.seek(p->fd, 0, SEEK_SET) < 0)
        return tamis__fail_file(err, p->path, errno);
    tamis_status status = begin(p, &from, err);
    if (status != TAMIS_OK)
        return status;
    status = fill_exactly(p, from, bytes, size, err);
    tamis__unpack_free(from);
    return status;
}

static tamis_status open_packed(tamis_filter **filter, const packed *p, const struct stat *about,
                                tamis_error *err) {
    tamis_filter *made = NULL;
    const tamis_allocator *memory = p->options.allocator;
    uint64_t size = 0;
    tamis_status status = measure(p, &size, err);
    if (status != TAMIS_OK)
        return status;
    size_t room = size ? (size_t)size : 1;
    uint8_t *bytes = tamis__alloc(memory, room, TAMIS__LINE);
    if (!bytes)
        return tamis__fail_nomem(err, p->name.text, size);
    status = unpack_into(p, bytes, (size_t)size, err);
    if (status == TAMIS_OK)
        status = tamis__format_decode(&made, &(tamis__source){bytes, size, p->name.text, false, &room},
                                      &p->options, err);
    if (room)
        tamis__free(memory, bytes, room);
    if (status == TAMIS_OK)
        status = tamis__origin_set(made, p->path, about, err);
    if (status != TAMIS_OK) {
        tamis_filter_free(made);
        return status;
    }
    *filter = made;
    return TAMIS_OK;
}

/* ---- public functions ---- */

tamis_status tamis_packed_open(tamis_filter **filter, const char *path, const tamis_open_options *given,
                               tamis_packing *packing, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED(path, err);
    packed p = {.path = path, .name = tamis__show(path), .options = TAMIS_OPEN_OPTIONS_INIT};
    uint8_t head[TAMIS__UNPACK_HEAD];
    size_t got;
    bool undecided;
    struct stat about;
    tamis_packing found = TAMIS_PACKING_NONE;
    tamis_status status =
        tamis__take_options(&p.options, sizeof p.options, given, "TAMIS_OPEN_OPTIONS_INIT", err);
    if (status == TAMIS_OK)
        status = tamis__file_open(path, &p.fd, &about, err);
    if (status != TAMIS_OK)
        return status;
    const tamis_allocator memory = tamis__allocator_resolve(p.options.allocator);
    p.options.allocator = &memory;
    p.options.writable = true;
    status = tamis__file_read(p.fd, path, head, sizeof head, &got, err);
    if (status == TAMIS_OK)
        found = tamis__packing_of(head, got, &undecided);
    if (status == TAMIS_OK && found != TAMIS_PACKING_NONE)
        status = open_packed(filter, &p, &about, err);
    tamis__sys.close(p.fd);
    if (status == TAMIS_OK && found == TAMIS_PACKING_NONE)
        status = tamis_filter_open(filter, path, given, err);
    if (status == TAMIS_OK && packing)
        *packing = found;
    return status;
}

/* ---- saving ---- */

static tamis_status emit_packed(void *pack, const void *bytes, size_t size, tamis_error *err) {
    return tamis__pack_put(pack, bytes, size, err);
}

static tamis_status write_packed(const void *how, const tamis_filter *filter, const tamis__format *format,
                                 const tamis_allocator *memory, const tamis__emitter *out, tamis_error *err) {
    tamis__pack *pack;
    tamis_status status =
        tamis__pack_create(&pack, how, memory, &(tamis__pack_out){out->emit, out->context}, err);
    if (status != TAMIS_OK)
        return status;
    status = format->encode(filter, &(tamis__emitter){emit_packed, pack}, err);
    if (status == TAMIS_OK)
        status = tamis__pack_finish(pack, err);
    tamis__pack_free(pack);
    return status;
}

tamis_status tamis_packed_save(tamis_filter *filter, const char *path, tamis_format format,
                               tamis_packing packing, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED(path, err);
    return tamis_packed_save_until(filter, path, format, packing, -1, err);
}

tamis_status tamis_packed_save_until(tamis_filter *filter, const char *path, tamis_format format,
                                     tamis_packing packing, int stop_fd, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED(path, err);
    const tamis__pack_want want = {packing, 0, true};
    const tamis__wrap wrap = {write_packed, &want};
    if (packing == TAMIS_PACKING_NONE)
        return tamis__file_save(filter, path, format, NULL, stop_fd, err);
    tamis_status status = tamis__pack_check(&want, err);
    return status == TAMIS_OK ? tamis__file_save(filter, path, format, &wrap, stop_fd, err) : status;
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Saving: lock -> write aside -> sync it -> rename -> sync the folder -> unlock. Up to the rename the name stands for
 * the old file and what fails is undone; from it on for the new one. The sync before the rename is what makes that true
 * of a power loss too: without it the name may be on the disk before the bytes are.
 *
 * Space for all of it is reserved before the first byte is written, so that a full disk is told at once; only where
 * the size is not known beforehand (tamis__wrap) writing tells.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "filter/filter_int.h"
#include "format/format.h"
#include "store/filter_file.h"
#include "store/lock.h"
#include "store/trouble.h"

enum { BUFFER = 256 << 10 };

/* Where an emitter's bytes go: small pieces through a buffer, large ones directly. */
typedef struct sink {
    int fd;
    const char *name;
    unsigned char *buffer; /* BUFFER bytes */
    size_t used;
    uint64_t total; /* bytes taken */
} sink;

static tamis_status write_all(const sink *out, const unsigned char *bytes, size_t size, tamis_error *err) {
    while (size > 0) {
        ssize_t wrote = tamis__sys.write(out->fd, bytes, size);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return tamis__fail_file(err, out->name, wrote < 0 ? errno : EIO);
        bytes += wrote;
        size -= (size_t)wrote;
    }
    return TAMIS_OK;
}

static tamis_status flush(sink *out, tamis_error *err) {
    size_t used = out->used;
    out->used = 0;
    return write_all(out, out->buffer, used, err);
}

static tamis_status emit(void *context, const void *bytes, size_t size, tamis_error *err) {
    sink *out = context;
    tamis_status status = size > BUFFER - out->used ? flush(out, err) : TAMIS_OK;
    if (status != TAMIS_OK)
        return status;
    out->total += size;
    if (size >= BUFFER)
        return write_all(out, bytes, size, err);
    if (size > 0)
        memcpy(out->buffer + out->used, bytes, size);
    out->used += size;
    return TAMIS_OK;
}

/* What cannot be reserved is found out by writing. */
static tamis_status reserve(const sink *out, uint64_t size, tamis_error *err) {
    int failed;
    do
        failed = tamis__sys.reserve(out->fd, (off_t)size) < 0 ? errno : 0;
    while (failed == EINTR);
    if (failed != ENOSPC && failed != EDQUOT && failed != EFBIG)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_IO, failed, "%s: no room for its %" PRIu64 " bytes: %s; %s",
                       tamis__show(out->name).text, size, tamis__errno_text(failed),
                       tamis__errno_remedy(failed));
}

static tamis_status sync_file(const sink *out, tamis_error *err) {
    while (tamis__sys.sync(out->fd) < 0)
        if (errno != EINTR)
            return tamis__fail_file(err, out->name, errno);
    return TAMIS_OK;
}

/* What is to be written, and how. */
typedef struct writing {
    const tamis_filter *filter;
    const tamis__format *format;
    tamis__wrap *wrap; /* NULL: none */
} writing;

static tamis_status write_filter(const writing *what, sink *out, tamis_error *err) {
    const tamis_filter *filter = what->filter;
    const tamis__format *format = what->format;
    const tamis_allocator *memory = &filter->allocator;
    const tamis__emitter emitter = {emit, out};
    uint64_t size;
    tamis_status status = format->encoded_size(filter, &size, err);
    if (status == TAMIS_OK && !what->wrap)
        status = reserve(out, size, err);
    if (status != TAMIS_OK)
        return status;
    out->buffer = tamis__alloc(memory, BUFFER, TAMIS__LINE);
    if (!out->buffer)
        return tamis__fail_nomem(err, "write buffer", BUFFER);
    status = what->wrap ? what->wrap(filter, format, memory, &emitter, err)
                        : format->encode(filter, &emitter, err);
    if (status == TAMIS_OK)
        status = flush(out, err);
    assert(status != TAMIS_OK || what->wrap ||
           out->total == size); /* what was reserved is part of the file */
    if (status == TAMIS_OK)
        status = sync_file(out, err);
    tamis__free(memory, out->buffer, BUFFER);
    return status;
}

/* The file aside, whole and on the disk, or nothing. */
static tamis_status write_aside(const writing *what, tamis__aside *aside, const tamis__place *place,
                                const tamis_lock *lock, tamis_error *err) {
    sink out = {.name = place->name};
    tamis_status status = tamis__aside_create(aside, place, true, &out.fd, err);
    if (status != TAMIS_OK)
        return status;
    tamis__lock_note(lock, aside);
    status = write_filter(what, &out, err);
    if (tamis__sys.close(out.fd) < 0 && status == TAMIS_OK)
        status = tamis__fail_file(err, place->name, errno);
    if (status != TAMIS_OK)
        tamis__aside_remove(aside, err);
    return status;
}

static tamis_status replace(const writing *what, const tamis__place *place, tamis_error *err) {
    tamis__aside aside;
    tamis_lock *lock;
    tamis_status status = tamis__lock_borrow(&lock, place, err);
    if (status != TAMIS_OK)
        return status;
    status = write_aside(what, &aside, place, lock, err);
    if (status == TAMIS_OK) {
        status = tamis__aside_publish(&aside, false, err);
        if (status == TAMIS_OK)
            status = tamis__aside_settle(&aside, err);
        else
            tamis__aside_remove(&aside, err);
    }
    tamis__lock_return(lock);
    return status;
}

tamis_status tamis__file_save(tamis_filter *filter, const char *path, tamis_format number, tamis__wrap *wrap,
                              tamis_error *err) {
    tamis__place place;
    uint64_t size;
    const tamis__format *format = tamis__format_of(number);
    if (!format)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "format: there is none of number %d; see tamis_format",
                           (int)number);
    tamis_status status = tamis__place_find(&place, path, err);
    if (status == TAMIS_OK && place.form != TAMIS__PLACE_REPLACE && place.form != TAMIS__PLACE_NEW)
        status = tamis__fail_irregular(err, place.name);
    if (status != TAMIS_OK)
        return status;
    tamis__filter_keep(filter);
    int64_t created = filter->about.told.created;
    if (created == 0)
        filter->about.told.created = tamis__now_unix();
    /* Before anything is created. */
    status = format->encoded_size(filter, &size, err);
    if (status == TAMIS_OK)
        status = replace(&(writing){filter, format, wrap}, &place, err);
    if (status != TAMIS_OK)
        filter->about.told.created = created;
    tamis__filter_let_go(filter);
    return status;
}

tamis_status tamis_filter_save_as(tamis_filter *filter, const char *path, tamis_format format,
                                  tamis_error *err) {
    return tamis__file_save(filter, path, format, NULL, err);
}

tamis_status tamis_filter_save(tamis_filter *filter, const char *path, tamis_error *err) {
    return tamis_filter_save_as(filter, path, TAMIS_FORMAT_TAMIS, err);
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Saving a filter to a file. The steps, and what the target's name refers to after each:
 *
 *     lock the target        old file    no other tamis process saves it now (file_lock.c)
 *     compare with source    old file    the target is unchanged since the filter was read (source_file.h)
 *     write a temporary file old file    in the same directory (temp_file.c); its space is reserved first
 *     sync it                old file    its bytes are on the disk
 *     compare again          old file    writing may have taken minutes
 *     rename                 new file    atomic
 *     sync the directory     new file    the rename is on the disk
 *     unlock                 new file
 *
 * Invariants:
 * 1. Up to the rename, every error is undone: the old file is unchanged and no temporary file is left.
 * 2. From the rename on, the new file has the name, whatever fails afterwards.
 * 3. Both hold after a power loss too. Without the sync before the rename, the disk could have the name
 *    before the bytes.
 *
 * The comparison protects the work of programs that take no lock. A file that such a program puts there
 * between the second comparison and the rename is lost. No system can compare and rename in one step.
 * tamis_filter_save_new has no such gap if the file system supports RENAME_NOREPLACE.
 *
 * All space is reserved before the first byte is written, so that a full disk is reported at once. With a
 * wrapper (tamis__wrap) the size is not known beforehand, and a full disk is found while writing.
 *
 * A filter that is shared between threads is copied first. The other threads then wait for the copy, not for
 * the disk.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "filter/filter_int.h"
#include "format/format.h"
#include "store/file/file_error.h"
#include "store/file/file_lock.h"
#include "store/file/filter_file.h"
#include "store/file/source_file.h"

enum {
    BUFFER = 256 << 10,
    WRITE_MAX = 16 << 20 /* bytes written between two checks for a stop request */
};

/* Destination of an encoder: small writes are buffered, large ones go directly to the file. */
typedef struct sink {
    int fd;
    const tamis__save_stop *stop; /* NULL: none */
    const char *name;
    unsigned char *buffer; /* BUFFER bytes */
    size_t used;
    uint64_t total; /* bytes accepted so far */
} sink;

/* Fails if a stop was requested. If poll fails, the save continues. */
static tamis_status check_stop(const tamis__save_stop *stop, const char *name, tamis_error *err) {
    struct pollfd stop_poll = {.fd = stop ? stop->fd : -1, .events = POLLIN};
    const bool given_up = stop && stop->given_up && __atomic_load_n(stop->given_up, __ATOMIC_RELAXED);
    if (!given_up && (stop_poll.fd < 0 || tamis__sys.poll(&stop_poll, 1, 0) <= 0))
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_INTERRUPTED, 0, "%s: stopped on request, nothing was saved",
                       tamis__show(name).text);
}

static tamis_status write_all(const sink *out, const unsigned char *bytes, size_t size, tamis_error *err) {
    while (size > 0) {
        const tamis_status status = check_stop(out->stop, out->name, err);
        if (status != TAMIS_OK)
            return status;
        ssize_t wrote =
            tamis__sys.write(out->fd, bytes, !out->stop || size < WRITE_MAX ? size : (size_t)WRITE_MAX);
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
    const size_t used = out->used;
    out->used = 0;
    return write_all(out, out->buffer, used, err);
}

static tamis_status emit(void *context, const void *bytes, size_t size, tamis_error *err) {
    sink *out = context;
    const tamis_status status = size > BUFFER - out->used ? flush(out, err) : TAMIS_OK;
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

/* Reports only a lack of space. File systems that cannot reserve are found full by writing. */
static tamis_status reserve_space(const sink *out, uint64_t size, tamis_error *err) {
    int failed;
    do
        failed = tamis__sys.reserve(out->fd, (off_t)size) < 0 ? errno : 0;
    while (failed == EINTR);
    if (failed != ENOSPC && failed != EDQUOT && failed != EFBIG)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_IO, failed, "%s: no space for its %" PRIu64 " bytes: %s; %s",
                       tamis__show(out->name).text, size, tamis__errno_text(failed),
                       tamis__errno_remedy(failed));
}

/* One save: its arguments, then its state. */
typedef struct saving {
    tamis_filter *filter;
    tamis_format number;          /* of `format` */
    const tamis__wrap *wrap;      /* NULL: none */
    const tamis__save_stop *stop; /* NULL: none */
    bool only_new;                /* fail if the target exists */
    const tamis__format *format;
    tamis__target target;
    tamis__temp_file temp;
    struct stat st; /* metadata of the complete temporary file */
} saving;

static tamis_status write_filter(const saving *s, sink *out, tamis_error *err) {
    const tamis_filter *filter = s->filter;
    const tamis__format *format = s->format;
    const tamis_allocator *memory = &filter->allocator;
    const tamis__emitter emitter = {emit, out};
    uint64_t size;
    tamis_status status = format->encoded_size(filter, &size, err);
    if (status == TAMIS_OK && !s->wrap)
        status = reserve_space(out, size, err);
    if (status != TAMIS_OK)
        return status;
    out->buffer = tamis__alloc(memory, BUFFER, TAMIS__LINE);
    if (!out->buffer)
        return tamis__fail_nomem(err, "write buffer", BUFFER);
    status = s->wrap ? s->wrap->write(s->wrap->how, filter, format, memory, &emitter, err)
                     : format->encode(filter, &emitter, err);
    if (status == TAMIS_OK)
        status = flush(out, err);
    assert(status != TAMIS_OK || s->wrap || out->total == size); /* the reserved bytes are part of the file */
    if (status == TAMIS_OK && tamis__sync(out->fd) < 0)
        status = tamis__fail_file(err, out->name, errno);
    tamis__free(memory, out->buffer, BUFFER);
    return status;
}

/* Writes and syncs the temporary file. Leaves none on an error. */
static tamis_status write_temp_file(saving *s, tamis_error *err) {
    sink out = {.stop = s->stop, .name = s->target.name};
    tamis_status status = tamis__temp_file_create(&s->temp, &s->target, true, &out.fd, err);
    if (status != TAMIS_OK)
        return status;
    status = write_filter(s, &out, err);
    if (status == TAMIS_OK && tamis__sys.fstat(out.fd, &s->st) < 0)
        status = tamis__fail_file(err, out.name, errno);
    if (tamis__sys.close(out.fd) < 0 && status == TAMIS_OK)
        status = tamis__fail_file(err, out.name, errno);
    if (status == TAMIS_OK) /* the sync may have taken long */
        status = check_stop(s->stop, out.name, err);
    if (status != TAMIS_OK)
        tamis__temp_file_remove(&s->temp, err);
    return status;
}

/* Replaces the target, unless another program has changed it since the filter was read. */
static tamis_status commit_file(saving *s, tamis_error *err) {
    tamis_status status;
    if (s->only_new) {
        status = tamis__temp_file_commit_new(&s->temp, err);
    } else {
        status = tamis__source_file_check(s->filter, &s->target, err);
        if (status == TAMIS_OK)
            status = tamis__temp_file_commit(&s->temp, err);
    }
    if (status != TAMIS_OK) {
        tamis__temp_file_remove(&s->temp, err);
        return status;
    }
    tamis__source_file_saved(s->filter, &s->target, &s->st);
    return tamis__temp_file_finish(&s->temp, err);
}

static tamis_status save_locked(saving *s, tamis_error *err) {
    /* Also checked before writing: a large filter should not be written in vain. */
    tamis_status status = tamis__source_file_check(s->filter, &s->target, err);
    if (status == TAMIS_OK)
        status = write_temp_file(s, err);
    return status == TAMIS_OK ? commit_file(s, err) : status;
}

static tamis_status save_file(saving *s, tamis_error *err) {
    uint64_t size;
    tamis_metadata *metadata = &s->filter->metadata.fields;
    const int64_t created = metadata->created;
    if (created == 0)
        metadata->created = tamis__now_unix();
    /* Checks that the format can hold the filter, before anything is created. */
    tamis_status status = s->format->encoded_size(s->filter, &size, err);
    if (status == TAMIS_OK)
        status = tamis__lock_borrow(&s->temp.lock, &s->target, err);
    if (status == TAMIS_OK) {
        status = save_locked(s, err);
        tamis__lock_return(s->temp.lock);
    }
    if (status != TAMIS_OK)
        metadata->created = created;
    return status;
}

/* Saves a copy while other threads add, then updates the filter's own metadata. */
static tamis_status save_concurrent(saving *s, tamis_error *err) {
    tamis_filter *filter = s->filter;
    tamis__concurrent_lock_whole(filter);
    tamis_status status = tamis__filter_copy_snapshot(&s->filter, filter, err);
    if (status == TAMIS_OK) {
        status = save_file(s, err);
        tamis__concurrent_pause_batches(filter);
        filter->metadata.fields.created = s->filter->metadata.fields.created;
        if (filter->source_file)
            memcpy(filter->source_file, s->filter->source_file, filter->source_file->block_size);
        tamis__concurrent_resume_batches(filter);
        tamis_filter_free(s->filter);
    }
    tamis__concurrent_unlock_whole(filter);
    return status;
}

static tamis_status save(saving *s, const char *path, tamis_error *err) {
    tamis_filter *filter = s->filter;
    s->format = tamis__format_of(s->number);
    if (!s->format)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "format: %d is not valid; see tamis_format",
                           (int)s->number);
    tamis_status status = tamis__format_check_local(s->format, filter, "save", err);
    if (status == TAMIS_OK)
        status = tamis__target_find(&s->target, path, err);
    if (status != TAMIS_OK)
        return status;
    if (s->target.form != TAMIS__TARGET_REPLACE && s->target.form != TAMIS__TARGET_NEW)
        return tamis__fail_irregular(err, s->target.name);
    if (s->only_new && s->target.form == TAMIS__TARGET_REPLACE)
        return tamis__fail_exists(err, s->target.name);
    if (filter->concurrent)
        return save_concurrent(s, err);
    status = tamis__filter_claim(filter, false, err);
    if (status != TAMIS_OK)
        return status;
    tamis__filter_lock_content(filter);
    status = save_file(s, err);
    tamis__filter_unlock_content(filter);
    tamis__filter_unclaim(filter, false);
    return status;
}

tamis_status tamis_filter_save_as(tamis_filter *filter, const char *path, tamis_format format,
                                  tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED(path, err);
    return save(&(saving){.filter = filter, .number = format}, path, err);
}

tamis_status tamis__file_save(tamis_filter *filter, const char *path, const tamis__save_options *options,
                              tamis_error *err) {
    saving s = {.filter = filter, .number = options->format, .wrap = options->wrap, .stop = &options->stop};
    return save(&s, path, err);
}

tamis_status tamis_filter_save_new(tamis_filter *filter, const char *path, tamis_format format,
                                   tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED(path, err);
    return save(&(saving){.filter = filter, .number = format, .only_new = true}, path, err);
}

tamis_status tamis_filter_save(tamis_filter *filter, const char *path, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED(path, err);
    return save(&(saving){.filter = filter, .number = TAMIS_FORMAT_TAMIS}, path, err);
}

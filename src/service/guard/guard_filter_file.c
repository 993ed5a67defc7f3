/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file with the filter of a guard, or with its keys.
 *
 *     list.tamis   v7 ---------------- rename v8 ------------------------------
 *     thread       open, verify, use   stat . stat differs: open, verify, use
 *
 * The file is read into private memory. A mapped file would take none. But a program that writes into it would
 * damage the filter in use, and one that cuts it short would end the process (SIGBUS).
 *
 * The thread of the filter looks at the name once a second. That needs no descriptor, works on every file
 * system, and sees a directory or a symbolic link on the way that is replaced.
 */
#include "service/guard/guard_filter_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include <tamis/file.h>

#include "base/memory.h"
#include "base/system.h"
#include "service/guard/guard_sql.h"
#include "store/file/file_error.h"
#include "store/file/filter_file.h"

struct guard_filter_file {
    const tamis_allocator *memory;
    bool has_lines;                      /* its lines are keys */
    size_t secret_size, path_size, size; /* path_size: with its NUL; size: of the whole block */
    char path[];                         /* the secret follows */
};

tamis_status tamis__guard_filter_file_create(guard_filter_file **file, const tamis_guard_options *options,
                                             const tamis_allocator *memory, tamis_error *err) {
    const char *path = options->keys_file ? options->keys_file : options->filter_file;
    const size_t path_size = strlen(path) + 1, secret_size = options->filter_secret_size;
    const size_t size = sizeof(guard_filter_file) + path_size + secret_size;
    guard_filter_file *made = tamis__alloc(memory, size, _Alignof(guard_filter_file));
    if (!made)
        return tamis__fail_nomem(err, path, size);
    *made = (guard_filter_file){.memory = memory,
                                .has_lines = options->keys_file,
                                .secret_size = secret_size,
                                .path_size = path_size,
                                .size = size};
    memcpy(made->path, path, path_size);
    if (secret_size)
        memcpy(made->path + path_size, options->filter_secret, secret_size);
    *file = made;
    return TAMIS_OK;
}

void tamis__guard_filter_file_free(guard_filter_file *file) {
    if (!file)
        return;
    const tamis_allocator *memory = file->memory;
    const size_t size = file->size;
    explicit_bzero(file, size);
    tamis__free(memory, file, size);
}

bool tamis__guard_filter_file_hashes(const guard_filter_file *file) {
    return !file->has_lines;
}

/* ---- versions ---- */

static bool times_equal(struct timespec a, struct timespec b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool tamis__guard_filter_file_equal(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           times_equal(a->st_mtim, b->st_mtim) && times_equal(a->st_ctim, b->st_ctim);
}

void tamis__guard_filter_file_look(const guard_filter_file *file, struct stat *st) {
    if (tamis__sys.stat(file->path, st) != 0)
        memset(st, 0, sizeof *st);
}

static tamis_status check_order(const guard_filter_file *file, const guard_file_version *used,
                                const guard_file_version *version, tamis_error *err) {
    if (used->st.st_ino == 0 || version->version > used->version)
        return TAMIS_OK;
    if (version->version < used->version)
        return tamis__fail(err, TAMIS_E_CHANGED, 0,
                           "%s: has version %" PRIu64 ", older than version %" PRIu64
                           " in use; give it a higher version",
                           tamis__show(file->path).text, version->version, used->version);
    if (version->created < used->created)
        return tamis__fail(err, TAMIS_E_CHANGED, 0,
                           "%s: was made %" PRId64 " s before the one in use; make it again",
                           tamis__show(file->path).text, (used->created - version->created + 999) / 1000);
    return TAMIS_OK;
}

static int64_t modified_ms(const struct stat *st) {
    return (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
}

/* ---- filters ---- */

tamis_status tamis__guard_filter_check_keys(const char *name, const tamis_filter *filter, uint32_t key_type,
                                            tamis_error *err) {
    const tamis_key key = {"", 0};
    tamis_answer answer;
    if (key_type != TAMIS_KEYS_UNSPECIFIED && key_type != TAMIS_KEYS_BYTES && key_type != TAMIS_KEYS_UTF8)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "%s: its keys are not the texts of records; build it without --type, --trim and "
                           "--ignore-case",
                           tamis__show(name).text);
    /* A filter without its secret can be opened, but answers nothing. */
    const tamis_status status = tamis_filter_contains_many(filter, &key, 1, &answer, NULL, err);
    if (status == TAMIS_E_SECRET)
        return tamis__fail(err, status, 0, "%s: was built with a secret, which was not given; give it",
                           tamis__show(name).text);
    return status;
}

static tamis_status examine(const guard_filter_file *file, const guard_file_version *used,
                            const tamis_filter *filter, guard_file_version *version, tamis_error *err) {
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    tamis_status status = tamis_filter_metadata_get(filter, &metadata, err);
    if (status == TAMIS_OK)
        status = tamis__guard_filter_check_keys(file->path, filter, metadata.key_type, err);
    if (status != TAMIS_OK)
        return status;
    version->version = metadata.version;
    version->created = metadata.created ? metadata.created * 1000 : modified_ms(&version->st);
    return check_order(file, used, version, err);
}

tamis_status tamis__guard_filter_file_open(guard_filter_file *file, const guard_file_version *used,
                                           tamis_filter **filter, guard_file_version *version,
                                           tamis_error *err) {
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    tamis_filter *opened = NULL;
    options.writable = true; /* in private memory, and all of it verified */
    options.secret = file->secret_size ? file->path + file->path_size : NULL;
    options.secret_size = file->secret_size;
    options.allocator = file->memory;
    /* If the name gets another file before it is opened, that file is opened twice. */
    if (tamis__sys.stat(file->path, &version->st) != 0)
        return tamis__fail_file(err, file->path, errno);
    tamis_status status = tamis_filter_open(&opened, file->path, &options, err);
    if (status == TAMIS_OK)
        status = examine(file, used, opened, version, err);
    if (status == TAMIS_OK)
        *filter = opened;
    else
        tamis_filter_free(opened);
    return status;
}

/* ---- keys ---- */

/* Lines of a file on their way into a scan. */
typedef struct line_reader {
    const guard_filter_file *file;
    guard_key_batch *batch;
    int fd;
    size_t used; /* of `bytes`: the line that has not ended */
    uint64_t lines;
    bool has_keys;
    char bytes[2 * TAMIS_GUARD_KEY_MAX];
} line_reader;

static tamis_status add_line(line_reader *in, const char *line, size_t size, tamis_error *err) {
    in->lines++;
    if (size && line[size - 1] == '\r')
        size--;
    if (size > TAMIS_GUARD_KEY_MAX)
        return tamis__fail(err, TAMIS_E_TOO_LONG, 0,
                           "%s: line %" PRIu64 " has more than %zu bytes; remove it",
                           tamis__show(in->file->path).text, in->lines, TAMIS_GUARD_KEY_MAX);
    in->has_keys |= size > 0;
    return tamis__guard_key_batch_add(in->batch, line, size, err);
}

/* Passes on the lines that have ended, and moves the rest to the beginning. */
static tamis_status add_lines(line_reader *in, tamis_error *err) {
    size_t pos = 0;
    for (const char *end; (end = memchr(in->bytes + pos, '\n', in->used - pos));) {
        const size_t size = (size_t)(end - in->bytes) - pos;
        const tamis_status status = add_line(in, in->bytes + pos, size, err);
        if (status != TAMIS_OK)
            return status;
        pos += size + 1;
    }
    memmove(in->bytes, in->bytes + pos, in->used - pos);
    in->used -= pos;
    return in->used < sizeof in->bytes ? TAMIS_OK : add_line(in, in->bytes, in->used, err);
}

static tamis_status read_lines(line_reader *in, tamis_error *err) {
    for (;;) {
        const ssize_t got = tamis__sys.read(in->fd, in->bytes + in->used, sizeof in->bytes - in->used);
        if (got == 0)
            break;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return tamis__fail_file(err, in->file->path, errno);
        in->used += (size_t)got;
        const tamis_status status = add_lines(in, err);
        if (status != TAMIS_OK)
            return status;
    }
    if (in->used > 0)
        return tamis__fail(
            err, TAMIS_E_DAMAGED, 0,
            "%s: its last line has no end, so it may be cut short; end it, write the list under another "
            "name, and rename it",
            tamis__show(in->file->path).text);
    if (!in->has_keys)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "%s: has no keys; write one a line",
                           tamis__show(in->file->path).text);
    return tamis__guard_key_batch_flush(in->batch, err);
}

static tamis_status check_unchanged(const line_reader *in, const struct stat *before, tamis_error *err) {
    struct stat now;
    if (tamis__sys.fstat(in->fd, &now) != 0)
        return tamis__fail_file(err, in->file->path, errno);
    if (now.st_size == before->st_size && times_equal(now.st_mtim, before->st_mtim))
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_CHANGED, 0,
                       "%s: was written to while it was read; write it under another name, and rename it",
                       tamis__show(in->file->path).text);
}

static tamis_status scan_lines(line_reader *in, const guard_file_version *used, guard_file_version *version,
                               tamis_error *err) {
    tamis_status status = tamis__file_open(&in->fd, &version->st, in->file->path, err);
    if (status != TAMIS_OK)
        return status;
    version->version = 0;
    version->created = modified_ms(&version->st);
    status = check_order(in->file, used, version, err);
    if (status == TAMIS_OK)
        status = read_lines(in, err);
    if (status == TAMIS_OK)
        status = check_unchanged(in, &version->st, err);
    tamis__sys.close(in->fd);
    return status;
}

tamis_status tamis__guard_filter_file_scan(guard_filter_file *file, const guard_file_version *used,
                                           tamis_guard_scan *scan, guard_file_version *version,
                                           tamis_error *err) {
    line_reader *in = tamis__alloc(file->memory, sizeof *in, _Alignof(line_reader));
    if (!in)
        return tamis__fail_nomem(err, file->path, sizeof *in);
    in->file = file;
    tamis_status status = tamis__guard_key_batch_create(&in->batch, scan, err);
    if (status == TAMIS_OK)
        status = scan_lines(in, used, version, err);
    tamis__guard_key_batch_free(in->batch);
    tamis__free(file->memory, in, sizeof *in);
    return status;
}

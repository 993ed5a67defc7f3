/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The directory of a state and the names in it:
 *
 *     manifest                     list of the valid files; replaced as a whole
 *     manifest.new                 temporary file of the manifest
 *     log-NNNNNNNNNN               log segments
 *     snapshot-NNNNNNNNNN.tamis    the filter as of some commit
 *     lock                         locked with flock; text: the last holder. Never removed
 *
 * A number is used once. A file that the manifest does not name does not count, and a start removes it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/system.h"
#include "store/file/file_error.h"
#include "store/file/file_lock.h"
#include "store/state/state_int.h"

enum { DIGITS = 10 };

/* ---- byte buffers ---- */

bool tamis__state_bytes_reserve(const tamis_allocator *memory, state_bytes *bytes, size_t more) {
    if (more > SIZE_MAX / 4 - bytes->size)
        return false;
    if (bytes->capacity - bytes->size >= more)
        return true;
    uint8_t *data = tamis__array_reserve(memory, bytes->data, 1, bytes->size + more, &bytes->capacity);
    if (!data)
        return false;
    bytes->data = data;
    return true;
}

bool tamis__state_bytes_add(const tamis_allocator *memory, state_bytes *bytes, const void *data,
                            size_t size) {
    if (!tamis__state_bytes_reserve(memory, bytes, size))
        return false;
    if (size > 0)
        memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
    return true;
}

void tamis__state_bytes_free(const tamis_allocator *memory, state_bytes *bytes) {
    tamis__free(memory, bytes->data, bytes->capacity);
    *bytes = (state_bytes){NULL, 0, 0};
}

/* ---- names ---- */

state_path tamis__state_path(const state_directory *directory, const char *name) {
    state_path path;
    snprintf(path.text, sizeof path.text, "%s/%.*s", directory->path, NAME_MAX, name);
    return path;
}

state_path tamis__state_log_path(const state_directory *directory, uint64_t number) {
    char name[STATE_NAME];
    snprintf(name, sizeof name, "log-%0*" PRIu64, (int)DIGITS, number);
    return tamis__state_path(directory, name);
}

state_path tamis__state_snapshot_path(const state_directory *directory, uint64_t number) {
    char name[STATE_NAME];
    snprintf(name, sizeof name, "snapshot-%0*" PRIu64 ".tamis", (int)DIGITS, number);
    return tamis__state_path(directory, name);
}

/* Parses the number in "BEGIN-NNNNNNNNNNEND"; 0 if the name has another form. */
static uint64_t number_of(const char *name, const char *prefix, const char *suffix) {
    const size_t size = strlen(prefix);
    uint64_t number = 0;
    if (strncmp(name, prefix, size) != 0)
        return 0;
    for (int i = 0; i < DIGITS; i++) {
        char digit = name[size + (size_t)i];
        if (digit < '0' || digit > '9')
            return 0;
        number = 10 * number + (uint64_t)(digit - '0');
    }
    return strcmp(name + size + DIGITS, suffix) == 0 ? number : 0;
}

/* ---- opening, making, listing ---- */

static tamis_status set_path(state_directory *directory, const char *path, tamis_error *err) {
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/')
        size--;
    if (size == 0)
        return tamis__fail_file(err, path, ENOENT);
    if (size >= sizeof directory->path)
        return tamis__fail_file(err, path, ENAMETOOLONG);
    memcpy(directory->path, path, size);
    directory->path[size] = '\0';
    directory->fd = directory->lock_fd = -1;
    return TAMIS_OK;
}

tamis_status tamis__state_directory_open(state_directory *directory, const char *path, tamis_error *err) {
    const tamis_status status = set_path(directory, path, err);
    if (status != TAMIS_OK)
        return status;
    directory->fd = tamis__open(directory->path, O_RDONLY | O_DIRECTORY, 0);
    return directory->fd < 0 ? tamis__fail_file(err, directory->path, errno) : TAMIS_OK;
}

tamis_status tamis__state_directory_sync(const state_directory *directory, tamis_error *err) {
    return tamis__sync_directory(directory->fd) < 0 ? tamis__fail_file(err, directory->path, errno)
                                                    : TAMIS_OK;
}

/* Step M2. If another process made the directory, its parent is synced only if it is readable. */
static tamis_status sync_parent(const state_directory *directory, bool created, tamis_error *err) {
    char parent[PATH_MAX];
    const char *slash = strrchr(directory->path, '/');
    const int size = slash ? (int)(slash - directory->path) + (slash == directory->path) : 1;
    snprintf(parent, sizeof parent, "%.*s", size, slash ? directory->path : ".");
    const int fd = tamis__open(parent, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return created ? tamis__fail_file(err, parent, errno) : TAMIS_OK;
    const int failed = tamis__sync_directory(fd) < 0 ? errno : 0;
    tamis__sys.close(fd);
    return failed ? tamis__fail_file(err, parent, failed) : TAMIS_OK;
}

tamis_status tamis__state_directory_create(state_directory *directory, const char *path, tamis_error *err) {
    tamis_status status = set_path(directory, path, err);
    if (status != TAMIS_OK)
        return status;
    const bool created = tamis__sys.mkdir(directory->path, 0777) == 0; /* M1 */
    if (!created && errno != EEXIST)
        return tamis__fail_file(err, directory->path, errno);
    status = tamis__state_directory_open(directory, path, err);
    if (status == TAMIS_OK)
        status = sync_parent(directory, created, err);
    if (status != TAMIS_OK)
        tamis__state_directory_close(directory);
    return status;
}

void tamis__state_directory_close(state_directory *directory) {
    if (directory->lock_fd >= 0)
        tamis__sys.close(directory->lock_fd);
    if (directory->fd >= 0)
        tamis__sys.close(directory->fd);
    directory->fd = directory->lock_fd = -1;
}

typedef struct listing {
    tamis_status (*visit)(void *context, const state_found *found, tamis_error *err);
    void *context;
    tamis_status status;
    tamis_error *err;
} listing;

static bool visit_name(void *context, const char *name) {
    listing *l = context;
    state_found found = {.log = number_of(name, "log-", ""),
                         .snapshot = number_of(name, "snapshot-", ".tamis")};
    snprintf(found.name, sizeof found.name, "%.*s", NAME_MAX, name);
    l->status = l->visit(l->context, &found, l->err);
    return l->status == TAMIS_OK;
}

tamis_status tamis__state_directory_list(const state_directory *directory,
                                         tamis_status (*visit)(void *context, const state_found *found,
                                                               tamis_error *err),
                                         void *context, tamis_error *err) {
    listing l = {.visit = visit, .context = context, .status = TAMIS_OK, .err = err};
    if (tamis__sys.list(directory->path, visit_name, &l) < 0)
        return tamis__fail_file(err, directory->path, errno);
    return l.status;
}

/* ---- locking ---- */

static tamis_status fail_busy(const state_directory *directory, tamis_error *err) {
    tamis__holder holder;
    const ssize_t size = tamis__sys.pread(directory->lock_fd, holder.text, sizeof holder.text - 1, 0);
    holder.text[size > 0 ? size : 0] = '\0';
    char *suffix = strchr(holder.text, '\n');
    if (!suffix)
        return tamis__fail(err, TAMIS_E_BUSY, 0, "%s: another process has it open; wait for that to end",
                           tamis__show(directory->path).text);
    *suffix = '\0';
    if (tamis__holder_is_us(holder.text))
        return tamis__fail(err, TAMIS_E_BUSY, EDEADLK, "%s: this process has it open already; close it first",
                           tamis__show(directory->path).text);
    return tamis__fail(err, TAMIS_E_BUSY, 0, "%s: process %s has it open; wait for that to end",
                       tamis__show(directory->path).text, tamis__show(holder.text).text);
}

/* Writes the holder's line. The rest of a longer old line may follow its newline. */
static void note_holder(const state_directory *directory) {
    char line[sizeof(tamis__holder) + 1];
    const int size = snprintf(line, sizeof line, "%s\n", tamis__holder_now().text);
    /* On a full disk the line is missing. */
    (void)tamis__sys.pwrite(directory->lock_fd, line, (size_t)size, 0);
}

tamis_status tamis__state_directory_lock(state_directory *directory, bool writes, tamis_error *err) {
    const state_path path = tamis__state_path(directory, "lock");
    /* A reader needs only read access to the lock file. */
    directory->lock_fd = tamis__open(path.text, (writes ? O_RDWR | O_CREAT : O_RDONLY) | O_NOFOLLOW, 0666);
    if (directory->lock_fd < 0 && errno == ENOENT && !writes)
        return TAMIS_OK; /* never opened for writing, or copied without its lock */
    if (directory->lock_fd < 0)
        return tamis__fail_file(err, path.text, errno);
    int failed;
    do
        failed = tamis__sys.lock(directory->lock_fd, (writes ? LOCK_EX : LOCK_SH) | LOCK_NB) < 0 ? errno : 0;
    while (failed == EINTR);
    if (failed == 0 && writes)
        note_holder(directory);
    if (failed == EWOULDBLOCK)
        return fail_busy(directory, err);
    if (failed)
        return tamis__fail(err, TAMIS_E_IO, failed,
                           "%s: cannot be locked: %s; keep it on another file system",
                           tamis__show(directory->path).text, tamis__errno_text(failed));
    return TAMIS_OK;
}

/* ---- files ---- */

tamis_status tamis__state_write_file(int fd, const char *path, const void *bytes, size_t size,
                                     tamis_error *err) {
    const uint8_t *next = bytes;
    while (size > 0) {
        const ssize_t wrote = tamis__sys.write(fd, next, size);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return tamis__fail_file(err, path, wrote < 0 ? errno : EIO);
        next += wrote;
        size -= (size_t)wrote;
    }
    return TAMIS_OK;
}

tamis_status tamis__state_create(int *fd, const char *path, tamis_error *err) {
    if (tamis__sys.unlink(path) < 0 && errno != ENOENT)
        return tamis__fail_file(err, path, errno);
    *fd = tamis__open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
    return *fd < 0 ? tamis__fail_file(err, path, errno) : TAMIS_OK;
}

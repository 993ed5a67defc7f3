/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cmd/copy/copy_bitmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tamis/experimental/redis.h>

#include "cli/process/cli_save.h"
#include "cli/server/cli_server.h"

enum { PIECE = 1 << 20 };

typedef struct bitmap {
    char *bytes; /* malloc */
    size_t size, capacity;
} bitmap;

/* Makes space for `size` more bytes. The system enlarges a large block without copying it. */
static tamis_status reserve_space(bitmap *content, size_t size, tamis_error *err) {
    char *more;

    if (content->capacity - content->size >= size)
        return TAMIS_OK;
    more = realloc(content->bytes, content->size + size);
    if (!more)
        return cli_fail_nomem("copy", err);
    content->bytes = more;
    content->capacity = content->size + size;
    return TAMIS_OK;
}

/* ---- from a server ---- */

static tamis_status append_bytes(void *context, const void *bytes, size_t size, tamis_error *err) {
    bitmap *content = context;

    if (reserve_space(content, size, err) != TAMIS_OK)
        return err->status;
    memcpy(content->bytes + content->size, bytes, size);
    content->size += size;
    return TAMIS_OK;
}

static tamis_status fetch(const char *from, const char *to, tamis_error *err) {
    tamis_filter *there = NULL;
    bitmap content = {NULL, 0, 0};
    tamis_status status = cli_server_open(&there, from, NULL, NULL, err);

    if (status == TAMIS_OK)
        status = tamis_redis_pull_bitmap(there, append_bytes, &content, err);
    if (status == TAMIS_OK)
        status = cli_save(to, content.bytes, content.size, err);
    free(content.bytes);
    tamis_filter_free(there);
    return status;
}

/* ---- to a server ---- */

static tamis_status refuse(const char *name, int number, tamis_error *err) {
    char why[80];

    return cli_fail(err, "%.180s: %s; check the name and its folder", name,
                    cli_errno_text(why, sizeof why, number));
}

static tamis_status read_all(bitmap *content, int fd, const char *name, tamis_error *err) {
    for (;;) {
        ssize_t got;
        if (content->size == content->capacity && reserve_space(content, PIECE, err) != TAMIS_OK)
            return err->status;
        got = read(fd, content->bytes + content->size, content->capacity - content->size);
        if (got < 0 && errno != EINTR)
            return refuse(name, errno, err);
        if (got == 0)
            return TAMIS_OK;
        content->size += got > 0 ? (size_t)got : 0;
    }
}

/* Reads a file. For a regular file it reserves the size and one byte more, which is needed to see the end. */
static tamis_status load(bitmap *content, const char *name, tamis_error *err) {
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    tamis_status status = TAMIS_OK;
    struct stat st;

    if (fd < 0)
        return refuse(name, errno, err);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        status = reserve_space(content, (size_t)st.st_size + 1, err);
    if (status == TAMIS_OK)
        status = read_all(content, fd, name, err);
    close(fd);
    return status;
}

static tamis_status send(const char *from, const char *to, cli_lock_wait wait, tamis_error *err) {
    tamis_filter *there = NULL, *made = NULL;
    bitmap content = {NULL, 0, 0};
    tamis_status status = cli_server_open(&there, to, NULL, NULL, err);

    if (status == TAMIS_OK)
        status = load(&content, from, err);
    if (status == TAMIS_OK)
        status = tamis_redis_from_bitmap(&made, there, content.bytes, content.size, err);
    if (status == TAMIS_E_MISMATCH)
        cli_subject(err, "%.150s", from);
    free(content.bytes);
    if (status == TAMIS_OK)
        status = cli_server_push(made, to, wait, err);
    tamis_filter_free(made);
    tamis_filter_free(there);
    return status;
}

tamis_status copy_bitmap(const char *from, const char *to, cli_lock_wait wait, tamis_error *err) {
    if (cli_server_is_uri(from) && !cli_server_is_uri(to))
        return fetch(from, to, err);
    if (!cli_server_is_uri(from) && cli_server_is_uri(to))
        return send(from, to, wait, err);
    return cli_fail(
        err, "--format bitmap: is for a filter on a server and a file; name a URI and a file, or leave "
             "--format out");
}

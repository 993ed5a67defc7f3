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
static int reserve_space(bitmap *content, size_t size, tamis_error *err) {
    char *more;

    if (content->capacity - content->size >= size)
        return CLI_DONE;
    more = realloc(content->bytes, content->size + size);
    if (more == NULL)
        return cli_fail_nomem("copy", err);
    content->bytes = more;
    content->capacity = content->size + size;
    return CLI_DONE;
}

/* ---- from a server ---- */

static tamis_status append_bytes(void *context, const void *bytes, size_t size, tamis_error *err) {
    bitmap *content = context;

    if (reserve_space(content, size, err) != CLI_DONE)
        return err->status;
    memcpy(content->bytes + content->size, bytes, size);
    content->size += size;
    return TAMIS_OK;
}

static int fetch(const char *from, const char *to, tamis_error *err) {
    tamis_filter *there = NULL;
    bitmap content = {NULL, 0, 0};
    int code = cli_server_open(&there, from, NULL, NULL, err);

    if (code == CLI_DONE && tamis_redis_pull_bitmap(there, append_bytes, &content, err) != TAMIS_OK)
        code = CLI_FAILED;
    if (code == CLI_DONE)
        code = cli_save(to, content.bytes, content.size, err);
    free(content.bytes);
    tamis_filter_free(there);
    return code;
}

/* ---- to a server ---- */

static int refuse(const char *name, int number, tamis_error *err) {
    char why[80];

    return cli_fail(err, "%.180s: %s; check the name and its folder", name,
                    cli_errno_text(why, sizeof why, number));
}

static int read_all(bitmap *content, int fd, const char *name, tamis_error *err) {
    for (;;) {
        ssize_t got;
        if (content->size == content->capacity && reserve_space(content, PIECE, err) != CLI_DONE)
            return CLI_FAILED;
        got = read(fd, content->bytes + content->size, content->capacity - content->size);
        if (got < 0 && errno != EINTR)
            return refuse(name, errno, err);
        if (got == 0)
            return CLI_DONE;
        content->size += got > 0 ? (size_t)got : 0;
    }
}

/* Reads a file. For a regular file it reserves the size and one byte more, which is needed to see the end. */
static int load(bitmap *content, const char *name, tamis_error *err) {
    int fd = open(name, O_RDONLY | O_CLOEXEC), code = CLI_DONE;
    struct stat st;

    if (fd < 0)
        return refuse(name, errno, err);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        code = reserve_space(content, (size_t)st.st_size + 1, err);
    if (code == CLI_DONE)
        code = read_all(content, fd, name, err);
    close(fd);
    return code;
}

static int send(const char *from, const char *to, cli_lock_wait wait, tamis_error *err) {
    tamis_filter *there = NULL, *made = NULL;
    bitmap content = {NULL, 0, 0};
    int code = cli_server_open(&there, to, NULL, NULL, err);

    if (code == CLI_DONE)
        code = load(&content, from, err);
    if (code == CLI_DONE &&
        tamis_redis_from_bitmap(&made, there, content.bytes, content.size, err) != TAMIS_OK) {
        if (err->status == TAMIS_E_MISMATCH)
            cli_subject(err, "%.150s", from);
        code = CLI_FAILED;
    }
    free(content.bytes);
    if (code == CLI_DONE)
        code = cli_server_push(made, to, wait, err);
    tamis_filter_free(made);
    tamis_filter_free(there);
    return code;
}

int copy_bitmap(const char *from, const char *to, cli_lock_wait wait, tamis_error *err) {
    if (cli_server_is_uri(from) && !cli_server_is_uri(to))
        return fetch(from, to, err);
    if (!cli_server_is_uri(from) && cli_server_is_uri(to))
        return send(from, to, wait, err);
    return cli_fail(
        err, "--format bitmap: is for a filter on a server and a file; name a URI and a file, or leave "
             "--format out");
}

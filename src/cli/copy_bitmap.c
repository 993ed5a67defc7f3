/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/copy_bitmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tamis/redis.h>

#include "cli/cli_save.h"
#include "cli/cli_server.h"

enum { PIECE = 1 << 20 };

typedef struct bitmap {
    char *bytes; /* malloc */
    size_t size, room;
} bitmap;

/* A large block the system moves without copying it. */
static int make_room(bitmap *all, size_t size, tamis_error *err) {
    char *more;

    if (all->room - all->size >= size)
        return CLI_DONE;
    more = realloc(all->bytes, all->size + size);
    if (more == NULL)
        return cli_fail_nomem("copy", err);
    all->bytes = more;
    all->room = all->size + size;
    return CLI_DONE;
}

/* ---- from a server ---- */

static tamis_status take(void *context, const void *bytes, size_t size, tamis_error *err) {
    bitmap *all = context;

    if (make_room(all, size, err) != CLI_DONE)
        return err->status;
    memcpy(all->bytes + all->size, bytes, size);
    all->size += size;
    return TAMIS_OK;
}

static int fetch(const char *from, const char *to, tamis_error *err) {
    tamis_filter *there = NULL;
    bitmap all = {NULL, 0, 0};
    int code = cli_server_open(&there, from, NULL, NULL, err);

    if (code == CLI_DONE && tamis_redis_pull_bitmap(there, take, &all, err) != TAMIS_OK)
        code = CLI_FAILED;
    if (code == CLI_DONE)
        code = cli_save(to, all.bytes, all.size, err);
    free(all.bytes);
    tamis_filter_free(there);
    return code;
}

/* ---- to a server ---- */

static int refuse(const char *name, int number, tamis_error *err) {
    char why[80];

    return cli_fail(err, "%.180s: %s; check the name and its folder", name,
                    cli_errno_text(why, sizeof why, number));
}

static int read_all(bitmap *all, int fd, const char *name, tamis_error *err) {
    for (;;) {
        ssize_t some;
        if (all->size == all->room && make_room(all, PIECE, err) != CLI_DONE)
            return CLI_FAILED;
        some = read(fd, all->bytes + all->size, all->room - all->size);
        if (some < 0 && errno != EINTR)
            return refuse(name, errno, err);
        if (some == 0)
            return CLI_DONE;
        all->size += some > 0 ? (size_t)some : 0;
    }
}

/* A file has its size and a byte more at once, in which its end is seen. */
static int load(bitmap *all, const char *name, tamis_error *err) {
    int fd = open(name, O_RDONLY | O_CLOEXEC), code = CLI_DONE;
    struct stat about;

    if (fd < 0)
        return refuse(name, errno, err);
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode))
        code = make_room(all, (size_t)about.st_size + 1, err);
    if (code == CLI_DONE)
        code = read_all(all, fd, name, err);
    close(fd);
    return code;
}

static int send(const char *from, const char *to, cli_lock_wait wait, tamis_error *err) {
    tamis_filter *there = NULL, *made = NULL;
    bitmap all = {NULL, 0, 0};
    int code = cli_server_open(&there, to, NULL, NULL, err);

    if (code == CLI_DONE)
        code = load(&all, from, err);
    if (code == CLI_DONE && tamis_redis_from_bitmap(there, all.bytes, all.size, &made, err) != TAMIS_OK) {
        if (err->status == TAMIS_E_MISMATCH)
            cli_subject(err, "%.150s", from);
        code = CLI_FAILED;
    }
    free(all.bytes);
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

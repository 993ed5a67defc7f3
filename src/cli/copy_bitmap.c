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

typedef struct bitmap {
    char *bytes; /* malloc */
    size_t size, room;
} bitmap;

static tamis_status fail_memory(tamis_error *err) {
    cli_fail(err, "copy: out of memory; free some, or raise the limit (ulimit -v)");
    err->status = TAMIS_E_NOMEM;
    return err->status;
}

/* ---- from a server ---- */

static tamis_status take(void *context, const void *bytes, size_t size, tamis_error *err) {
    bitmap *all = context;

    if (all->room - all->size < size) {
        size_t room = 2 * all->room + size;
        char *more = realloc(all->bytes, room);
        if (more == NULL)
            return fail_memory(err);
        all->bytes = more;
        all->room = room;
    }
    memcpy(all->bytes + all->size, bytes, size);
    all->size += size;
    return TAMIS_OK;
}

static int fetch(const char *from, const char *to, tamis_error *err) {
    tamis_filter *there = NULL;
    bitmap all = {NULL, 0, 0};
    int code = cli_server_open(&there, from, false, NULL, err);

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
    char part[1 << 16];

    for (;;) {
        ssize_t some = read(fd, part, sizeof part);
        if (some < 0 && errno == EINTR)
            continue;
        if (some < 0)
            return refuse(name, errno, err);
        if (some == 0)
            return CLI_DONE;
        if (take(all, part, (size_t)some, err) != TAMIS_OK)
            return CLI_FAILED;
    }
}

static int load(bitmap *all, const char *name, tamis_error *err) {
    int fd = open(name, O_RDONLY | O_CLOEXEC), code;

    if (fd < 0)
        return refuse(name, errno, err);
    code = read_all(all, fd, name, err);
    close(fd);
    return code;
}

static int send(const char *from, const char *to, tamis_error *err) {
    tamis_filter *there = NULL, *made = NULL;
    bitmap all = {NULL, 0, 0};
    int code = cli_server_open(&there, to, false, NULL, err);

    if (code == CLI_DONE)
        code = load(&all, from, err);
    if (code == CLI_DONE && tamis_redis_from_bitmap(there, all.bytes, all.size, &made, err) != TAMIS_OK) {
        if (err->status == TAMIS_E_MISMATCH)
            cli_subject(err, "%.150s", from);
        code = CLI_FAILED;
    }
    free(all.bytes);
    if (code == CLI_DONE)
        code = cli_server_push(made, to, err);
    tamis_filter_free(made);
    tamis_filter_free(there);
    return code;
}

int copy_bitmap(const char *from, const char *to, tamis_error *err) {
    if (cli_server_is_uri(from) && !cli_server_is_uri(to))
        return fetch(from, to, err);
    if (!cli_server_is_uri(from) && cli_server_is_uri(to))
        return send(from, to, err);
    return cli_fail(
        err, "--format bitmap: is for a filter on a server and a file; name a URI and a file, or leave "
             "--format out");
}

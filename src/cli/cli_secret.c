/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli_secret.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

/* Until the end, or one byte more than a secret may have: that one says "too long". */
static int read_whole(cli_secret *secret, int fd) {
    while (secret->size < sizeof secret->bytes) {
        ssize_t got = read(fd, secret->bytes + secret->size, sizeof secret->bytes - secret->size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        secret->size += (size_t)got;
    }
    return 0;
}

int cli_secret_read(cli_secret *secret, const char *path, tamis_error *err) {
    char why[80];
    int fd = open(path, O_RDONLY | O_CLOEXEC), failed;

    secret->size = 0;
    failed = fd < 0 || read_whole(secret, fd) != 0;
    if (failed)
        cli_fail(err, "--secret-file '%.300s': %s; give a readable file", path,
                 cli_errno_text(why, sizeof why, errno));
    if (fd >= 0)
        close(fd);
    if (!failed && secret->size < TAMIS_SECRET_MIN)
        failed = cli_fail(
            err, "--secret-file '%.300s': has %zu bytes, too few to be secret; give a file of %d to %d bytes",
            path, secret->size, TAMIS_SECRET_MIN, TAMIS_SECRET_MAX);
    else if (!failed && secret->size > TAMIS_SECRET_MAX)
        failed =
            cli_fail(err, "--secret-file '%.300s': has more than %d bytes; give a file of %d to %d bytes",
                     path, TAMIS_SECRET_MAX, TAMIS_SECRET_MIN, TAMIS_SECRET_MAX);
    if (!failed)
        return CLI_DONE;
    cli_secret_forget(secret);
    return CLI_FAILED;
}

void cli_secret_forget(cli_secret *secret) {
    explicit_bzero(secret, sizeof *secret);
}

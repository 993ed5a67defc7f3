/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/process/cli_secret.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/process/cli_signal.h"

static tamis_status fail(const char *path, int number, tamis_error *err) {
    char why[80];

    return cli_fail(err, "--secret-file '%.300s': %s; give a readable file", path,
                    cli_errno_text(why, sizeof why, number));
}

/* Waits until `fd` or `stop_fd` is readable. A FIFO is opened without waiting for its writer, so the wait
 * is here, where a request to stop ends it. */
static tamis_status wait_readable(int fd, int stop_fd, const char *path, tamis_error *err) {
    struct pollfd waits[] = {{stop_fd, POLLIN, 0}, {fd, POLLIN, 0}};

    while (poll(waits, 2, -1) < 0)
        if (errno != EINTR)
            return fail(path, errno, err);
    return waits[0].revents != 0 ? cli_signals_look(err) : TAMIS_OK;
}

/* Reads to the end of the file, but at most one byte more than a secret may have; check_size then refuses
 * it. */
static tamis_status read_whole(cli_secret *secret, int fd, int stop_fd, const char *path, tamis_error *err) {
    while (secret->size < sizeof secret->bytes) {
        const tamis_status status = wait_readable(fd, stop_fd, path, err);
        if (status != TAMIS_OK)
            return status;
        const ssize_t got = read(fd, secret->bytes + secret->size, sizeof secret->bytes - secret->size);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got < 0)
            return fail(path, errno, err);
        if (got == 0)
            break;
        secret->size += (size_t)got;
    }
    return fstat(fd, &secret->st) == 0 ? TAMIS_OK : fail(path, errno, err);
}

static tamis_status check_size(const cli_secret *secret, const char *path, tamis_error *err) {
    if (secret->size < TAMIS_SECRET_MIN)
        return cli_fail(
            err, "--secret-file '%.300s': has %zu bytes, too few to be secret; give a file of %d to %d bytes",
            path, secret->size, TAMIS_SECRET_MIN, TAMIS_SECRET_MAX);
    if (secret->size > TAMIS_SECRET_MAX)
        return cli_fail(err, "--secret-file '%.300s': has more than %d bytes; give a file of %d to %d bytes",
                        path, TAMIS_SECRET_MAX, TAMIS_SECRET_MIN, TAMIS_SECRET_MAX);
    return TAMIS_OK;
}

tamis_status cli_secret_read(cli_secret *secret, const char *path, int stop_fd, tamis_error *err) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    secret->size = 0;
    tamis_status status = fd < 0 ? fail(path, errno, err) : read_whole(secret, fd, stop_fd, path, err);
    if (fd >= 0)
        close(fd);
    if (status == TAMIS_OK)
        status = check_size(secret, path, err);
    if (status != TAMIS_OK)
        cli_secret_forget(secret);
    return status;
}

bool cli_secret_is_in(const cli_secret *secret, const char *path) {
    struct stat output;

    if ((strcmp(path, "-") == 0 ? fstat(STDOUT_FILENO, &output) : stat(path, &output)) != 0)
        return false; /* the output does not exist yet */
    const mode_t mode = output.st_mode;
    /* A terminal or /dev/null stores nothing, so it may be both. */
    return (S_ISREG(mode) || S_ISFIFO(mode) || S_ISBLK(mode)) && output.st_dev == secret->st.st_dev &&
           output.st_ino == secret->st.st_ino;
}

void cli_secret_forget(cli_secret *secret) {
    explicit_bzero(secret, sizeof *secret);
}

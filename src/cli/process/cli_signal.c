/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Signals of a run: the first one ends it in order, the second one at once.
 *
 *     SIGINT, SIGTERM, SIGHUP --> on_signal: one byte into a pipe --> stop_fd is readable --> the run ends
 *
 * Why a pipe: a handler may call only a few functions, and a flag may be set just before a read that waits
 * for ever. The poll loop of the library polls the pipe beside every descriptor that it waits for.
 *
 * Why SA_RESETHAND and not a counter: the second signal of a kind then has its default action. It kills a run
 * that hangs, in a driver or on a dead disk, where no code of ours would look at a counter.
 */
#include "cli/process/cli_signal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static volatile sig_atomic_t caught_signal;
static volatile sig_atomic_t wake_fd = -1;
static int stopping_fd = -1; /* read end of the pipe; wake_fd is its write end */

static void on_signal(int number) {
    const int saved = errno;

    caught_signal = number;
    /* The pipe does not block. If it is full, it is already readable, so a failed write does not matter. */
    if (write((int)wake_fd, "", 1) < 0)
        errno = saved;
    errno = saved;
}

tamis_status cli_signals_begin(int *stop_fd, tamis_error *err) {
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action, before;
    char why[80];
    int pipe_fds[2];

    if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) != 0)
        return cli_fail(err, "pipe for signals: %s; close files, or raise the limit of open files",
                        cli_errno_text(why, sizeof why, errno));
    wake_fd = pipe_fds[1];
    *stop_fd = stopping_fd = pipe_fds[0];
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
    action.sa_handler = on_signal;
    action.sa_flags = (int)SA_RESETHAND; /* no SA_RESTART: a signal must end a blocked read */
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++) {
        if (sigaction(ending[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN)
            continue;
        sigaction(ending[i], &action, NULL);
    }
    return TAMIS_OK;
}

int cli_signals_fd(void) {
    return stopping_fd;
}

tamis_status cli_signals_look(tamis_error *err) {
    if (caught_signal == 0)
        return TAMIS_OK;
    cli_fail(err, "stopped by a signal");
    err->status = TAMIS_E_INTERRUPTED;
    return err->status;
}

int cli_signals_code(void) {
    return 128 + (caught_signal != 0 ? (int)caught_signal : SIGTERM);
}

_Noreturn void cli_die_of_pipe(void) {
    sigset_t mask;

    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&mask);
    sigaddset(&mask, SIGPIPE);
    sigprocmask(SIG_UNBLOCK, &mask, NULL);
    raise(SIGPIPE);
    _exit(128 + SIGPIPE);
}

void cli_hold_standard_files(void) {
    /* Opened in the opposite direction, so that reading or writing there is an error. */
    static const int modes[] = {O_WRONLY, O_RDONLY, O_RDONLY};

    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) != -1 || errno != EBADF)
            continue;
        if (open("/dev/null", modes[fd]) != fd)
            return; /* no /dev/null: nothing better can be done */
    }
}

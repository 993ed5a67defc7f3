/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * SIGBUS becomes an error message. A mapped file that is cut short raises SIGBUS when a missing page is read.
 *
 *     thread reads a page --> SIGBUS --> on_bus: find the file in /proc/self/maps --> message, exit status 2
 *
 * - A signal that another process sent (si_code <= 0) gets its default action.
 * - An address without a file gets the default action too: the handler returns, the access is made again,
 *   and the second SIGBUS ends the process.
 * - If /proc/self/maps cannot be opened, the message names no file.
 * - If several threads fail at once, the first one prints the message and the others wait for the end.
 *
 * The handler uses only functions that POSIX allows in a signal handler, so no stdio. Its buffers are
 * static, because the stack of a thread may be small.
 */
#include "cli/process/cli_signal.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

typedef struct line {
    char text[PATH_MAX + 200];
    size_t size;
} line;

static void append_text(line *to, const char *text) {
    for (; *text != '\0' && to->size < sizeof to->text; text++)
        to->text[to->size++] = (unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text;
}

/* Reads the next line of `fd`, cut if it is too long. Returns false at the end. */
static bool next_line(int fd, line *into) {
    char c;

    for (into->size = 0; read(fd, &c, 1) == 1;) {
        if (c == '\n') {
            into->text[into->size] = '\0';
            return true;
        }
        if (into->size < sizeof into->text - 1)
            into->text[into->size++] = c;
    }
    return false;
}

static const char *read_hex(const char *pos, uintptr_t *number) {
    for (*number = 0;; pos++) {
        if (*pos >= '0' && *pos <= '9')
            *number = *number * 16 + (uintptr_t)(*pos - '0');
        else if (*pos >= 'a' && *pos <= 'f')
            *number = *number * 16 + (uintptr_t)(*pos - 'a' + 10);
        else
            return pos;
    }
}

/* Returns the path of the file that is mapped at `address`, or NULL. A line of /proc/self/maps is
 * "from-to rights offset device inode  /path". */
static const char *find_mapped(int fd, uintptr_t address, line *buffer) {
    while (next_line(fd, buffer)) {
        uintptr_t from, to;
        const char *pos = read_hex(buffer->text, &from);
        pos = read_hex(pos + (*pos == '-'), &to);
        if (from <= address && address < to)
            return strchr(pos, '/');
    }
    return NULL;
}

static char directory[PATH_MAX]; /* the working directory; "": not known */

/* Returns the path relative to the working directory if it is below it. */
static const char *name_of(const char *path) {
    const size_t size = strlen(directory);

    return size > 0 && strncmp(path, directory, size) == 0 && path[size] == '/' ? path + size + 1 : path;
}

static void on_bus(int number, siginfo_t *info, void *context) {
    static line maps, message;
    static int entered;

    if (info->si_code <= 0) { /* sent by a process */
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    while (__atomic_exchange_n(&entered, 1, __ATOMIC_ACQUIRE))
        pause(); /* another thread prints the message and ends the process */
    const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    const char *path = fd < 0 ? NULL : find_mapped(fd, (uintptr_t)info->si_addr, &maps);

    (void)context;
    if (fd >= 0 && !path) {
        signal(number, SIG_DFL); /* no file: the repeated access ends the process */
        __atomic_store_n(&entered, 0, __ATOMIC_RELEASE);
        close(fd);
        return;
    }
    append_text(&message, "tamis: ");
    append_text(&message, path ? name_of(path) : "filter");
    append_text(&message, ": was cut short while it was in use, or cannot be read; put the whole file back");
    message.text[message.size < sizeof message.text ? message.size++ : message.size - 1] = '\n';
    if (write(STDERR_FILENO, message.text, message.size) < 0)
        _exit(CLI_EXIT_ERROR);
    _exit(CLI_EXIT_ERROR);
}

void cli_bus_begin(void) {
    struct sigaction action;

    if (!getcwd(directory, sizeof directory))
        directory[0] = '\0';
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_sigaction = on_bus;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGBUS, &action, NULL);
}

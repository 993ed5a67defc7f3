/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

int cli_fail(tamis_error *err, const char *format, ...) {
    va_list arguments;

    err->status = TAMIS_E_INVALID;
    va_start(arguments, format);
    vsnprintf(err->text, sizeof err->text, format, arguments);
    va_end(arguments);
    return CLI_FAILED;
}

int cli_fail_of(const char *path, tamis_error *err) {
    tamis_error why = *err;

    snprintf(err->text, sizeof err->text, "%.200s: %.280s", path, why.text);
    return CLI_FAILED;
}

void cli_remedy(tamis_error *err, const char *remedy) {
    char *end = strrchr(err->text, ';');
    size_t used = end == NULL ? strlen(err->text) : (size_t)(end - err->text);

    snprintf(err->text + used, sizeof err->text - used, "; %s", remedy);
}

int cli_fail_output(tamis_error *err, int number) {
    char why[80];

    if (number == EBADF)
        return cli_fail(err, "standard output: closed, or open for reading only; open it, or redirect it to "
                             "a file");
    return cli_fail(err, "standard output: %s; free space there, or write elsewhere",
                    number != 0 ? cli_errno_text(why, sizeof why, number) : "not all could be written");
}

int cli_output_check(tamis_error *err) {
    int flags = fcntl(STDOUT_FILENO, F_GETFL);

    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
        return cli_fail_output(err, EBADF);
    return CLI_DONE;
}

int cli_output_write(const char *data, size_t size, tamis_error *err) {
    while (size > 0) {
        ssize_t written = write(STDOUT_FILENO, data, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0 && errno == EPIPE)
            return CLI_PIPE_GONE;
        if (written < 0)
            return cli_fail_output(err, errno);
        data += written;
        size -= (size_t)written;
    }
    return CLI_DONE;
}

void cli_report(const char *sentence) {
    char line[sizeof(((tamis_error *)NULL)->text) + 16];
    size_t length = (size_t)snprintf(line, sizeof line - 1, "tamis: %s", sentence);

    if (length > sizeof line - 2)
        length = sizeof line - 2;
    /* A file name may hold a newline or an escape sequence: neither may reach the terminal. */
    for (size_t i = 0; i < length; i++)
        if (iscntrl((unsigned char)line[i]))
            line[i] = '?';
    line[length++] = '\n';
    /* In one piece, so that lines of several processes do not mix; nobody is left to tell of a failure. */
    if (write(STDERR_FILENO, line, length) < 0)
        return;
}

const char *cli_errno_text(char *text, size_t size, int number) {
    snprintf(text, size, "%s", strerror(number));
    if (isupper((unsigned char)text[0]) && islower((unsigned char)text[1]))
        text[0] = (char)tolower((unsigned char)text[0]);
    return text;
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Error messages of the command: "what: why; what to do", one line on standard error.
 *
 *                  what       why                         what to do
 *     the library  f.tamis:   process 17 on h holds it;   wait for that to end
 *     the command  operand    as it is                    an option
 *                  (cli_subject)                          (cli_remedy)
 *
 * The library knows no options. So the command keeps its reason (why) and names the option to give, or the
 * operand as it was typed. A function fills *err and returns its status; cli_run prints the last one.
 *
 * What is printed may contain anything that a user, a file or a server has sent. So cli_report hides the
 * passwords of URIs, and replaces control bytes: a file name must not move the cursor of a terminal.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tamis/experimental/redis.h>

#include "cli/cli.h"

tamis_status cli_fail(tamis_error *err, const char *format, ...) {
    va_list arguments;

    err->status = TAMIS_E_INVALID;
    va_start(arguments, format);
    vsnprintf(err->text, sizeof err->text, format, arguments);
    va_end(arguments);
    return err->status;
}

tamis_status cli_fail_nomem(const char *what, tamis_error *err) {
    cli_fail(err, "%s: out of memory; free some, or raise the limit (ulimit -v)", what);
    err->status = TAMIS_E_NOMEM;
    return err->status;
}

/* Returns the message after "what: ", or the whole message if it has no subject. */
static const char *after_subject(const char *message) {
    const char *colon = strstr(message, ": ");

    return !colon ? message : colon + 2;
}

const char *cli_why(const tamis_error *err, int *length) {
    const char *why = after_subject(err->text);

    *length = (int)strcspn(why, ";");
    return why;
}

void cli_subject(tamis_error *err, const char *format, ...) {
    const tamis_error given = *err;
    va_list arguments;

    va_start(arguments, format);
    const int used = vsnprintf(err->text, sizeof err->text, format, arguments);
    va_end(arguments);
    if (used >= 0 && used < (int)sizeof err->text) {
        const int remaining = (int)sizeof err->text - used;
        snprintf(err->text + used, (size_t)remaining, ": %.*s", remaining, after_subject(given.text));
    }
}

void cli_remedy(tamis_error *err, const char *remedy) {
    char *end = strrchr(err->text, ';');
    const size_t used = !end ? strlen(err->text) : (size_t)(end - err->text);

    snprintf(err->text + used, sizeof err->text - used, "; %s", remedy);
}

tamis_status cli_fail_output(tamis_error *err, int number) {
    char why[80];

    if (number == EPIPE) {
        cli_fail(err, "standard output: its reader has gone");
        return err->status = TAMIS_E_PIPE;
    }
    if (number == EBADF)
        return cli_fail(err, "standard output: closed, or open for reading only; open it, or redirect it to "
                             "a file");
    return cli_fail(err, "standard output: %s; free space there, or write elsewhere",
                    number != 0 ? cli_errno_text(why, sizeof why, number) : "not all could be written");
}

tamis_status cli_output_check(tamis_error *err) {
    const int flags = fcntl(STDOUT_FILENO, F_GETFL);

    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
        return cli_fail_output(err, EBADF);
    return TAMIS_OK;
}

tamis_status cli_output_write(const char *data, size_t size, tamis_error *err) {
    while (size > 0) {
        const ssize_t written = write(STDOUT_FILENO, data, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return cli_fail_output(err, errno);
        data += written;
        size -= (size_t)written;
    }
    return TAMIS_OK;
}

/* Removes user and password from every URI in the line. */
static void hide_passwords(char *line) {
    for (char *uri = line; (uri = strstr(uri, "://")) != NULL;) {
        char shown[sizeof(((tamis_error *)NULL)->text) + 16];
        size_t typed = strcspn(uri, " '"), size;
        char *end = uri + typed, behind = *end;
        *end = '\0';
        size = tamis_redis_uri_show(uri, shown, sizeof shown);
        *end = behind;
        size = size < typed ? size : typed; /* the shown form may be longer than the URI */
        memcpy(uri, shown, size);
        memmove(uri + size, end, strlen(end) + 1);
        uri += size;
    }
}

void cli_report(const char *message) {
    char line[sizeof(((tamis_error *)NULL)->text) + 16];
    size_t length = (size_t)snprintf(line, sizeof line - 1, "tamis: %s", message);

    if (length > sizeof line - 2)
        length = sizeof line - 2;
    line[length] = '\0';
    hide_passwords(line);
    length = strlen(line);
    /* A file name may contain a newline or an escape sequence. Neither may reach the terminal. */
    for (size_t i = 0; i < length; i++)
        if (iscntrl((unsigned char)line[i]))
            line[i] = '?';
    line[length++] = '\n';
    /* One write, so that lines of several processes do not mix. Its failure cannot be reported. */
    if (write(STDERR_FILENO, line, length) < 0)
        return;
}

const char *cli_errno_text(char *text, size_t size, int number) {
    snprintf(text, size, "%s", strerror(number));
    if (isupper((unsigned char)text[0]) && islower((unsigned char)text[1]))
        text[0] = (char)tolower((unsigned char)text[0]);
    return text;
}

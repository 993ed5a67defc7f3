/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
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

void cli_remedy(tamis_error *err, const char *remedy) {
    char *end = strrchr(err->text, ';');
    size_t used = end == NULL ? strlen(err->text) : (size_t)(end - err->text);

    snprintf(err->text + used, sizeof err->text - used, "; %s", remedy);
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

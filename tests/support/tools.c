/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { NOT_FOUND = 127 }; /* exit status of the shell */

void tool_run(const char *command, const void *data, size_t size, test_bytes *to) {
    char line[1024];
    test_bytes made = {0};
    file_write(scratch("tool.in"), data, size);
    snprintf(line, sizeof line, "%s <'%s' >'%s'", command, scratch("tool.in"), scratch("tool.out"));
    int status = system(line);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND) {
        fprintf(stderr, "%s: is not there\n", command);
        skip();
    }
    if (status != 0)
        fail_msg("%s: status %d", command, status);
    file_read(scratch("tool.out"), &made);
    bytes_add(to, made.data, made.size);
    bytes_clear(&made);
    unlink(scratch("tool.in"));
    unlink(scratch("tool.out"));
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "decompress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { NOT_FOUND = 127 }; /* exit status of the shell */

bool decompress_file(tamis_compression compression, const char *path, test_bytes *into) {
    char command[400];
    unsigned char buffer[4096];
    size_t size;
    snprintf(command, sizeof command, "exec %s -dc < '%s' 2> /dev/null", tamis_compression_name(compression),
             path);
    FILE *from = popen(command, "re");
    if (!from)
        abort();
    while ((size = fread(buffer, 1, sizeof buffer, from)) > 0)
        bytes_add(into, buffer, size);
    int status = pclose(from);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND) {
        fprintf(stderr, "%s: is not there\n", tamis_compression_name(compression));
        skip();
    }
    return status == 0;
}

bool decompress_bytes(tamis_compression compression, const test_bytes *bytes, test_bytes *into) {
    file_write(scratch("packed"), bytes->data, bytes->size);
    bool whole = decompress_file(compression, scratch("packed"), into);
    unlink(scratch("packed"));
    return whole;
}

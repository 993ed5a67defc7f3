/* SPDX-License-Identifier: BSD-2-Clause */
#include "unpacked.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool unpacked_file(tamis_packing packing, const char *path, test_bytes *into) {
    char command[400];
    unsigned char buffer[4096];
    size_t size;
    snprintf(command, sizeof command, "exec %s -dc < '%s' 2> /dev/null", tamis_packing_name(packing), path);
    FILE *from = popen(command, "re");
    if (!from)
        abort();
    while ((size = fread(buffer, 1, sizeof buffer, from)) > 0)
        bytes_add(into, buffer, size);
    return pclose(from) == 0;
}

bool unpacked(tamis_packing packing, const test_bytes *bytes, test_bytes *into) {
    file_write(scratch("packed"), bytes->data, bytes->size);
    bool whole = unpacked_file(packing, scratch("packed"), into);
    unlink(scratch("packed"));
    return whole;
}

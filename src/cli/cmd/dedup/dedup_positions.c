/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cmd/dedup/dedup_positions.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns the descriptor that `name` is, or -1 if it is the name of a file. */
static int descriptor_of(const char *name) {
    if (name[0] == '\0' || strlen(name) > 6 || strspn(name, "0123456789") != strlen(name))
        return -1;
    return atoi(name);
}

tamis_status dedup_positions_open(dedup_positions *commits, const char *name, tamis_error *err) {
    if (!name)
        return TAMIS_OK;
    const int given = descriptor_of(name);
    const int fd = given < 0 ? open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666)
                             : fcntl(given, F_DUPFD_CLOEXEC, 0);

    commits->name = name;
    commits->out = fd < 0 ? NULL : fdopen(fd, "a");
    if (commits->out) {
        setvbuf(commits->out, NULL, _IOLBF, 0); /* a line is of use only once it has arrived */
        return TAMIS_OK;
    }
    const int failed = errno;
    char why[80];
    if (fd >= 0)
        close(fd);
    return cli_fail(err, "--commits '%.200s': %s; give an open descriptor, or a file that can be written",
                    name, cli_errno_text(why, sizeof why, failed));
}

tamis_status dedup_positions_print(dedup_positions *commits, tamis_key source, uint64_t position,
                                   tamis_error *err) {
    char why[80];

    if (!commits->out)
        return TAMIS_OK;
    if (fprintf(commits->out, "%.*s %" PRIu64 "\n", (int)source.size, (const char *)source.data, position) >
            0 &&
        fflush(commits->out) == 0)
        return TAMIS_OK;
    return cli_fail(err, "--commits '%.200s': %s; the records are committed, so give the same command again",
                    commits->name, cli_errno_text(why, sizeof why, errno));
}

void dedup_positions_close(dedup_positions *commits) {
    if (commits->out)
        fclose(commits->out);
    commits->out = NULL;
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * --commits: a line "SOURCE POSITION" for each source after a commit. A program that feeds records to tamis,
 * such as a consumer of a queue, may forget all records up to there.
 *
 *     positions of source p0   1 2 3 4 5 6 7 8 9
 *                                      ^ line "p0 5": outputs of records up to 5 survive a loss of power
 *
 * Lines are written in order and at once (line buffered): a line that still waits in a buffer helps nobody.
 * If a line cannot be written the run ends, although its records are committed. The next run writes the line
 * again, so the reader may see a position twice and never one too far.
 *
 * The file must not be an output or an input, nor lie in the state: lines among records would be records.
 */
#include "cli/cmd/dedup/dedup_state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the descriptor that `name` is, or -1 if it is the name of a file. */
static int descriptor_of(const char *name) {
    if (strcmp(name, "-") == 0)
        return STDOUT_FILENO;
    if (name[0] == '\0' || strlen(name) > 6 || strspn(name, "0123456789") != strlen(name))
        return -1;
    return atoi(name);
}

static bool is_writable(int fd) {
    const int flags = fcntl(fd, F_GETFL);
    if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY)
        errno = EBADF;
    return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

static tamis_status fail_open(const char *name, int failed, tamis_error *err) {
    char why[80];
    return cli_fail(err, "--commits '%.200s': %s; give an open descriptor, or a file that can be written",
                    name, cli_errno_text(why, sizeof why, failed));
}

tamis_status dedup_positions_check(const dedup_config *config, tamis_error *err) {
    const char *name = config->commits;
    const char *const outputs[] = {config->output, config->duplicates};
    char path[PATH_MAX];
    struct stat st;

    if (!name)
        return TAMIS_OK;
    const int fd = descriptor_of(name);
    if (fd >= 0)
        snprintf(path, sizeof path, "/dev/fd/%d", fd);
    else
        snprintf(path, sizeof path, "%s", name);
    const bool is_file = stat(path, &st) != 0 || S_ISREG(st.st_mode);
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        const bool standard = outputs[i] && strcmp(outputs[i], "-") == 0;
        if (outputs[i] &&
            (standard ? fd == STDOUT_FILENO : is_file && dedup_is_same_target(path, outputs[i])))
            return cli_fail(err, "--commits '%.200s': is an output too; name another file or descriptor",
                            name);
    }
    if (is_file && dedup_is_in_directory(path, config->state))
        return cli_fail(err, "--commits '%.200s': is in the directory of --state; name another file", name);
    return is_file ? cli_stream_keep_apart(&config->stream, path, "the file of --commits", err) : TAMIS_OK;
}

tamis_status dedup_positions_open(dedup_positions *positions, const char *name, tamis_error *err) {
    if (!name)
        return TAMIS_OK;
    const int given = descriptor_of(name);
    if (given >= 0 && !is_writable(given))
        return fail_open(name, errno, err);
    const int fd = given < 0 ? open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666)
                             : fcntl(given, F_DUPFD_CLOEXEC, 0);

    positions->name = name;
    positions->out = fd < 0 ? NULL : fdopen(fd, "a");
    if (positions->out) {
        setvbuf(positions->out, NULL, _IOLBF, 0); /* a line is of use only once it has arrived */
        return TAMIS_OK;
    }
    const int failed = errno;
    if (fd >= 0)
        close(fd);
    return fail_open(name, failed, err);
}

tamis_status dedup_positions_print(dedup_positions *positions, tamis_key source, uint64_t position,
                                   tamis_error *err) {
    char why[80];

    if (!positions->out)
        return TAMIS_OK;
    if (fprintf(positions->out, "%.*s %" PRIu64 "\n", (int)source.size, (const char *)source.data, position) >
            0 &&
        fflush(positions->out) == 0)
        return TAMIS_OK;
    return cli_fail(err,
                    "--commits '%.200s': %s; records that are committed are not written again, so give the "
                    "same command again",
                    positions->name, cli_errno_text(why, sizeof why, errno));
}

void dedup_positions_close(dedup_positions *positions) {
    if (positions->out)
        fclose(positions->out);
    positions->out = NULL;
}

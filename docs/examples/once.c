/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lines of a file, each once, into another file, also if the program is killed at any instant:
 * cc once.c $(pkg-config --cflags --libs tamis)
 *
 *     once DIRECTORY INPUT OUTPUT
 *
 * Each commit has the offsets in both files. After a crash the program cuts the output back to its committed
 * length, and continues from there.
 */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tamis/experimental/state.h>
#include <tamis/tamis.h>

enum { COMMIT_EVERY = 10000 }; /* lines */

typedef struct checkpoint {
    int64_t read, written; /* bytes of the input and of the output */
} checkpoint;

static tamis_error err = TAMIS_ERROR_INIT;

static void die(const char *why) {
    fprintf(stderr, "once: %s\n", why);
    exit(2);
}

static void check(tamis_status status) {
    if (status != TAMIS_OK)
        die(err.text);
}

/* So that the name of a new output is there after a power loss. */
static void sync_directory(const char *path) {
    const char *slash = strrchr(path, '/');
    char *directory = slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
    int fd = directory == NULL ? -1 : open(directory, O_RDONLY | O_DIRECTORY);

    if (fd < 0 || fsync(fd) != 0)
        die("the directory of the output cannot be synced");
    close(fd);
    free(directory);
}

/* Where the last commit was; nothing that was written behind it may come back among what is written now. */
static checkpoint begin_run(const tamis_state *state, FILE *input, FILE *output) {
    checkpoint reached = {0, 0};
    const void *bytes;
    size_t size;

    tamis_state_committed(state, &bytes, &size);
    if (size == sizeof reached)
        memcpy(&reached, bytes, sizeof reached);
    if (fseeko(output, 0, SEEK_END) != 0 || ftello(output) < reached.written)
        die("the output is shorter than it was left");
    if (fseeko(input, reached.read, SEEK_SET) != 0 || ftruncate(fileno(output), reached.written) != 0 ||
        fsync(fileno(output)) != 0 || fseeko(output, reached.written, SEEK_SET) != 0)
        die("cannot go on where it was");
    return reached;
}

/* The output first: the commit refers to it. */
static void commit(tamis_dedup *session, checkpoint *reached, FILE *input, FILE *output) {
    if (fflush(output) != 0 || fsync(fileno(output)) != 0)
        die("the output cannot be written");
    reached->read = ftello(input);
    reached->written = ftello(output);
    check(tamis_dedup_commit(session, reached, sizeof *reached, &err));
}

int main(int argc, char **argv) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_state_options state_options = TAMIS_STATE_OPTIONS_INIT;
    tamis_dedup_options options = TAMIS_DEDUP_OPTIONS_INIT;
    tamis_state *state = NULL;
    tamis_dedup *session = NULL;
    FILE *input = argc == 4 ? fopen(argv[2], "rb") : NULL;
    FILE *output = argc == 4 ? fopen(argv[3], "ab") : NULL; /* makes it, where it is not there */
    char *line = NULL;
    size_t capacity = 0;
    ssize_t size;

    if (argc != 4)
        die("usage: once DIRECTORY INPUT OUTPUT");
    if (input == NULL || output == NULL || (output = freopen(argv[3], "r+b", output)) == NULL)
        die("cannot open the input or the output");
    plan_options.fpr = 1e-9;
    check(tamis_plan_make(&plan, &plan_options, &err));
    state_options.plan = &plan;
    check(tamis_state_open(&state, argv[1], &state_options, &err));
    options.state = state;
    check(tamis_dedup_open(&session, NULL, &options, &err));

    checkpoint reached = begin_run(state, input, output);
    sync_directory(argv[3]);
    for (uint64_t lines = 1; (size = getline(&line, &capacity, input)) > 0; lines++) {
        const tamis_key key = {line, (size_t)size - (line[size - 1] == '\n')};
        tamis_answer answer;
        check(tamis_dedup_add_many(session, &key, 1, &answer, NULL, &err));
        if (answer == TAMIS_ABSENT)
            fwrite(line, 1, (size_t)size, output);
        if (lines % COMMIT_EVERY == 0)
            commit(session, &reached, input, output);
    }
    if (ferror(input))
        die("the input cannot be read");
    commit(session, &reached, input, output);
    tamis_dedup_close(session);
    tamis_state_close(state);
    free(line);
    return fclose(input) == 0 && fclose(output) == 0 ? 0 : 2;
}

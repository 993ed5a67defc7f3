/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces libFuzzer in ordinary builds: runs a fuzzer on the empty input and on each file of a corpus
 * directory, so that old findings stay fixed. A finding aborts, as under libFuzzer. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Runs the fuzzer on a file. False if it cannot be read. The bytes are in a block of exactly their size,
 * so that a sanitizer notices a read past them. */
static int replay(const char *path) {
    FILE *file = fopen(path, "rb");
    long size = -1;
    uint8_t *data = NULL;
    int read_all = 0;

    if (file == NULL)
        return 0;
    if (fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (size >= 0 && fseek(file, 0, SEEK_SET) == 0) {
        data = malloc(size > 0 ? (size_t)size : 1);
        read_all = data != NULL && fread(data, 1, (size_t)size, file) == (size_t)size;
    }
    fclose(file);
    if (read_all)
        LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    return read_all;
}

int main(int argc, char **argv) {
    unsigned count = 0;
    uint8_t nothing = 0;
    DIR *corpus;
    const struct dirent *entry;

    LLVMFuzzerTestOneInput(&nothing, 0);
    if (argc < 2)
        return 0;
    corpus = opendir(argv[1]);
    if (corpus == NULL) {
        fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
        return 1;
    }
    while ((entry = readdir(corpus)) != NULL) {
        char path[4096];
        if (entry->d_name[0] == '.')
            continue;
        if (snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name) >= (int)sizeof path ||
            !replay(path)) {
            fprintf(stderr, "%s/%s: cannot be read\n", argv[1], entry->d_name);
            closedir(corpus);
            return 1;
        }
        count++;
    }
    closedir(corpus);
    printf("%u inputs\n", count);
    return 0;
}

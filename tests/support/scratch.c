/* SPDX-License-Identifier: BSD-2-Clause */
#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void give_up(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    abort();
}

uint64_t test_scale(uint64_t full, uint64_t sanitizer, uint64_t quick) {
    const char *scale = getenv("TAMIS_TEST_SCALE");
    if (scale && strcmp(scale, "quick") == 0)
        return quick;
    if (scale && strcmp(scale, "sanitizer") == 0)
        return sanitizer;
    return full;
}

bool test_is_torture(void) {
    const char *scale = getenv("TAMIS_TEST_SCALE");
    return scale && strcmp(scale, "torture") == 0;
}

uint64_t test_scale_torture(uint64_t torture, uint64_t full, uint64_t sanitizer, uint64_t quick) {
    return test_is_torture() ? torture : test_scale(full, sanitizer, quick);
}

uint64_t test_seed(uint64_t fallback) {
    const char *given = getenv("TAMIS_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : fallback;
    printf("seed: TAMIS_TEST_SEED=%" PRIu64 "\n", seed);
    return seed;
}

uint64_t test_random(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t test_below(uint64_t *state, uint64_t bound) {
    return test_random(state) % bound;
}

void pause_ms(uint64_t ms) {
    nanosleep(&(struct timespec){(time_t)(ms / 1000), (long)(ms % 1000 * 1000000)}, NULL);
}

void bytes_add(test_bytes *bytes, const void *data, size_t size) {
    if (size == 0)
        return;
    if (bytes->size + size > bytes->capacity) {
        bytes->capacity = (bytes->size + size) * 2;
        bytes->data = realloc(bytes->data, bytes->capacity);
        if (!bytes->data)
            give_up("realloc");
    }
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

void bytes_clear(test_bytes *bytes) {
    free(bytes->data);
    *bytes = (test_bytes){0};
}

bool bytes_equal(const test_bytes *bytes, const test_bytes *other) {
    return bytes->size == other->size &&
           (bytes->size == 0 || memcmp(bytes->data, other->data, bytes->size) == 0);
}

bool bytes_check(const char *what, const test_bytes *got, const test_bytes *expected) {
    if (bytes_equal(got, expected))
        return true;
    size_t pos = 0;
    while (pos < got->size && pos < expected->size && got->data[pos] == expected->data[pos])
        pos++;
    fprintf(stderr, "%s: %zu bytes instead of %zu, the first difference at %zu\n", what, got->size,
            expected->size, pos);
    return false;
}

bool temporary_directory(char *path, size_t size, const char *name) {
    const char *parent = getenv("TMPDIR");
    if (!parent || !*parent)
        parent = "/tmp";
    int length = snprintf(path, size, "%s/%s-XXXXXX", parent, name);
    if (length < 0 || (size_t)length >= size) {
        errno = ENAMETOOLONG;
        return false;
    }
    return mkdtemp(path) != NULL;
}

static char directory[64];

void scratch_make(void) {
    if (!temporary_directory(directory, sizeof directory, "tamis-test"))
        give_up("a directory in TMPDIR");
}

void scratch_make_in_memory(void) {
    snprintf(directory, sizeof directory, "/dev/shm/tamis-test-XXXXXX");
    if (!mkdtemp(directory))
        scratch_make();
}

const char *scratch(const char *name) {
    static char paths[16][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 16];
    snprintf(path, PATH_MAX, "%s/%s", directory, name);
    return path;
}

/* Calls `visit` for each name until it returns true. */
static bool visit_entries(bool (*visit)(const char *name, void *context), void *context) {
    DIR *open_directory = opendir(directory);
    if (!open_directory)
        give_up(directory);
    bool found = false;
    for (struct dirent *entry; !found && (entry = readdir(open_directory));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            found = visit(entry->d_name, context);
    closedir(open_directory);
    return found;
}

static bool remove_entry(const char *name, void *context) {
    const char *path = scratch(name);
    (void)context;
    if (unlink(path) < 0 && rmdir(path) < 0)
        give_up(path);
    return false;
}

void scratch_clear(void) {
    visit_entries(remove_entry, NULL);
}

void scratch_remove(void) {
    scratch_clear();
    if (rmdir(directory) < 0)
        give_up(directory);
}

int scratch_set_up(void **state) {
    (void)state;
    scratch_make();
    return 0;
}

int scratch_tear_down(void **state) {
    (void)state;
    scratch_remove();
    return 0;
}

static bool count_entry(const char *name, void *context) {
    (void)name;
    ++*(size_t *)context;
    return false;
}

size_t scratch_entries(void) {
    size_t count = 0;
    visit_entries(count_entry, &count);
    return count;
}

static bool hidden_entry(const char *name, void *context) {
    if (name[0] != '.')
        return false;
    snprintf(context, NAME_MAX + 1, "%s", name);
    return true;
}

const char *scratch_hidden(void) {
    static char name[NAME_MAX + 1];
    return visit_entries(hidden_entry, name) ? name : NULL;
}

void file_write(const char *path, const void *data, size_t size) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        give_up(path);
    for (size_t pos = 0; pos < size;) {
        ssize_t wrote = write(fd, (const char *)data + pos, size - pos);
        if (wrote < 0)
            give_up(path);
        pos += (size_t)wrote;
    }
    close(fd);
}

void file_read(const char *path, test_bytes *into) {
    unsigned char buffer[65536];
    bytes_clear(into);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        give_up(path);
    ssize_t size;
    while ((size = read(fd, buffer, sizeof buffer)) > 0)
        bytes_add(into, buffer, (size_t)size);
    close(fd);
}

bool file_exists(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0;
}

bool file_is(const char *path, const char *text) {
    if (!file_exists(path))
        return false;
    test_bytes got = {0};
    file_read(path, &got);
    bool same =
        got.size == strlen(text) && memcmp(got.size ? (const char *)got.data : "", text, got.size) == 0;
    if (!same)
        fprintf(stderr, "%s: holds \"%.*s\" instead of \"%s\"\n", path, (int)got.size, (const char *)got.data,
                text);
    bytes_clear(&got);
    return same;
}

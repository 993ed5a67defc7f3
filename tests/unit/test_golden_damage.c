/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: long */

/*
 * Every kind of file of format 1, with each byte changed, and cut off at each byte. Open or verify must
 * refuse the file. Memory is bounded by the size of the file, and no key of it is answered TAMIS_ABSENT.
 */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include <tamis/tamis.h>

#include "base/bytes.h"
#include "golden/golden_reader.h"
#include "support/fault.h"
#include "support/scratch.h"

enum { KEYS = 512, KEY_MAX = 64, SMALL = 9000, MEDIUM = 64 << 10, SPARE = 64 << 10 };

static const char secret[] = "a secret of 25 characters";

/* A golden file with its known keys. */
typedef struct good_file {
    char name[256];
    test_bytes bytes;
    uint64_t header, body, checksums; /* end of the header; beginning of body and checksums */
    tamis_key keys[KEYS];
    uint8_t key_bytes[KEYS][KEY_MAX];
    size_t count;
    int fd; /* descriptor of a copy that is damaged */
} good_file;

static good_file file;

static tamis_open_options options_of(const tamis_allocator *allocator) {
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    options.format = TAMIS_FORMAT_TAMIS;
    options.allocator = allocator;
    if (strstr(file.name, "-sip")) {
        options.secret = secret;
        options.secret_size = sizeof secret - 1;
    }
    return options;
}

static void read_keys(void) {
    char path[512];
    file.count = 0;
    snprintf(path, sizeof path, "format-1/good/%s.lookups", file.name);
    for (golden g = golden_open(path); golden_next(&g);) {
        if (*g.field[1] != '1' || strchr(g.field[0], ':') || file.count == KEYS)
            continue;
        assert_true(strlen(g.field[0]) <= 2 * (size_t)KEY_MAX);
        uint8_t *bytes = file.key_bytes[file.count];
        file.keys[file.count++] = (tamis_key){bytes, golden_bytes(g.field[0], bytes)};
    }
    assert_true(file.count > 0);
}

/* Checks that all keys are present. An error about a damaged block is right too. */
static void query(const tamis_filter *filter, const char *what, uint64_t offset) {
    tamis_answer answers[KEYS];
    size_t done = 0;
    tamis_status status = tamis_filter_contains_many(filter, file.keys, file.count, answers, &done, NULL);
    assert_true(status == TAMIS_OK || status == TAMIS_E_DAMAGED);
    for (size_t i = 0; i < done; i++)
        if (answers[i] != TAMIS_PRESENT)
            fail_msg("%s %s at byte %llu: a key is absent", file.name, what, (unsigned long long)offset);
}

static void check_status(tamis_status status, bool harmless, const char *what, uint64_t offset) {
    if (harmless ? status != TAMIS_OK : status != TAMIS_E_DAMAGED && status != TAMIS_E_FORMAT)
        fail_msg("%s %s at byte %llu: %s", file.name, what, (unsigned long long)offset,
                 tamis_strerror(status));
}

/* A decode reads the whole file at once. */
static void decode(const uint8_t *bytes, uint64_t size, const char *what, uint64_t offset) {
    fault_memory memory = {.limit = size + SPARE};
    tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis_open_options options = options_of(&allocator);
    tamis_filter *filter = NULL;
    check_status(tamis_filter_decode(&filter, bytes, size, &options, NULL), false, what, offset);
    if (filter)
        query(filter, what, offset);
    tamis_filter_free(filter);
    assert_true(memory.live_blocks == 0 && memory.refused == 0);
}

/* In a mapped file, a lookup reads only the blocks that it needs, and a verification reads all. */
static void open_mapped(bool harmless, const char *what, uint64_t offset) {
    tamis_open_options options = options_of(NULL);
    tamis_filter *filter = NULL;
    tamis_status status = tamis_filter_open(&filter, scratch("file"), &options, NULL);
    if (status == TAMIS_OK) {
        query(filter, what, offset);
        status = tamis_filter_verify(filter, NULL);
    }
    check_status(status, harmless, what, offset);
    tamis_filter_free(filter);
}

static void change(uint64_t offset, uint8_t bits) {
    uint8_t *byte = file.bytes.data + offset;
    *byte ^= bits;
    assert_int_equal(pwrite(file.fd, byte, 1, (off_t)offset), 1);
    decode(file.bytes.data, file.bytes.size, "changed", offset);
    open_mapped(false, "changed", offset);
    *byte ^= bits;
    assert_int_equal(pwrite(file.fd, byte, 1, (off_t)offset), 1);
}

static void cut(uint64_t size) {
    uint8_t *exact = malloc(size ? size : 1); /* a sanitizer sees a read past its end */
    assert_non_null(exact);
    memcpy(exact, file.bytes.data, size);
    assert_int_equal(ftruncate(file.fd, (off_t)size), 0);
    decode(exact, size, "cut", size);
    open_mapped(false, "cut", size);
    free(exact);
}

/* Large files are sampled: they have nothing that the small ones do not have. */
static void damage(void) {
    uint64_t size = file.bytes.size;
    uint64_t step = test_scale(1, 101, 37) * (size > MEDIUM ? 997 : size > SMALL ? 17 : 1);
    for (uint64_t offset = 0; offset < size; offset += offset < file.header ? 1 : step)
        change(offset, (uint8_t)(1u << offset % 8));
    for (uint64_t bit = 0; bit < 8 * file.header; bit += test_scale(1, 7, 7))
        change(bit / 8, (uint8_t)(1u << bit % 8));
    for (uint64_t offset = file.checksums; offset < size; offset += test_scale(1, 5, 5))
        change(offset, 0xff);
    open_mapped(true, "as it was", 0);
    for (uint64_t left = size - 1; left > 0; left -= left < step ? left : left < file.header ? 1 : step)
        cut(left);
    cut(0);
}

static void every_byte_of_every_good_file(void **state) {
    char directory[4096], path[8192];
    const char *source = getenv("TAMIS_SOURCE_DIR");
    int files = 0;
    (void)state;
    snprintf(directory, sizeof directory, "%s/tests/golden/format-1/good", source ? source : ".");
    DIR *listing = opendir(directory);
    assert_non_null(listing);
    for (const struct dirent *entry; (entry = readdir(listing));) {
        size_t size = strlen(entry->d_name);
        if (size <= 6 || strcmp(entry->d_name + size - 6, ".tamis") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        snprintf(file.name, sizeof file.name, "%.*s", (int)(size - 6), entry->d_name);
        file_read(path, &file.bytes);
        file.header = tamis__load32le(file.bytes.data + 12);
        file.body = tamis__load64le(file.bytes.data + 32);
        file.checksums = file.body + tamis__load64le(file.bytes.data + 40);
        read_keys();
        file_write(scratch("file"), file.bytes.data, file.bytes.size);
        file.fd = open(scratch("file"), O_WRONLY | O_CLOEXEC);
        assert_true(file.fd >= 0);
        damage();
        close(file.fd);
        files++;
    }
    closedir(listing);
    bytes_clear(&file.bytes);
    assert_int_equal(files, 29);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_byte_of_every_good_file)};
    scratch_make();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scratch_remove();
    return failed;
}

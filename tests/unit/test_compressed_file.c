/* SPDX-License-Identifier: BSD-2-Clause */

/* Filters in gzip files: the filter is the same after reading, in pieces of any size; an incomplete file
 * is refused; memory is allocated only for bytes that exist. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include <tamis/experimental/compressed.h>

#include "base/system.h"
#include "stream/codec/decompressor.h"
#include "support/compressors.h"
#include "support/contains.h"
#include "support/decompress.h"
#include "support/fault.h"
#include "support/scratch.h"
#include "support/stored.h"
#include "support/tools.h"

enum { KEYS = 100, WORKING = 384 << 10 /* upper bound for the memory of reading any file */ };

static tamis_error err;
static size_t descriptors;
static fault_memory memory;
static test_bytes sample; /* a DCSO file with user data, in gzip */

/* Appends a gzip member with these bytes. */
static void add_member(test_bytes *to, const void *bytes, size_t size) {
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    size_t capacity = deflateBound(&stream, size);
    unsigned char *compressed = malloc(capacity);
    assert_non_null(compressed);
    stream.next_in = (unsigned char *)(uintptr_t)bytes;
    stream.avail_in = (uInt)size;
    stream.next_out = compressed;
    stream.avail_out = (uInt)capacity;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    bytes_add(to, compressed, capacity - stream.avail_out);
    deflateEnd(&stream);
    free(compressed);
}

static void write_scratch(const test_bytes *bytes) {
    unlink(scratch("f")); /* some file systems sync a file that is truncated and rewritten */
    file_write(scratch("f"), bytes->data, bytes->size);
}

static void say(const char *what) {
    if (!strstr(err.text, what))
        fail_msg("\"%s\" does not say \"%s\"", err.text, what);
}

static tamis_status open_scratch(tamis_filter **filter, tamis_compression *compression) {
    static tamis_allocator allocator;
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    allocator = fault_memory_allocator(&memory);
    options.allocator = &allocator;
    return tamis_compressed_open(filter, compression, scratch("f"), &options, &err);
}

static tamis_filter *must_open(void) {
    tamis_filter *filter = NULL;
    tamis_compression compression = TAMIS_COMPRESSION_NONE;
    if (open_scratch(&filter, &compression) != TAMIS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(compression, TAMIS_COMPRESSION_GZIP);
    return filter;
}

/* Checks that the file is refused with a message that names it, without a result and without a memory
 * leak. */
static void refused(const test_bytes *bytes, tamis_status status, const char *what) {
    tamis_filter *filter = NULL;
    tamis_compression compression = (tamis_compression)7;
    write_scratch(bytes);
    assert_int_equal(open_scratch(&filter, &compression), status);
    assert_null(filter);
    assert_int_equal(compression, 7);
    assert_int_equal(memory.live_blocks, 0);
    say(scratch("f"));
    say(what);
}

static tamis_filter *dcso_filter(void) {
    tamis_filter *filter = stored_make_scheme(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_FNV_DCSO, 0, KEYS);
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    metadata.data = "of the user";
    metadata.data_size = 11;
    assert_int_equal(tamis_filter_metadata_set(filter, &metadata, &err), TAMIS_OK);
    return filter;
}

static tamis_status save_compressed(tamis_filter *filter, tamis_format format) {
    return tamis_compressed_save(filter, scratch("f"), format, TAMIS_COMPRESSION_GZIP, &err);
}

static int set_up(void **state) {
    (void)state;
    scratch_make();
    err = (tamis_error)TAMIS_ERROR_INIT;
    memset(&memory, 0, sizeof memory);
    tamis_filter *filter = dcso_filter();
    assert_int_equal(save_compressed(filter, TAMIS_FORMAT_DCSO), TAMIS_OK);
    tamis_filter_free(filter);
    file_read(scratch("f"), &sample);
    descriptors = fault_open_descriptors();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    bytes_clear(&sample);
    scratch_remove();
    if (fault_open_descriptors() == descriptors && memory.live_blocks == 0)
        return 0;
    fprintf(stderr, "descriptors or memory are left\n");
    return -1;
}

/* ---- writing and reading ---- */

static void comes_back(tamis_filter *filter, tamis_format format) {
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    uint64_t more = KEYS;
    assert_int_equal(save_compressed(filter, format), TAMIS_OK);
    tamis_filter *opened = must_open();
    assert_true(stored_has(opened, 0, KEYS));
    if (tamis_filter_can(filter, TAMIS_CAN_UNION))
        assert_true(tamis_filter_is_equal(filter, opened));
    assert_int_equal(tamis_filter_metadata_get(opened, &metadata, NULL), TAMIS_OK);
    assert_int_equal(metadata.format, format);
    if (format == TAMIS_FORMAT_DCSO)
        assert_memory_equal(metadata.data, "of the user", 11);
    /* The filter is in memory: keys can be added, and it is not reloaded. */
    assert_int_equal(tamis_filter_add(opened, &more, sizeof more, NULL, &err), TAMIS_OK);
    assert_true(stored_has(opened, 0, KEYS + 1));
    assert_int_equal(tamis_filter_reload(opened, NULL, &err), TAMIS_E_UNSUPPORTED);
    assert_int_equal(tamis_filter_verify(opened, &err), TAMIS_OK);
    tamis_filter_free(opened);
    tamis_filter_free(filter);
}

static void every_kind_and_format_comes_back(void **state) {
    (void)state;
    const tamis_kind kinds[] = {TAMIS_KIND_CLASSIC, TAMIS_KIND_BLOCKED, TAMIS_KIND_FINGERPRINT,
                                TAMIS_KIND_EXACT};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        comes_back(stored_make(kinds[i], 0, KEYS), TAMIS_FORMAT_TAMIS);
    comes_back(stored_make_scheme(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_GUAVA64, 0, KEYS), TAMIS_FORMAT_GUAVA);
    comes_back(dcso_filter(), TAMIS_FORMAT_DCSO);
    comes_back(stored_make(TAMIS_KIND_FINGERPRINT, 0, 200000),
               TAMIS_FORMAT_TAMIS); /* many reads and writes */
}

/* A file that was compressed by DCSO's bloom. */
static void golden_file_is_read(void **state) {
    (void)state;
    test_bytes golden = {0};
    const char *source = getenv("TAMIS_SOURCE_DIR");
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/golden/dcso-0.2.4-gzip.bloom", source ? source : ".");
    file_read(path, &golden);
    write_scratch(&golden);
    bytes_clear(&golden);
    tamis_filter *filter = must_open();
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    assert_int_equal(tamis_filter_info_get(filter, &info, &err), TAMIS_OK);
    assert_int_equal(info.added, 2);
    assert_int_equal(tamis_filter_plan(filter)->bits, 95);
    assert_true(contains_key(filter, "foo", 3) && contains_key(filter, "bar", 3) &&
                !contains_key(filter, "baz", 3));
    tamis_filter_free(filter);
}

/* Files compressed by any program. */
static void files_compressed_by_other_programs_are_read(void **state) {
    (void)state;
    tamis_filter *filter = stored_make(TAMIS_KIND_BLOCKED, 0, KEYS);
    test_bytes plain = {0};
    assert_int_equal(tamis_filter_save(filter, scratch("plain"), &err), TAMIS_OK);
    file_read(scratch("plain"), &plain);
    for (size_t i = 0; i < COMPRESSORS; i++) {
        test_bytes compressed = {0};
        tamis_filter *opened = NULL;
        tamis_compression compression = TAMIS_COMPRESSION_NONE;
        if (!tamis_compression_is_built(compressors[i].compression))
            continue;
        tool_run(compressors[i].command, plain.data, plain.size, &compressed);
        write_scratch(&compressed);
        assert_int_equal(open_scratch(&opened, &compression), TAMIS_OK);
        assert_int_equal(compression, compressors[i].compression);
        assert_true(tamis_filter_is_equal(opened, filter) && stored_has(opened, 0, KEYS));
        tamis_filter_free(opened);
        compressed.size -= 3;
        refused(&compressed, TAMIS_E_DAMAGED, "cut short: its ");
        bytes_clear(&compressed);
    }
    bytes_clear(&plain);
    tamis_filter_free(filter);
}

static void plain_files_are_mapped(void **state) {
    (void)state;
    tamis_filter *filter = stored_make(TAMIS_KIND_BLOCKED, 0, KEYS), *opened = NULL;
    tamis_compression compression = TAMIS_COMPRESSION_GZIP;
    uint64_t more = KEYS;
    assert_int_equal(
        tamis_compressed_save(filter, scratch("f"), TAMIS_FORMAT_AUTO, TAMIS_COMPRESSION_NONE, &err),
        TAMIS_OK);
    assert_int_equal(open_scratch(&opened, &compression), TAMIS_OK);
    assert_int_equal(compression, TAMIS_COMPRESSION_NONE);
    assert_true(stored_has(opened, 0, KEYS));
    assert_int_equal(tamis_filter_add(opened, &more, sizeof more, NULL, &err), TAMIS_E_UNSUPPORTED);
    assert_int_equal(tamis_filter_reload(opened, NULL, &err), TAMIS_OK);
    tamis_filter_free(opened);
    assert_int_equal(tamis_compressed_save(filter, scratch("f"), TAMIS_FORMAT_AUTO, TAMIS_COMPRESSIONS, &err),
                     TAMIS_E_INVALID);
    say("compression: 6 is not valid");
    tamis_filter_free(filter);
}

static void every_compression_holds_the_same_bytes(void **state) {
    (void)state;
    tamis_filter *filter = dcso_filter();
    test_bytes plain = {0};
    assert_int_equal(tamis_filter_save_as(filter, scratch("plain"), TAMIS_FORMAT_DCSO, &err), TAMIS_OK);
    file_read(scratch("plain"), &plain);
    for (tamis_compression compression = TAMIS_COMPRESSION_GZIP; compression < TAMIS_COMPRESSIONS;
         compression++) {
        test_bytes got = {0};
        tamis_filter *opened = NULL;
        tamis_compression found;
        if (!tamis_compression_is_built(compression))
            continue;
        assert_int_equal(tamis_compressed_save(filter, scratch("f"), TAMIS_FORMAT_DCSO, compression, &err),
                         TAMIS_OK);
        assert_true(decompress_file(compression, scratch("f"), &got));
        assert_true(bytes_check(tamis_compression_name(compression), &got, &plain));
        bytes_clear(&got);
        assert_int_equal(open_scratch(&opened, &found), TAMIS_OK);
        assert_int_equal(found, compression);
        assert_true(tamis_filter_is_equal(filter, opened));
        tamis_filter_free(opened);
    }
    bytes_clear(&plain);
    tamis_filter_free(filter);
}

static void the_same_filter_gives_the_same_bytes(void **state) {
    (void)state;
    static const unsigned char head[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255}; /* no time, no name */
    tamis_filter *filter = dcso_filter();
    test_bytes again = {0};
    assert_int_equal(
        tamis_compressed_save(filter, scratch("other"), TAMIS_FORMAT_DCSO, TAMIS_COMPRESSION_GZIP, &err),
        TAMIS_OK);
    file_read(scratch("other"), &again);
    assert_true(bytes_check("packed", &again, &sample));
    assert_memory_equal(sample.data, head, sizeof head);
    bytes_clear(&again);
    tamis_filter_free(filter);
}

/* The old file stays, no other file is left, and the next save works. */
static void a_save_ends_on_request(void **state) {
    static const tamis_compression compressions[] = {TAMIS_COMPRESSION_NONE, TAMIS_COMPRESSION_GZIP};
    tamis_filter *filter = dcso_filter();
    int ends[2];
    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "", 1), 1);
    for (size_t i = 0; i < sizeof compressions / sizeof *compressions; i++) {
        test_bytes after = {0};
        assert_int_equal(tamis_compressed_save_until(filter, scratch("f"), TAMIS_FORMAT_TAMIS,
                                                     compressions[i], ends[0], &err),
                         TAMIS_E_INTERRUPTED);
        say("nothing was saved");
        assert_int_equal(scratch_entries(), 1);
        file_read(scratch("f"), &after);
        assert_true(bytes_equal(&sample, &after));
        bytes_clear(&after);
    }
    close(ends[1]);
    close(ends[0]);
    assert_int_equal(tamis_compressed_save_until(filter, scratch("f"), TAMIS_FORMAT_TAMIS,
                                                 TAMIS_COMPRESSION_NONE, -1, &err),
                     TAMIS_OK);
    tamis_filter_free(filter);
}

static void secrets_are_passed_on(void **state) {
    (void)state;
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    tamis_filter *filter = NULL;
    assert_int_equal(stored_save_keyed(scratch("plain"), "0123456789abcdef", 0, &err), TAMIS_OK);
    assert_int_equal(tamis_filter_open(&filter, scratch("plain"), NULL, &err), TAMIS_OK);
    assert_int_equal(save_compressed(filter, TAMIS_FORMAT_AUTO), TAMIS_OK);
    tamis_filter_free(filter);
    options.secret_size = 16;
    options.secret = "0123456789abcdeF";
    filter = NULL;
    assert_int_equal(tamis_compressed_open(&filter, NULL, scratch("f"), &options, &err), TAMIS_E_SECRET);
    say(scratch("f"));
    assert_null(filter);
    options.secret = "0123456789abcdef";
    assert_int_equal(tamis_compressed_open(&filter, NULL, scratch("f"), &options, &err), TAMIS_OK);
    assert_true(stored_has(filter, 0, KEYS));
    tamis_filter_free(filter);
}

/* ---- members ---- */

/* Decompresses the sample with zlib alone. */
static void decompress_sample(test_bytes *content) {
    z_stream stream = {0};
    unsigned char capacity[4096];
    stream.next_in = sample.data;
    stream.avail_in = (uInt)sample.size;
    stream.next_out = capacity;
    stream.avail_out = sizeof capacity;
    assert_int_equal(inflateInit2(&stream, MAX_WBITS + 16), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    bytes_add(content, capacity, sizeof capacity - stream.avail_out);
    inflateEnd(&stream);
}

static void members_are_one(void **state) {
    (void)state;
    test_bytes content = {0}, file = {0};
    decompress_sample(&content);
    write_scratch(&sample);
    tamis_filter *whole = must_open();
    for (size_t cut = 0; cut <= content.size; cut++) {
        add_member(&file, content.data, cut);
        add_member(&file, "", 0);
        add_member(&file, content.data + cut, content.size - cut);
        if (cut % 2)
            bytes_add(&file, (unsigned char[600]){0}, 600); /* padding as on a tape */
        write_scratch(&file);
        tamis_filter *filter = must_open();
        assert_true(tamis_filter_is_equal(filter, whole));
        tamis_filter_free(filter);
        bytes_clear(&file);
    }
    tamis_filter_free(whole);
    bytes_clear(&content);
}

static void nothing_else_follows_a_member(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *what;
    } tails[] = {
        {"x", 1, "unexpected bytes after the end of its gzip data"},
        {"\0\0x", 3, "unexpected bytes after the end of its gzip data"},
        {"\0\x1f\x8b", 3, "unexpected bytes after the end of its gzip data"},
        {"\x1f", 1, "cut short"},
        {"\x1f\x8b\x08", 3, "cut short"},
        {"\x1f\x9d\x90", 3, "unexpected bytes after the end of its gzip data"},
        {"\x28\xb5\x2f\xfd", 4, "unexpected bytes after the end of its gzip data"},
        {"\x1f\x8b\x07\0", 4, "unknown compression method"},
    };
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        test_bytes file = {0};
        bytes_add(&file, sample.data, sample.size);
        bytes_add(&file, tails[i].bytes, tails[i].size);
        refused(&file, TAMIS_E_DAMAGED, tails[i].what);
        bytes_clear(&file);
    }
}

/* ---- pieces ---- */

static size_t first_piece, next_pieces;

static ssize_t read_pieces(int fd, void *buffer, size_t size) {
    size_t max = first_piece ? first_piece : next_pieces;
    first_piece = 0;
    if (max == 0)
        return read(fd, buffer, size);
    static bool interrupted;
    interrupted = !interrupted;
    errno = EINTR;
    return interrupted ? -1 : read(fd, buffer, size < max ? size : max);
}

/* Reads the whole content of the file in pieces of `capacity` bytes. */
static tamis_status pull_all(size_t capacity, test_bytes *content) {
    tamis__decompressor *decompressor;
    unsigned char piece[4096];
    size_t size;
    tamis_allocator allocator = fault_memory_allocator(&memory);
    FILE *file = fopen(scratch("f"), "rb");
    assert_non_null(file);
    const tamis__decompressor_setup setup = {.fd = fileno(file), .name = "f", .memory = &allocator};
    assert_int_equal(tamis__decompressor_create(&decompressor, &setup, &err), TAMIS_OK);
    tamis_status status = TAMIS_OK;
    while (status == TAMIS_OK && !tamis__decompressor_has_ended(decompressor)) {
        size = capacity;
        status = tamis__decompressor_read(decompressor, true, piece, &size, &err);
        if (status != TAMIS_OK)
            break;
        assert_true((size == 0 || !tamis__decompressor_has_ended(decompressor)) && size <= capacity);
        bytes_add(content, piece, size);
    }
    tamis__decompressor_free(decompressor);
    fclose(file);
    return status;
}

static void pieces_do_not_matter(void **state) {
    (void)state;
    test_bytes content = {0}, file = {0};
    decompress_sample(&content);
    for (int i = 0; i < 2; i++) /* two members, so that pieces end in headers and trailers too */
        bytes_add(&file, sample.data, sample.size);
    bytes_add(&content, content.data, content.size);
    write_scratch(&file);
    ssize_t (*const whole)(int, void *, size_t) = tamis__sys.read;
    tamis__sys.read = read_pieces;
    for (size_t cut = 0; cut < file.size; cut += test_scale(1, 7, 7)) {
        for (next_pieces = 0; next_pieces < 3; next_pieces++) {
            test_bytes got = {0};
            first_piece = cut;
            assert_int_equal(pull_all(cut % 3 == 0 ? 1 : cut % 3 == 1 ? 7 : 4096, &got), TAMIS_OK);
            assert_true(bytes_check("pieces", &got, &content));
            bytes_clear(&got);
        }
    }
    tamis__sys.read = whole;
    bytes_clear(&file);
    bytes_clear(&content);
}

/* ---- damage ---- */

static void cut_anywhere_is_refused(void **state) {
    (void)state;
    for (size_t size = 0; size < sample.size; size++) {
        test_bytes cut = {sample.data, size, 0};
        if (size < 2) /* not recognised */
            refused(&cut, TAMIS_E_FORMAT, "is not a filter of a known format");
        else
            refused(&cut, TAMIS_E_DAMAGED, "cut short");
    }
}

static void flipped_anywhere_is_refused_or_the_same(void **state) {
    (void)state;
    size_t same = 0;
    tamis_filter *whole = dcso_filter();
    for (size_t bit = 0; bit < 8 * sample.size; bit++) {
        tamis_filter *filter = NULL;
        sample.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        write_scratch(&sample);
        tamis_status status = open_scratch(&filter, NULL);
        sample.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        if (status == TAMIS_OK) { /* time, system and the like, and the padding of deflate's last byte */
            assert_true(tamis_filter_is_equal(filter, whole) && stored_has(filter, 0, KEYS));
            tamis_filter_free(filter);
            same++;
        } else {
            assert_true(status == TAMIS_E_DAMAGED || status == TAMIS_E_FORMAT);
            say(scratch("f"));
            assert_null(filter);
        }
        assert_int_equal(memory.live_blocks, 0);
    }
    assert_true(same >= 6 * 8 && same < 9 * 8);
    tamis_filter_free(whole);
}

/* ---- bombs ---- */

/* Appends `count` members of 16 MiB of zeros to `file`. */
static void add_zeros(test_bytes *file, uint64_t count) {
    enum { MEMBER = 16 << 20 };
    test_bytes member = {0};
    unsigned char *zeros = calloc(1, MEMBER);
    assert_non_null(zeros);
    add_member(&member, zeros, MEMBER);
    free(zeros);
    while (count-- > 0)
        bytes_add(file, member.data, member.size);
    bytes_clear(&member);
}

static void decompression_bombs_use_no_memory(void **state) {
    (void)state;
    test_bytes file = {0};
    add_zeros(&file, test_scale(64, 8, 8)); /* up to 1 GiB that does not begin like a filter */
    refused(&file, TAMIS_E_FORMAT, "is not a filter of a known format");
    assert_true(memory.peak_bytes < WORKING);
    bytes_clear(&file);

    /* A header that claims 10^12 bits, and nothing after it. */
    test_bytes head = {0};
    decompress_sample(&head);
    head.data[32 + 4] = 232; /* a byte of m, little-endian */
    add_member(&file, head.data, 48);
    bytes_clear(&head);
    refused(&file, TAMIS_E_DAMAGED, "m is ");
    assert_true(memory.peak_bytes < WORKING);
    bytes_clear(&file);

    /* A valid filter with endless user data: the caller may limit the memory. */
    bytes_add(&file, sample.data, sample.size);
    add_zeros(&file, test_scale(64, 4, 4));
    memory.limit = 1 << 20;
    refused(&file, TAMIS_E_NOMEM, "out of memory");
    assert_true(memory.peak_bytes < 1 << 20);
    bytes_clear(&file);
}

static off_t (*true_seek)(int, off_t, int);
static test_bytes second; /* content of the file at the second reading */

static off_t seek_and_change(int fd, off_t offset, int from) {
    file_write(scratch("f"), second.data, second.size);
    return true_seek(fd, offset, from);
}

static void a_file_written_meanwhile_is_refused(void **state) {
    (void)state;
    test_bytes content = {0};
    decompress_sample(&content);
    bytes_add(&content, "more", 4);
    true_seek = tamis__sys.seek;
    tamis__sys.seek = seek_and_change;
    for (size_t less = 0; less < 9; less += 8) { /* 4 bytes more than there were, and 4 less */
        add_member(&second, content.data, content.size - less);
        refused(&sample, TAMIS_E_DAMAGED, "was written to while it was read");
        bytes_clear(&second);
    }
    tamis__sys.seek = true_seek;
    bytes_clear(&content);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(every_kind_and_format_comes_back),
        CASE(golden_file_is_read),
        CASE(files_compressed_by_other_programs_are_read),
        CASE(plain_files_are_mapped),
        CASE(every_compression_holds_the_same_bytes),
        CASE(the_same_filter_gives_the_same_bytes),
        CASE(a_save_ends_on_request),
        CASE(secrets_are_passed_on),
        CASE(members_are_one),
        CASE(nothing_else_follows_a_member),
        CASE(pieces_do_not_matter),
        CASE(cut_anywhere_is_refused),
        CASE(flipped_anywhere_is_refused_or_the_same),
        CASE(decompression_bombs_use_no_memory),
        CASE(a_file_written_meanwhile_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */

/* gzip files that gzip(1) does not write, made with zlib: headers with all optional fields, read in
 * pieces; wrong trailers and codes. The result is the same with any decompression library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/system.h"
#include "stream/codec/decompressor.h"
#include "support/fault.h"
#include "support/scratch.h"

enum { WRAPPED = MAX_WBITS + 16, RAW = -MAX_WBITS, HEAD = 10, END = 8 };

static tamis_error err;
static size_t max_read; /* maximum of bytes per read; 0: no limit */

static ssize_t read_pieces(int fd, void *buffer, size_t size) {
    return read(fd, buffer, max_read && size > max_read ? max_read : size);
}

/* Decompresses in pieces of `max_read` and `capacity` bytes. `got` is the output, also before a failure. */
static tamis_status decompressor(const test_bytes *compressed, size_t capacity, test_bytes *got) {
    static unsigned char piece[64 << 10];
    fault_memory memory = {0};
    tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis__decompressor *made;
    size_t size;
    int fd = memfd_create("packed", MFD_CLOEXEC);
    assert_int_equal(write(fd, compressed->data, compressed->size), (ssize_t)compressed->size);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    const tamis__decompressor_setup setup = {.fd = fd, .name = "f", .memory = &allocator};
    ssize_t (*const whole)(int, void *, size_t) = tamis__sys.read;
    tamis__sys.read = read_pieces;
    err = (tamis_error)TAMIS_ERROR_INIT;
    memset(piece, '?', sizeof piece);
    tamis_status status = tamis__decompressor_create(&made, &setup, &err);
    assert_int_equal(status, TAMIS_OK);
    while (status == TAMIS_OK && !tamis__decompressor_has_ended(made)) {
        size = capacity;
        status = tamis__decompressor_read(made, true, piece, &size, &err);
        if (status == TAMIS_OK)
            bytes_add(got, piece, size);
    }
    tamis__sys.read = whole;
    tamis__decompressor_free(made);
    close(fd);
    assert_int_equal(memory.live_blocks, 0);
    return status;
}

static const size_t pieces[] = {0, 1, 2, 5, 64};
enum { PIECES = sizeof pieces / sizeof *pieces };

/* Checks the content, with input and output in pieces of any size. */
static void comes_out(const test_bytes *compressed, const test_bytes *expected) {
    for (size_t i = 0; i < PIECES * PIECES; i++) {
        test_bytes got = {0};
        size_t capacity = pieces[i / PIECES];
        max_read = pieces[i % PIECES];
        if (decompressor(compressed, capacity ? capacity : 64 << 10, &got) != TAMIS_OK)
            fail_msg("%s", err.text);
        assert_true(bytes_check("unpacked", &got, expected));
        bytes_clear(&got);
    }
}

/* Checks likewise that the data is refused after `expected`, with one of these texts in the message. */
static void refused(const test_bytes *compressed, const test_bytes *expected, const char *what,
                    const char * or) {
    for (size_t i = 0; i < PIECES * PIECES; i++) {
        test_bytes got = {0};
        size_t capacity = pieces[i / PIECES];
        max_read = pieces[i % PIECES];
        assert_int_equal(decompressor(compressed, capacity ? capacity : 64 << 10, &got), TAMIS_E_DAMAGED);
        if (!strstr(err.text, what) && !strstr(err.text, or))
            fail_msg("\"%s\" does not say \"%s\"", err.text, what);
        assert_true(bytes_check(what, &got, expected));
        bytes_clear(&got);
    }
}

static void compress_bytes(int window, gz_header *head, const char *dictionary, const test_bytes *content,
                           test_bytes *to) {
    unsigned char capacity[16 << 10];
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
    if (head)
        assert_int_equal(deflateSetHeader(&stream, head), Z_OK);
    if (dictionary)
        assert_int_equal(deflateSetDictionary(&stream, (const Bytef *)dictionary, (uInt)strlen(dictionary)),
                         Z_OK);
    stream.next_in = content->data;
    stream.avail_in = (uInt)content->size;
    stream.next_out = capacity;
    stream.avail_out = sizeof capacity;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    bytes_add(to, capacity, sizeof capacity - stream.avail_out);
    deflateEnd(&stream);
}

/* Makes text without repetitions. */
static void create_new(test_bytes *content, size_t size, uint64_t seed) {
    for (; size > 0; size--) {
        char byte = (char)(' ' + test_random(&seed) % 90);
        bytes_add(content, &byte, 1);
    }
}

/* ---- headers ---- */

/* Each combination of optional fields: text flag, extra field, name, comment, checksum. */
static void headers_arrive_in_pieces(void **state) {
    unsigned char extra[] = "extra\0field", name[] = "a name", comment[] = "a comment";
    test_bytes content = {0};
    (void)state;
    create_new(&content, 300, 1);
    for (int has = 0; has < 32; has++) {
        gz_header head = {.text = has & 1,
                          .extra = has & 2 ? extra : NULL,
                          .extra_len = sizeof extra,
                          .name = has & 4 ? name : NULL,
                          .comment = has & 8 ? comment : NULL,
                          .hcrc = has & 16};
        test_bytes compressed = {0};
        compress_bytes(WRAPPED, &head, NULL, &content, &compressed);
        comes_out(&compressed, &content);
        bytes_clear(&compressed);
    }
    bytes_clear(&content);
}

static void headers_are_checked(void **state) {
    unsigned char name[] = "a name";
    gz_header head = {.name = name, .hcrc = 1};
    test_bytes content = {0}, compressed = {0}, none = {0};
    (void)state;
    create_new(&content, 300, 2);
    compress_bytes(WRAPPED, &head, NULL, &content, &compressed);
    compressed.data[2] ^= 1;
    refused(&compressed, &none, "unknown compression method", "|");
    compressed.data[2] ^= 1;
    for (int bit = 5; bit < 8; bit++) {
        compressed.data[3] ^= (unsigned char)(1 << bit);
        refused(&compressed, &none, "unknown header flags set", "|");
        compressed.data[3] ^= (unsigned char)(1 << bit);
    }
    for (size_t pos = 4; pos < HEAD + sizeof name + 2; pos++) {
        if (pos == HEAD + sizeof name - 1)
            continue; /* the name would be longer */
        compressed.data[pos] ^= 1;
        refused(&compressed, &none, "header crc mismatch", "|");
        compressed.data[pos] ^= 1;
    }
    comes_out(&compressed, &content);
    bytes_clear(&content);
    bytes_clear(&compressed);
}

/* ---- trailers ---- */

static void trailers_are_checked(void **state) {
    test_bytes content = {0}, compressed = {0};
    (void)state;
    create_new(&content, 300, 3);
    compress_bytes(WRAPPED, NULL, NULL, &content, &compressed);
    for (size_t back = 1; back <= END; back++) {
        compressed.data[compressed.size - back] ^= 1;
        refused(&compressed, &content, "incorrect data check", "incorrect length check");
        compressed.data[compressed.size - back] ^= 1;
    }
    bytes_clear(&content);
    bytes_clear(&compressed);
}

/* ---- codes ---- */

/* A distance that points before the beginning, into a dictionary that does not exist. Everything before it
 * is decompressed, to the last byte, and nothing after it. */
static void distances_end_at_the_beginning(void **state) {
    static const unsigned char plain_head[HEAD] = {0x1f, 0x8b, 8};
    static const size_t sizes[] = {0, 1, 20, 300, 3000};
    test_bytes far = {0};
    (void)state;
    create_new(&far, 200, 4);
    bytes_add(&far, "", 1);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        test_bytes content = {0}, compressed = {0}, expected = {0};
        create_new(&expected, sizes[i], 5);
        create_new(&content, sizes[i], 5);
        bytes_add(&content, far.data + 1, 150); /* zlib finds no match at the very beginning */
        create_new(&content, 300, 6);
        bytes_add(&compressed, plain_head, HEAD);
        compress_bytes(RAW, NULL, (const char *)far.data, &content, &compressed);
        bytes_add(&compressed, "12345678", END);
        refused(&compressed, &expected, "invalid distance too far back", "|");
        bytes_clear(&content);
        bytes_clear(&compressed);
        bytes_clear(&expected);
    }
    bytes_clear(&far);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_arrive_in_pieces),
        cmocka_unit_test(headers_are_checked),
        cmocka_unit_test(trailers_are_checked),
        cmocka_unit_test(distances_end_at_the_beginning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

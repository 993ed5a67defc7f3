/* SPDX-License-Identifier: BSD-2-Clause */

/* What gzip(1) does not write, made by zlib here: heads with all there may be in them, read in pieces; ends and codes
 * that are wrong. Whichever library unpacks, what comes out is the same. */
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
#include "stream/unpack.h"
#include "support/fault.h"
#include "support/scratch.h"

enum { WRAPPED = MAX_WBITS + 16, BARE = -MAX_WBITS, HEAD = 10, END = 8 };

static tamis_error err;
static size_t most_read; /* 0: all */

static ssize_t read_pieces(int fd, void *buffer, size_t size) {
    return read(fd, buffer, most_read && size > most_read ? most_read : size);
}

/* In pieces of `most_read` and `room` bytes; `got` is what came out, also before a failure. */
static tamis_status unpack(const test_bytes *packed, size_t room, test_bytes *got) {
    static unsigned char piece[64 << 10];
    fault_memory memory = {0};
    tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis__unpack_event event = TAMIS__UNPACK_BYTES;
    tamis__unpack *made;
    size_t size;
    int fd = memfd_create("packed", MFD_CLOEXEC);
    assert_int_equal(write(fd, packed->data, packed->size), (ssize_t)packed->size);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    const tamis__unpack_setup setup = {.fd = fd, .name = "f", .memory = &allocator};
    ssize_t (*const whole)(int, void *, size_t) = tamis__sys.read;
    tamis__sys.read = read_pieces;
    err = (tamis_error)TAMIS_ERROR_INIT;
    memset(piece, '?', sizeof piece);
    tamis_status status = tamis__unpack_create(&made, &setup, &err);
    assert_int_equal(status, TAMIS_OK);
    while (status == TAMIS_OK && event != TAMIS__UNPACK_END) {
        status = tamis__unpack_next(made, true, piece, room, &size, &event, &err);
        if (status == TAMIS_OK)
            bytes_add(got, piece, size);
    }
    tamis__sys.read = whole;
    tamis__unpack_free(made);
    close(fd);
    assert_int_equal(memory.live_blocks, 0);
    return status;
}

static const size_t pieces[] = {0, 1, 2, 5, 64};
enum { PIECES = sizeof pieces / sizeof *pieces };

/* Whatever pieces it is read in and comes out in. */
static void comes_out(const test_bytes *packed, const test_bytes *want) {
    for (size_t i = 0; i < PIECES * PIECES; i++) {
        test_bytes got = {0};
        size_t room = pieces[i / PIECES];
        most_read = pieces[i % PIECES];
        if (unpack(packed, room ? room : 64 << 10, &got) != TAMIS_OK)
            fail_msg("%s", err.text);
        assert_true(bytes_check("unpacked", &got, want));
        bytes_clear(&got);
    }
}

/* Likewise; after `want`, and with one of these in its sentence. */
static void refused(const test_bytes *packed, const test_bytes *want, const char *what, const char * or) {
    for (size_t i = 0; i < PIECES * PIECES; i++) {
        test_bytes got = {0};
        size_t room = pieces[i / PIECES];
        most_read = pieces[i % PIECES];
        assert_int_equal(unpack(packed, room ? room : 64 << 10, &got), TAMIS_E_DAMAGED);
        if (!strstr(err.text, what) && !strstr(err.text, or))
            fail_msg("\"%s\" does not say \"%s\"", err.text, what);
        assert_true(bytes_check(what, &got, want));
        bytes_clear(&got);
    }
}

static void pack(int window, gz_header *head, const char *dictionary, const test_bytes *content,
                 test_bytes *to) {
    unsigned char room[16 << 10];
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
    if (head)
        assert_int_equal(deflateSetHeader(&stream, head), Z_OK);
    if (dictionary)
        assert_int_equal(deflateSetDictionary(&stream, (const Bytef *)dictionary, (uInt)strlen(dictionary)),
                         Z_OK);
    stream.next_in = content->data;
    stream.avail_in = (uInt)content->size;
    stream.next_out = room;
    stream.avail_out = sizeof room;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    bytes_add(to, room, sizeof room - stream.avail_out);
    deflateEnd(&stream);
}

/* Text that stands nowhere in itself. */
static void make_fresh(test_bytes *content, size_t size, uint64_t seed) {
    for (; size > 0; size--) {
        char byte = (char)(' ' + test_random(&seed) % 90);
        bytes_add(content, &byte, 1);
    }
}

/* ---- heads ---- */

/* Bit by bit of what may be in one: a text, an extra field, a name, a comment, a sum. */
static void heads_come_in_pieces(void **state) {
    unsigned char extra[] = "extra\0field", name[] = "a name", comment[] = "a comment";
    test_bytes content = {0};
    (void)state;
    make_fresh(&content, 300, 1);
    for (int has = 0; has < 32; has++) {
        gz_header head = {.text = has & 1,
                          .extra = has & 2 ? extra : NULL,
                          .extra_len = sizeof extra,
                          .name = has & 4 ? name : NULL,
                          .comment = has & 8 ? comment : NULL,
                          .hcrc = has & 16};
        test_bytes packed = {0};
        pack(WRAPPED, &head, NULL, &content, &packed);
        comes_out(&packed, &content);
        bytes_clear(&packed);
    }
    bytes_clear(&content);
}

static void heads_are_checked(void **state) {
    unsigned char name[] = "a name";
    gz_header head = {.name = name, .hcrc = 1};
    test_bytes content = {0}, packed = {0}, none = {0};
    (void)state;
    make_fresh(&content, 300, 2);
    pack(WRAPPED, &head, NULL, &content, &packed);
    packed.data[2] ^= 1;
    refused(&packed, &none, "unknown compression method", "|");
    packed.data[2] ^= 1;
    for (int bit = 5; bit < 8; bit++) {
        packed.data[3] ^= (unsigned char)(1 << bit);
        refused(&packed, &none, "unknown header flags set", "|");
        packed.data[3] ^= (unsigned char)(1 << bit);
    }
    for (size_t at = 4; at < HEAD + sizeof name + 2; at++) {
        if (at == HEAD + sizeof name - 1)
            continue; /* the name would be longer */
        packed.data[at] ^= 1;
        refused(&packed, &none, "header crc mismatch", "|");
        packed.data[at] ^= 1;
    }
    comes_out(&packed, &content);
    bytes_clear(&content);
    bytes_clear(&packed);
}

/* ---- ends ---- */

static void ends_are_checked(void **state) {
    test_bytes content = {0}, packed = {0};
    (void)state;
    make_fresh(&content, 300, 3);
    pack(WRAPPED, NULL, NULL, &content, &packed);
    for (size_t back = 1; back <= END; back++) {
        packed.data[packed.size - back] ^= 1;
        refused(&packed, &content, "incorrect data check", "incorrect length check");
        packed.data[packed.size - back] ^= 1;
    }
    bytes_clear(&content);
    bytes_clear(&packed);
}

/* ---- codes ---- */

/* A distance to what stands before the begin, in a dictionary that nobody has. What there is before it comes out, to the
 * last byte; and nothing behind it. */
static void distances_end_at_the_begin(void **state) {
    static const unsigned char plain_head[HEAD] = {0x1f, 0x8b, 8};
    static const size_t sizes[] = {0, 1, 20, 300, 3000};
    test_bytes far = {0};
    (void)state;
    make_fresh(&far, 200, 4);
    bytes_add(&far, "", 1);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        test_bytes content = {0}, packed = {0}, want = {0};
        make_fresh(&want, sizes[i], 5);
        make_fresh(&content, sizes[i], 5);
        bytes_add(&content, far.data + 1, 150); /* zlib finds nothing at a begin */
        make_fresh(&content, 300, 6);
        bytes_add(&packed, plain_head, HEAD);
        pack(BARE, NULL, (const char *)far.data, &content, &packed);
        bytes_add(&packed, "12345678", END);
        refused(&packed, &want, "invalid distance too far back", "|");
        bytes_clear(&content);
        bytes_clear(&packed);
        bytes_clear(&want);
    }
    bytes_clear(&far);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_come_in_pieces),
        cmocka_unit_test(heads_are_checked),
        cmocka_unit_test(ends_are_checked),
        cmocka_unit_test(distances_end_at_the_begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

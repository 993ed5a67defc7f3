/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: long */

/* Decompressing the output of other programs: the content is right in pieces of any size; incomplete data
 * is refused; bytes behind a member are refused unless they are another member or padding; memory is
 * bounded. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h> /* crc32 */

#include <cmocka.h>

#include "base/system.h"
#include "stream/codec/decompressor.h"
#include "support/compressors.h"
#include "support/fault.h"
#include "support/scratch.h"
#include "support/tools.h"

enum { CAPACITY = 64 << 10, MEMORY_MAX = 96 << 20 /* xz -9 takes 65 MiB */ };

static tamis_error err;
static fault_memory memory;
static const char text[] = "one\ntwo\nthree\none\ntwo\n";

static int set_up(void **state) {
    (void)state;
    scratch_make();
    memset(&memory, 0, sizeof memory);
    memory.limit = MEMORY_MAX;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    scratch_remove();
    if (memory.live_blocks == 0)
        return 0;
    fprintf(stderr, "memory is left\n");
    return -1;
}

static void say(const char *what) {
    if (!strstr(err.text, what))
        fail_msg("\"%s\" does not say \"%s\"", err.text, what);
}

/* ---- compression by other programs ---- */

static void compress_bytes(const compressor *with, const void *data, size_t size, test_bytes *to) {
    if (!tamis_compression_is_built(with->compression))
        skip();
    tool_run(with->command, data, size, to);
}

static const compressor *compressor_of(tamis_compression compression) {
    for (size_t i = 0; i < COMPRESSORS; i++)
        if (compressors[i].compression == compression)
            return &compressors[i];
    fail();
    return NULL;
}

/* Makes compressible and incompressible text, more than a block of most formats. */
static void make_long(test_bytes *content, size_t size) {
    uint64_t seed = 31 + content->size;
    while (content->size < size) {
        char line[64];
        uint64_t number = test_random(&seed);
        int length = snprintf(line, sizeof line, "%llx,click,%llu\n", (unsigned long long)number,
                              (unsigned long long)number % 10);
        bytes_add(content, line, (size_t)length);
    }
}

/* ---- decompression in pieces ---- */

static size_t max_read; /* maximum of bytes per read; 0: no limit */
static bool interrupts;

static ssize_t read_pieces(int fd, void *buffer, size_t size) {
    static bool interrupted;
    interrupted = interrupts && !interrupted;
    errno = EINTR;
    if (interrupted)
        return -1;
    return read(fd, buffer, max_read && size > max_read ? max_read : size);
}

/* Decompresses all bytes, of which `header_size` were read already, in pieces of `capacity`. */
static tamis_status decompress_from(const test_bytes *compressed, size_t header_size, size_t capacity,
                                    test_bytes *content) {
    static unsigned char piece[CAPACITY];
    tamis_allocator allocator = fault_memory_allocator(&memory);
    const uint64_t records = 7;
    tamis__decompressor *decompressor;
    size_t size;
    int fd = memfd_create("packed", MFD_CLOEXEC);
    assert_int_equal(write(fd, compressed->data + header_size, compressed->size - header_size),
                     (ssize_t)(compressed->size - header_size));
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    const tamis__decompressor_setup setup = {fd, "f", &records, compressed->data, header_size, &allocator};
    err = (tamis_error)TAMIS_ERROR_INIT;
    tamis_status status = tamis__decompressor_create(&decompressor, &setup, &err);
    if (status == TAMIS_OK) {
        ssize_t (*const whole)(int, void *, size_t) = tamis__sys.read;
        tamis__sys.read = read_pieces;
        while (status == TAMIS_OK && !tamis__decompressor_has_ended(decompressor)) {
            size = capacity;
            status = tamis__decompressor_read(decompressor, true, piece, &size, &err);
            if (status != TAMIS_OK)
                break;
            assert_true((size == 0 || !tamis__decompressor_has_ended(decompressor)) && size <= capacity);
            bytes_add(content, piece, size);
        }
        tamis__sys.read = whole;
        if (status == TAMIS_OK)
            assert_int_equal(tamis__decompressor_bytes_read(decompressor), compressed->size);
        tamis__decompressor_free(decompressor);
    }
    close(fd);
    assert_int_equal(memory.live_blocks, 0);
    return status;
}

static tamis_status decompress_all(const test_bytes *compressed, test_bytes *content) {
    return decompress_from(compressed, 0, CAPACITY, content);
}

static void comes_out(const test_bytes *compressed, const test_bytes *expected) {
    test_bytes got = {0};
    if (decompress_all(compressed, &got) != TAMIS_OK)
        fail_msg("%s", err.text);
    assert_true(bytes_check("unpacked", &got, expected));
    bytes_clear(&got);
}

static void refused(const test_bytes *compressed, const char *what) {
    test_bytes got = {0};
    assert_int_equal(decompress_all(compressed, &got), TAMIS_E_DAMAGED);
    say(what);
    say("after 7 records");
    bytes_clear(&got);
}

/* ---- names ---- */

static void compressions_have_names(void **state) {
    static const struct {
        const char *path;
        tamis_compression compression;
    } names[] = {
        {"a", TAMIS_COMPRESSION_NONE},           {"", TAMIS_COMPRESSION_NONE},
        {"a.gz", TAMIS_COMPRESSION_GZIP},        {"d.gz/a", TAMIS_COMPRESSION_NONE},
        {"a.jsonl.zst", TAMIS_COMPRESSION_ZSTD}, {"a.lz4", TAMIS_COMPRESSION_LZ4},
        {"a.xz", TAMIS_COMPRESSION_XZ},          {"/x/a.bz2", TAMIS_COMPRESSION_BZIP2},
        {"a.gz2", TAMIS_COMPRESSION_NONE},       {"zst", TAMIS_COMPRESSION_NONE},
        {"A.GZ", TAMIS_COMPRESSION_GZIP},        {"a.Zst", TAMIS_COMPRESSION_ZSTD},
    };
    static const char *const texts[TAMIS_COMPRESSIONS] = {"none", "gzip", "zstd", "lz4", "xz", "bzip2"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(tamis_compression_of_path(names[i].path), names[i].compression);
    for (int i = 0; i < TAMIS_COMPRESSIONS; i++)
        assert_string_equal(tamis_compression_name((tamis_compression)i), texts[i]);
    assert_null(tamis_compression_name(TAMIS_COMPRESSIONS));
    assert_null(tamis_compression_name((tamis_compression)-1));
    assert_true(tamis_compression_is_built(TAMIS_COMPRESSION_NONE) &&
                tamis_compression_is_built(TAMIS_COMPRESSION_GZIP));
    assert_false(tamis_compression_is_built(TAMIS_COMPRESSIONS));
}

/* Every prefix of a header is undecided. With another byte in it, the input is plain. */
static void magic_bytes_are_distinguished_from_text(void **state) {
    static const struct {
        tamis_compression compression;
        const char *bytes;
        size_t size;
    } heads[] = {
        {TAMIS_COMPRESSION_GZIP, "\x1f\x8b", 2},           {TAMIS_COMPRESSION_ZSTD, "\x28\xb5\x2f\xfd", 4},
        {TAMIS_COMPRESSION_ZSTD, "\x5a\x2a\x4d\x18", 4},   {TAMIS_COMPRESSION_LZ4, "\x04\x22\x4d\x18", 4},
        {TAMIS_COMPRESSION_XZ, "\3757zXZ\0", 6},           {TAMIS_COMPRESSION_BZIP2, "BZh51AY&SY", 10},
        {TAMIS_COMPRESSION_BZIP2, "BZh9\x17rE8P\x90", 10},
    };
    bool undecided;
    (void)state;
    assert_int_equal(tamis__compression_detect((const uint8_t *)"", 0, &undecided), TAMIS_COMPRESSION_NONE);
    assert_true(undecided);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        for (size_t size = 1; size <= heads[i].size; size++) {
            uint8_t bytes[16];
            memcpy(bytes, heads[i].bytes, size);
            bool whole = size == heads[i].size;
            assert_int_equal(tamis__compression_detect(bytes, size, &undecided),
                             whole ? heads[i].compression : TAMIS_COMPRESSION_NONE);
            assert_int_equal(undecided, !whole);
            assert_int_equal(tamis_compression_of_bytes(bytes, size),
                             whole ? heads[i].compression : TAMIS_COMPRESSION_NONE);
            bytes[size - 1] = '\n';
            assert_int_equal(tamis__compression_detect(bytes, size, &undecided), TAMIS_COMPRESSION_NONE);
            assert_false(undecided);
        }
    }
    assert_int_equal(tamis__compression_detect((const uint8_t *)"BZh0", 4, &undecided),
                     TAMIS_COMPRESSION_NONE);
    assert_false(undecided);
}

/* ---- compression and decompression ---- */

static void compressed_bytes_are_restored(void **state) {
    (void)state;
    test_bytes contents[3] = {{0}, {0}, {0}};
    bytes_add(&contents[1], text, strlen(text));
    make_long(&contents[2], (size_t)test_scale(1 << 20, 150 << 10, 150 << 10));
    for (size_t i = 0; i < test_scale(COMPRESSORS_ALL, COMPRESSORS_ALL, COMPRESSORS); i++)
        for (size_t j = 0; j < 3; j++) {
            test_bytes compressed = {0};
            compress_bytes(&compressors[i], contents[j].data, contents[j].size, &compressed);
            comes_out(&compressed, &contents[j]);
            bytes_clear(&compressed);
        }
    for (size_t j = 0; j < 3; j++)
        bytes_clear(&contents[j]);
}

static void members_are_one(void **state) {
    (void)state;
    for (size_t i = 0; i < COMPRESSORS; i++) {
        test_bytes compressed = {0}, content = {0};
        for (size_t pos = 0; pos < sizeof text - 1; pos += 5) {
            size_t end = pos + 5 < sizeof text - 1 ? pos + 5 : sizeof text - 1;
            compress_bytes(&compressors[i], text + pos, end - pos, &compressed);
            compress_bytes(&compressors[i], "", 0, &compressed);
        }
        bytes_add(&content, text, sizeof text - 1);
        comes_out(&compressed, &content);
        bytes_clear(&compressed);
        bytes_clear(&content);
    }
}

static void pieces_do_not_matter(void **state) {
    static const size_t pieces[] = {1, 2, 3, 7, 64, 0};
    (void)state;
    for (size_t i = 0; i < COMPRESSORS; i++) {
        test_bytes compressed = {0}, content = {0};
        for (size_t size = 3000; size <= 6000; size += 3000) {
            const size_t before = content.size;
            make_long(&content, size);
            compress_bytes(&compressors[i], content.data + before, content.size - before, &compressed);
        }
        for (size_t j = 0; j < 2 * sizeof pieces / sizeof *pieces; j++) {
            test_bytes got = {0};
            max_read = pieces[j / 2];
            interrupts = j % 2;
            assert_int_equal(decompress_from(&compressed, (37 * j) % 500,
                                             j % 3 == 0   ? 1
                                             : j % 3 == 1 ? 7
                                                          : CAPACITY,
                                             &got),
                             TAMIS_OK);
            assert_true(bytes_check("pieces", &got, &content));
            bytes_clear(&got);
        }
        max_read = 0;
        interrupts = false;
        bytes_clear(&compressed);
        bytes_clear(&content);
    }
}

/* A decompressor that may not read gives what it can from its buffer, and then waits for more without an
 * error. */
static void data_is_read_only_when_allowed(void **state) {
    (void)state;
    for (size_t i = 0; i < COMPRESSORS_PLAIN; i++) {
        test_bytes compressed = {0}, content = {0};
        tamis_allocator allocator = fault_memory_allocator(&memory);
        tamis__decompressor *decompressor;
        unsigned char piece[sizeof text];
        size_t size;
        compress_bytes(&compressors[i], text, sizeof text - 1, &compressed);
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        const tamis__decompressor_setup setup = {fd, "f", NULL, compressed.data, compressed.size, &allocator};
        assert_int_equal(tamis__decompressor_create(&decompressor, &setup, &err), TAMIS_OK);
        while (content.size < sizeof text - 1) {
            size = sizeof piece;
            assert_int_equal(tamis__decompressor_read(decompressor, false, piece, &size, &err), TAMIS_OK);
            assert_true(size > 0 && !tamis__decompressor_has_ended(decompressor));
            bytes_add(&content, piece, size);
        }
        assert_memory_equal(content.data, text, sizeof text - 1);
        for (int again = 0; again < 40; again++) { /* more calls without progress than libzstd accepts */
            size = sizeof piece;
            assert_int_equal(tamis__decompressor_read(decompressor, false, piece, &size, &err), TAMIS_OK);
            assert_true(size == 0 && !tamis__decompressor_has_ended(decompressor));
        }
        size = sizeof piece;
        assert_int_equal(tamis__decompressor_read(decompressor, true, piece, &size, &err), TAMIS_OK);
        assert_true(size == 0 && tamis__decompressor_has_ended(decompressor));
        tamis__decompressor_free(decompressor);
        close(fd);
        bytes_clear(&compressed);
        bytes_clear(&content);
    }
}

/* ---- damage ---- */

/* Two members: only a cut between them leaves a complete file. The output is always a prefix of the
 * content. */
static void cut_anywhere_is_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < COMPRESSORS; i++) {
        test_bytes compressed = {0};
        compress_bytes(&compressors[i], text, sizeof text - 1, &compressed);
        const size_t member = compressed.size;
        compress_bytes(&compressors[i], text, sizeof text - 1, &compressed);
        for (size_t size = 1; size < compressed.size; size++) {
            test_bytes cut = {compressed.data, size, 0}, got = {0};
            tamis_status status = decompress_all(&cut, &got);
            assert_int_equal(status, size == member ? TAMIS_OK : TAMIS_E_DAMAGED);
            if (status != TAMIS_OK)
                say("f: cut short, after 7 records: its ");
            size_t first = got.size < sizeof text - 1 ? got.size : sizeof text - 1;
            assert_true(size < member || first == sizeof text - 1);
            assert_true(got.size <= 2 * (sizeof text - 1) && (!first || memcmp(got.data, text, first) == 0));
            bytes_clear(&got);
        }
        bytes_clear(&compressed);
    }
}

static void flipped_anywhere_is_refused_or_the_same(void **state) {
    (void)state;
    for (size_t i = 0; i < COMPRESSORS; i++) {
        test_bytes compressed = {0};
        const size_t size = sizeof text - 1;
        compress_bytes(&compressors[i], text, size, &compressed);
        size_t wrong = 0;
        for (size_t bit = 0; bit < 8 * compressed.size; bit++) {
            test_bytes got = {0};
            compressed.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
            tamis_status status = decompress_all(&compressed, &got);
            compressed.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
            if (status == TAMIS_OK && compressors[i].checksums)
                assert_true(got.size == size && memcmp(got.data, text, size) == 0);
            else if (status != TAMIS_OK)
                assert_true(status == TAMIS_E_DAMAGED || status == TAMIS_E_UNSUPPORTED ||
                            status == TAMIS_E_NOMEM);
            wrong += status != TAMIS_OK;
            bytes_clear(&got);
        }
        assert_true(!compressors[i].checksums || wrong > 4 * compressed.size);
        bytes_clear(&compressed);
    }
}

/* The content before the damage is decompressed, and equally much of it in pieces of any size. */
static void all_before_damage_comes_out(void **state) {
    (void)state;
    for (size_t i = 0; i < COMPRESSORS; i++) {
        test_bytes compressed = {0}, content = {0}, got = {0}, again = {0};
        make_long(&content, 600 << 10);
        compress_bytes(&compressors[i], content.data, content.size, &compressed);
        for (size_t pos = compressed.size / 2; pos < compressed.size / 2 + 8; pos++)
            compressed.data[pos] ^= 0xff;
        tamis_status status = decompress_all(&compressed, &got);
        if (compressors[i].checksums)
            assert_int_equal(status, TAMIS_E_DAMAGED);
        /* At least a block is lost: 900 kB with bzip2, 4 MiB with lz4. With xz there is no block before
         * the damage. */
        if (strstr(compressors[i].command, "-B4") || compressors[i].compression == TAMIS_COMPRESSION_ZSTD)
            assert_true(got.size > content.size / 4);
        max_read = 997;
        assert_int_equal(decompress_from(&compressed, 5, 501, &again), status);
        max_read = 0;
        if (compressors[i].compression !=
            TAMIS_COMPRESSION_XZ) /* liblzma does not report how much it could give */
            assert_true(bytes_check(compressors[i].command, &again, &got));
        bytes_clear(&compressed);
        bytes_clear(&content);
        bytes_clear(&got);
        bytes_clear(&again);
    }
}

/* ---- behind a member ---- */

static void nothing_else_follows_a_member(void **state) {
    (void)state;
    for (size_t i = 0; i < COMPRESSORS_PLAIN; i++) {
        test_bytes compressed = {0}, other = {0};
        compress_bytes(&compressors[i], text, sizeof text - 1, &compressed);
        compress_bytes(&compressors[(i + 1) % COMPRESSORS_PLAIN], text, sizeof text - 1, &other);
        const size_t size = compressed.size;
        const struct {
            const void *bytes;
            size_t size;
        } tails[] = {{"x", 1}, {"\0x", 2}, {"\n", 1}, {other.data, other.size}, {"\0\0\0\0x", 5}};
        for (size_t j = 0; j < sizeof tails / sizeof *tails; j++) {
            char what[80];
            compressed.size = size;
            bytes_add(&compressed, tails[j].bytes, tails[j].size);
            refused(&compressed, "unexpected bytes after the end");
            snprintf(what, sizeof what, "after the end of its %s data",
                     tamis_compression_name(compressors[i].compression));
            say(what);
        }
        bytes_clear(&compressed);
        bytes_clear(&other);
    }
}

static void padding_is_limited_to_the_compression(void **state) {
    (void)state;
    for (size_t i = 0; i < COMPRESSORS_PLAIN; i++) {
        test_bytes compressed = {0}, content = {0};
        const tamis_compression compression = compressors[i].compression;
        bytes_add(&content, text, sizeof text - 1);
        compress_bytes(&compressors[i], text, sizeof text - 1, &compressed);
        for (int zeros = 1; zeros < 600; zeros++) {
            bytes_add(&compressed, "", 1);
            if (compression == TAMIS_COMPRESSION_GZIP ||
                (compression == TAMIS_COMPRESSION_XZ && zeros % 4 == 0))
                comes_out(&compressed, &content);
            else
                refused(&compressed, "unexpected bytes after the end");
        }
        bytes_add(&compressed, "", 1); /* 600 */
        compress_bytes(&compressors[i], text, sizeof text - 1, &compressed);
        bytes_add(&content, text, sizeof text - 1);
        if (compression == TAMIS_COMPRESSION_XZ)
            comes_out(&compressed, &content);
        else
            refused(&compressed, "unexpected bytes after the end");
        bytes_clear(&compressed);
        bytes_clear(&content);
    }
}

static void skippable_frames_are_skipped(void **state) {
    static const char empty[] = "\x50\x2a\x4d\x18\0\0\0", four[] = "\x5f\x2a\x4d\x18\x04\0\0\0"
                                                                   "abcd";
    (void)state;
    for (size_t i = 0; i < COMPRESSORS; i++) {
        test_bytes compressed = {0}, content = {0};
        bool skips = compressors[i].compression == TAMIS_COMPRESSION_ZSTD ||
                     compressors[i].compression == TAMIS_COMPRESSION_LZ4;
        for (int member = 0; member < 2; member++) {
            bytes_add(&compressed, empty, 8);
            bytes_add(&compressed, four, sizeof four - 1);
            compress_bytes(&compressors[i], text, sizeof text - 1, &compressed);
            bytes_add(&content, text, sizeof text - 1);
        }
        bytes_add(&compressed, four, sizeof four - 1);
        bytes_add(&compressed, empty, 8);
        if (skips)
            comes_out(&compressed, &content);
        else
            refused(&compressed, "unexpected bytes after the end");
        if (skips)
            for (size_t cut = 1; cut < 8 + sizeof four - 1; cut++) {
                if (cut == 8)
                    continue; /* between the two */
                compressed.size -= cut;
                refused(&compressed, "cut short");
                compressed.size += cut;
            }
        bytes_clear(&compressed);
        bytes_clear(&content);
    }
}

/* ---- memory ---- */

static void every_allocation_may_fail(void **state) {
    (void)state;
    for (size_t i = 0; i < COMPRESSORS_PLAIN; i++) {
        test_bytes compressed = {0}, content = {0};
        bytes_add(&content, text, sizeof text - 1);
        bytes_add(&content, text, sizeof text - 1);
        for (int member = 0; member < 2; member++)
            compress_bytes(&compressors[i], text, sizeof text - 1, &compressed);
        for (uint64_t n = 1;; n++) {
            test_bytes got = {0};
            memory = (fault_memory){.fail_at = n};
            tamis_status status = decompress_all(&compressed, &got);
            if (memory.refused == 0) {
                assert_int_equal(status, TAMIS_OK);
                assert_true(bytes_equal(&got, &content));
                bytes_clear(&got);
                break;
            }
            assert_int_equal(status, TAMIS_E_NOMEM);
            say("f: out of memory");
            bytes_clear(&got);
        }
        bytes_clear(&compressed);
        bytes_clear(&content);
    }
}

/* Endless zeros: their number is right, and memory is that of the decoder. */
static void decompression_bombs_use_no_memory(void **state) {
    static unsigned char piece[CAPACITY];
    uint64_t mebibytes = test_scale_torture(2048, 256, 16, 64);
    (void)state;
    for (size_t i = 0; i < COMPRESSORS_PLAIN; i++) {
        test_bytes compressed = {0};
        char command[128];
        tamis_allocator allocator = fault_memory_allocator(&memory);
        tamis__decompressor *decompressor;
        uint64_t total = 0;
        size_t size;
        snprintf(command, sizeof command, "(head -c 16M /dev/zero | %s)", compressors[i].command);
        compress_bytes(&(compressor){compressors[i].compression, command, true}, "", 0, &compressed);
        const size_t member = compressed.size;
        for (uint64_t more = 16; more < mebibytes; more += 16) {
            test_bytes single = {0};
            bytes_add(&single, compressed.data, member);
            bytes_add(&compressed, single.data, single.size);
            bytes_clear(&single);
        }
        file_write(scratch("bomb"), compressed.data, compressed.size);
        bytes_clear(&compressed);
        int fd = open(scratch("bomb"), O_RDONLY | O_CLOEXEC);
        const tamis__decompressor_setup setup = {.fd = fd, .name = "f", .memory = &allocator};
        assert_int_equal(tamis__decompressor_create(&decompressor, &setup, &err), TAMIS_OK);
        for (; !tamis__decompressor_has_ended(decompressor); total += size) {
            size = CAPACITY;
            assert_int_equal(tamis__decompressor_read(decompressor, true, piece, &size, &err), TAMIS_OK);
        }
        tamis__decompressor_free(decompressor);
        close(fd);
        assert_int_equal(total, mebibytes << 20);
        assert_true(memory.peak_bytes < 16 << 20);
    }
}

static void windows_of_strangers_are_bounded(void **state) {
    test_bytes compressed = {0}, got = {0};
    (void)state;
    memory.limit = 0;
    compress_bytes(&(compressor){TAMIS_COMPRESSION_ZSTD, "(cat | zstd -qc --long=28)", true}, text,
                   sizeof text - 1, &compressed);
    compressed.data[5] = (28 - 10) << 3;            /* window size, which a short input makes smaller */
    assert_int_equal(compressed.data[4] & 0x20, 0); /* the header has a window size */
    assert_int_equal(decompress_all(&compressed, &got), TAMIS_E_UNSUPPORTED);
    say("f: its zstd data takes more than 128 MiB of memory to unpack, after 7 records; unpack it "
        "beforehand");
    bytes_clear(&compressed);

    /* The dictionary size of the first block's LZMA2, and the checksum of the block's header. */
    compress_bytes(compressor_of(TAMIS_COMPRESSION_XZ), text, sizeof text - 1, &compressed);
    unsigned char *head = compressed.data + 12;
    const size_t size = (size_t)*head * 4;
    assert_int_equal(head[2], 0x21);
    head[4] = 39; /* 3 GiB */
    uLong sum = crc32(0, head, (uInt)size);
    for (int i = 0; i < 4; i++)
        head[size + (size_t)i] = (unsigned char)(sum >> 8 * i);
    assert_int_equal(decompress_all(&compressed, &got), TAMIS_E_UNSUPPORTED);
    say("f: its xz data takes more than 1 GiB of memory to unpack, after 7 records; unpack it beforehand");
    assert_true(memory.peak_bytes < 1 << 20);
    bytes_clear(&compressed);
    bytes_clear(&got);
}

/* Without a supported checksum, a change of the content would not be noticed. */
static void a_check_nobody_knows_is_refused(void **state) {
    test_bytes compressed = {0};
    (void)state;
    compress_bytes(compressor_of(TAMIS_COMPRESSION_XZ), text, sizeof text - 1, &compressed);
    compressed.data[7] = 2; /* a reserved type of checksum */
    uLong sum = crc32(0, compressed.data + 6, 2);
    for (int i = 0; i < 4; i++)
        compressed.data[8 + i] = (unsigned char)(sum >> 8 * i);
    refused(&compressed, "liblzma does not support its check");
    bytes_clear(&compressed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compressions_have_names),
        cmocka_unit_test(magic_bytes_are_distinguished_from_text),
        cmocka_unit_test_setup_teardown(compressed_bytes_are_restored, set_up, tear_down),
        cmocka_unit_test_setup_teardown(members_are_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pieces_do_not_matter, set_up, tear_down),
        cmocka_unit_test_setup_teardown(data_is_read_only_when_allowed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cut_anywhere_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(flipped_anywhere_is_refused_or_the_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_before_damage_comes_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_else_follows_a_member, set_up, tear_down),
        cmocka_unit_test_setup_teardown(padding_is_limited_to_the_compression, set_up, tear_down),
        cmocka_unit_test_setup_teardown(skippable_frames_are_skipped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, set_up, tear_down),
        cmocka_unit_test_setup_teardown(decompression_bombs_use_no_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(windows_of_strangers_are_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_check_nobody_knows_is_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */

/* What others have packed comes out as it went in, whatever pieces it is read in; what is not whole is refused; what
 * stands behind a member is none of anything else; memory is bounded. */
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
#include "stream/unpack.h"
#include "support/fault.h"
#include "support/packers.h"
#include "support/scratch.h"
#include "support/tools.h"

enum { ROOM = 64 << 10, MEMORY_MOST = 96 << 20 /* xz -9 takes 65 MiB */ };

static tamis_error err;
static fault_memory memory;
static const char text[] = "one\ntwo\nthree\none\ntwo\n";

static int set_up(void **state) {
    (void)state;
    scratch_make();
    memset(&memory, 0, sizeof memory);
    memory.limit = MEMORY_MOST;
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

/* ---- packing by others ---- */

static void pack(const packer *with, const void *data, size_t size, test_bytes *to) {
    if (!tamis_packing_is_built(with->packing))
        skip();
    tool_run(with->command, data, size, to);
}

static const packer *packer_of(tamis_packing packing) {
    for (size_t i = 0; i < PACKERS; i++)
        if (packers[i].packing == packing)
            return &packers[i];
    fail();
    return NULL;
}

/* Text that is as well as not compressible, more than a block of most packings. */
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

/* ---- unpacking in pieces ---- */

static size_t most_read; /* 0: all */
static bool interrupts;

static ssize_t read_pieces(int fd, void *buffer, size_t size) {
    static bool interrupted;
    interrupted = interrupts && !interrupted;
    errno = EINTR;
    if (interrupted)
        return -1;
    return read(fd, buffer, most_read && size > most_read ? most_read : size);
}

/* All that is in these bytes, of which `begun` were read already, in pieces of `room`. */
static tamis_status unpack_from(const test_bytes *packed, size_t begun, size_t room, test_bytes *content) {
    static unsigned char piece[ROOM];
    tamis_allocator allocator = fault_memory_allocator(&memory);
    const uint64_t records = 7;
    tamis__unpack_event event = TAMIS__UNPACK_BYTES;
    tamis__unpack *unpack;
    size_t size;
    int fd = memfd_create("packed", MFD_CLOEXEC);
    assert_int_equal(write(fd, packed->data + begun, packed->size - begun), (ssize_t)(packed->size - begun));
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    const tamis__unpack_setup setup = {fd, "f", &records, packed->data, begun, &allocator};
    err = (tamis_error)TAMIS_ERROR_INIT;
    tamis_status status = tamis__unpack_create(&unpack, &setup, &err);
    if (status == TAMIS_OK) {
        ssize_t (*const whole)(int, void *, size_t) = tamis__sys.read;
        tamis__sys.read = read_pieces;
        while (status == TAMIS_OK && event != TAMIS__UNPACK_END) {
            status = tamis__unpack_next(unpack, true, piece, room, &size, &event, &err);
            if (status != TAMIS_OK)
                break;
            assert_true((size > 0) == (event == TAMIS__UNPACK_BYTES) && size <= room);
            bytes_add(content, piece, size);
        }
        tamis__sys.read = whole;
        if (status == TAMIS_OK)
            assert_int_equal(tamis__unpack_taken(unpack), packed->size);
        tamis__unpack_free(unpack);
    }
    close(fd);
    assert_int_equal(memory.live_blocks, 0);
    return status;
}

static tamis_status unpack_all(const test_bytes *packed, test_bytes *content) {
    return unpack_from(packed, 0, ROOM, content);
}

static void comes_out(const test_bytes *packed, const test_bytes *want) {
    test_bytes got = {0};
    if (unpack_all(packed, &got) != TAMIS_OK)
        fail_msg("%s", err.text);
    assert_true(bytes_check("unpacked", &got, want));
    bytes_clear(&got);
}

static void refused(const test_bytes *packed, const char *what) {
    test_bytes got = {0};
    assert_int_equal(unpack_all(packed, &got), TAMIS_E_DAMAGED);
    say(what);
    say("after 7 records");
    bytes_clear(&got);
}

/* ---- names ---- */

static void packings_have_names(void **state) {
    static const struct {
        const char *path;
        tamis_packing packing;
    } names[] = {
        {"a", TAMIS_PACKING_NONE},           {"", TAMIS_PACKING_NONE},
        {"a.gz", TAMIS_PACKING_GZIP},        {"d.gz/a", TAMIS_PACKING_NONE},
        {"a.jsonl.zst", TAMIS_PACKING_ZSTD}, {"a.lz4", TAMIS_PACKING_LZ4},
        {"a.xz", TAMIS_PACKING_XZ},          {"/x/a.bz2", TAMIS_PACKING_BZIP2},
        {"a.gz2", TAMIS_PACKING_NONE},       {"zst", TAMIS_PACKING_NONE},
        {"A.GZ", TAMIS_PACKING_GZIP},        {"a.Zst", TAMIS_PACKING_ZSTD},
    };
    static const char *const texts[TAMIS_PACKINGS] = {"none", "gzip", "zstd", "lz4", "xz", "bzip2"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(tamis_packing_of_name(names[i].path), names[i].packing);
    for (int i = 0; i < TAMIS_PACKINGS; i++)
        assert_string_equal(tamis_packing_name((tamis_packing)i), texts[i]);
    assert_null(tamis_packing_name(TAMIS_PACKINGS));
    assert_null(tamis_packing_name((tamis_packing)-1));
    assert_true(tamis_packing_is_built(TAMIS_PACKING_NONE) && tamis_packing_is_built(TAMIS_PACKING_GZIP));
    assert_false(tamis_packing_is_built(TAMIS_PACKINGS));
}

/* Every beginning of a head leaves it open, and another byte there makes it plain. */
static void heads_are_told_from_text(void **state) {
    static const struct {
        tamis_packing packing;
        const char *bytes;
        size_t size;
    } heads[] = {
        {TAMIS_PACKING_GZIP, "\x1f\x8b", 2},           {TAMIS_PACKING_ZSTD, "\x28\xb5\x2f\xfd", 4},
        {TAMIS_PACKING_ZSTD, "\x5a\x2a\x4d\x18", 4},   {TAMIS_PACKING_LZ4, "\x04\x22\x4d\x18", 4},
        {TAMIS_PACKING_XZ, "\3757zXZ\0", 6},           {TAMIS_PACKING_BZIP2, "BZh51AY&SY", 10},
        {TAMIS_PACKING_BZIP2, "BZh9\x17rE8P\x90", 10},
    };
    bool undecided;
    (void)state;
    assert_int_equal(tamis__packing_of((const uint8_t *)"", 0, &undecided), TAMIS_PACKING_NONE);
    assert_true(undecided);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        for (size_t size = 1; size <= heads[i].size; size++) {
            uint8_t bytes[16];
            memcpy(bytes, heads[i].bytes, size);
            bool whole = size == heads[i].size;
            assert_int_equal(tamis__packing_of(bytes, size, &undecided),
                             whole ? heads[i].packing : TAMIS_PACKING_NONE);
            assert_int_equal(undecided, !whole);
            bytes[size - 1] = '\n';
            assert_int_equal(tamis__packing_of(bytes, size, &undecided), TAMIS_PACKING_NONE);
            assert_false(undecided);
        }
    }
    assert_int_equal(tamis__packing_of((const uint8_t *)"BZh0", 4, &undecided), TAMIS_PACKING_NONE);
    assert_false(undecided);
}

/* ---- there and back ---- */

static void what_was_packed_comes_out(void **state) {
    (void)state;
    test_bytes contents[3] = {{0}, {0}, {0}};
    bytes_add(&contents[1], text, strlen(text));
    make_long(&contents[2], (size_t)test_scale(3 << 20, 150 << 10, 150 << 10));
    for (size_t i = 0; i < test_scale(PACKERS_ALL, PACKERS_ALL, PACKERS); i++)
        for (size_t j = 0; j < 3; j++) {
            test_bytes packed = {0};
            pack(&packers[i], contents[j].data, contents[j].size, &packed);
            comes_out(&packed, &contents[j]);
            bytes_clear(&packed);
        }
    for (size_t j = 0; j < 3; j++)
        bytes_clear(&contents[j]);
}

static void members_are_one(void **state) {
    (void)state;
    for (size_t i = 0; i < PACKERS; i++) {
        test_bytes packed = {0}, content = {0};
        for (size_t at = 0; at < sizeof text - 1; at += 5) {
            size_t end = at + 5 < sizeof text - 1 ? at + 5 : sizeof text - 1;
            pack(&packers[i], text + at, end - at, &packed);
            pack(&packers[i], "", 0, &packed);
        }
        bytes_add(&content, text, sizeof text - 1);
        comes_out(&packed, &content);
        bytes_clear(&packed);
        bytes_clear(&content);
    }
}

static void pieces_do_not_matter(void **state) {
    static const size_t pieces[] = {1, 2, 3, 7, 64, 0};
    (void)state;
    for (size_t i = 0; i < PACKERS; i++) {
        test_bytes packed = {0}, content = {0};
        for (size_t size = 3000; size <= 6000; size += 3000) {
            const size_t before = content.size;
            make_long(&content, size);
            pack(&packers[i], content.data + before, content.size - before, &packed);
        }
        for (size_t j = 0; j < 2 * sizeof pieces / sizeof *pieces; j++) {
            test_bytes got = {0};
            most_read = pieces[j / 2];
            interrupts = j % 2;
            assert_int_equal(unpack_from(&packed, (37 * j) % 500,
                                         j % 3 == 0   ? 1
                                         : j % 3 == 1 ? 7
                                                      : ROOM,
                                         &got),
                             TAMIS_OK);
            assert_true(bytes_check("pieces", &got, &content));
            bytes_clear(&got);
        }
        most_read = 0;
        interrupts = false;
        bytes_clear(&packed);
        bytes_clear(&content);
    }
}

/* Without leave to read it gives what it can of what it has, and waits for more without an error. */
static void it_reads_only_when_it_may(void **state) {
    (void)state;
    for (size_t i = 0; i < PACKERS_PLAIN; i++) {
        test_bytes packed = {0}, content = {0};
        tamis_allocator allocator = fault_memory_allocator(&memory);
        tamis__unpack_event event = TAMIS__UNPACK_END;
        tamis__unpack *unpack;
        unsigned char room[sizeof text];
        size_t size;
        pack(&packers[i], text, sizeof text - 1, &packed);
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        const tamis__unpack_setup setup = {fd, "f", NULL, packed.data, packed.size, &allocator};
        assert_int_equal(tamis__unpack_create(&unpack, &setup, &err), TAMIS_OK);
        while (content.size < sizeof text - 1) {
            assert_int_equal(tamis__unpack_next(unpack, false, room, sizeof room, &size, &event, &err),
                             TAMIS_OK);
            assert_int_equal(event, TAMIS__UNPACK_BYTES);
            bytes_add(&content, room, size);
        }
        assert_memory_equal(content.data, text, sizeof text - 1);
        for (int again = 0; again < 40; again++) { /* more than libzstd bears */
            assert_int_equal(tamis__unpack_next(unpack, false, room, sizeof room, &size, &event, &err),
                             TAMIS_OK);
            assert_int_equal(event, TAMIS__UNPACK_NOT_NOW);
        }
        assert_int_equal(tamis__unpack_next(unpack, true, room, sizeof room, &size, &event, &err), TAMIS_OK);
        assert_int_equal(event, TAMIS__UNPACK_END);
        tamis__unpack_free(unpack);
        close(fd);
        bytes_clear(&packed);
        bytes_clear(&content);
    }
}

/* ---- damage ---- */

/* Two members; only a cut between them leaves something whole. What comes out is always the begin of what went in. */
static void cut_anywhere_is_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < PACKERS; i++) {
        test_bytes packed = {0};
        pack(&packers[i], text, sizeof text - 1, &packed);
        const size_t member = packed.size;
        pack(&packers[i], text, sizeof text - 1, &packed);
        for (size_t size = 1; size < packed.size; size++) {
            test_bytes cut = {packed.data, size, 0}, got = {0};
            tamis_status status = unpack_all(&cut, &got);
            assert_int_equal(status, size == member ? TAMIS_OK : TAMIS_E_DAMAGED);
            if (status != TAMIS_OK)
                say("f: cut short, after 7 records, its ");
            size_t first = got.size < sizeof text - 1 ? got.size : sizeof text - 1;
            assert_true(size < member || first == sizeof text - 1);
            assert_true(got.size <= 2 * (sizeof text - 1) && (!first || memcmp(got.data, text, first) == 0));
            bytes_clear(&got);
        }
        bytes_clear(&packed);
    }
}

static void flipped_anywhere_is_refused_or_the_same(void **state) {
    (void)state;
    for (size_t i = 0; i < PACKERS; i++) {
        test_bytes packed = {0};
        const size_t size = sizeof text - 1;
        pack(&packers[i], text, size, &packed);
        size_t wrong = 0;
        for (size_t bit = 0; bit < 8 * packed.size; bit++) {
            test_bytes got = {0};
            packed.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
            tamis_status status = unpack_all(&packed, &got);
            packed.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
            if (status == TAMIS_OK && packers[i].sums)
                assert_true(got.size == size && memcmp(got.data, text, size) == 0);
            else if (status != TAMIS_OK)
                assert_true(status == TAMIS_E_DAMAGED || status == TAMIS_E_UNSUPPORTED ||
                            status == TAMIS_E_NOMEM);
            wrong += status != TAMIS_OK;
            bytes_clear(&got);
        }
        assert_true(!packers[i].sums || wrong > 4 * packed.size);
        bytes_clear(&packed);
    }
}

/* What stands before the damage comes out, and as much of it in whatever pieces the file is read. */
static void all_before_damage_comes_out(void **state) {
    (void)state;
    for (size_t i = 0; i < PACKERS; i++) {
        test_bytes packed = {0}, content = {0}, got = {0}, again = {0};
        make_long(&content, 600 << 10);
        pack(&packers[i], content.data, content.size, &packed);
        for (size_t at = packed.size / 2; at < packed.size / 2 + 8; at++)
            packed.data[at] ^= 0xff;
        tamis_status status = unpack_all(&packed, &got);
        if (packers[i].sums)
            assert_int_equal(status, TAMIS_E_DAMAGED);
        /* A block is the least that can be lost: 900 kB of bzip2, 4 MiB of lz4; of xz, none stands before. */
        if (strstr(packers[i].command, "-B4") || packers[i].packing == TAMIS_PACKING_ZSTD)
            assert_true(got.size > content.size / 4);
        most_read = 997;
        assert_int_equal(unpack_from(&packed, 5, 501, &again), status);
        most_read = 0;
        if (packers[i].packing != TAMIS_PACKING_XZ) /* liblzma does not say where it has something to give */
            assert_true(bytes_check(packers[i].command, &again, &got));
        bytes_clear(&packed);
        bytes_clear(&content);
        bytes_clear(&got);
        bytes_clear(&again);
    }
}

/* ---- behind a member ---- */

static void nothing_else_stands_behind_a_member(void **state) {
    (void)state;
    for (size_t i = 0; i < PACKERS_PLAIN; i++) {
        test_bytes packed = {0}, other = {0};
        pack(&packers[i], text, sizeof text - 1, &packed);
        pack(&packers[(i + 1) % PACKERS_PLAIN], text, sizeof text - 1, &other);
        const size_t size = packed.size;
        const struct {
            const void *bytes;
            size_t size;
        } tails[] = {{"x", 1}, {"\0x", 2}, {"\n", 1}, {other.data, other.size}, {"\0\0\0\0x", 5}};
        for (size_t j = 0; j < sizeof tails / sizeof *tails; j++) {
            char what[80];
            packed.size = size;
            bytes_add(&packed, tails[j].bytes, tails[j].size);
            refused(&packed, "stands what is none");
            snprintf(what, sizeof what, "behind its %s data", tamis_packing_name(packers[i].packing));
            say(what);
        }
        bytes_clear(&packed);
        bytes_clear(&other);
    }
}

static void padding_is_what_the_packing_allows(void **state) {
    (void)state;
    for (size_t i = 0; i < PACKERS_PLAIN; i++) {
        test_bytes packed = {0}, content = {0};
        const tamis_packing packing = packers[i].packing;
        bytes_add(&content, text, sizeof text - 1);
        pack(&packers[i], text, sizeof text - 1, &packed);
        for (int zeros = 1; zeros < 600; zeros++) {
            bytes_add(&packed, "", 1);
            if (packing == TAMIS_PACKING_GZIP || (packing == TAMIS_PACKING_XZ && zeros % 4 == 0))
                comes_out(&packed, &content);
            else
                refused(&packed, "stands what is none");
        }
        bytes_add(&packed, "", 1); /* 600 */
        pack(&packers[i], text, sizeof text - 1, &packed);
        bytes_add(&content, text, sizeof text - 1);
        if (packing == TAMIS_PACKING_XZ)
            comes_out(&packed, &content);
        else
            refused(&packed, "stands what is none");
        bytes_clear(&packed);
        bytes_clear(&content);
    }
}

static void skippable_frames_are_skipped(void **state) {
    static const char empty[] = "\x50\x2a\x4d\x18\0\0\0", four[] = "\x5f\x2a\x4d\x18\x04\0\0\0"
                                                                   "abcd";
    (void)state;
    for (size_t i = 0; i < PACKERS; i++) {
        test_bytes packed = {0}, content = {0};
        bool skips = packers[i].packing == TAMIS_PACKING_ZSTD || packers[i].packing == TAMIS_PACKING_LZ4;
        for (int member = 0; member < 2; member++) {
            bytes_add(&packed, empty, 8);
            bytes_add(&packed, four, sizeof four - 1);
            pack(&packers[i], text, sizeof text - 1, &packed);
            bytes_add(&content, text, sizeof text - 1);
        }
        bytes_add(&packed, four, sizeof four - 1);
        bytes_add(&packed, empty, 8);
        if (skips)
            comes_out(&packed, &content);
        else
            refused(&packed, "stands what is none");
        if (skips)
            for (size_t cut = 1; cut < 8 + sizeof four - 1; cut++) {
                if (cut == 8)
                    continue; /* between the two */
                packed.size -= cut;
                refused(&packed, "cut short");
                packed.size += cut;
            }
        bytes_clear(&packed);
        bytes_clear(&content);
    }
}

/* ---- memory ---- */

static void every_allocation_may_fail(void **state) {
    (void)state;
    for (size_t i = 0; i < PACKERS_PLAIN; i++) {
        test_bytes packed = {0}, content = {0};
        bytes_add(&content, text, sizeof text - 1);
        bytes_add(&content, text, sizeof text - 1);
        for (int member = 0; member < 2; member++)
            pack(&packers[i], text, sizeof text - 1, &packed);
        for (uint64_t n = 1;; n++) {
            test_bytes got = {0};
            memory = (fault_memory){.fail_at = n};
            tamis_status status = unpack_all(&packed, &got);
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
        bytes_clear(&packed);
        bytes_clear(&content);
    }
}

/* Zeros without end: their number comes out, and memory is that of the decoder. */
static void bombs_take_no_memory(void **state) {
    static unsigned char piece[ROOM];
    uint64_t mebibytes = test_scale(2048, 64, 64);
    (void)state;
    for (size_t i = 0; i < PACKERS_PLAIN; i++) {
        test_bytes packed = {0};
        char command[128];
        tamis_allocator allocator = fault_memory_allocator(&memory);
        tamis__unpack_event event = TAMIS__UNPACK_BYTES;
        tamis__unpack *unpack;
        uint64_t total = 0;
        size_t size;
        snprintf(command, sizeof command, "(head -c 16M /dev/zero | %s)", packers[i].command);
        pack(&(packer){packers[i].packing, command, true}, "", 0, &packed);
        const size_t member = packed.size;
        for (uint64_t more = 16; more < mebibytes; more += 16) {
            test_bytes one = {0};
            bytes_add(&one, packed.data, member);
            bytes_add(&packed, one.data, one.size);
            bytes_clear(&one);
        }
        file_write(scratch("bomb"), packed.data, packed.size);
        bytes_clear(&packed);
        int fd = open(scratch("bomb"), O_RDONLY | O_CLOEXEC);
        const tamis__unpack_setup setup = {.fd = fd, .name = "f", .memory = &allocator};
        assert_int_equal(tamis__unpack_create(&unpack, &setup, &err), TAMIS_OK);
        for (; event != TAMIS__UNPACK_END; total += size)
            assert_int_equal(tamis__unpack_next(unpack, true, piece, ROOM, &size, &event, &err), TAMIS_OK);
        tamis__unpack_free(unpack);
        close(fd);
        assert_int_equal(total, mebibytes << 20);
        assert_true(memory.peak_bytes < 16 << 20);
    }
}

static void windows_of_strangers_are_bounded(void **state) {
    test_bytes packed = {0}, got = {0};
    (void)state;
    memory.limit = 0;
    pack(&(packer){TAMIS_PACKING_ZSTD, "(cat | zstd -qc --long=28)", true}, text, sizeof text - 1, &packed);
    packed.data[5] = (28 - 10) << 3;            /* the window, where a short input made it smaller */
    assert_int_equal(packed.data[4] & 0x20, 0); /* there is one */
    assert_int_equal(unpack_all(&packed, &got), TAMIS_E_UNSUPPORTED);
    say("f: its zstd data takes more than 128 MiB of memory to unpack, after 7 records; unpack it "
        "beforehand");
    bytes_clear(&packed);

    /* The dictionary of the first block's LZMA2, and the checksum of the block's head. */
    pack(packer_of(TAMIS_PACKING_XZ), text, sizeof text - 1, &packed);
    unsigned char *head = packed.data + 12;
    const size_t size = (size_t)*head * 4;
    assert_int_equal(head[2], 0x21);
    head[4] = 39; /* 3 GiB */
    uLong sum = crc32(0, head, (uInt)size);
    for (int i = 0; i < 4; i++)
        head[size + (size_t)i] = (unsigned char)(sum >> 8 * i);
    assert_int_equal(unpack_all(&packed, &got), TAMIS_E_UNSUPPORTED);
    say("f: its xz data takes more than 1 GiB of memory to unpack, after 7 records; unpack it beforehand");
    assert_true(memory.peak_bytes < 1 << 20);
    bytes_clear(&packed);
    bytes_clear(&got);
}

/* Nobody would notice a changed content. */
static void a_check_nobody_knows_is_refused(void **state) {
    test_bytes packed = {0};
    (void)state;
    pack(packer_of(TAMIS_PACKING_XZ), text, sizeof text - 1, &packed);
    packed.data[7] = 2; /* of the reserved ones */
    uLong sum = crc32(0, packed.data + 6, 2);
    for (int i = 0; i < 4; i++)
        packed.data[8 + i] = (unsigned char)(sum >> 8 * i);
    refused(&packed, "its check is none that liblzma knows");
    bytes_clear(&packed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packings_have_names),
        cmocka_unit_test(heads_are_told_from_text),
        cmocka_unit_test_setup_teardown(what_was_packed_comes_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(members_are_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pieces_do_not_matter, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_reads_only_when_it_may, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cut_anywhere_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(flipped_anywhere_is_refused_or_the_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_before_damage_comes_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_else_stands_behind_a_member, set_up, tear_down),
        cmocka_unit_test_setup_teardown(padding_is_what_the_packing_allows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(skippable_frames_are_skipped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bombs_take_no_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(windows_of_strangers_are_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_check_nobody_knows_is_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

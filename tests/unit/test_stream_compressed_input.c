/* SPDX-License-Identifier: BSD-2-Clause */

/* Compressed inputs of a run: the records are those of the plain inputs, in whatever pieces they arrive. A
 * damaged input gives the records before the damage, and a message. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "stream/run/runner.h"
#include "support/compressors.h"
#include "support/fault.h"
#include "support/scratch.h"
#include "support/stream_oracle.h"
#include "support/threads.h"
#include "support/tools.h"

enum { INPUTS = 3 };

static tamis_error err;
static tamis_stream_stats stats;
static test_bytes output;

static int make_directory(void **state) {
    (void)state;
    scratch_make();
    return 0;
}

static int remove_directory(void **state) {
    (void)state;
    bytes_clear(&output);
    scratch_remove();
    return 0;
}

static void say(const char *what) {
    if (!strstr(err.text, what))
        fail_msg("\"%s\" does not say \"%s\"", err.text, what);
}

static void compress_bytes(const compressor *with, const void *data, size_t size, test_bytes *to) {
    if (!tamis_compression_is_built(with->compression))
        skip();
    tool_run(with->command, data, size, to);
}

static const char *write_input(const char *name, const test_bytes *bytes) {
    file_write(scratch(name), bytes->data, bytes->size);
    return scratch(name);
}

/* ---- runs ---- */

static bool has_header;

static tamis_status run(const char *const *inputs, size_t count, const tamis__stream_buffer_sizes *tuning) {
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    options.threads = test_threads;
    options.header = has_header;
    options.inputs = inputs;
    options.input_count = count;
    options.output = scratch("once");
    file_write(options.output, "", 0);
    stats = (tamis_stream_stats)TAMIS_STREAM_STATS_INIT;
    err = (tamis_error)TAMIS_ERROR_INIT;
    tamis_dedup *session = session_make(0, TAMIS_ON_FULL_FAIL);
    tamis_status status = tamis__stream_dedup_tuned(session, &options, tuning, &stats, NULL, &err);
    session_drop(session);
    file_read(options.output, &output);
    return status;
}

static tamis_status run_one(const char *input) {
    const tamis__stream_buffer_sizes tuning = TAMIS__STREAM_BUFFER_SIZES_INIT;
    return run(&input, 1, &tuning);
}

static bool output_is(const char *text) {
    return output.size == strlen(text) && memcmp(output.data, text, output.size) == 0;
}

/* Compressed and plain inputs give the same records with all buffer sizes. Counts are of decompressed
 * bytes, except for the number of bytes read from the files. */
static void records_are_those_of_the_plain(void **state) {
    static const char *const texts[INPUTS] = {"one\ntwo\none\n\nthree\ntwo", "", "four\none\nfour\nfive"};
    static const size_t sizes[] = {1, 2, 7, 64, 1 << 18};
    test_bytes plain[INPUTS] = {{0}, {0}, {0}};
    stream_oracle oracle;
    (void)state;
    for (size_t i = 0; i < INPUTS; i++)
        bytes_add(&plain[i], texts[i], strlen(texts[i]));
    oracle_make(&oracle, plain, INPUTS, '\n');
    for (size_t i = 0; i < COMPRESSORS; i++) {
        const char *paths[INPUTS];
        char names[INPUTS][300];
        uint64_t on_disk = 0;
        for (size_t j = 0; j < INPUTS; j++) {
            test_bytes compressed = {0};
            if ((i + j) % INPUTS == 1)
                bytes_add(&compressed, plain[j].data, plain[j].size); /* mixed with plain inputs */
            else
                compress_bytes(&compressors[i], plain[j].data, plain[j].size, &compressed);
            on_disk += compressed.size;
            snprintf(names[j], sizeof names[j], "%s",
                     write_input(j == 0   ? "a"
                                 : j == 1 ? "b"
                                          : "c",
                                 &compressed));
            paths[j] = names[j];
            bytes_clear(&compressed);
        }
        oracle.stats.bytes_read = oracle.stats.bytes_total = on_disk;
        oracle.stats.bytes_out = oracle.unique.size;
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) {
            const tamis__stream_buffer_sizes tuning = {sizes[j], 64, sizes[(i + j) % 5]};
            if (run(paths, INPUTS, &tuning) != TAMIS_OK)
                fail_msg("%s", err.text);
            assert_true(bytes_check(compressors[i].command, &output, &oracle.unique));
            assert_true(stats_check(&stats, &oracle.stats));
        }
    }
    for (size_t i = 0; i < INPUTS; i++)
        bytes_clear(&plain[i]);
    oracle_clear(&oracle);
}

/* The first bytes are like those of a compression format, but not all of them, or the input ends there. */
static void text_that_begins_like_compressed_data_is_text(void **state) {
    static const char *const texts[] = {
        "B",      "BZh",          "BZh9",       "BZh91AY&S", "BZh91AY&S\nx", "\x1f",
        "\x1f\n", "\x28\xb5\x2f", "\x04\x22\n", "\3757zXZ",  "P*M\nP*M\n",   "BZh91\nBZh91\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (size_t size = 1; size < 20; size++) {
            const test_bytes plain = {(unsigned char *)(uintptr_t)texts[i], strlen(texts[i]), 0};
            const char *path = write_input("in", &plain);
            const tamis__stream_buffer_sizes tuning = {size, 64, 3};
            stream_oracle oracle;
            oracle_make(&oracle, &plain, 1, '\n');
            assert_int_equal(run(&path, 1, &tuning), TAMIS_OK);
            assert_true(bytes_check(texts[i], &output, &oracle.unique));
            assert_int_equal(stats.records, oracle.stats.records);
            oracle_clear(&oracle);
        }
    }
}

/* ---- pipes ---- */

typedef struct feeding {
    pthread_t thread;
    int fd;
    const char *path; /* path of a FIFO; NULL: fd is open */
    test_bytes bytes;
} feeding;

static void *feed_bytes(void *context) {
    feeding *f = context;
    if (f->path)
        f->fd = open(f->path, O_WRONLY | O_CLOEXEC);
    for (size_t i = 0; i < f->bytes.size; i++)
        if (write(f->fd, f->bytes.data + i, 1) != 1)
            abort();
    close(f->fd);
    return NULL;
}

static void feed(feeding *f) {
    if (pthread_create(&f->thread, NULL, feed_bytes, f) != 0)
        abort();
}

static void one_byte_at_a_time_is_the_same(void **state) {
    (void)state;
    for (size_t i = 0; i < COMPRESSORS; i++) {
        feeding f = {.fd = -1};
        char name[32];
        int ends[2];
        compress_bytes(&compressors[i], "one\ntwo\n", 8, &f.bytes);
        compress_bytes(&compressors[i], "", 0, &f.bytes);
        compress_bytes(&compressors[i], "one\nthree", 9, &f.bytes);
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        f.fd = ends[1];
        snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
        feed(&f);
        if (run_one(name) != TAMIS_OK)
            fail_msg("%s", err.text);
        pthread_join(f.thread, NULL);
        close(ends[0]);
        assert_true(output_is("one\ntwo\nthree"));
        assert_int_equal(stats.bytes_read, f.bytes.size);
        assert_int_equal(stats.bytes_total, 0);

        f.path = scratch("fifo");
        assert_int_equal(mkfifo(f.path, 0600), 0);
        feed(&f);
        assert_int_equal(run_one(f.path), TAMIS_OK);
        pthread_join(f.thread, NULL);
        unlink(f.path);
        assert_true(output_is("one\ntwo\nthree"));
        bytes_clear(&f.bytes);
    }
}

static void standard_input_is_decompressed(void **state) {
    test_bytes compressed = {0};
    const int before = dup(STDIN_FILENO);
    (void)state;
    compress_bytes(&compressors[0], "one\ntwo\none\n", 12, &compressed);
    const int fd = open(write_input("in", &compressed), O_RDONLY | O_CLOEXEC);
    assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
    tamis_status status = run_one("-");
    dup2(before, STDIN_FILENO);
    close(before);
    close(fd);
    assert_int_equal(status, TAMIS_OK);
    assert_true(output_is("one\ntwo\n"));
    bytes_clear(&compressed);
}

static void *run_between(void *context) {
    const char *const *paths = context;
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    options.threads = test_threads;
    options.inputs = paths;
    options.input_count = 1;
    options.output = paths[1];
    stats = (tamis_stream_stats)TAMIS_STREAM_STATS_INIT;
    tamis_dedup *session = session_make(0, TAMIS_ON_FULL_FAIL);
    (void)tamis_stream_dedup(session, &options, &stats, NULL, &err);
    session_drop(session);
    return NULL;
}

/* A record that its writer has flushed is written, although the member is not finished. */
static void records_leave_as_they_arrive(void **state) {
    unsigned char compressed[256], got[8];
    z_stream stream = {0};
    (void)state;
    int in[2], out[2];
    assert_true(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);

    pthread_t thread;
    char names[2][32];
    static const char *paths[2];
    snprintf(names[0], sizeof names[0], "/dev/fd/%d", in[0]);
    snprintf(names[1], sizeof names[1], "/dev/fd/%d", out[1]);
    paths[0] = names[0];
    paths[1] = names[1];
    assert_int_equal(pthread_create(&thread, NULL, run_between, paths), 0);
    static const char *const records[] = {"one\n", "two\n", "thr\n"};
    for (int i = 0; i < 3; i++) {
        stream.next_in = (unsigned char *)(uintptr_t)records[i];
        stream.avail_in = 4;
        stream.next_out = compressed;
        stream.avail_out = sizeof compressed;
        assert_int_equal(deflate(&stream, i < 2 ? Z_SYNC_FLUSH : Z_FINISH), i < 2 ? Z_OK : Z_STREAM_END);
        const size_t size = sizeof compressed - stream.avail_out;
        assert_int_equal(write(in[1], compressed, size), (ssize_t)size);
        assert_int_equal(read(out[0], got, sizeof got), 4); /* waits as long as needed */
        assert_memory_equal(got, records[i], 4);
    }
    deflateEnd(&stream);
    close(in[1]);
    pthread_join(thread, NULL);
    assert_int_equal(stats.records, 3);
    close(in[0]);
    close(out[0]);
    close(out[1]);
}

/* ---- damaged inputs ---- */

/* In an input that is cut short, the whole records are answered, and a part of one is not. A header is not
 * a record. */
static void cut_anywhere(size_t header) {
    static const char text[] = "1\n22\n333\n4444\n";
    has_header = header > 0;
    for (size_t i = 0; i < COMPRESSORS; i++) {
        test_bytes compressed = {0};
        compress_bytes(&compressors[i], text, sizeof text - 1, &compressed);
        for (size_t size = 10; size < compressed.size; size++) { /* enough to recognise the format */
            const test_bytes cut = {compressed.data, size, 0};
            char said[40];
            assert_int_equal(run_one(write_input("in", &cut)), TAMIS_E_DAMAGED);
            say("/in: cut short, after ");
            snprintf(said, sizeof said, ", after %d record%s: its", (int)stats.records,
                     stats.records == 1 ? "" : "s");
            say(said);
            assert_true(stats.records <= 4 - header && stats.unique == stats.records);
            const uint64_t whole =
                stats.bytes_in > 0 ? stats.records + header : 0; /* with the header's 2 bytes */
            assert_true(stats.bytes_in + (whole > 0 ? 2 * header : 0) == (whole + 1) * (whole + 2) / 2 - 1);
            assert_int_equal(output.size, 0); /* the file is unchanged */
        }
        bytes_clear(&compressed);
    }
    has_header = false;
}

static void cut_anywhere_ends_the_run(void **state) {
    (void)state;
    cut_anywhere(0);
    cut_anywhere(1);
}

static void damage_after_several_files_is_located(void **state) {
    test_bytes good = {0}, bad = {0};
    const tamis__stream_buffer_sizes tuning = TAMIS__STREAM_BUFFER_SIZES_INIT;
    (void)state;
    compress_bytes(&compressors[0], "one\ntwo\n", 8, &good);
    compress_bytes(&compressors[0], "three\nfour\nfi", 13, &bad);
    bad.data[bad.size - 8] ^= 1; /* its checksum */
    char names[2][300];
    snprintf(names[0], sizeof names[0], "%s", write_input("good", &good));
    snprintf(names[1], sizeof names[1], "%s", write_input("bad", &bad));
    const char *const paths[] = {names[0], names[1]};
    assert_int_equal(run(paths, 2, &tuning), TAMIS_E_DAMAGED);
    say("/bad: its gzip data is damaged before byte ");
    say(", after 2 records (incorrect data check); get the file again");
    assert_int_equal(stats.records, 4);
    assert_int_equal(stats.bytes_in, 8 + 11);
    bytes_add(&good, "what", 4);
    write_input("good", &good);
    assert_int_equal(run(paths, 2, &tuning), TAMIS_E_DAMAGED);
    say("/good: unexpected bytes ");
    say(": unexpected bytes after the end of its gzip data, at byte 28, after 2 records");
    bytes_clear(&good);
    bytes_clear(&bad);
}

/* An endless line is reported as too long when the buffer is full, before memory is used up. */
static void a_record_of_a_bomb_is_too_long(void **state) {
    (void)state;
    for (size_t i = 0; i < COMPRESSORS_PLAIN; i++) {
        test_bytes compressed = {0};
        char command[128];
        fault_memory memory = {0};
        tamis_allocator allocator = fault_memory_allocator(&memory);
        tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
        options.threads = test_threads;
        snprintf(command, sizeof command, "(head -c %dM /dev/zero | %s)", (int)test_scale(64, 20, 20),
                 compressors[i].command);
        compress_bytes(&(compressor){compressors[i].compression, command, true}, "", 0, &compressed);
        const char *path = write_input("in", &compressed);
        options.inputs = &path;
        options.input_count = 1;
        options.max_record = 1 << 20;
        options.allocator = &allocator;
        err = (tamis_error)TAMIS_ERROR_INIT;
        tamis_dedup *session = session_make(0, TAMIS_ON_FULL_FAIL);
        assert_int_equal(tamis_stream_dedup(session, &options, NULL, NULL, &err), TAMIS_E_TOO_LONG);
        session_drop(session);
        say("/in: record 1, at byte 0, is longer than 1048576 bytes");
        assert_true(memory.peak_bytes < 16 << 20);
        assert_int_equal(memory.live_blocks, 0);
        bytes_clear(&compressed);
    }
}

static void a_compressed_file_is_not_followed(void **state) {
    test_bytes compressed = {0};
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    options.threads = test_threads;
    (void)state;
    compress_bytes(&compressors[0], "one\ntwo\n", 8, &compressed);
    const char *path = write_input("in", &compressed);
    options.inputs = &path;
    options.input_count = 1;
    options.follow = true;
    err = (tamis_error)TAMIS_ERROR_INIT;
    tamis_dedup *session = session_make(0, TAMIS_ON_FULL_FAIL);
    assert_int_equal(tamis_stream_dedup(session, &options, NULL, NULL, &err), TAMIS_E_UNSUPPORTED);
    session_drop(session);
    say("/in: is compressed with gzip, and a compressed file cannot be followed; ");
    bytes_clear(&compressed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(records_are_those_of_the_plain, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(text_that_begins_like_compressed_data_is_text, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(one_byte_at_a_time_is_the_same, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(standard_input_is_decompressed, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(records_leave_as_they_arrive, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(cut_anywhere_ends_the_run, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(damage_after_several_files_is_located, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(a_record_of_a_bomb_is_too_long, make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(a_compressed_file_is_not_followed, make_directory, remove_directory),
    };
    test_run_with_threads(tests);
}

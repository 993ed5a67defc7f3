/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: long */
/* Compressed outputs: valid files for the programs of the formats, however the run ended, and records that
 * can be decompressed during the run. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system.h"
#include "stream/run/runner.h"
#include "support/decompress.h"
#include "support/fault.h"
#include "support/scratch.h"
#include "support/stream_oracle.h"
#include "support/threads.h"

enum { PATIENCE_MS = 20000 }; /* time-out for an event that must happen, on a busy machine */

static const char *const ends[TAMIS_COMPRESSIONS] = {"", ".gz", ".zst", ".lz4", ".xz", ".bz2"};

#define FOR_EACH(compression)                                                                                \
    for (tamis_compression compression = TAMIS_COMPRESSION_GZIP; compression < TAMIS_COMPRESSIONS;           \
         compression++)                                                                                      \
        if (tamis_compression_is_built(compression))

static size_t descriptors;
static tamis_stream_options options;
static tamis__stream_buffer_sizes tuning;
static tamis_stream_stats stats;
static tamis_error err;
static char in_name[300];
static const char *const in = in_name; /* path of the input: scratch("in") */

static int set_up(void **state) {
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    scratch_make();
    snprintf(in_name, sizeof in_name, "%s", scratch("in"));
    options = (tamis_stream_options)TAMIS_STREAM_OPTIONS_INIT;
    options.threads = test_threads;
    tuning = (tamis__stream_buffer_sizes)TAMIS__STREAM_BUFFER_SIZES_INIT;
    descriptors = fault_open_descriptors();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    int wrong = fault_open_descriptors() != descriptors || scratch_hidden();
    scratch_remove();
    return wrong;
}

static tamis_status run(const char *const *inputs, size_t count) {
    options.inputs = inputs;
    options.input_count = count;
    stats = (tamis_stream_stats)TAMIS_STREAM_STATS_INIT;
    err = (tamis_error)TAMIS_ERROR_INIT;
    tamis_dedup *session = session_make(0, TAMIS_ON_FULL_FAIL);
    tamis_status status = tamis__stream_dedup_tuned(session, &options, &tuning, &stats, NULL, &err);
    session_drop(session);
    return status;
}

/* Returns the path of a name for that compression. Static storage for the last 4 calls. */
static const char *named(const char *name, tamis_compression compression) {
    char whole[64];
    snprintf(whole, sizeof whole, "%s%s", name, ends[compression]);
    return scratch(whole);
}

static void assert_unpacks(tamis_compression compression, const char *path, const test_bytes *expected) {
    test_bytes got = {0};
    bool whole = decompress_file(compression, path, &got);
    if (!whole || !bytes_check(path, &got, expected))
        fail_msg("%s: %s", path, whole ? "unpacks to something else" : "is not whole");
    bytes_clear(&got);
}

static void assert_unpacks_to(tamis_compression compression, const char *path, const char *text) {
    const test_bytes expected = {(unsigned char *)(uintptr_t)text, strlen(text), 0};
    assert_unpacks(compression, path, &expected);
}

/* ---- whole files ---- */

/* Makes records of 350 bytes, mostly random digits. A third are repeated. */
static void make_records(test_bytes *into, uint64_t seed, size_t count) {
    uint64_t state = test_seed(seed);
    for (size_t i = 0; i < count; i++) {
        uint64_t number = test_below(&state, 2 * count), digits = number;
        for (int j = 0; j < 20; j++) {
            char text[32];
            digits = digits * UINT64_C(0x9e3779b97f4a7c15) + 1;
            bytes_add(into, text, (size_t)snprintf(text, sizeof text, "%16llx ", (unsigned long long)digits));
        }
        bytes_add(into, "clicked\n", 8);
    }
}

static void assert_compresses(tamis_compression compression, const stream_oracle *oracle) {
    options.output = named("once", compression);
    options.duplicates = scratch("again");
    options.compression = (int)compression;
    assert_int_equal(run(&in, 1), TAMIS_OK);
    assert_unpacks(compression, options.output, &oracle->unique);
    assert_unpacks(compression, options.duplicates, &oracle->duplicates);
    struct stat st, other;
    assert_int_equal(stat(options.output, &st), 0);
    assert_int_equal(stat(options.duplicates, &other), 0);
    assert_int_equal(stats.bytes_out, st.st_size + other.st_size);
}

static void outputs_decompress_to_the_records(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 7, 4096, 256 << 10}; /* sizes of the write buffer */
    static const size_t counts[] = {100, 100, 100, 2000};  /* the last: more than a block of any format */
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        stream_oracle oracle;
        test_bytes input = {0};
        make_records(&input, 1, test_threads > 1 ? test_scale(counts[i], 100, 100) : counts[i]);
        file_write(in, input.data, input.size);
        oracle_make(&oracle, &input, 1, '\n');
        tuning.write_size = sizes[i];
        FOR_EACH(compression)
        assert_compresses(compression, &oracle);
        oracle_clear(&oracle);
        bytes_clear(&input);
    }
}

static void names_choose_the_compression(void **state) {
    (void)state;
    file_write(in, "a\nb\na\n", 6);
    FOR_EACH(compression) {
        tamis_compression other =
            compression == TAMIS_COMPRESSION_GZIP ? TAMIS_COMPRESSION_NONE : TAMIS_COMPRESSION_GZIP;
        options.output = named("once", compression);
        options.duplicates = named("again", other);
        assert_int_equal(run(&in, 1), TAMIS_OK);
        assert_unpacks_to(compression, options.output, "a\nb\n");
        if (other == TAMIS_COMPRESSION_NONE)
            assert_true(file_is(options.duplicates, "a\n"));
        else
            assert_unpacks_to(other, options.duplicates, "a\n");
        options.compression = TAMIS_COMPRESSION_NONE; /* in spite of the names */
        assert_int_equal(run(&in, 1), TAMIS_OK);
        assert_true(file_is(options.output, "a\nb\n"));
        options.compression = -1;
    }
}

static void no_records_give_an_empty_compressed_file(void **state) {
    (void)state;
    file_write(in, "", 0);
    FOR_EACH(compression) {
        struct stat st;
        options.output = named("once", compression);
        assert_int_equal(run(&in, 1), TAMIS_OK);
        assert_int_equal(stat(options.output, &st), 0);
        assert_true(st.st_size > 0);
        assert_unpacks_to(compression, options.output, "");
    }
}

static void the_same_records_give_the_same_bytes(void **state) {
    (void)state;
    static const unsigned char head[] = {0x1f, 0x8b, 8, 0, 0,
                                         0,    0,    0, 0, 255}; /* gzip header without time and name */
    test_bytes input = {0};
    make_records(&input, 3, test_scale(1000, 400, 400));
    file_write(in, input.data, input.size);
    FOR_EACH(compression) {
        test_bytes first = {0}, other = {0};
        options.compression = (int)compression;
        options.output = scratch("one");
        assert_int_equal(run(&in, 1), TAMIS_OK);
        tuning.read_size = 4096; /* other batches, as with other arrival times */
        options.output = scratch("other");
        assert_int_equal(run(&in, 1), TAMIS_OK);
        file_read(scratch("one"), &first);
        file_read(scratch("other"), &other);
        assert_true(bytes_check("packed", &first, &other));
        if (compression == TAMIS_COMPRESSION_GZIP)
            assert_memory_equal(first.data, head, sizeof head);
        bytes_clear(&first);
        bytes_clear(&other);
    }
    bytes_clear(&input);
}

static void a_terminator_that_is_owed(void **state) {
    (void)state;
    const char *inputs[] = {scratch("one"), scratch("other")};
    file_write(scratch("one"), "a", 1);
    file_write(scratch("other"), "b\na\nc", 5);
    FOR_EACH(compression) {
        options.output = named("once", compression);
        assert_int_equal(run(inputs, 2), TAMIS_OK);
        assert_unpacks_to(compression, options.output, "a\nb\nc");
    }
}

static void levels(void **state) {
    (void)state;
    static const int max[TAMIS_COMPRESSIONS] = {0, 9, 22, 12, 9, 9};
    test_bytes input = {0};
    stream_oracle oracle;
    make_records(&input, 4, test_scale(1000, 400, 400));
    file_write(in, input.data, input.size);
    oracle_make(&oracle, &input, 1, '\n');
    FOR_EACH(compression) {
        uint64_t sizes[2];
        options.output = named("once", compression);
        for (int i = 0; i < 2; i++) {
            const int min = compression == TAMIS_COMPRESSION_XZ ? TAMIS_COMPRESSION_LEVEL_0 : 1;
            options.compression_level = i ? max[compression] : min;
            assert_int_equal(run(&in, 1), TAMIS_OK);
            assert_unpacks(compression, options.output, &oracle.unique);
            sizes[i] = stats.bytes_out;
        }
        if (compression !=
            TAMIS_COMPRESSION_BZIP2) /* its levels are block sizes, all larger than this input */
            assert_true(sizes[1] < sizes[0]);
    }
    oracle_clear(&oracle);
    bytes_clear(&input);
}

/* An output given as a descriptor is appended to. Consecutive members are one valid file. */
static void descriptors_are_added_to(void **state) {
    (void)state;
    file_write(in, "a\nb\na\n", 6);
    FOR_EACH(compression) {
        char name[32];
        int fd = open(scratch("log"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        snprintf(name, sizeof name, "/dev/fd/%d", fd);
        options.output = name;
        options.compression = (int)compression;
        for (int i = 0; i < 2; i++)
            assert_int_equal(run(&in, 1), TAMIS_OK);
        close(fd);
        assert_unpacks_to(compression, scratch("log"), "a\nb\na\nb\n");
    }
}

/* ---- refused options ---- */

static void assert_refused(tamis_status expected, const char *text) {
    assert_int_equal(run(&in, 1), expected);
    if (!strstr(err.text, text))
        fail_msg("\"%s\" does not say \"%s\"", err.text, text);
    assert_int_equal(stats.records, 0);
    assert_int_equal(scratch_entries(), 1);
}

static void unknown_compressions_and_levels_are_refused(void **state) {
    (void)state;
    file_write(in, "a\n", 2);
    options.output = scratch("once");
    options.duplicates = scratch("again.gz");
    options.compression = TAMIS_COMPRESSIONS;
    assert_refused(TAMIS_E_INVALID, "compression: 6 is not valid");
    options.compression = -2;
    assert_refused(TAMIS_E_INVALID, "compression: -2 is not valid");
    options.compression = -1;
    options.compression_level = 10;
    assert_refused(TAMIS_E_RANGE, "gzip: has no level 10; give one from 1 to 9");
    options.compression_level = TAMIS_COMPRESSION_LEVEL_0;
    assert_refused(TAMIS_E_RANGE, "gzip: has no level 0; give one from 1 to 9");
    for (tamis_compression compression = TAMIS_COMPRESSION_GZIP; compression < TAMIS_COMPRESSIONS;
         compression++) {
        options.compression = (int)compression;
        options.compression_level = tamis_compression_is_built(compression) ? -2 : 0;
        if (!tamis_compression_is_built(compression))
            assert_refused(TAMIS_E_UNSUPPORTED, ": this build of tamis cannot write it; take gzip");
        else
            assert_refused(TAMIS_E_RANGE, ": has no level -2; give one from ");
    }
}

static void a_disk_that_is_full(void **state) {
    (void)state;
    file_write(in, "a\nb\na\n", 6);
    file_write(scratch("again"), "old", 3);
    FOR_EACH(compression) {
        options.compression = (int)compression;
        options.output = "/dev/full";
        options.duplicates = scratch("again");
        assert_int_equal(run(&in, 1), TAMIS_E_IO);
        assert_string_equal(err.text,
                            "/dev/full: no space left on device; free space there, or write elsewhere");
        assert_int_equal(stats.bytes_out, 0);
        assert_false(stats.complete);
        assert_true(file_is(scratch("again"), "old"));
    }
}

/* The size limit of a file is reached in the middle of it. */
static void a_file_that_may_not_grow(void **state) {
    (void)state;
    struct rlimit before;
    test_bytes input = {0};
    make_records(&input, 5, 3000);
    file_write(in, input.data, input.size);
    bytes_clear(&input);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    FOR_EACH(compression) {
        file_write(scratch("once"), "old", 3);
        options.compression = (int)compression;
        options.output = scratch("once");
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){100000, before.rlim_max});
        tamis_status status = run(&in, 1);
        setrlimit(RLIMIT_FSIZE, &before);
        assert_int_equal(status, TAMIS_E_IO);
        assert_int_equal(err.sys_errno, EFBIG);
        assert_true(file_is(scratch("once"), "old"));
        assert_null(scratch_hidden());
    }
    signal(SIGXFSZ, SIG_DFL);
}

/* ---- a run in a thread of its own, from pipe to pipe ---- */

typedef struct live {
    pthread_t thread;
    tamis_status status;
    tamis_compression compression;
    const char *inputs[2];
    size_t input_count;
    char names[2][32];
    int in; /* the test's ends of the pipes */
    int out;
    int stop;
    int ends[3];                /* the thread's ends */
    test_bytes got;             /* output received so far */
    char reads[32], writes[32]; /* input and output of a second run, which reads this one's output */
    tamis_status read_status;
} live;

static void *live_main(void *context) {
    live *l = context;
    l->status = run(l->inputs, l->input_count);
    return NULL;
}

static void pipe_or_abort(int *reading, int *writing) {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        abort();
    *reading = fds[0];
    *writing = fds[1];
}

/* Starts a run that reads `input`, or a pipe if that is NULL. `endless`: followed by empty records with
 * terminator 0. */
static void live_start(live *l, tamis_compression compression, const char *input, bool endless) {
    *l = (live){.compression = compression};
    pipe_or_abort(&l->ends[0], &l->in);
    pipe_or_abort(&l->out, &l->ends[1]);
    pipe_or_abort(&l->ends[2], &l->stop);
    fcntl(l->ends[1], F_SETFL, O_NONBLOCK); /* the run then waits in poll, where it sees the stop */
    for (int i = 0; i < 2; i++)
        snprintf(l->names[i], sizeof l->names[i], "/dev/fd/%d", l->ends[i]);
    l->inputs[0] = input ? input : l->names[0];
    l->inputs[1] = "/dev/zero";
    l->input_count = endless ? 2 : 1;
    options.output = l->names[1];
    options.compression = (int)compression;
    options.stop_fd = l->ends[2];
    if (pthread_create(&l->thread, NULL, live_main, l) != 0)
        abort();
}

static void close_end(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void send(int fd, const char *text) {
    if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        abort();
}

/* Receives some of the output. */
static void receive_output(live *l) {
    struct pollfd output = {.fd = l->out, .events = POLLIN};
    unsigned char piece[4096];
    if (poll(&output, 1, PATIENCE_MS) <= 0)
        fail_msg("%s: nothing comes", tamis_compression_name(l->compression));
    ssize_t size = read(l->out, piece, sizeof piece);
    assert_true(size > 0);
    bytes_add(&l->got, piece, (size_t)size);
}

/* Waits until the output received so far decompresses to bytes that begin with `text`; `whole`: that are
 * `text`. */
static void wait_decompressed(live *l, const char *text, bool whole) {
    for (bool there = false; !there;) {
        test_bytes now = {0};
        receive_output(l);
        (void)decompress_bytes(l->compression, &l->got, &now);
        there = now.size >= strlen(text) && memcmp(now.data, text, strlen(text)) == 0;
        assert_true(!there || !whole || now.size == strlen(text));
        bytes_clear(&now);
    }
}

/* Waits for the end of the run, and receives the rest of its output. */
static void live_join(live *l) {
    unsigned char piece[4096];
    ssize_t size;
    pthread_join(l->thread, NULL);
    close_end(&l->ends[1]);
    while ((size = read(l->out, piece, sizeof piece)) > 0)
        bytes_add(&l->got, piece, (size_t)size);
}

static void live_release(live *l) {
    close_end(&l->in);
    close_end(&l->out);
    close_end(&l->stop);
    for (int i = 0; i < 3; i++)
        close_end(&l->ends[i]);
    bytes_clear(&l->got);
}

static void assert_whole(const live *l, const char *text) {
    const test_bytes expected = {(unsigned char *)(uintptr_t)text, strlen(text), 0};
    test_bytes now = {0};
    assert_true(decompress_bytes(l->compression, &l->got, &now));
    assert_true(bytes_check("what was received", &now, &expected));
    bytes_clear(&now);
}

static void a_record_can_be_decompressed_before_the_next_arrives(void **state) {
    (void)state;
    FOR_EACH(compression) {
        live l;
        live_start(&l, compression, NULL, false);
        send(l.in, "first\n");
        wait_decompressed(&l, "first\n", true);
        send(l.in, "first\nsecond\npar");
        wait_decompressed(&l, "first\nsecond\n", true);
        send(l.in, "first\nsecond\n"); /* "parfirst" is one record */
        wait_decompressed(&l, "first\nsecond\nparfirst\n", true);
        close_end(&l.in);
        live_join(&l);
        assert_int_equal(l.status, TAMIS_OK);
        assert_whole(&l, "first\nsecond\nparfirst\n");
        assert_int_equal(stats.bytes_out, l.got.size);
        live_release(&l);
    }
}

static void *read_live(void *context) {
    live *l = context;
    tamis_stream_options reading = TAMIS_STREAM_OPTIONS_INIT;
    reading.threads = test_threads;
    const char *name = l->reads;
    reading.inputs = &name;
    reading.input_count = 1;
    reading.output = l->writes;
    tamis_dedup *session = session_make(0, TAMIS_ON_FULL_FAIL);
    l->read_status = tamis_stream_dedup(session, &reading, NULL, NULL, NULL);
    session_drop(session);
    return NULL;
}

static void assert_receives(int fd, const char *text) {
    char got[64];
    for (size_t size = 0; size < strlen(text);) {
        struct pollfd output = {.fd = fd, .events = POLLIN};
        if (poll(&output, 1, PATIENCE_MS) <= 0)
            fail_msg("\"%s\" does not come", text);
        ssize_t more = read(fd, got + size, strlen(text) - size);
        assert_true(more > 0);
        assert_memory_equal(got + size, text + size, (size_t)more);
        size += (size_t)more;
    }
}

/* One run compresses, another decompresses, record by record. */
static void a_run_behind_a_run(void **state) {
    (void)state;
    FOR_EACH(compression) {
        live l;
        pthread_t reader;
        int end, out;
        live_start(&l, compression, NULL, false);
        pipe_or_abort(&out, &end);
        snprintf(l.reads, sizeof l.reads, "/dev/fd/%d", l.out);
        snprintf(l.writes, sizeof l.writes, "/dev/fd/%d", end);
        assert_int_equal(pthread_create(&reader, NULL, read_live, &l), 0);
        send(l.in, "first\nsec");
        assert_receives(out, "first\n");
        send(l.in, "ond\nfirst\nthird\nla");
        assert_receives(out, "second\nthird\n");
        send(l.in, "st");
        close_end(&l.in);
        pthread_join(l.thread, NULL);
        close_end(&l.ends[1]);
        pthread_join(reader, NULL);
        assert_receives(out, "last");
        assert_int_equal(l.status, TAMIS_OK);
        assert_int_equal(l.read_status, TAMIS_OK);
        close_end(&out);
        close_end(&end);
        live_release(&l);
    }
}

/* The run is never idle, so it does not flush. */
static void a_record_among_endless_others(void **state) {
    (void)state;
    live l;
    options.terminator = 0;
    file_write(in, "fresh", 5);
    live_start(&l, TAMIS_COMPRESSION_GZIP, in, true);
    wait_decompressed(&l, "fresh", false);
    send(l.stop, "!");
    live_join(&l);
    assert_int_equal(l.status, TAMIS_E_INTERRUPTED);
    assert_true(stats.complete);
    test_bytes now = {0};
    assert_true(decompress_bytes(l.compression, &l.got, &now));
    assert_int_equal(now.size, 7);
    assert_memory_equal(now.data, "fresh\0", 7);
    bytes_clear(&now);
    live_release(&l);
}

/* As long as there is input, an output to a pipe is compressed as well as one to a file. */
static void work_is_not_flushed_all_the_time(void **state) {
    (void)state;
    if (!tamis_compression_is_built(TAMIS_COMPRESSION_BZIP2)) /* the format in which flushes can be counted */
        skip();
    test_bytes input = {0}, got = {0};
    for (uint64_t i = 0; i < test_scale(1000000, 200000, 200000); i++)
        bytes_add(&input, "a\n", 2);
    file_write(in, input.data, input.size);
    bytes_clear(&input);
    int fd = open(scratch("log"), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    char name[32];
    snprintf(name, sizeof name, "/dev/fd/%d", fd);
    options.duplicates = name;
    options.compression = TAMIS_COMPRESSION_BZIP2;
    tuning.write_size = 1;
    uint64_t begin = tamis__now_ns();
    assert_int_equal(run(&in, 1), TAMIS_OK);
    uint64_t seconds = (tamis__now_ns() - begin) / 1000000000;
    close(fd);
    file_read(scratch("log"), &got);
    size_t members = 0;
    for (size_t i = 0; i + 4 <= got.size; i++)
        members += memcmp(got.data + i, "BZh9", 4) == 0;
    assert_in_range(members, 1, seconds + 1);
    bytes_clear(&got);
}

/* ---- runs that end early ---- */

static void a_run_that_is_stopped(void **state) {
    (void)state;
    options.durable = true;
    FOR_EACH(compression) {
        live l;
        live_start(&l, compression, NULL, false);
        send(l.in, "a\nb\na\npart");
        wait_decompressed(&l, "a\nb\n", true);
        send(l.stop, "!");
        if (compression !=
            TAMIS_COMPRESSION_BZIP2) /* whose end is out: settled takes a reader that has taken all */
            receive_output(&l);
        live_join(&l);
        assert_int_equal(l.status, TAMIS_E_INTERRUPTED);
        assert_int_equal(stats.records, 3);
        assert_whole(&l, "a\nb\n");
        assert_true(stats.complete);
        live_release(&l);
    }
}

static void a_run_that_fails(void **state) {
    (void)state;
    file_write(in, "a\nb\na\ntoo long\n", 15);
    options.max_record = 3;
    tuning.batch_size = 1;
    FOR_EACH(compression) {
        live l;
        live_start(&l, compression, in, false);
        live_join(&l);
        assert_int_equal(l.status, TAMIS_E_TOO_LONG);
        assert_whole(&l, "a\nb\n");
        live_release(&l);
    }
}

/* The pipe is full and has no active reader. Its content is not a valid file, and the run reports that. */
static void a_stop_while_the_reader_sleeps(void **state) {
    (void)state;
    test_bytes input = {0};
    make_records(&input, 6, 10000);
    file_write(in, input.data, input.size);
    bytes_clear(&input);
    FOR_EACH(compression) {
        live l;
        options.durable = false;
        live_start(&l, compression, in, false);
        struct pollfd arrived = {.fd = l.out, .events = POLLIN};
        assert_int_equal(poll(&arrived, 1, PATIENCE_MS), 1);
        send(l.stop, "!");
        pthread_join(l.thread, NULL);
        assert_int_equal(l.status, TAMIS_E_INTERRUPTED);
        assert_non_null(strstr(err.text, "its reader takes nothing: the last records are not out"));
        assert_false(stats.complete);
        live_release(&l);
        if (test_scale(0, 1, 1)) /* each takes the time that a reader is given */
            break;
    }
}

static void the_reader_has_gone(void **state) {
    (void)state;
    FOR_EACH(compression) {
        live l;
        options.duplicates = scratch("again.gz");
        live_start(&l, compression, NULL, false);
        close_end(&l.out);
        send(l.in, "a\na\n");
        pthread_join(l.thread, NULL);
        assert_int_equal(l.status, TAMIS_E_PIPE);
        assert_int_equal(scratch_entries(), 0);
        live_release(&l);
    }
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(outputs_decompress_to_the_records),
        CASE(names_choose_the_compression),
        CASE(no_records_give_an_empty_compressed_file),
        CASE(the_same_records_give_the_same_bytes),
        CASE(a_terminator_that_is_owed),
        CASE(levels),
        CASE(descriptors_are_added_to),
        CASE(unknown_compressions_and_levels_are_refused),
        CASE(a_disk_that_is_full),
        CASE(a_file_that_may_not_grow),
        CASE(a_record_can_be_decompressed_before_the_next_arrives),
        CASE(a_run_behind_a_run),
        CASE(a_record_among_endless_others),
        CASE(work_is_not_flushed_all_the_time),
        CASE(a_run_that_is_stopped),
        CASE(a_run_that_fails),
        CASE(a_stop_while_the_reader_sleeps),
        CASE(the_reader_has_gone),
    };
    test_run_with_threads(tests);
}

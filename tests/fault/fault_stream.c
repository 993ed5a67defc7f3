/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A run in which every system call and every allocation fails once, for every n and in several ways. Either
 * the run gives exactly the right outputs, or it fails with a message that names a file, and the old files
 * are unchanged. In both cases nothing is left: no temporary file, no descriptor, no memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "stream/run/runner.h"
#include "support/decompress.h"
#include "support/fault.h"
#include "support/scratch.h"
#include "support/stream_oracle.h"
#include "support/tools.h"

enum { INPUTS = 3 };

typedef struct scenario {
    const char *name;
    bool replaces;          /* true if both outputs exist already */
    bool pipe_input;        /* true if the second input is a pipe */
    bool pipe_output;       /* true if the duplicates go to a pipe */
    bool compressed_inputs; /* true if the first and the last input are compressed */
    bool long_records;
    bool durable;
    bool own_memory;               /* true for the test's allocator, false for the default one */
    tamis_compression compression; /* compression of both outputs */
    tamis__stream_buffer_sizes tuning;
} scenario;

/* Result of one run. */
typedef struct outcome {
    tamis_status status;
    tamis_stream_stats stats;
    tamis_error err;
    test_bytes unique;
    test_bytes duplicates;
} outcome;

static test_bytes inputs[INPUTS];
static stream_oracle oracle;
static fault_memory memory;
static size_t descriptors;
static const char *names[INPUTS];
static char name_texts[INPUTS][300];
static char output[300];
static char duplicates[300];

static const char OLD_OUTPUT[] = "old output\n";
static const char OLD_DUPLICATES[] = "old duplicates\n";

/* ---- before and after ---- */

static void make_inputs(const scenario *s) {
    static const char *const texts[INPUTS] = {"one\ntwo\none\n\nthree\ntwo", "four\nfour\none\n\nfive",
                                              "six\nfive\nseven\nseven\nsix"};
    uint64_t on_disk = 0;
    for (int i = 0; i < INPUTS; i++) {
        bytes_add(&inputs[i], texts[i], strlen(texts[i]));
        for (int j = 0; s->long_records && j < 100; j++)
            bytes_add(&inputs[i], "0123456789", 10);
        snprintf(name_texts[i], sizeof name_texts[i], "%s%d", scratch("in"), i);
        test_bytes compressed = {0};
        if (s->compressed_inputs && i != 1)
            tool_run(i == 0 ? "gzip -c" : "bzip2 -c", inputs[i].data, inputs[i].size, &compressed);
        else
            bytes_add(&compressed, inputs[i].data, inputs[i].size);
        file_write(name_texts[i], compressed.data, compressed.size);
        on_disk += compressed.size;
        bytes_clear(&compressed);
        names[i] = name_texts[i];
    }
    snprintf(output, sizeof output, "%s", scratch("once"));
    snprintf(duplicates, sizeof duplicates, "%s", scratch("again"));
    oracle_make(&oracle, inputs, INPUTS, '\n');
    oracle.stats.bytes_read = on_disk;
    oracle.stats.bytes_total = s->pipe_input ? 0 : on_disk;
}

static void drop_inputs(void) {
    for (int i = 0; i < INPUTS; i++)
        bytes_clear(&inputs[i]);
    oracle_clear(&oracle);
}

static void make_old_files(const scenario *s) {
    unlink(scratch("once"));
    unlink(scratch("again"));
    if (!s->replaces)
        return;
    file_write(scratch("once"), OLD_OUTPUT, strlen(OLD_OUTPUT));
    file_write(scratch("again"), OLD_DUPLICATES, strlen(OLD_DUPLICATES));
    chmod(scratch("once"), 0640);
    if (geteuid() == 0 && (chown(scratch("again"), 12, 34) < 0 || chmod(scratch("again"), 0660) < 0))
        abort(); /* another owner and mode, which the run has to keep */
}

/* Returns the read end of a pipe that has `content` and then ends. The caller closes it. */
static int filled_pipe(const test_bytes *content) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0 || write(ends[1], content->data, content->size) != (ssize_t)content->size)
        abort();
    close(ends[1]);
    return ends[0];
}

static void drain(int fd, test_bytes *into) {
    unsigned char buffer[4096];
    ssize_t size;
    while ((size = read(fd, buffer, sizeof buffer)) > 0)
        bytes_add(into, buffer, (size_t)size);
}

/* Makes one run with the armed failure. Only the run's own calls can fail. */
static outcome run(const scenario *s) {
    outcome o = {.stats = TAMIS_STREAM_STATS_INIT, .err = TAMIS_ERROR_INIT};
    char input_name[32];
    char output_name[32];
    int stop[2];
    int in = s->pipe_input ? filled_pipe(&inputs[1]) : -1;
    int out[2] = {-1, -1};
    if (pipe2(stop, O_CLOEXEC) < 0 || (s->pipe_output && pipe2(out, O_CLOEXEC) < 0))
        abort();
    snprintf(input_name, sizeof input_name, "/dev/fd/%d", in);
    snprintf(output_name, sizeof output_name, "/dev/fd/%d", out[1]);
    names[1] = s->pipe_input ? input_name : name_texts[1];
    tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    options.inputs = names;
    options.input_count = INPUTS;
    options.output = output;
    options.duplicates = s->pipe_output ? output_name : duplicates;
    options.stop_fd = stop[0];
    options.durable = s->durable;
    options.compression = (int)s->compression;
    options.compression_level = s->compression ? 1 : 0;
    options.allocator = s->own_memory ? &allocator : NULL;
    tamis_dedup *session = session_make(0, TAMIS_ON_FULL_FAIL);
    fault_install();
    o.status = tamis__stream_dedup_tuned(session, &options, &s->tuning, &o.stats, NULL, &o.err);
    fault_remove();
    session_drop(session);
    if (s->pipe_input)
        close(in);
    if (s->pipe_output) {
        close(out[1]);
        drain(out[0], &o.duplicates);
        close(out[0]);
    }
    close(stop[0]);
    close(stop[1]);
    if (file_exists(output))
        file_read(output, &o.unique);
    if (!s->pipe_output && file_exists(duplicates) && strcmp(duplicates, "/dev/full") != 0)
        file_read(duplicates, &o.duplicates);
    return o;
}

static void drop_outcome(outcome *o) {
    bytes_clear(&o->unique);
    bytes_clear(&o->duplicates);
}

/* ---- checks of a result ---- */

static bool right_result(const scenario *s, const outcome *o) {
    (void)s;
    return bytes_check("output", &o->unique, &oracle.unique) &&
           bytes_check("duplicates", &o->duplicates, &oracle.duplicates) &&
           stats_check(&o->stats, &oracle.stats);
}

static bool old_files_stand(const scenario *s) {
    struct stat st;
    if (!s->replaces)
        return !file_exists(output) && !file_exists(duplicates);
    return file_is(output, OLD_OUTPUT) && file_is(duplicates, OLD_DUPLICATES) && stat(output, &st) == 0 &&
           (st.st_mode & 07777) == 0640;
}

static bool stats_consistent(const tamis_stream_stats *stats) {
    return stats->records == stats->unique + stats->duplicates + stats->unknown &&
           stats->records <= oracle.stats.records && stats->bytes_in <= oracle.stats.bytes_in &&
           stats->bytes_out <= oracle.stats.bytes_out && stats->unique <= oracle.stats.unique;
}

/* True if the pipe has received a prefix of the right bytes. */
static bool pipe_has_prefix(const scenario *s, const outcome *o) {
    return !s->pipe_output || (o->duplicates.size <= oracle.duplicates.size &&
                               (o->duplicates.size == 0 ||
                                memcmp(o->duplicates.data, oracle.duplicates.data, o->duplicates.size) == 0));
}

static bool names_a_file(const tamis_error *err) {
    return err->status == TAMIS_E_NOMEM || strstr(err->text, "/tamis-test-") || strstr(err->text, "/dev/fd/");
}

static bool right_failure(const scenario *s, const outcome *o) {
    return o->err.status == o->status && names_a_file(&o->err) && stats_consistent(&o->stats) &&
           pipe_has_prefix(s, o) && old_files_stand(s);
}

static bool nothing_left(void) {
    const char *left = scratch_hidden();
    if (left)
        fprintf(stderr, "left: %s\n", left);
    return !left && memory.live_blocks == 0 && fault_open_descriptors() == descriptors;
}

/* ---- each call, each way, each n ---- */

typedef struct way {
    int error_number;
    bool onwards;
} way;

static bool must_succeed(fault_call call, const way *w) {
    bool moves = call == FAULT_READ || call == FAULT_WRITE;
    if (call == FAULT_UNMAP || call == FAULT_SWAP_NAMES)
        return true;
    if (moves && (w->error_number == FAULT_SHORT || w->error_number == EAGAIN))
        return true;
    return w->error_number == EINTR && (moves || call == FAULT_POLL || call == FAULT_SYNC);
}

/* False for errors that the code does not take for a failure, or that would make a run wait forever. */
static bool makes_sense(fault_call call, const way *w) {
    bool moves = call == FAULT_READ || call == FAULT_WRITE;
    if (w->error_number == FAULT_SHORT || w->error_number == EAGAIN)
        return moves && !(w->onwards && w->error_number == EAGAIN);
    return !(w->onwards && w->error_number == EINTR);
}

/* True for failures that come too late to be undone: the old version of the first file stays, and the
 * message names it; or a directory is not synced. */
static bool late_failure(fault_call call, const scenario *s, const outcome *o) {
    return (call == FAULT_UNLINK || call == FAULT_SYNC) && o->status == TAMIS_E_IO &&
           strstr(o->err.text, "is written, but") && right_result(s, o);
}

static bool one_fault(const scenario *s, fault_call call, const way *w, uint64_t n) {
    make_old_files(s);
    fault_arm(call, n, w->error_number, w->onwards);
    outcome o = run(s);
    uint64_t fired = fault_fired();
    fault_disarm();
    bool good;
    if (late_failure(call, s, &o)) {
        const char *stays = scratch_hidden();
        good = (stays != NULL) == (call == FAULT_UNLINK);
        if (stays)
            unlink(scratch(stays));
    } else if (o.status == TAMIS_OK) {
        good = right_result(s, &o);
    } else {
        good = fired > 0 && !must_succeed(call, w) && right_failure(s, &o);
    }
    good = nothing_left() && good && o.stats.complete == (o.status == TAMIS_OK);
    if (!good)
        fprintf(stderr, "%s: %s number %" PRIu64 "%s failed with %d: status %d \"%s\"\n", s->name,
                fault_call_name(call), n, w->onwards ? " and all after it" : "", w->error_number, o.status,
                o.err.text);
    drop_outcome(&o);
    assert_true(good);
    return fired > 0;
}

static void every_call(const scenario *s) {
    static const way ways[] = {
        {EIO, false},        {EINTR, false},  {FAULT_SHORT, false}, {ENOSPC, true},
        {FAULT_SHORT, true}, {EAGAIN, false}, {EIO, true},          {ENOSPC, false},
        {ENOMEM, false},     {EPIPE, false},  {EACCES, false},      {EMFILE, true},
    };
    size_t way_count = (size_t)test_scale(sizeof ways / sizeof *ways, 6, 4);
    for (fault_call call = 0; call < FAULT_CALL_COUNT; call++) {
        uint64_t max = 0;
        for (size_t i = 0; i < way_count; i++) {
            uint64_t n = 1;
            if (!makes_sense(call, &ways[i]))
                continue;
            while (one_fault(s, call, &ways[i], n))
                n += test_scale(1, 3, 3);
            max = n - 1 > max ? n - 1 : max;
        }
        printf("%s: %s, %" PRIu64 " times\n", s->name, fault_call_name(call), max);
    }
}

static void every_allocation(const scenario *s) {
    for (int onwards = 0; onwards < 2; onwards++) {
        bool refused = true;
        for (uint64_t n = 1; refused; n += test_scale(1, 3, 3)) {
            make_old_files(s);
            memset(&memory, 0, sizeof memory);
            memory.fail_at = n;
            memory.onwards = onwards;
            fault_arm(FAULT_READ, 0, 0, false);
            outcome o = run(s);
            refused = memory.refused > 0;
            bool good = refused ? o.status == TAMIS_E_NOMEM && right_failure(s, &o)
                                : o.status == TAMIS_OK && right_result(s, &o);
            if (!good)
                fprintf(stderr, "%s: allocation %" PRIu64 ": status %d \"%s\"\n", s->name, n, o.status,
                        o.err.text);
            drop_outcome(&o);
            assert_true(good);
            assert_true(nothing_left());
        }
    }
    memset(&memory, 0, sizeof memory);
}

/* Replaces the expected bytes by the compressed ones of a run without failures, after checking that these
 * decompress to them. */
static void expect_compressed(const scenario *s) {
    make_old_files(s);
    outcome o = run(s);
    const test_bytes *const got[] = {&o.unique, &o.duplicates};
    test_bytes *const expected[] = {&oracle.unique, &oracle.duplicates};
    assert_int_equal(o.status, TAMIS_OK);
    for (int i = 0; i < 2; i++) {
        test_bytes plain = {0};
        assert_true(decompress_bytes(s->compression, got[i], &plain));
        assert_true(bytes_check("unpacked", &plain, expected[i]));
        bytes_clear(&plain);
        bytes_clear(expected[i]);
        *expected[i] = *got[i];
    }
    oracle.stats.bytes_out = oracle.unique.size + oracle.duplicates.size;
}

static void scenario_run(const scenario *s) {
    memset(&memory, 0, sizeof memory);
    make_inputs(s);
    if (s->compression)
        expect_compressed(s);
    descriptors = fault_open_descriptors();
    every_call(s);
    if (s->own_memory)
        every_allocation(s);
    drop_inputs();
}

/* ---- scenarios ---- */

static int set_up(void **state) {
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    scratch_make();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    fault_remove();
    scratch_remove();
    return 0;
}

static void files_replaced(void **state) {
    (void)state;
    scenario s = {.name = "files replaced", .replaces = true, .own_memory = true, .tuning = {7, 5, 2}};
    scenario_run(&s);
}

static void files_made(void **state) {
    (void)state;
    scenario s = {.name = "files made", .own_memory = true, .tuning = {5, 9, 3}};
    scenario_run(&s);
}

static void durable_files_replaced(void **state) {
    (void)state;
    scenario s = {.name = "durable files replaced",
                  .replaces = true,
                  .durable = true,
                  .own_memory = true,
                  .tuning = {7, 5, 2}};
    scenario_run(&s);
}

static void durable_files_made(void **state) {
    (void)state;
    scenario s = {.name = "durable files made", .durable = true, .own_memory = true, .tuning = {5, 9, 3}};
    scenario_run(&s);
}

static void pipes(void **state) {
    (void)state;
    scenario s = {
        .name = "pipes", .pipe_input = true, .pipe_output = true, .own_memory = true, .tuning = {6, 7, 2}};
    scenario_run(&s);
}

static void compressed_inputs(void **state) {
    (void)state;
    if (!tamis_compression_is_built(TAMIS_COMPRESSION_BZIP2))
        skip();
    scenario s = {.name = "packed inputs",
                  .replaces = true,
                  .compressed_inputs = true,
                  .own_memory = true,
                  .tuning = {7, 5, 2}};
    scenario_run(&s);
}

static void long_records(void **state) {
    (void)state;
    scenario s = {.name = "long records",
                  .replaces = true,
                  .long_records = true,
                  .own_memory = true,
                  .tuning = {16, 600, 8}};
    scenario_run(&s);
}

/* Nothing is flushed in between, so the bytes depend on the records alone. */
static void compressed_files(void **state) {
    (void)state;
    for (tamis_compression compression = TAMIS_COMPRESSION_GZIP; compression < TAMIS_COMPRESSIONS;
         compression++) {
        if (!tamis_compression_is_built(compression))
            continue;
        scenario s = {.name = tamis_compression_name(compression),
                      .replaces = true,
                      .own_memory = true,
                      .compression = compression,
                      .tuning = {7, 5, 2}};
        scenario_run(&s);
    }
}

static void shipped_sizes(void **state) {
    (void)state;
    scenario s = {.name = "shipped sizes",
                  .replaces = true,
                  .pipe_input = true,
                  .tuning = TAMIS__STREAM_BUFFER_SIZES_INIT};
    scenario_run(&s);
}

static void through_a_symlink(void **state) {
    (void)state;
    scenario s = {.name = "through a link", .replaces = true, .own_memory = true, .tuning = {64, 64, 8}};
    assert_int_equal(symlink("once", scratch("link")), 0);
    memset(&memory, 0, sizeof memory);
    make_inputs(&s);
    snprintf(output, sizeof output, "%s", scratch("link"));
    descriptors = fault_open_descriptors();
    every_call(&s);
    drop_inputs();
}

/* ---- two failures at once ---- */

/* A failed run that cannot remove its temporary file says so. */
static void the_temporary_file_cannot_be_removed(void **state) {
    (void)state;
    scenario s = {.name = "left aside", .replaces = true, .own_memory = true, .tuning = {64, 64, 8}};
    make_inputs(&s);
    snprintf(duplicates, sizeof duplicates, "/dev/full");
    make_old_files(&s);
    fault_arm(FAULT_UNLINK, 1, EPERM, false);
    outcome o = run(&s);
    fault_disarm();
    assert_int_equal(o.status, TAMIS_E_IO);
    assert_non_null(strstr(o.err.text, "/dev/full: no space left on device"));
    const char *advice = strstr(o.err.text, "; remove /");
    assert_non_null(advice);
    assert_non_null(strstr(advice, "/tamis-test-"));
    assert_non_null(scratch_hidden());
    assert_true(file_is(output, OLD_OUTPUT));
    drop_outcome(&o);
    drop_inputs();
}

/* Some file systems have one owner and one mode for all files, and refuse every change of them. */
static void permissions_cannot_be_set(void **state) {
    (void)state;
    scenario s = {.name = "permissions", .replaces = true, .own_memory = true, .tuning = {64, 64, 8}};
    make_inputs(&s);
    make_old_files(&s);
    chmod(output, 0600); /* the mode with which a temporary file is created */
    chmod(duplicates, 0600);
    fault_arm(FAULT_FCHMOD, 1, EPERM, true);
    outcome o = run(&s);
    assert_int_equal(fault_fired(), 2);
    fault_disarm();
    assert_int_equal(o.status, TAMIS_OK);
    assert_true(right_result(&s, &o));
    drop_outcome(&o);
    drop_inputs();
}

/* The last two closes are those of the temporary files. An error may mean that a write was lost. */
static void a_failed_close_is_a_failure(void **state) {
    (void)state;
    scenario s = {.name = "close", .replaces = true, .own_memory = true, .tuning = {64, 64, 8}};
    make_inputs(&s);
    make_old_files(&s);
    fault_arm(FAULT_CLOSE, 0, 0, false);
    outcome o = run(&s);
    uint64_t closes = fault_calls(FAULT_CLOSE);
    drop_outcome(&o);
    for (uint64_t n = closes - 1; n <= closes; n++) {
        make_old_files(&s);
        fault_arm(FAULT_CLOSE, n, EDQUOT, false);
        o = run(&s);
        assert_int_equal(fault_fired(), 1);
        assert_int_equal(o.status, TAMIS_E_IO);
        assert_non_null(strstr(o.err.text, n < closes ? "/once: " : "/again: "));
        assert_true(right_failure(&s, &o));
        assert_null(scratch_hidden());
        drop_outcome(&o);
    }
    fault_disarm();
    drop_inputs();
}

/* The run tries other names if one is in use, but not forever. */
static void names_of_temporary_files_are_in_use(void **state) {
    (void)state;
    scenario s = {.name = "names taken", .own_memory = true, .tuning = {64, 64, 8}};
    make_inputs(&s);
    make_old_files(&s);
    fault_arm(FAULT_OPEN, INPUTS + 1, EEXIST, false); /* after opening the inputs */
    outcome o = run(&s);
    assert_int_equal(fault_fired(), 1);
    assert_int_equal(o.status, TAMIS_OK);
    assert_true(right_result(&s, &o));
    drop_outcome(&o);
    make_old_files(&s);
    fault_arm(FAULT_OPEN, INPUTS + 1, EEXIST, true);
    o = run(&s);
    fault_disarm();
    assert_int_equal(o.status, TAMIS_E_IO);
    assert_non_null(strstr(o.err.text, "cannot create a file beside it: file exists"));
    assert_true(old_files_stand(&s));
    drop_outcome(&o);
    drop_inputs();
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(files_replaced),
        CASE(files_made),
        CASE(durable_files_replaced),
        CASE(durable_files_made),
        CASE(pipes),
        CASE(long_records),
        CASE(compressed_files),
        CASE(compressed_inputs),
        CASE(shipped_sizes),
        CASE(through_a_symlink),
        CASE(the_temporary_file_cannot_be_removed),
        CASE(permissions_cannot_be_set),
        CASE(a_failed_close_is_a_failure),
        CASE(names_of_temporary_files_are_in_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

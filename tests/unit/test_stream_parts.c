/* SPDX-License-Identifier: BSD-2-Clause */
/* Batches that are queried in parts and not answered completely: by services that count wrong, and by
 * filters that fail. */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Internal headers, for the shape of lines. */
#include "plan/plan_int.h"
#include "stream/run/runner.h"
#include "support/fault.h"
#include "support/scratch.h"
#include "support/stream_oracle.h"

/* ---- services that count wrong ---- */

enum { ALL = 3000, MAX = 8192, ONE_MORE = 1000 };

/* A service that answers TAMIS_ABSENT to every key, and reports wrong counts as set by the test. */
typedef struct liar {
    uint32_t parts; /* number of parts; ONE_MORE: one more than allowed */
    uint32_t wrong; /* part that reports `done` and `status` */
    size_t done;
    tamis_status status;
    /* ---- */
    uint32_t max;    /* argument of parts(); 0: not called */
    size_t complete; /* number of calls; the last one is in the fields below */
    size_t finished_done;
    tamis_status finished_status;
} liar;

static tamis_status lie(const liar *l, size_t *done, tamis_error *err) {
    *done = l->done;
    if (l->status != TAMIS_OK)
        snprintf(err->text, sizeof err->text, "service: is tired; let it rest");
    return l->status;
}

static tamis_status answer_batch(void *context, const tamis_stream_batch *batch, size_t *done,
                                 tamis_error *err) {
    memset(batch->answers, TAMIS_ABSENT, batch->count);
    return lie(context, done, err);
}

static uint32_t divide(void *context, size_t count, uint32_t max) {
    liar *l = context;
    (void)count;
    l->max = max;
    return l->parts == ONE_MORE ? max + 1 : l->parts;
}

static tamis_status answer_part(void *context, const tamis_stream_batch *batch, uint32_t part, size_t *done,
                                tamis_error *err) {
    const liar *l = context;
    for (size_t i = part; i < batch->count; i += batch->parts)
        batch->answers[i] = TAMIS_ABSENT;
    if (part == l->wrong)
        return lie(l, done, err);
    *done = batch->count;
    return TAMIS_OK;
}

static void note_finished(void *context, const tamis_stream_batch *batch, size_t done, tamis_status status,
                          tamis_error *err) {
    liar *l = context;
    (void)batch;
    (void)err;
    l->complete++;
    l->finished_done = done;
    l->finished_status = status;
}

typedef enum query_mode { BY_KEYS, BY_HASHES, IN_PARTS } query_mode;

/* Runs with all records, at most MOST, in one batch. */
static tamis_status believe_of(size_t records, liar *l, query_mode how, uint32_t threads,
                               tamis_stream_stats *stats, tamis_error *err) {
    const char *const path = scratch("in");
    char input[2 * MAX];
    tamis_hasher *hasher = NULL;
    tamis_stream_service service = TAMIS_STREAM_SERVICE_INIT;
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    for (size_t i = 0; i < records; i++)
        memcpy(input + 2 * i, "x\n", 2);
    file_write(path, input, 2 * records);
    assert_int_equal(tamis_hasher_create(&hasher, NULL, NULL), TAMIS_OK);
    service.context = l;
    service.query = answer_batch;
    if (how != BY_KEYS)
        service.hasher = hasher;
    if (how == IN_PARTS) {
        service.parts = divide;
        service.query_part = answer_part;
        service.finish_parts = note_finished;
    }
    options.inputs = &path;
    options.input_count = 1;
    options.threads = threads;
    *stats = (tamis_stream_stats)TAMIS_STREAM_STATS_INIT;
    *err = (tamis_error)TAMIS_ERROR_INIT;
    const tamis_status status = tamis_stream_run(&service, &options, stats, NULL, err);
    tamis_hasher_free(hasher);
    assert_false(stats->complete && status != TAMIS_OK);
    return status;
}

static tamis_status believe(liar *l, query_mode how, uint32_t threads, tamis_stream_stats *stats,
                            tamis_error *err) {
    return believe_of(ALL, l, how, threads, stats, err);
}

/* Reported counts, and the expected result. */
typedef struct tale {
    size_t done;
    tamis_status status;
    size_t records;
    tamis_status expected_status;
    const char *message;
} tale;

#define MISCOUNTED(n)                                                                                        \
    "stream: the service says that " n " keys of 3000 are answered; have it answer all, or fail"

static const tale tales[] = {
    {ALL, TAMIS_OK, ALL, TAMIS_OK, ""},
    {ALL + 1, TAMIS_OK, 0, TAMIS_E_INVALID, MISCOUNTED("3001")},
    {ALL - 1, TAMIS_OK, ALL - 1, TAMIS_E_INVALID, MISCOUNTED("2999")},
    {0, TAMIS_OK, 0, TAMIS_E_INVALID, MISCOUNTED("0")},
    {ALL + 1, TAMIS_E_IO, 0, TAMIS_E_IO, "service: is tired; let it rest"},
    {7, TAMIS_E_IO, 7, TAMIS_E_IO, "service: is tired; let it rest"},
    {ALL, TAMIS_E_IO, ALL, TAMIS_E_IO, "service: is tired; let it rest"},
};
enum { TALES = sizeof tales / sizeof *tales };

static void a_batch_is_answered_or_it_fails(void **state) {
    (void)state;
    tamis_stream_stats stats;
    tamis_error err;
    for (size_t i = 0; i < TALES; i++)
        for (int how = BY_KEYS; how <= BY_HASHES; how++)
            for (uint32_t threads = 1; threads < 8; threads += 3) {
                liar l = {.done = tales[i].done, .status = tales[i].status};
                assert_int_equal(believe(&l, (query_mode)how, threads, &stats, &err),
                                 tales[i].expected_status);
                assert_string_equal(err.text, tales[i].message);
                assert_int_equal(stats.records, tales[i].records);
            }
}

/* In any part. */
static void a_part_is_refused_too(void **state) {
    (void)state;
    tamis_stream_stats stats;
    tamis_error err;
    for (size_t i = 0; i < TALES; i++)
        for (uint32_t wrong = 0; wrong < 4; wrong++)
            for (uint32_t threads = 2; threads < 8; threads += 2) {
                liar l = {4, wrong, tales[i].done, tales[i].status, 0, 0, 0, TAMIS_OK};
                assert_int_equal(believe(&l, IN_PARTS, threads, &stats, &err), tales[i].expected_status);
                assert_string_equal(err.text, tales[i].message);
                assert_int_equal(stats.records, tales[i].records);
                assert_int_equal(l.complete, 1);
                assert_int_equal(l.finished_done, tales[i].records);
                assert_int_equal(l.finished_status, tales[i].expected_status);
            }
}

static void a_batch_has_as_many_parts_as_there_may_be(void **state) {
    (void)state;
    static const uint32_t wrong[] = {0, ONE_MORE};
    tamis_stream_stats stats;
    tamis_error err;
    for (size_t i = 0; i < 2; i++)
        for (uint32_t threads = 2; threads < 8; threads++) {
            liar l = {.parts = wrong[i], .done = ALL};
            char plan_options[200];
            assert_int_equal(believe(&l, IN_PARTS, threads, &stats, &err), TAMIS_E_INVALID);
            snprintf(plan_options, sizeof plan_options,
                     "stream: the service divides a batch into %" PRIu32
                     " parts; have it answer 1 to %" PRIu32,
                     wrong[i] == ONE_MORE ? l.max + 1 : wrong[i], l.max);
            assert_string_equal(err.text, plan_options);
            assert_int_equal(stats.records, 0);
            assert_int_equal(l.complete, 0);
        }
}

/* At least two parts per thread, unless these would have too few keys. */
static void a_part_has_keys_worth_a_thread(void **state) {
    (void)state;
    static const struct {
        size_t records;
        uint32_t threads, max;
    } batches[] = {
        {511, 16, 0},   {512, 16, 2}, {1023, 16, 2}, {1024, 16, 4}, {4095, 16, 8}, {4096, 16, 16},
        {8192, 16, 32}, {8192, 3, 8}, {8192, 2, 4},  {512, 2, 2},   {8192, 1, 0},
    };
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        tamis_stream_stats stats;
        tamis_error err;
        liar l = {.parts = 2, .done = batches[i].records};
        assert_int_equal(believe_of(batches[i].records, &l, IN_PARTS, batches[i].threads, &stats, &err),
                         TAMIS_OK);
        assert_int_equal(l.max, batches[i].max);
        assert_int_equal(l.complete, batches[i].max > 0);
        assert_int_equal(stats.unique, batches[i].records);
    }
}

/* ---- filters that fail during the run ---- */

/* Result of a run. Its outputs are not temporary files, so they stay after a failure. */
typedef struct outcome {
    tamis_status status;
    tamis_stream_stats stats;
    tamis_error err;
    test_bytes unique, duplicates;
    size_t divided; /* number of batches queried in parts */
} outcome;

static const char *open_output(const char *name, char path[32]) {
    const int fd = open(scratch(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    snprintf(path, 32, "/dev/fd/%d", fd);
    return path;
}

static void read_output(const char *name, const char *path, test_bytes *into) {
    int fd;
    assert_int_equal(sscanf(path, "/dev/fd/%d", &fd), 1);
    close(fd);
    file_read(scratch(name), into);
}

/* Runs over the filter and frees it. */
static void run(tamis_filter *filter, const char *input, uint32_t threads, outcome *o) {
    char once[32], again[32];
    tamis_dedup *session = NULL;
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    const tamis__stream_buffer_sizes tuning = TAMIS__STREAM_BUFFER_SIZES_INIT;
    *o = (outcome){.stats = TAMIS_STREAM_STATS_INIT, .err = TAMIS_ERROR_INIT};
    assert_int_equal(tamis_dedup_open(&session, filter, NULL, NULL), TAMIS_OK);
    options.inputs = &input;
    options.input_count = 1;
    options.output = open_output("once", once);
    options.duplicates = open_output("again", again);
    options.threads = threads;
    o->status = session_run(session, &options, &tuning, &o->stats, &o->divided, &o->err);
    tamis_dedup_close(session);
    tamis_filter_free(filter);
    read_output("once", once, &o->unique);
    read_output("again", again, &o->duplicates);
}

static void clear(outcome *o) {
    bytes_clear(&o->unique);
    bytes_clear(&o->duplicates);
}

static tamis_filter *make_growing(const tamis_allocator *allocator) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    tamis_filter *filter = NULL;
    plan_options.kind = TAMIS_KIND_EXACT;
    options.allocator = allocator;
    assert_int_equal(tamis_plan_make(&plan, &plan_options, NULL), TAMIS_OK);
    assert_int_equal(tamis_filter_create(&filter, &plan, &options, NULL), TAMIS_OK);
    return filter;
}

/* Checks that outputs and counts are those of the records before the one that failed. */
static void check_answered(const outcome *o, const test_bytes *input) {
    outcome plan_options;
    size_t size = 0;
    for (uint64_t records = 0; records < o->stats.records; records++)
        size += strcspn((const char *)input->data + size, "\n") + 1;
    assert_in_range(size, 1, input->size - 1);
    file_write(scratch("answered"), input->data, size);
    run(make_growing(NULL), scratch("answered"), 1, &plan_options);
    assert_int_equal(plan_options.status, TAMIS_OK);
    plan_options.stats.bytes_read = o->stats.bytes_read; /* larger in the failed run */
    plan_options.stats.bytes_total = input->size;
    assert_true(stats_check(&o->stats, &plan_options.stats));
    assert_true(bytes_check("output", &o->unique, &plan_options.unique));
    assert_true(bytes_check("duplicates", &o->duplicates, &plan_options.duplicates));
    assert_false(o->stats.complete);
    clear(&plan_options);
}

static const uint32_t thread_counts[] = {1, 2, 4, 7};
enum { THREAD_COUNTS = sizeof thread_counts / sizeof *thread_counts };

/* ---- many keys for one line ---- */

enum { CROWD = 60, SHARED_BITS = 15, HASHED = 1024 };

/* Makes a table of 64-bit slots in four partitions, which accepts keys as long as they find a slot. */
static tamis_filter *make_small(void) {
    const tamis__line_shape *shape = tamis__line_shape_of(64, false);
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *filter = NULL;
    plan.kind = TAMIS_KIND_FINGERPRINT;
    plan.scheme = TAMIS_SCHEME_XXH3;
    plan.fpr = 0.5;
    plan.slot_bits = 64;
    plan.home_bits = shape->home_bits;
    plan.lines = 256;
    plan.partitions = 4;
    plan.capacity = UINT64_MAX;
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    options.frozen = true;
    assert_int_equal(tamis_filter_create(&filter, &plan, &options, NULL), TAMIS_OK);
    return filter;
}

/* Finds numbers whose keys have the same home line and nearly the same spill line. */
static void find_crowd(const tamis_hasher *hasher, uint64_t crowd[CROWD]) {
    static char texts[HASHED][24];
    tamis_key keys[HASHED];
    tamis_hash hashes[HASHED];
    uint64_t next = 1000000;
    for (size_t found = 0; found < CROWD;) {
        for (size_t i = 0; i < HASHED; i++)
            keys[i] = (tamis_key){texts[i], (size_t)snprintf(texts[i], sizeof *texts, "%" PRIu64, next + i)};
        assert_int_equal(tamis_hash_many(hasher, keys, HASHED, hashes, NULL), TAMIS_OK);
        for (size_t i = 0; i < HASHED && found < CROWD; i++)
            if (hashes[i].word[1] >> (64 - SHARED_BITS) == 0x2345)
                crowd[found++] = next + i;
        next += HASHED;
    }
}

static void add_number(test_bytes *to, uint64_t number) {
    char text[24];
    bytes_add(to, text, (size_t)snprintf(text, sizeof text, "%" PRIu64 "\n", number));
}

/* The run ends at the same key with the same message for any number of threads, whatever part the key is
 * in, and although parts have new keys after it. */
static void a_batch_that_overflows_a_line_ends_the_run(void **state) {
    (void)state;
    enum { RECORDS = 20000, FIRST = 9000 };
    uint64_t crowd[CROWD], seed = test_seed(31);
    test_bytes input = {0};
    outcome plan_options = {.status = TAMIS_OK};
    tamis_filter *filter = make_small();
    find_crowd(tamis_filter_hasher(filter), crowd);
    tamis_filter_free(filter);
    for (size_t i = 0; i < RECORDS; i++)
        add_number(&input,
                   i >= FIRST && i % 20 == 0 ? crowd[i / 20 % CROWD] : test_below(&seed, 300 + i / 10));
    file_write(scratch("in"), input.data, input.size);
    for (size_t i = 0; i < THREAD_COUNTS; i++) {
        outcome got;
        run(make_small(), scratch("in"), thread_counts[i], &got);
        assert_int_equal(got.status, TAMIS_E_FULL);
        assert_non_null(strstr(got.err.text, "crowd"));
        assert_true(got.stats.records > FIRST);
        assert_int_equal(got.divided > 1, thread_counts[i] > 1);
        check_answered(&got, &input);
        if (i == 0) {
            plan_options = got;
            continue;
        }
        assert_string_equal(got.err.text, plan_options.err.text);
        assert_int_equal(got.stats.records, plan_options.stats.records);
        clear(&got);
    }
    clear(&plan_options);
    bytes_clear(&input);
}

/* ---- without memory ---- */

/* An allocator for all threads. */
typedef struct scarce {
    fault_memory memory;
    tamis_allocator from;
    pthread_mutex_t lock;
} scarce;

static void *alloc_scarce(void *context, size_t size, size_t align) {
    scarce *s = context;
    pthread_mutex_lock(&s->lock);
    void *block = s->from.alloc(s->from.context, size, align);
    pthread_mutex_unlock(&s->lock);
    return block;
}

static void give_scarce(void *context, void *block, size_t size) {
    scarce *s = context;
    pthread_mutex_lock(&s->lock);
    s->from.free(s->from.context, block, size);
    pthread_mutex_unlock(&s->lock);
}

/* Which part fails depends on the timing of the threads. */
static void memory_that_runs_out_ends_the_run(void **state) {
    (void)state;
    enum { RECORDS = 120000 };
    uint64_t seed = test_seed(37);
    test_bytes input = {0};
    for (size_t i = 0; i < RECORDS; i++)
        add_number(&input, test_below(&seed, i % 4 ? UINT64_C(1) << 40 : 4000));
    file_write(scratch("in"), input.data, input.size);
    for (size_t i = 0; i < THREAD_COUNTS; i++)
        for (uint64_t growths = 0; growths < 10; growths += 9) {
            scarce source = {.lock = PTHREAD_MUTEX_INITIALIZER};
            const tamis_allocator allocator = {alloc_scarce, give_scarce, &source};
            outcome got;
            source.from = fault_memory_allocator(&source.memory);
            tamis_filter *filter = make_growing(&allocator);
            /* 256 requests for first lines */
            source.memory.fail_at = source.memory.requests + 256 + 1 + growths;
            source.memory.onwards = true;
            run(filter, scratch("in"), thread_counts[i], &got);
            assert_int_equal(got.status, TAMIS_E_NOMEM);
            assert_non_null(strstr(got.err.text, "memory"));
            assert_int_equal(got.divided > 1, thread_counts[i] > 1);
            check_answered(&got, &input);
            clear(&got);
            assert_true(source.memory.refused > 0);
            assert_int_equal(source.memory.live_blocks, 0);
        }
    bytes_clear(&input);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_batch_is_answered_or_it_fails, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_part_is_refused_too, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_batch_has_as_many_parts_as_there_may_be, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_part_has_keys_worth_a_thread, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_batch_that_overflows_a_line_ends_the_run, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(memory_that_runs_out_ends_the_run, scratch_set_up, scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

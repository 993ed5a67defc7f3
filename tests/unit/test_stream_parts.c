/* SPDX-License-Identifier: BSD-2-Clause */
/* Services that do not answer what they are asked, whole or in parts. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "stream/runner.h"
#include "support/scratch.h"

static int make_folder(void **state) {
    (void)state;
    scratch_make();
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    scratch_remove();
    return 0;
}

/* ---- services that count wrong ---- */

enum { ALL = 3000, MOST = 4096, ONE_MORE = 1000 };

/* Answers every key fresh, and says what it was told to. */
typedef struct liar {
    uint32_t parts; /* ONE_MORE: than there may be */
    uint32_t wrong; /* the part that says this: */
    size_t done;
    tamis_status status;
    /* ---- */
    uint32_t most;  /* as parts() is told; 0: it is not called */
    size_t settled; /* calls, and the last one: */
    size_t settled_done;
    tamis_status settled_status;
} liar;

static tamis_status lie(const liar *l, size_t *done, tamis_error *err) {
    *done = l->done;
    if (l->status != TAMIS_OK)
        snprintf(err->text, sizeof err->text, "service: is tired; let it rest");
    return l->status;
}

static tamis_status answer_hashes(void *context, const tamis_key *keys, const tamis_hash *hashes,
                                  size_t count, tamis_answer *answers, size_t *done, tamis_error *err) {
    (void)keys;
    (void)hashes;
    memset(answers, TAMIS_FRESH, count);
    return lie(context, done, err);
}

static tamis_status answer_keys(void *context, const tamis_key *keys, size_t count, tamis_answer *answers,
                                size_t *done, tamis_error *err) {
    return answer_hashes(context, keys, NULL, count, answers, done, err);
}

static uint32_t divide(void *context, size_t count, uint32_t most) {
    liar *l = context;
    (void)count;
    l->most = most;
    return l->parts == ONE_MORE ? most + 1 : l->parts;
}

static tamis_status answer_part(void *context, const tamis_hash *hashes, size_t count, uint32_t part,
                                uint32_t parts, tamis_answer *answers, size_t *done, tamis_error *err) {
    const liar *l = context;
    (void)hashes;
    for (size_t i = part; i < count; i += parts)
        answers[i] = TAMIS_FRESH;
    if (part == l->wrong)
        return lie(l, done, err);
    *done = count;
    return TAMIS_OK;
}

static void note_settled(void *context, const tamis_answer *answers, size_t done, tamis_status status,
                         tamis_error *err) {
    liar *l = context;
    (void)answers;
    (void)err;
    l->settled++;
    l->settled_done = done;
    l->settled_status = status;
}

typedef enum asked { BY_KEYS, BY_HASHES, IN_PARTS } asked;

/* All records, MOST or fewer, are one batch. */
static tamis_status believe_of(size_t records, liar *l, asked how, uint32_t threads,
                               tamis_stream_stats *stats, tamis_error *err) {
    const char *const path = scratch("in");
    char input[2 * MOST];
    tamis_hasher *hasher = NULL;
    tamis_stream_service service = TAMIS_STREAM_SERVICE_INIT;
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    for (size_t i = 0; i < records; i++)
        memcpy(input + 2 * i, "x\n", 2);
    file_write(path, input, 2 * records);
    assert_int_equal(tamis_hasher_create(&hasher, NULL, NULL), TAMIS_OK);
    service.context = l;
    service.ask = answer_keys;
    if (how != BY_KEYS) {
        service.hasher = hasher;
        service.ask_hashes = answer_hashes;
    }
    if (how == IN_PARTS) {
        service.parts = divide;
        service.ask_part = answer_part;
        service.settle = note_settled;
    }
    options.inputs = &path;
    options.input_count = 1;
    options.threads = threads;
    *stats = (tamis_stream_stats)TAMIS_STREAM_STATS_INIT;
    *err = (tamis_error)TAMIS_ERROR_INIT;
    const tamis_status status = tamis_stream_run(&service, &options, stats, err);
    tamis_hasher_free(hasher);
    assert_false(stats->settled && status != TAMIS_OK);
    return status;
}

static tamis_status believe(liar *l, asked how, uint32_t threads, tamis_stream_stats *stats,
                            tamis_error *err) {
    return believe_of(ALL, l, how, threads, stats, err);
}

/* What is said of so many keys, and what comes of it. */
typedef struct tale {
    size_t done;
    tamis_status status;
    size_t records;
    tamis_status told;
    const char *sentence;
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
                assert_int_equal(believe(&l, (asked)how, threads, &stats, &err), tales[i].told);
                assert_string_equal(err.text, tales[i].sentence);
                assert_int_equal(stats.records, tales[i].records);
            }
}

/* Whichever part it is. */
static void so_is_a_part(void **state) {
    (void)state;
    tamis_stream_stats stats;
    tamis_error err;
    for (size_t i = 0; i < TALES; i++)
        for (uint32_t wrong = 0; wrong < 4; wrong++)
            for (uint32_t threads = 2; threads < 8; threads += 2) {
                liar l = {4, wrong, tales[i].done, tales[i].status, 0, 0, 0, TAMIS_OK};
                assert_int_equal(believe(&l, IN_PARTS, threads, &stats, &err), tales[i].told);
                assert_string_equal(err.text, tales[i].sentence);
                assert_int_equal(stats.records, tales[i].records);
                assert_int_equal(l.settled, 1);
                assert_int_equal(l.settled_done, tales[i].records);
                assert_int_equal(l.settled_status, tales[i].told);
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
            char want[200];
            assert_int_equal(believe(&l, IN_PARTS, threads, &stats, &err), TAMIS_E_INVALID);
            snprintf(want, sizeof want,
                     "stream: the service divides a batch into %" PRIu32
                     " parts; have it answer 1 to %" PRIu32,
                     wrong[i] == ONE_MORE ? l.most + 1 : wrong[i], l.most);
            assert_string_equal(err.text, want);
            assert_int_equal(stats.records, 0);
            assert_int_equal(l.settled, 0);
        }
}

/* Four a thread and more, unless that leaves each too few keys. */
static void a_part_has_keys_worth_a_thread(void **state) {
    (void)state;
    static const struct {
        size_t records;
        uint32_t threads, most;
    } batches[] = {
        {511, 16, 0},   {512, 16, 2},  {1023, 16, 2}, {1024, 16, 4}, {4095, 16, 8},
        {4096, 16, 16}, {4096, 3, 16}, {4096, 2, 8},  {512, 2, 2},   {4096, 1, 0},
    };
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        tamis_stream_stats stats;
        tamis_error err;
        liar l = {.parts = 2, .done = batches[i].records};
        assert_int_equal(believe_of(batches[i].records, &l, IN_PARTS, batches[i].threads, &stats, &err),
                         TAMIS_OK);
        assert_int_equal(l.most, batches[i].most);
        assert_int_equal(l.settled, batches[i].most > 0);
        assert_int_equal(stats.unique, batches[i].records);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_batch_is_answered_or_it_fails, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(so_is_a_part, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_batch_has_as_many_parts_as_there_may_be, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_part_has_keys_worth_a_thread, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */

/* Lookups in a mapped file that changes in the middle of a batch: which keys are answered. Also the advice
 * to the system about a mapping. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system.h"
#include "support/scratch.h"
#include "support/stored.h"

enum { KEYS = 1100, AT_ONCE = 1024 }; /* AT_ONCE: lookups between two checks of the file */

static tamis_error err;
static tamis_filter *opened;
static uint64_t numbers[KEYS];
static tamis_key keys[KEYS];
static tamis_hash hashes[KEYS];
static tamis_answer answers[KEYS];

static struct tamis__system real;
static int checks_left; /* checks of the file until it is overwritten */

static int changing_fstat(int fd, struct stat *out) {
    int result = real.fstat(fd, out);
    if (result == 0 && checks_left-- <= 0)
        out->st_mtim.tv_sec++;
    return result;
}

static void open_kind(tamis_kind kind) {
    tamis_filter *filter = stored_make(kind, 0, 100000);
    assert_int_equal(tamis_filter_save(filter, scratch("f"), &err), TAMIS_OK);
    tamis_filter_free(filter);
    assert_int_equal(tamis_filter_open(&opened, scratch("f"), NULL, &err), TAMIS_OK);
    for (uint64_t i = 0; i < KEYS; i++) {
        numbers[i] = i;
        keys[i] = (tamis_key){&numbers[i], sizeof numbers[i]};
    }
    assert_int_equal(tamis_hash_many(tamis_filter_hasher(opened), keys, KEYS, hashes, &err), TAMIS_OK);
}

static int set_up(void **state) {
    (void)state;
    scratch_make();
    real = tamis__sys;
    err = (tamis_error)TAMIS_ERROR_INIT;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    tamis__sys = real;
    scratch_remove();
    return 0;
}

/* Looks up the batch, by hash or by key. The first *done answers must be TAMIS_PRESENT, which is right,
 * and the others untouched. */
static tamis_status query(bool by_hash, size_t *done) {
    *done = KEYS + 1;
    memset(answers, TAMIS_UNKNOWN, sizeof answers);
    tamis_status status = by_hash ? tamis_filter_contains_hashes(opened, hashes, KEYS, answers, done, &err)
                                  : tamis_filter_contains_many(opened, keys, KEYS, answers, done, &err);
    assert_in_range(*done, 0, KEYS);
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(answers[i], i < *done ? TAMIS_PRESENT : TAMIS_UNKNOWN);
    return status;
}

static const tamis_kind kinds[] = {TAMIS_KIND_CLASSIC, TAMIS_KIND_BLOCKED, TAMIS_KIND_FINGERPRINT,
                                   TAMIS_KIND_EXACT};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void written_in_place_between_two_checks(void **state) {
    (void)state;
    size_t done;
    for (int i = 0; i < KINDS; i++) {
        open_kind(kinds[i]);
        tamis__sys.fstat = changing_fstat;
        for (int by_hash = 0; by_hash < 2; by_hash++) {
            for (int stats = 0; stats * AT_ONCE < KEYS; stats++) {
                checks_left = stats;
                assert_int_equal(query(by_hash, &done), TAMIS_E_DAMAGED);
                assert_int_equal(done, stats * AT_ONCE);
                assert_non_null(strstr(err.text, "written in place"));
            }
            checks_left = KEYS;
            assert_int_equal(query(by_hash, &done), TAMIS_OK);
            assert_int_equal(done, KEYS);
        }
        tamis__sys = real;
        tamis_filter_free(opened);
    }
}

/* One of many blocks is damaged. The hashes say which keys are in it; the keys before the first of these
 * are answered. */
static void a_damaged_block(void **state) {
    (void)state;
    size_t by_key, by_hash;
    for (int i = 0; i < KINDS; i++) {
        open_kind(kinds[i]);
        tamis_filter_free(opened);
        int fd = open(scratch("f"), O_RDWR);
        uint8_t byte;
        off_t middle = lseek(fd, 0, SEEK_END) / 2;
        assert_int_equal(pread(fd, &byte, 1, middle), 1);
        byte ^= 1;
        assert_int_equal(pwrite(fd, &byte, 1, middle), 1);
        close(fd);
        assert_int_equal(tamis_filter_open(&opened, scratch("f"), NULL, &err), TAMIS_OK);
        assert_int_equal(query(false, &by_key), TAMIS_E_DAMAGED);
        assert_int_equal(query(true, &by_hash), TAMIS_E_DAMAGED);
        assert_int_equal(by_key, by_hash);
        assert_non_null(strstr(err.text, "is damaged"));
        tamis_filter_free(opened);
    }
}

/* ---- advice ---- */

static const uint8_t *watched; /* mapping whose advice is recorded */
static size_t watched_size;
static int advised, last_advice;

static int noting_advise(void *block, size_t size, int advice) {
    const uint8_t *start = block;
    if (!watched || (start + size > watched && start < watched + watched_size)) {
        advised++;
        last_advice = advice;
    }
    return real.advise(block, size, advice);
}

/* The advice is sequential during a verification, and random before and after it. */
static void a_mapped_file_is_random_again_once_verified(void **state) {
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        tamis__sys.advise = noting_advise;
        watched = NULL;
        open_kind(kinds[i]);
        assert_int_equal(last_advice, MADV_RANDOM);
        advised = 0;
        assert_int_equal(tamis_filter_verify(opened, &err), TAMIS_OK);
        assert_in_range(advised, 2, 4); /* not once per block */
        assert_int_equal(last_advice, MADV_RANDOM);
        tamis_filter_free(opened);
        tamis__sys = real;
    }
}

/* The library gives no advice about memory of the caller. */
static void no_advice_on_bytes_of_the_caller(void **state) {
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        tamis_filter *filter = stored_make(kinds[i], 0, 100000), *copy;
        uint64_t size = 0;
        assert_int_equal(tamis_filter_encoded_size(filter, TAMIS_FORMAT_TAMIS, &size, &err), TAMIS_OK);
        uint8_t *bytes = malloc((size_t)size);
        assert_non_null(bytes);
        assert_int_equal(tamis_filter_encode(filter, TAMIS_FORMAT_TAMIS, bytes, size, &err), TAMIS_OK);
        watched = bytes;
        watched_size = (size_t)size;
        advised = 0;
        tamis__sys.advise = noting_advise;
        assert_int_equal(tamis_filter_decode(&copy, bytes, size, NULL, &err), TAMIS_OK);
        tamis__sys = real;
        assert_int_equal(advised, 0);
        tamis_filter_free(copy);
        tamis_filter_free(filter);
        free(bytes);
    }
}

/* ---- files read into memory ---- */

static size_t held, held_max; /* bytes in large blocks: now, and at most */

static void *counting_map(size_t size) {
    void *block = real.map(size);
    held += block ? size : 0;
    held_max = held > held_max ? held : held_max;
    return block;
}

static int counting_unmap(void *block, size_t size) {
    held -= size;
    return real.unmap(block, size);
}

/* A writable filter is read directly into its final memory. (Fingerprint tables free the partitions of the
 * file one by one.) */
static void a_writable_filter_is_held_once(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
        tamis_plan plan = TAMIS_PLAN_INIT;
        tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
        tamis_filter *filter, *copy;
        tamis_answer answer;
        uint64_t size = 0;
        plan_options.kind = kinds[i];
        plan_options.expect = 1000000;
        plan_options.fpr = 1e-6;
        assert_int_equal(tamis_plan_make(&plan, &plan_options, &err), TAMIS_OK);
        assert_int_equal(tamis_filter_create(&filter, &plan, NULL, &err), TAMIS_OK);
        assert_int_equal(tamis_filter_add(filter, "one", 3, &answer, &err), TAMIS_OK);
        assert_int_equal(tamis_filter_save(filter, scratch("f"), &err), TAMIS_OK);
        assert_int_equal(tamis_filter_encoded_size(filter, TAMIS_FORMAT_TAMIS, &size, &err), TAMIS_OK);
        tamis_filter_free(filter);

        held = held_max = 0;
        tamis__sys.map = counting_map;
        tamis__sys.unmap = counting_unmap;
        options.writable = true;
        assert_int_equal(tamis_filter_open(&filter, scratch("f"), &options, &err), TAMIS_OK);
        assert_in_range(held_max, size, size + size / 10);
        assert_int_equal(tamis_filter_add(filter, "two", 3, &answer, &err), TAMIS_OK);
        assert_int_equal(answer, TAMIS_ABSENT);
        assert_int_equal(tamis_filter_verify(filter, &err), TAMIS_OK);
        assert_int_equal(tamis_filter_copy(&copy, filter, &err), TAMIS_OK);
        assert_int_equal(tamis_filter_clear(filter, &err), TAMIS_OK);
        assert_int_equal(tamis_filter_contains(filter, "two", 3, &answer, &err), TAMIS_OK);
        assert_int_equal(answer, TAMIS_ABSENT);
        tamis_filter_free(filter);
        for (const char *const *key = (const char *const[]){"one", "two", NULL}; *key; key++) {
            assert_int_equal(tamis_filter_contains(copy, *key, 3, &answer, &err), TAMIS_OK);
            assert_int_equal(answer, TAMIS_PRESENT);
        }
        tamis_filter_free(copy);
        assert_int_equal(held, 0);
        tamis__sys = real;
    }
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {CASE(written_in_place_between_two_checks), CASE(a_damaged_block),
                                       CASE(a_mapped_file_is_random_again_once_verified),
                                       CASE(no_advice_on_bytes_of_the_caller),
                                       CASE(a_writable_filter_is_held_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

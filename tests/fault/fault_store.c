/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A save, an open and a reload of a filter, in which every system call and every allocation fails once, for
 * every n and in several ways. Save and open are also tried with a compressed file. Afterwards the name is
 * that of the old or the new file, an open filter answers as before, and nothing is left: no temporary file,
 * no descriptor, no memory.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <tamis/experimental/compressed.h>

#include "support/fault.h"
#include "support/scratch.h"
#include "support/stored.h"

static const uint64_t OLD = 0, NEW = 100000, KEYS = 100;

static tamis_error err;
static size_t descriptors;
static test_bytes old_bytes, new_bytes;
static fault_memory memory;           /* memory of the filters */
static tamis_compression compression; /* compression of the files */

typedef struct way {
    int error_number;
    bool onwards;
} way;

static const way ways[] = {
    {EIO, false},         {EIO, true},         {ENOSPC, false}, {ENOSPC, true}, {EINTR, false},
    {FAULT_SHORT, false}, {FAULT_SHORT, true}, {EACCES, false}, {EMFILE, true}, {ENOLCK, false},
};

/* False for errors that the code does not take for a failure, or that would make it wait forever. */
static bool makes_sense(fault_call call, const way *w) {
    bool moves = call == FAULT_READ || call == FAULT_WRITE || call == FAULT_PREAD;
    if (w->error_number == FAULT_SHORT)
        return moves;
    return !(w->onwards && w->error_number == EINTR);
}

static bool must_succeed(fault_call call, const way *w) {
    if (call == FAULT_PWRITE || call == FAULT_ADVISE || call == FAULT_UNMAP || w->error_number == FAULT_SHORT)
        return true;
    if (call == FAULT_RESERVE)
        return w->error_number != ENOSPC;
    if (call == FAULT_LOCK)
        return w->error_number == ENOLCK;
    return w->error_number == EINTR && (call == FAULT_OPEN || call == FAULT_WRITE || call == FAULT_READ ||
                                        call == FAULT_PREAD || call == FAULT_SYNC);
}

static tamis_filter *filter_of(uint64_t from) {
    static tamis_allocator allocator;
    allocator = fault_memory_allocator(&memory);
    tamis_filter *filter = stored_make_in(&allocator, from, KEYS);
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    metadata.created = 1; /* the same filter must give the same bytes */
    assert_int_equal(tamis_filter_metadata_set(filter, &metadata, &err), TAMIS_OK);
    return filter;
}

static int set_up(void **state) {
    (void)state;
    scratch_make();
    memset(&memory, 0, sizeof memory);
    for (int i = 0; i < 2; i++) {
        tamis_filter *filter = filter_of(i ? NEW : OLD);
        assert_int_equal(tamis_compressed_save(filter, scratch("f"), TAMIS_FORMAT_AUTO, compression, &err),
                         TAMIS_OK);
        file_read(scratch("f"), i ? &new_bytes : &old_bytes);
        tamis_filter_free(filter);
    }
    unlink(scratch("f"));
    descriptors = fault_open_descriptors();
    fault_install();
    return 0;
}

static int set_up_compressed(void **state) {
    compression = TAMIS_COMPRESSION_GZIP;
    return set_up(state);
}

static int tear_down(void **state) {
    (void)state;
    fault_remove();
    compression = TAMIS_COMPRESSION_NONE;
    bytes_clear(&old_bytes);
    bytes_clear(&new_bytes);
    scratch_remove();
    return 0;
}

static void complain(const char *what, fault_call call, const way *w, uint64_t n) {
    fprintf(stderr, "%s: %s number %" PRIu64 "%s failed with %d: \"%s\"\n", what, fault_call_name(call), n,
            w->onwards ? " and all after it" : "", w->error_number, err.text);
}

/* An operation that is tried with a failure armed, and the check after it, without one. */
typedef struct trial {
    const char *what;
    void (*before)(void);
    tamis_status (*run)(void);
    bool (*after)(tamis_status status, bool may_fail, fault_call call);
} trial;

static const trial *now;

static bool try_once(fault_call call, const way *w, uint64_t n, uint64_t *fired) {
    err = (tamis_error)TAMIS_ERROR_INIT;
    now->before();
    fault_arm(call, n, w->error_number, w->onwards);
    tamis_status status = now->run();
    *fired = fault_fired();
    fault_disarm();
    bool good = now->after(status, *fired > 0 && !must_succeed(call, w), call);
    if (status != TAMIS_OK)
        good = good && err.status == status && (status == TAMIS_E_NOMEM || strstr(err.text, "/tamis-test-"));
    return good && fault_open_descriptors() == descriptors && memory.live_blocks == 0;
}

/* Tries each call, way and n, until the operation makes fewer than n such calls. */
static void every_call(const trial *t) {
    size_t way_count = (size_t)test_scale(sizeof ways / sizeof *ways, 6, 6);
    uint64_t faults = 0;
    now = t;
    for (fault_call call = 0; call < FAULT_CALL_COUNT; call++) {
        for (size_t i = 0; i < way_count; i++) {
            uint64_t fired = makes_sense(call, &ways[i]);
            for (uint64_t n = 1; fired > 0; n++) {
                if (!try_once(call, &ways[i], n, &fired)) {
                    complain(t->what, call, &ways[i], n);
                    fail();
                }
                faults += fired > 0;
            }
        }
    }
    printf("%s: %" PRIu64 " faults\n", t->what, faults);
    assert_true(faults > 0);
}

/* Lets the filter's allocator refuse request number n, for each n. */
static void every_allocation(const trial *t) {
    now = t;
    for (int onwards = 0; onwards < 2; onwards++) {
        bool refused = true;
        for (uint64_t n = 1; refused; n++) {
            err = (tamis_error)TAMIS_ERROR_INIT;
            memset(&memory, 0, sizeof memory);
            t->before();
            memory.requests = 0;
            memory.fail_at = n;
            memory.onwards = onwards;
            tamis_status status = t->run();
            refused = memory.refused > 0;
            memory.fail_at = 0;
            assert_int_equal(status, refused ? TAMIS_E_NOMEM : TAMIS_OK);
            assert_true(t->after(status, refused, FAULT_CALL_COUNT));
            assert_int_equal(memory.live_blocks, 0);
            assert_int_equal(fault_open_descriptors(), descriptors);
        }
    }
}

/* ---- save ---- */

static tamis_filter *to_save;
static const test_bytes *stood; /* content before the save; NULL: no file */

static bool holds(const test_bytes *expected) {
    test_bytes got = {0};
    if (!file_exists(scratch("f")))
        return expected == NULL;
    file_read(scratch("f"), &got);
    bool same = expected && bytes_equal(&got, expected);
    bytes_clear(&got);
    return same;
}

static void before_save(void) {
    unlink(scratch("f"));
    if (stood)
        file_write(scratch("f"), stood->data, stood->size);
    to_save = filter_of(NEW);
}

static tamis_status run_save(void) {
    return tamis_compressed_save(to_save, scratch("f"), TAMIS_FORMAT_AUTO, compression, &err);
}

/* Checks that nothing is left. If removing fails, a temporary file stays, and the message names it. An
 * unlocked lock file may stay in any case; the next save removes it. */
static bool nothing_stays(fault_call call) {
    const char *left;
    for (int i = 0; call == FAULT_UNLINK && (left = scratch_hidden()) && i < 2; i++)
        if (strstr(left, ".tamis-lock") || strstr(err.text, left))
            unlink(scratch(left));
    if (tamis_filter_save(to_save, scratch("f"), NULL) != TAMIS_OK)
        return false;
    left = scratch_hidden();
    if (left)
        fprintf(stderr, "left: %s\n", left);
    return !left;
}

static bool after_save(tamis_status status, bool may_fail, fault_call call) {
    bool good;
    if (status == TAMIS_OK)
        good = holds(&new_bytes);
    else if (call == FAULT_SYNC && strstr(err.text, "is written, but a power loss"))
        good = may_fail && holds(&new_bytes);
    else
        good = may_fail && holds(stood);
    if (call == FAULT_RESERVE && status != TAMIS_OK)
        good =
            good && strstr(err.text, "/f: no space for its ") && strstr(err.text, "no space left on device");
    const char *left = scratch_hidden();
    good = good && (!left || strstr(left, ".tamis-lock") || call == FAULT_UNLINK) && nothing_stays(call);
    tamis_filter_free(to_save);
    return good;
}

static void saves(void **state) {
    (void)state;
    static const trial new_file = {"save of a new file", before_save, run_save, after_save};
    static const trial old_file = {"save over a file", before_save, run_save, after_save};
    stood = NULL;
    every_call(&new_file);
    stood = &old_bytes;
    every_call(&old_file);
    every_allocation(&old_file);
}

/* Opens the filter to be saved. Its save checks first whether the file has changed. */
static void before_save_back(void) {
    tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    unlink(scratch("f"));
    file_write(scratch("f"), new_bytes.data, new_bytes.size);
    options.allocator = &allocator;
    options.writable = true;
    if (tamis_filter_open(&to_save, scratch("f"), &options, &err) != TAMIS_OK)
        fail();
}

static tamis_status run_save_new(void) {
    return tamis_filter_save_new(to_save, scratch("f"), TAMIS_FORMAT_TAMIS, &err);
}

static void saves_that_look(void **state) {
    (void)state;
    static const trial back = {"save to where it was opened", before_save_back, run_save, after_save};
    static const trial first = {"save of the first", before_save, run_save_new, after_save};
    stood = &new_bytes;
    every_call(&back);
    every_allocation(&back);
    stood = NULL;
    every_call(&first);
    every_allocation(&first);
}

/* ---- open and reload ---- */

static bool writable;
static tamis_filter *opened;

static void before_open(void) {
    file_write(scratch("f"), old_bytes.data, old_bytes.size);
    opened = NULL;
}

static tamis_status run_open(void) {
    static tamis_allocator allocator;
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    allocator = fault_memory_allocator(&memory);
    options.allocator = &allocator;
    options.writable = writable;
    return tamis_compressed_open(&opened, NULL, scratch("f"), &options, &err);
}

static bool after_open(tamis_status status, bool may_fail, fault_call call) {
    (void)call;
    if (status != TAMIS_OK)
        return may_fail && !opened;
    bool good = stored_has(opened, OLD, KEYS) && !stored_has(opened, NEW, KEYS);
    tamis_filter_free(opened);
    return good;
}

static void opens(void **state) {
    (void)state;
    static const trial t = {"open", before_open, run_open, after_open};
    for (int i = 0; i < 2; i++) {
        writable = i;
        every_call(&t);
        every_allocation(&t);
    }
}

static bool changed;

static void before_reload(void) {
    writable = false;
    before_open();
    if (run_open() != TAMIS_OK)
        fail();
    unlink(scratch("f"));
    file_write(scratch("f"), new_bytes.data, new_bytes.size);
    changed = false;
}

static tamis_status run_reload(void) {
    return tamis_filter_reload(opened, &changed, &err);
}

static bool after_reload(tamis_status status, bool may_fail, fault_call call) {
    (void)call;
    bool good = status == TAMIS_OK ? changed && stored_has(opened, NEW, KEYS)
                                   : may_fail && !changed && stored_has(opened, OLD, KEYS);
    /* a reload without failure works again */
    good = good && tamis_filter_reload(opened, NULL, NULL) == TAMIS_OK && stored_has(opened, NEW, KEYS);
    tamis_filter_free(opened);
    return good;
}

static void reloads(void **state) {
    (void)state;
    static const trial t = {"reload", before_reload, run_reload, after_reload};
    every_call(&t);
    every_allocation(&t);
}

int main(void) {
#define CASE(name)       cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define COMPRESSED(name) cmocka_unit_test_setup_teardown(name, set_up_compressed, tear_down)
    const struct CMUnitTest tests[] = {CASE(saves),   CASE(saves_that_look), CASE(opens),
                                       CASE(reloads), COMPRESSED(saves),     COMPRESSED(opens)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <tamis/experimental/guard.h>
#include <tamis/tamis.h>

#include "base/memory.h"
#include "base/system.h"
#include "service/guard/guard_added_keys.h"
#include "service/guard/guard_filter_file.h"
#include "service/guard/guard_put.h"
#include "service/guard/guard_source.h"
#include "support/fault.h"
#include "support/guard_calls.h"
#include "support/guard_table.h"
#include "support/scratch.h"

/* Level 1 from a file that other programs replace. */

enum { LOOK_MS = 5, SOME_TIME = 20000 /* ms, longer than anything here takes */ };

/* How a file with a filter is made. Zero in a field: the default. */
typedef struct maker {
    tamis_kind kind;
    tamis_scheme scheme;
    uint64_t expect, version;
    int64_t created;
    uint32_t key_type;
    bool frozen;
} maker;

static const char secret[] = "sixteen bytes or more";

/* Saves a filter with the keys row0 to row(count - 1) under a name, atomically. */
static void save_filter(const char *name, const maker *how, int count) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    tamis_filter *filter = NULL;
    tamis_answer answer;
    tamis_error err = TAMIS_ERROR_INIT;
    char key[16];
    plan_options.kind = how->kind;
    plan_options.scheme = how->scheme;
    plan_options.expect = how->expect ? how->expect : 1000;
    plan_options.fpr = 1e-6;
    options.frozen = how->frozen;
    if (how->scheme == TAMIS_SCHEME_SIP) {
        options.secret = secret;
        options.secret_size = sizeof secret;
    }
    metadata.version = how->version;
    metadata.created = how->created;
    metadata.key_type = how->key_type;
    if (tamis_plan_make(&plan, &plan_options, &err) != TAMIS_OK ||
        tamis_filter_create(&filter, &plan, &options, &err) != TAMIS_OK ||
        tamis_filter_metadata_set(filter, &metadata, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    for (int i = 0; i < count; i++) {
        snprintf(key, sizeof key, "row%d", i);
        if (tamis_filter_add(filter, key, strlen(key), &answer, &err) != TAMIS_OK)
            fail_msg("row %d: %s", i, err.text);
    }
    unlink(scratch(name));
    if (tamis_filter_save(filter, scratch(name), &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    tamis_filter_free(filter);
}

static void rename_to(const char *from, const char *to) {
    assert_int_equal(rename(scratch(from), scratch(to)), 0);
}

static void replace_filter(const maker *how, int count) {
    save_filter("new", how, count);
    rename_to("new", "f.tamis");
}

static void replace_text(const char *name, const char *text) {
    file_write(scratch("new"), text, strlen(text));
    rename_to("new", name);
}

/* Opens a guard over the file f.tamis, unless the options name a list. */
static tamis_guard *open_over_file(guard_table *table, tamis_guard_options *options) {
    if (!options->keys_file)
        options->filter_file = scratch("f.tamis");
    options->scan_new_ms = LOOK_MS;
    return open_guard(table, options);
}

static void wait_for_filter(tamis_guard *guard) {
    tamis_error err = TAMIS_ERROR_INIT;
    for (int waited = 0; tamis_guard_wait_for_filter(guard, SOME_TIME, &err) != TAMIS_OK; waited++) {
        if (waited > SOME_TIME)
            fail_msg("wait_for_filter: %s", err.text);
        pause_ms(1);
    }
}

static void wait_for_scans(tamis_guard *guard, uint64_t scans) {
    for (int waited = 0; stats_of(guard).scans < scans; waited++) {
        assert_true(waited < SOME_TIME);
        pause_ms(1);
    }
}

/* Waits for a failure, and returns its message in static storage. */
static const char *wait_for_failure(tamis_guard *guard, uint64_t failures) {
    static tamis_error err;
    err = (tamis_error)TAMIS_ERROR_INIT;
    for (int waited = 0; stats_of(guard).failed_scans < failures; waited++) {
        assert_true(waited < SOME_TIME);
        pause_ms(1);
    }
    assert_int_not_equal(tamis_guard_filter_error(guard, &err), TAMIS_OK);
    return err.text;
}

static void assert_contains(const char *text, const char *part) {
    if (!strstr(text, part))
        fail_msg("'%s' is not in: %s", part, text);
}

/* Waits for a failure with this text. Failures with other texts may come before. */
static void wait_for_message(tamis_guard *guard, const char *part) {
    const char *text = wait_for_failure(guard, 1);
    for (int waited = 0; !strstr(text, part) && waited < SOME_TIME; waited++) {
        pause_ms(1);
        text = wait_for_failure(guard, 1);
    }
    assert_contains(text, part);
}

/* What levels 1 and 2 say: TAMIS_GUARD_PENDING if the filter has the key, or does not answer. */
static tamis_guard_outcome find_outcome(tamis_guard *guard, const char *name) {
    const tamis_key key = key_of(name);
    tamis_guard_value value = TAMIS_GUARD_VALUE_INIT;
    assert_int_equal(tamis_guard_find_many(guard, &key, 1, &value, NULL), TAMIS_OK);
    const tamis_guard_outcome outcome = value.outcome;
    tamis_guard_value_release(&value);
    return outcome;
}

static void put_rows(guard_table *table, int count) {
    char name[16];
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "row%d", i);
        guard_table_put(table, name, name);
    }
}

/* ---- new versions ---- */

static void test_a_file_answers_and_is_replaced(void **state) {
    (void)state;
    static const tamis_kind kinds[] = {TAMIS_KIND_AUTO,  TAMIS_KIND_CLASSIC,  TAMIS_KIND_BLOCKED,
                                       TAMIS_KIND_EXACT, TAMIS_KIND_COUNTING, TAMIS_KIND_CUCKOO};
    guard_table table;
    guard_table_init(&table);
    put_rows(&table, 1000);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
        char name[16];
        replace_filter(&(maker){.kind = kinds[k], .version = 1}, 500);
        tamis_guard *guard = open_over_file(&table, &options);
        wait_for_filter(guard);
        assert_int_equal(stats_of(guard).filter_version, 1);
        assert_int_equal(find_outcome(guard, "row500"), TAMIS_GUARD_MISSING);
        for (int i = 0; i < 500; i++) {
            snprintf(name, sizeof name, "row%d", i);
            assert_row(guard, name, name);
        }
        const uint64_t loads = guard_table_loads(&table);
        for (int i = 0; i < 1000; i++) {
            snprintf(name, sizeof name, "none%d", i);
            assert_row(guard, name, "");
        }
        assert_int_equal(guard_table_loads(&table), loads + stats_of(guard).missing_loads);
        assert_true(stats_of(guard).missing_loads < 5);
        replace_filter(&(maker){.kind = kinds[k], .version = 2}, 1000);
        wait_for_scans(guard, 2);
        assert_row(guard, "row999", "row999");
        assert_int_equal(stats_of(guard).filter_version, 2);
        assert_int_equal(tamis_guard_filter_error(guard, NULL), TAMIS_OK);
        tamis_guard_close(guard);
    }
    guard_table_release(&table);
}

/* One batch has keys that the filter answers, and keys that go on, in every order. */
static void test_a_batch_of_both(void **state) {
    (void)state;
    enum { KEYS = 300 };
    static char names[KEYS][16];
    static tamis_key keys[KEYS];
    static tamis_guard_value values[KEYS];
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    uint64_t seed = test_seed(27);
    guard_table_init(&table);
    put_rows(&table, 1000);
    options.cache_bytes = 1 << 20;
    replace_filter(&(maker){0}, 1000);
    tamis_guard *guard = open_over_file(&table, &options);
    wait_for_filter(guard);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < KEYS; i++) {
            snprintf(names[i], sizeof names[i], "row%d", (int)test_below(&seed, 2000));
            keys[i] = key_of(names[i]);
        }
        assert_int_equal(tamis_guard_get_many(guard, keys, KEYS, values, NULL), TAMIS_OK);
        for (int i = 0; i < KEYS; i++) {
            const bool has_row = atoi(names[i] + 3) < 1000;
            assert_int_equal(values[i].outcome, has_row ? TAMIS_GUARD_FOUND : TAMIS_GUARD_MISSING);
            if (has_row)
                assert_memory_equal(values[i].data, names[i], strlen(names[i]));
            tamis_guard_value_release(&values[i]);
        }
    }
    assert_true(stats_of(guard).cache_hits > 0);
    tamis_guard_close(guard);
    guard_table_release(&table);
}

/* ---- files that are refused ---- */

static void write_damaged(int way) {
    test_bytes bytes = {0};
    save_filter("whole", &(maker){.version = 9}, 900);
    file_read(scratch("whole"), &bytes);
    if (way == 0)
        bytes.data[bytes.size / 2] ^= 1;
    else if (way == 1)
        bytes.size = bytes.size / 2;
    else if (way == 2)
        memset(bytes.data + bytes.size / 2, 0, bytes.size / 2); /* half of it is written */
    else
        bytes.size = 0;
    file_write(scratch("new"), bytes.data, bytes.size);
    bytes_clear(&bytes);
}

/* The former filter goes on, and the next good file is used. */
static void test_bad_files_change_nothing(void **state) {
    (void)state;
    enum { WAYS = 10 };
    static const char *const messages[WAYS] = {
        "f.tamis: ",
        "f.tamis: ",
        "f.tamis: ",
        "f.tamis: ",
        "f.tamis: has version 4, older than version 5 in use; give it a higher version",
        "f.tamis: was made 100 s before the one in use; make it again",
        "f.tamis: its keys are not the texts of records; build it without --type",
        "f.tamis: was built with a secret, which was not given; give it",
        "f.tamis: no such file",
        "f.tamis: is a directory",
    };
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    guard_table_init(&table);
    put_rows(&table, 1000);
    for (int way = 0; way < WAYS; way++) {
        replace_filter(&(maker){.version = 5, .created = 1000000}, 500);
        tamis_guard *guard = open_over_file(&table, &options);
        wait_for_filter(guard);
        if (way < 4) {
            write_damaged(way);
            rename_to("new", "f.tamis");
        } else if (way == 4) {
            replace_filter(&(maker){.version = 4, .created = 2000000}, 600);
        } else if (way == 5) {
            replace_filter(&(maker){.version = 5, .created = 999900}, 600);
        } else if (way == 6) {
            replace_filter(&(maker){.version = 6, .key_type = TAMIS_KEYS_INT64}, 600);
        } else if (way == 7) {
            replace_filter(&(maker){.version = 6, .scheme = TAMIS_SCHEME_SIP}, 600); /* without its secret */
        } else {
            unlink(scratch("f.tamis"));
            if (way == 9)
                assert_int_equal(mkdir(scratch("f.tamis"), 0700), 0);
        }
        wait_for_message(guard, messages[way]); /* way 9: the file may be missing before */
        assert_true(stats_of(guard).has_filter);
        assert_int_equal(stats_of(guard).filter_version, 5);
        assert_int_equal(find_outcome(guard, "row500"), TAMIS_GUARD_MISSING);
        assert_row(guard, "row499", "row499");
        if (way == 9)
            rmdir(scratch("f.tamis"));
        replace_filter(&(maker){.version = 5, .created = 1000000}, 1000);
        wait_for_scans(guard, 2);
        assert_row(guard, "row999", "row999");
        tamis_guard_close(guard);
    }
    guard_table_release(&table);
}

/* A program that does not know of rename writes into the file, in two steps. */
static void test_a_file_that_is_overwritten(void **state) {
    (void)state;
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    test_bytes bytes = {0};
    guard_table_init(&table);
    put_rows(&table, 1000);
    replace_filter(&(maker){.version = 1}, 500);
    tamis_guard *guard = open_over_file(&table, &options);
    wait_for_filter(guard);
    save_filter("whole", &(maker){.version = 2}, 1000);
    file_read(scratch("whole"), &bytes);
    file_write(scratch("f.tamis"), bytes.data, bytes.size / 2);
    (void)wait_for_failure(guard, 1);
    assert_row(guard, "row499", "row499");
    assert_int_equal(find_outcome(guard, "none"), TAMIS_GUARD_MISSING);
    file_write(scratch("f.tamis"), bytes.data, bytes.size);
    wait_for_scans(guard, 2);
    assert_row(guard, "row999", "row999");
    bytes_clear(&bytes);
    tamis_guard_close(guard);
    guard_table_release(&table);
}

static void test_modes_until_the_first_file(void **state) {
    (void)state;
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    guard_table_init(&table);
    put_rows(&table, 10);
    write_damaged(1);
    rename_to("new", "f.tamis");
    tamis_guard *open = open_over_file(&table, &options);
    options.without_filter = TAMIS_GUARD_CLOSED;
    tamis_guard *closed = open_over_file(&table, &options);
    (void)wait_for_failure(open, 1);
    (void)wait_for_failure(closed, 1);
    assert_int_not_equal(tamis_guard_wait_for_filter(closed, SOME_TIME, NULL), TAMIS_OK);
    assert_row(open, "none", "");
    assert_row(open, "row1", "row1");
    assert_int_equal(stats_of(open).absent, 0);
    assert_null(get_row(closed, "row1", &err));
    assert_int_equal(err.status, TAMIS_E_BUSY);
    put_row(open, &table, "early", "1"); /* no filter has it yet */
    replace_filter(&(maker){0}, 10);
    wait_for_scans(open, 1);
    wait_for_scans(closed, 1);
    assert_row(closed, "row1", "row1");
    assert_int_equal(find_outcome(closed, "none"), TAMIS_GUARD_MISSING);
    assert_row(open, "early", "1");
    tamis_guard_close(closed);
    tamis_guard_close(open);
    guard_table_release(&table);
}

static void adopt_key(void *context, tamis_key key, const uint8_t token[TAMIS_GUARD_TOKEN]) {
    assert_null(token);
    assert_int_equal(tamis__guard_put_adopt(*(tamis_guard **)context, key, token, NULL), TAMIS_OK);
}

/* The row of a put that has ended is not in the file. */
static void test_a_guard_takes_over_keys(void **state) {
    (void)state;
    guard_table table;
    tamis_guard_source source = TAMIS_GUARD_SOURCE_INIT;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    tamis_guard *guard = NULL;
    guard_table_init(&table);
    put_rows(&table, 10);
    replace_filter(&(maker){0}, 10);
    tamis_guard *old = open_over_file(&table, &options);
    wait_for_filter(old);
    put_row(old, &table, "ended", "1");
    guard_table_source(&table, &source);
    options.source = &source;
    assert_int_equal(tamis__guard_open_held(&guard, &options, NULL), TAMIS_OK);
    tamis__guard_each_put(old, adopt_key, &guard);
    tamis__guard_begin_scans(guard);
    wait_for_filter(guard);
    assert_row(guard, "ended", "1");
    assert_int_equal(find_outcome(guard, "none"), TAMIS_GUARD_MISSING);
    tamis_guard_close(old);
    tamis_guard_close(guard);
    guard_table_release(&table);
}

static void test_a_keyed_file_needs_its_secret(void **state) {
    (void)state;
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    guard_table_init(&table);
    put_rows(&table, 10);
    replace_filter(&(maker){.scheme = TAMIS_SCHEME_SIP}, 10);
    tamis_guard *without = open_over_file(&table, &options);
    options.filter_secret = secret;
    options.filter_secret_size = sizeof secret;
    tamis_guard *with = open_over_file(&table, &options);
    assert_contains(wait_for_failure(without, 1), "secret");
    wait_for_filter(with);
    assert_row(with, "row9", "row9");
    assert_int_equal(find_outcome(with, "none"), TAMIS_GUARD_MISSING);
    assert_int_equal(find_outcome(without, "none"), TAMIS_GUARD_PENDING);
    tamis_guard_close(with);
    tamis_guard_close(without);
    guard_table_release(&table);
}

/* ---- keys of puts ---- */

/* A filter that takes no more keys, or none at all, still has those of puts. */
static void test_puts_of_filters_that_are_full(void **state) {
    (void)state;
    static const maker makers[] = {{.kind = TAMIS_KIND_FINGERPRINT, .expect = 20, .frozen = true},
                                   {.kind = TAMIS_KIND_BLOCKED, .expect = 20},
                                   {.kind = TAMIS_KIND_CUCKOO, .expect = 20},
                                   {.kind = TAMIS_KIND_FINGERPRINT}};
    enum { PUTS = 300 };
    guard_table table;
    char name[16];
    guard_table_init(&table);
    put_rows(&table, 20);
    for (size_t m = 0; m < sizeof makers / sizeof *makers; m++) {
        tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
        replace_filter(&makers[m], 20);
        tamis_guard *guard = open_over_file(&table, &options);
        wait_for_filter(guard);
        for (int i = 0; i < PUTS; i++) {
            snprintf(name, sizeof name, "put%d", i);
            put_row(guard, &table, name, name);
        }
        for (uint64_t scans = 2; scans < 4; scans++) {
            for (int i = 0; i < PUTS; i++) {
                snprintf(name, sizeof name, "put%d", i);
                assert_row(guard, name, name);
            }
            for (int i = 0; i < PUTS; i++) {
                snprintf(name, sizeof name, "none%d", i);
                assert_int_equal(find_outcome(guard, name), TAMIS_GUARD_MISSING);
            }
            assert_row(guard, "row7", "row7");
            replace_filter(&makers[m], 20);
            wait_for_scans(guard, scans);
        }
        tamis_guard_close(guard);
    }
    guard_table_release(&table);
}

/* A key stays until a file has it that was made after its row was written. */
static void test_keys_are_kept_until_a_file_has_them(void **state) {
    (void)state;
    const tamis_allocator memory = tamis__allocator_resolve(NULL);
    guard_added_keys added = {.memory = &memory, .commit_ms = 100};
    const tamis_key known = key_of("row1"), unknown = key_of("none");
    const guard_hash known_hash = {1, 2}, unknown_hash = {1, 3};
    tamis_filter *filter = NULL;
    tamis_answer answer;
    bool fits = false;
    save_filter("f.tamis", &(maker){0}, 10);
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    options.writable = true;
    assert_int_equal(tamis_filter_open(&filter, scratch("f.tamis"), &options, NULL), TAMIS_OK);
    assert_false(tamis__guard_added_keys_contain(&added, known_hash));
    assert_int_equal(tamis__guard_added_keys_add(&added, known, known_hash, 1000, NULL), TAMIS_OK);
    assert_int_equal(tamis__guard_added_keys_add(&added, unknown, unknown_hash, 1000, NULL), TAMIS_OK);
    assert_int_equal(tamis__guard_added_keys_add(&added, known, known_hash, 1001, NULL), TAMIS_OK);
    assert_int_equal(added.count, 2);
    /* the file is too old to tell a row from a false positive */
    assert_int_equal(tamis__guard_added_keys_into(&added, filter, 1100, &fits, NULL), TAMIS_OK);
    assert_true(fits);
    tamis__guard_added_keys_finish(&added);
    assert_true(tamis__guard_added_keys_contain(&added, known_hash));
    assert_true(tamis__guard_added_keys_contain(&added, unknown_hash));
    tamis_filter_free(filter);
    assert_int_equal(tamis_filter_open(&filter, scratch("f.tamis"), &options, NULL), TAMIS_OK);
    assert_int_equal(tamis__guard_added_keys_into(&added, filter, 1101, &fits, NULL), TAMIS_OK);
    tamis__guard_added_keys_finish(&added);
    assert_false(tamis__guard_added_keys_contain(&added, known_hash));
    assert_true(tamis__guard_added_keys_contain(&added, unknown_hash)); /* though the filter has it now */
    assert_int_equal(tamis_filter_contains(filter, "none", 4, &answer, NULL), TAMIS_OK);
    assert_int_equal(answer, TAMIS_PRESENT);
    assert_int_equal(added.count, 1);
    tamis_filter_free(filter);
    tamis__guard_added_keys_release(&added);
}

enum { WRITERS = 2 };

typedef struct writer {
    guard_table *table;
    tamis_guard *guard;
    int number, rows;
    atomic_int written; /* rows that exist */
    uint64_t seed;
} writer;

/* Writes rows through the guard. Each must be found at once, and each older one at any time. */
static void *write_rows(void *context) {
    writer *self = context;
    char name[32];
    uint8_t token[TAMIS_GUARD_TOKEN];
    for (int i = 0; i < self->rows; i++) {
        snprintf(name, sizeof name, "w%d-%d", self->number, i);
        assert_int_equal(tamis_guard_put_begin(self->guard, key_of(name), token, NULL), TAMIS_OK);
        guard_table_put(self->table, name, name);
        assert_int_equal(tamis_guard_put_end(self->guard, key_of(name), token, NULL), TAMIS_OK);
        assert_row(self->guard, name, name);
        atomic_store(&self->written, i + 1);
        pause_ms(test_below(&self->seed, 3));
    }
    return NULL;
}

/* Makes a filter of the rows that exist, as a batch job does, or a list of their keys. */
static void make_file(guard_table *table, bool is_list, uint64_t version) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    tamis_filter *filter = NULL;
    test_bytes text = {0};
    plan_options.fpr = 1e-3;
    plan_options.expect = UINT64_C(4000) << (version % 3); /* false positives differ from file to file */
    metadata.version = version;
    assert_int_equal(tamis_plan_make(&plan, &plan_options, NULL), TAMIS_OK);
    assert_int_equal(tamis_filter_create(&filter, &plan, NULL, NULL), TAMIS_OK);
    pthread_mutex_lock(&table->mutex);
    for (size_t i = 0; i < table->count; i++) {
        const char *key = table->rows[i].key;
        bytes_add(&text, key, strlen(key));
        bytes_add(&text, "\n", 1);
        assert_int_equal(tamis_filter_add(filter, key, strlen(key), NULL, NULL), TAMIS_OK);
    }
    pthread_mutex_unlock(&table->mutex);
    pause_ms(5); /* rows come while the file is on its way */
    assert_int_equal(tamis_filter_metadata_set(filter, &metadata, NULL), TAMIS_OK);
    unlink(scratch("new"));
    if (is_list)
        file_write(scratch("new"), text.data, text.size);
    else
        assert_int_equal(tamis_filter_save(filter, scratch("new"), NULL), TAMIS_OK);
    rename_to("new", "f.tamis");
    bytes_clear(&text);
    tamis_filter_free(filter);
}

static void check_no_row_is_lost(bool is_list) {
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    writer writers[WRITERS];
    pthread_t threads[WRITERS];
    uint64_t seed = test_seed(27), version = 1;
    char name[32];
    const int rows = (int)test_scale(1000, 150, 300);
    guard_table_init(&table);
    put_rows(&table, 50);
    options.cache_bytes = 1 << 20;
    options.timeout_ms = 60000;
    options.mark_ms = 500; /* longer than a put takes */
    if (is_list)
        options.keys_file = scratch("f.tamis");
    make_file(&table, is_list, version++);
    tamis_guard *guard = open_over_file(&table, &options);
    wait_for_filter(guard);
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (writer){&table, guard, i, rows, 0, seed + (uint64_t)i};
        assert_int_equal(pthread_create(&threads[i], NULL, write_rows, &writers[i]), 0);
    }
    for (bool is_running = true; is_running;) {
        is_running = stats_of(guard).scans <= 3;
        make_file(&table, is_list, version++);
        for (int i = 0; i < WRITERS; i++) {
            const int written = atomic_load(&writers[i].written);
            is_running |= written < rows;
            for (int row = 0; row < written; row++) {
                snprintf(name, sizeof name, "w%d-%d", i, row);
                assert_int_equal(find_outcome(guard, name) == TAMIS_GUARD_MISSING, false);
            }
        }
    }
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    assert_true(stats_of(guard).scans > 3);
    tamis_guard_close(guard);
    guard_table_release(&table);
}

static void test_no_row_is_lost_while_filters_change(void **state) {
    (void)state;
    check_no_row_is_lost(false);
}

static void test_no_row_is_lost_while_lists_change(void **state) {
    (void)state;
    check_no_row_is_lost(true);
}

/* ---- lists of keys ---- */

static void test_a_list_of_keys(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } mistakes[] = {
        {"", "keys: has no keys; write one a line"},
        {"\n\n", "keys: has no keys; write one a line"},
        {"row0\nrow1\nrow", "keys: its last line has no end, so it may be cut short"},
    };
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    guard_table_init(&table);
    put_rows(&table, 10);
    options.keys_file = scratch("keys");
    replace_text("keys", "row0\nrow1\r\n\nrow2\n");
    tamis_guard *guard = open_over_file(&table, &options);
    wait_for_filter(guard);
    assert_int_equal(stats_of(guard).filter_keys, 3);
    assert_row(guard, "row1", "row1");
    assert_row(guard, "row2", "row2");
    assert_int_equal(find_outcome(guard, "row3"), TAMIS_GUARD_MISSING);
    put_row(guard, &table, "put", "1");
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        const uint64_t failures = stats_of(guard).failed_scans;
        replace_text("keys", mistakes[i].text);
        assert_contains(wait_for_failure(guard, failures + 1), mistakes[i].message);
        assert_row(guard, "row2", "row2");
        assert_row(guard, "put", "1");
        assert_int_equal(find_outcome(guard, "row3"), TAMIS_GUARD_MISSING);
        const uint64_t scans = stats_of(guard).scans;
        replace_text("keys", "row0\nrow1\nrow2\n");
        wait_for_scans(guard, scans + 1);
    }
    const uint64_t scans = stats_of(guard).scans;
    replace_text("keys", "row3\n");
    wait_for_scans(guard, scans + 1);
    assert_row(guard, "row3", "row3");
    assert_row(guard, "put", "1");
    assert_int_equal(find_outcome(guard, "row2"), TAMIS_GUARD_MISSING);
    tamis_guard_close(guard);
    guard_table_release(&table);
}

static void test_lines_of_any_length(void **state) {
    (void)state;
    test_bytes text = {0};
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    char *line = malloc(TAMIS_GUARD_KEY_MAX + 3);
    assert_non_null(line);
    guard_table_init(&table);
    options.keys_file = scratch("keys");
    for (size_t size = TAMIS_GUARD_KEY_MAX - 1; size < TAMIS_GUARD_KEY_MAX + 2; size++) {
        memset(line, 'a', size);
        line[size] = '\n';
        bytes_add(&text, "before\n", 7);
        bytes_add(&text, line, size + 1);
        bytes_add(&text, "after\n", 6);
        file_write(scratch("keys"), text.data, text.size);
        tamis_guard *guard = open_over_file(&table, &options);
        if (size > TAMIS_GUARD_KEY_MAX) {
            assert_contains(wait_for_failure(guard, 1), "keys: line 8 has more than 65536 bytes; remove it");
        } else {
            const tamis_key key = {line, size};
            tamis_guard_value value = TAMIS_GUARD_VALUE_INIT;
            wait_for_filter(guard);
            assert_int_equal(tamis_guard_find_many(guard, &key, 1, &value, NULL), TAMIS_OK);
            assert_int_equal(value.outcome, TAMIS_GUARD_PENDING);
            assert_int_equal(find_outcome(guard, "after"), TAMIS_GUARD_PENDING);
        }
        tamis_guard_close(guard);
    }
    free(line);
    bytes_clear(&text);
    guard_table_release(&table);
}

/* ---- failures ---- */

static tamis_status count_keys(void *context, const tamis_key *keys, size_t count, tamis_error *err) {
    (void)keys;
    (void)err;
    *(size_t *)context += count;
    return TAMIS_OK;
}

/* Opens a filter, and scans a list. */
static tamis_status open_both(const tamis_allocator *memory) {
    static const guard_file_version none;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    guard_filter_file *file = NULL;
    tamis_filter *filter = NULL;
    guard_file_version version;
    size_t count = 0;
    tamis_guard_scan scan = {count_keys, &count};
    options.filter_file = scratch("f.tamis");
    options.filter_secret = secret;
    options.filter_secret_size = sizeof secret;
    tamis_status status = tamis__guard_filter_file_create(&file, &options, memory, NULL);
    if (status == TAMIS_OK)
        status = tamis__guard_filter_file_open(file, &none, &filter, &version, NULL);
    tamis_filter_free(filter);
    tamis__guard_filter_file_free(file);
    if (status != TAMIS_OK)
        return status;
    file = NULL;
    options.keys_file = scratch("keys");
    options.filter_secret_size = 0;
    status = tamis__guard_filter_file_create(&file, &options, memory, NULL);
    if (status == TAMIS_OK)
        status = tamis__guard_filter_file_scan(file, &none, &scan, &version, NULL);
    tamis__guard_filter_file_free(file);
    if (status == TAMIS_OK)
        assert_int_equal(count, 2);
    return status;
}

static void test_each_call_fails_once(void **state) {
    (void)state;
    static const struct {
        fault_call call;
        int error;
        tamis_status status; /* TAMIS_OK: the call is repeated */
    } failures[] = {{FAULT_STAT, EIO, TAMIS_E_IO},      {FAULT_OPEN, EIO, TAMIS_E_IO},
                    {FAULT_OPEN, EINTR, TAMIS_OK},      {FAULT_FSTAT, EIO, TAMIS_E_IO},
                    {FAULT_READ, EIO, TAMIS_E_IO},      {FAULT_READ, EINTR, TAMIS_OK},
                    {FAULT_PREAD, EIO, TAMIS_E_IO},     {FAULT_PREAD, FAULT_SHORT, TAMIS_OK},
                    {FAULT_READ, FAULT_SHORT, TAMIS_OK}};
    const tamis_allocator allocator = tamis__allocator_resolve(NULL);
    save_filter("f.tamis", &(maker){.scheme = TAMIS_SCHEME_SIP}, 100);
    replace_text("keys", "row0\nrow1\n");
    const size_t descriptors = fault_open_descriptors();
    fault_install();
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++)
        for (uint64_t n = 1;; n++) {
            fault_arm(failures[i].call, n, failures[i].error, false);
            const tamis_status status = open_both(&allocator);
            const bool reached = fault_fired() > 0;
            fault_disarm();
            /* tamis_filter_open does not need its own stat */
            const bool is_expected = status == (reached ? failures[i].status : TAMIS_OK) ||
                                     (failures[i].call == FAULT_STAT && n > 1 && status == TAMIS_OK);
            if (!is_expected)
                fail_msg("%s %d, error %d: status %d", fault_call_name(failures[i].call), (int)n,
                         failures[i].error, (int)status);
            if (!reached)
                break;
        }
    fault_remove();
    assert_int_equal(fault_open_descriptors(), descriptors);
}

static void test_without_memory(void **state) {
    (void)state;
    fault_memory memory = {0};
    const tamis_allocator allocator = fault_memory_allocator(&memory);
    save_filter("f.tamis", &(maker){.scheme = TAMIS_SCHEME_SIP}, 100);
    replace_text("keys", "row0\nrow1\n");
    for (uint64_t n = 1;; n++) {
        memory.requests = memory.refused = 0;
        memory.fail_at = n;
        const tamis_status status = open_both(&allocator);
        assert_int_equal(memory.live_blocks, 0);
        if (!memory.refused) {
            assert_int_equal(status, TAMIS_OK);
            assert_true(n > 3);
            break;
        }
        assert_int_equal(status, TAMIS_E_NOMEM);
    }
}

static void test_wrong_options(void **state) {
    (void)state;
    guard_table table;
    tamis_guard_source source = TAMIS_GUARD_SOURCE_INIT;
    tamis_guard *guard = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    guard_table_init(&table);
    static const char secret_message[] =
        "guard: filter_secret needs filter_secret_size, and filter_file or redis_filter; set all three";
    for (int i = 0; i < 6; i++) {
        const char *const messages[] = {
            "guard: the filter comes from a file or Redis, and the source has `scan`; use one",
            "guard: two of filter_file, keys_file and redis_filter are set; use one",
            secret_message,
            secret_message,
            ("guard: a file with Redis and puts needs news_ms, longer than the file is used; set it, or "
             "without_puts"),
            "guard: redis_filter needs `redis`; set both"};
        tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
        guard_table_source(&table, &source);
        if (i == 0)
            guard_table_source_scanned(&table, &source);
        options.source = &source;
        options.filter_file = i == 2 || i == 5 ? NULL : "f";
        options.redis_filter = i == 5 ? "r" : NULL;
        options.keys_file = i == 1 || i == 2 ? "k" : NULL;
        options.filter_secret = i == 2 || i == 3 ? secret : NULL;
        options.filter_secret_size = i == 2 ? sizeof secret : 0;
        options.redis = i == 4 ? "redis://127.0.0.1:1" : NULL;
        assert_int_equal(tamis_guard_open(&guard, &options, &err), TAMIS_E_INVALID);
        assert_string_equal(err.text, messages[i]);
    }
    guard_table_release(&table);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_set_up, scratch_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_a_file_answers_and_is_replaced),
        TEST(test_a_batch_of_both),
        TEST(test_bad_files_change_nothing),
        TEST(test_a_file_that_is_overwritten),
        TEST(test_modes_until_the_first_file),
        TEST(test_a_guard_takes_over_keys),
        TEST(test_a_keyed_file_needs_its_secret),
        TEST(test_puts_of_filters_that_are_full),
        TEST(test_keys_are_kept_until_a_file_has_them),
        TEST(test_no_row_is_lost_while_filters_change),
        TEST(test_no_row_is_lost_while_lists_change),
        TEST(test_a_list_of_keys),
        TEST(test_lines_of_any_length),
        TEST(test_each_call_fails_once),
        TEST(test_without_memory),
        TEST(test_wrong_options),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

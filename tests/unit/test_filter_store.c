/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Named filters, without a network. The oracle of each test is a list of the keys that were answered as new:
 * each is present from then on, whatever fails and whenever the store is opened again.
 */
#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/system.h"
#include "server/filter_store.h"
#include "support/fault.h"
#include "support/scratch.h"

enum { ITEMS = 8 };

/* A command and the memory of its items. */
typedef struct test_command {
    filter_command command;
    char texts[ITEMS][16];
    tamis_key items[ITEMS];
    tamis_answer answers[ITEMS];
} test_command;

static unsigned lines; /* of the log */

static int remove_path(const char *path, const struct stat *st, int type, struct FTW *position) {
    (void)st;
    (void)type;
    (void)position;
    return remove(path);
}

/* Removes the filters, whose directories are too deep for scratch_remove. */
static void remove_filters(void) {
    assert_int_equal(nftw(scratch("filters"), remove_path, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void count_line(void *context, const char *line) {
    (void)context;
    (void)line;
    lines++;
}

static filter_store *open_store_of(const server_filters *settings) {
    const tamis_allocator memory = tamis__allocator_resolve(NULL);
    tamis_error err = TAMIS_ERROR_INIT;
    filter_store *store = NULL;

    if (tamis__filter_store_open(&store, settings, &memory, count_line, NULL, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    tamis__filter_store_load(store);
    return store;
}

static server_filters test_settings(void) {
    return (server_filters){scratch("filters"), 0.001, 100, 4, 4 << 20};
}

static filter_store *open_store(void) {
    const server_filters settings = test_settings();
    return open_store_of(&settings);
}

/* Sets a command for the items number `from` to `from + count - 1`. */
static void set_command(test_command *made, filter_verb verb, const char *name, int from, size_t count) {
    *made = (test_command){.command = {.verb = verb, .name = {name, strlen(name)}, .count = count}};
    for (size_t i = 0; i < count; i++) {
        snprintf(made->texts[i], sizeof made->texts[i], "key %d", from + (int)i);
        made->items[i] = (tamis_key){made->texts[i], strlen(made->texts[i])};
    }
    made->command.items = made->items;
    made->command.answers = made->answers;
}

static void run_one(filter_store *store, test_command *command) {
    tamis__filter_store_run(store, &command->command);
}

/* Runs a command of one item and returns its answer, or -1 after an error. */
static int answer_one(filter_store *store, filter_verb verb, const char *name, int item) {
    test_command command;

    set_command(&command, verb, name, item, 1);
    run_one(store, &command);
    const int answer = command.command.error ? -1 : command.answers[0];
    tamis__filter_command_release(&command.command);
    return answer;
}

/* ---- names ---- */

static void check_name(const char *bytes, size_t size, const char *expected) {
    char file[FILTER_FILE_MAX + 1], name[FILTER_FILE_MAX];
    size_t length = 0;

    assert_true(tamis__filter_name_encode(file, (tamis_key){bytes, size}));
    assert_string_equal(file, expected);
    assert_true(tamis__filter_name_decode(name, &length, file));
    assert_int_equal(length, size);
    assert_memory_equal(name, bytes, size);
}

static void test_names(void **state) {
    (void)state;
    char bytes[256], file[FILTER_FILE_MAX + 1], name[FILTER_FILE_MAX];
    size_t size;

    check_name("users", 5, "users");
    check_name("", 0, "%");
    check_name("%", 1, "%25");
    check_name("..", 2, "%2E.");
    check_name("a/b\0c", 5, "a%2Fb%00c");
    check_name("a.b-c_D9", 8, "a.b-c_D9");
    for (int i = 0; i < 256; i++) {
        const char byte = (char)i;
        assert_true(tamis__filter_name_encode(file, (tamis_key){&byte, 1}));
        assert_true(tamis__filter_name_decode(name, &size, file));
        assert_int_equal(size, 1);
        assert_int_equal(name[0], byte);
        assert_null(strchr(file, '/'));
    }
    memset(bytes, 'x', sizeof bytes);
    assert_true(tamis__filter_name_encode(file, (tamis_key){bytes, 255}));
    assert_false(tamis__filter_name_encode(file, (tamis_key){bytes, 256}));
    memset(bytes, '/', sizeof bytes);
    assert_true(tamis__filter_name_encode(file, (tamis_key){bytes, 85}));
    assert_false(tamis__filter_name_encode(file, (tamis_key){bytes, 86}));
    static const char *const foreign[] = {".hidden", "a b", "%2", "%2f", "%61", "a%", "%%", "", "lost+found"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        assert_false(tamis__filter_name_decode(name, &size, foreign[i]));
}

/* ---- commands ---- */

static void test_batch(void **state) {
    (void)state;
    test_command commands[5];
    filter_store *store = open_store();
    filter_stats stats;

    set_command(&commands[0], FILTER_EXISTS, "a", 1, 1);
    set_command(&commands[1], FILTER_ADD, "a", 1, 3);
    set_command(&commands[2], FILTER_ADD, "a", 2, 3);
    set_command(&commands[3], FILTER_EXISTS, "a", 3, 3);
    set_command(&commands[4], FILTER_CARD, "a", 0, 0);
    for (int i = 0; i < 4; i++)
        commands[i].command.next = &commands[i + 1].command;
    run_one(store, &commands[0]);
    assert_int_equal(commands[0].answers[0], TAMIS_ABSENT);
    static const tamis_answer second[] = {TAMIS_PRESENT, TAMIS_PRESENT, TAMIS_ABSENT},
                              third[] = {TAMIS_PRESENT, TAMIS_PRESENT, TAMIS_ABSENT};
    assert_memory_equal(commands[2].answers, second, 3);
    assert_memory_equal(commands[3].answers, third, 3);
    assert_true(commands[4].command.is_found);
    assert_int_equal(commands[4].command.numbers.keys, 4);
    tamis__filter_store_stats(store, &stats);
    assert_int_equal(stats.commits, 1);
    assert_int_equal(stats.added, 4);
    assert_int_equal(stats.filters, 1);
    tamis__filter_store_close(store);
    store = open_store();
    assert_int_equal(answer_one(store, FILTER_EXISTS, "a", 4), TAMIS_PRESENT);
    assert_int_equal(answer_one(store, FILTER_EXISTS, "b", 4), TAMIS_ABSENT);
    tamis__filter_store_stats(store, &stats);
    assert_int_equal(stats.keys, 4);
    assert_int_equal(stats.commits, 0); /* lookups commit nothing */
    tamis__filter_store_close(store);
}

static void reserve(filter_store *store, const char *name, uint64_t capacity, uint32_t expansion,
                    const char *expected) {
    test_command command;

    set_command(&command, FILTER_RESERVE, name, 0, 0);
    command.command.creation = (filter_creation){0.01, capacity, expansion};
    run_one(store, &command);
    if (expected)
        assert_string_equal(command.command.error, expected);
    else
        assert_null(command.command.error);
    tamis__filter_command_release(&command.command);
}

static void test_limits(void **state) {
    (void)state;
    test_command command;
    filter_store *store = open_store();

    reserve(store, "fixed", 3, 0, NULL);
    reserve(store, "fixed", 3, 0, "ERR item exists");
    set_command(&command, FILTER_ADD, "fixed", 1, 5);
    run_one(store, &command);
    assert_int_equal(command.command.done, 3);
    assert_false(command.command.is_whole);
    assert_string_equal(command.command.error, "ERR non scaling filter is full");
    for (int i = 0; i < 100; i++) /* of 4 MiB: leaves nothing behind */
        reserve(store, i % 2 ? "large" : "larger", 100000000, 0, "ERR Insufficient memory to create filter");
    assert_false(file_exists(scratch("filters/large")));
    reserve(store, "b", 100, 2, NULL);
    reserve(store, "c", 100000, 2, NULL);
    reserve(store, "d", 100, 2, NULL);
    reserve(store, "e", 100, 2,
            "ERR no more filters: their number is at filters: max of the configuration; raise it");
    set_command(&command, FILTER_INFO, "c", 0, 0);
    run_one(store, &command);
    assert_int_equal(command.command.numbers.capacity, 100000);
    int item = 0;
    do { /* until the memory is used up */
        set_command(&command, FILTER_ADD, "b", item += ITEMS, ITEMS);
        run_one(store, &command);
    } while (!command.command.error && item < 10000000);
    assert_memory_equal(command.command.error, "OOM ", 4);
    assert_true(command.command.is_whole);
    assert_int_equal(answer_one(store, FILTER_EXISTS, "b", ITEMS), TAMIS_PRESENT);
    tamis__filter_store_close(store);
    store = open_store();
    reserve(store, "fixed", 3, 0, "ERR item exists");
    for (int i = 1; i <= 3; i++)
        assert_int_equal(answer_one(store, FILTER_EXISTS, "fixed", i), TAMIS_PRESENT);
    assert_int_equal(answer_one(store, FILTER_ADD, "fixed", 3), -1); /* the memory is still used up */
    tamis__filter_store_close(store);
}

/* ---- failures ---- */

/* Adds one item after the other to a new filter, while a call fails. Returns false if it was not reached. */
static bool add_with_fault(fault_call call, uint64_t nth, int number, bool onwards) {
    bool is_new[40] = {false};
    filter_store *store = open_store();

    fault_install();
    tamis__sys.thread = fault_no_thread;
    fault_arm(call, nth, number, onwards);
    for (int i = 0; i < 20; i++)
        is_new[i] = answer_one(store, FILTER_ADD, "a", i) == TAMIS_ABSENT;
    const bool reached = fault_fired() > 0;
    fault_disarm();
    fault_remove();
    for (int pass = 0; pass < 3; pass++) {
        if (pass > 0) { /* the same after a start */
            tamis__filter_store_close(store);
            store = open_store();
        }
        if (pass == 0 && answer_one(store, FILTER_ADD, "a", 39) < 0)
            continue; /* the state could not be opened again, and the next attempt is a second later */
        for (int i = 0; i < 20; i++) {
            if (is_new[i])
                assert_int_equal(answer_one(store, FILTER_EXISTS, "a", i), TAMIS_PRESENT);
            const int answer = answer_one(store, FILTER_ADD, "a", i);
            assert_int_not_equal(answer, -1);
            assert_false(is_new[i] && answer == TAMIS_ABSENT);
            is_new[i] |= answer == TAMIS_ABSENT || pass > 0;
        }
    }
    tamis__filter_store_close(store);
    return reached;
}

static void test_failed_calls(void **state) {
    (void)state;
    static const fault_call calls[] = {FAULT_WRITE, FAULT_PWRITE, FAULT_SYNC, FAULT_RENAME, FAULT_OPEN,
                                       FAULT_MKDIR, FAULT_FSTAT,  FAULT_LOCK, FAULT_LIST};
    const uint64_t step = test_scale(3, 11, 17);

    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        bool reached = true;
        for (uint64_t n = 1; reached; n += step) {
            reached = add_with_fault(calls[c], n, ENOSPC, n % 2 == 0);
            assert_true(reached || n > 1 || c > 2); /* writes and syncs happen */
            remove_filters();
        }
    }
}

static void test_failed_commit(void **state) {
    (void)state;
    test_command commands[4];
    filter_store *store = open_store();
    filter_stats stats;

    assert_int_equal(answer_one(store, FILTER_ADD, "a", 1), TAMIS_ABSENT);
    assert_int_equal(answer_one(store, FILTER_ADD, "b", 1), TAMIS_ABSENT);
    set_command(&commands[0], FILTER_ADD, "a", 2, 2);
    set_command(&commands[1], FILTER_EXISTS, "a", 2, 1);
    set_command(&commands[2], FILTER_EXISTS, "b", 1, 1);
    set_command(&commands[3], FILTER_ADD, "a", 2, 1);
    for (int i = 0; i < 3; i++)
        commands[i].command.next = &commands[i + 1].command;
    lines = 0;
    fault_install();
    fault_arm(FAULT_SYNC, 1, EIO, false);
    run_one(store, &commands[0]);
    fault_disarm();
    fault_remove();
    /* All commands of the filter have the error, and those of another one have none. */
    for (int i = 0; i < 4; i++) {
        assert_int_equal(commands[i].command.error != NULL, i != 2);
        if (i != 2)
            assert_memory_equal(commands[i].command.error, "IOERR ", 6);
        tamis__filter_command_release(&commands[i].command);
    }
    assert_int_equal(lines, 1);
    tamis__filter_store_stats(store, &stats);
    assert_int_equal(stats.failed_commits, 1);
    assert_int_equal(answer_one(store, FILTER_EXISTS, "a", 1), TAMIS_PRESENT);
    assert_int_equal(answer_one(store, FILTER_ADD, "a", 4), TAMIS_ABSENT);
    assert_int_equal(lines, 2); /* it works again */
    tamis__filter_store_close(store);
}

/* Memory that is short is an error of some commands, and takes no answered key. */
static void test_short_memory(void **state) {
    (void)state;
    const server_filters settings = test_settings();
    const uint64_t step = test_scale(1, 7, 7);

    for (uint64_t n = 1;; n += step) {
        fault_memory counted = {.fail_at = n};
        const tamis_allocator memory = fault_memory_allocator(&counted);
        bool is_new[30] = {false};
        filter_store *store = NULL;

        fault_install(); /* the allocator is for one thread */
        tamis__sys.thread = fault_no_thread;
        const tamis_status status = tamis__filter_store_open(&store, &settings, &memory, NULL, NULL, NULL);
        for (int i = 0; status == TAMIS_OK && i < 30; i++)
            is_new[i] = answer_one(store, FILTER_ADD, i % 10 ? "a" : "b", i) == TAMIS_ABSENT;
        tamis__filter_store_close(store);
        fault_remove();
        assert_int_equal(counted.live_blocks, 0);
        store = open_store();
        for (int i = 0; i < 30; i++)
            if (is_new[i])
                assert_int_equal(answer_one(store, FILTER_ADD, i % 10 ? "a" : "b", i), TAMIS_PRESENT);
        tamis__filter_store_close(store);
        remove_filters();
        if (counted.refused == 0)
            break;
    }
}

/* One store at a time: another one would not know its new filters. */
static void test_lock(void **state) {
    (void)state;
    const tamis_allocator memory = tamis__allocator_resolve(NULL);
    const server_filters settings = test_settings();
    tamis_error err = TAMIS_ERROR_INIT;
    filter_store *store = open_store(), *second = NULL;

    assert_int_equal(tamis__filter_store_open(&second, &settings, &memory, NULL, NULL, &err), TAMIS_E_BUSY);
    assert_non_null(strstr(err.text, "another server has its filters open"));
    assert_null(second);
    tamis__filter_store_close(store);
    tamis__filter_store_close(open_store());
}

/* A filter that cannot be read is not absent. */
static void test_damage(void **state) {
    (void)state;
    test_bytes manifest = {NULL, 0, 0};
    filter_store *store = open_store();

    assert_int_equal(answer_one(store, FILTER_ADD, "a", 1), TAMIS_ABSENT);
    tamis__filter_store_close(store);
    file_read(scratch("filters/a/manifest"), &manifest);
    file_write(scratch("filters/a/manifest"), "something else", 14);
    lines = 0;
    store = open_store();
    assert_int_equal(answer_one(store, FILTER_EXISTS, "a", 1), -1);
    assert_int_equal(answer_one(store, FILTER_ADD, "a", 2), -1);
    assert_int_equal(answer_one(store, FILTER_ADD, "b", 2), TAMIS_ABSENT);
    assert_int_equal(lines, 1);
    file_write(scratch("filters/a/manifest"), manifest.data, manifest.size);
    bytes_clear(&manifest);
    while (answer_one(store, FILTER_EXISTS, "a", 1) < 0) /* tried again each second */
        pause_ms(20);
    assert_int_equal(answer_one(store, FILTER_ADD, "a", 1), TAMIS_PRESENT);
    tamis__filter_store_close(store);
}

static int set_up(void **state) {
    (void)state;
    scratch_make_in_memory();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    if (file_exists(scratch("filters")))
        remove_filters();
    scratch_remove();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test_setup_teardown(test_batch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failed_calls, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failed_commit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_short_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lock, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damage, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

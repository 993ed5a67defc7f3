/* SPDX-License-Identifier: BSD-2-Clause */

/* Every release must give the same answers for files of format 1, and the same messages for bad ones. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <tamis/tamis.h>

#include "golden/golden_reader.h"
#include "support/scratch.h"

static const char secret[] = "a secret of 25 characters";

static const char *path_of(const char *directory, const char *name) {
    static char path[4096];
    const char *source = getenv("TAMIS_SOURCE_DIR");
    snprintf(path, sizeof path, "%s/tests/golden/format-1/%s/%s.tamis", source ? source : ".", directory,
             name);
    return path;
}

/* Calls `check` with the name of each .tamis file in the directory, and returns their number. */
static int for_each(const char *directory, void (*check)(const char *name)) {
    char path[4096], name[256];
    const char *source = getenv("TAMIS_SOURCE_DIR");
    int count = 0;
    snprintf(path, sizeof path, "%s/tests/golden/format-1/%s", source ? source : ".", directory);
    DIR *files = opendir(path);
    if (!files)
        fail_msg("%s: cannot be opened; set TAMIS_SOURCE_DIR", path);
    for (const struct dirent *entry; (entry = readdir(files));) {
        size_t size = strlen(entry->d_name);
        if (size <= 6 || strcmp(entry->d_name + size - 6, ".tamis") != 0)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(size - 6), entry->d_name);
        check(name);
        count++;
    }
    closedir(files);
    return count;
}

static tamis_open_options options_for(const char *name) {
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    options.format = TAMIS_FORMAT_TAMIS;
    if (strstr(name, "-sip")) {
        options.secret = secret;
        options.secret_size = sizeof secret - 1;
    }
    return options;
}

/* ---- good files ---- */

/* A query is a key in hexadecimal, or a hash as X:Y. */
static tamis_answer answer_of(const tamis_filter *filter, const char *query) {
    uint8_t key[64];
    tamis_answer answer = TAMIS_UNKNOWN;
    tamis_error err = TAMIS_ERROR_INIT;
    const char *colon = strchr(query, ':');
    tamis_status status;
    if (colon) {
        tamis_hash hash;
        tamis_key none = {NULL, 0};
        assert_int_equal(tamis_hash_many(tamis_filter_hasher(filter), &none, 1, &hash, NULL), TAMIS_OK);
        hash.word[0] = strtoull(query, NULL, 16);
        hash.word[1] = strtoull(colon + 1, NULL, 16);
        status = tamis_filter_contains_hashes(filter, &hash, 1, &answer, NULL, &err);
    } else {
        assert_true(strlen(query) <= 2 * sizeof key);
        status = tamis_filter_contains(filter, key, golden_bytes(query, key), &answer, &err);
    }
    if (status != TAMIS_OK)
        fail_msg("%s", err.text);
    return answer;
}

static void check_answers(const tamis_filter *filter, const char *name) {
    char path[512];
    int lines = 0;
    snprintf(path, sizeof path, "format-1/good/%s.lookups", name);
    for (golden g = golden_open(path); golden_next(&g); lines++)
        if (answer_of(filter, g.field[0]) != (*g.field[1] == '1' ? TAMIS_PRESENT : TAMIS_ABSENT))
            fail_msg("%s: %s is not answered with %s", name, g.field[0], g.field[1]);
    assert_true(lines >= 60);
}

/* A frozen table refuses a key beyond its capacity. Other tables grow and lose no key of the file. */
static void check_growth(tamis_filter *filter, const char *name) {
    const tamis_plan *plan = tamis_filter_plan(filter);
    const bool table = !tamis_kind_is_bloom(plan->kind) && plan->kind != TAMIS_KIND_CUCKOO,
               frozen = strstr(name, "-frozen") != NULL;
    const uint64_t capacity = plan->capacity;
    char path[512];
    tamis_status status = TAMIS_OK;
    assert_int_equal(tamis_filter_can(filter, TAMIS_CAN_GROW),
                     (table || strstr(name, "cuckoo-growing")) && !frozen);
    if (!table || capacity == 0 || plan->kind == TAMIS_KIND_WINDOW)
        return;
    for (uint64_t i = 0; i <= capacity && status == TAMIS_OK; i++)
        status = tamis_filter_add(filter, &i, sizeof i, NULL, NULL);
    assert_int_equal(status, frozen ? TAMIS_E_FULL : TAMIS_OK);
    if (frozen)
        assert_int_equal(plan->capacity, capacity);
    else
        assert_true(plan->capacity > capacity);
    snprintf(path, sizeof path, "format-1/good/%s.lookups", name);
    for (golden g = golden_open(path); golden_next(&g);)
        if (*g.field[1] == '1' && answer_of(filter, g.field[0]) != TAMIS_PRESENT)
            fail_msg("%s: %s is absent after more keys were added", name, g.field[0]);
}

static void check_good(const char *name) {
    tamis_open_options options = options_for(name);
    tamis_error err = TAMIS_ERROR_INIT;
    for (int writable = 0; writable < 2; writable++) {
        tamis_filter *filter = NULL;
        options.writable = writable;
        if (tamis_filter_open(&filter, path_of("good", name), &options, &err) != TAMIS_OK)
            fail_msg("%s", err.text);
        tamis_metadata metadata = TAMIS_METADATA_INIT;
        assert_int_equal(tamis_filter_metadata_get(filter, &metadata, NULL), TAMIS_OK);
        assert_int_equal(metadata.label_count, 1);
        assert_string_equal(metadata.labels[0].name, "name");
        assert_string_equal(metadata.labels[0].value, name);
        assert_true(metadata.version != 0 && metadata.created > 1700000000);
        assert_int_equal(metadata.key_type,
                         strcmp(name, "classic-keys") == 0 ? TAMIS_KEYS_INT32 : TAMIS_KEYS_UNSPECIFIED);
        assert_int_equal(metadata.data_size, strstr(name, "fnv-dcso") ? 9 : 0);
        if (metadata.data_size)
            assert_memory_equal(metadata.data, "user data", 9);
        check_answers(filter, name);
        assert_int_equal(tamis_filter_verify(filter, NULL), TAMIS_OK);
        if (writable)
            check_growth(filter, name);
        tamis_filter_free(filter);
    }
}

static void good_files_give_the_same_answers(void **state) {
    (void)state;
    assert_int_equal(for_each("good", check_good), 29);
}

/* ---- bad files ---- */

static void check_bad(const char *name, tamis_status status, const char *message) {
    char expected[8192];
    test_bytes bytes = {NULL, 0, 0};
    tamis_open_options options = options_for("");
    tamis_filter *filter = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    const char *path = path_of("bad", name);
    file_read(path, &bytes);
    snprintf(expected, sizeof expected, "filter: %s", message);
    assert_int_equal(tamis_filter_decode(&filter, bytes.data, bytes.size, &options, &err), status);
    assert_null(filter);
    assert_string_equal(err.text, expected);
    bytes_clear(&bytes);

    /* In a mapped file, damage of the body is found when the block is read. */
    snprintf(expected, sizeof expected, "%s: %s", path, message);
    tamis_status opened = tamis_filter_open(&filter, path, &options, &err);
    if (opened == TAMIS_OK)
        opened = tamis_filter_verify(filter, &err);
    assert_int_equal(opened, status);
    if (strlen(expected) < sizeof err.text) /* a long path cuts the message */
        assert_string_equal(err.text, expected);
    tamis_filter_free(filter);
}

static void check_listed(const char *name) {
    bool listed = false;
    for (golden g = golden_open("format-1/bad/messages.tsv"); golden_next(&g);)
        listed |= strcmp(g.field[0], name) == 0;
    if (!listed)
        fail_msg("%s: has no message", name);
}

static void bad_files_give_the_same_message(void **state) {
    (void)state;
    int messages = 0;
    for (golden g = golden_open("format-1/bad/messages.tsv"); golden_next(&g); messages++) {
        assert_int_equal(g.fields, 3);
        check_bad(g.field[0], (tamis_status)strtol(g.field[1], NULL, 10), g.field[2]);
    }
    assert_true(messages > 100);
    assert_int_equal(for_each("bad", check_listed), messages);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_files_give_the_same_answers),
        cmocka_unit_test(bad_files_give_the_same_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

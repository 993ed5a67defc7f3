/* SPDX-License-Identifier: BSD-2-Clause */

/* Times of records: texts and their milliseconds, by Python's datetime; and the time part of an extractor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/experimental/extract.h>

static void texts_with_a_time(void **state) {
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = {
        {"0", 0},
        {"1764110400", 1764110400000},
        {" 1764110400\t", 1764110400000},
        {"1764110400.25", 1764110400250},
        {"1764110400.123987", 1764110400123},
        {"99999999999", 99999999999000},
        {"100000000000", 100000000000},
        {"1764110400250", 1764110400250},
        {"1764110400250.9", 1764110400250},
        {"100000000000000", 100000000000000},
        {"1970-01-01T00:00:00Z", 0},
        {"1970-01-01T00:00:00.5z", 500},
        {"2000-02-29T12:34:56Z", 951827696000},
        {"2025-11-25T22:40:00Z", 1764110400000},
        {"2025-11-25 22:40:00Z", 1764110400000},
        {"2025-11-25t23:40:00.25+01:00", 1764110400250},
        {"2025-11-25T17:10:00-05:30", 1764110400000},
        {"2016-12-31T23:59:60Z", 1483228800000}, /* a leap second: the second after it */
        {"2100-03-01T00:00:00Z", 4107542400000},
        {"9999-12-31T23:59:59.999Z", 253402300799999},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t ms = -1;
        if (!tamis_time_parse(&ms, rows[i].text, strlen(rows[i].text)) || ms != rows[i].ms)
            fail_msg("%s: %lld, not %lld", rows[i].text, (long long)ms, (long long)rows[i].ms);
    }
}

static void texts_without_a_time(void **state) {
    static const char *const texts[] = {"",
                                        " ",
                                        "x",
                                        "-1",
                                        "+1",
                                        "1.",
                                        ".5",
                                        "1e9",
                                        "0x10",
                                        "1 2",
                                        "100000000000001",
                                        "1764110400000000",
                                        "99999999999999999999",
                                        "1764110400s",
                                        "2025-11-25",
                                        "2025-11-25T22:40Z",
                                        "2025-11-25T22:40:00",
                                        "2025-11-25T22:40:00+0100",
                                        "2025-11-25T22:40:00+01:60",
                                        "2025-11-25T24:00:00Z",
                                        "2025-11-25T22:60:00Z",
                                        "2025-11-25T22:40:61Z",
                                        "2025-13-01T00:00:00Z",
                                        "2025-00-01T00:00:00Z",
                                        "2025-01-00T00:00:00Z",
                                        "2025-02-29T00:00:00Z",
                                        "2100-02-29T00:00:00Z",
                                        "2025-04-31T00:00:00Z",
                                        "2025-11-25T22:40:00.Z",
                                        "2025-11-25T22:40:00ZZ",
                                        "1969-12-31T23:59:59Z",
                                        "1970-01-01T00:00:00+00:01",
                                        "20251125T224000Z"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int64_t ms = 7;
        if (tamis_time_parse(&ms, texts[i], strlen(texts[i])))
            fail_msg("%s: %lld, but it is not a time", texts[i], (long long)ms);
        assert_int_equal(ms, 7);
    }
}

static tamis_extractor *create_extractor(const char *const *parts, size_t count, const char *time) {
    tamis_extractor_options options = TAMIS_EXTRACTOR_OPTIONS_INIT;
    tamis_extractor *extractor = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    options.parts = parts;
    options.part_count = count;
    options.time = time;
    if (tamis_extractor_create(&extractor, &options, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    assert_true(tamis_extractor_has_time(extractor));
    assert_int_equal(tamis_extractor_value_count(extractor), count ? count : 1);
    return extractor;
}

static void extracts(tamis_extractor *extractor, const char *text, const char *key, int64_t time) {
    const tamis_key record = {text, strlen(text)};
    tamis_extraction found;
    assert_int_equal(tamis_extractor_extract(extractor, &record, 1, &found, NULL), TAMIS_OK);
    assert_int_equal(found.outcome, TAMIS_KEY_FOUND);
    assert_int_equal(found.key.size, strlen(key));
    assert_memory_equal(found.key.data, key, strlen(key));
    assert_int_equal(found.time, time);
}

static void is_malformed(tamis_extractor *extractor, const char *text, const char *why, size_t pos) {
    const tamis_key record = {text, strlen(text)};
    tamis_extraction found;
    assert_int_equal(tamis_extractor_extract(extractor, &record, 1, &found, NULL), TAMIS_OK);
    assert_int_equal(found.outcome, TAMIS_KEY_MALFORMED);
    assert_non_null(strstr(found.why, why));
    assert_int_equal(found.pos, pos);
}

static void the_time_is_no_part_of_the_key(void **state) {
    const char *const id[] = {"json:/id"}, *const field[] = {"field:2"};
    (void)state;
    tamis_extractor *extractor = create_extractor(id, 1, "json:/at");
    extracts(extractor, "{\"at\":5,\"id\":\"a\"}", "a", 5000);
    extracts(extractor, "{\"id\":\"a\",\"at\":\"1970-01-01T00:00:01Z\"}", "a", 1000);
    is_malformed(extractor, "{\"id\":\"a\"}", "no time", 0);
    is_malformed(extractor, "{\"id\":\"a\",\"at\":\"yesterday\"}", "RFC 3339", 16);
    is_malformed(extractor, "{\"id\":", "", 6);
    tamis_extractor_free(extractor);
    extractor = create_extractor(field, 1, "field:1");
    extracts(extractor, "7\tkey\tmore", "key", 7000);
    tamis_extractor_free(extractor);
    extractor = create_extractor(field, 1, "regex:at=(\\d+)");
    extracts(extractor, "x\tkey\tat=12", "key", 12000);
    tamis_extractor_free(extractor);
    extractor = create_extractor(NULL, 0, "field:1");
    extracts(extractor, "7\tkey", "7\tkey", 7000);
    tamis_extractor_free(extractor);
}

static void joined_keys_are_those_without_a_time(void **state) {
    const char *const parts[] = {"csv:2", "csv:1"};
    const char text[] = "a,b,1764110400";
    const tamis_key record = {text, strlen(text)};
    tamis_extractor_options options = TAMIS_EXTRACTOR_OPTIONS_INIT;
    tamis_extraction with, without;
    tamis_extractor *plain = NULL, *timed = create_extractor(parts, 2, "csv:3");
    (void)state;
    options.parts = parts;
    options.part_count = 2;
    assert_int_equal(tamis_extractor_create(&plain, &options, NULL), TAMIS_OK);
    assert_false(tamis_extractor_has_time(plain));
    assert_int_equal(tamis_extractor_extract(timed, &record, 1, &with, NULL), TAMIS_OK);
    assert_int_equal(tamis_extractor_extract(plain, &record, 1, &without, NULL), TAMIS_OK);
    assert_int_equal(with.time, 1764110400000);
    assert_int_equal(with.key.size, without.key.size);
    assert_memory_equal(with.key.data, without.key.data, with.key.size);
    tamis_extractor_free(plain);
    tamis_extractor_free(timed);
}

static void a_wrong_time_part_is_refused(void **state) {
    static const char *const parts[] = {"nothing", "json:x", "regex:(a)(b)", "field:0"};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        tamis_extractor_options options = TAMIS_EXTRACTOR_OPTIONS_INIT;
        tamis_extractor *extractor = NULL;
        tamis_error err = TAMIS_ERROR_INIT;
        options.time = parts[i];
        assert_int_equal(tamis_extractor_create(&extractor, &options, &err), TAMIS_E_INVALID);
        assert_null(extractor);
        assert_non_null(strstr(err.text, parts[i]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_with_a_time),
        cmocka_unit_test(texts_without_a_time),
        cmocka_unit_test(the_time_is_no_part_of_the_key),
        cmocka_unit_test(joined_keys_are_those_without_a_time),
        cmocka_unit_test(a_wrong_time_part_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

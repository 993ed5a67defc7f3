/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of counters: parts of a record, escaped values, and templates that are refused. */
#include "kafka/kafka_template.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Makes the name for a record with this key and value; NULL: it has none. Static storage. */
static const char *name_of(const char *text, const char *time, char *key, char *value) {
    static kafka_counter counter;
    tamis_extractor_options extract = TAMIS_EXTRACTOR_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    kafka_template *made;
    rd_kafka_message_t message = {
        .key = key, .key_len = key ? strlen(key) : 0, .payload = value, .len = value ? strlen(value) : 0};
    rd_kafka_message_t *messages[] = {&message};

    extract.time = time;
    assert_int_equal(tamis__kafka_template_create(&made, text, &extract, &err), TAMIS_OK);
    assert_int_equal(tamis__kafka_template_read(made, messages, 1, &err), TAMIS_OK);
    tamis__kafka_template_name(made, &message, 0, &counter);
    tamis__kafka_template_free(made);
    if (counter.outcome != TAMIS_KEY_FOUND)
        return NULL;
    counter.name[counter.size] = '\0';
    return counter.name;
}

static void names(void **state) {
    char value[] = "{\"page\":\"/a b\",\"n\":7,\"ts\":1764110400}", empty[] = "", key[] = "k:{1}%";

    (void)state;
    assert_string_equal(name_of("total", NULL, NULL, NULL), "total");
    assert_string_equal(name_of("p:{json:/page}:{json:/n}", NULL, NULL, value), "p:/a%20b:7");
    assert_string_equal(name_of("{kafka:key}:x", NULL, key, NULL), "k%3A%7B1%7D%25:x");
    assert_string_equal(name_of("k:{kafka:key}", NULL, empty, NULL), "k:");
    assert_string_equal(name_of("{month} {day} {hour}", "json:/ts", NULL, value),
                        "2025-11 2025-11-25 2025-11-25T22");
    assert_string_equal(name_of("r:{regex:[0-9]{2}}", NULL, NULL, value), "r:17");
    assert_null(name_of("k:{kafka:key}", NULL, NULL, value));
    assert_null(name_of("p:{json:/none}", NULL, NULL, value));
    assert_null(name_of("p:{json:/page}", NULL, NULL, NULL));
    assert_null(name_of("d:{day}", "json:/page", NULL, value));
}

static void long_names_are_malformed(void **state) {
    char value[TAMIS__KAFKA_COUNTER + 1];

    (void)state;
    memset(value, 'x', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    assert_null(name_of("v:{line}", NULL, NULL, value));
    value[TAMIS__KAFKA_COUNTER - 10] = '\0';
    assert_non_null(name_of("v:{line}", NULL, NULL, value));
}

static void refused_templates(void **state) {
    static const char *const texts[] = {"",
                                        "a:{day",
                                        "a:}",
                                        "a:{}",
                                        "{day}{hour}",
                                        "{day}-{hour}",
                                        "a:{day}%{hour}",
                                        "a:{what}",
                                        "a:{csv:name}",
                                        "a:{json:a}",
                                        "a:{regex:(a)(b)}",
                                        "a\tb",
                                        "a:{kafka:header:}",
                                        "a:{json:/a}:{csv:1}"};
    tamis_error err = TAMIS_ERROR_INIT;
    kafka_template *made = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(tamis__kafka_template_create(&made, texts[i], NULL, &err), TAMIS_E_INVALID);
        assert_null(made);
    }
}

static bool conflicts(const char *a, const char *b) {
    kafka_template *first, *second;

    assert_int_equal(tamis__kafka_template_create(&first, a, NULL, NULL), TAMIS_OK);
    assert_int_equal(tamis__kafka_template_create(&second, b, NULL, NULL), TAMIS_OK);
    const bool conflict = tamis__kafka_template_conflicts(first, second);
    assert_int_equal(tamis__kafka_template_conflicts(second, first), conflict);
    tamis__kafka_template_free(first);
    tamis__kafka_template_free(second);
    return conflict;
}

static void equal_names(void **state) {
    (void)state;
    assert_true(conflicts("a:{day}", "a:{hour}"));
    assert_true(conflicts("a:{day}:c", "a:b:{kafka:key}"));
    assert_true(conflicts("{kafka:key}", "total"));
    assert_true(conflicts("a:x{day}", "a:{day}"));
    assert_true(conflicts("total", "total"));
    assert_false(conflicts("clicks:{day}", "views:{day}"));
    assert_false(conflicts("a:{day}", "a:{day}:{hour}"));
    assert_false(conflicts("a:{day}", "a|{day}"));
    assert_false(conflicts("total", "totals"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(names), cmocka_unit_test(long_names_are_malformed),
                                       cmocka_unit_test(refused_templates), cmocka_unit_test(equal_names)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

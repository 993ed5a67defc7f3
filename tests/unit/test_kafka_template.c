/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of counters: parts of a record, escaped values, and templates that are refused. */
#include "kafka/kafka_template.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Finds the counter of a record with this key and value; NULL: it has none. Static storage. The element of a
 * distinct count is not valid any more. */
static const kafka_counter *counter_of(kafka_adds adds, const char *text, const char *time, char *key,
                                       char *value) {
    static kafka_counter counter;
    tamis_extractor_options extract = TAMIS_EXTRACTOR_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    kafka_template *made;
    rd_kafka_message_t message = {
        .key = key, .key_len = key ? strlen(key) : 0, .payload = value, .len = value ? strlen(value) : 0};
    rd_kafka_message_t *messages[] = {&message};

    extract.time = time;
    assert_int_equal(tamis__kafka_template_create(&made, adds, text, &extract, &err), TAMIS_OK);
    assert_int_equal(tamis__kafka_template_read(made, messages, 1, &err), TAMIS_OK);
    tamis__kafka_template_find(made, &message, 0, &counter);
    tamis__kafka_template_free(made);
    counter.name[counter.size] = '\0';
    return counter.outcome == TAMIS_KEY_FOUND ? &counter : NULL;
}

/* Makes the name for a record; NULL: it has none. */
static const char *name_of(const char *text, const char *time, char *key, char *value) {
    const kafka_counter *counter = counter_of(KAFKA_ADDS_ONE, text, time, key, value);

    return counter ? counter->name : NULL;
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

static void integers_to_add(void **state) {
    static const struct {
        const char *text;
        int64_t sum; /* 0: refused */
    } cases[] = {{"7", 7},
                 {"-12", -12},
                 {"007", 7},
                 {"9007199254740991", 9007199254740991},
                 {"-9007199254740991", -9007199254740991},
                 {"9007199254740992", 0},
                 {"99999999999999999999999999", 0},
                 {"", 0},
                 {"-", 0},
                 {"+5", 0},
                 {"5.0", 0},
                 {"1e3", 0},
                 {" 5", 0}};
    char value[] = "{\"page\":\"a\",\"n\":-70,\"text\":\"30\",\"none\":null,\"list\":[1]}";

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[40];
        strcpy(text, cases[i].text);
        const kafka_counter *counter = counter_of(KAFKA_ADDS_NUMBER, "sum={kafka:key}", NULL, text, NULL);
        assert_int_equal(counter != NULL, cases[i].sum != 0);
        assert_true(!counter || (counter->count == cases[i].sum && !counter->element.data));
    }
    const kafka_counter *found = counter_of(KAFKA_ADDS_NUMBER, "p:{json:/page}={json:/n}", NULL, NULL, value);
    assert_string_equal(found->name, "p:a");
    assert_int_equal(found->count, -70);
    found = counter_of(KAFKA_ADDS_NUMBER, "a=b={json:/text}", NULL, NULL, value);
    assert_string_equal(found->name, "a=b");
    assert_int_equal(found->count, 30);
    found = counter_of(KAFKA_ADDS_NUMBER, "{json:/page}={json:/n}", NULL, NULL, value);
    assert_string_equal(found->name, "a");
    assert_null(counter_of(KAFKA_ADDS_NUMBER, "p={json:/none}", NULL, NULL, value));
    assert_null(counter_of(KAFKA_ADDS_NUMBER, "p={json:/list}", NULL, NULL, value));
    assert_null(counter_of(KAFKA_ADDS_NUMBER, "p={json:/missing}", NULL, NULL, value));
    found = counter_of(KAFKA_ADDS_ELEMENT, "p={json:/page}", NULL, NULL, value);
    assert_int_equal(found->element.size, 1);
    assert_null(counter_of(KAFKA_ADDS_ELEMENT, "p={kafka:key}", NULL, NULL, value));
}

static void periods_end(void **state) {
    char value[] = "1764110400", newyear[] = "1767225599"; /* 2025-11-25T22:40, 2025-12-31T23:59:59 */

    (void)state;
    assert_int_equal(counter_of(KAFKA_ADDS_ONE, "a", "line", NULL, value)->period_end, 0);
    assert_int_equal(counter_of(KAFKA_ADDS_ONE, "{hour}", "line", NULL, value)->period_end, 1764111600000);
    assert_int_equal(counter_of(KAFKA_ADDS_ONE, "{day}", "line", NULL, value)->period_end, 1764115200000);
    assert_int_equal(counter_of(KAFKA_ADDS_ONE, "{month}", "line", NULL, value)->period_end, 1764547200000);
    assert_int_equal(counter_of(KAFKA_ADDS_ONE, "{month}:{day}", "line", NULL, value)->period_end,
                     1764115200000);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(counter_of(KAFKA_ADDS_ONE,
                                    i == 0   ? "{hour}"
                                    : i == 1 ? "{day}"
                                             : "{month}",
                                    "line", NULL, newyear)
                             ->period_end,
                         1767225600000);
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
        assert_int_equal(tamis__kafka_template_create(&made, KAFKA_ADDS_ONE, texts[i], NULL, &err),
                         TAMIS_E_INVALID);
        assert_null(made);
    }
    static const char *const with_value[] = {"a",
                                             "a:{day}",
                                             "{json:/n}",
                                             "={json:/n}",
                                             "a={day}",
                                             "a:{json:/n}",
                                             "a={json:/n}x",
                                             "a={json:/n}{json:/m}",
                                             "a={csv:name}",
                                             "a={what}"};
    for (size_t i = 0; i < sizeof with_value / sizeof *with_value; i++) {
        assert_int_equal(tamis__kafka_template_create(&made, KAFKA_ADDS_NUMBER, with_value[i], NULL, &err),
                         TAMIS_E_INVALID);
        assert_null(made);
        assert_int_equal(tamis__kafka_template_create(&made, KAFKA_ADDS_ELEMENT, with_value[i], NULL, &err),
                         TAMIS_E_INVALID);
    }
}

static bool conflicts(const char *a, const char *b) {
    kafka_template *first, *second;

    assert_int_equal(tamis__kafka_template_create(&first, KAFKA_ADDS_ONE, a, NULL, NULL), TAMIS_OK);
    assert_int_equal(tamis__kafka_template_create(&second, KAFKA_ADDS_ONE, b, NULL, NULL), TAMIS_OK);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(names),
                                       cmocka_unit_test(integers_to_add),
                                       cmocka_unit_test(periods_end),
                                       cmocka_unit_test(long_names_are_malformed),
                                       cmocka_unit_test(refused_templates),
                                       cmocka_unit_test(equal_names)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

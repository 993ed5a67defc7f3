/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/experimental/redis.h>

#include "store/redis/connection/redis_uri.h"
#include "support/fault.h"

static fault_memory memory;
static tamis_allocator allocator;
static tamis_error err;
static tamis__redis_uri uri;

static int set_up(void **state) {
    (void)state;
    memory = (fault_memory){0};
    allocator = fault_memory_allocator(&memory);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    tamis__redis_uri_release(&uri);
    return memory.live_blocks == 0 ? 0 : -1;
}

static void parse(const char *text) {
    tamis__redis_uri_release(&uri);
    assert_int_equal(tamis__redis_uri_parse(&uri, text, &allocator, &err), TAMIS_OK);
}

static void schemes_are_distinguished(void **state) {
    static const struct {
        const char *text;
        tamis__redis_kind kind;
        bool has_tls;
    } rows[] = {{"redis://h/n", TAMIS__REDIS_ONE, false},
                {"rediss://h/n", TAMIS__REDIS_ONE, true},
                {"redis+unix://h/n", TAMIS__REDIS_ONE, false},
                {"redis+shard://h/n", TAMIS__REDIS_SHARD, false},
                {"rediss+shard://h/n", TAMIS__REDIS_SHARD, true},
                {"redis+cluster://h/n", TAMIS__REDIS_CLUSTER, false},
                {"rediss+cluster://h/n", TAMIS__REDIS_CLUSTER, true},
                {"redis+sentinel://h/m/n", TAMIS__REDIS_SENTINEL, false},
                {"rediss+sentinel://h/m/n", TAMIS__REDIS_SENTINEL, true}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        parse(rows[i].text);
        assert_int_equal(uri.kind, rows[i].kind);
        assert_int_equal(uri.has_tls, rows[i].has_tls);
        assert_string_equal(uri.shown_name, "n");
    }
    parse("redis://u:secret@h/3/a%2Fb?layout=java");
    assert_string_equal(uri.shown_name, "a%2Fb");
}

static void every_part_is_found(void **state) {
    (void)state;
    parse("redis://ann:s3cret@cache.example.org:7000/5/seen?expect=10&fpr=0.01");
    assert_string_equal(uri.addresses[0].host, "cache.example.org");
    assert_int_equal(uri.addresses[0].port, 7000);
    assert_string_equal(uri.user, "ann");
    assert_string_equal(uri.password, "s3cret");
    assert_int_equal(uri.db, 5);
    assert_string_equal(uri.name, "seen");
    assert_int_equal(uri.name_size, 4);
    assert_int_equal(uri.parameter_count, 2);
    assert_string_equal(tamis__redis_uri_get(&uri, "expect"), "10");
    assert_string_equal(tamis__redis_uri_get(&uri, "fpr"), "0.01");
    assert_null(tamis__redis_uri_get(&uri, "ttl"));
    assert_int_equal(tamis__redis_uri_check_used(&uri, &err), TAMIS_OK);
}

static void missing_parts_have_defaults(void **state) {
    (void)state;
    parse("redis://");
    assert_string_equal(uri.addresses[0].host, "127.0.0.1");
    assert_int_equal(uri.addresses[0].port, 6379);
    assert_null(uri.user);
    assert_null(uri.password);
    assert_null(uri.name);
    assert_int_equal(uri.db, 0);
    parse("redis://:pw@h/n");
    assert_null(uri.user);
    assert_string_equal(uri.password, "pw");
    assert_string_equal(uri.name, "n");
    parse("redis://h?timeout=1s");
    assert_null(uri.name);
    assert_string_equal(tamis__redis_uri_get(&uri, "timeout"), "1s");
    parse("redis://h/3/");
    assert_int_equal(uri.db, 3);
    assert_null(uri.name);
    parse("redis://h/7");
    assert_string_equal(uri.name, "7");
}

static void parts_are_split_before_they_are_decoded(void **state) {
    (void)state;
    parse("redis://a%3Ab:p%40%2F%3F%25@%68ost/2/x%2fy%00z%40?ttl=%31d");
    assert_string_equal(uri.user, "a:b");
    assert_string_equal(uri.password, "p@/?%");
    assert_string_equal(uri.addresses[0].host, "host");
    assert_int_equal(uri.name_size, 6);
    assert_memory_equal(uri.name, "x/y\0z@", 6);
    assert_string_equal(tamis__redis_uri_get(&uri, "ttl"), "1d");
    parse("redis://u:a@b@h/n"); /* the last @ of the authority ends the password */
    assert_string_equal(uri.password, "a@b");
    assert_string_equal(uri.addresses[0].host, "h");
    parse("redis://u:a:b@h/n");
    assert_string_equal(uri.password, "a:b");
}

static void an_ipv6_host_stands_in_brackets(void **state) {
    (void)state;
    parse("redis://[::1]/n");
    assert_string_equal(uri.addresses[0].host, "::1");
    assert_int_equal(uri.addresses[0].port, 6379);
    parse("redis://u:p@[fe80::1%25eth0]:7/n");
    assert_string_equal(uri.addresses[0].host, "fe80::1%eth0");
    assert_int_equal(uri.addresses[0].port, 7);
}

static void a_socket_has_its_path_for_a_host(void **state) {
    (void)state;
    parse("redis+unix://u:p@%2Frun%2Fre%3Adis.sock/4/n");
    assert_string_equal(uri.addresses[0].host, "/run/re:dis.sock");
    assert_int_equal(uri.addresses[0].port, 0);
    assert_string_equal(uri.password, "p");
    assert_int_equal(uri.db, 4);
}

static void a_name_alone_may_hold_what_marks_parts(void **state) {
    (void)state;
    assert_int_equal(tamis__redis_uri_parse_name(&uri, "a/b:c@d%3F?expect=1", &allocator, &err), TAMIS_OK);
    assert_string_equal(uri.name, "a/b:c@d?");
    assert_string_equal(uri.shown, "a/b:c@d%3F?expect=1");
    assert_string_equal(tamis__redis_uri_get(&uri, "expect"), "1");
    tamis__redis_uri_release(&uri);
    assert_int_equal(tamis__redis_uri_parse_name(&uri, "redis://u:hush@h/n", &allocator, &err),
                     TAMIS_E_INVALID);
    assert_null(strstr(err.text, "hush"));
}

static void a_uri_with_one_segment_names_the_database(void **state) {
    (void)state;
    parse("redis://h/7");
    assert_int_equal(tamis__redis_uri_server(&uri, &err), TAMIS_OK);
    assert_int_equal(uri.db, 7);
    assert_null(uri.name);
    static const char *const wrong[] = {"redis://h/seen", "redis://h/7/8", "redis://h/7%00"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        parse(wrong[i]);
        assert_int_equal(tamis__redis_uri_server(&uri, &err), TAMIS_E_INVALID);
        assert_non_null(strstr(err.text, "names a filter"));
    }
}

static void errors_name_the_argument(void **state) {
    (void)state;
    static const struct {
        const char *text, *said;
    } wrong[] = {
        {"", "not a URI of a Redis"},
        {"http://h/n", "not a URI of a Redis"},
        {"redis:/h/n", "not a URI of a Redis"},
        {"redis://h:0/n", "port"},
        {"redis://h:65536/n", "port"},
        {"redis://h:/n", "port"},
        {"redis://h:7x/n", "port"},
        {"redis://::1/n", "port"},
        {"redis://[::1/n", "[ without its ]"},
        {"redis://[::1]7/n", "[ without its ]"},
        {"redis://ann@h/n", "without a password"},
        {"redis://u:p/w@h/n", "@ behind the host"},
        {"redis://u:7/w@h/n", "@ behind the host"},
        {"redis://u:p?w@h/n", "@ behind the host"},
        {"redis://h/a/n", "not a database number"},
        {"redis://h/65536/n", "not a database number"},
        {"redis://h/-1/n", "not a database number"},
        {"redis://h/1/a/n", "more than db/NAME"},
        {"redis://h/n%4", "two hexadecimal digits"},
        {"redis://h/n%", "two hexadecimal digits"},
        {"redis://h/n%g0", "two hexadecimal digits"},
        {"redis://h%00/n", "zero byte"},
        {"redis://u:p%00@h/n", "zero byte"},
        {"redis://h/n?ttl=%00", "zero byte"},
        {"redis+unix:///n", "no socket"},
        {"redis://h/n?ttl", "without a value"},
        {"redis://h/n?ttl&fpr=1", "without a value"},
        {"redis://h/n?ttl&=1", "without a value"},
        {"redis://h/n?&ttl=1", "without a value"},
        {"redis://h/n?ttl=1&ttl=1", "parameter twice"},
        {"redis://h/n?a=&b=&c=&d=&e=&f=&g=&h=&i=&j=&k=&l=&m=&n=&o=&p=&q=&r=&s=&t=&u=&v=&w=&x=&y=",
         "too many"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tamis__redis_uri_release(&uri);
        err.text[0] = '\0';
        assert_int_equal(tamis__redis_uri_parse(&uri, wrong[i].text, &allocator, &err), TAMIS_E_INVALID);
        if (!strstr(err.text, wrong[i].said))
            fail_msg("%s: %s", wrong[i].text, err.text);
        assert_non_null(strstr(err.text, "; ")); /* followed by what to do */
    }
}

/* Every text that is made from a URI with a password by removing or inserting a byte. */
static void no_message_has_the_password(void **state) {
    (void)state;
    static const char good[] = "redis://user:hushhush@host:1/2/name?ttl=1", put[] = "/?@:%&=[]\1";
    char text[80];
    for (size_t i = 0; i < sizeof good; i++) {
        for (size_t j = 0; j <= sizeof put; j++) {
            size_t out = j == 0; /* 1: remove this byte; 0: insert one before it */
            bool marked = i >= 13 && i <= 21;
            if (out && (good[i] == '@' || good[i] == '\0'))
                continue; /* then nothing marks the password as one */
            snprintf(text, sizeof text, "%.*s%.*s%s", (int)i, good, j > 0 && j < sizeof put,
                     put + j - (j > 0), good + i + out);
            tamis__redis_uri_release(&uri);
            snprintf(err.text, sizeof err.text, "-");
            (void)tamis__redis_uri_parse(&uri, text, &allocator, &err);
            if (strstr(err.text, "hush") || strstr(uri.shown, "hush") || (marked && strstr(uri.shown, "hus")))
                fail_msg("%s: %s (%s)", text, err.text, uri.shown);
        }
    }
}

static void values_are_checked(void **state) {
    (void)state;
    uint64_t count = 77, ms = 77;
    double rate = 0.5;
    parse(
        "redis://h/n?a=10&b=3%25&c=2s&d=1x&e=1.5&f=0&g=-1&h=1e-6&i=11&j=1&k=18446744073709551616&l=1d&m=nan");
    assert_int_equal(tamis__redis_uri_count(&uri, "none", (tamis__count_range){1, 10}, &count, &err),
                     TAMIS_OK);
    assert_int_equal(count, 77);
    assert_int_equal(tamis__redis_uri_count(&uri, "a", (tamis__count_range){1, 10}, &count, &err), TAMIS_OK);
    assert_int_equal(count, 10);
    static const char *const no_count[] = {"b", "d", "e", "f", "g", "h", "i", "k"};
    for (size_t i = 0; i < sizeof no_count / sizeof *no_count; i++) {
        assert_int_equal(tamis__redis_uri_count(&uri, no_count[i], (tamis__count_range){1, 10}, &count, &err),
                         TAMIS_E_INVALID);
        assert_non_null(strstr(err.text, "whole number from 1 to 10"));
    }
    assert_int_equal(count, 10);
    assert_int_equal(tamis__redis_uri_rate(&uri, "b", &rate, &err), TAMIS_OK);
    assert_true(rate == 3.0 / 100);
    assert_int_equal(tamis__redis_uri_rate(&uri, "h", &rate, &err), TAMIS_OK);
    assert_true(rate == 1e-6);
    static const char *const no_rate[] = {"c", "d", "e", "f", "g", "j", "m"};
    for (size_t i = 0; i < sizeof no_rate / sizeof *no_rate; i++)
        assert_int_equal(tamis__redis_uri_rate(&uri, no_rate[i], &rate, &err), TAMIS_E_INVALID);
    assert_true(rate == 1e-6);
    assert_int_equal(tamis__redis_uri_time(&uri, "c", &ms, &err), TAMIS_OK);
    assert_int_equal(ms, 2000);
    assert_int_equal(tamis__redis_uri_time(&uri, "l", &ms, &err), TAMIS_OK);
    assert_int_equal(ms, 86400000);
    assert_int_equal(tamis__redis_uri_time(&uri, "i", &ms, &err), TAMIS_OK);
    assert_int_equal(ms, 11000);
    static const char *const no_time[] = {"b", "d", "e", "g", "h", "k", "m"};
    for (size_t i = 0; i < sizeof no_time / sizeof *no_time; i++)
        assert_int_equal(tamis__redis_uri_time(&uri, no_time[i], &ms, &err), TAMIS_E_INVALID);
    assert_int_equal(ms, 11000);
}

static void counts_have_units(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint64_t number;
    } good[] = {{"a", 5000}, {"b", 64 << 20}, {"c", 10000000}, {"d", 2000000000000}, {"e", 1}};
    uint64_t count = 0;
    parse("redis://h/n?a=5k&b=64MiB&c=1e7&d=2T&e=1e0&f=1e20&g=20000000T&h=1kk&i=e5&j=5K");
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(
            tamis__redis_uri_count(&uri, good[i].name, (tamis__count_range){1, UINT64_MAX}, &count, &err),
            TAMIS_OK);
        assert_int_equal(count, good[i].number);
    }
    static const char *const bad[] = {"f", "g", "h", "i", "j"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(
            tamis__redis_uri_count(&uri, bad[i], (tamis__count_range){1, UINT64_MAX}, &count, &err),
            TAMIS_E_INVALID);
    assert_int_equal(tamis__redis_uri_count(&uri, "c", (tamis__count_range){1, 9999999}, &count, &err),
                     TAMIS_E_INVALID);
}

static void a_parameter_that_nobody_knows_is_named(void **state) {
    (void)state;
    parse("redis://u:hush@h/n?expect=1&exepct=2");
    (void)tamis__redis_uri_get(&uri, "expect");
    assert_int_equal(tamis__redis_uri_check_used(&uri, &err), TAMIS_E_INVALID);
    assert_non_null(strstr(err.text, "'exepct'"));
    assert_null(strstr(err.text, "hush"));
}

/* Values with any bytes. */
static void a_message_with_a_value_is_one_line(void **state) {
    uint64_t count = 1;
    double rate = 0.5;
    (void)state;
    parse("redis://h/n?a=x%0Ay&b\n=1");
    assert_int_equal(tamis__redis_uri_count(&uri, "a", (tamis__count_range){1, 10}, &count, &err),
                     TAMIS_E_INVALID);
    assert_non_null(strstr(err.text, "'x?y'"));
    assert_int_equal(tamis__redis_uri_rate(&uri, "a", &rate, &err), TAMIS_E_INVALID);
    assert_non_null(strstr(err.text, "'x?y'"));
    assert_int_equal(tamis__redis_uri_time(&uri, "a", &count, &err), TAMIS_E_INVALID);
    assert_non_null(strstr(err.text, "'x?y'"));
    assert_int_equal(tamis__redis_uri_check_used(&uri, &err), TAMIS_E_INVALID);
    assert_non_null(strstr(err.text, "'b?'"));
}

/* Also for texts that are not URIs. */
static void a_shown_uri_is_one_line_without_passwords(void **state) {
    static const char *const rows[][2] = {{"r\n://h?a@b", "r?://..."},
                                          {"u:hush@redis://h/n", "redis://h/n"},
                                          {"u:hush@redis://h?@", "..."},
                                          {"h\n", "h?"},
                                          {"redis://u:hush@h\x7f", "redis://h?"}};
    char shown[40];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(tamis_redis_uri_show(rows[i][0], shown, sizeof shown), strlen(rows[i][1]));
        assert_string_equal(shown, rows[i][1]);
    }
    assert_int_equal(tamis_redis_uri_show("redis://h?@", shown, 10), 9);
    assert_string_equal(shown, "redis://.");
}

static void without_memory_it_says_so(void **state) {
    (void)state;
    memory.fail_at = 1;
    assert_int_equal(tamis__redis_uri_parse(&uri, "redis://h/n", &allocator, &err), TAMIS_E_NOMEM);
    tamis__redis_uri_release(&uri);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(schemes_are_distinguished, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_part_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(missing_parts_have_defaults, set_up, tear_down),
        cmocka_unit_test_setup_teardown(parts_are_split_before_they_are_decoded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_ipv6_host_stands_in_brackets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_socket_has_its_path_for_a_host, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_name_alone_may_hold_what_marks_parts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_uri_with_one_segment_names_the_database, set_up, tear_down),
        cmocka_unit_test_setup_teardown(errors_name_the_argument, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_message_has_the_password, set_up, tear_down),
        cmocka_unit_test_setup_teardown(values_are_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(counts_have_units, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_parameter_that_nobody_knows_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_message_with_a_value_is_one_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_shown_uri_is_one_line_without_passwords, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_memory_it_says_so, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

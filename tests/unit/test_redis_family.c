/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: long */

/* Families: many small filters, each with a name of its own, queried in one batch. Each behaves as if it
 * were alone. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/experimental/redis_family.h>

#include "support/fault.h"
#include "support/proxy.h"
#include "support/redis_filters.h"

#define JAVA "layout=java&expect=3000&fpr=0.03"

enum { PAIRS = 200000, NAME_SIZE = 40 };

static tamis_redis_pair pairs[PAIRS];
static char names[PAIRS][NAME_SIZE];
static tamis_answer answers[PAIRS];

static tamis_redis_family *open_family(const char *name) {
    tamis_redis_family *family = NULL;
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    options.create = true;
    OK(tamis_redis_family_open(&family, redis, name, &options, &err));
    return family;
}

/* Makes pairs: key i is for member i / each. */
static void make_pairs(size_t count, size_t each) {
    for (size_t i = 0; i < count; i++) {
        size_t size = (size_t)snprintf(names[i], NAME_SIZE, "topic_read:%zu:20190609", i / each);
        pairs[i] = (tamis_redis_pair){{names[i], size}, keys[i]};
    }
}

static void add(tamis_redis_family *family, size_t count) {
    size_t done = 0;
    OK(tamis_redis_family_add_many(family, pairs, count, answers, &done, &err));
    assert_int_equal(done, count);
}

static void query(tamis_redis_family *family, size_t count) {
    size_t done = 0;
    OK(tamis_redis_family_contains_many(family, pairs, count, answers, &done, &err));
    assert_int_equal(done, count);
}

static size_t count_answers(size_t count, tamis_answer expected) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += answers[i] == expected;
    return found;
}

static tamis_redis_pair pair_of(const char *name, const char *key) {
    return (tamis_redis_pair){{name, strlen(name)}, {key, strlen(key)}};
}

/* Returns how often the server has executed a command. */
static long long calls(const char *command) {
    char line[60];
    snprintf(line, sizeof line, "cmdstat_%s:calls=", command);
    const char *stats = redis_server_command(&server, "INFO commandstats"), *found = strstr(stats, line);
    return found ? atoll(found + strlen(line)) : 0;
}

static long long figure(const char *section, const char *name) {
    char query[60];
    snprintf(query, sizeof query, "INFO %s", section);
    const char *found = strstr(redis_server_command(&server, query), name);
    assert_non_null(found);
    return atoll(found + strlen(name));
}

/* ---- layouts of other programs ---- */

/* Members are the filters that a Java class and a program of tamis wrote under these names. */
static void members_are_the_filters_of_their_names(void **state) {
    static const char *const published[] = {"76930242", "76930243", "76930244", "76930245", "76930246"};
    static const char *const queried[] = {"76930242", "76930244", "76930246", "76930248"};
    (void)state;
    begin_test();
    tamis_redis_family *family = open_family("topic_read:*:*?" JAVA "&ttl=1h");
    for (size_t i = 0; i < 5; i++) {
        pairs[2 * i] = pair_of("topic_read:8839540:20190609", published[i]);
        pairs[2 * i + 1] =
            pair_of(i % 2 ? "topic_read:7:20190609" : "topic_read:8839540:20190610", published[i]);
    }
    add(family, 10);
    assert_int_equal(count_answers(10, TAMIS_ABSENT), 10);
    add(family, 10);
    assert_int_equal(count_answers(10, TAMIS_PRESENT), 10);
    for (size_t i = 0; i < 4; i++)
        pairs[i] = pair_of("topic_read:8839540:20190609", queried[i]);
    query(family, 4);
    assert_int_equal(count_answers(4, TAMIS_PRESENT), 3);
    assert_int_equal(answers[3], TAMIS_ABSENT);
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 3);
    assert_int_equal(figure("keyspace", "expires="), 3);
    tamis_filter *alone = open_filter("topic_read:8839540:20190609?" JAVA), *beside = open_filter("x?" JAVA);
    test_bytes got = {0}, expected = {0};
    for (size_t i = 0; i < 5; i++) {
        tamis_answer answer;
        OK(tamis_filter_contains(alone, published[i], 8, &answer, &err));
        assert_int_equal(answer, TAMIS_PRESENT);
        OK(tamis_filter_add(beside, published[i], 8, &answer, &err));
    }
    redis_server_bytes(&server, &got, "GET bf:topic_read:8839540:20190609");
    redis_server_bytes(&server, &expected, "GET bf:x");
    assert_true(bytes_check("bits", &got, &expected));
    bytes_clear(&got);
    bytes_clear(&expected);
    tamis_filter_info of_one = TAMIS_FILTER_INFO_INIT, of_member = TAMIS_FILTER_INFO_INIT;
    OK(tamis_filter_info_get(alone, &of_one, &err));
    OK(tamis_redis_family_info(family, "topic_read:8839540:20190609", 27, &of_member, &err));
    assert_int_equal(of_one.ones, of_member.ones);
    assert_true(of_member.cardinality > 4.9 && of_member.cardinality < 5.1);
    assert_int_equal(tamis_redis_family_plan(family)->bits, 21895);
    tamis_filter_free(alone);
    tamis_filter_free(beside);
    tamis_redis_family_close(family);
}

/* A large batch is sent in pieces of one pipeline each. The server reads many commands at a time, and each
 * member gets its expiry once per piece. */
static void a_hundred_thousand_in_few_round_trips(void **state) {
    const size_t count = test_scale(PAIRS, PAIRS / 10, PAIRS);
    (void)state;
    begin_test();
    make_pairs(count, 2);
    tamis_redis_family *family = open_family("topic_read:*:*?" JAVA "&ttl=1h");
    redis_server_command(&server, "CONFIG RESETSTAT");
    add(family, count);
    assert_true(figure("stats", "total_reads_processed:") < (long long)count / 10);
    assert_int_equal(calls("bitfield"), count);
    assert_int_equal(calls("pexpire"), count / 2);
    assert_true(count_answers(count, TAMIS_ABSENT) > count - 5);
    assert_int_equal(redis_server_number(&server, "DBSIZE"), count / 2);
    assert_int_equal(figure("keyspace", "expires="), count / 2);
    query(family, count);
    assert_int_equal(count_answers(count, TAMIS_PRESENT), count);
    for (size_t i = 0; i < count; i += count / 20) {
        char name[100];
        snprintf(name, sizeof name, "%.39s?" JAVA, names[i]);
        tamis_filter *alone = open_filter(name);
        assert_int_equal(count_present(alone, i / 2 * 2, 2), 2);
        assert_true(count_present(alone, count, 1000) < 5);
        tamis_filter_free(alone);
    }
    tamis_redis_family_close(family);
}

static void every_layout_is_what_it_is_alone(void **state) {
    static const char *const layouts[] = {"layout=java&expect=100&fpr=0.01", "layout=php1&bits=1000&probes=7",
                                          "layout=php2&bits=1000&probes=7", "layout=php3&bits=1000&probes=7"};
    enum { MEMBERS = 10, EACH = 30 };
    (void)state;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        char name[100];
        begin_test();
        snprintf(name, sizeof name, "family?%s&ttl=1h", layouts[i]);
        make_pairs(MEMBERS * EACH, EACH);
        tamis_redis_family *family = open_family(name);
        add(family, MEMBERS * EACH);
        assert_int_equal(figure("keyspace", "expires="), MEMBERS);
        for (size_t j = 0; j < MEMBERS * EACH; j += EACH) {
            snprintf(name, sizeof name, "%.39s?%s", names[j], layouts[i]);
            tamis_filter *alone = open_filter(name);
            OK(tamis_filter_add_many(alone, keys + j, EACH, answers, NULL, &err));
            assert_int_equal(count_answers(EACH, TAMIS_PRESENT), EACH);
            tamis_filter_free(alone);
        }
        assert_int_equal(redis_server_number(&server, "DBSIZE"), MEMBERS);
        tamis_redis_family_close(family);
    }
}

static void equal_pairs_come_one_after_the_other(void **state) {
    (void)state;
    begin_test();
    tamis_redis_family *family = open_family("f?" JAVA);
    const tamis_redis_pair batch[] = {pair_of("a", "k"), pair_of("b", "k"), pair_of("a", "k"),
                                      pair_of("a", "l"), pair_of("b", "k"), pair_of("a", "")};
    static const tamis_answer expected[] = {TAMIS_ABSENT, TAMIS_ABSENT,  TAMIS_PRESENT,
                                            TAMIS_ABSENT, TAMIS_PRESENT, TAMIS_ABSENT};
    OK(tamis_redis_family_add_many(family, batch, 6, answers, NULL, &err));
    assert_memory_equal(answers, expected, sizeof expected);
    OK(tamis_redis_family_add_many(family, batch, 0, NULL, NULL, &err));
    OK(tamis_redis_family_add_many(family, batch, 6, NULL, NULL, &err));
    tamis_redis_family_close(family);
    tamis_redis_family_close(NULL);
}

static void invalid_names_end_a_batch(void **state) {
    char longest[600];
    size_t done = 7;
    (void)state;
    begin_test();
    memset(longest, 'x', sizeof longest);
    tamis_redis_family *family = open_family("f?" JAVA);
    tamis_redis_pair batch[] = {
        {{longest, 512}, {"k", 1}}, pair_of("b", "k"), {{"", 0}, {"k", 1}}, pair_of("c", "k")};
    FAILS(tamis_redis_family_add_many(family, batch, 4, answers, &done, &err), TAMIS_E_INVALID, "0 bytes");
    assert_int_equal(done, 2);
    assert_int_equal(count_answers(2, TAMIS_ABSENT), 2);
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 2);
    batch[0].name.size = 513;
    FAILS(tamis_redis_family_contains_many(family, batch, 4, answers, &done, &err), TAMIS_E_INVALID,
          "513 bytes; give 1 to 512");
    assert_int_equal(done, 0);
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    FAILS(tamis_redis_family_info(family, "", 0, &info, &err), TAMIS_E_INVALID, "0 bytes");
    tamis_redis_family_close(family);
}

static void a_key_that_is_no_family_is_refused(void **state) {
    static const struct {
        const char *name;
        tamis_status status;
        const char *said;
    } rows[] = {
        {"f?layout=redisson&expect=10&fpr=0.1", TAMIS_E_UNSUPPORTED, "layout redisson has no families"},
        {"f?layout=java&expect=10", TAMIS_E_INVALID, "expect=N and fpr=RATE"},
        {"f?" JAVA "&partition=128", TAMIS_E_INVALID, "'partition'"},
        {"f?expect=10&fpr=0.1&partition=128", TAMIS_E_INVALID, "'partition'"},
        {"f?expect=1e9&fpr=0.01", TAMIS_E_RANGE, "may take 67108864"},
        {"f", TAMIS_E_NOT_FOUND, "there is no such filter"},
    };
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    (void)state;
    begin_test();
    options.create = true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tamis_redis_family *family = NULL;
        if (tamis_redis_family_open(&family, redis, rows[i].name, &options, &err) != rows[i].status ||
            !strstr(err.text, rows[i].said))
            fail_msg("%s: %s", rows[i].name, err.text);
        assert_null(family);
    }
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 0);
}

static void each_member_expires_by_itself(void **state) {
    (void)state;
    begin_test();
    tamis_redis_family *renewed = open_family("f?" JAVA "&ttl=1h"),
                       *once = open_family("f?" JAVA "&ttl=1h&renew=create");
    pairs[0] = pair_of("a", "k");
    pairs[1] = pair_of("b", "k");
    add(once, 2);
    assert_true(redis_server_number(&server, "PTTL bf:a") > 3500000);
    redis_server_command(&server, "PEXPIRE bf:a 100000");
    redis_server_command(&server, "PEXPIRE bf:b 100000");
    add(once, 2);
    assert_true(redis_server_number(&server, "PTTL bf:a") <= 100000);
    add(renewed, 1);
    assert_true(redis_server_number(&server, "PTTL bf:a") > 3500000);
    assert_true(redis_server_number(&server, "PTTL bf:b") <= 100000);
    tamis_redis_family_close(renewed);
    tamis_redis_family_close(once);
}

/* ---- layout tamis ---- */

static void one_hash_has_the_plan_of_all(void **state) {
    (void)state;
    begin_test();
    make_pairs(5000, 5);
    tamis_redis_family *maker = open_family("topic_read:*:*?expect=100&fpr=0.001&ttl=1h"),
                       *other = open_family("topic_read:*:*");
    query(other, 5000);
    assert_int_equal(count_answers(5000, TAMIS_ABSENT), 5000);
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 2);
    add(maker, 5000);
    assert_true(count_answers(5000, TAMIS_ABSENT) > 4980);
    assert_int_equal(redis_server_number(&server, "DBSIZE"), 1002);
    assert_int_equal(figure("keyspace", "expires="), 1002);
    assert_non_null(
        strstr(redis_server_command(&server, "HGET tamis:{topic_read:*:*} plan"), " kind=family "));
    query(other, 5000);
    assert_int_equal(count_answers(5000, TAMIS_PRESENT), 5000);
    for (size_t i = 0; i < 5000; i++)
        pairs[i].key = keys[5000 + i];
    query(other, 5000);
    assert_true(count_answers(5000, TAMIS_PRESENT) < 25);
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    OK(tamis_redis_family_info(other, names[7], strlen(names[7]), &info, &err));
    assert_true(info.cardinality > 4.5 && info.cardinality < 5.5);
    OK(tamis_redis_family_info(other, "nobody", 6, &info, &err));
    assert_int_equal(info.ones, 0);
    tamis_redis_family_close(maker);
    tamis_redis_family_close(other);
}

static void a_family_outlives_its_members(void **state) {
    (void)state;
    begin_test();
    tamis_redis_family *family = open_family("f?expect=100&fpr=0.001&ttl=1h&renew=create");
    pairs[0] = pair_of("a", "k");
    pairs[1] = pair_of("b", "k");
    add(family, 1);
    redis_server_command(&server, "PEXPIRE tamis:{f} 100000");
    char name[100];
    snprintf(name, sizeof name, "%s", redis_server_command(&server, "KEYS tamis:{a:*"));
    redis_server_command(&server, "PEXPIRE %s 50000", name);
    add(family, 2);
    assert_true(redis_server_number(&server, "PTTL tamis:{f}") > 3500000);
    assert_true(redis_server_number(&server, "PTTL %s", name) <= 50000);
    assert_int_equal(figure("keyspace", "expires="), 4);
    tamis_redis_family_close(family);
}

static void a_family_is_no_filter_and_a_filter_no_family(void **state) {
    tamis_filter *filter = NULL;
    tamis_redis_family *family = NULL;
    (void)state;
    begin_test();
    tamis_redis_family_close(open_family("many?expect=100&fpr=0.001"));
    tamis_filter_free(open_filter("one?expect=100&fpr=0.001"));
    FAILS(tamis_redis_filter_open(&filter, redis, "many", NULL, &err), TAMIS_E_MISMATCH,
          "is a family of filters");
    FAILS(tamis_redis_family_open(&family, redis, "one", NULL, &err), TAMIS_E_MISMATCH, "is one filter");
    FAILS(tamis_redis_family_open(&family, redis, "many?expect=200", NULL, &err), TAMIS_E_MISMATCH,
          "expect=100");
    filter = make_filter(100, 0, 10);
    FAILS(tamis_redis_push(filter, redis, "many", NULL, &err), TAMIS_E_MISMATCH, "is a family of filters");
    tamis_filter_free(filter);
}

/* Earlier answers were about the dropped family. */
static void a_family_may_be_dropped_and_made_anew(void **state) {
    size_t done = 7;
    (void)state;
    begin_test();
    make_pairs(1000, 5);
    tamis_redis_family_close(open_family("f?expect=100&fpr=0.001"));
    tamis_redis_family *family = open_family("f");
    add(family, 1000);
    OK(tamis_redis_drop(redis, "f", &err));
    FAILS(tamis_redis_family_contains_many(family, pairs, 1000, answers, &done, &err), TAMIS_E_NOT_FOUND,
          "dropped");
    assert_int_equal(done, 0);
    FAILS(tamis_redis_family_add_many(family, pairs, 1000, answers, &done, &err), TAMIS_E_NOT_FOUND,
          "dropped");
    assert_int_equal(done, 0);
    tamis_redis_family *next = open_family("f?expect=200&fpr=0.001");
    add(family, 1000); /* the handle uses the new family */
    assert_true(count_answers(1000, TAMIS_ABSENT) > 990);
    query(next, 1000);
    assert_int_equal(count_answers(1000, TAMIS_PRESENT), 1000);
    OK(tamis_redis_alias(redis, "alias", "f", &err));
    tamis_redis_family *alias = open_family("alias");
    query(alias, 1000);
    assert_int_equal(count_answers(1000, TAMIS_PRESENT), 1000);
    tamis_redis_family_close(alias);
    tamis_redis_family_close(family);
    tamis_redis_family_close(next);
}

static void keys_are_hashed_under_the_secret(void **state) {
    static const char secret[] = "sixteen bytes or more";
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis_redis_family *family = NULL;
    size_t done = 7;
    (void)state;
    begin_test();
    options.create = true;
    options.secret = secret;
    options.secret_size = sizeof secret;
    OK(tamis_redis_family_open(&family, redis, "f?expect=100&fpr=0.001", &options, &err));
    assert_int_equal(tamis_redis_family_plan(family)->scheme, TAMIS_SCHEME_SIP);
    make_pairs(100, 5);
    add(family, 100);
    tamis_redis_family_close(family);
    OK(tamis_redis_family_open(&family, redis, "f", NULL, &err));
    FAILS(tamis_redis_family_contains_many(family, pairs, 100, answers, &done, &err), TAMIS_E_SECRET,
          "secret");
    assert_int_equal(done, 0);
    tamis_redis_family_close(family);
    options.secret = "another of sixteen bytes";
    FAILS(tamis_redis_family_open(&family, redis, "f", &options, &err), TAMIS_E_SECRET, "another secret");
    options.secret = secret;
    OK(tamis_redis_family_open(&family, redis, "f", &options, &err));
    query(family, 100);
    assert_int_equal(count_answers(100, TAMIS_PRESENT), 100);
    tamis_redis_family_close(family);
}

/* ---- faults ---- */

enum { CUT_PAIRS = 6, DIFFERENT = 4 };

/* Number of each pair among the different ones. Names alternate, and two pairs are repeated. */
static const size_t same_as[CUT_PAIRS] = {0, 1, 0, 2, 3, 1};

static void check_cut(const char *where) {
    for (size_t i = 0; i < DIFFERENT; i++) {
        int absent = 0, unknown = 0;
        for (size_t j = 0; j < CUT_PAIRS; j++) {
            absent += same_as[j] == i && answers[j] == TAMIS_ABSENT;
            unknown += same_as[j] == i && answers[j] == TAMIS_UNKNOWN;
        }
        if (absent > 1 || (absent == 0 && unknown == 0))
            fail_msg("%s: pair %zu is fresh %d times and unknown %d times", where, i, absent, unknown);
    }
}

static void cut_everywhere(proxy *between, const char *parameters, proxy_way way, size_t *next_key) {
    char uri[300];
    tamis_redis_family *direct = open_family(parameters), *harmed = NULL;
    bool reached = true;
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d/%s&retry_interval=1ms&patience=60s&connect_wait=60s",
             proxy_port(between), parameters);
    OK(tamis_redis_family_open(&harmed, NULL, uri, NULL, &err));
    for (uint64_t position = 0; reached; position += test_scale_torture(1, 3, 13, 7)) {
        static const char *const member[] = {"a", "b", "a", "c"};
        char where[100];
        snprintf(where, sizeof where, "%.20s, way %d, byte %" PRIu64, parameters, way, position);
        for (size_t i = 0; i < CUT_PAIRS; i++)
            pairs[i] = (tamis_redis_pair){{member[same_as[i]], 1}, keys[*next_key + same_as[i]]};
        *next_key = (*next_key + DIFFERENT) % (NUMBERS - DIFFERENT);
        proxy_arm(between, way, PROXY_CUT, position);
        add(harmed, CUT_PAIRS);
        reached = proxy_harmed(between) > 0;
        check_cut(where);
        proxy_arm(between, way, PROXY_CUT, position);
        query(harmed, CUT_PAIRS);
        assert_int_equal(count_answers(CUT_PAIRS, TAMIS_PRESENT), CUT_PAIRS);
        proxy_disarm(between);
        query(direct, CUT_PAIRS);
        if (count_answers(CUT_PAIRS, TAMIS_PRESENT) != CUT_PAIRS)
            fail_msg("%s: what was answered is not there", where);
    }
    tamis_redis_family_close(harmed);
    tamis_redis_family_close(direct);
}

static void a_connection_may_close_at_every_byte(void **state) {
    size_t next_key = 0;
    (void)state;
    begin_test();
    proxy *between = proxy_start(server.socket);
    for (int way = 0; way < 2; way++) {
        cut_everywhere(between, "f?layout=java&expect=1000000&fpr=0.001&ttl=1h", (proxy_way)way, &next_key);
        cut_everywhere(between, "g?expect=1000000&fpr=1e-6&ttl=1h", (proxy_way)way, &next_key);
    }
    proxy_stop(between);
}

static void memory_may_run_out(void **state) {
    fault_memory memory = {0};
    const tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    bool reached = true;
    (void)state;
    begin_test();
    make_pairs(500, 5);
    options.allocator = &allocator;
    for (uint64_t n = 1; reached; n++) {
        tamis_redis_family *family = NULL;
        size_t done = 0;
        memory = (fault_memory){.fail_at = n};
        tamis_status status = tamis_redis_family_open(&family, redis, "f?" JAVA, &options, &err);
        if (status == TAMIS_OK)
            status = tamis_redis_family_add_many(family, pairs, 500, answers, &done, &err);
        reached = memory.refused > 0;
        assert_int_equal(status, reached ? TAMIS_E_NOMEM : TAMIS_OK);
        assert_int_equal(done, reached ? 0 : 500);
        tamis_redis_family_close(family);
        assert_int_equal(memory.live_blocks, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_the_filters_of_their_names),
        cmocka_unit_test(a_hundred_thousand_in_few_round_trips),
        cmocka_unit_test(every_layout_is_what_it_is_alone),
        cmocka_unit_test(equal_pairs_come_one_after_the_other),
        cmocka_unit_test(invalid_names_end_a_batch),
        cmocka_unit_test(a_key_that_is_no_family_is_refused),
        cmocka_unit_test(each_member_expires_by_itself),
        cmocka_unit_test(one_hash_has_the_plan_of_all),
        cmocka_unit_test(a_family_outlives_its_members),
        cmocka_unit_test(a_family_is_no_filter_and_a_filter_no_family),
        cmocka_unit_test(a_family_may_be_dropped_and_made_anew),
        cmocka_unit_test(keys_are_hashed_under_the_secret),
        cmocka_unit_test(a_connection_may_close_at_every_byte),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, redis_filters_set_up, redis_filters_tear_down);
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Entries, leases and marks in a real Redis: each line of docs/GUARD-PROTOCOL.md. Scripts that come twice or
 * late; servers that refuse. `direct` goes to the server, `cut` through a proxy.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/system.h"
#include "service/guard/guard_entries.h"
#include "support/proxy.h"
#include "support/redis_server.h"

enum { LIFE = 60000, NULL_LIFE = 20000, LEASE = 5000, MARK = 10000, TIMEOUT = 2000 };

static redis_server server;
static proxy *between;
static guard_entries *direct, *cut;
static tamis_error err;

#define OK(call)                                                                                             \
    do {                                                                                                     \
        if ((call) != TAMIS_OK)                                                                              \
            fail_msg("%s: %s", #call, err.text);                                                             \
    } while (0)

static guard_entries_options default_options(const char *uri) {
    return (guard_entries_options){.redis = uri,
                                   .prefix = "t:",
                                   .life_ms = LIFE,
                                   .null_life_ms = NULL_LIFE,
                                   .lease_ms = LEASE,
                                   .mark_ms = MARK,
                                   .timeout_ms = TIMEOUT};
}

static guard_entries *open_entries(const char *uri) {
    const guard_entries_options options = default_options(uri);
    guard_entries *entries = NULL;

    OK(tamis__guard_entries_open(&entries, &options, &err));
    return entries;
}

static int set_up(void **state) {
    char uri[64];

    (void)state;
    if (!redis_server_installed())
        return 0;
    redis_server_start(&server, NULL);
    between = proxy_start(server.socket);
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d", proxy_port(between));
    direct = open_entries(server.uri);
    cut = open_entries(uri);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    tamis__guard_entries_close(direct);
    tamis__guard_entries_close(cut);
    if (between)
        proxy_stop(between);
    redis_server_stop(&server);
    return 0;
}

static int begin_test(void **state) {
    (void)state;
    if (server.pid) {
        proxy_disarm(between);
        redis_server_command(&server, "FLUSHALL");
    }
    return 0;
}

/* Begins each test that needs the server. */
#define NEED_SERVER()                                                                                        \
    do {                                                                                                     \
        (void)state;                                                                                         \
        if (!server.pid)                                                                                     \
            skip();                                                                                          \
    } while (0)

static tamis_key key_of(const char *text) {
    return (tamis_key){text, strlen(text)};
}

/* G2 for one key. The blob, if any, is released by the next call. */
static guard_entry get(guard_entries *entries, tamis_key key) {
    static guard_entry item;

    tamis__guard_blob_release(item.blob);
    item = (guard_entry){.key = key};
    OK(tamis__guard_entries_get(entries, &item, 1, &err));
    return item;
}

static guard_entry_state state_of(const char *key) {
    return get(direct, key_of(key)).state;
}

/* G4 of a value, or of a null if `value` is NULL. */
static tamis_status store(guard_entries *entries, guard_entry leased, const char *value) {
    guard_blob *blob = tamis__guard_blob_create(NULL, value, value ? strlen(value) : 0);

    leased.blob = blob;
    const tamis_status status = tamis__guard_entries_store(entries, &leased, 1, &err);
    tamis__guard_blob_release(blob);
    return status;
}

/* A writer from P2 to P4. */
static void write_row(const char *key) {
    uint8_t token[TAMIS_GUARD_TOKEN];

    OK(tamis__guard_entries_mark(direct, key_of(key), token, &err));
    OK(tamis__guard_entries_unmark(direct, key_of(key), token, &err));
}

static bool exists(const char *name) {
    return redis_server_number(&server, "EXISTS %s", name) == 1;
}

static void check_text(const char *expected, const char *name) {
    assert_string_equal(redis_server_command(&server, "GET %s", name), expected);
}

static void check_life(const char *name, long long low, long long high) {
    const long long life = redis_server_number(&server, "PTTL %s", name);

    if (life < low - 500 || life > high)
        fail_msg("%s: lives %lld ms, expected %lld to %lld", name, life, low, high);
}

/* ---- the lines of the protocol ---- */

static void test_reader_gets_lease_and_stores(void **state) {
    NEED_SERVER();
    guard_entry item = get(direct, key_of("k"));

    assert_int_equal(item.state, GUARD_ENTRY_GRANTED);
    assert_int_equal(redis_server_number(&server, "STRLEN t:{k}:lease"), TAMIS_GUARD_TOKEN);
    check_life("t:{k}:lease", LEASE, LEASE);
    OK(store(direct, item, "row"));
    check_text("Vrow", "t:{k}:entry");
    check_life("t:{k}:entry", LIFE, LIFE + LIFE / 10);
    assert_false(exists("t:{k}:lease"));
    item = get(direct, key_of("k"));
    assert_int_equal(item.state, GUARD_ENTRY_FOUND);
    assert_int_equal(tamis__guard_blob_bytes(item.blob).size, 3);
    assert_memory_equal(tamis__guard_blob_bytes(item.blob).data, "row", 3);
}

static void test_null_has_its_own_life(void **state) {
    NEED_SERVER();
    OK(store(direct, get(direct, key_of("k")), NULL));
    check_text("N", "t:{k}:entry");
    check_life("t:{k}:entry", NULL_LIFE, NULL_LIFE + NULL_LIFE / 10);
    const guard_entry item = get(direct, key_of("k"));
    assert_int_equal(item.state, GUARD_ENTRY_FOUND);
    assert_true(tamis__guard_blob_is_null(item.blob));
}

static void test_value_of_no_bytes_is_no_null(void **state) {
    NEED_SERVER();
    OK(store(direct, get(direct, key_of("k")), ""));
    check_text("V", "t:{k}:entry");
    const guard_entry item = get(direct, key_of("k"));
    assert_int_equal(item.state, GUARD_ENTRY_FOUND);
    assert_false(tamis__guard_blob_is_null(item.blob));
}

static void test_lives_differ(void **state) {
    NEED_SERVER();
    long long low = LIFE * 2, high = 0;

    for (int i = 0; i < 200; i++) {
        char key[8], name[32];
        snprintf(key, sizeof key, "k%d", i);
        snprintf(name, sizeof name, "t:{k%d}:entry", i);
        OK(store(direct, get(direct, key_of(key)), "row"));
        check_life(name, LIFE, LIFE + LIFE / 10);
        const long long life = redis_server_number(&server, "PTTL %s", name);
        low = life < low ? life : low;
        high = life > high ? life : high;
    }
    assert_true(high - low > LIFE / 20);
}

static void test_one_reader_has_the_lease(void **state) {
    NEED_SERVER();
    const guard_entry item = get(direct, key_of("k"));

    assert_int_equal(state_of("k"), GUARD_ENTRY_LEASED);
    OK(tamis__guard_entries_release(cut, &item, 1, &err));
    assert_int_equal(state_of("k"), GUARD_ENTRY_GRANTED);
    OK(tamis__guard_entries_release(cut, &item, 1, &err)); /* of another reader now */
    assert_int_equal(state_of("k"), GUARD_ENTRY_LEASED);
}

static void test_renewal_needs_the_token(void **state) {
    NEED_SERVER();
    guard_entry item = get(direct, key_of("k"));

    redis_server_command(&server, "PEXPIRE t:{k}:lease 1000");
    OK(tamis__guard_entries_renew(direct, &item, 1, &err));
    check_life("t:{k}:lease", LEASE, LEASE);
    redis_server_command(&server, "PEXPIRE t:{k}:lease 3000");
    item.token[3] ^= 1;
    OK(tamis__guard_entries_renew(direct, &item, 1, &err));
    check_life("t:{k}:lease", 2500, 3000);
}

static void test_expired_lease_stores_nothing(void **state) {
    NEED_SERVER();
    const guard_entry item = get(direct, key_of("k"));

    redis_server_command(&server, "PEXPIRE t:{k}:lease 1");
    pause_ms(20);
    OK(store(direct, item, "old"));
    OK(tamis__guard_entries_renew(direct, &item, 1, &err));
    assert_false(exists("t:{k}:entry"));
    assert_false(exists("t:{k}:lease"));
    assert_int_equal(state_of("k"), GUARD_ENTRY_GRANTED);
}

static void test_mark_removes_entry_and_lease(void **state) {
    NEED_SERVER();
    uint8_t token[TAMIS_GUARD_TOKEN];

    OK(store(direct, get(direct, key_of("k")), "old"));
    OK(tamis__guard_entries_mark(direct, key_of("k"), token, &err));
    assert_false(exists("t:{k}:entry"));
    assert_int_equal(state_of("k"), GUARD_ENTRY_MARKED);
    check_life("t:{k}:marks", MARK, MARK + TIMEOUT + 10);
    OK(tamis__guard_entries_unmark(direct, key_of("k"), token, &err));
    assert_false(exists("t:{k}:marks"));

    const guard_entry item = get(direct, key_of("k"));
    OK(tamis__guard_entries_mark(direct, key_of("k"), token, &err));
    OK(store(direct, item, "old"));
    assert_false(exists("t:{k}:entry"));
    OK(tamis__guard_entries_unmark(direct, key_of("k"), token, &err));
    OK(store(direct, item, "old"));
    assert_false(exists("t:{k}:entry"));
    assert_int_equal(state_of("k"), GUARD_ENTRY_GRANTED);
}

static void test_writer_leaves_other_marks(void **state) {
    NEED_SERVER();
    uint8_t first[TAMIS_GUARD_TOKEN], second[TAMIS_GUARD_TOKEN];

    OK(tamis__guard_entries_mark(direct, key_of("k"), first, &err));
    OK(tamis__guard_entries_mark(direct, key_of("k"), second, &err));
    OK(tamis__guard_entries_unmark(direct, key_of("k"), first, &err));
    OK(tamis__guard_entries_unmark(direct, key_of("k"), NULL, &err));
    assert_int_equal(state_of("k"), GUARD_ENTRY_MARKED);
    OK(tamis__guard_entries_unmark(direct, key_of("k"), second, &err));
    assert_int_equal(state_of("k"), GUARD_ENTRY_GRANTED);
}

static void test_mark_expires(void **state) {
    NEED_SERVER();
    guard_entries_options options = default_options(server.uri);
    guard_entries *brief = NULL;
    uint8_t token[TAMIS_GUARD_TOKEN];

    options.mark_ms = 1000;
    options.timeout_ms = 500;
    OK(tamis__guard_entries_open(&brief, &options, &err));
    OK(tamis__guard_entries_mark(direct, key_of("long"), token, &err));
    OK(tamis__guard_entries_mark(brief, key_of("long"), token, &err));
    OK(tamis__guard_entries_mark(brief, key_of("k"), token, &err));
    assert_int_equal(state_of("k"), GUARD_ENTRY_MARKED);
    pause_ms(1700);
    assert_false(exists("t:{k}:marks"));
    assert_int_equal(state_of("k"), GUARD_ENTRY_GRANTED);
    assert_int_equal(state_of("long"), GUARD_ENTRY_MARKED);
    assert_int_equal(redis_server_number(&server, "ZCARD t:{long}:marks"), 2);
    OK(tamis__guard_entries_mark(brief, key_of("long"), token, &err)); /* removes the one that has passed */
    assert_int_equal(redis_server_number(&server, "ZCARD t:{long}:marks"), 2);
    check_life("t:{long}:marks", MARK, MARK + TIMEOUT + 10);
    tamis__guard_entries_close(brief);
}

/* A key of another program's deletion: unmark without a token. */
static void test_unmark_without_token_deletes(void **state) {
    NEED_SERVER();
    OK(store(direct, get(direct, key_of("k")), "old"));
    OK(tamis__guard_entries_unmark(direct, key_of("k"), NULL, &err));
    assert_false(exists("t:{k}:entry"));
}

static void test_braces_of_keys_are_escaped(void **state) {
    NEED_SERVER();
    static const char key[] = "a}b%c\0d{e\xff", name[] = "t:{a%7Db%25c\0d{e\xff}:entry";
    guard_entry item = get(direct, (tamis_key){key, sizeof key - 1});

    assert_int_equal(item.state, GUARD_ENTRY_GRANTED);
    OK(store(direct, item, "row"));
    assert_string_equal(redis_server_command(&server, "GET %b", name, sizeof name - 1), "Vrow");
    item = get(direct, (tamis_key){key, sizeof key - 1});
    assert_int_equal(item.state, GUARD_ENTRY_FOUND);
    item = get(direct, key_of("a%7Db%25c"));
    assert_int_equal(item.state, GUARD_ENTRY_GRANTED);
}

static void test_values_are_binary(void **state) {
    NEED_SERVER();
    unsigned char bytes[70000];
    guard_entry item = get(direct, key_of("k"));

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 256);
    item.blob = tamis__guard_blob_create(NULL, bytes, sizeof bytes);
    OK(tamis__guard_entries_store(direct, &item, 1, &err));
    tamis__guard_blob_release(item.blob);
    item = get(direct, key_of("k"));
    assert_int_equal(tamis__guard_blob_bytes(item.blob).size, sizeof bytes);
    assert_memory_equal(tamis__guard_blob_bytes(item.blob).data, bytes, sizeof bytes);
}

static void test_batch_mixes_states(void **state) {
    NEED_SERVER();
    enum { COUNT = 300 };
    static guard_entry items[COUNT];
    static char keys[COUNT][8];
    uint8_t token[TAMIS_GUARD_TOKEN];

    for (int i = 0; i < COUNT; i++) {
        snprintf(keys[i], sizeof keys[i], "b%d", i);
        items[i] = (guard_entry){.key = key_of(keys[i])};
        if (i % 4 == 1)
            OK(store(direct, get(direct, items[i].key), keys[i]));
        if (i % 4 == 2)
            (void)get(direct, items[i].key);
        if (i % 4 == 3)
            OK(tamis__guard_entries_mark(direct, items[i].key, token, &err));
    }
    OK(tamis__guard_entries_get(direct, items, COUNT, &err));
    for (int i = 0; i < COUNT; i++) {
        static const guard_entry_state expected[] = {GUARD_ENTRY_GRANTED, GUARD_ENTRY_FOUND,
                                                     GUARD_ENTRY_LEASED, GUARD_ENTRY_MARKED};
        assert_int_equal(items[i].state, expected[i % 4]);
        if (items[i].blob)
            assert_memory_equal(tamis__guard_blob_bytes(items[i].blob).data, keys[i], strlen(keys[i]));
        assert_true(i < 4 || i % 4 || memcmp(items[i].token, items[i - 4].token, sizeof items[i].token) != 0);
        tamis__guard_blob_release(items[i].blob);
    }
    OK(tamis__guard_entries_get(direct, items, 0, &err));
}

/* ---- twice: the reply is lost, and the script is sent again ---- */

/* A connection that was idle for long is checked by a command of its own, which is not to be harmed. */
static void use_connection(void) {
    (void)get(cut, key_of("other"));
}

static void lose_next_reply(void) {
    use_connection();
    proxy_arm(between, PROXY_REPLIES, PROXY_CUT, 0);
}

static void check_lost(void) {
    assert_int_equal(proxy_harmed(between), 1);
    proxy_disarm(between);
}

static void test_steps_twice(void **state) {
    NEED_SERVER();
    uint8_t token[TAMIS_GUARD_TOKEN];

    lose_next_reply();
    const guard_entry item = get(cut, key_of("k"));
    check_lost();
    assert_int_equal(item.state, GUARD_ENTRY_GRANTED); /* and not awaited: the first lease was its own */
    lose_next_reply();
    OK(tamis__guard_entries_renew(cut, &item, 1, &err));
    check_lost();
    lose_next_reply();
    OK(store(cut, item, "row"));
    check_lost();
    check_text("Vrow", "t:{k}:entry");
    lose_next_reply();
    OK(tamis__guard_entries_mark(cut, key_of("k"), token, &err));
    check_lost();
    assert_int_equal(redis_server_number(&server, "ZCARD t:{k}:marks"), 1);
    lose_next_reply();
    OK(tamis__guard_entries_unmark(cut, key_of("k"), token, &err));
    check_lost();
    assert_false(exists("t:{k}:marks"));
    const guard_entry again = get(direct, key_of("k"));
    assert_int_equal(again.state, GUARD_ENTRY_GRANTED);
    lose_next_reply();
    OK(tamis__guard_entries_release(cut, &again, 1, &err));
    check_lost();
    assert_false(exists("t:{k}:lease"));
}

/* ---- late: a sending is held, its sender sends it again, and the held one comes in the end ---- */

static void hold_next_command(void) {
    use_connection();
    proxy_arm_command(between, PROXY_DELAY, 0);
}

static void deliver(void) {
    assert_int_equal(proxy_harmed(between), 1);
    proxy_deliver(between, true);
    proxy_disarm(between);
}

/* The late G2 sets a lease, and a late G4 with the token that was answered finds another one. */
static void test_late_get_and_late_store(void **state) {
    NEED_SERVER();
    hold_next_command();
    const guard_entry item = get(cut, key_of("k"));

    assert_int_equal(item.state, GUARD_ENTRY_GRANTED);
    OK(store(direct, item, "old"));
    write_row("k");
    deliver();
    assert_true(exists("t:{k}:lease"));
    OK(store(direct, item, "old"));
    assert_false(exists("t:{k}:entry"));
    check_life("t:{k}:lease", LEASE, LEASE);
}

static void test_late_store(void **state) {
    NEED_SERVER();
    const guard_entry item = get(cut, key_of("k"));

    hold_next_command();
    OK(store(cut, item, "old"));
    check_text("Vold", "t:{k}:entry");
    write_row("k");
    const guard_entry next = get(direct, key_of("k"));
    assert_int_equal(next.state, GUARD_ENTRY_GRANTED);
    deliver();
    assert_false(exists("t:{k}:entry"));
    OK(store(direct, next, "new"));
    check_text("Vnew", "t:{k}:entry");
}

static void test_late_mark_expires(void **state) {
    NEED_SERVER();
    uint8_t token[TAMIS_GUARD_TOKEN];

    hold_next_command();
    OK(tamis__guard_entries_mark(cut, key_of("k"), token, &err));
    OK(tamis__guard_entries_unmark(direct, key_of("k"), token, &err));
    OK(store(direct, get(direct, key_of("k")), "new"));
    deliver();
    assert_int_equal(state_of("k"), GUARD_ENTRY_MARKED);
    check_life("t:{k}:marks", MARK, MARK + TIMEOUT + 10);
}

static void test_late_unmark_deletes_what_is_right(void **state) {
    NEED_SERVER();
    uint8_t token[TAMIS_GUARD_TOKEN], other[TAMIS_GUARD_TOKEN];

    OK(tamis__guard_entries_mark(cut, key_of("k"), token, &err));
    hold_next_command();
    OK(tamis__guard_entries_unmark(cut, key_of("k"), token, &err));
    OK(tamis__guard_entries_mark(direct, key_of("k"), other, &err));
    deliver();
    assert_int_equal(state_of("k"), GUARD_ENTRY_MARKED);
}

static void test_late_renewal_and_release(void **state) {
    NEED_SERVER();
    const guard_entry item = get(cut, key_of("k"));

    hold_next_command();
    OK(tamis__guard_entries_renew(cut, &item, 1, &err));
    OK(tamis__guard_entries_release(direct, &item, 1, &err));
    assert_int_equal(state_of("k"), GUARD_ENTRY_GRANTED);
    redis_server_command(&server, "PEXPIRE t:{k}:lease 2000");
    deliver();
    check_life("t:{k}:lease", 1500, 2000);

    const guard_entry released = get(cut, key_of("r"));
    hold_next_command();
    OK(tamis__guard_entries_release(cut, &released, 1, &err));
    assert_int_equal(state_of("r"), GUARD_ENTRY_GRANTED);
    deliver();
    assert_int_equal(state_of("r"), GUARD_ENTRY_LEASED);
}

/* ---- servers that refuse ---- */

static void test_full_memory(void **state) {
    NEED_SERVER();
    uint8_t token[TAMIS_GUARD_TOKEN];
    guard_entry items[2] = {{.key = key_of("a")}, {.key = key_of("b")}};

    redis_server_command(&server, "CONFIG SET maxmemory 1");
    OK(tamis__guard_entries_get(direct, items, 2, &err));
    assert_int_equal(items[0].state, GUARD_ENTRY_GRANTED);
    items[0].blob = items[1].blob = tamis__guard_blob_create(NULL, "row", 3);
    assert_int_equal(tamis__guard_entries_store(direct, items, 2, &err), TAMIS_E_REFUSED);
    assert_non_null(strstr(err.text, "OOM"));
    tamis__guard_blob_release(items[0].blob);
    assert_false(exists("t:{a}:entry") || exists("t:{a}:lease") || exists("t:{b}:lease"));
    OK(tamis__guard_entries_mark(direct, key_of("a"), token, &err));
    assert_int_equal(state_of("a"), GUARD_ENTRY_MARKED);
    OK(tamis__guard_entries_unmark(direct, key_of("a"), token, &err));
    redis_server_command(&server, "CONFIG SET maxmemory 0");
}

static void test_user_without_rights(void **state) {
    NEED_SERVER();
    char uri[80];
    guard_entry item = {.key = key_of("k")};

    redis_server_command(&server, "ACL SETUSER weak on >pw ~* +@all -eval");
    snprintf(uri, sizeof uri, "redis://weak:pw@127.0.0.1:%d", server.port);
    guard_entries *weak = open_entries(uri);
    assert_int_equal(tamis__guard_entries_get(weak, &item, 1, &err), TAMIS_E_REFUSED);
    assert_int_equal(item.state, GUARD_ENTRY_UNKNOWN);
    redis_server_command(&server, "ACL SETUSER weak +eval -set");
    assert_int_equal(tamis__guard_entries_get(weak, &item, 1, &err), TAMIS_E_REFUSED);
    OK(store(direct, get(direct, key_of("k")), "row"));
    OK(tamis__guard_entries_get(weak, &item, 1, &err));
    assert_int_equal(item.state, GUARD_ENTRY_FOUND);
    tamis__guard_blob_release(item.blob);
    tamis__guard_entries_close(weak);
}

static void test_read_only_server(void **state) {
    NEED_SERVER();
    guard_entry item = {.key = key_of("k")};
    uint8_t token[TAMIS_GUARD_TOKEN];

    redis_server_command(&server, "REPLICAOF 127.0.0.1 1");
    const uint64_t start = tamis__now_ns();
    const tamis_status status = tamis__guard_entries_get(direct, &item, 1, &err),
                       marked = tamis__guard_entries_mark(direct, item.key, token, &err);
    const uint64_t ms = (tamis__now_ns() - start) / 1000000;
    redis_server_command(&server, "REPLICAOF NO ONE");
    assert_int_not_equal(status, TAMIS_OK);
    assert_int_not_equal(marked, TAMIS_OK);
    assert_int_equal(item.state, GUARD_ENTRY_UNKNOWN);
    assert_true(ms < 2 * TIMEOUT);
}

static void test_foreign_entry(void **state) {
    NEED_SERVER();
    guard_entry items[3] = {{.key = key_of("a")}, {.key = key_of("b")}, {.key = key_of("c")}};

    redis_server_command(&server, "SET t:{a}:entry x");
    redis_server_command(&server, "RPUSH t:{b}:entry Vx");
    assert_int_equal(tamis__guard_entries_get(direct, items, 3, &err), TAMIS_E_MISMATCH);
    assert_non_null(strstr(err.text, "t:{a}:entry"));
    assert_int_equal(items[0].state, GUARD_ENTRY_UNKNOWN);
    assert_int_equal(items[1].state, GUARD_ENTRY_UNKNOWN);
    assert_int_equal(items[2].state, GUARD_ENTRY_GRANTED);
}

static void test_silent_server_costs_no_more_than_timeout(void **state) {
    NEED_SERVER();
    guard_entry item = {.key = key_of("k")};

    kill(server.pid, SIGSTOP);
    const uint64_t stopped = tamis__now_ns();
    const tamis_status status = tamis__guard_entries_get(direct, &item, 1, &err);
    const uint64_t ms = (tamis__now_ns() - stopped) / 1000000;
    kill(server.pid, SIGCONT);
    assert_int_equal(status, TAMIS_E_TIMEOUT);
    assert_true(ms <= TIMEOUT);

    redis_server_kill(&server);
    const uint64_t killed = tamis__now_ns();
    assert_int_equal(tamis__guard_entries_get(direct, &item, 1, &err), TAMIS_E_IO);
    assert_true((tamis__now_ns() - killed) / 1000000 <= TIMEOUT);
    redis_server_restart(&server);
    assert_int_equal(state_of("k"), GUARD_ENTRY_GRANTED);
}

/* The URI's own times count. */
static void test_uri_sets_times(void **state) {
    NEED_SERVER();
    char uri[100];
    guard_entry item = {.key = key_of("k")};

    snprintf(uri, sizeof uri, "%s?patience=2500ms&read_timeout=2500ms", server.uri);
    guard_entries *patient = open_entries(uri);
    kill(server.pid, SIGSTOP);
    const uint64_t stopped = tamis__now_ns();
    const tamis_status status = tamis__guard_entries_get(patient, &item, 1, &err);
    const uint64_t ms = (tamis__now_ns() - stopped) / 1000000;
    kill(server.pid, SIGCONT);
    assert_int_equal(status, TAMIS_E_TIMEOUT);
    assert_true(ms >= 2400);
    tamis__guard_entries_close(patient);
}

static void test_wrong_arguments(void **state) {
    NEED_SERVER();
    guard_entries_options options = default_options(server.uri);
    guard_entries *entries = NULL;
    guard_entry item = {.key = {"", 0}};

    options.prefix = "a{b";
    assert_int_equal(tamis__guard_entries_open(&entries, &options, &err), TAMIS_E_INVALID);
    assert_int_equal(tamis__guard_entries_get(direct, &item, 1, &err), TAMIS_E_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_reader_gets_lease_and_stores, begin_test),
        cmocka_unit_test_setup(test_null_has_its_own_life, begin_test),
        cmocka_unit_test_setup(test_value_of_no_bytes_is_no_null, begin_test),
        cmocka_unit_test_setup(test_lives_differ, begin_test),
        cmocka_unit_test_setup(test_one_reader_has_the_lease, begin_test),
        cmocka_unit_test_setup(test_renewal_needs_the_token, begin_test),
        cmocka_unit_test_setup(test_expired_lease_stores_nothing, begin_test),
        cmocka_unit_test_setup(test_mark_removes_entry_and_lease, begin_test),
        cmocka_unit_test_setup(test_writer_leaves_other_marks, begin_test),
        cmocka_unit_test_setup(test_mark_expires, begin_test),
        cmocka_unit_test_setup(test_unmark_without_token_deletes, begin_test),
        cmocka_unit_test_setup(test_braces_of_keys_are_escaped, begin_test),
        cmocka_unit_test_setup(test_values_are_binary, begin_test),
        cmocka_unit_test_setup(test_batch_mixes_states, begin_test),
        cmocka_unit_test_setup(test_steps_twice, begin_test),
        cmocka_unit_test_setup(test_late_get_and_late_store, begin_test),
        cmocka_unit_test_setup(test_late_store, begin_test),
        cmocka_unit_test_setup(test_late_mark_expires, begin_test),
        cmocka_unit_test_setup(test_late_unmark_deletes_what_is_right, begin_test),
        cmocka_unit_test_setup(test_late_renewal_and_release, begin_test),
        cmocka_unit_test_setup(test_full_memory, begin_test),
        cmocka_unit_test_setup(test_user_without_rights, begin_test),
        cmocka_unit_test_setup(test_read_only_server, begin_test),
        cmocka_unit_test_setup(test_foreign_entry, begin_test),
        cmocka_unit_test_setup(test_silent_server_costs_no_more_than_timeout, begin_test),
        cmocka_unit_test_setup(test_uri_sets_times, begin_test),
        cmocka_unit_test_setup(test_wrong_arguments, begin_test),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}

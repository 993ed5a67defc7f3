/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "store/redis/connection/redis_reply.h"
#include "support/fault.h"
#include "support/scratch.h"

static fault_memory memory;
static tamis_allocator allocator;
static tamis__replies *replies;
static tamis_error err;

static int set_up(void **state) {
    (void)state;
    memory = (fault_memory){0};
    allocator = fault_memory_allocator(&memory);
    replies = tamis__replies_create(&allocator);
    return replies ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    tamis__replies_free(replies);
    replies = NULL;
    return memory.live_blocks == 0 ? 0 : -1;
}

static void start_anew(void) {
    tamis__replies_free(replies);
    replies = tamis__replies_create(&allocator);
    assert_non_null(replies);
}

static const tamis__reply *next(void) {
    const tamis__reply *reply = NULL;
    assert_int_equal(tamis__replies_next(replies, &reply, &err), TAMIS_OK);
    return reply;
}

static void feed(const char *bytes, size_t size) {
    assert_int_equal(tamis__replies_feed(replies, bytes, size, &err), TAMIS_OK);
}

/* Writes a reply as text, so that one comparison covers all of it. */
static size_t show(const tamis__reply *reply, char *to, size_t buffer_size) {
    size_t used = 0;
    switch (reply->type) {
    case TAMIS__REPLY_NIL:
        return (size_t)snprintf(to, buffer_size, "nil");
    case TAMIS__REPLY_INTEGER:
        return (size_t)snprintf(to, buffer_size, "%lld", (long long)reply->integer);
    case TAMIS__REPLY_ARRAY:
        used = (size_t)snprintf(to, buffer_size, "[");
        for (size_t i = 0; i < reply->size; i++) {
            used += show(&reply->items[i], to + used, buffer_size - used);
            used += (size_t)snprintf(to + used, buffer_size - used, i + 1 < reply->size ? " " : "");
        }
        return used + (size_t)snprintf(to + used, buffer_size - used, "]");
    case TAMIS__REPLY_STRING:
    case TAMIS__REPLY_STATUS:
    case TAMIS__REPLY_ERROR:
        assert_int_equal(reply->text[reply->size], '\0');
        return (size_t)snprintf(to, buffer_size, "%c%zu:%s", "$+-"[reply->type - TAMIS__REPLY_STRING],
                                reply -> size, reply -> text);
    }
    return 0;
}

static void check(const tamis__reply *reply, const char *expected) {
    char shown[300] = "none yet";
    if (reply)
        show(reply, shown, sizeof shown);
    assert_string_equal(shown, expected);
}

static const struct {
    const char *sent;
    size_t size;
    const char *shown;
} samples[] = {
#define SAMPLE(sent, shown)                                                                                  \
    { sent, sizeof sent - 1, shown }
    SAMPLE(":42\r\n", "42"),
    SAMPLE(":-9223372036854775807\r\n", "-9223372036854775807"),
    SAMPLE("+OK\r\n", "+2:OK"),
    SAMPLE("-NOPERM no\r\n", "-9:NOPERM no"),
    SAMPLE("$3\r\na\r\n\r\n", "$3:a\r\n"),
    SAMPLE("$0\r\n\r\n", "$0:"),
    SAMPLE("$-1\r\n", "nil"),
    SAMPLE("*-1\r\n", "nil"),
    SAMPLE("*0\r\n", "[]"),
    SAMPLE("*3\r\n:0\r\n$-1\r\n$2\r\nab\r\n", "[0 nil $2:ab]"),
    SAMPLE("*2\r\n*2\r\n:1\r\n*1\r\n+x\r\n*1\r\n-E e\r\n", "[[1 [+1:x]] [-3:E e]]"),
#undef SAMPLE
};
enum { SAMPLES = sizeof samples / sizeof *samples };

static void every_type_is_read(void **state) {
    (void)state;
    for (int i = 0; i < SAMPLES; i++) {
        feed(samples[i].sent, samples[i].size);
        check(next(), samples[i].shown);
        assert_null(next());
        assert_true(tamis__replies_is_drained(replies));
    }
}

static void bytes_may_be_any(void **state) {
    (void)state;
    static const char sent[] = "$5\r\na\0\r\n\xff\r\n";
    feed(sent, sizeof sent - 1);
    const tamis__reply *reply = next();
    assert_int_equal(reply->size, 5);
    assert_memory_equal(reply->text, "a\0\r\n\xff", 5);
}

/* All samples in one stream, received in two pieces, cut at every byte, and byte by byte. */
static void replies_may_come_in_parts(void **state) {
    (void)state;
    test_bytes reply_bytes = {0};
    for (int i = 0; i < SAMPLES; i++)
        bytes_add(&reply_bytes, samples[i].sent, samples[i].size);
    for (size_t cut = 0; cut <= reply_bytes.size; cut++) {
        size_t fed[] = {cut, reply_bytes.size - cut};
        const unsigned char *from = reply_bytes.data;
        int present = 0;
        for (int part = 0; part < 2; from += fed[part++]) {
            feed((const char *)from, fed[part]);
            for (const tamis__reply *reply; (reply = next()); present++)
                check(reply, samples[present].shown);
        }
        assert_int_equal(present, SAMPLES);
        assert_true(tamis__replies_is_drained(replies));
    }
    int present = 0;
    for (size_t i = 0; i < reply_bytes.size; i++) {
        feed((const char *)reply_bytes.data + i, 1);
        const tamis__reply *reply = next();
        if (reply)
            check(reply, samples[present++].shown);
        else
            assert_false(tamis__replies_is_drained(replies));
    }
    assert_int_equal(present, SAMPLES);
    bytes_clear(&reply_bytes);
}

static void an_invalid_reply_is_reported(void **state) {
    (void)state;
    static const char *const garbage[] = {
        "HTTP/1.1 400 Bad Request\r\n", "\r\n",         ":12x\r\n",    "$x\r\n",  "*x\r\n",
        "SSH-2.0-OpenSSH_9\r\n",        "\x15\x03\x01", "*1\r\nx\r\n", "$-2\r\n", "*-2\r\n"};
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        const tamis__reply *reply = NULL;
        feed(garbage[i], strlen(garbage[i]));
        if (tamis__replies_next(replies, &reply, &err) != TAMIS_E_IO)
            fail_msg("%s", garbage[i]);
        assert_non_null(strstr(err.text, "is it a Redis"));
        assert_null(reply);
        start_anew();
    }
}

/* Replies that claim more items or bytes than any memory holds: nothing is allocated. */
static void huge_counts_take_no_memory(void **state) {
    (void)state;
    static const char *const huge[] = {"*2147483647\r\n",          "*4294967297\r\n",
                                       "*9223372036854775807\r\n", "*18446744073709551615\r\n",
                                       "*2\r\n*99999999\r\n",      "$9223372036854775807\r\n",
                                       "$99999999999999999999\r\n"};
    for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
        const tamis__reply *reply = NULL;
        feed(huge[i], strlen(huge[i]));
        tamis_status status = tamis__replies_next(replies, &reply, &err);
        /* A long string is waited for, without memory until it arrives. */
        if (status != TAMIS_E_IO && status != TAMIS_E_NOMEM && !(status == TAMIS_OK && *huge[i] == '$'))
            fail_msg("%s: %d", huge[i], (int)status);
        assert_null(reply);
        assert_true(memory.peak_bytes < 100000);
        start_anew();
    }
}

static void a_reply_without_end_is_refused(void **state) {
    (void)state;
    char block[65536];
    memset(block, '+', sizeof block);
    tamis_status status = TAMIS_OK;
    size_t fed = 0;
    for (; status == TAMIS_OK && fed < (size_t)200 << 20; fed += sizeof block) {
        const tamis__reply *reply;
        status = tamis__replies_feed(replies, block, sizeof block, &err);
        if (status == TAMIS_OK && fed == 0)
            assert_int_equal(tamis__replies_next(replies, &reply, &err), TAMIS_OK);
    }
    assert_int_equal(status, TAMIS_E_IO);
    assert_true(fed < (size_t)66 << 20);
}

/* Many replies need the memory of one, and the memory of a large one is freed. */
static void memory_is_used_again(void **state) {
    (void)state;
    char large[100008] = "$100000\r\n";
    memset(large + 9, 'x', sizeof large - 9);
    for (int i = 0; i < 10000; i++) {
        feed(samples[9].sent, samples[9].size);
        check(next(), samples[9].shown);
    }
    assert_null(next());
    size_t held = memory.live_bytes;
    uint64_t requests = memory.requests;
    assert_true(requests < 5);
    feed(large, sizeof large);
    assert_null(next());
    feed("x\r\n", 3);
    assert_int_equal(next()->size, 100000);
    assert_true(memory.live_bytes > held + 100000);
    assert_null(next());
    assert_true(memory.live_bytes < 2 * held);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    test_bytes reply_bytes = {0};
    char item[3000];
    bytes_add(&reply_bytes, "*20\r\n", 5);
    for (int i = 0; i < 20; i++)
        bytes_add(&reply_bytes, item, (size_t)snprintf(item, sizeof item, "$2000\r\n%02000d\r\n", i));
    bool failed = true;
    tear_down(NULL);
    for (uint64_t n = 1; failed; n++) {
        memory = (fault_memory){.fail_at = n};
        tamis_status status = TAMIS_E_NOMEM;
        const tamis__reply *reply = NULL;
        replies = tamis__replies_create(&allocator);
        if (replies) {
            feed((const char *)reply_bytes.data, reply_bytes.size);
            status = tamis__replies_next(replies, &reply, &err);
        }
        failed = memory.refused > 0;
        assert_int_equal(status, failed ? TAMIS_E_NOMEM : TAMIS_OK);
        assert_true(failed == !reply);
        assert_int_equal(tear_down(NULL), 0);
        assert_true(n < 100);
    }
    bytes_clear(&reply_bytes);
    set_up(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_type_is_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bytes_may_be_any, set_up, tear_down),
        cmocka_unit_test_setup_teardown(replies_may_come_in_parts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_invalid_reply_is_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(huge_counts_take_no_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reply_without_end_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_is_used_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

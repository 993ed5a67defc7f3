/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "server/resp_parser.h"
#include "support/fault.h"

static const resp_limits limits = {.arguments = 100, .bulk = 1000, .command = 5000};

enum { TEXT_MAX = 4096 };

/* Appends the arguments as [a][b], or the error. */
static void append(char *text, const resp_parser *parser, resp_result result) {
    size_t used = strlen(text);

    if (result == RESP_INVALID) {
        snprintf(text + used, TEXT_MAX - used, "!%s", parser->error);
        return;
    }
    for (size_t i = 0; i < parser->count; i++)
        used += (size_t)snprintf(text + used, TEXT_MAX - used, "[%.*s]", (int)parser->arguments[i].size,
                                 (const char *)parser->arguments[i].data);
    snprintf(text + used, TEXT_MAX - used, ";");
}

/* Parses all commands of `bytes`, which arrive in pieces of `piece` bytes, each time at another address. */
static void parse(char text[TEXT_MAX], const char *bytes, size_t size, size_t piece) {
    resp_parser parser = {.memory = tamis__allocator_resolve(NULL)};
    size_t first = 0;
    resp_result result = RESP_PARTIAL;

    text[0] = '\0';
    for (size_t received = 0; received < size && result != RESP_INVALID;) {
        received += size - received < piece ? size - received : piece;
        do {
            size_t consumed = 0;
            char *data = malloc(received - first + 1);
            assert_non_null(data);
            memcpy(data, bytes + first, received - first);
            result = tamis__resp_parse(&parser, &limits, data, received - first, &consumed);
            assert_int_not_equal(result, RESP_NO_MEMORY);
            if (result != RESP_PARTIAL)
                append(text, &parser, result);
            first += consumed;
            free(data);
        } while (result == RESP_COMMAND);
    }
    tamis__resp_parser_release(&parser);
}

static void check(const char *bytes, size_t size, const char *expected) {
    char text[TEXT_MAX];

    for (size_t piece = 1; piece <= size; piece++) {
        parse(text, bytes, size, piece);
        assert_string_equal(text, expected);
    }
}
#define CHECK(bytes, expected) check(bytes, sizeof(bytes) - 1, expected)

static void test_arrays(void **state) {
    (void)state;
    CHECK("*2\r\n$3\r\nGET\r\n$6\r\nitem:1\r\n", "[GET][item:1];");
    CHECK("*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n", "[PING];[PING];");
    CHECK("*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", "[ECHO][];");
    CHECK("*2\r\n$4\r\nECHO\r\n$4\r\n\r\n$1\r\n", "[ECHO][\r\n$1];");
    CHECK("*0\r\n*-1\r\n*1\r\n$1\r\nX\r\n", ";;[X];");
}

static void test_lines(void **state) {
    (void)state;
    CHECK("GET item:1\r\n", "[GET][item:1];");
    CHECK("  GET\titem:1 \n\r\nPING\n", "[GET][item:1];;[PING];");
    CHECK("ECHO \"a b\\x41\\n\\\"\" 'c \\'d\\n'\n", "[ECHO][a bA\n\"][c 'd\\n];");
    CHECK("ECHO \"\" ''\n", "[ECHO][][];");
    CHECK("ECHO \"a\n", "!Protocol error: unbalanced quotes in request");
    CHECK("ECHO 'a'b\n", "!Protocol error: unbalanced quotes in request");
}

static void test_errors_have_the_words_of_redis(void **state) {
    (void)state;
    CHECK("*1000\r\n", "!Protocol error: invalid multibulk length");
    CHECK("*x\r\n", "!Protocol error: invalid multibulk length");
    CHECK("*\r\n", "!Protocol error: invalid multibulk length");
    CHECK("*99999999999999999999999999\r\n", "!Protocol error: invalid multibulk length");
    CHECK("*0000000000000000000000000000000000001\r\n", "!Protocol error: invalid multibulk length");
    CHECK("*1\r\n:4\r\n", "!Protocol error: expected '$', got ':'");
    CHECK("*1\r\n\x01\r\n", "!Protocol error: expected '$', got '?'");
    CHECK("*1\r\n$-1\r\n", "!Protocol error: invalid bulk length");
    CHECK("*1\r\n$1073741824\r\n", "!Protocol error: invalid bulk length");
    CHECK("*1\r\n$1001\r\n", "!Protocol error: invalid bulk length");
    CHECK("*1\r\n$4\r\nPINGxx", "!Protocol error: expected CRLF after a bulk string");
    CHECK("*1\r\n$4\rxPING\r\n", "!Protocol error: invalid bulk length");
}

static void test_query_is_bounded(void **state) {
    (void)state;
    const resp_limits small = {.arguments = 10, .bulk = 1000, .command = 1005};
    resp_parser parser = {.memory = tamis__allocator_resolve(NULL)};
    char *line = malloc(RESP_INLINE_MAX);
    size_t consumed;

    assert_int_equal(tamis__resp_parse(&parser, &small, "*1\r\n$1000\r\n", 11, &consumed), RESP_INVALID);
    assert_string_equal(parser.error, "Protocol error: too big query");
    tamis__resp_parser_release(&parser);
    assert_non_null(line);
    memset(line, 'x', RESP_INLINE_MAX);
    assert_int_equal(tamis__resp_parse(&parser, &limits, line, RESP_INLINE_MAX - 1, &consumed), RESP_PARTIAL);
    assert_int_equal(tamis__resp_parse(&parser, &limits, line, RESP_INLINE_MAX, &consumed), RESP_INVALID);
    assert_string_equal(parser.error, "Protocol error: too big inline request");
    free(line);
    tamis__resp_parser_release(&parser);
}

static void test_memory_may_be_short(void **state) {
    (void)state;
    static const char *const commands[] = {"*12\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n$1\r\ne\r\n$"
                                           "1\r\nf\r\n$1\r\ng\r\n$1\r\nh\r\n$1\r\ni"
                                           "\r\n$1\r\nj\r\n$1\r\nk\r\n$1\r\nl\r\n",
                                           "a b c d e f g h i j k l\n"};

    for (size_t i = 0; i < 2; i++) {
        fault_memory memory = {0};
        resp_parser parser = {.memory = fault_memory_allocator(&memory)};
        resp_result result;
        size_t refusals = 0, consumed = 0;
        do {
            memory.fail_at = memory.requests + 1 + refusals % 2;
            result = tamis__resp_parse(&parser, &limits, commands[i], strlen(commands[i]), &consumed);
            refusals += result == RESP_NO_MEMORY;
        } while (result == RESP_NO_MEMORY && refusals < 10);
        assert_int_equal(result, RESP_COMMAND);
        assert_true(refusals > 0);
        assert_int_equal(consumed, strlen(commands[i]));
        assert_int_equal(parser.count, 12);
        assert_memory_equal(parser.arguments[11].data, "l", 1);
        tamis__resp_parser_release(&parser);
        assert_int_equal(memory.live_blocks, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_errors_have_the_words_of_redis),
        cmocka_unit_test(test_query_is_bounded),
        cmocka_unit_test(test_memory_may_be_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

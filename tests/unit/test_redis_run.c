/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A pipeline to a server that the test simulates. It replies to a command with the number in the command,
 * refuses it for now, or closes. The client must get the right reply to each command exactly once.
 */
#include <inttypes.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/redis/request/redis_requests.h"
#include "support/fault.h"
#include "support/scratch.h"

enum { COMMAND = 16 /* *1 $6 and six digits, each with CR and LF */, KEYS_MAX = 20000 };

static tamis_error err;

/* ---- the server ---- */

typedef enum deed { ANSWER, REFUSE, UNCONFIRMED, FORBID, GO } deed;

typedef struct server {
    pthread_t thread;
    int door, port;
    deed (*decide)(struct server *self, uint32_t number);
    uint64_t random;
    uint64_t queried;             /* number of commands read */
    uint32_t order[3 * KEYS_MAX]; /* numbers of the first commands, in order */
    uint32_t refused_first;       /* counter for the test */
} server;

static server self;

/* Reads a command. Answers the PING that a client sends first. */
static bool read_whole(int fd, char *to) {
    static const char ping[] = "*1\r\n$4\r\nPING\r\n", pong[] = "+PONG\r\n";
    for (size_t got = 0; got < COMMAND;) {
        if (got == sizeof ping - 1 && memcmp(to, ping, got) == 0) {
            if (send(fd, pong, sizeof pong - 1, MSG_NOSIGNAL) < 0)
                return false;
            got = 0;
        }
        ssize_t received = recv(fd, to + got, COMMAND - got, 0);
        if (received <= 0)
            return false;
        got += (size_t)received;
    }
    return true;
}

static void serve(int fd) {
    char command[COMMAND + 1], reply[64];
    while (read_whole(fd, command)) {
        command[COMMAND - 2] = '\0';
        uint32_t number = (uint32_t)strtoul(command + 8, NULL, 10);
        if (self.queried < sizeof self.order / sizeof *self.order)
            self.order[self.queried] = number;
        self.queried++;
        deed now = self.decide(&self, number);
        if (now == GO)
            return;
        int size = now == ANSWER        ? sprintf(reply, ":%" PRIu32 "\r\n", number)
                   : now == REFUSE      ? sprintf(reply, "-LOADING not yet\r\n")
                   : now == UNCONFIRMED ? sprintf(reply, "-ERR handle response, backend conn reset\r\n")
                                        : sprintf(reply, "-ERR never\r\n");
        if (send(fd, reply, (size_t)size, MSG_NOSIGNAL) != size)
            return;
    }
}

static void *run_server(void *context) {
    (void)context;
    for (int fd; (fd = accept(self.door, NULL, NULL)) >= 0; close(fd))
        serve(fd);
    return NULL;
}

static void start(deed (*decide)(server *, uint32_t)) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    memset(&self, 0, sizeof self);
    self.decide = decide;
    self.random = test_seed(7);
    self.door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(self.door, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(self.door, 8), 0);
    assert_int_equal(getsockname(self.door, (struct sockaddr *)&address, &size), 0);
    self.port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&self.thread, NULL, run_server, NULL), 0);
}

static void stop(tamis_redis *redis) {
    tamis_redis_close(redis);
    shutdown(self.door, SHUT_RDWR);
    pthread_join(self.thread, NULL);
    close(self.door);
}

static tamis_redis *open_it(const char *parameters) {
    char uri[200];
    tamis_redis *redis = NULL;
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d?%s", self.port, parameters);
    if (tamis_redis_open(&redis, uri, NULL, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return redis;
}

/* ---- the pipeline ---- */

typedef struct queries {
    unsigned char selected[KEYS_MAX], again[KEYS_MAX];
    bool skips; /* true if numbers divisible by 3 have no command */
    bool wrong;
} queries;

static queries ctx;

static bool put_command(void *context, size_t i, tamis__connection *conn) {
    char digits[8];
    (void)context;
    if (ctx.skips && i % 3 == 0)
        return false;
    snprintf(digits, sizeof digits, "%06u", (unsigned)i);
    tamis__connection_put_command(conn, 1);
    tamis__connection_put_text(conn, digits);
    return true;
}

static tamis_status accept_reply(void *context, size_t i, const tamis__reply *reply, bool again,
                                 tamis_error *error) {
    (void)context;
    (void)error;
    ctx.wrong = ctx.wrong || reply->type != TAMIS__REPLY_INTEGER || reply->integer != (int64_t)i;
    ctx.selected[i]++;
    ctx.again[i] = again;
    return TAMIS_OK;
}

static tamis_status run(tamis_redis *redis, size_t count, bool *any_retried) {
    const tamis__requests requests = {
        .count = count, .put_command = put_command, .accept_reply = accept_reply, .what = "it"};
    memset(ctx.selected, 0, sizeof ctx.selected);
    memset(ctx.again, 0, sizeof ctx.again);
    ctx.wrong = false;
    return tamis__requests_run(redis, &requests, any_retried, &err);
}

static void check_received(size_t count) {
    assert_false(ctx.wrong);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(ctx.selected[i], ctx.skips && i % 3 == 0 ? 0 : 1);
}

/* ---- tests ---- */

static deed answers_all(server *peer, uint32_t number) {
    (void)peer;
    (void)number;
    return ANSWER;
}

static void every_reply_is_received_once_in_order(void **state) {
    (void)state;
    start(answers_all);
    tamis_redis *redis = open_it("patience=60s");
    bool any_retried = true;
    for (int i = 0; i < 2; i++) {
        ctx.skips = i == 1;
        assert_int_equal(run(redis, KEYS_MAX, &any_retried), TAMIS_OK);
        assert_false(any_retried);
        check_received(KEYS_MAX);
    }
    ctx.skips = false;
    assert_int_equal(run(redis, 0, &any_retried), TAMIS_OK);
    stop(redis);
    for (uint32_t i = 0; i < KEYS_MAX; i++)
        assert_int_equal(self.order[i], i);
}

/* If the last numbers have no command, the client does not wait for replies. */
static void the_last_may_be_no_command(void **state) {
    (void)state;
    start(answers_all);
    tamis_redis *redis = open_it("patience=60s");
    bool any_retried = true;
    ctx.skips = true;
    for (size_t count = 1; count < 3000; count = count * 3 + 1) {
        assert_int_equal(run(redis, count, &any_retried), TAMIS_OK);
        check_received(count);
    }
    ctx.skips = false;
    stop(redis);
}

/* Refuses the first thousand commands until all of them were sent once. */
static deed refuses_first(server *peer, uint32_t number) {
    if (number < 1000 && peer->refused_first < 1000) {
        peer->refused_first++;
        return REFUSE;
    }
    return ANSWER;
}

static void temporarily_refused_commands_are_sent_again(void **state) {
    (void)state;
    start(refuses_first);
    tamis_redis *redis = open_it("patience=60s&retry_interval=50ms");
    bool any_retried = false;
    assert_int_equal(run(redis, 1000, &any_retried), TAMIS_OK);
    assert_true(any_retried);
    check_received(1000);
    stop(redis);
    assert_int_equal(self.queried, 2000);
    for (uint32_t i = 0; i < 2000; i++)
        assert_int_equal(self.order[i], i % 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(ctx.again[i], 0); /* a refused command was not executed */
}

/* The reply of Codis for a server that was lost with the command, executed or not. */
static deed loses_first(server *peer, uint32_t number) {
    (void)number;
    return peer->refused_first++ < 10 ? UNCONFIRMED : ANSWER;
}

static void commands_without_a_reply_are_marked(void **state) {
    (void)state;
    start(loses_first);
    tamis_redis *redis = open_it("patience=60s&retry_interval=1ms");
    assert_int_equal(run(redis, 1000, NULL), TAMIS_OK);
    check_received(1000);
    stop(redis);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(ctx.again[i], i < 10);
}

static deed does_anything(server *peer, uint32_t number) {
    uint64_t chance = test_below(&peer->random, 4000);
    (void)number;
    return chance == 0 ? GO : chance < 40 ? REFUSE : ANSWER;
}

static void no_reply_is_lost_or_received_twice(void **state) {
    (void)state;
    start(does_anything);
    tamis_redis *redis = open_it("patience=60s&retry_interval=1ms");
    for (int i = 0; i < 4; i++) {
        bool any_retried = false;
        ctx.skips = i % 2 == 1;
        assert_int_equal(run(redis, KEYS_MAX, &any_retried), TAMIS_OK);
        check_received(KEYS_MAX);
        for (size_t j = 0; j < KEYS_MAX; j++)
            assert_true(any_retried || !ctx.again[j]);
    }
    ctx.skips = false;
    stop(redis);
}

/* Closes at command 100. That one, and those before it without a reply, may have been executed. */
static deed goes_once(server *peer, uint32_t number) {
    if (number != 100 || peer->refused_first)
        return ANSWER;
    peer->refused_first = 1;
    return GO;
}

static void commands_in_flight_are_marked(void **state) {
    (void)state;
    start(goes_once);
    tamis_redis *redis = open_it("patience=60s&retry_interval=1ms");
    assert_int_equal(run(redis, KEYS_MAX, NULL), TAMIS_OK);
    check_received(KEYS_MAX);
    assert_int_equal(ctx.again[100], 1);
    assert_int_equal(ctx.again[KEYS_MAX - 1], 0); /* too late in the list to have been under way */
    stop(redis);
}

static deed forbids_one(server *peer, uint32_t number) {
    (void)peer;
    return number == 70 ? FORBID : ANSWER;
}

static void a_permanent_refusal_ends_the_pipeline(void **state) {
    (void)state;
    start(forbids_one);
    tamis_redis *redis = open_it("patience=60s");
    assert_int_equal(run(redis, 1000, NULL), TAMIS_E_REFUSED);
    assert_non_null(strstr(err.text, "ERR never"));
    for (int i = 0; i < 1000; i++)
        assert_int_equal(ctx.selected[i], i < 70);
    assert_int_equal(run(redis, 70, NULL),
                     TAMIS_OK); /* by another connection: this one has replies under way */
    check_received(70);
    stop(redis);
}

static deed refuses_all(server *peer, uint32_t number) {
    (void)peer;
    (void)number;
    return REFUSE;
}

static void patience_ends_with_a_reason(void **state) {
    (void)state;
    start(refuses_all);
    tamis_redis *redis = open_it("patience=300ms&retry_interval=1ms");
    assert_int_equal(run(redis, 1000, NULL), TAMIS_E_TIMEOUT);
    assert_non_null(strstr(err.text, "LOADING"));
    assert_non_null(strstr(err.text, "wait until"));
    stop(redis);
}

static deed goes_always(server *peer, uint32_t number) {
    (void)peer;
    (void)number;
    return GO;
}

static void lost_connections_end_with_a_reason(void **state) {
    (void)state;
    start(goes_always);
    tamis_redis *redis = open_it("patience=20ms&retry_interval=1ms");
    tamis_status status = run(redis, 1000, NULL);
    assert_true(status == TAMIS_E_IO || status == TAMIS_E_TIMEOUT); /* TIMEOUT if connecting takes longer */
    assert_non_null(strstr(err.text, "; "));
    stop(redis);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reply_is_received_once_in_order),
        cmocka_unit_test(the_last_may_be_no_command),
        cmocka_unit_test(temporarily_refused_commands_are_sent_again),
        cmocka_unit_test(commands_without_a_reply_are_marked),
        cmocka_unit_test(no_reply_is_lost_or_received_twice),
        cmocka_unit_test(commands_in_flight_are_marked),
        cmocka_unit_test(a_permanent_refusal_ends_the_pipeline),
        cmocka_unit_test(patience_ends_with_a_reason),
        cmocka_unit_test(lost_connections_end_with_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

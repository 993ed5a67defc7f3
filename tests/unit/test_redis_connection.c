/* SPDX-License-Identifier: BSD-2-Clause */

/* A single connection, to servers that the test simulates: they send a script of bytes and close. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/redis/connection/redis_connection.h"
#include "support/fault.h"
#include "support/scratch.h"

static const uint64_t MS = 1000000, LONG = 20000; /* LONG: ms, longer than anything here takes */

static fault_memory memory;
static tamis_allocator allocator;
static tamis__endpoint to;
static tamis_error err;
static int door; /* listening socket */

static int set_up(void **state) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    (void)state;
    memory = (fault_memory){0};
    allocator = fault_memory_allocator(&memory);
    door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(door, (struct sockaddr *)&address, size) < 0 || listen(door, 8) < 0 ||
        getsockname(door, (struct sockaddr *)&address, &size) < 0)
        return -1;
    to = (tamis__endpoint){.address = {"127.0.0.1", ntohs(address.sin_port)}, .allocator = &allocator};
    strcpy(to.shown, "here");
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    close(door);
    return memory.live_blocks == 0 ? 0 : -1;
}

static uint64_t in_ms(uint64_t ms) {
    return tamis__now_ns() + ms * MS;
}

/* ---- a server that sends `size` bytes and ends, in one way or another ---- */

typedef struct server {
    pthread_t thread;
    const char *says;
    size_t size;
    bool resets;
    test_bytes heard;
} server;

static void *serve(void *context) {
    server *self = context;
    char buffer[512];
    int fd = accept(door, NULL, NULL);
    if (self->size > 0)
        assert_int_equal(send(fd, self->says, self->size, MSG_NOSIGNAL), (ssize_t)self->size);
    if (self->resets) {
        struct linger now = {1, 0};
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    } else {
        shutdown(fd, SHUT_WR);
        for (ssize_t received; (received = recv(fd, buffer, sizeof buffer, 0)) > 0;)
            bytes_add(&self->heard, buffer, (size_t)received);
    }
    close(fd);
    return NULL;
}

static void begin_test(server *self, const char *says, size_t size) {
    *self = (server){.says = says, .size = size, .resets = self->resets};
    assert_int_equal(pthread_create(&self->thread, NULL, serve, self), 0);
}

static void join_server(server *self) {
    pthread_join(self->thread, NULL);
}

static void put_ping(tamis__connection *conn) {
    tamis__connection_put_command(conn, 2);
    tamis__connection_put_text(conn, "PING");
    tamis__connection_put_number(conn, -42);
}

/* ---- tests ---- */

static void a_missing_server_is_named(void **state) {
    (void)state;
    tamis__connection *conn = NULL;
    close(door);
    assert_int_equal(tamis__connection_open(&conn, &to, in_ms(LONG), &err), TAMIS_E_IO);
    assert_int_equal(err.sys_errno, ECONNREFUSED);
    assert_non_null(strstr(err.text, "redis here: "));
    assert_null(conn);
    to.address = (tamis__redis_address){"/nowhere/at/all.sock", 0};
    assert_int_equal(tamis__connection_open(&conn, &to, in_ms(LONG), &err), TAMIS_E_IO);
    assert_int_equal(err.sys_errno, ENOENT);
    char path[300];
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    to.address.host = path;
    assert_int_equal(tamis__connection_open(&conn, &to, in_ms(LONG), &err), TAMIS_E_INVALID);
    door = -1;
}

/* The system accepts the connection, but nothing ever answers. */
static void a_silent_server_is_waited_for_until_the_deadline(void **state) {
    (void)state;
    tamis__connection *conn = NULL;
    const tamis__reply *reply = NULL;
    to.password = "hush";
    uint64_t deadline = in_ms(50);
    assert_int_equal(tamis__connection_open(&conn, &to, deadline, &err), TAMIS_E_TIMEOUT);
    assert_true(tamis__now_ns() >= deadline);
    assert_true(tamis__now_ns() < deadline + LONG * MS);
    assert_null(strstr(err.text, "hush"));
    to.password = NULL;
    assert_int_equal(tamis__connection_open(&conn, &to, in_ms(LONG), &err), TAMIS_OK);
    put_ping(conn);
    deadline = in_ms(50);
    assert_int_equal(tamis__connection_wait_reply(conn, deadline, &reply, &err), TAMIS_E_TIMEOUT);
    assert_true(tamis__now_ns() >= deadline);
    assert_true(tamis__now_ns() < deadline + LONG * MS);
    assert_null(reply);
    tamis__connection_close(conn);
}

/* No wait gets more time than is left, with any deadline. */
static int longest;
static int poll_at_once(struct pollfd *fds, nfds_t count, int timeout_ms) {
    (void)fds;
    (void)count;
    longest = timeout_ms;
    return timeout_ms == 60000 ? 1 : 0;
}

static void no_wait_passes_its_deadline(void **state) {
    (void)state;
    static const uint64_t left[] = {0, 1, 37, 59000};
    int (*const real)(struct pollfd *, nfds_t, int) = tamis__sys.poll;
    struct pollfd fd = {-1, POLLIN, 0};
    int ready;
    tamis__sys.poll = poll_at_once;
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        assert_int_equal(tamis__poll_until(&fd, 1, in_ms(left[i]), &ready, &err), TAMIS_OK);
        assert_true(longest >= 0 && (uint64_t)longest <= left[i]);
        assert_int_equal(ready, 0);
    }
    assert_int_equal(tamis__poll_until(&fd, 1, UINT64_MAX, &ready, &err), TAMIS_OK);
    assert_int_equal(longest, 60000);
    assert_int_equal(tamis__poll_until(&fd, 1, 0, &ready, &err), TAMIS_OK); /* long past */
    assert_int_equal(longest, 0);
    tamis__sys.poll = real;
}

/* ---- names ---- */

static sem_t name_server, looked_up;

/* Waits for the test, then reports that the name does not exist. */
static int look_up_for_ever(const char *host, const char *port, const struct addrinfo *hints,
                            struct addrinfo **found) {
    if (hints->ai_flags & AI_NUMERICHOST)
        return getaddrinfo(host, port, hints, found);
    sem_wait(&name_server);
    sem_post(&looked_up);
    return EAI_NONAME;
}

static int look_up_here(const char *host, const char *port, const struct addrinfo *hints,
                        struct addrinfo **found) {
    if (hints->ai_flags & AI_NUMERICHOST)
        return getaddrinfo(host, port, hints, found);
    return strcmp(host, "here.test") == 0 ? getaddrinfo("127.0.0.1", port, hints, found) : EAI_AGAIN;
}

static void a_name_is_waited_for_until_the_deadline(void **state) {
    (void)state;
    tamis__connection *conn = NULL;
    tamis__sys.look_up = look_up_for_ever;
    sem_init(&name_server, 0, 0);
    sem_init(&looked_up, 0, 0);
    to.address.host = "slow.test";
    for (int i = 0; i < 3; i++)
        assert_int_equal(tamis__connection_open(&conn, &to, in_ms(10), &err), TAMIS_E_TIMEOUT);
    assert_non_null(strstr(err.text, "name servers"));
    for (int i = 0; i < 3; i++) /* abandoned threads free their memory */
        sem_post(&name_server);
    for (int i = 0; i < 3; i++)
        sem_wait(&looked_up);
    sem_post(&name_server);
    assert_int_equal(tamis__connection_open(&conn, &to, in_ms(LONG), &err), TAMIS_E_IO);
    assert_non_null(strstr(err.text, "check the name of the host"));
    tamis__sys.look_up = look_up_here;
    assert_int_equal(tamis__connection_open(&conn, &to, in_ms(LONG), &err), TAMIS_E_IO);
    to.address.host = "here.test";
    assert_int_equal(tamis__connection_open(&conn, &to, in_ms(LONG), &err), TAMIS_OK);
    tamis__connection_close(conn);
    tamis__sys.look_up = getaddrinfo;
}

/* ---- greeting and one command ---- */

static const char answers[] = "+OK\r\n+OK\r\n$4\r\npong\r\n";
enum { GREETING = 10, ALL = sizeof answers - 1 };

/* Sends a greeting with a password and a database, then a command. The server closes after `size` bytes of
 * its replies. */
static tamis_status query_until(server *self, size_t size, bool *opened) {
    tamis__connection *conn = NULL;
    const tamis__reply *reply = NULL;
    begin_test(self, answers, size);
    tamis_status status = tamis__connection_open(&conn, &to, in_ms(LONG), &err);
    *opened = status == TAMIS_OK;
    if (status == TAMIS_OK) {
        put_ping(conn);
        assert_false(tamis__connection_is_idle(conn));
        status = tamis__connection_wait_reply(conn, in_ms(LONG), &reply, &err);
    }
    if (status == TAMIS_OK) {
        assert_int_equal(reply->size, 4);
        assert_memory_equal(reply->text, "pong", 4);
        assert_true(tamis__connection_is_idle(conn));
    }
    tamis__connection_close(conn);
    join_server(self);
    assert_int_equal(memory.live_blocks, 0);
    return status;
}

static void a_server_may_go_after_any_byte(void **state) {
    (void)state;
    server self = {0};
    bool opened;
    to.user = "ann";
    to.password = "hush";
    to.db = 3;
    for (size_t size = 0; size <= ALL; size++) {
        tamis_status status = query_until(&self, size, &opened);
        assert_true(opened == (size >= GREETING));
        assert_int_equal(status, size == ALL ? TAMIS_OK : TAMIS_E_IO);
        if (status != TAMIS_OK)
            assert_non_null(strstr(err.text, "redis here: "));
        assert_null(strstr(err.text, "hush"));
        if (size == ALL) {
            static const char expected[] =
                "*3\r\n$4\r\nAUTH\r\n$3\r\nann\r\n$4\r\nhush\r\n"
                "*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n*2\r\n$4\r\nPING\r\n$3\r\n-42\r\n";
            test_bytes expected_bytes = {(unsigned char *)(uintptr_t)expected, sizeof expected - 1, 0};
            assert_true(bytes_check("asked", &self.heard, &expected_bytes));
        }
        bytes_clear(&self.heard);
    }
}

/* A reset discards bytes that were sent: any byte may be the last one. */
static void a_connection_may_be_reset(void **state) {
    (void)state;
    server self = {.resets = true};
    bool opened;
    to.password = "hush";
    to.db = 3;
    for (size_t size = 0; size <= ALL; size++) {
        tamis_status status = query_until(&self, size, &opened);
        assert_true(status == TAMIS_E_IO || (status == TAMIS_OK && size == ALL));
    }
}

static void an_error_quotes_the_reply_of_the_server(void **state) {
    (void)state;
    server self = {0};
    tamis__connection *conn = NULL;
    static const struct {
        const char *says, *reported;
        tamis_status status;
    } rows[] = {
        {"-WRONGPASS invalid username-password pair\r\n", "WRONGPASS", TAMIS_E_REFUSED},
        {"+OK\r\n-ERR DB index is out of range\r\n", "out of range", TAMIS_E_REFUSED},
        {":1\r\n", "no OK", TAMIS_E_REFUSED},
        {"HTTP/1.1 400 Bad Request\r\n", "is it a Redis", TAMIS_E_IO},
    };
    to.password = "hush";
    to.db = 99;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin_test(&self, rows[i].says, strlen(rows[i].says));
        assert_int_equal(tamis__connection_open(&conn, &to, in_ms(LONG), &err), rows[i].status);
        assert_non_null(strstr(err.text, rows[i].reported));
        assert_null(strstr(err.text, "hush"));
        assert_null(conn);
        join_server(&self);
        bytes_clear(&self.heard);
    }
}

/* A server without AUTH quotes the command in its error. Other messages may contain the password by
 * chance. */
static void a_wrong_password_may_be_a_word_of_the_answer(void **state) {
    (void)state;
    static const struct {
        const char *password, *says, *reported;
    } rows[] = {
        {"password", "-WRONGPASS invalid username-password pair or user is disabled.\r\n",
         "check user and password"},
        {"user", "-WRONGPASS invalid username-password pair or user is disabled.\r\n",
         "check user and password"},
        {"password", "-ERR invalid password\r\n", "check user and password"},
        {"set", "-ERR Client sent AUTH, but no password is set\r\n", "check user and password"},
        {"permissions", "-NOPERM this user has no permissions to run it\r\n", "check user and password"},
        {"hush", "-ERR unknown command `AUTH`, with args beginning with: `hush`\r\n",
         "leave the password out"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        server self = {0};
        tamis__connection *conn = NULL;
        to.password = rows[i].password;
        begin_test(&self, rows[i].says, strlen(rows[i].says));
        assert_int_equal(tamis__connection_open(&conn, &to, in_ms(LONG), &err), TAMIS_E_REFUSED);
        if (!strstr(err.text, rows[i].reported))
            fail_msg("%s", err.text);
        join_server(&self);
        bytes_clear(&self.heard);
    }
}

/* A connection with an unrequested reply, or the first byte of one, must not be reused. */
static void a_word_too_many_is_noticed(void **state) {
    (void)state;
    static const char *const says[] = {"$4\r\npong\r\n:1\r\n", "$4\r\npong\r\n:"};
    for (size_t i = 0; i < 2; i++) {
        server self = {0};
        tamis__connection *conn = NULL;
        const tamis__reply *reply = NULL;
        begin_test(&self, says[i], strlen(says[i]));
        assert_int_equal(tamis__connection_open(&conn, &to, in_ms(LONG), &err), TAMIS_OK);
        put_ping(conn);
        assert_int_equal(tamis__connection_wait_reply(conn, in_ms(LONG), &reply, &err), TAMIS_OK);
        assert_false(tamis__connection_is_idle(conn));
        tamis__connection_close(conn);
        join_server(&self);
        bytes_clear(&self.heard);
    }
}

/* More bytes than the buffer holds, several times. */
static void words_may_be_long_and_many(void **state) {
    (void)state;
    server self = {0};
    tamis__connection *conn = NULL;
    const tamis__reply *reply = NULL;
    static char word[300000];
    memset(word, 'w', sizeof word);
    begin_test(&self, "+OK\r\n", 5);
    assert_int_equal(tamis__connection_open(&conn, &to, in_ms(LONG), &err), TAMIS_OK);
    tamis__connection_put_command(conn, 20);
    for (int i = 0; i < 19; i++)
        tamis__connection_put(conn, word, (size_t)i * 1000);
    tamis__connection_put(conn, word, sizeof word);
    while (tamis__connection_unsent(conn) > 0) { /* all bytes, before the reply is read */
        int ready;
        struct pollfd fd = {tamis__connection_pollfd(conn).fd, POLLOUT, 0};
        assert_int_equal(tamis__poll_until(&fd, 1, in_ms(LONG), &ready, &err), TAMIS_OK);
        assert_int_equal(tamis__connection_send(conn, &err), TAMIS_OK);
    }
    assert_int_equal(tamis__connection_wait_reply(conn, in_ms(LONG), &reply, &err), TAMIS_OK);
    tamis__connection_close(conn);
    join_server(&self);
    test_bytes expected = {0};
    bytes_add(&expected, "*20\r\n", 5);
    for (int i = 0; i < 20; i++) {
        char head[16];
        size_t size = i < 19 ? (size_t)i * 1000 : sizeof word;
        bytes_add(&expected, head, (size_t)sprintf(head, "$%zu\r\n", size));
        bytes_add(&expected, word, size);
        bytes_add(&expected, "\r\n", 2);
    }
    assert_true(bytes_check("asked", &self.heard, &expected));
    bytes_clear(&expected);
    bytes_clear(&self.heard);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    bool failed = true;
    for (uint64_t n = 1; failed; n++) {
        server self = {0};
        tamis__connection *conn = NULL;
        const tamis__reply *reply = NULL;
        size_t descriptors = fault_open_descriptors();
        memory = (fault_memory){.fail_at = n};
        begin_test(&self, "+OK\r\n+OK\r\n", 10);
        to.db = 1;
        tamis_status status = tamis__connection_open(&conn, &to, in_ms(LONG), &err);
        if (status == TAMIS_OK) {
            put_ping(conn);
            status = tamis__connection_wait_reply(conn, in_ms(LONG), &reply, &err);
        }
        failed = memory.refused > 0;
        assert_int_equal(status, failed ? TAMIS_E_NOMEM : TAMIS_OK);
        tamis__connection_close(conn);
        if (n <= 2) { /* the client did not connect: connect here, for the thread that accepts */
            int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
            struct sockaddr_in address = {.sin_family = AF_INET,
                                          .sin_port = htons(to.address.port),
                                          .sin_addr = {htonl(INADDR_LOOPBACK)}};
            assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
            close(fd);
        }
        join_server(&self);
        bytes_clear(&self.heard);
        assert_int_equal(memory.live_blocks, 0);
        assert_int_equal(fault_open_descriptors(), descriptors);
        assert_true(n < 50);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_missing_server_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_silent_server_is_waited_for_until_the_deadline, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_wait_passes_its_deadline, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_name_is_waited_for_until_the_deadline, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_server_may_go_after_any_byte, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_connection_may_be_reset, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_wrong_password_may_be_a_word_of_the_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_error_quotes_the_reply_of_the_server, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_word_too_many_is_noticed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(words_may_be_long_and_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

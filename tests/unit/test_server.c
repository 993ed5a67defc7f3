/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A server in a thread of its own, and clients with bytes as they go over the network. Its rows are those of
 * SQLite: `slow:1` to `slow:9` need some 100 ms, `slower:1` ten times that or more, `none` has no row, `big:*` has
 * a megabyte.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include <tamis/experimental/server.h>

#include "support/scratch.h"
#include "support/server_calls.h"

#define HEAD                                                                                                 \
    "listen: 127.0.0.1:0\n"                                                                                  \
    "database: {sqlite: memory, init: rows.sql}\n"
#define SLOW                                                                                                 \
    "  - {keys: 'slow:*', row: \"SELECT 'slow ' || (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + "  \
    "1 "                                                                                                     \
    "FROM c WHERE n < 300000) SELECT max(n) * 0 + ?1 FROM c)\", timeout: 60s}\n"
#define SLOWER(number)                                                                                       \
    "  - {keys: 'slower:*', row: \"SELECT (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 "         \
    "FROM c WHERE n < " number ") SELECT max(n) + 0 * ?1 FROM c)\", timeout: 60s}\n"
#define BIG "  - {keys: 'big:*', row: 'SELECT zeroblob(1000000 + ?1)', cache_life: 60s}\n"
#define SPACES                                                                                               \
    "keyspaces:\n"                                                                                           \
    "  - {keys: 'item:*', row: SELECT value FROM items WHERE id = ?1, all_keys: SELECT id FROM "             \
    "items}\n" SLOW "  - {keys: 'open:*', row: \"SELECT 'row ' || ?1 WHERE ?1 <> 'none'\"}\n" BIG            \
    "  - {keys: config, row: \"SELECT 'the ' || ?1\"}\n"

static int remove_path(const char *path, const struct stat *st, int type, struct FTW *position) {
    (void)st;
    (void)type;
    (void)position;
    return remove(path);
}

static void test_rows(void **state) {
    (void)state;
    running run;

    start(&run, HEAD SPACES);
    const int fd = connect_to(&run);
    query(fd, "GET item:1\r\n", "$3\r\none\r\n");
    query(fd, "GET item:4\r\nGET item:3\r\nGET item:2\r\n", "$-1\r\n$0\r\n\r\n$3\r\ntwo\r\n");
    query(fd, "*3\r\n$4\r\nMGET\r\n$6\r\nitem:1\r\n$6\r\nitem:9\r\n", "*2\r\n$3\r\none\r\n$-1\r\n");
    query(fd, "MGET open:a item:2 open:none config\r\n",
          "*4\r\n$5\r\nrow a\r\n$3\r\ntwo\r\n$-1\r\n$10\r\nthe config\r\n");
    query(fd,
          "EXISTS item:1\r\nEXISTS item:1 item:2 item:4 open:x\r\nSTRLEN item:1\r\nTTL item:1\r\nTTL "
          "item:5\r\n",
          ":1\r\n:3\r\n:3\r\n:-1\r\n:-2\r\n");
    query(fd, "hello 3\r\n",
          "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n7.0.0\r\n$5\r\nproto\r\n:3\r\n"
          "$2\r\nid\r\n:1\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n"
          "$7\r\nmodules\r\n*0\r\n");
    query(fd, "GET item:4\r\n", "_\r\n");
    query(fd, "GET other:1\r\n",
          "-ERR no keyspace has key 'other:1'; add one to the configuration, or correct the key\r\n");
    query(fd, "GET item:\r\nPING\r\n",
          "-ERR key 'item:' has nothing behind its prefix; correct the key\r\n+PONG\r\n");
    query(fd, "FOO 'a b' c\r\n", "-ERR unknown command 'FOO', with args beginning with: 'a b' 'c' \r\n");
    query(fd, "SET item:1 x\r\n",
          "-ERR unknown command 'SET': rows are written in the database; send DEL after that\r\n");
    query(fd, "GET\r\n", "-ERR wrong number of arguments for 'get' command\r\n");
    query(fd,
          "SELECT 0\r\nSELECT 1\r\nECHO x\r\nCLIENT SETNAME me\r\nCLIENT GETNAME\r\nCLIENT SETINFO LIB-NAME "
          "x\r\n",
          "+OK\r\n-ERR DB index is out of range\r\n$1\r\nx\r\n+OK\r\n$2\r\nme\r\n+OK\r\n");
    query(fd, "QUIT\r\nPING\r\n", "+OK\r\n");
    expect_end(fd);
    finish(&run);
}

/* ---- named filters ---- */

/* With the protocol of each command, whatever HELLO says behind it. */
static void test_filters(void **state) {
    (void)state;
    running run;

    start(&run, HEAD SPACES "filters: {directory: filters}\n");
    const int fd = connect_to(&run), other = connect_to(&run);
    query(fd, "BF.EXISTS a x\r\nBF.ADD a x\r\nBF.EXISTS a x\r\nBF.ADD a x\r\nPING\r\n",
          ":0\r\n:1\r\n:1\r\n:0\r\n+PONG\r\n");
    query(fd, "BF.MADD a x y z y\r\nGET item:1\r\nBF.MEXISTS a z q\r\n",
          "*4\r\n:0\r\n:1\r\n:1\r\n:0\r\n$3\r\none\r\n*2\r\n:1\r\n:0\r\n");
    query(fd,
          "BF.RESERVE a 0.1 10\r\nBF.RESERVE b 2 10\r\nBF.RESERVE b 0.1 x\r\nBF.RESERVE b 0.5 2 expansion "
          "0\r\n",
          "-ERR item exists\r\n-ERR error rate must be in the range (0.000000, 1.000000)\r\n-ERR bad "
          "capacity\r\n+OK\r\n");
    query(fd, "BF.MADD b 1 2 3 4\r\n", "*3\r\n:1\r\n:1\r\n-ERR non scaling filter is full\r\n");
    query(fd, "BF.CARD b\r\nBF.CARD c\r\nBF.INFO c\r\nBF.INFO b expansion\r\nBF.INFO b items\r\n",
          ":2\r\n:0\r\n-ERR not found\r\n*1\r\n$-1\r\n*1\r\n:2\r\n");
    query(other, "HELLO 3\r\n", "%7\r\n");
    char hello[200];
    receive(other, hello,
            strlen("$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n7.0.0\r\n$5\r\nproto\r\n"
                   ":3\r\n$2\r\nid\r\n:2\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6"
                   "\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n"));
    query(other, "BF.MADD a x w\r\nBF.EXISTS a w\r\nBF.INFO b items\r\nRESET\r\nBF.ADD a w\r\n",
          "*2\r\n#f\r\n#t\r\n#t\r\n%1\r\n+Number of items inserted\r\n:2\r\n+RESET\r\n:0\r\n");
    query(fd, "BF.ADD a v\r\nQUIT\r\nBF.ADD a u\r\n", ":1\r\n+OK\r\n");
    expect_end(fd);
    send_text(other, "BF.ADD a t\r\n"); /* goes before its reply */
    close(other);
    finish(&run);
    start(&run, "filters: {directory: filters}\n" HEAD);
    const int again = connect_to(&run);
    query(again, "BF.MEXISTS a w v u\r\nGET item:1\r\n",
          "*3\r\n:1\r\n:1\r\n:0\r\n-ERR no keyspace has key 'item:1'; add one to the configuration, or "
          "correct the "
          "key\r\n");
    close(again);
    finish(&run);
    assert_int_equal(nftw(scratch("filters"), remove_path, 8, FTW_DEPTH | FTW_PHYS), 0);
    start(&run, HEAD SPACES);
    const int none = connect_to(&run);
    query(none, "BF.ADD a x\r\n", "-ERR this server has no filters; add filters to its configuration\r\n");
    close(none);
    finish(&run);
}

/* A slow row delays later replies of its connection, but not later queries, and no other connection. */
static void test_replies_in_order(void **state) {
    (void)state;
    running run;

    start(&run, HEAD SPACES SLOWER("3000000"));
    const int fd = connect_to(&run), other = connect_to(&run);
    send_text(fd, "GET slower:1\r\nPING\r\nGET item:1\r\nMGET item:2 slow:2\r\nGET open:x\r\nFOO\r\n");
    query(other, "GET item:1\r\n", "$3\r\none\r\n");
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&ready, 1, 0), 0);
    expect(fd, "$7\r\n3000000\r\n+PONG\r\n$3\r\none\r\n*2\r\n$3\r\ntwo\r\n$6\r\nslow 2\r\n$5\r\nrow x\r\n");
    expect(fd, "-ERR unknown command 'FOO', with args beginning with: \r\n");
    query(fd,
          "*2\r\n$3\r\nGET\r\n$6\r\nitem:1\r\n*2\r\n$6\r\nEXISTS\r\n$6\r\nslow:2\r\n"
          "*2\r\n$3\r\nGET\r\n$6\r\nitem:9\r\n*2\r\n$3\r\nGET\r\n$6\r\nslow:3\r\n"
          "*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n$6\r\nitem:2\r\n",
          "$3\r\none\r\n:1\r\n$-1\r\n$6\r\nslow 3\r\n+PONG\r\n$3\r\ntwo\r\n");
    close(fd);
    close(other);
    finish(&run);
}

static void test_client_goes_while_it_waits(void **state) {
    (void)state;
    running run;

    start(&run, HEAD SPACES);
    for (int i = 0; i < 5; i++) {
        const int fd = connect_to(&run);
        send_text(fd, "GET slow:3\r\nMGET slow:4 item:1\r\nPING\r\nGUARD.ADD item:7\r\n");
        pause_ms((uint64_t)i * 20);
        close(fd);
    }
    const int fd = connect_to(&run);
    query(fd, "PING\r\n", "+PONG\r\n");
    send_text(fd, "GET slow:5\r\n"); /* the server is closed meanwhile */
    finish(&run);
    close(fd);
}

static void test_replies_are_bounded(void **state) {
    (void)state;
    enum { KEYS = 400 };
    running run;
    char command[KEYS * 8 + 8] = "MGET";

    start(&run, HEAD "reply_max: 1KiB\n" SPACES);
    const int fd = connect_to(&run);
    query(fd, "MGET item:1 item:0\r\n", "*2\r\n$3\r\none\r\n$-1\r\n");
    for (int i = 0; i < KEYS; i++)
        strcat(command, " item:1");
    query(fd, strcat(command, "\r\n"),
          "-ERR 1200 bytes of rows, above reply_max; ask for fewer keys, or raise it\r\n");
    query(fd, "GET item:1\r\n", "$3\r\none\r\n");
    close(fd);
    finish(&run);
}

static void test_malformed_commands(void **state) {
    (void)state;
    running run;

    start(&run, HEAD "command_max: 4KiB\n" SPACES);
    int fd = connect_to(&run);
    query(fd, "GET item:1\r\n*1\r\n$1073741824\r\nxxxxxxxxxxxxxx",
          "$3\r\none\r\n-ERR Protocol error: invalid bulk length\r\n");
    expect_end(fd);
    fd = connect_to(&run);
    query(fd, "*1000000\r\n", "-ERR Protocol error: invalid multibulk length\r\n");
    expect_end(fd);
    fd = connect_to(&run);
    query(fd, "POST / HTTP/1.1\r\nHost: a\r\n\r\nGET item:1\r\n", "-ERR this is not an HTTP server\r\n");
    expect_end(fd);
    fd = connect_to(&run);
    query(fd, "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET item:1\r\n",
          "-ERR wrong number of arguments for 'get' command\r\n-ERR this is not an HTTP server\r\n");
    expect_end(fd);
    fd = connect_to(&run);
    send_text(fd, "*2\r\n$3\r\nGET\r\n$6\r\nite"); /* half a command */
    shutdown(fd, SHUT_WR);
    expect_end(fd);
    fd = connect_to(&run);
    send_text(fd, "GET slow:6\r\n"); /* no more commands, but the reply is wanted */
    shutdown(fd, SHUT_WR);
    expect(fd, "$6\r\nslow 6\r\n");
    expect_end(fd);
    finish(&run);
    assert_non_null(strstr(run.log, "client 1: Protocol error: invalid bulk length\n"));
}

static void test_passwords(void **state) {
    (void)state;
    running run;

    start(&run, HEAD "password: secret\n" SPACES);
    const int fd = connect_to(&run);
    query(fd, "GET item:1\r\n", "-NOAUTH Authentication required.\r\n");
    query(fd, "HELLO 3\r\n",
          "-NOAUTH HELLO must be called with the client already authenticated, otherwise the "
          "HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and "
          "select the RESP protocol version at the same time\r\n");
    query(fd, "AUTH wrong\r\n", "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    query(fd, "AUTH other secret\r\n", "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    query(fd, "AUTH default secret\r\nGET item:1\r\nRESET\r\nGET item:1\r\n",
          "+OK\r\n$3\r\none\r\n+RESET\r\n-NOAUTH Authentication required.\r\n");
    query(fd, "HELLO 2 AUTH default secret SETNAME a\r\nCLIENT GETNAME\r\n", "*14\r\n");
    close(fd);
    const int other = connect_to(&run);
    query(other, "*2\r\n$3\r\nGET\r\n$1000000\r\n", "-ERR Protocol error: invalid bulk length\r\n");
    expect_end(other);
    finish(&run);
}

/* GUARD.ADD lets a new key through the filter. Later commands of the connection wait for DEL. */
static void test_writers(void **state) {
    (void)state;
    running run;

    start(&run, HEAD SPACES);
    const int fd = connect_to(&run);
    query(fd, "GET item:50\r\nGUARD.ADD item:50\r\nGET item:50\r\nDEL item:50 item:51\r\nPING\r\n",
          "$-1\r\n+OK\r\n$-1\r\n:2\r\n+PONG\r\n");
    query(fd, "DEL nowhere\r\n",
          "-ERR no keyspace has key 'nowhere'; add one to the configuration, or correct the key\r\n");
    query(fd, "GUARD.ADD item:\r\n", "-ERR key 'item:' has nothing behind its prefix; correct the key\r\n");
    close(fd);
    finish(&run);
}

/* ---- MULTI and EXEC ---- */

static void test_transactions(void **state) {
    (void)state;
    running run;

    start(&run, HEAD SPACES "filters: {directory: filters}\n");
    const int fd = connect_to(&run), other = connect_to(&run);
    query(
        fd,
        "MULTI\r\nGET item:1\r\n*2\r\n$6\r\nEXISTS\r\n$6\r\nitem:2\r\nMGET item:2 item:9\r\nEXEC\r\nPING\r\n",
        "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n$3\r\none\r\n:1\r\n*2\r\n$3\r\ntwo\r\n$-1\r\n+"
        "PONG\r\n");
    query(fd, "MULTI\r\nEXEC\r\nEXEC\r\nDISCARD\r\n",
          "+OK\r\n*0\r\n-ERR EXEC without MULTI\r\n-ERR DISCARD without MULTI\r\n");
    query(fd, "MULTI\r\nGET item:1\r\nDISCARD\r\nGET item:2\r\n", "+OK\r\n+QUEUED\r\n+OK\r\n$3\r\ntwo\r\n");
    /* Commands that wait: for the database, for a worker, for a commit. Later commands follow. */
    query(fd,
          "MULTI\r\nGET slow:1\r\nGUARD.ADD item:50\r\nBF.ADD a x\r\nGET item:1\r\nDEL item:50 item:51\r\n"
          "BF.EXISTS a x\r\nGET slow:2\r\nEXEC\r\nGET item:2\r\n",
          "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n"
          "*7\r\n$6\r\nslow 1\r\n+OK\r\n:1\r\n$3\r\none\r\n:2\r\n:1\r\n$6\r\nslow 2\r\n$3\r\ntwo\r\n");
    /* An error while a command is kept: none runs. An error while it runs: the others run. */
    query(fd, "MULTI\r\nBF.ADD a y\r\nFOO\r\nGET\r\nGET item:1\r\nEXEC\r\nBF.EXISTS a y\r\n",
          "+OK\r\n+QUEUED\r\n-ERR unknown command 'FOO', with args beginning with: \r\n-ERR wrong number of "
          "arguments for 'get' command\r\n+QUEUED\r\n-EXECABORT Transaction discarded because of previous "
          "errors.\r\n:0\r\n");
    query(fd, "MULTI\r\nGET nowhere\r\nGET item:1\r\nEXEC\r\n",
          "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n-ERR no keyspace has key 'nowhere'; add one to the "
          "configuration, or "
          "correct the key\r\n$3\r\none\r\n");
    query(fd, "WATCH item:1\r\nMULTI\r\nMULTI\r\nWATCH item:1\r\nGET item:1\r\nEXEC\r\n",
          "-ERR WATCH is not possible: rows change in the database; use a transaction there\r\n+OK\r\n-ERR "
          "MULTI "
          "calls can not be nested\r\n-ERR WATCH inside MULTI is not "
          "allowed\r\n+QUEUED\r\n*1\r\n$3\r\none\r\n");
    query(fd, "MULTI\r\nGET item:1\r\nRESET\r\nEXEC\r\n",
          "+OK\r\n+QUEUED\r\n+RESET\r\n-ERR EXEC without MULTI\r\n");
    query(other, "MULTI\r\nGET item:1\r\n", "+OK\r\n+QUEUED\r\n");
    query(other, "QUIT\r\n", "+OK\r\n");
    expect_end(other);
    /* The client has closed its side when the commands run. */
    send_text(fd, "MULTI\r\nGET slow:3\r\nGUARD.ADD item:52\r\nGET slow:4\r\nEXEC\r\n");
    shutdown(fd, SHUT_WR);
    expect(fd, "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n$6\r\nslow 3\r\n+OK\r\n$6\r\nslow 4\r\n");
    expect_end(fd);
    const int gone = connect_to(&run); /* and here it does not wait for them */
    send_text(gone, "MULTI\r\nGET slow:5\r\nGUARD.ADD item:53\r\nGET slow:6\r\nEXEC\r\n");
    pause_ms(20);
    close(gone);
    finish(&run);
    assert_int_equal(nftw(scratch("filters"), remove_path, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* Memory of kept commands is bounded, and so are replies to them. */
static void test_transactions_are_bounded(void **state) {
    (void)state;
    enum { MANY = 4096 / 21, BIGS = 20, SIZE = 1000001 };
    running run;
    char *value = malloc(SIZE + 2);

    assert_non_null(value);
    start(&run, HEAD "command_max: 4KiB\n" SPACES);
    const int fd = connect_to(&run);
    query(fd, "MULTI\r\n", "+OK\r\n");
    for (int i = 0; i < MANY; i++)
        query(fd, "GET item:1234567890\r\n", "+QUEUED\r\n"); /* 21 bytes */
    query(fd, "GET item:1\r\nGET item:1\r\nEXEC\r\n",
          "-ERR the commands since MULTI are longer than command_max; send fewer, or raise it\r\n+QUEUED\r\n"
          "-EXECABORT Transaction discarded because of previous errors.\r\n");
    query(fd, "STRLEN big:1\r\nMULTI\r\n", ":1000001\r\n+OK\r\n");
    for (int i = 0; i < BIGS; i++)
        query(fd, "GET big:1\r\n", "+QUEUED\r\n");
    query(fd, "EXEC\r\n", "*20\r\n");
    for (int i = 0; i < BIGS; i++) {
        pause_ms(5); /* the output is full, and becomes shorter again */
        expect(fd, "$1000001\r\n");
        assert_int_equal(receive(fd, value, SIZE + 2), SIZE + 2);
    }
    query(fd, "PING\r\n", "+PONG\r\n");
    close(fd);
    finish(&run);
    free(value);
}

/* A pipeline that is much longer than any buffer, and replies that are much longer than the pipeline. */
static void test_long_pipelines(void **state) {
    (void)state;
    running run;
    enum { COUNT = 20000 };
    static const char command[] = "*2\r\n$3\r\nGET\r\n$6\r\nitem:1\r\n", reply[] = "$3\r\none\r\n";
    const size_t size = COUNT * (sizeof command - 1), reply_size = COUNT * (sizeof reply - 1);
    char *commands = malloc(size), *replies = malloc(reply_size);

    assert_true(commands && replies);
    for (size_t i = 0; i < COUNT; i++)
        memcpy(commands + i * (sizeof command - 1), command, sizeof command - 1);
    start(&run, HEAD SPACES);
    const int fd = connect_to(&run);
    query(fd, "GET item:1\r\n", reply);
    send_all(fd, commands, size);
    assert_int_equal(receive(fd, replies, reply_size), reply_size);
    for (size_t i = 0; i < COUNT; i++)
        assert_memory_equal(replies + i * (sizeof reply - 1), reply, sizeof reply - 1);
    close(fd);
    finish(&run);
    free(commands);
    free(replies);
}

static void test_slow_readers_are_cut(void **state) {
    (void)state;
    running run;
    char reply[256];

    start(&run, HEAD "write_timeout: 1s\nidle: 60s\n" SPACES);
    const int fd = connect_to(&run), other = connect_to(&run);
    for (int i = 0; i < 40; i++)
        send_text(fd, "GET big:1\r\n");
    wait_for_log(&run, "client 1: cut: does not read its replies\n");
    while (receive(fd, reply, sizeof reply) == sizeof reply)
        ;
    close(fd);
    /* What is read in time comes whole. */
    send_text(other, "GET big:2\r\n");
    expect(other, "$1000002\r\n");
    for (size_t left = 1000002; left > 0;) {
        const size_t size = left < sizeof reply ? left : sizeof reply;
        assert_int_equal(receive(other, reply, size), size);
        left -= size;
    }
    expect(other, "\r\n");
    close(other);
    finish(&run);
}

/* A client whose first row is slow cannot make the server keep the replies to endless later commands. */
static void test_replies_that_wait_are_bounded(void **state) {
    (void)state;
    running run;
    enum { COUNT = 300, SIZE = 100003 };
    char info[1000], *value = malloc(SIZE + 2);

    assert_non_null(value);
    start(&run,
          HEAD "keyspaces:\n" SLOWER(
              "9000000") "  - {keys: 'long:*', row: 'SELECT zeroblob(100000 + ?1)', cache_life: 60s}\n");
    const int fd = connect_to(&run), other = connect_to(&run);
    query(other, "STRLEN long:3\r\n", ":100003\r\n");
    send_text(fd, "GET slower:1\r\n");
    for (int i = 0; i < COUNT; i++)
        send_text(fd, "GET long:3\r\n");
    pause_ms(50);
    send_text(other, "INFO stats\r\nQUIT\r\n");
    info[receive(other, info, sizeof info - 1)] = '\0';
    const char *commands = strstr(info, "total_commands_processed:");
    assert_non_null(commands);
    assert_in_range(atoi(commands + 25), 3, 100);
    expect(fd, "$7\r\n9000000\r\n");
    for (int i = 0; i < COUNT; i++) {
        expect(fd, "$100003\r\n");
        assert_int_equal(receive(fd, value, SIZE + 2), SIZE + 2);
    }
    close(fd);
    close(other);
    finish(&run);
    free(value);
}

static void test_limits_of_clients(void **state) {
    (void)state;
    running run;

    start(&run, HEAD "clients: 2\nidle: 2s\n" SPACES);
    const int first = connect_to(&run), second = connect_to(&run);
    query(first, "PING\r\n", "+PONG\r\n");
    query(second, "PING\r\n", "+PONG\r\n");
    const int third = connect_to(&run);
    expect(third, "-ERR max number of clients reached\r\n");
    expect_end(third);
    expect_end(first);
    expect_end(second);
    finish(&run);
    assert_non_null(strstr(run.log, "client 1: cut: idle\n"));
}

/* Commands that were received before the stop are answered. */
static void test_stop_answers_what_was_read(void **state) {
    (void)state;
    running run;

    start(&run, HEAD SPACES);
    const int fd = connect_to(&run);
    query(fd, "PING\r\n", "+PONG\r\n");
    send_text(fd, "GET slow:7\r\nGET item:1\r\nMGET slow:8 item:2\r\nDEL item:9\r\nGET item:2\r\n");
    const int other = connect_to(&run);
    query(other, "PING\r\n", "+PONG\r\n"); /* the commands of the first client were read before */
    close(other);
    tamis_server_stop(run.server);
    expect(fd, "$6\r\nslow 7\r\n$3\r\none\r\n*2\r\n$6\r\nslow 8\r\n$3\r\ntwo\r\n:1\r\n$3\r\ntwo\r\n");
    expect_end(fd);
    finish(&run);
}

static void test_reload(void **state) {
    (void)state;
    running run;

    start(&run, HEAD SPACES);
    const int fd = connect_to(&run);
    query(fd, "GET new:1\r\n",
          "-ERR no keyspace has key 'new:1'; add one to the configuration, or correct the key\r\n");
    send_text(fd, "GET slow:9\r\n"); /* goes on with the guard of the former configuration */
    write_config(HEAD
                 "keyspaces:\n  - {keys: 'new:*', row: \"SELECT 'new ' || ?1\"}\n"
                 "  - {keys: 'item:*', row: SELECT value FROM items WHERE id = ?1, all_keys: SELECT id FROM "
                 "items}\n");
    tamis_server_reload(run.server);
    wait_for_log(&run, "config.yaml: read again\n");
    expect(fd, "$6\r\nslow 9\r\n");
    query(fd, "GET new:1\r\nGET item:1\r\n", "$5\r\nnew 1\r\n$3\r\none\r\n");
    write_config("listen: 127.0.0.1:0\nkeyspace: x\n");
    tamis_server_reload(run.server);
    wait_for_log(&run, "line 2: unknown field 'keyspace'; did you mean keyspaces?; the former configuration "
                       "stays\n");
    query(fd, "GET new:1\r\n", "$5\r\nnew 1\r\n");
    close(fd);
    finish(&run);
}

/* ---- reloads between GUARD.ADD and DEL ---- */

static void run_sql(sqlite3 *db, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    char *sql = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_free(sql);
}

static sqlite3 *make_database(void) {
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(scratch("rows.db"), &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 20000);
    run_sql(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; DROP TABLE IF EXISTS items;"
                "CREATE TABLE items (id INTEGER PRIMARY KEY, value TEXT)");
    return db;
}

#define ROWS                                                                                                 \
    "listen: 127.0.0.1:0\n"                                                                                  \
    "database: {sqlite: rows.db}\n"                                                                          \
    "keyspaces:\n"
#define ITEMS                                                                                                \
    "  - {keys: 'item:*', row: SELECT value FROM items WHERE id = ?1, all_keys: SELECT id FROM items, "      \
    "cache: 0, timeout: 60s"
#define FIFTIES                                                                                              \
    "  - {keys: 'item:5*', row: SELECT value FROM items WHERE id = 50 + ?1,\n"                               \
    "     all_keys: SELECT id - 50 FROM items WHERE id BETWEEN 50 AND 59}\n"

static void wait_for_lines(running *run, const char *text, int expected) {
    for (int i = 0, count = 0; count < expected; i++) {
        assert_true(i < 2000);
        pause_ms(10);
        count = 0;
        pthread_mutex_lock(&run->lock);
        for (const char *found = run->log; (found = strstr(found, text)) != NULL; found++)
            count++;
        pthread_mutex_unlock(&run->lock);
    }
}

/* A row that is written after a reload was announced to the guard before it. */
static void test_a_reload_keeps_puts(void **state) {
    (void)state;
    running run;
    sqlite3 *db = make_database();

    start(&run, ROWS ITEMS "}\n");
    wait_for_lines(&run, "keyspace 'item:*': the filter has 0 keys\n", 1);
    const int fd = connect_to(&run), other = connect_to(&run);
    query(fd, "GUARD.ADD item:40\r\nGUARD.ADD item:55\r\n", "+OK\r\n+OK\r\n");
    query(other, "GUARD.ADD item:60\r\nQUIT\r\n", "+OK\r\n+OK\r\n");
    expect_end(other);
    write_config(ROWS ITEMS ", fpr: 0.00001}\n" FIFTIES);
    tamis_server_reload(run.server);
    wait_for_log(&run, "config.yaml: read again\n");
    wait_for_log(&run, "keyspace 'item:*': the filter has 2 keys\n"); /* of the puts */
    wait_for_log(&run, "keyspace 'item:5*': the filter has 1 keys\n");
    run_sql(db, "INSERT INTO items VALUES (40, 'forty'), (55, 'other'), (60, 'sixty'), (70, 'seventy')");
    query(fd, "GET item:70\r\nGET item:40\r\nGET item:55\r\nGET item:60\r\n", /* 70 was not announced */
          "$-1\r\n$5\r\nforty\r\n$5\r\nother\r\n$5\r\nsixty\r\n");
    query(fd, "DEL item:40 item:55 item:60\r\nGET item:40\r\nGET item:55\r\n",
          ":3\r\n$5\r\nforty\r\n$5\r\nother\r\n");
    close(fd);
    finish(&run);
    sqlite3_close(db);
}

typedef struct row_writer {
    running *run;
    sqlite3 *db;
    int first, count;
    atomic_bool *is_over;
    pthread_t thread;
} row_writer;

/* Writes rows, and reads each of them before its DEL, after it, and some rows later. */
static void *write_rows(void *context) {
    row_writer *me = context;
    const int fd = connect_to(me->run);
    char line[200], reply[200];

    for (int id = me->first; !atomic_load(me->is_over); id++, me->count++) {
        snprintf(line, sizeof line, "GUARD.ADD item:%d\r\n", id);
        query(fd, line, "+OK\r\n");
        run_sql(me->db, "INSERT INTO items VALUES (%d, 'row')", id);
        snprintf(line, sizeof line, "GET item:%d\r\n", id);
        snprintf(reply, sizeof reply, "$3\r\nrow\r\n");
        query(fd, line, reply);
        snprintf(line, sizeof line, "DEL item:%d\r\nGET item:%d\r\n", id, id);
        query(fd, line, ":1\r\n$3\r\nrow\r\n");
        snprintf(line, sizeof line, "GET item:%d\r\n", id - me->count % 50 - (me->count > 50));
        query(fd, line, reply);
    }
    close(fd);
    return NULL;
}

static void test_reloads_among_writers(void **state) {
    (void)state;
    enum { WRITERS = 3 };
    running run;
    row_writer writers[WRITERS];
    atomic_bool is_over = false;
    sqlite3 *db = make_database();
    const int reloads = (int)test_scale(40, 10, 10);
    int rows = 0;

    /* A keyspace that is opened last and slowly: the one before it has scanned its rows by then, if it may. */
    static const char slow[] =
        "CREATE TABLE slow AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM "
        "c WHERE n < 200000) SELECT max(n) FROM c";
    file_write(scratch("slow.sql"), slow, sizeof slow - 1);

    start(&run, ROWS ITEMS "}\n");
    for (int i = 0; i < WRITERS; i++) {
        /* no key begins with 5, as those of FIFTIES do */
        writers[i] = (row_writer){&run, NULL, (i + 1) * 1000000, 0, &is_over, 0};
        assert_int_equal(sqlite3_open(scratch("rows.db"), &writers[i].db), SQLITE_OK);
        sqlite3_busy_timeout(writers[i].db, 20000);
        assert_int_equal(pthread_create(&writers[i].thread, NULL, write_rows, &writers[i]), 0);
    }
    for (int i = 1; i <= reloads; i++) {
        char config[1000];
        snprintf(config, sizeof config,
                 ROWS ITEMS
                 ", fpr: 0.0%d}\n%s  - {keys: z, row: SELECT ?1, fpr: 0.0%d, database: {sqlite: memory, "
                 "init: slow.sql}}\n",
                 i, i % 3 ? "" : FIFTIES, i);
        write_config(config);
        pthread_mutex_lock(&run.lock);
        run.log[0] = '\0';
        pthread_mutex_unlock(&run.lock);
        tamis_server_reload(run.server);
        wait_for_log(&run, "config.yaml: read again\n");
        pause_ms((uint64_t)(i * 7 % 30));
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(writers[i].thread, NULL);
        sqlite3_close(writers[i].db);
        rows += writers[i].count;
    }
    print_message("%d rows, %d reloads\n", rows, reloads);
    finish(&run);
    sqlite3_close(db);
}

/* abs() of the smallest integer is an error of SQLite when the query runs. */
static void test_guards_are_logged(void **state) {
    (void)state;
    running run;

    start(&run, HEAD SPACES
          "  - {keys: 'bad:*', row: SELECT ?1, all_keys: 'SELECT abs(-9223372036854775807 - 1)'}\n"
          "  - {keys: 'sum:*', row: SELECT abs(-9223372036854775807 - ?1)}\n");
    const int fd = connect_to(&run);
    wait_for_log(&run, "keyspace 'item:*': the filter has 3 keys\n");
    wait_for_log(&run,
                 "keyspace 'bad:*': all_keys cannot be read; SQLite memory: all_keys: integer overflow; "
                 "it is tried again\n");
    query(fd, "GET bad:7\r\n", "$1\r\n7\r\n"); /* without a filter */
    query(fd, "GET sum:1\r\n", "-ERR SQLite memory: row: integer overflow\r\n");
    wait_for_log(&run,
                 "keyspace 'sum:*': queries fail, 1 in a second: SQLite memory: row: integer overflow\n");
    query(fd, "GET sum:0\r\n", "$19\r\n9223372036854775807\r\n");
    wait_for_log(&run, "keyspace 'sum:*': queries are answered again\n");
    close(fd);
    finish(&run);
}

static void test_errors_of_opening(void **state) {
    (void)state;
    tamis_server *server = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    running run;
    char config[2000];

    start(&run, HEAD SPACES);
    snprintf(config, sizeof config,
             "listen: 127.0.0.1:%d\ndatabase: {sqlite: memory, init: rows.sql}\n" SPACES, run.port);
    write_config(config);
    assert_int_equal(tamis_server_open(&server, scratch("config.yaml"), NULL, &err), TAMIS_E_SYSTEM);
    assert_non_null(strstr(err.text, "Address already in use; give another address"));
    write_config("listen: 127.0.0.1:0\ndatabase: {sqlite: nofile.db}\n" SPACES);
    assert_true(tamis_server_open(&server, scratch("config.yaml"), NULL, &err) != TAMIS_OK);
    write_config(HEAD "tls: {cert: rows.sql, key: rows.sql}\n" SPACES);
    assert_int_equal(tamis_server_open(&server, scratch("config.yaml"), NULL, &err), TAMIS_E_INVALID);
    assert_non_null(strstr(err.text, "rows.sql: no start line; give a file in PEM"));
    write_config(HEAD "tls: {cert: no.pem, key: no.pem}\n" SPACES);
    assert_int_equal(tamis_server_open(&server, scratch("config.yaml"), NULL, &err), TAMIS_E_INVALID);
    assert_non_null(strstr(err.text, "no.pem: No such file or directory; give a file in PEM"));
    write_config(HEAD SPACES "  - {keys: 'wrong:*', row: SELECT nope FROM items WHERE id = ?1}\n");
    assert_int_equal(tamis_server_open(&server, scratch("config.yaml"), NULL, &err), TAMIS_E_REFUSED);
    assert_non_null(strstr(err.text, "config.yaml: line 9: keyspace 'wrong:*': SQLite memory: row: no such "
                                     "column: nope"));
    write_config(HEAD SPACES "  - {keys: 'wrong:*', row: SELECT ?1, all_keys: SELECT id FROM nowhere}\n");
    assert_int_equal(tamis_server_open(&server, scratch("config.yaml"), NULL, &err), TAMIS_E_REFUSED);
    assert_non_null(strstr(err.text, "line 9: keyspace 'wrong:*': SQLite memory: all_keys: no such table"));
    write_config("listen: 127.0.0.1:0\nfilters: {directory: none/filters}\n");
    assert_int_equal(tamis_server_open(&server, scratch("config.yaml"), NULL, &err), TAMIS_E_IO);
    assert_non_null(strstr(err.text, "none/filters: No such file or directory"));
    assert_null(server);
    finish(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_replies_in_order),
        cmocka_unit_test(test_client_goes_while_it_waits),
        cmocka_unit_test(test_replies_are_bounded),
        cmocka_unit_test(test_malformed_commands),
        cmocka_unit_test(test_passwords),
        cmocka_unit_test(test_writers),
        cmocka_unit_test(test_transactions),
        cmocka_unit_test(test_transactions_are_bounded),
        cmocka_unit_test(test_long_pipelines),
        cmocka_unit_test(test_slow_readers_are_cut),
        cmocka_unit_test(test_replies_that_wait_are_bounded),
        cmocka_unit_test(test_limits_of_clients),
        cmocka_unit_test(test_stop_answers_what_was_read),
        cmocka_unit_test(test_reload),
        cmocka_unit_test(test_a_reload_keeps_puts),
        cmocka_unit_test(test_reloads_among_writers),
        cmocka_unit_test(test_guards_are_logged),
        cmocka_unit_test(test_errors_of_opening),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}

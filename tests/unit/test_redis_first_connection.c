/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The first connection to a server: an error is reported at once, however long the patience in the URI is.
 * Only connect_wait makes the client wait for a server that is starting. Each patience here is longer than
 * the test may run.
 * ctest: timeout=60
 */
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <tamis/tamis.h>

#include "base/system.h"
#include "support/redis_filters.h"

#define JAVA "/f?layout=java&expect=1000&fpr=0.01&patience=1h"

/* A loopback port without a listener. It is bound, so that no other process can use it. */
static int closed_port, closed_socket;

static int set_up(void **state) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    closed_socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (closed_socket < 0 || bind(closed_socket, (struct sockaddr *)&address, size) != 0 ||
        getsockname(closed_socket, (struct sockaddr *)&address, &size) != 0)
        return -1;
    closed_port = ntohs(address.sin_port);
    return redis_filters_set_up(state);
}

static int tear_down(void **state) {
    close(closed_socket);
    return redis_filters_tear_down(state);
}

/* Opens a filter and adds keys: one of the two is the first to reach the server. */
static tamis_status add_on_server(const char *uri) {
    tamis_filter *filter = NULL;
    tamis_status status = tamis_redis_filter_open(&filter, NULL, uri, NULL, &err);
    if (status == TAMIS_OK)
        status = tamis_filter_add_many(filter, keys, 10, NULL, NULL, &err);
    tamis_filter_free(filter);
    return status;
}

/* Replaces the look-up of names: the machine's name servers may be slow or missing. */
static int find_no_name(const char *host, const char *port, const struct addrinfo *hints,
                        struct addrinfo **found) {
    return hints->ai_flags & AI_NUMERICHOST ? getaddrinfo(host, port, hints, found) : EAI_NONAME;
}

static void reg_22_a_refused_connection_is_reported_at_once(void **state) {
    char uri[300];
    (void)state;
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d" JAVA, closed_port);
    FAILS(add_on_server(uri), TAMIS_E_IO, "connection refused");
    tamis__sys.look_up = find_no_name;
    FAILS(add_on_server("redis://no-such-host.invalid" JAVA), TAMIS_E_IO, "check the name of the host");
    tamis__sys.look_up = getaddrinfo;
    FAILS(add_on_server("redis+unix://%2Fnowhere%2Fsocket" JAVA), TAMIS_E_IO, "no such file");
    snprintf(uri, sizeof uri, "redis+cluster://127.0.0.1:%d,127.0.0.1:%d" JAVA, closed_port, closed_port);
    FAILS(add_on_server(uri), TAMIS_E_IO, "connection refused");
    snprintf(uri, sizeof uri, "redis+sentinel://127.0.0.1:%d/m" JAVA, closed_port);
    FAILS(add_on_server(uri), TAMIS_E_IO, "connection refused");
}

/* Each of several independent servers is needed. */
static void reg_22_one_of_several_that_refuses_is_reported_at_once(void **state) {
    char uri[300];
    (void)state;
    begin_test();
    snprintf(uri, sizeof uri,
             "redis+shard://127.0.0.1:%d,127.0.0.1:%d/f?layout=php2&bits=10000&probes=5&patience=1h",
             server.port, closed_port);
    FAILS(add_on_server(uri), TAMIS_E_IO, "connection refused");
}

/* ---- servers that are not Redis ---- */

typedef struct impostor {
    pthread_t thread;
    int door, port;
    const char *words; /* bytes that it sends to every client */
} impostor;

static void *pretend(void *context) {
    const impostor *self = context;
    char bytes[4096];
    for (int fd; (fd = accept(self->door, NULL, NULL)) >= 0; close(fd)) {
        if (*self->words && recv(fd, bytes, sizeof bytes, 0) > 0)
            (void)!send(fd, self->words, strlen(self->words), MSG_NOSIGNAL);
    }
    return NULL;
}

static void start(impostor *self, const char *words) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    self->words = words;
    self->door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(self->door, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(self->door, 8), 0);
    assert_int_equal(getsockname(self->door, (struct sockaddr *)&address, &size), 0);
    self->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&self->thread, NULL, pretend, self), 0);
}

static void stop(impostor *self) {
    shutdown(self->door, SHUT_RDWR);
    pthread_join(self->thread, NULL);
    close(self->door);
}

static void reg_22_a_port_without_redis_is_reported_at_once(void **state) {
    static const struct {
        const char *words, *part;
    } cases[] = {{"HTTP/1.1 400 Bad Request\r\n\r\n", "is it a Redis at that port?"},
                 {"SSH-2.0-OpenSSH_9.2\r\n", "is it a Redis at that port?"},
                 {"", "write rediss://"}}; /* as a server does that expects TLS */
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        impostor one_server;
        char uri[300];
        start(&one_server, cases[i].words);
        snprintf(uri, sizeof uri, "redis://127.0.0.1:%d" JAVA, one_server.port);
        FAILS(add_on_server(uri), TAMIS_E_IO, cases[i].part);
        stop(&one_server);
    }
}

/* A Redis without TLS takes a TLS hello for the beginning of a line and does not reply, or replies that it
 * does not know the command. */
static void reg_22_tls_to_a_plain_port_is_reported_at_once(void **state) {
    char uri[300];
    (void)state;
    begin_test();
    snprintf(uri, sizeof uri, "rediss://127.0.0.1:%d" JAVA "&timeout=200ms&verify=no", server.port);
    const tamis_status status = add_on_server(uri);
    assert_true(status == TAMIS_E_IO || status == TAMIS_E_REFUSED);
    assert_non_null(strstr(err.text, "TLS at"));
}

static void reg_22_a_wrong_password_is_reported_at_once(void **state) {
    redis_server locked = {0};
    char uri[300];
    (void)state;
    begin_test();
    locked.password = "right";
    redis_server_start(&locked, (const char *[]){"--requirepass", "right", NULL});
    snprintf(uri, sizeof uri, "redis://:wrong@127.0.0.1:%d" JAVA, locked.port);
    FAILS(add_on_server(uri), TAMIS_E_REFUSED, "check user and password");
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d" JAVA, locked.port);
    FAILS(add_on_server(uri), TAMIS_E_REFUSED, "give user and password");
    redis_server_stop(&locked);
}

/* ---- waiting ---- */

/* A call during which the server is started again, by the thread whose end would end the server. */
typedef struct call {
    pthread_t thread;
    char uri[300];
    bool is_open;         /* true for tamis_redis_open, false for add_there */
    tamis_filter *filter; /* filter to add keys to instead; NULL: none */
    tamis_status status;
} call;

static void *make_call(void *context) {
    call *self = context;
    tamis_redis *there;
    if (self->filter) {
        self->status = tamis_filter_add_many(self->filter, keys, 10, NULL, NULL, &err);
    } else if (self->is_open) {
        self->status = tamis_redis_open(&there, self->uri, NULL, &err);
        if (self->status == TAMIS_OK)
            tamis_redis_close(there);
    } else {
        self->status = add_on_server(self->uri);
    }
    return NULL;
}

static void restart_during(redis_server *one_server, call *self) {
    redis_server_kill(one_server);
    pthread_create(&self->thread, NULL, make_call, self);
    pause_ms(200);
    redis_server_restart(one_server);
    pthread_join(self->thread, NULL);
    OK(self->status);
}

static void reg_22_connect_wait_waits_for_a_server_that_starts(void **state) {
    redis_server one_server = {0};
    call adds = {0}, opens = {.is_open = true};
    (void)state;
    begin_test();
    redis_server_start(&one_server, NULL);
    snprintf(adds.uri, sizeof adds.uri, "redis://127.0.0.1:%d" JAVA "&connect_wait=50s", one_server.port);
    restart_during(&one_server, &adds);
    snprintf(opens.uri, sizeof opens.uri, "redis://127.0.0.1:%d?connect_wait=50s", one_server.port);
    restart_during(&one_server, &opens);
    redis_server_stop(&one_server);
    snprintf(adds.uri, sizeof adds.uri, "redis://127.0.0.1:%d" JAVA "&connect_wait=100ms", closed_port);
    FAILS(add_on_server(adds.uri), TAMIS_E_IO, "connection refused");
    FAILS(add_on_server("redis://127.0.0.1/f?connect_wait=soon"), TAMIS_E_INVALID, "connect_wait");
}

/* The client waits, for as long as the patience says, for a server that has answered before. */
static void reg_22_opening_a_server_is_to_hear_from_it(void **state) {
    impostor one_server;
    tamis_redis *there;
    char uri[100];
    (void)state;
    start(&one_server, "");
    snprintf(uri, sizeof uri, "redis://127.0.0.1:%d?patience=1h", one_server.port);
    FAILS(tamis_redis_open(&there, uri, NULL, &err), TAMIS_E_IO, "write rediss://");
    stop(&one_server);
}

static void reg_22_a_server_that_was_there_is_waited_for(void **state) {
    redis_server one_server = {0};
    call adds = {0};
    (void)state;
    begin_test();
    redis_server_start(&one_server, NULL);
    snprintf(adds.uri, sizeof adds.uri, "redis://127.0.0.1:%d" JAVA, one_server.port);
    OK(tamis_redis_filter_open(&adds.filter, NULL, adds.uri, NULL, &err));
    OK(tamis_filter_add_many(adds.filter, keys, 10, NULL, NULL, &err));
    restart_during(&one_server, &adds);
    tamis_filter_free(adds.filter);
    /* Opening counts as an answer. */
    tamis_redis *there;
    snprintf(adds.uri, sizeof adds.uri, "redis://127.0.0.1:%d?patience=1h", one_server.port);
    OK(tamis_redis_open(&there, adds.uri, NULL, &err));
    OK(tamis_redis_filter_open(&adds.filter, there, "f?layout=java&expect=1000&fpr=0.01", NULL, &err));
    restart_during(&one_server, &adds);
    tamis_filter_free(adds.filter);
    tamis_redis_close(there);
    redis_server_stop(&one_server);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reg_22_a_refused_connection_is_reported_at_once),
        cmocka_unit_test(reg_22_one_of_several_that_refuses_is_reported_at_once),
        cmocka_unit_test(reg_22_a_port_without_redis_is_reported_at_once),
        cmocka_unit_test(reg_22_tls_to_a_plain_port_is_reported_at_once),
        cmocka_unit_test(reg_22_a_wrong_password_is_reported_at_once),
        cmocka_unit_test(reg_22_connect_wait_waits_for_a_server_that_starts),
        cmocka_unit_test(reg_22_opening_a_server_is_to_hear_from_it),
        cmocka_unit_test(reg_22_a_server_that_was_there_is_waited_for),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

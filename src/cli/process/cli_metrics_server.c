/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The HTTP server of --metrics, by libevent.
 *
 *     run's thread      open: bind, start the thread                      close: end_loop, join
 *     server's thread              answer GET /metrics, 404 for others
 *
 * Errors at the start end the run: the address may be in use. Later ones concern one client.
 */
#include "cli/process/cli_metrics.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/cli.h"

/* Limits for a client: seconds without progress, and bytes of a request. */
enum { TIMEOUT = 10, HEADERS_MAX = 16384, BODY_MAX = 0, HOST_MAX = 256 };

struct cli_metrics_server {
    void (*write_metrics)(void *context, FILE *out);
    void *context;
    struct event_base *base;
    struct evhttp *http;
    struct event *stop;
    int stop_fd; /* an eventfd: readable when the thread must end */
    bool started;
    pthread_t thread;
    char address[HOST_MAX + 16];
};

static void answer(struct evhttp_request *request, void *context) {
    const cli_metrics_server *server = context;
    struct evbuffer *body = evbuffer_new();
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (out)
        server->write_metrics(server->context, out);
    if (out && fclose(out) == 0 && body && evbuffer_add(body, text, size) == 0) {
        evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type",
                          "text/plain; version=0.0.4; charset=utf-8");
        evhttp_send_reply(request, HTTP_OK, "OK", body);
    } else {
        evhttp_send_error(request, HTTP_INTERNAL, "out of memory");
    }
    free(text);
    if (body)
        evbuffer_free(body);
}

static void answer_other(struct evhttp_request *request, void *context) {
    (void)context;
    evhttp_send_error(request, HTTP_NOTFOUND, "only /metrics is here");
}

static void end_loop(evutil_socket_t fd, short events, void *context) {
    (void)fd;
    (void)events;
    event_base_loopbreak(context);
}

static void *serve(void *context) {
    event_base_dispatch(context);
    return NULL;
}

/* libevent would print its warnings. The errors of this file say what matters. */
static void drop_warning(int severity, const char *message) {
    (void)severity;
    (void)message;
}

/* The thread takes no signals: they belong to the run. A connection that breaks would raise SIGPIPE. */
static int start_thread(cli_metrics_server *server) {
    sigset_t blocked, old;

    sigfillset(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &old);
    const int failed = pthread_create(&server->thread, NULL, serve, server->base);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    server->started = failed == 0;
    return failed;
}

/* Reads [HOST:]PORT. An IPv6 address as HOST is in brackets, and *host gets it without them. Without HOST,
 * *host is 127.0.0.1. */
static tamis_status parse_address(char host[HOST_MAX], uint16_t *port, const char *target, tamis_error *err) {
    const bool bracketed = target[0] == '[';
    const char *start = target + bracketed, *end = strchr(target, bracketed ? ']' : ':');
    const char *digits = target;

    if (bracketed && (!end || end == start || end[1] != ':'))
        return cli_fail(err, "--metrics '%.200s': expected [HOST]:PORT; give it, as in [::1]:9134", target);
    if (end)
        digits = end + 1 + bracketed;
    if (!bracketed && strchr(digits, ':'))
        return cli_fail(err,
                        "--metrics '%.200s': has several colons; put an IPv6 address in brackets, as in "
                        "[::1]:9134",
                        target);
    if (*digits == '\0' || strspn(digits, "0123456789") != strlen(digits))
        return cli_fail(err,
                        "--metrics '%.200s': '%.20s' is not a port; give a number from 0 to 65535, or ./ "
                        "before the name of a file",
                        target, digits);
    if (strlen(digits) > 5 || atoi(digits) > UINT16_MAX)
        return cli_fail(err, "--metrics '%.200s': port %.20s is above 65535; give another", target, digits);
    *port = (uint16_t)atoi(digits);
    if (end && end > start)
        snprintf(host, HOST_MAX, "%.*s", (int)(end - start), start);
    else
        snprintf(host, HOST_MAX, "127.0.0.1");
    return TAMIS_OK;
}

static tamis_status bind_address(cli_metrics_server *server, const char *target, tamis_error *err) {
    char host[HOST_MAX], why[80];
    uint16_t port = 0;
    union {
        struct sockaddr any;
        struct sockaddr_in ipv4;
        struct sockaddr_in6 ipv6;
    } name = {0};
    socklen_t size = sizeof name;

    if (parse_address(host, &port, target, err) != TAMIS_OK)
        return err->status;
    errno = 0;
    struct evhttp_bound_socket *bound = evhttp_bind_socket_with_handle(server->http, host, port);
    if (!bound)
        return cli_fail(
            err, "--metrics '%.200s': %s; give another address, [HOST:]PORT, or the name of a file", target,
            errno ? cli_errno_text(why, sizeof why, errno) : "not an address of this machine");
    if (getsockname(evhttp_bound_socket_get_fd(bound), &name.any, &size) != 0)
        return cli_fail(err, "--metrics '%.200s': %s; give another address", target,
                        cli_errno_text(why, sizeof why, errno));
    snprintf(server->address, sizeof server->address, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host,
             (unsigned)ntohs(name.any.sa_family == AF_INET6 ? name.ipv6.sin6_port : name.ipv4.sin_port));
    return TAMIS_OK;
}

tamis_status cli_metrics_server_open(cli_metrics_server **server, const char *target,
                                     void (*write_metrics)(void *context, FILE *out), void *context,
                                     tamis_error *err) {
    cli_metrics_server *made = calloc(1, sizeof *made);

    *server = made;
    if (!made)
        return cli_fail_nomem("--metrics", err);
    made->write_metrics = write_metrics;
    made->context = context;
    event_set_log_callback(drop_warning);
    made->stop_fd = eventfd(0, EFD_CLOEXEC);
    made->base = event_base_new();
    made->http = made->base ? evhttp_new(made->base) : NULL;
    made->stop = made->base && made->stop_fd >= 0
                     ? event_new(made->base, made->stop_fd, EV_READ, end_loop, made->base)
                     : NULL;
    if (!made->http || !made->stop || event_add(made->stop, NULL) != 0)
        return cli_fail_nomem("--metrics", err);
    evhttp_set_allowed_methods(made->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
    evhttp_set_max_headers_size(made->http, HEADERS_MAX);
    evhttp_set_max_body_size(made->http, BODY_MAX);
    evhttp_set_timeout(made->http, TIMEOUT);
    evhttp_set_gencb(made->http, answer_other, NULL);
    if (evhttp_set_cb(made->http, "/metrics", answer, made) != 0)
        return cli_fail_nomem("--metrics", err);
    if (bind_address(made, target, err) != TAMIS_OK)
        return err->status;
    if (start_thread(made) == 0)
        return TAMIS_OK;
    return cli_fail(err, "--metrics '%.200s': no thread could be started; raise its limit, or leave it out",
                    target);
}

const char *cli_metrics_server_address(const cli_metrics_server *server) {
    return server->address;
}

void cli_metrics_server_close(cli_metrics_server *server) {
    const uint64_t increment = 1;

    if (!server)
        return;
    if (server->started && write(server->stop_fd, &increment, sizeof increment) == sizeof increment)
        pthread_join(server->thread, NULL);
    if (server->stop)
        event_free(server->stop);
    if (server->http)
        evhttp_free(server->http);
    if (server->base)
        event_base_free(server->base);
    if (server->stop_fd >= 0)
        close(server->stop_fd);
    free(server);
}

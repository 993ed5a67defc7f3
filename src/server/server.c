/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The server and its threads.
 *
 *     clients --> server's thread, an event loop ------> tamis_guard_find_many, tamis_guard_request
 *                   |            ^                                         |
 *         server_job|            | server_event, by wake_fd                |
 *                   v            |                                         |
 *                 workers -------'<------ threads of the guards <----------'
 *
 * 1. All state of clients belongs to the server's thread. Other threads pass it events.
 * 2. Workers do what may block: writes to Redis, and opening and closing of guards.
 * 3. tamis_server_stop and tamis_server_reload set a flag and write to wake_fd, so that a signal handler may
 *    call them.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/system.h"
#include "base/thread.h"
#include "base/versioned.h"
#include "server/server_int.h"

enum { ACCEPTS = 64, LOG_LINES = 10 };
#define SECOND_NS ((uint64_t)1000000000)
#define DRAIN_NS  (10 * SECOND_NS)

/* ---- log ---- */

void tamis__server_log(tamis_server *server, const char *format, ...) {
    char line[700];
    va_list arguments;

    if (!server->log)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    server->log(server->log_context, line);
}

void tamis__server_log_client(server_client *client, const char *what) {
    tamis_server *server = client->server;
    const uint64_t now = tamis__now_ns();

    if (now >= server->logged_until) {
        if (server->not_logged > 0)
            tamis__server_log(server, "clients: %u further events", server->not_logged);
        server->logged_until = now + SECOND_NS;
        server->logged = server->not_logged = 0;
    }
    if (server->logged++ < LOG_LINES)
        tamis__server_log(server, "client %llu: %s", (unsigned long long)client->id, what);
    else
        server->not_logged++;
}

/* ---- other threads ---- */

static void wake(tamis_server *server) {
    const uint64_t increment = 1;
    const int saved = errno;

    while (write(server->wake_fd, &increment, sizeof increment) < 0 && errno == EINTR)
        ;
    errno = saved;
}

void tamis__server_post(tamis_server *server, server_event *event) {
    event->next = NULL;
    pthread_mutex_lock(&server->lock);
    const bool was_empty = !server->events;
    *server->events_tail = event;
    server->events_tail = &event->next;
    pthread_mutex_unlock(&server->lock);
    if (was_empty)
        wake(server);
}

static void apply_events(tamis_server *server) {
    pthread_mutex_lock(&server->lock);
    server_event *event = server->events;
    server->events = NULL;
    server->events_tail = &server->events;
    pthread_mutex_unlock(&server->lock);
    while (event) {
        server_event *next = event->next;
        event->apply(server, event);
        event = next;
    }
}

void tamis__server_work(tamis_server *server, server_job *job) {
    job->next = NULL;
    if (server->workers_stop) { /* only while the server is closed */
        job->work(server, job);
        job->event.apply(server, &job->event);
        return;
    }
    pthread_mutex_lock(&server->lock);
    *server->jobs_tail = job;
    server->jobs_tail = &job->next;
    pthread_cond_signal(&server->work);
    pthread_mutex_unlock(&server->lock);
}

static void *run_worker(void *context) {
    tamis_server *server = context;

    for (;;) {
        pthread_mutex_lock(&server->lock);
        while (!server->jobs && !server->workers_stop)
            pthread_cond_wait(&server->work, &server->lock);
        server_job *job = server->jobs;
        if (job) {
            server->jobs = job->next;
            if (!server->jobs)
                server->jobs_tail = &server->jobs;
        }
        pthread_mutex_unlock(&server->lock);
        if (!job)
            return NULL;
        job->work(server, job);
        tamis__server_post(server, &job->event);
    }
}

/* ---- reload ---- */

typedef struct reload_job {
    server_job job;
    tamis_status status;
    tamis_error err;
    server_guards *guards;
    SSL_CTX *tls;
} reload_job;

static void run_reload(tamis_server *server, server_job *job) {
    reload_job *reload = (reload_job *)job;
    server_config *config = NULL;

    reload->status = tamis__server_config_read(&config, server->config_file, &server->memory, &reload->err);
    if (reload->status == TAMIS_OK)
        reload->status = tamis__server_tls_create(&reload->tls, config, &reload->err);
    if (reload->status == TAMIS_OK)
        reload->status = tamis__keyspaces_open(&reload->guards, config, server->guards, &reload->err);
    else
        tamis__server_config_free(config);
}

static bool addresses_equal(const server_address *a, const server_address *b) {
    return a->text && b->text ? strcmp(a->text, b->text) == 0 : a->text == b->text;
}

static void apply_reload(tamis_server *server, server_event *event) {
    reload_job *reload = (reload_job *)event;

    server->reloads = false;
    if (reload->status == TAMIS_OK) {
        reload->status = tamis__keyspaces_hand_over(server->guards, reload->guards, &reload->err);
        if (reload->status != TAMIS_OK)
            tamis__keyspaces_release(server, reload->guards);
    }
    if (reload->status == TAMIS_OK) {
        server_guards *old = server->guards;
        const server_config *before = server->config;
        server->guards = reload->guards;
        server->config = reload->guards->shared->config;
        tamis__keyspaces_begin_scans(server->guards);
        if (!addresses_equal(&before->listen, &server->config->listen) ||
            !addresses_equal(&before->metrics, &server->config->metrics))
            tamis__server_log(server,
                              "%s: listen or metrics has changed; restart the server to use the new address",
                              server->config_file);
        if (!tamis__server_filters_equal(&before->filters, &server->config->filters))
            tamis__server_log(server, "%s: filters has changed; restart the server to use the new values",
                              server->config_file);
        SSL_CTX_free(server->tls);
        server->tls = reload->tls;
        tamis__keyspaces_release(server, old);
        tamis__server_log(server, "%s: read again", server->config_file);
    } else {
        SSL_CTX_free(reload->tls);
        tamis__server_log(server, "%s; the former configuration stays", reload->err.text);
    }
    tamis__free(&server->memory, reload, sizeof *reload);
}

static void begin_reload(tamis_server *server) {
    reload_job *reload = tamis__alloc(&server->memory, sizeof *reload, 16);

    if (!reload) {
        tamis__server_log(server, "%s: out of memory; the former configuration stays", server->config_file);
        return;
    }
    server->reloads = true;
    reload->job.work = run_reload;
    reload->job.event.apply = apply_reload;
    reload->err = (tamis_error)TAMIS_ERROR_INIT;
    tamis__server_work(server, &reload->job);
}

/* ---- events of the loop ---- */

static void begin_drain(tamis_server *server) {
    server->drain_until = tamis__now_ns() + DRAIN_NS;
    event_del(&server->listener);
    event_del(&server->retry);
    tamis__sys.close(server->listen_fd);
    server->listen_fd = -1;
    tamis__server_log(server, "stopping; %zu clients", server->client_count);
    tamis__clients_drain(server);
}

/* Ends the loop when a server that stops has no client left, or after ten seconds. */
static void check_end(tamis_server *server) {
    if (server->drain_until > 0 && (server->client_count == 0 || tamis__now_ns() >= server->drain_until))
        event_base_loopbreak(server->base);
}

static void on_wake(evutil_socket_t fd, short events, void *context) {
    tamis_server *server = context;
    uint64_t count;

    (void)events;
    (void)!read(fd, &count, sizeof count);
    apply_events(server);
    if (atomic_load(&server->reload) && !server->reloads && !server->drain_until) {
        atomic_store(&server->reload, false);
        begin_reload(server);
    }
    if (atomic_load(&server->stop) && !server->drain_until)
        begin_drain(server);
    check_end(server);
}

static void on_tick(evutil_socket_t fd, short events, void *context) {
    tamis_server *server = context;

    (void)fd;
    (void)events;
    tamis__clients_check(server, tamis__now_ns());
    tamis__keyspaces_report(server);
    if (atomic_load(&server->reload) && !server->reloads)
        wake(server);
    check_end(server);
}

static void on_delay(evutil_socket_t fd, short events, void *context) {
    (void)fd;
    (void)events;
    tamis__server_writes_finish(context);
}

static void on_retry(evutil_socket_t fd, short events, void *context) {
    tamis_server *server = context;

    (void)fd;
    (void)events;
    event_add(&server->listener, NULL);
}

static void on_connection(evutil_socket_t fd, short events, void *context) {
    static const struct timeval pause = {.tv_usec = 100000};
    tamis_server *server = context;

    (void)events;
    for (int i = 0; i < ACCEPTS; i++) {
        const int client = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (client >= 0) {
            tamis__client_accept(server, client);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            /* Connections wait in the queue of the system. */
            event_del(&server->listener);
            event_add(&server->retry, &pause);
        }
        if (errno != EINTR && errno != ECONNABORTED)
            return;
    }
}

/* ---- opening ---- */

static tamis_status open_loop(tamis_server *server, tamis_error *err) {
    static const struct timeval second = {.tv_sec = 1};
    struct event_config *config = event_config_new();

    if (config) {
        event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST);
        server->base = event_base_new_with_config(config);
        event_config_free(config);
    }
    server->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!server->base || server->wake_fd < 0)
        return tamis__fail(err, TAMIS_E_SYSTEM, errno, "%s: no event loop: %s; raise the limit of open files",
                           server->config_file, strerror(errno));
    event_assign(&server->listener, server->base, server->listen_fd, EV_READ | EV_PERSIST, on_connection,
                 server);
    event_assign(&server->wake, server->base, server->wake_fd, EV_READ | EV_PERSIST, on_wake, server);
    event_assign(&server->tick, server->base, -1, EV_PERSIST, on_tick, server);
    event_assign(&server->retry, server->base, -1, 0, on_retry, server);
    event_assign(&server->delay, server->base, -1, 0, on_delay, server);
    if (event_add(&server->listener, NULL) != 0 || event_add(&server->wake, NULL) != 0 ||
        event_add(&server->tick, &second) != 0)
        return tamis__fail_nomem(err, server->config_file, sizeof(struct event));
    return TAMIS_OK;
}

static tamis_status start_workers(tamis_server *server, tamis_error *err) {
    while (server->worker_count < SERVER_WORKERS) {
        const int failed = tamis__thread_create(&server->workers[server->worker_count], run_worker, server);
        if (failed)
            return tamis__fail(err, TAMIS_E_SYSTEM, failed, "%s: no thread: %s; raise the limit of threads",
                               server->config_file, strerror(failed));
        server->worker_count++;
    }
    return TAMIS_OK;
}

static tamis_status open_server(tamis_server *server, tamis_error *err) {
    server_config *config = NULL;
    tamis_status status = tamis__server_config_read(&config, server->config_file, &server->memory, err);

    if (status != TAMIS_OK)
        return status;
    status = tamis__server_tls_create(&server->tls, config, err);
    if (status != TAMIS_OK) {
        tamis__server_config_free(config);
        return status;
    }
    status = tamis__keyspaces_open(&server->guards, config, NULL, err);
    if (status != TAMIS_OK)
        return status;
    server->config = config;
    status = tamis__server_listen(server, err);
    if (status == TAMIS_OK)
        status = open_loop(server, err);
    if (status == TAMIS_OK)
        status = tamis__server_metrics_open(server, err);
    if (status == TAMIS_OK)
        status = start_workers(server, err);
    if (status == TAMIS_OK)
        status = tamis__filters_open(server, err);
    if (status == TAMIS_OK)
        tamis__keyspaces_report_down(server);
    return status;
}

tamis_status tamis_server_check(const char *config, const tamis_server_options *options,
                                tamis_server_summary *summary, tamis_error *err) {
    tamis_server_options given = TAMIS_SERVER_OPTIONS_INIT;
    tamis_server_summary filled = TAMIS_SERVER_SUMMARY_INIT;
    server_config *parsed = NULL;
    SSL_CTX *tls = NULL;

    TAMIS__NEED(config, err);
    tamis_status status =
        tamis__read_options(&given, sizeof given, options, "TAMIS_SERVER_OPTIONS_INIT", err);
    if (status == TAMIS_OK)
        status = tamis__check_struct(summary, "TAMIS_SERVER_SUMMARY_INIT", err);
    if (status == TAMIS_OK)
        status = tamis__server_config_read(&parsed, config, given.allocator, err);
    if (status != TAMIS_OK)
        return status;
    filled.keyspaces = parsed->keyspace_count;
    filled.has_filters = parsed->filters.directory != NULL;
    status = tamis__server_tls_create(&tls, parsed, err);
    SSL_CTX_free(tls);
    if (status == TAMIS_OK)
        status = tamis__keyspaces_check(parsed, given.log, given.context, &filled.unchecked, err);
    tamis__server_config_free(parsed);
    if (status == TAMIS_OK)
        tamis__write_struct(summary, &filled, sizeof filled);
    return status;
}

tamis_status tamis_server_open(tamis_server **server, const char *config, const tamis_server_options *options,
                               tamis_error *err) {
    tamis_server_options given = TAMIS_SERVER_OPTIONS_INIT;

    TAMIS__NEED(server, err);
    TAMIS__NEED(config, err);
    tamis_status status =
        tamis__read_options(&given, sizeof given, options, "TAMIS_SERVER_OPTIONS_INIT", err);
    if (status != TAMIS_OK)
        return status;
    const tamis_allocator memory = tamis__allocator_resolve(given.allocator);
    tamis_server *made = tamis__alloc(&memory, sizeof *made, 64);
    if (!made)
        return tamis__fail_nomem(err, "server", sizeof *made);
    made->memory = memory;
    made->log = given.log;
    made->log_context = given.context;
    made->listen_fd = made->wake_fd = -1;
    made->started = tamis__now_ns();
    made->events_tail = &made->events;
    made->jobs_tail = &made->jobs;
    made->delayed_tail = &made->delayed;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->work, NULL);
    made->config_file = strdup(config);
    status = made->config_file ? open_server(made, err) : tamis__fail_nomem(err, "server", strlen(config));
    if (status == TAMIS_OK)
        *server = made;
    else
        tamis_server_close(made);
    return status;
}

/* ---- run and end ---- */

static void stop_workers(tamis_server *server) {
    pthread_mutex_lock(&server->lock);
    server->workers_stop = true;
    pthread_cond_broadcast(&server->work);
    pthread_mutex_unlock(&server->lock);
    for (size_t i = 0; i < server->worker_count; i++)
        pthread_join(server->workers[i], NULL);
}

/* Closing a guard answers its requests. Guards that a reload has replaced answer within their timeout. */
static void close_guards(tamis_server *server) {
    struct pollfd woken = {.fd = server->wake_fd, .events = POLLIN};

    if (server->guards) {
        for (size_t i = 0; i < server->guards->count; i++) {
            tamis_guard_close(server->guards->items[i]->guard);
            server->guards->items[i]->guard = NULL;
        }
    }
    apply_events(server);
    while (server->request_count > 0) {
        tamis__sys.poll(&woken, 1, 10);
        apply_events(server);
    }
    tamis__keyspaces_release(server, server->guards);
}

static void free_loop(tamis_server *server) {
    if (!server->base)
        return;
    tamis__server_metrics_close(server);
    event_base_free(server->base);
}

void tamis_server_close(tamis_server *server) {
    if (!server)
        return;
    const tamis_allocator memory = server->memory;
    while (server->clients)
        tamis__client_free(server->clients);
    tamis__filters_close(server);
    stop_workers(server);
    apply_events(server);
    tamis__server_writes_finish(server);
    tamis__filters_free(server);
    close_guards(server);
    free_loop(server);
    if (server->listen_fd >= 0)
        tamis__sys.close(server->listen_fd);
    if (server->wake_fd >= 0)
        tamis__sys.close(server->wake_fd);
    if (server->socket_path)
        (void)tamis__sys.unlink(server->socket_path);
    SSL_CTX_free(server->tls);
    pthread_cond_destroy(&server->work);
    pthread_mutex_destroy(&server->lock);
    free(server->socket_path);
    free(server->config_file);
    tamis__free(&memory, server, sizeof *server);
}

tamis_status tamis_server_run(tamis_server *server, tamis_error *err) {
    uint64_t commands;

    TAMIS__NEED(server, err);
    if (event_base_dispatch(server->base) < 0)
        return tamis__fail(err, TAMIS_E_SYSTEM, errno, "%s: the event loop failed: %s; start it again",
                           server->config_file, strerror(errno));
    commands = server->errors;
    for (size_t i = 0; i < SERVER_COMMANDS_MAX; i++)
        commands += server->calls[i];
    tamis__server_log(server, "stopped; %llu commands", (unsigned long long)commands);
    return TAMIS_OK;
}

void tamis_server_stop(tamis_server *server) {
    atomic_store(&server->stop, true);
    wake(server);
}

void tamis_server_reload(tamis_server *server) {
    atomic_store(&server->reload, true);
    wake(server);
}

const char *tamis_server_address(const tamis_server *server) {
    return server->address;
}

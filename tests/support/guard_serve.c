/* SPDX-License-Identifier: BSD-2-Clause */
#include "guard_serve.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tamis/experimental/server.h>

#include "support/scratch.h"

enum { BULK_MAX = 32 << 10, SILENCE_MS = 60000 };

/* ---- the server's process ---- */

static tamis_server *served;

static void stop_served(int number) {
    (void)number;
    tamis_server_stop(served);
}

static void print_line(void *context, const char *line) {
    (void)context;
    fprintf(stderr, "%s\n", line);
}

bool serve_is_child(int argc, char **argv) {
    return argc == 3 && strcmp(argv[1], "serve") == 0;
}

int serve_child(char **argv) {
    tamis_server_options options = TAMIS_SERVER_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;

    options.log = print_line;
    signal(SIGPIPE, SIG_IGN);
    if (tamis_server_open(&served, argv[2], &options, &err) == TAMIS_OK) {
        signal(SIGTERM, stop_served);
        print_line(NULL, "serving");
        (void)tamis_server_run(served, &err);
        signal(SIGTERM, SIG_IGN);
        tamis_server_close(served);
    }
    if (err.status == TAMIS_OK)
        return 0;
    print_line(NULL, err.text);
    return 2;
}

/* ---- processes ---- */

static void give_up(const serve_process *server, const char *what) {
    char line[400];
    FILE *log = fopen(server->log, "r");

    fprintf(stderr, "server at %s: %s\n", server->socket, what);
    while (log && fgets(line, sizeof line, log))
        fputs(line, stderr);
    abort();
}

static bool has_logged(const serve_process *server, const char *text) {
    test_bytes log = {0};

    file_read(server->log, &log);
    const bool is_there = log.size > 0 && memmem(log.data, log.size, text, strlen(text));
    bytes_clear(&log);
    return is_there;
}

void serve_start(serve_process *server, const char *name, const char *config) {
    char text[4000], file[100];
    const pid_t parent = getpid();

    snprintf(server->socket, sizeof server->socket, "%s", scratch(name));
    snprintf(file, sizeof file, "%s.yaml", name);
    snprintf(server->config, sizeof server->config, "%s", scratch(file));
    snprintf(file, sizeof file, "%s.log", name);
    snprintf(server->log, sizeof server->log, "%s", scratch(file));
    const int length = snprintf(text, sizeof text, "listen: unix:%s\n%s", server->socket, config);
    if (length >= (int)sizeof text)
        give_up(server, "the configuration is too long");
    file_write(server->config, text, (size_t)length);
    file_write(server->log, "", 0);
    const int log = open(server->log, O_WRONLY | O_APPEND | O_CLOEXEC);
    server->pid = fork();
    if (server->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent && dup2(log, 2) == 2)
            execl("/proc/self/exe", "test", "serve", server->config, (char *)NULL);
        _exit(127);
    }
    close(log);
    for (int tries = 0; server->pid > 0 && !has_logged(server, "serving\n"); tries++) {
        if (tries == 6000 || waitpid(server->pid, NULL, WNOHANG) == server->pid)
            give_up(server, "does not start");
        pause_ms(10);
    }
}

static int wait_for(serve_process *server) {
    int status = -1;

    while (waitpid(server->pid, &status, 0) < 0 && errno == EINTR)
        ;
    server->pid = 0;
    return status;
}

void serve_stop(serve_process *server) {
    if (server->pid == 0)
        return;
    kill(server->pid, SIGTERM);
    if (wait_for(server) != 0)
        give_up(server, "did not end in order");
}

void serve_kill(serve_process *server) {
    if (server->pid == 0)
        return;
    kill(server->pid, SIGKILL);
    (void)wait_for(server);
}

/* ---- clients ---- */

static bool connect_to(serve_client *client, const struct sockaddr *name, socklen_t size) {
    client->begin = client->end = 0;
    client->fd = socket(name->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client->fd >= 0 && connect(client->fd, name, size) == 0)
        return true;
    serve_disconnect(client);
    return false;
}

bool serve_connect(serve_client *client, const char *path) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};

    snprintf(name.sun_path, sizeof name.sun_path, "%s", path);
    return connect_to(client, (const struct sockaddr *)&name, sizeof name);
}

bool serve_connect_port(serve_client *client, int port) {
    const struct sockaddr_in name = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    return connect_to(client, (const struct sockaddr *)&name, sizeof name);
}

void serve_disconnect(serve_client *client) {
    if (client->fd >= 0)
        close(client->fd);
    client->fd = -1;
}

bool serve_send(serve_client *client, const char *bytes, size_t size) {
    while (size > 0) {
        const ssize_t count = send(client->fd, bytes, size, MSG_NOSIGNAL);
        if (count <= 0)
            return false;
        bytes += count;
        size -= (size_t)count;
    }
    return true;
}

/* Receives more bytes. */
static bool receive(serve_client *client) {
    struct pollfd fd = {client->fd, POLLIN, 0};

    if (client->begin > 0) {
        memmove(client->bytes, client->bytes + client->begin, client->end - client->begin);
        client->end -= client->begin;
        client->begin = 0;
    }
    if (poll(&fd, 1, SILENCE_MS) != 1) {
        fprintf(stderr, "no reply within a minute\n");
        abort();
    }
    const ssize_t count =
        recv(client->fd, client->bytes + client->end, sizeof client->bytes - client->end, 0);
    if (count <= 0)
        return false;
    client->end += (size_t)count;
    return true;
}

static void refuse_bytes(const serve_client *client) {
    fprintf(stderr, "no reply: %.*s\n", (int)(client->end - client->begin), client->bytes + client->begin);
    abort();
}

/* Sets *reply to the first reply that was received, and returns its bytes in all. 0: it is not there as a
 * whole. */
static size_t parse_reply(const serve_client *client, serve_reply *reply) {
    const char *first = client->bytes + client->begin, *last = client->bytes + client->end;
    const char *line_end = last > first ? memchr(first, '\n', (size_t)(last - first)) : NULL;
    long size = 0;

    if (!line_end)
        return 0;
    const size_t line = (size_t)(line_end + 1 - first);
    if (line < 3 || line_end[-1] != '\r')
        refuse_bytes(client);
    *reply = (serve_reply){SERVE_OTHER, first + 1, line - 3};
    switch (*first) {
    case '-':
        reply->kind = SERVE_ERROR;
        return line;
    case '+':
    case ':':
        return line;
    case '$':
        size = strtol(first + 1, NULL, 10);
        if (size == -1) {
            *reply = (serve_reply){SERVE_NULL, "", 0};
            return line;
        }
        if (size < 0 || size > BULK_MAX)
            refuse_bytes(client);
        if ((size_t)(last - first) < line + (size_t)size + 2)
            return 0;
        if (memcmp(first + line + size, "\r\n", 2) != 0)
            refuse_bytes(client);
        *reply = (serve_reply){SERVE_VALUE, first + line, (size_t)size};
        return line + (size_t)size + 2;
    default:
        refuse_bytes(client);
        return 0;
    }
}

bool serve_read(serve_client *client, serve_reply *reply) {
    size_t size;

    while ((size = parse_reply(client, reply)) == 0)
        if (!receive(client))
            return false;
    client->begin += size;
    return true;
}

bool serve_query(serve_client *client, serve_reply *reply, const char *format, ...) {
    char line[400];
    va_list values;

    va_start(values, format);
    const int length = vsnprintf(line, sizeof line - 2, format, values);
    va_end(values);
    memcpy(line + length, "\r\n", 3);
    return serve_send(client, line, (size_t)length + 2) && serve_read(client, reply);
}

bool serve_is(const serve_reply *reply, serve_kind kind, const char *text) {
    return reply->kind == kind && reply->size == strlen(text) && memcmp(reply->text, text, reply->size) == 0;
}

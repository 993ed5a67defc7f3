/* SPDX-License-Identifier: BSD-2-Clause */
#include "redis_server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

enum { RUNNING = 16, WORDS = 64 };

/* Running servers of this process, to be killed when it exits. */
static redis_server *running[RUNNING];
static pid_t owner;

static void give_up(const redis_server *server, const char *what, const char *why) {
    fprintf(stderr, "redis-server in %s: %s: %s\n", server->directory, what, why);
    abort();
}

bool redis_server_installed(void) {
    const char *path = getenv("PATH");
    char name[4096];
    for (size_t size; path && *path; path += size + (path[size] == ':')) {
        size = strcspn(path, ":");
        if (snprintf(name, sizeof name, "%.*s/redis-server", (int)size, path) < (int)sizeof name &&
            access(name, X_OK) == 0)
            return true;
    }
    return false;
}

/* ---- the process ---- */

static void run(const redis_server *server) {
    char port[8], log[96];
    const char *words[WORDS] = {"redis-server",
                                "--port",
                                port,
                                "--bind",
                                "127.0.0.1",
                                "--unixsocket",
                                server->socket,
                                "--save",
                                "",
                                "--dir",
                                server->directory,
                                "--logfile",
                                log,
                                "--appendfsync",
                                "always"};
    size_t used = 0;
    while (words[used])
        used++;
    for (size_t i = 0; server->options && server->options[i] && used < WORDS - 1; i++)
        words[used++] = server->options[i];
    snprintf(port, sizeof port, "%d", server->port);
    snprintf(log, sizeof log, "%s/log", server->directory);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != owner)
        _exit(127);
    int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(null, 1);
    execvp(words[0], (char *const *)(uintptr_t)words);
    _exit(127);
}

static bool has_ended(redis_server *server) {
    int status;
    if (waitpid(server->pid, &status, WNOHANG) != server->pid)
        return false;
    server->pid = 0;
    return true;
}

/* Connects by the unix socket, so that no other server can answer. Returns NULL on failure. */
static redisContext *reach(const redis_server *server) {
    redisContext *conn = redisConnectUnixWithTimeout(server->socket, (struct timeval){60, 0});
    if (conn && conn->err) {
        redisFree(conn);
        return NULL;
    }
    if (conn)
        redisSetTimeout(conn, (struct timeval){60, 0});
    return conn;
}

/* True if the server answers, even with an error about a password or an ACL. */
static bool answers(const redis_server *server) {
    redisContext *conn = reach(server);
    if (!conn)
        return false;
    redisReply *reply = redisCommand(conn, "PING");
    bool is_up = reply && strncmp(reply->str, "LOADING", 7) != 0;
    if (reply)
        freeReplyObject(reply);
    redisFree(conn);
    return is_up;
}

/* Starts the process. False if it ended, perhaps because the port is in use. */
static bool launch(redis_server *server) {
    unlink(server->socket);
    owner = getpid();
    server->pid = fork();
    if (server->pid == 0)
        run(server);
    if (server->pid < 0)
        give_up(server, "fork", strerror(errno));
    for (int tries = 0; tries < 6000; tries++) {
        if (has_ended(server))
            return false;
        if (answers(server))
            return true;
        pause_ms(10);
    }
    give_up(server, "start", "does not answer within a minute");
    return false;
}

static void stop_all(void) {
    for (int i = 0; i < RUNNING && getpid() == owner; i++)
        if (running[i])
            redis_server_stop(running[i]);
}

static void remember(redis_server *server) {
    static bool registered;
    if (!registered && atexit(stop_all) == 0)
        registered = true;
    for (int i = 0; i < RUNNING; i++) {
        if (running[i])
            continue;
        running[i] = server;
        return;
    }
    give_up(server, "start", "too many at once");
}

/* ---- start and stop ---- */

static void name_it(redis_server *server) {
    char *to = server->uri_unix + sprintf(server->uri_unix, "redis+unix://");
    snprintf(server->socket, sizeof server->socket, "%s/socket", server->directory);
    for (const char *c = server->socket; *c; c++)
        to += *c == '/' ? sprintf(to, "%%2F") : sprintf(to, "%c", *c);
}

void redis_server_start(redis_server *server, const char *const *options) {
    *server = (redis_server){.options = options};
    if (!temporary_directory(server->directory, sizeof server->directory, "tamis-redis"))
        give_up(server, "a directory in TMPDIR", strerror(errno));
    name_it(server);
    remember(server);
    /* Ports below those that systems give to clients. */
    uint64_t random = (uint64_t)getpid() * 1000003 + (uint64_t)time(NULL) + (uintptr_t)server;
    for (int tries = 0; tries < 30; tries++) {
        server->port = 10000 + (int)test_below(&random, 22000);
        sprintf(server->uri, "redis://127.0.0.1:%d", server->port);
        if (launch(server))
            return;
    }
    give_up(server, "start", "ends at once; see its log");
}

void redis_server_kill(redis_server *server) {
    if (server->pid == 0)
        return;
    kill(server->pid, SIGKILL);
    while (waitpid(server->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    server->pid = 0;
}

void redis_server_restart(redis_server *server) {
    for (int tries = 0; tries < 100; tries++) {
        if (launch(server))
            return;
        pause_ms(50); /* another connection may use the port for a moment */
    }
    give_up(server, "restart", "ends at once; see its log");
}

static void remove_directory(const char *directory, int depth) {
    char path[512];
    DIR *names = opendir(directory);
    for (struct dirent *entry; names && (entry = readdir(names));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof path, "%.200s/%s", directory, entry->d_name);
        if (unlink(path) < 0 && depth < 3)
            remove_directory(path, depth + 1);
    }
    if (names)
        closedir(names);
    rmdir(directory);
}

void redis_server_stop(redis_server *server) {
    redis_server_kill(server);
    for (int i = 0; i < RUNNING; i++) {
        if (running[i] != server)
            continue;
        running[i] = NULL;
        remove_directory(server->directory, 0);
    }
}

/* ---- commands ---- */

static redisReply *query(const redis_server *server, const char *format, va_list words) {
    redisContext *conn = reach(server);
    if (conn && server->password)
        freeReplyObject(redisCommand(conn, "AUTH %s", server->password));
    redisReply *reply = conn ? redisvCommand(conn, format, words) : NULL;
    if (!reply)
        give_up(server, format, "no answer");
    redisFree(conn);
    return reply;
}

static void show(const redisReply *reply, test_bytes *to) {
    char digits[32];
    switch (reply->type) {
    case REDIS_REPLY_INTEGER:
        bytes_add(to, digits, (size_t)sprintf(digits, "%lld", reply->integer));
        break;
    case REDIS_REPLY_NIL:
        bytes_add(to, "(nil)", 5);
        break;
    case REDIS_REPLY_ARRAY:
        for (size_t i = 0; i < reply->elements; i++) {
            bytes_add(to, " ", i > 0);
            show(reply->element[i], to);
        }
        break;
    default:
        bytes_add(to, "(error) ", reply->type == REDIS_REPLY_ERROR ? 8 : 0);
        bytes_add(to, reply->str, (size_t)reply->len);
    }
}

const char *redis_server_command(const redis_server *server, const char *format, ...) {
    static test_bytes text;
    va_list words;
    va_start(words, format);
    redisReply *reply = query(server, format, words);
    va_end(words);
    text.size = 0;
    show(reply, &text);
    bytes_add(&text, "", 1);
    freeReplyObject(reply);
    return (const char *)text.data;
}

long long redis_server_number(const redis_server *server, const char *format, ...) {
    va_list words;
    va_start(words, format);
    redisReply *reply = query(server, format, words);
    va_end(words);
    if (reply->type != REDIS_REPLY_INTEGER)
        give_up(server, format, reply->str ? reply->str : "no integer");
    long long number = reply->integer;
    freeReplyObject(reply);
    return number;
}

void redis_server_bytes(const redis_server *server, test_bytes *into, const char *format, ...) {
    va_list words;
    va_start(words, format);
    redisReply *reply = query(server, format, words);
    va_end(words);
    if (reply->type != REDIS_REPLY_STRING && reply->type != REDIS_REPLY_NIL)
        give_up(server, format, reply->str ? reply->str : "no string");
    bytes_clear(into);
    bytes_add(into, reply->str, reply->str ? (size_t)reply->len : 0);
    freeReplyObject(reply);
}

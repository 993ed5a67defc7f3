/* SPDX-License-Identifier: BSD-2-Clause */
#include "support/redis_server.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/scratch.h"

enum { MISSING = 127, TRIES = 3000 };

static pid_t server;
static char socket_path[sizeof((struct sockaddr_un *)0)->sun_path];

static void become_server(pid_t parent) {
    int null = open("/dev/null", O_RDWR);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* it does not outlive the test */
    if (getppid() != parent || null < 0)
        _exit(1);
    dup2(null, 0);
    dup2(null, 1);
    execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", socket_path, "--save", "",
           "--appendonly", "no", (char *)NULL);
    _exit(MISSING);
}

static bool answers(void) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    memcpy(to.sun_path, socket_path, sizeof socket_path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    bool does = connect(fd, (const struct sockaddr *)&to, sizeof to) == 0;
    close(fd);
    return does;
}

bool redis_server_start(void) {
    pid_t parent = getpid();
    int status;
    if ((size_t)snprintf(socket_path, sizeof socket_path, "%s", scratch("redis.sock")) >= sizeof socket_path)
        abort();
    server = fork();
    if (server == 0)
        become_server(parent);
    for (int i = 0; i < TRIES; i++) {
        if (answers())
            return true;
        if (waitpid(server, &status, WNOHANG) == server) {
            server = 0;
            if (WIFEXITED(status) && WEXITSTATUS(status) == MISSING)
                return false;
            abort();
        }
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    abort();
}

void redis_server_stop(void) {
    if (server > 0) {
        kill(server, SIGKILL);
        waitpid(server, NULL, 0);
    }
    server = 0;
    unlink(socket_path);
}

const char *redis_server_socket(void) {
    return socket_path;
}

const char *redis_server_uri(const char *rest) {
    static char uri[1024];
    size_t used = (size_t)snprintf(uri, sizeof uri, "redis+unix://");
    for (const char *c = socket_path; *c; c++)
        used += (size_t)snprintf(uri + used, sizeof uri - used, *c == '/' ? "%%2F" : "%c", *c);
    snprintf(uri + used, sizeof uri - used, "/%s", rest);
    return uri;
}

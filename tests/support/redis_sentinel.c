/* SPDX-License-Identifier: BSD-2-Clause */
#include "redis_sentinel.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/scratch.h"

/* Starts a sentinel. Unlike a server it needs a configuration file. False if it ended, perhaps because the
 * port is in use. */
static bool try_start(redis_server *sentinel, int port, const redis_server *beside, const char *settings) {
    const char *words[] = {"redis-server", scratch("sentinel.conf"), "--sentinel", NULL};
    const char *directory = beside->directory;
    char config[1200];
    *sentinel = (redis_server){.port = port};
    snprintf(sentinel->socket, sizeof sentinel->socket, "%s/sentinel", directory);
    int size = snprintf(config, sizeof config,
                        "port %d\nbind 127.0.0.1\nunixsocket %s\ndir %s\nlogfile %s/sentinel.log\n%s", port,
                        sentinel->socket, directory, directory, settings);
    file_write(words[1], config, (size_t)size);
    sentinel->pid = fork();
    if (sentinel->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(open("/dev/null", O_RDWR), 1);
        execvp(words[0], (char *const *)(uintptr_t)words);
        _exit(127);
    }
    for (int tries = 0; tries < 6000 && !file_exists(sentinel->socket); tries++) {
        if (waitpid(sentinel->pid, NULL, WNOHANG) == sentinel->pid)
            return false;
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    return true;
}

void redis_sentinel_start(redis_server *sentinel, int port, const redis_server *beside,
                          const char *settings) {
    while (!try_start(sentinel, port++, beside, settings))
        ;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#define THREADED
#include "zookeeper.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

#include "support/scratch.h"

#define JAR "/usr/share/java/zookeeper.jar"

/* The ZooKeeper client formats addresses for its log in a buffer that all its handles share: a known race. */
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void) {
    return "race:libzookeeper_mt\n";
}

static zookeeper *running; /* the one of this process, to be killed when it exits */
static pid_t owner;

static void give_up(const char *what, const char *why) {
    fprintf(stderr, "zookeeper: %s: %s\n", what, why);
    abort();
}

bool zookeeper_installed(void) {
    return access(JAR, R_OK) == 0 && access("/usr/bin/java", X_OK) == 0;
}

/* ---- the process ---- */

static void run(const zookeeper *self) {
    char config[100];
    const char *words[] = {"java",
                           "-Xmx64m",
                           "-XX:+UseSerialGC",
                           "-XX:TieredStopAtLevel=1",
                           "-cp",
                           JAR,
                           "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                           config,
                           NULL};
    snprintf(config, sizeof config, "%s/zoo.cfg", self->directory);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != owner)
        _exit(127);
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd);
    execvp(words[0], (char *const *)(uintptr_t)words);
    _exit(127);
}

/* True if a ZooKeeper answers there and accepts sessions. Before that it may lose connections. */
static bool answers(const zookeeper *self) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)self->port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    char reply[4];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool is_up = connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
                       send(fd, "srvr", 4, MSG_NOSIGNAL) == 4 &&
                       recv(fd, reply, sizeof reply, MSG_WAITALL) == 4 && memcmp(reply, "Zook", 4) == 0;
    close(fd);
    return is_up;
}

/* Starts the process. False if it ended, perhaps because the port is in use. */
static bool launch(zookeeper *self) {
    owner = getpid();
    self->pid = fork();
    if (self->pid == 0)
        run(self);
    if (self->pid < 0)
        give_up("fork", strerror(errno));
    for (int tries = 0; tries < 6000; tries++) {
        if (waitpid(self->pid, NULL, WNOHANG) == self->pid) {
            self->pid = 0;
            return false;
        }
        if (answers(self))
            return true;
        pause_ms(10);
    }
    give_up("start", "does not answer within a minute");
    return false;
}

static void remove_data(const zookeeper *self) {
    char command[120];
    snprintf(command, sizeof command, "rm -rf %s/data", self->directory);
    if (system(command) != 0)
        give_up(command, "failed");
}

static void stop_running(void) {
    if (running && getpid() == owner)
        zookeeper_stop(running);
}

void zookeeper_start(zookeeper *self) {
    static bool registered;
    uint64_t random = (uint64_t)getpid() * 1000003 + (uint64_t)time(NULL);
    char path[100], config[400];
    *self = (zookeeper){0};
    if (running || !temporary_directory(self->directory, sizeof self->directory, "tamis-zookeeper"))
        give_up("start", running ? "one at a time" : strerror(errno));
    if (!registered && atexit(stop_running) == 0)
        registered = true;
    running = self;
    for (int tries = 0; tries < 30; tries++) {
        self->port =
            10000 + (int)test_below(&random, 22000); /* below the ports that systems give to clients */
        const int size =
            snprintf(config, sizeof config,
                     "dataDir=%s/data\nclientPort=%d\nclientPortAddress=127.0.0.1\ntickTime=500\n"
                     "maxClientCnxns=0\nadmin.enableServer=false\n4lw.commands.whitelist=srvr\n",
                     self->directory, self->port);
        snprintf(path, sizeof path, "%s/zoo.cfg", self->directory);
        file_write(path, config, (size_t)size);
        if (launch(self))
            return;
    }
    give_up("start", "ends at once");
}

void zookeeper_kill(zookeeper *self) {
    if (self->pid == 0)
        return;
    kill(self->pid, SIGKILL);
    while (waitpid(self->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    self->pid = 0;
}

void zookeeper_restart(zookeeper *self, bool forgets) {
    if (forgets)
        remove_data(self);
    for (int tries = 0; tries < 100; tries++) {
        if (launch(self))
            return;
        pause_ms(50);
    }
    give_up("restart", "ends at once");
}

void zookeeper_stop(zookeeper *self) {
    char path[100];
    if (running != self)
        return;
    zookeeper_kill(self);
    remove_data(self);
    snprintf(path, sizeof path, "%s/zoo.cfg", self->directory);
    unlink(path);
    rmdir(self->directory);
    running = NULL;
}

/* ---- nodes ---- */

static void be_silent(const char *message) {
    (void)message;
}

static zhandle_t *reach(const zookeeper *self) {
    char host[32];
    snprintf(host, sizeof host, "127.0.0.1:%d", self->port);
    zhandle_t *client = zookeeper_init2(host, NULL, 30000, NULL, NULL, 0, be_silent);
    for (int tries = 0; client && zoo_state(client) != ZOO_CONNECTED_STATE; tries++) {
        if (tries == 6000)
            give_up("connect", "not within a minute");
        pause_ms(10);
    }
    if (!client)
        give_up("connect", strerror(errno));
    return client;
}

static void expect(int rc, const char *path) {
    if (rc != ZOK)
        give_up(path, zerror(rc));
}

void zookeeper_set(const zookeeper *self, const char *path, const char *data, int size) {
    char above[1000];
    zhandle_t *client = reach(self);
    for (const char *slash = path; (slash = strchr(slash + 1, '/'));) {
        snprintf(above, sizeof above, "%.*s", (int)(slash - path), path);
        int rc = zoo_create(client, above, NULL, -1, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0);
        expect(rc == ZNODEEXISTS ? ZOK : rc, above);
    }
    int rc = zoo_create(client, path, data, size, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0);
    if (rc == ZNODEEXISTS)
        rc = zoo_set(client, path, data, size, -1);
    expect(rc, path);
    zookeeper_close(client);
}

void zookeeper_remove(const zookeeper *self, const char *path) {
    zhandle_t *client = reach(self);
    expect(zoo_delete(client, path, -1), path);
    zookeeper_close(client);
}

void zookeeper_lock(const zookeeper *self, const char *path, const char *login) {
    zhandle_t *client = reach(self);
    struct ACL_vector creator = ZOO_CREATOR_ALL_ACL;
    expect(zoo_add_auth(client, "digest", login, (int)strlen(login), NULL, NULL), path);
    expect(zoo_set_acl(client, path, -1, &creator), path);
    zookeeper_close(client);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "postgres.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "scratch.h"

static postgres_server *running; /* to be stopped when the process exits */
static pid_t owner;

static void give_up(const postgres_server *server, const char *what, const char *why) {
    fprintf(stderr, "postgres in %s: %s: %s\n", server ? server->directory : "?", what, why);
    abort();
}

/* Returns the directory of the newest version, or NULL. */
static const char *binaries(void) {
    static char path[128];
    glob_t found;

    if (path[0])
        return path;
    if (glob("/usr/lib/postgresql/*/bin/postgres", 0, NULL, &found) != 0)
        return NULL;
    const char *last = found.gl_pathv[found.gl_pathc - 1];
    const size_t size = strlen(last) - strlen("/postgres");
    if (size < sizeof path)
        memcpy(path, last, size);
    globfree(&found);
    return path[0] ? path : NULL;
}

/* Returns the user for the server, or NULL if the test's own will do. */
static const struct passwd *other_user(void) {
    if (geteuid() != 0)
        return NULL;
    const struct passwd *user = getpwnam("postgres");
    return user ? user : getpwnam("nobody");
}

/* ---- processes ---- */

static bool change_user(const struct passwd *user) {
    return !user || (setgroups(0, NULL) == 0 && setgid(user->pw_gid) == 0 && setuid(user->pw_uid) == 0);
}

/* Becomes a program of PostgreSQL, in a child. */
static void become(const postgres_server *server, const char **words, const char *log_name) {
    char path[256], log[160];

    if (!change_user(other_user()))
        _exit(126);
    prctl(PR_SET_PDEATHSIG, SIGQUIT); /* after setuid, which clears it */
    if (getppid() != owner || chdir(server->directory) != 0)
        _exit(127);
    snprintf(path, sizeof path, "%s/%s", binaries(), words[0]);
    snprintf(log, sizeof log, "%s/%s", server->directory, log_name);
    const int null = open("/dev/null", O_RDONLY), out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(null, 0);
    dup2(out, 1);
    dup2(out, 2);
    setenv("LC_ALL", "C", 1);
    words[0] = path; /* initdb looks for postgres beside itself */
    execv(path, (char *const *)(uintptr_t)words);
    _exit(127);
}

static pid_t spawn(const postgres_server *server, const char **words, const char *log_name) {
    fflush(NULL);
    owner = getpid();
    const pid_t pid = fork();
    if (pid == 0)
        become(server, words, log_name);
    if (pid < 0)
        give_up(server, "fork", strerror(errno));
    return pid;
}

static int wait_for(pid_t pid) {
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

/* True if the other user can execute the server. In a root directory that only root may enter, it cannot. */
static bool other_user_can_run(void) {
    const struct passwd *user = other_user();
    char path[256];

    if (!user)
        return false;
    snprintf(path, sizeof path, "%s/postgres", binaries());
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0)
        _exit(change_user(user) && access(path, X_OK) == 0 ? 0 : 1);
    return pid > 0 && wait_for(pid) == 0;
}

bool postgres_installed(void) {
    return binaries() && (geteuid() != 0 || other_user_can_run());
}

static void print_log(const postgres_server *server, const char *log_name) {
    char path[160], line[256];

    snprintf(path, sizeof path, "%s/%s", server->directory, log_name);
    FILE *log = fopen(path, "r");
    while (log && fgets(line, sizeof line, log))
        fputs(line, stderr);
    if (log)
        fclose(log);
}

static void make_cluster(const postgres_server *server) {
    char data[128];
    snprintf(data, sizeof data, "%s/data", server->directory);
    const char *words[] = {"initdb", "-D",        data, "-U",   "tamis",      "-A",
                           "trust",  "--no-sync", "-E", "UTF8", "--locale=C", "--no-instructions",
                           NULL};
    const int status = wait_for(spawn(server, words, "initdb.log"));
    if (status != 0) {
        print_log(server, "initdb.log");
        fprintf(stderr, "initdb: status %x\n", (unsigned)status);
        give_up(server, "initdb", "failed");
    }
    char name[160];
    snprintf(name, sizeof name, "%s/pg_hba.conf", data);
    static const char rules[] = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n";
    file_write(name, rules, sizeof rules - 1);
}

/* True if the server answers on its socket. */
static bool answers(const postgres_server *server) {
    PGconn *conn = PQconnectdb(server->database);
    const bool is_up = PQstatus(conn) == CONNECTION_OK;
    PQfinish(conn);
    return is_up;
}

/* Starts the process. False if it ended, perhaps because the port is in use. */
static bool launch(postgres_server *server) {
    char data[128], port[16];
    snprintf(data, sizeof data, "%s/data", server->directory);
    snprintf(port, sizeof port, "%d", server->port);
    const char *words[] = {"postgres",
                           "-D",
                           data,
                           "-k",
                           server->directory,
                           "-p",
                           port,
                           "-c",
                           "listen_addresses=127.0.0.1",
                           "-c",
                           "fsync=off",
                           "-c",
                           "full_page_writes=off",
                           "-c",
                           "shared_buffers=16MB",
                           "-c",
                           "max_connections=40",
                           "-c",
                           "autovacuum=off",
                           NULL};
    server->pid = spawn(server, words, "log");
    for (int tries = 0; tries < 3000; tries++) {
        if (waitpid(server->pid, NULL, WNOHANG) == server->pid) {
            server->pid = 0;
            return false;
        }
        if (answers(server))
            return true;
        pause_ms(20);
    }
    give_up(server, "start", "does not answer within a minute");
    return false;
}

/* ---- start and stop ---- */

static void stop_at_exit(void) {
    if (running && getpid() == owner)
        postgres_stop(running);
}

void postgres_start(postgres_server *server) {
    static bool registered;
    const struct passwd *user = other_user();

    *server = (postgres_server){0};
    if (!temporary_directory(server->directory, sizeof server->directory, "tamis-postgres"))
        give_up(server, "a directory in TMPDIR", strerror(errno));
    if (user && chown(server->directory, user->pw_uid, user->pw_gid) != 0)
        give_up(server, "chown", strerror(errno));
    running = server;
    if (!registered && atexit(stop_at_exit) == 0)
        registered = true;
    make_cluster(server);
    uint64_t random = (uint64_t)getpid() * 1000003 + (uint64_t)time(NULL) + (uintptr_t)server;
    for (int tries = 0; tries < 30; tries++) {
        server->port = 10000 + (int)test_below(&random, 22000);
        snprintf(server->database, sizeof server->database, "host=%s port=%d user=tamis dbname=postgres",
                 server->directory, server->port);
        snprintf(server->uri, sizeof server->uri, "postgresql://reader:secret@127.0.0.1:%d/postgres",
                 server->port);
        if (!launch(server))
            continue;
        PGconn *conn = postgres_reach(server);
        postgres_run(conn, "CREATE ROLE reader LOGIN PASSWORD 'secret'; GRANT pg_read_all_data TO reader");
        PQfinish(conn);
        return;
    }
    give_up(server, "start", "ends at once; see its log");
}

void postgres_kill(postgres_server *server) {
    if (server->pid == 0)
        return;
    kill(server->pid, SIGQUIT);
    wait_for(server->pid);
    server->pid = 0;
}

void postgres_restart(postgres_server *server) {
    for (int tries = 0; tries < 100; tries++) {
        if (launch(server))
            return;
        pause_ms(50);
    }
    give_up(server, "restart", "ends at once; see its log");
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *level) {
    (void)st;
    (void)type;
    (void)level;
    return remove(path);
}

void postgres_stop(postgres_server *server) {
    postgres_kill(server);
    if (server->directory[0])
        nftw(server->directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    *server = (postgres_server){0};
    running = NULL;
}

/* ---- statements ---- */

PGconn *postgres_reach(const postgres_server *server) {
    PGconn *conn = PQconnectdb(server->database);

    if (PQstatus(conn) != CONNECTION_OK)
        give_up(server, "connect", PQerrorMessage(conn));
    postgres_run(conn, "SET client_min_messages = warning");
    return conn;
}

static PGresult *execute(PGconn *conn, const char *format, va_list values) {
    char text[4000];
    vsnprintf(text, sizeof text, format, values);
    PGresult *result = PQexec(conn, text);
    if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK)
        give_up(running, text, PQerrorMessage(conn));
    return result;
}

void postgres_run(PGconn *conn, const char *format, ...) {
    va_list values;
    va_start(values, format);
    PQclear(execute(conn, format, values));
    va_end(values);
}

const char *postgres_value(PGconn *conn, const char *format, ...) {
    static char text[1000];
    va_list values;
    va_start(values, format);
    PGresult *result = execute(conn, format, values);
    va_end(values);
    snprintf(text, sizeof text, "%s", PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    return text;
}

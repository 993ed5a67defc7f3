/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_POSTGRES_H
#define TAMIS_TEST_POSTGRES_H

#include <stdbool.h>
#include <sys/types.h>

#include <libpq-fe.h>

/*
 * A private PostgreSQL: a new cluster in a temporary directory, on a unix socket and a free port of loopback.
 * It survives no crash of the machine (fsync is off), and ends with the test. If the test runs as root, the
 * server runs as user postgres or nobody.
 */
typedef struct postgres_server {
    pid_t pid; /* 0: stopped */
    int port;
    char directory[96];
    char database[160]; /* connection string, by the unix socket */
    char uri[96];       /* the same by TCP, as user `reader`, whose password is `secret` */
} postgres_server;

/* True if initdb and postgres are installed, and a user for them is there. */
bool postgres_installed(void);
/* Makes the cluster and starts the server; aborts if that fails. */
void postgres_start(postgres_server *server);
/* Ends the server at once, as a crash does; the data stay. */
void postgres_kill(postgres_server *server);
/* Starts it again, with the same port. */
void postgres_restart(postgres_server *server);
/* Ends the server and removes the cluster. Does nothing for one that was not started. */
void postgres_stop(postgres_server *server);

/* Connects; aborts on failure. The caller closes it by PQfinish. */
PGconn *postgres_reach(const postgres_server *server);
/* Carries out statements; aborts on failure. */
void postgres_run(PGconn *conn, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns the first column of the first row. Static storage. Aborts on failure. */
const char *postgres_value(PGconn *conn, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

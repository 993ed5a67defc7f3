/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_ZOOKEEPER_H
#define TAMIS_TEST_ZOOKEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * A private ZooKeeper with a directory of its own and a free TCP port of 127.0.0.1. It ends when the process
 * that started it ends, in whatever way. All functions abort on an error, with a message on stderr.
 */
typedef struct zookeeper {
    pid_t pid; /* 0: not running */
    int port;
    char directory[64];
} zookeeper;

bool zookeeper_installed(void);

/* Starts one and waits until it answers. */
void zookeeper_start(zookeeper *self);
/* Kills it (SIGKILL) and waits until it is gone. */
void zookeeper_kill(zookeeper *self);
/* Starts it again after zookeeper_kill, on the same port. `forgets`: without its data and sessions. */
void zookeeper_restart(zookeeper *self, bool forgets);
/* Kills it and removes its directory. Does nothing if it was never started. */
void zookeeper_stop(zookeeper *self);

/* Sets the data of a node. Creates the node and its parents if they do not exist. size -1: no data. */
void zookeeper_set(const zookeeper *self, const char *path, const char *data, int size);
void zookeeper_remove(const zookeeper *self, const char *path);
/* Restricts the node: only "user:password" may read or change it. */
void zookeeper_lock(const zookeeper *self, const char *path, const char *login);

#endif

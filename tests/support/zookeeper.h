/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_ZOOKEEPER_H
#define TAMIS_TEST_ZOOKEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * A private ZooKeeper: in a folder of its own, on a free TCP port of 127.0.0.1. It ends with the process that started it,
 * however that ends. All of these abort, with a sentence on stderr, where it does not do what it is asked.
 */
typedef struct zookeeper {
    pid_t pid; /* 0: does not run */
    int port;
    char directory[64];
} zookeeper;

bool zookeeper_installed(void);

/* Starts one and waits until it answers. */
void zookeeper_start(zookeeper *self);
/* Kills it (SIGKILL) and waits until it is gone. */
void zookeeper_kill(zookeeper *self);
/* Starts it again after zookeeper_kill, on the same port. forgets: without anything that was in it, sessions included. */
void zookeeper_restart(zookeeper *self, bool forgets);
/* Kills it and removes its folder. Nothing for one that was never started. */
void zookeeper_stop(zookeeper *self);

/* Sets a node, which is made if there is none, and what is above it. size -1: without data. */
void zookeeper_set(const zookeeper *self, const char *path, const char *data, int size);
void zookeeper_remove(const zookeeper *self, const char *path);
/* From now on only "user:password" may read or change the node. */
void zookeeper_lock(const zookeeper *self, const char *path, const char *login);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVER_SERVER_COMMANDS_H
#define TAMIS_SERVER_SERVER_COMMANDS_H

#include "server/server_int.h"

/* The table of commands, for server_commands.c, server_info.c and server_metrics.c. */

/* The version of Redis that clients see. Commands and replies are those of this version. */
#define SERVER_REDIS_VERSION "7.0.0"

enum {
    COMMAND_BATCHED = 1, /* with one key, the command goes into the batch */
    COMMAND_NO_AUTH = 2, /* allowed before AUTH */
    COMMAND_AT_ONCE = 4  /* also between MULTI and EXEC */
};

typedef struct server_command {
    const char *name;                  /* lower case */
    int arity;                         /* number of arguments with the name; negative: or more */
    const char *flags;                 /* as COMMAND shows them, separated by blanks */
    int first_key, last_key, key_step; /* positions of keys; last_key -1: the last argument */
    const char *group, *summary;
    unsigned use;
    /* `reply` is NULL for a command that goes into the batch. */
    void (*run)(server_client *client, server_reply *reply, const tamis_key *arguments, size_t count);
} server_command;

extern const server_command tamis__server_commands[];
extern const size_t tamis__server_command_count;

/* Returns the command, or NULL. */
const server_command *tamis__server_command_find(tamis_key name);

/* ---- server_info.c ---- */

void tamis__server_run_info(server_client *client, server_reply *reply, const tamis_key *arguments,
                            size_t count);
void tamis__server_run_command(server_client *client, server_reply *reply, const tamis_key *arguments,
                               size_t count);

/* ---- server_multi.c ---- */

void tamis__server_run_multi(server_client *client, server_reply *reply, const tamis_key *arguments,
                             size_t count);
void tamis__server_run_exec(server_client *client, server_reply *reply, const tamis_key *arguments,
                            size_t count);
void tamis__server_run_discard(server_client *client, server_reply *reply, const tamis_key *arguments,
                               size_t count);
void tamis__server_run_watch(server_client *client, server_reply *reply, const tamis_key *arguments,
                             size_t count);

/* ---- server_bloom.c ---- */

void tamis__server_run_bloom_reserve(server_client *client, server_reply *reply, const tamis_key *arguments,
                                     size_t count);
void tamis__server_run_bloom_add(server_client *client, server_reply *reply, const tamis_key *arguments,
                                 size_t count);
void tamis__server_run_bloom_madd(server_client *client, server_reply *reply, const tamis_key *arguments,
                                  size_t count);
void tamis__server_run_bloom_exists(server_client *client, server_reply *reply, const tamis_key *arguments,
                                    size_t count);
void tamis__server_run_bloom_mexists(server_client *client, server_reply *reply, const tamis_key *arguments,
                                     size_t count);
void tamis__server_run_bloom_info(server_client *client, server_reply *reply, const tamis_key *arguments,
                                  size_t count);
void tamis__server_run_bloom_card(server_client *client, server_reply *reply, const tamis_key *arguments,
                                  size_t count);

#endif

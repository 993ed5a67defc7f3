/* SPDX-License-Identifier: BSD-2-Clause */
#include "redis_cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

redis_server cluster[CLUSTER_NODES];

static const char *const options[] = {"--cluster-enabled",
                                      "yes",
                                      "--cluster-node-timeout",
                                      "1000",
                                      "--repl-diskless-sync-delay",
                                      "0",
                                      "--repl-ping-replica-period",
                                      "1",
                                      "--cluster-replica-validity-factor",
                                      "0",
                                      NULL};

static void give_up(const char *what) {
    fprintf(stderr, "cluster: %s\n", what);
    abort();
}

/* Returns the number after `name` in INFO, or -1. */
static long long info(const redis_server *server, const char *name) {
    const char *found = strstr(redis_server_command(server, "INFO replication"), name);
    return found ? atoll(found + strlen(name)) : -1;
}

static bool is_master(const redis_server *server) {
    return strncmp(redis_server_command(server, "ROLE"), "master", 6) == 0;
}

static bool is_well(const redis_server *server) {
    if (!strstr(redis_server_command(server, "CLUSTER INFO"), "cluster_state:ok"))
        return false;
    if (is_master(server))
        return true;
    if (!strstr(redis_server_command(server, "INFO replication"), "master_link_status:up"))
        return false;
    const int port = (int)info(server, "master_port:");
    for (int i = 0; i < CLUSTER_NODES; i++) {
        if (cluster[i].port != port)
            continue;
        const long long had = cluster[i].pid ? info(&cluster[i], "master_repl_offset:") : -1;
        return had >= 0 && info(server, "slave_repl_offset:") >= had;
    }
    return false;
}

void cluster_wait_until_ready(void) {
    for (int tries = 0; tries < 3000; tries++) {
        int well = 0, running = 0, masters = 0;
        for (int i = 0; i < CLUSTER_NODES; i++) {
            running += cluster[i].pid != 0;
            well += cluster[i].pid && is_well(&cluster[i]);
            masters += cluster[i].pid && is_master(&cluster[i]);
        }
        if (well == running &&
            masters == CLUSTER_MASTERS) /* more: a former master does not know yet that it is a replica */
            return;
        pause_ms(20);
    }
    give_up("does not settle within a minute");
}

void cluster_start(void) {
    char command[400], *to = command;
    for (int i = 0; i < CLUSTER_NODES; i++)
        redis_server_start(&cluster[i], options);
    to += sprintf(to, "redis-cli --cluster create --cluster-replicas 1 --cluster-yes");
    for (int i = 0; i < CLUSTER_NODES; i++)
        to += sprintf(to, " 127.0.0.1:%d", cluster[i].port);
    sprintf(to, " > %s/create 2>&1", cluster[0].directory);
    if (system(command) != 0)
        give_up("redis-cli did not make it");
    cluster_wait_until_ready();
}

void cluster_stop(void) {
    for (int i = 0; i < CLUSTER_NODES; i++)
        redis_server_stop(&cluster[i]);
}

const char *cluster_uri(const char *rest) {
    static char uri[300];
    snprintf(uri, sizeof uri, "redis+cluster://127.0.0.1:%d,127.0.0.1:%d/%s", cluster[1].port,
             cluster[5].port, rest);
    return uri;
}

static redis_server *master_of(unsigned slot) {
    for (int i = 0; i < CLUSTER_NODES; i++) {
        if (!cluster[i].pid || !is_master(&cluster[i]))
            continue;
        const char *slots = strstr(redis_server_command(&cluster[i], "CLUSTER NODES"), "myself");
        for (const char *pos = slots ? strstr(slots, " connected") : NULL; pos && *pos && *pos != '\n';
             pos++) {
            unsigned first, last;
            if (*pos != ' ' || pos[1] == '[')
                continue;
            int count = sscanf(pos + 1, "%u-%u", &first, &last);
            if (count >= 1 && slot >= first && slot <= (count == 2 ? last : first))
                return &cluster[i];
        }
    }
    return NULL;
}

static redis_server *replica_of(const redis_server *master) {
    for (int i = 0; master && i < CLUSTER_NODES; i++)
        if (cluster[i].pid && !is_master(&cluster[i]) && info(&cluster[i], "master_port:") == master->port)
            return &cluster[i];
    return NULL;
}

redis_server *cluster_master(unsigned slot) {
    for (int tries = 0; tries < 3000; tries++) {
        redis_server *master = master_of(slot);
        if (master)
            return master;
        pause_ms(20);
    }
    give_up("a slot has no master within a minute");
    return NULL;
}

redis_server *cluster_replica(unsigned slot) {
    for (int tries = 0; tries < 3000; tries++) {
        redis_server *replica = replica_of(master_of(slot));
        if (replica)
            return replica;
        pause_ms(20);
    }
    give_up("the master of a slot has no replica within a minute");
    return NULL;
}

void cluster_hand_over(redis_server *replica) {
    for (int tries = 0; tries < 3000; tries++) {
        if (tries % 150 == 0)
            redis_server_command(replica, "CLUSTER FAILOVER"); /* the other nodes may not agree at once */
        if (is_master(replica))
            return;
        pause_ms(20);
    }
    give_up("a replica does not take over within a minute");
}

static void must(const char *answer) {
    if (strncmp(answer, "(error)", 7) == 0)
        give_up(answer);
}

void cluster_move(unsigned slot, redis_server *from, redis_server *to, void (*between)(void)) {
    char from_id[64], to_id[64], key[700];
    snprintf(from_id, sizeof from_id, "%s", redis_server_command(from, "CLUSTER MYID"));
    snprintf(to_id, sizeof to_id, "%s", redis_server_command(to, "CLUSTER MYID"));
    must(redis_server_command(to, "CLUSTER SETSLOT %u IMPORTING %s", slot, from_id));
    must(redis_server_command(from, "CLUSTER SETSLOT %u MIGRATING %s", slot, to_id));
    if (between)
        between();
    for (;;) {
        snprintf(key, sizeof key, "%s", redis_server_command(from, "CLUSTER GETKEYSINSLOT %u 1", slot));
        if (!*key)
            break;
        must(redis_server_command(from, "MIGRATE 127.0.0.1 %d %s 0 10000", to->port, key));
    }
    if (between)
        between();
    must(redis_server_command(to, "CLUSTER SETSLOT %u NODE %s", slot, to_id));
    must(redis_server_command(from, "CLUSTER SETSLOT %u NODE %s", slot, to_id));
}

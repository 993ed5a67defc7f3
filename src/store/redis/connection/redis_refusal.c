/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Error replies of servers. The first words of a reply decide what happens:
 *
 *     transient    LOADING, TRYAGAIN, ...      sent again after a while, as long as patience lasts
 *     unsure       of a Codis proxy            transient; but the command may have been carried out
 *     denied       OOM, NOPERM, MISCONF        no write; a lookup may be tried with another command
 *     any other                                an error at once
 *
 * All errors that are finally reported get a status and a remedy from one table. Some errors in the table are
 * also transient: they are reported if waiting did not help. Servers of other makes have other texts, so an
 * unknown error is reported with its own text, and not sent again.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "store/file/file_error.h"
#include "store/redis/connection/redis_connection.h"

bool tamis__reply_begins(const tamis__reply *reply, const char *word) {
    const size_t size = strlen(word);
    return reply->size > size && memcmp(reply->text, word, size) == 0 && reply->text[size] == ' ';
}

/* Error if an ACL forbids a command or a key within a script. */
static const char script_denied[] = "ERR The user executing the script";

/* Error of a Codis proxy that lost the server behind it, or has none yet for this slot. */
static const char unsure[] = "ERR handle response,";

bool tamis__redis_is_unsure(const tamis__reply *error) {
    return tamis__reply_begins(error, unsure);
}

bool tamis__redis_forbids_scripts(const tamis__reply *error) {
    return (tamis__reply_begins(error, "NOPERM") || tamis__reply_begins(error, "ERR unknown command")) &&
           (strcasestr(error->text, "'eval'") || strcasestr(error->text, "`eval`"));
}

bool tamis__redis_is_transient(const tamis__reply *error) {
    static const char *const passing[] = {"LOADING",
                                          "BUSY",
                                          "MASTERDOWN",
                                          "READONLY",
                                          "CLUSTERDOWN",
                                          "TRYAGAIN",
                                          "NOREPLICAS",
                                          "ERR max number of clients",
                                          "ERR router is",
                                          unsure,
                                          "ERR handle request, slot is"};
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        if (tamis__reply_begins(error, passing[i]))
            return true;
    return false;
}

bool tamis__redis_is_denied(const tamis__reply *error) {
    return tamis__reply_begins(error, "OOM") || tamis__reply_begins(error, "NOPERM") ||
           tamis__reply_begins(error, script_denied) || tamis__reply_begins(error, "MISCONF");
}

enum { REMEDY = 400 };

/* Writes the remedy for a missing permission. The error either names the command ("... no permissions to
 * run the 'setrange' command", longer in 6.2) or is about keys. For a command within a script it does not
 * say which command. */
static void write_acl_remedy(const tamis__reply *reply, char to[REMEDY]) {
    const char *command = strstr(reply->text, "run the '");
    const size_t size = command ? strcspn(command += strlen("run the '"), "'") : 0;
    const bool is_command = size > 0 && size < 30;
    if (is_command || strstr(reply->text, "run this command"))
        snprintf(to, REMEDY, "grant %s%.*s with ACL SETUSER; tamis-redis(1) lists all that filters need",
                 is_command ? "+" : "what its script runs", (int)(is_command ? size : 0), command);
    else
        snprintf(
            to, REMEDY,
            "grant the filter's keys with ACL SETUSER: ~tamis:{NAME* (layout tamis), ~bf:NAME ~{bf:NAME}:* "
            "(java), ~NAME ~{NAME}:* (php1, redisson, and of a bitmap), ~NAME.* ~{NAME.* (php2), ~NAME:* "
            "~{NAME:* (php3)");
}

tamis_status tamis__redis_refused(const tamis__endpoint *endpoint, const char *what,
                                  const tamis__reply *reply, tamis_error *err) {
    static const struct {
        const char *word, *remedy; /* remedy NULL: it depends on the error, see write_acl_remedy() */
        tamis_status status;
    } known[] = {
        {"NOAUTH", "give user and password in the URI", TAMIS_E_REFUSED},
        /* The reply to a command of more than 10 words before AUTH. */
        {"ERR Protocol error: unauthenticated", "give user and password in the URI", TAMIS_E_REFUSED},
        {"NOPERM", NULL, TAMIS_E_REFUSED},
        {script_denied, NULL, TAMIS_E_REFUSED},
        {"OOM", "raise maxmemory, or free memory there, and do it again", TAMIS_E_REFUSED},
        {"WRONGTYPE", "another program keeps something else under this name: choose another",
         TAMIS_E_MISMATCH},
        {"MISCONF", "the server cannot save to its disk: see its log", TAMIS_E_REFUSED},
        {"NOREPLICAS",
         "it has min-replicas-to-write, and fewer replicas than that have followed it within "
         "min-replicas-max-lag: start or reconnect them (INFO replication), or lower it with CONFIG SET",
         TAMIS_E_REFUSED},
        {"LOADING", "wait until the server has read its data", TAMIS_E_TIMEOUT},
        {"BUSY", "a script of another program runs there: wait until it has ended", TAMIS_E_TIMEOUT},
        {"MASTERDOWN", "this replica has lost its master: wait, or name the master", TAMIS_E_TIMEOUT},
        {"CLUSTERDOWN", "wait until the cluster has a server for each slot: see CLUSTER INFO there",
         TAMIS_E_TIMEOUT},
        {"READONLY", "this server is a replica: name the master", TAMIS_E_REFUSED},
        {"MOVED", "this is a node of a cluster: write redis+cluster://", TAMIS_E_REFUSED},
        {"ERR unknown command",
         "the server does not have it, or under another name: enable it (whole filters of "
         "layout tamis are made, replaced and dropped by EVAL)",
         TAMIS_E_UNSUPPORTED},
        {"ERR handle request, command", "a Codis does not have this command: name a Redis",
         TAMIS_E_UNSUPPORTED},
        {"ERR max number of clients", "raise its maxclients, or have others close connections",
         TAMIS_E_TIMEOUT},
    };
    const char *remedy = "see the server's log and its version (6.2 or later is needed)";
    tamis_status status = TAMIS_E_REFUSED;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (tamis__reply_begins(reply, known[i].word)) {
            remedy = known[i].remedy;
            status = known[i].status;
        }
    }
    char granted[REMEDY];
    if (!remedy) {
        write_acl_remedy(reply, granted);
        remedy = granted;
    }
    return tamis__fail(err, status, tamis__reply_begins(reply, "OOM") ? ENOMEM : 0,
                       "redis %s: %s: %.200s; %s", endpoint->shown, tamis__show(what).text,
                       tamis__show(reply->text).text, remedy);
}

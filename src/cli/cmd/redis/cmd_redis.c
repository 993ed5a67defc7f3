/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/experimental/redis.h>

#include "cli/cli.h"
#include "cli/cmd/redis/redis_ls.h"
#include "cli/core/cli_action.h"
#include "cli/core/cli_number.h"
#include "cli/server/cli_server.h"

enum { OPT_JSON, OPT_LEFTOVER, OPT_COUNT };

static const cli_option options[OPT_COUNT] = {
    [OPT_JSON] = {.name = "json",
                  .type = CLI_FLAG,
                  .help = "ls, clean: print an object of JSON a line.",
                  .more = "Its fields are listed below."},
    [OPT_LEFTOVER] = {.name = "leftover",
                      .type = CLI_FLAG,
                      .help = "ls: list what killed builds, resizes and drops left behind.",
                      .more = "clean removes it."},
};

/* Drops all named filters. A failure does not stop it: returns the last error and reports the others. */
static tamis_status drop(const cli_args *args, tamis_error *err) {
    tamis_status status = TAMIS_OK;

    for (size_t i = 1; i < args->operand_count; i++) {
        tamis_error failed = TAMIS_ERROR_INIT;
        if (tamis_redis_drop(NULL, args->operands[i], &failed) == TAMIS_OK)
            continue;
        if (status != TAMIS_OK)
            cli_report(err->text); /* main() reports the last one */
        status = failed.status;
        *err = failed;
    }
    return status;
}

static tamis_status alias(const cli_args *args, tamis_error *err) {
    return tamis_redis_alias(NULL, args->operands[1], args->operands[2], err);
}

static tamis_status unalias(const cli_args *args, tamis_error *err) {
    return tamis_redis_alias(NULL, args->operands[1], NULL, err);
}

/* Parses a time in milliseconds; 0 for "never". */
static tamis_status read_time(const char *text, uint64_t *ms, tamis_error *err) {
    const uint64_t max = 1000000000000; /* 31 years */

    *ms = 0;
    if (strcmp(text, "never") == 0 || (cli_number_time(text, ms) == CLI_NUMBER_OK && *ms > 0 && *ms <= max))
        return TAMIS_OK;
    return cli_fail(
        err,
        "expire: '%.60s' is no time; give it as 500ms, 2s, 10m (minutes), 6h or 1d, in seconds where "
        "it has no unit, or never",
        text);
}

static tamis_status expire(const cli_args *args, tamis_error *err) {
    uint64_t ms;

    if (read_time(args->operands[2], &ms, err) != TAMIS_OK)
        return err->status;
    return tamis_redis_expire(NULL, args->operands[1], ms, err);
}

static tamis_status list(const cli_args *args, tamis_error *err) {
    if (args->values[OPT_LEFTOVER].given)
        return redis_leftovers(args->operands[1], false, args->values[OPT_JSON].given, err);
    return redis_ls(args->operands[1], args->values[OPT_JSON].given, err);
}

static tamis_status clean(const cli_args *args, tamis_error *err) {
    return redis_leftovers(args->operands[1], true, args->values[OPT_JSON].given, err);
}

enum { ALIAS, CLEAN, DROP, EXPIRE, LS, UNALIAS, ACTIONS };

static const cli_action actions[ACTIONS] = {[ALIAS] = {"alias", 1, 1, "URI TARGET", 0},
                                            [CLEAN] = {"clean", 0, 0, "URI", 1 << OPT_JSON},
                                            [DROP] = {"drop", 0, SIZE_MAX, "URI...", 0},
                                            [EXPIRE] = {"expire", 1, 1, "URI TIME", 0},
                                            [LS] = {"ls", 0, 0, "URI", 1 << OPT_JSON | 1 << OPT_LEFTOVER},
                                            [UNALIAS] = {"unalias", 0, 0, "URI", 0}};

static tamis_status (*const runs[ACTIONS])(const cli_args *args, tamis_error *err) = {
    [ALIAS] = alias, [CLEAN] = clean, [DROP] = drop, [EXPIRE] = expire, [LS] = list, [UNALIAS] = unalias};

static const char *const action_names[] = {"alias", "clean", "drop", "expire", "ls", "unalias", NULL};

static tamis_status run_redis(const cli_args *args, bool *negative, tamis_error *err) {
    const cli_actions known = {"redis", "redis://host:port/NAME", actions, ACTIONS};
    size_t action;

    (void)negative;
    if (cli_action_find(&action, &known, args, options, err) != TAMIS_OK)
        return err->status;
    for (size_t i = 1; i < args->operand_count; i++)
        if (cli_server_refuse_family(args->operands[i], err) != TAMIS_OK)
            return err->status;
    return runs[action](args, err);
}

static const char *const description[] = {
    "Manage filters in a Redis, which are named by URIs: redis://user:password@host:port/NAME, or "
    "redis+unix://SOCKET/NAME with %2F for each slash of the socket's path. build, add, check, info, audit, "
    "copy, merge, diff and clear take such a URI where they take a filter.",
    "Several servers are redis+shard://h1,h2/NAME (that know nothing of each other), "
    "redis+cluster://h1,h2/NAME (some nodes of a cluster), redis+sentinel://h1,h2/MASTER/NAME (the master "
    "that sentinels name) and codis+zk://h1,h2/PRODUCT/NAME (the proxies of a Codis, found in ZooKeeper at "
    "these hosts). rediss://, rediss+shard://, rediss+cluster:// and rediss+sentinel:// are the same with "
    "TLS.",
    "Behind a ? and between & stand parameters of the filter (see NOTES) and of its connections: "
    "timeout=1s to connect, read_timeout=2s for a server to say nothing, retry_interval=50ms, patience=15s "
    "for one answer, connect_wait=TIME for a server that is being started (without it a first connection "
    "that is refused is an error at once), replicas=N, connections=64 at most to a server; with TLS "
    "cacert=FILE, cert=FILE and key=FILE, sni=NAME (the name in the certificates), verify=no; "
    "sentinel_user=, sentinel_password=; and zk_user=, zk_password= for ZooKeeper.",
    "A failover loses adds that the master acknowledged but had not yet sent to the replica that replaces "
    "it: "
    "in trials 28 of 200,000 keys with a lagging replica, and 10,427 of 157,212 with a wrong "
    "min-replicas-to-write. Such keys are new once more, without an error. With replicas=N a batch of added "
    "records is answered when N replicas have it (WAIT), so a failover to one of them loses none. If fewer "
    "have it within patience=, the command fails and says how many do. A failover to another replica may "
    "still lose adds. A Codis has no WAIT.",
    "drop removes filters, as many as are named, with all their keys; one that cannot be dropped is no "
    "matter to the others. expire has all keys of a filter expire together after TIME (500ms, 2s, 10m, 6h, "
    "1d, and seconds where it has no unit), or keeps them (never). Of a family of layout tamis, by its name "
    "as ls has it, both take all members, which they find by SCAN.",
    "alias makes the name of URI stand for the filter TARGET, a name on the same server, for programs too "
    "that have it open; unalias takes that back. Only layout tamis has aliases.",
    "ls prints the filters that there are by their names, as URIs have them. URI ends with a pattern of "
    "names, redis://host:port/seen* (* [a-z], and ? written as %3F), or with the server or its database, "
    "redis://host:port/2/.",
    "A line of ls has, between tabs: name, layout, state (ready, making, alias, left, damaged, family, "
    "denied: see --json), keys expected, rate, bits, probes, Redis keys with bits, seconds until it expires, "
    "and the target of an alias; - is for what nothing says. It reads the names of all Redis keys (SCAN, "
    "which a Codis does not let). The layouts of PHP leave nothing to know a filter by.",
    "A build, resize or drop that is killed may leave Redis keys that nothing uses. ls --leftover lists "
    "them: name, "
    "why (unfinished, resize, replaced, unknown), generation and number of keys, between tabs. clean prints "
    "the same and "
    "removes them; it ends a resize, also one that is under way. The next build or drop of the same filter "
    "removes what "
    "its hash records. Filters that another command is changing are left out. Both read the names of all "
    "Redis keys, "
    "which a Codis does not allow.",
    "A whole filter comes by tamis build -o URI and tamis copy -o URI, in the place of what is there, at "
    "once: with layout tamis programs that have it open follow. build --resize makes one of another size "
    "while others add to it. The other layouts, which need one Redis key for it, are replaced by RENAME, "
    "where the server lets (a Codis does not): what is added to the old one until then is lost, and a new "
    "size must be given to every program.",
    NULL};

static const char *const exits[] = {
    "0",   "It was done.",
    "2",   "Error: the server cannot be reached or refuses, or there is no such filter.",
    "141", "The reader of standard output has gone: ended by SIGPIPE, without a word.",
    NULL};

static const cli_example examples[] = {{"tamis build -o redis://localhost/seen a.log && tamis redis expire "
                                        "redis://localhost/seen 1d && tamis check "
                                        "redis://localhost/seen a.log",
                                        "A filter that is shared for a day."},
                                       {"tamis redis ls redis://localhost/ | cut -f 1", "Names of filters."},
                                       {NULL, NULL}};

static const char *const notes[] = {
    "Parameters of a filter stand in its URI behind a ? and between &, as in "
    "redis://host/seen?expect=1e6&fpr=0.001&ttl=1d. Where a filter of layout tamis or redisson is there "
    "already they may be left out, and have to agree with it where they are given (layouts java and php1 to "
    "php3 need them always). layout=: tamis (the default), java, redisson, php1, php2 or php3.",
    "expect=N and fpr=RATE: keys to make room for, and the rate then, as in --expect and --fpr (a percent "
    "sign is %25); with layout tamis 1e-6 where fpr is not given. scheme=xxh3, sip or guava64, and seed=N: "
    "layout tamis. probes=K: bits of a key, layouts tamis and redisson, and needed by php1 to php3, as is "
    "bits=M, the number of bits.",
    "partition=BYTES: layout tamis, the most of a Redis key's bits, in bytes (1MiB), its footer of 64 bytes "
    "included; the field plan of docs/REDIS-LAYOUT.md has it in blocks of 64 bytes, without that.",
    "ttl=TIME: all keys expire so long after the last add, or with renew=create after the filter was made "
    "(renew=add is the default). Times are 500ms, 2s, 10m, 6h or 1d, and seconds where they have no unit.",
    NULL};

const cli_command cmd_redis = {
    .name = "redis",
    .summary = "list, drop, expire and alias filters in a Redis",
    .operands = "ACTION URI [TARGET|TIME|URI...]",
    .operand_words = action_names,
    .description = description,
    .options = options,
    .option_count = OPT_COUNT,
    .json_intro = "With --json ls prints an object a line:",
    .json = redis_ls_json,
    .exits = exits,
    .notes = notes,
    .examples = examples,
    .run = run_redis,
};

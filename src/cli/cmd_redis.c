/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/redis.h>

#include "cli/cli.h"
#include "cli/cli_server.h"

static int done(tamis_status status) {
    return status == TAMIS_OK ? CLI_DONE : CLI_FAILED;
}

static int drop(char *const *operands, size_t count, tamis_error *err) {
    for (size_t i = 0; i < count; i++)
        if (tamis_redis_drop(NULL, operands[i], err) != TAMIS_OK)
            return CLI_FAILED;
    return CLI_DONE;
}

static int alias(char *const *operands, size_t count, tamis_error *err) {
    (void)count;
    return done(tamis_redis_alias(NULL, operands[0], operands[1], err));
}

static int unalias(char *const *operands, size_t count, tamis_error *err) {
    (void)count;
    return done(tamis_redis_alias(NULL, operands[0], NULL, err));
}

/* Milliseconds; 0 for "never". */
static int read_time(const char *text, uint64_t *ms, tamis_error *err) {
    static const struct {
        const char *name;
        uint64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    char *unit;
    unsigned long long number = strtoull(text, &unit, 10);

    *ms = 0;
    if (strcmp(text, "never") == 0)
        return CLI_DONE;
    for (size_t i = 0; i < sizeof units / sizeof units[0] && *text >= '0' && *text <= '9'; i++)
        if (strcmp(unit, units[i].name) == 0 && number > 0 && number <= 1000000000000 / units[i].ms)
            *ms = number * units[i].ms;
    if (*ms > 0)
        return CLI_DONE;
    return cli_fail(err, "expire: '%.60s' is no time; give it as 500ms, 2s, 10m, 6h or 1d, or never", text);
}

static int expire(char *const *operands, size_t count, tamis_error *err) {
    uint64_t ms;

    (void)count;
    if (read_time(operands[1], &ms, err) != CLI_DONE)
        return CLI_FAILED;
    return done(tamis_redis_expire(NULL, operands[0], ms, err));
}

static const struct action {
    const char *name;
    size_t least, most; /* operands behind it */
    const char *takes;
    int (*run)(char *const *operands, size_t count, tamis_error *err);
} actions[] = {{"alias", 2, 2, "URI TARGET", alias},
               {"drop", 1, SIZE_MAX, "URI...", drop},
               {"expire", 2, 2, "URI TIME", expire},
               {"unalias", 1, 1, "URI", unalias}};

static int run_redis(const cli_args *args, tamis_error *err) {
    const char *name = args->operand_count > 0 ? args->operands[0] : NULL;
    char shown[CLI_SERVER_SHOWN];

    for (size_t i = 0; name != NULL && i < sizeof actions / sizeof actions[0]; i++) {
        const struct action *action = &actions[i];
        size_t count = args->operand_count - 1;
        if (strcmp(action->name, name) != 0)
            continue;
        if (count < action->least || count > action->most)
            return cli_fail(err, "redis %s: takes %s; see tamis help redis", name, action->takes);
        if (!cli_server_is_uri(args->operands[1]))
            return cli_fail(err, "redis %s: '%.200s' is no URI; write redis://host:port/NAME", name,
                            args->operands[1]);
        return action->run(args->operands + 1, count, err);
    }
    return cli_fail(err, "redis: %s%.60s%s; give alias, drop, expire or unalias", name == NULL ? "" : "'",
                    name == NULL ? "what to do is missing" : cli_server_show(name, shown),
                    name == NULL ? "" : "' is not known");
}

static const char *const description[] = {
    "Manage filters in a Redis, which are named by URIs: redis://user:password@host:port/NAME, or "
    "redis+unix://SOCKET/NAME with %2F for each slash of the socket's path. Other commands take such a URI "
    "wherever they take a filter: build, add, check, info, audit, copy, merge, diff and clear.",
    "Several servers are redis+shard://h1,h2/NAME (that know nothing of each other), "
    "redis+cluster://h1,h2/NAME (some nodes of a cluster) and redis+sentinel://h1,h2/MASTER/NAME (the master "
    "that sentinels name); rediss://, rediss+shard://, rediss+cluster:// and rediss+sentinel:// are the same "
    "with TLS.",
    "Behind a ? and between & stand parameters of the filter (docs/REDIS-LAYOUT.md) and of its connections: "
    "timeout=1s to connect, read_timeout=2s for a server to say nothing, retry_interval=50ms, patience=15s "
    "for one answer, connections=64 at most to a server; with TLS cacert=FILE, cert=FILE and key=FILE, "
    "sni=NAME (the name in the certificates), verify=no; and sentinel_user=, sentinel_password=.",
    "drop removes filters with all their keys. expire has all keys of a filter expire together after TIME "
    "(500ms, 2s, 10m, 6h, 1d), or keeps them (never). alias makes the name of URI stand for the filter "
    "TARGET, a "
    "name on the same server, for programs too that have it open; unalias takes that back. Only layout tamis "
    "has "
    "aliases.",
    "A layout that keeps no parameters at the server (java, php1 to php3) needs them in the URI.",
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
                                       {NULL, NULL}};

const cli_command cmd_redis = {
    .name = "redis",
    .summary = "drop, expire and rename filters in a Redis",
    .operands = "ACTION URI [TARGET | TIME]",
    .description = description,
    .exits = exits,
    .examples = examples,
    .run = run_redis,
};

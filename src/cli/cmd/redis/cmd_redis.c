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

enum { OPT_LEFTOVER = CLI_OPT_OWN };

static const cli_option options[] = {
    {.id = CLI_OPT_JSON,
     .name = "json",
     .type = CLI_FLAG,
     .help = "ls, clean: print one JSON object per line.",
     .more = "Its fields are listed below."},
    {.id = OPT_LEFTOVER,
     .name = "leftover",
     .type = CLI_FLAG,
     .help = "ls: list what killed builds, resizes and drops left behind.",
     .more = "clean removes these Redis keys."},
    {.name = NULL},
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
        return redis_leftovers(args->operands[1], false, args->values[CLI_OPT_JSON].given, err);
    return redis_ls(args->operands[1], args->values[CLI_OPT_JSON].given, err);
}

static tamis_status clean(const cli_args *args, tamis_error *err) {
    return redis_leftovers(args->operands[1], true, args->values[CLI_OPT_JSON].given, err);
}

enum { ALIAS, CLEAN, DROP, EXPIRE, LS, UNALIAS, ACTIONS };

static const cli_action actions[ACTIONS] = {
    [ALIAS] = {"alias", 1, 1, "URI TARGET", 0},
    [CLEAN] = {"clean", 0, 0, "URI", UINT64_C(1) << CLI_OPT_JSON},
    [DROP] = {"drop", 0, SIZE_MAX, "URI...", 0},
    [EXPIRE] = {"expire", 1, 1, "URI TIME", 0},
    [LS] = {"ls", 0, 0, "URI", UINT64_C(1) << CLI_OPT_JSON | UINT64_C(1) << OPT_LEFTOVER},
    [UNALIAS] = {"unalias", 0, 0, "URI", 0}};

static tamis_status (*const runs[ACTIONS])(const cli_args *args, tamis_error *err) = {
    [ALIAS] = alias, [CLEAN] = clean, [DROP] = drop, [EXPIRE] = expire, [LS] = list, [UNALIAS] = unalias};

static const char *const action_names[] = {
    [ALIAS] = "alias", [CLEAN] = "clean",     [DROP] = "drop", [EXPIRE] = "expire",
    [LS] = "ls",       [UNALIAS] = "unalias", [ACTIONS] = NULL};

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

const cli_command cmd_redis = {
    .name = "redis",
    .summary = "list, drop, expire and alias filters on Redis servers",
    .operands = "ACTION URI [TARGET|TIME|URI...]",
    .operand_words = action_names,
    .manual = &cli_manual_redis,
    .options = options,
    .run = run_redis,
};

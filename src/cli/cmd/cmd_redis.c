/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/experimental/redis.h>

#include "cli/cli.h"
#include "cli/core/cli_action.h"
#include "cli/core/cli_json.h"
#include "cli/core/cli_number.h"
#include "cli/filter/cli_file.h"
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

/* ---- the list of filters ---- */

/* Words for tamis_redis_state. */
static const char *const states[] = {
    [TAMIS_REDIS_READY] = "ready",   [TAMIS_REDIS_MAKING] = "making",   [TAMIS_REDIS_ALIAS] = "alias",
    [TAMIS_REDIS_LEFT] = "left",     [TAMIS_REDIS_DAMAGED] = "damaged", [TAMIS_REDIS_FAMILY] = "family",
    [TAMIS_REDIS_DENIED] = "denied",
};
_Static_assert(sizeof states / sizeof *states == TAMIS_REDIS_DENIED + 1, "a word for each state");

static void print_count(uint64_t number) {
    if (number > 0)
        printf("\t%" PRIu64, number);
    else
        fputs("\t-", stdout);
}

static tamis_status print_line(void *context, const tamis_redis_entry *entry, tamis_error *err) {
    char name[CLI_SERVER_NAME];

    (void)context;
    (void)err;
    printf("%s\t%s\t%s", cli_server_encode(name, entry->name, entry->name_size), entry->layout,
           states[entry->state]);
    print_count(entry->expect);
    if (entry->fpr > 0)
        printf("\t%.15g", entry->fpr);
    else
        fputs("\t-", stdout);
    print_count(entry->bits);
    print_count(entry->probes);
    print_count(entry->keys);
    if (entry->expires_ms >= 0)
        printf("\t%" PRId64, (entry->expires_ms + 999) / 1000);
    else
        fputs("\t-", stdout);
    printf("\t%s\n", entry->target ? cli_server_encode(name, entry->target, entry->target_size) : "-");
    return TAMIS_OK;
}

static void put_count(json_t *object, const char *name, uint64_t number) {
    if (number > 0)
        cli_json_count(object, name, number);
    else
        cli_json_null(object, name);
}

static tamis_status print_json(void *context, const tamis_redis_entry *entry, tamis_error *err) {
    json_t *object = json_object();
    char name[CLI_SERVER_NAME];

    (void)context;
    cli_file_json_text(object, "name", cli_server_encode(name, entry->name, entry->name_size));
    cli_json_text(object, "layout", entry->layout);
    cli_json_text(object, "state", states[entry->state]);
    put_count(object, "expect", entry->expect);
    if (entry->fpr > 0)
        cli_json_real(object, "fpr", entry->fpr);
    else
        cli_json_null(object, "fpr");
    put_count(object, "bits", entry->bits);
    put_count(object, "probes", entry->probes);
    put_count(object, "keys", entry->keys);
    if (entry->expires_ms >= 0)
        cli_json_real(object, "expires", (double)entry->expires_ms / 1000);
    else
        cli_json_null(object, "expires");
    if (entry->target)
        cli_file_json_text(object, "target", cli_server_encode(name, entry->target, entry->target_size));
    else
        cli_json_null(object, "target");
    return cli_json_write(object, stdout, 0, "redis", err);
}

/* Prints the filters of a server. `uri` names the server and may end with a pattern of names. */
static tamis_status print_filters(const char *uri, bool json, tamis_error *err) {
    if (cli_output_check(err) != TAMIS_OK)
        return err->status;
    return tamis_redis_list(NULL, uri, json ? print_json : print_line, NULL, err);
}

/* ---- leftovers ---- */

/* Words for tamis_redis_leftover_kind. */
static const char *const kinds[] = {
    [TAMIS_REDIS_LEFT_UNFINISHED] = "unfinished",
    [TAMIS_REDIS_LEFT_REPLACED] = "replaced",
    [TAMIS_REDIS_LEFT_UNKNOWN] = "unknown",
    [TAMIS_REDIS_LEFT_RESIZE] = "resize",
};
_Static_assert(sizeof kinds / sizeof *kinds == TAMIS_REDIS_LEFT_RESIZE + 1, "a word for each kind");

static tamis_status print_leftover(void *context, const tamis_redis_leftover *leftover, tamis_error *err) {
    char name[CLI_SERVER_NAME];

    (void)context;
    (void)err;
    printf("%s\t%s\t%016" PRIx64 "\t%" PRIu64 "\n",
           cli_server_encode(name, leftover->name, leftover->name_size), kinds[leftover->kind],
           leftover->generation, leftover->keys);
    return TAMIS_OK;
}

static tamis_status print_leftover_json(void *context, const tamis_redis_leftover *leftover,
                                        tamis_error *err) {
    json_t *object = json_object();
    char name[CLI_SERVER_NAME], generation[20];

    (void)context;
    snprintf(generation, sizeof generation, "%016" PRIx64, leftover->generation);
    cli_file_json_text(object, "name", cli_server_encode(name, leftover->name, leftover->name_size));
    cli_json_text(object, "leftover", kinds[leftover->kind]);
    cli_json_text(object, "generation", generation);
    cli_json_count(object, "keys", leftover->keys);
    return cli_json_write(object, stdout, 0, "redis", err);
}

/* Prints leftovers of killed builds, resizes and drops; with `removes` also removes them. */
static tamis_status print_leftovers(const char *uri, bool removes, bool json, tamis_error *err) {
    if (cli_output_check(err) != TAMIS_OK)
        return err->status;
    return tamis_redis_leftovers(NULL, uri, removes, json ? print_leftover_json : print_leftover, NULL, err);
}

/* ---- actions ---- */

static tamis_status list(const cli_args *args, tamis_error *err) {
    if (args->values[OPT_LEFTOVER].given)
        return print_leftovers(args->operands[1], false, args->values[CLI_OPT_JSON].given, err);
    return print_filters(args->operands[1], args->values[CLI_OPT_JSON].given, err);
}

static tamis_status clean(const cli_args *args, tamis_error *err) {
    return print_leftovers(args->operands[1], true, args->values[CLI_OPT_JSON].given, err);
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

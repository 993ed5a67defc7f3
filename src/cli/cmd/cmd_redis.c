/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/experimental/redis.h>

#include "cli/cli.h"
#include "cli/core/cli_action.h"
#include "cli/core/cli_json.h"
#include "cli/core/cli_number.h"
#include "cli/core/cli_rows.h"
#include "cli/filter/cli_file.h"
#include "cli/process/cli_signal.h"
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
    CLI_ROW_LOCK_WAIT,
    {.name = NULL},
};

/* Reports a warning of a call that succeeded: the library gives it status TAMIS_OK. */
static void report_warning(const tamis_error *err) {
    if (err->status == TAMIS_OK && *err->text)
        cli_report(err->text);
}

/* A change of a filter as a whole: TEXT is the operand behind the URI. */
typedef tamis_status (*change)(const char *uri, const char *text, tamis_error *err);

/* Makes the change. Waits while another command changes the filter. */
static tamis_status change_locked(const cli_args *args, change run, const char *uri, const char *text,
                                  tamis_error *err) {
    cli_lock_wait wait = cli_lock_wait_of(&args->values[CLI_OPT_LOCK_WAIT]);
    int stop_fd;
    tamis_status status = cli_signals_begin(&stop_fd, err);

    while (status == TAMIS_OK && (status = run(uri, text, err)) == TAMIS_E_BUSY) {
        status = cli_lock_again(&wait, err);
        if (status != TAMIS_OK)
            return status;
    }
    return status;
}

static tamis_status drop_one(const char *uri, const char *text, tamis_error *err) {
    (void)text;
    return tamis_redis_drop(NULL, uri, err);
}

static tamis_status alias_one(const char *uri, const char *target, tamis_error *err) {
    return tamis_redis_alias(NULL, uri, target, err);
}

/* Drops all named filters. A failure does not stop it: returns the last error and reports the others. */
static tamis_status drop(const cli_args *args, tamis_error *err) {
    tamis_status status = TAMIS_OK;

    for (size_t i = 1; i < args->operand_count; i++) {
        tamis_error failed = TAMIS_ERROR_INIT;
        if (change_locked(args, drop_one, args->operands[i], NULL, &failed) == TAMIS_OK) {
            report_warning(&failed);
            continue;
        }
        if (status != TAMIS_OK)
            cli_report(err->text); /* main() reports the last one */
        status = failed.status;
        *err = failed;
    }
    return status;
}

static tamis_status alias(const cli_args *args, tamis_error *err) {
    return change_locked(args, alias_one, args->operands[1], args->operands[2], err);
}

static tamis_status unalias(const cli_args *args, tamis_error *err) {
    return change_locked(args, alias_one, args->operands[1], NULL, err);
}

/* Parses a time in milliseconds; 0 for "never". */
static tamis_status read_time(const char *text, uint64_t *ms, tamis_error *err) {
    const uint64_t max = 1000000000000; /* 31 years */

    *ms = 0;
    if (strcmp(text, "never") == 0 || (cli_number_time(text, ms) == CLI_NUMBER_OK && *ms > 0 && *ms <= max))
        return TAMIS_OK;
    return cli_fail(
        err,
        "expire: '%.60s' is not a time; give it as 500ms, 2s, 10m (minutes), 6h or 1d, in seconds where "
        "it has no unit, or never",
        text);
}

static tamis_status expire_one(const char *uri, const char *time, tamis_error *err) {
    uint64_t ms;

    if (read_time(time, &ms, err) != TAMIS_OK)
        return err->status;
    return tamis_redis_expire(NULL, uri, ms, err);
}

static tamis_status expire(const cli_args *args, tamis_error *err) {
    return change_locked(args, expire_one, args->operands[1], args->operands[2], err);
}

/* ---- listings ---- */

/* A field of a listing: a column of the text, and a member of the JSON object. */
typedef struct field {
    const char *name;
    enum { TEXT, COUNT, REAL } type;
    bool is_known; /* false: - in the text, null in JSON */
    const char *text;
    uint64_t count;
    double real;
} field;

static field text_field(const char *name, const char *text) {
    return (field){.name = name, .type = TEXT, .is_known = text != NULL, .text = text};
}

static field count_field(const char *name, uint64_t count, bool is_known) {
    return (field){.name = name, .type = COUNT, .is_known = is_known, .count = count};
}

static field real_field(const char *name, double real, bool is_known) {
    return (field){.name = name, .type = REAL, .is_known = is_known, .real = real};
}

static void print_line(const field *fields, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            putchar('\t');
        if (!fields[i].is_known)
            putchar('-');
        else if (fields[i].type == TEXT)
            fputs(fields[i].text, stdout);
        else if (fields[i].type == COUNT)
            printf("%" PRIu64, fields[i].count);
        else
            printf("%.15g", fields[i].real);
    }
    putchar('\n');
}

static tamis_status print_json(const field *fields, size_t count, tamis_error *err) {
    json_t *object = json_object();

    for (size_t i = 0; i < count; i++) {
        if (!fields[i].is_known)
            cli_json_null(object, fields[i].name);
        else if (fields[i].type == TEXT)
            cli_json_text(object, fields[i].name, fields[i].text);
        else if (fields[i].type == COUNT)
            cli_json_count(object, fields[i].name, fields[i].count);
        else
            cli_json_real(object, fields[i].name, fields[i].real);
    }
    return cli_json_write(object, stdout, 0, "redis", err);
}

/* Prints a line of a listing. `args` are those of the command. */
static tamis_status print_fields(const cli_args *args, const field *fields, size_t count, tamis_error *err) {
    if (args->values[CLI_OPT_JSON].given)
        return print_json(fields, count, err);
    print_line(fields, count);
    return TAMIS_OK;
}

/* Words for tamis_redis_state. */
static const char *const states[] = {
    [TAMIS_REDIS_READY] = "ready",   [TAMIS_REDIS_MAKING] = "making",   [TAMIS_REDIS_ALIAS] = "alias",
    [TAMIS_REDIS_LEFT] = "left",     [TAMIS_REDIS_DAMAGED] = "damaged", [TAMIS_REDIS_FAMILY] = "family",
    [TAMIS_REDIS_DENIED] = "denied",
};
_Static_assert(sizeof states / sizeof *states == TAMIS_REDIS_DENIED + 1, "a word for each state");

static tamis_status print_filter(void *context, const tamis_redis_entry *entry, tamis_error *err) {
    const cli_args *args = context;
    const double expires = (double)entry->expires_ms / 1000;
    char name[CLI_SERVER_NAME], target[CLI_SERVER_NAME];
    const field fields[] = {
        text_field("name", cli_server_encode(name, entry->name, entry->name_size)),
        text_field("layout", entry->layout),
        text_field("state", states[entry->state]),
        count_field("expect", entry->expect, entry->expect > 0),
        real_field("fpr", entry->fpr, entry->fpr > 0),
        count_field("bits", entry->bits, entry->bits > 0),
        count_field("probes", entry->probes, entry->probes > 0),
        count_field("keys", entry->keys, entry->keys > 0),
        real_field("expires", args->values[CLI_OPT_JSON].given ? expires : ceil(expires),
                   entry->expires_ms >= 0),
        text_field("target",
                   entry->target ? cli_server_encode(target, entry->target, entry->target_size) : NULL),
    };

    return print_fields(args, fields, sizeof fields / sizeof *fields, err);
}

/* Words for tamis_redis_leftover_kind. */
static const char *const kinds[] = {
    [TAMIS_REDIS_LEFT_UNFINISHED] = "unfinished",
    [TAMIS_REDIS_LEFT_REPLACED] = "replaced",
    [TAMIS_REDIS_LEFT_UNKNOWN] = "unknown",
    [TAMIS_REDIS_LEFT_RESIZE] = "resize",
};
_Static_assert(sizeof kinds / sizeof *kinds == TAMIS_REDIS_LEFT_RESIZE + 1, "a word for each kind");

static tamis_status print_leftover(void *context, const tamis_redis_leftover *leftover, tamis_error *err) {
    char name[CLI_SERVER_NAME], generation[20];
    const field fields[] = {
        text_field("name", cli_server_encode(name, leftover->name, leftover->name_size)),
        text_field("leftover", kinds[leftover->kind]),
        text_field("generation", generation),
        count_field("keys", leftover->keys, true),
    };

    snprintf(generation, sizeof generation, "%016" PRIx64, leftover->generation);
    return print_fields(context, fields, sizeof fields / sizeof *fields, err);
}

/* Prints the filters of a server; with --leftover, what killed builds, resizes and drops left. */
static tamis_status list(const cli_args *args, tamis_error *err) {
    void *context = (void *)args;

    if (cli_output_check(err) != TAMIS_OK)
        return err->status;
    if (args->values[OPT_LEFTOVER].given)
        return tamis_redis_leftovers(NULL, args->operands[1], false, print_leftover, context, err);
    return tamis_redis_list(NULL, args->operands[1], print_filter, context, err);
}

/* Removes leftovers, and prints them. */
static tamis_status clean(const cli_args *args, tamis_error *err) {
    if (cli_output_check(err) != TAMIS_OK)
        return err->status;
    return tamis_redis_leftovers(NULL, args->operands[1], true, print_leftover, (void *)args, err);
}

/* ---- actions ---- */

enum { ALIAS, CLEAN, DROP, EXPIRE, LS, UNALIAS, ACTIONS };

static const cli_action actions[ACTIONS] = {
    [ALIAS] = {.name = "alias",
               .min_operands = 1,
               .max_operands = 1,
               .operands_text = "URI TARGET",
               .options = UINT64_C(1) << CLI_OPT_LOCK_WAIT},
    [CLEAN] = {.name = "clean", .operands_text = "URI", .options = UINT64_C(1) << CLI_OPT_JSON},
    [DROP] = {.name = "drop",
              .max_operands = SIZE_MAX,
              .operands_text = "URI...",
              .options = UINT64_C(1) << CLI_OPT_LOCK_WAIT},
    [EXPIRE] = {.name = "expire",
                .min_operands = 1,
                .max_operands = 1,
                .operands_text = "URI TIME",
                .options = UINT64_C(1) << CLI_OPT_LOCK_WAIT},
    [LS] = {.name = "ls",
            .operands_text = "URI",
            .options = UINT64_C(1) << CLI_OPT_JSON | UINT64_C(1) << OPT_LEFTOVER},
    [UNALIAS] = {.name = "unalias", .operands_text = "URI", .options = UINT64_C(1) << CLI_OPT_LOCK_WAIT}};

static tamis_status (*const runs[ACTIONS])(const cli_args *args, tamis_error *err) = {
    [ALIAS] = alias, [CLEAN] = clean, [DROP] = drop, [EXPIRE] = expire, [LS] = list, [UNALIAS] = unalias};

static const char *const action_names[] = {
    [ALIAS] = "alias", [CLEAN] = "clean",     [DROP] = "drop", [EXPIRE] = "expire",
    [LS] = "ls",       [UNALIAS] = "unalias", [ACTIONS] = NULL};

static tamis_status run_redis(const cli_args *args, bool *negative, tamis_error *err) {
    const cli_actions known = {
        .command = "redis", .uri = "redis://host:port/NAME", .list = actions, .count = ACTIONS};
    size_t action;

    (void)negative;
    if (cli_action_find(&action, &known, args, options, err) != TAMIS_OK)
        return err->status;
    for (size_t i = 1; i < args->operand_count; i++)
        if (cli_server_refuse_family(args->operands[i], err) != TAMIS_OK)
            return err->status;
    const tamis_status status = runs[action](args, err);
    if (status == TAMIS_OK)
        report_warning(err);
    return status;
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

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * tamis redis: the administration of filters on servers.
 *
 *     action                     function of the library
 *     drop, alias, unalias       tamis_redis_drop, tamis_redis_alias: again while the filter is locked
 *     expire                     tamis_redis_expire: likewise
 *     ls                         tamis_redis_list: a callback prints each filter
 *     ls --leftover, clean       tamis_redis_leftovers: likewise
 *
 * A listing has one table of fields. It gives the columns of a line and the members of JSON.
 */
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

static const struct {
    cli_field name, layout, state, expect, fpr, bits, probes, keys, expires, target, leftover, generation;
} fields = {
    .name = {"name", NULL, CLI_STRING, "Name of the filter, as in a URI."},
    .layout = {"layout", NULL, CLI_STRING, "\"tamis\", \"java\" or \"redisson\"."},
    .state =
        {"state", NULL, CLI_STRING,
         "\"ready\"; \"making\": a client of layout 1 is making it, or was stopped while it did; \"alias\"; "
         "\"left\": what a stopped drop or push left, to be dropped; \"damaged\": its parameters cannot be "
         "read, or the hash that has them was deleted or evicted: drop it, and build it again; \"family\": "
         "filters with names of their own and these parameters; \"denied\": the user may not read it."},
    .expect = {"expect", NULL, CLI_INTEGER | CLI_NULL,
               "Keys it was made for; null = not recorded, as for the next three."},
    .fpr = {"fpr", NULL, CLI_NUMBER | CLI_NULL, "Rate promised for this number of keys."},
    .bits = {"bits", NULL, CLI_INTEGER | CLI_NULL,
             "Number of bits; for layout java those that exist so far."},
    .probes = {"probes", NULL, CLI_INTEGER | CLI_NULL, "Bits of a key."},
    .keys = {"keys", NULL, CLI_INTEGER | CLI_NULL,
             "Redis keys that hold its bits; null = an alias or a family."},
    .expires = {"expires", NULL, CLI_NUMBER | CLI_NULL, "Seconds until it expires; null = never."},
    .target = {"target", NULL, CLI_STRING | CLI_NULL,
               "The filter that an alias refers to; null = not an alias."},
    .leftover = {"leftover", NULL, CLI_STRING,
                 "For ls --leftover and clean, whose objects have only name, leftover, generation and keys: "
                 "\"unfinished\": of a build or resize that was killed; \"replaced\": of a filter that was "
                 "replaced or dropped; \"resize\": of a resize that was killed or is in progress, which "
                 "clean ends; \"unknown\": not recorded in the filter's hash."},
    .generation = {"generation", NULL, CLI_STRING, "Generation of the filter that the keys belong to."},
};

/* Reports a warning of a call that succeeded: the library gives it status TAMIS_OK. */
static void report_warning(const tamis_error *err) {
    if (err->status == TAMIS_OK && *err->text)
        cli_report(err->text);
}

/* A change of a filter as a whole: TEXT is the operand after the URI. */
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

/* A value of a listing: a column of the text, and a member of the JSON object. */
typedef struct value {
    const cli_field *field;
    bool is_known;    /* false: - in the text, null in JSON */
    const char *text; /* value of a string; NULL: unknown, or no string */
    uint64_t integer; /* value of an integer */
    double number;    /* value of a number */
} value;

static value text_of(const cli_field *field, const char *text) {
    return (value){.field = field, .is_known = text != NULL, .text = text};
}

static value integer_of(const cli_field *field, uint64_t integer, bool is_known) {
    return (value){.field = field, .is_known = is_known, .integer = integer};
}

static value number_of(const cli_field *field, double number, bool is_known) {
    return (value){.field = field, .is_known = is_known, .number = number};
}

static void print_line(const value *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            putchar('\t');
        if (!values[i].is_known)
            putchar('-');
        else if (values[i].text)
            fputs(values[i].text, stdout);
        else if ((values[i].field->kind & ~CLI_NULL) == CLI_INTEGER)
            printf("%" PRIu64, values[i].integer);
        else
            printf("%.15g", values[i].number);
    }
    putchar('\n');
}

static tamis_status print_json(const value *values, size_t count, tamis_error *err) {
    json_t *object = json_object();

    for (size_t i = 0; i < count; i++) {
        const value *v = &values[i];
        const int kind = v->field->kind & ~CLI_NULL;
        if (kind == CLI_STRING)
            cli_json_string(object, v->field, v->text);
        else if (kind == CLI_INTEGER)
            cli_json_integer_or_null(object, v->field, v->is_known, v->integer);
        else
            cli_json_number(object, v->field, v->is_known ? v->number : NAN);
    }
    return cli_json_write(object, stdout, 0, "redis", err);
}

/* Prints a line of a listing. `args` are those of the command. */
static tamis_status print_values(const cli_args *args, const value *values, size_t count, tamis_error *err) {
    if (args->values[CLI_OPT_JSON].given)
        return print_json(values, count, err);
    print_line(values, count);
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
    const value values[] = {
        text_of(&fields.name, cli_server_encode(name, entry->name, entry->name_size)),
        text_of(&fields.layout, entry->layout),
        text_of(&fields.state, states[entry->state]),
        integer_of(&fields.expect, entry->expect, entry->expect > 0),
        number_of(&fields.fpr, entry->fpr, entry->fpr > 0),
        integer_of(&fields.bits, entry->bits, entry->bits > 0),
        integer_of(&fields.probes, entry->probes, entry->probes > 0),
        integer_of(&fields.keys, entry->keys, entry->keys > 0),
        number_of(&fields.expires, args->values[CLI_OPT_JSON].given ? expires : ceil(expires),
                  entry->expires_ms >= 0),
        text_of(&fields.target,
                entry->target ? cli_server_encode(target, entry->target, entry->target_size) : NULL),
    };

    return print_values(args, values, sizeof values / sizeof *values, err);
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
    const value values[] = {
        text_of(&fields.name, cli_server_encode(name, leftover->name, leftover->name_size)),
        text_of(&fields.leftover, kinds[leftover->kind]),
        text_of(&fields.generation, generation),
        integer_of(&fields.keys, leftover->keys, true),
    };

    snprintf(generation, sizeof generation, "%016" PRIx64, leftover->generation);
    return print_values(context, values, sizeof values / sizeof *values, err);
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
    .fields = CLI_FIELDS(fields),
    .run = run_redis,
};

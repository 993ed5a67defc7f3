/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cmd/redis/redis_ls.h"

#include <inttypes.h>
#include <stdio.h>

#include <tamis/experimental/redis.h>

#include "cli/core/cli_json.h"
#include "cli/filter/cli_file.h"
#include "cli/server/cli_server.h"

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

tamis_status redis_ls(const char *uri, bool json, tamis_error *err) {
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

tamis_status redis_leftovers(const char *uri, bool removes, bool json, tamis_error *err) {
    if (cli_output_check(err) != TAMIS_OK)
        return err->status;
    return tamis_redis_leftovers(NULL, uri, removes, json ? print_leftover_json : print_leftover, NULL, err);
}

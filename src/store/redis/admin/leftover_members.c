/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Finds and removes members of families that no hash names any more. Either hash and copy of the family
 * expired, were evicted or were deleted. Or the members are of a generation whose record was replaced by a
 * later one. The name of a member does not tell its family, only the generation. So all hashes and copies of
 * the server are read:
 *
 *     1 read     generations in each tamis:{NAME} (plan, next, pushing, before) and tamis:{NAME}:plan
 *     2 SCAN     members tamis:{MEMBER:G}:bits; the generations G that step 1 did not find
 *     3 read     as step 1, again; generations that are named now are left out
 *     4 count    members of each generation; those that expire need nobody
 *     5 remove   UNLINK, without a lock: nobody knows the name of the family
 *
 * Why this removes no member of a family in use: a member is made only after its generation was in field
 * plan. A member that step 2 finds has such a generation. If the generation is in a plan or copy during
 * all of step 3, SCAN returns that Redis key. If not, the plan was replaced, dropped or lost, and
 * generations never return: no lock is needed.
 *
 * That holds only if one server has all Redis keys, is the same process all the time, and lets the user
 * read every hash. SCAN may miss a hash that a cluster moves to another node, and one of several servers
 * does not know the hashes of the others. There such members are left alone.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/redis/admin/redis_manage.h"

typedef struct record {
    size_t key, key_size; /* offset and size of its Redis key in member_search.text */
    bool is_hash;         /* hash of a filter; else copy of a plan */
} record;

typedef struct generation_list {
    uint64_t *items;
    size_t count, capacity;
} generation_list;

typedef struct member_search {
    const tamis__redis_filter *rf; /* its URI has the pattern */
    char *text;                    /* Redis keys of all records, concatenated */
    size_t text_used, text_capacity;
    record *records;
    size_t record_count, record_capacity;
    generation_list named;   /* generations that hashes and copies name, sorted */
    generation_list unnamed; /* other generations that have members */
} member_search;

enum { PREFIX = sizeof "tamis:{" - 1, SUFFIX = sizeof "}:bits" - 1, HEX = 16, VALUE_SIZE = 64 };

#define HEX_4 "[0-9a-f][0-9a-f][0-9a-f][0-9a-f]"

static tamis_status add_generation(const member_search *ctx, generation_list *list, uint64_t generation,
                                   tamis_error *err) {
    uint64_t *items = tamis__array_reserve(&ctx->rf->redis->allocator, list->items, sizeof *items,
                                           list->count + 1, &list->capacity);
    if (!items)
        return tamis__fail_nomem(err, "redis", (list->count + 1) * sizeof *items);
    list->items = items;
    list->items[list->count++] = generation;
    return TAMIS_OK;
}

static int compare(const void *left, const void *right) {
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static bool is_named(const member_search *ctx, uint64_t generation) {
    return ctx->named.count > 0 && bsearch(&generation, ctx->named.items, ctx->named.count,
                                           sizeof *ctx->named.items, compare) != NULL;
}

/* ---- hashes and copies ---- */

static tamis_status add_record(member_search *ctx, const char *key, size_t size, bool is_hash,
                               tamis_error *err) {
    const tamis_allocator *allocator = &ctx->rf->redis->allocator;
    char *text = tamis__array_reserve(allocator, ctx->text, 1, ctx->text_used + size, &ctx->text_capacity);
    if (!text)
        return tamis__fail_nomem(err, "redis", ctx->text_used + size);
    ctx->text = text;
    record *records = tamis__array_reserve(allocator, ctx->records, sizeof *records, ctx->record_count + 1,
                                           &ctx->record_capacity);
    if (!records)
        return tamis__fail_nomem(err, "redis", (ctx->record_count + 1) * sizeof *records);
    ctx->records = records;
    memcpy(ctx->text + ctx->text_used, key, size);
    ctx->records[ctx->record_count++] = (record){ctx->text_used, size, is_hash};
    ctx->text_used += size;
    return TAMIS_OK;
}

static tamis_status add_hash(void *context, const char *key, size_t size, tamis_error *err) {
    return add_record(context, key, size, true, err);
}

static tamis_status add_copy(void *context, const char *key, size_t size, tamis_error *err) {
    return add_record(context, key, size, false, err);
}

static uint32_t slot_of_record(void *context, size_t i) {
    const member_search *ctx = context;
    const record *found = &ctx->records[i];
    return tamis__redis_slot(ctx->rf->redis, ctx->text + found->key, found->key_size);
}

static bool put_query(void *context, size_t i, tamis__connection *conn) {
    static const char *const fields[] = {"plan", "next", "pushing", "before"};
    const member_search *ctx = context;
    const record *found = &ctx->records[i];
    tamis__connection_put_command(conn, found->is_hash ? 6 : 2);
    tamis__connection_put_text(conn, found->is_hash ? "HMGET" : "GET");
    tamis__connection_put(conn, ctx->text + found->key, found->key_size);
    for (size_t j = 0; found->is_hash && j < sizeof fields / sizeof *fields; j++)
        tamis__connection_put_text(conn, fields[j]);
    return true;
}

/* Adds the generation of a plan. */
static tamis_status accept_plan(member_search *ctx, const tamis__reply *plan, tamis_error *err) {
    static const char word[] = "generation=";
    const char *found = plan->type == TAMIS__REPLY_STRING ? strstr(plan->text, word) : NULL;
    return found ? add_generation(ctx, &ctx->named, strtoull(found + sizeof word - 1, NULL, 16), err)
                 : TAMIS_OK;
}

static tamis_status accept_record(void *context, size_t i, const tamis__reply *reply, bool resent,
                                  tamis_error *err) {
    member_search *ctx = context;
    (void)i;
    (void)resent;
    if (reply->type != TAMIS__REPLY_ARRAY)
        return accept_plan(ctx, reply, err);
    tamis_status status = TAMIS_OK;
    for (size_t j = 0; j < reply->size && status == TAMIS_OK; j++)
        status = accept_plan(ctx, &reply->items[j], err);
    return status;
}

/* Lists the generations that hashes and copies name. Copies are found after the hashes: if a hash is lost
 * in between, its copy still counts. *is_denied: the user may not read one of them. */
static tamis_status read_records(member_search *ctx, bool *is_denied, tamis_error *err) {
    static const char hashes[] = "tamis:{*}", copies[] = "tamis:{*}:plan";
    const tamis__scan scans[] = {{.pattern = hashes, sizeof hashes - 1, "hash", add_hash, ctx},
                                 {.pattern = copies, sizeof copies - 1, "string", add_copy, ctx}};
    ctx->text_used = ctx->record_count = ctx->named.count = 0;
    tamis_status status = tamis__redis_scan(ctx->rf->redis, &scans[0], err);
    if (status == TAMIS_OK)
        status = tamis__redis_scan(ctx->rf->redis, &scans[1], err);
    const tamis__requests requests = {.count = ctx->record_count,
                                      .context = ctx,
                                      .put_command = put_query,
                                      .accept_reply = accept_record,
                                      .what = ctx->rf->uri->shown_name,
                                      .slot = slot_of_record,
                                      .denied = is_denied};
    if (status == TAMIS_OK && ctx->record_count > 0)
        status = tamis__requests_run(ctx->rf->redis, &requests, NULL, err);
    if (ctx->named.count > 1)
        qsort(ctx->named.items, ctx->named.count, sizeof *ctx->named.items, compare);
    return status;
}

/* ---- members ---- */

static tamis_key pattern_of(const tamis__redis_filter *rf) {
    return rf->uri->name_size > 0 ? (tamis_key){rf->uri->name, rf->uri->name_size} : tamis__redis_word("*");
}

static tamis_status add_member(void *context, const char *key, size_t size, tamis_error *err) {
    member_search *ctx = context;
    char hex[HEX + 1] = "";
    if (size < PREFIX + 1 + HEX + SUFFIX)
        return TAMIS_OK;
    memcpy(hex, key + size - SUFFIX - HEX, HEX);
    const uint64_t generation = strtoull(hex, NULL, 16);
    if (is_named(ctx, generation))
        return TAMIS_OK;
    for (size_t i = 0; i < ctx->unnamed.count; i++)
        if (ctx->unnamed.items[i] == generation)
            return TAMIS_OK;
    return add_generation(ctx, &ctx->unnamed, generation, err);
}

static tamis_status find_generations(member_search *ctx, tamis_error *err) {
    char pattern[TAMIS__REDIS_KEY + 4 * sizeof HEX_4];
    const tamis_key names = pattern_of(ctx->rf);
    const int size = snprintf(pattern, sizeof pattern, "tamis:{%.*s:" HEX_4 HEX_4 HEX_4 HEX_4 "}:bits",
                              (int)names.size, (const char *)names.data);
    const tamis__scan scan = {.pattern = pattern, (size_t)size, "string", add_member, ctx};
    return tamis__redis_scan(ctx->rf->redis, &scan, err);
}

static tamis_status report_generation(const member_search *ctx, uint64_t generation,
                                      const tamis__leftover_report *report, tamis_error *err) {
    const tamis_key names = pattern_of(ctx->rf);
    tamis__member_count members;
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = tamis__members_count(ctx->rf, names, generation, &members, &why);
    *report->denied += status == TAMIS_E_REFUSED; /* at least one member */
    if (status == TAMIS_E_REFUSED || (status == TAMIS_OK && members.stay == 0))
        return TAMIS_OK;
    if (status != TAMIS_OK && err)
        *err = why;
    if (status != TAMIS_OK)
        return status;
    const tamis_redis_leftover leftover = {.struct_size = sizeof leftover,
                                           .kind = TAMIS_REDIS_LEFT_UNKNOWN,
                                           .name = members.name,
                                           .name_size = members.name_size,
                                           .generation = generation,
                                           .keys = members.stay};
    if (report->removes)
        status = tamis__members_remove(ctx->rf, names, generation, err);
    return status == TAMIS_OK ? report->sink(report->context, &leftover, err) : status;
}

/* ---- the server ---- */

/* Copies the value of a line of INFO to `to`; it is empty if the reply has no such line. One server has all
 * slots. */
static tamis_status read_info(const tamis__redis_filter *rf, const char *section, const char *line,
                              char to[VALUE_SIZE], tamis_error *err) {
    char info[TAMIS__REDIS_INFO];
    const tamis_status status = tamis__redis_info(rf->redis, rf->uri->shown_name, section, info, err);
    const char *found = strstr(info, line);
    *to = '\0';
    if (!found)
        return status;
    found += strlen(line);
    snprintf(to, VALUE_SIZE, "%.*s", (int)strcspn(found, "\r\n"), found);
    return status;
}

/* *has_all: this server has all Redis keys. A node of a cluster says that it is one, even if the URI does
 * not. run_id: of the server's process. */
static tamis_status check_server(const tamis__redis_filter *rf, bool *has_all, char run_id[VALUE_SIZE],
                                 tamis_error *err) {
    char is_cluster[VALUE_SIZE];
    *has_all = false;
    if (rf->redis->slot_count > 1 || rf->redis->codis)
        return TAMIS_OK;
    tamis_status status = read_info(rf, "cluster", "cluster_enabled:", is_cluster, err);
    if (status == TAMIS_OK && strcmp(is_cluster, "0") == 0) {
        status = read_info(rf, "server", "run_id:", run_id, err);
        *has_all = *run_id != '\0';
    }
    return status;
}

/* SCAN of a server that was restarted in between may have missed a hash. */
static tamis_status check_restart(const tamis__redis_filter *rf, const char *run_id, tamis_error *err) {
    char now[VALUE_SIZE];
    bool has_all;
    const tamis_status status = check_server(rf, &has_all, now, err);
    if (status != TAMIS_OK || (has_all && strcmp(now, run_id) == 0))
        return status;
    return tamis__fail(err, TAMIS_E_IO, 0,
                       "redis %s: was restarted while its Redis keys were read; do it again",
                       rf->redis->endpoint.shown);
}

/* Lists the generations that have members and no record. Lists none if the user may not read one of the
 * records. */
static tamis_status find_unnamed(member_search *ctx, const char *run_id, tamis_error *err) {
    bool is_denied = false;
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = read_records(ctx, &is_denied, &why);
    if (status == TAMIS_OK)
        status = find_generations(ctx, &why);
    if (status == TAMIS_OK && ctx->unnamed.count > 0)
        status = read_records(ctx, &is_denied, &why);
    if (ctx->unnamed.count > 1)
        qsort(ctx->unnamed.items, ctx->unnamed.count, sizeof *ctx->unnamed.items, compare);
    if (is_denied) {
        ctx->unnamed.count = 0;
        return TAMIS_OK;
    }
    if (status != TAMIS_OK && err)
        *err = why;
    return status == TAMIS_OK && ctx->unnamed.count > 0 ? check_restart(ctx->rf, run_id, err) : status;
}

tamis_status tamis__leftover_members(const tamis__redis_filter *rf, const tamis__leftover_report *report,
                                     tamis_error *err) {
    member_search ctx = {.rf = rf};
    char run_id[VALUE_SIZE];
    bool has_all;
    tamis_status status = check_server(rf, &has_all, run_id, err);
    if (status != TAMIS_OK || !has_all)
        return status;
    status = find_unnamed(&ctx, run_id, err);
    for (size_t i = 0; i < ctx.unnamed.count && status == TAMIS_OK; i++)
        if (!is_named(&ctx, ctx.unnamed.items[i]))
            status = report_generation(&ctx, ctx.unnamed.items[i], report, err);
    const tamis_allocator *allocator = &rf->redis->allocator;
    tamis__free(allocator, ctx.unnamed.items, ctx.unnamed.capacity * sizeof *ctx.unnamed.items);
    tamis__free(allocator, ctx.named.items, ctx.named.capacity * sizeof *ctx.named.items);
    tamis__free(allocator, ctx.records, ctx.record_capacity * sizeof *ctx.records);
    tamis__free(allocator, ctx.text, ctx.text_capacity);
    return status;
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Lists the filters of a server or cluster:
 *
 *     1 SCAN     every server, for Redis keys that each filter of a layout has once:
 *
 *                  tamis:{NAME}                     hash      layout tamis, or an alias
 *                  tamis:{NAME}:plan                string    its copy: a filter whose hash was lost
 *                  {NAME}:config, N{TAG}N:config    hash      layout redisson
 *                  bf:NAME                          string    layout java
 *
 *     2 sort     by name, and remove duplicates: SCAN may return a key twice
 *     3 read     one pipeline: HMGET or STRLEN of each key, and PTTL
 *     4 report   each filter that still exists, in order
 *
 * The keys of the PHP layouts have no recognizable form, so these filters are not listed. If the user may
 * not read some key, the list is read in halves until that key is alone; it is reported as denied.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/redis/layout/layout_bitmap.h"
#include "store/redis/layout/layout_tamis.h"

static const char copy_suffix[] = ":plan"; /* of a plan's copy, after the name of its hash */

/* The form of Redis keys that show a filter: `before`, its name, `behind`, `suffix`. */
typedef struct key_form {
    const tamis__layout *layout;
    const char *before, *behind; /* text around the name in the Redis key that has the parameters */
    const char *suffix;          /* text that SCAN finds behind that key */
    const char *type;            /* type of the value that SCAN finds */
    bool on_one_server;          /* the layout has no filters that are spread over servers */
} key_form;

static const key_form forms[] = {
    {.layout = &tamis__layout_tamis, .before = "tamis:{", .behind = "}", .suffix = "", .type = "hash"},
    {.layout = &tamis__layout_tamis,
     .before = "tamis:{",
     .behind = "}",
     .suffix = copy_suffix,
     .type = "string"},
    {.layout = &tamis__layout_java, .before = "bf:", .behind = "", .suffix = "", .type = "string"},
    {.layout = &tamis__layout_redisson,
     .before = "{",
     .behind = "}:config",
     .suffix = "",
     .type = "hash",
     .on_one_server = true},
    {.layout = &tamis__layout_redisson,
     .before = "",
     .behind = ":config",
     .suffix = "",
     .type = "hash",
     .on_one_server = true},
};

/* A filter that was found. */
typedef struct found {
    size_t offset, size; /* its name in listing.text */
    const key_form *form;
    size_t target; /* offset of an alias's target there */
    bool is_copy;  /* layout tamis: SCAN found the copy of its plan */
    bool is_there; /* it still existed when it was read */
    tamis_redis_entry entry;
} found;

typedef struct listing {
    tamis__redis_filter rf; /* a handle of no filter, for slots and messages */
    const key_form *form;   /* the form that is scanned */
    char *text;             /* all names and targets */
    size_t text_used, text_capacity;
    found *entries;
    size_t count, item_capacity;
    size_t first; /* first entry of the current pipeline */
} listing;

/* Appends to list->text; *offset is the position there. */
static tamis_status keep_text(listing *list, const char *text, size_t size, size_t *offset,
                              tamis_error *err) {
    char *grown = tamis__array_reserve(&list->rf.redis->allocator, list->text, 1, list->text_used + size,
                                       &list->text_capacity);
    if (!grown)
        return tamis__fail_nomem(err, "redis", list->text_used + size);
    list->text = grown;
    memcpy(list->text + list->text_used, text, size);
    *offset = list->text_used;
    list->text_used += size;
    return TAMIS_OK;
}

/* ---- names ---- */

static tamis_status accept_key(void *context, const char *key, size_t size, tamis_error *err) {
    listing *list = context;
    const key_form *form = list->form;
    const size_t before = strlen(form->before), around = before + strlen(form->behind) + strlen(form->suffix);
    if (size <= around || size - around > TAMIS__REDIS_NAME)
        return TAMIS_OK;
    const char *name = key + before;
    size -= around;
    /* Redisson uses {NAME}:config for NAME and for {NAME}: that is listed as NAME. Any other name with a
     * brace inside is N:config. */
    const bool has_brace = memchr(name, '{', size) != NULL;
    const bool is_tag = *name == '{' && name[size - 1] == '}' && !memchr(name + 1, '{', size - 1);
    if (form->layout == &tamis__layout_redisson && (before > 0 ? has_brace : !has_brace || is_tag))
        return TAMIS_OK;
    found *entries = tamis__array_reserve(&list->rf.redis->allocator, list->entries, sizeof *entries,
                                          list->count + 1, &list->item_capacity);
    if (!entries)
        return tamis__fail_nomem(err, "redis", (list->count + 1) * sizeof *entries);
    list->entries = entries;
    found *item = &list->entries[list->count];
    *item = (found){.size = size,
                    .form = form,
                    .is_copy = form->suffix[0] != '\0',
                    .entry = {.struct_size = sizeof item->entry, .layout = form->layout->name}};
    const tamis_status status = keep_text(list, name, size, &item->offset, err);
    list->count += status == TAMIS_OK;
    return status;
}

static tamis_status scan_form(listing *list, const key_form *form, tamis_error *err) {
    char pattern[TAMIS__REDIS_KEY];
    const tamis__redis_uri *uri = list->rf.uri;
    const size_t start = strlen(form->before), name_size = uri->name_size > 0 ? uri->name_size : 1;
    size_t size = start + name_size;
    memcpy(pattern, form->before, start);
    memcpy(pattern + start, uri->name_size > 0 ? uri->name : "*", name_size);
    size += (size_t)snprintf(pattern + size, sizeof pattern - size, "%s%s", form->behind, form->suffix);
    list->form = form;
    const tamis__scan scan = {.pattern = pattern,
                              .pattern_size = size,
                              .type = form->type,
                              .add_key = accept_key,
                              .context = list,
                              .slot_suffix = strlen(form->suffix)};
    return tamis__redis_scan(list->rf.redis, &scan, err);
}

static int compare_names(const found *a, const found *b, const char *text) {
    const size_t size = a->size < b->size ? a->size : b->size;
    const int order = memcmp(text + a->offset, text + b->offset, size);
    if (order != 0 || a->size != b->size)
        return order != 0 ? order : a->size < b->size ? -1 : 1;
    return strcmp(a->entry.layout, b->entry.layout);
}

/* Orders by name; a hash comes before its copy. */
static int compare(const void *left, const void *right, void *context) {
    const found *a = left, *b = right;
    const int order = compare_names(a, b, context);
    return order != 0 ? order : a->is_copy - b->is_copy;
}

static tamis_status scan_forms(listing *list, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < sizeof forms / sizeof *forms && status == TAMIS_OK; i++)
        if (!forms[i].on_one_server || tamis__redis_servers(list->rf.redis) == 1)
            status = scan_form(list, &forms[i], err);
    if (status != TAMIS_OK || list->count == 0)
        return status;
    qsort_r(list->entries, list->count, sizeof *list->entries, compare, list->text);
    size_t kept = 1;
    for (size_t i = 1; i < list->count; i++)
        if (compare_names(&list->entries[kept - 1], &list->entries[i], list->text) != 0)
            list->entries[kept++] = list->entries[i];
    list->count = kept;
    return TAMIS_OK;
}

/* ---- contents: two commands for each filter, for its parameters and for its expiry ---- */

static size_t key_of(const listing *list, const found *item, char *to) {
    const size_t before = strlen(item->form->before), behind = strlen(item->form->behind);
    memcpy(to, item->form->before, before);
    memcpy(to + before, list->text + item->offset, item->size);
    memcpy(to + before + item->size, item->form->behind, behind);
    return before + item->size + behind;
}

static uint32_t slot_of(void *context, size_t i) {
    const listing *list = context;
    char key[TAMIS__REDIS_KEY];
    return tamis__redis_slot(list->rf.redis, key, key_of(list, &list->entries[list->first + i / 2], key));
}

static bool put_command(void *context, size_t i, tamis__connection *conn) {
    static const char *const fields[] = {"plan", "state", "alias"};
    const listing *list = context;
    const found *item = &list->entries[list->first + i / 2];
    char key[TAMIS__REDIS_KEY];
    size_t size = key_of(list, item, key);
    if (i % 2 == 1 && item->is_copy) {
        memcpy(key + size, copy_suffix, sizeof copy_suffix - 1);
        size += sizeof copy_suffix - 1;
    }
    if (i % 2 == 0 && item->entry.layout == tamis__layout_redisson.name) {
        tamis__redisson_put_query(conn, key, size);
        return true;
    }
    const bool is_hash = i % 2 == 0 && item->entry.layout == tamis__layout_tamis.name;
    tamis__connection_put_command(conn, is_hash ? 5 : 2);
    tamis__connection_put_text(conn, i % 2 == 1 ? "PTTL" : is_hash ? "HMGET" : "STRLEN");
    tamis__connection_put(conn, key, size);
    for (size_t j = 0; is_hash && j < 3; j++)
        tamis__connection_put_text(conn, fields[j]);
    return true;
}

static tamis_status accept_plan(listing *list, found *item, const tamis__reply *reply, tamis_error *err) {
    if (reply->type != TAMIS__REPLY_ARRAY || reply->size != 3)
        return tamis__redis_filter_bad_reply(&list->rf, err);
    const tamis__reply *plan = &reply->items[0], *state = &reply->items[1], *alias = &reply->items[2];
    tamis_redis_entry *entry = &item->entry;
    tamis__parsed_plan parsed;
    char ready[TAMIS__REDIS_STATE];
    item->is_there = true;
    if (alias->type == TAMIS__REPLY_STRING) {
        entry->state = TAMIS_REDIS_ALIAS;
        entry->target_size = alias->size;
        return keep_text(list, alias->text, alias->size, &item->target, err);
    }
    entry->state =
        plan->type == TAMIS__REPLY_STRING || item->is_copy ? TAMIS_REDIS_DAMAGED : TAMIS_REDIS_LEFT;
    if (plan->type != TAMIS__REPLY_STRING || !tamis__plan_text_parse(&parsed, plan->text))
        return TAMIS_OK;
    tamis__state_write(parsed.generation, ready);
    const bool is_ready =
        parsed.layout > 1 || (state->type == TAMIS__REPLY_STRING && strcmp(state->text, ready) == 0);
    entry->state = is_ready ? TAMIS_REDIS_READY : TAMIS_REDIS_MAKING;
    entry->expect = parsed.expect;
    entry->fpr = parsed.fpr;
    entry->bits = parsed.bits;
    entry->probes = (uint32_t)parsed.probes;
    if (parsed.is_family) { /* no record lists the members */
        entry->state = TAMIS_REDIS_FAMILY;
        return TAMIS_OK;
    }
    entry->keys = (parsed.bits / (8 * TAMIS__REDIS_BLOCK) - 1) / parsed.partition + 1;
    return TAMIS_OK;
}

static tamis_status accept_size(listing *list, found *item, const tamis__reply *reply, tamis_error *err) {
    if (reply->type != TAMIS__REPLY_INTEGER || reply->integer < 0)
        return tamis__redis_filter_bad_reply(&list->rf, err);
    item->is_there = reply->integer > 0;
    item->entry.state = TAMIS_REDIS_READY;
    item->entry.bits = 8 * (uint64_t)reply->integer;
    item->entry.keys = 1;
    return TAMIS_OK;
}

static tamis_status accept_config(listing *list, found *item, const tamis__reply *reply, tamis_error *err) {
    tamis_plan plan = TAMIS_PLAN_INIT;
    const tamis_status status = tamis__redisson_read_plan(&list->rf, reply, &plan, &item->is_there, err);
    item->entry.state = status == TAMIS_OK ? TAMIS_REDIS_READY : TAMIS_REDIS_DAMAGED;
    item->entry.keys = 1;
    if (status != TAMIS_OK || !item->is_there)
        return status == TAMIS_E_DAMAGED ? TAMIS_OK : status;
    item->entry.expect = plan.capacity;
    item->entry.fpr = plan.fpr;
    item->entry.bits = plan.bits;
    item->entry.probes = plan.probes;
    return TAMIS_OK;
}

enum { NO_KEY = -2 /* reply of PTTL */ };

static tamis_status accept_reply(void *context, size_t i, const tamis__reply *reply, bool resent,
                                 tamis_error *err) {
    listing *list = context;
    found *item = &list->entries[list->first + i / 2];
    (void)resent;
    if (i % 2 == 1 && reply->type != TAMIS__REPLY_INTEGER)
        return tamis__redis_filter_bad_reply(&list->rf, err);
    if (i % 2 == 1) {
        item->entry.expires_ms = reply->integer < 0 ? -1 : reply->integer;
        if (item->entry.state == TAMIS_REDIS_DAMAGED && item->is_copy && reply->integer == NO_KEY)
            item->is_there = false; /* dropped meanwhile */
        return TAMIS_OK;
    }
    if (item->entry.layout == tamis__layout_tamis.name)
        return accept_plan(list, item, reply, err);
    return item->entry.layout == tamis__layout_java.name ? accept_size(list, item, reply, err)
                                                         : accept_config(list, item, reply, err);
}

/* Reads `count` entries in one pipeline. If the user may not read one of them, reads each half by itself. */
static tamis_status query_entries(listing *list, size_t first, size_t count, tamis_error *err) {
    bool denied = false;
    const tamis__requests requests = {.count = 2 * count,
                                      .context = list,
                                      .put_command = put_command,
                                      .accept_reply = accept_reply,
                                      .what = list->rf.uri->shown_name,
                                      .slot = slot_of,
                                      .denied = &denied};
    list->first = first;
    tamis_status status = tamis__requests_run(list->rf.redis, &requests, NULL, err);
    if (status == TAMIS_OK || !denied)
        return status;
    if (count == 1) {
        found *item = &list->entries[first];
        item->entry = (tamis_redis_entry){.struct_size = sizeof item->entry,
                                          .state = TAMIS_REDIS_DENIED,
                                          .layout = item->entry.layout,
                                          .expires_ms = -1};
        item->is_there = true;
        return TAMIS_OK;
    }
    status = query_entries(list, first, count / 2, err);
    return status == TAMIS_OK ? query_entries(list, first + count / 2, count - count / 2, err) : status;
}

static tamis_status report_entries(listing *list, tamis_redis_entry_sink sink, void *context,
                                   tamis_error *err) {
    tamis_status status = query_entries(list, 0, list->count, err);
    for (size_t i = 0; i < list->count && status == TAMIS_OK; i++) {
        found *item = &list->entries[i];
        item->entry.name = list->text + item->offset;
        item->entry.name_size = item->size;
        item->entry.target = item->entry.state == TAMIS_REDIS_ALIAS ? list->text + item->target : NULL;
        if (item->is_there)
            status = sink(context, &item->entry, err);
    }
    return status;
}

/* ---- listing ---- */

static tamis_status list_filters(tamis_redis *redis, tamis__redis_uri *uri, tamis_redis_entry_sink sink,
                                 void *context, tamis_error *err) {
    listing list = {.rf = {.redis = redis, .uri = uri}};
    tamis_status status = tamis__redis_uri_check_used(uri, err);
    if (status == TAMIS_OK && uri->name_size > TAMIS__REDIS_NAME)
        status = tamis__fail(err, TAMIS_E_INVALID, 0, "%s: the pattern has %zu bytes; give up to %d",
                             uri->shown, uri->name_size, TAMIS__REDIS_NAME);
    if (status == TAMIS_OK)
        status = scan_forms(&list, err);
    if (status == TAMIS_OK)
        status = report_entries(&list, sink, context, err);
    tamis__free(&redis->allocator, list.entries, list.item_capacity * sizeof *list.entries);
    tamis__free(&redis->allocator, list.text, list.text_capacity);
    return status;
}

tamis_status tamis_redis_list(tamis_redis *redis, const char *pattern, tamis_redis_entry_sink sink,
                              void *context, tamis_error *err) {
    TAMIS__NEED(sink, err);
    const tamis_allocator allocator = tamis__allocator_resolve(redis ? &redis->allocator : NULL);
    tamis__redis_uri uri;
    tamis_status status;
    if (!redis && !pattern)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "redis: neither a server nor a URI to list; give one of them");
    if (redis) {
        status = tamis__redis_uri_parse_name(&uri, pattern ? pattern : "*", &allocator, err);
        if (status == TAMIS_OK)
            status = list_filters(redis, &uri, sink, context, err);
        tamis__redis_uri_release(&uri);
        return status;
    }
    status = tamis__redis_uri_parse(&uri, pattern, &allocator, err);
    if (status != TAMIS_OK) {
        tamis__redis_uri_release(&uri);
        return status;
    }
    status = tamis__redis_create(&redis, &uri, err); /* the URI belongs to the server from now on */
    if (status != TAMIS_OK)
        return status;
    status = list_filters(redis, &redis->uri, sink, context, err);
    tamis_redis_close(redis);
    return status;
}

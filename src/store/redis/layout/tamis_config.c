/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Layout tamis: names of Redis keys, and reading the hash of a filter.
 *
 *     tamis:{NAME}              hash: plan or alias, and fields of writers
 *     tamis:{NAME}:plan         copy of the plan
 *     tamis:{NAME:G:I}:bits     partition I of generation G
 *     tamis:{NAME:G:I}:WHAT     staging string beside it
 *     tamis:{MEMBER:G}:bits     member of a family
 *
 * A cluster computes the slot from the part in braces. So hash and copy (and the lock, tamis_lock.c) share
 * a slot, and the partitions spread over the nodes. Names with braces are refused when a filter is opened.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/redis/layout/layout_tamis.h"

/* ---- names ---- */

static size_t hash_name(const char *name, size_t size, char *to) {
    memcpy(to, "tamis:{", 7);
    memcpy(to + 7, name, size);
    to[7 + size] = '}';
    return 8 + size;
}

size_t tamis__config_name(const tamis__redis_filter *rf, char *to) {
    const tamis__tamis_state *state = tamis__tamis_of(rf);
    return state->target_size > 0 ? hash_name(state->target, state->target_size, to)
                                  : hash_name(rf->uri->name, rf->uri->name_size, to);
}

size_t tamis__alias_name(const tamis__redis_filter *rf, char *to) {
    return hash_name(rf->uri->name, rf->uri->name_size, to);
}

uint32_t tamis__config_slot(const tamis__redis_filter *rf) {
    char name[TAMIS__REDIS_KEY];
    return tamis__redis_slot(rf->redis, name, tamis__config_name(rf, name));
}

size_t tamis__copy_name(const tamis__redis_filter *rf, char *to) {
    const size_t size = tamis__config_name(rf, to);
    memcpy(to + size, ":plan", 5);
    return size + 5;
}

/* Writes "tamis:{NAME:GENERATION:KEY}:WHAT". Without snprintf, which is slow: every command of an element
 * needs a name. */
static size_t string_name(const tamis__partitions *partitions, uint32_t key, const char *what, char *to) {
    char digits[10];
    size_t used = tamis__config_name(partitions->rf, to) - 1, left = sizeof digits;
    to[used++] = ':';
    for (int shift = 60; shift >= 0; shift -= 4)
        to[used++] = "0123456789abcdef"[partitions->generation >> shift & 15];
    to[used++] = ':';
    do
        digits[--left] = (char)('0' + key % 10);
    while (key /= 10);
    while (left < sizeof digits)
        to[used++] = digits[left++];
    to[used++] = '}';
    to[used++] = ':';
    while (*what)
        to[used++] = *what++;
    return used;
}

size_t tamis__partition_name(const tamis__partitions *partitions, uint32_t key, char *to) {
    return string_name(partitions, key, *partitions->staging ? partitions->staging : "bits", to);
}

enum { PREFIX = sizeof "tamis:{" - 1, SUFFIX = sizeof "}:bits" - 1, HEX = 16, NUMBER_MAX = 7 };

/* More than NUMBER_MAX digits at the end are the generation of a member of a family. */
bool tamis__partition_name_read(const char *key, size_t size, size_t *name_end, uint64_t *generation) {
    char hex[HEX + 1] = "";
    size_t end = size - SUFFIX, digits = 0;
    if (size < PREFIX + SUFFIX + HEX + 4)
        return false;
    while (key[end - 1 - digits] >= '0' && key[end - 1 - digits] <= '9')
        digits++;
    end -= digits + 1;
    if (digits == 0 || digits > NUMBER_MAX || key[end] != ':' || end < PREFIX + HEX + 2)
        return false;
    memcpy(hex, key + end - HEX, HEX);
    end -= HEX + 1;
    if (strspn(hex, "0123456789abcdef") != HEX || key[end] != ':')
        return false;
    *generation = strtoull(hex, NULL, 16);
    *name_end = end;
    return true;
}

size_t tamis__member_name(const tamis__redis_filter *rf, char *to) {
    const size_t used = hash_name(rf->name.data, rf->name.size, to) - 1;
    return used + (size_t)snprintf(to + used, TAMIS__REDIS_KEY - used, ":%016" PRIx64 "}:bits",
                                   tamis__tamis_of(rf)->partitions.generation);
}

uint32_t tamis__partition_slot(const tamis__partitions *partitions, uint32_t key) {
    char name[TAMIS__REDIS_KEY];
    return tamis__redis_slot(partitions->rf->redis, name, string_name(partitions, key, "bits", name));
}

/* ---- the config hash ---- */

typedef struct config_query {
    const tamis__redis_filter *rf;
    const char *name; /* name of the hash */
    size_t size;
    tamis__config *to; /* result */
} config_query;

static const char *const fields[] = {"plan", "state", "before", "pushing", "next", "sending", "alias"};

static uint32_t slot_of_query(void *context, size_t i) {
    const config_query *query = context;
    (void)i;
    return tamis__redis_slot(query->rf->redis, query->name, query->size);
}

static bool put_query(void *context, size_t i, tamis__connection *conn) {
    const config_query *query = context;
    (void)i;
    tamis__connection_put_command(conn, 2 + sizeof fields / sizeof *fields);
    tamis__connection_put_text(conn, "HMGET");
    tamis__connection_put(conn, query->name, query->size);
    for (size_t j = 0; j < sizeof fields / sizeof *fields; j++)
        tamis__connection_put_text(conn, fields[j]);
    return true;
}

static tamis_status accept_fields(void *context, size_t i, const tamis__reply *reply, bool resent,
                                  tamis_error *err) {
    const config_query *query = context;
    tamis__config *to = query->to;
    char *const texts[] = {to->plan, to->state, to->before, to->pushing, to->next, to->sending, to->target};
    const size_t sizes[] = {sizeof to->plan, sizeof to->state,   sizeof to->before,    sizeof to->pushing,
                            sizeof to->next, sizeof to->sending, sizeof to->target + 1};
    (void)i;
    (void)resent;
    if (reply->type != TAMIS__REPLY_ARRAY || reply->size != sizeof fields / sizeof *fields)
        return tamis__redis_filter_bad_reply(query->rf, err);
    to->target_size = 0;
    for (size_t j = 0; j < reply->size; j++) {
        const tamis__reply *field = &reply->items[j];
        const bool is_name = texts[j] == to->target;
        *texts[j] = '\0';
        if (field->type == TAMIS__REPLY_NIL)
            continue;
        if (field->type != TAMIS__REPLY_STRING)
            return tamis__redis_filter_bad_reply(query->rf, err);
        if (field->size >= sizes[j])
            return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                               "redis %s: %s: field %s of its hash has %zu bytes, which is too long; restore "
                               "it, or drop the filter and build it again",
                               query->rf->redis->endpoint.shown, query->rf->uri->shown_name, fields[j],
                               field->size);
        memcpy(texts[j], field->text, field->size + !is_name); /* all but the alias with their NUL */
        if (is_name)
            to->target_size = field->size;
    }
    return TAMIS_OK;
}

static tamis_status read_config(const tamis__redis_filter *rf, const char *filter, size_t size,
                                tamis__config *config, tamis_error *err) {
    char name[TAMIS__REDIS_KEY];
    config_query query = {.rf = rf, .name = name, .size = hash_name(filter, size, name), .to = config};
    const tamis__requests requests = {.count = 1,
                                      .context = &query,
                                      .put_command = put_query,
                                      .accept_reply = accept_fields,
                                      .what = rf->uri->shown_name,
                                      .slot = slot_of_query};
    return tamis__requests_run(rf->redis, &requests, NULL, err);
}

tamis_status tamis__config_own(const tamis__redis_filter *rf, tamis__config *config, tamis_error *err) {
    config->target_size = 0;
    return read_config(rf, rf->uri->name, rf->uri->name_size, config, err);
}

tamis_status tamis__config_locked(const tamis__redis_filter *rf, tamis__config *config, tamis_error *err) {
    const tamis__tamis_state *state = tamis__tamis_of(rf);
    config->target_size = 0;
    return state->target_size > 0 ? read_config(rf, state->target, state->target_size, config, err)
                                  : tamis__config_own(rf, config, err);
}

tamis_status tamis__config_find(const tamis__redis_filter *rf, tamis__config *config, tamis_error *err) {
    char target[TAMIS__REDIS_NAME];
    tamis_status status = tamis__config_own(rf, config, err);
    const size_t size = config->target_size;
    if (status != TAMIS_OK || size == 0)
        return status;
    memcpy(target, config->target, size);
    status = read_config(rf, target, size, config, err);
    if (status == TAMIS_OK && config->target_size > 0)
        return tamis__fail(
            err, TAMIS_E_MISMATCH, 0,
            "redis %s: %s: is an alias of another alias; make it an alias of the filter itself",
            rf->redis->endpoint.shown, rf->uri->shown_name);
    memcpy(config->target, target, size);
    config->target_size = size;
    return status;
}

static tamis_status read_copy(const tamis__redis_filter *rf, const char *hash, size_t hash_size,
                              char plan[TAMIS__REDIS_PLAN], tamis_error *err) {
    char name[TAMIS__REDIS_KEY];
    memcpy(name, hash, hash_size);
    memcpy(name + hash_size, ":plan", 5);
    const tamis_key words[] = {tamis__redis_word("GET"), {name, hash_size + 5}};
    tamis__command command = {.redis = rf->redis,
                              .what = rf->uri->shown_name,
                              .slot = tamis__redis_slot(rf->redis, hash, hash_size),
                              .words = words,
                              .count = 2,
                              .to = plan,
                              .buffer_size = TAMIS__REDIS_PLAN - 1};
    const tamis_status status = tamis__command_run(&command, err);
    plan[status == TAMIS_OK ? command.size : 0] = '\0';
    return status;
}

tamis_status tamis__copy_read(const tamis__redis_filter *rf, char plan[TAMIS__REDIS_PLAN], tamis_error *err) {
    char hash[TAMIS__REDIS_KEY];
    return read_copy(rf, hash, tamis__config_name(rf, hash), plan, err);
}

tamis_status tamis__copy_read_of(const tamis__redis_filter *rf, const tamis__config *config,
                                 char plan[TAMIS__REDIS_PLAN], tamis_error *err) {
    char hash[TAMIS__REDIS_KEY];
    const size_t size = config->target_size > 0 ? hash_name(config->target, config->target_size, hash)
                                                : hash_name(rf->uri->name, rf->uri->name_size, hash);
    return read_copy(rf, hash, size, plan, err);
}

tamis_status tamis__plan_read_back(const tamis__redis_filter *rf, char plan[TAMIS__REDIS_PLAN],
                                   tamis_error *err) {
    char name[TAMIS__REDIS_KEY];
    const tamis_key words[] = {
        tamis__redis_word("HGET"), {name, tamis__config_name(rf, name)}, tamis__redis_word("plan")};
    tamis__command command = {.redis = rf->redis,
                              .what = rf->uri->shown_name,
                              .slot = tamis__config_slot(rf),
                              .words = words,
                              .count = 3,
                              .to = plan,
                              .buffer_size = TAMIS__REDIS_PLAN - 1,
                              .waits_for_replicas = true};
    const tamis_status status = tamis__command_run(&command, err);
    plan[status == TAMIS_OK ? command.size : 0] = '\0';
    return status;
}

tamis_key tamis__plan_add_condition(const tamis__redis_filter *rf, tamis__step *step, const char *plan,
                                    char name[TAMIS__REDIS_KEY]) {
    const tamis_key hash = {name, tamis__config_name(rf, name)};
    tamis__step_key(step, hash);
    tamis__step_expect_field(step, hash, "plan", plan);
    return hash;
}

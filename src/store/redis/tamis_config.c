/* SPDX-License-Identifier: BSD-2-Clause */

/* Layout tamis: the names of its Redis keys, and reading the hash of a filter. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/redis/layout_tamis.h"

/* ---- names ---- */

static size_t hash_name(const char *name, size_t size, char *to) {
    memcpy(to, "tamis:{", 7);
    memcpy(to + 7, name, size);
    to[7 + size] = '}';
    return 8 + size;
}

size_t tamis__config_name(const tamis__redis_filter *at, char *to) {
    return at->target_size > 0 ? hash_name(at->target, at->target_size, to)
                               : hash_name(at->uri->name, at->uri->name_size, to);
}

size_t tamis__alias_name(const tamis__redis_filter *at, char *to) {
    return hash_name(at->uri->name, at->uri->name_size, to);
}

uint32_t tamis__config_slot(const tamis__redis_filter *at) {
    char name[TAMIS__REDIS_KEY];
    return tamis__redis_slot(at->redis, name, tamis__config_name(at, name));
}

size_t tamis__copy_name(const tamis__redis_filter *at, char *to) {
    const size_t size = tamis__config_name(at, to);
    memcpy(to + size, ":plan", 5);
    return size + 5;
}

/* Appends ":GENERATION:KEY}:WHAT". Without snprintf, which is slow: every command of an element needs a name. */
static size_t string_name(const tamis__redis_filter *at, uint32_t key, const char *what, char *to) {
    char digits[10];
    size_t used = tamis__config_name(at, to) - 1, left = sizeof digits;
    to[used++] = ':';
    for (int shift = 60; shift >= 0; shift -= 4)
        to[used++] = "0123456789abcdef"[at->generation >> shift & 15];
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

/* A member of a family is one string, named with the family's generation. */
static size_t member_name(const tamis__redis_filter *at, char *to) {
    size_t used = hash_name(at->name.data, at->name.size, to) - 1;
    return used +
           (size_t)snprintf(to + used, TAMIS__REDIS_KEY - used, ":%016" PRIx64 "}:bits", at->generation);
}

size_t tamis__partition_name(const tamis__redis_filter *at, uint32_t key, char *to) {
    return at->is_family ? member_name(at, to) : string_name(at, key, "bits", to);
}

size_t tamis__temp_file_name(const tamis__redis_filter *at, uint32_t key, char *to) {
    return string_name(at, key, *at->aside ? at->aside : "bits", to);
}

/* ---- the config hash ---- */

typedef struct looking {
    const tamis__redis_filter *at;
    const char *name; /* of the hash */
    size_t size;
    tamis__config *to;
} looking;

static const char *const fields[] = {"plan", "state", "before", "pushing", "next", "sending", "alias"};

static uint32_t slot_of_look(void *context, size_t i) {
    const looking *look = context;
    (void)i;
    return tamis__redis_slot(look->at->redis, look->name, look->size);
}

static bool put_look(void *context, size_t i, tamis__link *link) {
    const looking *look = context;
    (void)i;
    tamis__link_command(link, 2 + sizeof fields / sizeof *fields);
    tamis__link_text(link, "HMGET");
    tamis__link_word(link, look->name, look->size);
    for (size_t j = 0; j < sizeof fields / sizeof *fields; j++)
        tamis__link_text(link, fields[j]);
    return true;
}

static tamis_status take_look(void *context, size_t i, const tamis__reply *reply, bool resent,
                              tamis_error *err) {
    const looking *look = context;
    tamis__config *to = look->to;
    char *const texts[] = {to->plan, to->state, to->before, to->pushing, to->next, to->sending, to->target};
    const size_t rooms[] = {sizeof to->plan, sizeof to->state,   sizeof to->before,    sizeof to->pushing,
                            sizeof to->next, sizeof to->sending, sizeof to->target + 1};
    (void)i;
    (void)resent;
    if (reply->type != TAMIS__REPLY_ARRAY || reply->size != sizeof fields / sizeof *fields)
        return tamis__redis_strange(look->at, err);
    to->target_size = 0;
    for (size_t j = 0; j < reply->size; j++) {
        const tamis__reply *field = &reply->items[j];
        bool is_name = texts[j] == to->target;
        *texts[j] = '\0';
        if (field->type == TAMIS__REPLY_NIL)
            continue;
        if (field->type != TAMIS__REPLY_STRING)
            return tamis__redis_strange(look->at, err);
        if (field->size >= rooms[j])
            return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                               "redis %s: %s: field %s of its hash has %zu bytes, which is too long; restore "
                               "it, or drop the filter and build it anew",
                               look->at->redis->to.shown, look->at->uri->named, fields[j], field->size);
        memcpy(texts[j], field->text, field->size + !is_name); /* the others with their NUL */
        if (is_name)
            to->target_size = field->size;
    }
    return TAMIS_OK;
}

static tamis_status read_config(const tamis__redis_filter *at, const char *filter, size_t size,
                                tamis__config *config, tamis_error *err) {
    char name[TAMIS__REDIS_KEY];
    looking look = {at, name, hash_name(filter, size, name), config};
    const tamis__exchange exchange = {.count = 1,
                                      .context = &look,
                                      .ask = put_look,
                                      .take = take_look,
                                      .what = at->uri->named,
                                      .slot = slot_of_look};
    return tamis__redis_run(at->redis, &exchange, NULL, err);
}

tamis_status tamis__config_own(const tamis__redis_filter *at, tamis__config *config, tamis_error *err) {
    config->target_size = 0;
    return read_config(at, at->uri->name, at->uri->name_size, config, err);
}

tamis_status tamis__config_locked(const tamis__redis_filter *at, tamis__config *config, tamis_error *err) {
    config->target_size = 0;
    return at->target_size > 0 ? read_config(at, at->target, at->target_size, config, err)
                               : tamis__config_own(at, config, err);
}

tamis_status tamis__config_find(const tamis__redis_filter *at, tamis__config *config, tamis_error *err) {
    char target[TAMIS__REDIS_NAME];
    tamis_status status = tamis__config_own(at, config, err);
    size_t size = config->target_size;
    if (status != TAMIS_OK || size == 0)
        return status;
    memcpy(target, config->target, size);
    status = read_config(at, target, size, config, err);
    if (status == TAMIS_OK && config->target_size > 0)
        return tamis__fail(
            err, TAMIS_E_MISMATCH, 0,
            "redis %s: %s: is an alias of another alias; make it an alias of the filter itself",
            at->redis->to.shown, at->uri->named);
    memcpy(config->target, target, size);
    config->target_size = size;
    return status;
}

tamis_status tamis__copy_read(tamis__redis_filter *at, char plan[TAMIS__REDIS_PLAN], tamis_error *err) {
    char name[TAMIS__REDIS_KEY];
    size_t size;
    const tamis_key words[] = {tamis__redis_word("GET"), {name, tamis__copy_name(at, name)}};
    tamis_status status =
        tamis__redis_get_in(at, tamis__config_slot(at), words, 2, plan, TAMIS__REDIS_PLAN - 1, &size, err);
    plan[status == TAMIS_OK ? size : 0] = '\0';
    return status;
}

tamis_status tamis__plan_read_back(const tamis__redis_filter *at, char plan[TAMIS__REDIS_PLAN],
                                   tamis_error *err) {
    char name[TAMIS__REDIS_KEY];
    const tamis_key words[] = {
        tamis__redis_word("HGET"), {name, tamis__config_name(at, name)}, tamis__redis_word("plan")};
    tamis__command one = {.redis = at->redis,
                          .what = at->uri->named,
                          .slot = tamis__config_slot(at),
                          .words = words,
                          .count = 3,
                          .to = plan,
                          .room = TAMIS__REDIS_PLAN - 1,
                          .is_replicated = true};
    tamis_status status = tamis__redis_do(&one, err);
    plan[status == TAMIS_OK ? one.size : 0] = '\0';
    return status;
}

tamis_key tamis__plan_guard(const tamis__redis_filter *at, tamis__step *step, const char *plan,
                            char name[TAMIS__REDIS_KEY]) {
    const tamis_key hash = {name, tamis__config_name(at, name)};
    tamis__step_key(step, hash);
    tamis__step_expect_field(step, hash, "plan", plan);
    return hash;
}

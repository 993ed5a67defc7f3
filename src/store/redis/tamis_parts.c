/* SPDX-License-Identifier: BSD-2-Clause */

/* Layout tamis: its Redis keys and what is done with each of them. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/system.h"
#include "store/redis/layout_tamis.h"
#include "store/trouble.h"

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

/* ":GENERATION:KEY}:WHAT" behind it. By hand: every command of an element has it. */
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

/* A member of a family has one, of the family's generation. */
static size_t member_name(const tamis__redis_filter *at, char *to) {
    size_t used = hash_name(at->name.data, at->name.size, to) - 1;
    return used +
           (size_t)snprintf(to + used, TAMIS__REDIS_KEY - used, ":%016" PRIx64 "}:bits", at->generation);
}

size_t tamis__partition_name(const tamis__redis_filter *at, uint32_t key, char *to) {
    return at->is_family ? member_name(at, to) : string_name(at, key, "bits", to);
}

size_t tamis__aside_name(const tamis__redis_filter *at, uint32_t key, char *to) {
    return string_name(at, key, *at->aside ? at->aside : "bits", to);
}

/* ---- the config hash ---- */

typedef struct looking {
    const tamis__redis_filter *at;
    const char *name; /* of the hash */
    size_t size;
    tamis__config *to;
} looking;

static const char *const fields[] = {"plan", "state", "before", "pushing", "next", "alias"};

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
    char *const texts[] = {to->plan, to->state, to->before, to->pushing, to->next, to->target};
    const size_t rooms[] = {sizeof to->plan,    sizeof to->state, sizeof to->before,
                            sizeof to->pushing, sizeof to->next,  sizeof to->target + 1};
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
                               "redis %s: %s: field %s of its hash has %zu bytes, more than it may; restore "
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
            "redis %s: %s: is an alias of what is an alias itself; let it stand for the filter",
            at->redis->to.shown, at->uri->named);
    memcpy(config->target, target, size);
    config->target_size = size;
    return status;
}

/* ---- partitions ---- */

uint64_t tamis__blocks_of(const tamis_filter *filter) {
    return filter->plan.bits / (8 * TAMIS__REDIS_BLOCK);
}

uint64_t tamis__blocks_in(const tamis_filter *filter, uint32_t key) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    uint64_t before = key * at->partition, left = tamis__blocks_of(filter) - before;
    return left < at->partition ? left : at->partition;
}

void tamis__partitions_set(tamis_filter *filter, uint64_t blocks_each) {
    tamis__redis_filter *at = tamis__redis_of(filter);
    at->partition = blocks_each;
    at->keys = (uint32_t)((tamis__blocks_of(filter) - 1) / blocks_each + 1);
}

static void write_footer(const tamis__redis_filter *at, uint32_t key, char to[TAMIS__REDIS_BLOCK]) {
    memset(to, 0, TAMIS__REDIS_BLOCK);
    snprintf(to, TAMIS__REDIS_BLOCK, "tamis-footer 1 %016" PRIx64 " %" PRIu32, at->generation, key);
    if (*at->aside)
        to[0] = '\0'; /* a part of the bits of the partition's own: see redis_unite.c */
}

void tamis__footer_ask(const tamis_filter *filter, uint32_t key, tamis__link *link) {
    char name[TAMIS__REDIS_KEY];
    const int64_t end = (int64_t)(tamis__blocks_in(filter, key) * TAMIS__REDIS_BLOCK);
    size_t size = tamis__aside_name(tamis__redis_of(filter), key, name);
    tamis__link_command(link, 4);
    tamis__link_text(link, "GETRANGE");
    tamis__link_word(link, name, size);
    tamis__link_number(link, end);
    tamis__link_number(link, end + TAMIS__REDIS_BLOCK - 1);
}

bool tamis__footer_is(const tamis__redis_filter *at, uint32_t key, const tamis__reply *reply) {
    char footer[TAMIS__REDIS_BLOCK];
    write_footer(at, key, footer);
    return reply->type == TAMIS__REPLY_STRING && reply->size == sizeof footer &&
           memcmp(reply->text, footer, sizeof footer) == 0;
}

tamis_status tamis__generation_new(tamis__redis_filter *at, tamis_error *err) {
    return tamis__random(&at->generation, sizeof at->generation, at->uri->shown, err);
}

/* A server makes or frees 64 MiB in tens of milliseconds, and does nothing else meanwhile: so no more of them are on their
 * way at once, and others have their turns between. */
enum { ROUND = 64 << 20 };

/* Partitions, or strings of others' layouts, round by round: what is said of them comes behind this. */
typedef struct rounds {
    const tamis__redis_filter *at;
    size_t first; /* of the round */
    size_t done;
} rounds;

static tamis_status take_number(void *context, size_t i, const tamis__reply *reply, bool resent,
                                tamis_error *err) {
    rounds *all = context;
    (void)i;
    (void)resent;
    all->done++;
    return reply->type == TAMIS__REPLY_INTEGER ? TAMIS_OK : tamis__redis_strange(all->at, err);
}

static uint32_t slot_of_key(void *context, size_t i) {
    const rounds *all = context;
    return tamis__redis_key_slot(all->at, all->first + i);
}

/* All `count` of them, `most` at once. */
static tamis_status run_rounds(rounds *all, size_t count, size_t most,
                               bool (*ask)(void *context, size_t i, tamis__link *link), tamis_error *err) {
    tamis__exchange exchange = {
        .context = all, .ask = ask, .take = take_number, .what = all->at->uri->named, .slot = slot_of_key};
    tamis_status status = TAMIS_OK;
    for (all->first = 0; all->first < count && status == TAMIS_OK; all->first += most) {
        exchange.count = count - all->first < most ? count - all->first : most;
        status = tamis__redis_run(all->at->redis, &exchange, NULL, err);
    }
    return status;
}

static size_t round_of(uint64_t partition) {
    const uint64_t size = (partition + 1) * TAMIS__REDIS_BLOCK;
    return size < ROUND ? (size_t)(ROUND / size) : 1;
}

typedef struct making {
    rounds all; /* first */
    const tamis_filter *filter;
} making;

static bool put_partition(void *context, size_t i, tamis__link *link) {
    const making *make = context;
    const uint32_t key = (uint32_t)(make->all.first + i);
    char name[TAMIS__REDIS_KEY], footer[TAMIS__REDIS_BLOCK];
    size_t size = tamis__aside_name(make->all.at, key, name);
    write_footer(make->all.at, key, footer);
    tamis__link_command(link, 4);
    tamis__link_text(link, "SETRANGE");
    tamis__link_word(link, name, size);
    tamis__link_number(link, (int64_t)(tamis__blocks_in(make->filter, key) * TAMIS__REDIS_BLOCK));
    tamis__link_word(link, footer, sizeof footer);
    return true;
}

tamis_status tamis__partitions_make(tamis_filter *filter, tamis_error *err) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    making make = {{at, 0, 0}, filter};
    tamis_status status = run_rounds(&make.all, at->keys, round_of(at->partition), put_partition, err);
    if (status == TAMIS_E_TIMEOUT)
        return tamis__fail(
            err, status, ETIMEDOUT,
            "redis %s: %s: did not answer in time: making it takes %" PRIu64 " MiB there, and %zu of %" PRIu32
            " partitions are there for certain; run again, or drop it",
            at->redis->to.shown, at->uri->named, (tamis__blocks_of(filter) * TAMIS__REDIS_BLOCK >> 20) + 1,
            make.all.done, at->keys);
    return status;
}

static bool put_footer(void *context, size_t i, tamis__link *link) {
    const making *make = context;
    tamis__footer_ask(make->filter, (uint32_t)i, link);
    return true;
}

static tamis_status take_footer(void *context, size_t i, const tamis__reply *reply, bool resent,
                                tamis_error *err) {
    const making *make = context;
    (void)resent;
    if (tamis__footer_is(make->all.at, (uint32_t)i, reply))
        return TAMIS_OK;
    return tamis__fail(
        err, TAMIS_E_IO, 0,
        "redis %s: %s: partition %zu was lost on the way (evicted, deleted, or a failover); see "
        "to it that it has the memory, and do it again",
        make->all.at->redis->to.shown, make->all.at->uri->named, i);
}

tamis_status tamis__footers_check(const tamis_filter *filter, tamis_error *err) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    making make = {{at, 0, 0}, filter};
    const tamis__exchange exchange = {.count = at->keys,
                                      .context = &make,
                                      .ask = put_footer,
                                      .take = take_footer,
                                      .what = at->uri->named,
                                      .slot = slot_of_key};
    return tamis__redis_run(at->redis, &exchange, NULL, err);
}

void tamis__state_write(const tamis__redis_filter *at, char to[TAMIS__REDIS_STATE]) {
    snprintf(to, TAMIS__REDIS_STATE, "ready %016" PRIx64, at->generation);
}

/* ---- expiry ---- */

typedef struct expiring {
    rounds all; /* first */
    const bool *of;
    int64_t ms;
} expiring;

static bool put_expiry(void *context, size_t i, tamis__link *link) {
    const expiring *all = context;
    const tamis__redis_filter *at = all->all.at;
    const size_t number = all->all.first + i;
    char name[TAMIS__REDIS_KEY];
    if (all->of && !all->of[number])
        return false;
    const uint32_t key = (uint32_t)(number % at->keys);
    size_t size = *at->aside ? tamis__aside_name(at, key, name) : at->layout->key_name(at, key, name);
    if (all->ms >= 0) {
        tamis__link_expire(link, name, size, (uint64_t)all->ms);
        return true;
    }
    tamis__link_command(link, 2);
    tamis__link_text(link, tamis__redis_unlink(at->redis));
    tamis__link_word(link, name, size);
    return true;
}

tamis_status tamis__partitions_expire(const tamis__redis_filter *at, const bool *of, int64_t ms,
                                      tamis_error *err) {
    expiring all = {{at, 0, 0}, of, ms};
    const size_t count = tamis__redis_all_keys(at);
    const bool removes = ms < 0 && at->layout == &tamis__layout_tamis;
    return run_rounds(&all.all, count, removes ? round_of(at->partition) : count, put_expiry, err);
}

tamis_status tamis__told_expire(const tamis__redis_filter *at, const char *text, int64_t ms,
                                tamis_error *err) {
    tamis__redis_filter old = *at;
    tamis__told plan;
    if (tamis__told_read(at, text, &plan, NULL) != TAMIS_OK)
        return TAMIS_OK;
    old.generation = plan.generation;
    old.partition = plan.partition;
    old.keys = (uint32_t)((plan.bits / (8 * TAMIS__REDIS_BLOCK) - 1) / plan.partition + 1);
    return tamis__partitions_expire(&old, NULL, ms, err);
}

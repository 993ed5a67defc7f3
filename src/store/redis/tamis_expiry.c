/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Expiry of partitions of layout tamis.
 *
 * Partitions of a generation that no plan names, or will ever name again, may be expired or removed by any program, any
 * number of times. Partitions in use need more care: if two writers set their expiry, the later writer must win, whichever
 * command arrives last. So each partition has a stamp of its last writer behind the footer. A writer reads the stamp and
 * confirms that it still holds the lock. Then one step writes the expiry and the writer's own stamp, if the stamp is still
 * the one that was read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/redis/layout_tamis.h"

static tamis_status check_integer(void *context, size_t i, const tamis__reply *reply, bool resent,
                                  tamis_error *err) {
    tamis__rounds *all = context;
    (void)i;
    (void)resent;
    all->done++;
    return reply->type == TAMIS__REPLY_INTEGER ? TAMIS_OK : tamis__redis_strange(all->at, err);
}

/* ---- expiry ---- */

typedef struct expiry_rounds {
    tamis__rounds all; /* first */
    const bool *of;
    int64_t ms;
} expiry_rounds;

static bool put_expiry(void *context, size_t i, tamis__link *link) {
    const expiry_rounds *all = context;
    const tamis__redis_filter *at = all->all.at;
    const size_t number = all->all.first + i;
    char name[TAMIS__REDIS_KEY];
    if (all->of && !all->of[number])
        return false;
    const uint32_t key = (uint32_t)(number % at->keys);
    size_t size = *at->aside ? tamis__temp_file_name(at, key, name) : at->layout->key_name(at, key, name);
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
    expiry_rounds all = {{at, 0, 0, check_integer, false}, of, ms};
    const size_t count = tamis__redis_all_keys(at);
    const bool removes = ms < 0 && at->layout == &tamis__layout_tamis;
    return tamis__rounds_run(&all.all, count, removes ? tamis__round_of(at->partition) : count, put_expiry,
                             err);
}

/* ---- of partitions in use ---- */
enum { STAMP = TAMIS__STAMP, STAMP_TRIES = 4 };

typedef struct stamp {
    char bytes[STAMP];
    uint8_t size; /* 0: the string ends before it */
} stamp;

typedef struct stamp_rounds {
    tamis__rounds all; /* first */
    const tamis_filter *filter;
    const char *plan; /* plan that the hash must have; NULL: not switched to yet */
    uint64_t ms;
    char mine[STAMP + 1];
    stamp *there; /* stamp read from each partition */
    size_t left;  /* partitions without this writer's stamp */
} stamp_rounds;

/* Stamp of a generation that no plan names any more. */
static const char retired[STAMP + 1] = "retired retired ";

static bool is_ours(const stamp_rounds *all, const stamp *one) {
    return one->size == STAMP && memcmp(one->bytes, all->mine, STAMP) == 0;
}

/* Offsets of the first and last byte of the stamp. */
static void write_stamp_range(const tamis_filter *filter, size_t key, char from[24], char to[24]) {
    const uint64_t at = (tamis__blocks_in(filter, (uint32_t)key) + 1) * TAMIS__REDIS_BLOCK;
    snprintf(from, 24, "%" PRIu64, at);
    snprintf(to, 24, "%" PRIu64, at + STAMP - 1);
}

static bool put_stamp(void *context, size_t i, tamis__link *link) {
    const stamp_rounds *all = context;
    char from[24], to[24], digits[24];
    tamis__partition_room room;
    tamis__step step = {.key_count = 0};
    if (is_ours(all, &all->there[i]))
        return false;
    const tamis_key name = tamis__partition_guard(all->filter, (uint32_t)i, &step, &room);
    write_stamp_range(all->filter, i, from, to);
    tamis__step_expect(
        &step, tamis__word_of(all->there[i].bytes, all->there[i].size),
        TAMIS__WORDS(tamis__redis_word("GETRANGE"), name, tamis__redis_word(from), tamis__redis_word(to)));
    tamis__step_write(&step, TAMIS__WORDS(tamis__redis_word("SETRANGE"), name, tamis__redis_word(from),
                                          tamis__word_of(all->mine, STAMP)));
    tamis__step_expire(&step, name, all->ms, digits);
    tamis__step_put(&step, link);
    return true;
}

static bool put_read(void *context, size_t i, tamis__link *link) {
    const stamp_rounds *all = context;
    char name[TAMIS__REDIS_KEY], from[24], to[24];
    write_stamp_range(all->filter, i, from, to);
    tamis__link_command(link, 4);
    tamis__link_text(link, "GETRANGE");
    tamis__link_word(link, name, tamis__partition_name(all->all.at, (uint32_t)i, name));
    tamis__link_text(link, from);
    tamis__link_text(link, to);
    return true;
}

static tamis_status take_stamp(void *context, size_t i, const tamis__reply *reply, bool resent,
                               tamis_error *err) {
    stamp_rounds *all = context;
    (void)resent;
    if (reply->type != TAMIS__REPLY_STRING || reply->size > STAMP)
        return tamis__redis_strange(all->all.at, err);
    all->there[i].size = (uint8_t)reply->size;
    memcpy(all->there[i].bytes, reply->text, reply->size);
    if (reply->size == STAMP && memcmp(reply->text, retired, STAMP) == 0)
        return tamis__lock_lost(all->all.at, err);
    all->left += !is_ours(all, &all->there[i]);
    return TAMIS_OK;
}

static tamis_status stamp_all(stamp_rounds *all, tamis_error *err) {
    const tamis__redis_filter *at = all->all.at;
    tamis_status status = TAMIS_OK;
    for (int i = 0; i < STAMP_TRIES && status == TAMIS_OK; i++) {
        all->left = 0;
        all->all.take = take_stamp;
        all->all.is_steps = false;
        status = tamis__rounds_run(&all->all, at->keys, at->keys, put_read, err);
        if (status != TAMIS_OK || all->left == 0)
            return status;
        if (all->plan)
            status = tamis__change_confirm(at, all->plan, err);
        all->all.take = check_integer;
        all->all.is_steps = true;
        if (status == TAMIS_OK)
            status = tamis__rounds_run(&all->all, at->keys, at->keys, put_stamp, err);
    }
    if (status == TAMIS_OK)
        status = tamis__footers_check(all->filter, err); /* reports a partition that is gone */
    return status == TAMIS_OK ? tamis__lock_busy(at, err) : status;
}

/* False for the largest partitions of layout 1, which leave no space for a stamp. */
static bool has_stamps(const tamis__redis_filter *at) {
    return at->partition <= TAMIS__PARTITION_BLOCKS;
}

tamis_status tamis__partitions_set_expiry(const tamis_filter *filter, const char *plan, uint64_t ms,
                                          tamis_error *err) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    if (!has_stamps(at))
        return tamis__partitions_expire(at, NULL, (int64_t)ms, err);
    stamp_rounds all = {.all = {.at = at}, .filter = filter, .plan = plan, .ms = ms};
    uint64_t random;
    tamis_status status = tamis__random(&random, sizeof random, at->uri->shown, err);
    if (status != TAMIS_OK)
        return status;
    snprintf(all.mine, sizeof all.mine, "%016" PRIx64, random);
    all.there = tamis__alloc(&filter->allocator, at->keys * sizeof *all.there, _Alignof(stamp));
    if (!all.there)
        return tamis__fail_nomem(err, "redis", at->keys * sizeof *all.there);
    status = stamp_all(&all, err);
    tamis__free(&filter->allocator, all.there, at->keys * sizeof *all.there);
    return status;
}

/* Guard: the partition has a mark of its generation, whichever number the mark has. Once it is sealed, a late step must not
 * touch the expiry that its writers have given it since. */
static tamis_key guard_filling(const tamis_filter *filter, uint32_t key, tamis__step *step,
                               tamis__partition_room *room) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    const uint64_t end = tamis__blocks_in(filter, key) * TAMIS__REDIS_BLOCK;
    const tamis_key name = {room->name, tamis__partition_name(at, key, room->name)};
    const int size = snprintf(room->footer, sizeof room->footer,
                              "tamis-filling 2 %016" PRIx64 " %" PRIu32 " ", at->generation, key);
    snprintf(room->from, sizeof room->from, "%" PRIu64, end);
    snprintf(room->to, sizeof room->to, "%" PRIu64, end + (uint64_t)size - 1);
    tamis__step_key(step, name);
    tamis__step_expect(step, tamis__word_of(room->footer, (size_t)size),
                       TAMIS__WORDS(tamis__redis_word("GETRANGE"), name, tamis__redis_word(room->from),
                                    tamis__redis_word(room->to)));
    return name;
}

void tamis__partition_put_renewal(const tamis_filter *filter, uint32_t key, tamis__link *link) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    char digits[24];
    tamis__partition_room room;
    tamis__step step = {.key_count = 0};
    const tamis_key name = at->is_next ? guard_filling(filter, key, &step, &room)
                                       : tamis__partition_guard(filter, key, &step, &room);
    if (at->redis->forbids_scripts) {
        tamis__link_expire(link, name.data, name.size, at->ttl_ms);
        return;
    }
    tamis__step_expire(&step, name, at->ttl_ms, digits);
    tamis__step_put(&step, link);
}

/* ---- partitions of another plan than the handle's ---- */

/* Marks a partition as retired: no writer, and no late command, changes its expiry after that. */
static bool put_retirement(void *context, size_t i, tamis__link *link) {
    const stamp_rounds *all = context;
    char from[24], to[24];
    tamis__partition_room room;
    tamis__step step = {.key_count = 0};
    const tamis_key name = tamis__partition_guard(all->filter, (uint32_t)i, &step, &room);
    write_stamp_range(all->filter, i, from, to);
    tamis__step_write(&step, TAMIS__WORDS(tamis__redis_word("SETRANGE"), name, tamis__redis_word(from),
                                          tamis__word_of(all->mine, STAMP)));
    tamis__step_put(&step, link);
    return true;
}

static tamis_status put_off_others(const tamis_filter *filter, tamis_error *err) {
    const tamis__redis_filter *at = tamis__redis_of(filter);
    stamp_rounds all = {.all = {.at = at, .take = check_integer, .is_steps = true}, .filter = filter};
    memcpy(all.mine, retired, sizeof retired);
    return tamis__rounds_run(&all.all, at->keys, at->keys, put_retirement, err);
}

tamis_status tamis__told_expire(const tamis__redis_filter *at, const char *text, int64_t ms,
                                tamis_error *err) {
    tamis__redis_filter old = *at;
    tamis_filter filter = {.body = &old};
    tamis__told plan;
    if (tamis__told_parse(at, "plan", text, &plan, NULL) != TAMIS_OK || plan.is_family)
        return TAMIS_OK;
    old.generation = plan.generation;
    old.fills = NULL;
    filter.plan.bits = plan.bits;
    tamis__partitions_set(&filter, plan.partition);
    tamis_status status = ms > 0 && has_stamps(&old) ? put_off_others(&filter, err) : TAMIS_OK;
    return status == TAMIS_OK ? tamis__partitions_expire(&old, NULL, ms, err) : status;
}

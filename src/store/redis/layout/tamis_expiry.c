/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Layout tamis: expiry of partitions.
 *
 * Partitions that no plan names or will ever name again may be expired or removed by any program, any
 * number of times.
 *
 * Partitions in use need more care: if two writers set their expiry, the later writer must win, whichever
 * command arrives last. So each partition has behind its footer the stamp of the writer that set its
 * expiry last:
 *
 *     | blocks | footer, 64 bytes | stamp, 16 bytes | ...
 *
 *     1 read       the stamp s of each partition; done if all are the writer's own
 *     2 confirm    the writer still holds the lock, and the plan is the same
 *     3 write      step: footer in place, stamp = s -> own stamp, PEXPIRE or PERSIST; back to 1
 *
 * Why the later writer wins: once it has written its stamp, the stamp that the earlier writer read is
 * gone. A late write (3) of the earlier one then does nothing. If the earlier writer reads the new stamp, its
 * confirmation (2) fails: it has lost the lock.
 *
 * The stamp "retired retired " marks partitions of a plan that was replaced. A writer that reads it gives up.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/redis/layout/layout_tamis.h"

static tamis_status check_integer(void *context, size_t i, const tamis__reply *reply, bool resent,
                                  tamis_error *err) {
    tamis__rounds *ctx = context;
    (void)i;
    (void)resent;
    ctx->done++;
    return reply->type == TAMIS__REPLY_INTEGER ? TAMIS_OK
                                               : tamis__redis_filter_bad_reply(ctx->partitions->rf, err);
}

/* ---- partitions that no plan names ---- */

typedef struct expiry_rounds {
    tamis__rounds rounds; /* first member */
    const bool *selected; /* partitions to change; NULL: all */
    int64_t ms;           /* new expiry; 0: none; negative: remove the partition */
} expiry_rounds;

static bool put_expiry(void *context, size_t i, tamis__connection *conn) {
    const expiry_rounds *ctx = context;
    const tamis__partitions *partitions = ctx->rounds.partitions;
    const size_t number = ctx->rounds.first + i;
    char name[TAMIS__REDIS_KEY];
    if (ctx->selected && !ctx->selected[number])
        return false;
    const size_t size = tamis__partition_name(partitions, (uint32_t)number, name);
    if (ctx->ms >= 0) {
        tamis__connection_put_expire(conn, name, size, (uint64_t)ctx->ms);
        return true;
    }
    tamis__connection_put_command(conn, 2);
    tamis__connection_put_text(conn, tamis__redis_unlink(partitions->rf->redis));
    tamis__connection_put(conn, name, size);
    return true;
}

tamis_status tamis__partitions_expire(const tamis__partitions *partitions, const bool *selected, int64_t ms,
                                      tamis_error *err) {
    expiry_rounds ctx = {
        .rounds = {.partitions = partitions, .accept_reply = check_integer}, .selected = selected, .ms = ms};
    return tamis__rounds_run(&ctx.rounds, ms < 0 ? tamis__round_size(partitions) : partitions->count,
                             put_expiry, err);
}

typedef struct unsealed_rounds {
    tamis__rounds rounds; /* first member */
    const bool *selected;
    bool *unsealed; /* result: selected partitions without a footer */
} unsealed_rounds;

static bool put_footer_query(void *context, size_t i, tamis__connection *conn) {
    const unsealed_rounds *ctx = context;
    if (!ctx->selected[i])
        return false;
    tamis__footer_put_query(ctx->rounds.partitions, (uint32_t)i, conn);
    return true;
}

static tamis_status accept_footer(void *context, size_t i, const tamis__reply *reply, bool resent,
                                  tamis_error *err) {
    const unsealed_rounds *ctx = context;
    (void)resent;
    if (reply->type != TAMIS__REPLY_STRING)
        return tamis__redis_filter_bad_reply(ctx->rounds.partitions->rf, err);
    ctx->unsealed[i] = !tamis__footer_matches(ctx->rounds.partitions, (uint32_t)i, reply);
    return TAMIS_OK;
}

tamis_status tamis__partitions_expire_unsealed(const tamis__partitions *partitions, const bool *selected,
                                               int64_t ms, tamis_error *err) {
    const tamis_allocator *allocator = &partitions->rf->redis->allocator;
    bool *unsealed = tamis__alloc(allocator, partitions->count, 1);
    if (!unsealed)
        return tamis__fail_nomem(err, "redis", partitions->count);
    memset(unsealed, 0, partitions->count);
    unsealed_rounds ctx = {.rounds = {.partitions = partitions, .accept_reply = accept_footer},
                           .selected = selected,
                           .unsealed = unsealed};
    tamis_status status = tamis__rounds_run(&ctx.rounds, partitions->count, put_footer_query, err);
    if (status == TAMIS_OK)
        status = tamis__partitions_expire(partitions, unsealed, ms, err);
    tamis__free(allocator, unsealed, partitions->count);
    return status;
}

/* ---- partitions in use ---- */

enum { STAMP = TAMIS__STAMP, STAMP_TRIES = 4 };

typedef struct stamp {
    char bytes[STAMP];
    uint8_t size; /* 0: the string ends before the stamp */
} stamp;

typedef struct stamp_rounds {
    tamis__rounds rounds; /* first member */
    const char *plan; /* plan that the hash must have; NULL: the plan of these partitions is not in use yet */
    uint64_t ms;      /* new expiry; 0: none */
    char own_stamp[STAMP + 1];
    stamp *there;     /* stamp read from each partition */
    size_t unstamped; /* partitions without this writer's stamp */
} stamp_rounds;

/* Stamp of a generation that no plan names any more. */
static const char retired[STAMP + 1] = "retired retired ";

static bool is_ours(const stamp_rounds *ctx, const stamp *found) {
    return found->size == STAMP && memcmp(found->bytes, ctx->own_stamp, STAMP) == 0;
}

/* Offsets of the first and last byte of the stamp. */
static void write_stamp_range(const tamis__partitions *partitions, size_t key, char from[24], char to[24]) {
    const uint64_t offset = (tamis__blocks_in(partitions, (uint32_t)key) + 1) * TAMIS__REDIS_BLOCK;
    snprintf(from, 24, "%" PRIu64, offset);
    snprintf(to, 24, "%" PRIu64, offset + STAMP - 1);
}

static bool put_stamp(void *context, size_t i, tamis__connection *conn) {
    const stamp_rounds *ctx = context;
    char from[24], to[24], digits[24];
    tamis__partition_buffers buffers;
    tamis__step step = {.key_count = 0};
    if (is_ours(ctx, &ctx->there[i]))
        return false;
    const tamis_key name =
        tamis__partition_add_condition(ctx->rounds.partitions, (uint32_t)i, &step, &buffers);
    write_stamp_range(ctx->rounds.partitions, i, from, to);
    tamis__step_expect(
        &step, tamis__word_of(ctx->there[i].bytes, ctx->there[i].size),
        TAMIS__WORDS(tamis__redis_word("GETRANGE"), name, tamis__redis_word(from), tamis__redis_word(to)));
    tamis__step_write(&step, TAMIS__WORDS(tamis__redis_word("SETRANGE"), name, tamis__redis_word(from),
                                          tamis__word_of(ctx->own_stamp, STAMP)));
    tamis__step_expire(&step, name, ctx->ms, digits);
    tamis__step_put(&step, conn);
    return true;
}

static bool put_read(void *context, size_t i, tamis__connection *conn) {
    const stamp_rounds *ctx = context;
    char name[TAMIS__REDIS_KEY], from[24], to[24];
    write_stamp_range(ctx->rounds.partitions, i, from, to);
    tamis__connection_put_command(conn, 4);
    tamis__connection_put_text(conn, "GETRANGE");
    tamis__connection_put(conn, name, tamis__partition_name(ctx->rounds.partitions, (uint32_t)i, name));
    tamis__connection_put_text(conn, from);
    tamis__connection_put_text(conn, to);
    return true;
}

static tamis_status accept_stamp(void *context, size_t i, const tamis__reply *reply, bool resent,
                                 tamis_error *err) {
    stamp_rounds *ctx = context;
    (void)resent;
    if (reply->type != TAMIS__REPLY_STRING || reply->size > STAMP)
        return tamis__redis_filter_bad_reply(ctx->rounds.partitions->rf, err);
    ctx->there[i].size = (uint8_t)reply->size;
    memcpy(ctx->there[i].bytes, reply->text, reply->size);
    if (reply->size == STAMP && memcmp(reply->text, retired, STAMP) == 0)
        return tamis__lock_lost(ctx->rounds.partitions->rf, err);
    ctx->unstamped += !is_ours(ctx, &ctx->there[i]);
    return TAMIS_OK;
}

static tamis_status stamp_all(stamp_rounds *ctx, tamis_error *err) {
    const tamis__partitions *partitions = ctx->rounds.partitions;
    tamis_status status = TAMIS_OK;
    for (int i = 0; i < STAMP_TRIES && status == TAMIS_OK; i++) {
        ctx->unstamped = 0;
        ctx->rounds.accept_reply = accept_stamp;
        ctx->rounds.is_steps = false;
        status = tamis__rounds_run(&ctx->rounds, partitions->count, put_read, err);
        if (status != TAMIS_OK || ctx->unstamped == 0)
            return status;
        if (ctx->plan)
            status = tamis__change_confirm(partitions->rf, ctx->plan, err);
        ctx->rounds.accept_reply = check_integer;
        ctx->rounds.is_steps = true;
        if (status == TAMIS_OK)
            status = tamis__rounds_run(&ctx->rounds, partitions->count, put_stamp, err);
    }
    if (status == TAMIS_OK)
        status = tamis__footers_check(partitions, err); /* reports a partition that is gone */
    return status == TAMIS_OK ? tamis__lock_busy(partitions->rf, err) : status;
}

/* False for the largest partitions of layout 1, which leave no space for a stamp. */
static bool has_stamps(const tamis__partitions *partitions) {
    return partitions->each <= TAMIS__PARTITION_BLOCKS;
}

tamis_status tamis__partitions_set_expiry(const tamis__partitions *partitions, const char *plan, uint64_t ms,
                                          tamis_error *err) {
    const tamis__redis_filter *rf = partitions->rf;
    const size_t size = partitions->count * sizeof(stamp);
    if (!has_stamps(partitions))
        return tamis__partitions_expire(partitions, NULL, (int64_t)ms, err);
    stamp_rounds ctx = {.rounds = {.partitions = partitions}, .plan = plan, .ms = ms};
    uint64_t random;
    tamis_status status = tamis__random(&random, sizeof random, rf->uri->shown, err);
    if (status != TAMIS_OK)
        return status;
    snprintf(ctx.own_stamp, sizeof ctx.own_stamp, "%016" PRIx64, random);
    ctx.there = tamis__alloc(&rf->redis->allocator, size, _Alignof(stamp));
    if (!ctx.there)
        return tamis__fail_nomem(err, "redis", size);
    status = stamp_all(&ctx, err);
    tamis__free(&rf->redis->allocator, ctx.there, size);
    return status;
}

/* Condition: the partition has a mark of its generation, with any number. After the seal a late step must not
 * change the expiry that writers have set since. */
static tamis_key add_filling_condition(const tamis__partitions *partitions, uint32_t key, tamis__step *step,
                                       tamis__partition_buffers *buffers) {
    const uint64_t end = tamis__blocks_in(partitions, key) * TAMIS__REDIS_BLOCK;
    const tamis_key name = {buffers->name, tamis__partition_name(partitions, key, buffers->name)};
    const int size = snprintf(buffers->footer, sizeof buffers->footer,
                              "tamis-filling 2 %016" PRIx64 " %" PRIu32 " ", partitions->generation, key);
    snprintf(buffers->from, sizeof buffers->from, "%" PRIu64, end);
    snprintf(buffers->to, sizeof buffers->to, "%" PRIu64, end + (uint64_t)size - 1);
    tamis__step_key(step, name);
    tamis__step_expect(step, tamis__word_of(buffers->footer, (size_t)size),
                       TAMIS__WORDS(tamis__redis_word("GETRANGE"), name, tamis__redis_word(buffers->from),
                                    tamis__redis_word(buffers->to)));
    return name;
}

void tamis__partition_put_renewal(const tamis__partitions *partitions, uint32_t key, bool is_filling,
                                  uint64_t ms, tamis__connection *conn) {
    char digits[24];
    tamis__partition_buffers buffers;
    tamis__step step = {.key_count = 0};
    const tamis_key name = is_filling ? add_filling_condition(partitions, key, &step, &buffers)
                                      : tamis__partition_add_condition(partitions, key, &step, &buffers);
    if (partitions->rf->redis->forbids_scripts) {
        tamis__connection_put_expire(conn, name.data, name.size, ms);
        return;
    }
    tamis__step_expire(&step, name, ms, digits);
    tamis__step_put(&step, conn);
}

/* ---- partitions of another plan than the handle's ---- */

/* Writes the retired stamp: no writer and no late command changes the expiry of the partition after that. */
static bool put_retirement(void *context, size_t i, tamis__connection *conn) {
    const stamp_rounds *ctx = context;
    char from[24], to[24];
    tamis__partition_buffers buffers;
    tamis__step step = {.key_count = 0};
    const tamis_key name =
        tamis__partition_add_condition(ctx->rounds.partitions, (uint32_t)i, &step, &buffers);
    write_stamp_range(ctx->rounds.partitions, i, from, to);
    tamis__step_write(&step, TAMIS__WORDS(tamis__redis_word("SETRANGE"), name, tamis__redis_word(from),
                                          tamis__word_of(ctx->own_stamp, STAMP)));
    tamis__step_put(&step, conn);
    return true;
}

static tamis_status retire_stamps(const tamis__partitions *partitions, tamis_error *err) {
    stamp_rounds ctx = {
        .rounds = {.partitions = partitions, .accept_reply = check_integer, .is_steps = true}};
    memcpy(ctx.own_stamp, retired, sizeof retired);
    return tamis__rounds_run(&ctx.rounds, partitions->count, put_retirement, err);
}

tamis_status tamis__plan_text_expire(const tamis__redis_filter *rf, const char *text, int64_t ms,
                                     tamis_error *err) {
    tamis__parsed_plan plan;
    if (!tamis__plan_text_parse(&plan, text) || plan.is_family)
        return TAMIS_OK;
    const tamis__partitions old = tamis__partitions_of(rf, plan.generation, plan.bits, plan.partition);
    const tamis_status status = ms > 0 && has_stamps(&old) ? retire_stamps(&old, err) : TAMIS_OK;
    return status == TAMIS_OK ? tamis__partitions_expire(&old, NULL, ms, err) : status;
}

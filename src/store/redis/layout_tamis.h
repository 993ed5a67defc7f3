/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_LAYOUT_TAMIS_H
#define TAMIS_STORE_REDIS_LAYOUT_TAMIS_H

#include "store/redis/redis_step.h"

/* What whole filters are moved with, of layout tamis; see layout_tamis.c. */

enum {
    TAMIS__PARTITION_MAX = 512 << 20,    /* bytes: no string of a Redis is longer */
    TAMIS__PARTITION_DEFAULT = 64 << 20, /* footer included */
    TAMIS__CHUNK = 1 << 20,              /* bytes moved at once */
    /* Behind the footer: see tamis_parts.c. */
    TAMIS__STAMP = 16,
    TAMIS__CHUNK_BITS = 64,
    /* Blocks of a partition, so that all that is behind them has room. */
    TAMIS__PARTITION_BLOCKS = TAMIS__PARTITION_MAX / TAMIS__REDIS_BLOCK - 4,
    TAMIS__PARTITIONS_MOST = 1 << 20,
    TAMIS__MEMBER_MAX = 64 << 20, /* of a family, which has one string each */
    /* How long partitions that were replaced stay, for clients that do not know yet; and how old what a client knows may
     * be before it looks again, so that it adds nothing to what is gone. */
    TAMIS__GRACE_MS = 60000,
    TAMIS__TRUST_MS = 20000
};

enum { TAMIS__REDIS_STATE = 32 };

/* ---- the plan as text ---- */

/* guava64 is murmur3 here, for clients whose language has no XXH3 of 128 bits; positions are the same. */
static inline bool tamis__has_scheme(tamis_scheme scheme) {
    return scheme == TAMIS_SCHEME_XXH3 || scheme == TAMIS_SCHEME_SIP || scheme == TAMIS_SCHEME_GUAVA64;
}

/* What a plan's text says; of what somebody else may have written. */
typedef struct tamis__told {
    char scheme[16];
    uint64_t layout, seed, secret, bits, probes, partition, expect, generation;
    double fpr;
    uint32_t key_type; /* TAMIS_KEYS_UNTOLD: it says none; UINT32_MAX: one that is not known */
    bool blocked, is_family, has_secret;
    unsigned words; /* a bit for each of the numbers that were there */
} tamis__told;

void tamis__told_write(const tamis_filter *filter, char to[TAMIS__REDIS_PLAN]);
/* TAMIS_E_DAMAGED: it is no plan, or one that cannot be; says what of field `field` is refused. */
tamis_status tamis__told_parse(const tamis__redis_filter *at, const char *field, const char *text,
                               tamis__told *plan, tamis_error *err);
/* The same of field plan, and TAMIS_E_MISMATCH: one of a family where `at` is a filter, or the other way. */
tamis_status tamis__told_read(const tamis__redis_filter *at, const char *text, tamis__told *plan,
                              tamis_error *err);
/* The same of another field than `plan`. */
tamis_status tamis__told_read_field(const tamis__redis_filter *at, const char *field, const char *text,
                                    tamis__told *plan, tamis_error *err);

/* ---- the config hash ---- */

/* What a config hash says; empty where it does not. */
typedef struct tamis__config {
    char plan[TAMIS__REDIS_PLAN], state[TAMIS__REDIS_STATE];
    char before[TAMIS__REDIS_PLAN];  /* what the last push replaced, */
    char pushing[TAMIS__REDIS_PLAN]; /* and what the one under way makes */
    char next[TAMIS__REDIS_PLAN];    /* what is added goes into this generation too: see redis_push.c */
    char target[TAMIS__REDIS_NAME];  /* the name has an alias: this is of the filter that it stands for */
    size_t target_size;
} tamis__config;

/* The slot of the hash, which is that of its lock and of the plan's copy too, whatever the servers go by. */
uint32_t tamis__config_slot(const tamis__redis_filter *at);
/* The Redis key of the plan's copy, which tells a hash that was deleted from a filter that never was. */
size_t tamis__copy_name(const tamis__redis_filter *at, char *to);
/* What it says: `plan` is empty where there is none. */
tamis_status tamis__copy_read(tamis__redis_filter *at, char plan[TAMIS__REDIS_PLAN], tamis_error *err);
/* What the hash says after a change (`plan` is empty where it has none), once as many replicas have it as the URI asks for. */
tamis_status tamis__plan_read_back(const tamis__redis_filter *at, char plan[TAMIS__REDIS_PLAN],
                                   tamis_error *err);
/* Adds the hash's Redis key, named in `name`, and the guard that its plan is this (empty: that it has none). */
tamis_key tamis__plan_guard(const tamis__redis_filter *at, tamis__step *step, const char *plan,
                            char name[TAMIS__REDIS_KEY]);

/* Reads the hash of at's name; config->target is what it is an alias of. */
tamis_status tamis__config_own(const tamis__redis_filter *at, tamis__config *config, tamis_error *err);
/* Reads the hash of at's name or, where that is an alias, of its target. */
tamis_status tamis__config_find(const tamis__redis_filter *at, tamis__config *config, tamis_error *err);
/* Its name, of the filter itself: at->target where there is one. */
size_t tamis__config_name(const tamis__redis_filter *at, char *to);
/* And that of the name it was opened by. */
size_t tamis__alias_name(const tamis__redis_filter *at, char *to);

/* ---- opening: see tamis_open.c ---- */

/* TAMIS_E_ABSENT: the name is an alias of what is not there. */
tamis_status tamis__target_gone(const tamis__redis_filter *at, const tamis__config *config, tamis_error *err);
tamis_status tamis__handle_open(tamis_filter *filter, const tamis_redis_filter_options *options,
                                tamis_error *err);
/* Makes the handle that of the filter whose config this is, which has to be what its URI asks for. After a failure it is
 * what it was before. */
tamis_status tamis__handle_become(tamis_filter *filter, const tamis__config *config, tamis_error *err);

/* ---- partitions, of at->generation ---- */

uint64_t tamis__blocks_of(const tamis_filter *filter);
/* Of this partition: the last may have fewer. */
uint64_t tamis__blocks_in(const tamis_filter *filter, uint32_t key);
void tamis__partitions_set(tamis_filter *filter, uint64_t blocks_each);
size_t tamis__partition_name(const tamis__redis_filter *at, uint32_t key, char *to);
/* Of the string beside it, where at is of those; the partition's slot is its slot too, whatever the servers go by. */
size_t tamis__aside_name(const tamis__redis_filter *at, uint32_t key, char *to);
/* GETRANGE of a footer, and whether the reply is that. */
void tamis__footer_ask(const tamis_filter *filter, uint32_t key, tamis__link *link);
bool tamis__footer_is(const tamis__redis_filter *at, uint32_t key, const tamis__reply *reply);
/* Sealed, or while it is being filled a mark, which no two makers and no two sendings have the same. */
void tamis__footer_write(const tamis__redis_filter *at, uint32_t key, char to[TAMIS__REDIS_BLOCK]);
tamis_status tamis__generation_new(tamis__redis_filter *at, tamis_error *err);
/* A command for each partition (or string of another layout), round by round: what is said of them comes behind this. */
typedef struct tamis__rounds {
    const tamis__redis_filter *at;
    size_t first; /* of the round */
    size_t done;
    tamis_status (*take)(void *context, size_t i, const tamis__reply *reply, bool resent, tamis_error *err);
    bool is_steps; /* see tamis__exchange */
} tamis__rounds;
/* All `count` of them, `most` at once; a lock that is held is renewed after each round. `ask` and `take` get the rounds. */
tamis_status tamis__rounds_run(tamis__rounds *all, size_t count, size_t most,
                               bool (*ask)(void *context, size_t i, tamis__link *link), tamis_error *err);
/* How many partitions at once, where they are made or removed. */
size_t tamis__round_of(uint64_t partition);
/* Adds PEXPIRE, or PERSIST where ms is 0, to a step; `digits` is room. */
void tamis__step_expire(tamis__step *step, tamis_key name, uint64_t ms, char digits[24]);

/* Makes them of zeros, each with the mark that says that it is being filled (or, beside a partition, with its own), to expire
 * in `life_ms`. TAMIS_E_IO: one was there already. at->fills has room for a number of each, unless at->aside. */
tamis_status tamis__partitions_make(tamis_filter *filter, uint64_t life_ms, tamis_error *err);
/* Replaces each mark by the footer, by which alone clients take it for whole, and gives it that time, 0: no expiry. After
 * this a chunk that comes late does nothing. Ends at->fills. TAMIS_E_IO names a partition that was lost, or (has_chunks) one
 * that has not all its chunks: a failover may lose the last. */
tamis_status tamis__partitions_seal(tamis_filter *filter, bool has_chunks, uint64_t ttl_ms, tamis_error *err);
/* PEXPIRE, or PERSIST where ms is 0, of each that has its mark or footer still; whoever sends it later wins, though an
 * earlier one may arrive after. With the lock held. plan: NULL, or what has to stand. TAMIS_E_BUSY: the lock was lost, or
 * another plan stands. */
tamis_status tamis__partitions_set_expiry(const tamis_filter *filter, const char *plan, uint64_t ms,
                                          tamis_error *err);
/* Adds the partition's Redis key, and the guard that its mark or footer is there, to a step; `name` and `footer` are room. */
typedef struct tamis__partition_room {
    char name[TAMIS__REDIS_KEY], footer[TAMIS__REDIS_BLOCK], from[24], to[24];
} tamis__partition_room;
tamis_key tamis__partition_guard(const tamis_filter *filter, uint32_t key, tamis__step *step,
                                 tamis__partition_room *room);
/* The guard that all chunks of a partition, or of the string beside it, are in; `name` and `from`, `to`, `bits` are room. */
typedef struct tamis__chunks_room {
    char from[24], to[24], bits[TAMIS__CHUNK_BITS];
} tamis__chunks_room;
void tamis__chunks_guard(const tamis_filter *filter, uint32_t key, tamis_key name, tamis__step *step,
                         tamis__chunks_room *room);
/* Where the bit of a chunk is, which a chunk's step sets. */
uint64_t tamis__chunk_bit(const tamis_filter *filter, uint32_t key, uint64_t chunk);
/* TAMIS_E_IO names a partition that has no footer; while at->fills: no mark. */
tamis_status tamis__footers_check(const tamis_filter *filter, tamis_error *err);
/* Puts the step by which an adder gives a partition at->ttl_ms: only one that has its footer. */
void tamis__partition_put_renewal(const tamis_filter *filter, uint32_t key, tamis__link *link);
/* Of generations that no plan names, or never will again: PEXPIRE, or PERSIST where ms is 0, or UNLINK where it is negative: of the partitions `of`, NULL: of all. */
tamis_status tamis__partitions_expire(const tamis__redis_filter *at, const bool *of, int64_t ms,
                                      tamis_error *err);
/* The same of all partitions that a plan's text speaks of; there are none of one that cannot be read. */
tamis_status tamis__told_expire(const tamis__redis_filter *at, const char *text, int64_t ms,
                                tamis_error *err);
/* Removes the partitions of what others left (config->pushing, next, and in TAMIS__GRACE_MS those of before), none of which
 * anybody can go on with once tamis__change_begin was carried out. */
tamis_status tamis__leftovers_remove(const tamis__redis_filter *at, const tamis__config *config,
                                     tamis_error *err);
/* With the lock held: sees to it that it is held still, and that this plan stands. */
tamis_status tamis__change_confirm(const tamis__redis_filter *at, const char *plan, tamis_error *err);
/* The same, by which it was held too when the plan was read; and ends a resize. */
tamis_status tamis__change_begin(tamis__redis_filter *at, const char *plan, tamis_error *err);

/* The same of all members of a family, where the text is the plan of one: see redis_members.c. TAMIS_E_REFUSED: the server
 * does not let who would find them. */
tamis_status tamis__members_expire(const tamis__redis_filter *at, const char *text, int64_t ms,
                                   tamis_error *err);

/* What field state says of a filter of layout 1, once all partitions of this generation are there. */
void tamis__state_write(const tamis__redis_filter *at, char to[TAMIS__REDIS_STATE]);

/* ---- making: see tamis_room.c ---- */

/* TAMIS_E_RANGE: so cut, the filter would be in more partitions than it may. */
tamis_status tamis__partitions_check(const tamis_filter *filter, uint64_t blocks_each, tamis_error *err);
/* TAMIS_E_REFUSED: the server says that it does not have so many bytes left. */
tamis_status tamis__room_check(tamis__redis_filter *at, uint64_t bytes, tamis_error *err);
/* ---- who makes, replaces or drops it: see redis_lock.c ---- */

enum { TAMIS__LOCK_MS = 60000 };

size_t tamis__lock_name(const tamis__redis_filter *at, char *to);
/* Takes the lock for TAMIS__LOCK_MS; at->token is its token. TAMIS_E_BUSY: another holds it. */
tamis_status tamis__lock_take(tamis__redis_filter *at, tamis_error *err);
/* Gives it TAMIS__LOCK_MS again, where at->token is held. TAMIS_E_BUSY: it was lost. */
tamis_status tamis__lock_renew(const tamis__redis_filter *at, tamis_error *err);
/* The same within an exchange. */
void tamis__lock_put_renewal(const tamis__redis_filter *at, tamis__link *link);
tamis_status tamis__lock_take_renewal(const tamis__redis_filter *at, const tamis__reply *reply,
                                      tamis_error *err);
/* Adds the lock's Redis key, named in `name`, and the guard that at->token holds it (where that is empty: that nobody
 * does). */
void tamis__lock_guard(const tamis__redis_filter *at, tamis__step *step, char name[TAMIS__REDIS_KEY]);
/* Releases it. TAMIS_OK: no step guarded by at->token, however late, does anything from now on. */
tamis_status tamis__lock_leave(tamis__redis_filter *at, tamis_error *err);
tamis_status tamis__lock_busy(const tamis__redis_filter *at, tamis_error *err);
/* TAMIS_E_BUSY: a step found another holder, or another plan than it was to change. */
tamis_status tamis__lock_lost(const tamis__redis_filter *at, tamis_error *err);

/* Takes the parameters of at's URI, which have to be some of this layout, and makes nothing of them: one URI is for all that
 * is done with a filter. */
tamis_status tamis__wanted_pass(tamis__redis_filter *at, tamis_error *err);

/* ---- for push, which makes a filter of the same name anew ---- */

/* Takes the parameters of at's URI, sees to it that filter->plan and at->seed are what they ask for, and cuts into the
 * partitions asked for, or into those of `old` where there is one. */
tamis_status tamis__partitions_choose(tamis_filter *filter, const tamis__told *old, tamis_error *err);
/* Makes the partitions of `there` hold what the one in memory holds as well. */
tamis_status tamis__unite(tamis_filter *there, const tamis_filter *from, tamis_error *err);
/* Makes the filter of at's name, empty, by the plan that `made` has; where another program makes it, waits for that.
 * TAMIS_E_BUSY: it took too long. */
tamis_status tamis__push_new(tamis_filter *made, tamis_error *err);
/* Replaces what is there by an empty one of the same plan. TAMIS_E_BUSY: somebody else replaces it. */
tamis_status tamis__push_empty(const tamis_filter *there, tamis_error *err);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_LAYOUT_TAMIS_H
#define TAMIS_STORE_REDIS_LAYOUT_TAMIS_H

#include "store/redis/redis_filter.h"

/* What whole filters are moved with, of layout tamis; see layout_tamis.c. */

enum {
    TAMIS__PARTITION_MAX = 512 << 20,    /* bytes: no string of a Redis is longer */
    TAMIS__PARTITION_DEFAULT = 64 << 20, /* footer included */
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
tamis_status tamis__generation_new(tamis__redis_filter *at, tamis_error *err);
/* Of zeros, their footers behind; one that is there stays as it is. */
tamis_status tamis__partitions_make(tamis_filter *filter, tamis_error *err);
/* TAMIS_E_IO names a partition that has no footer. */
tamis_status tamis__footers_check(const tamis_filter *filter, tamis_error *err);
/* PEXPIRE, or PERSIST where ms is 0, or UNLINK where it is negative: of the partitions `of`, NULL: of all. */
tamis_status tamis__partitions_expire(const tamis__redis_filter *at, const bool *of, int64_t ms,
                                      tamis_error *err);
/* The same of all partitions that a plan's text speaks of; there are none of one that cannot be read. */
tamis_status tamis__told_expire(const tamis__redis_filter *at, const char *text, int64_t ms,
                                tamis_error *err);

/* The same of all members of a family, where the text is the plan of one: see redis_members.c. TAMIS_E_REFUSED: the server
 * does not let who would find them. */
tamis_status tamis__members_expire(const tamis__redis_filter *at, const char *text, int64_t ms,
                                   tamis_error *err);

/* What stands in field state once all partitions of this generation are there. One of another generation, which a maker
 * that was late may leave, says nothing. */
void tamis__state_write(const tamis__redis_filter *at, char to[TAMIS__REDIS_STATE]);

/* ---- making: see tamis_room.c ---- */

/* TAMIS_E_RANGE: so cut, the filter would be in more partitions than it may. */
tamis_status tamis__partitions_check(const tamis_filter *filter, uint64_t blocks_each, tamis_error *err);
/* TAMIS_E_REFUSED: the server says that it does not have so many bytes left. */
tamis_status tamis__room_check(tamis__redis_filter *at, uint64_t bytes, tamis_error *err);
/* Removes what was made after that plan, unless by now another stands there or somebody has finished it: `ready` is the
 * state of one that is. */
void tamis__plan_take_back(tamis__redis_filter *at, const char *plan, const char *ready);

/* ---- who replaces or drops it: see redis_lock.c ---- */

enum { TAMIS__LOCK_MS = 60000 };

size_t tamis__lock_name(const tamis__redis_filter *at, char *to);
/* For TAMIS__LOCK_MS, or longer where the key is given more. TAMIS_E_BUSY: another holds it, or by now does. */
tamis_status tamis__lock_take(tamis__redis_filter *at, const char *holder, tamis_error *err);
tamis_status tamis__lock_check(tamis__redis_filter *at, const char *holder, tamis_error *err);
/* TAMIS_E_BUSY: somebody holds it. */
tamis_status tamis__lock_check_free(tamis__redis_filter *at, tamis_error *err);
tamis_status tamis__lock_leave(tamis__redis_filter *at, tamis_error *err);
tamis_status tamis__lock_busy(const tamis__redis_filter *at, tamis_error *err);

/* Takes the parameters of at's URI, which have to be some of this layout, and makes nothing of them: one URI is for all that
 * is done with a filter. */
tamis_status tamis__wanted_pass(tamis__redis_filter *at, tamis_error *err);

/* ---- for push, which makes a filter of the same name anew ---- */

/* Takes the parameters of at's URI, sees to it that filter->plan and at->seed are what they ask for, and cuts into the
 * partitions asked for, or into those of `old` where there is one. */
tamis_status tamis__partitions_choose(tamis_filter *filter, const tamis__told *old, tamis_error *err);
/* Makes the partitions of `there` hold what the one in memory holds as well. lock: NULL, or a key that is given more time
 * on the way. */
tamis_status tamis__unite(tamis_filter *there, const tamis_filter *from, const tamis_key *lock,
                          tamis_error *err);
/* Replaces what is there by an empty one of the same plan. TAMIS_E_BUSY: somebody else replaces it. */
tamis_status tamis__push_empty(const tamis_filter *there, tamis_error *err);

#endif

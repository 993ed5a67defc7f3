/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_LAYOUT_LAYOUT_TAMIS_H
#define TAMIS_STORE_REDIS_LAYOUT_LAYOUT_TAMIS_H

#include "store/redis/exchange/redis_step.h"

/* What whole filters are moved with, of layout tamis; see layout_tamis.c. */

enum {
    TAMIS__PARTITION_MAX = 512 << 20,    /* bytes: no string of a Redis is longer */
    TAMIS__PARTITION_DEFAULT = 64 << 20, /* footer included */
    TAMIS__CHUNK = 1 << 20,              /* bytes moved at once */
    /* Behind the footer: see tamis_parts.c. */
    TAMIS__STAMP = 16,
    TAMIS__CHUNK_BITS = 64,
    /* Max. blocks of a partition, which leaves space for the fields behind them. */
    TAMIS__PARTITION_BLOCKS = TAMIS__PARTITION_MAX / TAMIS__REDIS_BLOCK - 4,
    TAMIS__PARTITIONS_MAX = 1 << 20,
    TAMIS__MEMBER_MAX = 64 << 20, /* of a family, which has one string each */
    /* How long partitions that were replaced stay, for clients that do not know yet; and how old what a client knows may
     * be before it looks again, so that it adds nothing to what is gone. */
    TAMIS__GRACE_MS = 60000,
    TAMIS__TRUST_MS = 20000
};

enum { TAMIS__REDIS_STATE = 32, TAMIS__SENDING = 16 };

/* ---- the plan as text ---- */

/* guava64 is murmur3 here, for clients whose language has no XXH3 of 128 bits; positions are the same. */
static inline bool tamis__has_scheme(tamis_scheme scheme) {
    return scheme == TAMIS_SCHEME_XXH3 || scheme == TAMIS_SCHEME_SIP || scheme == TAMIS_SCHEME_GUAVA64;
}

/* What a plan's text says; of what somebody else may have written. */
typedef struct tamis__parsed_plan {
    char scheme[16];
    uint64_t layout, seed, secret, bits, probes, partition, expect, generation;
    double fpr;
    uint32_t key_type; /* TAMIS_KEYS_UNSPECIFIED: it says none; UINT32_MAX: one that is not known */
    bool blocked, is_family, has_secret;
    unsigned words; /* a bit for each of the numbers that were there */
} tamis__parsed_plan;

void tamis__plan_text_write(const tamis_filter *filter, char to[TAMIS__REDIS_PLAN]);
/* TAMIS_E_DAMAGED: it is no plan, or one that cannot be; says what of field `field` is refused. */
tamis_status tamis__plan_text_parse(const tamis__redis_filter *rf, const char *field, const char *text,
                                    tamis__parsed_plan *plan, tamis_error *err);
/* The same of field plan, and TAMIS_E_MISMATCH: one of a family where `rf` is a filter, or the other way. */
tamis_status tamis__plan_text_read(const tamis__redis_filter *rf, const char *text, tamis__parsed_plan *plan,
                                   tamis_error *err);
/* The same of another field than `plan`. */
tamis_status tamis__plan_text_read_field(const tamis__redis_filter *rf, const char *field, const char *text,
                                         tamis__parsed_plan *plan, tamis_error *err);

/* ---- the config hash ---- */

/* What a config hash says; empty where it does not. */
typedef struct tamis__config {
    char plan[TAMIS__REDIS_PLAN], state[TAMIS__REDIS_STATE];
    char before[TAMIS__REDIS_PLAN];  /* what the last push replaced, */
    char pushing[TAMIS__REDIS_PLAN]; /* and what the one under way makes */
    char next[TAMIS__REDIS_PLAN];    /* what is added goes into this generation too: see redis_push.c */
    char sending[TAMIS__SENDING];    /* number of the command that set next: see redis_resize.c */
    char target[TAMIS__REDIS_NAME];  /* the name has an alias: this is of the filter that it stands for */
    size_t target_size;
} tamis__config;

/* The slot of the hash, also used for its lock and for the plan's copy, whatever rule the servers have. */
uint32_t tamis__config_slot(const tamis__redis_filter *rf);
/* The Redis key of the plan's copy, which shows that a missing hash was deleted. */
size_t tamis__copy_name(const tamis__redis_filter *rf, char *to);
/* Reads the copy; `plan` is empty if there is none. */
tamis_status tamis__copy_read(tamis__redis_filter *rf, char plan[TAMIS__REDIS_PLAN], tamis_error *err);
/* Reads the plan after a change (empty: none), when as many replicas have it as the URI asks for. */
tamis_status tamis__plan_read_back(const tamis__redis_filter *rf, char plan[TAMIS__REDIS_PLAN],
                                   tamis_error *err);
/* Adds to a step the hash's Redis key, written to `name`, and the guard that the hash has this plan (empty: no plan). */
tamis_key tamis__plan_add_condition(const tamis__redis_filter *rf, tamis__step *step, const char *plan,
                                    char name[TAMIS__REDIS_KEY]);

/* Reads the hash of rf's name; config->target is what it is an alias of. */
tamis_status tamis__config_own(const tamis__redis_filter *rf, tamis__config *config, tamis_error *err);
/* Reads the hash that rf's lock protects, that of rf->target or of rf's name, whatever the alias stands for by now. */
tamis_status tamis__config_locked(const tamis__redis_filter *rf, tamis__config *config, tamis_error *err);
/* Reads the hash of rf's name or, where that is an alias, of its target. */
tamis_status tamis__config_find(const tamis__redis_filter *rf, tamis__config *config, tamis_error *err);
/* Its name, of the filter itself: rf->target where there is one. */
size_t tamis__config_name(const tamis__redis_filter *rf, char *to);
/* And that of the name it was opened by. */
size_t tamis__alias_name(const tamis__redis_filter *rf, char *to);

/* ---- opening: see tamis_open.c ---- */

/* TAMIS_E_NOT_FOUND: the name is an alias of what is not there. */
tamis_status tamis__target_gone(const tamis__redis_filter *rf, const tamis__config *config, tamis_error *err);
tamis_status tamis__handle_open(tamis_filter *filter, const tamis_redis_filter_options *options,
                                tamis_error *err);
/* Makes the handle that of the filter whose config this is, which has to be what its URI asks for. After a failure it is
 * what it was before. */
tamis_status tamis__handle_set_config(tamis_filter *filter, const tamis__config *config, tamis_error *err);

/* ---- partitions, of rf->generation ---- */

uint64_t tamis__blocks_of(const tamis_filter *filter);
/* Of this partition: the last may have fewer. */
uint64_t tamis__blocks_in(const tamis_filter *filter, uint32_t key);
void tamis__partitions_set(tamis_filter *filter, uint64_t blocks_each);
size_t tamis__partition_name(const tamis__redis_filter *rf, uint32_t key, char *to);
/* Of the string beside it, where at is of those; the partition's slot is its slot too, whatever the servers go by. */
size_t tamis__staging_name(const tamis__redis_filter *rf, uint32_t key, char *to);
/* GETRANGE of a footer, and whether the reply is that. */
void tamis__footer_put_query(const tamis_filter *filter, uint32_t key, tamis__connection *conn);
bool tamis__footer_matches(const tamis__redis_filter *rf, uint32_t key, const tamis__reply *reply);
/* Writes the footer or, while the partition is being filled, the mark. No two writers and no two sendings share a mark. */
void tamis__footer_write(const tamis__redis_filter *rf, uint32_t key, char to[TAMIS__REDIS_BLOCK]);
tamis_status tamis__generation_new(tamis__redis_filter *rf, tamis_error *err);
/* One command for each partition (or string of another layout), round by round. First member of the caller's context. */
typedef struct tamis__rounds {
    const tamis__redis_filter *rf;
    size_t first; /* first partition of the round */
    size_t done;
    tamis_status (*take_reply)(void *context, size_t i, const tamis__reply *reply, bool resent,
                               tamis_error *err);
    bool is_steps; /* see tamis__requests */
} tamis__rounds;
/* Runs all `count` commands, at most `max` at once. Renews a held lock after each round. `put_command` and `take_reply` get `rounds`. */
tamis_status tamis__rounds_run(tamis__rounds *rounds, size_t count, size_t max,
                               bool (*put_command)(void *context, size_t i, tamis__connection *conn),
                               tamis_error *err);
/* Number of partitions to make or remove at once. */
size_t tamis__round_size(uint64_t partition);
/* Adds PEXPIRE, or PERSIST if ms is 0, to a step; `digits` is a buffer. */
void tamis__step_expire(tamis__step *step, tamis_key name, uint64_t ms, char digits[24]);

/* Makes all partitions, zeros with the mark "filling", which expire in `life_ms`. With rf->staging: the strings beside the
 * partitions, with a mark of their own. Else writes the number of each mark to rf->fills. TAMIS_E_IO: one existed already. */
tamis_status tamis__partitions_make(tamis_filter *filter, uint64_t life_ms, tamis_error *err);
/* Replaces each mark by the footer, without which clients reject a partition, and sets its expiry (0: none). Late chunks do
 * nothing after that. Ends the use of rf->fills. TAMIS_E_IO names a partition that was lost or, with has_chunks, one that
 * lacks chunks: a failover may lose the last ones. */
tamis_status tamis__partitions_seal(tamis_filter *filter, bool has_chunks, uint64_t ttl_ms, tamis_error *err);
/* PEXPIRE, or PERSIST if ms is 0, of each partition that still has its mark or footer. The later writer wins, whichever
 * command arrives last. The lock must be held. plan: NULL, or the plan that the hash must have. TAMIS_E_BUSY: the lock was
 * lost, or the hash has another plan. */
tamis_status tamis__partitions_set_expiry(const tamis_filter *filter, const char *plan, uint64_t ms,
                                          tamis_error *err);
/* Buffers for tamis__partition_add_condition, which adds to a step the partition's Redis key and the guard that its mark or footer is
 * there. */
typedef struct tamis__partition_buffers {
    char name[TAMIS__REDIS_KEY], footer[TAMIS__REDIS_BLOCK], from[24], to[24];
} tamis__partition_buffers;
tamis_key tamis__partition_add_condition(const tamis_filter *filter, uint32_t key, tamis__step *step,
                                         tamis__partition_buffers *buffers);
/* Buffers for tamis__chunks_add_condition, which adds the guard that all chunks of a partition, or of the string beside it, were
 * written. */
typedef struct tamis__chunks_buffers {
    char from[24], to[24], bits[TAMIS__CHUNK_BITS];
} tamis__chunks_buffers;
void tamis__chunks_add_condition(const tamis_filter *filter, uint32_t key, tamis_key name, tamis__step *step,
                                 tamis__chunks_buffers *buffers);
/* Position of the bit that the step of a chunk sets. */
uint64_t tamis__chunk_bit(const tamis_filter *filter, uint32_t key, uint64_t chunk);
/* Fails with TAMIS_E_IO: this partition was lost while it was written. */
tamis_status tamis__partition_lost(const tamis__redis_filter *rf, size_t key, tamis_error *err);
/* TAMIS_E_IO names a partition that has no footer; while rf->fills: no mark. */
tamis_status tamis__footers_check(const tamis_filter *filter, tamis_error *err);
/* Sends the step by which an adder gives a partition rf->ttl_ms, if the partition has its footer; with rf->is_next, if it
 * has a mark. */
void tamis__partition_put_renewal(const tamis_filter *filter, uint32_t key, tamis__connection *conn);
/* PEXPIRE, or PERSIST if ms is 0, or UNLINK if it is negative, of the partitions `selected` (NULL: all). For generations that no plan
 * names, or will ever name again. */
tamis_status tamis__partitions_expire(const tamis__redis_filter *rf, const bool *selected, int64_t ms,
                                      tamis_error *err);
/* The same of all partitions that a plan's text speaks of; there are none of one that cannot be read. */
tamis_status tamis__plan_text_expire(const tamis__redis_filter *rf, const char *text, int64_t ms,
                                     tamis_error *err);
/* Removes what other writers left: partitions of config->pushing and next now, those of before in TAMIS__GRACE_MS. Call after
 * tamis__change_begin: from then on no other writer can go on with them. */
tamis_status tamis__leftovers_remove(const tamis__redis_filter *rf, const tamis__config *config,
                                     tamis_error *err);
/* Checks that the lock is still held, and that the hash has this plan. */
tamis_status tamis__change_confirm(const tamis__redis_filter *rf, const char *plan, tamis_error *err);
/* The same, and ends a resize of another writer. Success proves that the lock was held when the plan was read. */
tamis_status tamis__change_begin(tamis__redis_filter *rf, const char *plan, tamis_error *err);

/* The same of all members of a family, where the text is the plan of one: see redis_members.c. TAMIS_E_REFUSED: the server
 * does not let who would find them. */
tamis_status tamis__members_expire(const tamis__redis_filter *rf, const char *text, int64_t ms,
                                   tamis_error *err);

/* Writes field state of a filter of layout 1 whose partitions of this generation are all there. */
void tamis__state_write(const tamis__redis_filter *rf, char to[TAMIS__REDIS_STATE]);

/* ---- making: see server_memory.c ---- */

/* TAMIS_E_RANGE: so cut, the filter would be in more partitions than it may. */
tamis_status tamis__partitions_check(const tamis_filter *filter, uint64_t blocks_each, tamis_error *err);
/* TAMIS_E_REFUSED: the server says that it does not have so many bytes left. */
tamis_status tamis__server_memory_check(tamis__redis_filter *rf, uint64_t bytes, tamis_error *err);
/* ---- the lock of writers: see redis_lock.c ---- */

enum {
    TAMIS__LOCK_MS = 60000,
    TAMIS__LOCK_POLL_MS = 50,
    TAMIS__LOCK_POLLS =
        2 * TAMIS__LOCK_MS / TAMIS__LOCK_POLL_MS /* until a lock that nobody renews is gone for long */
};

size_t tamis__lock_name(const tamis__redis_filter *rf, char *to);
/* Takes the lock for TAMIS__LOCK_MS; rf->token is its token. TAMIS_E_BUSY: another holds it. */
tamis_status tamis__lock_acquire(tamis__redis_filter *rf, tamis_error *err);
/* Renews the lock for TAMIS__LOCK_MS. TAMIS_E_BUSY: it was lost. */
tamis_status tamis__lock_renew(const tamis__redis_filter *rf, tamis_error *err);
/* The same within an exchange. */
void tamis__lock_put_renewal(const tamis__redis_filter *rf, tamis__connection *conn);
tamis_status tamis__lock_check_renewal(const tamis__redis_filter *rf, const tamis__reply *reply,
                                       tamis_error *err);
/* Adds to a step the lock's Redis key, written to `name`, and the guard that rf->token holds the lock (empty token: that
 * nobody does). */
void tamis__lock_add_condition(const tamis__redis_filter *rf, tamis__step *step, char name[TAMIS__REDIS_KEY]);
/* Releases it. TAMIS_OK: no step guarded by rf->token, however late, does anything from now on. */
tamis_status tamis__lock_release(tamis__redis_filter *rf, tamis_error *err);
tamis_status tamis__lock_busy(const tamis__redis_filter *rf, tamis_error *err);
/* Waits TAMIS__LOCK_POLL_MS, before the lock of another is looked at again. */
tamis_status tamis__lock_pause(tamis_error *err);
/* Fails with TAMIS_E_BUSY: a step found another holder of the lock, or another plan than expected. */
tamis_status tamis__lock_lost(const tamis__redis_filter *rf, tamis_error *err);

/* Takes the parameters of rf's URI, which have to be some of this layout, and makes nothing of them: one URI is for all that
 * is done with a filter. */
tamis_status tamis__uri_options_check(tamis__redis_filter *rf, tamis_error *err);

/* ---- for push, which makes a filter of the same name anew ---- */

/* Takes the parameters of rf's URI, sees to it that filter->plan and rf->seed are what they ask for, and cuts into the
 * partitions asked for, or into those of `old` where there is one. */
tamis_status tamis__partitions_choose(tamis_filter *filter, const tamis__parsed_plan *old, tamis_error *err);
/* Adds all bits of `from`, a filter in memory, to the partitions of `there`. */
tamis_status tamis__upload_union(tamis_filter *there, const tamis_filter *from, tamis_error *err);
/* Makes an empty filter with the plan of `made`. If another program is making it, waits for that.
 * TAMIS_E_BUSY: it took too long. */
tamis_status tamis__push_new(tamis_filter *made, tamis_error *err);
/* Replaces what is there by an empty one of the same plan. TAMIS_E_BUSY: somebody else replaces it. */
tamis_status tamis__push_empty(const tamis_filter *there, tamis_error *err);

#endif

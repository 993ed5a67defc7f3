/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_LAYOUT_LAYOUT_TAMIS_H
#define TAMIS_STORE_REDIS_LAYOUT_LAYOUT_TAMIS_H

#include "store/redis/filter/redis_filter.h"

/*
 * Layout tamis, for the files that open, make, move and remove whole filters:
 *
 *     plan text       fields plan, pushing, before, next of the hash        plan_text.c
 *     config hash     reading it, names of Redis keys                       tamis_config.c
 *     handle          opening a filter, following its plan                  tamis_open.c, layout_tamis.c
 *     partitions      making, filling, sealing; expiry                      tamis_parts.c, tamis_expiry.c
 *     lock            one writer at a time                                  tamis_lock.c
 *     losses          a hash, or hash and copy, that was deleted            tamis_lost.c
 *     changes         steps on the hash, under the lock                     tamis_change.c
 *
 * Words:
 *
 *     generation  a random number, new for each filter that is made; part of the names of its partitions
 *     mark        64 bytes after the blocks of a partition, while a writer fills it
 *     footer      64 bytes that replace the mark of a complete partition; clients use no partition without it
 *     staging     a string beside a partition, with the bits that a union adds to it; named unite-R
 *     mark number the number R in the mark of a partition that a writer fills
 *     mirror      adding a batch to the generation in field next too, during a resize
 *
 * The protocol is docs/REDIS-LAYOUT.md. It has the same words, except mark number and mirror.
 */

enum {
    TAMIS__PARTITION_MAX = 512 << 20,    /* max. bytes of a partition: the longest string of a Redis */
    TAMIS__PARTITION_DEFAULT = 64 << 20, /* bytes, footer included */
    TAMIS__CHUNK = 1 << 20,              /* bytes written or read by one command */
    TAMIS__STAMP = 16,                   /* bytes of the stamp after the footer: see tamis_parts.c */
    TAMIS__CHUNK_BITS = 64,              /* max. bytes of the chunk bits after the stamp */
    /* Max. blocks of a partition; leaves space for the fields behind them. */
    TAMIS__PARTITION_BLOCKS = TAMIS__PARTITION_MAX / TAMIS__REDIS_BLOCK - 4,
    TAMIS__PARTITIONS_MAX = 1 << 20,
    TAMIS__MEMBER_MAX = 64 << 20, /* max. bytes of a member of a family, which is one string */
    TAMIS__GRACE_MS = 60000,      /* life of replaced partitions, for clients that still use the old plan */
    /* Age at which a client reads the plan again. Less than TAMIS__GRACE_MS, so no client adds to partitions
     * that are gone. */
    TAMIS__TRUST_MS = 20000
};

/* Buffer sizes, with the NUL: the text of a plan, a lock's token, field state, field sending. */
enum { TAMIS__REDIS_PLAN = 400, TAMIS__LOCK_TOKEN = 40, TAMIS__REDIS_STATE = 32, TAMIS__SENDING = 16 };

/* ---- state of a handle ---- */

/* The partitions of one generation of a filter, or staging strings beside them. A value: it owns nothing and
 * may be copied. */
typedef struct tamis__partitions {
    const tamis__redis_filter *rf; /* the filter: names of its Redis keys, its server and its lock */
    uint64_t generation;
    uint64_t blocks;        /* blocks of all partitions */
    uint64_t each;          /* blocks of a partition; the last may have fewer */
    uint32_t count;         /* number of partitions */
    uint32_t *mark_numbers; /* number R in the mark of each; NULL: they have footers */
    char staging[16];       /* staging strings: last word of their names; empty: the partitions themselves */
} tamis__partitions;

/* State of a handle of layout tamis. The functions of this header change it behind a const
 * tamis__redis_filter. */
typedef struct tamis__tamis_state {
    char plan_text[TAMIS__REDIS_PLAN]; /* text of the plan in use */
    char next_text[TAMIS__REDIS_PLAN]; /* field next as last read; empty: none */
    char target[TAMIS__REDIS_NAME];    /* target filter of an alias */
    size_t target_size;                /* size of `target`; 0: no alias */
    char token[TAMIS__LOCK_TOKEN];     /* token of the lock held; empty: none */
    tamis__partitions partitions;      /* partitions of the plan in use, or one member of a family */
    uint64_t checked_ns;               /* tamis__now_ns() when the plan was last read and unchanged */
    /* Results of a batch's checks. */
    bool replaced;                 /* another plan or target than the handle's */
    bool retired;                  /* the hash has no plan, or one of another generation */
    uint32_t followed;             /* number of switches to another filter during this call */
    uint32_t first_without_footer; /* 1 + number of the first partition without footer; 0: none */
} tamis__tamis_state;

static inline tamis__tamis_state *tamis__tamis_of(const tamis__redis_filter *rf) {
    return rf->state;
}
static inline void tamis__handle_set_target(const tamis__redis_filter *rf, const char *target, size_t size) {
    tamis__tamis_state *state = tamis__tamis_of(rf);
    memcpy(state->target, target, size);
    state->target_size = size;
}

/* ---- the plan as text ---- */

/* True if layout tamis has the scheme. Of guava64 it uses only the hash, murmur3, for languages without
 * XXH3 of 128 bits; the positions are computed as for the other schemes. */
static inline bool tamis__has_scheme(tamis_scheme scheme) {
    return scheme == TAMIS_SCHEME_XXH3 || scheme == TAMIS_SCHEME_SIP || scheme == TAMIS_SCHEME_GUAVA64;
}

/* A parsed plan. The text may be written by any program. */
typedef struct tamis__parsed_plan {
    char scheme[16];
    uint64_t layout, seed, secret, bits, probes, partition, expect, generation;
    double fpr;
    uint32_t key_type; /* TAMIS_KEYS_UNSPECIFIED: no word `type`; UINT32_MAX: an unknown type */
    bool blocked, is_family, has_secret;
    unsigned words; /* a bit for each numeric word that was present */
} tamis__parsed_plan;

/* Writes the plan of `filter` with these partitions. */
void tamis__plan_text_write(const tamis_filter *filter, const tamis__partitions *partitions,
                            char to[TAMIS__REDIS_PLAN]);
/* Parses a plan; false if the text is not a valid plan. */
bool tamis__plan_text_parse(tamis__parsed_plan *plan, const char *text);
/* Parses field plan. TAMIS_E_DAMAGED: it is not a valid plan. TAMIS_E_MISMATCH: it is the plan of a family
 * and rf is a filter, or the other way round. */
tamis_status tamis__plan_text_read(const tamis__redis_filter *rf, const char *text, tamis__parsed_plan *plan,
                                   tamis_error *err);
/* As tamis__plan_text_read, for the field `field`. */
tamis_status tamis__plan_text_read_field(const tamis__redis_filter *rf, const char *field, const char *text,
                                         tamis__parsed_plan *plan, tamis_error *err);

/* ---- the config hash ---- */

/* The fields of a config hash; a missing field is empty. */
typedef struct tamis__config {
    char plan[TAMIS__REDIS_PLAN], state[TAMIS__REDIS_STATE];
    char before[TAMIS__REDIS_PLAN];  /* plan that the last push replaced, or that a drop removes */
    char pushing[TAMIS__REDIS_PLAN]; /* plan that a push is making */
    char next[TAMIS__REDIS_PLAN];    /* plan that a resize fills; adders add to it too: see redis_push.c */
    char sending[TAMIS__SENDING];    /* number of the command that set next: see redis_resize.c */
    char target[TAMIS__REDIS_NAME];  /* field alias: name of the filter that the name refers to */
    size_t target_size;              /* 0: no alias */
} tamis__config;

/* The slot of the hash. Its lock and the copy of the plan are kept there too, even if the servers' rule
 * for their names differs. */
uint32_t tamis__config_slot(const tamis__redis_filter *rf);
/* The Redis key of the plan's copy, which shows that a missing hash was deleted. */
size_t tamis__copy_name(const tamis__redis_filter *rf, char *to);
/* Reads the copy; `plan` is empty if there is none. */
tamis_status tamis__copy_read(const tamis__redis_filter *rf, char plan[TAMIS__REDIS_PLAN], tamis_error *err);
/* As tamis__copy_read, for the filter whose hash was read into `config` by the name of rf. */
tamis_status tamis__copy_read_of(const tamis__redis_filter *rf, const tamis__config *config,
                                 char plan[TAMIS__REDIS_PLAN], tamis_error *err);
/* Reads the plan after a change (empty: none). Waits for the replicas that the URI asks for. */
tamis_status tamis__plan_read_back(const tamis__redis_filter *rf, char plan[TAMIS__REDIS_PLAN],
                                   tamis_error *err);
/* Adds to a step the hash's Redis key, written to `name`, and the condition that the hash has this plan
 * (empty: no plan). */
tamis_key tamis__plan_add_condition(const tamis__redis_filter *rf, tamis__step *step, const char *plan,
                                    char name[TAMIS__REDIS_KEY]);

/* Reads the hash of rf's name itself; if that is an alias, config->target is its target. */
tamis_status tamis__config_own(const tamis__redis_filter *rf, tamis__config *config, tamis_error *err);
/* Reads the hash that rf's lock protects: that of the target or, without a target, of rf's name. An alias
 * that was changed meanwhile makes no difference. */
tamis_status tamis__config_locked(const tamis__redis_filter *rf, tamis__config *config, tamis_error *err);
/* Reads the hash of rf's name or, if that is an alias, of its target. */
tamis_status tamis__config_find(const tamis__redis_filter *rf, tamis__config *config, tamis_error *err);
/* As tamis__config_find. TAMIS_E_DAMAGED: the hash has no plan, and its copy shows that it was deleted. See
 * tamis_lost.c. */
tamis_status tamis__config_seek(const tamis__redis_filter *rf, tamis__config *config, tamis_error *err);
/* Looks for partitions without a record, for a writer that holds the lock and found neither plan nor copy.
 * TAMIS_E_DAMAGED: some are there, so hash and copy were deleted. */
tamis_status tamis__lost_check(const tamis__redis_filter *rf, tamis_error *err);
/* Writes the name of the filter's hash: that of the target, if there is one. */
size_t tamis__config_name(const tamis__redis_filter *rf, char *to);
/* Writes the name of the hash of the name that the filter was opened by. */
size_t tamis__alias_name(const tamis__redis_filter *rf, char *to);

/* ---- changes of the hash, with the lock: see tamis_change.c ---- */

/* Sends a step on the hash, its lock or the copy of its plan. *is_done: the sending that was answered
 * carried out the writes. If the step was sent twice, false may mean that the first sending did. Callers
 * then read the values back. */
tamis_status tamis__step_run(const tamis__redis_filter *rf, const tamis__step *step, bool *is_done,
                             tamis_error *err);
/* The outcome of a step. */
typedef enum tamis__outcome {
    TAMIS__NOT_DONE, /* not sent; or sent once, and answered 0 or an error: it will never be carried out */
    TAMIS__UNKNOWN,  /* no answer; or 0 or an error after a second sending: the first may have done it */
    TAMIS__DONE      /* the server answered that it carried out the step */
} tamis__outcome;
/* Sends a step in the same way. *outcome is set after a failure too. */
tamis_status tamis__step_run_outcome(const tamis__redis_filter *rf, const tamis__step *step,
                                     tamis__outcome *outcome, tamis_error *err);
/* Removes a field of the hash if it still is `text` and the lock is held; else nothing. */
tamis_status tamis__field_remove(const tamis__redis_filter *rf, const char *field, const char *text,
                                 tamis_error *err);
/* Removes the partitions that other writers left: those of config->pushing now, those of `next` and
 * `before` in TAMIS__GRACE_MS. Call it after tamis__change_begin: no other writer can continue with them
 * then. */
tamis_status tamis__leftovers_remove(const tamis__redis_filter *rf, const tamis__config *config,
                                     tamis_error *err);
/* Checks that the lock is still held and that the hash has this plan, and renews the lock. */
tamis_status tamis__change_confirm(const tamis__redis_filter *rf, const char *plan, tamis_error *err);
/* Makes the same checks, and ends a resize of another writer. Success proves that the lock was held when the
 * plan was read. */
tamis_status tamis__change_begin(const tamis__redis_filter *rf, const char *plan, tamis_error *err);

/* ---- opening: see tamis_open.c ---- */

/* Fails with TAMIS_E_NOT_FOUND: the name is an alias, and its target does not exist. */
tamis_status tamis__target_gone(const tamis__redis_filter *rf, const tamis__config *config, tamis_error *err);
tamis_status tamis__handle_open(tamis_filter *filter, const tamis_redis_filter_options *options,
                                tamis_error *err);
/* Switches the handle to the filter with this config, which must agree with the handle's URI. After a
 * failure the handle is unchanged. */
tamis_status tamis__handle_set_config(tamis_filter *filter, const tamis__config *config, tamis_error *err);

/* ---- partitions ---- */

/* Number of blocks of a filter of `bits` bits. */
static inline uint64_t tamis__blocks_of(uint64_t bits) {
    return bits / (8 * TAMIS__REDIS_BLOCK);
}
/* The partitions of a generation of `bits` bits, with `each` blocks each. */
tamis__partitions tamis__partitions_of(const tamis__redis_filter *rf, uint64_t generation, uint64_t bits,
                                       uint64_t each);
/* Sets the handle's partitions, for the bits of its plan. */
void tamis__handle_set_partitions(tamis_filter *filter, uint64_t generation, uint64_t each);
/* Number of blocks of partition `key`: the last may have fewer. */
uint64_t tamis__blocks_in(const tamis__partitions *partitions, uint32_t key);
/* Writes the name of partition `key`, or of its staging string. */
size_t tamis__partition_name(const tamis__partitions *partitions, uint32_t key, char *to);
/* Parses the Redis key of a partition, "tamis:{NAME:G:I}:bits". *name_end is the size of "tamis:{NAME". */
bool tamis__partition_name_read(const char *key, size_t size, size_t *name_end, uint64_t *generation);
/* Writes the name of the current member of a family. */
size_t tamis__member_name(const tamis__redis_filter *rf, char *to);
/* The slot of partition `key`. Its staging string is kept there too, even if the servers' rule for its name
 * differs. */
uint32_t tamis__partition_slot(const tamis__partitions *partitions, uint32_t key);
/* Writes GETRANGE of a footer, and checks the reply. */
void tamis__footer_put_query(const tamis__partitions *partitions, uint32_t key, tamis__connection *conn);
bool tamis__footer_matches(const tamis__partitions *partitions, uint32_t key, const tamis__reply *reply);
/* Sends one command for each partition, in rounds. First member of the caller's context. */
typedef struct tamis__rounds {
    const tamis__partitions *partitions;
    size_t first; /* first partition of the current round */
    size_t done;  /* partitions answered, counted by accept_reply */
    tamis_status (*accept_reply)(void *context, size_t i, const tamis__reply *reply, bool resent,
                                 tamis_error *err);
    bool is_steps; /* see tamis__requests */
} tamis__rounds;
/* Runs a command for each partition, at most `max` at once. Renews a held lock after each round.
 * `put_command` and `accept_reply` get `rounds` as their context. */
tamis_status tamis__rounds_run(tamis__rounds *rounds, size_t max,
                               bool (*put_command)(void *context, size_t i, tamis__connection *conn),
                               tamis_error *err);
/* Number of partitions to make or remove in one round. */
size_t tamis__round_size(const tamis__partitions *partitions);
/* Adds PEXPIRE, or PERSIST if ms is 0, to a step; `digits` is a buffer. */
void tamis__step_expire(tamis__step *step, tamis_key name, uint64_t ms, char digits[24]);

/* Makes all partitions: zeros with a mark, which expire in `life_ms`. Writes the number of each mark to
 * `mark_numbers`. Makes staging strings with zeros in place of the mark. TAMIS_E_IO: one existed already. */
tamis_status tamis__partitions_make(const tamis__partitions *partitions, uint64_t life_ms, tamis_error *err);
/* Replaces each mark by the footer, without which clients reject a partition, and sets the expiry (0:
 * none). Chunks that arrive later do nothing. Sets `mark_numbers` to NULL. TAMIS_E_IO: the partition in the
 * message was lost or, with has_chunks, lacks chunks, as a failover may lose the last ones. */
tamis_status tamis__partitions_seal(tamis__partitions *partitions, bool has_chunks, uint64_t ttl_ms,
                                    tamis_error *err);
/* PEXPIRE, or PERSIST if ms is 0, of each partition that still has its mark or footer. Of two writers the
 * later one wins, whichever command arrives last.
 *
 * - The lock must be held.
 * - plan: the plan that the hash must have; NULL: not checked.
 * - TAMIS_E_BUSY: the lock was lost, or the hash has another plan. */
tamis_status tamis__partitions_set_expiry(const tamis__partitions *partitions, const char *plan, uint64_t ms,
                                          tamis_error *err);
/* Buffers for tamis__partition_add_condition, which adds two things to a step: the partition's Redis key,
 * and the condition that its mark or footer is in place. The condition of a staging string is that it
 * exists. */
typedef struct tamis__partition_buffers {
    char name[TAMIS__REDIS_KEY], footer[TAMIS__REDIS_BLOCK], from[24], to[24];
} tamis__partition_buffers;
tamis_key tamis__partition_add_condition(const tamis__partitions *partitions, uint32_t key, tamis__step *step,
                                         tamis__partition_buffers *buffers);
/* Buffers for tamis__chunks_add_condition, which adds a condition to a step: all chunks of the partition
 * `name`, or of its staging string, were written. */
typedef struct tamis__chunks_buffers {
    char from[24], to[24], bits[TAMIS__CHUNK_BITS];
} tamis__chunks_buffers;
void tamis__chunks_add_condition(const tamis__partitions *partitions, uint32_t key, tamis_key name,
                                 tamis__step *step, tamis__chunks_buffers *buffers);
/* Position of the bit that the step of a chunk sets. */
uint64_t tamis__chunk_bit(const tamis__partitions *partitions, uint32_t key, uint64_t chunk);
/* Fails with TAMIS_E_IO: partition `key` was lost while it was written. */
tamis_status tamis__partition_lost(const tamis__redis_filter *rf, size_t key, tamis_error *err);
/* Reads all footers, or all marks if `mark_numbers` is set. TAMIS_E_IO: the partition in the message has
 * none. */
tamis_status tamis__footers_check(const tamis__partitions *partitions, tamis_error *err);
/* Writes the step by which an adder sets the expiry of a partition to `ms`. Condition: the partition has
 * its footer or, with is_filling, a mark. */
void tamis__partition_put_renewal(const tamis__partitions *partitions, uint32_t key, bool is_filling,
                                  uint64_t ms, tamis__connection *conn);
/* PEXPIRE, or PERSIST if ms is 0, or UNLINK if it is negative, of the partitions `selected` (NULL: all).
 * Only for generations that no plan names or will ever name again. */
tamis_status tamis__partitions_expire(const tamis__partitions *partitions, const bool *selected, int64_t ms,
                                      tamis_error *err);
/* The same for the selected partitions that have no footer: strings that a late add created. A whole
 * partition stays, since it may be all that is left of a filter that was lost: see tamis_lost.c. */
tamis_status tamis__partitions_expire_unsealed(const tamis__partitions *partitions, const bool *selected,
                                               int64_t ms, tamis_error *err);
/* As tamis__partitions_expire, for all partitions of the plan `text`. Does nothing if the text is not a valid
 * plan, or that of a family. */
tamis_status tamis__plan_text_expire(const tamis__redis_filter *rf, const char *text, int64_t ms,
                                     tamis_error *err);
/* As tamis__plan_text_expire, for all members of a family. Does nothing if the plan is not that of a
 * family. TAMIS_E_REFUSED: the server refuses SCAN, by which they are found. See tamis_members.c. */
tamis_status tamis__members_expire(const tamis__redis_filter *rf, const char *text, int64_t ms,
                                   tamis_error *err);
/* The members of one generation. */
typedef struct tamis__member_count {
    size_t stay, expire;          /* members without an expiry, and with one */
    char name[TAMIS__REDIS_NAME]; /* name of the only member, or common prefix of all names and '*' */
    size_t name_size;
} tamis__member_count;
/* Counts the members of a generation whose names match the glob pattern `names`, or removes them. Remove
 * only members of a generation that no plan names: it never returns. TAMIS_E_REFUSED: as for
 * tamis__members_expire. */
tamis_status tamis__members_count(const tamis__redis_filter *rf, tamis_key names, uint64_t generation,
                                  tamis__member_count *to, tamis_error *err);
tamis_status tamis__members_remove(const tamis__redis_filter *rf, tamis_key names, uint64_t generation,
                                   tamis_error *err);

/* Writes the text that field state of layout 1 has when all partitions of the generation are complete. */
void tamis__state_write(uint64_t generation, char to[TAMIS__REDIS_STATE]);

/* ---- making: see server_memory.c ---- */

/* TAMIS_E_RANGE: with this size of partitions, the filter would have more than TAMIS__PARTITIONS_MAX. */
tamis_status tamis__partitions_check(const tamis_filter *filter, uint64_t blocks_each, tamis_error *err);
/* TAMIS_E_REFUSED: the server reports that it has fewer than `bytes` bytes left. */
tamis_status tamis__server_memory_check(const tamis__redis_filter *rf, uint64_t bytes, tamis_error *err);

/* ---- the lock of writers: see tamis_lock.c ---- */

enum {
    TAMIS__LOCK_MS = 60000,                                      /* life of the lock without renewal */
    TAMIS__LOCK_POLL_MS = 50,                                    /* pause of a waiting writer */
    TAMIS__LOCK_POLLS = 2 * TAMIS__LOCK_MS / TAMIS__LOCK_POLL_MS /* pauses that outlast an unrenewed lock */
};

size_t tamis__lock_name(const tamis__redis_filter *rf, char *to);
/* Takes the lock for TAMIS__LOCK_MS. Its token is kept in the state of rf, where the functions below find
 * it. TAMIS_E_BUSY: another holds it. */
tamis_status tamis__lock_acquire(const tamis__redis_filter *rf, tamis_error *err);
/* Renews the lock for TAMIS__LOCK_MS. TAMIS_E_BUSY: it was lost. */
tamis_status tamis__lock_renew(const tamis__redis_filter *rf, tamis_error *err);
/* The same as one command of a pipeline, and the check of its reply. */
void tamis__lock_put_renewal(const tamis__redis_filter *rf, tamis__connection *conn);
tamis_status tamis__lock_check_renewal(const tamis__redis_filter *rf, const tamis__reply *reply,
                                       tamis_error *err);
/* Adds to a step the lock's Redis key, written to `name`, and a condition. The token must hold the lock
 * or, if the token is empty, nobody may. */
void tamis__lock_add_condition(const tamis__redis_filter *rf, tamis__step *step, char name[TAMIS__REDIS_KEY]);
/* Releases the lock. TAMIS_OK: no step with the token as its condition, however late, does anything from now
 * on. */
tamis_status tamis__lock_release(const tamis__redis_filter *rf, tamis_error *err);
/* Fails with TAMIS_E_BUSY: another writer holds the lock. */
tamis_status tamis__lock_busy(const tamis__redis_filter *rf, tamis_error *err);
/* Waits TAMIS__LOCK_POLL_MS, before the caller tries again to take a lock that another writer holds. */
tamis_status tamis__lock_pause(tamis_error *err);
/* Parts of messages about another writer: the outcome of the command, and the remedy. */
#define TAMIS__NO_EFFECT  "nothing of this command took effect"
#define TAMIS__LOOK_FIRST "look with tamis info and tamis redis ls before you repeat it"
/* Fails with TAMIS_E_BUSY: a step found another holder of the lock, or another plan than expected. The
 * message says TAMIS__NO_EFFECT. */
tamis_status tamis__lock_lost(const tamis__redis_filter *rf, tamis_error *err);
/* The same, with another text for what took effect. */
tamis_status tamis__lock_lost_after(const tamis__redis_filter *rf, const char *effect, tamis_error *err);
/* Fails with the error `why` of a command that did nothing and could not release its lock. Says both, unless
 * the error does. */
tamis_status tamis__lock_left(const tamis_error *why, tamis_error *err);

/* Validates the parameters of rf's URI for operations that do not use them: the same URI must be accepted
 * by every operation on a filter. */
tamis_status tamis__uri_options_check(tamis__redis_filter *rf, tamis_error *err);

/* ---- push: making and replacing filters ---- */

/* Checks that plan and seed of the filter agree with the parameters of its URI. Sets the partitions: their
 * size is that of the URI, else that of `old` (may be NULL), else the default. */
tamis_status tamis__partitions_choose(tamis_filter *filter, const tamis__parsed_plan *old, tamis_error *err);
/* Makes an empty filter with the plan of `made`. Waits if another program is making it. TAMIS_E_BUSY: that
 * took too long. */
tamis_status tamis__push_new(tamis_filter *made, tamis_error *err);
/* Replaces the filter by an empty one with the same plan. TAMIS_E_BUSY: another writer is replacing it. */
tamis_status tamis__push_empty(tamis_filter *there, tamis_error *err);

#endif

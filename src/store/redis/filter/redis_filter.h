/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_FILTER_REDIS_FILTER_H
#define TAMIS_STORE_REDIS_FILTER_REDIS_FILTER_H

#include <string.h>

#include "filter/filter_int.h"
#include "store/redis/filter/redis_unconfirmed.h"
#include "store/redis/topology/redis_int.h"

/*
 * A layout says in which bits of which Redis key an element is, and what else is kept there. All else is the same for
 * every layout: elements are commands in a pipeline, one for each Redis key that has bits of it. An add is a BITFIELD of
 * SETs, which answers the old bits, all at one instant; a question is a BITFIELD of GETs, or where the bits stand in one
 * block, a GETRANGE of the block.
 */
typedef struct tamis__redis_filter tamis__redis_filter;

/* Where an element is. Offsets are SETBIT's: bit i is 0x80 >> (i & 7) of byte i >> 3. */
typedef struct tamis__element_positions {
    uint32_t server; /* number of the server, where the layout spreads elements over several; else 0 */
    uint32_t key;    /* number of the Redis key there */
    uint64_t block;  /* first byte of its block, where the layout has blocks */
    uint64_t offsets[TAMIS_PROBES_MAX];
    uint32_t keys[TAMIS_PROBES_MAX]; /* of each offset, where an element may be in several: rf->parts > 1 */
} tamis__element_positions;

enum {
    TAMIS__REDIS_NAME = 512,
    TAMIS__REDIS_KEY = TAMIS__REDIS_NAME + 64,
    TAMIS__REDIS_BLOCK = 64,
    TAMIS__REDIS_PLAN = 400,
    TAMIS__LOCK_TOKEN = 40
};

/* What a batch did. */
typedef struct tamis__touched {
    bool adds;
    const bool *touched; /* of each Redis key: elements are in it; those of server s from s * keys on */
} tamis__touched;

typedef struct tamis__layout {
    const char *name;
    bool has_blocks;
    bool has_capacity; /* its parameters say for how many keys it is */
    /* Several that know nothing of each other: it chooses one for each element; else Redis keys do. */
    bool has_servers;
    /* Reads the layout's parameters of filter's URI and, where they or the filter itself are kept at the server, looks
     * there. Fills filter->plan but for the scheme's hasher, which is made from plan.scheme and rf->seed. */
    tamis_status (*open)(tamis_filter *filter, const tamis_redis_filter_options *options, tamis_error *err);
    void (*locate)(const tamis_filter *filter, const tamis__key_batch *key_batch, size_t i,
                   tamis__element_positions *positions);
    /* The name of a Redis key that holds bits: at most TAMIS__REDIS_KEY bytes into `to`. */
    size_t (*key_name)(const tamis__redis_filter *rf, uint32_t key, char *to);
    /* NULL, or the Redis key that keeps the parameters: at most TAMIS__REDIS_KEY bytes. (tamis has calls of its own.) */
    size_t (*config_name)(const tamis__redis_filter *rf, char *to);
    /* NULL, or after each batch: whether the filter is still what it was when it was opened. check_count says in how
     * many commands; they are numbered from 0, see tamis__requests, and in several slots are in no order. */
    size_t (*check_count)(const tamis_filter *filter);
    bool (*check_query)(const tamis_filter *filter, const tamis__touched *batch, size_t i,
                        tamis__connection *conn);
    uint32_t (*check_slot)(const tamis_filter *filter, const tamis__touched *batch, size_t i);
    tamis_status (*take_check_reply)(const tamis_filter *filter, size_t i, const tamis__reply *reply,
                                     tamis_error *err);
    /* NULL, or what comes of the checks. *again: another filter has the name now, which this is from now on, and the
     * whole batch is to be asked again. */
    tamis_status (*apply_checks)(const tamis_filter *filter, const tamis__touched *batch, bool *again,
                                 tamis_error *err);
    /* NULL, or after a batch of adds that is answered: puts them where they have to be besides. *again: see settle. */
    tamis_status (*mirror)(const tamis_filter *filter, const tamis__key_batch *key_batch, bool *again,
                           tamis_error *err);
    /* NULL, or before each batch: sees to it that what is known of the filter is not too old. */
    tamis_status (*refresh)(const tamis_filter *filter, tamis_error *err);
    /* The bytes of a Redis key that are bits of the filter, from its first on; all keys but the last have as many, and bit
     * i of all of them in order is bit i of the filter in memory, as SETBIT counts. See tamis__redis_check_moves. */
    uint64_t (*bytes_in)(const tamis_filter *filter, uint32_t key);
    /* See tamis__remote. */
    tamis_status (*estimate)(const tamis_filter *filter, tamis_filter_info *info, tamis_error *err);
    tamis_status (*clear)(tamis_filter *filter, tamis_error *err);
} tamis__layout;

struct tamis__redis_filter {
    tamis_redis *redis;
    bool owns_redis;
    const tamis__layout *layout;
    tamis__redis_uri *uri;  /* name and parameters: of the server, or */
    tamis__redis_uri named; /* of its own */
    tamis_key name;   /* that the layout makes Redis keys of: the URI's, or of the family's member at hand */
    bool is_family;   /* many filters under names of their own: see redis_family.c */
    uint32_t servers; /* of elements: all there are where the layout has_servers, else 1 */
    uint32_t keys;    /* Redis keys that hold bits, of each of them */
    uint32_t parts;   /* most Redis keys that hold bits of one element */
    uint64_t seed;
    uint64_t secret_print;             /* of the secret that it was made with; 0: none, or to be made */
    uint64_t ttl_ms;                   /* 0: none */
    bool renews_on_add;                /* else only what is made gets an expiry */
    uint64_t generation;               /* layout tamis */
    uint64_t partition;                /* layout tamis: blocks of a Redis key; php3: bits */
    uint64_t share;                    /* layout php3: bits of a server */
    char plan_text[TAMIS__REDIS_PLAN]; /* layout tamis: what stands in the hash, from here on as well */
    char next_text[TAMIS__REDIS_PLAN]; /* layout tamis: what stood there as next; empty: nothing */
    char target[TAMIS__REDIS_NAME];    /* the filter that the name is an alias of, */
    size_t target_size;                /* 0: it is none */
    char token[TAMIS__LOCK_TOKEN];     /* layout tamis: token of the lock held; empty: none */
    bool is_next;                      /* layout tamis: a resize fills it, and adders add to it too */
    uint32_t
        *fills; /* layout tamis: numbers in the marks of partitions being filled; NULL: not being filled */
    char staging[16];    /* its bits are others, beside those: see redis_union.c, redis_replace.c */
    bool is_measured;    /* see tamis__redis_check_length */
    bool plans;          /* layout redisson: what is not there is not made, but planned */
    uint64_t checked_ns; /* tamis__now_ns when the plan was last seen to stand */
    tamis__unconfirmed_adds unconfirmed_adds;
    bool only_reads;           /* asks with BITFIELD_RO, since BITFIELD was denied */
    tamis_redis_tracer tracer; /* NULL, or is told of every element */
    void *tracer_context;
    /* What the checks of a batch found. */
    bool replaced;     /* another plan, or another target */
    bool retired;      /* the generation is no more */
    uint32_t followed; /* how often it was another, during one batch */
    uint32_t cut_from; /* 1 + the first partition without footer, or 0 */
};

extern const tamis__layout tamis__layout_tamis, tamis__layout_java, tamis__layout_php1, tamis__layout_php2,
    tamis__layout_php3, tamis__layout_redisson;

static inline tamis__redis_filter *tamis__redis_of(const tamis_filter *filter) {
    return filter->body;
}

/* Adds or asks; see tamis__remote. */
tamis_status tamis__redis_add(tamis_filter *filter, const tamis__key_batch *key_batch, tamis_answer *answers,
                              size_t *done, tamis_error *err);
tamis_status tamis__redis_contains(const tamis_filter *filter, const tamis__key_batch *key_batch,
                                   tamis_answer *answers, size_t *done, tamis_error *err);

/* Of a family, the names that a batch is of, each once, and the number of each element's. */
typedef struct tamis__members {
    const tamis_hasher *hasher; /* of names */
    const tamis_key *names;
    size_t count;
    const uint32_t *member_of;
} tamis__members;

/* The same of a family's members; answers may be NULL. */
tamis_status tamis__redis_query_members(const tamis_filter *family, const tamis__key_batch *key_batch,
                                        const tamis__members *members, bool adds, tamis_answer *answers,
                                        size_t *done, tamis_error *err);

/* Redis keys of all servers. */
static inline size_t tamis__redis_all_keys(const tamis__redis_filter *rf) {
    return (size_t)rf->servers * rf->keys;
}

/* bytes_in of a layout that keeps the bits in the order of those in memory, where it has them in one Redis key. */
static inline uint64_t tamis__redis_bytes_in(const tamis_filter *filter, uint32_t key) {
    (void)key;
    return filter->plan.memory;
}
/* Whether all its bits are where it can be moved whole: else TAMIS_E_UNSUPPORTED. */
tamis_status tamis__redis_check_moves(const tamis__redis_filter *rf, tamis_error *err);

/* The slot of the Redis key of that number; those of server s are numbered from s * keys on. */
uint32_t tamis__redis_key_slot(const tamis__redis_filter *rf, size_t number);

static inline tamis_key tamis__redis_word(const char *text) {
    return (tamis_key){text, strlen(text)};
}

/* One command with these words, which may be asked twice; the second is its Redis key. *integer is
 * its reply, or -1 where that is OK or nil. */
tamis_status tamis__redis_command(tamis__redis_filter *rf, const tamis_key *words, size_t count,
                                  int64_t *integer, tamis_error *err);
/* The same, sent to where that slot is: see tamis__redis_key_slot. */
tamis_status tamis__redis_command_in(tamis__redis_filter *rf, uint32_t slot, const tamis_key *words,
                                     size_t count, int64_t *integer, tamis_error *err);
/* The same of a command that answers with bytes, sent to where that slot is: up to `buffer_size` into `to`, *size 0 where there are
 * none. */
tamis_status tamis__redis_get_in(tamis__redis_filter *rf, uint32_t slot, const tamis_key *words, size_t count,
                                 char *to, size_t buffer_size, size_t *size, tamis_error *err);
/* And to where its Redis key is. */
tamis_status tamis__redis_get(tamis__redis_filter *rf, const tamis_key *words, size_t count, char *to,
                              size_t buffer_size, size_t *size, tamis_error *err);

/* PEXPIRE of a Redis key, or PERSIST where ms is 0; and the same sent to where that slot is. */
tamis_status tamis__redis_expire(tamis__redis_filter *rf, tamis_key key, uint64_t ms, tamis_error *err);
tamis_status tamis__redis_expire_in(tamis__redis_filter *rf, uint32_t slot, tamis_key key, uint64_t ms,
                                    tamis_error *err);
/* How long it stays: *ms is 0 where it does not expire, or is not there. */
tamis_status tamis__redis_ttl(tamis__redis_filter *rf, tamis_key key, uint64_t *ms, tamis_error *err);

/* COMMAND KEY on each Redis key, summed up. */
tamis_status tamis__redis_every_key(const tamis__redis_filter *rf, const char *name, uint64_t *sum,
                                    tamis_error *err);

/* Of a Redis key of that number: bytes that are bits. */
typedef uint64_t tamis__bytes_of(const tamis_filter *filter, uint32_t key);
/* Bits that are set in all Redis keys, each of which has `bytes` of them, or where bytes_of is not NULL as many as that
 * says, `bytes` at most. */
tamis_status tamis__redis_count(const tamis_filter *filter, uint64_t bytes, tamis__bytes_of *bytes_of,
                                uint64_t *ones, tamis_error *err);

/* ---- what layouts have in common ---- */

/* Of one Redis key: the positions of the scheme among plan.bits. */
void tamis__redis_locate(const tamis_filter *filter, const tamis__key_batch *key_batch, size_t i,
                         tamis__element_positions *positions);
/* Of filters alike, each of `bits` bits, from how many are set in all their Redis keys. */
tamis_status tamis__redis_estimate(const tamis_filter *filter, double filters, double bits,
                                   tamis_filter_info *info, tamis_error *err);
/* A layout's refresh, once: TAMIS_E_MISMATCH where a Redis key has more bytes than the plan's bits take, of which questions
 * would call keys absent that are in it. */
tamis_status tamis__redis_check_length(const tamis_filter *filter, tamis_error *err);
/* A layout's clear: there is no more than the Redis keys that hold bits. */
tamis_status tamis__redis_delete_all(tamis_filter *filter, tamis_error *err);

/* A layout's end of open: makes the hasher, and sees to it that no parameter is left. */
tamis_status tamis__redis_set_up(tamis_filter *filter, const tamis_redis_filter_options *options,
                                 tamis_error *err);

/* Asks the checks alone, as of a batch that touched every Redis key; see settle. */
tamis_status tamis__redis_check(const tamis_filter *filter, bool adds, bool *again, tamis_error *err);

/* The handle of a filter by name, all but what its layout's open does; *made is the caller's to free. */
tamis_status tamis__redis_name(tamis_filter **made, tamis_redis *redis, const char *name,
                               const tamis_allocator *allocator, tamis_error *err);

/* What a hash of that name says of a filter of layout redisson: the question, and a plan made of its answer; or not is_there,
 * or TAMIS_E_DAMAGED. */
void tamis__redisson_put_query(tamis__connection *conn, const char *name, size_t size);
tamis_status tamis__redisson_read_plan(const tamis__redis_filter *rf, const tamis__reply *reply,
                                       tamis_plan *plan, bool *is_there, tamis_error *err);

/* Push, of a layout that keeps its bits in one Redis key; `made` is the handle that tamis__redis_name gave. */
tamis_status tamis__redis_replace(tamis_filter *made, const tamis_filter *filter,
                                  const tamis_redis_push_options *options, tamis_error *err);

/* TAMIS_E_IO: a reply that a Redis does not give to what was asked. */
tamis_status tamis__redis_filter_bad_reply(const tamis__redis_filter *rf, tamis_error *err);

#endif

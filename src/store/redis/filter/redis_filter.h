/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_FILTER_REDIS_FILTER_H
#define TAMIS_STORE_REDIS_FILTER_REDIS_FILTER_H

#include "filter/filter_int.h"
#include "store/redis/filter/redis_unconfirmed.h"
#include "store/redis/request/redis_requests.h"

/*
 * A filter on a server. Its layout maps each element to bits of Redis keys, and names the other Redis keys
 * of the filter. The rest is the same for every layout:
 *
 *     element --hash--> positions (layout) --> one command for each Redis key that has bits of the element
 *
 *     add     BITFIELD key SET u1 o_0 1 SET u1 o_1 1 ...  sets all bits atomically, replies with the old bits
 *     lookup  BITFIELD key GET u1 o_0 GET u1 o_1 ...      or GETRANGE, if all its bits are in one block
 *
 * A batch of elements is one pipeline, followed by the checks of the layout: see redis_batch.c.
 */
typedef struct tamis__redis_filter tamis__redis_filter;

/* The positions of an element. Offsets are SETBIT's: bit i is 0x80 >> (i & 7) of byte i >> 3. */
typedef struct tamis__element_positions {
    uint32_t server; /* number of the server, if the layout spreads elements over several; else 0 */
    uint32_t key;    /* number of the Redis key on that server */
    uint64_t block;  /* offset of the first byte of its block, if the layout has blocks */
    uint64_t offsets[TAMIS_PROBES_MAX];
    uint32_t keys[TAMIS_PROBES_MAX]; /* Redis key of each offset, if rf->probe_groups > 1 */
} tamis__element_positions;

enum { TAMIS__REDIS_NAME = 512, TAMIS__REDIS_KEY = TAMIS__REDIS_NAME + 64, TAMIS__REDIS_BLOCK = 64 };

/* What the checks of a layout need of a batch. */
typedef struct tamis__touched {
    bool adds;           /* true: adds; false: lookups */
    const bool *touched; /* for each Redis key, whether the batch used it; server s begins at s * keys */
} tamis__touched;

typedef struct tamis__layout {
    const char *name;
    bool has_blocks;   /* all bits of an element are in one block of TAMIS__REDIS_BLOCK bytes */
    bool has_capacity; /* the parameters include the number of keys planned for */
    /* With several independent servers: true if the layout chooses the server of an element, false if the
     * Redis key does. */
    bool has_servers;
    size_t state_size; /* size of the layout's own state: see tamis__redis_filter */
    /* Reads the layout's parameters from the filter's URI, and from the server if the layout keeps them
     * there. Sets filter->plan and, by tamis__redis_set_up, filter->hasher. */
    tamis_status (*open)(tamis_filter *filter, const tamis_redis_filter_options *options, tamis_error *err);
    /* As `open` for a filter to be made, without making it: the parameters of a missing filter are those
     * of the URI. NULL: `open` itself writes nothing to the server. (Layout tamis plans by
     * tamis_redis_plan_make.) */
    tamis_status (*open_plan)(tamis_filter *filter, tamis_error *err);
    void (*locate)(const tamis_filter *filter, const tamis__key_batch *key_batch, size_t i,
                   tamis__element_positions *positions);
    /* Writes the name of a Redis key that holds bits, at most TAMIS__REDIS_KEY bytes, to `to`. Returns its
     * size. */
    size_t (*key_name)(const tamis__redis_filter *rf, uint32_t key, char *to);
    /* NULL, or the same for the Redis key that holds the parameters. (Layout tamis has functions of its
     * own.) */
    size_t (*config_name)(const tamis__redis_filter *rf, char *to);
    /* NULL, or the checks after each batch: is the filter still the one that was opened? check_count
     * returns the number of commands. They are numbered from 0 as in tamis__requests; commands of
     * different slots have no order. */
    size_t (*check_count)(const tamis_filter *filter);
    bool (*check_query)(const tamis_filter *filter, const tamis__touched *batch, size_t i,
                        tamis__connection *conn);
    uint32_t (*check_slot)(const tamis_filter *filter, const tamis__touched *batch, size_t i);
    tamis_status (*accept_check_reply)(const tamis_filter *filter, size_t i, const tamis__reply *reply,
                                       tamis_error *err);
    /* NULL, or evaluates the replies to the checks. *again: the name refers to another filter now, the
     * handle has switched to it, and the caller must send the whole batch again. */
    tamis_status (*apply_checks)(const tamis_filter *filter, const tamis__touched *batch, bool *again,
                                 tamis_error *err);
    /* NULL, or called after an answered batch of adds: adds the elements to a second generation if a
     * resize requires that. *again: as for apply_checks. */
    tamis_status (*mirror)(const tamis_filter *filter, const tamis__key_batch *key_batch, bool *again,
                           tamis_error *err);
    /* NULL, or writes the command by which an adder renews the expiry of a Redis key with bits. NULL, and
     * the members of a family: PEXPIRE. */
    void (*put_renewal)(const tamis_filter *filter, uint32_t key, tamis__connection *conn);
    /* NULL, or called before each batch: reads again what the handle knows of the filter, if that is too
     * old. */
    tamis_status (*refresh)(const tamis_filter *filter, tamis_error *err);
    /* The number of bytes at the start of a Redis key that hold bits of the filter. All keys but the last
     * have the same number. Concatenated in order, they are the bits of the filter in memory, in SETBIT's
     * order. See tamis__redis_check_moves. */
    uint64_t (*bytes_in)(const tamis_filter *filter, uint32_t key);
    /* As in tamis__external_ops. */
    tamis_status (*estimate)(const tamis_filter *filter, tamis_filter_info *info, tamis_error *err);
    tamis_status (*clear)(tamis_filter *filter, tamis_error *err);
} tamis__layout;

/* The capacity that adds of a handle keep: redis_capacity.c. */
typedef struct tamis__redis_limit {
    bool is_enforced;    /* false: adds have no limit */
    uint64_t capacity;   /* capacity when the keys were last estimated */
    double cardinality;  /* that estimate */
    uint64_t free_slots; /* absent keys that still fit */
} tamis__redis_limit;

/* What all layouts know of a filter. */
struct tamis__redis_filter {
    tamis_redis *redis;
    bool owns_redis;
    const tamis__layout *layout;
    /* What else the layout knows: layout->state_size bytes, read only by its own files; NULL: nothing. */
    void *state;
    /* Name and parameters of the filter: `named`, or the URI of a server that the handle owns. */
    tamis__redis_uri *uri;
    tamis__redis_uri named; /* URI of a filter on the caller's server; else empty */
    tamis_key name;         /* name in the Redis keys: the URI's, or that of the current member of a family */
    bool is_family;         /* many filters with one plan: see redis_family.c */
    uint32_t servers;       /* servers that elements are spread over, if the layout has_servers; else 1 */
    uint32_t keys;          /* Redis keys with bits on each of these servers */
    uint32_t probe_groups;  /* max. probe groups of an element: Redis keys that hold bits of it */
    uint64_t ttl_ms;        /* time to live; 0: none */
    bool renews_on_add;     /* adds renew the expiry; else only what they create gets one */
    tamis__unconfirmed_adds unconfirmed_adds;
    tamis__redis_limit limit;
    bool only_reads;           /* lookups use BITFIELD_RO, since BITFIELD was denied */
    tamis_redis_tracer tracer; /* called for every element; NULL: no trace */
    void *tracer_context;
};

extern const tamis__layout tamis__layout_tamis, tamis__layout_java, tamis__layout_php1, tamis__layout_php2,
    tamis__layout_php3, tamis__layout_redisson;

static inline tamis__redis_filter *tamis__redis_of(const tamis_filter *filter) {
    return filter->body;
}

/* Operations add and contains of tamis__external_ops. */
tamis_status tamis__redis_add(tamis_filter *filter, const tamis__key_batch *batch, size_t *done,
                              tamis_error *err);
tamis_status tamis__redis_contains(const tamis_filter *filter, const tamis__key_batch *batch, size_t *done,
                                   tamis_error *err);

/* Like tamis__redis_add, within rf->limit: TAMIS_E_FULL if the next key is absent and has no slot. */
tamis_status tamis__redis_add_within(tamis_filter *filter, const tamis__key_batch *batch, size_t *done,
                                     tamis_error *err);

/* Elements of several members of a family. */
typedef struct tamis__members {
    tamis__key_batch key_batch; /* the elements */
    const tamis_hasher *hasher; /* hasher of names */
    const tamis_key *names;     /* names of the members, each once */
    size_t count;
    const uint32_t *member_of; /* for each element, the index of its member in `names` */
} tamis__members;

/* Adds elements to members of a family, or looks them up. */
tamis_status tamis__redis_query_members(const tamis_filter *family, const tamis__members *members, bool adds,
                                        size_t *done, tamis_error *err);

/* Number of Redis keys on all servers. */
static inline size_t tamis__redis_all_keys(const tamis__redis_filter *rf) {
    return (size_t)rf->servers * rf->keys;
}

/* TAMIS_E_UNSUPPORTED: the bits are on several servers or in several Redis keys of a layout that cannot be
 * moved whole. */
tamis_status tamis__redis_check_moves(const tamis__redis_filter *rf, tamis_error *err);

/* The slot of Redis key `number`; the keys of server s are numbered from s * keys on. */
uint32_t tamis__redis_key_slot(const tamis__redis_filter *rf, size_t number);

/* Sends one command, whose second word is its Redis key. It may be carried out twice. *integer is the
 * reply, or -1 if the reply is OK or nil. */
tamis_status tamis__redis_command(const tamis__redis_filter *rf, const tamis_key *words, size_t count,
                                  int64_t *integer, tamis_error *err);
/* Returns a command for the server of `slot`: see tamis__redis_key_slot. */
static inline tamis__command tamis__redis_command_in(const tamis__redis_filter *rf, uint32_t slot,
                                                     const tamis_key *words, size_t count) {
    return (tamis__command){
        .redis = rf->redis, .what = rf->uri->shown_name, .slot = slot, .words = words, .count = count};
}

/* PEXPIRE of a Redis key, or PERSIST if ms is 0. The second function sends it to the server of `slot`. */
tamis_status tamis__redis_expire(const tamis__redis_filter *rf, tamis_key key, uint64_t ms, tamis_error *err);
tamis_status tamis__redis_expire_in(const tamis__redis_filter *rf, uint32_t slot, tamis_key key, uint64_t ms,
                                    tamis_error *err);
/* PTTL of a Redis key: *ms is 0 if the key does not expire or does not exist. */
tamis_status tamis__redis_ttl(const tamis__redis_filter *rf, tamis_key key, uint64_t *ms, tamis_error *err);

/* PEXPIRE, or PERSIST if ms is 0, of each Redis key that holds bits. */
tamis_status tamis__redis_expire_all(const tamis__redis_filter *rf, uint64_t ms, tamis_error *err);
/* Sends the command `name` with each Redis key that holds bits. *sum is the sum of the integer replies. */
tamis_status tamis__redis_every_key(const tamis__redis_filter *rf, const char *name, uint64_t *sum,
                                    tamis_error *err);

/* Returns the number of bytes of Redis key `key` that hold bits. */
typedef uint64_t tamis__bytes_of(const tamis_filter *filter, uint32_t key);
/* Counts the bits that are set in the first `bytes` bytes of every Redis key. bytes_of: NULL, or returns a
 * smaller number of bytes for some keys. */
tamis_status tamis__redis_count(const tamis_filter *filter, uint64_t bytes, tamis__bytes_of *bytes_of,
                                uint64_t *ones, tamis_error *err);

/* ---- handles ---- */

/* Last step of a layout's open: makes the hasher of filter->plan.scheme. TAMIS_E_INVALID: the URI has a
 * parameter that the layout does not use. */
tamis_status tamis__redis_set_up(tamis_filter *filter, const tamis_redis_filter_options *options,
                                 uint64_t seed, tamis_error *err);

/* Sends the checks only, as after a batch that used every Redis key. *again: as for apply_checks. */
TAMIS_PRIVATE_API tamis_status tamis__redis_check(const tamis_filter *filter, bool adds, bool *again,
                                                  tamis_error *err);

/* Makes the handle of a filter by name, without calling its layout's open. The caller frees *made. */
TAMIS_PRIVATE_API tamis_status tamis__redis_name(tamis_filter **made, tamis_redis *redis, const char *name,
                                                 const tamis_allocator *allocator, tamis_error *err);
/* Makes a second handle with the name, the plan and the hasher of `filter`, which outlives it, and with
 * another layout. The layout's state is empty. */
tamis_status tamis__redis_name_beside(tamis_filter **made, const tamis_filter *filter,
                                      const tamis__layout *layout, tamis_error *err);

/* Fails with TAMIS_E_MISMATCH: the stored filter has the parameter `what` with another value than the URI. */
tamis_status tamis__redis_fail_differs(const tamis__redis_filter *rf, const char *what, const char *stored,
                                       const char *requested, tamis_error *err);
/* Fails with TAMIS_E_IO: Redis does not give such a reply to the command. */
tamis_status tamis__redis_filter_bad_reply(const tamis__redis_filter *rf, tamis_error *err);

/* ---- redis_foreign.c ---- */

/* Copies the filter of RedisBloom, or of the Redis module, in the Redis key with the name of the handle
 * `named` into memory.
 * TAMIS_E_NOT_FOUND, without a message: there is no such key of this type, or TYPE has failed. */
tamis_status tamis__redis_fetch_foreign(tamis_filter **filter, const tamis_filter *named, tamis_error *err);

#endif

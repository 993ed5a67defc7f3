/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_REDIS_H
#define TAMIS_REDIS_H

/* Filters in bitmaps of a Redis server: library libtamis-redis. Many small filters at once:
 * tamis/experimental/redis_family.h. Not part of tamis/tamis.h, so that a program that embeds a filter
 * needs no further library. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/filter.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A connection to one or more servers, named by a URI:
 *
 *     redis://user:password@host:port/db        one server
 *     redis+unix://%2Frun%2Fredis.sock/db       one server, by its socket
 *     redis+shard://host:port,host:port,.../db  up to 64 independent servers
 *     redis+cluster://host:port,host:port,...   a Redis Cluster, by some of its nodes; database 0
 *     redis+sentinel://host:port,.../MASTER/db  the server that sentinels name as master MASTER
 *     rediss://, rediss+shard://, rediss+cluster://, rediss+sentinel://    the same with TLS
 *     codis+zk://host:port,.../PRODUCT/db       the proxies of a Codis, found in ZooKeeper
 *
 * User, password and database are the same for all servers. Parts are percent-decoded: write / ? and @ within
 * a part as %2F, %3F and %40.
 *
 * - shard: a Redis key is on server crc32(key) mod their number, in the order of the list. Layouts with a
 *   rule of their own choose the server by that rule.
 * - sentinel: user and password are those of the server; parameters give those of the sentinels.
 * - TLS covers all servers: also the nodes that a cluster names, the sentinels, and the master that they
 *   name, at their TLS ports. Each needs a certificate for its own host, or for `sni`.
 * - codis: the proxies are listed under /jodis/PRODUCT or /zk/codis/db_PRODUCT and are used in turn. User and
 *   password are theirs.
 *
 * Threads: any number may use a handle at once. Connections are made when they are needed, and kept. A
 * connection unused for read_timeout is checked before its next use. With a cluster or sentinels, the search
 * for masters may use one more connection. The library looks up host names in a thread of its own.
 */
typedef struct tamis_redis tamis_redis;

/*
 * Parameters of the URI, after a ? and separated by &. Times are written 500ms, 2s, 10m, 6h or 1d; without a
 * unit they are seconds.
 *
 *     timeout=1s         for making a connection, name lookup included
 *     read_timeout=2s    silence of a server with pending commands until the connection counts as lost
 *     retry_interval=50ms  between attempts; doubled up to 32 times, half of it random
 *     patience=15s       longest wait of a call for one answer, retries included
 *     connect_wait=0s    longest wait for a server that has never answered, see below
 *     replicas=N         (1 to 100; not for a Codis) wait until N replicas have each add, see below
 *     connections=64     limit per server; further calls wait, first come first served
 *     sentinel_user=, sentinel_password=
 *     zk_user=, zk_password=   for ZooKeeper, scheme digest
 *
 * With TLS only:
 *
 *     cacert=FILE        (PEM) trusted certificates instead of those of the system
 *     cert=FILE, key=FILE  certificate and key of the client, if the server requires them
 *     sni=NAME           name in the certificate of the server, if it differs from its host
 *     verify=no          accept any certificate; for tests only
 *
 * connect_wait: by default a call fails at once if the first connection and a second one right after it are
 * refused. It also fails at once if the host is unknown, or if the port has no TLS or belongs to another
 * program. For a cluster or sentinels, one node that answers is enough. connect_wait allows more time, for a
 * server that is being started. For a server that has answered before, a call waits up to `patience`.
 *
 * replicas: each batch of adds is answered when N replicas of each of its servers have it (WAIT). This costs
 * one more round trip, and one to the replicas.
 *
 * - If fewer replicas have it within `patience`, the call fails with TAMIS_E_TIMEOUT and the message gives
 *   their number. No key of the batch is answered then. If the same handle adds them again, they are
 *   TAMIS_UNKNOWN.
 * - Lookups and bitmaps (tamis/experimental/redis_bitmap.h) do not wait. Calls that make, replace or drop
 *   a filter of layout tamis wait for the switch of its plan, not for the partitions on other servers.
 */

/*
 * Failover, for clusters and sentinels:
 *
 * The library follows moved slots and changed masters within `patience`. Before a batch is answered, all
 * sentinels of the URI are queried: is the master still the same? An old master that does not know of
 * its replacement accepts adds that will be lost. If the master has changed, the whole batch is sent again to
 * the new one. So name all sentinels in the URI. A sentinel that is not named may have replaced the master,
 * and the others learn of it some two seconds later. The same gap exists if the old master reaches no
 * sentinel. With min-replicas-to-write it refuses adds then.
 *
 * A failover loses adds that the master acknowledged but had not yet sent to the replica that replaces it.
 * That is so with every client of a Redis. In trials 28 of 200,000 keys were lost with a lagging replica, and
 * 10,427 of 157,212 with a wrong min-replicas-to-write. Lost keys are absent once more, without an error.
 * With replicas=N a failover to one of these N replicas loses none. A failover to another replica may still
 * lose adds. So may a server that loses its memory together with its replicas.
 *
 * A Codis: threads of ZooKeeper's client watch the proxies (it seeds the program's random(3) and drand48(3)).
 * Each pipeline uses the next proxy that is online. While ZooKeeper is unreachable the last list is used.
 * Without any proxy online a call fails after `patience`: "Proxy list empty". A Codis has no BITOP, so
 * tamis_redis_union returns TAMIS_E_UNSUPPORTED. If it reads from replicas, answers are as old as those.
 */

/*
 * Errors of all calls with a server, also of its filters and of tamis/experimental/redis_family.h and
 * redis_bitmap.h:
 *
 * - TAMIS_E_IO: the server cannot be reached, or its reply is not that of a Redis.
 * - TAMIS_E_TIMEOUT: no answer within `patience`, or none but that the server is not ready (LOADING).
 * - TAMIS_E_REFUSED: the server does not allow it to this user, or has no such command.
 * - TAMIS_E_INVALID: a name or URI cannot be parsed, or a parameter is unknown, missing or out of range.
 * - TAMIS_E_NOMEM.
 *
 * The comments below list further errors only. If `redis` is NULL, a call connects and disconnects again. To
 * make several calls, open the server once.
 */

/*
 * Opens a connection and waits for one reply, so that errors show here. The caller owns *redis until
 * tamis_redis_close, which must come after its last filter was freed. allocator: NULL for the default.
 * TAMIS_E_INVALID concerns the URI. TAMIS_E_REFUSED concerns user, password or database.
 */
TAMIS_API tamis_status tamis_redis_open(tamis_redis **redis, const char *uri,
                                        const tamis_allocator *allocator, tamis_error *err);
TAMIS_API void tamis_redis_close(tamis_redis *redis);

typedef struct tamis_redis_filter_options {
    uint32_t struct_size;
    /* Layouts tamis and redisson: create the filter if it does not exist and its parameters are given;
     * else TAMIS_E_NOT_FOUND */
    bool create;
    /* For scheme sip: the secret of the filter, TAMIS_E_SECRET if it is another. Without a secret, a keyed
     * filter can be described, fetched and merged, but key lookups return TAMIS_E_SECRET. */
    const void *secret;
    size_t secret_size;
    const tamis_allocator *allocator; /* NULL: that of the server, or the default */
    /* Layout tamis, new filter: how its keys are made, a tamis_key_type (tamis/key.h). The plan stores it,
     * and tamis_filter_metadata_get returns it for every handle. The library compares it only when a handle
     * follows a filter that was replaced. */
    uint32_t key_type;
} tamis_redis_filter_options;

#define TAMIS_REDIS_FILTER_OPTIONS_INIT TAMIS__INIT(tamis_redis_filter_options, )

/*
 * Names, layouts and parameters of filters. *Element* means a key that is added or looked up; *Redis key*
 * means the name of a value on the server. A filter's name is NAME?parameter=value&... If `redis` is NULL, it
 * is the URI of server and filter in one, redis://host:port/db/NAME?..., and the filter has a connection of
 * its own.
 *
 *     layout=tamis       the default: one block of 64 bytes for each element (docs/REDIS-LAYOUT.md)
 *     layout=java        key "bf:NAME": the bits of a published Java class, guava64
 *     layout=redisson    bitmap NAME and hash {NAME}:config of a Java RBloomFilter with StringCodec
 *     layout=php1, php2, php3   NAME, NAME.0 ... and NAME:0 ...: the bits of a published PHP class
 *     expect=n, fpr=p    planned keys and rate
 *     bits=m, probes=k
 *     ttl=1d             time until the Redis keys expire; 0 is an error
 *     renew=add          ttl counts from the last add (the default); renew=create: from the creation
 *
 * Parameters of each layout:
 *
 * - tamis stores its parameters beside the bits. expect, fpr (default 1e-6), scheme=xxh3|sip|guava64, seed,
 *   probes and partition are required only to create a filter. Where they are given, they must agree with an
 *   existing one.
 * - java: m = (int)(-n ln p / (ln 2)^2) and k = max(1, round(m/n ln 2)). expect and fpr are required.
 * - redisson: expect, fpr, bits and probes as for tamis; expect and fpr are required to create a filter.
 * - php1, php2, php3 are the three versions of the class. bits and probes are required.
 */

/*
 * Answers of a filter on a server. No answer is wrong, whatever happens to connections: a key whose
 * add was answered is in the filter.
 *
 * - A command whose reply was lost is sent again. If an add then finds all its bits set, it cannot know
 *   whether it set them itself, and answers TAMIS_UNKNOWN.
 * - At most one answer for a key, to all clients, is TAMIS_ABSENT. Exactly one is, apart from false
 *   positives, if none was TAMIS_UNKNOWN and no call with the key failed. Any of the equal keys in a
 *   disturbed batch may get it.
 * - If a call fails, keys from *done on may be in the filter or not, and no later call answers that they
 *   were absent. If the same handle adds them again, those in the filter are TAMIS_UNKNOWN once, not
 *   TAMIS_PRESENT. So a caller that repeats the call drops nothing.
 * - With layout php3 an element may have bits in several Redis keys, which are not set at one instant. It
 *   is TAMIS_ABSENT if bits were missing in the Redis key that holds most of them, and TAMIS_UNKNOWN if
 *   bits were missing only in others.
 *
 * Durability is that of the server's memory. What it loses is absent once more: by a restart without
 * appendonly and appendfsync=always, a failover to a lagging replica, expiry or clear.
 *
 * - Layout tamis detects lost parts (evicted, deleted, cut): TAMIS_E_DAMAGED, and no key is answered absent.
 *   Other layouts cannot detect them: protect their Redis keys from eviction.
 * - TAMIS_E_NOT_FOUND, TAMIS_E_MISMATCH: the filter was dropped, or replaced by another, while it was open
 *   (layouts tamis and redisson).
 * - TAMIS_E_MISMATCH: a Redis key is longer than the parameters allow, so it was made with other parameters
 *   (other layouts; at the first batch).
 *
 * With these three errors no key of the batch is answered.
 */

/*
 * Opens a filter on a server. If there is none, the Redis key of that name may have a filter of RedisBloom or
 * of the Redis module. Then *filter is a copy of that one, which is only read (TAMIS_FORMAT_REDISBLOOM).
 * tamis_redis_filter_layout distinguishes it from a filter there.
 *
 * The caller owns *filter until tamis_filter_free. One thread at a time: each thread opens its own from the
 * same server. It supports tamis_filter_add_many, _contains_many, _add_hashes, _contains_hashes, _info_get
 * and _clear. Others return TAMIS_E_UNSUPPORTED. A batch is one round trip to each server: pass many keys at
 * once.
 *
 * A new filter takes all its memory at once, and exists when it is complete. If another program is making it,
 * the call waits.
 *
 * - TAMIS_E_REFUSED: the server's maxmemory is too small; nothing is left on the server.
 * - TAMIS_E_RANGE: the filter would need too many Redis keys, or has more bits than the layout allows.
 * - TAMIS_E_BUSY: another program is making or dropping the filter, and takes too long.
 * - TAMIS_E_DAMAGED: the filter's hash was deleted or evicted; drop the filter and add all keys again.
 */
TAMIS_API tamis_status tamis_redis_filter_open(tamis_filter **filter, tamis_redis *redis, const char *name,
                                               const tamis_redis_filter_options *options, tamis_error *err);

/*
 * Enforces the capacity of a filter on a server. The server accepts more keys than the filter was planned
 * for, and its rate then rises. From this call on the handle refuses them, as a filter in memory does:
 * TAMIS_E_FULL at an absent key that does not fit. tamis_filter_info.full is then TAMIS_FULL_CAPACITY.
 *
 * - The call estimates the keys in the filter. Then the handle counts the keys that it adds itself, but
 *   not keys that others add. The estimate is lowered by twice its standard error, so that a filter with
 *   free slots accepts keys.
 * - A filter that was replaced by one of another capacity is estimated again when the handle is full.
 * - TAMIS_E_UNSUPPORTED: layouts php1 to php3, which store no capacity; or the filter is not on a server.
 * - Cost: counts all bits, as tamis_filter_info_get does. From then on, a batch with more keys than free
 *   slots is looked up before it is added, since an add cannot be undone. These lookups are not traced.
 */
TAMIS_API tamis_status tamis_redis_filter_enforce_capacity(tamis_filter *filter, tamis_error *err);

/*
 * Returns the number of keys that may be in a filter on a server although no answer of their add was
 * returned. The reply did not come, or the batch failed after it. An error reply is an answer: that key was
 * not added. A key that is added again, and answered, no longer counts.
 *
 * Returns UINT64_MAX if there are more than the handle can remember, and 0 for a filter in memory.
 */
TAMIS_API uint64_t tamis_redis_filter_unconfirmed(const tamis_filter *filter);

/*
 * Plans a filter of layout tamis, to be created on a server, or in memory and pushed. Like tamis_plan_make
 * for kind blocked. But if probes are not given, it takes fewer probes, and at most twice the smallest number
 * of bits. A server spends its time on parsing commands, and an add has arguments for each probe.
 * plan->reason gives the costs and savings.
 */
TAMIS_API tamis_status tamis_redis_plan_make(tamis_plan *plan, const tamis_plan_options *plan_options,
                                             tamis_error *err);
/* Estimates the microseconds of server time of an add with this number of probes, sent as one command. */
TAMIS_API double tamis_redis_add_cost(uint32_t probes);

/*
 * Plans a filter in memory that will be pushed under this name (redis NULL: the URI of both). Layout tamis:
 * as tamis_redis_plan_make. Other layouts with one Redis key: kind classic with the sizes of the existing
 * filter or of the parameters; `plan_options` is ignored. Creates nothing.
 */
TAMIS_API tamis_status tamis_redis_plan_for(tamis_plan *plan, const tamis_plan_options *plan_options,
                                            tamis_redis *redis, const char *name, tamis_error *err);

/* Writes the URI without user and passwords, on one line, cut to `capacity` bytes with its NUL. Returns the
 * full length. */
TAMIS_API size_t tamis_redis_uri_show(const char *uri, char *to, size_t capacity);

/* Returns the version of "hiredis", "openssl" or "zookeeper" in use; NULL if this library is built without
 * it, or for another name. The string is static. */
TAMIS_API const char *tamis_redis_library_version(const char *library);

/* Returns the layout name, such as "java", of a filter from tamis_redis_filter_open; NULL for any other
 * filter. */
TAMIS_API const char *tamis_redis_filter_layout(const tamis_filter *filter);

/* Trace of the bits of an element in one Redis key. */
typedef struct tamis_redis_traced_part {
    const char *instance; /* server that answered: host:port, or the path of its socket */
    const void *key;      /* key_size bytes */
    size_t key_size;
    /* Offsets as in SETBIT, in the order of the layout, and each bit before the command, 0 or 1. If an
     * offset occurs twice, the second bit is what the first occurrence made of it. */
    const uint64_t *offsets;
    const uint8_t *bits;
    size_t count;
    /* nanoseconds from the command entering the pipeline until its reply was read, which waits for the
     * replies before it */
    uint64_t ns;
} tamis_redis_traced_part;

/* Trace of one element. */
typedef struct tamis_redis_traced {
    uint32_t struct_size;
    bool adds; /* true: add; false: lookup */
    tamis_answer answer;
    const tamis_redis_traced_part *parts; /* one for each Redis key that has bits of the element */
    size_t part_count;
    const tamis_key *element; /* NULL: the caller passed a hash */
} tamis_redis_traced;

/* Receives a trace. *traced is valid during the call, which must not use the filter. */
typedef void (*tamis_redis_tracer)(void *context, const tamis_redis_traced *traced);

/*
 * Traces every element from now on: when a batch is answered, calls `tracer` for each element in order. NULL
 * ends tracing. No further round trip. Memory per batch: 16 bytes for each Redis key of an element, and a
 * byte for each probe. TAMIS_E_UNSUPPORTED: the filter is not on a server.
 */
TAMIS_API tamis_status tamis_redis_filter_trace(tamis_filter *filter, tamis_redis_tracer tracer,
                                                void *context, tamis_error *err);

/*
 * Whole filters.
 *
 * A filter of layout tamis may be replaced under its name while it is used. After each batch a handle checks
 * whether the name still refers to the same filter. If not, it switches to the new filter and sends the whole
 * batch again. Keys that it had added to the old filter and finds in the new one are TAMIS_UNKNOWN. So one
 * filter answers a whole batch, and keys in both filters are present at all times. The old filter stays for a
 * minute, for batches in progress. A handle never switches to a filter with another scheme, seed, secret or
 * key type, or one that contradicts its URI: TAMIS_E_MISMATCH.
 *
 * Bits are sent as they are, 8 in a byte, in pieces of 1 MiB, several at once. A filter in memory that is
 * pushed, merged or passed as `like` is only read. Other threads may look up keys in it, but none may add.
 */

/*
 * Fetches a filter into memory. The caller owns *pulled, which answers every key like the original and can be
 * saved and merged. Layout tamis gives kind blocked with the same plan, scheme, seed and secret. Other
 * layouts with one Redis key give kind classic with their scheme and exactly as many bits. The result has
 * every key whose add was answered before, and may have keys added meanwhile.
 *
 * - TAMIS_E_NOT_FOUND, TAMIS_E_DAMAGED: as for lookups.
 * - TAMIS_E_MISMATCH: the bitmap of another layout is longer than its parameters allow.
 * - TAMIS_E_UNSUPPORTED: php2 and php3 with several keys or servers.
 *
 * Cost: a round trip for each 16 MiB and a few more, and all again if the filter was replaced meanwhile.
 * Memory: the filter and at most 16 MiB.
 */
TAMIS_API tamis_status tamis_redis_pull(tamis_filter **pulled, const tamis_filter *there, tamis_error *err);

/* Receives bytes in order. A status other than TAMIS_OK ends the call, which returns that status. */
typedef tamis_status (*tamis_redis_sink)(void *context, const void *bytes, size_t size, tamis_error *err);

/*
 * Fetches the bits as bytes of the server: bit i of the filter is 0x80 >> i % 8 of byte i / 8. Layout tamis
 * gives its partitions in order, without the bytes after their bits. Round trips as for tamis_redis_pull; 16
 * MiB of memory for any size. TAMIS_E_MISMATCH: the filter was replaced meanwhile; try again. Other errors as
 * for tamis_redis_pull.
 */
TAMIS_API tamis_status tamis_redis_pull_bitmap(const tamis_filter *there, tamis_redis_sink sink,
                                               void *context, tamis_error *err);

/*
 * Makes a filter in memory like `there` from bytes of tamis_redis_pull_bitmap. The caller owns *made and may
 * push it. One round trip, to read the parameters; memory for the filter beside the bytes. TAMIS_E_MISMATCH:
 * the number of bytes differs, or bits after the last one are set.
 */
TAMIS_API tamis_status tamis_redis_from_bitmap(tamis_filter **made, const tamis_filter *there,
                                               const void *bytes, size_t size, tamis_error *err);

typedef struct tamis_redis_push_options {
    uint32_t struct_size;
    /* NULL, or called with the bytes that have arrived. The push holds one connection meanwhile, so with
     * connections=1 it must not call this server. */
    void (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
} tamis_redis_push_options;

#define TAMIS_REDIS_PUSH_OPTIONS_INIT TAMIS__INIT(tamis_redis_push_options, )

/*
 * Pushes a filter in memory to a server under this name (redis NULL: the URI of both). Layout tamis takes
 * kind blocked with scheme xxh3, sip or guava64. Other layouts take kind classic as planned by
 * tamis_redis_plan_for.
 *
 * The filter is written beside the existing one, checked, and switched to atomically. The existing filter is
 * replaced, with every key that was added to it until the switch. To keep those, pull, merge and push while
 * nobody adds, or use tamis_redis_union. An add answered after the switch is in the new filter.
 *
 * Parameters: partition= and ttl default to those of the old filter (ttl: what is left of it). Parameters of
 * the plan must agree with the filter if they are given. The name may be an alias of the filter.
 *
 * After a failure the old filter is unchanged, with one exception. If the connection is lost at the last
 * step, the error says that the outcome is unknown. Then use tamis_redis_list, or open the filter. One writer
 * at a time holds the filter's lock, which lasts a minute and is renewed. A writer that stalls for longer
 * loses the lock: its call fails (TAMIS_E_BUSY), and its late commands change nothing. The message says
 * whether the push took effect before another writer replaced or dropped the filter.
 *
 * Other layouts are switched by RENAME, which handles cannot notice: a batch in progress may still add to the
 * old filter. Layouts that store no parameters (java, php) may get other ones; then configure every program
 * with them.
 *
 * - TAMIS_E_REFUSED: the server does not allow RENAME.
 * - TAMIS_E_UNSUPPORTED: kind, scheme or layout; or a Codis, which has no RENAME, for other layouts than
 *   tamis; nothing was sent.
 * - TAMIS_E_MISMATCH: the existing filter differs from the parameters, or has another scheme, seed or secret,
 *   which open handles could not follow: drop it first.
 * - TAMIS_E_BUSY: another push, drop or resize of the name is in progress or was stopped less than a minute
 *   ago. Or this call lost the lock.
 */
TAMIS_API tamis_status tamis_redis_push(const tamis_filter *filter, tamis_redis *redis, const char *name,
                                        const tamis_redis_push_options *options, tamis_error *err);

/*
 * Merges a filter in memory into `there`, of layout tamis, while that is used: no add is lost. After a
 * failure a part may be merged; call again to merge all.
 *
 * - TAMIS_E_MISMATCH: bits, probes, scheme, seed or secret differ.
 * - TAMIS_E_BUSY: `there` is being resized.
 * - TAMIS_E_UNSUPPORTED: another layout, or a Codis.
 * - TAMIS_E_NOT_FOUND, TAMIS_E_DAMAGED: as for lookups.
 */
TAMIS_API tamis_status tamis_redis_union(tamis_filter *there, const tamis_filter *from, tamis_error *err);

/*
 * Resizes a filter of layout tamis while it is used, without losing an add. Bits do not reveal their keys, so
 * the caller must supply all keys once more:
 *
 *     begin    from now on all adds go to the old and the new filter
 *     then     add all earlier keys to a filter in memory with the plan and hasher of `like`
 *     end      the new filter gets those keys too, and replaces the old one as a push does
 *
 * All clients must know the field `next` of docs/REDIS-LAYOUT.md; those of this library do. Until the end an
 * add costs two more round trips. `like` may be the filter that is passed to the end.
 *
 * Another push or drop before the end ends this resize: TAMIS_E_MISMATCH. A resize that was killed costs
 * these round trips until then, and no other resize can begin (TAMIS_E_BUSY); tamis_redis_leftovers ends
 * it too.
 *
 * - TAMIS_E_NOT_FOUND: there is no filter.
 * - TAMIS_E_UNSUPPORTED: another layout, kind or scheme.
 * - Other errors as for tamis_redis_push.
 *
 * The caller owns *resize until tamis_redis_resize_end, which frees it even if it fails. With filter NULL it
 * cancels the resize, and the old filter stays as it is. The end waits up to two minutes while another
 * program expires or aliases the filter, or was killed doing that; TAMIS_E_BUSY after that time.
 */
typedef struct tamis_redis_resize tamis_redis_resize;
TAMIS_API tamis_status tamis_redis_resize_begin(tamis_redis_resize **resize, const tamis_filter *like,
                                                tamis_redis *redis, const char *name, tamis_error *err);
TAMIS_API tamis_status tamis_redis_resize_end(tamis_redis_resize *resize, const tamis_filter *filter,
                                              tamis_error *err);

/*
 * Makes `name` an alias of the filter `target`, both of layout tamis, also for open handles. With target NULL
 * it removes the alias. A few round trips. TAMIS_E_NOT_FOUND: there is no such target. TAMIS_E_MISMATCH: the
 * name is a filter itself, or the target is an alias.
 */
TAMIS_API tamis_status tamis_redis_alias(tamis_redis *redis, const char *name, const char *target,
                                         tamis_error *err);

/*
 * Removes a filter with all its keys; or an alias, whose target stays. Open handles fail from then on
 * (TAMIS_E_NOT_FOUND). Layouts that store no parameters require those of opening; the others accept them.
 * With a family (tamis/experimental/redis_family.h, layout tamis) its members are removed too.
 *
 * After a failure the filter may exist or not. If the message says that it was dropped, only Redis keys that
 * nothing uses may remain: see tamis_redis_leftovers. Else drop it again. A filter that another program makes
 * meanwhile is never dropped. After TAMIS_E_BUSY with ESTALE nothing took effect, and another program may
 * have changed the filter: look at it first.
 *
 * Warning: if the lock cannot be released after a success, the call returns TAMIS_OK, and err->text is a
 * warning with err->status TAMIS_OK. Other writers wait for up to a minute then. The same holds for
 * tamis_redis_alias and tamis_redis_expire.
 *
 * - TAMIS_E_NOT_FOUND: no filter, and no remains of one.
 * - TAMIS_E_BUSY: as for tamis_redis_push.
 * - TAMIS_E_REFUSED: also if a family was dropped but its members cannot be found, because SCAN is not
 *   allowed (a Codis has none). Their strings stay.
 *
 * Cost: about ten round trips, and a command for each Redis key, whose memory the server frees in the
 * background. A family also reads the names of all Redis keys, and keeps those of members in memory.
 */
TAMIS_API tamis_status tamis_redis_drop(tamis_redis *redis, const char *name, tamis_error *err);

/*
 * Lets all Redis keys of a filter expire together in `milliseconds`; 0: never. For an alias this applies to
 * its target, and for a family to its members, found as by tamis_redis_drop. A few round trips, and a command
 * for each Redis key.
 *
 * - TAMIS_E_NOT_FOUND: layout tamis, and there is no filter.
 * - TAMIS_E_REFUSED: also if members cannot be found.
 * - TAMIS_E_RANGE: more milliseconds than a server can store.
 */
TAMIS_API tamis_status tamis_redis_expire(tamis_redis *redis, const char *name, uint64_t milliseconds,
                                          tamis_error *err);

/* ---- list ---- */

typedef enum tamis_redis_state {
    TAMIS_REDIS_READY = 0, /* usable */
    /* Layout tamis: a client of layout 1 is making it, or was stopped. Opening fails; drop it if this
     * lasts. */
    TAMIS_REDIS_MAKING = 1,
    TAMIS_REDIS_ALIAS = 2, /* another name of `target` */
    /* Layout tamis: no filter. A push is making it, or a push or drop was stopped: then drop it. */
    TAMIS_REDIS_LEFT = 3,
    /* Its parameters cannot be read. Layout tamis: also if its hash was deleted or evicted, and the copy of
     * its plan is there. Drop it, and build it again. */
    TAMIS_REDIS_DAMAGED = 4,
    /* Layout tamis: a family (tamis/experimental/redis_family.h). The numbers are those of a member. */
    TAMIS_REDIS_FAMILY = 5,
    TAMIS_REDIS_DENIED = 6, /* the server gives this user the name only */
} tamis_redis_state;

/* A filter or alias in the list. */
typedef struct tamis_redis_entry {
    uint32_t struct_size;
    tamis_redis_state state;
    const char *layout; /* "tamis", "java", "redisson" */
    const char *name;   /* name_size bytes, without a NUL */
    size_t name_size;
    const char *target; /* for an alias: target_size bytes; else NULL */
    size_t target_size;
    /* expect, fpr, bits, probes: 0 if unknown */
    uint64_t expect;
    double fpr;
    /* layout java: bits of the bitmap, which ends with the last bit set or written */
    uint64_t bits;
    uint32_t probes;
    uint64_t keys;      /* Redis keys with bits; 0 for a family and for entries without bits */
    int64_t expires_ms; /* milliseconds from now; -1: never */
} tamis_redis_entry;

/* Receives an entry, which is valid during the call. A status other than TAMIS_OK ends the list, which
 * returns that status. */
typedef tamis_status (*tamis_redis_entry_sink)(void *context, const tamis_redis_entry *entry,
                                               tamis_error *err);

/*
 * Lists the filters of a server by name, in the order of their bytes. Layouts php1 to php3 are left out:
 * nothing distinguishes them from other Redis keys.
 *
 * - pattern: a glob (* ? [a-z]) of names, percent-encoded; NULL for all. If `redis` is NULL: the URI of the
 *   server, with or without the pattern.
 * - Filters that appear or disappear meanwhile may be listed or not.
 * - TAMIS_E_REFUSED: SCAN is not allowed (a Codis has none).
 *
 * Cost: reads the names of all Redis keys of every server, which takes a server a second for some million.
 * That is a round trip for each thousand and each layout, then one for all filters found. These are kept in
 * memory until they are listed.
 */
TAMIS_API tamis_status tamis_redis_list(tamis_redis *redis, const char *pattern, tamis_redis_entry_sink sink,
                                        void *context, tamis_error *err);

/* ---- leftovers ---- */

typedef enum tamis_redis_leftover_kind {
    TAMIS_REDIS_LEFT_UNFINISHED = 0, /* part of an unfinished build or resize */
    TAMIS_REDIS_LEFT_REPLACED = 1,   /* part of a replaced or dropped filter */
    TAMIS_REDIS_LEFT_UNKNOWN = 2,    /* part of a generation without a record in the hash of the filter */
    /* Part of a resize that has not ended: it was killed, or is in progress. Removal ends it. */
    TAMIS_REDIS_LEFT_RESIZE = 3,
} tamis_redis_leftover_kind;

/* Unused partitions of one generation of a filter of layout tamis, or members of a family. They do not
 * expire by themselves, except for those of an unfinished build or drop. Its `keys` may be 0: only the
 * record of it is left. */
typedef struct tamis_redis_leftover {
    uint32_t struct_size;
    tamis_redis_leftover_kind kind;
    /* The filter's name, name_size bytes without a NUL. If the family of members is unknown: the name
     * of the only member, or the common prefix of their names and '*'. */
    const char *name;
    size_t name_size;
    uint64_t generation;
    uint64_t keys; /* number of Redis keys */
} tamis_redis_leftover;

/* Called for each leftover, which is valid during the call. A status other than TAMIS_OK ends the listing,
 * which returns that status. */
typedef tamis_status (*tamis_redis_leftover_sink)(void *context, const tamis_redis_leftover *leftover,
                                                  tamis_error *err);

/*
 * Lists the partitions that builds, resizes and drops of layout tamis left behind when they were killed. With
 * `removes`, removes each leftover before it passes it to `sink`. (The next build or drop of the same filter
 * also removes those that the filter's hash records.)
 *
 * - pattern, redis: as for tamis_redis_list; `redis` may be NULL.
 * - Skips filters that are being built, resized or dropped.
 * - Skips filters whose Redis keys the user may not read. The call then returns TAMIS_OK, and err->text is a
 *   warning with their number, with err->status TAMIS_OK.
 * - Members of a family that no hash names are found only if all Redis keys are on one server. The user must
 *   also have the right to read all hashes and to use INFO.
 * - TAMIS_E_REFUSED: SCAN is not allowed (a Codis has none).
 * - TAMIS_E_BUSY: somebody began to change the filter.
 * - TAMIS_E_IO: also if the server was restarted meanwhile.
 *
 * Cost: reads the names of all Redis keys of every server (SCAN). It keeps those of partitions and hashes in
 * memory, and those of members only if they are leftovers. Reads the hash of each filter.
 */
TAMIS_API tamis_status tamis_redis_leftovers(tamis_redis *redis, const char *pattern, bool removes,
                                             tamis_redis_leftover_sink sink, void *context, tamis_error *err);

#ifdef __cplusplus
}
#endif
#endif

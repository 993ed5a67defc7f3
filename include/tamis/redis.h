/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_REDIS_H
#define TAMIS_REDIS_H

/* Filters in bitmaps of a Redis: library libtamis-redis; many small ones at once: tamis/redis_family.h. Not part of
 * tamis/tamis.h, so that who embeds a filter inherits nothing else. */

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
 * A server or several, named by a URI:
 *
 *     redis://user:password@host:port/db        redis+unix://%2Frun%2Fredis.sock/db
 *     redis+shard://host:port,host:port,.../db  servers that know nothing of each other, 64 at most: a Redis key is on
 *                                               server crc32(key) mod their number, in the order of the list (layouts
 *                                               that have a rule of their own choose by that)
 *     redis+cluster://host:port,host:port,...   a Redis Cluster, by some of its nodes; database 0
 *     redis+sentinel://host:port,.../MASTER/db  the server that sentinels name as master MASTER, while it is; user and
 *                                               password are the server's, the sentinels' are parameters
 *     rediss://, rediss+shard://, rediss+cluster://, rediss+sentinel://   the same with TLS, to all of them: to the nodes
 *                                               too that a cluster names, to sentinels and to the master they name, at the
 *                                               ports of TLS; each is to have a certificate of its own host, or of `sni`
 *     codis+zk://host:port,.../PRODUCT/db       the proxies of a Codis, found in ZooKeeper under /jodis/PRODUCT or
 *                                               /zk/codis/db_PRODUCT, one after the other; user and password are theirs
 *
 * User, password and database are the same for all of them. A cluster is followed where its slots move and its masters
 * change, and so are sentinels, within `patience`. Before a batch is answered all sentinels of the URI are asked whether the
 * master is still the same, since an old one that was not told yet takes what is lost; if not, all of the batch is asked
 * again of the new one. So name all of them: one that is not named may have replaced the master, and the others do not know
 * for some two seconds. (So also if the old master reaches no sentinel: min-replicas-to-write then makes it refuse adds.)
 *
 * A failover loses adds that the master acknowledged but had not yet sent to the replica that replaces it, as with every
 * client of a Redis. In trials 28 of 200,000 keys were lost with a lagging replica, and 10,427 of 157,212 with a wrong
 * min-replicas-to-write. Lost keys are fresh once more, without an error. With replicas=N, adds are answered when N
 * replicas have them (WAIT), so a failover to one of these replicas loses none. A failover to another replica may still
 * lose adds, and so may a server that loses its memory together with its replicas.
 *
 * Proxies of a Codis are watched by threads of ZooKeeper's client (which seeds the program's random(3) and drand48(3)).
 * Each exchange is with the next that is online; while ZooKeeper is away the last list does, and with none online a call
 * fails after `patience`: "Proxy list empty". A Codis has no BITOP, so tamis_redis_unite is TAMIS_E_UNSUPPORTED there;
 * where it is set to read from replicas, answers are as old as those.
 *
 * Parts are percent-decoded; / ? and @ within one are written %2F %3F and %40. What may stand behind
 * a ? and between &:
 *
 *     timeout=1s         for one connection to be made, the look-up of its name included
 *     read_timeout=2s    for a server that has questions to say nothing at all, before the connection counts as lost
 *     retry_interval=50ms  between tries, doubled up to 32 times, half of it by chance
 *     sentinel_user=, sentinel_password=
 *     zk_user=, zk_password=   for ZooKeeper, scheme digest
 *     connect_wait=0s    how long to wait for a server that has never answered, such as one that is being started. By
 *                        default a call fails at once if the first connection and a second one right after it are
 *                        refused, if the host is unknown, or if the port has no TLS or belongs to another program. One
 *                        node of a cluster, or one sentinel, that answers is enough. For a server that has answered
 *                        before, a call waits up to `patience`
 *     patience=15s       for which a call may go without one answer, retries included, before it fails
 *     replicas=N         (1 to 100; not for a Codis) each batch of adds is answered when N replicas of each of its servers
 *                        have it. This takes one more round trip, and one to the replicas. If fewer have it within
 *                        `patience`, the call fails with TAMIS_E_TIMEOUT and says how many do. No key of the batch is
 *                        answered then; if the same handle adds them again, they are TAMIS_UNKNOWN. Lookups, bitmaps
 *                        (tamis/redis_bitmap.h) do not wait. Calls that make, replace or drop a filter of layout
 *                        tamis wait for the switch of its plan, not for the partitions on other servers
 *     connections=64     with one server at once, at most; calls that find all of them in use wait, first come first served
 *
 * and with TLS alone:
 *
 *     cacert=FILE        (PEM) whom to trust, instead of the system's
 *     cert=FILE, key=FILE  our certificate and its key, where the server wants one
 *     sni=NAME           the name in the server's certificate, where that is not its host
 *     verify=no          any certificate will do: for tests alone
 *
 * Times are given as 500ms, 2s, 10m, 6h, 1d, and are in seconds where they have no unit.
 *
 * Any number of threads may use it at once; connections are made when they
 * are needed and kept, and one that was not used for read_timeout is asked whether it lives before it is used again. Where
 * masters are looked for (cluster, sentinels), a connection more may be made for that question. A name is looked up in a
 * thread that the library makes for it.
 */
typedef struct tamis_redis tamis_redis;

/*
 * All calls with a server, those of a filter there and of tamis/redis_family.h and redis_bitmap.h too, may fail with
 * TAMIS_E_IO (it cannot be reached, or says what no Redis says), TAMIS_E_TIMEOUT (no answer within `patience`),
 * TAMIS_E_REFUSED (it does not let the user, or has no such command), TAMIS_E_NOMEM, and where they take a name or a URI
 * with TAMIS_E_INVALID: it cannot be read, or a parameter is unknown, missing or out of its bounds. Below each stands what
 * may fail besides. With `redis` NULL a call connects and closes again: who makes several opens the server once.
 */

/* *redis is owned by the caller until tamis_redis_close (NULL is fine there), which comes after the last filter of it
 * was freed. Connects and waits for one reply, so that errors show here: TAMIS_E_INVALID (the URI), TAMIS_E_IO,
 * TAMIS_E_TIMEOUT, TAMIS_E_REFUSED (user, password, database), TAMIS_E_NOMEM. allocator NULL: the default. */
TAMIS_API tamis_status tamis_redis_open(tamis_redis **redis, const char *uri,
                                        const tamis_allocator *allocator, tamis_error *err);
TAMIS_API void tamis_redis_close(tamis_redis *redis);

typedef struct tamis_redis_filter_options {
    uint32_t struct_size;
    /* Layouts tamis and redisson: make it if it is not there and its parameters are given; else TAMIS_E_ABSENT. */
    bool create;
    /* For scheme sip: the one it was or is made with, else TAMIS_E_MISMATCH; without any, a keyed filter can be described,
     * fetched and united, but not asked by key (TAMIS_E_MISMATCH). */
    const void *secret;
    size_t secret_size;
    const tamis_allocator *allocator; /* NULL: the server's, or the default */
    /* Layout tamis, one that is made here: what its keys are made of, of tamis_key_type (tamis/file.h). It stands in the plan,
     * and tamis_filter_about_get says it of every handle; as there, nothing in the library looks at it. */
    uint32_t key_type;
} tamis_redis_filter_options;

/* clang-format off */
#define TAMIS_REDIS_FILTER_OPTIONS_INIT {sizeof(tamis_redis_filter_options), false, NULL, 0, NULL, 0}
/* clang-format on */

/*
 * A filter there, named by NAME?parameter=value&...; with `redis` NULL by the URI of the server and of the filter in one,
 * redis://host:port/db/NAME?..., and the connection is the filter's own. Parameters:
 *
 *     layout=tamis       the default: one block of 64 bytes an element, parameters kept beside the bits
 *                        (docs/REDIS-LAYOUT.md); expect, fpr, scheme=xxh3|sip|guava64, seed, probes and partition are needed
 *                        only where it is made, and have to agree with what is there where they are given
 *     layout=java        key "bf:NAME", guava64 over m = (int)(-n ln p / (ln 2)^2) bits, k = max(1, round(m/n ln 2)):
 *                        the bits of a published Java class; expect=n and fpr=p are needed
 *     layout=redisson    bitmap NAME and hash {NAME}:config of a Java RBloomFilter with StringCodec; expect, fpr, bits and
 *                        probes as for tamis: expect and fpr are needed where it is made, and have to agree
 *     layout=php1, php2, php3   NAME, NAME.0 ... and NAME:0 ...: the bits of a published PHP class, in its three versions;
 *                        bits=m and probes=k are needed
 *     expect=n, fpr=p    what it is made for; with layout tamis 1e-6 where fpr is not given
 *     ttl=1d             its keys expire so long after the last add (renew=add, the default) or after it was made
 *                        (renew=create); ttl=0 is refused
 *
 * *filter is owned by the caller until tamis_filter_free, one thread at a time; threads open one each of the same
 * server. It answers tamis_filter_add_many, _contains_many, _add_hashes, _contains_hashes, _info_get and _clear, and
 * refuses the others (TAMIS_E_UNSUPPORTED). A batch is one round trip: give many keys at once.
 *
 * No answer is wrong, whatever happens to connections: a key that was answered is in. A command whose reply was lost is
 * asked again; an add that finds all its bits then does not know whether it set them itself, and answers TAMIS_UNKNOWN.
 * So of all answers for a key, by all clients, at most one is TAMIS_FRESH; and just one is, but for false positives, where
 * none was TAMIS_UNKNOWN and no call with it failed. Of equal keys in a batch that was disturbed any may be the fresh one.
 * Where a call fails, keys past *done may be in or not, and others are not told any more that they were fresh; added again
 * by the same handle, those that are in are TAMIS_UNKNOWN once, not TAMIS_SEEN, so that who tries again drops nothing.
 * With layout php3 an element may have bits in several Redis keys, which are not set at one instant: it is FRESH where it
 * found some of the key that has most of them not set, and TAMIS_UNKNOWN where it found only others not set.
 *
 * It is as good as the server's memory: what that forgets (started again without appendonly and appendfsync=always, a
 * replica that lags made master, expiry, clear) is fresh once more. What is gone of layout tamis (evicted, deleted, cut)
 * is TAMIS_E_DAMAGED, and no key of it is called absent; the others cannot tell: keep their keys from eviction.
 * TAMIS_E_ABSENT, TAMIS_E_MISMATCH: it was dropped, or replaced by another, while it was open (layouts tamis and
 * redisson); TAMIS_E_MISMATCH also where a Redis key is longer than the parameters' bits, which are then not those that it
 * was made with (the others; at the first batch). With these three nothing of the batch is answered.
 *
 * A new filter takes all its memory at once, and exists when it is complete. If another program is making it, the call
 * waits.
 * - TAMIS_E_REFUSED: the server's maxmemory is too small; nothing is left on the server.
 * - TAMIS_E_RANGE: the filter would need too many Redis keys, or has more bits than the layout allows.
 * - TAMIS_E_BUSY: another program is making or dropping the filter, and takes too long.
 * - TAMIS_E_DAMAGED: the filter's hash was deleted or evicted; drop the filter and add all keys again.
 */
TAMIS_API tamis_status tamis_redis_filter_open(tamis_filter **filter, tamis_redis *redis, const char *name,
                                               const tamis_redis_filter_options *options, tamis_error *err);

/*
 * The plan of a filter of layout tamis, to be made there, or in memory and pushed: as tamis_plan_make for kind blocked, but
 * where probes are not given with fewer of them than take the least bits, at most twice those. A server spends its time
 * on reading commands, and an add has words for every probe. plan->reason says what that costs and saves.
 */
TAMIS_API tamis_status tamis_redis_plan_make(tamis_plan *plan, const tamis_want *want, tamis_error *err);
/* About how many microseconds of a server's time an add of so many probes takes, in a command of its own. */
TAMIS_API double tamis_redis_add_cost(uint32_t probes);

/*
 * The plan of a filter in memory that is to be pushed under this name (redis NULL: the URI of both): of layout tamis that
 * of tamis_redis_plan_make, of the others, which have one Redis key, kind classic as what is there or the parameters say;
 * `want` does not count then. Nothing is made.
 */
TAMIS_API tamis_status tamis_redis_plan_for(tamis_plan *plan, const tamis_want *want, tamis_redis *redis,
                                            const char *name, tamis_error *err);

/* The URI as others may see it: without user and passwords, on one line, cut to `room` bytes with its NUL. How long it is. */
TAMIS_API size_t tamis_redis_uri_show(const char *uri, char *to, size_t room);

/* The version of a library that this one works with, "hiredis", "openssl" or "zookeeper"; NULL: it is built without, or
 * knows none of that name. Static storage. */
TAMIS_API const char *tamis_redis_library_version(const char *library);

/* The name of the layout of a filter that tamis_redis_filter_open gave, "java"; NULL for any other filter. */
TAMIS_API const char *tamis_redis_filter_layout(const tamis_filter *filter);

/* Bits of an element in one Redis key. */
typedef struct tamis_redis_traced_part {
    const char *instance; /* the server that answered: host:port, or the path of its socket */
    const void *key;      /* key_size bytes */
    size_t key_size;
    /* As SETBIT counts, in the layout's order, and what each of them was before, 0 or 1; where one stands there twice, the
     * second is what the first has made of it. */
    const uint64_t *offsets;
    const uint8_t *bits;
    size_t count;
    /* From the command's being put into the pipeline until its reply was read, which comes behind those of what was put
     * before it. */
    uint64_t ns;
} tamis_redis_traced_part;

typedef struct tamis_redis_traced {
    uint32_t struct_size;
    bool adds; /* else it was only asked for */
    tamis_answer answer;
    const tamis_redis_traced_part *parts; /* one for each Redis key that has bits of it */
    size_t part_count;
    const tamis_key *element; /* NULL: it was given as a hash */
} tamis_redis_traced;

/* *one is valid during the call, which may not use the filter. */
typedef void (*tamis_redis_tracer)(void *context, const tamis_redis_traced *one);

/* Has every element that is answered from now on told, in the order of its batch, when the batch is answered; tracer NULL:
 * no more. No round trip more; memory for a batch is 16 bytes for each Redis key of an element, and a byte
 * for each probe. TAMIS_E_UNSUPPORTED: the filter is not in a Redis. */
TAMIS_API tamis_status tamis_redis_filter_trace(tamis_filter *filter, tamis_redis_tracer tracer,
                                                void *context, tamis_error *err);

/*
 * Whole filters. With layout tamis what stands under a name may be replaced while it is used: every handle looks after
 * each batch whether the filter is still the one it began with, becomes the one that has the name now, and asks the whole
 * batch again there; what it had put into the old one and finds in the new is TAMIS_UNKNOWN. So a batch is answered by one
 * filter, and keys that are in the old one and in the new are present all the time. The one that was replaced stays a
 * minute for batches under way. A handle does not become a filter of another scheme, seed, secret or type of keys, nor one of
 * which its URI says otherwise: TAMIS_E_MISMATCH.
 *
 * Bits go over the network as they are, a byte for 8, in pieces of 1 MiB, some on their way at once. A filter in memory
 * that is pushed, united or taken as `like` is only read: other threads may ask it meanwhile, none may add to it.
 */

/*
 * Fetches the filter `there` into memory: of layout tamis one of kind blocked with the same plan, scheme, seed and secret,
 * of the others, where they have one Redis key, one of kind classic with their scheme and just as many bits. It answers as
 * that does for every key, may be saved, asked and united, and is owned by the caller. Keys whose add was answered before
 * are in it; those that are added meanwhile may be. A round trip for 16 MiB and a few more, all of it once more where it
 * was replaced meanwhile; memory for the filter and those 16 MiB at the most. TAMIS_E_ABSENT, TAMIS_E_DAMAGED: as of
 * questions; TAMIS_E_MISMATCH: the bitmap of another layout is longer than its parameters make it; TAMIS_E_UNSUPPORTED:
 * php2 and php3 over several keys or servers.
 */
TAMIS_API tamis_status tamis_redis_pull(const tamis_filter *there, tamis_filter **pulled, tamis_error *err);

/* Takes bytes, in order. Another status than TAMIS_OK ends the call, which returns it. */
typedef tamis_status (*tamis_redis_sink)(void *context, const void *bytes, size_t size, tamis_error *err);

/* The same bits as bytes of the server, bit i of the filter being 0x80 >> i % 8 of byte i / 8; of layout tamis its
 * partitions in order, without what stands behind their bits. The same round trips; 16 MiB of memory, whatever its size.
 * TAMIS_E_MISMATCH: it was replaced meanwhile; try again. The rest as of pull. */
TAMIS_API tamis_status tamis_redis_pull_bitmap(const tamis_filter *there, tamis_redis_sink sink,
                                               void *context, tamis_error *err);

/* The other way: a filter in memory like `there`, holding these bits instead of what is there; owned by the caller, who may
 * push it. One round trip, to see what is there; memory for the filter, beside the bytes. TAMIS_E_MISMATCH: not as many
 * bytes as those, or bits past the last. */
TAMIS_API tamis_status tamis_redis_from_bitmap(const tamis_filter *there, const void *bytes, size_t size,
                                               tamis_filter **made, tamis_error *err);

typedef struct tamis_redis_push_options {
    uint32_t struct_size;
    /* NULL, or told of bytes that arrived; within the push, which holds one of the server's connections: with
     * connections=1 it may not call this server */
    void (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
} tamis_redis_push_options;

/* clang-format off */
#define TAMIS_REDIS_PUSH_OPTIONS_INIT {sizeof(tamis_redis_push_options), NULL, NULL}
/* clang-format on */

/*
 * Puts a filter in memory under the name (redis NULL: the URI of both): into layout tamis one of kind blocked with scheme
 * xxh3, sip or guava64, into the others one of kind classic as tamis_redis_plan_for says. It is written beside what is
 * there, checked, and switched to at once: what was there is replaced, with all keys that were added to it until then,
 * however late. Who wants to keep those pulls, unites and pushes while nobody adds, or unites in place
 * (tamis_redis_unite). An add that is answered after the switch is in the new filter.
 *
 * Parameters: partition=, by default that of before; ttl, by default what is left of that of before; those of the plan,
 * where they are given, have to agree with the filter. The name may be an alias of the filter.
 *
 * After a failure the old filter is unchanged. The one exception is a connection lost at the last step: the error then
 * says that the outcome is unknown; look with tamis_redis_list, or open the filter. One writer at a time holds the
 * filter's lock, which lasts a minute and is renewed. A writer that is held up for longer loses the lock: its call
 * fails (TAMIS_E_BUSY), and its late commands change nothing.
 *
 * The other layouts are switched by RENAME, and no handle can tell: what a batch adds meanwhile may go into what was there.
 * Other parameters than before are fine where nothing keeps them (java, php), once every program is told. TAMIS_E_REFUSED:
 * the server has no RENAME for us; TAMIS_E_UNSUPPORTED: a Codis, which never has: nothing was sent.
 *
 * TAMIS_E_UNSUPPORTED: kind, scheme or layout; TAMIS_E_MISMATCH: what is there has another scheme, seed or secret, and
 * handles that are open could not follow: drop it first, or it is not as the parameters say; TAMIS_E_BUSY: another push,
 * drop or resize of the name is under way, or was stopped less than a minute ago, or this call lost the lock.
 */
TAMIS_API tamis_status tamis_redis_push(const tamis_filter *filter, tamis_redis *redis, const char *name,
                                        const tamis_redis_push_options *options, tamis_error *err);

/* Makes the filter `there`, of layout tamis, hold what the one in memory holds as well, while it is used: no add is lost.
 * Both have the same bits, probes, scheme, seed and secret: TAMIS_E_MISMATCH. TAMIS_E_BUSY: it is being resized.
 * TAMIS_E_UNSUPPORTED: another layout, or a Codis. TAMIS_E_ABSENT, TAMIS_E_DAMAGED: as of questions. After a failure some of
 * it may be in; united again, all is. */
TAMIS_API tamis_status tamis_redis_unite(tamis_filter *there, const tamis_filter *from, tamis_error *err);

/*
 * Makes a filter of layout tamis anew in another size while it is used, without losing an add. Bits do not tell their keys,
 * so that the keys have to come once more:
 *
 *     begin    from here on what anyone adds is in what is there and in what is made (clients that know field next of
 *              docs/REDIS-LAYOUT.md: those of this library do)
 *     then     put all keys that were added before into a filter in memory, of the plan and hasher of `like`
 *     end      what is made holds those as well, and takes the place at once, as a push does
 *
 * Until the end an add takes two round trips more. `like` may be the filter itself that goes to the end. A push, drop or
 * resize of another between ends this one: TAMIS_E_MISMATCH. One that was stopped goes on to cost those round trips until
 * the next of them. TAMIS_E_ABSENT: there is no filter; TAMIS_E_UNSUPPORTED: another layout, kind or scheme; the rest as of
 * push.
 *
 * *resize is the caller's until tamis_redis_resize_end, which lets go of it also where it fails; with filter NULL it gives
 * up. What was there is as it was then.
 */
typedef struct tamis_redis_resize tamis_redis_resize;
TAMIS_API tamis_status tamis_redis_resize_begin(tamis_redis_resize **resize, const tamis_filter *like,
                                                tamis_redis *redis, const char *name, tamis_error *err);
TAMIS_API tamis_status tamis_redis_resize_end(tamis_redis_resize *resize, const tamis_filter *filter,
                                              tamis_error *err);

/* Makes `name` stand for the filter `target`, both of layout tamis, for handles that are open too; or with target NULL for
 * none any more. TAMIS_E_ABSENT: there is no such target; TAMIS_E_MISMATCH: the name is a filter itself, or the target an
 * alias. A few round trips. */
TAMIS_API tamis_status tamis_redis_alias(tamis_redis *redis, const char *name, const char *target,
                                         tamis_error *err);

/* Removes a filter with all its keys, or an alias, whose target stays. Handles that are open then fail (TAMIS_E_ABSENT).
 * A layout that keeps no parameters needs those of opening; the others take them. About ten round trips, and a command
 * for each Redis key, whose memory the server gives back in the background. After a failure the filter may exist or not;
 * drop it again. A filter that another program makes meanwhile is never dropped. With a family (tamis/redis_family.h, layout
 * tamis) its members are removed too: the call reads the names of all Redis keys, and keeps those of members in memory.
 * TAMIS_E_ABSENT: no filter, and no remains of one; TAMIS_E_BUSY: as for push; TAMIS_E_REFUSED: also if a family was
 * dropped but its members cannot be found, because SCAN is not allowed (a Codis has none): their strings stay. */
TAMIS_API tamis_status tamis_redis_drop(tamis_redis *redis, const char *name, tamis_error *err);

/* All keys of a filter expire together in so many milliseconds, or no more where that is 0. An alias stands for its
 * target, and a family for its members, found as by drop. A few round trips, and a command for each Redis key.
 * TAMIS_E_ABSENT: layout tamis, and there is none; TAMIS_E_REFUSED: also where members cannot be found;
 * TAMIS_E_RANGE: more milliseconds than a server keeps. */
TAMIS_API tamis_status tamis_redis_expire(tamis_redis *redis, const char *name, uint64_t milliseconds,
                                          tamis_error *err);

/* ---- what there is ---- */

typedef enum tamis_redis_state {
    TAMIS_REDIS_READY = 0, /* usable */
    /* Layout tamis: a client of layout 1 is making it, or was stopped. Opening fails; drop it if this lasts. */
    TAMIS_REDIS_MAKING = 1,
    TAMIS_REDIS_ALIAS = 2, /* another name of `target` */
    /* Layout tamis: no filter. A push is making it, or a push or drop was stopped: then drop it. */
    TAMIS_REDIS_LEFT = 3,
    TAMIS_REDIS_DAMAGED = 4, /* what says its parameters cannot be read */
    TAMIS_REDIS_FAMILY =
        5, /* layout tamis: a family (tamis/redis_family.h), with the parameters of a member */
    TAMIS_REDIS_DENIED = 6, /* the server tells this user its name and no more */
} tamis_redis_state;

typedef struct tamis_redis_entry {
    uint32_t struct_size;
    tamis_redis_state state;
    const char *layout; /* "tamis", "java", "redisson" */
    const char *name;   /* name_size bytes, as they are: no NUL behind them */
    size_t name_size;
    const char *target; /* of an alias: target_size bytes; else NULL */
    size_t target_size;
    /* 0: nothing says it. */
    uint64_t expect;
    double fpr;
    uint64_t bits; /* of layout java those that the bitmap has, which end with the last one set or written */
    uint32_t probes;
    uint64_t keys;      /* Redis keys that hold bits; 0: of a family, and of what has none */
    int64_t expires_ms; /* from now; -1: never */
} tamis_redis_entry;

/* Takes one, which is valid until it returns. Another status than TAMIS_OK ends the call, which returns it. */
typedef tamis_status (*tamis_redis_entry_sink)(void *context, const tamis_redis_entry *entry,
                                               tamis_error *err);

/*
 * Tells the filters there by name, in order of their bytes; of layouts php1 to php3 nobody can tell them from other keys.
 * pattern: a glob (* ? [a-z]) of names, percent-encoded as they are, or NULL for all; with `redis` NULL the URI of the
 * server and the pattern, which may be left out. Reads the names of all Redis keys of every server, which takes those a
 * second for some million, in steps: a round trip for a thousand, for each layout anew, then one for all that were found,
 * which are kept in memory until they are told. What comes or goes meanwhile may be told or not. TAMIS_E_REFUSED: SCAN is
 * not let (a Codis has none).
 */
TAMIS_API tamis_status tamis_redis_list(tamis_redis *redis, const char *pattern, tamis_redis_entry_sink sink,
                                        void *context, tamis_error *err);

/* ---- leftovers ---- */

typedef enum tamis_redis_leftover_kind {
    TAMIS_REDIS_LEFT_UNFINISHED = 0, /* of an unfinished build or resize */
    TAMIS_REDIS_LEFT_REPLACED = 1,   /* of a replaced or dropped filter */
    TAMIS_REDIS_LEFT_UNKNOWN = 2,    /* of a generation without a record in the filter's hash */
    TAMIS_REDIS_LEFT_RESIZE =
        3, /* of a resize that has not ended: killed, or under way. Removing it ends it */
} tamis_redis_leftover_kind;

/* Unused partitions of one generation of a filter of layout tamis. They do not expire by themselves. */
typedef struct tamis_redis_leftover {
    uint32_t struct_size;
    tamis_redis_leftover_kind kind;
    const char *name; /* the filter's name, name_size bytes without a NUL */
    size_t name_size;
    uint64_t generation;
    uint64_t keys; /* number of Redis keys */
} tamis_redis_leftover;

/* Called for each leftover, which is valid during the call. A status other than TAMIS_OK ends the listing, which returns
 * that status. */
typedef tamis_status (*tamis_redis_leftover_sink)(void *context, const tamis_redis_leftover *leftover,
                                                  tamis_error *err);

/*
 * Lists the partitions that builds, resizes and drops of layout tamis left behind when they were killed. With `removes`,
 * removes each leftover before it passes it to `sink`. (The next build or drop of the same filter also removes those that
 * the filter's hash records.)
 * - pattern, redis: as for tamis_redis_list; `redis` may be NULL.
 * - Skips filters that are being built, resized or dropped.
 * - Cost: reads the names of all Redis keys of every server (SCAN), and keeps those of partitions in memory.
 * TAMIS_E_REFUSED: SCAN is not allowed (a Codis has none). TAMIS_E_BUSY: somebody began to change the filter.
 */
TAMIS_API tamis_status tamis_redis_leftovers(tamis_redis *redis, const char *pattern, bool removes,
                                             tamis_redis_leftover_sink sink, void *context, tamis_error *err);

#ifdef __cplusplus
}
#endif
#endif

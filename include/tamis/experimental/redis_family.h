/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_REDIS_FAMILY_H
#define TAMIS_REDIS_FAMILY_H

/* Families of filters in a Redis server: library libtamis-redis. A family is some ten thousand small
 * filters with equal parameters, for instance one for each user and day. Each member has a name of its
 * own. */

#include <tamis/experimental/redis.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tamis_redis_family tamis_redis_family;

/* A key and the name of its member: any bytes, 1 to 512 for the name. */
typedef struct tamis_redis_pair {
    tamis_key name;
    tamis_key key;
} tamis_redis_pair;

/*
 * A family: equal filters under one name. All members are planned for `expect` keys at `fpr`. Each expires by
 * itself, ttl after the last add to it, or after the first one (renew=create).
 *
 * - layout=tamis, the default: the name of the family stores the parameters of all members. By convention it
 *   is a member name with its variable parts written as *, such as topic_read:*:*. A member is one string of
 *   at most 64 MiB. The first add creates it, and only the family finds it (docs/REDIS-LAYOUT.md, Families).
 *   `partition` is not allowed.
 * - layout=java, php1, php2, php3: member NAME is exactly the filter that tamis_redis_filter_open opens under
 *   NAME with the same parameters, so other programs can share it. These layouts store bits only. The name of
 *   the family appears in messages only.
 * - layout=redisson: TAMIS_E_UNSUPPORTED, because every member would need a hash of its own.
 *
 * tamis_redis_drop of a family of layout tamis removes its parameters, which removes all members at once, and
 * then their strings. tamis_redis_expire applies to all existing members. Both find members by SCAN. If a
 * server does not allow SCAN, give such families a ttl.
 *
 * A member that does not exist has no keys. So in every layout an evicted or deleted member looks like one
 * that was never added to, and its keys are answered absent. Protect families from eviction: maxmemory-policy
 * noeviction, or volatile-* if they have no ttl.
 */

/*
 * Opens a family by NAME?parameter=value&..., with the parameters, options and errors of
 * tamis_redis_filter_open (redis NULL: the URI of server and family in one). The caller owns *family until
 * tamis_redis_family_close. One thread at a time: each thread opens its own.
 */
TAMIS_API tamis_status tamis_redis_family_open(tamis_redis_family **family, tamis_redis *redis,
                                               const char *name, const tamis_redis_filter_options *options,
                                               tamis_error *err);
TAMIS_API void tamis_redis_family_close(tamis_redis_family *family);

/*
 * Add or look up pairs, with all guarantees of tamis_filter_add_many and _contains_many on a server filter:
 * answers, done, and TAMIS_UNKNOWN after a lost connection. One round trip serves all members of a batch, in
 * pieces of at most 65536 pairs. Equal pairs are answered as if they came one after the other. `done`, and
 * the answers of an add, may be NULL.
 *
 * - TAMIS_E_INVALID: a name is empty or too long; the pairs before it are done.
 * - TAMIS_E_NOT_FOUND, TAMIS_E_MISMATCH: layout tamis, and the family was dropped or replaced while it was
 *   open. No pair of the current piece is answered.
 */
TAMIS_API tamis_status tamis_redis_family_add_many(tamis_redis_family *family, const tamis_redis_pair *pairs,
                                                   size_t count, tamis_answer *answers, size_t *done,
                                                   tamis_error *err);
TAMIS_API tamis_status tamis_redis_family_contains_many(tamis_redis_family *family,
                                                        const tamis_redis_pair *pairs, size_t count,
                                                        tamis_answer *answers, size_t *done,
                                                        tamis_error *err);

/* Reports statistics of a member, like tamis_filter_info_get of a server filter, but without `added`. */
TAMIS_API tamis_status tamis_redis_family_info(const tamis_redis_family *family, const void *name,
                                               size_t name_size, tamis_filter_info *info, tamis_error *err);

/* Like tamis_redis_filter_trace. */
TAMIS_API void tamis_redis_family_trace(tamis_redis_family *family, tamis_redis_tracer tracer, void *context);

/* Returns the plan of all members. It is valid as long as the family. */
TAMIS_API const tamis_plan *tamis_redis_family_plan(const tamis_redis_family *family);

/* Like tamis_redis_filter_unconfirmed, of all members. */
TAMIS_API uint64_t tamis_redis_family_unconfirmed(const tamis_redis_family *family);

/* Returns the tamis_key_type of all members (tamis/key.h), see tamis_redis_filter_options. */
TAMIS_API uint32_t tamis_redis_family_key_type(const tamis_redis_family *family);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_REDIS_FAMILY_H
#define TAMIS_REDIS_FAMILY_H

/* Families of filters in a Redis: library libtamis-redis. One small filter per user and day, say, by the ten thousand:
 * all alike, and each under a name of its own. */

#include <tamis/redis.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tamis_redis_family tamis_redis_family;

/* Of which member what is asked: any bytes, 1 to 512 of a name. */
typedef struct tamis_redis_pair {
    tamis_key name;
    tamis_key key;
} tamis_redis_pair;

/*
 * A family, named by NAME?parameter=value&... as tamis_redis_filter_open takes it, with the same parameters, options and
 * failures (redis NULL: the URI of the server and of the family in one). All members are made for `expect` keys at `fpr`,
 * and expire each by itself, so long (ttl) after the last add to it, or after the first (renew=create).
 *
 *     layout=java, php1, php2, php3   A member NAME is just the filter that tamis_redis_filter_open opens by NAME with the
 *                        same parameters: other programs share it. Those layouts keep nothing but bits, and the family's
 *                        own name stands in sentences alone.
 *     layout=tamis       the default. The family's name holds the parameters of all of them: by custom that of the members
 *                        with their parts written *, as topic_read:*:*. A member is one string of 64 MiB at the most, which
 *                        comes into being with the first add to it, and is found by the family alone (docs/REDIS-LAYOUT.md,
 *                        Families). No `partition`.
 *     layout=redisson    refused: every member would have a hash of its own to be made and looked at. TAMIS_E_UNSUPPORTED
 *
 * tamis_redis_drop of the name of a family of layout tamis takes its parameters, with which all members are gone at once, and
 * then their strings; tamis_redis_expire is of all that are there. Both find them by SCAN: where a server does not let that,
 * give such families a ttl.
 *
 * A member that is not there is one without keys. So of any layout nobody can tell one that was evicted or deleted from
 * one that was never added to, and its keys are then called absent: keep families from eviction (maxmemory-policy
 * noeviction, or volatile-* where they have no ttl).
 *
 * *family is owned by the caller until tamis_redis_family_free (NULL is fine there); one thread at a time, threads open one
 * each.
 */
TAMIS_API tamis_status tamis_redis_family_open(tamis_redis_family **family, tamis_redis *redis,
                                               const char *name, const tamis_redis_filter_options *options,
                                               tamis_error *err);
TAMIS_API void tamis_redis_family_free(tamis_redis_family *family);

/*
 * As tamis_filter_add_many and _contains_many of a filter there, in all they promise: answers, done, what is unknown after
 * a connection was lost. All members of a batch are asked in one round trip, in pieces of at most 65536 pairs, and equal
 * pairs in it behave as if they came one after the other. answers of add and `done` may be NULL. TAMIS_E_INVALID: a name
 * that is empty or too long; the pairs before it are done. TAMIS_E_ABSENT, TAMIS_E_MISMATCH: layout tamis, and the family
 * was dropped or replaced while it was open; of the pieces at hand nothing is answered then.
 */
TAMIS_API tamis_status tamis_redis_family_add_many(tamis_redis_family *family, const tamis_redis_pair *pairs,
                                                   size_t count, tamis_answer *answers, size_t *done,
                                                   tamis_error *err);
TAMIS_API tamis_status tamis_redis_family_contains_many(tamis_redis_family *family,
                                                        const tamis_redis_pair *pairs, size_t count,
                                                        tamis_answer *answers, size_t *done,
                                                        tamis_error *err);

/* Of one member, as tamis_filter_info_get of a filter there, but that it does not say what was added. */
TAMIS_API tamis_status tamis_redis_family_info(const tamis_redis_family *family, const void *name,
                                               size_t name_size, tamis_filter_info *info, tamis_error *err);

/* As tamis_redis_filter_trace. */
TAMIS_API void tamis_redis_family_trace(tamis_redis_family *family, tamis_redis_tracer tracer, void *context);

/* That of every member; it lives as long as the family. */
TAMIS_API const tamis_plan *tamis_redis_family_plan(const tamis_redis_family *family);

/* What the keys of all members are made of, of tamis_key_type (tamis/file.h): see tamis_redis_filter_options. */
TAMIS_API uint32_t tamis_redis_family_key_type(const tamis_redis_family *family);

#ifdef __cplusplus
}
#endif
#endif

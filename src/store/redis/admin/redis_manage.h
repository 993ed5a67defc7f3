/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_ADMIN_REDIS_MANAGE_H
#define TAMIS_STORE_REDIS_ADMIN_REDIS_MANAGE_H

#include "store/redis/layout/layout_tamis.h"

/* What the files of this directory share. */

/* ---- redis_manage.c: for operations on a whole filter, under its lock ---- */

/* TAMIS_E_NOT_FOUND: there is no such filter. */
tamis_status tamis__manage_fail_absent(const tamis__redis_filter *rf, tamis_error *err);

/* Takes the lock. If the server is too full for it, the token is empty: steps then require that nobody holds
 * it. */
tamis_status tamis__manage_lock(const tamis__redis_filter *rf, tamis_error *err);
/* Releases the lock. If the command succeeded and its lock cannot be released, *err is a warning, with status
 * TAMIS_OK. If the command failed and did nothing, the message says so. */
tamis_status tamis__manage_unlock(const tamis__redis_filter *rf, tamis_status status, bool did_nothing,
                                  tamis_error *err);

/* Copies an error or a warning to the caller's. */
void tamis__manage_copy_error(tamis_error *err, const tamis_error *why);

/* Makes the name of `rf` an alias of the target; NULL removes the alias. */
tamis_status tamis__manage_set_alias(const tamis__redis_filter *rf, const tamis__redis_filter *target,
                                     tamis_error *err);

/* ---- leftover_scan.c ---- */

enum { TAMIS__LEFTOVER_PREFIX = sizeof "tamis:{" - 1 };

/* A partition or a hash. */
typedef struct tamis__leftover_key {
    size_t key, key_size; /* offset and size of its Redis key in tamis__leftover_keys.text */
    size_t name_size;     /* size of NAME, which follows "tamis:{" */
    uint64_t generation;  /* partitions only */
} tamis__leftover_key;

typedef struct tamis__leftover_list {
    tamis__leftover_key *keys;
    size_t count, capacity;
} tamis__leftover_list;

/* The keys that a scan has found. */
typedef struct tamis__leftover_keys {
    const tamis__redis_filter *rf; /* its URI has the pattern */
    char *text;                    /* all Redis keys, concatenated */
    size_t text_used, text_size;
    tamis__leftover_list partitions, hashes; /* sorted by Redis key, without repetitions */
} tamis__leftover_keys;

/* Finds partitions and hashes whose names match the pattern in the URI of rf. *found is zero before. Call
 * tamis__leftover_scan_free even after a failure. */
tamis_status tamis__leftover_scan(tamis__leftover_keys *found, const tamis__redis_filter *rf,
                                  tamis_error *err);
void tamis__leftover_scan_free(tamis__leftover_keys *found, const tamis_allocator *allocator);

/* ---- leftover_members.c ---- */

/* Where leftovers are reported: arguments of tamis_redis_leftovers. */
typedef struct tamis__leftover_report {
    tamis_redis_leftover_sink sink;
    void *context;
    bool removes;
    size_t *denied; /* number of Redis keys that the user may not read; added to */
} tamis__leftover_report;

/* Reports members of families whose names match the pattern in the URI of rf. It reports them if neither a
 * hash nor a copy of a plan names their generation. Does nothing if the Redis keys are on several servers. */
tamis_status tamis__leftover_members(const tamis__redis_filter *rf, const tamis__leftover_report *report,
                                     tamis_error *err);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_GUARD_GUARD_ENTRIES_H
#define TAMIS_SERVICE_GUARD_GUARD_ENTRIES_H

#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/experimental/guard.h>
#include <tamis/experimental/redis.h>
#include <tamis/key.h>
#include <tamis/status.h>

#include "service/guard/guard_value.h"

/*
 * Level 3: entries, leases and marks in a Redis. docs/GUARD-PROTOCOL.md has the steps G2, G4, P2 and P4, and
 * the names of the Redis keys. Each call is one pipeline of scripts, one round trip to each server. Any
 * number of threads may use it at once.
 *
 * Keys have at least one byte. Errors of all calls: TAMIS_E_IO, TAMIS_E_TIMEOUT, TAMIS_E_NOMEM,
 * TAMIS_E_REFUSED: memory, rights or a key of another type. After a failure, Redis may have run
 * some of the scripts, or may run them later. Their leases and marks expire, and their entries are right.
 */
typedef struct guard_entries guard_entries;

typedef struct guard_entries_options {
    const char *redis;  /* URI */
    const char *prefix; /* of the Redis keys */
    uint32_t life_ms, null_life_ms, lease_ms;
    uint32_t mark_ms;    /* from the return of tamis__guard_entries_mark to the row; the mark lives longer */
    uint32_t timeout_ms; /* of a call, unless the URI sets patience, timeout or read_timeout */
    const tamis_allocator *allocator;
} guard_entries_options;

/* Does not connect. The strings of *options are copied. The caller owns *entries until
 * tamis__guard_entries_close. TAMIS_E_INVALID: the URI cannot be parsed, or the prefix has a brace. */
tamis_status tamis__guard_entries_open(guard_entries **entries, const guard_entries_options *options,
                                       tamis_error *err);
/* Connects, and runs a script that changes nothing, which shows whether the user may run scripts and read
 * keys with the prefix. May be left out: each call connects if necessary. */
tamis_status tamis__guard_entries_reach(guard_entries *entries, tamis_error *err);
void tamis__guard_entries_close(guard_entries *entries);

/* For the news of the guard. The results are valid as long as the entries. */
tamis_redis *tamis__guard_entries_redis(const guard_entries *entries);
const char *tamis__guard_entries_prefix(const guard_entries *entries);
/* Returns the life of a mark in Redis, in milliseconds. */
uint64_t tamis__guard_entries_mark_life(const guard_entries *entries);

/* The reply to G2. */
typedef enum guard_entry_state {
    GUARD_ENTRY_UNKNOWN, /* no reply */
    GUARD_ENTRY_FOUND,   /* an entry: `blob` */
    GUARD_ENTRY_GRANTED, /* this request got the lease: its token is `token` */
    GUARD_ENTRY_LEASED,  /* another reader has the lease */
    GUARD_ENTRY_MARKED   /* a writer has a mark: load the row and store nothing */
} guard_entry_state;

typedef struct guard_entry {
    tamis_key key; /* input */
    uint8_t token[TAMIS_GUARD_TOKEN];
    guard_entry_state state;
    guard_blob *blob; /* of GUARD_ENTRY_FOUND: a reference that the caller owns */
} guard_entry;

/* G2 for each key: one round trip. Sets state, token and blob. On failure, entries that were answered have
 * another state than GUARD_ENTRY_UNKNOWN, and the caller owns their blobs. TAMIS_E_MISMATCH: an entry has
 * another content; its state is GUARD_ENTRY_UNKNOWN, and the others are answered. */
tamis_status tamis__guard_entries_get(guard_entries *entries, guard_entry *wanted, size_t count,
                                      tamis_error *err);
/* G4 for each key with its token and `blob`, which may be a null. Whether a lease was still there does not
 * matter to the caller. TAMIS_E_REFUSED: the server has no memory for an entry; its lease is deleted, and the
 * other entries are stored. */
tamis_status tamis__guard_entries_store(guard_entries *entries, const guard_entry *stored, size_t count,
                                        tamis_error *err);
/* Renews leases that still have their token. */
tamis_status tamis__guard_entries_renew(guard_entries *entries, const guard_entry *leased, size_t count,
                                        tamis_error *err);
/* Gives a lease back without an entry, after a query that failed, so that the next reader need not wait. */
tamis_status tamis__guard_entries_release(guard_entries *entries, const guard_entry *leased, size_t count,
                                          tamis_error *err);

/* P2: makes a token. P4: token NULL deletes entry and lease, and no mark. */
tamis_status tamis__guard_entries_mark(guard_entries *entries, tamis_key key,
                                       uint8_t token[TAMIS_GUARD_TOKEN], tamis_error *err);
tamis_status tamis__guard_entries_unmark(guard_entries *entries, tamis_key key,
                                         const uint8_t token[TAMIS_GUARD_TOKEN], tamis_error *err);
/* P4 without tokens, for many keys. */
tamis_status tamis__guard_entries_forget(guard_entries *entries, const guard_entry *items, size_t count,
                                         tamis_error *err);

#endif

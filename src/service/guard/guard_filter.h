/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_GUARD_GUARD_FILTER_H
#define TAMIS_SERVICE_GUARD_GUARD_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/experimental/guard.h>
#include <tamis/hash.h>

/* Level 1: the filter of a guard, which a thread scans from the source, or reads from a file. Any number of
 * threads may use it at once, except for tamis__guard_filter_stop and tamis__guard_filter_free. */
typedef struct guard_filter guard_filter;

/* Starts the thread, whose first step is a scan. With is_held, it waits for tamis__guard_filter_begin before.
 * The guard has its lookups already. The pointers of guard->options are valid. */
tamis_status tamis__guard_filter_create(guard_filter **filter, tamis_guard *guard, bool is_held,
                                        tamis_error *err);
void tamis__guard_filter_begin(guard_filter *filter);
/* Ends the thread. All other functions still work. */
void tamis__guard_filter_stop(guard_filter *filter);
/* Does nothing for NULL. */
void tamis__guard_filter_free(guard_filter *filter);

/* True if lookups need the guard's hashes of keys. False: the filter of a file hashes keys by itself. */
bool tamis__guard_filter_needs_hashes(const guard_filter *filter);
/* Looks up keys at a time (tamis__guard_now). `hashes`: NULL if they are not needed. False: there is no filter,
 * or its guard is silent (N3), and no answer is set. */
bool tamis__guard_filter_find(guard_filter *filter, const tamis_key *keys, const tamis_hash *hashes,
                              size_t count, uint64_t now, tamis_answer *answers);
/* Step P1: adds a key to the filter, and to the one that is being built. The caller has noted a mark. */
tamis_status tamis__guard_filter_add(guard_filter *filter, tamis_key key, const tamis_hash *hash,
                                     tamis_error *err);
/* Calls `visit` for each key that was added and that the file may lack. The filter waits meanwhile. */
void tamis__guard_filter_each_added(guard_filter *filter, void (*visit)(void *context, tamis_key key),
                                    void *context);
tamis_status tamis__guard_filter_wait(guard_filter *filter, uint32_t timeout_ms, tamis_error *err);
/* For a source that reports keys: has the thread scan soon, also if a scan is in progress. The first scan
 * waits for this. */
void tamis__guard_filter_request_scan(guard_filter *filter);
/* Notes why keys are not reported. The filter stays. */
void tamis__guard_filter_note_failure(guard_filter *filter, const tamis_error *why);
/* Drops the filter, since it lacks a key that it was given. why: NULL, or the reason. */
void tamis__guard_filter_drop(guard_filter *filter, const tamis_error *why);
/* Returns why the last scan failed, or TAMIS_OK. */
tamis_status tamis__guard_filter_error(guard_filter *filter, tamis_error *err);
/* Fills the fields of *stats about the filter and its scans. */
void tamis__guard_filter_stats(guard_filter *filter, tamis_guard_stats *stats);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_GUARD_GUARD_FILTER_FILE_H
#define TAMIS_SERVICE_GUARD_GUARD_FILTER_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include <tamis/experimental/guard.h>
#include <tamis/filter.h>

/*
 * A file with the filter of a guard, or with the keys for it, one a line. Another program replaces it by
 * rename.
 *
 * A file is used only if all of it is there. A filter has checksums. The last line of a list must end, and nobody
 * may write to it meanwhile. The file must not be older than the one in use: older means a lower version, or
 * the same version and made earlier.
 */
typedef struct guard_filter_file guard_filter_file;

/* Identity and age of a file, to detect its replacement. */
typedef struct guard_file_version {
    struct stat st;
    uint64_t version; /* tamis_metadata.version; 0: none */
    int64_t created;  /* of the filter or, if it has no time, of the file; milliseconds since 1970 UTC */
} guard_file_version;

/* Copies the names and the secret of the options. TAMIS_E_NOMEM. */
tamis_status tamis__guard_filter_file_create(guard_filter_file **file, const tamis_guard_options *options,
                                             const tamis_allocator *memory, tamis_error *err);
void tamis__guard_filter_file_free(guard_filter_file *file);
/* True if keys are hashed by the filter itself, not by the guard. */
bool tamis__guard_filter_file_hashes(const guard_filter_file *file);

/* Looks at the name. *st is zero if it has no file. */
void tamis__guard_filter_file_look(const guard_filter_file *file, struct stat *st);
/* True if both are the same file, and nothing was written to it in between. */
bool tamis__guard_filter_file_equal(const struct stat *a, const struct stat *b);

/*
 * Opens a file with a filter, or passes keys of a list to `scan`. Sets *version to the file's version. `used`
 * is the version in use. If there is none, its `st.st_ino` is 0.
 *
 * - TAMIS_E_CHANGED: it is older than the version in use, or is being written to.
 * - Errors of tamis_filter_open and of `scan`; TAMIS_E_INVALID: keys of a type other than text, or none.
 */
tamis_status tamis__guard_filter_file_open(guard_filter_file *file, const guard_file_version *used,
                                           tamis_filter **filter, guard_file_version *version,
                                           tamis_error *err);
tamis_status tamis__guard_filter_file_scan(guard_filter_file *file, const guard_file_version *used,
                                           tamis_guard_scan *scan, guard_file_version *version,
                                           tamis_error *err);

/* TAMIS_E_INVALID: the keys of a filter are not the texts that clients send. TAMIS_E_SECRET: it needs its
 * secret. One lookup, and its errors. `name` is for messages. */
tamis_status tamis__guard_filter_check_keys(const char *name, const tamis_filter *filter, uint32_t key_type,
                                            tamis_error *err);

#endif

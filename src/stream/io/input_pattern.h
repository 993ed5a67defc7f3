/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_IO_INPUT_PATTERN_H
#define TAMIS_STREAM_IO_INPUT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/failure.h"
#include "base/memory.h"

/* The files whose names match a pattern of glob(7), which has wildcards only behind its last slash. */
typedef struct tamis__input_pattern {
    const char *pattern; /* borrowed */
    char **paths;        /* of the files, in the order in which they were found, each time sorted by name */
    size_t count, capacity;
    tamis_allocator memory;
} tamis__input_pattern;

/* TAMIS_E_INVALID: the pattern is empty, or has wildcards in front of its last slash. */
tamis_status tamis__input_pattern_check(const char *pattern, tamis_error *err);

/*
 * Adds the files that have come since the last call to `paths`: regular files that match, without
 * - hidden ones, unless the pattern begins with a dot;
 * - those with names of compressed files;
 * - symbolic links to another name in the directory that matches;
 * - those whose name log rotation makes of another one in `paths`: app.log.1 beside app.log.
 * TAMIS_E_IO: the directory, or a file in it, cannot be examined. TAMIS_E_NOMEM. Files found before an error
 * are added. Zero *pattern before the first call, but for `pattern` and `memory`.
 */
tamis_status tamis__input_pattern_find(tamis__input_pattern *pattern, tamis_error *err);

bool tamis__input_pattern_matches(const tamis__input_pattern *pattern, const char *path);

/* Adds a path if it matches and is new, whether it has a file or not. TAMIS_E_NOMEM. */
tamis_status tamis__input_pattern_add(tamis__input_pattern *pattern, const char *path, tamis_error *err);

/* Sorts all paths. */
void tamis__input_pattern_sort(tamis__input_pattern *pattern);

enum { TAMIS__PATTERN_REMARK = 400 };
/* Says that no file matches. */
void tamis__input_pattern_describe_none(const tamis__input_pattern *pattern,
                                        char remark[TAMIS__PATTERN_REMARK]);

/* Forgets path i, so that the next call adds it again if a file has it then. */
void tamis__input_pattern_forget(tamis__input_pattern *pattern, size_t i);
void tamis__input_pattern_release(tamis__input_pattern *pattern);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The files that match a pattern, for runs that follow whatever logs appear. With the pattern log/app*:
 *
 *     names in log/      app.log   app2.log   app.log.1   app.log.gz   .app3.log   old.log
 *
 *     matches            yes       yes        yes         yes          no          no
 *     not compressed     yes       yes        yes         no
 *     not known yet      yes       yes        yes
 *     regular file       yes       yes        yes
 *     not a rotation     yes       yes        no: of app.log
 *     paths              [0]       [1]
 *
 * Log rotation makes app.log.1 of app.log (rotation.c). The reader of app.log reads that file to its end when
 * it loses its name. As an input of its own, all its records would come twice. A symbolic link to another
 * name that matches would be a second name of one file, and is left out too.
 *
 * Invariants:
 * 1. Only the last part of a pattern has wildcards. So there is one directory to list and to watch.
 * 2. Paths are appended, and path i is input i until a path is forgotten. New paths are sorted by name, so
 *    that a directory gives the same order in each process.
 * 3. A file that is renamed while the directory is listed may be missed, or may be gone when it is examined.
 *    Neither is an error: the rename changes the directory, and the caller lists it again.
 *
 * The directory is listed as a whole, after changes only. Each name is compared with all known paths.
 */
#include "stream/io/input_pattern.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <tamis/experimental/compression.h>

#include "base/system.h"
#include "store/file/file_error.h"
#include "store/file/target.h"
#include "stream/io/rotation.h"

tamis_status tamis__input_pattern_check(const char *pattern, tamis_error *err) {
    const size_t directory = tamis__path_directory_size(pattern);
    if (strlen(pattern) >= PATH_MAX)
        return tamis__fail_file(err, pattern, ENAMETOOLONG);
    if (pattern[directory] == '\0')
        return tamis__fail(err, TAMIS_E_INVALID, 0, "%s: has no file name; give a pattern as log/app-*.log",
                           tamis__show(pattern).text);
    if (strcspn(pattern, "*?[\\") < directory)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "%s: has a wildcard in its directory; give wildcards in the file name only",
                           tamis__show(pattern).text);
    return TAMIS_OK;
}

static tamis_status add_path(tamis__input_pattern *p, const char *path, tamis_error *err) {
    char **paths = tamis__array_reserve(&p->memory, p->paths, sizeof *p->paths, p->count + 1, &p->capacity);
    if (!paths)
        return tamis__fail_nomem(err, "names of inputs", (p->count + 1) * sizeof *paths);
    p->paths = paths;
    const size_t size = strlen(path) + 1;
    char *copy = tamis__alloc(&p->memory, size, 1);
    if (!copy)
        return tamis__fail_nomem(err, "names of inputs", size);
    p->paths[p->count++] = memcpy(copy, path, size);
    return TAMIS_OK;
}

static bool has_path(const tamis__input_pattern *p, size_t count, const char *path) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(p->paths[i], path) == 0)
            return true;
    return false;
}

static bool matches(const tamis__input_pattern *p, const char *name) {
    return fnmatch(p->pattern + tamis__path_directory_size(p->pattern), name, FNM_PERIOD) == 0 &&
           tamis_compression_of_path(name) == TAMIS_COMPRESSION_NONE;
}

/* True if the path is a symbolic link to a name beside it that matches too, as current.log to app-2.log. */
static bool is_symlink_to_match(const tamis__input_pattern *p, const char *path) {
    char target[NAME_MAX + 1];
    const ssize_t size = tamis__sys.readlink(path, target, sizeof target - 1);
    target[size > 0 ? size : 0] = '\0';
    return size > 0 && !strchr(target, '/') && matches(p, target);
}

bool tamis__input_pattern_matches(const tamis__input_pattern *p, const char *path) {
    const size_t directory = tamis__path_directory_size(p->pattern);
    return strncmp(path, p->pattern, directory) == 0 && !strchr(path + directory, '/') &&
           matches(p, path + directory);
}

tamis_status tamis__input_pattern_add(tamis__input_pattern *p, const char *path, tamis_error *err) {
    return tamis__input_pattern_matches(p, path) && !has_path(p, p->count, path) ? add_path(p, path, err)
                                                                                 : TAMIS_OK;
}

typedef struct search {
    tamis__input_pattern *pattern;
    size_t before; /* number of paths that were known before */
    tamis_status status;
    tamis_error *err;
} search;

static bool visit_name(void *context, const char *name) {
    search *s = context;
    tamis__input_pattern *p = s->pattern;
    const size_t directory = tamis__path_directory_size(p->pattern);
    char path[PATH_MAX];
    struct stat st;
    if (!matches(p, name) ||
        snprintf(path, sizeof path, "%.*s%s", (int)directory, p->pattern, name) >= (int)sizeof path ||
        has_path(p, s->before, path) || is_symlink_to_match(p, path))
        return true;
    if (tamis__sys.stat(path, &st) != 0) /* ENOENT: it was renamed */
        s->status = errno == ENOENT ? TAMIS_OK : tamis__fail_file(s->err, path, errno);
    else if (S_ISREG(st.st_mode))
        s->status = add_path(p, path, s->err);
    return s->status == TAMIS_OK;
}

static int compare_paths(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void tamis__input_pattern_sort(tamis__input_pattern *p) {
    if (p->count > 1)
        qsort(p->paths, p->count, sizeof *p->paths, compare_paths);
}

/* True if log rotation made the path from another of the paths. */
static bool is_rotated(const tamis__input_pattern *p, const char *path) {
    const size_t directory = tamis__path_directory_size(p->pattern);
    for (size_t i = 0; i < p->count; i++)
        if (tamis__rotation_continues(path + directory, p->paths[i] + directory))
            return true;
    return false;
}

tamis_status tamis__input_pattern_find(tamis__input_pattern *p, tamis_error *err) {
    char directory[PATH_MAX];
    (void)tamis__path_split(p->pattern, directory);
    search s = {.pattern = p, .before = p->count, .status = TAMIS_OK, .err = err};
    if (tamis__sys.list(directory, visit_name, &s) != 0 && s.status == TAMIS_OK)
        s.status = tamis__fail_file(err, directory, errno);
    if (p->count > s.before)
        qsort(p->paths + s.before, p->count - s.before, sizeof *p->paths, compare_paths);
    for (size_t i = s.before; i < p->count;)
        if (is_rotated(p, p->paths[i]))
            tamis__input_pattern_forget(p, i);
        else
            i++;
    return s.status;
}

void tamis__input_pattern_describe_none(const tamis__input_pattern *p, char remark[TAMIS__PATTERN_REMARK]) {
    snprintf(remark, TAMIS__PATTERN_REMARK, "%.300s: matches no file; waiting for one",
             tamis__show(p->pattern).text);
}

void tamis__input_pattern_forget(tamis__input_pattern *p, size_t i) {
    tamis__free(&p->memory, p->paths[i], strlen(p->paths[i]) + 1);
    p->count--;
    memmove(p->paths + i, p->paths + i + 1, (p->count - i) * sizeof *p->paths);
}

void tamis__input_pattern_release(tamis__input_pattern *p) {
    while (p->count > 0)
        tamis__input_pattern_forget(p, p->count - 1);
    tamis__free(&p->memory, p->paths, p->capacity * sizeof *p->paths);
    p->paths = NULL;
    p->capacity = 0;
}

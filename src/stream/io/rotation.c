/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Log rotation: which file comes next?
 *
 *     app.log.3     app.log.2     app.log.1     app.log
 *     read before   last          not read yet  current
 *
 * A rotated file is in the directory of its name and has a name that continues it by a number, a date or old.
 * Examples are app.log.1, app.log-20261126 and app.log.old. It is still next if several rotations happened
 * while nobody looked. Others, such as app.log.lock, are not logs.
 *
 * Files are ordered by the time of their last write. Times may be equal, because the clock of a file system
 * is coarse. Then a larger number at the end of the name is the older file, and a later date the newer one.
 *
 * Invariants:
 * 1. Each step goes to a later file in that order, so no file is read for ever.
 * 2. The caller examines the file under the name before it asks. It is not searched. So if another file has
 *    the name at the end, the answer may lack it, and the caller asks again.
 * 3. A file that is renamed while its directory is listed may be missed. So the same file must be found
 *    twice, and the last one must keep its name meanwhile, because names order files of one time.
 * 4. Compressed copies are never next. A rotated file that was read has them, and one may be incomplete. But
 *    compressors keep the time of the file. So one that comes after the last file in that order is reported,
 *    unless the file itself is still there.
 */
#include "stream/io/rotation.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/experimental/compression.h>

#include "base/system.h"
#include "store/file/file_error.h"
#include "store/file/target.h"

/* Position of a file in the order of rotation. */
typedef struct rotated_file {
    struct stat st;
    char name[NAME_MAX + 1];
} rotated_file;

typedef struct search {
    const char *base;   /* name without its directory */
    int directory_size; /* bytes of the directory with its slash */
    const char *path;
    const struct stat *last, *current;
    rotated_file after, next;      /* `last`, and the first file behind it */
    char compressed[NAME_MAX + 1]; /* name of a compressed file behind `last` */
    bool fixing;                   /* first pass: only find the present name of `last` */
    bool keeps_name;               /* second pass: `last` has kept that name, or had none */
    bool found, has_compressed;
    tamis_status status; /* error that ended the search: the file may be the next one */
    tamis_error *err;
} search;

enum { DATE_DIGITS = 6 }; /* a number with so many digits at the end of a name is a date */

static bool is_same(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Returns the number at the end of the name, negative if it counts rotations; 0: none. */
static long long rank_of(const char *name) {
    size_t end = strlen(name), begin = end;
    while (begin > 0 && isdigit((unsigned char)name[begin - 1]))
        begin--;
    if (begin == end || end - begin > 18)
        return 0;
    const long long number = strtoll(name + begin, NULL, 10);
    return end - begin >= DATE_DIGITS ? number : -number;
}

static int compare_times(const rotated_file *a, const rotated_file *b) {
    const struct timespec *of_a = &a->st.st_mtim, *of_b = &b->st.st_mtim;
    if (of_a->tv_sec != of_b->tv_sec)
        return of_a->tv_sec < of_b->tv_sec ? -1 : 1;
    if (of_a->tv_nsec != of_b->tv_nsec)
        return of_a->tv_nsec < of_b->tv_nsec ? -1 : 1;
    return 0;
}

static int compare(const rotated_file *a, const rotated_file *b) {
    const int times = compare_times(a, b);
    if (times != 0)
        return times;
    const long long rank_a = rank_of(a->name), rank_b = rank_of(b->name);
    return rank_a != rank_b ? (rank_a < rank_b ? -1 : 1) : strcmp(a->name, b->name);
}

bool tamis__rotation_continues(const char *rotated, const char *name) {
    const size_t size = strlen(name);
    if (strncmp(rotated, name, size) != 0 || !ispunct((unsigned char)rotated[size]))
        return false;
    const char *suffix = rotated + size + 1;
    return isdigit((unsigned char)suffix[0]) || strncmp(suffix, "old", 3) == 0;
}

static bool visit_name(void *context, const char *name) {
    search *s = context;
    char path[PATH_MAX];
    struct stat st;
    rotated_file file;
    if (!tamis__rotation_continues(name, s->base) || strlen(name) > NAME_MAX ||
        snprintf(path, sizeof path, "%.*s%s", s->directory_size, s->path, name) >= (int)sizeof path)
        return true;
    if (tamis__sys.stat(path, &st) != 0) {
        if (errno != ENOENT) /* it was not renamed meanwhile */
            s->status = tamis__fail_file(s->err, path, errno);
        return s->status == TAMIS_OK;
    }
    if (!S_ISREG(st.st_mode))
        return true;
    const bool compressed = tamis_compression_of_path(name) != TAMIS_COMPRESSION_NONE;
    file.st = st;
    snprintf(file.name, sizeof file.name, "%s", name);
    if (compressed) /* it has the position of the file that it was made from */
        *strrchr(file.name, '.') = '\0';
    if (is_same(&st, s->last)) {
        if (s->fixing)
            memcpy(s->after.name, file.name, sizeof file.name);
        else
            s->keeps_name = strcmp(file.name, s->after.name) == 0;
        return true;
    }
    if (s->fixing || (s->current && is_same(&st, s->current)) || compare(&file, &s->after) <= 0)
        return true;
    if (compressed) {
        *strrchr(path, '.') = '\0';
        if (tamis__sys.stat(path, &st) != 0) {
            snprintf(s->compressed, sizeof s->compressed, "%s", name);
            s->has_compressed = true;
        }
        return true;
    }
    if (!s->found || compare(&file, &s->next) < 0)
        s->next = file;
    s->found = true;
    return true;
}

static tamis_status list_files(search *s, const char *directory, tamis_error *err) {
    if (tamis__sys.list(directory, visit_name, s) != 0 && s->status == TAMIS_OK)
        return tamis__fail_file(err, directory, errno);
    return s->status;
}

/* Searches for the file after s->last. Sets s->keeps_name. */
static tamis_status search_once(search *s, tamis__rotation_step *rotation, tamis_error *err) {
    char directory[PATH_MAX];
    const char *base = tamis__path_split(s->path, directory);
    *s = (search){.base = base,
                  .directory_size = (int)(base - s->path),
                  .path = s->path,
                  .last = s->last,
                  .current = s->current,
                  .after = {.st = *s->last},
                  .fixing = true,
                  .status = TAMIS_OK,
                  .err = err};
    /* A name that sorts behind all others of its time: without a present name, only later files count. */
    memset(s->after.name, 0x7f, sizeof s->after.name - 1);
    *rotation = (tamis__rotation_step){.path = ""};
    tamis_status status = list_files(s, directory, err);
    s->fixing = false;
    s->keeps_name = s->after.name[0] == 0x7f; /* it must not be found now */
    if (status == TAMIS_OK)
        status = list_files(s, directory, err);
    if (status != TAMIS_OK)
        return status;
    rotation->st = s->next.st;
    if (s->found)
        snprintf(rotation->path, PATH_MAX, "%.*s%s", s->directory_size, s->path, s->next.name);
    if (s->has_compressed)
        snprintf(rotation->compressed, PATH_MAX, "%.*s%s", s->directory_size, s->path, s->compressed);
    return TAMIS_OK;
}

/* True if the name refers to `file`; for NULL, if it has no file. */
static bool has_name(const char *name, const struct stat *file) {
    struct stat st;
    if (tamis__sys.stat(name, &st) != 0)
        return !file && errno == ENOENT;
    return file && is_same(&st, file);
}

tamis_status tamis__rotation_next(const char *name, const struct stat *last, const struct stat *current,
                                  tamis__rotation_step *rotation, tamis_error *err) {
    search s = {.path = name, .last = last, .current = current};
    bool is_stable = false;
    tamis_status status = search_once(&s, rotation, err);
    while (status == TAMIS_OK && !is_stable) {
        const struct stat before = rotation->st;
        status = search_once(&s, rotation, err);
        is_stable = s.keeps_name && is_same(&before, &rotation->st);
    }
    rotation->is_late = !has_name(name, current);
    return status;
}

void tamis__rotation_describe(char remark[TAMIS__ROTATION_REMARK], const tamis__rotation_step *rotation) {
    snprintf(remark, TAMIS__ROTATION_REMARK,
             "%.250s: compressed, and written to after the last file that was read; if its records were not "
             "read, read it by another run",
             tamis__show(rotation->compressed).text);
}

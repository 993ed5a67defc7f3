/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A filter remembers the file that it was read from, so that a save cannot undo the work of another program:
 *
 *     A   opens f.tamis   adds its keys                                     saves f.tamis: refused
 *     B                                  opens, adds its keys, saves f.tamis
 *
 * Without the check, the save of A would remove the keys of B, and a filter that forgets keys answers
 * wrongly. The file is known by device, inode, size and modification time. tamis replaces files by a rename,
 * so another writer nearly always shows as another inode. Size and time find programs that write into the
 * file.
 *
 * What it does not promise: a change between the check and the rename is not seen. A caller that needs that
 * locks the file (file_lock.c) before it opens it. A save under another name is never refused.
 */
#include "store/file/source_file.h"

#include <errno.h>
#include <string.h>

#include "base/system.h"
#include "store/file/file_error.h"

static void copy_stat(tamis__source_file *source, const struct stat *st) {
    source->device = st->st_dev;
    source->inode = st->st_ino;
    source->size = st->st_size;
    source->modified = st->st_mtim;
}

tamis_status tamis__source_file_set(tamis_filter *filter, const char *path, const struct stat *st,
                                    tamis_error *err) {
    size_t path_size = strlen(path) + 1, size = sizeof(tamis__source_file) + path_size;
    tamis__source_file *source = tamis__alloc(&filter->allocator, size, _Alignof(tamis__source_file));
    if (!source)
        return tamis__fail_nomem(err, "filter", size);
    source->block_size = size;
    memcpy(source->path, path, path_size);
    copy_stat(source, st);
    filter->source_file = source;
    return TAMIS_OK;
}

bool tamis__source_file_matches(const tamis__source_file *source, const struct stat *st) {
    return source->device == st->st_dev && source->inode == st->st_ino && source->size == st->st_size &&
           source->modified.tv_sec == st->st_mtim.tv_sec && source->modified.tv_nsec == st->st_mtim.tv_nsec;
}

static bool is_same_path(const tamis__source_file *source, const tamis__target *target) {
    return source && strcmp(source->path, target->name) == 0;
}

tamis_status tamis__source_file_check(const tamis_filter *filter, const tamis__target *target,
                                      tamis_error *err) {
    struct stat now;
    if (!is_same_path(filter->source_file, target))
        return TAMIS_OK;
    if (tamis__sys.stat(target->path, &now) < 0)
        return errno == ENOENT ? TAMIS_OK : tamis__fail_file(err, target->name, errno);
    if (tamis__source_file_matches(filter->source_file, &now))
        return TAMIS_OK;
    const bool same = filter->source_file->device == now.st_dev && filter->source_file->inode == now.st_ino;
    return tamis__fail(
        err, TAMIS_E_CHANGED, 0,
        "%s: was %s since it was opened, and what is there now would be lost; open it again and "
        "add again",
        tamis__show(target->name).text, same ? "written to" : "replaced");
}

void tamis__source_file_saved(tamis_filter *filter, const tamis__target *target, const struct stat *st) {
    if (is_same_path(filter->source_file, target))
        copy_stat(filter->source_file, st);
}

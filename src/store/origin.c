/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/origin.h"

#include <errno.h>
#include <string.h>

#include "base/system.h"
#include "store/trouble.h"

static void take(tamis__origin *origin, const struct stat *about) {
    origin->device = about->st_dev;
    origin->inode = about->st_ino;
    origin->size = about->st_size;
    origin->modified = about->st_mtim;
}

tamis_status tamis__origin_set(tamis_filter *filter, const char *path, const struct stat *about,
                               tamis_error *err) {
    size_t path_size = strlen(path) + 1, size = sizeof(tamis__origin) + path_size;
    tamis__origin *origin = tamis__alloc(&filter->allocator, size, _Alignof(tamis__origin));
    if (!origin)
        return tamis__fail_nomem(err, "filter", size);
    origin->block_size = size;
    memcpy(origin->path, path, path_size);
    take(origin, about);
    filter->origin = origin;
    return TAMIS_OK;
}

bool tamis__origin_is(const tamis__origin *origin, const struct stat *about) {
    return origin->device == about->st_dev && origin->inode == about->st_ino &&
           origin->size == about->st_size && origin->modified.tv_sec == about->st_mtim.tv_sec &&
           origin->modified.tv_nsec == about->st_mtim.tv_nsec;
}

static bool is_of(const tamis__origin *origin, const tamis__place *place) {
    return origin && strcmp(origin->path, place->name) == 0;
}

tamis_status tamis__origin_check(const tamis_filter *filter, const tamis__place *place, tamis_error *err) {
    struct stat now;
    if (!is_of(filter->origin, place))
        return TAMIS_OK;
    if (tamis__sys.stat(place->path, &now) < 0)
        return errno == ENOENT ? TAMIS_OK : tamis__fail_file(err, place->name, errno);
    if (tamis__origin_is(filter->origin, &now))
        return TAMIS_OK;
    bool same = filter->origin->device == now.st_dev && filter->origin->inode == now.st_ino;
    return tamis__fail(
        err, TAMIS_E_STALE, 0,
        "%s: was %s since it was opened, and what is there now would be lost; open it anew and "
        "add again",
        tamis__show(place->name).text, same ? "written to" : "replaced");
}

void tamis__origin_saved(tamis_filter *filter, const tamis__place *place, const struct stat *about) {
    if (is_of(filter->origin, place))
        take(filter->origin, about);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "stream/trouble.h"

enum {
    BASE_SHOWN = 180, /* bytes of the final name in the other one: NAME_MAX less what is added */
    TRIES = 100       /* names to try */
};

/* "folder/.NAME.tamis-PID-RANDOM". False if that is too long. */
static bool name_aside(tamis__aside *aside, unsigned attempt) {
    const tamis__place *place = aside->place;
    size_t folder = tamis__place_folder(place);
    /* Unique by O_EXCL; the number only has to differ between tries and between runs. */
    uint64_t number = (tamis__now_ns() + attempt) * UINT64_C(0x9e3779b97f4a7c15);
    int size =
        snprintf(aside->path, sizeof aside->path, "%.*s.%.*s.tamis-%ld-%08" PRIx32, (int)folder, place->path,
                 (int)BASE_SHOWN, place->path + folder, (long)getpid(), (uint32_t)(number >> 32));
    return size > 0 && (size_t)size < sizeof aside->path;
}

/*
 * Owner, then permissions: a change of owner takes set-user-id away. Where the owner or group cannot be
 * kept, nobody may gain by it: no set-id bits, and the group gets what others have.
 */
static int inherit(int fd, const struct stat *old) {
    struct stat now;
    mode_t mode = old->st_mode & 07777;
    if (tamis__sys.fstat(fd, &now) < 0)
        return -1;
    bool owner_kept = now.st_uid == old->st_uid;
    bool group_kept = now.st_gid == old->st_gid;
    if ((!owner_kept || !group_kept) && tamis__sys.fchown(fd, old->st_uid, old->st_gid) == 0)
        owner_kept = group_kept = true;
    if (!group_kept)
        group_kept = tamis__sys.fchown(fd, (uid_t)-1, old->st_gid) == 0;
    if (!owner_kept || !group_kept)
        mode &= 0777;
    if (!group_kept)
        mode = (mode & 0707) | ((mode & 07) << 3);
    if (tamis__sys.fchmod(fd, mode) == 0)
        return 0;
    /* Some file systems have one mode for all and refuse every change of it: then it is right already. */
    int sys_errno = errno;
    if (tamis__sys.fstat(fd, &now) == 0 && (now.st_mode & 07777) == mode)
        return 0;
    errno = sys_errno;
    return -1;
}

tamis_status tamis__aside_create(tamis__aside *aside, const tamis__place *place, int *fd, tamis_error *err) {
    bool replaces = place->form == TAMIS__PLACE_REPLACE;
    int made = -1;
    aside->place = place;
    aside->state = TAMIS__ASIDE_NONE;
    for (unsigned attempt = 0; made < 0 && attempt < TRIES; attempt++) {
        if (!name_aside(aside, attempt))
            return tamis__fail_file(err, place->name, ENAMETOOLONG);
        /* Closed to others until it has the permissions of the old file. */
        made = tamis__sys.open(aside->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, replaces ? 0600 : 0666);
        if (made < 0 && errno != EEXIST && errno != EINTR)
            break;
    }
    if (made < 0)
        return tamis__fail(err, TAMIS_E_IO, errno, "%s: cannot create a file beside it: %s; %s",
                           tamis__show(place->name).text, tamis__errno_text(errno),
                           tamis__errno_remedy(errno));
    aside->state = TAMIS__ASIDE_WRITTEN;
    if (replaces && inherit(made, &place->about) < 0) {
        tamis__fail(err, TAMIS_E_IO, errno, "%s: cannot keep its permissions: %s; write elsewhere",
                    tamis__show(place->name).text, tamis__errno_text(errno));
        tamis__sys.close(made);
        tamis__aside_remove(aside, err);
        return TAMIS_E_IO;
    }
    *fd = made;
    return TAMIS_OK;
}

tamis_status tamis__aside_publish(tamis__aside *aside, bool revocable, tamis_error *err) {
    if (aside->state != TAMIS__ASIDE_WRITTEN)
        return TAMIS_OK;
    const char *name = aside->place->path;
    if (revocable && aside->place->form == TAMIS__PLACE_REPLACE &&
        tamis__sys.exchange(aside->path, name) == 0) {
        aside->state = TAMIS__ASIDE_SWAPPED;
        return TAMIS_OK;
    }
    if (tamis__sys.rename(aside->path, name) < 0)
        return tamis__fail_file(err, aside->place->name, errno);
    aside->state = TAMIS__ASIDE_PLACED;
    return TAMIS_OK;
}

void tamis__aside_withdraw(tamis__aside *aside) {
    const tamis__place *place = aside->place;
    if (aside->state == TAMIS__ASIDE_SWAPPED && tamis__sys.exchange(aside->path, place->path) == 0)
        aside->state = TAMIS__ASIDE_WRITTEN;
    else if (aside->state == TAMIS__ASIDE_PLACED && place->form == TAMIS__PLACE_NEW &&
             tamis__sys.unlink(place->path) == 0)
        aside->state = TAMIS__ASIDE_NONE;
}

tamis_status tamis__aside_settle(tamis__aside *aside, tamis_error *err) {
    bool swapped = aside->state == TAMIS__ASIDE_SWAPPED;
    aside->state = TAMIS__ASIDE_NONE;
    if (!swapped || tamis__sys.unlink(aside->path) == 0)
        return TAMIS_OK;
    return tamis__fail(
        err, TAMIS_E_IO, errno, "%s: is written, but its old version stays as %s: %s; remove that",
        tamis__show(aside->place->name).text, tamis__show(aside->path).text, tamis__errno_text(errno));
}

void tamis__aside_remove(tamis__aside *aside, tamis_error *err) {
    if (aside->state != TAMIS__ASIDE_WRITTEN)
        return;
    aside->state = TAMIS__ASIDE_NONE;
    if (tamis__sys.unlink(aside->path) == 0 || !err)
        return;
    size_t used = strlen(err->text);
    if (used > 0)
        snprintf(err->text + used, sizeof err->text - used, "; remove %s, which could not be: %s",
                 tamis__show(aside->path).text, tamis__errno_text(errno));
}

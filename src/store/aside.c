/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Atomic replacement of a file. A reader of the name must see the old file or the new one, never a part of
 * either, also after a crash. So the new bytes go to a temporary file in the same directory, and rename(2)
 * replaces the target in one step:
 *
 *     directory       ".F.tamis-PID-RANDOM"      "F"
 *     create          new bytes                  old file
 *     publish         -                          new file    rename, or
 *                     old file                   new file    exchange (renameat2), if it may have to go back
 *     settle          -                          new file    the directory is synced
 *
 * Invariants:
 * 1. The target's name always stands for a whole file: the old one before publish, the new one after it.
 * 2. Every temporary file of a lock's holder is named in the lock's note (lock.h) before it exists. The next
 *    holder can thus remove what a killed process left.
 * 3. The new file gives nobody more rights than the old one gave.
 *
 * One rename is atomic, but two renames are not one step. A run that replaces two files therefore exchanges
 * the names of the first pair. If the second rename fails, a second exchange restores the first file. File
 * systems without exchange get a plain rename, which cannot be reversed.
 *
 * The temporary file is in the target's directory because rename cannot cross file systems. It is opened with
 * O_EXCL, so that a prepared symbolic link cannot redirect it.
 */
#include "store/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "store/lock.h"
#include "store/trouble.h"

enum {
    BASE_SHOWN = 180, /* bytes of the target's name that are used: NAME_MAX less the parts around them */
    TRIES = 100       /* names tried before giving up */
};

/* "DIRECTORY/.NAME.tamis-PID-RANDOM". False if that is too long. */
static bool name_aside(tamis__aside *aside, unsigned attempt) {
    const tamis__place *place = aside->place;
    size_t folder = tamis__place_folder(place);
    /* O_EXCL makes the name unique; the number only has to differ between attempts and between runs. */
    uint64_t number = (tamis__now_ns() + attempt) * UINT64_C(0x9e3779b97f4a7c15);
    int size =
        snprintf(aside->path, sizeof aside->path, "%.*s.%.*s.tamis-%ld-%08" PRIx32, (int)folder, place->path,
                 (int)BASE_SHOWN, place->path + folder, (long)getpid(), (uint32_t)(number >> 32));
    return size > 0 && (size_t)size < sizeof aside->path;
}

bool tamis__aside_is_of(const tamis__place *place, const char *name) {
    char head[NAME_MAX + 1];
    int size = snprintf(head, sizeof head, ".%.*s.tamis-", (int)BASE_SHOWN,
                        place->path + tamis__place_folder(place));
    return size > 0 && strncmp(name, head, (size_t)size) == 0 && name[size] >= '0' && name[size] <= '9' &&
           !strchr(name, '/');
}

/*
 * Sets the owner before the permissions, because chown clears the set-user-id bit. If the owner or the group
 * cannot be kept, nobody may gain rights: the set-id bits are dropped, and the group gets the rights of
 * others.
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
    /* Some file systems have one fixed mode and refuse chmod. That is no error if the mode is already
     * right. */
    int sys_errno = errno;
    if (tamis__sys.fstat(fd, &now) == 0 && (now.st_mode & 07777) == mode)
        return 0;
    errno = sys_errno;
    return -1;
}

static tamis_status open_folder(tamis__aside *aside, tamis_error *err) {
    char folder[PATH_MAX] = ".";
    const tamis__place *place = aside->place;
    size_t size = tamis__place_folder(place);
    if (size > 0) {
        memcpy(folder, place->path, size);
        folder[size] = '\0';
    }
    do
        aside->folder = tamis__sys.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    while (aside->folder < 0 && errno == EINTR);
    aside->durable = aside->folder >= 0;
    if (aside->durable)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_IO, errno, "%s: cannot open its folder to sync it: %s; %s",
                       tamis__show(place->name).text, tamis__errno_text(errno), tamis__errno_remedy(errno));
}

static void close_folder(tamis__aside *aside) {
    if (aside->durable)
        tamis__sys.close(aside->folder);
    aside->durable = false;
}

static tamis_status create(tamis__aside *aside, int *fd, tamis_error *err) {
    const tamis__place *place = aside->place;
    bool replaces = place->form == TAMIS__PLACE_REPLACE;
    int made = -1;
    for (unsigned attempt = 0; made < 0 && attempt < TRIES; attempt++) {
        if (!name_aside(aside, attempt))
            return tamis__fail_file(err, place->name, ENAMETOOLONG);
        tamis__lock_note(aside->lock, aside);
        /* Only the owner may read it until it has the permissions of the old file. */
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

tamis_status tamis__aside_create(tamis__aside *aside, const tamis__place *place, bool durable, int *fd,
                                 tamis_error *err) {
    aside->place = place;
    aside->state = TAMIS__ASIDE_NONE;
    aside->durable = false;
    tamis_status status = durable ? open_folder(aside, err) : TAMIS_OK;
    if (status == TAMIS_OK)
        status = create(aside, fd, err);
    if (status != TAMIS_OK)
        close_folder(aside);
    return status;
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

/* Without RENAME_NOREPLACE, another program may create the file between the check and the rename. */
static int rename_new(const char *from, const char *to) {
    struct stat about;
    if (tamis__sys.rename_new(from, to) == 0)
        return 0;
    if (errno != ENOSYS && errno != EINVAL)
        return -1;
    if (tamis__sys.stat(to, &about) == 0)
        errno = EEXIST;
    return errno == ENOENT ? tamis__sys.rename(from, to) : -1;
}

tamis_status tamis__aside_publish_new(tamis__aside *aside, tamis_error *err) {
    const tamis__place *place = aside->place;
    if (rename_new(aside->path, place->path) < 0)
        return errno == EEXIST ? tamis__fail_there(err, place->name)
                               : tamis__fail_file(err, place->name, errno);
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

static int sync_folder(tamis__aside *aside) {
    if (!aside->durable)
        return 0;
    int failed = tamis__sync_folder(aside->folder) < 0 ? errno : 0;
    close_folder(aside);
    return failed;
}

tamis_status tamis__aside_settle(tamis__aside *aside, tamis_error *err) {
    int failed = sync_folder(aside);
    bool swapped = aside->state == TAMIS__ASIDE_SWAPPED;
    aside->state = TAMIS__ASIDE_NONE;
    if (swapped && tamis__sys.unlink(aside->path) < 0)
        return tamis__fail(
            err, TAMIS_E_IO, errno, "%s: is written, but its old version stays as %s: %s; remove that",
            tamis__show(aside->place->name).text, tamis__show(aside->path).text, tamis__errno_text(errno));
    if (failed)
        return tamis__fail(
            err, TAMIS_E_IO, failed,
            "%s: is written, but a power loss may bring its old version back: %s; write it again",
            tamis__show(aside->place->name).text, tamis__errno_text(failed));
    return TAMIS_OK;
}

tamis_status tamis__aside_publish_both(tamis__aside *first, tamis__aside *second, tamis_error *err) {
    bool two = first->state == TAMIS__ASIDE_WRITTEN && second->state == TAMIS__ASIDE_WRITTEN;
    tamis_status status = tamis__aside_publish(first, two, err);
    if (status != TAMIS_OK)
        return status;
    status = tamis__aside_publish(second, false, err);
    if (status != TAMIS_OK) {
        tamis__aside_withdraw(first);
        return status;
    }
    status = tamis__aside_settle(first, err);
    tamis_status settled = tamis__aside_settle(second, status == TAMIS_OK ? err : NULL);
    return status == TAMIS_OK ? settled : status;
}

void tamis__aside_remove(tamis__aside *aside, tamis_error *err) {
    close_folder(aside);
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

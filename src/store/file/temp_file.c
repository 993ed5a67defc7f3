/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Atomic replacement of a file. A reader of the name must see the old file or the new one, never a part of
 * either, also after a crash. So the new bytes go to a temporary file in the same directory, and rename(2)
 * replaces the target in one step:
 *
 *     directory       ".F.tamis-PID-RANDOM"      "F"
 *     create          new bytes                  old file
 *     commit          -                          new file    rename, or
 *                     old file                   new file    exchange (renameat2), if it may have to go back
 *     finish          -                          new file    the directory is synced
 *
 * Invariants:
 * 1. The target's name always refers to a whole file: the old one before the commit, the new one after
 *    it.
 * 2. Every temporary file of a lock's holder is named in the lock's note (file_lock.h) before it exists. The
 *    next holder can thus remove what a killed process left.
 * 3. The new file gives nobody more rights than the old one gave.
 *
 * One rename is atomic, but two renames are not one step. A run that replaces two files therefore exchanges
 * the names of the first pair. If the second rename fails, a second exchange restores the first file. File
 * systems without exchange get a plain rename, which cannot be reversed.
 *
 * The temporary file is in the target's directory because rename cannot cross file systems. It is opened with
 * O_EXCL, so that a prepared symbolic link cannot redirect it.
 */
#include "store/file/temp_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/system.h"
#include "store/file/file_error.h"
#include "store/file/file_lock.h"

enum {
    BASE_SHOWN = 180, /* bytes of the target's name that are used: NAME_MAX less the parts around them */
    TRIES = 100       /* names tried before giving up */
};

/* "DIRECTORY/.NAME.tamis-PID-RANDOM". False if that is too long. */
static bool make_name(tamis__temp_file *temp, unsigned attempt) {
    const tamis__target *target = temp->target;
    const size_t directory = tamis__path_directory_size(target->path);
    /* O_EXCL makes the name unique; the number only has to differ between attempts and between runs. */
    const uint64_t number = (tamis__now_ns() + attempt) * TAMIS__GOLDEN;
    const int size = snprintf(temp->path, sizeof temp->path, "%.*s.%.*s.tamis-%ld-%08" PRIx32, (int)directory,
                              target->path, (int)BASE_SHOWN, target->path + directory, (long)getpid(),
                              (uint32_t)(number >> 32));
    return size > 0 && (size_t)size < sizeof temp->path;
}

bool tamis__temp_file_is_for(const tamis__target *target, const char *name) {
    char prefix[NAME_MAX + 1];
    const int size = snprintf(prefix, sizeof prefix, ".%.*s.tamis-", (int)BASE_SHOWN,
                              target->path + tamis__path_directory_size(target->path));
    return size > 0 && strncmp(name, prefix, (size_t)size) == 0 && name[size] >= '0' && name[size] <= '9' &&
           !strchr(name, '/');
}

/*
 * Sets the owner before the permissions, because chown clears the set-user-id bit. If the owner or the group
 * cannot be kept, nobody may gain rights. The set-id bits are dropped, and the group gets the rights of
 * others.
 */
static int inherit_owner(int fd, const struct stat *old) {
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
    /* Some file systems have one fixed mode and refuse chmod. That is not an error if the mode is already
     * right. */
    const int sys_errno = errno;
    if (tamis__sys.fstat(fd, &now) == 0 && (now.st_mode & 07777) == mode)
        return 0;
    errno = sys_errno;
    return -1;
}

static tamis_status open_directory(tamis__temp_file *temp, tamis_error *err) {
    char directory[PATH_MAX];
    const tamis__target *target = temp->target;
    (void)tamis__path_split(target->path, directory);
    temp->directory = tamis__open(directory, O_RDONLY | O_DIRECTORY, 0);
    temp->durable = temp->directory >= 0;
    if (temp->durable)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_IO, errno, "%s: cannot open its directory to sync it: %s; %s",
                       tamis__show(target->name).text, tamis__errno_text(errno), tamis__errno_remedy(errno));
}

static void close_directory(tamis__temp_file *temp) {
    if (temp->durable)
        tamis__sys.close(temp->directory);
    temp->durable = false;
}

static tamis_status create(tamis__temp_file *temp, int *fd, tamis_error *err) {
    const tamis__target *target = temp->target;
    const bool replaces = target->form == TAMIS__TARGET_REPLACE;
    int created = -1;
    for (unsigned attempt = 0; created < 0 && attempt < TRIES; attempt++) {
        if (!make_name(temp, attempt))
            return tamis__fail_file(err, target->name, ENAMETOOLONG);
        tamis__lock_note(temp->lock, temp);
        /* Only the owner may read it until it has the permissions of the old file. */
        created =
            tamis__sys.open(temp->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, replaces ? 0600 : 0666);
        if (created < 0 && errno != EEXIST && errno != EINTR)
            break;
    }
    if (created < 0)
        return tamis__fail(err, TAMIS_E_IO, errno, "%s: cannot create a file beside it: %s; %s",
                           tamis__show(target->name).text, tamis__errno_text(errno),
                           tamis__errno_remedy(errno));
    temp->state = TAMIS__TEMP_FILE_STAGED;
    if (replaces && inherit_owner(created, &target->st) < 0) {
        tamis__fail(err, TAMIS_E_IO, errno, "%s: cannot keep its permissions: %s; write elsewhere",
                    tamis__show(target->name).text, tamis__errno_text(errno));
        tamis__sys.close(created);
        tamis__temp_file_remove(temp, err);
        return TAMIS_E_IO;
    }
    *fd = created;
    return TAMIS_OK;
}

tamis_status tamis__temp_file_create(tamis__temp_file *temp, const tamis__target *target, bool durable,
                                     int *fd, tamis_error *err) {
    temp->target = target;
    temp->state = TAMIS__TEMP_FILE_NONE;
    temp->durable = false;
    tamis_status status = durable ? open_directory(temp, err) : TAMIS_OK;
    if (status == TAMIS_OK)
        status = create(temp, fd, err);
    if (status != TAMIS_OK)
        close_directory(temp);
    return status;
}

tamis_status tamis__temp_file_commit(tamis__temp_file *temp, tamis_error *err) {
    if (temp->state != TAMIS__TEMP_FILE_STAGED)
        return TAMIS_OK;
    if (tamis__sys.rename(temp->path, temp->target->path) < 0)
        return tamis__fail_file(err, temp->target->name, errno);
    temp->state = TAMIS__TEMP_FILE_COMMITTED;
    return TAMIS_OK;
}

/* Without RENAME_NOREPLACE, another program may create the file between the check and the rename. */
static int rename_new(const char *from, const char *to) {
    struct stat st;
    if (tamis__sys.rename_new(from, to) == 0)
        return 0;
    if (errno != ENOSYS && errno != EINVAL)
        return -1;
    if (tamis__sys.stat(to, &st) == 0)
        errno = EEXIST;
    return errno == ENOENT ? tamis__sys.rename(from, to) : -1;
}

tamis_status tamis__temp_file_commit_new(tamis__temp_file *temp, tamis_error *err) {
    const tamis__target *target = temp->target;
    if (rename_new(temp->path, target->path) < 0)
        return errno == EEXIST ? tamis__fail_exists(err, target->name)
                               : tamis__fail_file(err, target->name, errno);
    temp->state = TAMIS__TEMP_FILE_COMMITTED;
    return TAMIS_OK;
}

/* Gives the file its target's name and keeps the old file under the other name. False: the target is new, or
 * the file system cannot exchange two names. */
static bool swap_with_target(tamis__temp_file *temp) {
    if (temp->target->form != TAMIS__TARGET_REPLACE ||
        tamis__sys.swap_names(temp->path, temp->target->path) != 0)
        return false;
    temp->state = TAMIS__TEMP_FILE_SWAPPED;
    return true;
}

/* Undoes a commit, if that is still possible: a SWAPPED file is STAGED again, and a COMMITTED new file is
 * removed. Otherwise does nothing. */
static void revert_commit(tamis__temp_file *temp) {
    const tamis__target *target = temp->target;
    if (temp->state == TAMIS__TEMP_FILE_SWAPPED && tamis__sys.swap_names(temp->path, target->path) == 0)
        temp->state = TAMIS__TEMP_FILE_STAGED;
    else if (temp->state == TAMIS__TEMP_FILE_COMMITTED && target->form == TAMIS__TARGET_NEW &&
             tamis__sys.unlink(target->path) == 0)
        temp->state = TAMIS__TEMP_FILE_NONE;
}

static int sync_directory(tamis__temp_file *temp) {
    if (!temp->durable)
        return 0;
    const int failed = tamis__sync_directory(temp->directory) < 0 ? errno : 0;
    close_directory(temp);
    return failed;
}

tamis_status tamis__temp_file_finish(tamis__temp_file *temp, tamis_error *err) {
    const int failed = sync_directory(temp);
    const bool swapped = temp->state == TAMIS__TEMP_FILE_SWAPPED;
    temp->state = TAMIS__TEMP_FILE_NONE;
    if (swapped && tamis__sys.unlink(temp->path) < 0)
        return tamis__fail(
            err, TAMIS_E_IO, errno, "%s: is written, but its old version stays as %s: %s; remove that",
            tamis__show(temp->target->name).text, tamis__show(temp->path).text, tamis__errno_text(errno));
    if (failed)
        return tamis__fail(
            err, TAMIS_E_IO, failed,
            "%s: is written, but a power loss may bring its old version back: %s; write it again",
            tamis__show(temp->target->name).text, tamis__errno_text(failed));
    return TAMIS_OK;
}

tamis_status tamis__temp_file_commit_both(tamis__temp_file *first, tamis__temp_file *second,
                                          tamis_error *err) {
    const bool two = first->state == TAMIS__TEMP_FILE_STAGED && second->state == TAMIS__TEMP_FILE_STAGED;
    tamis_status status = two && swap_with_target(first) ? TAMIS_OK : tamis__temp_file_commit(first, err);
    if (status != TAMIS_OK)
        return status;
    status = tamis__temp_file_commit(second, err);
    if (status != TAMIS_OK) {
        revert_commit(first);
        return status;
    }
    status = tamis__temp_file_finish(first, err);
    const tamis_status finished = tamis__temp_file_finish(second, status == TAMIS_OK ? err : NULL);
    return status == TAMIS_OK ? finished : status;
}

void tamis__temp_file_remove(tamis__temp_file *temp, tamis_error *err) {
    close_directory(temp);
    if (temp->state != TAMIS__TEMP_FILE_STAGED)
        return;
    temp->state = TAMIS__TEMP_FILE_NONE;
    if (tamis__sys.unlink(temp->path) == 0 || !err)
        return;
    const size_t used = strlen(err->text);
    if (used > 0)
        snprintf(err->text + used, sizeof err->text - used, "; remove %s, which could not be: %s",
                 tamis__show(temp->path).text, tamis__errno_text(errno));
}

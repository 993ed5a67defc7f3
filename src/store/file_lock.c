/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The lock of a file F is flock on a file of its own beside it, ".F.tamis-lock": a lock on F itself would be one on the
 * inode that the next save replaces, and F need not exist yet. The kernel gives it back however its holder ends. flock
 * and not fcntl: fcntl's lock is lost when any descriptor of the file is closed, and lets a second thread in.
 *
 * The holder removes the lock's file before it unlocks. One who waited with that file open then has a lock on what has
 * no name any more, and sees so by looking again: the name must stand for what is locked. One that a killed holder left
 * is as good as none.
 *
 * It holds two lines: who holds it (store/holder.h), and the file that it writes aside, for clearing up.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/holder.h"
#include "store/lock.h"
#include "store/trouble.h"

enum {
    TRIES = 100,                            /* locks that had lost their name */
    BASE_SHOWN = 240,                       /* bytes of the name in the lock's: NAME_MAX less what is added */
    NOTE = sizeof(tamis__holder) + NAME_MAX /* bytes the lock's file holds at most */
};

struct tamis_lock {
    int fd;
    dev_t device; /* of the lock's file */
    ino_t inode;
    unsigned users;          /* tamis_file_lock, and saves; under `held_turn`, as the next */
    struct tamis_lock *next; /* that this process holds */
    char path[PATH_MAX];     /* of the lock's file */
};

/* What this process holds: a save by who has locked the file must not wait for itself. */
static pthread_mutex_t held_turn = PTHREAD_MUTEX_INITIALIZER;
static tamis_lock *held;

static bool name_lock(tamis_lock *lock, const tamis__place *place) {
    size_t folder = tamis__place_folder(place);
    int size = snprintf(lock->path, sizeof lock->path, "%.*s.%.*s.tamis-lock", (int)folder, place->path,
                        (int)BASE_SHOWN, place->path + folder);
    return size > 0 && (size_t)size < sizeof lock->path;
}

static tamis_status fail_lock(tamis_error *err, const tamis__place *place, int sys_errno) {
    return tamis__fail(err, TAMIS_E_IO, sys_errno, "%s: cannot make a lock beside it: %s; %s",
                       tamis__show(place->name).text, tamis__errno_text(sys_errno),
                       tamis__errno_remedy(sys_errno));
}

/* Another user's lock that is left over need not be written to be held. */
static int open_lock(const char *path) {
    const int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    for (;;) {
        int fd = tamis__sys.open(path, O_RDWR | O_CREAT | flags, 0666);
        if (fd < 0 && errno == EACCES) {
            fd = tamis__sys.open(path, O_RDONLY | flags, 0);
            if (fd < 0 && errno == ENOENT)
                errno = EACCES; /* it is the folder that may not be written */
        }
        if (fd >= 0 || errno != EINTR)
            return fd;
    }
}

/* The note, NUL-terminated, its second line at *aside. */
static void read_note(int fd, char note[NOTE + 1], const char **aside) {
    ssize_t size = tamis__sys.pread(fd, note, NOTE, 0);
    note[size > 0 ? size : 0] = '\0';
    char *end = strchr(note, '\n');
    *aside = "";
    if (!end)
        return;
    *end = '\0';
    *aside = end + 1;
    end = strchr(end + 1, '\n');
    if (end)
        *end = '\0';
    else
        *aside = "";
}

static tamis_status fail_busy(tamis_error *err, const tamis__place *place, int fd) {
    char note[NOTE + 1];
    const char *aside;
    read_note(fd, note, &aside);
    if (tamis__holder_is_us(note))
        return tamis__fail(err, TAMIS_E_BUSY, EDEADLK, "%s: this process holds it already; let it go first",
                           tamis__show(place->name).text);
    if (note[0] != '\0')
        return tamis__fail(err, TAMIS_E_BUSY, 0, "%s: process %s holds it; wait for that to end",
                           tamis__show(place->name).text, tamis__show(note).text);
    return tamis__fail(err, TAMIS_E_BUSY, 0, "%s: another process holds it; wait for that to end",
                       tamis__show(place->name).text);
}

void tamis__lock_note(const tamis_lock *lock, const tamis__aside *aside) {
    char note[NOTE + 1];
    if (!lock)
        return;
    const char *name = aside ? aside->path + tamis__place_folder(aside->place) : "";
    int size = snprintf(note, sizeof note, "%s\n%s\n", tamis__holder_now().text, name);
    if (size > 0 && (size_t)size < sizeof note)
        (void)tamis__sys.pwrite(lock->fd, note, (size_t)size, 0); /* on a full disk there is none */
}

/* Removes what a killed holder left: of files aside of this very name, and no other. */
static void clear_up(const tamis_lock *lock, const tamis__place *place) {
    char note[NOTE + 1], path[PATH_MAX];
    const char *aside;
    read_note(lock->fd, note, &aside);
    if (!tamis__aside_is_of(place, aside))
        return;
    int size = snprintf(path, sizeof path, "%.*s%s", (int)tamis__place_folder(place), place->path, aside);
    if (size > 0 && (size_t)size < sizeof path)
        (void)tamis__sys.unlink(path);
}

/* Locks what is open as lock->fd. */
static tamis_status hold(tamis_lock *lock, const tamis__place *place, tamis_error *err) {
    struct stat about;
    if (tamis__sys.fstat(lock->fd, &about) < 0)
        return fail_lock(err, place, errno);
    lock->device = about.st_dev;
    lock->inode = about.st_ino;
    /* The note would go into another's file: by a link that somebody else has put there. */
    if (!S_ISREG(about.st_mode) || about.st_nlink > 1)
        return tamis__fail(err, TAMIS_E_IO, 0, "%s: its lock %s is no file of its own; remove that",
                           tamis__show(place->name).text, tamis__show(lock->path).text);
    if (tamis__sys.lock(lock->fd, LOCK_EX | LOCK_NB) == 0)
        return TAMIS_OK;
    if (errno == EWOULDBLOCK)
        return fail_busy(err, place, lock->fd);
    int sys_errno = errno;
    bool never = sys_errno == EOPNOTSUPP || sys_errno == ENOSYS || sys_errno == EINVAL;
    if (never)
        (void)tamis__sys.unlink(lock->path); /* nobody can hold it */
    if (never || sys_errno == ENOLCK)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, sys_errno,
                           "%s: its file system has no locks: %s; keep it on another",
                           tamis__show(place->name).text, tamis__errno_text(sys_errno));
    return fail_lock(err, place, sys_errno);
}

/* Whether the name stands for what is locked: the holder before us may have removed it. */
static bool is_named(const tamis_lock *lock) {
    struct stat about;
    return tamis__sys.stat(lock->path, &about) == 0 && about.st_dev == lock->device &&
           about.st_ino == lock->inode;
}

static tamis_status take(tamis_lock *lock, const tamis__place *place, tamis_error *err) {
    if (!name_lock(lock, place))
        return fail_lock(err, place, ENAMETOOLONG);
    for (int attempt = 0; attempt < TRIES; attempt++) {
        lock->fd = open_lock(lock->path);
        if (lock->fd < 0)
            return fail_lock(err, place, errno);
        tamis_status status = hold(lock, place, err);
        if (status == TAMIS_OK && is_named(lock))
            return TAMIS_OK;
        tamis__sys.close(lock->fd);
        if (status != TAMIS_OK)
            return status;
    }
    return tamis__fail(err, TAMIS_E_BUSY, 0, "%s: other processes hold it by turns; try again",
                       tamis__show(place->name).text);
}

/* The lock of the same file that this process holds, or NULL. */
static tamis_lock *find_held(const tamis_lock *like) {
    tamis_lock *lock = held;
    while (lock && (lock->device != like->device || lock->inode != like->inode))
        lock = lock->next;
    return lock;
}

/* *taken is new, or with `share` the one that this process holds. */
static tamis_status lock_place(tamis_lock **taken, const tamis__place *place, bool share, tamis_error *err) {
    if (place->form != TAMIS__PLACE_REPLACE && place->form != TAMIS__PLACE_NEW)
        return tamis__fail_irregular(err, place->name);
    const tamis_allocator memory = tamis__allocator_resolve(NULL);
    tamis_lock *lock = tamis__alloc(&memory, sizeof *lock, _Alignof(tamis_lock));
    if (!lock)
        return tamis__fail_nomem(err, "lock", sizeof *lock);
    tamis_lock *ours = NULL;
    pthread_mutex_lock(&held_turn);
    tamis_status status = take(lock, place, err);
    if (status == TAMIS_OK) {
        clear_up(lock, place);
        tamis__lock_note(lock, NULL);
        lock->next = held;
        held = ours = lock;
    } else if (status == TAMIS_E_BUSY && share) {
        ours = find_held(lock);
    }
    if (ours)
        ours->users++;
    pthread_mutex_unlock(&held_turn);
    if (ours != lock)
        tamis__free(&memory, lock, sizeof *lock);
    if (!ours)
        return status;
    *taken = ours;
    return TAMIS_OK;
}

tamis_status tamis__lock_borrow(tamis_lock **lock, const tamis__place *place, tamis_error *err) {
    tamis_error refused = TAMIS_ERROR_INIT;
    tamis_status status = lock_place(lock, place, true, &refused);
    if (status == TAMIS_OK)
        return TAMIS_OK;
    if (status == TAMIS_E_UNSUPPORTED) {
        *lock = NULL;
        return TAMIS_OK;
    }
    return tamis__fail(err, status, refused.sys_errno, "%s", refused.text);
}

void tamis__lock_return(tamis_lock *lock) {
    if (!lock)
        return;
    pthread_mutex_lock(&held_turn);
    bool last = --lock->users == 0;
    if (last) {
        tamis_lock **link = &held;
        while (*link != lock)
            link = &(*link)->next;
        *link = lock->next;
        (void)tamis__sys.unlink(lock->path);
        tamis__sys.close(lock->fd);
    }
    pthread_mutex_unlock(&held_turn);
    const tamis_allocator memory = tamis__allocator_resolve(NULL);
    if (last)
        tamis__free(&memory, lock, sizeof *lock);
}

tamis_status tamis__lock_look(const tamis__place *place, tamis_error *err) {
    tamis_lock lock = {.fd = -1};
    struct stat about;
    if (!name_lock(&lock, place))
        return TAMIS_OK;
    do
        lock.fd = tamis__sys.open(lock.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
    while (lock.fd < 0 && errno == EINTR);
    if (lock.fd < 0)
        return TAMIS_OK; /* none, or one that cannot be asked */
    tamis_status status = TAMIS_OK;
    if (tamis__sys.fstat(lock.fd, &about) == 0 && tamis__sys.lock(lock.fd, LOCK_SH | LOCK_NB) < 0 &&
        errno == EWOULDBLOCK) {
        lock.device = about.st_dev;
        lock.inode = about.st_ino;
        pthread_mutex_lock(&held_turn);
        const bool ours = find_held(&lock) != NULL;
        pthread_mutex_unlock(&held_turn);
        status = ours ? TAMIS_OK : fail_busy(err, place, lock.fd);
    }
    tamis__sys.close(lock.fd);
    return status;
}

tamis_status tamis_file_lock(tamis_lock **lock, const char *path, tamis_error *err) {
    TAMIS__NEED(lock, err);
    TAMIS__NEED(path, err);
    tamis__place place;
    tamis_status status = tamis__place_find(&place, path, err);
    return status == TAMIS_OK ? lock_place(lock, &place, false, err) : status;
}

void tamis_file_unlock(tamis_lock *lock) {
    tamis__lock_return(lock);
}

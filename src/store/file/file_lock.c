/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The lock of a file F: flock(2) on a lock file beside it.
 *
 *     F                   the file; need not exist yet
 *     .F.tamis-lock       locked with flock while a process holds F; its content is the note
 *         line 1          holder: "PID on HOST since TIME", for error messages
 *         line 2          name of the holder's temporary file, empty if it has none
 *
 * Why this way:
 * - F itself cannot be locked: a save replaces its inode, and the lock would stay on the old one.
 * - The kernel releases flock when the holder ends, however it ends. A lock file that is left over locks
 *   nothing.
 * - fcntl locks would be lost when the process closes any descriptor of the file, and they do not exclude
 *   other threads of the process.
 *
 * Invariants:
 * 1. A process holds F if it has the lock of the inode that the lock file's name refers to. The holder
 *    removes the name before it unlocks. A process that opened the file before that gets a lock on a nameless
 *    inode. It notices this by comparing inodes (is_named), and tries again.
 * 2. A new holder removes the temporary file that the note (line 2) names, since its writer is dead. Only
 *    names that belong to F are removed: another user can write to the note.
 * 3. All locks of this process are in the list `held`. A save can thus share the lock that its caller already
 *    has.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/file/file_error.h"
#include "store/file/file_lock.h"

enum {
    TRIES = 100,                            /* attempts, each on a lock file that had lost its name */
    BASE_SHOWN = 240,                       /* bytes of F's name in the lock file's: NAME_MAX less the rest */
    NOTE = sizeof(tamis__holder) + NAME_MAX /* largest content of the lock file, in bytes */
};

struct tamis_lock {
    int fd;
    dev_t device; /* device of the lock file */
    ino_t inode;
    unsigned users; /* tamis_file_lock and saves that share the lock; guarded by `held_mutex`, as `next` is */
    struct tamis_lock *next; /* next lock of this process */
    char path[PATH_MAX];     /* name of the lock file */
};

/* Locks of this process. A save must not wait for a lock that its own process holds. */
static pthread_mutex_t held_mutex = PTHREAD_MUTEX_INITIALIZER;
static tamis_lock *held;

/* ---- the holder ---- */

static const char since[] = " since ";

tamis__holder tamis__holder_now(void) {
    tamis__holder holder;
    char host[256] = "", time_text[40] = "";
    const time_t now = (time_t)tamis__now_unix();
    struct tm utc;
    if (gethostname(host, sizeof host - 1) < 0)
        host[0] = '\0';
    for (char *c = host; *c; c++)
        if (*c == '\n')
            *c = ' ';
    if (gmtime_r(&now, &utc))
        strftime(time_text, sizeof time_text, "%Y-%m-%d %H:%M:%S UTC", &utc);
    snprintf(holder.text, sizeof holder.text, "%ld on %s%s%s", (long)getpid(), host, since, time_text);
    return holder;
}

bool tamis__holder_is_us(const char *text) {
    const tamis__holder us = tamis__holder_now();
    const size_t size = (size_t)(strstr(us.text, since) - us.text);
    return strncmp(text, us.text, size) == 0 && strncmp(text + size, since, sizeof since - 1) == 0;
}

/* ---- the lock file ---- */

static bool name_lock(tamis_lock *lock, const tamis__target *target) {
    const size_t directory = tamis__path_directory_size(target->path);
    const int size = snprintf(lock->path, sizeof lock->path, "%.*s.%.*s.tamis-lock", (int)directory,
                              target->path, (int)BASE_SHOWN, target->path + directory);
    return size > 0 && (size_t)size < sizeof lock->path;
}

static tamis_status fail_lock(tamis_error *err, const tamis__target *target, int sys_errno) {
    return tamis__fail(err, TAMIS_E_IO, sys_errno, "%s: cannot make a lock beside it: %s; %s",
                       tamis__show(target->name).text, tamis__errno_text(sys_errno),
                       tamis__errno_remedy(sys_errno));
}

/* Opens the lock file. Read access is enough to lock one that another user left. */
static int open_lock(const char *path) {
    const int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    int fd = tamis__open(path, O_RDWR | O_CREAT | flags, 0666);
    if (fd < 0 && errno == EACCES) {
        fd = tamis__open(path, O_RDONLY | flags, 0);
        if (fd < 0 && errno == ENOENT)
            errno = EACCES; /* the directory is not writable */
    }
    return fd;
}

/* Reads the note, NUL-terminated. *temp points to its second line. */
static void read_note(int fd, char note[NOTE + 1], const char **temp) {
    const ssize_t size = tamis__sys.pread(fd, note, NOTE, 0);
    note[size > 0 ? size : 0] = '\0';
    char *end = strchr(note, '\n');
    *temp = "";
    if (!end)
        return;
    *end = '\0';
    *temp = end + 1;
    end = strchr(end + 1, '\n');
    if (end)
        *end = '\0';
    else
        *temp = "";
}

static tamis_status fail_busy(tamis_error *err, const tamis__target *target, int fd) {
    char note[NOTE + 1];
    const char *temp;
    read_note(fd, note, &temp);
    if (tamis__holder_is_us(note))
        return tamis__fail(err, TAMIS_E_BUSY, EDEADLK, "%s: this process holds it already; unlock it first",
                           tamis__show(target->name).text);
    if (note[0] != '\0')
        return tamis__fail(err, TAMIS_E_BUSY, 0, "%s: process %s holds it; wait for that to end",
                           tamis__show(target->name).text, tamis__show(note).text);
    return tamis__fail(err, TAMIS_E_BUSY, 0, "%s: another process holds it; wait for that to end",
                       tamis__show(target->name).text);
}

void tamis__lock_note(const tamis_lock *lock, const tamis__temp_file *temp) {
    char note[NOTE + 1];
    if (!lock)
        return;
    const char *name = temp ? temp->path + tamis__path_directory_size(temp->target->path) : "";
    const int size = snprintf(note, sizeof note, "%s\n%s\n", tamis__holder_now().text, name);
    if (size > 0 && (size_t)size < sizeof note)
        (void)tamis__sys.pwrite(lock->fd, note, (size_t)size, 0); /* on a full disk the note is missing */
}

/* Removes the temporary file of a killed holder, if the note names one of this target. */
static void remove_leftover(const tamis_lock *lock, const tamis__target *target) {
    char note[NOTE + 1], path[PATH_MAX];
    const char *temp;
    read_note(lock->fd, note, &temp);
    if (!tamis__temp_file_is_for(target, temp))
        return;
    const int size = snprintf(path, sizeof path, "%.*s%s", (int)tamis__path_directory_size(target->path),
                              target->path, temp);
    if (size > 0 && (size_t)size < sizeof path)
        (void)tamis__sys.unlink(path);
}

/* Locks the open file lock->fd. */
static tamis_status lock_open_file(tamis_lock *lock, const tamis__target *target, tamis_error *err) {
    struct stat st;
    if (tamis__sys.fstat(lock->fd, &st) < 0)
        return fail_lock(err, target, errno);
    lock->device = st.st_dev;
    lock->inode = st.st_ino;
    /* A link under this name would make us write the note into another file. */
    if (!S_ISREG(st.st_mode) || st.st_nlink > 1)
        return tamis__fail(err, TAMIS_E_IO, 0, "%s: its lock %s is not a file of its own; remove that",
                           tamis__show(target->name).text, tamis__show(lock->path).text);
    if (tamis__sys.lock(lock->fd, LOCK_EX | LOCK_NB) == 0)
        return TAMIS_OK;
    if (errno == EWOULDBLOCK)
        return fail_busy(err, target, lock->fd);
    const int sys_errno = errno;
    const bool never = sys_errno == EOPNOTSUPP || sys_errno == ENOSYS || sys_errno == EINVAL;
    if (never)
        (void)tamis__sys.unlink(lock->path); /* no process can lock it */
    if (never || sys_errno == ENOLCK)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, sys_errno,
                           "%s: its file system has no locks: %s; keep it on another",
                           tamis__show(target->name).text, tamis__errno_text(sys_errno));
    return fail_lock(err, target, sys_errno);
}

/* True if the lock file's name still refers to the locked inode: the last holder may have removed it. */
static bool is_named(const tamis_lock *lock) {
    struct stat st;
    return tamis__sys.stat(lock->path, &st) == 0 && st.st_dev == lock->device && st.st_ino == lock->inode;
}

static tamis_status lock_named_file(tamis_lock *lock, const tamis__target *target, tamis_error *err) {
    if (!name_lock(lock, target))
        return fail_lock(err, target, ENAMETOOLONG);
    for (int attempt = 0; attempt < TRIES; attempt++) {
        lock->fd = open_lock(lock->path);
        if (lock->fd < 0)
            return fail_lock(err, target, errno);
        const tamis_status status = lock_open_file(lock, target, err);
        if (status == TAMIS_OK && is_named(lock))
            return TAMIS_OK;
        tamis__sys.close(lock->fd);
        if (status != TAMIS_OK)
            return status;
    }
    return tamis__fail(err, TAMIS_E_BUSY, 0, "%s: other processes hold it by turns; try again",
                       tamis__show(target->name).text);
}

/* Returns this process's lock of the same file, or NULL. */
static tamis_lock *find_held(const tamis_lock *like) {
    tamis_lock *lock = held;
    while (lock && (lock->device != like->device || lock->inode != like->inode))
        lock = lock->next;
    return lock;
}

/* Sets *locked to a new lock or, with `share`, to the one that this process already holds. */
static tamis_status lock_target(tamis_lock **locked, const tamis__target *target, bool share,
                                tamis_error *err) {
    if (target->form != TAMIS__TARGET_REPLACE && target->form != TAMIS__TARGET_NEW)
        return tamis__fail_irregular(err, target->name);
    const tamis_allocator memory = tamis__allocator_resolve(NULL);
    tamis_lock *lock = tamis__alloc(&memory, sizeof *lock, _Alignof(tamis_lock));
    if (!lock)
        return tamis__fail_nomem(err, "lock", sizeof *lock);
    tamis_lock *ours = NULL;
    pthread_mutex_lock(&held_mutex);
    const tamis_status status = lock_named_file(lock, target, err);
    if (status == TAMIS_OK) {
        remove_leftover(lock, target);
        tamis__lock_note(lock, NULL);
        lock->next = held;
        held = ours = lock;
    } else if (status == TAMIS_E_BUSY && share) {
        ours = find_held(lock);
    }
    if (ours)
        ours->users++;
    pthread_mutex_unlock(&held_mutex);
    if (ours != lock)
        tamis__free(&memory, lock, sizeof *lock);
    if (!ours)
        return status;
    *locked = ours;
    return TAMIS_OK;
}

tamis_status tamis__lock_borrow(tamis_lock **lock, const tamis__target *target, tamis_error *err) {
    tamis_error refused = TAMIS_ERROR_INIT;
    const tamis_status status = lock_target(lock, target, true, &refused);
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
    pthread_mutex_lock(&held_mutex);
    const bool last = --lock->users == 0;
    if (last) {
        tamis_lock **link = &held;
        while (*link != lock)
            link = &(*link)->next;
        *link = lock->next;
        (void)tamis__sys.unlink(lock->path);
        tamis__sys.close(lock->fd);
    }
    pthread_mutex_unlock(&held_mutex);
    const tamis_allocator memory = tamis__allocator_resolve(NULL);
    if (last)
        tamis__free(&memory, lock, sizeof *lock);
}

tamis_status tamis__lock_check_free(const tamis__target *target, tamis_error *err) {
    tamis_lock lock = {.fd = -1};
    struct stat st;
    if (!name_lock(&lock, target))
        return TAMIS_OK;
    lock.fd = tamis__open(lock.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
    if (lock.fd < 0)
        return TAMIS_OK; /* no lock file, or no permission to open it */
    tamis_status status = TAMIS_OK;
    if (tamis__sys.fstat(lock.fd, &st) == 0 && tamis__sys.lock(lock.fd, LOCK_SH | LOCK_NB) < 0 &&
        errno == EWOULDBLOCK) {
        lock.device = st.st_dev;
        lock.inode = st.st_ino;
        pthread_mutex_lock(&held_mutex);
        const bool ours = find_held(&lock) != NULL;
        pthread_mutex_unlock(&held_mutex);
        status = ours ? TAMIS_OK : fail_busy(err, target, lock.fd);
    }
    tamis__sys.close(lock.fd);
    return status;
}

tamis_status tamis_file_lock(tamis_lock **lock, const char *path, tamis_error *err) {
    TAMIS__NEED(lock, err);
    TAMIS__NEED(path, err);
    tamis__target target;
    const tamis_status status = tamis__target_find(&target, path, err);
    return status == TAMIS_OK ? lock_target(lock, &target, false, err) : status;
}

void tamis_file_unlock(tamis_lock *lock) {
    tamis__lock_return(lock);
}

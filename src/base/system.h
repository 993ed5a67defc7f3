/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_BASE_SYSTEM_H
#define TAMIS_BASE_SYSTEM_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/failure.h"

struct sockaddr;
struct addrinfo;

/*
 * The table of all system calls that the library makes. Code above base calls through it. A test can replace
 * an entry, and so make the nth call fail, return short or be interrupted, in the code that ships. Production
 * code never writes to the table. Each entry has the contract of the POSIX call of that name, except where
 * its comment says more.
 */
struct tamis__system {
    int (*open)(const char *path, int flags, mode_t mode); /* the caller passes O_CLOEXEC, see tamis__open */
    int (*close)(int fd);
    ssize_t (*read)(int fd, void *buffer, size_t size);
    ssize_t (*write)(int fd, const void *buffer, size_t size);
    ssize_t (*pread)(int fd, void *buffer, size_t size, off_t offset);
    ssize_t (*pwrite)(int fd, const void *buffer, size_t size, off_t offset);
    off_t (*seek)(int fd, off_t offset, int from); /* lseek */
    int (*fstat)(int fd, struct stat *out);
    int (*stat)(const char *path, struct stat *out);
    ssize_t (*readlink)(const char *path, char *buffer, size_t size);
    int (*sync)(int fd); /* fsync */
    /* sync_file_range, which starts writing and does not wait; ENOSYS if the system has no such call */
    int (*send_off)(int fd, off_t from, off_t size);
    /* allocates disk space for `size` bytes; EOPNOTSUPP, ENOSYS or EINVAL if the system or file system
     * cannot */
    int (*reserve)(int fd, off_t size);
    int (*truncate)(int fd, off_t size); /* ftruncate */
    int (*lock)(int fd, int operation);  /* flock */
    int (*fchmod)(int fd, mode_t mode);
    int (*fchown)(int fd, uid_t owner, gid_t group);
    int (*rename)(const char *from, const char *to);
    /* fails with EEXIST if `to` exists; ENOSYS or EINVAL if the system or file system cannot check that */
    int (*rename_new)(const char *from, const char *to);
    /* swaps two names atomically; ENOSYS or EINVAL if the system or file system cannot */
    int (*swap_names)(const char *a, const char *b);
    int (*unlink)(const char *path);
    int (*mkdir)(const char *path, mode_t mode);
    /* calls `visit` for each name in a directory except . and .. until it returns false; -1 and errno if
     * reading the directory fails */
    int (*list)(const char *path, bool (*visit)(void *context, const char *name), void *context);
    /* A descriptor that becomes readable when a file in the directory is written to, made or renamed, or
     * when a writer closes it. It is `fd`, which has other directories already, or a new one if `fd` is
     * -1. -1 and errno, ENOSYS if the system has no such call; `fd` stays open then. */
    int (*report_changes)(int fd, const char *directory);
    /* removes the reports from such a descriptor; true if files may have been made or renamed */
    bool (*clear_reports)(int fd);
    /* 1: a process of this machine may write to the file `fd`, which is open for reading; 0: none can, unless
     * it opens the file again. -1 and errno: not known, as for files of another user. */
    int (*has_writers)(int fd);
    int (*poll)(struct pollfd *fds, nfds_t count, int timeout_ms);
    /* bytes written to a pipe or socket that its reader has not read yet */
    int (*unread)(int fd, int *bytes);
    void *(*map)(size_t size); /* zeroed private memory; NULL and errno on failure */
    /* maps a file shared and read-only; NULL and errno on failure */
    void *(*map_file)(int fd, size_t size);
    int (*advise)(void *block, size_t size, int advice); /* madvise */
    int (*unmap)(void *block, size_t size);
    /* getaddrinfo */
    int (*look_up)(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **found);
    int (*socket)(int domain, int type, int protocol); /* non-blocking, close-on-exec */
    int (*connect)(int fd, const struct sockaddr *address, size_t size);
    /* 0 if the connection is up; -1 and the errno of the failed attempt otherwise */
    int (*connected)(int fd);
    ssize_t (*send)(int fd, const void *buffer, size_t size); /* without SIGPIPE */
    ssize_t (*receive)(int fd, void *buffer, size_t size);
    ssize_t (*random)(void *to, size_t size); /* getrandom */
    int64_t (*now_unix_ms)(void);             /* milliseconds since 1970 UTC */
    /* nanoseconds, like tamis__now_ns, which stops while the machine is suspended; this clock does not */
    uint64_t (*now_boot_ns)(void);
    /* pthread_create: returns 0 or an errno */
    int (*thread)(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *context);
};

extern TAMIS_PRIVATE_API struct tamis__system tamis__sys;

/* Opens a file, close-on-exec, again if a signal interrupts it. Returns the descriptor, or -1 and errno. */
TAMIS_PRIVATE_API int tamis__open(const char *path, int flags, mode_t mode);

/* Calls fsync, again if a signal interrupts it. Returns 0, or -1 and errno. Any other failure is final:
 * the system may have dropped the unwritten pages and cleared the error. A second fsync could then report
 * success although data is lost. */
TAMIS_PRIVATE_API int tamis__sync(int fd);
/* Syncs a directory, so that the names in it survive a crash. EINVAL counts as success: some file systems
 * cannot sync a directory and take care of its names on their own. */
TAMIS_PRIVATE_API int tamis__sync_directory(int fd);

/* Asks the system to start writing a file to disk, so that a later sync waits for less. Covers the bytes
 * from *sent to `to`, and only acts once they are some MiB; it then sets *sent to `to`. A hint without any
 * guarantee. */
TAMIS_PRIVATE_API void tamis__send_off(int fd, uint64_t *sent, uint64_t to);

#define TAMIS__PAGE ((size_t)2 << 20) /* bytes of a huge page */
/* Requests huge pages for a block. Call it before the whole block is written or read from a file. On systems
 * that give huge pages on request, page faults and lookups then take a fraction of the time. A hint; does
 * nothing for a block that is smaller than a huge page. */
void tamis__advise_large(void *block, size_t size);

/* Requests all pages of a new block at once, which is cheaper than one page fault for each. Call it before
 * the whole block is written. A hint. */
void tamis__advise_written(void *block, size_t size);

/* Fills `to` with up to 256 random bytes. `what` names the purpose in the error message. */
TAMIS_PRIVATE_API tamis_status tamis__random(void *to, size_t size, const char *what, tamis_error *err);

/* Returns monotonic time in nanoseconds. Never fails. Only differences have a meaning. */
TAMIS_PRIVATE_API uint64_t tamis__now_ns(void);

/* Returns the seconds since 1970 UTC. */
TAMIS_PRIVATE_API int64_t tamis__now_unix(void);

#endif

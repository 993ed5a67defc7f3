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
 * The one table of the system calls that the library makes. Everything above base calls through it,
 * so that a test can put its own function in a row and make the nth call fail, return short or be
 * interrupted, on the shipped code path. Production code never writes to it. Each entry has the
 * contract of the POSIX call of its name.
 */
struct tamis__system {
    int (*open)(const char *path, int flags, mode_t mode); /* O_CLOEXEC is the caller's to give */
    int (*close)(int fd);
    ssize_t (*read)(int fd, void *buffer, size_t size);
    ssize_t (*write)(int fd, const void *buffer, size_t size);
    ssize_t (*pread)(int fd, void *buffer, size_t size, off_t at);
    ssize_t (*pwrite)(int fd, const void *buffer, size_t size, off_t at);
    off_t (*seek)(int fd, off_t at, int from); /* lseek */
    int (*fstat)(int fd, struct stat *out);
    int (*stat)(const char *path, struct stat *out);
    ssize_t (*readlink)(const char *path, char *buffer, size_t size);
    int (*sync)(int fd); /* fsync */
    int (*send_off)(int fd, off_t from,
                    off_t size); /* sync_file_range, only to begin; ENOSYS where there is none */
    /* space on the disk for so many bytes; EOPNOTSUPP, ENOSYS or EINVAL where system or file system cannot */
    int (*reserve)(int fd, off_t size);
    int (*truncate)(int fd, off_t size); /* ftruncate */
    int (*lock)(int fd, int operation);  /* flock */
    int (*fchmod)(int fd, mode_t mode);
    int (*fchown)(int fd, uid_t owner, gid_t group);
    int (*rename)(const char *from, const char *to);
    /* EEXIST where `to` is there; ENOSYS or EINVAL where system or file system cannot tell */
    int (*rename_new)(const char *from, const char *to);
    /* swaps two names at once; ENOSYS or EINVAL where system or file system cannot */
    int (*exchange)(const char *one, const char *other);
    int (*unlink)(const char *path);
    int (*mkdir)(const char *path, mode_t mode);
    /* calls with each name in a folder but . and .. until `take` returns false; -1 with errno where not all are told */
    int (*list)(const char *path, bool (*take)(void *context, const char *name), void *context);
    int (*poll)(struct pollfd *fds, nfds_t count, int timeout_ms);
    int (*unread)(int fd, int *bytes); /* of a pipe or socket: written, and not taken by its reader */
    void *(*map)(size_t size);         /* zeroed private memory; NULL on failure (errno set) */
    /* the file's bytes, shared, to read; NULL on failure (errno set) */
    void *(*map_file)(int fd, size_t size);
    int (*advise)(void *block, size_t size, int advice); /* madvise */
    int (*unmap)(void *block, size_t size);
    int (*look_up)(const char *host, const char *port, const struct addrinfo *hints,
                   struct addrinfo **found);           /* getaddrinfo */
    int (*socket)(int domain, int type, int protocol); /* non-blocking, close-on-exec */
    int (*connect)(int fd, const struct sockaddr *address, size_t size);
    int (*connected)(int fd); /* 0, or -1 and the errno that the connecting ended with */
    ssize_t (*send)(int fd, const void *buffer, size_t size); /* without SIGPIPE */
    ssize_t (*receive)(int fd, void *buffer, size_t size);
    ssize_t (*random)(void *to, size_t size); /* getrandom */
    int (*thread)(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *),
                  void *context); /* pthread_create: 0, or an errno */
};

extern TAMIS_PRIVATE_API struct tamis__system tamis__sys;

/* fsync, asked anew where a signal cut the wait short; -1 with errno. Any other failure is final: the system may have
 * dropped what it could not write and forgotten the error, so that a second fsync would succeed over lost bytes. */
TAMIS_PRIVATE_API int tamis__sync(int fd);
/* The same of a folder, so that the names in it last. Some file systems cannot sync one and say EINVAL, which is no failure: what
 * they do for its names, they do by themselves. */
TAMIS_PRIVATE_API int tamis__sync_folder(int fd);

/* What was written to a file is on its way to the disk, so that a sync has less to wait for: of `to` bytes, those from *sent on,
 * which moves, once they are some MiB. A hint, which makes sure of nothing. */
TAMIS_PRIVATE_API void tamis__send_off(int fd, uint64_t *sent, uint64_t to);

/* Before all of a large block is written, or read from its file: large pages, where the system has them on request, take a
 * fraction of the time to get and to find anything in. A hint. */
void tamis__advise_large(void *block, size_t size);

/* Before all of a new block is written: its pages come at once, for less than one by one. A hint. */
void tamis__advise_written(void *block, size_t size);

/* Fills up to 256 bytes by chance; `what` needs them. */
TAMIS_PRIVATE_API tamis_status tamis__random(void *to, size_t size, const char *what, tamis_error *err);

/* Monotonic time in nanoseconds; never fails, only differences mean anything. */
TAMIS_PRIVATE_API uint64_t tamis__now_ns(void);

/* Seconds since 1970 UTC. */
TAMIS_PRIVATE_API int64_t tamis__now_unix(void);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The default entries of the table of system calls, and a few calls over it.
 *
 *     code above base --> tamis__sys.open --> system_open --> open(2)
 *                             ^
 *                             a test puts its own function here, which fails, cuts short or counts
 *
 * Why a table and not a library that replaces the calls (LD_PRELOAD): a table works on every system, also
 * with static libraries and sanitizers. An indirect call costs nothing beside a system call.
 *
 * What differs between systems ends here. A call that this system lacks fails with ENOSYS, and its caller has
 * another way or goes without:
 *
 *     call             without it
 *     --------------   -----------------------------------------------------------------------
 *     rename_new       the caller checks that the name is free, then renames: another program may be faster
 *     swap_names       the old file is gone after the rename, and cannot be put back
 *     report_changes   the caller looks at followed files every 20 ms (change_reports.c)
 *     has_writers      a rotated file is left when it was quiet for a while
 *     reserve          a full disk is found while writing, not before
 *     send_off         the sync at the end waits longer
 *     now_boot_ns      time in suspend is not counted
 *
 * Hints (advise, send_off) have no result: a run must not depend on them.
 */
#include "base/system.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#ifdef __linux__
#include <linux/magic.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#endif
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Wrappers with fixed signatures for the table: open(2) is variadic, and stat(2) may be a macro. */
static int system_open(const char *path, int flags, mode_t mode) {
    return open(path, flags, mode);
}
static int system_fstat(int fd, struct stat *out) {
    return fstat(fd, out);
}
static int system_stat(const char *path, struct stat *out) {
    return stat(path, out);
}

static int system_rename_new(const char *from, const char *to) {
#ifdef RENAME_NOREPLACE
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
#else
    (void)from;
    (void)to;
    errno = ENOSYS;
    return -1;
#endif
}

static int system_swap_names(const char *a, const char *b) {
#ifdef RENAME_EXCHANGE
    return renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
#else
    (void)a;
    (void)b;
    errno = ENOSYS;
    return -1;
#endif
}

#ifdef __linux__
static const uint32_t WRITTEN = IN_MODIFY | IN_CLOSE_WRITE;
#endif

static int system_report_changes(int fd, const char *directory) {
#ifdef __linux__
    const int reports = fd >= 0 ? fd : inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (reports < 0 || inotify_add_watch(reports, directory, WRITTEN | IN_CREATE | IN_MOVED_TO) >= 0)
        return reports;
    const int failure = errno;
    if (fd < 0)
        close(reports);
    errno = failure;
#else
    (void)fd;
    (void)directory;
    errno = ENOSYS;
#endif
    return -1;
}

static bool system_clear_reports(int fd) {
    bool renamed = false;
#ifdef __linux__
    _Alignas(struct inotify_event) char reports[4096];
    ssize_t size;
    while ((size = read(fd, reports, sizeof reports)) > 0)
        for (const char *next = reports; next < reports + size;) {
            struct inotify_event event;
            memcpy(&event, next, sizeof event);
            renamed = renamed || (event.mask & ~WRITTEN) != 0;
            next += sizeof event + event.len;
        }
#else
    (void)fd;
#endif
    return renamed;
}

/* Takes a read lease for a moment, which the system refuses while somebody can write to the file. A
 * process that opens the file just then waits for the end of the lease. The holder gets a signal, SIGURG,
 * which is ignored by default. */
static int system_has_writers(int fd) {
#ifdef F_SETLEASE
    struct statfs system;
    /* A lease of FUSE knows the writers of this machine alone. */
    if (fstatfs(fd, &system) != 0 || system.f_type == FUSE_SUPER_MAGIC)
        return -1;
    if (fcntl(fd, F_SETSIG, SIGURG) == 0 && fcntl(fd, F_SETLEASE, F_RDLCK) == 0)
        return fcntl(fd, F_SETLEASE, F_UNLCK);
    return errno == EAGAIN ? 1 : -1;
#else
    (void)fd;
    errno = ENOSYS;
    return -1;
#endif
}

static int system_list(const char *path, bool (*visit)(void *context, const char *name), void *context) {
    DIR *directory = opendir(path);
    if (!directory)
        return -1;
    const struct dirent *entry;
    bool more = true;
    errno = 0;
    while (more && (entry = readdir(directory))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            more = visit(context, entry->d_name);
        errno = 0;
    }
    const int failed = more ? errno : 0;
    closedir(directory);
    errno = failed;
    return failed ? -1 : 0;
}

/* Uses fallocate, because posix_fallocate writes to every block if the file system has no support. */
static int system_reserve(int fd, off_t size) {
#ifdef __linux__
    return fallocate(fd, 0, 0, size);
#else
    (void)fd;
    (void)size;
    errno = ENOSYS;
    return -1;
#endif
}

/* TIOCOUTQ gives the unsent bytes of a socket. A pipe only supports FIONREAD, on either end. */
static int system_unread(int fd, int *bytes) {
    return ioctl(fd, TIOCOUTQ, bytes) == 0 ? 0 : ioctl(fd, FIONREAD, bytes);
}

static int system_send_off(int fd, off_t from, off_t size) {
#ifdef SYNC_FILE_RANGE_WRITE
    return sync_file_range(fd, from, size, SYNC_FILE_RANGE_WRITE);
#else
    (void)fd;
    (void)from;
    (void)size;
    errno = ENOSYS;
    return -1;
#endif
}

static void *system_map(size_t size) {
    void *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return block == MAP_FAILED ? NULL : block;
}

static void *system_map_file(int fd, size_t size) {
    void *block = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    return block == MAP_FAILED ? NULL : block;
}

static int system_socket(int domain, int type, int protocol) {
    return socket(domain, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
}

static int system_connect(int fd, const struct sockaddr *address, size_t size) {
    return connect(fd, address, (socklen_t)size);
}

static int system_connected(int fd) {
    int failed = 0;
    socklen_t size = sizeof failed;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &size) < 0)
        return -1;
    errno = failed;
    return failed ? -1 : 0;
}

static ssize_t system_send(int fd, const void *buffer, size_t size) {
    return send(fd, buffer, size, MSG_NOSIGNAL);
}

static ssize_t system_receive(int fd, void *buffer, size_t size) {
    return recv(fd, buffer, size, 0);
}

static ssize_t system_random(void *to, size_t size) {
    return getrandom(to, size, 0);
}

static int64_t system_now_unix_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static uint64_t system_now_boot_ns(void) {
#ifdef CLOCK_BOOTTIME
    struct timespec now;
    if (clock_gettime(CLOCK_BOOTTIME, &now) == 0)
        return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
    return tamis__now_ns();
}

struct tamis__system tamis__sys = {
    .open = system_open,
    .close = close,
    .read = read,
    .write = write,
    .pread = pread,
    .pwrite = pwrite,
    .seek = lseek,
    .fstat = system_fstat,
    .stat = system_stat,
    .readlink = readlink,
    .sync = fsync,
    .send_off = system_send_off,
    .reserve = system_reserve,
    .truncate = ftruncate,
    .lock = flock,
    .fchmod = fchmod,
    .fchown = fchown,
    .rename = rename,
    .rename_new = system_rename_new,
    .swap_names = system_swap_names,
    .unlink = unlink,
    .mkdir = mkdir,
    .list = system_list,
    .report_changes = system_report_changes,
    .clear_reports = system_clear_reports,
    .has_writers = system_has_writers,
    .poll = poll,
    .unread = system_unread,
    .map = system_map,
    .map_file = system_map_file,
    .advise = madvise,
    .unmap = munmap,
    .look_up = getaddrinfo,
    .socket = system_socket,
    .connect = system_connect,
    .connected = system_connected,
    .send = system_send,
    .receive = system_receive,
    .random = system_random,
    .now_unix_ms = system_now_unix_ms,
    .now_boot_ns = system_now_boot_ns,
    .thread = pthread_create,
};

int tamis__open(const char *path, int flags, mode_t mode) {
    int fd;
    do
        fd = tamis__sys.open(path, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

int tamis__sync(int fd) {
    int result;
    do
        result = tamis__sys.sync(fd);
    while (result < 0 && errno == EINTR);
    return result;
}

int tamis__sync_directory(int fd) {
    return tamis__sync(fd) < 0 && errno != EINVAL ? -1 : 0;
}

void tamis__send_off(int fd, uint64_t *sent, uint64_t to) {
    const uint64_t piece = (uint64_t)8 << 20; /* a disk writes this much in some hundredths of a second */
    if (to < *sent + piece)
        return;
    (void)tamis__sys.send_off(fd, (off_t)*sent, (off_t)(to - *sent));
    *sent = to;
}

void tamis__advise_large(void *block, size_t size) {
#ifdef MADV_HUGEPAGE
    if (size >= TAMIS__PAGE)
        (void)tamis__sys.advise(block, size, MADV_HUGEPAGE);
#else
    (void)block;
    (void)size;
#endif
}

void tamis__advise_written(void *block, size_t size) {
#ifdef MADV_POPULATE_WRITE
    (void)tamis__sys.advise(block, size, MADV_POPULATE_WRITE);
#else
    (void)block;
    (void)size;
#endif
}

tamis_status tamis__random(void *to, size_t size, const char *what, tamis_error *err) {
    if (tamis__sys.random(to, size) == (ssize_t)size)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_SYSTEM, 0, "%s: the system gives no random bytes; check getrandom(2)",
                       what);
}

uint64_t tamis__now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int64_t tamis__now_unix(void) {
    return (int64_t)time(NULL);
}

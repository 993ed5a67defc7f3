/* SPDX-License-Identifier: BSD-2-Clause */
#include "fault.h"

#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"

static struct tamis__system real;
static bool installed;

static struct {
    fault_call call;
    uint64_t nth;
    int error_number;
    bool onwards;
    uint64_t fired;
    uint64_t calls[FAULT_CALL_COUNT];
} armed;

/* Counts one call. True if it must fail. */
static bool strikes(fault_call call) {
    uint64_t n = ++armed.calls[call];
    if (call != armed.call || armed.nth == 0)
        return false;
    if (n != armed.nth && !(armed.onwards && n > armed.nth))
        return false;
    armed.fired++;
    return true;
}

/* The same for calls that cannot be short. Sets errno. */
static bool fails(fault_call call) {
    if (!strikes(call))
        return false;
    errno = armed.error_number == FAULT_SHORT ? EIO : armed.error_number;
    return true;
}

static int faulty_open(const char *path, int flags, mode_t mode) {
    return fails(FAULT_OPEN) ? -1 : real.open(path, flags, mode);
}

static int faulty_close(int fd) {
    bool fail = strikes(FAULT_CLOSE);
    int result = real.close(fd);
    if (fail) {
        errno = armed.error_number;
        result = -1;
    }
    return result;
}

static ssize_t faulty_read(int fd, void *buffer, size_t size) {
    if (!strikes(FAULT_READ))
        return real.read(fd, buffer, size);
    if (armed.error_number == FAULT_SHORT)
        return real.read(fd, buffer, size ? 1 : 0);
    errno = armed.error_number;
    return -1;
}

static ssize_t faulty_write(int fd, const void *buffer, size_t size) {
    if (!strikes(FAULT_WRITE))
        return real.write(fd, buffer, size);
    if (armed.error_number == FAULT_SHORT)
        return real.write(fd, buffer, size ? 1 : 0);
    errno = armed.error_number;
    return -1;
}

static ssize_t faulty_pread(int fd, void *buffer, size_t size, off_t offset) {
    if (!strikes(FAULT_PREAD))
        return real.pread(fd, buffer, size, offset);
    if (armed.error_number == FAULT_SHORT)
        return real.pread(fd, buffer, size ? 1 : 0, offset);
    errno = armed.error_number;
    return -1;
}

static ssize_t faulty_pwrite(int fd, const void *buffer, size_t size, off_t offset) {
    return fails(FAULT_PWRITE) ? -1 : real.pwrite(fd, buffer, size, offset);
}

static off_t faulty_seek(int fd, off_t offset, int from) {
    return fails(FAULT_SEEK) ? -1 : real.seek(fd, offset, from);
}

static int faulty_fstat(int fd, struct stat *out) {
    return fails(FAULT_FSTAT) ? -1 : real.fstat(fd, out);
}

static int faulty_stat(const char *path, struct stat *out) {
    return fails(FAULT_STAT) ? -1 : real.stat(path, out);
}

static ssize_t faulty_readlink(const char *path, char *buffer, size_t size) {
    return fails(FAULT_READLINK) ? -1 : real.readlink(path, buffer, size);
}

static int faulty_sync(int fd) {
    return fails(FAULT_SYNC) ? -1 : real.sync(fd);
}

static int faulty_reserve(int fd, off_t size) {
    return fails(FAULT_RESERVE) ? -1 : real.reserve(fd, size);
}

static int faulty_truncate(int fd, off_t size) {
    return fails(FAULT_TRUNCATE) ? -1 : real.truncate(fd, size);
}

static int faulty_lock(int fd, int operation) {
    return fails(FAULT_LOCK) ? -1 : real.lock(fd, operation);
}

static int faulty_fchmod(int fd, mode_t mode) {
    return fails(FAULT_FCHMOD) ? -1 : real.fchmod(fd, mode);
}

static int faulty_fchown(int fd, uid_t owner, gid_t group) {
    return fails(FAULT_FCHOWN) ? -1 : real.fchown(fd, owner, group);
}

static int faulty_rename(const char *from, const char *to) {
    return fails(FAULT_RENAME) ? -1 : real.rename(from, to);
}

static int faulty_rename_new(const char *from, const char *to) {
    return fails(FAULT_RENAME_NEW) ? -1 : real.rename_new(from, to);
}

static int faulty_swap_names(const char *a, const char *b) {
    return fails(FAULT_SWAP_NAMES) ? -1 : real.swap_names(a, b);
}

static int faulty_unlink(const char *path) {
    return fails(FAULT_UNLINK) ? -1 : real.unlink(path);
}

static int faulty_mkdir(const char *path, mode_t mode) {
    return fails(FAULT_MKDIR) ? -1 : real.mkdir(path, mode);
}

static int faulty_list(const char *path, bool (*visit)(void *context, const char *name), void *context) {
    return fails(FAULT_LIST) ? -1 : real.list(path, visit, context);
}

static int faulty_report_changes(int fd, const char *directory) {
    return fails(FAULT_REPORT_CHANGES) ? -1 : real.report_changes(fd, directory);
}

static int faulty_has_writers(int fd) {
    return fails(FAULT_HAS_WRITERS) ? -1 : real.has_writers(fd);
}

static int faulty_poll(struct pollfd *fds, nfds_t count, int timeout_ms) {
    return fails(FAULT_POLL) ? -1 : real.poll(fds, count, timeout_ms);
}

static int faulty_unread(int fd, int *bytes) {
    return fails(FAULT_UNREAD) ? -1 : real.unread(fd, bytes);
}

static void *faulty_map(size_t size) {
    return fails(FAULT_MAP) ? NULL : real.map(size);
}

static void *faulty_map_file(int fd, size_t size) {
    return fails(FAULT_MAP_FILE) ? NULL : real.map_file(fd, size);
}

static int faulty_advise(void *block, size_t size, int advice) {
    return fails(FAULT_ADVISE) ? -1 : real.advise(block, size, advice);
}

static int faulty_unmap(void *block, size_t size) {
    bool fail = fails(FAULT_UNMAP);
    int result = real.unmap(block, size);
    return fail ? -1 : result;
}

static int faulty_socket(int domain, int type, int protocol) {
    return fails(FAULT_SOCKET) ? -1 : real.socket(domain, type, protocol);
}

static int faulty_connect(int fd, const struct sockaddr *address, size_t size) {
    return fails(FAULT_CONNECT) ? -1 : real.connect(fd, address, size);
}

static int faulty_connected(int fd) {
    return fails(FAULT_CONNECTED) ? -1 : real.connected(fd);
}

static ssize_t faulty_send(int fd, const void *buffer, size_t size) {
    if (!strikes(FAULT_SEND))
        return real.send(fd, buffer, size);
    if (armed.error_number == FAULT_SHORT)
        return real.send(fd, buffer, size ? 1 : 0);
    errno = armed.error_number;
    return -1;
}

static ssize_t faulty_receive(int fd, void *buffer, size_t size) {
    if (!strikes(FAULT_RECEIVE))
        return real.receive(fd, buffer, size);
    if (armed.error_number == FAULT_SHORT)
        return real.receive(fd, buffer, size ? 1 : 0);
    errno = armed.error_number;
    return -1;
}

static ssize_t faulty_random(void *to, size_t size) {
    return fails(FAULT_RANDOM) ? -1 : real.random(to, size);
}

static int faulty_thread(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *context) {
    return strikes(FAULT_THREAD) ? armed.error_number : real.thread(thread, how, run, context);
}

static int unharmed_look_up(const char *host, const char *port, const struct addrinfo *hints,
                            struct addrinfo **found) {
    return real.look_up(host, port, hints, found);
}

void fault_install(void) {
    if (installed)
        return;
    real = tamis__sys;
    tamis__sys = (struct tamis__system){
        .open = faulty_open,
        .close = faulty_close,
        .read = faulty_read,
        .write = faulty_write,
        .pread = faulty_pread,
        .pwrite = faulty_pwrite,
        .seek = faulty_seek,
        .fstat = faulty_fstat,
        .stat = faulty_stat,
        .readlink = faulty_readlink,
        .sync = faulty_sync,
        .send_off = real.send_off, /* a hint, whose failure has no effect */
        .reserve = faulty_reserve,
        .truncate = faulty_truncate,
        .lock = faulty_lock,
        .fchmod = faulty_fchmod,
        .fchown = faulty_fchown,
        .rename = faulty_rename,
        .rename_new = faulty_rename_new,
        .swap_names = faulty_swap_names,
        .unlink = faulty_unlink,
        .mkdir = faulty_mkdir,
        .list = faulty_list,
        .report_changes = faulty_report_changes,
        .clear_reports = real.clear_reports,
        .has_writers = faulty_has_writers,
        .poll = faulty_poll,
        .unread = faulty_unread,
        .map = faulty_map,
        .map_file = faulty_map_file,
        .advise = faulty_advise,
        .unmap = faulty_unmap,
        .look_up = unharmed_look_up,
        .socket = faulty_socket,
        .connect = faulty_connect,
        .connected = faulty_connected,
        .send = faulty_send,
        .receive = faulty_receive,
        .random = faulty_random,
        .now_unix_ms = real.now_unix_ms,
        .thread = faulty_thread,
    };
    installed = true;
}

void fault_remove(void) {
    if (!installed)
        return;
    tamis__sys = real;
    installed = false;
}

void fault_arm(fault_call call, uint64_t nth, int error_number, bool onwards) {
    memset(&armed, 0, sizeof armed);
    armed.call = call;
    armed.nth = nth;
    armed.error_number = error_number;
    armed.onwards = onwards;
}

void fault_disarm(void) {
    armed.nth = 0;
}

uint64_t fault_fired(void) {
    return armed.fired;
}

uint64_t fault_calls(fault_call call) {
    return armed.calls[call];
}

const char *fault_call_name(fault_call call) {
    static const char *const names[FAULT_CALL_COUNT] = {
        "open",   "close",          "read",        "write",      "pread",     "pwrite",   "seek",
        "fstat",  "stat",           "readlink",    "sync",       "reserve",   "truncate", "lock",
        "fchmod", "fchown",         "rename",      "rename_new", "exchange",  "unlink",   "mkdir",
        "list",   "report_changes", "has_writers", "poll",       "unread",    "map",      "map_file",
        "advise", "unmap",          "socket",      "connect",    "connected", "send",     "receive",
        "random", "thread"};
    return names[call];
}

/*
 * A block of fault_memory:
 *
 *     | pad | head: start, size, magic, owner | pad | the caller's bytes ... |
 *     ^ from calloc                                 ^ after HEAD bytes: aligned to 64, the largest alignment allowed
 *
 * The C library maps most blocks from LARGE bytes on, as the default allocator does: pages that nobody uses
 * are not touched, and a use after the free ends the process.
 */
enum { HEAD = 64, MALLOC_ALIGN = 16, LARGE = 128 << 10 };
#define MAGIC_LIVE UINT64_C(0x7ab1e5eed0c0ffee)
#define MAGIC_DEAD UINT64_C(0xdeadb10cdeadb10c)

struct head {
    void *start;
    uint64_t size;
    uint64_t magic;
    fault_memory *owner;
};

static void broken(const char *what) {
    fprintf(stderr, "fault_memory: %s\n", what);
    abort();
}

static void *memory_alloc(void *context, size_t size, size_t align) {
    fault_memory *memory = context;
    uint64_t n = ++memory->requests;
    if (size == 0 || align == 0 || align > HEAD || (align & (align - 1)) != 0)
        broken("size or alignment outside the contract of tamis/alloc.h");
    bool refuse = memory->fail_at && (n == memory->fail_at || (memory->onwards && n > memory->fail_at));
    if (memory->limit && size > memory->limit - memory->live_bytes)
        refuse = true;
    unsigned char *start = refuse ? NULL : calloc(1, size + 2 * HEAD - MALLOC_ALIGN);
    if (!start) {
        memory->refused++;
        return NULL;
    }
    struct head *head = (struct head *)(void *)(start + (-(uintptr_t)start & (HEAD - 1)));
    *head = (struct head){start, size, MAGIC_LIVE, memory};
    memory->live_blocks++;
    memory->live_bytes += size;
    if (memory->live_bytes > memory->peak_bytes)
        memory->peak_bytes = memory->live_bytes;
    return (unsigned char *)head + HEAD;
}

static void memory_free(void *context, void *block, size_t size) {
    fault_memory *memory = context;
    if (!block)
        broken("free of NULL");
    struct head *head = (struct head *)(void *)((unsigned char *)block - HEAD);
    if (head->magic == MAGIC_DEAD)
        broken("block freed twice");
    if (head->magic != MAGIC_LIVE || head->owner != memory)
        broken("block is not from here");
    if (head->size != size)
        broken("block freed with another size");
    memory->live_blocks--;
    memory->live_bytes -= size;
    if (size < LARGE)
        memset(block, 0xdb, size);
    head->magic = MAGIC_DEAD;
    free(head->start);
}

tamis_allocator fault_memory_allocator(fault_memory *memory) {
    mallopt(M_MMAP_THRESHOLD, LARGE); /* else it rises with each block freed */
    return (tamis_allocator){memory_alloc, memory_free, memory};
}

int fault_no_sync(int fd) {
    (void)fd;
    return 0;
}

int fault_no_thread(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *context) {
    (void)thread;
    (void)how;
    (void)run;
    (void)context;
    return EAGAIN;
}

size_t fault_open_descriptors(void) {
    DIR *directory = opendir("/proc/self/fd");
    if (!directory)
        return 0;
    size_t count = 0;
    while (readdir(directory))
        count++;
    closedir(directory);
    return count - 3; /* ".", ".." and the descriptor of the directory itself */
}

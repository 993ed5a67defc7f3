/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_FAULT_H
#define TAMIS_TEST_FAULT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>

/*
 * Makes the nth allocation or the nth system call of the real code fail. One thread.
 *
 * The pattern of a test, for each call and each kind of failure:
 *
 *     for (uint64_t n = 1;; n++) {
 *         fault_arm(FAULT_WRITE, n, ENOSPC, false);
 *         run();
 *         bool reached = fault_fired() > 0;
 *         fault_disarm();
 *         check what run() left behind;
 *         if (!reached)
 *             break;                        -- the run makes fewer than n such calls: every n was seen
 *     }
 */

/* ---- system calls: the rows of tamis__sys ---- */

typedef enum fault_call {
    FAULT_OPEN,
    FAULT_CLOSE, /* the descriptor is closed anyway, as on Linux */
    FAULT_READ,
    FAULT_WRITE,
    FAULT_PREAD,
    FAULT_PWRITE,
    FAULT_SEEK,
    FAULT_FSTAT,
    FAULT_STAT,
    FAULT_READLINK,
    FAULT_SYNC,
    FAULT_RESERVE,
    FAULT_TRUNCATE,
    FAULT_LOCK,
    FAULT_FCHMOD,
    FAULT_FCHOWN,
    FAULT_RENAME,
    FAULT_RENAME_NEW,
    FAULT_SWAP_NAMES,
    FAULT_UNLINK,
    FAULT_MKDIR,
    FAULT_LIST,
    FAULT_REPORT_CHANGES,
    FAULT_HAS_WRITERS,
    FAULT_POLL,
    FAULT_UNREAD,
    FAULT_MAP,
    FAULT_MAP_FILE,
    FAULT_ADVISE,
    FAULT_UNMAP, /* the block is unmapped anyway: a test must not leak */
    FAULT_SOCKET,
    FAULT_CONNECT,
    FAULT_CONNECTED,
    FAULT_SEND,
    FAULT_RECEIVE,
    FAULT_RANDOM,
    FAULT_THREAD,
    FAULT_CALL_COUNT
} fault_call;

/* Instead of an errno: the call moves one byte only (read, write, pread, send, receive). */
enum { FAULT_SHORT = -1 };

/* Replaces the functions of tamis__sys by counting ones, and restores them. */
void fault_install(void);
void fault_remove(void);

/* Makes the nth call (from 1) from now on fail with `error_number`, or be FAULT_SHORT; with `onwards`, all
 * calls after it too. n 0: nothing fails, calls are counted. All counts start at 0 again. Only one call is
 * armed at a time. */
void fault_arm(fault_call call, uint64_t nth, int error_number, bool onwards);
void fault_disarm(void);

uint64_t fault_fired(void);            /* number of calls that failed since fault_arm */
uint64_t fault_calls(fault_call call); /* number of calls since fault_arm */
const char *fault_call_name(fault_call call);

/* ---- functions for tamis__sys that do nothing ---- */

/* Syncs nothing: for tests without a loss of power. */
int fault_no_sync(int fd);
/* Refuses every thread, so that the caller does the work and its calls are counted. */
int fault_no_thread(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *context);

/* ---- memory ---- */

/*
 * An allocator that counts, and can refuse the nth request. It aborts if a block is freed twice, with another
 * size, or by another allocator than its own. Initialise with zeros; the test may set the first three fields.
 */
typedef struct fault_memory {
    uint64_t fail_at; /* number of the request (from 1) to refuse; 0: none */
    bool onwards;     /* true to refuse all later requests too */
    size_t limit;     /* maximum of live bytes; 0: no limit */
    /* Results. */
    uint64_t requests;  /* requests so far */
    uint64_t refused;   /* of them, those refused */
    size_t live_blocks; /* must be 0 when all handles are freed */
    size_t live_bytes;
    size_t peak_bytes;
} fault_memory;

/* Returns an allocator over `memory`, which must outlive it. Blocks are zeroed and aligned as
 * tamis/alloc.h requires. */
tamis_allocator fault_memory_allocator(fault_memory *memory);

/* ---- leaks ---- */

/* Returns the number of descriptors that this process has open. */
size_t fault_open_descriptors(void);

#endif

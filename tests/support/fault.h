/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_FAULT_H
#define TAMIS_TEST_FAULT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>

/*
 * Makes the nth allocation or the nth system call fail, on the shipped code path. One thread.
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
    FAULT_CLOSE, /* the descriptor is closed all the same, as Linux does */
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
    FAULT_POLL,
    FAULT_UNREAD,
    FAULT_MAP,
    FAULT_MAP_FILE,
    FAULT_ADVISE,
    FAULT_UNMAP, /* the block is unmapped all the same: a test must not leak */
    FAULT_SOCKET,
    FAULT_CONNECT,
    FAULT_CONNECTED,
    FAULT_SEND,
    FAULT_RECEIVE,
    FAULT_RANDOM,
    FAULT_THREAD,
    FAULT_CALL_COUNT
} fault_call;

/* Instead of an errno: the call does its work on one byte only (read, write, pread, send, receive). */
enum { FAULT_SHORT = -1 };

/* Puts counting functions over the rows of tamis__sys, and takes them off again. */
void fault_install(void);
void fault_remove(void);

/* The nth (from 1) call from now on fails with `error_number` or is FAULT_SHORT; with `onwards` all
 * after it too. Counts start at 0 again. n 0: nothing fails, calls are counted. Only one call is armed
 * at a time. */
void fault_arm(fault_call call, uint64_t nth, int error_number, bool onwards);
void fault_disarm(void);

uint64_t fault_fired(void);            /* calls that were made to fail since fault_arm */
uint64_t fault_calls(fault_call call); /* calls made since fault_arm */
const char *fault_call_name(fault_call call);

/* ---- calls for tamis__sys that do nothing ---- */

/* Where no power is lost. */
int fault_no_sync(int fd);
/* No thread is to be had: what could be one's is done by the caller, whose calls are counted. */
int fault_no_thread(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *context);

/* ---- memory ---- */

/*
 * An allocator that counts, fails the nth request, and aborts on a block given back twice, to the wrong
 * size or not from here. Zero-initialise; fields above the line are the test's to set.
 */
typedef struct fault_memory {
    uint64_t fail_at; /* this request (from 1) is refused; 0: none */
    bool onwards;     /* and all after it */
    size_t limit;     /* requests that would pass this many live bytes are refused; 0: no limit */
    /* ---- */
    uint64_t requests; /* made */
    uint64_t refused;
    size_t live_blocks; /* must be 0 when all handles are freed */
    size_t live_bytes;
    size_t peak_bytes;
} fault_memory;

/* Blocks are zeroed and aligned as tamis/alloc.h says. `memory` must outlive what uses it. */
tamis_allocator fault_memory_allocator(fault_memory *memory);

/* ---- leaks ---- */

/* Descriptors this process has open. */
size_t fault_open_descriptors(void);

#endif

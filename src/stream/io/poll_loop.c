/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Every wait of a run: one poll(2) of at most two descriptors.
 *
 *     poll   | the awaited descriptor | stop_fd | timeout: the next progress report, or wake_at
 *
 *     the awaited one is ready   the caller reads or writes
 *     stop_fd is readable        TAMIS_E_INTERRUPTED, also if the awaited one is ready
 *     timeout                    progress is reported, then the wait goes on; at wake_at it ends
 *     a signal                   as a timeout: its handler may have made stop_fd readable
 *
 * Why a descriptor and not a flag that a signal handler sets: the signal may come between the test of the
 * flag and a read. That read would then wait for ever. A readable descriptor stays readable, so the next poll
 * sees it however late it comes.
 *
 * Why reports are made here: only the caller's thread waits here, so the callback needs no lock. reader.c
 * calls tamis__poll_loop_report too, for a run that never waits.
 *
 * A follower without new records wakes once a second and not ten times (TAMIS__IDLE_REPORT_MS): an idle run
 * should cost nothing.
 */
#include "stream/io/poll_loop.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>

#include "base/system.h"
#include "store/file/file_error.h"

static const uint64_t NS_PER_MS = 1000000;

/* Time of the next report. */
static uint64_t next_report(const tamis__poll_loop *loop) {
    const bool is_idle = loop->follows && *loop->records == loop->reported_records;
    return loop->reported_at + (is_idle ? TAMIS__IDLE_REPORT_MS : TAMIS__REPORT_MS) * NS_PER_MS;
}

void tamis__poll_loop_report(tamis__poll_loop *loop) {
    if (!loop->progress)
        return;
    const uint64_t now = tamis__now_ns();
    if (now < next_report(loop))
        return;
    loop->reported_at = now;
    loop->reported_records = *loop->records;
    loop->progress(loop->progress_context, loop->stats);
}

/* Milliseconds until the next report or wake_at; -1: for ever. */
static int ms_until_due(const tamis__poll_loop *loop) {
    uint64_t due = loop->wake_at ? loop->wake_at : UINT64_MAX;
    if (loop->progress && next_report(loop) < due)
        due = next_report(loop);
    if (due == UINT64_MAX)
        return -1;
    const uint64_t now = tamis__now_ns();
    const uint64_t wait = now >= due ? 0 : (due - now + NS_PER_MS - 1) / NS_PER_MS;
    return wait < INT_MAX ? (int)wait : INT_MAX;
}

/* Polls the descriptor and the request to stop once. A signal ends the poll early with *ready false: its
 * handler may have asked to stop, which the next poll sees. */
static tamis_status poll_once(const tamis__poll_loop *loop, const tamis__awaited *awaited, int timeout_ms,
                              bool *ready, tamis_error *err) {
    struct pollfd fds[2] = {{.fd = awaited->fd, .events = awaited->events},
                            {.fd = loop->stop_fd, .events = POLLIN}};
    *ready = false;
    if (tamis__sys.poll(fds, 2, timeout_ms) < 0)
        return errno == EINTR ? TAMIS_OK : tamis__fail_file(err, awaited->name, errno);
    if (fds[1].revents & POLLNVAL)
        return tamis__fail(err, TAMIS_E_INVALID, EBADF, "stop_fd: descriptor %d is not open; use -1 for none",
                           loop->stop_fd);
    if (fds[1].revents)
        return tamis__fail(err, TAMIS_E_INTERRUPTED, 0, "%s: stopped on request after %" PRIu64 " records",
                           tamis__show(awaited->name).text, *loop->records);
    *ready = fds[0].revents != 0;
    return TAMIS_OK;
}

tamis_status tamis__poll_loop_check(const tamis__poll_loop *loop, const tamis__awaited *awaited, bool *ready,
                                    tamis_error *err) {
    if (awaited->fd < 0 && loop->stop_fd < 0) {
        *ready = false;
        return TAMIS_OK;
    }
    return poll_once(loop, awaited, 0, ready, err);
}

tamis_status tamis__poll_loop_wait(tamis__poll_loop *loop, const tamis__awaited *awaited, tamis_error *err) {
    for (;;) {
        bool ready;
        const tamis_status status = poll_once(loop, awaited, ms_until_due(loop), &ready, err);
        if (status != TAMIS_OK || ready || (loop->wake_at && tamis__now_ns() >= loop->wake_at))
            return status;
        tamis__poll_loop_report(loop);
    }
}

tamis_status tamis__poll_loop_pause(tamis__poll_loop *loop, int milliseconds, const char *name,
                                    tamis_error *err) {
    bool ready;
    const tamis_status status =
        poll_once(loop, &(tamis__awaited){.fd = -1, .name = name}, milliseconds, &ready, err);
    if (status == TAMIS_OK)
        tamis__poll_loop_report(loop);
    return status;
}

tamis_status tamis__poll_loop_pause_for(tamis__poll_loop *loop, const tamis__awaited *awaited,
                                        int milliseconds, bool *ready, tamis_error *err) {
    const int due = ms_until_due(loop);
    const tamis_status status =
        poll_once(loop, awaited, due >= 0 && due < milliseconds ? due : milliseconds, ready, err);
    if (status == TAMIS_OK)
        tamis__poll_loop_report(loop);
    return status;
}

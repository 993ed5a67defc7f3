/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/watch.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>

#include "base/system.h"
#include "store/trouble.h"

static const uint64_t MS = 1000000; /* nanoseconds */

void tamis__watch_tick(tamis__watch *watch) {
    if (!watch->progress)
        return;
    uint64_t now = tamis__now_ns();
    if (now < watch->next_report)
        return;
    watch->next_report = now + TAMIS__REPORT_MS * MS;
    watch->progress(watch->progress_context, watch->stats);
}

/* Milliseconds until the next report or wake_at; -1: for ever. */
static int until_due(const tamis__watch *watch) {
    uint64_t due = watch->wake_at ? watch->wake_at : UINT64_MAX;
    if (watch->progress && watch->next_report < due)
        due = watch->next_report;
    if (due == UINT64_MAX)
        return -1;
    const uint64_t now = tamis__now_ns();
    const uint64_t wait = now >= due ? 0 : (due - now + MS - 1) / MS;
    return wait < INT_MAX ? (int)wait : INT_MAX;
}

/* Polls fd (-1: none) and the request to stop once. A signal ends the poll early with *ready false: its
 * handler may have asked to stop, which the next poll sees. */
static tamis_status poll_once(const tamis__watch *watch, struct pollfd input, int timeout_ms, bool *ready,
                              const char *name, tamis_error *err) {
    struct pollfd both[2] = {input, {.fd = watch->stop_fd, .events = POLLIN}};
    *ready = false;
    if (tamis__sys.poll(both, 2, timeout_ms) < 0)
        return errno == EINTR ? TAMIS_OK : tamis__fail_file(err, name, errno);
    if (both[1].revents & POLLNVAL)
        return tamis__fail(err, TAMIS_E_INVALID, EBADF, "stop_fd: descriptor %d is not open; use -1 for none",
                           watch->stop_fd);
    if (both[1].revents)
        return tamis__fail(err, TAMIS_E_INTERRUPTED, 0, "%s: stopped on request after %" PRIu64 " records",
                           tamis__show(name).text, *watch->records);
    *ready = both[0].revents != 0;
    return TAMIS_OK;
}

tamis_status tamis__watch_look(const tamis__watch *watch, int fd, short events, bool *ready, const char *name,
                               tamis_error *err) {
    struct pollfd input = {.fd = fd, .events = events};
    if (fd < 0 && watch->stop_fd < 0) {
        *ready = false;
        return TAMIS_OK;
    }
    return poll_once(watch, input, 0, ready, name, err);
}

tamis_status tamis__watch_wait(tamis__watch *watch, int fd, short events, const char *name,
                               tamis_error *err) {
    struct pollfd input = {.fd = fd, .events = events};
    for (;;) {
        bool ready;
        tamis_status status = poll_once(watch, input, until_due(watch), &ready, name, err);
        if (status != TAMIS_OK || ready || (watch->wake_at && tamis__now_ns() >= watch->wake_at))
            return status;
        tamis__watch_tick(watch);
    }
}

tamis_status tamis__watch_pause(tamis__watch *watch, int milliseconds, const char *name, tamis_error *err) {
    struct pollfd none = {.fd = -1};
    bool ready;
    tamis_status status = poll_once(watch, none, milliseconds, &ready, name, err);
    if (status == TAMIS_OK)
        tamis__watch_tick(watch);
    return status;
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Waiting for changes of followed files. The system reports changes of files in a directory (inotify on
 * Linux), so a follower sleeps until a file grows. But some file systems never report: on a network file
 * system another machine writes. A follower that trusted such reports would sleep for ever. Therefore:
 *
 *     reports     a wait ends after at most     a change without a report
 *     ---------   ---------------------------   ----------------------------------------------------------
 *     trusted     1000 ms                       the caller finds a change after a wait that ended without a
 *                                               report: not trusted from now on
 *     none        20 ms                         the caller looks at the files after each wait
 *
 * The step from trusted to none is taken once and for good, for all files. A report that is late is not
 * a reason: tamis__change_reports_check looks whether one has come since the wait.
 *
 * Invariants:
 * 1. The caller looks at the files after each wait, whatever ended it. A report only ends the wait earlier,
 *    so a missing one costs time and loses nothing.
 * 2. After a directory was added, the next wait ends at once: its files may have changed before.
 */
#include "stream/io/change_reports.h"

#include <limits.h>
#include <poll.h>

#include "base/system.h"
#include "store/file/target.h"

/* Longest wait in milliseconds, with reports of the system and without. */
enum { REPORTED_MS = 1000, UNREPORTED_MS = 20 };

void tamis__change_reports_stop(tamis__change_reports *reports) {
    if (reports->fd >= 0)
        tamis__sys.close(reports->fd);
    reports->fd = -1;
    reports->refused = true;
}

void tamis__change_reports_add(tamis__change_reports *reports, const char *path) {
    char directory[PATH_MAX];
    (void)tamis__path_split(path, directory);
    reports->is_extended = true;
    if (reports->refused)
        return;
    const int fd = tamis__sys.report_changes(reports->fd, directory);
    if (fd < 0)
        tamis__change_reports_stop(reports);
    else
        reports->fd = fd;
}

void tamis__change_reports_check(tamis__change_reports *reports) {
    struct pollfd unread = {.fd = reports->fd, .events = POLLIN};
    /* The change may have come after the wait. */
    if (reports->silent && tamis__sys.poll(&unread, 1, 0) == 0)
        tamis__change_reports_stop(reports);
    reports->silent = false;
}

tamis_status tamis__change_reports_wait(tamis__change_reports *reports, tamis__poll_loop *loop,
                                        const char *name, tamis_error *err) {
    const tamis__awaited change = {reports->fd, POLLIN, name};
    const uint64_t limit = (reports->fd >= 0 ? REPORTED_MS : UNREPORTED_MS) * UINT64_C(1000000);
    uint64_t now = tamis__now_ns(), deadline = now + limit;
    bool ready = false;
    tamis_status status = TAMIS_OK;
    const bool has_look_at = reports->look_at != 0 && reports->look_at < deadline;
    if (has_look_at)
        deadline = reports->look_at;
    reports->silent = false;
    reports->look_at = 0;
    if (reports->is_extended) {
        reports->is_extended = false;
        return TAMIS_OK;
    }
    /* A progress report that is due does not end the wait. */
    while (status == TAMIS_OK && !ready && now < deadline && (loop->wake_at == 0 || now < loop->wake_at)) {
        const int left = (int)((deadline - now) / 1000000) + 1;
        status = tamis__poll_loop_pause_for(loop, &change, left, &ready, err);
        now = tamis__now_ns();
    }
    if (status != TAMIS_OK)
        return status;
    reports->silent = reports->fd >= 0 && !ready && !has_look_at && now >= deadline;
    reports->has_reported = reports->has_reported || ready;
    if (!ready || tamis__sys.clear_reports(reports->fd))
        reports->names_changed = true;
    return TAMIS_OK;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_WINDOW_H
#define TAMIS_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/filter.h>
#include <tamis/hash.h>
#include <tamis/key.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A window is a filter whose keys expire. It answers: was this key counted within the last 24 hours? It suits
 * streams that never end. Keys that are too old make room for new ones, and the memory is that of the keys
 * within one window.
 *
 *     tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
 *     options.kind = TAMIS_KIND_WINDOW;
 *     options.window = 24 * 3600 * 1000;
 *     options.step = 3600 * 1000;
 *
 * Plan, filter, files and statistics are those of every filter (tamis/plan.h, tamis/filter.h, tamis/file.h).
 * Keys are added together with a time, by tamis_window_add.
 *
 * Times are milliseconds since 1970-01-01 UTC, from 0 to TAMIS_TIME_MAX. Times of different keys may come in
 * any order, up to the plan's lateness. They are compared by whole steps: step s has the times from s *
 * step to (s + 1) * step - 1.
 *
 * The answer for a key of time t:
 *
 *     TAMIS_PRESENT   the key was counted at a time u with t - window <= u <= t
 *     TAMIS_ABSENT    the key was not counted from t - window - step to the end of the step of t
 *     one of the two  the key was counted up to one step before t - window, or after t in the step of t
 *     TAMIS_LATE      t is older than the newest time less the lateness: the window cannot tell
 *
 * A key that is answered absent is counted at its time. With plan.refresh a key that is answered present is
 * counted too, so that it stays in the window as long as it keeps coming. A late key is not counted. Absent
 * keys are answered present at the false-positive rate of the plan; that rate holds for the whole window.
 *
 * Growth: if more keys come within a window than the plan expected, the filter takes more memory, up to
 * plan.memory_limit. It keeps that memory.
 *
 * A state (tamis/experimental/state.h) may have a window. Its keys are added by a dedup session
 * (tamis_dedup_add_timed), which logs their times.
 *
 * What a window cannot do: tamis_filter_add_many and _add_hashes (TAMIS_E_UNSUPPORTED: they have no times),
 * unions, options.concurrent, options.frozen. tamis_filter_contains_many answers for the newest time.
 */

#define TAMIS_TIME_MAX ((int64_t)1 << 53) /* largest time, in milliseconds: in the year 287396 */

/*
 * Adds the keys of a batch in order, each with its time, and answers them as described above. The filter's
 * hasher makes their hashes. The newest time of the window becomes the largest of these times. The caller
 * decides beforehand whether a time that is far ahead can be true (tamis_window_newest).
 *
 * On failure the first *done keys are answered and counted, and the others are unchanged. `answers` and
 * `done` may be NULL.
 *
 * - TAMIS_E_RANGE: a time is below 0 or above TAMIS_TIME_MAX.
 * - TAMIS_E_FULL: the window would have to grow past plan.memory_limit, or past the promised rate, or the
 *   hashes are not random: somebody may have chosen them. answers[*done] is TAMIS_UNKNOWN, or TAMIS_PRESENT
 *   with plan.refresh if the key is present and only its time could not be renewed. The newest time has
 *   moved.
 * - TAMIS_E_NOMEM; TAMIS_E_MISMATCH: the hash of another filter; TAMIS_E_UNSUPPORTED: not a window, or a
 *   filter that is only read.
 *
 * Cost: two cache lines a key, and two more for each older table while the window grows.
 */
TAMIS_API tamis_status tamis_window_add(tamis_filter *filter, const tamis_timed_hashes *batch,
                                        tamis_answer *answers, size_t *done, tamis_error *err);

/*
 * Answers the keys of a batch, each for its time, as tamis_window_add would answer each of them as the next
 * one. The window does not change: times may be later than the newest one, and that does not move. The hashes
 * are of the filter's hasher.
 *
 * TAMIS_E_RANGE: a time, as above; TAMIS_E_MISMATCH; TAMIS_E_UNSUPPORTED: not a window, or one in a file that
 * is only read. No key is answered then.
 */
TAMIS_API tamis_status tamis_window_contains(const tamis_filter *filter, const tamis_timed_hashes *batch,
                                             tamis_answer *answers, tamis_error *err);

/* Returns the largest time of all keys that were added, or -1 if there was none, or if the filter is not a
 * window. */
TAMIS_API int64_t tamis_window_newest(const tamis_filter *filter);

/* Removes expired entries from memory. No answer changes. Windows that got the same keys and times then have
 * the same bytes, even if one of them was saved and read in between. A window that is only read, and a filter
 * that is not a window, stay as they are. O(memory). */
TAMIS_API void tamis_window_purge(tamis_filter *filter);

/* Returns the number of entries that may still be needed: those of the kept steps. A key that was counted
 * twice has two. */
TAMIS_API uint64_t tamis_window_entries(const tamis_filter *filter);

#ifdef __cplusplus
}
#endif
#endif

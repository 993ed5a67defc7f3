/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The driver of runs that commit and follow their input (docs/DURABILITY.md, "Following"):
 *
 *     app.log.1 (rotated)     run: from its last commit to its end, then E
 *     app.log   (inode 7)     run: to its end, and on as it grows; E when another file has the name
 *     app.log   (inode 9)     run: ...
 *
 * A file that is truncated has two runs: the first is closed where it was truncated, the second begins at its start.
 *
 * Each run is an ordinary resumable run. tamis__followed_find decides which file comes next, from the state
 * and the directory alone, so a start after a crash decides as the process would have done. Names may change
 * between this decision and the opening. Then the run finds another file than the expected one, reads nothing,
 * and the decision is made again.
 */
#include "stream/run/follow.h"

#include <errno.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/system.h"
#include "base/versioned.h"
#include "service/dedup/dedup_commits.h"
#include "store/file/file_error.h"
#include "stream/io/poll_loop.h"
#include "stream/run/run.h"

enum { TRIES = 50, TRY_MS = 20 };

typedef struct follow {
    const tamis_stream_service *service;
    const tamis__stream_buffer_sizes *sizes;
    tamis_stream_options options; /* of the runs */
    tamis_stream_commits commits;
    tamis__followed followed;
    tamis_allocator memory;
    tamis_stream_result result; /* of the last run */
    bool is_first;              /* the present run is the first one */
    tamis_stream_stats total;   /* of the files before, with what the first run had committed earlier */
    void (*progress)(void *context, const tamis_stream_stats *now); /* of the caller */
    void (*observe)(void *context);
    void *progress_context;
    const char *input; /* the only element of options.inputs */
} follow;

/* Returns the statistics of all files, if those of the present run are *now. bytes_out and printed are those of
 * the process alone. */
static tamis_stream_stats add_run(const follow *f, const tamis_stream_stats *now) {
    tamis_stream_stats total = f->is_first ? f->followed.before : f->total, done = *now;
    if (f->is_first)
        total.bytes_out = total.printed = 0;
    tamis__stats_subtract(&done, &f->followed.before);
    tamis__stats_add(&total, &done);
    total.bytes_read += now->bytes_read - f->followed.before.bytes_read;
    total.bytes_out += now->bytes_out;
    total.printed += now->printed;
    total.complete = now->complete;
    total.threads = now->threads;
    total.bytes_left = now->bytes_left;
    if (now->committed_at != 0)
        total.committed_at = now->committed_at;
    return total;
}

/* Reports the progress of all files. */
static void report_progress(void *context, const tamis_stream_stats *now) {
    const follow *f = context;
    const tamis_stream_stats total = add_run(f, now);
    f->progress(f->progress_context, &total);
}

static void observe(void *context) {
    const follow *f = context;
    f->observe(f->progress_context);
}

static tamis_status run_file(follow *f, tamis_error *err) {
    const tamis_stream_start start = f->result.start;
    tamis_stream_stats stats = TAMIS_STREAM_STATS_INIT;
    f->is_first = !f->followed.started;
    f->input = f->followed.path;
    f->followed.before = stats;
    f->result = (tamis_stream_result)TAMIS_STREAM_RESULT_INIT;
    const tamis_status status =
        tamis__run_once(f->service, &f->options, f->sizes, &f->followed, &stats, &f->result, err);
    if (f->followed.started)
        f->total = add_run(f, &stats);
    if (!f->is_first)
        f->result.start = start;
    if (f->followed.started) /* these options are for one file alone */
        f->commits.reread = f->commits.abandon = f->options.require_keys = false;
    return status;
}

/* The file was truncated, so it is read again from its start. */
static void restart_file(follow *f, const tamis_error *err) {
    const int borrowed = tamis__descriptor_named(f->followed.name, STDIN_FILENO);
    if (f->commits.remark)
        f->commits.remark(f->commits.callback_context, err->text, true);
    if (borrowed >= 0)
        (void)tamis__sys.seek(borrowed, 0, SEEK_SET);
    f->commits.reread = true;
    tamis_stream_checkpoint_free(f->result.unfinished);
    f->result.unfinished = NULL;
    f->result.was_read = false;
}

/* True if names have changed since the next file was looked for, or if a new file may not have its owner and
 * mode yet. */
static bool was_renamed(const follow *f, tamis_status status, const tamis_error *err) {
    return f->followed.is_other || (f->followed.known && status == TAMIS_E_IO &&
                                    (err->sys_errno == ENOENT || err->sys_errno == EACCES));
}

static tamis_status follow_name(follow *f, const tamis_state *state, tamis_error *err) {
    tamis__poll_loop loop = {.stop_fd = f->options.stop_fd, .records = &f->total.records};
    int tries = 0;
    for (;;) {
        tamis_status status = tamis__followed_find(&f->followed, state, &f->memory, err);
        if (status == TAMIS_OK && tries == 0 && f->followed.remark[0] != '\0' && f->commits.remark)
            f->commits.remark(f->commits.callback_context, f->followed.remark, true);
        f->commits.reread = f->commits.reread || f->followed.closed;
        if (status == TAMIS_OK)
            status = run_file(f, err);
        if (status == TAMIS_OK && !f->followed.left.open)
            return TAMIS_OK; /* the service has enough, or the input cannot be followed */
        if (status == TAMIS_E_CHANGED && f->followed.truncated) {
            restart_file(f, err);
            status = TAMIS_OK;
        }
        if (status == TAMIS_OK) {
            tries = 0;
            continue;
        }
        if (!was_renamed(f, status, err) || tries++ == TRIES)
            return status;
        tamis_stream_checkpoint_free(f->result.unfinished);
        f->result.unfinished = NULL;
        status = tamis__poll_loop_pause(&loop, TRY_MS, f->followed.name, err);
        if (status != TAMIS_OK)
            return status;
    }
}

static void init_follow(follow *f, const tamis_stream_service *service, const tamis_stream_options *options,
                        const tamis_stream_commits *commits, const tamis__stream_buffer_sizes *sizes) {
    f->service = service;
    f->sizes = sizes;
    f->options = *options;
    f->options.commits = &f->commits;
    f->options.inputs = &f->input;
    f->options.input_count = 1;
    f->progress = options->progress;
    f->observe = options->observe;
    f->progress_context = options->progress_context;
    f->options.progress = options->progress ? report_progress : NULL;
    f->options.observe = options->observe ? observe : NULL;
    f->options.progress_context = f;
    f->commits = *commits;
    f->commits.defer_unterminated = false; /* the last record of a file that was left is complete */
    f->followed.name = options->input_count ? options->inputs[0] : "-";
    f->total = (tamis_stream_stats)TAMIS_STREAM_STATS_INIT;
    f->result = (tamis_stream_result)TAMIS_STREAM_RESULT_INIT;
}

tamis_status tamis__run_follow(const tamis_stream_service *service, const tamis_stream_options *options,
                               const tamis__stream_buffer_sizes *sizes, tamis_stream_stats *stats,
                               tamis_stream_result *result, tamis_error *err) {
    const tamis_allocator memory = tamis__allocator_resolve(options->allocator);
    tamis_stream_commits commits = TAMIS_STREAM_COMMITS_INIT;
    tamis_status status =
        tamis__read_struct(&commits, sizeof commits, options->commits, "TAMIS_STREAM_COMMITS_INIT", err);
    if (status != TAMIS_OK)
        return status;
    if (options->input_count > 1)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "stream: a run that commits follows one input, and %zu are given; give the others "
                           "to a run before it",
                           options->input_count);
    const char *const outputs[] = {options->output, options->duplicates};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs && status == TAMIS_OK; i++)
        if (outputs[i] && options->input_count > 0)
            status = tamis__followed_check_output(options->inputs[0], outputs[i], err);
    if (status != TAMIS_OK)
        return status;
    const tamis_state *state = commits.session ? tamis__dedup_state(commits.session) : NULL;
    if (!state) /* the run says what is missing */
        return tamis__run_once(service, options, sizes, NULL, stats, result, err);
    follow *f = tamis__alloc(&memory, sizeof *f, _Alignof(follow));
    if (!f)
        return tamis__fail_nomem(err, "stream", sizeof *f);
    init_follow(f, service, options, &commits, sizes);
    f->memory = memory;
    tamis_error why = TAMIS_ERROR_INIT; /* the errno of an error decides whether to try again */
    status = follow_name(f, state, &why);
    if (status != TAMIS_OK && err)
        *err = why;
    if (f->followed.left.open)
        tamis__sys.close(f->followed.left.fd);
    if (f->result.unterminated)
        f->result.unterminated = f->followed.name; /* `path` is freed */
    if (result)
        tamis__write_struct(result, &f->result, sizeof f->result);
    else
        tamis_stream_checkpoint_free(f->result.unfinished);
    tamis__write_struct(stats, &f->total, sizeof f->total);
    tamis__free(&memory, f, sizeof *f);
    return status;
}

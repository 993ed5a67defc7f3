/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The driver of runs that commit and follow their inputs (docs/DURABILITY.md, "Following"):
 *
 *     a.log.1 (rotated), b.log     run: a.log.1 from its last commit to its end, b.log so far, then E
 *     a.log (inode 7),   b.log     run: both from where they were, and on as they grow; E when one of the
 *                                       names has another file
 *     a.log (inode 9),   b.log     run: ...
 *
 * A file that is truncated ends a run too. Its run is closed where it was truncated, and the next one reads
 * it from its start.
 *
 * Each run is an ordinary resumable run with one input for each name. tamis__followed_find decides which file
 * that is, from the state and the directory alone. So a start after a crash decides as the process would have
 * done. Names may change between this decision and the opening. Then the run finds another file than the
 * expected one, reads nothing, and the decision is made again.
 *
 * With a pattern the names are the files that match, and a run also ends when there are more. A name without
 * a file is left out, and found again when it has one. When the process starts, the names of the last run
 * count too: their files may have lost their names.
 */
#include "stream/run/run.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/system.h"
#include "base/versioned.h"
#include "service/dedup/dedup_commits.h"
#include "store/file/file_error.h"
#include "stream/durable/checkpoint.h"
#include "stream/io/io_open.h"
#include "stream/io/poll_loop.h"
#include "stream/io/rotation.h"

typedef struct follow {
    const tamis_stream_options *given; /* of the caller */
    tamis__run_arguments arguments;    /* of the runs; their options have `commits` */
    tamis_stream_commits commits;
    tamis__input_pattern pattern;   /* pattern NULL: none */
    tamis__followed_names followed; /* of the present run */
    const char **paths;             /* their paths: the inputs of the run */
    size_t capacity, path_capacity; /* of followed.names, and of paths */
    bool reported_no_files;         /* nothing matched the pattern, and that was reported */
    tamis_allocator memory;
    tamis_stream_result result; /* of the last run */
    bool is_first;              /* the present run is the first one */
    tamis_stream_stats total;   /* of the runs before, with the commits of earlier processes */
} follow;

/* Returns the statistics of all files; *now are those of the present run. bytes_out and printed count this
 * process alone. */
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
    f->given->progress(f->given->progress_context, &total);
}

static void forward_observe(void *context) {
    const follow *f = context;
    f->given->observe(f->given->progress_context);
}

/* Adds the statistics of an input of a run to those of its name. */
static void add_input(void *context, size_t index, const tamis_stream_stats *input_stats) {
    follow *f = context;
    tamis__stats_add(&f->followed.names[index].stats, input_stats);
}

static void send_remark(const follow *f, const char *message) {
    if (message[0] != '\0' && f->commits.remark)
        f->commits.remark(f->commits.callback_context, message, true);
}

/* ---- the names ---- */

/* Closes the file that was left last. */
static void close_previous(follow *f, size_t i) {
    tamis__previous_file *previous = &f->followed.names[i].previous;
    if (previous->open)
        tamis__sys.close(previous->fd);
    previous->open = false;
}

static void release_names(follow *f) {
    for (size_t i = 0; i < f->followed.count; i++)
        close_previous(f, i);
    tamis__free(&f->memory, f->followed.names, f->capacity * sizeof *f->followed.names);
    tamis__free(&f->memory, f->paths, f->path_capacity * sizeof *f->paths);
    tamis__input_pattern_release(&f->pattern);
}

static tamis_status add_name(follow *f, const char *name, tamis_error *err) {
    const char *const outputs[] = {f->given->output, f->given->duplicates};
    tamis__followed *names = tamis__array_reserve(&f->memory, f->followed.names, sizeof *names,
                                                  f->followed.count + 1, &f->capacity);
    if (!names)
        return tamis__fail_nomem(err, "names of inputs", (f->followed.count + 1) * sizeof *names);
    f->followed.names = names;
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs && status == TAMIS_OK; i++)
        if (outputs[i] && f->given->input_count + f->pattern.count > 0)
            status = tamis__followed_check_output(name, outputs[i], err);
    if (status == TAMIS_OK)
        f->followed.names[f->followed.count++] =
            (tamis__followed){.name = name, .stats = TAMIS_STREAM_STATS_INIT};
    return status;
}

/* Adds the followed name of an input. If log rotation made its path, that is the name before the rotation. */
static tamis_status add_last_name(follow *f, const tamis__checkpoint_input *in, tamis_error *err) {
    const char *base = in->name + tamis__path_directory_size(in->name);
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s", in->name);
    if (!in->rotated)
        return tamis__input_pattern_add(&f->pattern, name, err);
    for (size_t size = strlen(in->name) - 1; size > (size_t)(base - in->name); size--) {
        name[size] = '\0';
        if (tamis__rotation_continues(base, name + (base - in->name)) &&
            tamis__input_pattern_matches(&f->pattern, name))
            return tamis__input_pattern_add(&f->pattern, name, err);
    }
    return TAMIS_OK;
}

/* Adds the names of the last run that match the pattern. A file may have lost its name since. */
static tamis_status add_last_names(follow *f, tamis_error *err) {
    tamis__checkpoint last = {.inputs = NULL};
    const void *bytes;
    size_t size;
    tamis_state_committed(f->followed.state, &bytes, &size);
    if (size == 0)
        return TAMIS_OK;
    tamis_status status = tamis__checkpoint_decode(&last, bytes, size, &f->memory, err);
    for (size_t i = 0; i < last.input_count && status == TAMIS_OK; i++)
        status = add_last_name(f, &last.inputs[i], err);
    tamis__checkpoint_release(&last);
    return status == TAMIS_E_FORMAT ? TAMIS_OK : status; /* another program may have made the commit */
}

/* Adds the names of new files that match the pattern. */
static tamis_status update_names(follow *f, tamis_error *err) {
    tamis_status status = f->followed.started ? TAMIS_OK : add_last_names(f, err);
    if (status == TAMIS_OK)
        status = tamis__input_pattern_find(&f->pattern, err);
    if (!f->followed.started) /* the order in which files are read is the same after a restart */
        tamis__input_pattern_sort(&f->pattern);
    for (size_t i = 0; i < f->pattern.count && status == TAMIS_OK; i++) {
        size_t n = 0;
        while (n < f->followed.count && strcmp(f->followed.names[n].name, f->pattern.paths[i]) != 0)
            n++;
        if (n == f->followed.count)
            status = add_name(f, f->pattern.paths[i], err);
    }
    return status;
}

/* Removes a name of the pattern from the next run. `forgets`: it has no file, and counts as new if it gets
 * one. */
static void remove_name(follow *f, size_t i, bool forgets) {
    for (size_t n = 0; n < f->pattern.count && forgets; n++)
        if (f->pattern.paths[n] == f->followed.names[i].name) {
            tamis__input_pattern_forget(&f->pattern, n);
            break;
        }
    close_previous(f, i);
    f->followed.count--;
    memmove(f->followed.names + i, f->followed.names + i + 1,
            (f->followed.count - i) * sizeof *f->followed.names);
}

/* True if an earlier name has the same file. */
static bool is_another_name(const follow *f, size_t i) {
    const tamis__followed *name = &f->followed.names[i];
    for (size_t n = 0; n < i && name->inode != 0; n++)
        if (f->followed.names[n].inode == name->inode && f->followed.names[n].device == name->device)
            return true;
    return false;
}

/* Sets `paths` to the paths of the names. */
static tamis_status list_paths(follow *f, tamis_error *err) {
    const size_t count = f->followed.count;
    const char **paths = tamis__array_reserve(&f->memory, f->paths, sizeof *paths, count, &f->path_capacity);
    if (!paths)
        return tamis__fail_nomem(err, "names of inputs", count * sizeof *paths);
    for (size_t i = 0; i < count; i++)
        paths[i] = f->followed.names[i].path;
    f->paths = paths;
    return TAMIS_OK;
}

/* Finds the file of each name. Names of a pattern are removed if they have no file. */
static tamis_status find_files(follow *f, tamis_error *err) {
    tamis_status status = f->pattern.pattern ? update_names(f, err) : TAMIS_OK;
    if (status == TAMIS_OK)
        status = tamis__followed_begin_find(&f->followed, err);
    for (size_t i = 0; i < f->followed.count && status == TAMIS_OK;) {
        tamis__followed *name = &f->followed.names[i];
        status = tamis__followed_find(&f->followed, i, err);
        if (status != TAMIS_OK)
            break;
        if (strcmp(name->remark, name->sent) != 0)
            send_remark(f, name->remark);
        snprintf(name->sent, sizeof name->sent, "%s", name->remark);
        f->commits.reread = f->commits.reread || (name->was_closed && !tamis__followed_several(&f->followed));
        if (f->pattern.pattern && name->inode == 0)
            remove_name(f, i, true);
        else if (f->pattern.pattern && is_another_name(f, i))
            remove_name(f, i, false);
        else
            i++;
    }
    tamis__checkpoint_release(&f->followed.newest);
    return status == TAMIS_OK ? list_paths(f, err) : status;
}

/* ---- the runs ---- */

/* Returns the name that the caller has given for a path: results name inputs by it. */
static const char *given_name(const follow *f, const char *name) {
    for (size_t i = 0; i < f->followed.count; i++)
        if (name == tamis__input_name(f->paths[i]))
            return f->pattern.pattern ? f->pattern.pattern : tamis__input_name(f->followed.names[i].name);
    return name;
}

static tamis_status run_files(follow *f, tamis_error *err) {
    const tamis_stream_start start = f->result.start;
    tamis_stream_stats stats = TAMIS_STREAM_STATS_INIT;
    f->is_first = !f->followed.started;
    f->arguments.options.inputs = f->paths;
    f->arguments.options.input_count = f->followed.count;
    f->followed.before = stats;
    f->followed.is_other = f->followed.truncated = f->followed.goes_on = false;
    f->result = (tamis_stream_result)TAMIS_STREAM_RESULT_INIT;
    const tamis_status status = tamis__run_once(&f->arguments, &f->followed, &stats, &f->result, err);
    f->result.unterminated = given_name(f, f->result.unterminated); /* paths may change */
    f->result.inexact = given_name(f, f->result.inexact);
    if (f->followed.started)
        f->total = add_run(f, &stats);
    if (!f->is_first)
        f->result.start = start;
    if (f->followed.started) /* these options are for one run alone */
        f->commits.reread = f->commits.abandon = f->arguments.options.require_keys = false;
    return status;
}

/* A file was truncated, so it is read again from its start. If standard input is followed, it is the only
 * input. */
static void restart_file(follow *f, const tamis_error *err) {
    const int borrowed = tamis__descriptor_named(f->followed.names[0].name, STDIN_FILENO);
    send_remark(f, err->text);
    if (borrowed >= 0) {
        (void)tamis__sys.seek(borrowed, 0, SEEK_SET);
        f->commits.reread = true;
    }
    tamis_stream_checkpoint_free(f->result.unfinished);
    f->result.unfinished = NULL;
    f->result.was_read = false;
}

/* True if names have changed since the next files were looked for, or if a new file may not have its owner
 * and mode yet. */
static bool was_renamed(const follow *f, tamis_status status, const tamis_error *err) {
    bool known = f->pattern.pattern && f->followed.started;
    for (size_t i = 0; i < f->followed.count; i++)
        known = known || f->followed.names[i].has_history;
    if (status == TAMIS_E_CHANGED && f->followed.started && tamis__dedup_is_committed(f->commits.session))
        return true; /* it was truncated since the last run: tamis__followed_find says so */
    return f->followed.is_other || (known && tamis__is_rename_error(err));
}

/* Says once that no file matches the pattern, and waits a moment. */
static tamis_status wait_for_files(follow *f, tamis__poll_loop *loop, tamis_error *err) {
    char message[TAMIS__PATTERN_REMARK];
    if (!f->reported_no_files) {
        tamis__input_pattern_describe_none(&f->pattern, message);
        send_remark(f, message);
    }
    f->reported_no_files = true;
    return tamis__poll_loop_pause(loop, TAMIS__RENAME_MS, f->pattern.pattern, err);
}

static tamis_status follow_names(follow *f, tamis_error *err) {
    tamis__poll_loop loop = {.stop_fd = f->given->stop_fd, .records = &f->total.records};
    int tries = 0;
    for (;;) {
        tamis_status status = find_files(f, err);
        const bool has_files = f->followed.count > 0;
        if (status == TAMIS_OK)
            status = has_files ? run_files(f, err) : wait_for_files(f, &loop, err);
        if (status == TAMIS_OK && has_files && !f->followed.goes_on)
            return TAMIS_OK; /* the service has enough, or the input cannot be followed */
        if (status == TAMIS_E_CHANGED && f->followed.truncated) {
            restart_file(f, err);
            status = TAMIS_OK;
        }
        if (status == TAMIS_OK) {
            tries = 0;
            continue;
        }
        if (!was_renamed(f, status, err) || tries++ == TAMIS__RENAME_TRIES)
            return status;
        tamis_stream_checkpoint_free(f->result.unfinished);
        f->result.unfinished = NULL;
        status =
            tamis__poll_loop_pause(&loop, TAMIS__RENAME_MS,
                                   f->pattern.pattern ? f->pattern.pattern : f->followed.names[0].name, err);
        if (status != TAMIS_OK)
            return status;
    }
}

static tamis_status init_follow(follow *f, const tamis__run_arguments *arguments,
                                const tamis_stream_commits *commits, tamis_error *err) {
    const tamis_stream_options *options = &arguments->options;
    tamis_stream_options *own = &f->arguments.options;
    f->given = options;
    f->arguments = *arguments;
    own->commits = &f->commits;
    own->files = NULL;
    own->progress = options->progress ? report_progress : NULL;
    own->observe = options->observe ? forward_observe : NULL;
    own->progress_context = f;
    own->input_end = options->input_end ? add_input : NULL;
    own->input_end_context = f;
    f->commits = *commits;
    f->commits.defer_unterminated = false; /* the last record of a file that was left is complete */
    f->pattern.pattern = options->files;
    f->pattern.memory = f->memory;
    f->followed.pattern = options->files ? &f->pattern : NULL;
    f->total = (tamis_stream_stats)TAMIS_STREAM_STATS_INIT;
    f->result = (tamis_stream_result)TAMIS_STREAM_RESULT_INIT;
    tamis_status status = TAMIS_OK;
    if (options->input_count == 0 && !options->files)
        return add_name(f, "-", err);
    for (size_t i = 0; i < options->input_count && options->input_count > 1; i++)
        if (tamis__descriptor_named(options->inputs[i], STDIN_FILENO) >= 0)
            return tamis__fail(err, TAMIS_E_INVALID, 0,
                               "%s: cannot be followed beside other files with a state; give its name",
                               tamis__show(tamis__input_name(options->inputs[i])).text);
    for (size_t i = 0; i < options->input_count && status == TAMIS_OK; i++)
        status = add_name(f, options->inputs[i], err);
    return status;
}

tamis_status tamis__run_follow(const tamis__run_arguments *arguments, tamis_stream_stats *stats,
                               tamis_stream_result *result, tamis_error *err) {
    const tamis_stream_options *options = &arguments->options;
    const tamis_allocator memory = tamis__allocator_resolve(options->allocator);
    tamis_stream_commits commits = TAMIS_STREAM_COMMITS_INIT;
    tamis_status status =
        tamis__read_struct(&commits, sizeof commits, options->commits, "TAMIS_STREAM_COMMITS_INIT", err);
    if (status != TAMIS_OK)
        return status;
    const tamis_state *state = commits.session ? tamis__dedup_state(commits.session) : NULL;
    if (!state) /* the run says what is missing */
        return tamis__run_once(arguments, NULL, stats, result, err);
    follow *f = tamis__alloc(&memory, sizeof *f, _Alignof(follow));
    if (!f)
        return tamis__fail_nomem(err, "stream", sizeof *f);
    f->memory = memory;
    f->followed.state = state;
    f->followed.memory = memory;
    tamis_error why = TAMIS_ERROR_INIT; /* the errno of an error decides whether to try again */
    status = init_follow(f, arguments, &commits, &why);
    if (status == TAMIS_OK)
        status = follow_names(f, &why);
    if (status != TAMIS_OK && err)
        *err = why;
    for (size_t i = 0; i < f->followed.count && options->input_end && !options->files; i++)
        options->input_end(options->input_end_context, i, &f->followed.names[i].stats);
    release_names(f);
    if (result)
        tamis__write_struct(result, &f->result, sizeof f->result);
    else
        tamis_stream_checkpoint_free(f->result.unfinished);
    tamis__write_struct(stats, &f->total, sizeof f->total);
    tamis__free(&memory, f, sizeof *f);
    return status;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "commits.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tamis/experimental/window.h>

#include "store/state/state_int.h"
#include "stream/run/runner.h"

const commits_make commits_makes[COMMITS_MAKES] = {
    [COMMITS_GROWING] = {"growing", TAMIS_KIND_FINGERPRINT, 0, 1e-2, 0},
    [COMMITS_FIXED] = {"fixed", TAMIS_KIND_FINGERPRINT, 20000, 1e-2, 0},
    [COMMITS_EXACT] = {"exact", TAMIS_KIND_EXACT, 0, 0, 0},
    [COMMITS_BLOCKED] = {"blocked", TAMIS_KIND_BLOCKED, 20000, 1e-2, 0},
    [COMMITS_CLASSIC] = {"classic", TAMIS_KIND_CLASSIC, 20000, 1e-2, 0},
    [COMMITS_WINDOW] = {"window", TAMIS_KIND_WINDOW, 100, 1e-2, 600},
};

void commits_init(commits_run *run, const commits_make *make) {
    memset(run, 0, sizeof *run);
    run->make = make;
    run->options = (tamis_stream_options)TAMIS_STREAM_OPTIONS_INIT;
    run->commits = (tamis_stream_commits)TAMIS_STREAM_COMMITS_INIT;
    run->commits.bytes = 1000;
    run->commits.milliseconds = 1000000; /* no commit by time */
    run->tuning = (tamis__stream_buffer_sizes){1000, 500, 50};
    run->err = (tamis_error)TAMIS_ERROR_INIT;
    run->stats = (tamis_stream_stats)TAMIS_STREAM_STATS_INIT;
    run->result = (tamis_stream_result)TAMIS_STREAM_RESULT_INIT;
    run->info = (tamis_state_info)TAMIS_STATE_INFO_INIT;
}

static tamis_status open_state(commits_run *run, tamis_state **state) {
    static const commits_make *planned; /* planned once: planning takes longer than opening a small state */
    static tamis_plan plan;
    tamis_state_options options = TAMIS_STATE_OPTIONS_INIT;
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    plan_options.kind = run->make->kind;
    plan_options.expect = run->make->expect;
    plan_options.fpr = run->make->fpr;
    plan_options.window = run->make->window;
    plan_options.step = run->make->window / 3; /* few frames with times: the model tries all sets of writes */
    plan_options.refresh = run->make->window > 0;
    if (planned != run->make) {
        plan = (tamis_plan)TAMIS_PLAN_INIT;
        planned = NULL;
        if (tamis_plan_make(&plan, &plan_options, &run->err) != TAMIS_OK)
            return run->err.status;
        planned = run->make;
    }
    options.plan = &plan;
    options.allocator = run->allocator;
    return tamis_state_open(state, scratch("state"), &options, &run->err);
}

/* The session, and the write end of the pipe that stops a run. */
typedef struct queried {
    tamis_stream_service service;
    tamis_dedup *session;
    uint64_t batches, stop_before;
    void (*before_batch)(uint64_t batch);
    int stop;
    const char *first_input;
    int64_t time; /* of a window: time of the next record */
} queried;

static void count_batch(void *context, const tamis_stream_source *source) {
    queried *a = context;
    a->time = (int64_t)source->first + (strcmp(source->input, a->first_input) == 0 ? 0 : 100000);
    if (++a->batches == a->stop_before && write(a->stop, "", 1) != 1)
        abort();
    if (a->before_batch)
        a->before_batch(a->batches);
}

/* In a window, the first input has times from 1 on, the other ones from 100001 on. Every record has a key. */
static tamis_status query_batch(void *context, const tamis_stream_batch *batch, size_t *done,
                                tamis_error *err) {
    queried *a = context;
    tamis_stream_batch timed = *batch;
    int64_t times[1000];
    if (!a->service.timed)
        return a->service.query(a->session, batch, done, err);
    if (batch->count > sizeof times / sizeof *times)
        abort();
    for (size_t i = 0; i < batch->count; i++)
        times[i] = a->time++;
    timed.times = times;
    return a->service.query(a->session, &timed, done, err);
}

static uint32_t parts(void *context, size_t count, uint32_t max) {
    const queried *a = context;
    return a->service.parts(a->session, count, max);
}

static tamis_status query_part(void *context, const tamis_stream_batch *batch, uint32_t part, size_t *done,
                               tamis_error *err) {
    const queried *a = context;
    return a->service.query_part(a->session, batch, part, done, err);
}

static void finish_parts(void *context, const tamis_stream_batch *batch, size_t done, tamis_status status,
                         tamis_error *err) {
    const queried *a = context;
    a->service.finish_parts(a->session, batch, done, status, err);
}

static tamis_status stream(commits_run *run, tamis_dedup *session) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        abort();
    queried a = {.service = TAMIS_STREAM_SERVICE_INIT,
                 .session = session,
                 .stop_before = run->stop_before,
                 .before_batch = run->before_batch,
                 .stop = ends[1],
                 .first_input = run->options.input_count > 0 ? run->options.inputs[0] : ""};
    tamis_stream_service_dedup(&a.service, session);
    tamis_stream_service service = a.service;
    service.context = &a;
    service.set_source = count_batch;
    service.query = query_batch;
    service.hasher = run->typed ? NULL : service.hasher;
    service.parts = run->typed ? NULL : parts;
    service.query_part = run->typed ? NULL : query_part;
    service.finish_parts = run->typed ? NULL : finish_parts;
    service.expect = NULL; /* a session over a state ignores it */
    run->options.stop_fd = ends[0];
    run->commits.session = session;
    run->options.commits = &run->commits;
    run->options.allocator = run->allocator;
    const tamis_status status =
        tamis__stream_run_tuned(&service, &run->options, &run->tuning, &run->stats, &run->result, &run->err);
    tamis_stream_checkpoint_free(run->result.unfinished);
    run->result.unfinished = NULL;
    close(ends[0]);
    close(ends[1]);
    return status;
}

tamis_status commits_go(commits_run *run) {
    tamis_dedup_options options = TAMIS_DEDUP_OPTIONS_INIT;
    tamis_state *state = NULL;
    tamis_dedup *session = NULL;
    run->status = open_state(run, &state);
    if (run->status == TAMIS_OK) {
        state->snapshot_at = run->snapshot_at;
        options.state = state;
        options.ahead = (uint64_t)TAMIS_TIME_MAX;
        options.allocator = run->allocator;
        run->status = tamis_dedup_open(&session, NULL, &options, &run->err);
    }
    if (run->status == TAMIS_OK)
        run->status = stream(run, session);
    if (run->status == TAMIS_OK)
        run->status = tamis_state_snapshot(state, 1000, &run->err);
    if (state)
        tamis_state_info_get(state, &run->info);
    tamis_dedup_close(session);
    tamis_state_close(state);
    return run->status;
}

bool commits_came_to(const commits_run *run, tamis_status status, const char *text) {
    if (run->status == status && (status == TAMIS_OK || strstr(run->err.text, text)))
        return true;
    fprintf(stderr, "%s \"%s\" instead of %s \"%s\"\n", tamis_status_name(run->status), run->err.text,
            tamis_status_name(status), text);
    return false;
}

bool commits_started(const commits_run *run, tamis_stream_start start) {
    if (!commits_came_to(run, TAMIS_OK, "") || run->result.start == start)
        return run->status == TAMIS_OK;
    fprintf(stderr, "started as %d instead of %d\n", (int)run->result.start, (int)start);
    return false;
}

void commits_forget(void) {
    char directory[300];
    snprintf(directory, sizeof directory, "%s", scratch("state"));
    DIR *open = opendir(directory);
    const struct dirent *entry;
    while (open && (entry = readdir(open))) {
        char path[sizeof directory + sizeof entry->d_name + 1];
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && unlink(path) < 0)
            abort();
    }
    if (!open)
        return;
    closedir(open);
    if (rmdir(directory) < 0)
        abort();
}

void commits_records(test_bytes *to, size_t count, uint64_t keys, uint64_t seed) {
    char text[40];
    for (size_t i = 0; i < count; i++) {
        int size = snprintf(text, sizeof text, "record %llu\n", (unsigned long long)test_below(&seed, keys));
        bytes_add(to, text, (size_t)size);
    }
}

void commits_write(const char *path, size_t count, uint64_t seed) {
    test_bytes text = {0};
    commits_records(&text, count, 1500, seed);
    file_write(path, text.data, text.size);
    bytes_clear(&text);
}

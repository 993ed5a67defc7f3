/* SPDX-License-Identifier: BSD-2-Clause */
#include "states.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/experimental/window.h>

#include "base/system.h"
#include "service/dedup/dedup_commits.h"
#include "support/fault.h"

tamis_error states_err = TAMIS_ERROR_INIT;

const states_make states_makes[STATES_MAKES] = {
    {.name = "growing", .kind = TAMIS_KIND_FINGERPRINT, .fpr = 1e-6},
    {.name = "fixed", .kind = TAMIS_KIND_FINGERPRINT, .expect = 40000, .fpr = 1e-6},
    {.name = "exact", .kind = TAMIS_KIND_EXACT},
    {.name = "blocked", .kind = TAMIS_KIND_BLOCKED, .expect = 40000, .fpr = 1e-2},
    {.name = "classic", .kind = TAMIS_KIND_CLASSIC, .expect = 40000, .fpr = 1e-2},
    {.name = "guava",
     .kind = TAMIS_KIND_CLASSIC,
     .scheme = TAMIS_SCHEME_GUAVA64,
     .expect = 40000,
     .fpr = 1e-2},
    {.name = "keyed", .kind = TAMIS_KIND_FINGERPRINT, .scheme = TAMIS_SCHEME_SIP, .fpr = 1e-6},
    {.name = "window", .kind = TAMIS_KIND_WINDOW, .fpr = 1e-6, .window = 1 << 30},
};

static const char secret[] = "sixteen bytes or more";

tamis_state_options states_options(const states_make *make, const tamis_allocator *allocator) {
    tamis_state_options options = TAMIS_STATE_OPTIONS_INIT;
    if (make->scheme == TAMIS_SCHEME_SIP) {
        options.secret = secret;
        options.secret_size = sizeof secret - 1;
    }
    options.metadata = "numbers";
    options.allocator = allocator;
    return options;
}

tamis_status states_open(tamis_state **state, const states_make *make, const char *directory,
                         const tamis_allocator *allocator) {
    static const states_make *planned; /* planned once: planning takes longer than opening a small state */
    static tamis_plan plan;
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_state_options options = states_options(make, allocator);
    tamis_filter_options how = TAMIS_FILTER_OPTIONS_INIT;
    tamis_status status = TAMIS_OK;
    plan_options.kind = make->kind;
    plan_options.scheme = make->scheme;
    plan_options.expect = make->expect;
    plan_options.fpr = make->fpr;
    plan_options.memory = make->memory;
    plan_options.window = make->window;
    plan_options.refresh = make->window > 0;
    if (planned != make) {
        plan = (tamis_plan)TAMIS_PLAN_INIT;
        status = tamis_plan_make(&plan, &plan_options, &states_err);
        if (make->small)
            tamis_plan_start_small(&plan);
        planned = status == TAMIS_OK ? make : NULL;
    }
    how.frozen = make->frozen;
    options.plan = &plan;
    options.filter = make->frozen ? &how : NULL;
    return status == TAMIS_OK ? tamis_state_open(state, directory, &options, &states_err) : status;
}

enum { BATCH = 500 };

/* Adds hashes of numbers from `from` on to a window, and logs them. */
static tamis_status add_to_window(tamis_state *state, const tamis_hash *hashes, uint64_t from, size_t count,
                                  tamis_answer *answers) {
    tamis_dedup_options options = TAMIS_DEDUP_OPTIONS_INIT;
    tamis_dedup *session = NULL;
    int64_t times[BATCH];
    for (size_t i = 0; i < count; i++)
        times[i] = (int64_t)(from + i) * 1000;
    options.state = state;
    options.ahead = (uint64_t)TAMIS_TIME_MAX;
    tamis_status status = tamis_dedup_open(&session, NULL, &options, &states_err);
    if (status == TAMIS_OK)
        status = tamis_dedup_add_timed(session, &(tamis_timed_hashes){hashes, times, count}, answers, NULL,
                                       &states_err);
    if (status == TAMIS_OK)
        status = tamis__dedup_written(session, 1, &states_err);
    tamis_dedup_close(session);
    return status;
}

tamis_status states_add(tamis_state *state, uint64_t from, uint64_t count) {
    uint64_t numbers[BATCH];
    tamis_key keys[BATCH];
    tamis_hash hashes[BATCH];
    tamis_answer answers[BATCH];
    tamis_filter *filter = tamis_state_filter(state);
    tamis_status status = TAMIS_OK;
    for (uint64_t start = 0; start < count && status == TAMIS_OK; start += BATCH) {
        size_t size = count - start < BATCH ? (size_t)(count - start) : BATCH, absent = 0;
        for (size_t i = 0; i < size; i++) {
            numbers[i] = from + start + i;
            keys[i] = (tamis_key){&numbers[i], sizeof numbers[i]};
        }
        status = tamis_hash_many(tamis_filter_hasher(filter), keys, size, hashes, &states_err);
        if (status == TAMIS_OK && tamis_filter_plan(filter)->kind == TAMIS_KIND_WINDOW) {
            status = add_to_window(state, hashes, from + start, size, answers);
            continue;
        }
        if (status == TAMIS_OK)
            status = tamis_filter_add_hashes(filter, hashes, size, answers, NULL, &states_err);
        for (size_t i = 0; i < size && status == TAMIS_OK; i++)
            if (answers[i] == TAMIS_ABSENT)
                hashes[absent++] = hashes[i];
        if (status == TAMIS_OK)
            status = tamis_state_log(state, hashes, absent, &states_err);
    }
    return status;
}

tamis_status states_commit(tamis_state *state, const char *checkpoint) {
    return tamis_state_commit(state, checkpoint, strlen(checkpoint), &states_err);
}

bool states_is_at(const tamis_state *state, const char *checkpoint) {
    const void *reported;
    size_t size;
    tamis_state_committed(state, &reported, &size);
    return size == strlen(checkpoint) && (size == 0 || memcmp(reported, checkpoint, size) == 0);
}

void states_encode(const tamis_state *state, test_bytes *bytes) {
    const tamis_filter *filter = tamis_state_filter((tamis_state *)(uintptr_t)state);
    uint64_t size;
    bytes_clear(bytes);
    if (tamis_filter_encoded_size(filter, TAMIS_FORMAT_TAMIS, &size, &states_err) != TAMIS_OK)
        abort();
    bytes->data = malloc((size_t)size);
    bytes->size = bytes->capacity = (size_t)size;
    if (!bytes->data ||
        tamis_filter_encode(filter, TAMIS_FORMAT_TAMIS, bytes->data, size, &states_err) != TAMIS_OK)
        abort();
}

tamis_state_info states_info(const tamis_state *state) {
    tamis_state_info info = TAMIS_STATE_INFO_INIT;
    tamis_state_info_get(state, &info);
    return info;
}

uint64_t states_keys(const tamis_state *state) {
    return states_info(state).keys;
}

static size_t descriptors;
static struct tamis__system real;

int states_set_up(void **state) {
    (void)state;
    real = tamis__sys;
    tamis__sys.sync = fault_no_sync;
    scratch_make_in_memory();
    states_err = (tamis_error)TAMIS_ERROR_INIT;
    descriptors = fault_open_descriptors();
    return 0;
}

int states_tear_down(void **state) {
    (void)state;
    tamis__sys = real;
    if (fault_open_descriptors() != descriptors) {
        fprintf(stderr, "descriptors are left open\n");
        return -1;
    }
    scratch_remove();
    return 0;
}

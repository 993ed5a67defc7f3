/* SPDX-License-Identifier: BSD-2-Clause */
#include "stored.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/file/file_lock.h"

static void must(tamis_status status, const tamis_error *err) {
    if (status == TAMIS_OK)
        return;
    fprintf(stderr, "%s\n", err->text);
    abort();
}

static tamis_filter *make(tamis_kind kind, tamis_scheme scheme, const char *secret,
                          const tamis_allocator *allocator, uint64_t from, uint64_t count) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    tamis_filter *filter;
    plan_options.kind = kind;
    plan_options.scheme = scheme;
    plan_options.expect = 2 * count;
    plan_options.fpr = kind == TAMIS_KIND_EXACT ? 0 : 1e-6;
    options.allocator = allocator;
    options.secret = secret;
    options.secret_size = secret ? 16 : 0;
    must(tamis_plan_make(&plan, &plan_options, &err), &err);
    must(tamis_filter_create(&filter, &plan, &options, &err), &err);
    for (uint64_t key = from; key < from + count; key++)
        must(tamis_filter_add(filter, &key, sizeof key, NULL, &err), &err);
    return filter;
}

tamis_filter *stored_make_scheme(tamis_kind kind, tamis_scheme scheme, uint64_t from, uint64_t count) {
    return make(kind, scheme, NULL, NULL, from, count);
}

tamis_filter *stored_make(tamis_kind kind, uint64_t from, uint64_t count) {
    return make(kind, TAMIS_SCHEME_XXH3, NULL, NULL, from, count);
}

tamis_filter *stored_make_in(const tamis_allocator *allocator, uint64_t from, uint64_t count) {
    return make(TAMIS_KIND_BLOCKED, TAMIS_SCHEME_XXH3, NULL, allocator, from, count);
}

bool stored_has(const tamis_filter *filter, uint64_t from, uint64_t count) {
    tamis_error err = TAMIS_ERROR_INIT;
    for (uint64_t key = from; key < from + count; key++) {
        tamis_answer answer;
        must(tamis_filter_contains(filter, &key, sizeof key, &answer, &err), &err);
        if (answer != TAMIS_PRESENT)
            return false;
    }
    return true;
}

tamis_status stored_save_keyed(const char *path, const char *secret, uint64_t from, tamis_error *err) {
    tamis_filter *filter = make(TAMIS_KIND_BLOCKED, TAMIS_SCHEME_SIP, secret, NULL, from, 100);
    tamis_status status = tamis_filter_save(filter, path, err);
    tamis_filter_free(filter);
    return status;
}

bool stored_leave_temp(tamis_lock *lock, const char *path) {
    tamis__target target;
    tamis__temp_file temp = {.lock = lock};
    int fd;
    if (tamis__target_find(&target, path, NULL) != TAMIS_OK ||
        tamis__temp_file_create(&temp, &target, false, &fd, NULL) != TAMIS_OK)
        return false;
    return write(fd, "half", 4) == 4 && close(fd) == 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Opening and closing a state: steps S (start) and M (make) of docs/DURABILITY.md.
 *
 *     to write     lock exclusively, find the last commit, rebuild the filter, begin a new segment
 *     to look      no lock; another process may write meanwhile, so a changed manifest means reading again
 *     to verify    shared lock, then as to look
 *
 * A directory without a manifest is used only if it is empty, or if it has just what an interrupted first
 * start leaves. Files of somebody else are never touched.
 *
 * A state without any commit, left by a run that was refused, takes the plan of the present call. A state
 * with commits keeps its plan, and refuses a call that asks for another one.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/system.h"
#include "base/versioned.h"
#include "hash/hasher.h"
#include "store/state/state_int.h"
#include "store/trouble.h"

typedef enum purpose { TO_WRITE, TO_LOOK, TO_VERIFY } purpose;

enum { LOOKS = 100 }; /* attempts to read a state that another process changes */

static void release_disk(tamis_state *state) {
    tamis__state_snapshot_leave(state);
    if (state->log.fd >= 0 && state->failed == TAMIS_OK) /* Z; a failure leaves the state as a kill would */
        (void)tamis__state_seal(state, NULL);
    tamis__state_log_close(&state->log, &state->memory);
    tamis__state_folder_close(&state->folder);
}

static void release_read(tamis_state *state) {
    tamis_filter_free(state->filter);
    state->filter = NULL;
    tamis_hasher_free(state->hasher);
    state->hasher = NULL;
    tamis__state_manifest_free(&state->memory, &state->manifest);
    tamis__state_notes_free(&state->memory, &state->notes);
}

void tamis_state_close(tamis_state *state) {
    if (!state)
        return;
    const tamis_allocator memory = state->memory;
    release_disk(state);
    release_read(state);
    tamis__state_bytes_free(&memory, &state->account);
    tamis__free(&memory, state, sizeof *state);
}

/* ---- a new state ---- */

enum { BEGINNING = 32 };

/* True if the bytes begin a log segment. Bytes lost in a power loss may be zero or missing. */
static bool is_log(const uint8_t *bytes, size_t size) {
    static const uint8_t magic[8] = STATE_LOG_MAGIC;
    for (size_t i = 0; i < size && i < sizeof magic; i++)
        if (bytes[i] != 0 && bytes[i] != magic[i])
            return false;
    return true;
}

static bool is_lock(const uint8_t *bytes, size_t size) {
    size_t digits = 0;
    while (digits < size && bytes[digits] >= '0' && bytes[digits] <= '9')
        digits++;
    const size_t left = size - digits;
    return size == 0 || bytes[0] == 0 ||
           (digits > 0 && memcmp(bytes + digits, " on ", left < 4 ? left : 4) == 0);
}

/* Sets *so if the file's first bytes are those that an interrupted start may have left. */
static tamis_status begins_as(const char *path, bool (*is)(const uint8_t *bytes, size_t size), bool *so,
                              tamis_error *err) {
    uint8_t bytes[BEGINNING];
    int fd;
    do
        fd = tamis__sys.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    while (fd < 0 && errno == EINTR);
    ssize_t size = -1;
    do
        size = fd < 0 ? -1 : tamis__sys.pread(fd, bytes, sizeof bytes, 0);
    while (fd >= 0 && size < 0 && errno == EINTR);
    const int failed = size < 0 ? errno : 0;
    if (fd >= 0)
        tamis__sys.close(fd);
    *so = size >= 0 && is(bytes, (size_t)size);
    return failed ? tamis__fail_file(err, path, failed) : TAMIS_OK;
}

/* Step M3: accepts what an interrupted first start may have left, and refuses all other files. */
static tamis_status take_left_over(void *context, const state_found *found, tamis_error *err) {
    const state_folder *folder = context;
    const char *name = found->name;
    struct stat about;
    tamis_status status = TAMIS_OK;
    bool ours = false;
    if (found->log == 1 && tamis__sys.stat(tamis__state_log_path(folder, 1).text, &about) == 0 &&
        about.st_size <= STATE_HEADER + STATE_FRAME_HEADER + STATE_COMMIT_FIXED)
        status = begins_as(tamis__state_log_path(folder, 1).text, is_log, &ours, err);
    if (strcmp(name, "lock") == 0)
        status = begins_as(tamis__state_path(folder, "lock").text, is_lock, &ours, err);
    if (ours || status != TAMIS_OK)
        return status;
    if (found->log || found->snapshot)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0, "%s: has a log but no manifest; " STATE_REMEDY,
                           tamis__show(folder->path).text);
    if (name[0] == '.' || strcmp(name, "manifest.new") == 0 || strcmp(name, "lost+found") == 0)
        return TAMIS_OK;
    return tamis__fail(
        err, TAMIS_E_FORMAT, 0,
        "%s: is no state, and has other files (%s); name a folder that is empty, or not there yet",
        tamis__show(folder->path).text, tamis__show(name).text);
}

static tamis_status check_new(const tamis_filter *filter, tamis_error *err) {
    if (tamis_scheme_digest_bits(filter->plan.scheme) == 0)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "state: scheme %s has no hash of a key to log; use another, such as xxh3",
                           tamis_scheme_name(filter->plan.scheme));
    return TAMIS_OK;
}

tamis_status tamis__state_check_about(size_t size, tamis_error *err) {
    if (size <= TAMIS_STATE_ABOUT_MAX)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_RANGE, 0, "state: about has %zu bytes, and at most %d are kept; say less",
                       size, TAMIS_STATE_ABOUT_MAX);
}

/* Fills the manifest of a new state and creates its filter. */
static tamis_status plan_new(tamis_state *state, const tamis_state_options *options, tamis_error *err) {
    state_manifest *manifest = &state->manifest;
    tamis_filter_options how = TAMIS_FILTER_OPTIONS_INIT;
    const char *about = options->about ? options->about : "";
    tamis_status status =
        tamis__take_options(&how, sizeof how, options->filter, "TAMIS_FILTER_OPTIONS_INIT", err);
    if (status == TAMIS_OK)
        status = tamis__state_check_about(strlen(about), err);
    if (status != TAMIS_OK)
        return status;
    how.allocator = &state->memory;
    if (!how.secret_size && options->secret_size) {
        how.secret = options->secret;
        how.secret_size = options->secret_size;
    }
    status = tamis_filter_create(&state->filter, options->plan, &how, err);
    if (status == TAMIS_OK)
        status = check_new(state->filter, err);
    if (status == TAMIS_OK)
        status = tamis__hasher_copy(&state->hasher, state->filter->hasher, err);
    if (status == TAMIS_OK &&
        !tamis__state_bytes_add(&state->memory, &manifest->about, about, strlen(about) + 1))
        status = tamis__fail_nomem(err, "state", strlen(about) + 1);
    if (status != TAMIS_OK)
        return status;
    manifest->next = 1;
    manifest->plan = state->filter->plan;
    manifest->seed = state->hasher->seed;
    manifest->secret_print = state->hasher->secret_print;
    manifest->overfill = how.overfill;
    manifest->frozen = how.frozen;
    return TAMIS_OK;
}

static tamis_status make_new(tamis_state *state, const tamis_state_options *options, tamis_error *err) {
    bool fatal;
    if (!options->plan)
        return tamis__fail(err, TAMIS_E_FORMAT, 0, "%s: is no state; name a folder that has one",
                           tamis__show(state->folder.path).text);
    tamis_status status =
        tamis__state_folder_list(&state->folder, take_left_over, &state->folder, err); /* M3 */
    if (status == TAMIS_OK)
        status = plan_new(state, options, err);
    return status == TAMIS_OK ? tamis__state_roll(state, 1, &fatal, err) : status; /* M4 */
}

/* ---- an existing state ---- */

static tamis_status fail_plan(const char *name, const char *field, const char *has, const char *asked,
                              tamis_error *err) {
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "%s: %s is %s, and %s was asked for; give the plan and the filter options that it was "
                       "made with, or none",
                       tamis__show(name).text, field, has, asked);
}

/* Compares an integer of the state with that of the options. */
static tamis_status compare_number(const char *name, const char *field, uint64_t has, uint64_t asked,
                                   tamis_error *err) {
    char one[24], other[24];
    snprintf(one, sizeof one, "%" PRIu64, has);
    snprintf(other, sizeof other, "%" PRIu64, asked);
    return has == asked ? TAMIS_OK : fail_plan(name, field, one, other, err);
}

/* The seed matters only under scheme xxh3. */
static tamis_status check_filter_options(const state_manifest *has, const tamis_filter_options *options,
                                         const char *name, tamis_error *err) {
    tamis_filter_options asked = TAMIS_FILTER_OPTIONS_INIT;
    tamis_status status =
        tamis__take_options(&asked, sizeof asked, options, "TAMIS_FILTER_OPTIONS_INIT", err);
    if (status == TAMIS_OK && has->plan.scheme == TAMIS_SCHEME_XXH3)
        status = compare_number(name, "seed", has->seed, asked.seed, err);
    if (status == TAMIS_OK)
        status = compare_number(name, "overfill", has->overfill, asked.overfill, err);
    return status == TAMIS_OK ? compare_number(name, "frozen", has->frozen, asked.frozen, err) : status;
}

/*
 * Compares the caller's requirements, not the bits and probes that follow from them: a later version may size
 * a filter differently, while the state keeps its promise.
 */
static tamis_status check_plan(const tamis_state *state, const tamis_state_options *options,
                               tamis_error *err) {
    const char *name = state->folder.path;
    const tamis_plan *has = &state->manifest.plan;
    tamis_plan asked = TAMIS_PLAN_INIT;
    char one[32], other[32];
    tamis_status status = tamis__take_struct(&asked, sizeof asked, options->plan, "TAMIS_PLAN_INIT", err);
    if (status != TAMIS_OK)
        return status;
    if (asked.kind != has->kind)
        return fail_plan(name, "kind", tamis_kind_name(has->kind), tamis_kind_name(asked.kind), err);
    if (asked.scheme != TAMIS_SCHEME_AUTO && asked.scheme != has->scheme)
        return fail_plan(name, "scheme", tamis_scheme_name(has->scheme), tamis_scheme_name(asked.scheme),
                         err);
    status = compare_number(name, "capacity", has->capacity, asked.capacity, err);
    if (status == TAMIS_OK && asked.fpr != has->fpr) {
        snprintf(one, sizeof one, "%.10g", has->fpr);
        snprintf(other, sizeof other, "%.10g", asked.fpr);
        return fail_plan(name, "fpr", one, other, err);
    }
    if (status == TAMIS_OK)
        status = compare_number(name, "memory_limit", has->memory_limit, asked.memory_limit, err);
    if (status == TAMIS_OK && options->filter)
        status = check_filter_options(&state->manifest, options->filter, name, err);
    return status;
}

static tamis_status make_hasher(tamis_state *state, const tamis_state_options *options, tamis_error *err) {
    const state_manifest *manifest = &state->manifest;
    const char *name = state->folder.path;
    tamis_hasher_options how = TAMIS_HASHER_OPTIONS_INIT;
    how.scheme = manifest->plan.scheme;
    how.allocator = &state->memory;
    how.seed = manifest->seed;
    how.secret = options->secret;
    how.secret_size = options->secret_size;
    if (!how.secret_size && options->filter) {
        tamis_filter_options made = TAMIS_FILTER_OPTIONS_INIT;
        tamis_status status =
            tamis__take_options(&made, sizeof made, options->filter, "TAMIS_FILTER_OPTIONS_INIT", err);
        if (status != TAMIS_OK)
            return status;
        how.secret = made.secret;
        how.secret_size = made.secret_size;
    }
    const bool keyed = how.scheme == TAMIS_SCHEME_SIP;
    if (keyed && !how.secret_size)
        return tamis__fail(err, TAMIS_E_MISMATCH, 0, "%s: was made with a secret; give that one",
                           tamis__show(name).text);
    if (!keyed && how.secret_size)
        return tamis__fail(err, TAMIS_E_MISMATCH, 0, "%s: was made without a secret; leave the secret out",
                           tamis__show(name).text);
    tamis_status status = tamis_hasher_create(&state->hasher, &how, err);
    if (status == TAMIS_OK && state->hasher->secret_print != manifest->secret_print)
        return tamis__fail(err, TAMIS_E_MISMATCH, 0, "%s: was made with another secret; give that one",
                           tamis__show(name).text);
    return status;
}

/* Replaces the plan of a state without commits, as a refused run leaves it, by that of the present
 * options. */
static tamis_status plan_anew(tamis_state *state, const tamis_state_options *options, tamis_error *err) {
    const uint64_t next = state->manifest.next, epoch = state->manifest.epoch;
    release_read(state);
    const tamis_status status = plan_new(state, options, err);
    state->manifest.next = next;
    state->manifest.epoch = epoch;
    return status;
}

/* Steps S2 to S5. */
static tamis_status read_there(tamis_state *state, const tamis_state_options *options, bool *there,
                               tamis_error *err) {
    tamis_status status = tamis__state_manifest_read(&state->folder, &state->memory, &state->manifest,
                                                     &state->notes, there, err);
    if (status == TAMIS_OK && *there)
        status = tamis__state_find_commit(state, err);
    if (status != TAMIS_OK || !*there)
        return status;
    if (state->last.number == 0 && options->plan && !state->read_only)
        return plan_anew(state, options, err);
    if (options->plan)
        status = check_plan(state, options, err);
    if (status == TAMIS_OK)
        status = make_hasher(state, options, err);
    return status == TAMIS_OK ? tamis__state_load(state, err) : status;
}

/* Reads a state while another process may replace the manifest and unlink files. Reads again if that
 * happened. */
static tamis_status read_meanwhile(tamis_state *state, const tamis_state_options *options, bool *there,
                                   tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = TAMIS_OK;
    for (int i = 0; i < LOOKS; i++) {
        const uint64_t next = state->manifest.next;
        release_read(state);
        status = read_there(state, options, there, &why);
        if (status == TAMIS_OK || (i > 0 && state->manifest.next == next))
            break;
        if (status != TAMIS_E_DAMAGED && status != TAMIS_E_IO)
            break;
    }
    return status == TAMIS_OK ? TAMIS_OK : tamis__state_tell(&why, status, err);
}

/* Checks a directory without a manifest before anything is written to it, even a lock. */
static tamis_status check_ours(const state_folder *folder, tamis_error *err) {
    const state_path manifest = tamis__state_path(folder, "manifest");
    struct stat about;
    tamis_error why = TAMIS_ERROR_INIT;
    if (tamis__sys.stat(manifest.text, &about) == 0)
        return TAMIS_OK;
    const tamis_status status = tamis__state_folder_list(folder, take_left_over, (void *)folder, &why);
    if (status == TAMIS_OK || tamis__sys.stat(manifest.text, &about) == 0) /* another start created it */
        return TAMIS_OK;
    return tamis__state_tell(&why, status, err);
}

static tamis_status open_to_write(tamis_state *state, const char *path, const tamis_state_options *options,
                                  tamis_error *err) {
    bool there, fatal;
    tamis_status status = options->plan ? tamis__state_folder_make(&state->folder, path, err)
                                        : tamis__state_folder_open(&state->folder, path, err);
    if (status == TAMIS_OK)
        status = check_ours(&state->folder, err);
    if (status == TAMIS_OK)
        status = tamis__state_folder_lock(&state->folder, true, err); /* S1 */
    if (status == TAMIS_OK)
        status = read_there(state, options, &there, err);
    if (status != TAMIS_OK)
        return status;
    if (there)
        status = tamis__state_roll(state, state->manifest.epoch + 1, &fatal, err); /* S6 */
    else
        status = make_new(state, options, err);
    if (status == TAMIS_OK)
        tamis__state_sweep(state); /* S7 */
    return status;
}

static tamis_status open_to_look(tamis_state *state, const char *path, const tamis_state_options *options,
                                 purpose to, tamis_error *err) {
    bool there;
    tamis_status status = tamis__state_folder_open(&state->folder, path, err);
    if (status == TAMIS_OK && to == TO_VERIFY)
        status = tamis__state_folder_lock(&state->folder, false, err);
    if (status == TAMIS_OK)
        status = read_meanwhile(state, options, &there, err);
    if (status != TAMIS_OK || there)
        return status;
    tamis_error why = TAMIS_ERROR_INIT;
    status = check_ours(&state->folder, &why);
    if (status != TAMIS_OK && status != TAMIS_E_FORMAT) /* for example a state that has lost its manifest */
        return tamis__state_tell(&why, status, err);
    return tamis__fail(err, TAMIS_E_FORMAT, 0,
                       "%s: is not the folder of a state: it has no manifest; name a folder that has one",
                       tamis__show(state->folder.path).text);
}

static tamis_status open_state(tamis_state **state, const char *path, const tamis_state_options *given,
                               purpose to, tamis_error *err) {
    tamis_state_options options = TAMIS_STATE_OPTIONS_INIT;
    tamis_status status =
        tamis__take_options(&options, sizeof options, given, "TAMIS_STATE_OPTIONS_INIT", err);
    tamis_filter_options filter = TAMIS_FILTER_OPTIONS_INIT;
    if (status == TAMIS_OK)
        status =
            tamis__take_options(&filter, sizeof filter, options.filter, "TAMIS_FILTER_OPTIONS_INIT", err);
    if (status != TAMIS_OK)
        return status;
    if (!state || !path)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "state: no folder, or no place for the state; give both");
    if (to == TO_WRITE && options.read_only)
        to = TO_LOOK;
    const tamis_allocator memory = tamis__allocator_resolve(options.allocator);
    tamis_state *made = tamis__alloc(&memory, sizeof *made, _Alignof(tamis_state));
    if (!made)
        return tamis__fail_nomem(err, "state", sizeof *made);
    made->memory = memory;
    made->folder.fd = made->folder.lock_fd = made->log.fd = -1;
    made->read_only = to != TO_WRITE;
    made->concurrent = filter.concurrent && to == TO_WRITE;
    status = to == TO_WRITE ? open_to_write(made, path, &options, err)
                            : open_to_look(made, path, &options, to, err);
    if (status == TAMIS_OK)
        *state = made;
    else
        tamis_state_close(made);
    return status;
}

tamis_status tamis_state_open(tamis_state **state, const char *folder, const tamis_state_options *options,
                              tamis_error *err) {
    TAMIS__NEED(state, err);
    TAMIS__NEED(folder, err);
    return open_state(state, folder, options, TO_WRITE, err);
}

tamis_status tamis_state_verify(const char *folder, const tamis_state_options *options, tamis_error *err) {
    TAMIS__NEED(folder, err);
    tamis_state *state;
    tamis_status status = open_state(&state, folder, options, TO_VERIFY, err);
    if (status == TAMIS_OK)
        tamis_state_close(state);
    return status;
}

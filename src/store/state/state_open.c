/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Opening and closing a state: steps S (start) and M (make) of docs/DURABILITY.md.
 *
 *     to write     lock exclusively, find the last commit, rebuild the filter, begin a new segment
 *     to read      no lock; another process may write meanwhile, so a changed manifest means reading again
 *     to verify    shared lock, then as to read
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
#include "store/file/file_error.h"
#include "store/state/state_int.h"

typedef enum purpose { TO_WRITE, TO_READ, TO_VERIFY } purpose;

enum { READ_TRIES = 100 }; /* attempts to read a state that another process changes */

static void release_disk(tamis_state *state) {
    tamis__state_snapshot_abandon(state);
    if (state->log.fd >= 0 && state->failed == TAMIS_OK) /* Z; a failure leaves the state as a kill would */
        (void)tamis__state_seal(state, NULL);
    tamis__state_log_close(&state->log);
    tamis__state_directory_close(&state->directory);
}

static void release_read(tamis_state *state) {
    tamis_filter_free(state->filter);
    state->filter = NULL;
    tamis_hasher_free(state->hasher);
    state->hasher = NULL;
    tamis__state_manifest_release(&state->manifest, &state->memory);
    tamis__state_notes_free(&state->memory, &state->notes);
}

void tamis_state_close(tamis_state *state) {
    if (!state)
        return;
    const tamis_allocator memory = state->memory;
    release_disk(state);
    release_read(state);
    tamis__state_bytes_free(&memory, &state->checkpoint);
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

/* Sets *so if an interrupted start may have left the file's first bytes. */
static tamis_status begins_as(const char *path, bool (*rest)(const uint8_t *bytes, size_t size), bool *so,
                              tamis_error *err) {
    uint8_t bytes[BEGINNING];
    const int fd = tamis__open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    ssize_t size = -1;
    do
        size = fd < 0 ? -1 : tamis__sys.pread(fd, bytes, sizeof bytes, 0);
    while (fd >= 0 && size < 0 && errno == EINTR);
    const int failed = size < 0 ? errno : 0;
    if (fd >= 0)
        tamis__sys.close(fd);
    *so = size >= 0 && rest(bytes, (size_t)size);
    return failed ? tamis__fail_file(err, path, failed) : TAMIS_OK;
}

/* Step M3: accepts what an interrupted first start may have left, and refuses all other files. */
static tamis_status check_left_over(void *context, const state_found *found, tamis_error *err) {
    const state_directory *directory = context;
    const char *name = found->name;
    struct stat st;
    tamis_status status = TAMIS_OK;
    bool ours = false;
    if (found->log == 1 && tamis__sys.stat(tamis__state_log_path(directory, 1).text, &st) == 0 &&
        st.st_size <= STATE_HEADER + STATE_FRAME_HEADER + STATE_COMMIT_FIXED)
        status = begins_as(tamis__state_log_path(directory, 1).text, is_log, &ours, err);
    if (strcmp(name, "lock") == 0)
        status = begins_as(tamis__state_path(directory, "lock").text, is_lock, &ours, err);
    if (ours || status != TAMIS_OK)
        return status;
    if (found->log || found->snapshot)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0, "%s: has a log but no manifest; " STATE_REMEDY,
                           tamis__show(directory->path).text);
    if (name[0] == '.' || strcmp(name, "manifest.new") == 0 || strcmp(name, "lost+found") == 0)
        return TAMIS_OK;
    return tamis__fail(
        err, TAMIS_E_FORMAT, 0,
        "%s: is not a state, and has other files (%s); name a directory that is empty or does not exist",
        tamis__show(directory->path).text, tamis__show(name).text);
}

static tamis_status check_new(const tamis_filter *filter, tamis_error *err) {
    if (tamis_scheme_digest_bits(filter->plan.scheme) == 0)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "state: scheme %s has no hash of a key to log; use another, such as xxh3",
                           tamis_scheme_name(filter->plan.scheme));
    if (tamis__filter_can_count(filter))
        return tamis__fail(
            err, TAMIS_E_UNSUPPORTED, 0,
            "state: kind %s counts a key again each time it comes; use kind fingerprint, or exact "
            "to forget keys",
            tamis_kind_name(filter->plan.kind));
    return TAMIS_OK;
}

tamis_status tamis__state_check_metadata_size(size_t size, tamis_error *err) {
    if (size <= TAMIS_STATE_METADATA_MAX)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_RANGE, 0,
                       "state: metadata of %zu bytes exceeds the limit of %d; make it shorter", size,
                       TAMIS_STATE_METADATA_MAX);
}

/* Fills the manifest of a new state and creates its filter. */
static tamis_status plan_new(tamis_state *state, const tamis_state_options *options, tamis_error *err) {
    state_manifest *manifest = &state->manifest;
    tamis_filter_options how = TAMIS_FILTER_OPTIONS_INIT;
    const char *metadata = options->metadata ? options->metadata : "";
    tamis_status status =
        tamis__read_options(&how, sizeof how, options->filter, "TAMIS_FILTER_OPTIONS_INIT", err);
    if (status == TAMIS_OK)
        status = tamis__state_check_metadata_size(strlen(metadata), err);
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
        state->filter->add_only = true;
    if (status == TAMIS_OK)
        status = tamis__hasher_copy(&state->hasher, state->filter->hasher, err);
    if (status == TAMIS_OK &&
        !tamis__state_bytes_add(&state->memory, &manifest->metadata, metadata, strlen(metadata) + 1))
        status = tamis__fail_nomem(err, "state", strlen(metadata) + 1);
    if (status != TAMIS_OK)
        return status;
    manifest->next = 1;
    manifest->plan = state->filter->plan;
    manifest->seed = state->hasher->seed;
    manifest->secret_fingerprint = state->hasher->secret_fingerprint;
    manifest->allow_over_capacity = how.allow_over_capacity;
    manifest->frozen = how.frozen;
    return TAMIS_OK;
}

static bool has_manifest(const state_directory *directory) {
    struct stat st;
    return tamis__sys.stat(tamis__state_path(directory, "manifest").text, &st) == 0;
}

static tamis_status fail_no_manifest(const state_directory *directory, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_FORMAT, 0,
                       "%s: is not the directory of a state: it has no manifest; name the directory of one",
                       tamis__show(directory->path).text);
}

static tamis_status make_new(tamis_state *state, const tamis_state_options *options, tamis_error *err) {
    bool fatal;
    if (!options->plan)
        return fail_no_manifest(&state->directory, err);
    tamis_status status =
        tamis__state_directory_list(&state->directory, check_left_over, &state->directory, err); /* M3 */
    if (status == TAMIS_OK)
        status = plan_new(state, options, err);
    return status == TAMIS_OK ? tamis__state_roll(state, 1, &fatal, err) : status; /* M4 */
}

/* ---- an existing state ---- */

static tamis_status fail_plan(const char *name, const char *field, const char *has, const char *given_plan,
                              tamis_error *err) {
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "%s: %s is %s, and %s was asked for; give the plan and the filter options that it was "
                       "made with, or none",
                       tamis__show(name).text, field, has, given_plan);
}

/* Compares an integer of the state with that of the options. */
static tamis_status compare_number(const char *name, const char *field, uint64_t has, uint64_t given_plan,
                                   tamis_error *err) {
    char has_text[24], expected_text[24];
    snprintf(has_text, sizeof has_text, "%" PRIu64, has);
    snprintf(expected_text, sizeof expected_text, "%" PRIu64, given_plan);
    return has == given_plan ? TAMIS_OK : fail_plan(name, field, has_text, expected_text, err);
}

/* The seed matters only under scheme xxh3. */
static tamis_status check_filter_options(const state_manifest *has, const tamis_filter_options *options,
                                         const char *name, tamis_error *err) {
    tamis_filter_options given_plan = TAMIS_FILTER_OPTIONS_INIT;
    tamis_status status =
        tamis__read_options(&given_plan, sizeof given_plan, options, "TAMIS_FILTER_OPTIONS_INIT", err);
    if (status == TAMIS_OK && has->plan.scheme == TAMIS_SCHEME_XXH3)
        status = compare_number(name, "seed", has->seed, given_plan.seed, err);
    if (status == TAMIS_OK)
        status = compare_number(name, "allow_over_capacity", has->allow_over_capacity,
                                given_plan.allow_over_capacity, err);
    return status == TAMIS_OK ? compare_number(name, "frozen", has->frozen, given_plan.frozen, err) : status;
}

/*
 * Compares the caller's requirements, not the bits and probes that follow from them. A later version may size
 * a filter differently, while the state keeps its promise.
 */
static tamis_status check_plan(const tamis_state *state, const tamis_state_options *options,
                               tamis_error *err) {
    const char *name = state->directory.path;
    const tamis_plan *has = &state->manifest.plan;
    tamis_plan given_plan = TAMIS_PLAN_INIT;
    char has_text[32], expected_text[32];
    tamis_status status =
        tamis__read_struct(&given_plan, sizeof given_plan, options->plan, "TAMIS_PLAN_INIT", err);
    if (status != TAMIS_OK)
        return status;
    if (given_plan.kind != has->kind)
        return fail_plan(name, "kind", tamis_kind_name(has->kind), tamis_kind_name(given_plan.kind), err);
    if (given_plan.scheme != TAMIS_SCHEME_AUTO && given_plan.scheme != has->scheme)
        return fail_plan(name, "scheme", tamis_scheme_name(has->scheme), tamis_scheme_name(given_plan.scheme),
                         err);
    status = compare_number(name, "capacity", has->capacity, given_plan.capacity, err);
    if (status == TAMIS_OK)
        status = compare_number(name, "target", has->target, given_plan.target, err);
    if (status == TAMIS_OK && given_plan.fpr != has->fpr) {
        snprintf(has_text, sizeof has_text, "%.10g", has->fpr);
        snprintf(expected_text, sizeof expected_text, "%.10g", given_plan.fpr);
        return fail_plan(name, "fpr", has_text, expected_text, err);
    }
    if (status == TAMIS_OK)
        status = compare_number(name, "memory_limit", has->memory_limit, given_plan.memory_limit, err);
    if (status == TAMIS_OK)
        status = compare_number(name, "window", has->window, given_plan.window, err);
    if (status == TAMIS_OK)
        status = compare_number(name, "step", has->step, given_plan.step, err);
    if (status == TAMIS_OK)
        status = compare_number(name, "lateness", has->lateness, given_plan.lateness, err);
    if (status == TAMIS_OK)
        status = compare_number(name, "refresh", has->refresh, given_plan.refresh, err);
    if (status == TAMIS_OK && options->filter)
        status = check_filter_options(&state->manifest, options->filter, name, err);
    return status;
}

static tamis_status make_hasher(tamis_state *state, const tamis_state_options *options, tamis_error *err) {
    const state_manifest *manifest = &state->manifest;
    const char *name = state->directory.path;
    tamis_hasher_options how = TAMIS_HASHER_OPTIONS_INIT;
    how.scheme = manifest->plan.scheme;
    how.allocator = &state->memory;
    how.seed = manifest->seed;
    how.secret = options->secret;
    how.secret_size = options->secret_size;
    if (!how.secret_size && options->filter) {
        tamis_filter_options created = TAMIS_FILTER_OPTIONS_INIT;
        tamis_status status =
            tamis__read_options(&created, sizeof created, options->filter, "TAMIS_FILTER_OPTIONS_INIT", err);
        if (status != TAMIS_OK)
            return status;
        how.secret = created.secret;
        how.secret_size = created.secret_size;
    }
    const bool keyed = how.scheme == TAMIS_SCHEME_SIP;
    if (keyed && !how.secret_size)
        return tamis__fail(err, TAMIS_E_SECRET, 0, "%s: was made with a secret; give that one",
                           tamis__show(name).text);
    if (!keyed && how.secret_size)
        return tamis__fail(err, TAMIS_E_MISMATCH, 0, "%s: was made without a secret; leave the secret out",
                           tamis__show(name).text);
    const tamis_status status = tamis_hasher_create(&state->hasher, &how, err);
    if (status == TAMIS_OK && state->hasher->secret_fingerprint != manifest->secret_fingerprint)
        return tamis__fail(err, TAMIS_E_SECRET, 0, "%s: was made with another secret; give that one",
                           tamis__show(name).text);
    return status;
}

/* Replaces the plan of a state without commits, as a refused run leaves it, by that of the present
 * options. */
static tamis_status plan_again(tamis_state *state, const tamis_state_options *options, tamis_error *err) {
    const uint64_t next = state->manifest.next, epoch = state->manifest.epoch;
    release_read(state);
    const tamis_status status = plan_new(state, options, err);
    state->manifest.next = next;
    state->manifest.epoch = epoch;
    return status;
}

/* Steps S2 to S5. */
static tamis_status read_existing(tamis_state *state, const tamis_state_options *options, bool *exists,
                                  tamis_error *err) {
    tamis_status status = tamis__state_manifest_read(state, exists, err);
    if (status == TAMIS_OK && *exists)
        status = tamis__state_find_commit(state, err);
    if (status != TAMIS_OK || !*exists)
        return status;
    if (state->last.number == 0 && options->plan && !state->read_only)
        return plan_again(state, options, err);
    if (options->plan)
        status = check_plan(state, options, err);
    if (status == TAMIS_OK)
        status = make_hasher(state, options, err);
    return status == TAMIS_OK ? tamis__state_load(state, err) : status;
}

/* Reads a state while another process may replace the manifest and unlink files. Reads again if that
 * happened. */
static tamis_status read_meanwhile(tamis_state *state, const tamis_state_options *options, bool *exists,
                                   tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = TAMIS_OK;
    for (int i = 0; i < READ_TRIES; i++) {
        const uint64_t next = state->manifest.next;
        release_read(state);
        status = read_existing(state, options, exists, &why);
        if (status == TAMIS_OK || (i > 0 && state->manifest.next == next))
            break;
        if (status != TAMIS_E_DAMAGED && status != TAMIS_E_IO)
            break;
    }
    return status == TAMIS_OK ? TAMIS_OK : tamis__state_report(&why, status, err);
}

/* Checks a directory without a manifest before anything is written to it, even a lock. */
static tamis_status check_ours(const state_directory *directory, tamis_error *err) {
    const state_path manifest = tamis__state_path(directory, "manifest");
    struct stat st;
    tamis_error why = TAMIS_ERROR_INIT;
    if (tamis__sys.stat(manifest.text, &st) == 0)
        return TAMIS_OK;
    const tamis_status status =
        tamis__state_directory_list(directory, check_left_over, (void *)directory, &why);
    if (status == TAMIS_OK || tamis__sys.stat(manifest.text, &st) == 0) /* another start created it */
        return TAMIS_OK;
    return tamis__state_report(&why, status, err);
}

static tamis_status open_to_write(tamis_state *state, const char *path, const tamis_state_options *options,
                                  tamis_error *err) {
    bool exists, fatal;
    tamis_status status = options->plan ? tamis__state_directory_create(&state->directory, path, err)
                                        : tamis__state_directory_open(&state->directory, path, err);
    if (status == TAMIS_OK)
        status = check_ours(&state->directory, err);
    if (status == TAMIS_OK && !options->plan && !has_manifest(&state->directory))
        status = fail_no_manifest(&state->directory, err);
    if (status == TAMIS_OK)
        status = tamis__state_directory_lock(&state->directory, true, err); /* S1 */
    if (status == TAMIS_OK)
        status = read_existing(state, options, &exists, err);
    if (status != TAMIS_OK)
        return status;
    if (exists)
        status = tamis__state_roll(state, state->manifest.epoch + 1, &fatal, err); /* S6 */
    else
        status = make_new(state, options, err);
    if (status == TAMIS_OK)
        (void)tamis__state_sweep(state, NULL); /* S7 */
    return status;
}

static tamis_status open_to_read(tamis_state *state, const char *path, const tamis_state_options *options,
                                 purpose to, tamis_error *err) {
    bool exists;
    tamis_status status = tamis__state_directory_open(&state->directory, path, err);
    if (status == TAMIS_OK && to == TO_VERIFY)
        status = tamis__state_directory_lock(&state->directory, false, err);
    if (status == TAMIS_OK)
        status = read_meanwhile(state, options, &exists, err);
    if (status != TAMIS_OK || exists)
        return status;
    tamis_error why = TAMIS_ERROR_INIT;
    status = check_ours(&state->directory, &why);
    if (status != TAMIS_OK && status != TAMIS_E_FORMAT) /* for example a state that has lost its manifest */
        return tamis__state_report(&why, status, err);
    return fail_no_manifest(&state->directory, err);
}

static tamis_status open_state(tamis_state **state, const char *path, const tamis_state_options *given,
                               purpose to, tamis_error *err) {
    tamis_state_options options = TAMIS_STATE_OPTIONS_INIT;
    tamis_status status =
        tamis__read_options(&options, sizeof options, given, "TAMIS_STATE_OPTIONS_INIT", err);
    tamis_filter_options filter = TAMIS_FILTER_OPTIONS_INIT;
    if (status == TAMIS_OK)
        status =
            tamis__read_options(&filter, sizeof filter, options.filter, "TAMIS_FILTER_OPTIONS_INIT", err);
    if (status != TAMIS_OK)
        return status;
    if (!state || !path)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "state: no directory, or no pointer for the state; give both");
    if (to == TO_WRITE && options.read_only)
        to = TO_READ;
    const tamis_allocator memory = tamis__allocator_resolve(options.allocator);
    tamis_state *created = tamis__alloc(&memory, sizeof *created, _Alignof(tamis_state));
    if (!created)
        return tamis__fail_nomem(err, "state", sizeof *created);
    created->memory = memory;
    created->directory.fd = created->directory.lock_fd = created->log.fd = -1;
    created->read_only = to != TO_WRITE;
    created->concurrent = filter.concurrent && to == TO_WRITE;
    status = to == TO_WRITE ? open_to_write(created, path, &options, err)
                            : open_to_read(created, path, &options, to, err);
    if (status == TAMIS_OK)
        *state = created;
    else
        tamis_state_close(created);
    return status;
}

tamis_status tamis_state_open(tamis_state **state, const char *directory, const tamis_state_options *options,
                              tamis_error *err) {
    TAMIS__NEED(state, err);
    TAMIS__NEED(directory, err);
    return open_state(state, directory, options, TO_WRITE, err);
}

tamis_status tamis_state_verify(const char *directory, const tamis_state_options *options, tamis_error *err) {
    TAMIS__NEED(directory, err);
    tamis_state *state;
    const tamis_status status = open_state(&state, directory, options, TO_VERIFY, err);
    if (status == TAMIS_OK)
        tamis_state_close(state);
    return status;
}

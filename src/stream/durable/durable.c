/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commits of a durable run: steps K3 and K4 of docs/DURABILITY.md. durable_begin.c has its beginning.
 *
 *     tamis__durable_opened           W1   the reader has opened an input: is it the file that is known?
 *     tamis__durable_commit           K3   fingerprints of inputs and outputs, compared with the last ones
 *                                     K4   commit of the state
 *
 *     fingerprint in the checkpoint   of the bytes in front of the committed position
 *     observed                        of the longest beginning of the file that was seen; it must stay
 *
 * Invariant: `live` covers only records that are written (resumable.c moves its positions). So a commit never
 * covers more than the outputs have.
 */
#include "stream/durable/durable_int.h"

#include <stdio.h>

#include "base/system.h"
#include "service/dedup/dedup_commits.h"
#include "store/file/file_error.h"
#include "store/state/state_stats.h"

enum { OUTPUTS = TAMIS__DURABLE_OUTPUTS };

tamis_status tamis__durable_open_input(tamis__durable *d, size_t i, tamis_error *err) {
    tamis__input_close(&d->input);
    d->fingerprinted = i;
    const tamis_status status = tamis__input_open_regular(&d->input, d->names[i], err);
    /* The position of a borrowed descriptor is the start of the input only until the input is read. */
    if (d->input.borrowed && d->live.inputs[i].based)
        d->input.file.base = d->live.inputs[i].base;
    d->live.inputs[i].base = d->input.file.base;
    d->live.inputs[i].based = status == TAMIS_OK;
    return status;
}

void tamis__durable_remark(const tamis__durable *d, const char *message, bool loss) {
    if (d->commits->remark && message[0])
        d->commits->remark(d->commits->callback_context, message, loss);
}

static tamis_status fail_replaced(const char *name, tamis_error *err) {
    return tamis__fail(
        err, TAMIS_E_CHANGED, 0,
        "%s: replaced or removed during the run; restore the file under this name, and run again",
        tamis__show(name).text);
}

tamis_status tamis__durable_check_named(const tamis__durable *d, tamis_error *err) {
    for (size_t i = 0; d->followed && i < d->followed->count; i++) {
        struct stat st = {.st_ino = 0};
        (void)tamis__sys.stat(d->names[i], &st); /* no file: inode 0 */
        if (!tamis__followed_check(d->followed, i, st.st_dev, st.st_ino))
            return fail_replaced(tamis__input_name(d->names[i]), err);
    }
    return TAMIS_OK;
}

/* Reports, once, which bytes of the outputs were kept or cut off. */
static void report_kept(tamis__durable *d) {
    for (int i = 0; i < OUTPUTS; i++) {
        tamis__durable_remark(d, d->outputs[i].remark_text, true);
        d->outputs[i].remark_text[0] = '\0';
    }
}

void tamis__durable_end(tamis__durable *d) {
    if (!d->commits)
        return;
    report_kept(d); /* by a run that failed before its first commit */
    tamis__input_close(&d->input);
    for (int i = 0; i < OUTPUTS; i++)
        tamis__appended_output_close(&d->outputs[i]);
    tamis__checkpoint_release(&d->live);
}

void tamis__durable_failed(tamis__durable *d) {
    if (d->continued || d->closed_others || d->finished || d->commits_made != 1 ||
        !tamis__dedup_is_committed(d->session))
        return;
    d->live.closed = true;
    (void)tamis__durable_commit(d, NULL);
}

tamis_status tamis__durable_expect(tamis__durable *d, uint64_t more, tamis_error *err) {
    return d->continued ? TAMIS_OK : tamis_state_expect(tamis__dedup_state(d->session), more, err);
}

/* Fails unless the open file still has the known bytes of input `i`. */
static tamis_status check_content(const tamis__durable *d, size_t i, const tamis__open_file *file,
                                  const struct stat *st, tamis_error *err) {
    const tamis__checkpoint_input *in = &d->live.inputs[i];
    tamis__file_match match;
    const tamis_status status = tamis__file_fingerprint_compare(&in->observed, file, true, &match, err);
    if (status != TAMIS_OK)
        return status;
    if (match == TAMIS__FILE_SAME &&
        (!in->compressed || (uint64_t)(st->st_size - in->base) == in->observed.length))
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_CHANGED, 0,
                       "%s: changed, shortened or replaced during the run, so bytes that were read are gone; "
                       "restore the file, "
                       "and run again",
                       tamis__show(file->name).text);
}

/* Reports it if the open file is not the one that the run found under the name of input `i` when it began.
 * That file was not read. */
static tamis_status report_replaced(const tamis__durable *d, size_t i, const tamis__open_file *file,
                                    tamis_error *err) {
    const tamis__checkpoint_input *in = &d->live.inputs[i];
    char message[300];
    tamis__file_match match;
    const tamis_status status = tamis__file_fingerprint_compare(&in->fingerprint, file, true, &match, err);
    if (status != TAMIS_OK || (match == TAMIS__FILE_SAME && in->fingerprint.inode == in->inode &&
                               in->fingerprint.device == in->device))
        return status;
    snprintf(message, sizeof message,
             "%s: replaced or changed since the run began; what it had then was not read",
             tamis__show(file->name).text);
    tamis__durable_remark(d, message, true);
    return TAMIS_OK;
}

tamis_status tamis__durable_opened(tamis__durable *d, size_t i, int fd, const struct stat *st,
                                   tamis_error *err) {
    tamis__checkpoint_input *in = &d->live.inputs[i];
    const char *name = tamis__input_name(d->names[i]);
    const tamis__open_file file = {.fd = fd, .base = in->base, .name = name};
    in->device = (uint64_t)st->st_dev;
    in->inode = (uint64_t)st->st_ino;
    if (!in->regular)
        return TAMIS_OK;
    if (d->followed && !tamis__followed_check(d->followed, i, st->st_dev, st->st_ino))
        return fail_replaced(name, err);
    in->fd = fd; /* a followed file may have lost its name by the next commit */
    if (!S_ISREG(st->st_mode))
        return fail_replaced(name, err);
    if (in->observed.length > 0)
        return check_content(d, i, &file, st, err);
    const tamis_status status = report_replaced(d, i, &file, err);
    if (status != TAMIS_OK)
        return status;
    /* Fingerprinted now, so that a file that is rewritten before the first commit is noticed. */
    const uint64_t size = st->st_size > in->base ? (uint64_t)(st->st_size - in->base) : 0;
    return tamis__file_fingerprint_compute(
        &in->observed, &file, size < TAMIS__FILE_FINGERPRINT_BYTES ? size : TAMIS__FILE_FINGERPRINT_BYTES,
        err);
}

/* Fingerprints the read bytes of an input, open as `fd`, for the next commit. Fails if the file was replaced
 * or changed. */
static tamis_status fingerprint_input(tamis__durable *d, size_t i, int fd, tamis_error *err) {
    tamis__checkpoint_input *in = &d->live.inputs[i];
    const char *name = tamis__input_name(d->names[i]);
    const tamis__open_file file = {.fd = fd, .base = in->base, .name = name};
    struct stat st;
    tamis__file_fingerprint now;
    if (fd < 0 || tamis__sys.fstat(fd, &st) < 0 ||
        (d->followed && !tamis__followed_check(d->followed, i, st.st_dev, st.st_ino)))
        return fail_replaced(name, err);
    /* It must be the file that the reader has opened, if it has opened one. */
    if (in->inode != 0 && ((uint64_t)st.st_ino != in->inode || (uint64_t)st.st_dev != in->device))
        return fail_replaced(name, err);
    tamis_status status = tamis__file_fingerprint_compute(
        &now, &file, in->compressed ? in->fingerprint.length : in->position.offset, err);
    if (status == TAMIS_OK) /* after the fingerprint, which then covers unchanged bytes */
        status = check_content(d, i, &file, &st, err);
    in->truncated = d->followed && status == TAMIS_E_CHANGED;
    if (status != TAMIS_OK)
        return status;
    in->fingerprint = now;
    if (now.length >= in->observed.length)
        in->observed = now;
    return TAMIS_OK;
}

/* Fingerprints the followed inputs that were read since the last commit. */
static tamis_status fingerprint_followed(tamis__durable *d, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < d->live.input_count && status == TAMIS_OK; i++) {
        const tamis__checkpoint_input *in = &d->live.inputs[i];
        const bool opened = in->inode != 0;
        if (!in->regular || in->truncated || in->position.offset == in->committed.offset)
            continue;
        if (!opened)
            status = tamis__durable_open_input(d, i, err);
        if (status == TAMIS_OK)
            status = fingerprint_input(d, i, opened ? in->fd : d->input.file.fd, err);
    }
    return status;
}

tamis_status tamis__durable_fingerprint(tamis__durable *d, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    if (d->followed)
        return fingerprint_followed(d, err);
    for (size_t i = d->fingerprinted; status == TAMIS_OK && i <= d->live.input && i < d->live.input_count;
         i++) {
        const tamis__checkpoint_input *in = &d->live.inputs[i];
        if (!in->regular || in->skipped || (in->position.offset == 0 && !in->compressed))
            continue; /* the fingerprint of an earlier run holds, or nothing was read */
        if (d->input.file.fd < 0 || d->fingerprinted != i)
            status = tamis__durable_open_input(d, i, err);
        if (status == TAMIS_OK)
            status = fingerprint_input(d, i, d->input.file.fd, err);
    }
    return status;
}

tamis_status tamis__durable_report_positions(tamis__durable *d, tamis_error *err) {
    tamis__source_positions *positions = &d->live.positions;
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < positions->written_count && d->commits->on_position && status == TAMIS_OK; i++) {
        tamis__source_entry *source = &positions->sources[i];
        if (!source->is_unreported)
            continue;
        status =
            d->commits->on_position(d->commits->callback_context, (tamis_key){source->name, source->size},
                                    source->written.position, err);
        source->is_unreported = status != TAMIS_OK;
    }
    return status;
}

tamis_status tamis__durable_commit_live(tamis__durable *d, tamis_error *err) {
    unsigned char *bytes;
    size_t size;
    tamis_status status = TAMIS_OK;
    for (int i = 0; i < OUTPUTS && status == TAMIS_OK; i++)
        status =
            tamis__appended_output_fingerprint(&d->outputs[i], &d->live.outputs[i], d->live.finished, err);
    if (status == TAMIS_OK)
        status = tamis__checkpoint_encode(&d->live, &bytes, &size, err);
    if (status != TAMIS_OK)
        return status;
    status = tamis__state_commit(tamis__dedup_state(d->session), bytes, size, err);
    d->commits_made += status == TAMIS_OK;
    report_kept(d);
    tamis__free(&d->memory, bytes, size);
    return status;
}

tamis_status tamis__durable_commit(tamis__durable *d, tamis_error *err) {
    const tamis_status status = tamis__durable_fingerprint(d, err); /* K3 */
    return status == TAMIS_OK ? tamis__durable_commit_live(d, err) : status;
}

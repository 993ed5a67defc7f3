/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Outputs of a durable run: steps B3 to B5 and K3 of docs/DURABILITY.md. A regular file keeps what earlier
 * runs and commits have written, and grows at its end.
 *
 *     0                     last commit                    end
 *     +---------------------+------------------------------+
 *     | committed bytes     | uncommitted bytes            |
 *     +---------------------+------------------------------+
 *       checked at each       copied to OUT.tail-AT or OUT.kept-AT,
 *       start and commit      then cut off
 *
 *     B3    lock, open, compare with what is known
 *     B4    copy the uncommitted bytes, sync the copy and its directory, cut the output back
 *     B5    sync the output and its directory; only then append
 *     K3    fingerprint what is there now; then compare with the bytes known before
 *
 * Invariants:
 * 1. The output is cut back only if its uncommitted bytes are in a synced copy. An incomplete copy is made
 *    again: the output still has all bytes.
 * 2. Bytes are appended only after the cut is synced. Otherwise a loss of power could bring old bytes back
 *    among new ones.
 * 3. A commit covers an output only if its path is still that of the open file, and the file has exactly the
 *    written length.
 * 4. No byte of another program is overwritten: every write goes to the end of the file (O_APPEND), wherever
 *    that is by then. If another program has appended, the length differs, and invariant 3 ends the run.
 *
 * There may be uncommitted bytes only if the last run that wrote the file had not finished. In all other
 * cases somebody else appended to it, and the run is refused.
 */
#include "stream/durable/appended_output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/system.h"
#include "store/file/file_error.h"

void tamis__appended_output_init(tamis__appended_output *output, int number, tamis__target *target) {
    *output =
        (tamis__appended_output){.target = target, .number = number, .fd = -1, .uncommitted = {.fd = -1}};
}

/* ---- form and name ---- */

/* True for /dev/null. It counts as no output: there is nothing to cut back. */
static bool is_null(const struct stat *st) {
    return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
}

static tamis_status name_file(const tamis__target *target, tamis__checkpoint *checkpoint,
                              tamis__checkpoint_output *out, tamis_error *err) {
    char directory[PATH_MAX], path[2 * PATH_MAX];
    const char *base = tamis__path_split(target->path, directory);
    char *real = realpath(directory, NULL);
    if (!real)
        return tamis__fail_file(err, target->name, errno);
    snprintf(path, sizeof path, "%s/%s", strcmp(real, "/") == 0 ? "" : real, base);
    free(real);
    out->form = TAMIS__OUTPUT_FILE;
    if (target->form == TAMIS__TARGET_REPLACE) {
        out->fingerprint.device = (uint64_t)target->st.st_dev;
        out->fingerprint.inode = (uint64_t)target->st.st_ino;
    }
    out->path = tamis__checkpoint_copy_text(checkpoint, path);
    return out->path ? TAMIS_OK : tamis__fail_nomem(err, "checkpoint of a run", strlen(path));
}

tamis_status tamis__appended_output_find(const tamis__appended_output *output, tamis__checkpoint *checkpoint,
                                         const char **inexact, tamis_error *err) {
    const tamis__target *target = output->target;
    tamis__checkpoint_output *out = &checkpoint->outputs[output->number];
    if (target->form == TAMIS__TARGET_NEW || target->form == TAMIS__TARGET_REPLACE)
        return name_file(target, checkpoint, out, err);
    if (target->form == TAMIS__TARGET_DESCRIPTOR && S_ISREG(target->st.st_mode))
        return tamis__fail(
            err, TAMIS_E_UNSUPPORTED, 0,
            "%s: is a regular file that is open already, and whoever opens it at a restart may truncate it; "
            "give the output by its name",
            tamis__show(target->name).text);
    if (target->form != TAMIS__TARGET_NONE && !is_null(&target->st)) {
        out->form = TAMIS__OUTPUT_STREAM;
        if (!*inexact)
            *inexact = target->name;
    }
    return TAMIS_OK;
}

/* ---- opening and cutting back ---- */

static tamis_status fail_output(const tamis__appended_output *o, const char *why, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_CHANGED, 0, "%s: %s", tamis__show(o->target->name).text, why);
}

static tamis_status fail_length(const tamis__appended_output *o, bool shorter, uint64_t length,
                                tamis_error *err) {
    return tamis__fail(err, TAMIS_E_CHANGED, 0, "%s: is %s than the %" PRIu64 " bytes it was left with; %s",
                       tamis__show(o->target->name).text, shorter ? "shorter" : "longer", length,
                       shorter ? "restore it from a copy, or give another output"
                               : "move what was added to another file, or give another output");
}

/* For a file that got longer while the run had it open. Only runs have written the bytes before `from`. */
static tamis_status fail_appended(const tamis__appended_output *o, uint64_t from, uint64_t size,
                                  tamis_error *err) {
    const tamis__shown name = tamis__show(o->target->name);
    return tamis__fail(err, TAMIS_E_CHANGED, 0,
                       "%s: another program wrote %" PRIu64 " bytes to it behind byte %" PRIu64
                       " while the run did; stop that, and run again: its bytes are then kept in %s.kept-AT",
                       name.text, size, from, name.text);
}

/* Fails unless the bytes in the file were written with the same options, and to the same one of the two
 * outputs. */
static tamis_status check_same_form(const tamis__appended_output *o, const tamis__checkpoint *checkpoint,
                                    const tamis__known_output *known, tamis_error *err) {
    static const int kept[] = {TAMIS__FORM_TERMINATOR, TAMIS__FORM_MARKING, TAMIS__FORM_MARK};
    if (!known->found || known->fingerprint.length == 0)
        return TAMIS_OK;
    if (known->swapped)
        return fail_output(o,
                           o->number == 0
                               ? "has the duplicates of an earlier run; give another output"
                               : "has the first occurrences of an earlier run; give another output",
                           err);
    if (known->compression != checkpoint->outputs[o->number].compression)
        return tamis__checkpoint_fail_form(o->target->name, TAMIS__FORMS, err);
    for (size_t n = 0; n < sizeof kept / sizeof *kept; n++)
        if (known->form[kept[n]] != checkpoint->form[kept[n]])
            return tamis__checkpoint_fail_form(o->target->name, kept[n], err);
    return TAMIS_OK;
}

/* Fails unless the file still has the known bytes. */
static tamis_status check_content(const tamis__appended_output *o, const tamis__file_fingerprint *known,
                                  tamis_error *err) {
    const tamis__open_file file = {.fd = o->fd, .name = o->target->name};
    tamis__file_match match;
    const tamis_status status = tamis__file_fingerprint_compare(known, &file, true, &match, err);
    if (status != TAMIS_OK || match == TAMIS__FILE_SAME)
        return status;
    return fail_output(o, "was changed since it was left; restore it from a copy, or give another output",
                       err);
}

/* B3: fails unless the output is as it was left. Only an unfinished run may have written bytes behind its
 * last commit. */
static tamis_status check_unchanged(const tamis__appended_output *o, const tamis__known_output *known,
                                    tamis_error *err) {
    const uint64_t size = (uint64_t)o->target->st.st_size;
    if (!known->found)
        return size == 0
                   ? TAMIS_OK
                   : fail_output(o, "exists, and the state knows nothing of it; give another output", err);
    if (size < known->fingerprint.length)
        return fail_length(o, true, known->fingerprint.length, err);
    if (size > known->fingerprint.length && !known->unfinished)
        return fail_length(o, false, known->fingerprint.length, err);
    return check_content(o, &known->fingerprint, err);
}

static void finish_copy(tamis__appended_output *o, bool ended) {
    char kept[PATH_MAX];
    tamis__uncommitted_finish(&o->uncommitted, ended, kept);
    if (kept[0] != '\0')
        snprintf(o->remark_text, sizeof o->remark_text,
                 "%s: %" PRIu64 " bytes behind its last commit are not what the run writes there; they are "
                 "kept in %s",
                 tamis__show(o->target->name).text, o->uncommitted.size, tamis__show(kept).text);
}

/* Looks for a copy of bytes from `offset` on, and compares it with the output. If the copy has all bytes
 * after the last commit, it goes on waiting: o->uncommitted is open. Otherwise it is removed, or its
 * differing rest is kept. */
static tamis_status find_copy(tamis__appended_output *o, uint64_t offset, uint64_t committed_size,
                              unsigned char terminator, tamis_error *err) {
    const uint64_t behind = (uint64_t)o->target->st.st_size - committed_size;
    const tamis_status status = tamis__uncommitted_open(&o->uncommitted, o->target->path, offset, err);
    if (status != TAMIS_OK)
        return status;
    o->uncommitted.terminator = terminator;
    tamis__uncommitted_compare_file(&o->uncommitted, o->fd, offset, committed_size - offset);
    finish_copy(o, false);
    if (o->uncommitted.fd < 0)
        return TAMIS_OK;
    const uint64_t committed = o->uncommitted.equal;
    tamis__uncommitted_compare_file(&o->uncommitted, o->fd, committed_size, behind);
    if (!o->uncommitted.differs && o->uncommitted.equal == committed + behind)
        o->uncommitted.equal = committed;
    else
        finish_copy(o, true);
    return TAMIS_OK;
}

/* B4: copies the bytes after the last commit before they are cut off, unless an earlier process has
 * copied them. That copy may have one of two names. It is the one in the checkpoint. If the process was
 * killed before its first commit, it is the one with the length of the last commit. Then the copy that the
 * checkpoint names may be gone. */
static tamis_status keep_uncommitted(tamis__appended_output *o, const tamis__known_output *known,
                                     unsigned char terminator, tamis_error *err) {
    const uint64_t committed_size = known->fingerprint.length, size = (uint64_t)o->target->st.st_size;
    tamis_status status = TAMIS_OK;
    if (known->uncommitted_size > 0 && known->uncommitted_offset < committed_size)
        status = find_copy(o, known->uncommitted_offset, committed_size, terminator, err);
    if (status == TAMIS_OK && o->uncommitted.fd < 0)
        status = find_copy(o, committed_size, committed_size, terminator, err);
    if (status != TAMIS_OK || o->uncommitted.fd >= 0 || size == committed_size)
        return status;
    status = tamis__uncommitted_open_new(&o->uncommitted, o->target, o->fd, committed_size, err);
    o->uncommitted.terminator = terminator;
    return status;
}

/* B4 for a compressed output. Its frames depend on the times of the commits, so its bytes cannot be
 * compared and all are kept. */
static tamis_status keep_compressed(tamis__appended_output *o, uint64_t committed_size, tamis_error *err) {
    const uint64_t size = (uint64_t)o->target->st.st_size - committed_size;
    char kept[PATH_MAX];
    if (size == 0)
        return TAMIS_OK;
    const tamis_status status = tamis__uncommitted_keep(o->target, o->fd, committed_size, kept, err);
    if (status == TAMIS_OK)
        snprintf(o->remark_text, sizeof o->remark_text,
                 "%s: cut off %" PRIu64
                 " bytes behind its last commit, kept in %s; compressed data cannot be "
                 "compared with what the run writes again",
                 tamis__show(o->target->name).text, size, tamis__show(kept).text);
    return status;
}

/* B4, B5: cuts the output back to `length`, unless it has got longer since its bytes were copied. Syncs the
 * cut before anything is appended: otherwise old bytes could come back among new ones after a loss of
 * power. */
static tamis_status cut_back(const tamis__appended_output *o, uint64_t length, tamis_error *err) {
    const off_t copied = o->target->st.st_size;
    struct stat st;
    if (tamis__sys.fstat(o->fd, &st) < 0)
        return tamis__fail_file(err, o->target->name, errno);
    if (st.st_size > copied)
        return fail_appended(o, length, (uint64_t)(st.st_size - copied), err);
    if (tamis__sys.truncate(o->fd, (off_t)length) < 0 || tamis__sync(o->fd) < 0)
        return tamis__fail_file(err, o->target->name, errno);
    return tamis__sync_name(o->target->path) < 0 ? tamis__fail_file(err, o->target->name, errno) : TAMIS_OK;
}

/* Locks the output. On a file system without locks the run goes on without. */
static tamis_status lock_output(tamis__appended_output *o, const char **unlocked, tamis_error *err) {
    tamis_error refused = TAMIS_ERROR_INIT;
    const tamis_status status = tamis_file_lock(&o->lock, o->target->path, &refused);
    if (status == TAMIS_E_UNSUPPORTED && !*unlocked)
        *unlocked = o->target->name;
    return status == TAMIS_OK || status == TAMIS_E_UNSUPPORTED
               ? TAMIS_OK
               : tamis__fail(err, status, refused.sys_errno, "%s", refused.text);
}

tamis_status tamis__appended_output_open(tamis__appended_output *o, tamis__checkpoint *checkpoint,
                                         const tamis__known_output *known, const char **unlocked,
                                         tamis_error *err) {
    tamis__target *target = o->target;
    tamis__checkpoint_output *out = &checkpoint->outputs[o->number];
    const bool finished = checkpoint->finished;
    if (out->form != TAMIS__OUTPUT_FILE)
        return TAMIS_OK;
    tamis_status status = lock_output(o, unlocked, err);
    if (status != TAMIS_OK)
        return status;
    o->fd = tamis__open(
        target->path,
        O_RDWR | O_APPEND | O_NOCTTY | (known->found && known->fingerprint.length > 0 ? 0 : O_CREAT), 0666);
    if (o->fd < 0 && errno == ENOENT && known->found)
        return fail_output(o, "is no longer there; restore it from a copy, or give another output", err);
    if (o->fd < 0 || tamis__sys.fstat(o->fd, &target->st) < 0)
        return tamis__fail_file(err, target->name, errno);
    status = check_unchanged(o, known, err);
    if (status == TAMIS_OK && !finished)
        status = check_same_form(o, checkpoint, known, err);
    if (status == TAMIS_OK && !finished && known->found)
        status =
            out->compression == TAMIS_COMPRESSION_NONE
                ? keep_uncommitted(o, known, (unsigned char)checkpoint->form[TAMIS__FORM_TERMINATOR], err)
                : keep_compressed(o, known->fingerprint.length, err);
    if (status == TAMIS_OK && !finished)
        status = cut_back(o, known->fingerprint.length, err);
    if (status != TAMIS_OK)
        return status;
    out->fingerprint = o->observed = known->fingerprint;
    out->owes_terminator = known->owes_terminator;
    out->header_done = known->header_done;
    out->is_copy = known->is_copy;
    out->header = known->header;
    target->form = TAMIS__TARGET_DESCRIPTOR;
    target->fd = o->fd;
    return TAMIS_OK;
}

/* ---- commits ---- */

/* Fails if the output has lost its path, since its records would be lost, or if another process wrote to
 * it. */
static tamis_status check_named(const tamis__appended_output *o, uint64_t length, tamis_error *err) {
    const tamis__target *target = o->target;
    struct stat st;
    if (tamis__sys.stat(target->path, &st) < 0 || st.st_ino != target->st.st_ino ||
        st.st_dev != target->st.st_dev)
        return fail_output(
            o, "was replaced or removed while it was used; bring it back under that name, and run again",
            err);
    if ((uint64_t)st.st_size > length)
        return fail_appended(o, o->observed.length, (uint64_t)st.st_size - length, err);
    return (uint64_t)st.st_size < length ? fail_length(o, true, length, err) : TAMIS_OK;
}

tamis_status tamis__appended_output_fingerprint(tamis__appended_output *o, tamis__checkpoint_output *out,
                                                bool ended, tamis_error *err) {
    tamis__file_fingerprint now = out->fingerprint;
    if (o->fd < 0)
        return TAMIS_OK;
    tamis_status status = check_named(o, out->fingerprint.length, err);
    if (o->observed.length == 0)
        o->observed = tamis__file_prefix_fingerprint(&o->prefix);
    if (status == TAMIS_OK)
        status = tamis__file_fingerprint_compute(
            &now, &(tamis__open_file){.fd = o->fd, .name = o->target->name}, out->fingerprint.length, err);
    if (status == TAMIS_OK) /* after the fingerprint, which then covers unchanged bytes */
        status = check_content(o, &o->observed, err);
    if (status != TAMIS_OK)
        return status;
    out->fingerprint = o->observed = now;
    finish_copy(o, ended);
    out->uncommitted_offset = o->uncommitted.fd >= 0 ? o->uncommitted.offset : 0;
    out->uncommitted_size = o->uncommitted.fd >= 0 ? o->uncommitted.size : 0;
    return TAMIS_OK;
}

void tamis__appended_output_cut_back(const tamis__appended_output *o, const tamis__checkpoint_output *out,
                                     uint64_t written) {
    struct stat st;
    if (o->fd >= 0 && tamis__sys.fstat(o->fd, &st) == 0 && (uint64_t)st.st_size == written)
        (void)tamis__sys.truncate(o->fd, (off_t)out->fingerprint.length);
}

void tamis__appended_output_close(tamis__appended_output *o) {
    if (o->fd >= 0)
        tamis__sys.close(o->fd); /* errors do not matter: committed bytes are synced */
    o->fd = -1;
    tamis__uncommitted_close(&o->uncommitted);
    tamis_file_unlock(o->lock);
    o->lock = NULL;
}

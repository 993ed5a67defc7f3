/* SPDX-License-Identifier: BSD-2-Clause */
/* Letters with numbers are steps of docs/DURABILITY.md. */
#include "stream/in_place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/system.h"
#include "store/trouble.h"

void tamis__in_place_init(tamis__in_place *output, tamis__place *place) {
    *output = (tamis__in_place){.place = place, .fd = -1, .tail = {.fd = -1}};
}

/* ---- what it is ---- */

/* Whatever is written there, nobody has it. */
static bool is_null(const struct stat *about) {
    return S_ISCHR(about->st_mode) && about->st_rdev == makedev(1, 3);
}

static tamis_status name_file(const tamis__place *place, tamis__account *account, tamis__account_output *out,
                              tamis_error *err) {
    char folder[PATH_MAX] = ".", path[2 * PATH_MAX];
    const size_t size = tamis__place_folder(place);
    if (size > 0) {
        memcpy(folder, place->path, size);
        folder[size] = '\0';
    }
    char *real = realpath(folder, NULL);
    if (!real)
        return tamis__fail_file(err, place->name, errno);
    snprintf(path, sizeof path, "%s/%s", strcmp(real, "/") == 0 ? "" : real, place->path + size);
    free(real);
    out->form = TAMIS__ACCOUNT_FILE;
    if (place->form == TAMIS__PLACE_REPLACE) {
        out->as.device = (uint64_t)place->about.st_dev;
        out->as.inode = (uint64_t)place->about.st_ino;
    }
    out->path = tamis__account_text(account, path);
    return out->path ? TAMIS_OK : tamis__fail_nomem(err, "account of a run", strlen(path));
}

tamis_status tamis__in_place_find(const tamis__in_place *output, tamis__account *account, int i,
                                  const char **inexact, tamis_error *err) {
    const tamis__place *place = output->place;
    if (place->form == TAMIS__PLACE_NEW || place->form == TAMIS__PLACE_REPLACE)
        return name_file(place, account, &account->outputs[i], err);
    if (place->form == TAMIS__PLACE_DESCRIPTOR && S_ISREG(place->about.st_mode))
        return tamis__fail(
            err, TAMIS_E_UNSUPPORTED, 0,
            "%s: is a regular file that is open already, and whoever opens it at a restart may truncate it; "
            "give the output by its name",
            tamis__show(place->name).text);
    if (place->form != TAMIS__PLACE_NOWHERE && !is_null(&place->about)) {
        account->outputs[i].form = TAMIS__ACCOUNT_STREAM;
        if (!*inexact)
            *inexact = place->name;
    }
    return TAMIS_OK;
}

/* ---- where it begins ---- */

static tamis_status fail_output(const tamis__in_place *o, const char *why, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_STALE, 0, "%s: %s", tamis__show(o->place->name).text, why);
}

static tamis_status fail_length(const tamis__in_place *o, bool shorter, uint64_t length, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_STALE, 0, "%s: is %s than the %" PRIu64 " bytes it was left with; %s",
                       tamis__show(o->place->name).text, shorter ? "shorter" : "longer", length,
                       shorter ? "restore it from a copy, or give another output"
                               : "move what was added to another file, or give another output");
}

/* What is appended has to be of one kind with what is there. */
static tamis_status check_form(const tamis__in_place *o, const tamis__account *account, int i,
                               const tamis__known_output *known, tamis_error *err) {
    static const int kept[] = {TAMIS__FORM_TERMINATOR, TAMIS__FORM_MARKING, TAMIS__FORM_MARK};
    if (!known->found || known->as.at == 0)
        return TAMIS_OK;
    if (known->swapped)
        return fail_output(o,
                           i == 0 ? "has the duplicates of an earlier run; give another output"
                                  : "has the first occurrences of an earlier run; give another output",
                           err);
    if (known->packing != account->outputs[i].packing)
        return tamis__account_fail_form(o->place->name, TAMIS__FORMS, err);
    for (size_t n = 0; n < sizeof kept / sizeof *kept; n++)
        if (known->form[kept[n]] != account->form[kept[n]])
            return tamis__account_fail_form(o->place->name, kept[n], err);
    return TAMIS_OK;
}

/* Whether what is known of it is still there. */
static tamis_status check_content(const tamis__in_place *o, const tamis__identity *known, tamis_error *err) {
    tamis__likeness likeness;
    const tamis_status status =
        tamis__identity_compare(known, o->fd, 0, true, o->place->name, &likeness, err);
    if (status != TAMIS_OK || likeness == TAMIS__SAME)
        return status;
    return fail_output(o, "was changed since it was left; restore it from a copy, or give another output",
                       err);
}

/* B3: whether the output is as it was left, but for what an unfinished run has written behind its last commit. */
static tamis_status check_left(const tamis__in_place *o, const tamis__known_output *known, tamis_error *err) {
    const uint64_t size = (uint64_t)o->place->about.st_size;
    if (!known->found)
        return size == 0
                   ? TAMIS_OK
                   : fail_output(o, "exists, and the state knows nothing of it; give another output", err);
    if (size < known->as.at)
        return fail_length(o, true, known->as.at, err);
    if (size > known->as.at && !known->unfinished)
        return fail_length(o, false, known->as.at, err);
    return check_content(o, &known->as, err);
}

static int open_file(const char *path, int flags, mode_t mode) {
    int fd;
    do
        fd = tamis__sys.open(path, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

static void folder_of(const tamis__place *place, char folder[PATH_MAX]) {
    const size_t size = tamis__place_folder(place);
    snprintf(folder, PATH_MAX, "%.*s", size > 0 ? (int)size : 1, size > 0 ? place->path : ".");
}

/* So that the name is there after a power loss. */
static tamis_status sync_folder(const tamis__place *place, tamis_error *err) {
    char folder[PATH_MAX];
    folder_of(place, folder);
    const int fd = open_file(folder, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return tamis__fail_file(err, place->name, errno);
    const int failed = tamis__sync_folder(fd) < 0 ? errno : 0;
    tamis__sys.close(fd);
    return failed ? tamis__fail_file(err, place->name, failed) : TAMIS_OK;
}

static void settle_tail(tamis__in_place *o, bool ended) {
    char kept[PATH_MAX];
    tamis__tail_settle(&o->tail, ended, kept);
    if (kept[0] != '\0')
        snprintf(o->said, sizeof o->said,
                 "%s: %" PRIu64 " bytes behind its last commit are not what the run writes there; they are "
                 "kept in %s",
                 tamis__show(o->place->name).text, o->tail.size, tamis__show(kept).text);
}

/* Copies the bytes behind the last commit before they are cut off, unless an earlier process has copied them. */
static tamis_status keep_tail(tamis__in_place *o, const tamis__known_output *known, unsigned char terminator,
                              tamis_error *err) {
    const uint64_t at = known->as.at, size = (uint64_t)o->place->about.st_size;
    const uint64_t from = known->tail_size > 0 ? known->tail_at : at;
    char folder[PATH_MAX];
    tamis_status status = tamis__tail_find(&o->tail, o->place->path, from, err);
    if (status != TAMIS_OK)
        return status;
    o->tail.terminator = terminator;
    tamis__tail_compare_file(&o->tail, o->fd, from, at - from);
    settle_tail(o, false);
    if (size == at)
        return TAMIS_OK;
    const uint64_t committed = o->tail.same;
    tamis__tail_compare_file(&o->tail, o->fd, at, size - at);
    if (o->tail.fd >= 0 && !o->tail.differs && o->tail.same == committed + size - at) {
        o->tail.same = committed; /* the copy has all bytes */
        return TAMIS_OK;
    }
    settle_tail(o, true);
    folder_of(o->place, folder);
    status = tamis__tail_make(&o->tail, o->place->path, folder, o->fd, o->place->about.st_mode, at, size - at,
                              err);
    o->tail.terminator = terminator;
    return status;
}

/* The same for a compressed output, whose frames depend on when commits came: nothing compares such bytes, so all are kept. */
static tamis_status keep_packed(tamis__in_place *o, uint64_t at, tamis_error *err) {
    const uint64_t size = (uint64_t)o->place->about.st_size - at;
    char folder[PATH_MAX], kept[PATH_MAX];
    if (size == 0)
        return TAMIS_OK;
    folder_of(o->place, folder);
    const tamis_status status =
        tamis__tail_keep(o->place->path, folder, o->fd, o->place->about.st_mode, at, size, kept, err);
    if (status == TAMIS_OK)
        snprintf(o->said, sizeof o->said,
                 "%s: cut off %" PRIu64
                 " bytes behind its last commit, kept in %s; compressed data cannot be "
                 "compared with what the run writes again",
                 tamis__show(o->place->name).text, size, tamis__show(kept).text);
    return status;
}

/* Cuts the output back to `length` and sees to it that the cut lasts before anything is appended: what stood there would come
 * back among what is written (B4, B5). */
static tamis_status cut(const tamis__in_place *o, uint64_t length, tamis_error *err) {
    if (tamis__sys.truncate(o->fd, (off_t)length) < 0 || tamis__sync(o->fd) < 0 ||
        tamis__sys.seek(o->fd, (off_t)length, SEEK_SET) < 0)
        return tamis__fail_file(err, o->place->name, errno);
    return sync_folder(o->place, err);
}

/* Where there are no locks the run goes on without. */
static tamis_status lock(tamis__in_place *o, const char **unlocked, tamis_error *err) {
    tamis_error refused = TAMIS_ERROR_INIT;
    const tamis_status status = tamis_file_lock(&o->lock, o->place->path, &refused);
    if (status == TAMIS_E_UNSUPPORTED && !*unlocked)
        *unlocked = o->place->name;
    return status == TAMIS_OK || status == TAMIS_E_UNSUPPORTED
               ? TAMIS_OK
               : tamis__fail(err, status, refused.sys_errno, "%s", refused.text);
}

tamis_status tamis__in_place_open(tamis__in_place *o, tamis__account *account, int i, bool finished,
                                  const tamis__known_output *known, const char **unlocked, tamis_error *err) {
    tamis__place *place = o->place;
    tamis__account_output *out = &account->outputs[i];
    if (out->form != TAMIS__ACCOUNT_FILE)
        return TAMIS_OK;
    tamis_status status = lock(o, unlocked, err);
    if (status != TAMIS_OK)
        return status;
    o->fd =
        open_file(place->path, O_RDWR | O_NOCTTY | (known->found && known->as.at > 0 ? 0 : O_CREAT), 0666);
    if (o->fd < 0 && errno == ENOENT && known->found)
        return fail_output(o, "is no longer there; restore it from a copy, or give another output", err);
    if (o->fd < 0 || tamis__sys.fstat(o->fd, &place->about) < 0)
        return tamis__fail_file(err, place->name, errno);
    status = check_left(o, known, err);
    if (status == TAMIS_OK && !finished)
        status = check_form(o, account, i, known, err);
    if (status == TAMIS_OK && !finished && known->found)
        status = out->packing == TAMIS_PACKING_NONE
                     ? keep_tail(o, known, (unsigned char)account->form[TAMIS__FORM_TERMINATOR], err)
                     : keep_packed(o, known->as.at, err);
    if (status == TAMIS_OK && !finished)
        status = cut(o, known->as.at, err);
    if (status != TAMIS_OK)
        return status;
    out->as = o->seen = known->as;
    out->owes_terminator = known->owes_terminator;
    out->begun = known->begun;
    out->header = known->header;
    place->form = TAMIS__PLACE_DESCRIPTOR;
    place->fd = o->fd;
    return TAMIS_OK;
}

/* ---- commits ---- */

/* Records that are written to a file that has lost its name are nowhere; and nobody else may write to it. */
static tamis_status check_named(const tamis__in_place *o, uint64_t length, tamis_error *err) {
    const tamis__place *place = o->place;
    struct stat about;
    if (tamis__sys.stat(place->path, &about) < 0 || about.st_ino != place->about.st_ino ||
        about.st_dev != place->about.st_dev)
        return fail_output(
            o, "was replaced or removed while it was used; bring it back under that name, and run again",
            err);
    if ((uint64_t)about.st_size != length)
        return fail_length(o, (uint64_t)about.st_size < length, length, err);
    return TAMIS_OK;
}

tamis_status tamis__in_place_sum(tamis__in_place *o, tamis__account_output *as, bool ended,
                                 tamis_error *err) {
    tamis__identity now = as->as;
    if (o->fd < 0)
        return TAMIS_OK;
    if (o->seen.at == 0)
        o->seen = tamis__identity_of_front(&o->front);
    tamis_status status = check_named(o, as->as.at, err);
    if (status == TAMIS_OK)
        status = tamis__identity_take(&now, o->fd, 0, as->as.at, o->place->name, err);
    if (status == TAMIS_OK) /* behind it, so that what was summed is what was there */
        status = check_content(o, &o->seen, err);
    if (status != TAMIS_OK)
        return status;
    as->as = o->seen = now;
    settle_tail(o, ended);
    as->tail_at = o->tail.fd >= 0 ? o->tail.at : 0;
    as->tail_size = o->tail.fd >= 0 ? o->tail.size : 0;
    return TAMIS_OK;
}

void tamis__in_place_cut_back(const tamis__in_place *o, const tamis__account_output *as, uint64_t written) {
    struct stat about;
    if (o->fd >= 0 && tamis__sys.fstat(o->fd, &about) == 0 && (uint64_t)about.st_size == written)
        (void)tamis__sys.truncate(o->fd, (off_t)as->as.at);
}

void tamis__in_place_end(tamis__in_place *o) {
    if (o->fd >= 0)
        tamis__sys.close(o->fd); /* what was to be kept is synced */
    o->fd = -1;
    tamis__tail_close(&o->tail);
    tamis_file_unlock(o->lock);
    o->lock = NULL;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/history.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "store/place.h"
#include "store/trouble.h"

tamis_status tamis__history_open(const char *name, int *fd, bool *borrowed, off_t *base, uint64_t *size,
                                 tamis_error *err) {
    struct stat about;
    const char *shown = tamis__input_name(name);
    int opened = tamis__descriptor_named(name, STDIN_FILENO);
    *borrowed = opened >= 0;
    *fd = -1;
    *base = 0;
    *size = 0;
    if ((*borrowed ? tamis__sys.fstat(opened, &about) : tamis__sys.stat(name, &about)) < 0)
        return tamis__fail_file(err, shown, errno);
    if (!S_ISREG(about.st_mode))
        return TAMIS_OK;
    while (!*borrowed && (opened = tamis__sys.open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY, 0)) < 0 &&
           errno == EINTR)
        ;
    if (opened < 0)
        return tamis__fail_file(err, shown, errno);
    if (*borrowed)
        *base = tamis__sys.seek(opened, 0, SEEK_CUR);
    if (*base < 0)
        return tamis__fail_file(err, shown, errno);
    *fd = opened;
    *size = about.st_size > *base ? (uint64_t)(about.st_size - *base) : 0;
    return TAMIS_OK;
}

/* How the input named so stands to what an account knows of one. */
static tamis_status compare(const char *name, const tamis__account_input *known, tamis__likeness *likeness,
                            tamis_error *err) {
    int fd;
    bool borrowed;
    off_t base;
    uint64_t size;
    *likeness = TAMIS__OTHER;
    if (!known->regular)
        return TAMIS_OK;
    tamis_status status = tamis__history_open(name, &fd, &borrowed, &base, &size, err);
    if (status != TAMIS_OK || fd < 0)
        return status;
    status = tamis__identity_compare(&known->as, fd, base, strcmp(name, known->name) == 0,
                                     tamis__input_name(name), likeness, err);
    if (*likeness == TAMIS__SAME && known->packed && size != known->as.at)
        *likeness = TAMIS__CHANGED; /* what is packed behind its end was not read */
    if (*likeness == TAMIS__CHANGED && known->at.offset == 0)
        *likeness = TAMIS__SAME; /* nothing of it was read, so that it is no matter */
    if (!borrowed)
        tamis__sys.close(fd);
    return status;
}

/* ---- outputs ---- */

/* By name; or, where they were moved with their folder so that the old name stands for nothing, by inode. */
static bool is_same_file(const tamis__account_output *mine, const tamis__account_output *known) {
    struct stat about;
    if (strcmp(mine->path, known->path) == 0)
        return true;
    return mine->as.inode != 0 && mine->as.inode == known->as.inode && mine->as.device == known->as.device &&
           tamis__sys.stat(known->path, &about) < 0 && errno == ENOENT;
}

static bool same_outputs(const tamis__account *one, const tamis__account *other) {
    for (int i = 0; i < 2; i++) {
        const tamis__account_output *a = &one->outputs[i], *b = &other->outputs[i];
        if (a->form != b->form || (a->form == TAMIS__ACCOUNT_FILE && !is_same_file(a, b)))
            return false;
    }
    return true;
}

/* Takes what the account, which is older than all that were looked at, knows of the run's outputs. */
static void know_outputs(tamis__history *h, const tamis__account *account) {
    for (int i = 0; i < 4; i++) {
        tamis__known_output *known = &h->outputs[i / 2];
        const tamis__account_output *mine = &h->run->outputs[i / 2], *theirs = &account->outputs[i % 2];
        if (known->found || mine->form != TAMIS__ACCOUNT_FILE || theirs->form != TAMIS__ACCOUNT_FILE ||
            !is_same_file(mine, theirs))
            continue;
        *known = (tamis__known_output){.found = true,
                                       .unfinished = !account->finished,
                                       .owes_terminator = theirs->owes_terminator,
                                       .begun = theirs->begun,
                                       .as = theirs->as,
                                       .header = theirs->header,
                                       .packing = theirs->packing};
        memcpy(known->form, account->form, sizeof known->form);
    }
}

/* ---- runs ---- */

static const char *output_of(const tamis__account *account) {
    for (int i = 0; i < 2; i++)
        if (account->outputs[i].form == TAMIS__ACCOUNT_FILE)
            return account->outputs[i].path;
    return "no file";
}

static tamis_status fail_changed(tamis__history *h, const tamis__account *before, size_t i,
                                 tamis_error *err) {
    h->was_read = true;
    h->changed = true;
    const tamis__shown name = tamis__show(tamis__input_name(h->run->inputs[i].name));
    if (before->inputs[i].packed)
        return tamis__fail(err, TAMIS_E_STALE, 0,
                           "%s: is compressed, and is not what it was when it was read: such a file is known "
                           "as a whole, and "
                           "may not grow either; give it as it was, or allow that it is read anew",
                           name.text);
    return tamis__fail(
        err, TAMIS_E_STALE, 0,
        "%s: was read up to byte %" PRIu64
        ", and is not what it was in front of that: it was made shorter or changed; give it as it was, or "
        "allow that it is read anew",
        name.text, before->inputs[i].at.offset);
}

static tamis_status fail_read(tamis__history *h, const tamis__account *before, size_t i, tamis_error *err) {
    h->was_read = true;
    return tamis__fail(
        err, TAMIS_E_INVALID, 0,
        "%s: was read already by the run that wrote to %s, so that all of it would be duplicates; leave "
        "it out, give all inputs and outputs of that run to go on with it, or allow that it is read anew",
        tamis__show(tamis__input_name(h->run->inputs[i].name)).text, tamis__show(output_of(before)).text);
}

static tamis_status fail_gone(tamis__history *h, const tamis__account *before, tamis_error *err) {
    const tamis__account_input *in = &before->inputs[before->input < before->input_count ? before->input : 0];
    h->was_read = true;
    return tamis__fail(
        err, TAMIS_E_STALE, 0,
        "%s: is another file than the run that wrote to %s was reading, of which %" PRIu64
        " bytes were read; give that under the name it has now, or allow that the run is left so",
        tamis__show(tamis__input_name(in->name)).text, tamis__show(output_of(before)).text, in->at.offset);
}

static bool same_names(const tamis__account *one, const tamis__account *other) {
    bool same = one->input_count == other->input_count;
    for (size_t i = 0; same && i < one->input_count; i++)
        same = strcmp(one->inputs[i].name, other->inputs[i].name) == 0;
    return same;
}

/* Whether the account is one of the run: *is; else whether something speaks against a new one. */
static tamis_status look_at(tamis__history *h, const tamis__account *account, bool last, bool *is,
                            tamis_error *err) {
    const tamis__account *run = h->run;
    const bool to_same = same_outputs(run, account);
    const bool in_row = to_same && run->input_count == account->input_count;
    bool all = in_row;
    size_t changed = SIZE_MAX;
    *is = false;
    for (size_t i = 0; i < run->input_count; i++) {
        tamis__likeness likeness = TAMIS__OTHER;
        tamis_status status =
            in_row ? compare(run->inputs[i].name, &account->inputs[i], &likeness, err) : TAMIS_OK;
        if (status != TAMIS_OK)
            return status;
        all = all && likeness == TAMIS__SAME;
        if (likeness == TAMIS__CHANGED && changed == SIZE_MAX)
            changed = i;
    }
    *is = all;
    if (all || h->again)
        return TAMIS_OK;
    if (changed != SIZE_MAX)
        return fail_changed(h, account, changed, err);
    if (last && !account->finished && to_same && same_names(run, account) &&
        account->inputs[account->input].regular)
        return fail_gone(h, account, err);
    for (size_t i = 0; i < run->input_count; i++)
        for (size_t n = 0; n < account->input_count; n++) {
            tamis__likeness likeness;
            tamis_status status = compare(run->inputs[i].name, &account->inputs[n], &likeness, err);
            if (status == TAMIS_OK && likeness == TAMIS__SAME && account->inputs[n].at.offset > 0)
                status = fail_read(h, account, i, err);
            if (status != TAMIS_OK)
                return status;
        }
    return TAMIS_OK;
}

static tamis_status take(tamis__history *h, const void *bytes, size_t size, bool last, tamis_error *err) {
    tamis__account account = {.inputs = NULL};
    tamis_error refused = TAMIS_ERROR_INIT;
    bool is = false;
    tamis_status status = tamis__account_decode(&account, bytes, size, &h->run->memory, err);
    if (status != TAMIS_OK)
        return status;
    know_outputs(h, &account);
    /* What speaks against a new run does not speak against one that was begun in spite of it: an older account may be of it. */
    if (!h->found)
        status = look_at(h, &account, last, &is, &refused);
    if (is) {
        h->found = true;
        h->last = last;
        h->was_read = false;
        h->before = account;
        return TAMIS_OK;
    }
    tamis__account_release(&account);
    return status == TAMIS_OK ? TAMIS_OK : tamis__fail(err, status, refused.sys_errno, "%s", refused.text);
}

tamis_status tamis__history_search(tamis__history *h, const tamis_state *state, tamis_error *err) {
    tamis_error against = TAMIS_ERROR_INIT;
    tamis_status first = TAMIS_OK;
    const void *bytes;
    size_t size, notes = 0;
    while (tamis_state_note_at(state, notes, &size))
        notes++;
    tamis_state_committed(state, &bytes, &size);
    for (bool last = true; bytes; last = false) {
        tamis_error why = TAMIS_ERROR_INIT;
        h->was_read = false;
        const tamis_status status = size > 0 ? take(h, bytes, size, last, &why) : TAMIS_OK;
        if (status != TAMIS_OK && !h->was_read) /* what is known may not be left out */
            return tamis__fail(err, status, why.sys_errno, "%s", why.text);
        if (status != TAMIS_OK && first == TAMIS_OK) {
            first = status;
            against = why;
        }
        if (h->changed || notes == 0)
            break;
        bytes = tamis_state_note_at(state, --notes, &size);
    }
    h->was_read = !h->found && first != TAMIS_OK;
    return h->was_read ? tamis__fail(err, first, against.sys_errno, "%s", against.text) : TAMIS_OK;
}

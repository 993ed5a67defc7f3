/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/history_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/place.h"
#include "store/trouble.h"

/* ---- outputs ---- */

/* Takes what the account, which is older than all that were looked at, knows of the run's outputs. */
static void know_outputs(tamis__history *h, const tamis__account *account) {
    for (int i = 0; i < 4; i++) {
        tamis__known_output *known = &h->outputs[i / 2];
        const tamis__account_output *mine = &h->run->outputs[i / 2], *theirs = &account->outputs[i % 2];
        bool copied;
        if ((known->found && !known->copied) || mine->form != TAMIS__ACCOUNT_FILE ||
            theirs->form != TAMIS__ACCOUNT_FILE ||
            !tamis__is_same_output(h, i / 2, theirs, account->finished, &copied) ||
            (copied && i / 2 != i % 2) || (known->found && strcmp(mine->path, theirs->path) != 0))
            continue; /* what has its path counts more than what has its content */
        *known = (tamis__known_output){.found = true,
                                       .copied = copied,
                                       .swapped = i / 2 != i % 2,
                                       .unfinished = !account->finished,
                                       .owes_terminator = theirs->owes_terminator,
                                       .begun = theirs->begun,
                                       .as = theirs->as,
                                       .header = theirs->header,
                                       .packing = theirs->packing,
                                       .tail_at = theirs->tail_at,
                                       .tail_size = theirs->tail_size};
        memcpy(known->form, account->form, sizeof known->form);
    }
}

/* ---- runs ---- */

const char *tamis__output_of(const tamis__account *account) {
    bool stream = false;
    for (int i = 0; i < 2; i++) {
        if (account->outputs[i].form == TAMIS__ACCOUNT_FILE)
            return account->outputs[i].path;
        stream = stream || account->outputs[i].form == TAMIS__ACCOUNT_STREAM;
    }
    return stream ? "a pipe" : "no file";
}

/* The run's input `i`, of which that is known. */
static tamis_status fail_changed(tamis__history *h, size_t i, const tamis__account_input *known,
                                 tamis_error *err) {
    h->was_read = true;
    const tamis__shown name = tamis__show(tamis__input_name(h->run->inputs[i].name));
    if (known->packed)
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
        name.text, known->at.offset);
}

static tamis_status fail_read(tamis__history *h, const tamis__account *before, size_t i, tamis_error *err) {
    h->was_read = true;
    if (tamis__history_is_open(h, before)) {
        const tamis_status status = tamis__fail(
            err, TAMIS_E_INVALID, 0,
            "%s: already processed (output %s), but its run has not finished; finish that run, or "
            "allow that it is read again",
            tamis__show(tamis__input_name(h->run->inputs[i].name)).text,
            tamis__show(tamis__output_of(before)).text);
        if (!h->reader.inputs && err) {
            h->keep_reader = true;
            snprintf(h->reader_text, sizeof h->reader_text, "%s", err->text);
        }
        return status;
    }
    return tamis__fail(
        err, TAMIS_E_INVALID, 0,
        "%s: already processed (output %s); list only new inputs, give the inputs and outputs of that run to "
        "continue it, or allow that it is read again",
        tamis__show(tamis__input_name(h->run->inputs[i].name)).text,
        tamis__show(tamis__output_of(before)).text);
}

static tamis_status fail_gone(tamis__history *h, const tamis__account *before, tamis_error *err) {
    const tamis__account_input *in = &before->inputs[before->input];
    h->was_read = true;
    return tamis__fail(err, TAMIS_E_STALE, 0,
                       "%s: is another file than the one that the unfinished run to %s was reading (%" PRIu64
                       " bytes of that were read); give that file under its present name, or allow that its "
                       "rest is given up",
                       tamis__show(tamis__input_name(in->name)).text,
                       tamis__show(tamis__output_of(before)).text, in->at.offset);
}

static bool same_names(const tamis__account *one, const tamis__account *other) {
    bool same = one->input_count == other->input_count;
    for (size_t i = 0; same && i < one->input_count; i++)
        same = strcmp(one->inputs[i].name, other->inputs[i].name) == 0;
    return same;
}

/* All that the account has read has to be in the run, one by one: *all; the first that was changed, SIZE_MAX: none. Names and
 * inodes are used again and again, so it is the newest account with them that tells whether a file was changed. */
static tamis_status compare_in_row(tamis__history *h, const tamis__account *account, bool *all,
                                   size_t *changed, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < account->input_count && status == TAMIS_OK; i++) {
        tamis__looked *kept = &h->looks->inputs[i];
        const bool named = strcmp(h->run->inputs[i].name, account->inputs[i].name) == 0;
        tamis__likeness likeness;
        status = tamis__looks_compare(h, i, &account->inputs[i], named ? !kept->once_named : !h->had_row,
                                      &likeness, err);
        kept->once_named = kept->once_named || named;
        *all = *all && likeness == TAMIS__SAME;
        if (likeness == TAMIS__CHANGED && *changed == SIZE_MAX)
            *changed = i;
    }
    h->had_row = true;
    return status;
}

/* Nothing of the account's `n`th input, which is the run's `i`th, may be read anew: what it has more is read if the outputs are
 * the same. */
static tamis_status know_input(tamis__history *h, const tamis__account *account, size_t n, size_t i,
                               bool to_same, tamis_error *err) {
    const tamis__account_input *in = &account->inputs[n];
    tamis__read_before *before = &h->inputs[i];
    const bool whole =
        in->packed ? account->finished || n < account->input : h->looks->inputs[i].head.size <= in->at.offset;
    if (before->found)
        return TAMIS_OK;
    if (!to_same && !whole)
        return fail_read(h, account, i, err);
    *before =
        (tamis__read_before){.found = true, .to_same = to_same, .whole = whole, .at = in->at, .as = in->as};
    memcpy(before->form, account->form, sizeof before->form);
    if (!h->any_before)
        (void)fail_read(h, account, i, &h->read_by);
    h->any_before = true;
    h->was_read = false;
    return TAMIS_OK;
}

static tamis_status know_inputs(tamis__history *h, const tamis__account *account, bool to_same,
                                tamis_error *err) {
    tamis_error refused = TAMIS_ERROR_INIT, why = TAMIS_ERROR_INIT;
    size_t first = SIZE_MAX, other = SIZE_MAX, of = 0;
    tamis_status status = TAMIS_OK;
    for (size_t n = 0; n < account->input_count && status == TAMIS_OK; n++) {
        size_t found, changed;
        status = tamis__looks_find(h, &account->inputs[n], &found, &changed, err);
        if (status == TAMIS_OK && found != SIZE_MAX &&
            know_input(h, account, n, found, to_same, &why) != TAMIS_OK && found < first) {
            first = found;
            refused = why;
        }
        if (status == TAMIS_OK)
            tamis__looks_rotated(h, &account->inputs[n], found != SIZE_MAX || changed != SIZE_MAX);
        if (changed < other) {
            other = changed;
            of = n;
        }
    }
    if (status == TAMIS_OK && first != SIZE_MAX) {
        h->was_read = true;
        return tamis__fail(err, refused.status, 0, "%s", refused.text);
    }
    return status == TAMIS_OK && other != SIZE_MAX ? fail_changed(h, other, &account->inputs[of], err)
                                                   : status;
}

/* Whether the account is one of the run: *is; else whether something speaks against a new one. */
static tamis_status look_at(tamis__history *h, const tamis__account *account, bool *is, tamis_error *err) {
    const tamis__account *run = h->run;
    const bool to_same = tamis__same_outputs(h, account);
    const bool newest = to_same && !h->had_names && same_names(run, account);
    bool all = to_same && run->input_count == account->input_count;
    size_t changed = SIZE_MAX;
    *is = false;
    if (all) {
        const tamis_status status = compare_in_row(h, account, &all, &changed, err);
        if (status != TAMIS_OK)
            return status;
    }
    *is = all;
    h->had_names = h->had_names || newest;
    if (all || h->again)
        return TAMIS_OK;
    if (changed != SIZE_MAX) {
        h->changed = true;
        return fail_changed(h, changed, &account->inputs[changed], err);
    }
    /* Of runs with the same names the last one tells whether something is left unread. */
    if (newest && tamis__account_is_open(account) && account->inputs[account->input].regular && !h->abandon)
        return fail_gone(h, account, err);
    return know_inputs(h, account, to_same, err);
}

static tamis_status take(tamis__history *h, const void *bytes, size_t size, bool last, tamis_error *err) {
    tamis__account account = {.inputs = NULL};
    tamis_error refused = TAMIS_ERROR_INIT;
    bool is = false;
    tamis_status status = tamis__account_decode(&account, bytes, size, &h->run->memory, err);
    if (status != TAMIS_OK)
        return status;
    know_outputs(h, &account);
    h->keep_reader = false;
    /* What speaks against a new run does not speak against one that was begun in spite of it: an older account may be of it. */
    if (!h->found)
        status = look_at(h, &account, &is, &refused);
    if (status == TAMIS_OK)
        status = tamis__history_look_open(h, &account, is, last, &refused);
    if (is && status == TAMIS_OK) {
        h->found = true;
        h->last = last;
        h->was_read = false;
        h->before = account;
        return TAMIS_OK;
    }
    if (h->keep_reader && account.inputs) {
        tamis__looks_rename(h, &account);
        h->reader = account;
    } else {
        tamis__account_release(&account);
    }
    return status == TAMIS_OK ? TAMIS_OK : tamis__fail(err, status, refused.sys_errno, "%s", refused.text);
}

static tamis_status search(tamis__history *h, const tamis_state *state, tamis_error *err) {
    tamis_error against = TAMIS_ERROR_INIT;
    tamis_status first = TAMIS_OK;
    const void *bytes;
    size_t size, notes = 0;
    h->read_by = (tamis_error)TAMIS_ERROR_INIT;
    h->inputs = tamis__alloc(&h->run->memory, h->run->input_count * sizeof *h->inputs, TAMIS__LINE);
    if (!h->inputs)
        return tamis__fail_nomem(err, "inputs of a run", h->run->input_count * sizeof *h->inputs);
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

tamis_status tamis__history_search(tamis__history *h, const tamis_state *state, tamis_error *err) {
    tamis__looks looks = {.inputs = NULL};
    h->looks = &looks;
    tamis_status status = tamis__looks_make(&looks, h->run, err);
    if (status == TAMIS_OK)
        status = search(h, state, err);
    tamis__looks_free(&looks, &h->run->memory);
    h->looks = NULL;
    return status;
}

void tamis__history_release(tamis__history *h) {
    const tamis_allocator *memory = &h->run->memory;
    if (h->inputs)
        tamis__free(memory, h->inputs, h->run->input_count * sizeof *h->inputs);
    if (h->keys)
        tamis__free(memory, h->keys, h->key_room * sizeof *h->keys);
    while (h->left) {
        tamis__left_run *left = h->left;
        h->left = left->next;
        tamis__free(memory, left->bytes, left->size);
        tamis__free(memory, left, sizeof *left);
    }
    tamis__account_release(&h->before);
    tamis__account_release(&h->blocked);
    tamis__account_release(&h->reader);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/history.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "hash/fnv.h"
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

/* ---- inputs ---- */

/*
 * Each input is opened once and its head kept; an account has many inputs, a state many accounts, and of nearly all pairs that
 * is enough to tell that they are not the same. Which pairs are looked at is found by what an input has in common with one that
 * is known, if it is that: its name, its inode, or the sum of a whole head.
 */
typedef struct looked {
    tamis__identity_head head;
    unsigned char *bytes; /* of it */
    bool once_named;      /* in an account that was looked at its name stands where it does in the run */
    size_t turn;          /* in which it was compared last */
} looked;

typedef struct clue {
    uint64_t sum;
    size_t input;
} clue;

struct tamis__looks {
    looked *inputs;
    clue *clues; /* CLUES of each input, in the order of sums */
    size_t count, turn;
};

enum { CLUES = 3 };

static void clues_of(uint64_t sums[CLUES], const char *name, uint64_t device, uint64_t inode, uint64_t head) {
    const uint64_t file[] = {device, inode};
    sums[0] = tamis__fnv1_64(name, strlen(name));
    sums[1] = tamis__fnv1_64(file, sizeof file);
    sums[2] = head;
}

static int by_sum(const void *one, const void *other) {
    const clue *a = one, *b = other;
    return a->sum < b->sum ? -1 : a->sum > b->sum;
}

static tamis_status keep_head(looked *kept, int fd, off_t base, const char *name,
                              const tamis_allocator *memory, tamis_error *err) {
    struct stat about;
    if (tamis__sys.fstat(fd, &about) < 0)
        return tamis__fail_file(err, name, errno);
    const uint64_t size = about.st_size > base ? (uint64_t)(about.st_size - base) : 0;
    const size_t most = size < TAMIS__IDENTITY_BYTES ? (size_t)size : TAMIS__IDENTITY_BYTES;
    kept->head = (tamis__identity_head){(uint64_t)about.st_dev, (uint64_t)about.st_ino, size, NULL, 0};
    if (most == 0)
        return TAMIS_OK;
    kept->bytes = tamis__alloc(memory, most, 1);
    if (!kept->bytes)
        return tamis__fail_nomem(err, "heads of inputs", most);
    kept->head.bytes = kept->bytes;
    return tamis__read_at(fd, base, kept->bytes, most, name, &kept->head.count, err);
}

static tamis_status look_at_input(tamis__looks *looks, const tamis__account *run, size_t i,
                                  tamis_error *err) {
    const char *name = run->inputs[i].name;
    looked *kept = &looks->inputs[i];
    int fd;
    bool borrowed;
    off_t base;
    uint64_t size, sums[CLUES];
    tamis_status status = tamis__history_open(name, &fd, &borrowed, &base, &size, err);
    if (status == TAMIS_OK && fd >= 0)
        status = keep_head(kept, fd, base, tamis__input_name(name), &run->memory, err);
    if (fd >= 0 && !borrowed)
        tamis__sys.close(fd);
    clues_of(sums, name, kept->head.device, kept->head.inode, tamis__identity_whole_head(&kept->head));
    for (size_t n = 0; n < CLUES; n++)
        looks->clues[i * CLUES + n] = (clue){sums[n], i};
    return status;
}

static void free_looks(tamis__looks *looks, const tamis_allocator *memory) {
    for (size_t i = 0; looks->inputs && i < looks->count; i++)
        tamis__free(memory, looks->inputs[i].bytes,
                    looks->inputs[i].head.size < TAMIS__IDENTITY_BYTES ? (size_t)looks->inputs[i].head.size
                                                                       : TAMIS__IDENTITY_BYTES);
    tamis__free(memory, looks->inputs, looks->count * sizeof *looks->inputs);
    tamis__free(memory, looks->clues, CLUES * looks->count * sizeof *looks->clues);
}

static tamis_status look_at_inputs(tamis__looks *looks, const tamis__account *run, tamis_error *err) {
    looks->count = run->input_count;
    looks->inputs = tamis__alloc(&run->memory, looks->count * sizeof *looks->inputs, TAMIS__LINE);
    looks->clues = tamis__alloc(&run->memory, CLUES * looks->count * sizeof *looks->clues, TAMIS__LINE);
    if (!looks->inputs || !looks->clues)
        return tamis__fail_nomem(err, "heads of inputs", looks->count * sizeof *looks->inputs);
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < looks->count && status == TAMIS_OK; i++)
        status = look_at_input(looks, run, i, err);
    if (status == TAMIS_OK)
        qsort(looks->clues, CLUES * looks->count, sizeof *looks->clues, by_sum);
    return status;
}

/* The first clue of that sum, or behind where it would be. */
static size_t find_clue(const tamis__looks *looks, uint64_t sum) {
    size_t from = 0, to = CLUES * looks->count;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (looks->clues[middle].sum < sum)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* As tamis__identity_compare, reading the file. */
static tamis_status read_and_compare(const char *name, const tamis__account_input *known, bool named,
                                     tamis__likeness *likeness, tamis_error *err) {
    int fd;
    bool borrowed;
    off_t base;
    uint64_t size;
    *likeness = TAMIS__OTHER;
    tamis_status status = tamis__history_open(name, &fd, &borrowed, &base, &size, err);
    if (status != TAMIS_OK || fd < 0)
        return status;
    status = tamis__identity_compare(&known->as, fd, base, named, tamis__input_name(name), likeness, err);
    if (!borrowed)
        tamis__sys.close(fd);
    return status;
}

/* How the run's input `i` stands to what an account knows of one. Unless `closely`, one that was changed may pass for another. */
static tamis_status compare(const tamis__history *h, size_t i, const tamis__account_input *known,
                            bool closely, tamis__likeness *likeness, tamis_error *err) {
    const tamis__account_input *in = &h->run->inputs[i];
    const looked *kept = &h->looks->inputs[i];
    const bool named = strcmp(in->name, known->name) == 0;
    tamis_status status = TAMIS_OK;
    *likeness = TAMIS__OTHER;
    if (!known->regular || !in->regular)
        return TAMIS_OK;
    if (!tamis__identity_tell(&known->as, &kept->head, named, closely, likeness))
        status = read_and_compare(in->name, known, named, likeness, err);
    if (*likeness == TAMIS__SAME && known->packed && kept->head.size != known->as.at)
        *likeness = TAMIS__CHANGED; /* what is packed behind its end was not read */
    if (*likeness == TAMIS__CHANGED && known->at.offset == 0)
        *likeness = TAMIS__SAME; /* nothing of it was read, so that it is no matter */
    return status;
}

/* The first of the run's inputs that has been read as this one of an account, SIZE_MAX: none; or, with its head, and was
 * changed behind that: *changed. */
static tamis_status find_read(tamis__history *h, const tamis__account_input *known, size_t *found,
                              size_t *changed, tamis_error *err) {
    tamis__looks *looks = h->looks;
    uint64_t sums[CLUES];
    *found = *changed = SIZE_MAX;
    if (!known->regular || known->at.offset == 0)
        return TAMIS_OK;
    looks->turn++;
    clues_of(sums, known->name, known->as.device, known->as.inode, known->as.head);
    for (size_t n = 0; n < CLUES; n++)
        for (size_t at = find_clue(looks, sums[n]);
             at < CLUES * looks->count && looks->clues[at].sum == sums[n]; at++) {
            const size_t i = looks->clues[at].input;
            tamis__likeness likeness = TAMIS__OTHER;
            tamis_status status = TAMIS_OK;
            if (looks->inputs[i].turn != looks->turn && i < *found)
                status = compare(h, i, known, false, &likeness, err);
            looks->inputs[i].turn = looks->turn;
            if (status != TAMIS_OK)
                return status;
            if (likeness == TAMIS__SAME)
                *found = i;
            if (likeness == TAMIS__CHANGED && i < *changed)
                *changed = i;
        }
    return TAMIS_OK;
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
                                       .swapped = i / 2 != i % 2,
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
    return tamis__fail(
        err, TAMIS_E_INVALID, 0,
        "%s: was read already by the run that wrote to %s, so that all it had then would be duplicates; "
        "leave "
        "it out, give all inputs and outputs of that run to go on with it, or allow that it is read anew",
        tamis__show(tamis__input_name(h->run->inputs[i].name)).text, tamis__show(output_of(before)).text);
}

static tamis_status fail_gone(tamis__history *h, const tamis__account *before, tamis_error *err) {
    const tamis__account_input *in = &before->inputs[before->input];
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

/* All that the account has read has to be in the run, one by one: *all; the first that was changed, SIZE_MAX: none. Names and
 * inodes are used again and again, so it is the newest account with them that tells whether a file was changed. */
static tamis_status compare_in_row(tamis__history *h, const tamis__account *account, bool *all,
                                   size_t *changed, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < account->input_count && status == TAMIS_OK; i++) {
        looked *kept = &h->looks->inputs[i];
        const bool named = strcmp(h->run->inputs[i].name, account->inputs[i].name) == 0;
        tamis__likeness likeness;
        status = compare(h, i, &account->inputs[i], named ? !kept->once_named : !h->had_row, &likeness, err);
        kept->once_named = kept->once_named || named;
        *all = *all && likeness == TAMIS__SAME;
        if (likeness == TAMIS__CHANGED && *changed == SIZE_MAX)
            *changed = i;
    }
    h->had_row = true;
    return status;
}

/* Nothing of the account may be read anew. */
static tamis_status check_unread(tamis__history *h, const tamis__account *account, tamis_error *err) {
    size_t first = SIZE_MAX, other = SIZE_MAX, of = 0;
    tamis_status status = TAMIS_OK;
    for (size_t n = 0; n < account->input_count && status == TAMIS_OK; n++) {
        size_t found, changed;
        status = find_read(h, &account->inputs[n], &found, &changed, err);
        if (found < first)
            first = found;
        if (changed < other) {
            other = changed;
            of = n;
        }
    }
    if (status == TAMIS_OK && first != SIZE_MAX)
        return fail_read(h, account, first, err);
    return status == TAMIS_OK && other != SIZE_MAX ? fail_changed(h, other, &account->inputs[of], err)
                                                   : status;
}

/* Whether the account is one of the run: *is; else whether something speaks against a new one. */
static tamis_status look_at(tamis__history *h, const tamis__account *account, bool *is, tamis_error *err) {
    const tamis__account *run = h->run;
    const bool to_same = same_outputs(run, account);
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
    if (newest && !account->finished && account->inputs[account->input].regular)
        return fail_gone(h, account, err);
    return check_unread(h, account, err);
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
        status = look_at(h, &account, &is, &refused);
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

static tamis_status search(tamis__history *h, const tamis_state *state, tamis_error *err) {
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

tamis_status tamis__history_search(tamis__history *h, const tamis_state *state, tamis_error *err) {
    tamis__looks looks = {.inputs = NULL};
    h->looks = &looks;
    tamis_status status = look_at_inputs(&looks, h->run, err);
    if (status == TAMIS_OK)
        status = search(h, state, err);
    free_looks(&looks, &h->run->memory);
    h->looks = NULL;
    return status;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unfinished runs, when another run begins. A new run that writes to an output of an unfinished run cuts that output back to
 * its last commit, and the rest of the old run's inputs is never read. So the new run is refused, unless
 *
 *   - it has the same outputs, and the unread inputs among its own: then it reads the rest;
 *   - the caller gives the rest up (commits.abandon): a remark says how much that is.
 *
 * In both cases the commit that begins the new run keeps the account of the old one as a note, marked `left`. So after a crash
 * either the old run is still unfinished, or the new one has begun. An account no longer counts if a newer one has the same
 * names of inputs and outputs: that run was repeated.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/system.h"
#include "store/place.h"
#include "store/trouble.h"
#include "stream/extract_int.h"
#include "stream/history_int.h"
#include "stream/reader.h"

/* ---- what is unread ---- */

/* Unread rest of one input of an unfinished run. */
typedef struct rest {
    bool there;     /* the file of that name is the one that was read */
    bool known;     /* and so is how much of it is unread: not of compressed files */
    uint64_t bytes; /* unread, where known */
} rest;

static rest rest_of(const tamis__account_input *in) {
    tamis__likeness likeness = TAMIS__SAME;
    tamis_status status;
    bool borrowed;
    off_t base;
    uint64_t size;
    int fd;
    if (tamis__history_open(in->name, &fd, &borrowed, &base, &size, NULL) != TAMIS_OK || fd < 0)
        return (rest){.there = false};
    status = in->at.offset > 0 ? tamis__identity_compare(&in->as, fd, base, true, in->name, &likeness, NULL)
                               : TAMIS_OK;
    if (!borrowed)
        tamis__sys.close(fd);
    const bool there = status == TAMIS_OK && likeness == TAMIS__SAME;
    const bool known = there && !in->packed && size >= in->at.offset;
    return (rest){there, known, known ? size - in->at.offset : 0};
}

/* Unread rest of all inputs of an unfinished run. */
typedef struct total_rest {
    const char *first; /* the first input with a rest; NULL: nothing is unread */
    rest of_first;
    uint64_t read;  /* bytes read of the first */
    size_t others;  /* more inputs with a rest */
    uint64_t bytes; /* sum of all known rests */
    size_t unknown; /* inputs whose rest is not known */
} total_rest;

static total_rest rest_of_all(const tamis__account *account) {
    total_rest all = {.first = NULL};
    for (size_t i = (size_t)account->input; i < account->input_count; i++) {
        const tamis__account_input *in = &account->inputs[i];
        const rest left = in->regular ? rest_of(in) : (rest){true, true, 0};
        if (left.known && left.bytes == 0)
            continue;
        all.bytes += left.bytes;
        all.unknown += !left.known;
        all.others += all.first != NULL;
        if (all.first)
            continue;
        all.first = tamis__input_name(in->name);
        all.of_first = left;
        all.read = in->at.offset;
    }
    return all;
}

/* "1234 bytes of a.log and the rest of 2 more inputs" */
static void describe_rest(char *to, size_t room, const total_rest *all) {
    char others[60] = "";
    if (all->others > 0)
        snprintf(others, sizeof others, " and the rest of %zu more input%s", all->others,
                 all->others > 1 ? "s" : "");
    if (all->of_first.known)
        snprintf(to, room, "%" PRIu64 " bytes of %s%s", all->of_first.bytes, tamis__show(all->first).text,
                 others);
    else
        snprintf(to, room, "%s from byte %" PRIu64 " on%s", tamis__show(all->first).text, all->read, others);
}

/* ---- records that are given up ---- */

/* Records behind the place where the run stands in that input, as a run would read them. False where they cannot be read, and
 * where the file of that name is another one by now. */
static bool count_input(const tamis__history *h, const tamis__account *account, size_t i, uint64_t *records) {
    enum { KEYS = 1024, READ_SIZE = 256 << 10 };
    const tamis_stream_options *o = h->options;
    const tamis_extractor *x = o->extractor;
    const tamis__account_input *in = &account->inputs[i];
    const char *name = in->name;
    const bool header = o->header || (x && tamis_extractor_wants_header(x));
    const struct tamis__reader_from from = {false, in->at.offset, in->at.records, in->at.lines};
    const tamis__reader_setup setup = {.inputs = &name,
                                       .input_count = 1,
                                       .max_record = o->max_record,
                                       .read_size = READ_SIZE,
                                       .batch_size = KEYS,
                                       .batches = 1,
                                       .terminator = (unsigned char)account->form[TAMIS__FORM_TERMINATOR],
                                       .csv = x && tamis_extractor_is_csv(x),
                                       .delimiter = x ? tamis__extractor_delimiter(x) : 0,
                                       .from = &from};
    tamis__watch watch = {.stop_fd = o->stop_fd};
    tamis_key keys[KEYS];
    tamis__batch batch = {.keys = keys};
    tamis__reader_event event = TAMIS__READER_RECORDS;
    tamis__reader reader;
    if (tamis__descriptor_named(name, 0) >= 0)
        return false; /* reading it would move the caller's descriptor */
    if (!rest_of(in).there)
        return false;
    tamis_status status = tamis__reader_init(&reader, &setup, &watch, &h->run->memory, NULL);
    uint64_t count = 0;
    while (status == TAMIS_OK && event == TAMIS__READER_RECORDS) {
        status = tamis__reader_next(&reader, keys, &batch, &event, NULL);
        if (status != TAMIS_OK || event != TAMIS__READER_RECORDS)
            break;
        count += batch.count;
        tamis__reader_give_back(&reader, &batch);
    }
    tamis__reader_release(&reader);
    *records += count - (header && in->at.records == 0 && count > 0);
    return status == TAMIS_OK && event == TAMIS__READER_END;
}

static void describe_given_up(const tamis__history *h, const tamis__account *account, const total_rest *all,
                              char said[500]) {
    char what[260], counted[40] = "", unknown[80] = "";
    uint64_t records = 0;
    size_t uncounted = 0;
    for (size_t i = (size_t)account->input; i < account->input_count; i++)
        if (account->inputs[i].regular)
            uncounted += !count_input(h, account, i, &records);
    describe_rest(what, sizeof what, all);
    if (uncounted > 0)
        snprintf(unknown, sizeof unknown, "%san unknown number of records of %zu input%s",
                 records > 0 ? " and " : "", uncounted, uncounted > 1 ? "s" : "");
    if (records > 0 || uncounted == 0)
        snprintf(counted, sizeof counted, "%" PRIu64 " record%s", records, records == 1 ? "" : "s");
    snprintf(said, 500, "gave up the rest of an unfinished run: %s: %s%s", what, counted, unknown);
}

/* ---- what becomes of an unfinished run ---- */

/* True if a newer account has that key. Remembers the key for older accounts. */
static tamis_status is_superseded(tamis__history *h, uint64_t key, bool *is, tamis_error *err) {
    *is = false;
    for (size_t i = 0; i < h->key_count; i++)
        if (h->keys[i] == key) {
            *is = true;
            return TAMIS_OK;
        }
    if (h->key_count == h->key_room) {
        const size_t room = h->key_room ? 2 * h->key_room : 64;
        uint64_t *grown = tamis__alloc(&h->run->memory, room * sizeof *grown, 8);
        if (!grown)
            return tamis__fail_nomem(err, "accounts of runs", room * sizeof *grown);
        if (h->keys) {
            memcpy(grown, h->keys, h->key_count * sizeof *grown);
            tamis__free(&h->run->memory, h->keys, h->key_room * sizeof *grown);
        }
        h->keys = grown;
        h->key_room = room;
    }
    h->keys[h->key_count++] = key;
    return TAMIS_OK;
}

/* True if the new run would cut back an output of the unfinished run, or has the same pipes as outputs. */
static bool is_in_the_way(tamis__history *h, const tamis__account *account, bool to_same) {
    bool copied;
    for (int i = 0; i < 4; i++) {
        const tamis__account_output *known = &account->outputs[i % 2];
        if (h->run->outputs[i / 2].form == TAMIS__ACCOUNT_FILE && known->form == TAMIS__ACCOUNT_FILE &&
            tamis__is_same_output(h, i / 2, known, false, &copied) && (!copied || i / 2 == i % 2))
            return true;
    }
    return to_same;
}

/* True if the new run reads that input too, from its beginning or from where the unfinished run stopped. */
static tamis_status reads_on(tamis__history *h, const tamis__account_input *in, bool *so, tamis_error *err) {
    size_t found = SIZE_MAX, changed;
    *so = false;
    if (in->at.offset > 0) {
        const tamis_status status = tamis__looks_find(h, in, &found, &changed, err);
        *so = found != SIZE_MAX;
        return status;
    }
    for (size_t i = 0; i < h->run->input_count && !*so; i++)
        *so = strcmp(h->run->inputs[i].name, in->name) == 0;
    return TAMIS_OK;
}

static tamis_status covers(tamis__history *h, const tamis__account *account, bool *all, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    *all = true;
    for (size_t i = (size_t)account->input; i < account->input_count && *all && status == TAMIS_OK; i++) {
        const tamis__account_input *in = &account->inputs[i];
        const rest left = in->regular ? rest_of(in) : (rest){true, true, 0};
        if (!left.known || left.bytes > 0)
            status = reads_on(h, in, all, err);
    }
    return status;
}

static tamis_status leave_run(tamis__history *h, tamis__account *account, bool last, const char *said,
                              tamis_error *err) {
    tamis__left_run *left = tamis__alloc(&h->run->memory, sizeof *left, _Alignof(tamis__left_run));
    if (!left)
        return tamis__fail_nomem(err, "account of a run", sizeof *left);
    account->left = true;
    const tamis_status status = tamis__account_encode(account, &left->bytes, &left->size, err);
    account->left = false;
    if (status != TAMIS_OK) {
        tamis__free(&h->run->memory, left, sizeof *left);
        return status;
    }
    left->last = last;
    snprintf(left->said, sizeof left->said, "%s", said);
    left->next = h->left;
    h->left = left;
    return TAMIS_OK;
}

static tamis_status fail_blocked(tamis__history *h, tamis__account *account, const total_rest *all,
                                 tamis_error *err) {
    char what[260];
    describe_rest(what, sizeof what, all);
    tamis__looks_rename(h, account);
    const tamis_status status = tamis__fail(
        err, TAMIS_E_INVALID, 0,
        "%s: its last run did not finish (not read: %s); finish that run first, or allow that it is given up",
        tamis__show(tamis__output_of(account)).text, what);
    h->was_read = false;
    h->blocked = *account;
    *account = (tamis__account){.inputs = NULL};
    return status;
}

/* A run that wrote to no file has no better name than its inputs. */
static void describe_beside(char *to, size_t size, const tamis__account *account) {
    char more[40] = "";
    if (account->outputs[0].form == TAMIS__ACCOUNT_FILE || account->outputs[1].form == TAMIS__ACCOUNT_FILE) {
        snprintf(to, size, "%s: its run has not finished; give that run again to finish it",
                 tamis__show(tamis__output_of(account)).text);
        return;
    }
    if (account->input_count > 1)
        snprintf(more, sizeof more, " and %zu more input%s", account->input_count - 1,
                 account->input_count > 2 ? "s" : "");
    snprintf(
        to, size,
        "the run of %s%s to standard output or a pipe has not finished; give that run again to finish it",
        tamis__show(tamis__input_name(account->inputs[0].name)).text, more);
}

bool tamis__history_is_open(const tamis__history *h, const tamis__account *account) {
    const uint64_t key = tamis__account_key(account);
    for (size_t i = 0; i < h->key_count; i++)
        if (h->keys[i] == key)
            return false;
    return tamis__account_is_open(account);
}

tamis_status tamis__history_look_open(tamis__history *h, tamis__account *account, bool is, bool last,
                                      tamis_error *err) {
    const uint64_t key = tamis__account_key(account);
    char said[500] = "";
    bool superseded, covered;
    tamis_status status = is_superseded(h, key, &superseded, err);
    if (status != TAMIS_OK || superseded || !tamis__account_is_open(account))
        return status;
    if (is) /* if names changed, the old account would stay unfinished */
        return last || key == tamis__account_key(h->run) ? TAMIS_OK : leave_run(h, account, last, "", err);
    const bool renewed = h->again && key == tamis__account_key(h->run);
    const bool to_same = tamis__same_outputs(h, account);
    const total_rest all = rest_of_all(account);
    if (renewed || !all.first)
        return TAMIS_OK;
    if (!is_in_the_way(h, account, to_same)) {
        if (h->beside[0] == '\0')
            describe_beside(h->beside, sizeof h->beside, account);
        return TAMIS_OK;
    }
    status = covers(h, account, &covered, err);
    if (status != TAMIS_OK || (covered && (to_same || h->again)))
        return status == TAMIS_OK ? leave_run(h, account, last, "", err) : status;
    if (!h->abandon)
        return fail_blocked(h, account, &all, err);
    describe_given_up(h, account, &all, said);
    return leave_run(h, account, last, said, err);
}

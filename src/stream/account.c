/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes of an account, all numbers little-endian, 64 bits:
 *
 *     'A' 'C' 'C' 2 0 0 0 0 | flags | counts (8) | form (4) | input | inputs | each input | each of two outputs | command
 *     input   flags, offset, identity (5), bytes of the name, the name
 *     output  form, flags, header, packing, tail (2), identity (5), bytes of the path, the path
 *
 * A state's checksums stand over them, so what does not fit is of another version of this library, or of another program.
 */
#include "stream/account.h"

#include <string.h>

#include <tamis/state.h>

#include "base/bytes.h"
#include "base/versioned.h"
#include "hash/fnv.h"
#include "store/trouble.h"

static const unsigned char MAGIC[8] = {'A', 'C', 'C', 2};

enum {
    FINISHED = 1,
    BEGUN = 2,
    LEFT = 4,
    REGULAR = 1,
    PACKED = 2,
    UNTERMINATED = 4,
    OWES = 1,
    HEADED = 2,
    NAME_MOST = 65536,
    LEAST_INPUT = 8 * 10 /* bytes of one with an empty name */
};

tamis_status tamis__account_init(tamis__account *account, size_t inputs, const tamis_allocator *memory,
                                 tamis_error *err) {
    account->memory = *memory;
    account->stats = (tamis_stream_stats)TAMIS_STREAM_STATS_INIT;
    account->inputs = tamis__alloc(memory, (inputs ? inputs : 1) * sizeof *account->inputs, TAMIS__LINE);
    if (!account->inputs)
        return tamis__fail_nomem(err, "account of a run", inputs * sizeof *account->inputs);
    account->input_count = inputs;
    return TAMIS_OK;
}

char *tamis__account_text(const tamis__account *account, const char *text) {
    char *copy = tamis__alloc(&account->memory, strlen(text) + 1, 1);
    if (copy)
        memcpy(copy, text, strlen(text) + 1);
    return copy;
}

static void free_text(const tamis__account *account, char *text) {
    if (text)
        tamis__free(&account->memory, text, strlen(text) + 1);
}

void tamis__account_rename(const tamis__account *account, char **text, const char *to) {
    char *copy = tamis__account_text(account, to);
    if (!copy)
        return;
    free_text(account, *text);
    *text = copy;
}

void tamis__account_release(tamis__account *account) {
    const size_t count = account->input_count;
    for (size_t i = 0; account->inputs && i < count; i++)
        free_text(account, account->inputs[i].name);
    for (int i = 0; account->inputs && i < 2; i++)
        free_text(account, account->outputs[i].path);
    free_text(account, account->command);
    if (account->inputs)
        tamis__free(&account->memory, account->inputs, (count ? count : 1) * sizeof *account->inputs);
    *account = (tamis__account){.inputs = NULL};
}

uint64_t tamis__account_key(const tamis__account *account) {
    uint64_t key = TAMIS__FNV_BASIS;
    for (size_t i = 0; i < account->input_count; i++)
        key = tamis__fnv1_64_on(key, account->inputs[i].name, 0, strlen(account->inputs[i].name) + 1);
    for (int i = 0; i < 2; i++) {
        const char *path = account->outputs[i].path ? account->outputs[i].path : "";
        const unsigned char form = (unsigned char)account->outputs[i].form;
        key = tamis__fnv1_64_on(key, &form, 0, 1);
        key = tamis__fnv1_64_on(key, path, 0, strlen(path) + 1);
    }
    return key;
}

bool tamis__account_is_open(const tamis__account *account) {
    for (size_t i = (size_t)account->input; i < account->input_count; i++)
        if (account->inputs[i].regular)
            return !account->finished && !account->left;
    return false;
}

tamis_status tamis__account_fail_form(const char *name, int form, tamis_error *err) {
    static const char *const names[] = {[TAMIS__FORM_TERMINATOR] = "end of records",
                                        [TAMIS__FORM_HEADER] = "header",
                                        [TAMIS__FORM_MARKING] = "mark of records",
                                        [TAMIS__FORM_MARK] = "name of marks",
                                        [TAMIS__FORMS] = "compression"};
    return tamis__fail(
        err, TAMIS_E_MISMATCH, 0,
        "%s: was begun with another %s; give the options that it was begun with, or another output",
        tamis__show(name).text, names[form]);
}

/* ---- writing: once to count, with `to` NULL, and once more ---- */

typedef struct ink {
    unsigned char *to;
    size_t size;
} ink;

static void put(ink *i, const void *bytes, size_t size) {
    if (i->to && size > 0)
        memcpy(i->to + i->size, bytes, size);
    i->size += size;
}

static void put_number(ink *i, uint64_t value) {
    unsigned char bytes[8];
    tamis__store64le(bytes, value);
    put(i, bytes, sizeof bytes);
}

static void put_text(ink *i, const char *text) {
    const size_t size = text ? strlen(text) : 0;
    put_number(i, size);
    put(i, text, size);
}

static void put_identity(ink *i, const tamis__identity *as) {
    const uint64_t fields[] = {as->device, as->inode, as->at, as->head, as->tail};
    for (size_t n = 0; n < sizeof fields / sizeof *fields; n++)
        put_number(i, fields[n]);
}

static void put_account(ink *i, const tamis__account *a) {
    const tamis_stream_stats *s = &a->stats;
    const uint64_t numbers[] = {(a->finished ? FINISHED : 0u) | (a->begun ? BEGUN : 0u) |
                                    (a->left ? LEFT : 0u),
                                s->records,
                                s->unique,
                                s->duplicates,
                                s->unknown,
                                s->missing,
                                s->malformed,
                                s->bytes_in,
                                s->bytes_read};
    put(i, MAGIC, sizeof MAGIC);
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
        put_number(i, numbers[n]);
    for (int n = 0; n < TAMIS__FORMS; n++)
        put_number(i, a->form[n]);
    put_number(i, a->input);
    put_number(i, a->input_count);
    for (size_t n = 0; n < a->input_count; n++) {
        const tamis__account_input *in = &a->inputs[n];
        put_number(i, (in->regular ? REGULAR : 0u) | (in->packed ? PACKED : 0u) |
                          (in->at.unterminated ? UNTERMINATED : 0u));
        put_number(i, in->at.offset);
        put_number(i, in->at.records);
        put_number(i, in->at.lines);
        put_identity(i, &in->as);
        put_text(i, in->name);
    }
    for (int n = 0; n < 2; n++) {
        put_number(i, a->outputs[n].form);
        put_number(i, (a->outputs[n].owes_terminator ? OWES : 0u) | (a->outputs[n].begun ? HEADED : 0u));
        put_number(i, a->outputs[n].header);
        put_number(i, (uint64_t)a->outputs[n].packing);
        put_number(i, a->outputs[n].tail_at);
        put_number(i, a->outputs[n].tail_size);
        put_identity(i, &a->outputs[n].as);
        put_text(i, a->outputs[n].path);
    }
    put_text(i, a->command);
}

tamis_status tamis__account_encode(const tamis__account *account, unsigned char **bytes, size_t *size,
                                   tamis_error *err) {
    ink i = {NULL, 0};
    put_account(&i, account);
    if (i.size > TAMIS_STATE_ACCOUNT_MAX)
        return tamis__fail(
            err, TAMIS_E_RANGE, 0,
            "stream: the names of %zu inputs take %zu bytes of each commit, of which there may be %d; "
            "run some of them, then the others",
            account->input_count, i.size, TAMIS_STATE_ACCOUNT_MAX);
    *size = i.size;
    i = (ink){tamis__alloc(&account->memory, i.size, 1), 0};
    if (!i.to)
        return tamis__fail_nomem(err, "account of a run", *size);
    put_account(&i, account);
    *bytes = i.to;
    return TAMIS_OK;
}

/* ---- reading ---- */

typedef struct eye {
    const unsigned char *at;
    size_t left;
    bool well; /* all that was asked was there */
} eye;

static uint64_t take_number(eye *e) {
    if (e->left < 8)
        e->well = false;
    if (!e->well)
        return 0;
    e->at += 8;
    e->left -= 8;
    return tamis__load64le(e->at - 8);
}

/* NULL: no memory, or not there. */
static char *take_text(eye *e, const tamis_allocator *memory) {
    const uint64_t size = take_number(e);
    if (size > e->left || size > NAME_MOST)
        e->well = false;
    char *text = e->well ? tamis__alloc(memory, (size_t)size + 1, 1) : NULL;
    if (!text)
        return NULL;
    memcpy(text, e->at, (size_t)size);
    text[size] = '\0';
    e->at += size;
    e->left -= (size_t)size;
    if (strlen(text) == size)
        return text;
    tamis__free(memory, text, (size_t)size + 1);
    e->well = false;
    return NULL;
}

static tamis__identity take_identity(eye *e) {
    tamis__identity as;
    as.device = take_number(e);
    as.inode = take_number(e);
    as.at = take_number(e);
    as.head = take_number(e);
    as.tail = take_number(e);
    return as;
}

static tamis_status fail_format(tamis_error *err) {
    return tamis__fail(err, TAMIS_E_FORMAT, 0,
                       "state: what one of its commits tells is not of this program; use that which made it");
}

static bool take_fields(eye *e, tamis__account *a) {
    for (size_t n = 0; n < a->input_count; n++) {
        tamis__account_input *in = &a->inputs[n];
        const uint64_t flags = take_number(e);
        in->regular = flags & REGULAR;
        in->packed = flags & PACKED;
        in->at.unterminated = flags & UNTERMINATED;
        in->at.offset = take_number(e);
        in->at.records = take_number(e);
        in->at.lines = take_number(e);
        in->as = take_identity(e);
        in->name = take_text(e, &a->memory);
        if (!in->name)
            return false;
    }
    for (int n = 0; n < 2; n++) {
        const uint64_t form = take_number(e), flags = take_number(e);
        a->outputs[n].form = (tamis__account_form)form;
        a->outputs[n].owes_terminator = flags & OWES;
        a->outputs[n].begun = flags & HEADED;
        a->outputs[n].header = take_number(e);
        a->outputs[n].packing = (int)take_number(e);
        a->outputs[n].tail_at = take_number(e);
        a->outputs[n].tail_size = take_number(e);
        a->outputs[n].as = take_identity(e);
        a->outputs[n].path = take_text(e, &a->memory);
        e->well = e->well && form <= TAMIS__ACCOUNT_STREAM;
        if (!a->outputs[n].path)
            return false;
    }
    a->command = take_text(e, &a->memory);
    return a->command != NULL;
}

tamis_status tamis__account_decode(tamis__account *account, const void *bytes, size_t size,
                                   const tamis_allocator *memory, tamis_error *err) {
    eye e = {bytes, size, size >= sizeof MAGIC && memcmp(bytes, MAGIC, sizeof MAGIC) == 0};
    if (!e.well)
        return fail_format(err);
    e.at += sizeof MAGIC;
    e.left -= sizeof MAGIC;
    tamis_stream_stats s = TAMIS_STREAM_STATS_INIT;
    const uint64_t flags = take_number(&e);
    uint64_t *const counts[] = {&s.records, &s.unique,    &s.duplicates, &s.unknown,
                                &s.missing, &s.malformed, &s.bytes_in,   &s.bytes_read};
    for (size_t n = 0; n < sizeof counts / sizeof *counts; n++)
        *counts[n] = take_number(&e);
    uint64_t form[TAMIS__FORMS];
    for (int n = 0; n < TAMIS__FORMS; n++)
        form[n] = take_number(&e);
    const uint64_t input = take_number(&e), inputs = take_number(&e);
    if (!e.well || inputs > e.left / LEAST_INPUT || input >= inputs)
        return fail_format(err);
    tamis_status status = tamis__account_init(account, (size_t)inputs, memory, err);
    if (status != TAMIS_OK)
        return status;
    account->finished = flags & FINISHED;
    account->begun = flags & BEGUN;
    account->left = flags & LEFT;
    account->stats = s;
    memcpy(account->form, form, sizeof form);
    account->input = input;
    const bool taken = take_fields(&e, account);
    if (taken && e.well && e.left == 0)
        return TAMIS_OK;
    tamis__account_release(account);
    return e.well && !taken ? tamis__fail_nomem(err, "account of a run", NAME_MOST) : fail_format(err);
}

/* ---- for who looks at it ---- */

struct tamis_stream_account {
    tamis__account account;
};

tamis_status tamis__account_give(tamis_stream_account **account, tamis__account *from, tamis_error *err) {
    tamis_stream_account *made = tamis__alloc(&from->memory, sizeof *made, _Alignof(tamis_stream_account));
    if (!made)
        return tamis__fail_nomem(err, "account of a run", sizeof *made);
    made->account = *from;
    *from = (tamis__account){.inputs = NULL};
    *account = made;
    return TAMIS_OK;
}

tamis_status tamis_stream_account_open(tamis_stream_account **account, const void *bytes, size_t size,
                                       tamis_error *err) {
    TAMIS__NEED(account, err);
    TAMIS__NEED_IF(size, bytes, err);
    const tamis_allocator memory = tamis__allocator_resolve(NULL);
    tamis_stream_account *made = tamis__alloc(&memory, sizeof *made, _Alignof(tamis_stream_account));
    if (!made)
        return tamis__fail_nomem(err, "account of a run", sizeof *made);
    tamis_status status = tamis__account_decode(&made->account, bytes, size, &memory, err);
    if (status == TAMIS_OK)
        *account = made;
    else
        tamis__free(&memory, made, sizeof *made);
    return status;
}

void tamis_stream_account_free(tamis_stream_account *account) {
    if (!account)
        return;
    const tamis_allocator memory = account->account.memory;
    tamis__account_release(&account->account);
    tamis__free(&memory, account, sizeof *account);
}

bool tamis_stream_account_get(const tamis_stream_account *account, tamis_stream_stats *stats) {
    tamis__give_struct(stats, &account->account.stats, sizeof account->account.stats);
    return account->account.finished;
}

bool tamis_stream_account_is_open(const tamis_stream_account *account) {
    return tamis__account_is_open(&account->account);
}

bool tamis_stream_account_is_same_run(const tamis_stream_account *one, const tamis_stream_account *other) {
    return tamis__account_key(&one->account) == tamis__account_key(&other->account);
}

const char *tamis_stream_account_command(const tamis_stream_account *account) {
    const char *command = account->account.command;
    return command && command[0] ? command : NULL;
}

const char *tamis_stream_account_input(const tamis_stream_account *account, size_t i, uint64_t *read) {
    if (i >= account->account.input_count)
        return NULL;
    if (read)
        *read = account->account.inputs[i].at.offset;
    return account->account.inputs[i].name;
}

const char *tamis_stream_account_output(const tamis_stream_account *account, size_t i, uint64_t *written) {
    if (i >= 2 || account->account.outputs[i].form != TAMIS__ACCOUNT_FILE)
        return NULL;
    if (written)
        *written = account->account.outputs[i].as.at;
    return account->account.outputs[i].path;
}

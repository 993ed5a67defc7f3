/* SPDX-License-Identifier: BSD-2-Clause */
/* Letters with numbers are steps of docs/DURABILITY.md. */
#include "stream/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/system.h"
#include "hash/fnv.h"
#include "service/dedup/dedup_commits.h"
#include "store/trouble.h"
#include "stream/history.h"
#include "stream/unpack.h"

enum { OUTPUTS = 2 };

/* ---- what the run is of ---- */

/* Whatever is written there, nobody has it. */
static bool is_null(const struct stat *about) {
    return S_ISCHR(about->st_mode) && about->st_rdev == makedev(1, 3);
}

static tamis_status name_output(tamis__durable *d, int i, tamis_error *err) {
    const tamis__place *place = &d->places[i];
    tamis__account_output *out = &d->live.outputs[i];
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
    out->path = tamis__account_text(&d->live, path);
    return out->path ? TAMIS_OK : tamis__fail_nomem(err, "account of a run", strlen(path));
}

static tamis_status find_output(tamis__durable *d, int i, tamis_error *err) {
    const tamis__place *place = &d->places[i];
    tamis__account_output *out = &d->live.outputs[i];
    if (place->form == TAMIS__PLACE_NEW || place->form == TAMIS__PLACE_REPLACE)
        return name_output(d, i, err);
    if (place->form == TAMIS__PLACE_DESCRIPTOR && S_ISREG(place->about.st_mode))
        return tamis__fail(
            err, TAMIS_E_UNSUPPORTED, 0,
            "%s: is a regular file that is open already, and whoever opens it at a restart may truncate it; "
            "give the output by its name",
            tamis__show(place->name).text);
    if (place->form != TAMIS__PLACE_NOWHERE && !is_null(&place->about)) {
        out->form = TAMIS__ACCOUNT_STREAM;
        if (!d->commits->inexact)
            d->commits->inexact = place->name;
    }
    return TAMIS_OK;
}

static void close_input(tamis__durable *d) {
    if (d->input >= 0 && !d->borrowed)
        tamis__sys.close(d->input);
    d->input = -1;
}

/* Opens the input to sum it; d->input is -1 where it is no regular file. */
static tamis_status open_input(tamis__durable *d, size_t i, tamis_error *err) {
    close_input(d);
    d->summed = i;
    tamis_status status = tamis__history_open(d->names[i], &d->input, &d->borrowed, &d->base, &d->size, err);
    /* A descriptor that was open before stands where it did only until it is read. */
    if (d->borrowed && d->live.inputs[i].based)
        d->base = d->live.inputs[i].base;
    d->live.inputs[i].base = d->base;
    d->live.inputs[i].based = status == TAMIS_OK;
    return status;
}

static tamis_status is_packed(tamis__durable *d, size_t i, bool *packed, tamis_error *err) {
    uint8_t head[TAMIS__UNPACK_HEAD];
    bool undecided;
    const ssize_t size = tamis__sys.pread(d->input, head, sizeof head, d->base);
    if (size < 0)
        return tamis__fail_file(err, tamis__input_name(d->names[i]), errno);
    *packed = tamis__packing_of(head, (size_t)size, &undecided) != TAMIS_PACKING_NONE;
    return TAMIS_OK;
}

/* A packed one is known as a whole from the beginning, for what of it is read has no place in it that could be told. */
static tamis_status find_input(tamis__durable *d, size_t i, tamis_error *err) {
    tamis__account_input *in = &d->live.inputs[i];
    in->name = tamis__account_text(&d->live, d->names[i]);
    if (!in->name)
        return tamis__fail_nomem(err, "account of a run", strlen(d->names[i]));
    tamis_status status = open_input(d, i, err);
    if (status != TAMIS_OK)
        return status;
    in->regular = d->input >= 0;
    if (!in->regular && !d->commits->inexact)
        d->commits->inexact = tamis__input_name(d->names[i]);
    if (!in->regular)
        return TAMIS_OK;
    status = is_packed(d, i, &in->packed, err);
    if (status == TAMIS_OK)
        status = tamis__identity_take(&in->as, d->input, d->base, in->packed ? d->size : 0, d->names[i], err);
    return status;
}

static tamis_status find_ends(tamis__durable *d, size_t inputs, tamis_error *err) {
    tamis_status status = tamis__account_init(&d->live, inputs, &d->memory, err);
    for (size_t i = 0; i < inputs && status == TAMIS_OK; i++)
        status = find_input(d, i, err);
    for (int i = 0; i < OUTPUTS && status == TAMIS_OK; i++)
        status = find_output(d, i, err);
    if (status != TAMIS_OK || !d->commits->inexact || !d->commits->require_exact)
        return status;
    return tamis__fail(
        err, TAMIS_E_UNSUPPORTED, 0,
        "%s: is no regular file, so that after a crash a record may come twice; give a file, or allow that",
        tamis__show(d->commits->inexact).text);
}

/* ---- where it begins ---- */

static tamis_status fail_unterminated(const tamis__durable *d, size_t i, tamis_error *err) {
    d->commits->was_read = true;
    return tamis__fail(
        err, TAMIS_E_STALE, 0,
        "%s: its last record had no end when it was read, and has got longer since; allow that the input is "
        "read anew",
        tamis__show(tamis__input_name(d->names[i])).text);
}

/* The end of a record that had none may have come. */
static tamis_status take_terminator(tamis__durable *d, size_t i, unsigned char terminator, tamis_error *err) {
    struct tamis__account_place *at = &d->live.inputs[i].at;
    unsigned char next;
    if (tamis__sys.pread(d->input, &next, 1, d->base + (off_t)at->offset) != 1)
        return tamis__fail_file(err, tamis__input_name(d->names[i]), errno ? errno : EIO);
    if (next != terminator)
        return fail_unterminated(d, i, err);
    at->offset++;
    at->lines += terminator == '\n';
    at->unterminated = false;
    return TAMIS_OK;
}

/* Whether there is something to read of an input: what was read of it is as it was. */
static tamis_status look_at_input(tamis__durable *d, size_t i, unsigned char terminator, bool *more,
                                  tamis_error *err) {
    tamis__account_input *in = &d->live.inputs[i];
    tamis_status status = open_input(d, i, err);
    if (status != TAMIS_OK)
        return status;
    if (d->input < 0 || in->at.offset == 0)
        *more = d->input < 0 || d->size > 0;
    else if (
        in->packed) /* of those behind the one that is read some may have been read in part, before that one grew */
        *more = !d->live.finished && i >= d->live.input;
    else
        *more = d->size > in->at.offset;
    if (*more && in->at.unterminated && !in->packed)
        status = take_terminator(d, i, terminator, err);
    return status;
}

static const char *const form_names[TAMIS__FORMS] = {
    [TAMIS__FORM_TERMINATOR] = "end of records",     [TAMIS__FORM_HEADER] = "header",
    [TAMIS__FORM_MARKING] = "mark of records",       [TAMIS__FORM_MARK] = "name of marks",
    [TAMIS__FORM_MISSING] = "way with missing keys", [TAMIS__FORM_MALFORMED] = "way with malformed records"};

static tamis_status fail_form(const char *name, const char *what, tamis_error *err) {
    return tamis__fail(
        err, TAMIS_E_MISMATCH, 0,
        "%s: was begun with another %s; give the options that it was begun with, or another output",
        tamis__show(name).text, what);
}

/* What of the run before holds for this one; *d->live.input is the first input of which there is something to read. */
static tamis_status take_before(tamis__durable *d, const tamis__history *h, unsigned char terminator,
                                tamis_error *err) {
    tamis__account *live = &d->live;
    const tamis__account *before = &h->before;
    size_t first = SIZE_MAX;
    live->finished = before->finished;
    live->begun = before->begun;
    live->stats = before->stats;
    live->input = before->input;
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < live->input_count && status == TAMIS_OK; i++) {
        bool more = false;
        live->inputs[i].at = before->inputs[i].at;
        if (live->inputs[i].at.offset > 0)
            live->inputs[i].as = before->inputs[i].as;
        d->goes_on = d->goes_on || live->inputs[i].at.offset > 0;
        status = look_at_input(d, i, terminator, &more, err);
        live->inputs[i].passed = !more;
        if (more && first == SIZE_MAX)
            first = i;
    }
    d->finished = before->finished && first == SIZE_MAX;
    d->commits->begun = d->finished        ? TAMIS_STREAM_FINISHED
                        : before->finished ? TAMIS_STREAM_GROWN
                                           : TAMIS_STREAM_RESUMED;
    live->finished = d->finished;
    if (first != SIZE_MAX)
        live->input = first;
    for (int n = 0; n < TAMIS__FORMS && status == TAMIS_OK && !d->finished; n++)
        if (live->form[n] != before->form[n])
            status = fail_form(tamis__input_name(d->names[live->input]), form_names[n], err);
    return status;
}

/* Where the run was not here before, or is to be begun anew in spite of that. */
static void begin_new(tamis__durable *d) {
    tamis__account *live = &d->live;
    d->finished = d->goes_on = false;
    d->commits->begun = TAMIS_STREAM_NEW;
    d->commits->was_read = false;
    live->finished = live->begun = false;
    live->input = 0;
    live->stats = (tamis_stream_stats)TAMIS_STREAM_STATS_INIT;
    for (size_t i = 0; i < live->input_count; i++) {
        live->inputs[i].at = (struct tamis__account_place){0};
        live->inputs[i].passed = false;
    }
}

/* ---- outputs ---- */

static tamis_status fail_output(const tamis__durable *d, int i, const char *why, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_STALE, 0, "%s: %s", tamis__show(d->places[i].name).text, why);
}

static tamis_status fail_length(const tamis__durable *d, int i, const char *how,
                                const tamis__known_output *known, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_STALE, 0,
                       "%s: is %s than the %" PRIu64
                       " bytes it was left with; bring it back, or begin anew: remove state and outputs",
                       tamis__show(d->places[i].name).text, how, known->as.at);
}

/* What is appended has to be of one kind with what is there. */
static tamis_status check_form(const tamis__durable *d, int i, const tamis__known_output *known,
                               tamis_error *err) {
    static const int kept[] = {TAMIS__FORM_TERMINATOR, TAMIS__FORM_MARKING, TAMIS__FORM_MARK};
    const char *name = d->places[i].name;
    if (!known->found || known->as.at == 0 || d->finished)
        return TAMIS_OK;
    if (known->packing != d->live.outputs[i].packing)
        return fail_form(name, "compression", err);
    for (size_t n = 0; n < sizeof kept / sizeof *kept; n++)
        if (known->form[kept[n]] != d->live.form[kept[n]])
            return fail_form(name, form_names[kept[n]], err);
    return TAMIS_OK;
}

/* B3: whether the output is as it was left, but for what an unfinished run has written behind its last commit. */
static tamis_status check_output(const tamis__durable *d, int i, const tamis__known_output *known,
                                 uint64_t size, tamis_error *err) {
    tamis__likeness likeness;
    if (!known->found)
        return size == 0 ? TAMIS_OK
                         : fail_output(d, i,
                                       "is there already, and the state knows nothing of it; remove it, or "
                                       "give another output",
                                       err);
    if (size < known->as.at)
        return fail_length(d, i, "shorter", known, err);
    if (size > known->as.at && !known->unfinished)
        return fail_length(d, i, "longer", known, err);
    tamis_status status =
        tamis__identity_compare(&known->as, d->fds[i], 0, true, d->places[i].name, &likeness, err);
    if (status != TAMIS_OK || likeness == TAMIS__SAME)
        return status;
    return fail_output(
        d, i, "was changed since it was left; bring it back, or begin anew: remove state and outputs", err);
}

/* So that the name is there after a power loss. */
static tamis_status sync_folder(const tamis__place *place, tamis_error *err) {
    char folder[PATH_MAX] = ".";
    const size_t size = tamis__place_folder(place);
    if (size > 0) {
        memcpy(folder, place->path, size);
        folder[size] = '\0';
    }
    const int fd = tamis__sys.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0)
        return tamis__fail_file(err, place->name, errno);
    const int failed = tamis__sync(fd) < 0 && errno != EINVAL ? errno : 0; /* EINVAL: it does so by itself */
    tamis__sys.close(fd);
    return failed ? tamis__fail_file(err, place->name, failed) : TAMIS_OK;
}

/* Cuts the output back to `length` and sees to it that the cut lasts before anything is appended: what stood there would come
 * back among what is written (B4, B5). */
static tamis_status cut_output(const tamis__durable *d, int i, uint64_t length, tamis_error *err) {
    const tamis__place *place = &d->places[i];
    const int fd = d->fds[i];
    if (tamis__sys.truncate(fd, (off_t)length) < 0 || tamis__sync(fd) < 0 ||
        tamis__sys.seek(fd, (off_t)length, SEEK_SET) < 0)
        return tamis__fail_file(err, place->name, errno);
    return sync_folder(place, err);
}

static tamis_status open_output(tamis__durable *d, int i, const tamis__known_output *known,
                                tamis_error *err) {
    tamis__place *place = &d->places[i];
    tamis__account_output *out = &d->live.outputs[i];
    if (out->form != TAMIS__ACCOUNT_FILE)
        return TAMIS_OK;
    tamis_status status = tamis_file_lock(&d->locks[i], place->path, err);
    if (status != TAMIS_OK && status != TAMIS_E_UNSUPPORTED)
        return status;
    const int flags = O_RDWR | O_CLOEXEC | O_NOCTTY | (known->found && known->as.at > 0 ? 0 : O_CREAT);
    do
        d->fds[i] = tamis__sys.open(place->path, flags, 0666);
    while (d->fds[i] < 0 && errno == EINTR);
    if (d->fds[i] < 0 && errno == ENOENT && known->found)
        return fail_output(d, i, "is no longer there; bring it back, or begin anew: remove state and outputs",
                           err);
    if (d->fds[i] < 0 || tamis__sys.fstat(d->fds[i], &place->about) < 0)
        return tamis__fail_file(err, place->name, errno);
    status = check_output(d, i, known, (uint64_t)place->about.st_size, err);
    if (status == TAMIS_OK)
        status = check_form(d, i, known, err);
    if (status == TAMIS_OK && !d->finished)
        status = cut_output(d, i, known->as.at, err);
    if (status != TAMIS_OK)
        return status;
    out->as = known->as;
    out->owes_terminator = known->owes_terminator;
    out->begun = known->begun;
    out->header = known->header;
    place->form = TAMIS__PLACE_DESCRIPTOR;
    place->fd = d->fds[i];
    return TAMIS_OK;
}

/* ---- the run ---- */

/* B6: the run that was committed last, which is another, is kept for when it is given again. */
static tamis_status keep_last(const tamis__durable *d, tamis_error *err) {
    tamis_state *state = tamis__dedup_state(d->session);
    const void *account;
    size_t size;
    tamis_state_committed(state, &account, &size);
    return size == 0 ? TAMIS_OK : tamis_state_note(state, account, size, err);
}

static void take_form(tamis__durable *d, const tamis_stream_options *o, const int *packings) {
    uint64_t *form = d->live.form;
    const char *mark = o->marking && o->mark_name ? o->mark_name : "";
    form[TAMIS__FORM_TERMINATOR] = o->terminator;
    form[TAMIS__FORM_HEADER] = o->header;
    form[TAMIS__FORM_MARKING] = (uint64_t)o->marking;
    form[TAMIS__FORM_MISSING] = (uint64_t)o->missing;
    form[TAMIS__FORM_MALFORMED] = (uint64_t)o->malformed;
    form[TAMIS__FORM_MARK] = tamis__fnv1_64(mark, strlen(mark));
    for (int i = 0; i < OUTPUTS; i++)
        d->live.outputs[i].packing = packings[i];
}

static tamis_status check(const tamis__durable *d, const tamis_stream_options *options, tamis_error *err) {
    if (!d->session || !tamis__dedup_state(d->session))
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "stream: commits without a session over a state; give that in commits.session");
    if (!tamis__dedup_is_settled(d->session))
        return tamis__fail(
            err, TAMIS_E_INVALID, 0,
            "stream: its session was asked something since the last commit; commit or abort that first");
    if (options->follow)
        return tamis__fail(
            err, TAMIS_E_UNSUPPORTED, 0,
            "stream: a run that commits does not follow its input; run it again when there is more");
    return TAMIS_OK;
}

tamis_status tamis__durable_begin(tamis__durable *d, const tamis_stream_options *options, const int *packings,
                                  tamis__place *places, const tamis_allocator *memory, tamis_error *err) {
    static const char *const standard_input[] = {"-"};
    tamis__history h = {.run = &d->live, .again = options->commits->again};
    d->commits = options->commits;
    d->session = d->commits->session;
    d->memory = *memory;
    d->names = options->input_count ? options->inputs : standard_input;
    d->places = places;
    d->input = d->fds[0] = d->fds[1] = -1;
    d->commits->inexact = NULL;
    d->commits->was_read = false;
    d->commits->begun = TAMIS_STREAM_NEW;
    tamis_status status = check(d, options, err);
    if (status == TAMIS_OK)
        status = find_ends(d, options->input_count ? options->input_count : 1, err);
    if (status == TAMIS_OK)
        take_form(d, options, packings);
    if (status == TAMIS_OK)
        status = tamis__history_search(&h, tamis__dedup_state(d->session), err); /* B2 */
    d->commits->was_read = h.was_read && status != TAMIS_OK;
    if (status == TAMIS_OK && h.found)
        status = take_before(d, &h, options->terminator, err);
    if (status != TAMIS_OK && h.found && d->commits->was_read && options->commits->again) {
        begin_new(d);
        h.found = h.last = false;
        status = TAMIS_OK;
    }
    for (int i = 0; i < OUTPUTS && status == TAMIS_OK; i++)
        status = open_output(d, i, &h.outputs[i], err); /* B3 to B5 */
    close_input(d);
    d->summed = (size_t)d->live.input;
    if (status == TAMIS_OK && !d->finished && !h.last)
        status = keep_last(d, err);
    if (status == TAMIS_OK && !d->finished)
        status = tamis__durable_commit(d, err); /* B6 */
    if (status == TAMIS_OK && d->commits->told)
        d->commits->told(d->commits->told_context, d->commits, &d->live.stats);
    tamis__account_release(&h.before);
    return status;
}

void tamis__durable_end(tamis__durable *d) {
    if (!d->commits)
        return;
    close_input(d);
    for (int i = 0; i < OUTPUTS; i++) {
        if (d->fds[i] >= 0)
            tamis__sys.close(d->fds[i]); /* what was to be kept is synced */
        tamis_file_unlock(d->locks[i]);
    }
    tamis__account_release(&d->live);
}

tamis_status tamis__durable_expect(tamis__durable *d, uint64_t more, tamis_error *err) {
    return d->goes_on ? TAMIS_OK : tamis_state_expect(tamis__dedup_state(d->session), more, err);
}

static tamis_status fail_replaced(const char *name, tamis_error *err) {
    return tamis__fail(
        err, TAMIS_E_STALE, 0,
        "%s: was replaced or removed while it was used; bring it back under that name, and run again",
        tamis__show(name).text);
}

/* What is summed has to be what was read. */
static tamis_status check_input(const tamis__durable *d, size_t i, tamis_error *err) {
    const tamis__account_input *in = &d->live.inputs[i];
    const char *name = tamis__input_name(d->names[i]);
    struct stat about;
    if (in->inode == 0)
        return TAMIS_OK; /* not opened by the reader yet */
    if (d->input < 0 || tamis__sys.fstat(d->input, &about) < 0)
        return fail_replaced(name, err);
    return (uint64_t)about.st_ino == in->inode && (uint64_t)about.st_dev == in->device
               ? TAMIS_OK
               : fail_replaced(name, err);
}

/* Records that are written to a file that has lost its name are nowhere. */
static tamis_status check_named(const tamis__durable *d, int i, tamis_error *err) {
    const tamis__place *place = &d->places[i];
    struct stat about;
    if (tamis__sys.stat(place->path, &about) == 0 && about.st_ino == place->about.st_ino &&
        about.st_dev == place->about.st_dev)
        return TAMIS_OK;
    return fail_replaced(place->name, err);
}

/* Inputs up to the one that is read now, from the first that was not summed at its end. */
static tamis_status sum_inputs(tamis__durable *d, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    for (size_t i = d->summed; status == TAMIS_OK && i <= d->live.input && i < d->live.input_count; i++) {
        tamis__account_input *in = &d->live.inputs[i];
        if (!in->regular)
            continue;
        if (d->input < 0 || d->summed != i)
            status = open_input(d, i, err);
        if (status == TAMIS_OK)
            status = check_input(d, i, err);
        if (status == TAMIS_OK && d->input >= 0)
            status = tamis__identity_take(&in->as, d->input, d->base, in->packed ? in->as.at : in->at.offset,
                                          tamis__input_name(d->names[i]), err);
    }
    return status;
}

/* K3, K4 */
tamis_status tamis__durable_commit(tamis__durable *d, tamis_error *err) {
    unsigned char *bytes;
    size_t size;
    tamis_status status = sum_inputs(d, err);
    for (int i = 0; i < OUTPUTS && status == TAMIS_OK; i++)
        if (d->fds[i] >= 0)
            status = check_named(d, i, err);
    for (int i = 0; i < OUTPUTS && status == TAMIS_OK; i++)
        if (d->fds[i] >= 0)
            status = tamis__identity_take(&d->live.outputs[i].as, d->fds[i], 0, d->live.outputs[i].as.at,
                                          d->places[i].name, err);
    if (status == TAMIS_OK)
        status = tamis__account_encode(&d->live, &bytes, &size, err);
    if (status != TAMIS_OK)
        return status;
    status = tamis_state_commit(tamis__dedup_state(d->session), bytes, size, err);
    tamis__free(&d->memory, bytes, size);
    return status;
}

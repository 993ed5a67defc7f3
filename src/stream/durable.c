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
    return tamis__history_open(d->names[i], &d->input, &d->borrowed, &d->base, &d->size, err);
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

/* What has come behind the end of the input that was read last. */
static tamis_status take_growth(tamis__durable *d, size_t i, unsigned char terminator, tamis_error *err) {
    tamis__account_input *in = &d->live.inputs[i];
    unsigned char next;
    tamis_status status = open_input(d, i, err);
    if (status != TAMIS_OK || d->input < 0 || in->packed || d->size <= in->offset)
        return status;
    d->finished = false;
    d->live.finished = false;
    d->commits->begun = TAMIS_STREAM_GROWN;
    if (!d->live.unterminated)
        return TAMIS_OK;
    if (tamis__sys.pread(d->input, &next, 1, d->base + (off_t)in->offset) != 1)
        return tamis__fail_file(err, tamis__input_name(d->names[i]), errno ? errno : EIO);
    if (next != terminator)
        return fail_unterminated(d, i, err);
    in->offset++; /* the terminator of the record that was without */
    d->live.lines += terminator == '\n';
    d->live.unterminated = false;
    return TAMIS_OK;
}

/* One that was at its end when the next was begun is not read again. */
static tamis_status check_earlier(tamis__durable *d, size_t i, tamis_error *err) {
    const tamis__account_input *in = &d->live.inputs[i];
    tamis_status status = open_input(d, i, err);
    if (status != TAMIS_OK || in->packed || d->input < 0 || d->size == in->offset)
        return status;
    d->commits->was_read = true;
    return tamis__fail(err, TAMIS_E_STALE, 0,
                       "%s: has grown since it was read to its end, at byte %" PRIu64
                       ", and inputs behind it were begun since; allow that it is read anew",
                       tamis__show(tamis__input_name(d->names[i])).text, in->offset);
}

static tamis_status take_before(tamis__durable *d, tamis__history *h, unsigned char terminator,
                                tamis_error *err) {
    tamis__account *live = &d->live;
    const tamis__account *before = &h->before;
    d->commits->begun = before->finished ? TAMIS_STREAM_FINISHED : TAMIS_STREAM_RESUMED;
    d->finished = before->finished;
    d->goes_on = before->input > 0 || before->inputs[0].offset > 0;
    live->finished = before->finished;
    live->begun = before->begun;
    live->unterminated = before->unterminated;
    live->stats = before->stats;
    live->input = before->input;
    live->records = before->records;
    live->lines = before->lines;
    for (size_t i = 0; i < live->input_count; i++) {
        live->inputs[i].offset = before->inputs[i].offset;
        live->inputs[i].as = before->inputs[i].as;
    }
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < live->input && status == TAMIS_OK; i++)
        status = check_earlier(d, i, err);
    if (status == TAMIS_OK && before->finished)
        status = take_growth(d, (size_t)live->input, terminator, err);
    return status;
}

/* ---- outputs ---- */

static tamis_status fail_output(const tamis__durable *d, int i, const char *why, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_STALE, 0, "%s: %s, or give another output",
                       tamis__show(d->places[i].name).text, why);
}

/* B3: whether the output is as it was left, but for what an unfinished run has written behind its last commit. */
static tamis_status check_output(const tamis__durable *d, int i, const tamis__known_output *known,
                                 uint64_t size, tamis_error *err) {
    tamis__likeness likeness;
    if (!known->found)
        return size == 0
                   ? TAMIS_OK
                   : fail_output(d, i, "is there already, and the state knows nothing of it; remove it", err);
    if (size < known->as.at)
        return fail_output(d, i, "is shorter than it was left; bring it back", err);
    if (size > known->as.at && !known->unfinished)
        return fail_output(d, i, "is longer than it was left; bring it back", err);
    tamis_status status =
        tamis__identity_compare(&known->as, d->fds[i], 0, true, d->places[i].name, &likeness, err);
    if (status != TAMIS_OK || likeness == TAMIS__SAME)
        return status;
    return fail_output(d, i, "was changed since it was left; bring it back", err);
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
        return fail_output(d, i, "is no longer there; bring it back", err);
    if (d->fds[i] < 0 || tamis__sys.fstat(d->fds[i], &place->about) < 0)
        return tamis__fail_file(err, place->name, errno);
    status = check_output(d, i, known, (uint64_t)place->about.st_size, err);
    if (status == TAMIS_OK && !d->finished)
        status = cut_output(d, i, known->as.at, err);
    if (status != TAMIS_OK)
        return status;
    out->as = known->as;
    out->owes_terminator = known->owes_terminator;
    out->begun = known->begun;
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

static tamis_status check(const tamis__durable *d, const tamis_stream_options *options, tamis_error *err) {
    if (!d->session || !tamis__dedup_state(d->session))
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "stream: commits without a session over a state; give that in commits.session");
    if (options->follow)
        return tamis__fail(
            err, TAMIS_E_UNSUPPORTED, 0,
            "stream: a run that commits does not follow its input; run it again when there is more");
    return TAMIS_OK;
}

tamis_status tamis__durable_begin(tamis__durable *d, const tamis_stream_options *options,
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
        status = tamis__history_search(&h, tamis__dedup_state(d->session), err); /* B2 */
    d->commits->was_read = h.was_read && status != TAMIS_OK;
    if (status == TAMIS_OK && h.found)
        status = take_before(d, &h, options->terminator, err);
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

/* Inputs up to the one that is read now, from the first that was not summed at its end. */
static tamis_status sum_inputs(tamis__durable *d, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    for (size_t i = d->summed; status == TAMIS_OK && i <= d->live.input && i < d->live.input_count; i++) {
        tamis__account_input *in = &d->live.inputs[i];
        if (!in->regular)
            continue;
        if (d->input < 0 || d->summed != i)
            status = open_input(d, i, err);
        if (status == TAMIS_OK && d->input >= 0)
            status = tamis__identity_take(&in->as, d->input, d->base, in->packed ? in->as.at : in->offset,
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

/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "hash/fnv.h"
#include "store/place.h"
#include "store/trouble.h"
#include "stream/history_int.h"

/* ---- inputs ---- */

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
    /* A FIFO may have the name by now; opening it must not wait for a writer. */
    while (!*borrowed &&
           (opened = tamis__sys.open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0)) < 0 &&
           errno == EINTR)
        ;
    if (opened < 0)
        return tamis__fail_file(err, shown, errno);
    const int failed = !*borrowed && tamis__sys.fstat(opened, &about) < 0 ? errno : 0;
    if (failed || !S_ISREG(about.st_mode)) {
        if (!*borrowed)
            tamis__sys.close(opened);
        return failed ? tamis__fail_file(err, shown, failed) : TAMIS_OK;
    }
    if (*borrowed)
        *base = tamis__sys.seek(opened, 0, SEEK_CUR);
    if (*base < 0)
        return tamis__fail_file(err, shown, errno);
    *fd = opened;
    *size = about.st_size > *base ? (uint64_t)(about.st_size - *base) : 0;
    return TAMIS_OK;
}

enum { CLUES = 3 };

static void clues_of(uint64_t sums[CLUES], const char *name, uint64_t device, uint64_t inode, uint64_t head) {
    const uint64_t file[] = {device, inode};
    sums[0] = tamis__fnv1_64(name, strlen(name));
    sums[1] = tamis__fnv1_64(file, sizeof file);
    sums[2] = head;
}

static int by_sum(const void *one, const void *other) {
    const tamis__clue *a = one, *b = other;
    return a->sum < b->sum ? -1 : a->sum > b->sum;
}

static tamis_status keep_head(tamis__looked *kept, int fd, off_t base, const char *name,
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
    tamis__looked *kept = &looks->inputs[i];
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
        looks->clues[i * CLUES + n] = (tamis__clue){sums[n], i};
    return status;
}

/* Keeps the head of an existing output, which may be a copy of an output that the state knows. */
static tamis_status look_at_output(tamis__looked *kept, const tamis__account_output *output,
                                   const tamis_allocator *memory, tamis_error *err) {
    if (output->form != TAMIS__ACCOUNT_FILE || output->as.inode == 0)
        return TAMIS_OK;
    const int fd = tamis__sys.open(output->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
    if (fd < 0)
        return TAMIS_OK; /* it cannot be read: its path has to do */
    const tamis_status status = keep_head(kept, fd, 0, output->path, memory, err);
    tamis__sys.close(fd);
    return status;
}

static void free_head(const tamis__looked *kept, const tamis_allocator *memory) {
    tamis__free(memory, kept->bytes,
                kept->head.size < TAMIS__IDENTITY_BYTES ? (size_t)kept->head.size : TAMIS__IDENTITY_BYTES);
}

void tamis__looks_free(tamis__looks *looks, const tamis_allocator *memory) {
    for (size_t i = 0; looks->inputs && i < looks->count; i++)
        free_head(&looks->inputs[i], memory);
    for (int i = 0; i < 2; i++)
        free_head(&looks->outputs[i], memory);
    tamis__free(memory, looks->inputs, looks->count * sizeof *looks->inputs);
    tamis__free(memory, looks->clues, CLUES * looks->count * sizeof *looks->clues);
}

tamis_status tamis__looks_make(tamis__looks *looks, const tamis__account *run, tamis_error *err) {
    looks->count = run->input_count;
    looks->inputs = tamis__alloc(&run->memory, looks->count * sizeof *looks->inputs, TAMIS__LINE);
    looks->clues = tamis__alloc(&run->memory, CLUES * looks->count * sizeof *looks->clues, TAMIS__LINE);
    if (!looks->inputs || !looks->clues)
        return tamis__fail_nomem(err, "heads of inputs", looks->count * sizeof *looks->inputs);
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < looks->count && status == TAMIS_OK; i++)
        status = look_at_input(looks, run, i, err);
    for (int i = 0; i < 2 && status == TAMIS_OK; i++)
        status = look_at_output(&looks->outputs[i], &run->outputs[i], &run->memory, err);
    if (status == TAMIS_OK)
        qsort(looks->clues, CLUES * looks->count, sizeof *looks->clues, by_sum);
    return status;
}

/* Index of the first clue of that sum, or of the next larger one. */
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
tamis_status tamis__looks_compare(const tamis__history *h, size_t i, const tamis__account_input *known,
                                  bool closely, tamis__likeness *likeness, tamis_error *err) {
    const tamis__account_input *in = &h->run->inputs[i];
    const tamis__looked *kept = &h->looks->inputs[i];
    const bool named = strcmp(in->name, known->name) == 0;
    tamis_status status = TAMIS_OK;
    *likeness = TAMIS__OTHER;
    if (!known->regular || !in->regular)
        return TAMIS_OK;
    if (!tamis__identity_tell(&known->as, &kept->head, named, closely, likeness))
        status = read_and_compare(in->name, known, named, likeness, err);
    if (*likeness == TAMIS__SAME && known->packed && kept->head.size != known->as.at)
        *likeness = TAMIS__CHANGED; /* bytes behind the compressed data were not read */
    if (*likeness == TAMIS__CHANGED && known->at.offset == 0)
        *likeness = TAMIS__SAME; /* nothing of it was read, so any file will do */
    return status;
}

/* The first of the run's inputs that has been read as this one of an account, SIZE_MAX: none; or, with its head, and was
 * changed behind that: *changed. */
tamis_status tamis__looks_find(tamis__history *h, const tamis__account_input *known, size_t *found,
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
                status = tamis__looks_compare(h, i, known, false, &likeness, err);
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

/* ---- inputs that were rotated away ---- */

typedef struct rotation {
    const tamis__account_input *known;
    char folder[PATH_MAX];
    char path[PATH_MAX]; /* current path of the file */
    bool found;
    uint64_t size;
} rotation;

static bool is_rotated(void *context, const char *name) {
    rotation *r = context;
    struct stat about;
    const int size = snprintf(r->path, sizeof r->path, "%s%s", r->folder, name);
    r->found = size > 0 && (size_t)size < sizeof r->path && tamis__sys.stat(r->path, &about) == 0 &&
               (uint64_t)about.st_ino == r->known->as.inode &&
               (uint64_t)about.st_dev == r->known->as.device && S_ISREG(about.st_mode);
    r->size = r->found ? (uint64_t)about.st_size : 0;
    return !r->found;
}

void tamis__looks_rotated(tamis__history *h, const tamis__account_input *known, bool there) {
    tamis__looks *looks = h->looks;
    const uint64_t sum = tamis__fnv1_64(known->name, strlen(known->name));
    size_t at = find_clue(looks, sum);
    while (at < CLUES * looks->count && looks->clues[at].sum == sum &&
           strcmp(h->run->inputs[looks->clues[at].input].name, known->name) != 0)
        at++;
    if (at == CLUES * looks->count || looks->clues[at].sum != sum)
        return;
    tamis__looked *kept = &looks->inputs[looks->clues[at].input];
    const char *slash = strrchr(known->name, '/');
    rotation r = {.known = known};
    if (kept->name_known || !known->regular || known->packed || known->at.offset == 0)
        return;
    kept->name_known = true;
    if (there)
        return;
    snprintf(r.folder, sizeof r.folder, "%.*s", slash ? (int)(slash + 1 - known->name) : 2,
             slash ? known->name : "./");
    (void)tamis__sys.list(r.folder, is_rotated, &r);
    if (h->rotated[0] != '\0' || (r.found && r.size <= known->at.offset))
        return;
    if (r.found)
        snprintf(h->rotated, sizeof h->rotated,
                 "%s: a new file; the last %" PRIu64 " bytes of the one before it, now %s, were not read",
                 tamis__show(known->name).text, r.size - known->at.offset,
                 tamis__show(r.path + (slash ? 0 : 2)).text);
    else
        snprintf(h->rotated, sizeof h->rotated,
                 "%s: a new file; the one before it is gone, and what it had behind byte %" PRIu64
                 " was not read",
                 tamis__show(known->name).text, known->at.offset);
}

/* ---- outputs ---- */

/* True if the file begins with the known output: at least `at` bytes, with the same head and tail. */
static bool has_content(const tamis__looked *file, const char *path, const tamis__identity *known) {
    tamis__likeness likeness = TAMIS__OTHER;
    if (known->at == 0 || file->head.size < known->at || !tamis__identity_begins(known, &file->head))
        return false;
    if (known->at <= TAMIS__IDENTITY_BYTES)
        return true; /* that was all of it */
    const int fd = tamis__sys.open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
    if (fd < 0)
        return false;
    const tamis_status status = tamis__identity_compare(known, fd, 0, false, path, &likeness, NULL);
    tamis__sys.close(fd);
    return status == TAMIS_OK && likeness == TAMIS__SAME;
}

bool tamis__is_same_output(tamis__history *h, int i, const tamis__account_output *known, bool ended,
                           bool *by_content) {
    const tamis__account_output *mine = &h->run->outputs[i];
    const tamis__looked *file = &h->looks->outputs[i];
    struct stat about;
    char *copied = h->looks->copied[i];
    *by_content = false;
    if (strcmp(mine->path, known->path) == 0 || strcmp(copied, known->path) == 0)
        return true;
    if (mine->as.inode != 0 && mine->as.inode == known->as.inode && mine->as.device == known->as.device &&
        tamis__sys.stat(known->path, &about) < 0 && errno == ENOENT)
        return true;
    /* Of a known copy, earlier runs wrote the beginning. */
    const bool may_be = !ended || file->head.size == known->as.at || copied[0] != '\0';
    *by_content = may_be && has_content(file, mine->path, &known->as);
    if (*by_content)
        snprintf(copied, PATH_MAX, "%s", known->path);
    return *by_content;
}

bool tamis__same_outputs(tamis__history *h, const tamis__account *account) {
    bool by_content;
    for (int i = 0; i < 2; i++) {
        const tamis__account_output *a = &h->run->outputs[i], *b = &account->outputs[i];
        if (a->form != b->form)
            return false;
        if (a->form == TAMIS__ACCOUNT_FILE && !tamis__is_same_output(h, i, b, account->finished, &by_content))
            return false;
    }
    return true;
}

/* Names of inputs are as somebody gave them, maybe in another folder. */
static void rename_input(const tamis__account *account, tamis__account_input *in, const char *now) {
    char *real = strcmp(in->name, now) == 0 ? NULL : realpath(now, NULL);
    if (real)
        tamis__account_rename(account, &in->name, real);
    free(real);
}

void tamis__looks_rename(tamis__history *h, tamis__account *account) {
    bool by_content;
    for (size_t i = 0; i < account->input_count; i++) {
        size_t found, changed;
        if (tamis__looks_find(h, &account->inputs[i], &found, &changed, NULL) == TAMIS_OK &&
            found != SIZE_MAX)
            rename_input(account, &account->inputs[i], h->run->inputs[found].name);
    }
    for (int i = 0; i < 2; i++) {
        const tamis__account_output *mine = &h->run->outputs[i];
        tamis__account_output *known = &account->outputs[i];
        if (mine->form == TAMIS__ACCOUNT_FILE && known->form == TAMIS__ACCOUNT_FILE &&
            strcmp(mine->path, known->path) != 0 &&
            tamis__is_same_output(h, i, known, account->finished, &by_content))
            tamis__account_rename(account, &known->path, mine->path);
    }
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Comparing the files of a run with those of many checkpoints.
 *
 * A state may have many checkpoints with many inputs, so not every pair of files can be read. Each input of
 * the run is opened once, and its head is kept: the first TAMIS__FILE_FINGERPRINT_BYTES bytes. The head
 * suffices to reject nearly every pair.
 *
 * Pairs are compared only if they share a clue. Each input has three:
 *
 *     name              fnv(name)
 *     device, inode     fnv(both)            all clues of all inputs, sorted by hash:
 *     content           hash of the head     | hash, input | hash, input | ...
 *
 * A binary search for the three clues of a known input gives the candidates. `lookup` is the number of
 * this search, so that an input with several equal clues is compared once. Files shorter than a head have no
 * clue of content: they count as the same only if name or inode agrees too (file_fingerprint.c).
 *
 * Outputs are compared by path; by inode, if the old path is gone; and by content, for a copy. A file that
 * begins with the known bytes may be longer in two cases only. The run that wrote it had not finished, since
 * that run may have written more. Or the file is known to be a copy: later runs have appended to it. The
 * checkpoints of these runs say that it is one (is_copy), so runs from before the copy stay known.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"
#include "hash/fnv.h"
#include "store/file/file_error.h"
#include "store/file/target.h"
#include "stream/durable/history_int.h"

/* ---- inputs ---- */

enum { CLUES = 3 };

static void make_clues(uint64_t hashes[CLUES], const char *name, uint64_t device, uint64_t inode,
                       uint64_t head) {
    const uint64_t file[] = {device, inode};
    hashes[0] = tamis__fnv1_64(name, strlen(name));
    hashes[1] = tamis__fnv1_64(file, sizeof file);
    hashes[2] = head;
}

static int compare_clues(const void *left_clue, const void *right_clue) {
    const tamis__clue *a = left_clue, *b = right_clue;
    return a->hash < b->hash ? -1 : a->hash > b->hash;
}

static tamis_status keep_head(tamis__candidate *kept, const tamis__open_file *file,
                              const tamis_allocator *memory, tamis_error *err) {
    struct stat st;
    if (tamis__sys.fstat(file->fd, &st) < 0)
        return tamis__fail_file(err, file->name, errno);
    const uint64_t size = st.st_size > file->base ? (uint64_t)(st.st_size - file->base) : 0;
    const size_t size_read =
        size < TAMIS__FILE_FINGERPRINT_BYTES ? (size_t)size : TAMIS__FILE_FINGERPRINT_BYTES;
    kept->head = (tamis__file_head){
        .device = (uint64_t)st.st_dev, .inode = (uint64_t)st.st_ino, .size = size, .bytes = NULL, .count = 0};
    if (size_read == 0)
        return TAMIS_OK;
    kept->bytes = tamis__alloc(memory, size_read, 1);
    if (!kept->bytes)
        return tamis__fail_nomem(err, "heads of inputs", size_read);
    kept->head.bytes = kept->bytes;
    return tamis__file_read(file, (tamis__file_span){0, size_read}, kept->bytes, &kept->head.count, err);
}

static tamis_status open_candidate_input(tamis__candidates *candidates, const tamis__checkpoint *run,
                                         size_t i, tamis_error *err) {
    const char *name = run->inputs[i].name;
    tamis__candidate *kept = &candidates->inputs[i];
    kept->input = &run->inputs[i];
    tamis__open_input input;
    uint64_t hashes[CLUES];
    tamis_status status = tamis__input_open_regular(&input, name, err);
    if (status == TAMIS_OK && input.file.fd >= 0)
        status = keep_head(kept, &input.file, &run->memory, err);
    tamis__input_close(&input);
    make_clues(hashes, name, kept->head.device, kept->head.inode, tamis__file_head_hash(&kept->head));
    for (size_t n = 0; n < CLUES; n++)
        candidates->clues[i * CLUES + n] = (tamis__clue){hashes[n], i};
    return status;
}

/* Keeps the head of an output that exists. It may be a copy of an output that the state knows. */
static tamis_status open_candidate_output(tamis__candidate *kept, const tamis__checkpoint_output *output,
                                          const tamis_allocator *memory, tamis_error *err) {
    if (output->form != TAMIS__OUTPUT_FILE || output->fingerprint.inode == 0)
        return TAMIS_OK;
    const int fd = tamis__open(output->path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0);
    if (fd < 0)
        return TAMIS_OK; /* unreadable: compared by path only */
    const tamis_status status =
        keep_head(kept, &(tamis__open_file){.fd = fd, .name = output->path}, memory, err);
    tamis__sys.close(fd);
    return status;
}

static void free_head(const tamis__candidate *kept, const tamis_allocator *memory) {
    tamis__free(memory, kept->bytes,
                kept->head.size < TAMIS__FILE_FINGERPRINT_BYTES ? (size_t)kept->head.size
                                                                : TAMIS__FILE_FINGERPRINT_BYTES);
}

void tamis__candidates_close(tamis__candidates *candidates, const tamis_allocator *memory) {
    for (size_t i = 0; candidates->inputs && i < candidates->count; i++)
        free_head(&candidates->inputs[i], memory);
    for (int i = 0; i < 2; i++)
        free_head(&candidates->outputs[i], memory);
    tamis__free(memory, candidates->inputs, candidates->count * sizeof *candidates->inputs);
    tamis__free(memory, candidates->clues, CLUES * candidates->count * sizeof *candidates->clues);
}

tamis_status tamis__candidates_open(tamis__candidates *candidates, const tamis__checkpoint *run,
                                    tamis_error *err) {
    candidates->count = run->input_count;
    candidates->inputs =
        tamis__alloc(&run->memory, candidates->count * sizeof *candidates->inputs, TAMIS__LINE);
    candidates->clues =
        tamis__alloc(&run->memory, CLUES * candidates->count * sizeof *candidates->clues, TAMIS__LINE);
    if (!candidates->inputs || !candidates->clues)
        return tamis__fail_nomem(err, "heads of inputs", candidates->count * sizeof *candidates->inputs);
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < candidates->count && status == TAMIS_OK; i++)
        status = open_candidate_input(candidates, run, i, err);
    for (int i = 0; i < 2 && status == TAMIS_OK; i++)
        status = open_candidate_output(&candidates->outputs[i], &run->outputs[i], &run->memory, err);
    if (status == TAMIS_OK)
        qsort(candidates->clues, CLUES * candidates->count, sizeof *candidates->clues, compare_clues);
    return status;
}

/* Returns the index of the first clue with that hash, or with the next larger one. */
static size_t find_clue(const tamis__candidates *candidates, uint64_t hash) {
    size_t from = 0, to = CLUES * candidates->count;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (candidates->clues[middle].hash < hash)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Compares by reading the file, if the head does not decide. */
static tamis_status read_and_compare(const char *name, const tamis__checkpoint_input *known, bool named,
                                     tamis__file_match *match, tamis_error *err) {
    tamis__open_input input;
    *match = TAMIS__FILE_OTHER;
    tamis_status status = tamis__input_open_regular(&input, name, err);
    if (status == TAMIS_OK && input.file.fd >= 0)
        status = tamis__file_fingerprint_compare(&known->fingerprint, &input.file, named, match, err);
    tamis__input_close(&input);
    return status;
}

tamis_status tamis__candidate_compare(const tamis__candidate *candidate, const tamis__checkpoint_input *known,
                                      bool closely, tamis__file_match *match, tamis_error *err) {
    const tamis__checkpoint_input *in = candidate->input;
    const tamis__file_head *head = &candidate->head;
    const bool named = strcmp(in->name, known->name) == 0;
    tamis_status status = TAMIS_OK;
    *match = TAMIS__FILE_OTHER;
    if (!known->regular || !in->regular || in->from_start ||
        (in->match_by_inode && !tamis__candidate_has_inode(candidate, known)))
        return TAMIS_OK;
    if (!tamis__file_head_compare(&known->fingerprint, head, named, closely, match))
        status = read_and_compare(in->name, known, named, match, err);
    if (*match == TAMIS__FILE_SAME && known->compressed && head->size != known->fingerprint.length)
        *match = TAMIS__FILE_CHANGED; /* bytes after the compressed data were not read */
    if (*match == TAMIS__FILE_CHANGED && known->position.offset == 0)
        *match = TAMIS__FILE_SAME; /* no byte was read, so any file will do */
    if (status == TAMIS_OK && named && tamis__input_is_unread(known))
        *match = TAMIS__FILE_SAME; /* the callers look for a file that was renamed */
    return status;
}

tamis_status tamis__candidates_find(tamis__search *s, const tamis__checkpoint_input *known, size_t *found,
                                    size_t *changed, tamis_error *err) {
    tamis__candidates *candidates = &s->candidates;
    uint64_t hashes[CLUES];
    *found = *changed = SIZE_MAX;
    if (!known->regular || known->position.offset == 0)
        return TAMIS_OK;
    candidates->lookup++;
    make_clues(hashes, known->name, known->fingerprint.device, known->fingerprint.inode,
               known->fingerprint.first_hash);
    for (size_t n = 0; n < CLUES; n++)
        for (size_t clue = find_clue(candidates, hashes[n]);
             clue < CLUES * candidates->count && candidates->clues[clue].hash == hashes[n]; clue++) {
            const size_t i = candidates->clues[clue].input;
            tamis__file_match match = TAMIS__FILE_OTHER;
            tamis_status status = TAMIS_OK;
            if (candidates->inputs[i].last_lookup != candidates->lookup && i < *found)
                status = tamis__candidate_compare(&candidates->inputs[i], known, false, &match, err);
            candidates->inputs[i].last_lookup = candidates->lookup;
            if (status != TAMIS_OK)
                return status;
            if (match == TAMIS__FILE_SAME)
                *found = i;
            if (match == TAMIS__FILE_CHANGED && i < *changed)
                *changed = i;
        }
    return TAMIS_OK;
}

/* ---- inputs that were rotated away ---- */

bool tamis__candidate_has_inode(const tamis__candidate *candidate, const tamis__checkpoint_input *known) {
    const tamis__file_head *head = &candidate->head;
    return head->inode == known->fingerprint.inode && head->device == known->fingerprint.device;
}

/* The message about a file that had the name of one of the run's inputs, and is not among them. */
static void describe_rotation(char text[500], const tamis__checkpoint_input *known,
                              const tamis__present_input *present) {
    const uint64_t offset = known->position.offset;
    const tamis__shown name = tamis__show(tamis__input_name(known->name));
    if (present->found)
        snprintf(
            text, 500, "%s: a new file; the %s%" PRIu64 " bytes of the one before it, now %s, were not read",
            name.text, offset > 0 ? "last " : "", present->size - offset, tamis__show(present->name).text);
    else if (offset > 0)
        snprintf(text, 500,
                 "%s: replaced or changed after %" PRIu64 " bytes of it were read; if it had more, that was "
                 "not read",
                 name.text, offset);
    else if (tamis__input_has_inode(known))
        snprintf(text, 500, "%s: changed before it was read; what it had then was not read", name.text);
    else
        snprintf(text, 500, "%s: a new file; the one before it%s was not read", name.text,
                 known->fingerprint.length > 0 ? "" : ", if it was not empty,");
}

/* True if the run has that unread input, under any name. */
static bool run_has_unread(const tamis__search *s, const tamis__checkpoint_input *known) {
    const tamis__candidates *candidates = &s->candidates;
    uint64_t hashes[CLUES];
    make_clues(hashes, known->name, known->fingerprint.device, known->fingerprint.inode,
               known->fingerprint.first_hash);
    for (size_t clue = find_clue(candidates, hashes[1]);
         clue < CLUES * candidates->count && candidates->clues[clue].hash == hashes[1]; clue++)
        if (tamis__candidate_has_inode(&candidates->inputs[candidates->clues[clue].input], known) &&
            tamis__file_head_matches(&known->fingerprint,
                                     &candidates->inputs[candidates->clues[clue].input].head))
            return true;
    return false;
}

void tamis__candidates_note_rotation(tamis__search *s, const tamis__checkpoint_input *known, bool there,
                                     tamis__unread_report *report) {
    tamis__candidates *candidates = &s->candidates;
    const uint64_t hash = tamis__fnv1_64(known->name, strlen(known->name));
    size_t clue = find_clue(candidates, hash);
    while (clue < CLUES * candidates->count && candidates->clues[clue].hash == hash &&
           strcmp(s->run->inputs[candidates->clues[clue].input].name, known->name) != 0)
        clue++;
    if (clue == CLUES * candidates->count || candidates->clues[clue].hash != hash)
        return;
    tamis__candidate *kept = &candidates->inputs[candidates->clues[clue].input];
    tamis__present_input present;
    if (kept->name_known || !known->regular || known->compressed)
        return;
    kept->name_known = true;
    if (there || (tamis__input_is_unread(known) && run_has_unread(s, known)))
        return;
    tamis__input_find(known, &present);
    if (present.found && (present.size <= known->position.offset ||
                          (tamis__input_is_unread(known) && strcmp(present.name, known->name) == 0)))
        return;
    if (report->text[0] != '\0')
        report->others++;
    else
        describe_rotation(report->text, known, &present);
}

/* ---- outputs ---- */

/* True if the file begins with the known output: at least known->length bytes, with the same first
 * and last of these. */
static bool has_content(const tamis__candidate *file, const char *path,
                        const tamis__file_fingerprint *known) {
    tamis__file_match match = TAMIS__FILE_OTHER;
    if (known->length == 0 || file->head.size < known->length ||
        !tamis__file_head_matches(known, &file->head))
        return false;
    if (known->length <= TAMIS__FILE_FINGERPRINT_BYTES)
        return true; /* the head is the whole output */
    const int fd = tamis__open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0);
    if (fd < 0)
        return false;
    const tamis_status status = tamis__file_fingerprint_compare(
        known, &(tamis__open_file){.fd = fd, .name = path}, false, &match, NULL);
    tamis__sys.close(fd);
    return status == TAMIS_OK && match == TAMIS__FILE_SAME;
}

bool tamis__outputs_match_one(tamis__search *s, int i, const tamis__checkpoint_output *known, bool ended,
                              bool *by_content) {
    const tamis__checkpoint_output *own = &s->run->outputs[i];
    const tamis__candidate *file = &s->candidates.outputs[i];
    struct stat st;
    char *copied = s->candidates.copied[i];
    *by_content = false;
    if (strcmp(own->path, known->path) == 0 && known->is_copy)
        snprintf(copied, PATH_MAX, "%s", known->path);
    if (strcmp(own->path, known->path) == 0 || strcmp(copied, known->path) == 0)
        return true;
    if (own->fingerprint.inode != 0 && own->fingerprint.inode == known->fingerprint.inode &&
        own->fingerprint.device == known->fingerprint.device && tamis__sys.stat(known->path, &st) < 0 &&
        errno == ENOENT)
        return true;
    /* The checkpoints of earlier runs match only the beginning of a known copy. */
    const bool may_match = !ended || file->head.size == known->fingerprint.length || copied[0] != '\0';
    *by_content = may_match && has_content(file, own->path, &known->fingerprint);
    if (*by_content)
        snprintf(copied, PATH_MAX, "%s", known->path);
    return *by_content;
}

bool tamis__outputs_match_both(tamis__search *s, const tamis__checkpoint *checkpoint) {
    bool by_content;
    for (int i = 0; i < 2; i++) {
        const tamis__checkpoint_output *a = &s->run->outputs[i], *b = &checkpoint->outputs[i];
        if (a->form != b->form)
            return false;
        if (a->form == TAMIS__OUTPUT_FILE &&
            !tamis__outputs_match_one(s, i, b, checkpoint->finished, &by_content))
            return false;
    }
    return true;
}

/* Input names are as the user gave them, maybe relative to another directory. So the new name is absolute. */
static void rename_input(const tamis__checkpoint *checkpoint, tamis__checkpoint_input *in, const char *now) {
    char *real = strcmp(in->name, now) == 0 ? NULL : realpath(now, NULL);
    if (real)
        tamis__checkpoint_rename(checkpoint, &in->name, real);
    free(real);
}

void tamis__candidates_rename(tamis__search *s, tamis__checkpoint *checkpoint) {
    bool by_content;
    for (size_t i = 0; i < checkpoint->input_count; i++) {
        tamis__checkpoint_input *in = &checkpoint->inputs[i];
        tamis__present_input present;
        size_t found, changed;
        if (tamis__candidates_find(s, in, &found, &changed, NULL) == TAMIS_OK && found != SIZE_MAX) {
            rename_input(checkpoint, in, s->run->inputs[found].name);
        } else if (in->regular) {
            tamis__input_find(in, &present);
            rename_input(checkpoint, in, present.name);
        }
    }
    for (int i = 0; i < 2; i++) {
        const tamis__checkpoint_output *own = &s->run->outputs[i];
        tamis__checkpoint_output *known = &checkpoint->outputs[i];
        if (own->form == TAMIS__OUTPUT_FILE && known->form == TAMIS__OUTPUT_FILE &&
            strcmp(own->path, known->path) != 0 &&
            tamis__outputs_match_one(s, i, known, checkpoint->finished, &by_content))
            tamis__checkpoint_rename(checkpoint, &known->path, own->path);
    }
}

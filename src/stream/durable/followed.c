/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Following a name across restarts: which file does the next run read?
 *
 *     app.log     | file 7 | file 8 | file 9 ...       one name, several files, by log rotation
 *     runs        | run 1  | run 2  | run 3 ...        one run for each file
 *     state         note 1   note 2   last commit      the checkpoint of each run
 *
 * A run reads one file of each name, and ends when another file has one of the names. So a followed file is
 * an ordinary input with a checkpoint of its own. The checkpoints and the directory alone decide which file
 * is next. A process that starts after a crash thus decides as the one before it would have done, and nothing
 * else needs to be stored.
 *
 *     the newest checkpoint of a file that had the name       the next file
 *     -----------------------------------------------------   -----------------------------------------------
 *     no such checkpoint                                      the one under the name
 *     not read to its end; the file is found                  the same file, from there
 *     not read to its end; the file is gone                   the one under the name: its run is refused
 *     under its name, shorter than what was read              the same file, from its start: `truncated`
 *     read to its end, and has grown                          the same file, unless it has lost its name and
 *                                                             its last record had no terminator
 *     read to its end                                         the oldest one rotated away since (rotation.c),
 *                                                             else the one under the name
 *     read to its end; the name has no file, or an empty one  the same file: it may still get records
 *
 * Invariants:
 * 1. No file is skipped: a file that was left is read to its end first, under whatever name it has now.
 * 2. No file is read twice, unless it was truncated. A file is found again by the inode in its checkpoint. If
 *    no file has that inode, it is found by its name and the bytes that were read. With several names only
 *    the inode counts (match_by_inode), since files of different names may begin with the same bytes.
 * 3. Names may change between this decision and the opening. The run therefore opens what it gets, compares
 *    device and inode (tamis__followed_check), and reads nothing if they differ. Then the decision is made
 *    again.
 * 4. What may have been lost is said: compressed files, files that are gone, and files rotated while nobody
 *    looked get a remark.
 *
 * The file that the last run left stays open (`previous`). It tells whether the file has grown, although its
 * name is gone and another file may have its inode.
 */
#include "stream/durable/followed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "store/file/file_error.h"
#include "store/file/target.h"
#include "stream/durable/known_input.h"

/* *same: both paths name one directory. A path without a directory names another one. */
static tamis_status compare_directories(const char *known, const char *directory, bool *same,
                                        tamis_error *err) {
    struct stat known_st, st;
    *same = strcmp(known, directory) == 0;
    if (*same)
        return TAMIS_OK;
    if (tamis__sys.stat(directory, &st) != 0)
        return tamis__fail_file(err, directory, errno);
    const bool exists = tamis__sys.stat(known, &known_st) == 0;
    if (!exists && errno != ENOENT && errno != ENOTDIR)
        return tamis__fail_file(err, known, errno);
    *same = exists && known_st.st_dev == st.st_dev && known_st.st_ino == st.st_ino;
    return TAMIS_OK;
}

/* *found is the checkpoint's last input with the name, or with one that log rotation made of it; NULL: none.
 * *ended: it was read to its end. */
static tamis_status input_of_name(const tamis__checkpoint *checkpoint, const char *name,
                                  const tamis__checkpoint_input **found, bool *ended, tamis_error *err) {
    char directory[PATH_MAX], known[PATH_MAX];
    const char *base = tamis__path_split(name, directory);
    tamis_status status = TAMIS_OK;
    *found = NULL;
    for (size_t i = checkpoint->input_count; i-- > 0 && status == TAMIS_OK && !*found;) {
        const tamis__checkpoint_input *in = &checkpoint->inputs[i];
        const char *known_base = in->name + tamis__path_directory_size(in->name);
        bool same = false;
        if (!in->regular || in->compressed ||
            (strcmp(known_base, base) != 0 && !tamis__rotation_continues(known_base, base)))
            continue;
        (void)tamis__path_split(in->name, known);
        status = compare_directories(known, directory, &same, err);
        if (!same)
            continue;
        *ended = checkpoint->finished || i < checkpoint->input || in->ended;
        *found = in;
    }
    return status;
}

tamis_status tamis__followed_check_output(const char *name, const char *output, tamis_error *err) {
    char directory[PATH_MAX], output_directory[PATH_MAX];
    const char *base = tamis__path_split(name, directory),
               *output_base = tamis__path_split(output, output_directory);
    bool same = false;
    tamis_status status = TAMIS_OK;
    if (tamis__rotation_continues(output_base, base))
        status = compare_directories(output_directory, directory, &same, err);
    if (!same)
        return status;
    return tamis__fail(err, TAMIS_E_INVALID, 0,
                       "%s: would be taken for a rotated file of %s; choose a name that does not continue it",
                       tamis__show(output).text, tamis__show(name).text);
}

tamis_status tamis__followed_begin_find(tamis__followed_names *followed, tamis_error *err) {
    const void *bytes;
    size_t size;
    tamis__checkpoint_release(&followed->newest);
    tamis_state_committed(followed->state, &bytes, &size);
    const tamis_status status =
        size > 0 ? tamis__checkpoint_decode(&followed->newest, bytes, size, &followed->memory, err)
                 : TAMIS_OK;
    return status == TAMIS_E_FORMAT ? TAMIS_OK : status; /* another program may have made the commit */
}

/* The newest checkpoint with a file that had a name. */
typedef struct known_file {
    tamis__checkpoint note;               /* that checkpoint, if it is not the last one */
    const tamis__checkpoint_input *input; /* the file; NULL: no checkpoint has one */
    bool ended;                           /* it was read to its end */
    bool closed;                          /* its run was closed */
} known_file;

static tamis_status find_in_checkpoint(known_file *known, const tamis__checkpoint *checkpoint,
                                       const char *name, tamis_error *err) {
    known->closed = checkpoint->closed;
    return input_of_name(checkpoint, name, &known->input, &known->ended, err);
}

static tamis_status find_known(known_file *known, const tamis__followed_names *followed, const char *name,
                               tamis_error *err) {
    tamis__checkpoint_walk walk = {.state = followed->state};
    const void *bytes;
    size_t size;
    tamis_status status = find_in_checkpoint(known, &followed->newest, name, err);
    (void)tamis__checkpoint_walk_next(&walk, &size); /* the last one */
    while (status == TAMIS_OK && !known->input &&
           (bytes = tamis__checkpoint_walk_next(&walk, &size)) != NULL) {
        tamis__checkpoint_release(&known->note);
        status = tamis__checkpoint_decode(&known->note, bytes, size, &followed->memory, err);
        if (status == TAMIS_OK)
            status = find_in_checkpoint(known, &known->note, name, err);
        if (status == TAMIS_E_FORMAT)
            status = TAMIS_OK;
    }
    return status;
}

static void set_file(tamis__followed *f, const char *path, const struct stat *st) {
    snprintf(f->path, sizeof f->path, "%s", path);
    f->device = st->st_dev;
    f->inode = st->st_ino;
}

/* The files of a name, as they are now. */
typedef struct present_files {
    bool is_named;              /* the name has a file */
    struct stat current;        /* that file */
    tamis__present_input known; /* the known file */
    bool left_is_open;          /* the file that the last run left is still open */
    struct stat last;           /* the known file, or else the one that was left */
} present_files;

/* Finds the known file under its present name. */
static tamis_status find_known_file(const tamis__followed *f, const tamis__checkpoint_input *known,
                                    present_files *files, tamis_error *err) {
    files->left_is_open = f->previous.open && tamis__sys.fstat(f->previous.fd, &files->last) == 0;
    /* By its inode first: the file under the name may begin with the same bytes. */
    tamis_status status = tamis__input_find_inode(known, &files->known, err);
    if (status == TAMIS_OK && !files->known.found) /* it may have been renamed meanwhile */
        status = tamis__input_find_inode(known, &files->known, err);
    if (status != TAMIS_OK)
        return status;
    /* A new file may begin with the bytes of the one that was left, so the inode decides. */
    const bool was_left = files->left_is_open && (uint64_t)files->last.st_ino == known->fingerprint.inode &&
                          (uint64_t)files->last.st_dev == known->fingerprint.device;
    if (!files->known.found && !was_left)
        tamis__input_find(known, &files->known);
    if (files->known.found)
        files->last = files->known.st;
    if (was_left && f->previous.written_at.tv_sec != 0) /* later writes do not count, see reader_follow.c */
        files->last.st_mtim = f->previous.written_at;
    return TAMIS_OK;
}

/* The file under the name is the known one, and this process has read more bytes of it than it has now. */
static bool was_truncated(const tamis__checkpoint_input *known, const present_files *files) {
    return files->is_named && !known->truncated && files->current.st_ino == known->fingerprint.inode &&
           files->current.st_dev == known->fingerprint.device &&
           (uint64_t)files->current.st_size < known->position.offset;
}

/* True if the known file has unread bytes, or still has the name and may get more. Then it stays the one to
 * read. */
static bool reads_on(tamis__followed *f, const known_file *known, const present_files *files) {
    const struct tamis__input_position *position = &known->input->position;
    const bool has_name = files->is_named && files->last.st_dev == files->current.st_dev &&
                          files->last.st_ino == files->current.st_ino;
    const bool has_grown = files->known.size > position->offset;
    const bool is_cut = known->ended && !has_name && has_grown && position->unterminated;
    const bool is_unread = !known->ended || (has_grown && !is_cut);
    if (is_cut) /* the rest of a record that was answered when the file was left */
        snprintf(f->remark, sizeof f->remark,
                 "%.200s: grew after it was rotated, behind a last record without its end; that is not read",
                 tamis__show(files->known.name).text);
    if (is_unread)
        set_file(f, files->known.name, &files->last);
    return is_unread || has_name;
}

/* Says what may be lost with the known file, which is gone. */
static void report_gone(tamis__followed *f, const known_file *known, bool started) {
    if (!known->ended && !started && known->input->position.offset == 0)
        snprintf(f->remark, sizeof f->remark,
                 "%.200s: the file that was read last is gone, and nothing of it was committed; its records "
                 "may be missing in the output, unless another run reads it",
                 tamis__show(f->name).text);
    if (known->ended)
        snprintf(f->remark, sizeof f->remark,
                 "%.200s: the file that was read last is gone; if there were others before the present "
                 "one, they are not read",
                 tamis__show(f->name).text);
}

/* files->last was read to its end: finds the next file that was rotated away, or else the one under the name.
 * Until that one has bytes, the known file stays. *is_late: names have changed meanwhile; find again. */
static tamis_status find_after(tamis__followed *f, const present_files *files, bool *is_late,
                               tamis_error *err) {
    const bool may_grow =
        !files->is_named || (S_ISREG(files->current.st_mode) && files->current.st_size == 0);
    tamis__rotation_step next;
    const tamis_status status =
        tamis__rotation_next(f->name, &files->last, files->is_named ? &files->current : NULL, &next, err);
    *is_late = status == TAMIS_OK && next.is_late;
    if (status != TAMIS_OK || next.is_late)
        return status;
    if (next.compressed[0] != '\0')
        tamis__rotation_describe(f->remark, &next);
    f->match_by_inode = next.path[0] != '\0' || !may_grow || !files->known.found;
    if (next.path[0] != '\0')
        set_file(f, next.path, &next.st);
    else if (!f->match_by_inode)
        set_file(f, files->known.name, &files->last);
    return TAMIS_OK;
}

/* Decides by the table above which file is next. `started`: this process has read the known file. *is_late:
 * names have changed meanwhile; find again. */
static tamis_status find_next(tamis__followed *f, const known_file *known, bool started, bool *is_late,
                              tamis_error *err) {
    present_files files;
    *is_late = false;
    files.is_named = tamis__sys.stat(f->name, &files.current) == 0;
    if (!files.is_named && errno != ENOENT)
        return tamis__fail_file(err, f->name, errno);
    if (files.is_named)
        set_file(f, f->name, &files.current);
    if (!known->input)
        return TAMIS_OK;
    f->has_history = true;
    const tamis_status status = find_known_file(f, known->input, &files, err);
    if (status != TAMIS_OK)
        return status;
    if (started && was_truncated(known->input, &files)) { /* the records read so far stay in the outputs */
        snprintf(f->remark, sizeof f->remark,
                 "%.200s: became shorter after %llu bytes were read, and is read again from its start; bytes "
                 "written before that may be lost",
                 tamis__show(f->name).text, (unsigned long long)known->input->position.offset);
        f->truncated = true;
        return TAMIS_OK;
    }
    if (files.known.found) {
        if (reads_on(f, known, &files))
            return TAMIS_OK;
    } else if (!files.left_is_open) {
        report_gone(f, known, started);
        return TAMIS_OK;
    }
    return find_after(f, &files, is_late, err);
}

typedef struct rotated_search {
    tamis__followed *followed;
    const char *base; /* its name without the directory */
} rotated_search;

/* Notes a rotated file of a name that is new to the state. */
static bool note_unread(void *context, const char *name) {
    const rotated_search *s = context;
    if (!tamis__rotation_continues(name, s->base))
        return true;
    snprintf(s->followed->remark, sizeof s->followed->remark,
             "%.130s: is new to the state, and was rotated before; %.130s is not read; if it came since the "
             "last start, "
             "read it by another run",
             tamis__show(s->followed->name).text, tamis__show(name).text);
    return false;
}

/* A file that came while no process ran may have been rotated before it was seen. */
static tamis_status look_for_rotated(tamis__followed *f, tamis_error *err) {
    char directory[PATH_MAX];
    rotated_search s = {.followed = f, .base = tamis__path_split(f->name, directory)};
    return tamis__sys.list(directory, note_unread, &s) != 0 ? tamis__fail_file(err, directory, errno)
                                                            : TAMIS_OK;
}

/* Sets the result to any file under the name. */
static void reset(tamis__followed *f) {
    snprintf(f->path, sizeof f->path, "%s", f->name);
    f->inode = 0;
    f->match_by_inode = f->has_history = false;
    f->remark[0] = '\0';
}

tamis_status tamis__followed_find(tamis__followed_names *followed, size_t i, tamis_error *err) {
    tamis__followed *f = &followed->names[i];
    const bool several = tamis__followed_several(followed);
    known_file known = {.input = NULL};
    reset(f);
    f->was_closed = f->truncated = false;
    if (tamis__descriptor_named(f->name, STDIN_FILENO) >= 0)
        return TAMIS_OK;
    tamis_status status = find_known(&known, followed, f->name, err);
    f->was_closed = known.input && known.closed;
    for (bool is_late = true; status == TAMIS_OK && is_late;) {
        reset(f);
        f->truncated = known.input && known.input->truncated;
        status = find_next(f, &known, followed->started, &is_late, err);
    }
    if (status == TAMIS_OK && several && !known.input && followed->newest.inputs)
        status = look_for_rotated(f, err);
    const bool is_known_file = known.input && (uint64_t)f->inode == known.input->fingerprint.inode &&
                               (uint64_t)f->device == known.input->fingerprint.device;
    if (several && (!known.input || is_known_file))
        f->match_by_inode = true;
    tamis__checkpoint_release(&known.note);
    return status;
}

bool tamis__followed_check(tamis__followed_names *followed, size_t i, dev_t device, ino_t inode) {
    const tamis__followed *f = &followed->names[i];
    followed->is_other = f->inode != 0 && (device != f->device || inode != f->inode);
    return !followed->is_other;
}

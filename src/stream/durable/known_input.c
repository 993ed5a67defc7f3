/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Known inputs: the file that an input of a checkpoint is now. Log rotation renames files, and a new file may
 * have the old name, or even the old inode. So a file is the known one if it has the bytes that were read,
 * and these decide where to look:
 *
 *     name          the file under the old name, if it has these bytes
 *     inode         else the file in the same directory that has the inode, if it has these bytes
 *
 * An input of which no byte was read has no such bytes. Its inode counts more than its name then.
 */
#include "stream/durable/known_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "store/file/file_error.h"
#include "store/file/target.h"

tamis_status tamis__input_open_regular(tamis__open_input *input, const char *name, tamis_error *err) {
    struct stat *st = &input->st;
    const char *shown = tamis__input_name(name);
    int fd = tamis__descriptor_named(name, STDIN_FILENO);
    const bool borrowed = fd >= 0;
    *input = (tamis__open_input){.file = {.fd = -1, .name = shown}, .borrowed = borrowed};
    if ((borrowed ? tamis__sys.fstat(fd, st) : tamis__sys.stat(name, st)) < 0)
        return tamis__fail_file(err, shown, errno);
    if (!S_ISREG(st->st_mode))
        return TAMIS_OK;
    /* A FIFO may have the name by now; opening it must not wait for a writer. */
    if (!borrowed)
        fd = tamis__open(name, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0);
    if (fd < 0)
        return tamis__fail_file(err, shown, errno);
    const int failed = !borrowed && tamis__sys.fstat(fd, st) < 0 ? errno : 0;
    if (failed || !S_ISREG(st->st_mode)) {
        if (!borrowed)
            tamis__sys.close(fd);
        return failed ? tamis__fail_file(err, shown, failed) : TAMIS_OK;
    }
    const off_t base = borrowed ? tamis__sys.seek(fd, 0, SEEK_CUR) : 0;
    if (base < 0)
        return tamis__fail_file(err, shown, errno);
    input->file.fd = fd;
    input->file.base = base;
    input->size = st->st_size > base ? (uint64_t)(st->st_size - base) : 0;
    return TAMIS_OK;
}

void tamis__input_close(tamis__open_input *input) {
    if (input->file.fd >= 0 && !input->borrowed)
        tamis__sys.close(input->file.fd);
    input->file.fd = -1;
}

bool tamis__input_is_unread(const tamis__checkpoint_input *known) {
    return known->regular && !known->compressed && known->position.offset == 0;
}

bool tamis__input_has_inode(const tamis__checkpoint_input *known) {
    const int fd = tamis__descriptor_named(known->name, STDIN_FILENO);
    struct stat st;
    return (fd >= 0 ? tamis__sys.fstat(fd, &st) : tamis__sys.stat(known->name, &st)) == 0 &&
           (uint64_t)st.st_ino == known->fingerprint.inode &&
           (uint64_t)st.st_dev == known->fingerprint.device;
}

/* Compares the file `path` with a known input. Sets present->found to the result, and the file's size and
 * metadata. */
static tamis_status compare_file(const tamis__checkpoint_input *known, const char *path, bool named,
                                 tamis__present_input *present, tamis_error *err) {
    tamis__open_input file;
    tamis__file_match match = TAMIS__FILE_OTHER;
    tamis_status status = tamis__input_open_regular(&file, path, err);
    if (status == TAMIS_OK && file.file.fd >= 0)
        status = tamis__file_fingerprint_compare(&known->fingerprint, &file.file, named, &match, err);
    tamis__input_close(&file);
    present->found = match == TAMIS__FILE_SAME;
    present->size = file.size;
    present->st = file.st;
    return status;
}

bool tamis__input_is_file(const tamis__checkpoint_input *known, const char *path) {
    tamis__present_input present;
    return compare_file(known, path, true, &present, NULL) == TAMIS_OK && present.found;
}

/* A search of the directory of an input for the file that had its name. */
typedef struct directory_search {
    const tamis__checkpoint_input *known;
    int directory_size; /* size of the directory in the known name, with its slash */
    tamis__present_input *present;
    tamis_status status; /* error that ended the search: the file may be the one that cannot be read */
    tamis_error *err;
} directory_search;

/* Returns false if the search has ended. */
static bool check_name(void *context, const char *name) {
    directory_search *r = context;
    tamis__present_input *present = r->present;
    const int size =
        snprintf(present->name, sizeof present->name, "%.*s%s", r->directory_size, r->known->name, name);
    struct stat st;
    if (size < 0 || (size_t)size >= sizeof present->name)
        return true;
    if (tamis__sys.stat(present->name, &st) != 0) {
        if (errno != ENOENT)
            r->status = tamis__fail_file(r->err, present->name, errno);
        return r->status == TAMIS_OK;
    }
    if (!S_ISREG(st.st_mode) || (uint64_t)st.st_ino != r->known->fingerprint.inode ||
        (uint64_t)st.st_dev != r->known->fingerprint.device)
        return true;
    r->status = compare_file(r->known, present->name, false, present, r->err);
    return r->status == TAMIS_OK && !present->found;
}

tamis_status tamis__input_find_inode(const tamis__checkpoint_input *known, tamis__present_input *present,
                                     tamis_error *err) {
    char directory[PATH_MAX];
    const char *base = tamis__path_split(known->name, directory);
    directory_search r = {
        .known = known, .directory_size = (int)(base - known->name), .present = present, .err = err};
    present->found = false;
    /* The old name comes first: most files still have it, and a directory may have thousands. */
    if (check_name(&r, base) && tamis__sys.list(directory, check_name, &r) != 0 && r.status == TAMIS_OK)
        return tamis__fail_file(err, directory, errno);
    return r.status;
}

void tamis__input_find(const tamis__checkpoint_input *known, tamis__present_input *present) {
    tamis__present_input under_name;
    if (compare_file(known, known->name, true, &under_name, NULL) != TAMIS_OK)
        under_name.found = false;
    const bool known_head = known->fingerprint.length >= TAMIS__FILE_FINGERPRINT_BYTES;
    present->found =
        under_name.found && (!tamis__input_is_unread(known) || known_head || tamis__input_has_inode(known));
    if (!present->found && tamis__input_find_inode(known, present, NULL) == TAMIS_OK && present->found &&
        strcmp(present->name, known->name) != 0)
        return;
    snprintf(present->name, sizeof present->name, "%s", known->name);
    /* An unread file that was copied or restored is known by its head. */
    present->found = under_name.found && (present->found || known->fingerprint.length > 0);
    present->size = under_name.size;
    if (under_name.found)
        present->st = under_name.st;
}

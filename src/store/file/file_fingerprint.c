/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * File fingerprints: is this the file that an earlier run read, or wrote, up to byte `length`?
 *
 *     base                                    base + length
 *     | first 4 KiB |            ...       | last 4 KiB  |  appended later
 *
 * A fingerprint is the length `length`, the XXH3 of the first and of the last 4 KiB before `length`, and
 * device and inode. Checking it takes two reads of 4 KiB, however large the file is.
 *
 * Why not device and inode alone: log rotation renames files, and a restored copy has a new inode. File
 * systems also reuse the numbers of removed files. Why not a hash of everything: logs have many GiB. The
 * price is that a change in the middle of the prefix goes unnoticed.
 *
 * Result of a comparison, where "hint" means that the name or the inode agrees:
 *
 *     both ends equal, at least 4 KiB, or a hint          SAME
 *     both ends equal, shorter, no hint                   OTHER    short prefixes are often equal by chance
 *     one end equal, and a hint                           CHANGED
 *     no end equal, but both name and inode agree         CHANGED
 *     else                                                OTHER
 *
 * If no end is equal, one hint is not enough. A rotated log leaves its name to a new file, and a removed file
 * leaves its inode number.
 */
#include "store/file/file_fingerprint.h"

#include <errno.h>
#include <string.h>

#include <xxhash.h>

#include "base/system.h"
#include "store/file/file_error.h"

enum { READ_MAX = 1024 << 20 /* bytes a read; Linux stops at 2 GiB */ };

static uint64_t end_size(uint64_t length) {
    return length < TAMIS__FILE_FINGERPRINT_BYTES ? length : TAMIS__FILE_FINGERPRINT_BYTES;
}

tamis_status tamis__file_read(const tamis__open_file *file, tamis__file_span span, void *bytes, size_t *got,
                              tamis_error *err) {
    *got = 0;
    while (*got < span.size) {
        const size_t chunk = span.size - *got < READ_MAX ? span.size - *got : READ_MAX;
        const ssize_t got_now = tamis__sys.pread(file->fd, (unsigned char *)bytes + *got, chunk,
                                                 file->base + (off_t)(span.offset + *got));
        if (got_now < 0 && errno != EINTR)
            return tamis__fail_file(err, file->name, errno);
        if (got_now == 0)
            break;
        *got += got_now > 0 ? (size_t)got_now : 0;
    }
    return TAMIS_OK;
}

/* Hashes the bytes of a span. *is_whole is false if the file has fewer. */
static tamis_status hash_span(const tamis__open_file *file, tamis__file_span span, uint64_t *hash,
                              bool *is_whole, tamis_error *err) {
    unsigned char bytes[TAMIS__FILE_FINGERPRINT_BYTES];
    size_t got;
    *hash = 0;
    const tamis_status status = tamis__file_read(file, span, bytes, &got, err);
    *is_whole = got == span.size;
    if (status == TAMIS_OK && *is_whole && span.size > 0)
        *hash = XXH3_64bits(bytes, got);
    return status;
}

static tamis_status hash_both_sides(tamis__file_fingerprint *fingerprint, const tamis__open_file *file,
                                    uint64_t length, bool *is_whole, tamis_error *err) {
    const size_t size = (size_t)end_size(length);
    const tamis__file_span first = {0, size}, last = {length - size, size};
    tamis_status status = hash_span(file, first, &fingerprint->first_hash, is_whole, err);
    if (status == TAMIS_OK && *is_whole)
        status = hash_span(file, last, &fingerprint->last_hash, is_whole, err);
    fingerprint->length = length;
    return status;
}

tamis_status tamis__file_fingerprint_compute(tamis__file_fingerprint *fingerprint,
                                             const tamis__open_file *file, uint64_t length,
                                             tamis_error *err) {
    struct stat st;
    bool is_whole;
    if (tamis__sys.fstat(file->fd, &st) < 0)
        return tamis__fail_file(err, file->name, errno);
    *fingerprint = (tamis__file_fingerprint){.device = (uint64_t)st.st_dev, .inode = (uint64_t)st.st_ino};
    const tamis_status status = hash_both_sides(fingerprint, file, length, &is_whole, err);
    if (status != TAMIS_OK || is_whole)
        return status;
    return tamis__fail(err, TAMIS_E_CHANGED, 0,
                       "%s: was made shorter while it was used; nobody else may write to it",
                       tamis__show(file->name).text);
}

tamis_status tamis__file_fingerprint_compare(const tamis__file_fingerprint *known,
                                             const tamis__open_file *file, bool named,
                                             tamis__file_match *match, tamis_error *err) {
    struct stat st;
    tamis__file_fingerprint now = {.length = 0};
    bool is_whole;
    if (tamis__sys.fstat(file->fd, &st) < 0)
        return tamis__fail_file(err, file->name, errno);
    const bool same_file = (uint64_t)st.st_dev == known->device && (uint64_t)st.st_ino == known->inode;
    const tamis_status status = hash_both_sides(&now, file, known->length, &is_whole, err);
    if (status != TAMIS_OK)
        return status;
    const bool hinted = named || same_file;
    const bool one_end = known->length > 0 && (now.first_hash == known->first_hash ||
                                               (is_whole && now.last_hash == known->last_hash));
    const bool equal = is_whole && now.first_hash == known->first_hash && now.last_hash == known->last_hash;
    if (equal)
        *match =
            hinted || known->length >= TAMIS__FILE_FINGERPRINT_BYTES ? TAMIS__FILE_SAME : TAMIS__FILE_OTHER;
    else /* if both ends differ, one hint is not enough */
        *match = (named && same_file) || (hinted && one_end) ? TAMIS__FILE_CHANGED : TAMIS__FILE_OTHER;
    return TAMIS_OK;
}

void tamis__file_prefix_add(tamis__file_prefix *prefix, const void *bytes, size_t size) {
    const size_t free_size = sizeof prefix->bytes - prefix->size;
    const size_t added = size < free_size ? size : free_size;
    memcpy(prefix->bytes + prefix->size, bytes, added);
    prefix->size += added;
}

tamis__file_fingerprint tamis__file_prefix_fingerprint(const tamis__file_prefix *prefix) {
    const uint64_t hash = prefix->size > 0 ? XXH3_64bits(prefix->bytes, prefix->size) : 0;
    return (tamis__file_fingerprint){.length = prefix->size, .first_hash = hash, .last_hash = hash};
}

uint64_t tamis__file_head_hash(const tamis__file_head *head) {
    return head->count == TAMIS__FILE_FINGERPRINT_BYTES ? XXH3_64bits(head->bytes, head->count) : 0;
}

bool tamis__file_head_matches(const tamis__file_fingerprint *known, const tamis__file_head *head) {
    const size_t size = (size_t)end_size(known->length);
    return head->count >= size && (size > 0 ? XXH3_64bits(head->bytes, size) : 0) == known->first_hash;
}

bool tamis__file_head_compare(const tamis__file_fingerprint *known, const tamis__file_head *head, bool named,
                              bool closely, tamis__file_match *match) {
    const uint64_t size = end_size(known->length);
    const bool same_file = head->device == known->device && head->inode == known->inode;
    const bool hinted = named || same_file;
    if (!hinted && known->length < TAMIS__FILE_FINGERPRINT_BYTES) {
        *match = TAMIS__FILE_OTHER; /* whatever its bytes are */
        return true;
    }
    const bool begins = tamis__file_head_matches(known, head);
    if (begins && known->length == size) {
        *match = TAMIS__FILE_SAME; /* the prefix is so short that its last bytes are its first */
        return true;
    }
    const bool shorter = head->size < known->length;
    if (!begins && !closely)
        *match = TAMIS__FILE_OTHER;
    else if (named && same_file && (!begins || shorter))
        *match = TAMIS__FILE_CHANGED;
    else if (shorter)
        *match = hinted && begins ? TAMIS__FILE_CHANGED : TAMIS__FILE_OTHER;
    else if (!begins && (!hinted || known->length == size))
        *match = TAMIS__FILE_OTHER;
    else
        return false;
    return true;
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * File fingerprints: is this the file that an earlier run read, or wrote, up to byte `at`?
 *
 *     base                                         base + at
 *     | 4 KiB: head |            ...       | 4 KiB: tail |  appended later
 *
 * A fingerprint is the length `at`, the XXH3 of the first and of the last 4 KiB before `at`, and device and
 * inode. Checking it takes two reads of 4 KiB, however large the file is.
 *
 * Why not device and inode alone: log rotation renames files, a restored copy has a new inode, and file
 * systems reuse the numbers of removed files. Why not a hash of everything: logs have many GiB. The price
 * is that a change in the middle of the prefix goes unnoticed.
 *
 * Result of a comparison, where "hint" means that the name or the inode agrees:
 *
 *     head and tail equal, at least 4 KiB, or a hint      SAME
 *     head and tail equal, shorter, no hint               OTHER    short prefixes are often equal by chance
 *     one end equal, and a hint                           CHANGED
 *     no end equal, but both name and inode agree         CHANGED
 *     else                                                OTHER
 *
 * If no end is equal, one hint is not enough. A rotated log leaves its name to a new file, and a removed file
 * leaves its inode number.
 */
#include "store/identity.h"

#include <errno.h>
#include <string.h>

#include <xxhash.h>

#include "base/system.h"
#include "store/trouble.h"

static uint64_t end_size(uint64_t at) {
    return at < TAMIS__IDENTITY_BYTES ? at : TAMIS__IDENTITY_BYTES;
}

tamis_status tamis__read_at(int fd, off_t from, void *bytes, size_t size, const char *name, size_t *got,
                            tamis_error *err) {
    *got = 0;
    while (*got < size) {
        const ssize_t some =
            tamis__sys.pread(fd, (unsigned char *)bytes + *got, size - *got, from + (off_t)*got);
        if (some < 0 && errno != EINTR)
            return tamis__fail_file(err, name, errno);
        if (some == 0)
            break;
        *got += some > 0 ? (size_t)some : 0;
    }
    return TAMIS_OK;
}

/* Sums `size` bytes at offset `from`. *whole is false if the file has fewer. */
static tamis_status sum_bytes(int fd, off_t from, uint64_t size, const char *name, uint64_t *sum, bool *whole,
                              tamis_error *err) {
    unsigned char bytes[TAMIS__IDENTITY_BYTES];
    size_t got;
    *sum = 0;
    const tamis_status status = tamis__read_at(fd, from, bytes, (size_t)size, name, &got, err);
    *whole = got == size;
    if (status == TAMIS_OK && *whole && size > 0)
        *sum = XXH3_64bits(bytes, got);
    return status;
}

static tamis_status sum_ends(tamis__identity *of, int fd, off_t base, uint64_t at, const char *name,
                             bool *whole, tamis_error *err) {
    const uint64_t size = end_size(at);
    tamis_status status = sum_bytes(fd, base, size, name, &of->head, whole, err);
    if (status == TAMIS_OK && *whole)
        status = sum_bytes(fd, base + (off_t)(at - size), size, name, &of->tail, whole, err);
    of->at = at;
    return status;
}

tamis_status tamis__identity_take(tamis__identity *identity, int fd, off_t base, uint64_t at,
                                  const char *name, tamis_error *err) {
    struct stat about;
    bool whole;
    if (tamis__sys.fstat(fd, &about) < 0)
        return tamis__fail_file(err, name, errno);
    *identity = (tamis__identity){.device = (uint64_t)about.st_dev, .inode = (uint64_t)about.st_ino};
    tamis_status status = sum_ends(identity, fd, base, at, name, &whole, err);
    if (status != TAMIS_OK || whole)
        return status;
    return tamis__fail(err, TAMIS_E_STALE, 0,
                       "%s: was made shorter while it was used; nobody else may write to it",
                       tamis__show(name).text);
}

tamis_status tamis__identity_compare(const tamis__identity *known, int fd, off_t base, bool named,
                                     const char *name, tamis__likeness *likeness, tamis_error *err) {
    struct stat about;
    tamis__identity now = {.tail = 0};
    bool whole;
    if (tamis__sys.fstat(fd, &about) < 0)
        return tamis__fail_file(err, name, errno);
    const bool same_file = (uint64_t)about.st_dev == known->device && (uint64_t)about.st_ino == known->inode;
    tamis_status status = sum_ends(&now, fd, base, known->at, name, &whole, err);
    if (status != TAMIS_OK)
        return status;
    const bool hinted = named || same_file;
    const bool one_end = known->at > 0 && (now.head == known->head || (whole && now.tail == known->tail));
    const bool alike = whole && now.head == known->head && now.tail == known->tail;
    if (alike)
        *likeness = hinted || known->at >= TAMIS__IDENTITY_BYTES ? TAMIS__SAME : TAMIS__OTHER;
    else /* if both ends differ, one hint is not enough */
        *likeness = (named && same_file) || (hinted && one_end) ? TAMIS__CHANGED : TAMIS__OTHER;
    return TAMIS_OK;
}

void tamis__identity_front_add(tamis__identity_front *front, const void *bytes, size_t size) {
    const size_t room = sizeof front->bytes - front->size;
    const size_t taken = size < room ? size : room;
    memcpy(front->bytes + front->size, bytes, taken);
    front->size += taken;
}

tamis__identity tamis__identity_of_front(const tamis__identity_front *front) {
    const uint64_t sum = front->size > 0 ? XXH3_64bits(front->bytes, front->size) : 0;
    return (tamis__identity){.at = front->size, .head = sum, .tail = sum};
}

uint64_t tamis__identity_whole_head(const tamis__identity_head *head) {
    return head->count == TAMIS__IDENTITY_BYTES ? XXH3_64bits(head->bytes, head->count) : 0;
}

bool tamis__identity_begins(const tamis__identity *known, const tamis__identity_head *head) {
    const size_t size = (size_t)end_size(known->at);
    return head->count >= size && (size > 0 ? XXH3_64bits(head->bytes, size) : 0) == known->head;
}

bool tamis__identity_tell(const tamis__identity *known, const tamis__identity_head *head, bool named,
                          bool closely, tamis__likeness *likeness) {
    const uint64_t size = end_size(known->at);
    const bool same_file = head->device == known->device && head->inode == known->inode;
    const bool hinted = named || same_file;
    if (!hinted && known->at < TAMIS__IDENTITY_BYTES) {
        *likeness = TAMIS__OTHER; /* whatever its bytes are */
        return true;
    }
    const bool begins = tamis__identity_begins(known, head);
    if (begins && known->at == size) {
        *likeness = TAMIS__SAME; /* the prefix is so short that its tail is its head */
        return true;
    }
    const bool shorter = head->size < known->at;
    if (!begins && !closely)
        *likeness = TAMIS__OTHER;
    else if (named && same_file && (!begins || shorter))
        *likeness = TAMIS__CHANGED;
    else if (shorter)
        *likeness = hinted && begins ? TAMIS__CHANGED : TAMIS__OTHER;
    else if (!begins && (!hinted || known->at == size))
        *likeness = TAMIS__OTHER;
    else
        return false;
    return true;
}

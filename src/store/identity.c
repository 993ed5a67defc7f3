/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/identity.h"

#include <errno.h>

#include <xxhash.h>

#include "base/system.h"
#include "store/trouble.h"

static uint64_t end_size(uint64_t at) {
    return at < TAMIS__IDENTITY_BYTES ? at : TAMIS__IDENTITY_BYTES;
}

/* *sum of `size` bytes from `from` on; *whole is false where there are fewer. */
static tamis_status sum_bytes(int fd, off_t from, uint64_t size, const char *name, uint64_t *sum, bool *whole,
                              tamis_error *err) {
    unsigned char bytes[TAMIS__IDENTITY_BYTES];
    size_t got = 0;
    *whole = true;
    *sum = 0;
    while (got < size) {
        ssize_t some = tamis__sys.pread(fd, bytes + got, (size_t)size - got, from + (off_t)got);
        if (some < 0 && errno != EINTR)
            return tamis__fail_file(err, name, errno);
        if (some == 0)
            *whole = false;
        if (some == 0)
            return TAMIS_OK;
        got += some > 0 ? (size_t)some : 0;
    }
    if (size > 0)
        *sum = XXH3_64bits(bytes, got);
    return TAMIS_OK;
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
    else /* another file has the name of a log that was rotated, or the inode of one that was removed: both ends differ */
        *likeness = (named && same_file) || (hinted && one_end) ? TAMIS__CHANGED : TAMIS__OTHER;
    return TAMIS_OK;
}

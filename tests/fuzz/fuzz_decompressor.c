/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Compressed data of any bytes. Byte 0 of the input selects the size of the pieces in which the rest is
 * read. The data is decompressed, or refused with a message, in bounded memory. The result does not depend
 * on the pieces, except that a library may give more or fewer bytes before damage.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/system.h"
#include "stream/codec/decompressor.h"
#include "support/fault.h"

enum { MEMORY = 16 << 20, CAPACITY = 16 << 10, MAX = 1 << 20 /* max. decompressed bytes */ };

typedef struct decompressed {
    tamis_status status;
    size_t size;  /* number of decompressed bytes */
    uint8_t *out; /* buffer of MAX bytes */
} decompressed;

static fault_memory memory;
static size_t piece; /* size of a read; 0: no limit */

static void check(bool holds) {
    if (!holds)
        abort();
}

static ssize_t read_piece(int fd, void *buffer, size_t size) {
    static bool interrupted;
    interrupted = piece && !interrupted;
    errno = EINTR;
    if (interrupted)
        return -1;
    return read(fd, buffer, piece && size > piece ? piece : size);
}

static decompressed decompressor(int fd, const uint8_t *data, size_t header_size, size_t capacity,
                                 uint8_t *out) {
    const tamis_allocator allocator = fault_memory_allocator(&memory);
    const tamis__decompressor_setup setup = {fd, "f", NULL, data, header_size, &allocator};
    tamis_error err = TAMIS_ERROR_INIT;
    tamis__decompressor *made = NULL;
    decompressed result = {.out = out};
    memory.limit = MEMORY;
    check(lseek(fd, (off_t)header_size, SEEK_SET) == (off_t)header_size);
    result.status = tamis__decompressor_create(&made, &setup, &err);
    while (result.status == TAMIS_OK && !tamis__decompressor_has_ended(made) && result.size < MAX) {
        const size_t left = MAX - result.size;
        size_t size = capacity < left ? capacity : left;
        result.status = tamis__decompressor_read(made, true, out + result.size, &size, &err);
        size = result.status == TAMIS_OK ? size : 0;
        check(size <= left && (size == 0 || !tamis__decompressor_has_ended(made)));
        result.size += size;
    }
    check(result.status == TAMIS_OK || (err.status == result.status && strncmp(err.text, "f: ", 3) == 0));
    tamis__decompressor_free(made);
    check(memory.live_blocks == 0);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static uint8_t out[2][MAX];
    bool undecided;
    if (size < 2)
        return 0;
    const size_t chosen = (size_t)data[0] + 1;
    data++;
    size--;
    if (tamis__compression_detect(data, size, &undecided) == TAMIS_COMPRESSION_NONE)
        return 0;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    ssize_t (*const whole)(int, void *, size_t) = tamis__sys.read;
    tamis__sys.read = read_piece;
    piece = 0;
    const decompressed undivided = decompressor(fd, data, 0, CAPACITY, out[0]);
    piece = chosen;
    const decompressed pieces =
        decompressor(fd, data, chosen % size % TAMIS__DECOMPRESSOR_READ_SIZE, chosen, out[1]);
    tamis__sys.read = whole;
    close(fd);
    const size_t common = undivided.size < pieces.size ? undivided.size : pieces.size;
    check(memcmp(undivided.out, pieces.out, common) == 0);
    if (common < MAX)
        check(undivided.status == pieces.status &&
              (undivided.status != TAMIS_OK || undivided.size == pieces.size));
    return 0;
}

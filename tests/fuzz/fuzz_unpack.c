/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Packed bytes of anyone, behind a byte that says in what pieces they are read: unpacked or refused with a sentence, in
 * bounded memory, and the same whatever the pieces; but how much comes out before damage is the library's business.
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

enum { MEMORY = 16 << 20, CAPACITY = 16 << 10, MOST = 1 << 20 /* bytes that are looked at */ };

typedef struct unpacked {
    tamis_status status;
    size_t size;  /* of what came out */
    uint8_t *out; /* of room for MOST */
} unpacked;

static fault_memory memory;
static size_t piece; /* 0: all */

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

static unpacked decompressor(int fd, const uint8_t *data, size_t begun, size_t capacity, uint8_t *out) {
    const tamis_allocator allocator = fault_memory_allocator(&memory);
    const tamis__decompressor_setup setup = {fd, "f", NULL, data, begun, &allocator};
    tamis_error err = TAMIS_ERROR_INIT;
    tamis__decompressor *made = NULL;
    tamis__decompressor_event event = TAMIS__DECOMPRESSOR_BYTES;
    unpacked all = {.out = out};
    memory.limit = MEMORY;
    check(lseek(fd, (off_t)begun, SEEK_SET) == (off_t)begun);
    all.status = tamis__decompressor_create(&made, &setup, &err);
    while (all.status == TAMIS_OK && event != TAMIS__DECOMPRESSOR_END && all.size < MOST) {
        const size_t left = MOST - all.size;
        size_t size = 0;
        all.status = tamis__decompressor_read(made, true, out + all.size, capacity < left ? capacity : left,
                                              &size, &event, &err);
        check(size <= left && (size > 0) == (all.status == TAMIS_OK && event == TAMIS__DECOMPRESSOR_BYTES));
        all.size += size;
    }
    check(all.status == TAMIS_OK || (err.status == all.status && strncmp(err.text, "f: ", 3) == 0));
    tamis__decompressor_free(made);
    check(memory.live_blocks == 0);
    return all;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static uint8_t out[2][MOST];
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
    const unpacked all = decompressor(fd, data, 0, CAPACITY, out[0]);
    piece = chosen;
    const unpacked pieces =
        decompressor(fd, data, chosen % size % TAMIS__DECOMPRESSOR_READ_SIZE, chosen, out[1]);
    tamis__sys.read = whole;
    close(fd);
    const size_t both = all.size < pieces.size ? all.size : pieces.size;
    check(memcmp(all.out, pieces.out, both) == 0);
    if (both < MOST)
        check(all.status == pieces.status && (all.status != TAMIS_OK || all.size == pieces.size));
    return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Packed bytes of anyone, behind a byte that says in what pieces they are read: unpacked or refused with a sentence, in
 * bounded memory, and the same whatever the pieces, up to the last byte before the damage.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/system.h"
#include "stream/unpack.h"
#include "support/fault.h"

enum { MEMORY = 16 << 20, ROOM = 16 << 10, MOST = 1 << 20 /* bytes that are looked at */ };

typedef struct unpacked {
    tamis_status status;
    uint64_t size, sum; /* of what came out */
    bool whole;         /* not ended early */
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

static unpacked unpack(int fd, const uint8_t *data, size_t begun, size_t room) {
    static uint8_t bytes[ROOM];
    const tamis_allocator allocator = fault_memory_allocator(&memory);
    const tamis__unpack_setup setup = {fd, "f", NULL, data, begun, &allocator};
    tamis_error err = TAMIS_ERROR_INIT;
    tamis__unpack *made = NULL;
    tamis__unpack_event event = TAMIS__UNPACK_BYTES;
    unpacked all = {.sum = 5381};
    memory.limit = MEMORY;
    check(lseek(fd, (off_t)begun, SEEK_SET) == (off_t)begun);
    all.status = tamis__unpack_create(&made, &setup, &err);
    while (all.status == TAMIS_OK && event != TAMIS__UNPACK_END && all.size < MOST) {
        size_t size = 0;
        all.status = tamis__unpack_next(made, true, bytes, room, &size, &event, &err);
        check(size <= room && (size > 0) == (all.status == TAMIS_OK && event == TAMIS__UNPACK_BYTES));
        for (size_t i = 0; i < size && all.size < MOST; i++, all.size++)
            all.sum = all.sum * 33 + bytes[i];
    }
    all.whole = all.size < MOST;
    check(all.status == TAMIS_OK || (err.status == all.status && strncmp(err.text, "f: ", 3) == 0));
    tamis__unpack_free(made);
    check(memory.live_blocks == 0);
    return all;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bool undecided;
    if (size < 2)
        return 0;
    const size_t chosen = (size_t)data[0] + 1;
    data++;
    size--;
    if (tamis__packing_of(data, size, &undecided) == TAMIS_PACKING_NONE)
        return 0;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    ssize_t (*const whole)(int, void *, size_t) = tamis__sys.read;
    tamis__sys.read = read_piece;
    piece = 0;
    const unpacked all = unpack(fd, data, 0, ROOM);
    piece = chosen;
    const unpacked pieces = unpack(fd, data, chosen % size % TAMIS__UNPACK_READ, chosen);
    tamis__sys.read = whole;
    close(fd);
    check(all.size == pieces.size && all.sum == pieces.sum);
    check(!all.whole || all.status == pieces.status);
    return 0;
}

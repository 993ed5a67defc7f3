/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Filter files that may be compressed. The first byte of the input selects what the rest is:
 *
 *     even  a file: it is refused without a leak, or it is a filter that can be saved and opened again
 *     odd   bytes of a filter: compressed here, in two members, they give the result of tamis_filter_decode
 *
 * The result is the same if the file is read in pieces. Memory is bounded for any content.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <tamis/experimental/compressed.h>
#include <tamis/tamis.h>

#include "base/system.h"
#include "support/fault.h"

enum { MEMORY = 64 << 20 };

static fault_memory memory;
static char path[64];
static int file = -1; /* a file in memory, named `path` */
static size_t piece;

static void check(bool holds) {
    if (!holds)
        abort();
}

static ssize_t read_piece(int fd, void *buffer, size_t size) {
    return read(fd, buffer, size < piece ? size : piece);
}

static void write_input(const uint8_t *data, size_t size) {
    check(ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size);
}

static tamis_filter *open_it(tamis_status *status, tamis_compression *compression) {
    static tamis_allocator allocator;
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_filter *filter = NULL;
    allocator = fault_memory_allocator(&memory);
    size_t before = memory.live_blocks;
    options.allocator = &allocator;
    memory.limit = memory.live_bytes + MEMORY;
    *status = tamis_compressed_open(&filter, compression, path, &options, &err);
    memory.limit = 0;
    check(*status == TAMIS_OK ||
          (!filter && err.status == *status && *err.text && memory.live_blocks == before));
    return filter;
}

/* Compresses data as two members, the first of `first_size` bytes. The caller frees the result. */
static uint8_t *compress_bytes(const uint8_t *data, size_t size, size_t first_size, size_t *compressed) {
    const struct {
        const uint8_t *data;
        size_t size;
    } members[] = {{data, first_size}, {data + first_size, size - first_size}};
    size_t capacity = 2 * (compressBound(size) + 64);
    uint8_t *bytes = malloc(capacity);
    check(bytes);
    *compressed = 0;
    for (int i = 0; i < 2; i++) {
        z_stream stream = {0};
        check(deflateInit2(&stream, 1, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
        stream.next_in = (Bytef *)(uintptr_t)members[i].data;
        stream.avail_in = (uInt)members[i].size;
        stream.next_out = bytes + *compressed;
        stream.avail_out = (uInt)(capacity - *compressed);
        check(deflate(&stream, Z_FINISH) == Z_STREAM_END);
        *compressed = capacity - stream.avail_out;
        deflateEnd(&stream);
    }
    return bytes;
}

static bool same(const tamis_filter *filter, const tamis_filter *other) {
    uint64_t size = 0, others = 0;
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    check(tamis_filter_metadata_get(filter, &metadata, NULL) == TAMIS_OK);
    check(tamis_filter_encoded_size(filter, metadata.format, &size, NULL) == TAMIS_OK);
    check(tamis_filter_encoded_size(other, metadata.format, &others, NULL) == TAMIS_OK);
    if (size != others)
        return false;
    uint8_t *bytes = malloc(size), *more = malloc(size);
    check(bytes && more && tamis_filter_encode(filter, metadata.format, bytes, size, NULL) == TAMIS_OK &&
          tamis_filter_encode(other, metadata.format, more, size, NULL) == TAMIS_OK);
    bool equal = memcmp(bytes, more, size) == 0;
    free(bytes);
    free(more);
    return equal;
}

/* Reads the file in pieces. The result must be `expected` and, if it is not NULL, `expected_filter`. */
static void pieces_do_not_matter(tamis_status expected, const tamis_filter *expected_filter) {
    tamis_status status;
    ssize_t (*const whole)(int, void *, size_t) = tamis__sys.read;
    tamis__sys.read = read_piece;
    tamis_filter *filter = open_it(&status, NULL);
    tamis__sys.read = whole;
    check(status == expected && (!expected_filter || same(filter, expected_filter)));
    tamis_filter_free(filter);
}

/* Saves and opens the filter again. The file is in /tmp, since a file in memory has no directory. */
static void comes_back(tamis_filter *filter) {
    static char saved[] = "/tmp/tamis-fuzz-XXXXXX";
    static bool made;
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    tamis_compression compression = TAMIS_COMPRESSION_NONE;
    tamis_filter *again = NULL;
    if (!made)
        close(mkstemp(saved));
    made = true;
    check(tamis_filter_metadata_get(filter, &metadata, NULL) == TAMIS_OK);
    check(tamis_compressed_save(filter, saved, metadata.format, TAMIS_COMPRESSION_GZIP, NULL) == TAMIS_OK);
    check(tamis_compressed_open(&again, &compression, saved, NULL, NULL) == TAMIS_OK);
    check(compression == TAMIS_COMPRESSION_GZIP && same(filter, again));
    tamis_filter_free(again);
    unlink(saved);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2)
        return 0;
    if (file < 0) {
        file = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    bool wrap = data[0] % 2;
    piece = (size_t)data[0] / 2 + 1;
    data++;
    size--;

    tamis_status status, expected = TAMIS_OK;
    tamis_compression compression = TAMIS_COMPRESSION_NONE;
    tamis_filter *expected_filter = NULL;
    if (wrap) {
        size_t compressed;
        uint8_t *bytes = compress_bytes(data, size, piece % size, &compressed);
        write_input(bytes, compressed);
        free(bytes);
        bytes = malloc(size); /* exactly its size, and aligned */
        check(bytes);
        memcpy(bytes, data, size);
        expected = tamis_filter_decode(&expected_filter, bytes, size, NULL, NULL);
        free(bytes);
    } else {
        write_input(data, size);
    }
    tamis_filter *filter = open_it(&status, &compression);
    check(!wrap || (status == expected && (!expected_filter || (same(filter, expected_filter) &&
                                                                compression == TAMIS_COMPRESSION_GZIP))));
    if (compression == TAMIS_COMPRESSION_GZIP || status != TAMIS_OK)
        pieces_do_not_matter(status, filter);
    if (compression == TAMIS_COMPRESSION_GZIP)
        comes_back(filter);
    tamis_filter_free(filter);
    tamis_filter_free(expected_filter);
    check(memory.live_blocks == 0);
    return 0;
}

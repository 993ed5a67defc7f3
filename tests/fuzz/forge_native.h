/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FUZZ_FORGE_NATIVE_H
#define TAMIS_FUZZ_FORGE_NATIVE_H

/* Files of our format with right checksums and any other content: else the checksums would keep a fuzzer from
 * the code behind them. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "filter/block_verifier.h"
#include "format/native.h"

enum { FORGE_BODY_MAX = 1200000 };

/* Allocates memory aligned to a page, like a mapped file, and of exactly that size. */
static inline uint8_t *forge_pages(uint64_t size) {
    void *bytes = NULL;
    assert(posix_memalign(&bytes, 4096, (size_t)(size ? size : 1)) == 0);
    return bytes;
}

static inline void forge_checksums(uint8_t *bytes, uint64_t size) {
    uint64_t header = tamis__load32le(bytes + 12), offset = tamis__load64le(bytes + 32);
    uint64_t body = tamis__load64le(bytes + 40), blocks = tamis__block_count(body);
    if (offset <= size && body <= size - offset && blocks * 8 <= size - offset - body) {
        uint8_t *checksums = bytes + offset + body;
        for (uint64_t i = 0; i < blocks; i++) {
            uint64_t left = body - i * TAMIS__BLOCK;
            size_t block_size = (size_t)(left < TAMIS__BLOCK ? left : TAMIS__BLOCK);
            tamis__store64le(checksums + 8 * i, XXH3_64bits(bytes + offset + i * TAMIS__BLOCK, block_size));
        }
        tamis__store64le(bytes + 56, XXH3_64bits(checksums, (size_t)(8 * blocks)));
    }
    if (header >= NATIVE_HEADER && header <= size)
        tamis__store64le(bytes + 16, native_header_checksum(bytes, header));
}

/* Makes a file of header, sections and body. Zeros, which are empty lines, fill the body up to the size in
 * the header. `size` must be at least the size of a header. The caller frees the file. */
static inline uint8_t *forge_file(const uint8_t *data, size_t size, uint64_t *made) {
    uint64_t header = tamis__load32le(data + 12) / 8 * 8;
    header = header < NATIVE_HEADER || header > size ? NATIVE_HEADER : header;
    uint64_t body = (size - header + 63) / 64 * 64, offset = (header + 4095) / 4096 * 4096;
    uint64_t said = tamis__load64le(data + 40) / 64 * 64;
    body = said > body && said <= FORGE_BODY_MAX ? said : body;
    body += body == 0 ? 64 : 0;
    uint64_t whole = offset + body + 8 * tamis__block_count(body);
    uint8_t *bytes = forge_pages(whole);
    memset(bytes, 0, (size_t)whole);
    memcpy(bytes, data, (size_t)header);
    memcpy(bytes + offset, data + header, size - (size_t)header);
    memcpy(bytes, native_magic, NATIVE_MAGIC);
    tamis__store32le(bytes + 8, NATIVE_FORMAT);
    tamis__store32le(bytes + 12, (uint32_t)header);
    tamis__store64le(bytes + 24, whole);
    tamis__store64le(bytes + 32, offset);
    tamis__store64le(bytes + 40, body);
    tamis__store32le(bytes + 48, TAMIS__BLOCK);
    forge_checksums(bytes, whole);
    *made = whole;
    return bytes;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include "support/redis_bitmaps.h"

#include <stdio.h>

tamis_redis_bitmap *open_bitmap(const char *key) {
    tamis_redis_bitmap *bitmap;
    OK(tamis_redis_bitmap_open(&bitmap, redis, key, NULL, &err));
    return bitmap;
}

tamis_redis_bitmap *open_uri(const char *server_uri, const char *rest) {
    tamis_redis_bitmap *bitmap;
    char uri[200];
    snprintf(uri, sizeof uri, "%s/%s", server_uri, rest);
    OK(tamis_redis_bitmap_open(&bitmap, NULL, uri, NULL, &err));
    return bitmap;
}

unsigned bit_of(const model *it, int64_t offset) {
    return (size_t)offset / 8 < it->size && it->bytes[offset / 8] >> (7 - offset % 8) & 1;
}

void set_bit(model *it, uint64_t offset, unsigned value) {
    const uint8_t mask = (uint8_t)(0x80 >> offset % 8);
    if (offset / 8 >= it->size) {
        memset(it->bytes + it->size, 0, offset / 8 + 1 - it->size);
        it->size = offset / 8 + 1;
    }
    it->bytes[offset / 8] = (uint8_t)(value ? it->bytes[offset / 8] | mask : it->bytes[offset / 8] & ~mask);
}

void fill(model *it, size_t size, int kind, uint64_t *seed) {
    it->size = size;
    for (size_t i = 0; i < size; i++)
        it->bytes[i] = (uint8_t)(kind == 0 ? 0 : kind == 1 ? 0xff : test_random(seed));
    if (kind == 3 || kind == 4) /* all bits equal, except for the one flipped below */
        memset(it->bytes, kind == 3 ? 0 : 0xff, size);
    if (size > 0 && (kind == 3 || kind == 4))
        it->bytes[test_below(seed, size)] ^= (uint8_t)(1u << test_below(seed, 8));
}

void put_there(const redis_server *on_server, const char *key, const model *it) {
    if (it->size > 0)
        redis_server_command(on_server, "SET %s %b", key, it->bytes, it->size);
    else
        redis_server_command(on_server, "DEL %s", key);
}

void assert_there(const redis_server *on_server, const char *key, const model *it) {
    test_bytes got = {0};
    const test_bytes expected = {(unsigned char *)(uintptr_t)it->bytes, it->size, 0};
    redis_server_bytes(on_server, &got, "GET %s", key);
    assert_true(bytes_check(key, &got, &expected));
    bytes_clear(&got);
}

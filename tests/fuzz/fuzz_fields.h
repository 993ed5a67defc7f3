/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FUZZ_FIELDS_H
#define TAMIS_FUZZ_FIELDS_H

/* Fields of RDB files as plain bytes, for the fuzzers of RedisBloom's filters: numbers and doubles of 8
 * bytes, bytes with their size in 2 bytes before them. And an allocator that refuses large blocks. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/compat/redisbloom.h>

#define LIMIT ((size_t)1 << 20)

static inline void require(bool holds) {
    if (!holds)
        abort();
}

static inline void *limited_alloc(void *context, size_t size, size_t align) {
    (void)context;
    (void)align;
    return size <= LIMIT ? calloc(1, size) : NULL;
}

static inline void limited_free(void *context, void *block, size_t size) {
    (void)context;
    (void)size;
    free(block);
}

static const tamis_allocator limited = {limited_alloc, limited_free, NULL};

typedef struct field_bytes {
    const uint8_t *data;
    size_t left;
    uint8_t *written; /* of a sink: as many bytes as `capacity` */
    size_t size, capacity;
} field_bytes;

static inline bool read_bytes(field_bytes *from, void *to, size_t size) {
    if (from->left < size)
        return false;
    memcpy(to, from->data, size);
    from->data += size;
    from->left -= size;
    return true;
}

static inline bool read_number(void *context, uint64_t *value) {
    return read_bytes(context, value, sizeof *value);
}

static inline bool read_real(void *context, double *value) {
    return read_bytes(context, value, sizeof *value);
}

static inline void *read_block(void *context, size_t *size) {
    uint16_t length;
    if (!read_bytes(context, &length, sizeof length))
        return NULL;
    field_bytes *from = context;
    if (from->left < length)
        return NULL;
    void *block = calloc(1, (size_t)length + 1);
    require(block != NULL && read_bytes(from, block, length));
    *size = length;
    return block;
}

static inline void write_bytes(field_bytes *to, const void *bytes, size_t size) {
    require(size <= to->capacity - to->size);
    memcpy(to->written + to->size, bytes, size);
    to->size += size;
}

static inline void write_number(void *context, uint64_t value) {
    write_bytes(context, &value, sizeof value);
}

static inline void write_real(void *context, double value) {
    write_bytes(context, &value, sizeof value);
}

static inline void write_block(void *context, const void *bytes, size_t size) {
    const uint16_t length = (uint16_t)size;
    write_bytes(context, &length, sizeof length);
    write_bytes(context, bytes, size);
}

/* Returns a source of the fields in `from`. */
static inline tamis_redisbloom_source fields_source(field_bytes *from) {
    tamis_redisbloom_source source = TAMIS_REDISBLOOM_SOURCE_INIT;
    source.context = from;
    source.number = read_number;
    source.real = read_real;
    source.bytes = read_block;
    return source;
}

/* Returns a sink that writes to `to`, and gives it memory. */
static inline tamis_redisbloom_sink fields_sink(field_bytes *to) {
    tamis_redisbloom_sink sink = TAMIS_REDISBLOOM_SINK_INIT;
    to->written = malloc(to->capacity);
    require(to->written != NULL);
    sink.context = to;
    sink.number = write_number;
    sink.real = write_real;
    sink.bytes = write_block;
    return sink;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_REDIS_BITMAPS_H
#define TAMIS_TEST_REDIS_BITMAPS_H

/* Plain bitmaps of a server, and what they are to be in memory: for a test program of one group. */

#include <tamis/redis_bitmap.h>

#include "support/redis_filters.h"

enum { MODEL_SIZE_MAX = 20000 /* bytes of a model */ };

typedef struct model {
    size_t size; /* bytes; 0: there is no such key */
    uint8_t bytes[MODEL_SIZE_MAX];
} model;

/* Of `redis`, or of a server's URI and what stands behind its slash. */
tamis_redis_bitmap *open_bitmap(const char *key);
tamis_redis_bitmap *open_uri(const char *server_uri, const char *rest);

unsigned bit_of(const model *it, int64_t offset);
void set_bit(model *it, uint64_t offset, unsigned value);
/* Zeros (0), ones (1), random bits (2), zeros or ones but for one bit (3, 4). */
void fill(model *it, size_t size, int kind, uint64_t *seed);
/* The same under a Redis key. */
void put_there(const redis_server *on_server, const char *key, const model *it);
void assert_there(const redis_server *on_server, const char *key, const model *it);

#endif

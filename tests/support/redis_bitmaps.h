/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_REDIS_BITMAPS_H
#define TAMIS_TEST_REDIS_BITMAPS_H

/* Redis bitmaps on a server, and models of them in memory. For a test program with one group. */

#include <tamis/experimental/redis_bitmap.h>

#include "support/redis_filters.h"

enum { MODEL_SIZE_MAX = 20000 /* bytes of a model */ };

typedef struct model {
    size_t size; /* in bytes; 0: the key does not exist */
    uint8_t bytes[MODEL_SIZE_MAX];
} model;

/* Opens a bitmap, on `redis` or by a server's URI and the part after its slash. */
tamis_redis_bitmap *open_bitmap(const char *key);
tamis_redis_bitmap *open_uri(const char *server_uri, const char *rest);

unsigned bit_of(const model *it, int64_t offset);
void set_bit(model *it, uint64_t offset, unsigned value);
/* Fills the model by kind: 0 zeros, 1 ones, 2 random bits, 3 zeros except for one bit, 4 ones except for
 * one bit. */
void fill(model *it, size_t size, int kind, uint64_t *seed);
/* Writes the model to a Redis key, or compares the two. */
void put_there(const redis_server *on_server, const char *key, const model *it);
void assert_there(const redis_server *on_server, const char *key, const model *it);

#endif

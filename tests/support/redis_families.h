/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_REDIS_FAMILIES_H
#define TAMIS_TEST_REDIS_FAMILIES_H

#include <tamis/redis_family.h>

/* Fills and asks the family NAME?... on servers that are empty, and where its layout is one of other programs each member
 * as the filter that it is. How many Redis keys that made, the hash of layout tamis included. Fails the test. */
size_t redis_families_fill(tamis_redis *redis, const char *name);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_REDIS_FAMILIES_H
#define TAMIS_TEST_REDIS_FAMILIES_H

#include <tamis/experimental/redis_family.h>

/* Fills and queries the family NAME?... on empty servers. If its layout is that of another program, also
 * queries each member as a filter of its own. Returns the number of Redis keys made, including the hash of
 * layout tamis. Fails the test on an error. */
size_t redis_families_fill(tamis_redis *redis, const char *name);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_BITMAP_BITMAP_H
#define TAMIS_CLI_CMD_BITMAP_BITMAP_H

#include <tamis/experimental/redis_bitmap.h>

#include "cli/cli.h"

typedef enum bitmap_action { BITMAP_GET, BITMAP_SET, BITMAP_SET_QUIETLY } bitmap_action;

/*
 * Sets or reads the bits named by `operands`, and prints one bit a line.
 *
 * - BITMAP_GET: an operand is OFFSET; prints the bits.
 * - BITMAP_SET: an operand is OFFSET, OFFSET=1 or OFFSET=0; prints the old bits. BITMAP_SET_QUIETLY prints
 *   nothing.
 * - An operand "-", or no operand at all: reads operands from standard input, one a line.
 * - A malformed operand is an error before anything is set. After a malformed line the bits of the lines
 *   before it are set, and *err says how many.
 */
tamis_status bitmap_bits(tamis_redis_bitmap *bitmap, bitmap_action action, char *const *operands,
                         size_t count, tamis_error *err);

#endif

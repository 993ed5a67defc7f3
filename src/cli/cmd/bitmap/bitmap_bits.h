/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_BITMAP_BITMAP_BITS_H
#define TAMIS_CLI_CMD_BITMAP_BITMAP_BITS_H

#include <tamis/redis_bitmap.h>

#include "cli/cli.h"

/*
 * Sets the bits that `operands` say (OFFSET, or OFFSET=0 or =1), or asks for them, and prints what they were or are, one a
 * line. "-", and no operand: those on standard input, one a line. Nothing is set where an operand is not right; of lines
 * those before are.
 */
int bitmap_bits(tamis_redis_bitmap *bitmap, bool sets, bool quiet, char *const *operands, size_t count,
                tamis_error *err);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_ZLIB_MEMORY_H
#define TAMIS_STREAM_ZLIB_MEMORY_H

#define ZLIB_CONST /* input is only read */
#include <zlib.h>

#include "stream/lent_memory.h"

/* zlib takes memory of ours. */
typedef tamis__lent tamis__zlib_memory;

/* Sets the three fields of a zeroed stream; `memory` is borrowed. */
void tamis__zlib_memory_set(z_stream *stream, tamis__zlib_memory *memory);

#endif

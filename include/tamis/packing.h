/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_PACKING_H
#define TAMIS_PACKING_H

/* Compression of files and streams: library libtamis-stream. */

#include <stdbool.h>

#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What bytes are wrapped in. The numbers never change. Of each, several members (frames, streams) one after the other
 * are one. */
typedef enum tamis_packing {
    TAMIS_PACKING_NONE = 0,
    TAMIS_PACKING_GZIP = 1,  /* RFC 1952 */
    TAMIS_PACKING_ZSTD = 2,  /* RFC 8878, skippable frames are skipped */
    TAMIS_PACKING_LZ4 = 3,   /* LZ4 frame format */
    TAMIS_PACKING_XZ = 4,    /* .xz */
    TAMIS_PACKING_BZIP2 = 5, /* .bz2 */
    TAMIS_PACKINGS           /* how many there are */
} tamis_packing;

/* "none", "gzip", "zstd", "lz4", "xz", "bzip2"; NULL for a number that is no packing. */
TAMIS_API const char *tamis_packing_name(tamis_packing packing);
/* The packing that a file's name tells by its end, in either case: .gz .zst .lz4 .xz .bz2; else NONE. */
TAMIS_API tamis_packing tamis_packing_of_name(const char *path);
/* Whether this library was built with it. */
TAMIS_API bool tamis_packing_is_built(tamis_packing packing);

#ifdef __cplusplus
}
#endif
#endif

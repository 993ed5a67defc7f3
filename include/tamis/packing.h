/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_PACKING_H
#define TAMIS_PACKING_H

/* Compression of files and streams: library libtamis-stream. */

#include <stdbool.h>

#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Compression formats. The numbers never change. Several members (frames, streams) in a row count as one
 * stream. */
typedef enum tamis_packing {
    TAMIS_PACKING_NONE = 0,
    TAMIS_PACKING_GZIP = 1,  /* RFC 1952 */
    TAMIS_PACKING_ZSTD = 2,  /* RFC 8878; skippable frames are skipped */
    TAMIS_PACKING_LZ4 = 3,   /* LZ4 frame format */
    TAMIS_PACKING_XZ = 4,    /* .xz */
    TAMIS_PACKING_BZIP2 = 5, /* .bz2 */
    TAMIS_PACKINGS           /* number of formats */
} tamis_packing;

/* Returns the name of a format: "none", "gzip", "zstd", "lz4", "xz" or "bzip2"; NULL for any other number.
 * The string is static. */
TAMIS_API const char *tamis_packing_name(tamis_packing packing);
/* Returns the format for the suffix of a file name, in upper or lower case: .gz, .zst, .lz4, .xz or .bz2;
 * NONE for any other name. */
TAMIS_API tamis_packing tamis_packing_of_name(const char *path);
/* True if this library was built with the format. */
TAMIS_API bool tamis_packing_is_built(tamis_packing packing);

#ifdef __cplusplus
}
#endif
#endif

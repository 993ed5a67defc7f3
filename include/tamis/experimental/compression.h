/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_COMPRESSION_H
#define TAMIS_COMPRESSION_H

/* Compression of files and streams: library libtamis-stream. */

#include <stdbool.h>
#include <stddef.h>

#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Compression formats. The numbers never change. Several members (frames, streams) in a row count as one
 * stream. */
typedef enum tamis_compression {
    TAMIS_COMPRESSION_NONE = 0,
    TAMIS_COMPRESSION_GZIP = 1,  /* RFC 1952 */
    TAMIS_COMPRESSION_ZSTD = 2,  /* RFC 8878; skippable frames are skipped */
    TAMIS_COMPRESSION_LZ4 = 3,   /* LZ4 frame format */
    TAMIS_COMPRESSION_XZ = 4,    /* .xz */
    TAMIS_COMPRESSION_BZIP2 = 5, /* .bz2 */
    TAMIS_COMPRESSIONS           /* number of formats */
} tamis_compression;

/* Returns the name of a format: "none", "gzip", "zstd", "lz4", "xz" or "bzip2"; NULL for any other number.
 * The string is static. */
TAMIS_API const char *tamis_compression_name(tamis_compression compression);
/* Returns the format for the suffix of a file name, in upper or lower case: .gz, .zst, .lz4, .xz or .bz2.
 * Any other name gives NONE. */
TAMIS_API tamis_compression tamis_compression_of_path(const char *path);
/* Largest number of first bytes that tell the format. */
enum { TAMIS_COMPRESSION_MAGIC_MAX = 10 };
/* Returns the format of a file that begins with these `size` bytes; NONE if it is not compressed or the bytes
 * are too few. The first TAMIS_COMPRESSION_MAGIC_MAX bytes of a file, or all bytes of a shorter one, are
 * enough. A file that begins with a skippable frame counts as zstd. Any thread. */
TAMIS_API tamis_compression tamis_compression_of_bytes(const void *bytes, size_t size);
/* True if this library was built with the format. */
TAMIS_API bool tamis_compression_is_built(tamis_compression compression);

#ifdef __cplusplus
}
#endif
#endif

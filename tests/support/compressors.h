/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_COMPRESSORS_H
#define TAMIS_TEST_COMPRESSORS_H

#include <stdbool.h>

#include <tamis/experimental/compression.h>

/* Compression programs: each compresses standard input to standard output. */
typedef struct compressor {
    tamis_compression compression;
    const char *command;
    bool checksums; /* true if checksums cover every bit of content */
} compressor;

static const compressor compressors[] = {
    {TAMIS_COMPRESSION_GZIP, "gzip -c9", true},
    {TAMIS_COMPRESSION_ZSTD, "zstd -qc", true},
    {TAMIS_COMPRESSION_LZ4, "lz4 -qc", true},
    {TAMIS_COMPRESSION_XZ, "xz -c0", true},
    {TAMIS_COMPRESSION_BZIP2, "bzip2 -c", true},
    {TAMIS_COMPRESSION_GZIP, "gzip -c1", true},
    {TAMIS_COMPRESSION_ZSTD, "zstd -qc9 --no-check", false},
    {TAMIS_COMPRESSION_LZ4, "lz4 -qc -B4 -BD -BX --content-size", true},
    {TAMIS_COMPRESSION_LZ4, "lz4 -qc9 --no-frame-crc", false},
    {TAMIS_COMPRESSION_XZ, "xz -c0 --check=sha256 --block-size=4096", true},
    {TAMIS_COMPRESSION_XZ, "xz -c --x86 --lzma2=preset=0 --check=none", false},
    {TAMIS_COMPRESSION_BZIP2, "bzip2 -c1", true},
    {TAMIS_COMPRESSION_ZSTD, "zstd -qc --ultra -22 --long=27", true},
    {TAMIS_COMPRESSION_XZ, "xz -c9e", true},
};

enum {
    COMPRESSORS_PLAIN = 5, /* the first programs: each compression once */
    COMPRESSORS_ALL = sizeof compressors / sizeof *compressors,
    COMPRESSORS = COMPRESSORS_ALL - 2 /* programs that take little time and memory */
};

#endif

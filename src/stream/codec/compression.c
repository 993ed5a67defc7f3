/* SPDX-License-Identifier: BSD-2-Clause */
#include <tamis/experimental/compression.h>

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "stream/codec/decoder.h"
#include "stream/codec/encoder.h"

static const struct {
    const char *name;
    const char *end; /* suffix of file names */
    const tamis__decoder_ops *decoder;
    const tamis__encoder *encoder;
} compressions[TAMIS_COMPRESSIONS] = {
    [TAMIS_COMPRESSION_NONE] = {.name = "none"},
    [TAMIS_COMPRESSION_GZIP] = {.name = "gzip",
                                .end = ".gz",
                                .decoder = &tamis__decoder_gzip,
                                .encoder = &tamis__encoder_gzip},
    [TAMIS_COMPRESSION_ZSTD] = {.name = "zstd",
                                .end = ".zst",
                                .decoder = &tamis__decoder_zstd,
                                .encoder = &tamis__encoder_zstd},
    [TAMIS_COMPRESSION_LZ4] = {.name = "lz4",
                               .end = ".lz4",
                               .decoder = &tamis__decoder_lz4,
                               .encoder = &tamis__encoder_lz4},
    [TAMIS_COMPRESSION_XZ] = {.name = "xz",
                              .end = ".xz",
                              .decoder = &tamis__decoder_xz,
                              .encoder = &tamis__encoder_xz},
    [TAMIS_COMPRESSION_BZIP2] = {.name = "bzip2",
                                 .end = ".bz2",
                                 .decoder = &tamis__decoder_bzip2,
                                 .encoder = &tamis__encoder_bzip2},
};

static bool is_known(tamis_compression compression) {
    return (unsigned)compression < TAMIS_COMPRESSIONS;
}

const char *tamis_compression_name(tamis_compression compression) {
    return is_known(compression) ? compressions[compression].name : NULL;
}

tamis_compression tamis_compression_of_path(const char *path) {
    const size_t size = strlen(path);
    for (int i = TAMIS_COMPRESSION_NONE + 1; i < TAMIS_COMPRESSIONS; i++) {
        const size_t end = strlen(compressions[i].end);
        if (size >= end && strcasecmp(path + size - end, compressions[i].end) == 0)
            return (tamis_compression)i;
    }
    return TAMIS_COMPRESSION_NONE;
}

bool tamis_compression_is_built(tamis_compression compression) {
    return is_known(compression) &&
           (!compressions[compression].decoder || compressions[compression].decoder->begin);
}

const tamis__decoder_ops *tamis__decoder_ops_find(tamis_compression compression) {
    return compressions[compression].decoder;
}

const tamis__encoder *tamis__encoder_find(tamis_compression compression) {
    return compressions[compression].encoder;
}

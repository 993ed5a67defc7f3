/* SPDX-License-Identifier: BSD-2-Clause */
#include <tamis/packing.h>

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "stream/decoder.h"
#include "stream/pack_codec.h"

static const struct {
    const char *name;
    const char *end; /* suffix of file names */
    const tamis__decoding *decoding;
    const tamis__pack_codec *codec;
} packings[TAMIS_PACKINGS] = {
    [TAMIS_PACKING_NONE] = {"none", NULL, NULL, NULL},
    [TAMIS_PACKING_GZIP] = {"gzip", ".gz", &tamis__decoding_gzip, &tamis__pack_gzip},
    [TAMIS_PACKING_ZSTD] = {"zstd", ".zst", &tamis__decoding_zstd, &tamis__pack_zstd},
    [TAMIS_PACKING_LZ4] = {"lz4", ".lz4", &tamis__decoding_lz4, &tamis__pack_lz4},
    [TAMIS_PACKING_XZ] = {"xz", ".xz", &tamis__decoding_xz, &tamis__pack_xz},
    [TAMIS_PACKING_BZIP2] = {"bzip2", ".bz2", &tamis__decoding_bzip2, &tamis__pack_bzip2},
};

static bool is_one(tamis_packing packing) {
    return (unsigned)packing < TAMIS_PACKINGS;
}

const char *tamis_packing_name(tamis_packing packing) {
    return is_one(packing) ? packings[packing].name : NULL;
}

tamis_packing tamis_packing_of_name(const char *path) {
    const size_t size = strlen(path);
    for (int i = TAMIS_PACKING_NONE + 1; i < TAMIS_PACKINGS; i++) {
        const size_t end = strlen(packings[i].end);
        if (size >= end && strcasecmp(path + size - end, packings[i].end) == 0)
            return (tamis_packing)i;
    }
    return TAMIS_PACKING_NONE;
}

bool tamis_packing_is_built(tamis_packing packing) {
    return is_one(packing) && (!packings[packing].decoding || packings[packing].decoding->begin);
}

const tamis__decoding *tamis__decoding_of(tamis_packing packing) {
    return packings[packing].decoding;
}

const tamis__pack_codec *tamis__pack_codec_of(tamis_packing packing) {
    return packings[packing].codec;
}

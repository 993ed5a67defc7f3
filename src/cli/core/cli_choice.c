/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/core/cli_choice.h"

#include <stddef.h>

/* Fails to compile unless `list` has the words of the enumerators 0 to `last`, and then NULL. */
#define CHECK_CHOICES(list, last)                                                                            \
    _Static_assert(sizeof(list) / sizeof *(list) == (last) + 2, #list " has a word for each value and NULL")

#define KINDS                                                                                                \
    [TAMIS_KIND_AUTO] = "auto", [TAMIS_KIND_CLASSIC] = "classic", [TAMIS_KIND_BLOCKED] = "blocked",          \
    [TAMIS_KIND_FINGERPRINT] = "fingerprint", [TAMIS_KIND_EXACT] = "exact"

const char *const cli_kinds[] = {KINDS, NULL};
CHECK_CHOICES(cli_kinds, TAMIS_KIND_EXACT);

const char *const cli_build_kinds[] = {
    KINDS, [CLI_BUILD_COUNTING] = "counting", [CLI_BUILD_CUCKOO] = "cuckoo", NULL};
CHECK_CHOICES(cli_build_kinds, CLI_BUILD_CUCKOO);

tamis_kind cli_kind_of(uint64_t value) {
    return value == CLI_BUILD_COUNTING ? TAMIS_KIND_COUNTING
           : value == CLI_BUILD_CUCKOO ? TAMIS_KIND_CUCKOO
                                       : (tamis_kind)value;
}

const char *const cli_schemes[] = {
    [TAMIS_SCHEME_AUTO] = "auto",
    [TAMIS_SCHEME_XXH3] = "xxh3",
    [TAMIS_SCHEME_SIP] = "sip",
    [TAMIS_SCHEME_GUAVA64] = "guava64",
    [TAMIS_SCHEME_GUAVA32] = "guava32",
    [TAMIS_SCHEME_BKDR31] = "bkdr31",
    [TAMIS_SCHEME_BKDR63] = "bkdr63",
    [TAMIS_SCHEME_REDISBLOOM] = "redisbloom",
    [TAMIS_SCHEME_FNV_DCSO] = "fnv-dcso",
    [TAMIS_SCHEME_REDISSON] = "redisson",
    NULL,
};
CHECK_CHOICES(cli_schemes, TAMIS_SCHEME_REDISSON);

const char *const cli_late[] = {
    [TAMIS_STREAM_PASS] = "pass",
    [TAMIS_STREAM_DROP] = "drop",
    NULL,
};

const char *const cli_on_full[] = {
    [TAMIS_ON_FULL_FAIL] = "fail",
    [TAMIS_ON_FULL_PASS] = "pass",
    NULL,
};
CHECK_CHOICES(cli_on_full, TAMIS_ON_FULL_PASS);

#define FORMATS                                                                                              \
    [TAMIS_FORMAT_AUTO] = "auto", [TAMIS_FORMAT_TAMIS] = "tamis", [TAMIS_FORMAT_GUAVA] = "guava",            \
    [TAMIS_FORMAT_DCSO] = "dcso"

const char *const cli_formats[] = {FORMATS, NULL};
CHECK_CHOICES(cli_formats, TAMIS_FORMAT_DCSO);

const char *const cli_copy_formats[] = {
    FORMATS, [TAMIS_FORMAT_REDISBLOOM] = "redisbloom", [CLI_COPY_BITMAP] = "bitmap", NULL};
CHECK_CHOICES(cli_copy_formats, CLI_COPY_BITMAP);

const char *const cli_compressions[] = {
    [TAMIS_COMPRESSION_NONE] = "none",
    [TAMIS_COMPRESSION_GZIP] = "gzip",
    [TAMIS_COMPRESSION_ZSTD] = "zstd",
    [TAMIS_COMPRESSION_LZ4] = "lz4",
    [TAMIS_COMPRESSION_XZ] = "xz",
    [TAMIS_COMPRESSION_BZIP2] = "bzip2",
    NULL,
};
CHECK_CHOICES(cli_compressions, TAMIS_COMPRESSION_BZIP2);

const char *const cli_missing[] = {
    [TAMIS_STREAM_PASS] = "pass",
    [TAMIS_STREAM_DROP] = "drop",
    [TAMIS_STREAM_FAIL] = "fail",
    NULL,
};
CHECK_CHOICES(cli_missing, TAMIS_STREAM_FAIL);

const char *const cli_on_error[] = {
    [CLI_ON_ERROR_FAIL] = "fail",
    [CLI_ON_ERROR_SKIP] = "skip",
    [CLI_ON_ERROR_PASS] = "pass",
    NULL,
};
CHECK_CHOICES(cli_on_error, CLI_ON_ERROR_PASS);

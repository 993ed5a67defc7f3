/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/core/cli_choice.h"

#include <stddef.h>

const char *const cli_kinds[] = {"auto", "classic", "blocked", "fingerprint", "exact", NULL};
const char *const cli_schemes[] = {"auto",   "xxh3",       "sip",      "guava64",  "guava32", "bkdr31",
                                   "bkdr63", "redisbloom", "fnv-dcso", "redisson", NULL};
const char *const cli_on_full[] = {"fail", "pass", NULL};
const char *const cli_formats[] = {"auto", "tamis", "guava", "dcso", NULL};
const char *const cli_copy_formats[] = {"auto", "tamis", "guava", "dcso", "bitmap", NULL};
const char *const cli_compressions[] = {"none", "gzip", "zstd", "lz4", "xz", "bzip2", NULL};
const char *const cli_missing[] = {"pass", "drop", "fail", NULL};
const char *const cli_on_error[] = {"fail", "skip", "pass", NULL};

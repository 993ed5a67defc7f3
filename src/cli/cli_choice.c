/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli_choice.h"

#include <stddef.h>

const char *const cli_kinds[] = {"auto", "classic", "blocked", "fingerprint", "exact", NULL};
const char *const cli_schemes[] = {"auto",   "xxh3",       "sip",      "guava64",  "guava32", "bkdr31",
                                   "bkdr63", "redisbloom", "fnv-dcso", "redisson", NULL};
const char *const cli_when_full[] = {"fail", "pass", NULL};
const char *const cli_formats[] = {"auto", "tamis", "guava", "dcso", NULL};
const char *const cli_copy_formats[] = {"auto", "tamis", "guava", "dcso", "bitmap", NULL};

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_HASH_HASH_CONFIG_H
#define TAMIS_CLI_CMD_HASH_HASH_CONFIG_H

#include <tamis/hash.h>

#include "cli/cli.h"
#include "cli/core/cli_rows.h"
#include "cli/input/cli_stream.h"

/* The options of hash, in the order of the help. */
enum {
    HASH_SCHEME,
    HASH_RECORDS, /* the block */
    HASH_BITS = HASH_RECORDS + CLI_RECORDS,
    HASH_PROBES,
    HASH_SEED,
    HASH_SECRET,
    HASH_OPTIONS
};

extern const cli_option hash_options[HASH_OPTIONS];

/* What help and manual say besides: hash_manual.c. */
extern const char *const hash_description[], *const hash_exits[], *const hash_notes[];
extern const cli_entry hash_schemes[];
extern const cli_example hash_examples[];

/* What a run needs to know: checked, defaults filled in. */
typedef struct hash_config {
    tamis_scheme scheme; /* never AUTO */
    cli_stream stream;   /* of a KEY too, what is hashed */
    uint64_t bits;       /* 0: no positions */
    uint32_t probes;     /* 0: none */
    uint64_t seed;
    const char *secret_file; /* NULL: none */
} hash_config;

/* From parsed arguments to a run: CLI_DONE, or CLI_FAILED with the contradiction in *err. Its stream is to be released
 * either way. */
int hash_configure(hash_config *config, const cli_args *args, tamis_error *err);

#endif

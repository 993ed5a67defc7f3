/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_HASH_HASH_H
#define TAMIS_CLI_CMD_HASH_HASH_H

#include <tamis/hash.h>

#include "cli/cli.h"
#include "cli/core/cli_rows.h"
#include "cli/input/cli_stream.h"

/* The options of hash, in the order of the help. */
enum { HASH_BITS = CLI_OPT_OWN, HASH_PROBES };

extern const cli_option hash_options[];

/* Validated options of a run, with defaults. Strings belong to argv. */
typedef struct hash_config {
    tamis_scheme scheme; /* never TAMIS_SCHEME_AUTO */
    cli_stream stream;   /* how keys are made of records; applies to KEY operands too */
    uint64_t bits;       /* size of the filter in bits; 0: print no positions */
    uint32_t probes;     /* positions, or hashes of a scheme without a digest; 0: not given */
    uint64_t seed;
    const char *secret_file; /* NULL: none */
} hash_config;

/* Validates the parsed arguments and fills *config. The caller releases config->stream, also after an
 * error. */
tamis_status hash_configure(hash_config *config, const cli_args *args, tamis_error *err);

#endif

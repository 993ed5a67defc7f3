/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_HASH_KEY_H
#define TAMIS_CLI_HASH_KEY_H

#include <tamis/funnel.h>

#include "cli/cli.h"

/* How a key that was typed becomes bytes, in the order of hash_types. */
typedef enum hash_type { HASH_BYTES, HASH_UTF8, HASH_UTF16, HASH_INT32, HASH_INT64 } hash_type;

extern const char *const hash_types[];

/* Which key an error is about. */
typedef struct hash_place {
    const char *word; /* "key" of the operands, "line" of standard input */
    uint64_t number;  /* from 1 */
} hash_place;

/* Turns the key's hexadecimal digits into bytes, in place. */
int hash_key_unhex(tamis_key *key, hash_place place, tamis_error *err);
/* Puts one key and ends it. CLI_FAILED for what is no number; text that is no UTF-8 the sink will tell. */
int hash_key_put(tamis_sink *sink, hash_type type, const tamis_key *key, hash_place place, tamis_error *err);

#endif

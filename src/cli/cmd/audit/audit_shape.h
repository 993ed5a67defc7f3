/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_AUDIT_AUDIT_SHAPE_H
#define TAMIS_CLI_CMD_AUDIT_AUDIT_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/key.h>

#include "cli/input/cli_key.h"

/*
 * Random keys that look like the user's own, because a poor hash may do well on some keys and badly on others.
 *
 * A sample of the keys is kept, each as likely as any other. A random key takes one of them and puts in the place of
 * each letter, digit or other byte above 0x7f a random one of its class; what else there is (punctuation, blanks) stays.
 * So lengths, prefixes such as "https://" aside from their letters, and UTF-8 sequences come out as they went in, and
 * what was UTF-8 still is.
 *
 * Of numbers the sign stays, and the value becomes any of as many bits or less: numbers keep their sizes. Of keys in
 * hexadecimal digits, which have no alphabet, the length stays and each byte becomes any byte.
 */
enum {
    AUDIT_SAMPLES = 1024,
    AUDIT_LEARNT = 2048, /* bytes of a key that are learnt; the random one ends there */
    AUDIT_MORE = 32,     /* bytes appended at the most */
    AUDIT_KEY_MAX = AUDIT_LEARNT + AUDIT_MORE
};

typedef struct audit_sample {
    unsigned char *bytes;
    size_t size;
} audit_sample;

typedef struct audit_shape {
    cli_key_form form; /* of the keys */
    uint64_t state;    /* of the random numbers */
    uint64_t learnt;   /* keys learnt from */
    size_t more;       /* bytes appended to each random key: where a shape has too few keys, it is widened by
                          these; of a number two bits for each */
    audit_sample samples[AUDIT_SAMPLES];
} audit_shape;

/* The same seed, the same keys. */
void audit_shape_begin(audit_shape *shape, cli_key_form form, uint64_t seed);
/* The key as bytes; of type utf16, its text in UTF-8. False: no memory. */
bool audit_shape_learn(audit_shape *shape, const tamis_key *key);
/* Writes a random key, or of utf16 its text, AUDIT_KEY_MAX bytes at the most, and answers its size. Learnt from none it
 * is a word of 24 letters, any number of the type, or 16 bytes. */
size_t audit_shape_make(audit_shape *shape, unsigned char *to);
void audit_shape_release(audit_shape *shape);

#endif

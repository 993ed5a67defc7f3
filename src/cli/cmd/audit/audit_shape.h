/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_AUDIT_AUDIT_SHAPE_H
#define TAMIS_CLI_CMD_AUDIT_AUDIT_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/key.h>

#include "cli/input/cli_key.h"

/*
 * Random keys that look like the user's keys. A poor hash may do well on some keys and badly on others, so
 * random words would not measure the rate that the user gets.
 *
 * A reservoir keeps a sample of the keys; every key is in it with the same probability. Each random key is
 * made from one sample, byte by byte:
 *
 *     a-z, A-Z, 0-9                    a random byte of the same range
 *     0x80-0xbf                        a random byte of that range (continuation bytes of UTF-8)
 *     others (punctuation, blanks)     the same byte
 *
 *     https://shop.example.org/item?id=4711
 *     qzfrb://ldvw.kpumcxe.ohs/bgyt?na=0392
 *
 * So the length stays, and text in UTF-8 remains UTF-8.
 *
 * Numbers keep their sign and their size: the new value has as many bits or fewer. Keys given in hexadecimal
 * digits are bytes without an alphabet: they keep their length, and each byte becomes any byte.
 *
 * If a shape has too few keys (a single letter has 26), random keys repeat. `more` then widens the shape by
 * appended bytes.
 */
enum {
    AUDIT_SAMPLES = 1024,
    AUDIT_LEARNT = 2048, /* max. bytes kept of a key */
    AUDIT_MORE = 32,     /* max. bytes appended */
    AUDIT_KEY_MAX = AUDIT_LEARNT + AUDIT_MORE
};

typedef struct audit_sample {
    unsigned char *bytes;
    size_t size;
} audit_sample;

typedef struct audit_shape {
    cli_key_form form; /* form of the keys */
    uint64_t state;    /* state of the random numbers */
    uint64_t learnt;   /* number of keys learnt */
    size_t more;       /* bytes appended to each random key; for a number, each means two more bits */
    audit_sample samples[AUDIT_SAMPLES];
} audit_shape;

/* Starts without samples. The same form, seed and learnt keys give the same random keys. */
void audit_shape_begin(audit_shape *shape, cli_key_form form, uint64_t seed);
/* Learns the shape of a key, of which it keeps a copy. For type utf16 `key` is the text in UTF-8. False: out
 * of memory. */
bool audit_shape_learn(audit_shape *shape, const tamis_key *key);
/* Writes a random key (for type utf16 its text in UTF-8) of at most AUDIT_KEY_MAX bytes and returns its size.
 * Without learnt keys it is a word of 24 letters, any number of the type, or 16 bytes. */
size_t audit_shape_make(audit_shape *shape, unsigned char *to);
void audit_shape_release(audit_shape *shape);

#endif

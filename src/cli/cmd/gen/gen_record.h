/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_GEN_GEN_RECORD_H
#define TAMIS_CLI_CMD_GEN_GEN_RECORD_H

#include <stddef.h>
#include <stdint.h>

/*
 * Records for measuring and testing. Record i is a function of (seed, share, i) alone, in integer arithmetic
 * and without memory of other records. So every machine makes the same bytes, and any record can be made
 * alone.
 */

enum {
    GEN_RECORD_MAX = 512, /* no record is longer, newline included */
    GEN_WORDS = 128,      /* words of paths */
    GEN_HOSTS = 512
};

typedef struct gen_host {
    char text[24];
    uint8_t size;
} gen_host;

typedef struct gen_source {
    uint64_t base;      /* mixed seed */
    uint64_t repeat;    /* share of records that repeat an earlier one, in units of 2^-53 */
    char pairs[256][2]; /* hexadecimal digits of each byte */
    gen_host hosts[GEN_HOSTS];
} gen_source;

/* share: expected share of records that repeat an earlier one, 0 to 1. */
void gen_source_init(gen_source *source, uint64_t seed, double share);

/* Writes record `index` at `pos`, newline included, and returns its end. `pos` needs GEN_RECORD_MAX bytes. */
typedef char *gen_maker(const gen_source *source, uint64_t index, char *pos);

/* A word of 4 to 12 letters, with uniform lengths and letters. Words may be equal by chance too. */
gen_maker gen_word;
/* An address of 60 to 100 bytes. Only repeated records are equal. */
gen_maker gen_url;
/* A JSON object of about 200 bytes. A repeated one has the event_id, user and page of the earlier record, but
 * another time and node, so no two lines are equal. */
gen_maker gen_click;

#endif

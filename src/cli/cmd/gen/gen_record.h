/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_GEN_GEN_RECORD_H
#define TAMIS_CLI_CMD_GEN_GEN_RECORD_H

#include <stddef.h>
#include <stdint.h>

/*
 * Records for measuring and testing. Record i is a function of (seed, share, i) alone: integer
 * arithmetic, nothing remembered, so any machine makes the same bytes and any record can be made alone.
 */

enum {
    GEN_RECORD_MAX = 512, /* no record is longer, newline included */
    GEN_WORDS = 128,      /* of paths and hosts */
    GEN_HOSTS = 512
};

typedef struct gen_host {
    char text[24];
    uint8_t size;
} gen_host;

typedef struct gen_source {
    uint64_t base;      /* the seed, mixed */
    uint64_t repeat;    /* records that repeat an earlier one, of 2^53 */
    char pairs[256][2]; /* bytes in hexadecimal */
    gen_host hosts[GEN_HOSTS];
} gen_source;

/* share: expected part of the records that repeat an earlier one, 0 to 1. */
void gen_source_init(gen_source *source, uint64_t seed, double share);

/* Writes record `index` at `pos`, newline included, and answers its end. GEN_RECORD_MAX bytes of room. */
typedef char *gen_maker(const gen_source *source, uint64_t index, char *pos);

/* 4 to 12 letters, lengths and letters uniform; not all distinct, as words are not. */
gen_maker gen_word;
/* An address of 60 to 100 bytes; all distinct but for the repeated ones. */
gen_maker gen_url;
/* One JSON object of about 200 bytes; a repeated one has the event_id, user and page of the earlier one
 * and another time and node, so no two lines are equal. */
gen_maker gen_click;

#endif

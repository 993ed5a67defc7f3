/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_AUDIT_AUDIT_H
#define TAMIS_CLI_CMD_AUDIT_AUDIT_H

#include <stdbool.h>

#include <tamis/filter.h>

#include "cli/input/cli_stream.h"

enum { AUDIT_SHOWN = 60 }; /* max. bytes shown of a missing key */

/* An audit. The caller sets the fields up to `queries`; audit_run sets the others, which start at 0. */
typedef struct audit {
    const tamis_filter *filter;
    bool has_keys;               /* `records` holds keys of the filter */
    const cli_stream *records;   /* inputs with these keys, and how to read them */
    cli_key_form form;           /* form of the keys; random keys have the same type */
    uint64_t seed;               /* seed of the random keys */
    bool progress;               /* show progress on standard error */
    uint64_t queries;            /* number of random keys to look up */
    uint64_t keys;               /* result: keys read from `records` */
    uint64_t distinct;           /* result: distinct keys among them */
    uint64_t missing;            /* result: keys answered "absent", each a false negative */
    uint64_t first_missing;      /* result: record number of the first missing key, from 1 */
    char missing_in[120];        /* result: input of that record, cut if longer */
    char shown[AUDIT_SHOWN + 1]; /* result: first bytes of that key */
    uint64_t hits;               /* result: random keys answered "present" */
} audit;

/* Looks up all keys and then the random keys. Memory: as tamis_audit_create. */
tamis_status audit_run(audit *run, tamis_error *err);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_AUDIT_AUDIT_RUN_H
#define TAMIS_CLI_CMD_AUDIT_AUDIT_RUN_H

#include <stdbool.h>

#include <tamis/filter.h>

#include "cli/input/cli_stream.h"

enum { AUDIT_SHOWN = 60 }; /* bytes of a missing key that are shown */

/* An audit. Up to `queries` given, what follows is found. */
typedef struct audit {
    const tamis_filter *filter;
    bool has_keys;               /* else none are known */
    const cli_stream *records;   /* where they are, and how they are read */
    cli_key_form form;           /* of the keys there; the random ones are of that type */
    uint64_t seed;               /* of the random keys */
    bool progress;               /* shown on standard error */
    uint64_t queries;            /* random keys to ask */
    uint64_t keys;               /* read from there */
    uint64_t distinct;           /* of these, keys that are different */
    uint64_t missing;            /* of these, answered "new": each a false negative */
    uint64_t first_missing;      /* number of the first one's record, counted from 1, */
    char missing_in[120];        /* of this input; what is longer is cut */
    char shown[AUDIT_SHOWN + 1]; /* and the begin of it */
    uint64_t hits;               /* random keys that were answered "seen" */
} audit;

/* CLI_DONE or CLI_FAILED. */
int audit_run(audit *run, tamis_error *err);

#endif

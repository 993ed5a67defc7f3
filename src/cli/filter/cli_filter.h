/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_FILTER_CLI_FILTER_H
#define TAMIS_CLI_FILTER_CLI_FILTER_H

#include <tamis/compressed.h>
#include <tamis/file.h>

#include "cli/cli.h"
#include "cli/filter/cli_file.h"
#include "cli/input/cli_key.h"
#include "cli/input/cli_stream.h"
#include "cli/process/cli_secret.h"

/* What the commands that make or open a filter have in common. */

/* The filter that is to be made. */
typedef struct cli_filter_spec {
    tamis_plan_options plan_options;
    uint64_t seed;
    const char *secret_file; /* NULL: none */
    const char *server;      /* the URI that it is to be pushed to; NULL: none, */
    tamis_plan layout;       /* and what the layout there makes of it; kind AUTO: what is wanted */
    bool frozen;             /* tables: never to grow */
    bool start_small; /* tables: a number of keys that may be far too large; see tamis_plan_start_small */
    const cli_value *given; /* the block that it was read from, as typed; NULL: none */
} cli_filter_spec;

/* From the block CLI_PLAN of cli_rows.h; `fpr` is the rate where none is given. CLI_DONE, or CLI_FAILED with the
 * contradiction in *err. */
int cli_filter_configure(cli_filter_spec *filter, const cli_value *plan, double fpr, tamis_error *err);

/* Refuses "-", which would be read as records; NULL is none. */
int cli_filter_check_secret(const char *secret_file, tamis_error *err);

/*
 * Keeps a number of keys that is far too large from taking memory. If a filter that is not frozen would take more than
 * 64 MiB, the number is lowered to what the inputs can hold. If their sizes are not known, it becomes 0 with `grows`, for a
 * table that takes memory as keys come, and otherwise stays, for a table that starts small. A filter of kind auto becomes a
 * table then. Kinds classic and blocked keep the number if the user chose them. Returns the number that was given.
 */
uint64_t cli_filter_fit_inputs(cli_filter_spec *spec, const cli_stream *inputs, bool grows);

/* Makes kind auto fingerprint, which grows, unless the filter is frozen or on a server. False: it stays auto, because such
 * a table does not fit into the memory that is allowed. */
bool cli_filter_prefer_growth(cli_filter_spec *spec);

/* What such a filter is made by: *plan and *options start from their INIT; secret may be NULL, and is borrowed. CLI_DONE or
 * CLI_FAILED. */
int cli_filter_plan(tamis_plan *plan, tamis_filter_options *options, const cli_filter_spec *spec,
                    const cli_secret *secret, tamis_error *err);

/* An empty filter of that kind. `secret` may be NULL. */
int cli_filter_create(tamis_filter **filter, const cli_filter_spec *spec, const cli_secret *secret,
                      tamis_error *err);

/* The filter in the file; `secret` (may be NULL) is for a keyed one, and *keyed (may be NULL) says whether it is. A
 * keyed filter without its secret is refused. */
int cli_filter_open(tamis_filter **filter, const char *path, const cli_secret *secret, bool *keyed,
                    tamis_error *err);

/* Whether it takes hashes in place of keys, as fast: its scheme has a digest, and it is here. */
bool cli_filter_takes_hashes(const tamis_filter *filter);

/* A filter's file that is to be changed, and how. */
typedef struct cli_filter_file {
    const char *path;
    const cli_secret *secret; /* NULL: none */
    cli_access access;
    cli_key_form form; /* of its keys, where a server makes it */
} cli_filter_file;
/* What helps where a filter in a file is too small. */
#define CLI_FILTER_LARGER "build a larger one with --expect N, of all its records"

/* Says in *err that the filter in `path` has no room for record number `record`, and what helps. */
int cli_filter_full(const tamis_filter *filter, const char *path, uint64_t record, const char *remedy,
                    tamis_error *err);

/* Holds the file (cli_file_lock) and opens its filter for changes; *lock is the caller's to unlock also on failure.
 * *packing is for cli_file_save. */
int cli_filter_hold(tamis_lock **lock, tamis_filter **filter, const cli_filter_file *file, cli_lock_wait wait,
                    tamis_compression *compression, tamis_error *err);
/* The same for a file that the caller holds. */
int cli_filter_held(tamis_filter **filter, const cli_filter_file *file, tamis_compression *compression,
                    tamis_error *err);

/* Whether a rate is promised: a file of another program may not tell. Its capacity says nothing then. */
bool cli_filter_promises(const tamis_plan *plan);

/* Says of a filter that was just planned what there is against its scheme, and which rate it will have; nothing where that
 * is the one asked for. */
void cli_filter_report_rate(const tamis_filter *filter);

/* Says of one that took more keys than it was made for, as those of other programs do, what has become of its rate. */
void cli_filter_report_overfull(const tamis_filter *filter, const char *path, const char *remedy);

/* Says on standard error that the run left the file as it was, or made none, or what a server has of it. */
void cli_filter_report_kept(const char *path);

/* Refuses a secret that no filter took: who gave it means another file. */
int cli_filter_unkeyed(const char *path, tamis_error *err);

#endif

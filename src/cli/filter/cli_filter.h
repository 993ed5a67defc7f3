/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_FILTER_CLI_FILTER_H
#define TAMIS_CLI_FILTER_CLI_FILTER_H

#include <tamis/experimental/compressed.h>
#include <tamis/file.h>

#include "cli/cli.h"
#include "cli/filter/cli_file.h"
#include "cli/input/cli_key.h"
#include "cli/input/cli_stream.h"
#include "cli/process/cli_secret.h"

/* Functions shared by the commands that make or open a filter. */

/* Options of a new filter. */
typedef struct cli_filter_spec {
    tamis_plan_options plan_options;
    uint64_t seed;
    const char *secret_file; /* name of the secret's file; NULL: none */
    const char *server;      /* URI to push the filter to; NULL: none */
    tamis_plan layout;       /* plan that another program's layout requires; kind AUTO: none */
    bool frozen;             /* tables: never grow */
    bool start_small;        /* tables: start small, see tamis_plan_start_small */
    const cli_value *given;  /* options as typed; NULL: none */
} cli_filter_spec;

/* Parses the options of a plan. `fpr` is the default rate. Error: options contradict each other. */
tamis_status cli_filter_configure(cli_filter_spec *filter, const cli_value *values, double fpr,
                                  tamis_error *err);

/* Refuses the name "-", which means records elsewhere. Accepts NULL for no file. */
tamis_status cli_filter_check_secret(const char *secret_file, tamis_error *err);

/* True for kind cuckoo of scheme redisbloom: RedisBloom's own filter, which is kept in its own format. */
bool cli_filter_will_be_redisbloom(const cli_filter_spec *spec);

/* True for kind cuckoo without a number of keys, unless it is frozen: such a filter grows by sub-filters. */
bool cli_filter_grows_by_parts(const cli_filter_spec *spec);

/*
 * Prevents a far too large number of keys from taking memory, for a filter that is not frozen and would
 * take more than 64 MiB. Returns the number that was given.
 *
 * - If the sizes of the inputs are known, the number is lowered to the records that they can contain.
 * - Else, with `grows`, it becomes 0, for a table that takes memory as keys come.
 * - Else it stays, for a table that starts small.
 * - Kind auto becomes a table if the number is lowered, or if the plan is a table anyway.
 * - Kinds classic and blocked keep the number if the user chose them.
 */
uint64_t cli_filter_fit_inputs(cli_filter_spec *spec, const cli_stream *inputs, bool grows);

/* Changes kind auto to fingerprint, which grows, unless the filter is frozen or on a server. Returns false
 * if the kind stays auto because such a table exceeds the memory limit. */
bool cli_filter_prefer_growth(cli_filter_spec *spec);

/* Plans the filter. The caller starts *plan and *options from their INIT. *options borrows the secret, which
 * may be NULL. */
tamis_status cli_filter_plan(tamis_plan *plan, tamis_filter_options *options, const cli_filter_spec *spec,
                             const cli_secret *secret, tamis_error *err);

/* Creates an empty filter. `secret` may be NULL. */
tamis_status cli_filter_create(tamis_filter **filter, const cli_filter_spec *spec, const cli_secret *secret,
                               tamis_error *err);

/* Opens a filter for lookups. `secret` (may be NULL) is used for a keyed filter only. *keyed (may be NULL)
 * is true if it is keyed. A keyed filter without a secret is refused. */
tamis_status cli_filter_open(tamis_filter **filter, const char *path, const cli_secret *secret, bool *keyed,
                             tamis_error *err);

/* True for a filter of RedisBloom, which is only looked up and copied. */
bool cli_filter_is_redisbloom(const tamis_filter *filter);
/* Refuses a filter that was opened for changes, and is only a copy: of RedisBloom, or of a key of the Redis
 * module. */
tamis_status cli_filter_check_change(const tamis_filter *filter, const char *path, tamis_error *err);

/* True if the filter accepts hashes as fast as keys. Its scheme has a digest, and it is not on a server,
 * and not of RedisBloom. */
bool cli_filter_accepts_hashes(const tamis_filter *filter);

/* Sets the context and the functions of *service so that a run adds its keys to the filter. */
void cli_filter_set_service(tamis_stream_service *service, tamis_filter *filter);

/* Remedy for a filter in a file that is too small. */
#define CLI_FILTER_LARGER "build a larger one with --expect N, of all its records"

/* Fills *err with the message that the filter in `path` is full at record number `record`, and with
 * `remedy`. Returns err->status. */
tamis_status cli_filter_full(const tamis_filter *filter, const char *path, uint64_t record,
                             const char *remedy, tamis_error *err);

/* Locks the file (cli_file_lock) and opens its filter for changes. The caller unlocks *lock, also after a
 * failure. *compression is that of the file, for cli_file_save. A secret for a filter that is not keyed is
 * refused. */
tamis_status cli_filter_lock_and_open(tamis_lock **lock, tamis_filter **filter, const cli_filter_file *file,
                                      tamis_compression *compression, tamis_error *err);
/* Like cli_filter_lock_and_open, for a file that the caller has locked. */
tamis_status cli_filter_open_locked(tamis_filter **filter, const cli_filter_file *file,
                                    tamis_compression *compression, tamis_error *err);

/* True if the plan promises a rate. Files of other programs may store none; their capacity then has no
 * meaning. */
bool cli_filter_promises(const tamis_plan *plan);

/* Prints a remark about a new plan: the caution about its scheme, and the predicted rate if it differs
 * from the requested one. */
void cli_filter_report_rate(const tamis_filter *filter);

/* Prints a remark about the present rate of a filter that holds more keys than planned. */
void cli_filter_report_overfull(const tamis_filter *filter, const char *path, const char *remedy);

/* Prints a remark after a failed run: the file is unchanged or was not made, or the server keeps the keys
 * added so far. */
void cli_filter_report_kept(const char *path);

/* Refuses a secret for a filter that is not keyed: the user probably meant another file. Returns
 * err->status. */
tamis_status cli_filter_unkeyed(const char *path, tamis_error *err);

/* Refuses --fpr beside --kind exact, which has no rate. */
tamis_status cli_plan_check_rate(const cli_value *kind, const cli_value *fpr, tamis_error *err);

/* Puts --memory, as typed, into the library's message about the memory limit. Leaves other errors as they
 * are. */
void cli_plan_name_memory(const cli_value *memory, tamis_error *err);

/* ---- cli_same.c ---- */

/*
 * Compares options for a new filter with the existing filter in `path`, so that the same command can run
 * every day.
 *
 * - Options that contradict the filter (kind, scheme, seed, rate) are refused.
 * - Options that only apply to a new filter (expected keys, memory) are ignored. With `remarks`, a remark
 *   names the options that differ from the filter.
 */
tamis_status cli_same_check(const tamis_filter *filter, const char *path, const cli_filter_spec *spec,
                            bool remarks, tamis_error *err);

#endif

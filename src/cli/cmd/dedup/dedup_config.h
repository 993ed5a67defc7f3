/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_DEDUP_DEDUP_CONFIG_H
#define TAMIS_CLI_CMD_DEDUP_DEDUP_CONFIG_H

#include <tamis/stream.h>

#include "cli/cli.h"
#include "cli/core/cli_rows.h"
#include "cli/filter/cli_filter.h"
#include "cli/input/cli_stream.h"

/* The options of dedup, in the order of the help. */
enum {
    DEDUP_OUTPUT,
    DEDUP_DUPLICATES,
    DEDUP_COUNT,
    DEDUP_MARK,
    DEDUP_COMPRESS,
    DEDUP_FILTER,
    DEDUP_STATE,
    DEDUP_REREAD,
    DEDUP_ABANDON,
    DEDUP_EXACTLY_ONCE,
    DEDUP_DEFER_UNTERMINATED,
    DEDUP_COMMIT_EVERY,
    DEDUP_FILES_FROM,
    DEDUP_RECORDS, /* the block */
    DEDUP_EXPECT = DEDUP_RECORDS + CLI_RECORDS,
    DEDUP_FPR,
    DEDUP_MEMORY,
    DEDUP_KIND,
    DEDUP_EXACT,
    DEDUP_SCHEME,
    DEDUP_SEED,
    DEDUP_SECRET,
    DEDUP_LOCK_WAIT,
    DEDUP_ON_FULL,
    DEDUP_THREADS,
    DEDUP_PROFILE,
    DEDUP_STATS,
    DEDUP_JSON,
    DEDUP_PROGRESS,
    DEDUP_NO_PROGRESS,
    DEDUP_QUIET,
    DEDUP_OPTIONS
};

enum { DEDUP_CONFLICTS = 8 };

extern const cli_option dedup_options[DEDUP_OPTIONS];
extern const cli_conflict dedup_conflicts[DEDUP_CONFLICTS];

/* What help and manual say besides: dedup_manual.c. */
extern const char *const dedup_description[], *const dedup_exits[], *const dedup_notes[];
extern const cli_example dedup_examples[];
extern const cli_entry dedup_json[], dedup_files[];

/* What a run needs to know: checked, defaults filled in. Strings belong to argv. */
typedef struct dedup_config {
    cli_stream stream;
    cli_filter_spec filter;
    const char *output;      /* NULL: nowhere */
    const char *duplicates;  /* NULL: nowhere */
    cli_lock_wait lock_wait; /* for the file of --filter, or the state */
    const char *filter_file; /* NULL: the filter is forgotten at the end */
    const char *state;       /* NULL: the run is begun anew after a crash */
    bool reread, abandon, exactly_once, defer_unterminated;
    uint64_t commit_bytes, commit_ms; /* 0: the library's */
    const cli_value *values;          /* by the numbers above, of argv */
    tamis_on_full on_full;
    bool count;
    bool profile;
    tamis_stream_marking marking;
    const char *mark_name; /* NULL: the library's */
} dedup_config;

/* From parsed arguments to a run: CLI_DONE, or CLI_FAILED with the contradiction in *err. Its stream is to be released either
 * way. */
int dedup_configure(dedup_config *config, const cli_args *args, tamis_error *err);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_DEDUP_DEDUP_CONFIG_H
#define TAMIS_CLI_CMD_DEDUP_DEDUP_CONFIG_H

#include <tamis/experimental/stream.h>

#include "cli/cli.h"
#include "cli/core/cli_rows.h"
#include "cli/filter/cli_filter.h"
#include "cli/input/cli_stream.h"
#include "cli/input/cli_summary.h"

/* The options of dedup, in the order of the help. */
enum {
    DEDUP_DUPLICATES = CLI_OPT_OWN,
    DEDUP_COUNT,
    DEDUP_MARK,
    DEDUP_FILTER,
    DEDUP_STATE,
    DEDUP_REREAD,
    DEDUP_ABANDON,
    DEDUP_EXACTLY_ONCE,
    DEDUP_DEFER_UNTERMINATED,
    DEDUP_COMMIT_EVERY,
    DEDUP_SOURCE,
    DEDUP_POSITION,
    DEDUP_COMMITS,
    DEDUP_FOLLOW_INPUT,
    DEDUP_FILES,
    DEDUP_METRICS,
    DEDUP_WINDOW,
    DEDUP_STEP,
    DEDUP_TIME,
    DEDUP_LATENESS,
    DEDUP_LATE,
    DEDUP_AHEAD,
    DEDUP_REFRESH,
    DEDUP_ON_FULL,
    DEDUP_PROFILE
};

extern const cli_option dedup_options[];
extern const cli_conflict dedup_conflicts[];
extern const cli_summary_fields dedup_fields;

/* Validated options of a run, with defaults. Strings belong to argv. */
typedef struct dedup_config {
    cli_stream stream;
    cli_filter_spec filter;
    const char *output;      /* file of first occurrences, "-" for standard output; NULL: not written */
    const char *duplicates;  /* file of duplicates, as `output`; NULL: not written */
    cli_lock_wait lock_wait; /* wait for the lock of the --filter file or of the state */
    const char *filter_file; /* file of --filter; NULL: the filter is not saved */
    const char *state;       /* directory of --state; NULL: after a crash, start again */
    const char *commits;     /* descriptor or file of --commits; NULL: positions are not printed */
    const char *metrics;     /* file or address of --metrics; NULL: none */
    bool reread, abandon, exactly_once, defer_unterminated;
    bool follow;                      /* inputs that are files have no end */
    const char *files;                /* pattern of --files; NULL: the inputs are operands */
    uint64_t commit_bytes, commit_ms; /* values of --commit-every; 0: default of the library */
    const cli_value *values;          /* parsed options, by id */
    tamis_on_full on_full;
    tamis_stream_policy late; /* what happens to records that are too old for the window */
    uint64_t ahead;           /* how far beyond the newest time a record may be; 0: a step */
    bool count;
    bool profile;
    tamis_stream_marking marking;
    const char *mark_name; /* name of the mark; NULL: default of the library */
} dedup_config;

/* True if both names are, or would be, the same file or directory. */
bool dedup_is_same_target(const char *a, const char *b);
/* True if `path` is, or would be, directly in the directory. */
bool dedup_is_in_directory(const char *path, const char *directory);

/* Validates the parsed arguments and fills *config. The caller releases config->stream, also after an
 * error. */
tamis_status dedup_configure(dedup_config *config, const cli_args *args, tamis_error *err);

/* Refuses a --filter file or a --state with a window that differs from the options, or if they give none.
 * Reports a window by the clock whose newest time is in the future. */
tamis_status dedup_window_check(const tamis_filter *filter, const char *path, const dedup_config *config,
                                tamis_error *err);
#endif

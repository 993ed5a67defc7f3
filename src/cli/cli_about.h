/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_ABOUT_H
#define TAMIS_CLI_ABOUT_H

#include <tamis/file.h>

#include "cli/cli.h"

/* Labels and version of a filter that is written: what the user gives, and what it has. What a format has no place for is
 * refused where the user gave it, and named in a remark where the filter had it. */
typedef struct cli_about {
    tamis_label *labels; /* by name; malloc, their text behind them */
    size_t label_count;
    bool has_version;
    uint64_t version;
} cli_about;

/* From the block CLI_ABOUT of cli_rows.h. CLI_DONE or CLI_FAILED; release either way. */
int cli_about_read(cli_about *about, const cli_value *given, tamis_error *err);
void cli_about_release(cli_about *about);

/* Refuses labels and version for a format that has none. */
int cli_about_check(const cli_about *about, tamis_format format, tamis_error *err);

/* The format that `filter` is written in where `format` is asked for: AUTO is the one it was read in. */
tamis_format cli_about_format(const tamis_filter *filter, tamis_format format);

/* Gives them to the filter: a label in place of one of its name, a version in place of another. */
int cli_about_give(const cli_about *about, tamis_filter *filter, tamis_error *err);

/* Labels, and user data (of DCSO), of several filters that contradict each other. */
typedef struct cli_clash {
    size_t count;      /* of labels */
    char first[400];   /* a sentence on the first one */
    size_t data_count; /* of filters whose user data is lost */
    char data_first[400];
} cli_clash;

/* Adds the labels of `from`, the filter in `path`, to those of `into`. Of a name in both the value of `into` stays; where
 * they differ, and the user has given none, that is counted in *clash. The user data of `into` stays, and other that
 * `from` has is counted too. How keys are made the union of the filters has joined, or refused. */
int cli_about_unite(tamis_filter *into, const tamis_filter *from, const char *path, const cli_about *given,
                    cli_clash *clash, tamis_error *err);

/* One remark on all labels, and one on all user data. */
void cli_about_tell_clash(const cli_clash *clash);

/* Says what of them is not in the file `output`, its format having no place for it, and by which rule keys are made
 * where that is not either. */
void cli_about_tell_lost(const tamis_filter *filter, const char *output, tamis_format format);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CORE_CLI_CHOICE_H
#define TAMIS_CLI_CORE_CLI_CHOICE_H

/*
 * Values of options that several commands share, in the order of the library's enums: the index of a value
 * is the tamis_kind, tamis_scheme, tamis_on_full, tamis_format or tamis_compression. A test compares them
 * with the library's names.
 */
extern const char *const cli_kinds[];
extern const char *const cli_schemes[];
extern const char *const cli_on_full[];
extern const char *const cli_formats[];
extern const char *const cli_copy_formats[]; /* cli_formats and CLI_COPY_BITMAP */
enum { CLI_COPY_BITMAP = 4 };
extern const char *const cli_compressions[];
/* values for a tamis_stream_policy; cli_stream_configure maps their indexes */
extern const char *const cli_missing[];
extern const char *const cli_on_error[];

#endif

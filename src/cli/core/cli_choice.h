/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CORE_CLI_CHOICE_H
#define TAMIS_CLI_CORE_CLI_CHOICE_H

/*
 * Values that several commands take, in the order of the library's numbers: the index of a choice is
 * the tamis_kind, tamis_scheme, tamis_on_full, tamis_format or tamis_compression. A test holds them against the library's own names.
 */
extern const char *const cli_kinds[];
extern const char *const cli_schemes[];
extern const char *const cli_on_full[];
extern const char *const cli_formats[];
extern const char *const cli_copy_formats[]; /* CLI_COPY_BITMAP more */
enum { CLI_COPY_BITMAP = 4 };
extern const char *const cli_compressions[];
/* Of policies, see cli_stream.c. */
extern const char *const cli_missing[];
extern const char *const cli_on_error[];

#endif

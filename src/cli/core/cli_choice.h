/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CORE_CLI_CHOICE_H
#define TAMIS_CLI_CORE_CLI_CHOICE_H

#include <tamis/dedup.h>
#include <tamis/experimental/compression.h>
#include <tamis/experimental/stream.h>
#include <tamis/file.h>
#include <tamis/hash.h>
#include <tamis/plan.h>

/*
 * Values of options that several commands share, NULL-ended. The index of a value is the number of the
 * library's enum, named beside each list. A test compares the words with the library's names.
 */
extern const char *const cli_kinds[]; /* tamis_kind */
/* The same for build and plan. The last two have other numbers than the library's kinds. */
extern const char *const cli_build_kinds[];
enum { CLI_BUILD_COUNTING = TAMIS_KIND_EXACT + 1, CLI_BUILD_CUCKOO };
/* Returns the kind of a value of either list. */
tamis_kind cli_kind_of(uint64_t value);
extern const char *const cli_schemes[]; /* tamis_scheme */
extern const char *const cli_late[];
extern const char *const cli_on_full[];      /* tamis_on_full */
extern const char *const cli_formats[];      /* tamis_format, but those that a build can make */
extern const char *const cli_copy_formats[]; /* tamis_format or CLI_COPY_BITMAP */
extern const char *const cli_compressions[]; /* tamis_compression */
extern const char *const cli_missing[];      /* tamis_stream_policy */
extern const char *const cli_on_error[];     /* cli_on_error_choice */

enum { CLI_COPY_BITMAP = TAMIS_FORMAT_REDISBLOOM + 1 };

/* The first choice is the default, so the order is not that of tamis_stream_policy. */
enum cli_on_error_choice { CLI_ON_ERROR_FAIL, CLI_ON_ERROR_SKIP, CLI_ON_ERROR_PASS };

#endif

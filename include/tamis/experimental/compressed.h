/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_COMPRESSED_H
#define TAMIS_COMPRESSED_H

/* Filters in compressed files, of any filter format: library libtamis-stream. Not part of tamis/tamis.h,
 * so that a program that embeds a filter needs no further library. */

#include <tamis/experimental/compression.h>
#include <tamis/file.h>
#include <tamis/filter.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Opens the filter in a file that may be compressed. The first bytes decide which. An uncompressed file is
 * opened by tamis_filter_open, whose comment then applies.
 *
 * A compressed file is read twice: first to check it and to learn its size, then into memory. It is verified
 * completely. *filter, which the caller owns, is in memory as after tamis_filter_decode:
 *
 * - Keys can be added, whatever options.writable says. They stay in memory until the filter is saved.
 * - tamis_filter_reload returns TAMIS_E_UNSUPPORTED. No other process shares the memory.
 *
 * *compression (may be NULL) receives the compression format.
 *
 * - TAMIS_E_DAMAGED: also if the file is cut short, its checksum differs, or other bytes follow.
 * - TAMIS_E_UNSUPPORTED: as for an input, see tamis_stream_run.
 * - Other errors as for tamis_filter_open.
 *
 * Memory: twice the uncompressed size while it opens. A gzip file of n bytes may expand to 1032 n bytes,
 * other formats to far more. To open files of strangers, limit memory by options.allocator (TAMIS_E_NOMEM).
 * O(uncompressed size).
 */
TAMIS_API tamis_status tamis_compressed_open(tamis_filter **filter, tamis_compression *compression,
                                             const char *path, const tamis_open_options *options,
                                             tamis_error *err);

/*
 * Saves the filter compressed, with all guarantees of tamis_filter_save_as. With NONE it is the same as
 * tamis_filter_save_as. Equal filters give equal bytes, for one version of the compression library, since no
 * name or time is stored but those of the filter.
 *
 * - TAMIS_E_INVALID: the number is not a compression format.
 * - TAMIS_E_UNSUPPORTED: the format is not built in (tamis_compression_is_built).
 * - Other errors as for tamis_filter_save_as.
 */
TAMIS_API tamis_status tamis_compressed_save(tamis_filter *filter, const char *path, tamis_format format,
                                             tamis_compression compression, tamis_error *err);

/* Like tamis_compressed_save, but stops with TAMIS_E_INTERRUPTED as soon as `stop_fd` is readable (a pipe
 * that a signal handler writes to; -1: none). The old file is then unchanged and no temporary file is
 * left. It is checked every 16 MiB. */
TAMIS_API tamis_status tamis_compressed_save_until(tamis_filter *filter, const char *path,
                                                   tamis_format format, tamis_compression compression,
                                                   int stop_fd, tamis_error *err);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_PACKED_H
#define TAMIS_PACKED_H

/* Filters in compressed files, of any format: library libtamis-stream. Not part of tamis/tamis.h, so that who embeds a
 * filter inherits nothing else. */

#include <tamis/file.h>
#include <tamis/filter.h>
#include <tamis/packing.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Opens the filter in a file that may be packed, which its first bytes tell. A plain one is opened by
 * tamis_filter_open, and all is as said there. A packed one is read twice: first to see that it is whole and what it
 * takes, then into memory of that size. It is verified from end to end, so that *filter, which the caller owns, is one in
 * memory as tamis_filter_decode makes it: keys can be added, whether options.writable or not, and stay in memory until
 * it is saved; tamis_filter_reload refuses it (TAMIS_E_UNSUPPORTED); no other process shares it.
 * *packing (may be NULL) says what the file was wrapped in.
 * Errors of tamis_filter_open; TAMIS_E_DAMAGED too where the file is cut short, its checksum is another, or something
 * else follows; TAMIS_E_UNSUPPORTED as of an input, see tamis_stream_run. While it is opened it takes twice the unpacked
 * size, which a gzip file of n bytes may make 1032 n, and others far more: who opens files of strangers limits that by
 * options.allocator (TAMIS_E_NOMEM then). O(unpacked size).
 */
TAMIS_API tamis_status tamis_packed_open(tamis_filter **filter, const char *path,
                                         const tamis_open_options *options, tamis_packing *packing,
                                         tamis_error *err);

/*
 * Puts the filter into the file of that name as tamis_filter_save_as does, with all that is promised there, and packs it
 * on the way; NONE is tamis_filter_save_as. The same filter gives the same bytes (of one version of the library that
 * packs): neither name nor time are in them but the filter's own. Errors of tamis_filter_save_as; TAMIS_E_INVALID for a
 * number that is no packing, TAMIS_E_UNSUPPORTED for one that is not built (tamis_packing_is_built).
 */
TAMIS_API tamis_status tamis_packed_save(tamis_filter *filter, const char *path, tamis_format format,
                                         tamis_packing packing, tamis_error *err);

/* The same, but as soon as `stop_fd` can be read (a pipe that a signal's handler writes to; -1: none) it ends with
 * TAMIS_E_INTERRUPTED: the file is as it was, and nothing is left beside it. It is looked at every 16 MiB. */
TAMIS_API tamis_status tamis_packed_save_until(tamis_filter *filter, const char *path, tamis_format format,
                                               tamis_packing packing, int stop_fd, tamis_error *err);

#ifdef __cplusplus
}
#endif
#endif

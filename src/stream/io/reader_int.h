/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_IO_READER_INT_H
#define TAMIS_STREAM_IO_READER_INT_H

/* Functions that the files of the reader share: reader.c, reader_buffers.c and reader_follow.c. */
#include "stream/io/reader.h"

/* ---- reader.c ---- */

/* Resets what is known about the open input, before its first byte is read. */
void tamis__reader_begin_file(tamis__reader *reader);
void tamis__reader_close_input(tamis__reader *reader);
/* At the end of an input: returns the bytes that are left, a last record without terminator, as *batch.
 * False: no bytes are left. */
bool tamis__reader_split_last(tamis__reader *reader, tamis__record_batch *batch);

/* ---- reader_buffers.c ---- */

/* Allocates the first buffer. Release is allowed after an error. */
tamis_status tamis__reader_init_buffers(tamis__reader *reader, tamis_error *err);
void tamis__reader_release_buffers(tamis__reader *reader);
/* Makes space for a read after the unread bytes, unless there is enough (R2). */
tamis_status tamis__reader_free_space(tamis__reader *reader, tamis_error *err);

/* ---- reader_follow.c ---- */

/* Opens the file under the name, or a file that had the name of the followed one in between. During a
 * rotation a file may be renamed just before it is opened, or the name may have no file. A new file may
 * get its owner and mode a moment later. */
tamis_status tamis__reader_open_file(tamis__reader *reader, const char *path, struct stat *st,
                                     tamis_error *err);
/* Call with the metadata of each opened file. If that file is the one that was left and has grown since, it
 * keeps its position in the order of rotation. */
void tamis__reader_read_on_previous(tamis__reader *reader, const struct stat *opened);
/* Reports and closes the file that was left, if it has grown. With `last`, closes it in any case. */
void tamis__reader_check_previous(tamis__reader *reader, bool last);
/* Notes bytes just read from the followed file. */
void tamis__reader_note_followed(tamis__reader *reader, const unsigned char *bytes, size_t size);
/* Leaves the followed file if bytes that were read have changed (*left). *known then says whether *batch has
 * its last record. */
tamis_status tamis__reader_leave_overwritten(tamis__reader *reader, tamis__record_batch *batch, bool *left,
                                             bool *known, tamis_error *err);
/* Handles the end of the followed file: waits, or, if the file was replaced or truncated, hands out its rest
 * as the last record. *known is false if reading continues at once. */
tamis_status tamis__reader_follow_file(tamis__reader *reader, tamis__record_batch *batch,
                                       tamis__reader_event *event, bool *known, tamis_error *err);

#endif

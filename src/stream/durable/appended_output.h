/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_DURABLE_APPENDED_OUTPUT_H
#define TAMIS_STREAM_DURABLE_APPENDED_OUTPUT_H

#include <stdbool.h>

#include <tamis/file.h>

#include "store/file/target.h"
#include "stream/durable/checkpoint.h"
#include "stream/durable/history.h"
#include "stream/durable/uncommitted.h"

/* An output of a durable run. A regular file is appended to, not replaced: committed bytes stay.
 * appended_output.c explains how. */
typedef struct tamis__appended_output {
    tamis__target *target;            /* borrowed from the runner */
    int number;                       /* index among the outputs of a checkpoint */
    tamis_lock *lock;                 /* lock of the file; NULL: none */
    int fd;                           /* descriptor of a regular file; -1: none */
    tamis__file_fingerprint observed; /* bytes known to be in the file */
    tamis__uncommitted uncommitted;   /* copy of the bytes after the last commit, which the writer compares */
    char remark_text[700];            /* remark: bytes kept or cut off; "": none */
    tamis__file_prefix prefix;        /* first bytes written to an empty file; the writer adds them */
} tamis__appended_output;

void tamis__appended_output_init(tamis__appended_output *output, int number, tamis__target *target);

/* Sets form, path, device and inode of the output in the checkpoint. If the output cannot be cut back,
 * *inexact becomes its name, unless it is set already. TAMIS_E_UNSUPPORTED for a regular file that is open
 * already. */
tamis_status tamis__appended_output_find(const tamis__appended_output *output, tamis__checkpoint *checkpoint,
                                         const char **inexact, tamis_error *err);

/*
 * Locks and opens a regular file, compares it with what is known, and cuts it back to its last commit (B3 to
 * B5 of docs/DURABILITY.md). If the run is finished, the file is compared only.
 * - The output in the checkpoint gets what is known of it, and the target becomes a descriptor.
 * - If the file system has no locks, *unlocked becomes the name of the output, unless it is set already.
 * - TAMIS_E_BUSY: another process has the lock. TAMIS_E_CHANGED: the file is not as it was left.
 *   TAMIS_E_MISMATCH: the file was written with other options.
 */
tamis_status tamis__appended_output_open(tamis__appended_output *output, tamis__checkpoint *checkpoint,
                                         const tamis__known_output *known, const char **unlocked,
                                         tamis_error *err);

/* Fingerprints a regular file (K3), which must have out->fingerprint.length bytes, and decides about its
 * uncommitted bytes. `ended`: the run writes no more. TAMIS_E_CHANGED: the file does not have the bytes that
 * were written. */
tamis_status tamis__appended_output_fingerprint(tamis__appended_output *output, tamis__checkpoint_output *out,
                                                bool ended, tamis_error *err);

/* Cuts a regular file of `written` bytes back to out->fingerprint.length, its last commit. If that fails,
 * or the file has another length by now, the file stays as it is. The next run cuts it back, or refuses it
 * with a reason. */
void tamis__appended_output_cut_back(const tamis__appended_output *output,
                                     const tamis__checkpoint_output *out, uint64_t written);

/* Closes and unlocks the file, if it is open. */
void tamis__appended_output_close(tamis__appended_output *output);

#endif

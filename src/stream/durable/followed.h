/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_DURABLE_FOLLOWED_H
#define TAMIS_STREAM_DURABLE_FOLLOWED_H

#include <limits.h>
#include <stdbool.h>

#include <tamis/experimental/state.h>

#include "stream/durable/checkpoint.h"
#include "stream/io/input_pattern.h"
#include "stream/io/reader.h"

/* A followed name, for runs with commits. followed.c explains which file of the name a run reads. */
typedef struct tamis__followed {
    const char *name;    /* as given by the caller */
    char path[PATH_MAX]; /* file to be read: the name, or the present name of a file that once had it */
    dev_t device;        /* the file expected there; inode 0: any */
    ino_t inode;
    bool match_by_inode;           /* a new file, even if it begins with the bytes of an earlier one */
    bool has_history;              /* the state has a checkpoint of a file that had the name */
    bool was_closed;               /* its run was closed, so that file may be read again from its start */
    bool truncated;                /* it was truncated, and is read again from its start */
    bool has_local_writers;        /* see tamis__reader */
    tamis__previous_file previous; /* the file that the last run has left */
    tamis_stream_stats stats;      /* of its files so far, in this process */
    char remark[TAMIS__ROTATION_REMARK]; /* about files that may not have been read; "": none */
    char sent[TAMIS__ROTATION_REMARK];   /* the last remark that was sent */
} tamis__followed;

/* The followed names of a run, in the order of its inputs. */
typedef struct tamis__followed_names {
    tamis__followed *names;
    size_t count;
    const tamis_state *state; /* has the checkpoints of earlier runs; borrowed */
    tamis_allocator memory;
    tamis__input_pattern *pattern; /* NULL, or the names are its paths, and new paths end the run */
    tamis__checkpoint newest;      /* of the last commit, while files are searched; inputs NULL: none */
    /* Set by the run. */
    bool is_other;             /* another file was found at a path, and nothing was read */
    bool truncated;            /* a file lost bytes that were read; what was written is committed */
    bool goes_on;              /* the run has ended because a file lost its name, or there are more names */
    bool started;              /* a run has reported to the caller how it starts */
    tamis_stream_stats before; /* statistics of the run's last commit when it started */
} tamis__followed_names;

/* True if there may be several names. Then files count as the same only if their inodes are equal, as far
 * as the state knows them. Files of other names may begin with the same bytes. */
static inline bool tamis__followed_several(const tamis__followed_names *followed) {
    return followed->pattern || followed->count > 1;
}

/* Reads the last commit, before files are looked for. TAMIS_E_NOMEM. */
tamis_status tamis__followed_begin_find(tamis__followed_names *followed, tamis_error *err);

/*
 * Finds the file of name i to read next. Sets the fields of followed->names[i], except `name`, `previous`,
 * `stats` and `sent`. TAMIS_E_IO if the directory cannot be read; TAMIS_E_NOMEM.
 */
tamis_status tamis__followed_find(tamis__followed_names *followed, size_t i, tamis_error *err);

/* Fails with TAMIS_E_INVALID if log rotation might give the followed file the name `output`. */
tamis_status tamis__followed_check_output(const char *name, const char *output, tamis_error *err);

/* True if device and inode are those of the expected file of name i. Otherwise sets is_other. */
bool tamis__followed_check(tamis__followed_names *followed, size_t i, dev_t device, ino_t inode);

#endif
